"""The files of shapes: published tables, or estimates, in the columns that an agency's readers know. Version 2.

They follow from the manifest, which has the shapes, from the published tables, and from the public list of what is said
of places: `verify` makes them again. Shapes of version 1 say less, and their files are the same by both.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.base.shape import DAYS, END_MOMENT, MOMENT, ShapeColumn, ShapeFile, Tables
from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import COUNT, HIGH, LOW, MINUTES_PER_DAY, MISSING, SHAPES, UNKNOWN
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published import place_facts
from tapveil.published.estimated import Estimated
from tapveil.published.estimates.world import AXES, DATE
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.published.place_facts import PlaceFacts
from tapveil.published.shaped_rows import Cells, Counts, Rows, encoded, joined, stacked, with_rest
from tapveil.published.shaped_texts import OF_DAYS, Texts
from tapveil.published.workbook import workbook

VERSION = 2
ROWS_AT_ONCE = 2**16
MOST_FILES = 1_000
"""Of all shapes of a release."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_NUMBERS = {"count": COUNT, "low": LOW, "high": HIGH, "share": COUNT}
_NO_VALUE = {"time": MISSING, "location": UNKNOWN}


@dataclass(frozen=True)
class Head:
    """A column of a file: its name, what it holds, and which of the labels of `across`."""

    name: str
    column: ShapeColumn
    at: int | tuple[int, ...] | None = None
    """One of them, or those that are added up."""


@dataclass(frozen=True)
class ShapedFile:
    """A file of a shape, and the tables that it is made from."""

    shape: str
    title: str
    """Of the shape."""
    file: ShapeFile
    tables: Mapping[str, str]
    """The name of each table, by what the shape calls it."""
    rest: str | None = None
    """The name of the coarser table, where it has rows for the rest."""
    part: Mapping[str, str] = field(default_factory=dict)
    """The labels of the keys in its name."""
    name: str = ""
    """Its name, with these labels."""

    @property
    def path(self) -> str:
        return f"{SHAPES}/{self.shape}/{self.name or self.file.name}"

    def keys(self, manifest: Manifest) -> tuple[str, ...]:
        """The keys of its rows, in the order in which rows are sorted: that of its columns."""
        file = self.file
        claims = [table for table in manifest.tables if table.name in self.tables.values()]
        own = [file.key_of(column) for column in manifest.keys(claims[0])] + ([file.stack] if file.stack else [])
        kinds = {file.key_of(column): kind for column, kind in manifest.columns.items()}
        found: list[str] = []
        for column in file.column:
            for part in column.template.parts if column.template else ():
                if part.key == DAYS or part.fact in (MOMENT, END_MOMENT):
                    found += [key for key in own if kinds.get(key) in OF_DAYS]
                found.append(part.key)
        every = dict.fromkeys([*found, *file.named.keys, *own])
        return tuple(key for key in every if key in own and key not in (*file.sum, file.across))

    def spans(self, manifest: Manifest) -> Mapping[str, tuple[int, int]]:
        """The minutes at which the bins of its times start and end."""
        if manifest.estimated_minutes:
            return TimeBins.every(manifest.estimated_minutes, manifest.day.first_minute).spans
        return manifest.times(self._first(manifest)).spans

    def _first(self, manifest: Manifest) -> TableClaim:
        name = next(iter(self.tables.values()))
        return next(table for table in manifest.tables if table.name == name)

    def labels(self, manifest: Manifest) -> list[str]:
        """The labels that become columns, from public lists: in the order of the day, or of the calendar."""
        across = self.file.across
        if across is None:
            return []
        column = next(own for own in manifest.columns if self.file.key_of(own) == across)
        kind = manifest.columns[column]
        if kind == "time":
            spans = self.spans(manifest)
            listed = list(spans) if manifest.estimated_minutes else manifest.listed_times(self._first(manifest))
            labels = [label for label in listed if label != MISSING]
            return sorted(labels, key=lambda label: (spans[label][0] < manifest.day.starts, label))
        if kind in OF_DAYS and manifest.days:
            return sorted(set(manifest.calendar[column]))
        raise ValueError(f"{self.file.name}: `{across}` is neither a time nor follows from the day")

    def heads(self, manifest: Manifest) -> list[Head]:
        """Its columns, as far as they do not depend on rows; those across that stand together take turns."""
        texts, labels, found = self.texts(manifest), self.labels(manifest), list[Head]()
        wide: list[ShapeColumn] = []
        for column in (*self.file.column, None):
            if column and column.named.parts:
                wide.append(column)
                continue
            for at, label in enumerate(labels if wide else ()):
                found += [Head(texts.said(each.named, {self.file.across or "": label}), each, at) for each in wide]
            wide = []
            if column:
                summed = self._between(manifest, column, labels) if column.number and self.file.across else None
                found.append(Head(column.name, column, summed))
        return found

    def texts(self, manifest: Manifest, facts: PlaceFacts = place_facts.NONE) -> Texts:
        """What it says of rows."""
        return Texts(manifest, self.file, facts, self.spans(manifest))

    def _between(self, manifest: Manifest, column: ShapeColumn, labels: Sequence[str]) -> tuple[int, ...]:
        """Which labels of `across` a sum is of."""
        if column.between is None:
            return tuple(range(len(labels)))
        (first, last), spans = column.between, self.spans(manifest)
        length = (last - first) % MINUTES_PER_DAY or MINUTES_PER_DAY
        return tuple(at for at, label in enumerate(labels) if (spans[label][0] - first) % MINUTES_PER_DAY < length)


