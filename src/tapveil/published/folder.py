"""A published folder, as it is read: `tapveil.open(folder)`. For the analyst, who has the folder and nothing else.

Nothing is believed that `verify` would not find.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tapveil.base.errors import FolderError, ReaderError, did_you_mean
from tapveil.base.vocabulary import (
    CONSISTENT,
    COUNT,
    FINEST,
    HIGH,
    LOW,
    MANIFEST,
    MISSING,
    NOUNS,
    NUMBERS,
    TAP,
    TOTAL,
    TRIPS,
    WORLD,
)
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.columns import Column, read_columns, texts
from tapveil.published.describe.wording import loss_in_words
from tapveil.published.domain import Domain, has_places, places_in_world
from tapveil.published.estimated import Estimated
from tapveil.published.estimated import why_not as why_not_estimated
from tapveil.published.frame import Estimate, Frame, load_optional
from tapveil.published.lattice import why_not
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.published.names import DAMAGED, Names, listed_places
from tapveil.published.remote import Remote, is_address
from tapveil.published.series.definition import counted

Version = Literal["published", "consistent", "finest"]
LARGEST_MANIFEST = 4 * 2**20


def open_folder(path: str | Path) -> Folder:
    """One published folder, on this machine or at an address; FolderError if it is not one."""
    if isinstance(path, str) and is_address(path):
        source = Remote(path)
        folder = Folder(source.place, source)
    else:
        folder = Folder(Path(path))
    _ = folder.manifest
    return folder


def folders_in(place: Path) -> Iterator[Folder]:
    """The published folders that lie in a folder; what only looks like one is passed over."""
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        manifest = path / MANIFEST
        with suppress(OSError):  # a folder of someone else's
            if not path.name.startswith(".") and manifest.is_file() and manifest.stat().st_size <= LARGEST_MANIFEST:
                yield Folder(path)


@dataclass(frozen=True, eq=False)
class Folder:
    """A published folder: its tables, its totals and its guarantee. Each is read when it is asked for."""

    path: Path
    """Where it is; of one at an address, where copies of its files are kept."""
    source: Remote | None = None
    """The address that its files are fetched from."""

    @property
    def where(self) -> str:
        """Its path or its address, for messages."""
        return str(self.source or self.path)

    def file(self, name: str) -> Path:
        """Where a file of the folder is on this machine.

        Of a folder at an address, a file is fetched when it is asked for, and must be what `SHA256SUMS` says.

        Args:
            name: Its name in the folder, such as `"areas.geojson"`.

        Returns:
            Its path; nothing is there if the folder has no such file.

        Raises:
            FolderError: It cannot be fetched, or is not what the checksums say.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").file("data/total.csv").exists()
            True
        """
        return self.path / name if self.source is None else self.source.file(name)

    @cached_property
    def manifest(self) -> Manifest:
        """The guarantee and its parameters; docs/reference/folder.md has every field."""
        try:
            return Manifest.read(self.privacy)
        except FileNotFoundError:
            raise FolderError(f"{self.where} is not a published folder: it has no {MANIFEST}") from None
        except NotADirectoryError:
            raise FolderError(f"{self.where} is a file: name the folder that holds {MANIFEST}") from None
        except OSError as error:
            raise FolderError(f"{self.where} cannot be read: {error.strerror}") from None
        except (ValueError, RecursionError):
            words = f"its {MANIFEST} is damaged, or of another version"
            raise FolderError(f"{self.where} is not a published folder that this tapveil can read: {words}") from None

    @property
    def privacy(self) -> dict[str, Any]:
        """The manifest (`privacy.json`) as it is written."""
        path = self.file(MANIFEST)
        if path.stat().st_size > LARGEST_MANIFEST:
            raise ValueError(f"{MANIFEST} is too large")
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return manifest

    def __repr__(self) -> str:
        tables = "\n".join(f"  {each.name}: {each.in_words}" for each in self.manifest.tables)
        parts = ", ".join(self.manifest.partition) or "nothing"
        return (
            f"{self.manifest.title}\ncounts of {NOUNS[self.manifest.unit]}, "
            f"{loss_in_words(self.manifest.exact.loss)}; tables, each split by {parts}:\n{tables}"
        )

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return [table.name for table in self.manifest.tables]

    @property
    def sheets(self) -> list[str]:
        """The names of the files of counts: those of the tables, unless the layout is that of the Opal data."""
        return list(self.manifest.sheets)

    def sheet(self, name: str) -> Any:
        """One file of counts, as an Arrow table. Needs pyarrow.

        Args:
            name: The name of the file, without its ending; `sheets` lists them.

        Returns:
            A `pyarrow.Table`.

        Raises:
            ReaderError: There is no such file, it is damaged, or pyarrow is not installed.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").sheet("total").column_names
            ['mode', 'date', 'count', 'low', 'high']
        """
        if name not in self.sheets:
            raise ReaderError(f"there is no table `{name}` in {self.where} (tables: {', '.join(self.sheets)})")
        arrow, parquet = load_optional("pyarrow"), load_optional("pyarrow.parquet")
        try:
            with parquet.ParquetFile(self._file(f"{name}.parquet")) as file:
                return file.read()
        except (OSError, arrow.ArrowException):
            raise FolderError(f"{self.where} is damaged: `tapveil verify` says where") from None

    def _file(self, name: str) -> Path:
        return self.file(f"{self.manifest.arrangement.folder}/{name}")

    @cached_property
    def _raw(self) -> Mapping[str, dict[str, Column]]:
        """The published counts by table."""
        return _Measured(self) if self.manifest.is_world else _Counted(self)

    def _raw_table(self, claim: TableClaim, columns: Mapping[str, Column]) -> dict[str, Column]:
        """A table, from the columns of its file."""
        _, tap = self.manifest.arrangement.file_of(claim)
        keys = self.manifest.keys(claim)
        if tap is not None:  # several tables in one file, whose columns have other names
            own = columns[TAP] == tap
            named = zip([*keys, COUNT], (each for name, each in columns.items() if name != TAP), strict=True)
            columns = {name: column[own] for name, column in named}
        return {name: columns[name] for name in (*keys, COUNT)}

    def mechanism(self, name: str) -> Mechanism:
        """The mechanism that a table was published with.

        Args:
            name: The name of the table.

        Returns:
            The mechanism: `tapveil.privacy` can be asked about it.

        Raises:
            ReaderError: There is no such table.
            FolderError: The manifest states noise that does not exist.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").mechanism("on_time").smallest_published
            57
        """
        claim = self._claim(name)
        try:
            return self.manifest.mechanism_of(claim)
        except ValueError as error:
            raise FolderError(f"{self.where}: table {name}: {error}") from None

    def _claim(self, name: str) -> TableClaim:
        for claim in self.manifest.tables:
            if claim.name == name:
                return claim
        hint = did_you_mean(name, self.tables) or f" (tables: {', '.join(self.tables)})"
        raise ReaderError(f"there is no table `{name}` in {self.where}{hint}")

    @cached_property
    def _parts(self) -> dict[str, frozenset[str]]:
        """Which days and modes, or other parts, are published at all."""
        if self.manifest.is_world:
            lists = self.domain.cells(self.manifest.tables[0])
            return {column: frozenset(lists[column][0]) for column in self.manifest.partition}
        return {
            column: frozenset(label for table in self._raw.values() for label in table[column].tolist())
            for column in self.manifest.partition
        }

    @property
    def modes(self) -> frozenset[str]:
        """The modes that tables have cells of; none where tables are not split by the mode."""
        return self._parts.get("mode", frozenset())

    @cached_property
    def _calendar(self) -> dict[str, Column]:
        """The days that were counted, as tables have them, with the labels that follow from each."""
        found = {name: texts(labels) for name, labels in self.manifest.calendar.items()}
        if "date" in found and not self.manifest.has_days:
            found["date"] = texts([day.replace("-", "") for day in found["date"]])
        return found

    @cached_property
    def domain(self) -> Domain:
        """The public lists of a known world, whose product is the cells of its tables.

        Raises:
            FolderError: It is not a folder of a known world, or its list of places is damaged.
        """
        if not self.manifest.is_world:
            raise FolderError(f"{self.where} has no list of all cells: only tables of a known world have every cell")
        try:
            text = self.file(WORLD).read_bytes().decode() if has_places(self.manifest) else ""
            return Domain(self.manifest, places_in_world(self.manifest, text) if text else {})
        except (OSError, ValueError):
            raise FolderError(f"{self.where} is damaged: `tapveil verify` says where") from None

    @cached_property
    def _estimated(self) -> Estimated:
        if why := why_not_estimated(self.domain, self.manifest.versions.estimates or 1):
            raise FolderError(f"{self.where} has no estimates: {why}")
        return Estimated(self.domain, {name: self._raw[name][COUNT] for name in self.tables})

    def estimate(self, columns: Sequence[str]) -> Frame:
        """Estimates over any columns of a trip, and the mode: not negative, and they add up. Not measurements.

        They are computed from the measurements, which takes some seconds the first time.

        Args:
            columns: Such as `["date", "tap_on_location", "tap_off_location"]`; also columns that no table has together.
                Or the name of one.
                The mode is always among them, where tables are split by it.

        Returns:
            Every cell, with `count`, `low` and `high`, and `weight`: how much an estimate depends on its own
            measurement, in per cent. Intervals contain the true count for about 19 of 20 cells, measured on real trips.

        Raises:
            ReaderError: There are no estimates by these columns.
            FolderError: It is not a folder of a known world, has no estimates, or is damaged.

        Example:
            >>> import tapveil
            >>> release = tapveil.open("published")
            >>> release.estimate(["tap_on_time"]) if release.manifest.is_world else release.manifest.mechanism
            'gaussian'
        """
        estimated = self._estimated
        columns = [columns] if isinstance(columns, str) else columns
        wanted = [column for column in columns if column != "mode" or "mode" not in self.manifest.partition]
        if unknown := [column for column in wanted if column not in self.manifest.columns]:
            raise ReaderError(
                f"there are no estimates by {unknown[0]}{did_you_mean(unknown[0], self.manifest.columns)}"
            )
        try:
            keys, numbers = estimated.cells(wanted, zeros=True)
        except ValueError as error:
            raise ReaderError(str(error)) from None
        cells = {key: np.array(labels, dtype=object)[codes] for key, (labels, codes) in keys.items()}
        known = {key: frozenset(labels) for key, (labels, _) in keys.items()}
        return Frame({**cells, **numbers}, tuple(cells), known=known, adds_up=False, calendar=self._calendar)

    def trips(self, shape: Literal["trips", "tides"] = "trips") -> Any:
        """Synthetic trips, one row each, whose sums are the estimates. Nobody's: none took place. Needs pyarrow.

        Args:
            shape: `"trips"`: a row for each trip, with both ends; `"tides"`: a row for each tap, with the columns of
                TIDES `fare_transactions`. There, an end without a tap has no row, an end whose time was not measured
                has the time of the other end, and times are the starts of time bins.

        Returns:
            A `pyarrow.RecordBatchReader`: some rows at a time, however many there are.

        Raises:
            ReaderError: There is no such shape, trips without times are wanted as TIDES, or pyarrow is not installed.
            FolderError: It is not a folder of a known world, has no estimates, or is damaged.

        Example:
            >>> import tapveil
            >>> release = tapveil.open("published")
            >>> release.trips().read_all() if release.manifest.is_world else release.manifest.mechanism
            'gaussian'
        """
        if shape not in ("trips", "tides"):
            raise ReaderError(f"there is no shape `{shape}`: trips or tides")
        arrow, trips = load_optional("pyarrow"), self._trips()
        first = next(trips)
        if shape == "trips":
            return arrow.RecordBatchReader.from_batches(first.schema, chain([first], trips))
        from tapveil.published.tides import SCHEMA, fare_transactions  # which needs pyarrow

        names = set(first.schema.names)
        if "date" not in names or not {"tap_on_time", "tap_off_time"} & names:
            raise ReaderError(
                "TIDES fare_transactions have days and times; the synthetic trips of this folder lack them"
            )
        return arrow.RecordBatchReader.from_batches(SCHEMA, fare_transactions(self.manifest, chain([first], trips)))

    def _trips(self) -> Iterator[Any]:
        """Batches of synthetic trips, the first of which has no rows: those of the file, or made from estimates."""
        from tapveil.published.sheets import as_written  # which need pyarrow
        from tapveil.published.synthetic_trips import NAME, SyntheticTrips

        arrow, _ = load_optional("pyarrow"), self.domain
        if not self.manifest.versions.trips:
            pieces = (as_written(self.manifest, piece) for piece in SyntheticTrips(self._estimated).pieces())
            yield arrow.RecordBatch.from_pylist([], next(pieces).schema)
            yield from (batch for piece in pieces for batch in piece.to_batches())
            return
        try:
            with load_optional("pyarrow.parquet").ParquetFile(self.file(f"{TRIPS}/{NAME}.parquet")) as file:
                yield arrow.RecordBatch.from_pylist([], file.schema_arrow)
                yield from file.iter_batches()
        except (OSError, arrow.ArrowException):
            raise FolderError(f"{self.where} is damaged: `tapveil verify` says where") from None

    def measurement(self, columns: Sequence[str]) -> Frame:
        """The measured table with just these columns, every cell of it, negative numbers too.

        Args:
            columns: Its columns, in any order, or the name of one; those that split every table may be left out.

        Returns:
            The table: counts without bias, each with its interval.

        Raises:
            ReaderError: No such table was measured.
            FolderError: It is not a folder of a known world, or is damaged.

        Example:
            >>> import tapveil
            >>> release = tapveil.open("published")
            >>> release.measurement(["tap_on_time"]) if release.manifest.is_world else release.manifest.mechanism
            'gaussian'
        """
        _ = self.domain
        wanted = {*([columns] if isinstance(columns, str) else columns), *self.manifest.partition}
        for claim in self.manifest.tables:
            if set(self.manifest.keys(claim)) == wanted and claim.level is None:
                return self.table(claim.name)
        tables = "; ".join(", ".join(self.manifest.keys(each)) for each in self.manifest.tables if each.level is None)
        raise ReaderError(f"no measured table has just the columns {', '.join(sorted(wanted))} ({tables})")

    def table(self, name: str, version: Version = "published") -> Frame:
        """One table, every number with its interval.

        Args:
            name: The name of the table.
            version: `"published"`: as it was published; `"consistent"`: adjusted so that tables add up; `"finest"`:
                at the finest level of detail that was published.

        Returns:
            The table.

        Raises:
            ReaderError: There is no such table or version.
            FolderError: The folder has no such version of the table, or is damaged.

        Example:
            >>> import tapveil
            >>> release = tapveil.open("published")
            >>> release.table("on_time").columns
            ['mode', 'date', 'tap_on_time', 'count', 'low', 'high']
            >>> len(release.table("on_time", "consistent"))
            10
        """
        if version in (CONSISTENT, FINEST):
            return self._derived(version, name)
        if version != "published":
            raise ReaderError(f"there is no version `{version}`: published, consistent or finest")
        mechanism, claim = self.mechanism(name), self._claim(name)
        timed = [column for column in claim.columns if self.manifest.columns[column] == "time"]
        known = self._parts | dict.fromkeys(timed, frozenset(self.manifest.listed_times(claim)))
        known |= {key: frozenset(labels) for key, labels in self.manifest.calendar.items() if key in claim.columns}
        rule, cells = interval(mechanism, MISS), self._raw[name]
        cells = {**cells, LOW: rule.low(cells[COUNT]), HIGH: rule.high(cells[COUNT])}
        keys, names = self.manifest.keys(claim), self._names(claim.level.location if claim.level else None)
        return Frame(
            cells,
            keys,
            mechanism,
            known,
            names,
            calendar=self._calendar,
            coarser=self._coarser(claim, self.table),
            definition=counted(self.manifest, claim),
        )

    def _coarser(self, own: TableClaim, read: Callable[[str], Frame]) -> Callable[[frozenset[str]], Frame | None]:
        """What finds the coarsest table with some columns that has every trip of a table, if tables add up."""

        def find(needed: frozenset[str]) -> Frame | None:
            fits = [
                claim
                for claim in self.manifest.tables
                if set(claim.columns) < set(own.columns)
                and needed <= set(self.manifest.keys(claim))
                and (claim.level == own.level or not needed & set(claim.columns))
            ]
            if not fits or why_not(self.manifest):
                return None
            return read(min(fits, key=lambda claim: len(claim.columns)).name)

        return find

    @property
    def has_totals(self) -> bool:
        """Whether the totals of parts are published; in folders of version 1 they were guessed, where they could be."""
        return TOTAL in self.tables or self.file(f"{CONSISTENT}/{TOTAL}.csv").is_file()

    @property
    def totals(self) -> Frame:
        """The total of each part (day and mode), as it was published."""
        if TOTAL in self.tables:
            return self.table(TOTAL)
        if not self.has_totals:
            raise FolderError(f"{self.where} has no totals: its plan has no table `{TOTAL}`, with columns = []")
        return self._derived(CONSISTENT, TOTAL)

    def rest(self, fine: str, coarse: str) -> Frame:
        """For each cell of a coarser table: how much lies in cells that the finer one does not list.

        Args:
            fine: The name of the finer table.
            coarse: The name of the coarser table.

        Returns:
            For each cell of the coarser table its `total`, what is `listed` in the finer one, and the `other` trips.

        Raises:
            ReaderError: There is no such table.
            FolderError: The folder does not have the two together.

        Example:
            >>> import tapveil
            >>> tapveil.open("published").rest("on_time", "total").columns
            ['mode', 'date', 'total', 'listed', 'other', 'other_low', 'other_high']
        """
        self._claim(fine)
        if coarse != TOTAL or not self.has_totals:
            self._claim(coarse)
        return self._derived(CONSISTENT, f"{fine}.by.{coarse}")

    def _derived(self, folder: str, name: str) -> Frame:
        path = self.file(f"{folder}/{name}.csv")
        if folder == CONSISTENT and (why := why_not(self.manifest)):
            raise FolderError(f"{self.where} has no consistent version: {why}")
        if not path.is_file():
            if ".by." not in name:
                self._claim(name)
            raise FolderError(f"{self.where} has no {folder} version of `{name}`")
        numbers = (*NUMBERS, "total", "listed", "other", "other_low", "other_high")
        try:
            cells = read_columns(path, numbers)
        except (OSError, ValueError, csv.Error):
            raise FolderError(f"{self.where} is damaged: `tapveil verify` says where") from None
        keys = tuple(each for each in cells if each not in numbers)
        names, own = self._names(None, every=True), [each for each in self.manifest.tables if each.name == name]
        coarser = None
        if own and folder == CONSISTENT:
            coarser = self._coarser(own[0], lambda table: self._derived(CONSISTENT, table))
        return Frame(cells, keys, known=self._parts, names=names, calendar=self._calendar, coarser=coarser)

    def _names(self, wider: str | None, *, every: bool = False) -> Names:
        """The values of columns that occur in any table, or in public lists; of places, those of one level, or all."""

        def gather(column: str) -> frozenset[str]:
            places, found = self.manifest.columns[column] == "location", set[str]()
            levels = {wider, *(self.manifest.wider if every else ())}
            for claim in self.manifest.tables:
                level = claim.level.location if claim.level else None
                if not places:
                    found.update(self._raw[claim.name][column].tolist() if column in self.manifest.keys(claim) else ())
                elif level in levels and not self.manifest.is_world:
                    own = [each for each in claim.columns if self.manifest.columns[each] == "location"]
                    found.update(place for each in own for place in self._raw[claim.name][each].tolist())
            if places and self.manifest.is_world:
                found.update(place for listed in self.domain.places.values() for place in listed)
            try:
                return frozenset(found).union(*(listed_places(self.file, level) for level in levels if places))
            except DAMAGED:
                raise FolderError(f"{self.where} is damaged: `tapveil verify` says where") from None

        kinds = self.manifest.columns.items()
        return Names([column for column, kind in kinds if kind not in ("time", "duration", "calendar")], gather)

    def total(self, **where: str) -> Estimate:
        """The trips of some parts (days and modes) in all. Cards count once in each part.

        Args:
            **where: Which parts, such as `mode="train"`; all of them by default.

        Returns:
            The sum of the published totals, with the interval of their noise.

        Raises:
            FolderError: The folder has no totals, or nothing is published of these parts.
            ReaderError: There is no such column, day or mode.

        Example:
            >>> import tapveil
            >>> total = tapveil.open("published").total(mode="ferry")
            >>> total.low < total.count < total.high
            True
        """
        totals = self.totals
        if totals.mechanism is not None and set(where) == set(totals.keys):
            return totals.cell(**where)
        parts = totals.where(**where)
        if not len(parts):
            raise FolderError("nothing is published of that: how many trips it has, the folder does not say")
        if TOTAL not in self.tables:  # guessed, in folders of version 1, for every part that has any
            return Estimate(*(int(parts.cells[number].sum()) for number in NUMBERS))
        row = parts.sum().rows()[0]
        if row[HIGH] is None:
            raise FolderError(
                "some of these parts are not published: how many trips they have, the folder does not say"
            )
        return Estimate(row[COUNT], row[LOW], row[HIGH])

    def profile(self, column: str, **where: str) -> Frame:
        """How the trips of one part are spread over the values of a column.

        Of times, all bins are there: where nothing was published, without a number, and with what that means.

        Args:
            column: The column, such as `tap_on_time`.
            **where: The part: a value for each partition column; and for other columns of a table with more of them.

        Returns:
            A row for each value.

        Raises:
            ReaderError: No table has just these columns, or a partition column has no value.

        Example:
            >>> import tapveil
            >>> day = tapveil.open("published").profile("tap_on_time", mode="ferry", date="2025-03-03")
            >>> len(day), day.rows()[2]["published"]
            (24, False)
        """
        wanted = {column, *(key for key in where if key not in self.manifest.partition)}
        fits = [claim for claim in self.manifest.tables if set(claim.columns) == wanted]
        if not fits:
            tables = "; ".join(f"{each.name}: {', '.join(each.columns)}" for each in self.manifest.tables)
            raise ReaderError(f"no table has just the columns {', '.join(sorted(wanted))} ({tables})")
        left = set(self.manifest.partition) - set(where)
        if left:
            raise ReaderError(f"say which {' and '.join(sorted(left))}: a profile is that of one part")
        frame = self.table(fits[0].name).where(**where)
        if self.manifest.columns[column] != "time":
            return frame
        return frame.filled(column, [label for label in self.manifest.listed_times(fits[0]) if label != MISSING])

    def convert(
        self,
        to: str,
        out: str | Path,
        *,
        bom: bool = True,
        delimiter: str = ",",
        tables: Sequence[str] | None = None,
    ) -> list[Path]:
        """Write the folder as files for other programs, from its published numbers alone.

        `converted.json` next to them says what they are made from: `tapveil convert FOLDER --verify DIR` makes them
        again and compares.

        Args:
            to: `"flows"` (flowmap.blue, kepler.gl), `"gpkg"` (QGIS), `"geoparquet"` (GeoPandas; needs pyarrow),
                `"xlsx"`, `"csv"` (Excel), or `"omx"` (demand models; needs h5py).
            out: The folder to write to. Files that are there stay.
            bom: Whether CSV begins with a byte-order mark, by which Excel knows UTF-8.
            delimiter: What is between columns of CSV: a comma, a semicolon (for Excel where decimals have a comma), or
                a tab.
            tables: Which tables `"xlsx"`, `"csv"` and `"gpkg"` have; all of them by default.

        Returns:
            The files.

        Raises:
            FolderError: The folder lacks what the form needs, such as positions of places; or a table has more rows
                than a sheet of Excel.
            ReaderError: A library is not installed.
            UsageError: There is no such form or table, or a file exists.

        Example:
            >>> import tapveil
            >>> [path.name for path in tapveil.open("published").convert("csv", "for-excel")]
            ['on_time.csv', 'on_location.csv', 'total.csv']
        """
        from tapveil.published.conversion.convert import Choice, convert  # which reads folders
        from tapveil.published.conversion.statement import csv_style

        choice = Choice(csv_style(bom, delimiter), None if tables is None else tuple(tables))
        return convert(self, to, Path(out), choice)


class _Tables(Mapping[str, dict[str, Column]]):
    """The tables of a folder, each read when it is asked for."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._found = dict[str, dict[str, Column]]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._folder.tables)

    def __len__(self) -> int:
        return len(self._folder.tables)

    def __getitem__(self, name: str) -> dict[str, Column]:
        if name not in self._found:
            claim = next(table for table in self._folder.manifest.tables if table.name == name)
            try:
                self._found[name] = self._read(claim)
            except (OSError, ValueError, KeyError, csv.Error):
                raise FolderError(f"{self._folder.where} is damaged: `tapveil verify` says where") from None
        return self._found[name]

    def _read(self, claim: TableClaim) -> dict[str, Column]:
        raise NotImplementedError


