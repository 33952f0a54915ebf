"""Where trips come from: the files, their columns, and what a value in them means.

Only the columns that the plan names are ever read, so identifiers and the rest never enter. Nothing here looks at
more than one value at a time: what one trip means never depends on another trip.
"""

from __future__ import annotations

import csv
import glob
import gzip
import hashlib
import re
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.csvlines import LONGEST_LINE, is_gzip, open_bytes
from tapveil.errors import PlanError, TripDataError, did_you_mean
from tapveil.plan import MINUTES_PER_DAY, Plan

Format = Literal["csv", "parquet"]
RawType = Literal["text", "integer", "number", "date", "time", "timestamp", "instant"]
"""What a file says a column holds; an instant is a timestamp with a time zone, anything unlisted is read as text."""

Shape = tuple[Format, tuple[str, ...], tuple[RawType, ...], str]
"""Format, names and types of the columns, and the types as the file itself calls them."""

MISSING_TIME = -1
LATEST_MINUTE = 2 * MINUTES_PER_DAY
UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class FileGroup:
    """Files of one format and one set of columns: they are read together."""

    format: Format
    names: tuple[str, ...]
    types: tuple[RawType, ...]
    paths: tuple[Path, ...]

    def type_of(self, column: str) -> RawType:
        return self.types[self.names.index(column)]


@dataclass(frozen=True)
class TripFiles:
    """All the files of a plan, looked at but not read."""

    groups: tuple[FileGroup, ...]
    delimiter: str

    def type_of(self, column: str) -> RawType:
        """The type of a column; text where files differ, since every type can be written as text."""
        types = {group.type_of(column) for group in self.groups}
        return types.pop() if len(types) == 1 else "text"


READABLE: dict[str, str] = {
    "time": "17:05, 17:05:30, a timestamp such as 2016-12-31 17:05:30, or minutes after midnight such as 1025; "
    "empty or -1 for none; an offset such as +10:00 needs [source] timezone",
    "date": "2016-12-31, 20161231, or a timestamp such as 2016-12-31 17:05:30; any other text needs "
    '[source] dates = "labels"',
}
"""What can be read, by kind: for the message when too much cannot."""


def find(plan: Plan) -> TripFiles:
    """The trip files of a plan, each with the columns it must have."""
    shapes: dict[Shape, list[Path]] = defaultdict(list)
    for path in _paths(plan):
        shape = _inspect(path, plan.source.delimiter)
        _require(plan, shape, path)
        shapes[shape].append(path)
    groups = tuple(FileGroup(*shape[:3], tuple(paths)) for shape, paths in shapes.items())
    files = TripFiles(groups, plan.source.delimiter)
    _refuse_wrong_types(plan, files)
    return files


def fingerprint(plan: Plan) -> str:
    """Which files these are, by names, sizes and times: it changes when they do. Internal."""
    status = [(path.name, path.stat()) for path in _paths(plan)]
    known = [(name, each.st_size, each.st_mtime_ns) for name, each in status]
    return hashlib.sha256(repr(known).encode()).hexdigest()


def _paths(plan: Plan) -> list[Path]:
    found: set[Path] = set()
    for pattern in plan.source.path:
        full = plan.base / pattern
        if full.is_dir():
            raise TripDataError(f'{pattern} is a folder; to read every file in it, write path = "{pattern}/*"')
        matches = [full] if full.exists() else [Path(name) for name in glob.glob(str(full), recursive=True)]  # noqa: PTH207 (an absolute pattern)
        if not matches:
            raise TripDataError(f"no file matches {pattern} ([source] path; it starts from {plan.base.resolve()})")
        found.update(path for path in matches if not path.is_dir())
    if not found:
        raise TripDataError("[source] path matches folders only, no file")
    return _each_once(sorted(found))


def _each_once(paths: list[Path]) -> list[Path]:
    """A file reached by two names would count its trips twice, and cost twice what is promised."""
    seen: dict[tuple[int, int], Path] = {}
    for path in paths:
        status = path.stat()
        twin = seen.setdefault((status.st_dev, status.st_ino), path)
        if twin is not path:
            raise TripDataError(f"{twin.name} and {path.name} are the same file: name it once in [source] path")
    return paths