def shaped_files(manifest: Manifest) -> list[ShapedFile]:
    """The files that the shapes of a release make from its tables; ValueError where a shape has none."""
    version_1, claims = (
        manifest.versions.shapes == 1,
        sorted(manifest.tables, key=lambda table: table.level is not None),
    )
    estimated = {"mode", DATE, *AXES, *(manifest.calendars or ())}
    usable = {
        table.name: table.columns
        for table in claims
        if table.level is None or not (version_1 or table.level.location or manifest.is_world)
        if not manifest.is_world or set(manifest.keys(table)) <= estimated
    }
    of_days = {column for column, kind in manifest.columns.items() if kind in OF_DAYS}
    known = Tables(manifest.partition, usable, of_days, only_exact=version_1)
    found: list[ShapedFile] = []
    for name, shape in (manifest.shapes or {}).items():
        for file, tables in shape.made(known):
            rest = file.rest_of(known, next(iter(tables.values())))
            shaped = ShapedFile(name, shape.title, file, tables, rest)
            for fault in _faults(shaped, manifest):
                raise ValueError(f"{file.name}, {fault}")
            found += islice(_in_parts(shaped, manifest), MOST_FILES + 1)
            if len(found) > MOST_FILES:
                raise ValueError(f"shapes have more than {MOST_FILES:,} files; leave out a key in their names")
    places = [(each.path.lower(), each.file.sheet) for each in found]
    if twice := next((path for path, sheet in places if places.count((path, sheet)) > 1), None):
        raise ValueError(f"two files would be called {twice}")
    return found


def _in_parts(shaped: ShapedFile, manifest: Manifest) -> Iterator[ShapedFile]:
    """A file for each combination of the keys in its name, as far as they are those of some day."""
    file, keys = shaped.file, shaped.file.named.keys
    columns = {file.key_of(column): column for column in manifest.columns}
    lists: dict[str, Sequence[str]] = {}
    for key in keys:
        listed = manifest.covers.modes if key == "mode" else manifest.calendar.get(columns[key])
        if not listed:
            raise ValueError(f"{file.name}: the values of `{key}` are not in a public list; only modes and days are")
        lists[key] = listed
    texts = shaped.texts(manifest)
    # A day has one label in each column of the calendar, so there are no more combinations than days and modes.
    of_days = [key for key in keys if key != "mode"]
    days = {tuple(labels) for labels in zip(*(lists[key] for key in of_days), strict=True)} if of_days else {()}
    found = [dict(zip(of_days, labels, strict=True)) for labels in days]
    parts = [{**part, "mode": mode} for part in found for mode in set(lists["mode"])] if "mode" in keys else found

    def written(part: Mapping[str, str]) -> str:
        return file.named.filled(lambda each: _NOT_IN_NAMES.sub("-", texts.part(each, part) or ""))

    for part in sorted(parts, key=lambda part: [part[key] for key in keys]):
        yield replace(shaped, part={key: part[key] for key in keys}, name=written(part))


