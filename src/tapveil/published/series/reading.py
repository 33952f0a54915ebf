"""Many releases as one series: one table per name over all days, with breaks of definition and gaps.

Nothing is adjusted across releases. A day that several releases have is combined by the precision of each. Numbers of
two definitions (other bins, areas, units) stand in one table, and say which definition they have.
"""

from __future__ import annotations

import fnmatch
import glob
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import groupby, pairwise, takewhile
from pathlib import Path
from typing import Any, overload

import numpy as np

from tapveil.base.errors import FolderError, ReaderError, did_you_mean
from tapveil.base.vocabulary import COUNT, HIGH, LOW, MANIFEST, NUMBERS, TOTAL
from tapveil.privacy.distribution import variance
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.mechanisms import Gaussian, Mechanism, World
from tapveil.published.columns import Column, texts
from tapveil.published.folder import Folder, open_folder
from tapveil.published.frame import DATE, DEFINITION, RELEASE, Frame
from tapveil.published.lattice import why_not
from tapveil.published.manifest import TableClaim
from tapveil.published.names import DAMAGED, Names, listed_places
from tapveil.published.remote import Remote, is_address, matching, shown
from tapveil.published.series.definition import COMPARABLE, definition
from tapveil.published.series.written import BOTH, CONTENTS, Written, combined_noise
from tapveil.published.variation import noise_quantile

_MAGIC = re.compile(r"[*?\[]")
_FILES = (".parquet", ".csv")
_DEPTH = 3
"""How deep the file of a table is in a series: `TABLE/year=2025/part-0.parquet`."""


@overload
def open(path: Path) -> Folder: ...
@overload
def open(path: str) -> Any: ...
@overload
def open(path: Sequence[str | Path]) -> Series: ...
def open(path: str | Path | Sequence[str | Path]) -> Folder | Series:
    """Open a published folder for reading, or several as one series. Needs only the folders.

    Folders may be on this machine or at an address, such as `"https://data.example/published"` or
    `"s3://bucket/published"` (which needs pyarrow). There, files are fetched when they are asked for.

    Args:
        path: The folder; or a pattern such as `"published/*"`, or a list of folders, for a series; or a series that
            `tapveil series -o` wrote. The file of a table, or a pattern such as `"series/on_time/*/*.parquet"`, opens
            the folder or the series that it is part of.

    Returns:
        The folder: its tables, totals and guarantee. Of a pattern or a list, the series: one table per name.

    Raises:
        FolderError: It is not a published folder, or its manifest is damaged or of a later format; or it cannot be
            fetched.

    Example:
        >>> import tapveil
        >>> release = tapveil.open("published")
        >>> release
        Harbour ferries
        counts of trips, epsilon = 1, delta = 1e-6; tables, each split by mode, date:
          on_time: tap_on_time
          on_location: tap_on_location
          total: total
        >>> tapveil.open("publish*").tables
        ['on_time', 'on_location', 'total']
    """
    if isinstance(path, str) and is_address(path):
        return _at_address(path)
    if isinstance(path, str | Path) and str(path).endswith(_FILES) and not Path(path).is_dir():
        return _around(str(path))
    if isinstance(path, Path) or (isinstance(path, str) and (Path(path).exists() or not _MAGIC.search(path))):
        place = Path(path)
        if (place / CONTENTS).is_file() and not (place / MANIFEST).exists():
            return Series._written_in(Written.read(place.joinpath, str(place)))
        return open_folder(path)
    if isinstance(path, str):
        found = sorted(name for name in glob.glob(path) if Path(name).is_dir())  # noqa: PTH207 (a pattern can be anywhere)
        if not found:
            raise FolderError(f"there is no folder {path}")
        return Series(tuple(open_folder(name) for name in found))
    path = list(path) if isinstance(path, Iterable) else [path]
    if unexpected := [each for each in path if not isinstance(each, str | Path)]:
        raise ReaderError(f"name a folder, a pattern or a list of folders, not {unexpected[0]!r}")
    if not path:
        raise FolderError("a series has at least one folder")
    if len(path) == 1 and isinstance(alone := open(str(path[0])), Series):  # as it was written
        return alone
    return Series(tuple(open_folder(each) for each in path))


