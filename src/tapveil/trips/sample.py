"""A look at an unknown export: its files, their encoding, and some values of each column, spread over all of it.

The values are for `recognise` to look at, and are neither kept nor shown. Where nobody is to look at the trips, the
first line of each file, or its schema, is all that is read (`header_encoding`, `unseen_columns`).
"""

from __future__ import annotations

import glob
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.base.defaults import Encoding
from tapveil.base.errors import TapveilError, TripDataError
from tapveil.trips import encodings
from tapveil.trips import files as sources
from tapveil.trips.csv_reader import CODECS, LONGEST_LINE, USUAL, CsvReading, Heading, open_bytes
from tapveil.trips.excerpt import Excerpt
from tapveil.trips.parquet_reader import plain
from tapveil.trips.reading import LOOKED_AT, Sample, odd_rows
from tapveil.trips.workbook import first_rows, is_workbook, sheets

MOST_FILES = 12
DEEPEST = 2
"""How many folders below the one that is named files are looked for: `year=2025/month=03/trips.parquet`."""
ROWS_OF_A_PIECE = 1000
"""This many rows are looked at of each piece of a file, and as many pieces as there are."""
MOST_ROWS = 40_000
MOST_LINES, MOST_BYTES = 10_000, 1 << 24
"""So much of the start of a file is looked at for its encoding."""
MOST_WORDS = 6
LONGEST_NAME = 200
"""A column with a longer name is not one that people named."""


@dataclass(frozen=True)
class Found:
    """The files that a user means by a file, a folder or a pattern."""

    files: list[Path]
    depth: int = 0
    """How many folders below the one that was named they lie."""
    deeper: bool = False
    """Whether there are more files below them, which are passed over."""

    @property
    def names(self) -> dict[Path, str]:
        """What they are called, with as much of the path as distinguishes them."""
        return sources.told_apart(self.files)


def trip_files(path: str) -> Found:
    """The files of a path; of a folder, those nearest to its top, at most two folders below it."""
    whole = Path(path)
    if whole.is_dir():
        levels = [_tables(whole.glob("/".join(["*"] * depth))) for depth in range(1, DEEPEST + 2)]
        depth = next((depth for depth, found in enumerate(levels) if found), 0)
        found, deeper = levels[depth], any(levels[depth + 1 :])
    else:
        matches = glob.glob(path, recursive=True)  # noqa: PTH207 (an absolute pattern)
        found, depth, deeper = [whole] if whole.exists() else sorted(map(Path, matches)), 0, False
    found = [each for each in found if each.is_file()]
    if not found:
        raise TripDataError(
            f"there are no trips at {path}: name a file, a folder with files in it (or in folders in it), or a pattern "
            "in quotes, such as 'trips/*/*.csv'"
        )
    return Found(found, depth, deeper)


def _tables(paths: Iterable[Path]) -> list[Path]:
    """Those that may hold trips; next to tables, a text explains them."""
    named = re.compile(r"[^._].*\.(csv|tsv|txt|gz|parquet|pq|xlsx|xlsm)", re.IGNORECASE | re.DOTALL)
    found = sorted(each for each in paths if named.fullmatch(each.name) and not _is_hidden(each))
    return [each for each in found if each.suffix.lower() != ".txt"] or found


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parent.parts[-DEEPEST:] if part not in (".", ".."))


def whole_files(
    found: Found, encoding: Encoding, sheet: str | None = None, heading: Heading = USUAL
) -> tuple[dict[Path, sources.Shape], list[str]]:
    """What each file is, and what is wrong with those that are damaged; one that is alone must not be."""
    shapes: dict[Path, sources.Shape] = {}
    damaged: list[TripDataError] = []
    for path, called in found.names.items():
        try:
            shapes[path] = sources.inspect(path, encoding, sheet=sheet, heading=heading)
        except TripDataError as error:
            damaged.append(TripDataError(str(error).replace(path.name, called, 1)))
    if not shapes:
        raise damaged[0]
    return shapes, [str(error) for error in damaged]