def _faults(shaped: ShapedFile, manifest: Manifest) -> Iterator[str]:
    """What is wrong with what its columns say of keys, whatever rows there are."""
    yield from _strangers(shaped, manifest)
    texts = shaped.texts(manifest)
    shaped.labels(manifest)
    for column in shaped.file.column:
        written = column.template.parts if column.template else ()
        for part in (*written, *column.named.parts):
            if fault := texts.fault(part):
                yield f"column `{column.name}`: {fault}"
    dated = manifest.has_days and any(texts.kinds.get(key) == "date" for key in shaped.keys(manifest))
    asked = shaped.file.tells_days or any(column.per for column in shaped.file.column)
    if asked and not dated and not manifest.days:
        yield "it needs the days of a row: name first_day and last_day under [source]"
    if (manifest.versions.shapes or 1) > 1 and not shaped.file.merge:
        yield from _alike(shaped, texts)


def _strangers(shaped: ShapedFile, manifest: Manifest) -> Iterator[str]:
    """Keys by which rows would be split or compared, and which they do not have: found before a release is paid for."""
    file, keys = shaped.file, shaped.keys(manifest) if shaped.file.has_rows else ()
    for table in (each for each in manifest.tables if each.name in shaped.tables.values()):
        own = [file.key_of(column) for column in manifest.keys(table)]
        if file.across and (file.across not in own or file.across in file.sum):
            yield f"`across`: `{file.across}` is not a key of {table.name} that is left"
        if (manifest.versions.shapes or 1) > 1 and len(set(own)) < len(own):
            yield f"`keys`: two columns of {table.name} are one key"
    for key in file.named.keys:
        if key not in keys or key == file.stack:
            yield f"`{key}` in its name: rows are not split by it"
    for column in file.column:
        for key in column.within:
            if key not in keys:
                yield f"column `{column.name}`: `within`: rows have no `{key}`"


def _alike(shaped: ShapedFile, texts: Texts) -> Iterator[str]:
    """Times that a file would write alike: hours alone, where bins are shorter."""
    file = shaped.file
    for key, kind in texts.kinds.items():
        if kind != "time" or key not in file.written or key == file.across:
            continue
        templates = [column.template for column in file.column if column.template and key in column.template.keys]
        parts = [part for template in templates for part in template.parts if part.key == key]
        on_a_day = [part for part in parts if part.fact in (MOMENT, END_MOMENT)]
        said = [tuple(texts.part(part, {key: label}) for part in parts) for label in texts.spans]
        if not on_a_day and len(set(said)) < len(said):
            yield f"several times of `{key}` would be written alike; use longer bins, or another format"


def fields_of_places(manifest: Manifest) -> dict[str, bool]:
    """What the files of a release say of places, in alphabetical order, and whether public lists must have it."""
    found: dict[str, bool] = {}
    for shaped in shaped_files(manifest):
        keys = shaped.keys(manifest)
        for column, part in shaped.file.facts():
            if part.key in keys:
                found[part.fact] = found.get(part.fact, False) or not column.optional
    return dict(sorted(found.items()))


def lack_a_mode(manifest: Manifest) -> bool:
    """Whether a file says something of places, and has no mode in its rows."""
    return any("mode" not in shaped.keys(manifest) and any(shaped.file.facts()) for shaped in shaped_files(manifest))