def _around(pattern: str) -> Folder | Series:
    """What the files of tables are part of: a folder, several, or a series."""
    found = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    roots = dict[Path, None]()
    for name in found:
        above = list(Path(name).parents)[:_DEPTH]
        roots |= dict.fromkeys(
            [each for each in above if any((each / own).exists() for own in (MANIFEST, CONTENTS))][:1]
        )
    if not roots:
        raise FolderError(f"{pattern} is no file of a published folder or of a series: name the folder itself")
    return open(*roots) if len(roots) == 1 else open(list(roots))


def _around_address(address: str) -> str:
    """The address of what the files of tables are part of: one of those above has checksums that name them."""
    base, mark, query = address.partition("?")
    parts = base.split("/")
    for depth in range(2, _DEPTH + 1):
        above, pattern = "/".join(parts[:-depth]), "/".join(parts[-depth:])
        with suppress(FolderError):
            if not _MAGIC.search(above) and fnmatch.filter(Remote(above + mark + query).sums, pattern):
                return above + mark + query
    raise FolderError(f"{shown(base)} is no file of a published folder or of a series: name the folder itself")


def _at_address(address: str) -> Folder | Series:
    """A folder or a written series, by the files that its checksums name; or the folders that match a pattern."""
    named = address.partition("?")[0]
    if _MAGIC.search(named) and not named.endswith(_FILES):
        found = matching(address)
        if not found:
            raise FolderError(f"there is no folder {shown(address)}")
        return Series(tuple(open_folder(each) for each in found))
    source = Remote(_around_address(address) if named.endswith(_FILES) else address)
    if CONTENTS in source.sums and MANIFEST not in source.sums:
        return Series._written_in(Written.read(source.file, str(source)))
    folder = Folder(source.place, source)
    _ = folder.manifest
    return folder


@dataclass(frozen=True)
class Break:
    """A change of what a table counts, or of how precisely."""

    table: str
    """Which table."""
    release: str
    """The first release after the change: the name of its folder."""
    day: str
    """Its first day, if it states its days."""
    what: str
    """What changed: `unit`, `rows`, `columns`, `bins`, `areas`, `day`; or `mechanism`, `mask`, `lists`."""
    before: str
    """As it was."""
    after: str
    """As it is."""
    comparable: bool
    """Whether numbers before and after count the same things: precision changed, or the list of all stops."""

    @property
    def as_json(self) -> dict[str, str | bool]:
        """As `series.json` has it."""
        words = {"table": self.table, "release": self.release, "day": self.day, "what": self.what}
        return {**words, "before": self.before, "after": self.after, "comparable": self.comparable}

    def __str__(self) -> str:
        kind = "changed" if self.comparable else "BREAK"
        return f"{self.table}, from {self.day or self.release} on: {self.what} {kind}: {self.before} -> {self.after}"


