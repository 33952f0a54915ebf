"""How published tables are laid out as files: one sheet per table, or the sheets of the published Opal data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tapveil.plan import OPAL_SHAPES, Plan
from tapveil.published import Field, PublishedTable

_OPAL_NAMES = {"time": "time", "location": "loc"}
OPAL_COLUMNS = ("mode", "date", "tap", "time", "loc")
"""The columns that the files of the published Opal data have, before their count."""


@dataclass(frozen=True)
class Sheet:
    """One file of counts: its key fields, then `count`."""

    name: str
    title: str
    fields: tuple[Field, ...]
    cells: pa.Table
    smallest: int


def sheets(plan: Plan, tables: Sequence[PublishedTable]) -> list[Sheet]:
    """The files of counts that a plan asks for."""
    smallest = {name: mechanism.smallest_published for name, mechanism in plan.mechanisms.items()}
    if plan.release.layout == "opal":
        return _opal_sheets(tables, smallest)
    calendar = plan.source.calendar
    return [_table_sheet(table, calendar, smallest[table.name]) for table in tables]


def _table_sheet(table: PublishedTable, calendar: bool, smallest: int) -> Sheet:
    cells, fields = table.cells, table.fields
    for index, field in enumerate(fields):
        if field.kind == "date" and calendar:
            cells = cells.set_column(index, field.name, cells.column(index).cast(pa.date32()))
        elif field.kind == "date":
            fields = (*fields[:index], Field(field.name, "label"), *fields[index + 1 :])
    title = (
        " × ".join(table.table.columns) + " by " + ", ".join(name.name for name in fields[: -len(table.table.columns)])
    )
    return Sheet(table.name, title.removesuffix(" by "), fields, cells, smallest)


def _opal_sheets(tables: Sequence[PublishedTable], smallest: Mapping[str, int]) -> list[Sheet]:
    """`time`, `loc` and `time-loc`: mode, date as YYYYMMDD, tap, the keys, count."""
    by_sheet: dict[str, list[PublishedTable]] = {}
    for table in tables:
        by_sheet.setdefault(OPAL_SHAPES[table.table.columns][0], []).append(table)
    return [_opal_sheet(name, members, smallest) for name, members in by_sheet.items()]


def _opal_sheet(name: str, tables: Sequence[PublishedTable], smallest: Mapping[str, int]) -> Sheet:
    keys = tuple(Field(_OPAL_NAMES[field.kind], field.kind) for field in tables[0].fields[2:])
    fields = (Field("mode", "label"), Field("date", "label"), Field("tap", "label"), *keys)
    cells = pa.concat_tables(_opal_cells(table, [field.name for field in fields]) for table in tables)
    ordered = cells.sort_by([(field.name, "ascending") for field in fields])
    least = min(smallest[table.name] for table in tables)
    return Sheet(name, f"tap counts by {' and '.join(key.name for key in keys)}", fields, ordered, least)


def _opal_cells(table: PublishedTable, names: Iterable[str]) -> pa.Table:
    mode, date, *keys, count = table.cells.columns
    tap = pa.array([OPAL_SHAPES[table.table.columns][1]] * len(count), pa.string())
    compact = pc.replace_substring(date, "-", "")
    return pa.table([mode, compact, tap, *keys, count], names=[*names, "count"])
