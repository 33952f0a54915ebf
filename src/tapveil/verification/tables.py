"""The tables of a folder: every row possible, in order, once; CSV and Parquet the same. Read in bounded pieces."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from tapveil.base.findings import Finding
from tapveil.base.vocabulary import COUNT, HIGH, LOW, NUMBERS, TAP, WEIGHT
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.csv import csv_bytes
from tapveil.published.identifiers import ColumnLook
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.verification.parquet_footer import Distinct, refuse_gaps, refuse_more_than_a_table, refuse_unused
from tapveil.verification.parquet_pages import chunks, open_parquet, pages_of
from tapveil.verification.reading import NOT_CANONICAL, UnreadableError, open_inside

ROWS_AT_ONCE = 100_000
BLOCK = 8 * 2**20
"""A line longer than this is none of a table."""
LARGEST_PIECE = 128 * 2**20
"""The most memory that a piece of rows, as texts, may take."""
PARQUET_ROWS_AT_ONCE = 10_000
"""Fewer: a page of a few bytes can stand for many long texts."""
_COUNT_PATTERN = r"^[1-9][0-9]{0,11}$"
"""Below 10^12: no city has more trips, and sums of such counts stay exact."""
_DAYS = {True: re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), False: re.compile(r"[0-9]{8}")}
"""The one way to write a day, by whether the layout has days: two ways in one file could be a message."""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8}")

_TOO_LONG = "has longer texts than any release; its rows would not fit into memory"

Mask = npt.NDArray[np.bool_]


@dataclass
class Totals:
    """What a table says of each part in all: the sum of its counts, and how many cells it has."""

    sums: Counter[tuple[str, ...]] = field(default_factory=Counter)
    cells: Counter[tuple[str, ...]] = field(default_factory=Counter)


@dataclass
class SheetCheck:
    """One file of counts, and what was learnt of it."""

    folder: Path
    name: str
    keys: tuple[str, ...]
    manifest: Manifest
    made: Mapping[str, Mechanism]
    """The mechanism of each table; none where it could not be made."""
    totals: dict[str, Totals] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    rows: int = 0

    @cached_property
    def claim(self) -> TableClaim:
        """Its table; where tables share a file, the first of them."""
        file_of = self.manifest.arrangement.file_of
        return next(table for table in self.manifest.tables if file_of(table)[0] == self.name)

    @property
    def files(self) -> tuple[str, ...]:
        """What it is checked by; the first is what findings name, the last is the Parquet file."""
        return self.manifest.files(self.claim)

    @property
    def csv(self) -> str:
        return self.files[0]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.keys, *self.manifest.numbers)

    def run(self) -> None:
        """Check the CSV file, and that the Parquet file says the same."""
        looks = {column: ColumnLook(column) for column in self.keys}
        last: pa.Table | None = None
        pairs = zip_longest(
            pieces(csv_batches(self.folder, self.csv, self.columns), self.csv),
            pieces(parquet_batches(self.folder, self.files[-1], self.columns)),
        )
        try:
            for piece, twin in pairs:
                if piece is None or twin is None or not piece.equals(twin):
                    self._find("parquet-differs", "the CSV and the Parquet file differ")
                    return
                self._check(piece, last)
                for column, look in looks.items():
                    look.add(piece.column(column))
                last = piece.slice(len(piece) - 1)
                self.rows += len(piece)
            if not self.findings and is_written_otherwise(self.folder, self.csv, self.columns):
                self._find("hidden-data", NOT_CANONICAL)
        except UnreadableError as error:
            self.findings.append(error.finding)
        self.findings += [found for look in looks.values() for found in look.findings(self.csv)]

    def _find(self, code: str, sentence: str, wrong: Mask | None = None) -> None:
        """One finding of a kind is enough, with the line of the first; none where no row is wrong."""
        if any(found.code == code for found in self.findings) or not (wrong is None or wrong.any()):
            return
        line = "" if wrong is None else f", row {self.rows + int(np.argmax(wrong)) + 1}"
        self.findings.append(Finding(code, f"{self.csv}{line}", sentence))

    def _check(self, piece: pa.Table, last: pa.Table | None) -> None:
        texts = piece.column(COUNT)
        readable = _mask(pc.match_substring_regex(texts, _COUNT_PATTERN))
        self._find("count-unreadable", "a count is not a positive integer", ~readable)
        counts = texts.cast(pa.int64()).to_numpy() if readable.all() else None
        for name, rows in self._tables(piece):
            smallest = next(table.smallest_published for table in self.manifest.tables if table.name == name)
            if counts is not None:
                self._find(
                    "count-below-smallest",
                    f"a count is below {smallest}, the smallest that can be published",
                    rows & (counts < smallest),
                )
                self._add_up(name, piece.filter(pa.array(rows)), counts[rows])
                self._check_intervals(piece, counts, self.made.get(name))
        for column in self.keys:
            self._check_values(column, piece.column(column))
        self._check_order(piece if last is None else pa.concat_tables([last, piece]), 0 if last is None else 1)

    def _check_intervals(self, piece: pa.Table, counts: npt.NDArray[np.int64], mechanism: Mechanism | None) -> None:
        if HIGH not in self.manifest.numbers or mechanism is None:
            return
        rule = interval(mechanism, MISS)
        for column, expected in ((LOW, rule.low(counts)), (HIGH, rule.high(counts))):
            right = _mask(pc.equal(piece.column(column), pa.array(expected).cast(pa.string())))
            self._find("interval-differs", f"`{column}` does not follow from the count and the noise", ~right)

    def _tables(self, piece: pa.Table) -> Iterator[tuple[str, Mask]]:
        """Which rows of the file are of which table of the plan."""
        known = np.zeros(len(piece), dtype=bool)
        for table in self.manifest.tables:
            sheet, tap = self.manifest.arrangement.file_of(table)
            if sheet == self.name:
                rows = np.ones(len(piece), dtype=bool) if tap is None else _mask(pc.equal(piece.column(TAP), tap))
                known |= rows
                yield table.name, rows
        self._find("value-impossible", "`tap` is neither on nor off", ~known)

    def _add_up(self, name: str, piece: pa.Table, counts: npt.NDArray[np.int64]) -> None:
        # Where tables share files, their layout says by what these are split, whatever the manifest says.
        parts = self.keys[:2] if self.manifest.arrangement.columns else self.manifest.partition
        totals = self.totals.setdefault(name, Totals())
        if not parts:
            totals.sums[()] += int(counts.sum())
            totals.cells[()] += len(counts)
            return
        numbered = piece.select(list(parts)).append_column("#n", pa.array(counts))
        for row in numbered.group_by(list(parts)).aggregate([("#n", "sum"), ("#n", "count")]).to_pylist():
            part = tuple(row[key] for key in parts)
            totals.sums[part] += row["#n_sum"]
            totals.cells[part] += row["#n_count"]

    @cached_property
    def _bins(self) -> set[str]:
        """The labels that a time can have in this file."""
        return set(self.manifest.times(self.claim).labels)

    def _check_values(self, column: str, values: pa.ChunkedArray) -> None:
        distinct = pc.unique(values).to_pylist()
        for possible, sentence in self._possible(column):
            wrong = pa.array([text for text in distinct if not possible(text)], pa.string())
            if len(wrong):
                self._find("value-impossible", f"`{column}` {sentence}", _mask(pc.is_in(values, wrong)))

    def _possible(self, column: str) -> Iterator[tuple[Callable[[str], bool], str]]:
        covers = self.manifest.covers
        kind = {"time": "time", **self.manifest.columns}.get(column)
        if kind == "time":
            yield self._bins.__contains__, "is not the start of a time bin"
        if kind == "date" and self.manifest.day.calendar:
            written = _DAYS[self.manifest.has_days]
            yield (lambda text: bool(written.fullmatch(text)) and _is_day_within(text)), "is not a day of the calendar"
        if kind == "calendar":
            yield set(self.manifest.calendar[column]).__contains__, "is not a label of any day covered"
        if column == "date" and (first := covers.first_day) and (last := covers.last_day):
            yield (lambda text: _is_day_within(text, first, last)), "is not one of the days covered"
        if column == "mode" and covers.modes is not None:
            yield covers.modes.__contains__, "is not one of the modes covered"
        yield bool, "is empty"

    def _check_order(self, rows: pa.Table, before: int) -> None:
        """Each row after the one before it: by the first key that differs, in the order of the bytes."""
        size = len(rows) - 1
        if size < 1:
            return
        same, behind = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
        for column in self.keys:
            values = rows.column(column).combine_chunks()
            one, two = values.slice(0, size), values.slice(1)
            behind |= same & _mask(pc.greater(one, two))
            same &= _mask(pc.equal(one, two))
        shift = np.zeros(1 - before, dtype=bool)
        self._find("duplicate-key", "a cell occurs twice", np.concatenate([shift, same]))
        self._find("not-sorted", "rows are not sorted by their keys", np.concatenate([shift, behind]))


def _is_day_within(text: str, first: date = date.min, last: date = date.max) -> bool:
    try:
        return bool(_DAY.fullmatch(text)) and first <= date.fromisoformat(text) <= last
    except ValueError:
        return False


def _mask(values: pa.Array) -> Mask:
    filled = pc.fill_null(values, False)
    return np.asarray(filled.to_numpy(zero_copy_only=False) if isinstance(filled, pa.Array) else filled.to_numpy())


def pieces(batches: Iterator[pa.Table], name: str = ".") -> Iterator[pa.Table]:
    """The same rows in pieces of one size, so that two files can be compared piece by piece."""
    waiting: list[pa.Table] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += len(batch)
        if size < ROWS_AT_ONCE and sum(each.nbytes for each in waiting) > LARGEST_PIECE:
            raise UnreadableError("too-large", name, _TOO_LONG)
        while size >= ROWS_AT_ONCE:
            whole = pa.concat_tables(waiting)
            yield whole.slice(0, ROWS_AT_ONCE).combine_chunks()
            waiting, size = [whole.slice(ROWS_AT_ONCE)], size - ROWS_AT_ONCE
    if size:
        yield pa.concat_tables(waiting).combine_chunks()


def same_rows(one: Iterator[pa.Table], other: Iterator[pa.Table]) -> bool:
    """Whether both have the same rows in the same order, in whatever batches."""
    pairs = zip_longest(pieces(one), pieces(other))
    return all(ours is not None and theirs is not None and ours.equals(theirs) for ours, theirs in pairs)


def is_written_otherwise(folder: Path, name: str, columns: Sequence[str]) -> bool:
    """Whether ends of lines, quotes or marks in a CSV file are not those of a release: they could be a message."""
    none = pa.table({column: pa.array([], pa.string()) for column in columns})
    with os.fdopen(open_inside(folder, name), "rb") as file:
        expected = csv_bytes(none)
        for piece in pieces(csv_batches(folder, name, columns)):
            if file.read(len(expected)) != expected:
                return True
            expected = csv_bytes(piece, header=False)
        return file.read(len(expected) + 1) != expected


def csv_batches(folder: Path, name: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The rows of a CSV file, every value as text."""
    try:
        with os.fdopen(open_inside(folder, name), "rb") as file:
            reader = pa_csv.open_csv(
                file,
                read_options=pa_csv.ReadOptions(block_size=BLOCK, use_threads=False),
                parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                convert_options=pa_csv.ConvertOptions(
                    column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False, null_values=[]
                ),
            )
            _require_columns(name, reader.schema.names, columns)
            for batch in reader:
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) or "UTF8" in str(error):
            raise UnreadableError("not-utf8", name, "is not UTF-8 text") from None
        raise UnreadableError("not-csv", name, "is not a CSV file with the same columns in every line") from None