@dataclass(frozen=True, eq=False)
class Series:
    """Published folders in the order of their days, read as one. Tables are read when they are asked for."""

    given: tuple[Folder, ...]
    """The folders, as they were named."""
    written: Written | None = field(default=None, repr=False)
    """The files that it is read from, instead of those of its folders."""

    @classmethod
    def _written_in(cls, written: Written) -> Series:
        """A series that was written, of which only the manifests of its releases are there."""
        return cls(tuple(written.folders()), written)

    def __post_init__(self) -> None:
        names = [folder.path.resolve() for folder in self.given]
        if len(set(names)) < len(names):
            raise FolderError("a folder is named twice: a series has each once")
        identities = [folder.manifest.release_id for folder in self.given]
        if len(set(identities)) < len(identities):
            raise FolderError("a release is there twice, in two folders: a series has each once")

    @cached_property
    def folders(self) -> list[Folder]:
        """The folders in the order of their days."""
        if self.written:
            return list(self.given)
        return sorted(
            self._own_days, key=lambda each: (self._own_days[each][:1], each.manifest.created, each.path.name)
        )

    @cached_property
    def names(self) -> list[str]:
        """The name of each release: that of its folder; with its number, where several have the same."""
        if self.written:
            return self.written.names
        own = [folder.path.resolve().name for folder in self.folders]
        return [name if own.count(name) == 1 else f"{name}#{number}" for number, name in enumerate(own, 1)]

    @cached_property
    def _own_days(self) -> dict[Folder, list[str]]:
        if self.written:
            return dict(zip(self.given, self.written.days(), strict=True))
        corrected = {folder.manifest.corrects for folder in self.given}
        return {folder: _days(folder) for folder in self.given if folder.manifest.release_id not in corrected}

    @property
    def withdrawn(self) -> list[Folder]:
        """Folders that were named and are left out: another of them corrects their release, which was withdrawn."""
        return [folder for folder in self.given if folder not in self._own_days]

    @property
    def title(self) -> str:
        """The words that the titles of all releases begin with: those of a routine end with their periods."""
        titles = [folder.manifest.title for folder in self.folders]
        alike = takewhile(lambda words: len(set(words)) == 1, zip(*(title.split() for title in titles), strict=False))
        return " ".join(words[0] for words in alike).rstrip(" ,;:.–—-(") or titles[-1]

    def __repr__(self) -> str:
        days, number = self.days, len(self.folders)
        span = f", {days[0]} to {days[-1]}" if days else ""
        lines = [f"{self.title}: a series of {number} release{'s' * (number != 1)}{span}"]
        lines += [f"  {name}" for name in self.tables]
        lines += [f"gap: {first} to {last}" for first, last in self.gaps]
        if twice := list(self.overlaps):
            lines.append(f"in several releases: {len(twice)} days from {twice[0]} to {twice[-1]}")
        lines += [f"withdrawn, and left out for its correction: {folder.path.name}" for folder in self.withdrawn]
        lines += map(str, self.breaks)
        return "\n".join(lines)

    @property
    def tables(self) -> list[str]:
        """The names of the tables, in the order in which they first occur."""
        return list(dict.fromkeys(name for folder in self.folders for name in folder.tables))

    @property
    def days(self) -> list[str]:
        """The days that some release has, in order."""
        return sorted({day for own in self._own_days.values() for day in own})

    def days_of(self, place: int) -> list[str]:
        """The days of one release.

        Args:
            place: Its place in `folders`.

        Returns:
            The days, in order.

        Example:
            >>> import tapveil
            >>> tapveil.open(["published"]).days_of(0)
            ['2025-03-03', '2025-03-04']
        """
        return self._own_days[self.folders[place]]

    def write(self, out: str | Path) -> Path:
        """Write the series as files: Parquet by table and year, `series.json` and a page. Needs pyarrow.

        Args:
            out: The folder to write, which must not exist.

        Returns:
            Where it is.

        Raises:
            ReaderError: pyarrow is not installed, or a folder is damaged.

        Example:
            >>> import tapveil
            >>> sorted(path.name for path in tapveil.open(["published"]).write("series").iterdir())
            ['SHA256SUMS', 'on_location', 'on_time', 'releases', 'series.html', 'series.json', 'total']
        """
        if self.written:
            raise ReaderError("this series is written already: copy its files, or open its folders")
        try:
            from tapveil.published.series.writer import write_series
        except ImportError:
            raise ReaderError("a series is written as Parquet, which needs pyarrow: pip install pyarrow") from None
        return write_series(self, Path(out))

    @property
    def gaps(self) -> list[tuple[str, str]]:
        """The days that no release has, between the first and the last: the first and the last of each gap."""
        found = [date.fromisoformat(day) for day in self.days]
        day = timedelta(days=1)
        return [((a + day).isoformat(), (b - day).isoformat()) for a, b in pairwise(found) if b - a > day]

    @property
    def overlaps(self) -> dict[str, list[str]]:
        """The days that several releases have, with the names of these."""
        of_day = dict[str, list[str]]()
        for folder, name in zip(self.folders, self.names, strict=True):
            for day in self._own_days[folder]:
                of_day.setdefault(day, []).append(name)
        return {day: names for day, names in sorted(of_day.items()) if len(names) > 1}

    @cached_property
    def breaks(self) -> list[Break]:
        """Where the definition of a table changes, and where its precision does; in the order of tables and days."""
        return [found for table in self.tables for found in self._breaks(table)]

    def _breaks(self, table: str) -> Iterator[Break]:
        before: dict[str, str] | None = None
        for folder, name, claim in self._with(table):
            now = definition(folder.manifest, claim)
            day = next(iter(self._own_days[folder]), "")
            for what, value in now.items() if before is not None else ():
                if value != (was := (before or now)[what]):
                    yield Break(table, name, day, what, was, value, what in COMPARABLE)
            before = now

    def _with(self, table: str) -> Iterator[tuple[Folder, str, TableClaim]]:
        """The folders that have a table, their names, and what they say of it."""
        for folder, name in zip(self.folders, self.names, strict=True):
            for claim in folder.manifest.tables:
                if claim.name == table:
                    yield folder, name, claim

    @property
    def totals(self) -> Frame:
        """The total of each part (day and mode), as it was published."""
        return self.table(TOTAL)

    def table(self, name: str) -> Frame:
        """One table over all releases.

        Args:
            name: The name of the table.

        Returns:
            Its cells as they were published, each with its interval, the `release` that it is from and the number of
            its `definition`. A cell that several releases of one definition have is the mean of their numbers, each by
            its precision; of several definitions, the newest release has the day.

        Raises:
            ReaderError: There is no such table.
            FolderError: A folder is damaged.

        Example:
            >>> import tapveil
            >>> tapveil.open(["published"]).table("on_time").columns
            ['mode', 'date', 'tap_on_time', 'count', 'low', 'high', 'release', 'definition']
        """
        pieces = list(self._pieces(name))
        if not pieces:
            hint = did_you_mean(name, self.tables) or f" (tables: {', '.join(self.tables)})"
            raise ReaderError(f"there is no table `{name}` in the series{hint}")
        keys = tuple(dict.fromkeys(key for piece in pieces for key in piece.keys))
        dated = DATE in keys
        if self.written:
            cells = self.written.cells(name, keys)
            noise = combined_noise(cells[RELEASE], {piece.name: variance(piece.mechanism) for piece in pieces})
        else:
            cells, noise = _merged(pieces, keys) if dated else _joined(pieces, keys)
        if not dated:  # the days of cells are not known: those of two releases are never the same
            keys = (RELEASE, *keys)
            cells = {key: cells[key] for key in (*keys, *NUMBERS, DEFINITION)}
        own = [piece for piece in pieces if piece.days]
        absents = {day: piece.absent for piece in own for day in piece.days}
        if not absents or not dated:
            absents = {"": max(piece.absent for piece in pieces)}
        single = {piece.mechanism for piece in pieces}
        known = {key: frozenset[str]().union(*(piece.known.get(key, ()) for piece in pieces)) for key in keys}
        partition = {key for piece in pieces for key in piece.folder.manifest.partition if key != DATE}
        known |= {key: frozenset(cells[key].tolist()) for key in partition}
        known = {key: values for key, values in known.items() if values}
        if not dated:
            known[RELEASE] = frozenset(piece.name for piece in pieces)
        else:
            known[DATE] = self._published_days(name, pieces, cells[DATE])
        last = pieces[-1]
        own_parts = {} if dated else {piece.name: self._part(piece, cells, known) for piece in pieces}
        add_up = all(why_not(piece.folder.manifest) is None for piece in pieces)
        return Frame(
            cells,
            keys,
            known=known,
            names=self._names(name, keys),
            coarser=self._coarser(last.claim) if add_up else None,
            calendar=_calendar(pieces, known[DATE]) if dated else {},
            noise=noise,
            absents=absents,
            gaussian=all(isinstance(each, Gaussian | World) for each in single),
            parts=own_parts,
        )

    def _part(self, piece: _Piece, cells: Mapping[str, Column], known: Mapping[str, frozenset[str]]) -> Frame:
        """The rows of one release of a table without days, as they are in its folder, with their definition."""
        rows = cells[RELEASE] == piece.name
        own = {name: column[rows] for name, column in cells.items() if name != RELEASE}
        find = self._coarser(piece.claim) if why_not(piece.folder.manifest) is None else None

        def coarser(needed: frozenset[str]) -> Frame | None:
            found = find(needed) if find else None
            return None if found is None else found.parts.get(piece.name)

        names, calendar = self._names(piece.claim.name, piece.keys), piece.folder._calendar
        return Frame(own, piece.keys, piece.mechanism, known, names, calendar=calendar, coarser=coarser)

    def total(self, **where: str) -> Frame:
        """The totals of some parts, by day.

        Args:
            **where: Which parts, such as `mode="train"`; all of them by default.

        Returns:
            A row for each day, or for each release of tables without days.

        Raises:
            ReaderError: There is no table of totals, or no such part.

        Example:
            >>> import tapveil
            >>> len(tapveil.open(["published"]).total(mode="ferry"))
            2
        """
        parts = self.totals.where(**where)
        return parts.sum(by=[key for key in (DATE, RELEASE) if key in parts.keys])

    def _coarser(self, own: TableClaim) -> Callable[[frozenset[str]], Frame | None]:
        def find(needed: frozenset[str]) -> Frame | None:
            manifest = self.folders[-1].manifest
            for claim in sorted(manifest.tables, key=lambda each: len(each.columns)):
                every = sum(1 for _ in self._with(claim.name)) == sum(1 for _ in self._with(own.name))
                known = {*manifest.keys(claim), DEFINITION, *(() if DATE in manifest.keys(claim) else (RELEASE,))}
                fits = set(claim.columns) < set(own.columns) and needed <= known
                if fits and every and (claim.level == own.level or not needed & set(claim.columns)):
                    return self.table(claim.name)
            return None

        return find

    def _names(self, table: str, keys: Sequence[str]) -> Names:
        """The values that columns have in any release, or in its public lists."""

        def gather(column: str) -> frozenset[str]:
            if self.written:
                own = {*self.written.cells(table, keys)[column].tolist()}
                return self.written.places(table, column) | own
            found = set[str]()
            for folder, _, claim in self._with(table):
                if column in folder.manifest.keys(claim):
                    found.update(folder._raw[table][column].tolist())
                    if folder.manifest.columns[column] == "location":
                        try:
                            found |= listed_places(folder.file, claim.level.location if claim.level else None)
                        except DAMAGED:
                            raise FolderError(f"{folder.where} is damaged: `tapveil verify` says where") from None
            return frozenset(found)

        return Names([key for key in keys if key not in (DATE, RELEASE)], gather)

    def _published_days(self, table: str, pieces: Sequence[_Piece], own: Column) -> frozenset[str]:
        """The days of a table, as in its folders: a day counts if any table has a number of it.

        A plan can name more days than there were trips on. Other tables are read only where this one lacks a day.
        """
        stated, found = {day for piece in pieces for day in piece.days}, {*own.tolist()}
        others = {claim.name: len(claim.columns) for folder in self.folders for claim in folder.manifest.tables}
        for name in sorted(others, key=lambda each: (others[each], each)):
            if stated <= found:
                break
            found |= self._days_in(name) if name != table else set()
        return frozenset(stated & found)

    def _days_in(self, table: str) -> set[str]:
        """The days of which a table has a number."""
        dated = [(folder, claim) for folder, _, claim in self._with(table) if DATE in folder.manifest.keys(claim)]
        if self.written:
            return {*self.written.cells(table, (DATE,))[DATE].tolist()} if dated else set()
        return {_day(day) for folder, _ in dated for day in {*folder._raw[table][DATE].tolist()}}

    def _definitions(self, table: str) -> dict[str, int]:
        """The definition of a table on each of its days: the newest, where several releases have the day."""
        found = dict[str, int]()
        for piece in self._pieces(table):
            for day in piece.days:
                found[day] = max(piece.definition, found.get(day, 0))
        return found

    def _pieces(self, table: str) -> Iterator[_Piece]:
        number, before = 0, None
        for folder, name, claim in self._with(table):
            now = {what: value for what, value in definition(folder.manifest, claim).items() if what not in COMPARABLE}
            number += now != before
            before = now
            yield _Piece(folder, name, claim, number, tuple(self._own_days[folder]))


