from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from threading import Barrier

import pytest

from tapveil import Budget, Ledger, LedgerError
from tapveil.ledger.accounts import accounts
from tapveil.ledger.entry import read

BUDGET = Budget(on=date(2025, 3, 10), data_set="trips", unit="trip", neighbours="replace", epsilon="8", delta="1e-6")  # type: ignore[arg-type]


def declared(path: Path, budget: Budget) -> list[str]:
    with Ledger.open(path) as ledger:
        ledger.declare(budget)
        assert not list(ledger.findings())
        return [entry.kind for entry in ledger.entries]


def test_an_entry_of_an_earlier_version_is_written_in_the_newest(tmp_path: Path) -> None:
    """Version 1 had no reasons, and is refused where it has them: the ledger could never be read again."""
    Ledger.start(tmp_path / "ledger.sqlite")
    earlier = BUDGET.model_copy(update={"version": 1, "reason": "a new month", "by": "the privacy officer"})
    assert declared(tmp_path / "ledger.sqlite", earlier) == ["start", "budget"]


@pytest.mark.parametrize("broken", [{"epsilon": -1}, {"epsilon": float("nan")}, {"delta": 2}, {"reason": "two\nlines"}])
def test_an_entry_that_could_not_be_read_again_is_not_written(tmp_path: Path, broken: dict[str, object]) -> None:
    Ledger.start(tmp_path / "ledger.sqlite")
    with pytest.raises((LedgerError, ValueError), match="cannot be written"):
        declared(tmp_path / "ledger.sqlite", BUDGET.model_copy(update=broken))
    assert declared(tmp_path / "ledger.sqlite", BUDGET) == ["start", "budget"]


def test_of_many_who_start_a_ledger_at_once_one_does(tmp_path: Path) -> None:
    """Whoever came second replaced the ledger of the first, and what was spent in it by then."""
    together = Barrier(6)

    def started(path: Path) -> Callable[[int], bool]:
        def start(_: int) -> bool:
            together.wait()
            try:
                Ledger.start(path)
            except LedgerError as error:
                return "a ledger is started only once" not in str(error)
            declared(path, BUDGET)
            return True

        return start

    with ThreadPoolExecutor(6) as pool:
        for number in range(8):
            path = tmp_path / f"{number}.sqlite"
            assert sum(pool.map(started(path), range(6))) == 1
            with Ledger.open(path) as ledger:
                assert [entry.kind for entry in ledger.entries] == ["start", "budget"]


@pytest.mark.parametrize("kind", ["delivered", "withdrawn"])
def test_entries_of_deliveries_are_of_version_4_and_cost_nothing(kind: str) -> None:
    """An older version never had them, so such an entry is not one of it; and accounts do not look at them."""
    facts = {"delivered": {"checksums_sha256": "a" * 64, "portal": "ckan", "address": "https://a.example/dataset/b"}}
    facts["withdrawn"] = {"reason": "mixed up", "by": "A. Officer"}
    body = {"on": "2025-01-01", "kind": kind, "id": "b" * 32, "nonce": "c" * 32, **facts[kind]}
    entry = read(1, json.dumps({**body, "version": 4}))
    assert accounts([entry]) == []
    for version in (2, 3):
        with pytest.raises(LedgerError, match="is invalid"):
            read(1, json.dumps({**body, "version": version}))