def sheets_of_trips(found: Found, rows: int = 1) -> list[str]:
    """The sheets of a workbook that may hold the trips, those with most columns first; none of other files.

    By their first rows: above the column names there may be a title.
    """
    book = next((path for path in found.files if is_workbook(path)), None)
    if book is None:
        return []
    looked = {sheet: first_rows(book, sheet, rows) for sheet in sheets(book)}
    widths = {sheet: max((len(row) for _, row in some), default=0) for sheet, some in looked.items()}
    return sorted((sheet for sheet, width in widths.items() if width > 1), key=lambda sheet: -widths[sheet])


def encoding_of(files: Sequence[Path]) -> Encoding | None:
    """The encoding of most lines that are not plain ASCII; where hardly any line is such, that of the headers.

    None where letters are not Latin, nor UTF-8: `other_scripts` says which they may be.
    """
    of_headers = header_encoding(files)
    lines = [_script(line) for path in files[:MOST_FILES] for line in _first_lines(path, MOST_LINES)[1:]]
    seen = Counter(lines)
    if max(seen["utf-8"], seen["windows-1252"], seen["other"]) <= odd_rows(len(lines)):
        return of_headers
    return None if seen["other"] > seen["utf-8"] + seen["windows-1252"] else _majority(seen)


def header_encoding(files: Sequence[Path]) -> Encoding | None:
    """The encoding of the first lines, which name the columns; UTF-8 where they are plain ASCII; None as above."""
    scripts = Counter(_script(line) for path in files for line in _first_lines(path, 1))
    return None if scripts["other"] else _majority(scripts)


def other_scripts(files: Sequence[Path], most: int) -> tuple[list[Encoding], list[str]]:
    """Which encodings of other scripts the files may have, the likeliest first; and words of their header, read in it.

    Raises:
        TripDataError: None that we know.
    """
    found = encodings.likely([line for path in files[:MOST_FILES] for line in _first_lines(path, most)])
    if not found:
        raise TripDataError(_UNREADABLE.format(files[0].name))
    header = next(iter(_first_lines(files[0], 1)), b"").decode(CODECS[found[0]], "replace")
    return found, [word for word in re.findall(r"[^\W\d_]+", header) if not word.isascii()][:MOST_WORDS]


_UNREADABLE = (
    "{0} seems to be neither UTF-8 nor in any other encoding that is known here: save it as UTF-8, for example with "
    "`iconv -f ISO-8859-5 -t UTF-8 {0}`"
)
_Script = Encoding | Literal["ascii", "other"]
_LETTERS = frozenset(range(0xC0, 0x100)) - {0xD7, 0xF7} | {0x8A, 0x8C, 0x8E, 0x9A, 0x9C, 0x9E, 0x9F, 0xAA, 0xBA}
"""Letters of Windows-1252 that are not ASCII."""
_MARKS = frozenset([0x80, 0x85, *range(0x91, 0x98), 0xA0, 0xA1, 0xA7, 0xAB, 0xB0, 0xB4, 0xB7, 0xBB, 0xBF])
"""Its quotes, dashes and the like, which say nothing about the language."""
_UNDEFINED = frozenset([0x81, 0x8D, 0x8F, 0x90, 0x9D])
_RUN = re.compile(rb"[\x80-\xff]{3,}")
_SIGN_IN_WORD = re.compile(r"[a-z][³¹¿][a-z]|[³¹][a-z]{2}|[£¯¥][a-zó][a-z]")
"""Polish in Windows-1250, read as Windows-1252."""


def code_page(files: Sequence[Path], most: int) -> Encoding | None:
    """Which code page texts may be in that are not UTF-8; None where nothing speaks against that of Western Europe.

    Read as Windows-1252, letters of Polish, Czech or Hungarian become signs within words or letters that no language
    has together; those of Turkish become letters of Icelandic.
    """
    lines = [line for path in files[:MOST_FILES] for line in _first_lines(path, most) if not line.isascii()]
    texts = [line.decode("cp1252", "replace") for line in lines if _script(line) != "utf-8"]
    few, letters = odd_rows(len(texts)), Counter(letter for text in texts for letter in set(text))
    has = {letter for letter, number in letters.items() if number > few}
    signs = sum(bool(_SIGN_IN_WORD.search(text)) for text in texts) > few
    czech = (has & set("šžŠŽ") and has & set("èìøùòæÈØ")) or ("ø" in has and has & set("èìùý"))
    hungarian = has & set("õû") and has & set("öü") and has & set("áí") and not has & set("ãâêçàœ")
    if signs or czech or hungarian:
        return "windows-1250"
    if has & set("þðýÞÐÝ"):
        return "windows-1252" if has & set("áíóúæ") else "windows-1254"
    return None


