"""How published tables are laid out as files: one sheet per table, or the sheets of the published Opal data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tapveil.base.vocabulary import COUNT, HIGH, LOW, OPAL_SHAPES
from tapveil.plan.model import Level, Plan
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.table import Field, PublishedTable

_OPAL_NAMES = {"time": "time", "location": "loc"}
OPAL_COLUMNS = ("mode", "date", "tap", "time", "loc")
"""The columns that the files of the published Opal data have, before their count."""


@dataclass(frozen=True)
class Sheet:
    """One file of counts: its key fields, then `count` and, unless it has the shape of the Opal files, its interval."""

    name: str
    title: str
    fields: tuple[Field, ...]
    cells: pa.Table
    smallest: int

    @property
    def keys(self) -> list[str]:
        return [field.name for field in self.fields]

    @property
    def numbers(self) -> list[str]:
        """The columns that are no keys."""
        return list(self.cells.column_names[len(self.fields) :])


def sheets(plan: Plan, tables: Sequence[PublishedTable]) -> list[Sheet]:
    """The files of counts that a plan asks for."""
    smallest = {name: mechanism.smallest_published for name, mechanism in plan.mechanisms.items()}
    if plan.release.layout == "opal":
        return _opal_sheets(tables, smallest)
    return [_table_sheet(table, plan, smallest[table.name]) for table in tables]


def _table_sheet(table: PublishedTable, plan: Plan, smallest: int) -> Sheet:
    cells, fields = with_interval(table.cells, plan.mechanisms[table.name]), table.fields
    calendar = plan.source.calendar
    for index, field in enumerate(fields):
        if field.kind == "date" and calendar:
            cells = cells.set_column(index, field.name, cells.column(index).cast(pa.date32()))
        elif field.kind == "date":
            fields = (*fields[:index], Field(field.name, "label"), *fields[index + 1 :])
    by = f" by {', '.join(plan.release.partition)}" if plan.release.partition else ""
    level = "" if table.table.level == Level() else f" ({table.table.level.in_words})"
    return Sheet(table.name, f"{table.table.in_words}{by}{level}", fields, cells, smallest)


def with_interval(cells: pa.Table, mechanism: Mechanism) -> pa.Table:
    """Published cells, each with the interval that its count stands for."""
    rule, counts = interval(mechanism, MISS), cells.column(COUNT).to_numpy()
    return cells.append_column(LOW, pa.array(rule.low(counts))).append_column(HIGH, pa.array(rule.high(counts)))


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