@dataclass(frozen=True, eq=False)
class _Piece:
    """What one release has of a table."""

    folder: Folder
    name: str
    claim: TableClaim
    definition: int
    days: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return self.folder.manifest.keys(self.claim)

    @cached_property
    def mechanism(self) -> Mechanism:
        return self.folder.mechanism(self.claim.name)

    @property
    def absent(self) -> float:
        """What a cell that is not there has at most: nothing in a known world, where all are; of a list, anything."""
        if self.mechanism.publishes_every_cell:
            return 0.0
        return float("inf") if self.mechanism.from_a_list else float(interval(self.mechanism, MISS).absent)

    @cached_property
    def known(self) -> dict[str, frozenset[str]]:
        manifest = self.folder.manifest
        times = [column for column in self.claim.columns if manifest.columns[column] == "time"]
        labels = {key: frozenset(days) for key, days in manifest.calendar.items() if key in self.keys and key != DATE}
        return labels | dict.fromkeys(times, frozenset(manifest.listed_times(self.claim)))

    @cached_property
    def cells(self) -> dict[str, Column]:
        """Keys and counts, days as those of a calendar."""
        found = dict(self.folder._raw[self.claim.name])
        if DATE in found and not self.folder.manifest.has_days:
            found[DATE] = texts([_day(label) for label in found[DATE].tolist()])
        return found

    def limits(self, counts: Column) -> tuple[Column, Column]:
        rule = interval(self.mechanism, MISS)
        return rule.low(counts), rule.high(counts)


