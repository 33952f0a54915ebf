"""Units counted in the order of their cards: the SQL for an engine that sorts rows that are nearly in order quickly.

Rows come out of `query.bounded_sql` sorted by cards, since they were ranked. For each table, those of a unit are sorted
by cells and numbered there, and as many count as may. So no row is sent on once for each table, and nothing is kept for
each unit and cell, as in `query.units_sql`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from tapveil.counting.sql.query import ALONE, BEYOND, CellSet, TableCells, bounded_sql, most_per_cell, unit_of
from tapveil.plan.model import Plan


def units_sql(plan: Plan, sets: Sequence[CellSet], tables: Sequence[TableCells], share: str = "true") -> str:
    """The same as `query.units_sql`, but for rows that are left out: they are not sorted, and not counted."""
    words = [[f"word_{number}_{word}" for word in range(len(table.words))] for number, table in enumerate(tables)]
    placed = ", ".join(
        f"CASE WHEN state < 0 THEN {'state' if index == 0 else '0'} ELSE {packed} END AS {word}"
        for table, of_table in zip(tables, words, strict=True)
        for index, (word, packed) in enumerate(zip(of_table, table.packed, strict=True))
    )
    rows = f"SELECT {unit_of(plan)}, {placed} FROM ({bounded_sql(plan, sets, share)}) WHERE state <> {BEYOND}"
    numbers = enumerate(_numbers(unit_of(plan), words, _finer(tables)))
    numbered = f"SELECT *, {', '.join(f'{number} AS number_{index}' for index, number in numbers)} FROM ({rows})"
    counts = ", ".join(
        f"count(*) FILTER (WHERE number_{index} <= {most} OR {ALONE}) AS n_{index}"
        for index, most in enumerate(most_per_cell(plan))
    )
    every = ", ".join(word for of_table in words for word in of_table)
    groups = ", ".join(f"({', '.join(of_table)})" for of_table in words)
    cells = f"SELECT {every}, {counts}, count(*) AS row_count FROM ({numbered}) GROUP BY GROUPING SETS ({groups})"
    return _in_one_list(words, cells)


def _numbers(unit: str, words: Sequence[Sequence[str]], finer: Mapping[int, int]) -> list[str]:
    """The number of a row among those of its unit in the same cell, for each table.

    Sorted by the cells of a coarser table, and within these by those of a finer one, rows are in order for both.
    """
    coarser = {fine: coarse for coarse, fine in finer.items()}
    numbers = []
    for index, own in enumerate(words):
        if index in finer:
            numbers.append(
                f"row_number() OVER (PARTITION BY {unit}, {', '.join(own)} ORDER BY {_of(words, finer[index])})"
            )
        else:
            within = f"{unit}, {_of(words, coarser[index])}" if index in coarser else unit
            over = f"OVER (PARTITION BY {within} ORDER BY {', '.join(own)})"
            numbers.append(f"row_number() {over} - rank() {over} + 1")
    return numbers


def _of(words: Sequence[Sequence[str]], index: int) -> str:
    return ", ".join(words[index])


def _finer(tables: Sequence[TableCells]) -> dict[int, int]:
    """A table with all columns of a table and more: the cell of a row there tells its cell here."""
    columns = {index: set(table.packing.columns) for index, table in enumerate(tables) if not table.recodings}
    return {one: other for one in columns for other in reversed(columns) if columns[one] < columns[other]}


def _in_one_list(words: Sequence[Sequence[str]], cells: str) -> str:
    """The cells of all tables in the same columns: in each row only the words of one table are there."""
    here = [f"WHEN {first} IS NOT NULL THEN" for first, *_ in words]
    number = " ".join(f"{when} {index}" for index, when in enumerate(here))
    n = " ".join(f"{when} n_{index}" for index, when in enumerate(here))
    found = ", ".join(
        f"coalesce({', '.join(filter(None, each))}, 0) AS word_{index}"
        for index, each in enumerate(zip_longest(*words))
    )
    return f"SELECT CASE {number} END AS table_number, {found}, CASE {n} END AS n, row_count FROM ({cells})"