def _majority(seen: Counter[_Script]) -> Encoding:
    return "windows-1252" if seen["windows-1252"] > seen["utf-8"] else "utf-8"


def _script(line: bytes) -> _Script:
    """What a line can be."""
    if line.isascii():
        return "ascii"
    try:
        line.decode()
    except UnicodeDecodeError:
        return "windows-1252" if _is_western(line) else "other"
    return "utf-8"


def _is_western(line: bytes) -> bool:
    """Whether a line reads like Windows-1252: mostly single letters with accents among plain ones.

    Bytes of other scripts are more often signs than letters there, or stand in rows.
    """
    beyond = [byte for byte in line if byte > 0x7F]
    telling = [byte for byte in beyond if byte not in _MARKS]
    letters = 2 * sum(byte in _LETTERS for byte in telling) >= len(telling)
    return (
        not _UNDEFINED.intersection(beyond)
        and 2 * sum(map(len, _RUN.findall(line))) <= len(beyond)
        and (letters or bool(_SIGN_IN_WORD.search(line.decode("cp1252", "replace"))))  # or one like it: `code_page`
    )


def _first_lines(path: Path, most: int) -> list[bytes]:
    """The first lines of a CSV file; a very long one in pieces. None of a file that is something else."""
    lines: list[bytes] = []
    try:
        with path.open("rb") as file:
            if file.read(4).startswith((b"PAR1", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff")):
                return []
        with open_bytes(path) as file:
            while len(lines) < most and file.tell() < MOST_BYTES and (line := file.readline(LONGEST_LINE)):
                lines.append(line)
    except (OSError, EOFError, zlib.error):
        pass  # what is wrong with it is said when it is read
    return lines


def samples(shapes: Mapping[Path, sources.Shape], encoding: Encoding, heading: Heading = USUAL) -> list[Sample]:
    """Values of each column of the first file that has rows, from it and from others that have the same column."""
    values: dict[str, list[str]] = {}
    columns: dict[str, sources.RawType] = {}
    for path in _spread(list(shapes), MOST_FILES):
        shape = shapes[path]
        pieces = list(_pieces(path, shape, encoding, heading))
        if not pieces:
            continue
        texts = [_texts(pa.chunked_array([piece.column(index) for piece in pieces])) for index in range(len(shape[1]))]
        if shape[0] == "csv":
            _require_header(path, shape[1], texts)
        columns = columns or dict(zip(shape[1], shape[2], strict=True))
        for name, found in zip(shape[1], texts, strict=True):
            values.setdefault(name, []).extend(found)
    if not columns:
        raise TripDataError("the files have a header but no trips")
    named = {name: raw for name, raw in columns.items() if 0 < len(name) <= LONGEST_NAME}
    return [Sample(name, raw, _spread(values[name], MOST_ROWS)) for name, raw in named.items()]


def rows_of_cards(
    shapes: Mapping[Path, sources.Shape], encoding: Encoding, heading: Heading, columns: Sequence[str], card: str
) -> dict[str, list[str]]:
    """All rows of some cards in some files, column by column: what only rows that belong together can show."""
    excerpt = Excerpt(columns, card, most=LOOKED_AT)
    for path in _spread(list(shapes), MOST_FILES):
        if set(excerpt.columns) <= set(shapes[path][1]):
            for batch in _batches(path, shapes[path], encoding, heading, excerpt.columns):
                excerpt.see(batch)
    pieces = excerpt.batches
    of = {name: pa.chunked_array([_as_texts(piece.column(name)) for piece in pieces]) for name in excerpt.columns}
    return {name: _texts(column) for name, column in of.items()} if pieces else {}


def _batches(
    path: Path, shape: sources.Shape, encoding: Encoding, heading: Heading, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """All rows of a file, of some columns."""
    if shape[0] == "parquet":
        for batch in pq.ParquetFile(path).iter_batches(columns=list(columns)):
            yield pa.record_batch([plain(batch.column(name)) for name in columns], list(columns))
        return
    for batch in _reading(path, shape, encoding, heading, [shape[1].index(name) for name in columns]).reader():
        yield pa.record_batch(batch.columns, list(columns))


def _reading(path: Path, shape: sources.Shape, encoding: Encoding, heading: Heading, used: Sequence[int]) -> CsvReading:
    sheet = sources.sheet_of(shape)
    encoded: Encoding = "utf-8" if sheet else encoding
    return CsvReading([path], shape[3], len(shape[1]), used, encoding=encoded, sheet=sheet, heading=heading)


def _as_texts(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        return pa.array([""] * len(column), pa.string())


def unseen_columns(shapes: Mapping[Path, sources.Shape]) -> list[Sample]:
    """The columns of the first file by their names and types; no row is read."""
    path, shape = next(iter(shapes.items()))
    if shape[0] == "csv":
        _require_header(path, shape[1], [[] for _ in shape[1]])
    columns = dict(zip(shape[1], shape[2], strict=True))
    return [Sample(name, raw, None) for name, raw in columns.items() if 0 < len(name) <= LONGEST_NAME]


def _spread(things: Sequence[Any], most: int) -> list[Any]:
    """Not more than this many, from first to last."""
    if len(things) <= most:
        return list(things)
    return [things[round(index)] for index in np.linspace(0, len(things) - 1, most)]


def _pieces(path: Path, shape: sources.Shape, encoding: Encoding, heading: Heading) -> Iterator[pa.RecordBatch]:
    """Some rows of every piece of a file."""
    reading = _reading(path, shape, encoding, heading, range(len(shape[1])))
    try:
        batches = pq.ParquetFile(path).iter_batches() if shape[0] == "parquet" else reading.reader()
        for batch in batches:
            if batch.num_rows:
                some = pa.array(_spread(range(batch.num_rows), ROWS_OF_A_PIECE))
                yield pa.record_batch([plain(column).take(some) for column in batch.columns], batch.schema.names)
    except sources.DAMAGED:
        if isinstance(reading.failure, TapveilError):
            raise reading.failure from None
        raise TripDataError(f"{path.name} could not be read; is it damaged, or being written?") from None


def _texts(column: pa.ChunkedArray) -> list[str]:
    """Values as texts; none of a column that has no texts, such as one of lists, or of bytes that mostly are none."""
    try:
        return ["" if value is None else value for value in column.cast(pa.string()).to_pylist()]
    except (pa.ArrowException, UnicodeDecodeError):
        pass
    try:
        texts = [(value or b"").decode(errors="replace") for value in column.cast(pa.binary()).to_pylist()]
    except pa.ArrowException:
        return []
    return texts if 2 * sum("\ufffd" in text for text in texts) < len(texts) else []


def _require_header(path: Path, names: Sequence[str], texts: Sequence[Sequence[str]]) -> None:
    """A first line that is a trip must not be taken for names: they would be shown, and written into the plan."""
    if 2 * sum(not name for name in names) > len(names):
        why = "leaves most columns without a name: is it a title? Delete it"
        raise TripDataError(f"the first line of {path.name} {why}")
    alike: set[int] = set()
    for name, values in zip(names, texts, strict=True):
        if name:
            alike.update(_rows_like(name, values))
    # No column is called 07:31, or any time or date; many names at once, as this takes long.
    some = [Sample("", "text", names[start : start + LOOKED_AT]) for start in range(0, len(names), LOOKED_AT)]
    has_values = any(re.search(r"[0-9]{5}|[0-9]:[0-9]", name) for name in names) or any(
        reading.share > 0 for each in some for reading in (each.time, each.date)
    )
    if has_values or len(alike) > odd_rows(max(map(len, texts), default=0)):
        raise TripDataError(f"the first line of {path.name} seems to be a trip; it must name the columns")


def _rows_like(name: str, values: Sequence[str]) -> list[int]:
    """The rows that have the name of a column as its value, or one that differs in its digits alone."""
    pattern = re.compile(re.sub(r"[0-9]", "[0-9]", re.escape(name)))
    return [row for row, value in enumerate(values) if pattern.fullmatch(value.strip())]
