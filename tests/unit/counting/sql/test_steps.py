"""Counting step by step: the ways to count that an engine chooses from give the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tapveil.base.defaults import MEMORY
from tapveil.base.progress import Silent
from tapveil.base.vocabulary import COUNT, EVERY_MODE
from tapveil.counting import coding as codes
from tapveil.counting.engines.duckdb.session import DuckDB, open_session
from tapveil.counting.exact import Counted
from tapveil.counting.sql import query, steps
from tapveil.inputs.areas import Areas
from tapveil.inputs.public import PublicInputs
from tapveil.trips.reasons import Reason
from tests.support.engines import CASES, TRIP, Case, assert_same


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rows_grouped_by_raw_values_give_the_same_counts(
    case: Case, few: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a database: grouped where few, and not grouped where many."""
    pq.write_table(case.table, tmp_path / "trips.parquet")
    plan = case.plan(tmp_path, {"path": "trips.parquet"})
    inputs = PublicInputs.of(plan)

    def counted() -> Counted:
        with open_session(plan, MEMORY, None) as database:
            return steps.count(plan, inputs.areas, inputs.wider, database, progress=Silent())

    expected = counted()
    tables, create = list[str](), DuckDB.create

    def noted(self: DuckDB, name: str, sql: str) -> None:
        tables.append(name)
        create(self, name, sql)

    monkeypatch.setattr(DuckDB, "create", noted)
    monkeypatch.setattr(DuckDB, "rereads", True)
    monkeypatch.setattr(steps, "FEW_GROUPS", 10**6 if few else -1)
    monkeypatch.setattr(steps, "SAMPLE", 1000 if few else 1)
    assert_same(counted(), expected)
    # A column that only decides whether a row is refused is in no group.
    in_groups = {COUNT, *(column for table in plan.table for column in plan.columns.of(table))}
    grouped = few and not plan.privacy.by_card and in_groups.issuperset(plan.columns.used)
    assert any(name.startswith("groups_") for name in tables) == grouped


@pytest.mark.parametrize("case", [case for case in CASES if TRIP not in case.text], ids=lambda case: case.name)
def test_units_counted_in_order_give_the_same_counts(
    case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a database: numbered in the order of their cells, and those that are left out are not sorted."""
    pq.write_table(case.table, tmp_path / "trips.parquet")
    plan = case.plan(tmp_path, {"path": "trips.parquet"})
    inputs = PublicInputs.of(plan)

    def counted() -> Counted:
        with open_session(plan, MEMORY, None) as database:
            return steps.count(plan, inputs.areas, inputs.wider, database, progress=Silent())

    expected = counted()
    monkeypatch.setattr(DuckDB, "keeps_order", True)
    assert_same(counted(), expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rows_grouped_for_all_sets_at_once_give_the_same_counts(
    case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on Spark: grouped where groups are no more than cells, and each has all texts that refuse a row."""
    pq.write_table(case.table, tmp_path / "trips.parquet")
    plan = case.plan(tmp_path, {"path": "trips.parquet"})
    inputs = PublicInputs.of(plan)
    passes = list[str]()

    def counted() -> Counted:
        with open_session(plan, MEMORY, None) as database:
            return steps.count(plan, inputs.areas, inputs.wider, database, progress=Silent())

    expected, read = counted(), DuckDB.read

    def noted(self: DuckDB, into: str, sql: str, columns: Collection[str]) -> Counter[Reason]:
        passes.append(into)
        return read(self, into, sql, columns)

    monkeypatch.setattr(DuckDB, "read", noted)
    monkeypatch.setattr(DuckDB, "groups_at_once", True)
    assert_same(counted(), expected)
    assert (query.ALL_GROUPS in passes) == (case.name in GROUPED_AT_ONCE)
    assert query.ALL_GROUPS not in passes or set(passes) == {query.ALL_GROUPS}
    monkeypatch.setattr(codes, "as_fine_as_labels", lambda *_: True)  # however many they are
    assert_same(counted(), expected)


GROUPED_AT_ONCE = {"taps, and one total", "typed: timestamps, of trips", "typed: timestamps, of some days"}


@pytest.mark.parametrize(
    ("column", "changed", "fine"),
    [
        ({"kind": "date", "raw": "date"}, {}, True),
        ({"kind": "date", "raw": "text"}, {}, False),
        ({"kind": "time", "raw": "timestamp"}, {}, True),
        ({"kind": "time", "raw": "text"}, {}, False),
        ({"kind": "location", "raw": "text"}, {}, True),
        ({"kind": "location", "raw": "text"}, {EVERY_MODE: {"s1": "a"}}, False),
        ({"kind": "label", "raw": "text"}, {}, True),
        ({"kind": "calendar", "raw": "date"}, {}, False),
    ],
)
def test_only_raw_values_that_are_hardly_finer_than_labels_are_grouped(
    column: dict[str, Any], changed: dict[str, dict[str, str]], fine: bool, tmp_path: Path
) -> None:
    plan = CASES[0].plan(tmp_path, {"path": "trips.parquet"})
    whole = codes.Column(name="one", missing=None, understand=str.strip, **column)
    assert codes.as_fine_as_labels(whole, plan, Areas(changed)) == fine
