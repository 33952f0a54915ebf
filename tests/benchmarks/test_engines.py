"""The benchmark of engines: its bare queries count what a release counts, so that their times can be compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import cards, engines
from tapveil.counting.counter import count
from tapveil.plan.model import Plan
from tests.property.test_counting import cells


def test_bare_queries_in_postgresql_count_what_a_release_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which trips of a card are kept differs, so here all are."""
    connect = pytest.importorskip("adbc_driver_postgresql.dbapi").connect
    monkeypatch.setattr(cards, "BUILD", tmp_path)
    monkeypatch.setitem(cards.KEPT, "card", 1000)
    folder = cards.metro(2000, taps=False)
    with engines.server(folder):
        for unit in engines.UNITS:
            counted = count(Plan.read(engines.plan("postgresql", unit, folder))).tables
            found = []
            with connect("postgresql://", autocommit=True) as connection, connection.cursor() as cursor:
                for query in engines.queries("postgresql", unit, engines.TABLE):
                    cursor.execute(query)
                    if query.startswith("SELECT"):
                        found.append(sorted(cursor.fetch_arrow_table().column("number").to_pylist()))
            assert found == [sorted(cells(counted[name]).values()) for name in ("od", "origin_hour", "total")]