def _require(plan: Plan, shape: Shape, path: Path) -> None:
    """Every column the plan names, once. A header may turn out to be a trip, so it is never quoted."""
    names, needed = shape[1], plan.named_columns
    missing = {ours: theirs for ours, theirs in needed.items() if theirs not in names}
    if missing:
        raise TripDataError(_missing_columns(plan, missing, shape, path))
    folded = Counter(name.casefold() for name in names)  # engines do not tell `mode` from `MODE`
    for theirs in needed.values():
        if folded[theirs.casefold()] > 1:
            alike = folded[theirs.casefold()]
            raise TripDataError(f"{path.name} has {alike} columns named `{theirs}` (in any case); rename all but one")
    if shape[0] == "parquet" and max(folded.values()) > 1:
        raise TripDataError(f"{path.name} has columns whose names differ in case only; rename all but one of them")


def _missing_columns(plan: Plan, missing: dict[str, str], shape: Shape, path: Path) -> str:
    names, delimiter = shape[1], plan.source.delimiter
    listed = ", ".join(f"`{theirs}` ([source.columns] {ours})" for ours, theirs in missing.items())
    message = f"{path.name} has no column {listed}"
    other = next((mark for mark in ";\t|," if mark != delimiter and len(names) == 1 and mark in names[0]), None)
    if shape[0] == "csv" and other:
        return (
            f"{message}; its columns seem to be separated by another character: set delimiter = {other!r} in [source]"
        )
    # If none of the columns is there, the first line may be a trip: then nothing of it is suggested.
    is_header = shape[0] == "parquet" or bool(set(plan.file_columns.values()) & set(names))
    safe = [name for name in names if is_header and _looks_like_a_name(name)]
    hint = next(filter(None, (did_you_mean(theirs, safe) for theirs in missing.values())), "")
    return message + (hint or ("; is the first line of the file a header, in UTF-8?" if shape[0] == "csv" else ""))


def _refuse_wrong_types(plan: Plan, files: TripFiles) -> None:
    """Columns whose type alone shows that they cannot be what the plan says."""
    for ours, theirs in plan.file_columns.items():
        kind, raw = plan.source.kind(ours), files.type_of(theirs)
        if kind == "time" and raw == "date":
            raise TripDataError(f"the column `{theirs}` holds dates; [source.columns] {ours} needs times")
        instants = any(group.type_of(theirs) == "instant" for group in files.groups)
        if kind in ("time", "date") and instants and plan.source.timezone is None:
            raise PlanError(f'`{theirs}` holds times with a time zone: add timezone = "…" under [source]')


def _looks_like_a_name(text: str) -> bool:
    return not any(character.isdigit() or character == "\ufffd" for character in text)


# --- looking at one file ------------------------------------------------------------------------------------------


def _inspect(path: Path, delimiter: str) -> Shape:
    try:
        with path.open("rb") as file:
            start = file.read(4)
        if not start:
            raise TripDataError(f"{path.name} is empty")
        if path.suffix.lower() in {".parquet", ".pq"} or start == b"PAR1":
            schema = _parquet_schema(path)
            return "parquet", tuple(schema.names), tuple(_raw_type(each.type) for each in schema), str(schema.types)
        names = _csv_header(path, start, delimiter)
        return "csv", names, tuple("text" for _ in names), ""
    except PermissionError:
        raise TripDataError(f"no permission to read {path.name}") from None


def _parquet_schema(path: Path) -> pa.Schema:
    try:
        return pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, PermissionError):
            raise
        raise TripDataError(f"{path.name} is not a whole Parquet file (was its transfer cut off?)") from None


def _raw_type(arrow: pa.DataType) -> RawType:
    if pa.types.is_dictionary(arrow):
        return _raw_type(arrow.value_type)
    if pa.types.is_integer(arrow):
        return "integer"
    if pa.types.is_floating(arrow) or pa.types.is_decimal(arrow):
        return "number"
    if pa.types.is_date(arrow):
        return "date"
    if pa.types.is_time(arrow):
        return "time"
    if pa.types.is_timestamp(arrow):
        return "instant" if arrow.tz else "timestamp"
    return "text"


