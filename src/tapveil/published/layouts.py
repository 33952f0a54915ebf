"""How the tables of a release are spread over files: one file each, or as in the published Opal data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tapveil.base.vocabulary import COUNT, MEASUREMENTS, NUMBERS, OPAL_SHAPES

if TYPE_CHECKING:  # whose layout it is
    from tapveil.published.manifest import Manifest, TableClaim

MODE, DATE, TAP = "mode", "date", "tap"
OPAL_COLUMNS = (MODE, DATE, TAP, "time", "loc")
"""The columns that the files of the published Opal data have, before their count."""


MOST_IN_CSV = 1_000_000
"""Cells of a measured table: how many there are is public, and a larger CSV file helps nobody."""


class Layout:
    """One file for each table, with an interval for each count."""

    folder = "data"
    """Where the files lie."""
    numbers: tuple[str, ...] = NUMBERS
    """The columns that are no keys."""
    columns: tuple[str, ...] = ()
    """Keys that files have whatever the tables are."""

    def file_of(self, table: TableClaim) -> tuple[str, str | None]:
        """The file that a table is in; and what its rows have in `tap`, where there are rows of others, too."""
        return table.name, None

    def formats(self, table: TableClaim) -> tuple[str, ...]:
        """As what a table is written: the first is what the data dictionary describes."""
        return "csv", "parquet"

    def files(self, manifest: Manifest) -> dict[str, tuple[str, ...]]:
        """The files, and their keys."""
        return {table.name: manifest.keys(table) for table in manifest.tables}


class OpalLayout(Layout):
    """`time`, `loc` and `time-loc`: mode, date as YYYYMMDD, tap, the keys, count."""

    numbers = (COUNT,)
    columns = OPAL_COLUMNS
    _KEYS: Mapping[str, tuple[str, ...]] = {"time": ("time",), "loc": ("loc",), "time-loc": ("time", "loc")}

    def file_of(self, table: TableClaim) -> tuple[str, str | None]:
        return OPAL_SHAPES[table.columns]

    def files(self, manifest: Manifest) -> dict[str, tuple[str, ...]]:
        used = {self.file_of(table)[0] for table in manifest.tables}
        return {name: (MODE, DATE, TAP, *keys) for name, keys in self._KEYS.items() if name in used}


class WorldLayout(Layout):
    """One file for each table with every cell of a known world; all counts of a table have intervals of one width."""

    folder = MEASUREMENTS
    numbers = (COUNT,)

    def formats(self, table: TableClaim) -> tuple[str, ...]:
        return ("csv", "parquet") if (table.cells or 0) <= MOST_IN_CSV else ("parquet",)


LAYOUTS: Mapping[str, Layout] = {"tables": Layout(), "opal": OpalLayout(), "world": WorldLayout()}
