"""Trip files and their columns. None of their rows are read here.

Only columns that the plan names are ever read, so identifiers and all other columns never enter.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.base.csv_header import DELIMITERS, column_names, found_delimiter
from tapveil.base.defaults import Encoding, Format
from tapveil.base.errors import PlanError, TripDataError, did_you_mean
from tapveil.base.vocabulary import ENDS
from tapveil.plan.model import Plan
from tapveil.trips.csv_reader import CODECS, LONGEST_LINE, USUAL, Heading, is_gzip, open_bytes
from tapveil.trips.workbook import is_workbook, the_sheet

RawType = Literal["text", "integer", "number", "date", "time", "timestamp", "instant", "binary"]
"""The type of a column in a file; an instant is a timestamp with a time zone, unlisted types are read as text."""

DAMAGED = (pa.ArrowException, OSError, UnicodeDecodeError)
"""Errors of Arrow for damaged Parquet files; names of columns may not be valid text."""

Shape = tuple[Format | Literal["table"], tuple[str, ...], tuple[RawType, ...], str, str]
"""Format, names and types of the columns, what separates them, and the types as the file itself calls them: of a
workbook, its sheet."""


@dataclass(frozen=True)
class FileGroup:
    """Files with the same format and columns, read together; or a table of an engine."""

    format: Format | Literal["table"]
    names: tuple[str, ...]
    types: tuple[RawType, ...]
    delimiter: str
    paths: tuple[Path, ...]
    relation: str = ""
    """The relation with these rows in another engine, as written after FROM in SQL."""
    sheet: str = ""
    """Of workbooks, which are read as CSV: which of their sheets."""
    heading: Heading = USUAL

    def type_of(self, column: str) -> RawType:
        return self.types[self.names.index(column)]


@dataclass(frozen=True)
class TripFiles:
    """All files of a plan, inspected but not read."""

    groups: tuple[FileGroup, ...]
    encoding: Encoding = "utf-8"

    def encoding_of(self, group: FileGroup) -> Encoding:
        """The encoding of its files; a workbook has its own."""
        return "utf-8" if group.sheet else self.encoding

    def type_of(self, column: str) -> RawType:
        """The type of a column; text where files differ, since every type can be written as text."""
        types = {group.type_of(column) for group in self.groups}
        return types.pop() if len(types) == 1 else "text"


def find(plan: Plan) -> TripFiles:
    """Find the trip files of a plan, check their columns, and group them by format and columns."""
    shapes: dict[Shape, list[Path]] = defaultdict(list)
    source = plan.source
    heading = Heading(source.header_line, source.first_trip_line)
    for path, called in told_apart(_paths(plan)).items():
        try:
            wanted = plan.columns.named.values()
            shape = inspect(path, source.encoding, source.delimiter, wanted, source.sheet, heading)
        except TripDataError as error:
            raise TripDataError(str(error).replace(path.name, called, 1)) from None
        _require(plan, shape, called)
        shapes[shape].append(path)
    groups = tuple(
        FileGroup(*shape[:4], tuple(paths), sheet=sheet_of(shape), heading=heading) for shape, paths in shapes.items()
    )
    files = TripFiles(groups, plan.source.encoding)
    _refuse_wrong_types(plan, files)
    return files


def told_apart(paths: Sequence[Path]) -> dict[Path, str]:
    """What files are called: by their names, with as much of the path before them as distinguishes them.

    >>> list(told_apart([Path("a/dt=1/part.csv"), Path("a/dt=2/part.csv"), Path("a/b.csv")]).values())
    ['dt=1/part.csv', 'dt=2/part.csv', 'b.csv']
    """
    called = {path: path.name for path in paths}
    for length in range(2, max((len(path.parts) for path in paths), default=0) + 1):
        twice = {name for name, times in Counter(called.values()).items() if times > 1}
        if not twice:
            break
        called |= {path: "/".join(path.parts[-length:]) for path, name in called.items() if name in twice}
    return called


def table(plan: Plan, name: str, columns: Mapping[str, RawType], relation: str) -> TripFiles:
    """A table of an engine instead of files, with the types stated by the engine."""
    _require(plan, ("table", tuple(columns), tuple(columns.values()), "", ""), name)
    group = FileGroup("table", tuple(columns), tuple(columns.values()), "", (), relation)
    files = TripFiles((group,))
    _refuse_wrong_types(plan, files)
    return files


def fingerprint(plan: Plan) -> str:
    """A hash of the names, sizes and times of the files, to detect changes. Confidential."""
    if plan.source.table or is_elsewhere(plan):  # tables of an engine have no modification time
        known: object = (plan.source.engine, plan.source.table or plan.source.path)
    else:
        found = [(path.name, path.stat()) for path in _paths(plan)]
        known = [(name, status.st_size, status.st_mtime_ns) for name, status in found]
    return hashlib.sha256(repr(known).encode()).hexdigest()


def size(plan: Plan) -> int:
    """How many bytes the files have; 0 where an engine holds the trips."""
    return 0 if plan.source.table or is_elsewhere(plan) else sum(path.stat().st_size for path in _paths(plan))


def is_elsewhere(plan: Plan) -> bool:
    """Whether only a cluster can read the files: `s3a://…`, `hdfs://…`."""
    return plan.source.engine == "spark" and any(re.match(r"[A-Za-z][\w+.-]+:/", path) for path in plan.source.path)


def are_there(plan: Plan) -> bool:
    """Whether every pattern of the plan has a file by now; tables of an engine are taken to be there."""
    if plan.source.table or is_elsewhere(plan):
        return True
    return all(any(glob.iglob(str(plan.base / each), recursive=True)) for each in plan.source.path)  # noqa: PTH207


def _paths(plan: Plan) -> list[Path]:
    found: set[Path] = set()
    for pattern in plan.source.path:
        full = plan.base / pattern
        if full.is_dir():
            raise TripDataError(f'{pattern} is a folder; to read all its files, set path = "{pattern}/*"')
        matches = [full] if full.exists() else [Path(name) for name in glob.glob(str(full), recursive=True)]  # noqa: PTH207 (an absolute pattern)
        if not matches:
            raise TripDataError(f"no file matches {pattern} ([source] path, relative to {plan.base.resolve()})")
        for (
            path
        ) in matches:  # folders are skipped, unless their name is that of a file: some programs write folders of files
            if path.is_dir() and path.suffix.lower() in (".csv", ".parquet", ".gz"):
                raise TripDataError(
                    f"{path.name}, which matches {pattern} ([source] path), is a folder; to read its files, "
                    'add "/*" to its name; otherwise rename it'
                )
        found.update(path for path in matches if not path.is_dir())
    if not found:
        raise TripDataError('[source] path matches only folders; add a pattern for files, such as "trips/*.csv"')
    seen: dict[tuple[int, int], Path] = {}
    for path in sorted(found):  # one reached by two names would count its trips twice, and cost twice what is promised
        try:
            status = path.stat()
        except OSError as error:
            why = f"{path.name} cannot be read: {error.strerror}; check whether it is a broken link"
            raise TripDataError(why) from None
        twin = seen.setdefault((status.st_dev, status.st_ino), path)
        if twin is not path:
            raise TripDataError(f"{twin.name} and {path.name} are the same file; name it once in [source] path")
    return list(seen.values())


def _require(plan: Plan, shape: Shape, called: str) -> None:
    """Require every column of the plan once. A header may actually be a trip, so it is never quoted."""
    names, needed = shape[1], plan.columns.named
    missing = {ours: theirs for ours, theirs in needed.items() if theirs not in names}
    if missing:
        raise TripDataError(_missing_columns(plan, missing, shape, called))
    folded = Counter(name.casefold() for name in names)  # engines do not distinguish `mode` and `MODE`
    for theirs in needed.values():
        if folded[theirs.casefold()] > 1:
            alike = folded[theirs.casefold()]
            raise TripDataError(f"{called} has {alike} columns named `{theirs}` (in any case); rename all but one")
    if shape[0] != "csv" and max(folded.values()) > 1:
        raise TripDataError(f"{called} has columns whose names differ in case only; rename all but one of them")


def _missing_columns(plan: Plan, missing: dict[str, str], shape: Shape, called: str) -> str:
    names, delimiter = shape[1], shape[3]
    in_plan = {end: ours for ours, both in ENDS.items() for end in both} if plan.source.taps else {}
    listed = [f"`{theirs}` ([source.columns] {in_plan.get(ours, ours)})" for ours, theirs in missing.items()]
    message = f"{called} has no column {', '.join(dict.fromkeys(listed))}"
    other = next((mark for mark in DELIMITERS if mark != delimiter and len(names) == 1 and mark in names[0]), None)
    if shape[0] == "csv" and other:
        return f"{message}; if its columns are separated by another character, set delimiter = {other!r} under [source]"
    # If none of the columns is present, the first line may be a trip: then nothing of it is suggested.
    is_header = shape[0] != "csv" or bool(set(plan.columns.read.values()) & set(names))
    # Nor is a name that starts with a wanted one: a header without a line end continues with a trip.
    wanted = tuple(missing.values())
    odd = {name for name in names if any(character.isdigit() or character == "\ufffd" for character in name)}
    safe = [name for name in names if is_header and name not in odd and not name.startswith(wanted)]
    hint = next(filter(None, (did_you_mean(theirs, safe) for theirs in missing.values())), "")
    return message + (hint or (f"; {_NO_HEADER}" if shape[0] == "csv" else ""))


_NO_HEADER = (
    "check that the first line of the file is a header in UTF-8; if it stands further down, set header_line under "
    "[source]"
)


def _refuse_wrong_types(plan: Plan, files: TripFiles) -> None:
    """Refuse columns whose type contradicts the plan."""
    for ours, theirs in plan.columns.read.items():
        kind, raw = plan.source.kind(ours), files.type_of(theirs)
        if kind in ("time", "duration") and raw == "date":
            raise TripDataError(f"the column `{theirs}` holds dates, but `{ours}` under [source.columns] needs times")
        instants = any(group.type_of(theirs) == "instant" for group in files.groups)
        if kind in ("time", "date", "duration") and instants and plan.source.timezone is None:
            raise PlanError(f'`{theirs}` holds times with a time zone; add timezone = "…" under [source]')


def sheet_of(shape: Shape) -> str:
    """The sheet of a workbook; nothing of any other file."""
    return shape[4] if shape[0] == "csv" else ""


def inspect(
    path: Path,
    encoding: Encoding,
    delimiter: str | None = None,
    wanted: Collection[str] = (),
    sheet: str | None = None,
    heading: Heading = USUAL,
) -> Shape:
    """The format of a file, and the names and types of its columns; no rows. Other arguments are for CSV."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
        if not start:
            raise TripDataError(f"{path.name} is empty; export or copy it again")
        if path.suffix.lower() in {".parquet", ".pq"} or start == b"PAR1":
            try:
                schema = pq.read_schema(path)
            except PermissionError:
                raise
            except DAMAGED:
                raise TripDataError(f"{path.name} is not a complete Parquet file; copy it again") from None
            return "parquet", tuple(schema.names), tuple(_raw_type(each.type) for each in schema), "", str(schema.types)
        if is_workbook(path) and start == b"PK\x03\x04":
            chosen = the_sheet(path, sheet)
            names = column_names(open_bytes(path, chosen, heading).readline().decode(), ",")
            return "csv", _named(path, names), tuple("text" for _ in names), ",", chosen
        line = _header_line(path, start, heading)
        text = line.decode(CODECS[encoding], errors="replace")
        if len(text.splitlines()) > 1:  # some programs end lines with NEL or U+2028: a trip would follow
            raise TripDataError(f"the first line of {path.name} has unusual line ends; save it with LF or CRLF")
        delimiter = delimiter or found_delimiter(text, wanted)
        names = column_names(text, delimiter)
        return "csv", _named(path, names), tuple("text" for _ in names), delimiter, ""
    except PermissionError:
        raise TripDataError(f"no permission to read {path.name}") from None


