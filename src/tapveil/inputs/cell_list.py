"""The dictionary: the public list of all cells that a table can have, occupied or not.

It comes from public knowledge (stops, a timetable, a calendar), never from the trips: a list made from the trips
would reveal which cells occur. One CSV file per table, a column for each key, a row for each cell, with the labels as
published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from tapveil.base.errors import InputFileError, did_you_mean
from tapveil.base.vocabulary import UNKNOWN
from tapveil.inputs.areas import Areas, Relabel, relabelling
from tapveil.inputs.calendars import Calendars
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import PublicFiles
from tapveil.inputs.values import READABLE, read_date, read_time
from tapveil.plan.model import TIMETABLE, Plan, Table

if TYPE_CHECKING:
    from tapveil.inputs.timetable import Timetable

LONG_LIST = 1_000_000
"""With this many cells or more, only published empty cells are drawn: the same distribution, less work."""

ReadsLabel = Callable[[str], str | None]
"""The published label of a value in the list; None where it cannot be read."""
Dictionaries = Mapping[str, pa.Table | None]
"""The list of each table, by the name of the table."""


def read_dictionaries(
    plan: Plan,
    files: PublicFiles,
    wider: Mapping[str, Areas],
    timetable_of: Callable[[], Timetable],
    calendars: Calendars,
) -> Dictionaries:
    """The list of each table, read and checked; None where the plan has none for it.

    A column of text for each key of the table; a row for each cell, sorted, none twice.
    """
    listed = {table.name: table.cells for table in plan.table if table.cells}
    timetable = timetable_of() if TIMETABLE in listed.values() else None
    found: dict[str, pa.Table | None] = dict.fromkeys(plan.tables)
    for name, cells in listed.items():
        table = plan.tables[name]
        fine = (
            timetable.cells(table) if timetable and cells == TIMETABLE else _read(plan, table, cells, files, calendars)
        )
        read = _coarsened(fine, relabelling(plan, table, wider))
        if not len(read):
            feed = timetable and timetable.feed
            runs = f"from {feed.calendar.first} to {feed.calendar.last}" if feed else "on other days"
            raise InputFileError(
                f"[[table]] {name}: the timetable has no cells on the days of the plan; it runs {runs}"
            )
        found[name] = read
    return found


def _coarsened(cells: pa.Table, relabelled: Mapping[str, Relabel]) -> pa.Table:
    """The cells of a coarser level that contain the listed cells."""
    if not relabelled:
        return cells
    modes = cells.column("mode").to_pylist() if "mode" in cells.column_names else [""] * len(cells)
    for column, relabel in relabelled.items():
        fine = cells.column(column).to_pylist()
        labels = [relabel.label(mode, label) for mode, label in zip(modes, fine, strict=True)]
        lost = [label for label, wider in zip(fine, labels, strict=True) if wider == UNKNOWN != label]
        if lost:
            raise InputFileError(
                f"a list of cells has the {column} `{lost[0]}`, which has no wider area. List cells at the finest "
                "level, and add the place to the lookup of wider areas"
            )
        cells = cells.set_column(cells.column_names.index(column), column, pa.array(labels, pa.string()))
    distinct = cells.group_by(cells.column_names).aggregate([])
    return distinct.sort_by([(column, "ascending") for column in cells.column_names])


def _read(plan: Plan, table: Table, name: str, files: PublicFiles, calendars: Calendars) -> pa.Table:
    listed = PublicList(files, plan.base / name, "list of cells", f"[[table]] {table.name}")
    keys = plan.columns.of(table)
    readers = {key: _reads_label(plan, key) for key in keys}
    cells = set[tuple[str, ...]]()
    for line, row in listed.rows(keys):
        cell = {key: read(row[key]) for key, read in readers.items()}
        for key in (key for key in keys if key in calendars and row[key] not in calendars[key].values()):
            known = sorted({*calendars[key].values()})
            hint = did_you_mean(row[key], known) or f" ({', '.join(known[:8])})"
            raise InputFileError(f"{listed.path.name}, line {line}: no day of the plan has `{key}` {row[key]}{hint}")
        for key in (key for key, value in cell.items() if value is None):
            kind = plan.source.kind(key)
            raise InputFileError(
                f"{listed.path.name}, line {line}: `{key}` cannot be read as a {kind}. Accepted: {READABLE[kind]}"
            )
        cells.add(tuple(str(value) for value in cell.values()))
    if not cells:
        raise InputFileError(f"the list of cells {name} has a header but no cells; add one row per cell")
    columns = zip(*sorted(cells), strict=True)
    return pa.table({key: pa.array(values, pa.string()) for key, values in zip(keys, columns, strict=True)})


def _reads_label(plan: Plan, key: str) -> ReadsLabel:
    kind = plan.source.kind(key)
    if kind == "time":
        bins = plan.columns.times()
        labels = bins.labels
        return lambda text: None if (minute := read_time(text)) is None else labels[bins.code(minute)]
    if kind == "date" and plan.source.calendar:
        return lambda text: read_date(text) or None
    return lambda text: text or UNKNOWN
