"""Trips in CSV files: one trip per line, as columns of texts.

Arrow parses; this module watches it. Lines may end in any way, and lines that are not trips are left out and counted.
A quote that is opened and never closed would swallow the trips after it, so the lines of every file are counted as
bytes too: a text that runs over several lines stops the reading.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from tapveil.errors import TapveilError, TripDataError

MALFORMED = "line does not have the fields of the header"
NOT_UTF8 = "line is not UTF-8"
BLOCK = 4 << 20


def is_gzip(path: Path) -> bool:
    """Whether a CSV file is to be read as gzip: by its name."""
    return path.suffix.lower() == ".gz"


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a CSV file, unpacked."""
    return cast(IO[bytes], gzip.open(path)) if is_gzip(path) else path.open("rb")


class _CountingFile(io.RawIOBase):
    """A file that counts the lines that pass through it, other than empty ones."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._read = 0
        self._last_end = -1
        self._last_byte = 0
        self._ended_lines = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if data:
            self._count(np.frombuffer(data, dtype=np.uint8))
        return data

    def _count(self, data: npt.NDArray[np.uint8]) -> None:
        ends = np.flatnonzero(data == ord("\n"))
        lengths = np.diff(self._read + ends, prepend=self._last_end) - 1
        before = np.where(ends > 0, data[ends - 1], self._last_byte)
        empty = (lengths == 0) | ((lengths == 1) & (before == ord("\r")))
        self._ended_lines += int(np.count_nonzero(~empty))
        self._last_end = self._read + int(ends[-1]) if len(ends) else self._last_end
        self._read += len(data)
        self._last_byte = int(data[-1])

    @property
    def lines(self) -> int:
        """Lines so far; the last may lack its end."""
        return self._ended_lines + (self._last_end < self._read - 1)


@dataclass
class CsvReading:
    """One pass over some CSV files of the same columns."""

    paths: Sequence[Path]
    delimiter: str
    width: int
    """How many columns the files have."""
    used: Sequence[int]
    """Which of them are read; batches name them `field_…`."""
    refused: Counter[str] = field(default_factory=Counter)
    failure: BaseException | None = None
    """What went wrong, for the caller: an engine between us would bury it."""

    def reader(self) -> pa.RecordBatchReader:
        """All trips of all files, once."""
        schema = pa.schema([(f"field_{index}", pa.string()) for index in self.used])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for path in self.paths:
            try:
                with open_bytes(path) as file:
                    yield from self._file_batches(path, file, schema)
            except (TapveilError, KeyboardInterrupt) as error:
                self.failure = error
                raise
            except (pa.ArrowInvalid, EOFError, OSError, zlib.error) as error:
                self.failure = TripDataError(_words(path, error))
                raise self.failure from None

    def _file_batches(self, path: Path, file: IO[bytes], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        counting, lines = _CountingFile(file), Counter[str](header=1)

        def set_aside(row: Any) -> str:
            blank = row.actual_columns == 1 and not row.text.strip()
            lines["blank" if blank else "malformed"] += 1
            return "skip"

        for batch in self._parse(counting, set_aside):
            lines["trips"] += batch.num_rows
            yield self._texts(batch, schema)
        if lines.total() != counting.lines:
            raise TripDataError(
                f"{path.name}: a text in quotes runs over several lines (is a quote opened and not closed?); "
                "every trip must be on one line"
            )
        self.refused[MALFORMED] += lines["malformed"]

    def _parse(self, file: _CountingFile, set_aside: Any) -> pa_csv.CSVStreamingReader:
        names = [f"field_{index}" for index in range(self.width)]
        used = [names[index] for index in self.used]
        return pa_csv.open_csv(
            pa.PythonFile(file, mode="r"),
            read_options=pa_csv.ReadOptions(column_names=names, skip_rows=1, block_size=BLOCK),
            parse_options=pa_csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=set_aside),
            convert_options=pa_csv.ConvertOptions(include_columns=used, column_types=dict.fromkeys(used, pa.binary())),
        )

    def _texts(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """The batch as texts, without the lines that are not UTF-8."""
        try:
            return batch.cast(schema)
        except pa.ArrowInvalid:
            sound = [
                all(map(_is_utf8, values)) for values in zip(*(column.to_pylist() for column in batch), strict=True)
            ]
            self.refused[NOT_UTF8] += sound.count(False)
            return batch.filter(pa.array(sound)).cast(schema)


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _words(path: Path, error: Exception) -> str:
    """What went wrong, in our words: the parser's own quote the line."""
    if isinstance(error, PermissionError):
        return f"no permission to read {path.name}"
    if is_gzip(path) and isinstance(error, EOFError | gzip.BadGzipFile | zlib.error):
        return f"{path.name} is a damaged gzip file (was its transfer cut off?)"
    if isinstance(error, OSError) and not isinstance(error, pa.ArrowException):
        return f"{path.name} cannot be read to its end: {error.strerror}"
    return f"{path.name} is not a CSV file that can be read: is a quote opened and not closed, or a line endless?"
