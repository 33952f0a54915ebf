"""Counting step by step: the ways to count that an engine chooses from give the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import TripDataError
from tapveil.base.progress import Silent
from tapveil.base.vocabulary import COUNT
from tapveil.counting.engines.duckdb.session import DuckDB, open_session
from tapveil.counting.exact import Counted
from tapveil.counting.sql import steps
from tapveil.inputs.public import PublicInputs
from tapveil.trips.reasons import Reason
from tests.support.engines import CASES, Case, assert_same


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rows_grouped_by_raw_values_give_the_same_counts(
    case: Case, few: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As engines do that have the trips as tables: grouped where few, and not grouped where many."""
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


def test_trips_that_change_between_groups_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A row more of values that are known: no code is missing, and yet two tables would be of different trips."""
    case = CASES[0]
    pq.write_table(case.table, tmp_path / "trips.parquet")
    plan = case.plan(tmp_path, {"path": "trips.parquet"})
    inputs = PublicInputs.of(plan)
    read = DuckDB.read

    def changed(self: DuckDB, into: str, sql: str, columns: Collection[str]) -> Counter[Reason]:
        lines = read(self, into, sql, columns)
        if into == "groups_1":
            self.append(into, "SELECT * FROM groups_1 LIMIT 1")
        return lines

    monkeypatch.setattr(DuckDB, "rereads", True)
    monkeypatch.setattr(steps, "FEW_GROUPS", 10**6)
    monkeypatch.setattr(DuckDB, "read", changed)
    with open_session(plan, MEMORY, None) as database, pytest.raises(TripDataError, match="changed while it was read"):
        steps.count(plan, inputs.areas, inputs.wider, database, progress=Silent())