def number_of_rows(folder: Path, name: str) -> int:
    """How many rows a Parquet file says to have."""
    try:
        with os.fdopen(open_inside(folder, name), "rb") as file:
            return int(open_parquet(file, name).metadata.num_rows)
    except (pa.ArrowException, OSError, MemoryError):
        raise UnreadableError("not-parquet", name, "is not a readable Parquet file") from None


def parquet_batches(folder: Path, name: str, columns: Sequence[str], note: str | None = None) -> Iterator[pa.Table]:
    """The rows of a Parquet file, every value as the CSV file would have it. `note`: what it says of itself."""
    try:
        with os.fdopen(open_inside(folder, name), "rb") as file:
            parquet = open_parquet(file, name)
            _require_columns(name, parquet.schema_arrow.names, columns)
            types = dict.fromkeys((*NUMBERS, WEIGHT), (pa.int64(),))
            if any(each.type not in types.get(each.name, (pa.string(), pa.date32())) for each in parquet.schema_arrow):
                raise UnreadableError("column-type", name, "a column has an unexpected type")
            groups = chunks(parquet)
            refuse_gaps(file, name, groups)
            pages = pages_of(file, name, groups)
            refuse_more_than_a_table(file, name, parquet, note)
            # Each distinct text once: as texts, the rows might not fit into any memory.
            texts = [each.name for each in parquet.schema_arrow if pa.types.is_string(each.type)]
            listed = open_parquet(file, name, read_dictionary=texts)
            for group in range(len(groups)):
                distinct = [Distinct(each.type) for each in parquet.schema_arrow]
                for batch in listed.iter_batches(PARQUET_ROWS_AT_ONCE, row_groups=[group], use_threads=False):
                    if sum(_length(batch.column(column)) for column in columns) > LARGEST_PIECE:
                        raise UnreadableError("too-large", name, _TOO_LONG)
                    for each, values in zip(distinct, batch.columns, strict=True):
                        each.add(values)
                    yield pa.table({column: batch.column(column).cast(pa.string()) for column in columns})
                refuse_unused(name, parquet.metadata.row_group(group), pages[group], distinct)
    except (pa.ArrowException, OSError, MemoryError, UnicodeDecodeError, OverflowError):  # of days beyond the calendar
        raise UnreadableError("not-parquet", name, "is not a readable Parquet file") from None


