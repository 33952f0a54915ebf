"""Trips in CSV files: one trip per line, as columns of texts.

The meaning of a line never depends on another line. So lines are separated here, as bytes, before Arrow parses them. A
line with an unclosed quote, a stray carriage return, or bytes that are not UTF-8 is set aside by itself, and cannot
swallow or split its neighbours. For the other lines the parser must return one row per line, or reading stops.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from tapveil.base.defaults import Encoding
from tapveil.base.errors import TapveilError, TripDataError
from tapveil.trips.buffers import Flags, Positions
from tapveil.trips.reasons import MALFORMED, NOT_UTF8, Reason
from tapveil.trips.workbook import as_csv, is_workbook

BLOCK = 4 << 20
AT_A_TIME = min(4, os.cpu_count() or 1)
FEW = 5
"""Maximum number of refused lines that are located, per reason."""
LONGEST_LINE = 1 << 20
BYTE_ORDER_MARK = "\ufeff".encode()
"""Added before text that starts with one: the parser removes one, and it must not be that of a trip."""

CODECS: dict[Encoding, str] = {
    "windows-1252": "cp1252",
    "windows-1250": "cp1250",
    "windows-1254": "cp1254",
    "windows-1251": "cp1251",
    "gb18030": "gb18030",
    "big5": "cp950",
    "shift-jis": "cp932",
    "euc-kr": "cp949",
    "utf-8": "utf-8-sig",
}


@dataclass(frozen=True)
class Heading:
    """Where the column names stand in a file and where its trips begin: lines as an editor numbers them, from 1."""

    header: int | None = None
    """The first line by default, or the one after a note for Excel (`sep=;`)."""
    trips: int | None = None
    """The line after the header by default."""


USUAL = Heading()


def is_gzip(path: Path) -> bool:
    """Whether a CSV file is gzip, by its name."""
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path, sheet: str = "", heading: Heading = USUAL) -> IO[bytes]:
    """The bytes of a CSV file, unpacked, or of a sheet of a workbook, from the header on.

    A note for Excel (`sep=;`) is passed over.
    """
    if is_workbook(path):
        return as_csv(path, sheet, heading.header or 1, heading.trips or 1)
    file = cast(IO[bytes], gzip.open(path)) if is_gzip(path) else path.open("rb")  # noqa: SIM115 (the caller closes it)
    if heading.header:
        _pass_over(path, file, heading.header - 1)
    elif not file.readline(LONGEST_LINE).removeprefix(BYTE_ORDER_MARK).lower().startswith(b"sep="):
        file.seek(0)
    return file


def _pass_over(path: Path, file: IO[bytes], lines: int) -> None:
    for _ in range(lines):
        if len(file.readline(16 * LONGEST_LINE)) == 16 * LONGEST_LINE:
            raise TripDataError(f"{path.name} is not valid CSV; its first lines are endless")


class _Blocks:
    """The rest of the lines of files, in blocks of complete lines; a block is valid until it is given back."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._spare: list[bytearray] = []

    def of(self, file: IO[bytes]) -> Iterator[bytearray]:
        """The blocks of one file."""
        while data := self._read(file):
            if self._encoding != "utf-8" and not data.isascii():
                # A few bytes have no meaning there: they stay as they are, and are not UTF-8.
                text = data.decode(CODECS[self._encoding], "surrogateescape")
                data = bytearray(text.encode("utf-8", "surrogateescape"))
            yield data

    def give_back(self, data: bytearray) -> None:
        """Reuse the memory of a block: allocation would cost more than filling it."""
        if len(data) >= BLOCK:
            with suppress(BufferError):  # still in use: it cannot grow
                data += b"\n"
                del data[BLOCK:]
                self._spare.append(data)

    def _read(self, file: IO[bytes]) -> bytearray:
        """The next block, up to the end of its last line; a missing final line end is added."""
        data = self._spare.pop() if self._spare else bytearray(BLOCK)
        size = cast(io.BufferedIOBase, file).readinto(data)
        if size < BLOCK:
            self._spare.append(data)
            data = data[:size]
        if not data or data.endswith(b"\n"):
            return data
        data += file.readline(16 * LONGEST_LINE)
        if not data.endswith(b"\n"):
            if file.read(1):
                raise pa.ArrowInvalid("a line is endless")
            if data.endswith(b"\r"):
                del data[-1:]
        if not data.endswith(b"\n"):
            data += b"\n"
        return data