class _Counted(_Tables):
    """The tables of published cells; several may be in one file."""

    def __init__(self, folder: Folder) -> None:
        super().__init__(folder)
        self._files = dict[str, dict[str, Column]]()

    def _read(self, claim: TableClaim) -> dict[str, Column]:
        file, _ = self._folder.manifest.arrangement.file_of(claim)
        if file not in self._files:
            self._files[file] = self._columns(file)
        return self._folder._raw_table(claim, self._files[file])

    def _columns(self, file: str) -> dict[str, Column]:
        """The columns of a file; of one at an address those of its Parquet, a tenth of the size, where that is read."""
        source, name = self._folder.source, f"{self._folder.manifest.arrangement.folder}/{file}.parquet"
        if source is not None and name in source.sums:
            with suppress(ImportError):
                from tapveil.published.parquet_columns import parquet_columns  # which needs pyarrow

                return parquet_columns(source.file(name), NUMBERS)
        return read_columns(self._folder._file(f"{file}.csv"), NUMBERS)


class _Measured(_Tables):
    """The tables of a known world: their keys are its lists."""

    def _read(self, claim: TableClaim) -> dict[str, Column]:
        manifest, domain = self._folder.manifest, self._folder.domain
        counts = self._counts(self._folder.file(manifest.files(claim)[0]))
        keys = {key: np.array(labels, dtype=object)[codes] for key, (labels, codes) in domain.cells(claim).items()}
        if len(counts) != claim.cells or any(len(codes) != claim.cells for codes in keys.values()):
            raise ValueError("it has other cells than the manifest says")
        return {**keys, COUNT: counts}

    @staticmethod
    def _counts(file: Path) -> Column:
        if file.suffix == ".csv":
            return read_columns(file, NUMBERS)[COUNT]
        counts: Column = load_optional("pyarrow.parquet").read_table(file, columns=[COUNT]).column(COUNT).to_numpy()
        return counts
