"""One file of a feed: columns of texts, each distinct text parsed once."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from tapveil.base.errors import InputFileError, did_you_mean
from tapveil.inputs.gtfs.files import Files

BLOCK = 8 << 20
BLANK = -1
"""A missing time."""
LATEST = 168
"""The maximum hour of a time: one week after the start of the service day."""

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts: the distinct texts, and the index of each row."""

    distinct: tuple[str, ...]
    codes: Codes

    def where(self, kept: Flags) -> Texts:
        """The rows that are kept, with only their texts."""
        used, codes = np.unique(self.codes[kept], return_inverse=True)
        return Texts(tuple(self.distinct[code] for code in used), codes.astype(np.int32))


@dataclass(frozen=True, eq=False)
class Table:
    """The requested columns of one file. Optional columns that the file does not have are empty."""

    files: Files
    name: str
    columns: Mapping[str, Texts]
    kept: Ints
    """The number of each row in the file, counting empty rows."""

    @property
    def called(self) -> str:
        return self.files.call(self.name)

    def rows(self, *columns: str) -> Iterator[tuple[str, ...]]:
        texts = [self.columns[column] for column in columns]
        return zip(*([each.distinct[code] for code in each.codes.tolist()] for each in texts), strict=True)

    def numbers(self, column: str, read: Callable[[str], int | None], wrong: str = "cannot be read") -> Ints:
        """The number that each text of a column means; an error where it has no meaning."""
        texts = self.columns[column]
        meaning = [read(text) for text in texts.distinct]
        if None in meaning:
            row = int(np.flatnonzero(np.array([each is None for each in meaning])[texts.codes])[0])
            text = texts.distinct[texts.codes[row]]
            raise self.error(row, f"{column} `{text}` {wrong}" if text else f"{column} is empty")
        return np.array(meaning, dtype=np.int64)[texts.codes]

    def require(self, column: str) -> None:
        """Raise an error if a row has no value in this column."""
        self.numbers(column, lambda text: 0 if text else None)

    def index(self, column: str) -> dict[str, int]:
        """The row of each ID; an error if one is empty or a duplicate."""
        self.require(column)
        found: dict[str, int] = {}
        for row, (text,) in enumerate(self.rows(column)):
            if found.setdefault(text, row) != row:
                raise self.error(row, f"{column} `{text}` is a duplicate; keep one")
        return found

    def refuse(self, wrong: Flags, words: str, order: Ints | None = None) -> None:
        """Raise an error for the first wrong row; `order` maps sorted rows to those of the file."""
        for row in np.flatnonzero(wrong)[:1]:
            raise self.error(int(row if order is None else order[row]), words)

    def error(self, row: int, words: str) -> InputFileError:
        """The error for a row, with its line, which is found by reading the file again."""
        with self.files.open(self.name) as file:
            line, _ = next(itertools.islice(records(file, self.called), int(self.kept[row]) + 1, None))
        return InputFileError(f"{self.called}, line {line}: {words}")


def read(files: Files, name: str, needed: Sequence[str], extra: Sequence[str] = ()) -> Table:
    called = files.call(name)
    with files.open(name) as file:
        _, header = next(records(file, called), (0, None))
        if header is None:
            raise InputFileError(f"{called} is empty; its first line must be a header")
        used = _places([column.strip() for column in header], needed, extra, called)
        read = _read_fast(file, len(header), list(used.values()))
    if read is None:
        with files.open(name) as file:
            read = _read_slowly(file, list(used.values()), called)
    none = Texts(("",), np.zeros(len(read[0]), dtype=np.int32))
    columns = dict.fromkeys(extra, none) | {column: _texts(each) for column, each in zip(used, read, strict=True)}
    empty = np.ones(len(read[0]), dtype=np.bool_)
    for texts in columns.values():
        empty &= np.array([not text for text in texts.distinct], dtype=np.bool_)[texts.codes]
    if empty.any():  # lines of nothing but commas, as spreadsheets leave them, are no rows
        columns = {column: texts.where(~empty) for column, texts in columns.items()}
    return Table(files, name, columns, np.flatnonzero(~empty))


def read_if_there(files: Files, name: str, needed: Sequence[str]) -> Table:
    """Read an optional file of a feed; without it, there are no rows."""
    if name in files.members:
        return read(files, name, needed)
    none = Texts((), np.zeros(0, dtype=np.int32))
    return Table(files, name, dict.fromkeys(needed, none), np.zeros(0, dtype=np.int64))