def _length(column: pa.Array) -> int:
    """Of all texts of a column together; numbers and days are short."""
    if not pa.types.is_dictionary(column.type):
        return 0
    lengths = pc.binary_length(column.dictionary)
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _require_columns(name: str, found: Sequence[str], columns: Sequence[str]) -> None:
    if list(found) != list(columns):
        more = [column for column in found if column not in columns]
        words = (
            "has columns that are not in privacy.json" if more else "does not have the columns stated in privacy.json"
        )
        raise UnreadableError("column-unexpected" if more else "columns-differ", name, words)


def synthetic_findings(folder: Path, name: str, columns: Sequence[str], keys: Sequence[str]) -> Iterator[Finding]:
    """Synthetic rows: as many for each cell as its count says, in the same order, and no others."""
    for kind, rows in (("csv", csv_batches), ("parquet", parquet_batches)):
        synthetic = f"synthetic/{name}.{kind}"
        expected = _repeated(pieces(csv_batches(folder, f"data/{name}.csv", columns)), keys)
        try:
            if not same_rows(expected, rows(folder, synthetic, keys)):
                yield Finding("synthetic-differs", synthetic, "does not match the counts of its table")
        except UnreadableError as error:
            yield error.finding
        except (pa.ArrowException, ValueError):
            yield Finding("synthetic-differs", synthetic, "cannot be compared with its table")


def _repeated(pieces: Iterator[pa.Table], keys: Sequence[str]) -> Iterator[pa.Table]:
    for piece in pieces:
        ends = np.cumsum(piece.column(COUNT).cast(pa.int64()).to_numpy())
        cells = piece.select(list(keys))
        for start in range(0, int(ends[-1]) if len(ends) else 0, ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, int(ends[-1])))
            yield cells.take(pa.array(np.searchsorted(ends, rows, side="right")))