def _separated(data: bytearray, delimiter: int) -> tuple[list[bytes], Flags, Flags, Flags]:
    """The lines of a block, and which of them can be parsed, are malformed, or are not UTF-8."""
    array = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(array == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    lines = [bytes(data[start : end + 1]) for start, end in zip(starts, ends, strict=True)]
    malformed, broken = _malformed_lines(array, starts, ends, delimiter), np.zeros(len(lines), dtype=np.bool_)
    if not _is_utf8(data):
        broken = np.array([not _is_utf8(line) for line in lines]) & ~malformed
    # Empty, or only a carriage return.
    empty = (starts == ends) | ((starts == ends - 1) & (array[ends - 1] == ord("\r")))
    return lines, ~(malformed | broken | empty), malformed, broken


def _malformed_lines(array: npt.NDArray[np.uint8], starts: Positions, ends: Positions, delimiter: int) -> Flags:
    """Lines with an unclosed quote, with a carriage return inside, or too long."""
    flags: Flags = ends - starts > LONGEST_LINE
    returns = np.flatnonzero(array == ord("\r"))
    stray = returns[array[returns + 1] != ord("\n")]  # every line ends in a line feed, so there is a next byte
    flags[np.searchsorted(ends, stray)] = True
    usual = _usual_line(delimiter)
    for line in np.unique(np.searchsorted(ends, np.flatnonzero(array == ord('"')))):
        text = array[starts[line] : ends[line]].tobytes()
        flags[line] |= not usual.fullmatch(text) and _ends_in_quotes(text, delimiter)
    return flags


@lru_cache
def _usual_line(delimiter: int) -> re.Pattern[bytes]:
    """A line whose fields have no quotes, or are quoted with doubled quotes inside: all closed."""
    mark = re.escape(bytes([delimiter]))
    field = rb'(?:"(?:[^"]|"")*"|[^"' + mark + rb"]*)"
    return re.compile(field + rb"(?:" + mark + field + rb")*\r?")


def _ends_in_quotes(line: bytes, delimiter: int) -> bool:
    """Whether a quote is still open at the end of a line, by the rules of the parser.

    A quote opens at the start of a field only, two of them inside are one, and what follows a closing quote belongs to
    the field.

    >>> [_ends_in_quotes(line, ord(",")) for line in (b'a,"b', b'x"y,"z', b'5" pipe,2', b'"a ""b"" c",d', b'"a"b"c,d')]
    [True, True, False, False, False]
    """
    at_start, quoted, position = True, False, 0
    while position < len(line):
        byte = line[position]
        if quoted and byte == ord('"'):
            quoted = line[position + 1 : position + 2] == b'"'
            position += quoted
        elif not quoted:
            quoted = at_start and byte == ord('"')
            at_start = byte == delimiter
        position += 1
    return quoted


def _is_utf8(data: bytes | bytearray) -> bool:
    """Whether bytes are UTF-8, checked by Arrow, which is fast."""
    if data.isascii():
        return True
    ends = pa.py_buffer(np.array([0, len(data)], dtype=np.int32))
    try:
        pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _line_ends(data: bytearray) -> int:
    """The number of line feeds, counted in pieces to save memory."""
    array = np.frombuffer(data, dtype=np.uint8)
    pieces = (array[start : start + (1 << 16)] for start in range(0, len(array), 1 << 16))
    return sum(int(np.count_nonzero(piece == ord("\n"))) for piece in pieces)


@dataclass(kw_only=True)
class Reading:
    """The state of one pass over files with the same columns."""

    located: dict[Reason, list[tuple[Path, int]]] = field(default_factory=dict)
    """The positions of the first refused rows."""
    refused: Counter[Reason] = field(default_factory=Counter)
    bytes_read: float = 0
    """Bytes read, as stored on disk; approximate for Parquet."""
    failure: BaseException | None = None
    """The error, for the caller: an engine in between would hide it."""


@dataclass
class CsvReading(Reading):
    """One pass over CSV files with the same columns."""

    paths: Sequence[Path]
    delimiter: str
    width: int
    """The number of columns of the files."""
    used: Sequence[int]
    """Which of them are read; batches name them `field_…`."""
    encoding: Encoding = "utf-8"
    listed: Sequence[int] = ()
    """Which of them are dictionary-encoded."""
    numbered: bool = False
    """Whether batches have the position of a row: `field_file`, the number of its path, and `field_line`."""
    sheet: str = ""
    """Of workbooks: which of their sheets."""
    heading: Heading = USUAL

    def __post_init__(self) -> None:
        self._blocks = _Blocks(self.encoding)

    def reader(self) -> pa.RecordBatchReader:
        """All trips of all files, once."""
        fields = [(f"field_{index}", self._type(index)) for index in self.used]
        place = [("field_line", pa.int64()), ("field_file", pa.int64())] if self.numbered else []
        schema = pa.schema([*fields, *place])
        return pa.RecordBatchReader.from_batches(schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for number, path in enumerate(self.paths):
            try:
                before = self.bytes_read
                with open_bytes(path, self.sheet, self.heading) as file:
                    for batch in self._file_batches(path, file):
                        packed = file.fileobj if isinstance(file, gzip.GzipFile) else None
                        self.bytes_read = before + (packed or file).tell()
                        where = pa.array(np.full(batch.num_rows, number, dtype=np.int64))
                        yield batch.append_column("field_file", where) if self.numbered else batch
            except (TapveilError, KeyboardInterrupt) as error:
                self.failure = error
                raise
            except (pa.ArrowInvalid, EOFError, OSError, zlib.error) as error:
                self.failure = TripDataError(_words(path, error))
                raise self.failure from None

    def _type(self, index: int) -> pa.DataType:
        return pa.dictionary(pa.int32(), pa.string()) if index in self.listed else pa.string()

    def _file_batches(self, path: Path, file: IO[bytes]) -> Iterator[pa.RecordBatch]:
        header = self.heading.header or (2 if file.tell() else 1)
        line, located = self.heading.trips or header + 1, dict[Reason, list[int]]()
        _pass_over(path, file, 1 if is_workbook(path) else line - header)
        with closing(_parsed_ahead(self._blocks.of(file), self._plain)) as blocks:
            for data, plain in blocks:
                batch = plain or self._sound(path, data, line, located)
                line += plain.num_rows if plain else _line_ends(data)
                self._blocks.give_back(data)
                if batch.num_rows:
                    yield batch
        for reason, numbers in located.items():
            known = self.located.setdefault(reason, [])
            known += [(path, number) for number in sorted(numbers)[: FEW - len(known)]]

    def _plain(self, data: bytearray) -> pa.RecordBatch | None:
        """The rows of a block without errors; None where there may be an error.

        A block can be parsed at once if the parser finds as many rows as there are lines. An unclosed quote would
        swallow a line end, and a carriage return inside a line would add one. So the latter must not occur, the former
        not in the last line, and no line may be too long.
        """
        if self.numbered or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")) or not _is_utf8(data):
            return None
        pieces = range(0, len(data), LONGEST_LINE // 2)
        if any(data.find(b"\n", start, start + LONGEST_LINE // 2) < 0 for start in pieces):
            return None
        last = bytes(data[data.rfind(b"\n", 0, -1) + 1 : -1])
        if b'"' in last and _ends_in_quotes(last, ord(self.delimiter)):
            return None
        try:
            batch = self._parse(data, lambda row: "error")
        except pa.ArrowInvalid:
            return None
        return batch if batch.num_rows == _line_ends(data) else None

    def _sound(self, path: Path, data: bytearray, first: int, located: dict[Reason, list[int]]) -> pa.RecordBatch:
        """The rows of the lines that can be parsed; the others are counted, and the first ones located."""
        lines, sound, malformed, broken = _separated(data, ord(self.delimiter))
        for reason, flags in ((MALFORMED, malformed), (NOT_UTF8, broken)):
            self.refused += Counter({reason: int(flags.sum())})
            located.setdefault(reason, []).extend((first + np.flatnonzero(flags)[:FEW]).tolist())

        found, other = np.flatnonzero(sound), list[int]()
        text = b"".join(lines[n] for n in found)
        if self.numbered:
            text = b"".join(b"%d%c%s" % (first + n, ord(self.delimiter), lines[n]) for n in found)

        def set_aside(row: Any) -> str:
            other.append(int(row.text.partition(self.delimiter)[0]) if self.numbered else 0)
            return "skip"

        batch = self._parse(text, set_aside)
        if batch.num_rows + len(other) != len(found):
            raise TripDataError(
                f"{path.name}: a quoted text has several lines, or a quote is not closed; write every trip on one line"
            )
        self.refused += Counter({MALFORMED: len(other)})
        if self.numbered:
            located.setdefault(MALFORMED, []).extend(other[:FEW])
        return batch

    def _parse(self, text: bytes | bytearray, set_aside: Any) -> pa.RecordBatch:
        """One batch of lines, which are UTF-8."""
        names = [f"field_{index}" for index in range(self.width)]
        types = {names[index]: self._type(index) for index in self.used}
        if self.numbered:
            names, types = ["field_line", *names], {**types, "field_line": pa.int64()}
        none = pa.RecordBatch.from_pylist([], schema=pa.schema(list(types.items())))
        if not text:  # an error for Arrow
            return none
        if text.startswith(BYTE_ORDER_MARK):
            text = BYTE_ORDER_MARK + text
        table = pa_csv.read_csv(
            pa.BufferReader(text),
            read_options=pa_csv.ReadOptions(column_names=names, block_size=len(text) + 1, use_threads=False),
            parse_options=pa_csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=set_aside),
            convert_options=pa_csv.ConvertOptions(include_columns=list(types), column_types=types, check_utf8=False),
        )
        return table.combine_chunks().to_batches()[0] if len(table) else none


def _parsed_ahead(
    blocks: Iterable[bytearray], parse: Callable[[bytearray], pa.RecordBatch | None]
) -> Generator[tuple[bytearray, pa.RecordBatch | None]]:
    """Each block with its parsed rows; several are parsed at a time, in threads."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        begun: deque[tuple[bytearray, Future[pa.RecordBatch | None]]] = deque()
        for data in blocks:
            begun.append((data, pool.submit(parse, data)))
            if len(begun) > AT_A_TIME:
                data, parsed = begun.popleft()
                yield data, parsed.result()
        while begun:
            data, parsed = begun.popleft()
            yield data, parsed.result()


def _words(path: Path, error: Exception) -> str:
    """An error in our own words: those of the parser quote the line."""
    if isinstance(error, PermissionError):
        return f"no permission to read {path.name}"
    if is_gzip(path) and isinstance(error, EOFError | gzip.BadGzipFile | zlib.error):
        return f"{path.name} is a damaged gzip file; copy it again"
    if isinstance(error, OSError) and not isinstance(error, pa.ArrowException):
        return f"{path.name} cannot be read to its end: {error.strerror}"
    return f"{path.name} is not valid CSV; look for an unclosed quote"