def _csv_header(path: Path, start: bytes, delimiter: str) -> tuple[str, ...]:
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise TripDataError(f"{path.name} is UTF-16; save it as UTF-8")
    if start == b"PK\x03\x04":
        raise TripDataError(f"{path.name} is a zip archive (an Excel workbook?); export the trips as CSV")
    if is_gzip(path) and start[:2] != b"\x1f\x8b":
        raise TripDataError(f"{path.name} ends in .gz but is not a gzip file")
    if not is_gzip(path) and start[:2] == b"\x1f\x8b":
        raise TripDataError(f"{path.name} is a gzip file; give its name the ending .gz")
    try:
        with open_bytes(path) as file:
            first = file.readline(LONGEST_LINE)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise TripDataError(f"{path.name} is a damaged gzip file (was its transfer cut off?)") from None
    line = first.rstrip(b"\n").removesuffix(b"\r")
    if b"\r" in line:
        raise TripDataError(f"the lines of {path.name} do not end in line feeds (an old Mac file?); convert them")
    if line.count(b'"') % 2:
        raise TripDataError(f"the first line of {path.name} has a quote that is not closed")
    header = next(csv.reader([line.decode("utf-8-sig", errors="replace")], delimiter=delimiter), [])
    if not header:
        raise TripDataError(f"the first line of {path.name} is empty; it must name the columns")
    return tuple(name.strip() for name in header)


# --- what a text means --------------------------------------------------------------------------------------------

_MINUTES = re.compile(r"(0|[1-9][0-9]{0,3})(?:\.0+)?")  # 0731 is more likely a clock than 731 minutes: refused
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?")
_DATE = re.compile(r"([0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2})(?:\.0+)?")
_TIMESTAMP = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}[ T][0-9]{1,2}:?[0-9]{2}.*")


def read_time(text: str, zone: ZoneInfo | None = None) -> int | None:
    """Minutes after midnight, `MISSING_TIME` where there is none, None where it cannot be read.

    >>> read_time("07:31"), read_time("7:05:59"), read_time("24:20"), read_time("451"), read_time("1465")
    (451, 425, 1460, 451, 1465)
    >>> read_time("2016-08-08 07:31:00"), read_time(""), read_time("-1"), read_time("0731")
    (451, -1, -1, None)
    """
    text = text.strip()
    if text in ("", "-1", "-1.0"):
        return MISSING_TIME
    if match := _MINUTES.fullmatch(text):
        return _within_two_days(int(match[1]))
    if match := _CLOCK.fullmatch(text):
        hours, minutes, seconds = int(match[1]), int(match[2]), int(match[3] or 0)
        return _within_two_days(60 * hours + minutes) if minutes < 60 and seconds < 60 else None
    moment = _read_moment(text, zone) if _TIMESTAMP.fullmatch(text) else None
    return 60 * moment.hour + moment.minute if moment else None


def _within_two_days(minutes: int) -> int | None:
    return minutes if minutes < LATEST_MINUTE else None


def _read_moment(text: str, zone: ZoneInfo | None) -> datetime | None:
    """A timestamp in local time; one with an offset needs the plan's time zone."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return moment
        return moment.astimezone(zone) if zone else None
    except (ValueError, OverflowError):
        return None


def read_date(text: str, zone: ZoneInfo | None = None) -> str | None:
    """A calendar date as ISO text, "" where there is none, None where it cannot be read.

    >>> read_date("20160808"), read_date("2016-08-08"), read_date("2016-08-08 07:31:00"), read_date("08/08/2016")
    ('2016-08-08', '2016-08-08', '2016-08-08', None)
    """
    text = text.strip()
    if not text:
        return ""
    if match := _DATE.fullmatch(text):
        try:
            return date.fromisoformat(match[1]).isoformat()
        except ValueError:
            return None
    moment = _read_moment(text, zone) if _TIMESTAMP.fullmatch(text) else None
    return moment.date().isoformat() if moment else None


def read_location(text: str) -> str:
    """A stop as it is named, without blanks around it; "" where there is none.

    >>> read_location(" Žižkov, No. 3 "), read_location("-1")
    ('Žižkov, No. 3', '')
    """
    text = text.strip()
    return "" if text in ("-1", "-1.0") else text