# --- a folder -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """What the files of shapes are made from."""

    manifest: Manifest
    made: Mapping[str, Mechanism]
    tables: Mapping[str, pa.Table]
    estimated: Estimated | None = None
    """Of a known world: the numbers are estimates."""
    facts: PlaceFacts = place_facts.NONE

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """The path of each file, and its bytes, some at a time."""
        rows: dict[tuple[str, tuple[str, str | None]], Rows] = {}
        books: dict[str, dict[str, list[list[tuple[str, bool]]]]] = {}
        for shaped in shaped_files(self.manifest):
            place = shaped.shape, shaped.file.identity
            if place not in rows:
                rows = {place: self.rows(shaped)}  # files in parts follow one another
            chosen = rows[place]
            for key, label in shaped.part.items():
                chosen = chosen.where(chosen.have(key, label))
            if shaped.file.sheet:
                books.setdefault(shaped.path, {})[shaped.file.sheet] = list(self._sheet(shaped, chosen))
            else:
                yield shaped.path, self._lines(shaped, chosen)
        for path, sheets in books.items():
            yield path, iter([workbook(sheets)])

    def rows(self, shaped: ShapedFile) -> Rows:
        """All rows of a file."""
        file, keys = shaped.file, shaped.keys(self.manifest)
        if not file.has_rows:
            return Rows({}, {}, {"": np.ones(1, bool)})
        own = {called: self._cells(shaped, name) for called, name in shaped.tables.items()}
        if shaped.rest and file.rest:
            own = {called: with_rest(each, self._cells(shaped, shaped.rest), file.rest) for called, each in own.items()}
        if file.stack:
            own = {file.stack: stacked([each.with_key(file.stack, called) for called, each in own.items()])}
        rows = joined(own, keys, file.across, shaped.labels(self.manifest))
        if self.estimated:
            rows = Rows(
                rows.keys, rows.numbers, {called: np.ones_like(each) for called, each in rows.published.items()}
            )
            if not file.zeros:
                some = [numbers[COUNT].reshape(len(rows), -1).any(axis=1) for numbers in rows.numbers.values()]
                rows = rows.where(np.logical_or.reduce(some))
        for key in keys if file.complete else ():
            nothing = _NO_VALUE.get(self._texts(shaped).kinds.get(key, ""))
            rows = rows.where(~rows.have(key, nothing)) if nothing else rows
        return self._merged(shaped, rows) if file.merge else rows

    def _merged(self, shaped: ShapedFile, rows: Rows) -> Rows:
        """Rows that are written alike as one, where the first of them was."""
        texts, alike = self._texts(shaped), np.zeros(len(rows), np.int64)
        for column in shaped.file.column:
            if column.template:
                found, places = texts.column(column, rows)
                same = {text: code for code, text in enumerate(found)}
                codes = np.array([same[text] for text in found], np.int64)[places]
                alike = np.unique(alike * len(found) + codes, return_inverse=True)[1]
        return rows.added_up(alike)

    def _cells(self, shaped: ShapedFile, name: str) -> Cells:
        """The cells of a table, with its intervals, by the keys of a file."""
        file, claim = shaped.file, next(table for table in self.manifest.tables if table.name == name)
        columns = self.manifest.keys(claim)
        if self.estimated:
            side_by_side = len(file.tables) > 1 or file.across is not None or file.zeros
            wanted = [column for column in columns if column != "mode"]
            found, numbers = self.estimated.cells(wanted, zeros=side_by_side)
            return Cells({file.key_of(column): key for column, key in found.items()}, numbers)
        counts: Counts = self.tables[name].column(COUNT).to_numpy()
        rule = interval(self.made[name], MISS)
        keys = {file.key_of(column): encoded(self.tables[name].column(column)) for column in columns}
        return Cells(keys, {COUNT: counts, LOW: rule.low(counts), HIGH: rule.high(counts)})

    def _texts(self, shaped: ShapedFile) -> Texts:
        return shaped.texts(self.manifest, self.facts)

    # --- one file -------------------------------------------------------------------------------------------------

    def _lines(self, shaped: ShapedFile, rows: Rows) -> Iterator[bytes]:
        file = shaped.file
        written = io.StringIO(newline="")
        out = csv.writer(written, lineterminator="\n", delimiter=file.delimiter)
        columns = self._written(shaped, rows)
        written.writelines(f"{line}\n" for line in file.above)
        if file.header:
            out.writerow([column.name for column in columns])
        for start in range(0, max(len(rows), 1), ROWS_AT_ONCE):
            some = slice(start, min(start + ROWS_AT_ONCE, len(rows)))
            out.writerows(zip(*(column.texts(some) for column in columns), strict=True))
            yield written.getvalue().encode()
            written.seek(0)
            written.truncate()

    def _sheet(self, shaped: ShapedFile, rows: Rows) -> Iterator[list[tuple[str, bool]]]:
        columns = self._written(shaped, rows)
        yield from ([(line, False)] for line in shaped.file.above)
        if shaped.file.header:
            yield [(column.name, False) for column in columns]
        every = slice(0, len(rows))
        for row in zip(*(column.texts(every) for column in columns), strict=True):
            yield [(text, column.is_number) for text, column in zip(row, columns, strict=True)]

    def _written(self, shaped: ShapedFile, rows: Rows) -> list[_Column]:
        texts = self._texts(shaped)
        numbers = _Numbers(shaped.file, rows, texts)
        return [
            _Column(head.name, numbers.texts(head.column, head.at), is_number=True)
            if head.column.number
            else _Column(head.name, _looked_up(*texts.column(head.column, rows)))
            for head in shaped.heads(self.manifest)
        ]