def _joined(pieces: Sequence[_Piece], keys: Sequence[str]) -> tuple[dict[str, Column], Column]:
    """The rows of all releases, one after the other."""
    columns: dict[str, list[Column]] = {name: [] for name in (*keys, *NUMBERS, RELEASE, DEFINITION)}
    for piece in pieces:
        cells, number = piece.cells, len(piece.cells[COUNT])
        low, high = piece.limits(cells[COUNT])
        own = {COUNT: cells[COUNT], LOW: low, HIGH: high}
        own |= {RELEASE: np.full(number, piece.name, object), DEFINITION: np.full(number, piece.definition, np.int64)}
        for name, into in columns.items():
            into.append(own[name] if name in own else cells.get(name, np.full(number, "", object)))
    noise = np.concatenate([np.full(len(piece.cells[COUNT]), variance(piece.mechanism)) for piece in pieces])
    return {name: np.concatenate(each) for name, each in columns.items()}, noise


def _merged(pieces: Sequence[_Piece], keys: Sequence[str]) -> tuple[dict[str, Column], Column]:
    """The rows of all releases by day; of a day that several have, one row for each cell."""
    cells, noise = _joined(pieces, keys)
    of_day = dict[str, list[_Piece]]()
    for piece in pieces:
        for day in piece.days:
            of_day.setdefault(day, []).append(piece)
    twice = {day: own for day, own in of_day.items() if len(own) > 1}
    if not twice:
        return cells, noise
    once = np.fromiter((day not in twice for day in cells[DATE].tolist()), bool, len(noise))
    rows = [[cells[name][place] for name in cells] + [noise[place]] for place in np.flatnonzero(~once).tolist()]
    merged = list(_combined(rows, list(keys), twice))
    parts = {name: [row[place] for row in merged] for place, name in enumerate([*cells, "noise"])}
    kept = {name: np.concatenate([column[once], _like(column, parts[name])]) for name, column in cells.items()}
    noise = np.concatenate([noise[once], np.array(parts["noise"], float)])
    order = np.argsort(kept[DATE], kind="stable")
    return {name: column[order] for name, column in kept.items()}, noise[order]