def _places(header: Sequence[str], needed: Sequence[str], extra: Sequence[str], called: str) -> dict[str, int]:
    for column in (*needed, *extra):
        if column in needed and column not in header:
            raise InputFileError(f"{called} has no column `{column}`{did_you_mean(column, header)}")
        if header.count(column) > 1:
            raise InputFileError(f"{called} has {header.count(column)} columns named `{column}`; keep one")
    return {column: header.index(column) for column in (*needed, *extra) if column in header}


def records(file: IO[bytes], called: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV file, the header first, each with its line number; empty lines are skipped."""
    rows, line = csv.reader((raw.decode("utf-8-sig") for raw in file), skipinitialspace=True), 1
    try:
        for fields in rows:
            if len(fields) > 1 or any(field.strip() for field in fields):
                yield line, fields
            line = rows.line_num + 1
    except UnicodeDecodeError:
        raise InputFileError(f"{called}, line {rows.line_num + 1} is not UTF-8; save the file as UTF-8") from None
    except csv.Error:
        raise InputFileError(
            f"{called}, line {line} is not valid CSV; look for an unclosed quote, or convert line ends to LF"
        ) from None


def _read_fast(file: IO[bytes], width: int, used: Sequence[int]) -> list[pa.DictionaryArray] | None:
    """The columns after the header, read by Arrow; None where Arrow fails, or where a quote follows a blank.

    No callback is used for rows of the wrong width: Arrow could not pass it a row that is not text.
    """
    names = [str(place) for place in range(width)]
    coded = pa.dictionary(pa.int32(), pa.string())
    try:
        read = pa_csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=pa_csv.ReadOptions(column_names=names, block_size=BLOCK),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                include_columns=[names[place] for place in used],
                column_types={names[place]: coded for place in used},
            ),
        ).read_all()
    except pa.ArrowInvalid:
        return None
    columns = [column.combine_chunks() for column in read.columns]
    quoted = (text.lstrip()[:1] == '"' for column in columns for text in column.dictionary.to_pylist())
    return None if any(quoted) else columns


def _read_slowly(file: IO[bytes], used: Sequence[int], called: str) -> list[pa.DictionaryArray]:
    """The columns after the header, read by Python: slower, but errors have a line."""
    rows = records(file, called)
    _, header = next(rows)
    columns: list[list[str]] = [[] for _ in used]
    for line, fields in rows:
        if len(fields) != len(header):
            raise InputFileError(
                f"{called}, line {line}: the header has {len(header)} fields, this line {len(fields)}; "
                "look for a comma outside quotes, or an unclosed quote"
            )
        for place, column in zip(used, columns, strict=True):
            column.append(fields[place])
    return [pa.array(column, pa.string()).dictionary_encode() for column in columns]


def _texts(column: pa.DictionaryArray) -> Texts:
    """A column with its texts stripped, which may make two of them equal."""
    stripped = [text.strip() for text in column.dictionary.to_pylist()]
    distinct = {text: code for code, text in enumerate(dict.fromkeys(stripped))}
    renumbered = np.array([distinct[text] for text in stripped], dtype=np.int32)
    return Texts(tuple(distinct), renumbered[column.indices.to_numpy()])


_CLOCK = re.compile(r"([0-9]{1,3}):([0-5][0-9]):([0-5][0-9])")
_DIGITS = re.compile(r"[0-9]{1,9}")
_DATE = re.compile(r"[0-9]{8}")


def _second(text: str) -> int | None:
    """Seconds after noon minus 12 hours, `BLANK` if the time is empty, None if it cannot be read.

    >>> _second("7:05:00"), _second("25:15:00"), _second(""), _second("07:05")
    (25500, 90900, -1, None)
    """
    if not text:
        return BLANK
    match = _CLOCK.fullmatch(text)
    return 3600 * int(match[1]) + 60 * int(match[2]) + int(match[3]) if match and int(match[1]) < LATEST else None


def whole(text: str) -> int | None:
    return int(text) if _DIGITS.fullmatch(text) else None


def ordinal(text: str) -> int | None:
    """
    >>> ordinal("20161231"), ordinal("20161232"), ordinal("2016-12-31")
    (736329, None, None)
    """
    try:
        return date.fromisoformat(text).toordinal() if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def seconds(table: Table, column: str) -> Ints:
    return table.numbers(column, _second, "cannot be read as a time such as 07:05:00 or 25:15:00")
