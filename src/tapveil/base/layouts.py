"""How the tables of a release are spread over files: one file each, or as in the published Opal data.

A plan asks its layout which tables it has files for, a manifest where its tables are: no one else asks which it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Protocol

from tapveil.base.vocabulary import COUNT, MEASUREMENTS, NUMBERS, TAP

MODE, DATE = "mode", "date"
MOST_IN_CSV = 1_000_000
"""Cells of a measured table: how many there are is public, and a larger CSV file helps nobody."""


class LaidTable(Protocol):
    """What a layout has to know of a table."""

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> tuple[str, ...]: ...


class Layout:
    """One file for each table, with an interval for each count."""

    folder = "data"
    """Where the files lie."""
    numbers: tuple[str, ...] = NUMBERS
    """The columns that are no keys."""
    columns: tuple[str, ...] = ()
    """Keys that files have whatever the tables are."""
    partition: tuple[str, ...] | None = None
    """The only partition that it has files for, if there is only one."""
    has_levels = True
    """Whether there are files for coarser levels."""
    has_reader = True
    """Whether a script can read the files by the names of the tables."""

    def has_file_for(self, columns: tuple[str, ...]) -> bool:
        """Whether a table of these columns can be written."""
        return True

    def file_of(self, table: LaidTable) -> tuple[str, str | None]:
        """The file that a table is in; and what its rows have in `tap`, where there are rows of others, too."""
        return table.name, None

    def formats(self, cells: int | None) -> tuple[str, ...]:
        """As what a table with this number of cells is written: the first is what the data dictionary describes."""
        return "csv", "parquet"

    def files(self, tables: Iterable[LaidTable], partition: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """The files, and their keys."""
        return {table.name: (*partition, *table.columns) for table in tables}

    def copied(self, keys: Set[str]) -> Set[str]:
        """The columns of the files with values as the source has them, from the keys that are such."""
        return keys


class OpalLayout(Layout):
    """`time`, `loc` and `time-loc`: mode, date as YYYYMMDD, tap, the keys, count."""

    numbers = (COUNT,)
    columns = (MODE, DATE, TAP, "time", "loc")
    partition = (MODE, DATE)
    has_levels = has_reader = False
    _KEYS: Mapping[str, tuple[str, ...]] = {"time": ("time",), "loc": ("loc",), "time-loc": ("time", "loc")}
    _FILES: Mapping[tuple[str, ...], tuple[str, str]] = {
        ("tap_on_time",): ("time", "on"),
        ("tap_off_time",): ("time", "off"),
        ("tap_on_location",): ("loc", "on"),
        ("tap_off_location",): ("loc", "off"),
        ("tap_on_time", "tap_on_location"): ("time-loc", "on"),
        ("tap_off_time", "tap_off_location"): ("time-loc", "off"),
    }

    def has_file_for(self, columns: tuple[str, ...]) -> bool:
        return columns in self._FILES

    def file_of(self, table: LaidTable) -> tuple[str, str | None]:
        return self._FILES[table.columns]

    def files(self, tables: Iterable[LaidTable], partition: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        used = {self.file_of(table)[0] for table in tables}
        return {name: (MODE, DATE, TAP, *keys) for name, keys in self._KEYS.items() if name in used}

    def copied(self, keys: Set[str]) -> Set[str]:
        return {MODE, "loc"} | (keys & {DATE})


class WorldLayout(Layout):
    """One file for each table with every cell of a known world; all counts of a table have intervals of one width."""

    folder = MEASUREMENTS
    numbers = (COUNT,)

    def formats(self, cells: int | None) -> tuple[str, ...]:
        return ("csv", "parquet") if (cells or 0) <= MOST_IN_CSV else ("parquet",)


LAYOUTS: Mapping[str, Layout] = {"tables": Layout(), "opal": OpalLayout(), "world": WorldLayout()}