def _like(column: Column, values: Sequence[Any]) -> Column:
    return texts(values) if column.dtype == object else np.array(values, column.dtype)


def _combined(rows: Iterable[list[Any]], keys: list[str], twice: Mapping[str, list[_Piece]]) -> Iterator[list[Any]]:
    """One row for each cell: of the newest definition, the mean of the numbers of its releases, each by its precision.

    The interval of a mean misses in at most 5 % of cells, whichever of the releases publish them: half of that is for
    the noise of the mean, and the other half for each number by itself, where others are not published.
    """
    place = {name: number for number, name in enumerate([*keys, *NUMBERS, RELEASE, DEFINITION, "noise"])}
    cell = [place[key] for key in keys]
    ordered = sorted(rows, key=lambda row: [row[each] for each in cell])
    for key, own in groupby(ordered, key=lambda row: [row[each] for each in cell]):
        every = twice[key[keys.index(DATE)]]
        newest = max(piece.definition for piece in every)
        pieces = {piece.name: piece for piece in every if piece.definition == newest}
        found = [row for row in own if row[place[RELEASE]] in pieces]
        if not found:
            continue
        weights = np.array([1 / row[place["noise"]] for row in found])
        weights /= weights.sum()
        noise = float((weights**2 * [row[place["noise"]] for row in found]).sum())
        count = round(float((weights * [row[place[COUNT]] for row in found]).sum()))
        number = len(pieces)
        if len(found) > 1:
            gaussian = all(isinstance(piece.mechanism, Gaussian | World) for piece in pieces.values())
            half = int(np.ceil(noise_quantile(float(MISS) / 2, gaussian=gaussian) * noise**0.5 + 0.5))
            low, high = max(count - half, 0), max(count + half, 0)
        else:
            rule = interval(pieces[found[0][place[RELEASE]]].mechanism, Fraction(MISS, 2 * number if number > 1 else 1))
            low, high = rule.of(int(found[0][place[COUNT]]))
        release = BOTH.join(row[place[RELEASE]] for row in found)
        yield [*key, count, low, high, release, newest, noise]


def _calendar(pieces: Sequence[_Piece], days: frozenset[str]) -> dict[str, Column]:
    """Some days of all releases, each once; with the labels that all of them have."""
    named = [piece.folder.manifest.calendar for piece in pieces]
    shared = [name for name in named[0] if all(name in each for each in named)]
    rows = {
        day: [each[name][place] for name in shared]
        for each in named
        for place, day in enumerate(each.get(DATE, ()))
        if day in days
    }
    columns = zip(*(rows[day] for day in sorted(rows)), strict=True)
    return {name: texts(labels) for name, labels in zip(shared, columns, strict=False)}


def _days(folder: Folder) -> list[str]:
    """The days of a release: those that it states, or else those of its first table by day."""
    if folder.manifest.days:
        return [day.isoformat() for day in folder.manifest.days]
    for claim in folder.manifest.tables:
        if DATE in folder.manifest.keys(claim):
            try:
                return sorted({_day(label) for label in folder._raw[claim.name][DATE].tolist()})
            except ValueError:
                return []  # labels in the words of the source
    return []


def _day(label: str) -> str:
    return date.fromisoformat(label).isoformat()