@dataclass(frozen=True)
class _Column:
    """A column as it is written."""

    name: str
    texts: Callable[[slice], Sequence[str]]
    is_number: bool = False


def _looked_up(texts: Sequence[str], places: npt.NDArray[np.int64]) -> Callable[[slice], Sequence[str]]:
    every = np.array([*texts, ""], dtype=object)
    return lambda some: every[places[some]].tolist()


@dataclass(frozen=True)
class _Numbers:
    """The numbers of the rows of a file, as texts."""

    file: ShapeFile
    rows: Rows
    of: Texts

    def texts(self, column: ShapeColumn, at: int | tuple[int, ...] | None = None) -> Callable[[slice], Sequence[str]]:
        """A column of numbers; `at`: which of those across it is, or which of them are added up."""
        kind, called = column.number or ("count", "")
        values, there = self.rows.numbers[called][_NUMBERS[kind]], self.rows.published[called]
        if isinstance(at, int):
            values, there = values[:, at], there[:, at]
        elif at is not None:
            values, there = values[:, list(at)].sum(axis=1), np.logical_or.reduce(there[:, list(at)], axis=1)
        below = self._below(column, values)

        def written(some: slice) -> Sequence[str]:
            known = zip(values[some].tolist(), there[some].tolist(), strict=True)
            if below is None:
                return [str(value) if found else self.file.missing for value, found in known]
            times = 100 if kind == "share" else 1
            parts = zip(known, below[some].tolist(), strict=True)
            return [
                quotient(value * times, under, column.decimals or 0).replace(".", self.file.decimal)
                if found and under > 0
                else self.file.missing
                for (value, found), under in parts
            ]

        return written

    def _below(self, column: ShapeColumn, values: Counts) -> Counts | None:
        """What numbers are divided by: days, or the sum of the rows with the same keys."""
        if column.per:
            keys = [key for key in self.rows.keys if self.of.kinds.get(key) in OF_DAYS]
            return self._by(keys, lambda labels, _: len(self.of.days(labels)))
        if column.share:
            return self._by(column.within, lambda _, chosen: int(values[chosen].sum()))
        return None

    def _by(self, keys: Sequence[str], value: Callable[[Mapping[str, str], npt.NDArray[np.int64]], int]) -> Counts:
        """A number for each row, which depends on some keys alone."""
        combined = np.zeros(len(self.rows), np.int64)
        for key in keys:
            labels, codes = self.rows.keys[key]
            combined = np.unique(combined * len(labels) + codes, return_inverse=True)[1]
        order = np.argsort(combined, kind="stable")
        found = np.zeros(len(self.rows), np.int64)
        for same in np.split(order, np.flatnonzero(np.diff(combined[order])) + 1):
            if len(same):
                own = {key: self.rows.keys[key][0][self.rows.keys[key][1][same[0]]] for key in keys}
                found[same] = value(own, same)
        return found


def quotient(above: int, below: int, digits: int) -> str:
    """A fraction with some decimals, the nearest there is, to even digits where two are as near.

    >>> quotient(1, 8, 2), quotient(3, 8, 2), quotient(-7, 2, 0), quotient(-1, 3, 3), quotient(5, 5, 1)
    ('0.12', '0.38', '-4', '-0.333', '1.0')
    """
    whole, rest = divmod(abs(above) * 10**digits, below)
    whole += 2 * rest > below or (2 * rest == below and whole % 2 == 1)
    head, tail = divmod(whole, 10**digits)
    sign = "-" if above < 0 and whole else ""
    return f"{sign}{head}.{tail:0{digits}d}" if digits else f"{sign}{head}"
