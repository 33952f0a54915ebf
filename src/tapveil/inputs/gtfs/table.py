"""One file of a feed: columns of texts, of which each distinct one is looked at once."""

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
"""A time that is left open."""
LATEST = 168
"""No trip ends more hours than this after its service day began: a week."""

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of texts: each distinct one that a row has, and which of them each row has."""

    distinct: tuple[str, ...]
    codes: Codes

    def where(self, kept: Flags) -> Texts:
        """The rows that are kept, and no text that only the others have."""
        used, codes = np.unique(self.codes[kept], return_inverse=True)
        return Texts(tuple(self.distinct[code] for code in used), codes.astype(np.int32))


@dataclass(frozen=True, eq=False)
class Table:
    """The columns asked for of one file. Optional columns that the file does not have are empty."""

    files: Files
    name: str
    columns: Mapping[str, Texts]
    kept: Ints
    """Where each row was in the file, rows that were empty included."""

    @property
    def called(self) -> str:
        return self.files.call(self.name)

    def rows(self, *columns: str) -> Iterator[tuple[str, ...]]:
        texts = [self.columns[column] for column in columns]
        return zip(*([each.distinct[code] for code in each.codes.tolist()] for each in texts), strict=True)

    def numbers(self, column: str, read: Callable[[str], int | None], wrong: str = "cannot be read") -> Ints:
        """What each text of a column means; refused where it means nothing."""
        texts = self.columns[column]
        meaning = [read(text) for text in texts.distinct]
        if None in meaning:
            row = int(np.flatnonzero(np.array([each is None for each in meaning])[texts.codes])[0])
            text = texts.distinct[texts.codes[row]]
            raise self.error(row, f"{column} `{text}` {wrong}" if text else f"{column} is empty")
        return np.array(meaning, dtype=np.int64)[texts.codes]

    def require(self, column: str) -> None:
        """Refused where a row has nothing in this column."""
        self.numbers(column, lambda text: 0 if text else None)

    def index(self, column: str) -> dict[str, int]:
        """The row of each id; refused where one is empty or there twice."""
        self.require(column)
        found: dict[str, int] = {}
        for row, (text,) in enumerate(self.rows(column)):
            if found.setdefault(text, row) != row:
                raise self.error(row, f"{column} `{text}` is there twice; keep one")
        return found

    def refuse(self, wrong: Flags, words: str, order: Ints | None = None) -> None:
        """Stop at the first row that is wrong; the rows may have been brought in another order."""
        for row in np.flatnonzero(wrong)[:1]:
            raise self.error(int(row if order is None else order[row]), words)

    def error(self, row: int, words: str) -> InputFileError:
        """What is wrong with a row, and its line, which is found by reading again: good rows need none."""
        with self.files.open(self.name) as file:
            line, _ = next(itertools.islice(records(file, self.called), int(self.kept[row]) + 1, None))
        return InputFileError(f"{self.called}, line {line}: {words}")


def read(files: Files, name: str, needed: Sequence[str], extra: Sequence[str] = ()) -> Table:
    called = files.call(name)
    with files.open(name) as file:
        _, header = next(records(file, called), (0, None))
        if header is None:
            raise InputFileError(f"{called} is empty; its first line must name the columns")
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
    """A file that a feed need not have: without it, there are no rows."""
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
    """What a CSV file has, the header first, each with the line on which it starts; empty lines are left out."""
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
            f"{called}, line {line} cannot be read as CSV: is a quote opened and not closed, "
            "or do the lines not end in line feeds (an old Mac file)?"
        ) from None


def _read_fast(file: IO[bytes], width: int, used: Sequence[int]) -> list[pa.DictionaryArray] | None:
    """The columns after the header, by Arrow; None where it stumbles, or where a quote follows a blank.

    No function of ours is asked about a row of the wrong width: Arrow could not hand it one that is no text.
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
    """The columns after the header, by Python, which is slower but says what is wrong, and where."""
    rows = records(file, called)
    _, header = next(rows)
    columns: list[list[str]] = [[] for _ in used]
    for line, fields in rows:
        if len(fields) != len(header):
            raise InputFileError(
                f"{called}, line {line}: the header has {len(header)} fields, this line {len(fields)} "
                "(is a comma in a text without quotes, or a quote opened and not closed?)"
            )
        for place, column in zip(used, columns, strict=True):
            column.append(fields[place])
    return [pa.array(column, pa.string()).dictionary_encode() for column in columns]


def _texts(column: pa.DictionaryArray) -> Texts:
    """A column without blanks around its texts, which may make two of them one."""
    stripped = [text.strip() for text in column.dictionary.to_pylist()]
    distinct = {text: code for code, text in enumerate(dict.fromkeys(stripped))}
    renumbered = np.array([distinct[text] for text in stripped], dtype=np.int32)
    return Texts(tuple(distinct), renumbered[column.indices.to_numpy()])


_CLOCK = re.compile(r"([0-9]{1,3}):([0-5][0-9]):([0-5][0-9])")
_DIGITS = re.compile(r"[0-9]{1,9}")
_DATE = re.compile(r"[0-9]{8}")


def _second(text: str) -> int | None:
    """Seconds after noon minus 12 hours, `BLANK` where the time is left open, None where it cannot be read.

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