def _named(path: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise TripDataError(f"the first line of {path.name} is empty; it must be a header")
    return names


def _raw_type(arrow: pa.DataType) -> RawType:
    if pa.types.is_dictionary(arrow):
        return _raw_type(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        return "instant" if arrow.tz else "timestamp"
    return next((raw for is_so, raw in _RAW_TYPES.items() if is_so(arrow)), "text")


_RAW_TYPES: dict[Callable[[pa.DataType], bool], RawType] = {
    pa.types.is_integer: "integer",
    **dict.fromkeys((pa.types.is_floating, pa.types.is_decimal), "number"),
    pa.types.is_date: "date",
    pa.types.is_time: "time",
    **dict.fromkeys((pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary), "binary"),
    pa.types.is_binary_view: "binary",
}


def _header_line(path: Path, start: bytes, heading: Heading) -> bytes:
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise TripDataError(f"{path.name} is UTF-16; save it as UTF-8 (in Excel: `CSV UTF-8`)")
    if start == b"PK\x03\x04":
        raise TripDataError(f"{path.name} is a zip archive (an Excel workbook?); export the trips as CSV")
    if is_gzip(path) and start[:2] != b"\x1f\x8b":
        raise TripDataError(f"{path.name} is named .gz but is not a gzip file; rename it")
    if not is_gzip(path) and start[:2] == b"\x1f\x8b":
        raise TripDataError(f"{path.name} is a gzip file; add .gz to its name")
    try:
        with open_bytes(path, heading=heading) as file:
            first = file.readline(LONGEST_LINE)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise TripDataError(f"{path.name} is a damaged gzip file; copy it again") from None
    line = first.rstrip(b"\n").removesuffix(b"\r")
    if b"\r" in line:
        raise TripDataError(f"the lines of {path.name} end in CR (an old Mac file?); convert them to LF")
    if line.count(b'"') % 2:
        raise TripDataError(f"the first line of {path.name} has an unclosed quote; close it")
    if line.lstrip()[:1] in (b"{", b"["):
        raise TripDataError(f"{path.name} seems to be JSON; export the trips as CSV or Parquet")
    if b"\0" in line:
        raise TripDataError(f"{path.name} is not text, or UTF-16 without a byte order mark; save it as UTF-8")
    return line
