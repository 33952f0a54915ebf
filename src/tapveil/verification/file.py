"""Checks one CSV file in the shape of the published Opal data, whoever wrote it: what can be done without a manifest.

Said to be made by the stability-based histogram at (ε, δ), it cannot hold a count below the smallest that this
prints, nor a cell twice, nor a line that is none.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from tapveil.base.errors import UsageError
from tapveil.base.findings import Finding, Verification, shown
from tapveil.base.progress import BYTES, Reporter, Silent, Stage
from tapveil.base.types import read_exact
from tapveil.base.vocabulary import COUNT
from tapveil.privacy.mechanisms import StabilityHistogram
from tapveil.verification.reading import UnreadableError

LONGEST_LINE = 10_000
LARGEST = 2**29
MOST_GROWTH = 200
"""A gzipped table of counts does not grow by more than this; what does is made to fill a memory."""
LINES_NAMED = 10
_KEYS = ("mode", "date", "tap", "time", "loc")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})")
_WHOLE = re.compile(r"[0-9]{1,18}")

_SENTENCES = {
    "stray-line": "a line is not a row of the table",
    "field-missing": "a row has a missing or empty field",
    "value-impossible": "a date, time, tap or count is invalid",
    "time-spelling": "a time is not written as HH:MM, so its bin may occur under two raw values",
    "duplicate-key": "a cell occurs twice",
    "not-utf8": "a line is not UTF-8 text",
}


def verify_file(path: str | Path, epsilon: object, delta: object, *, progress: Reporter | None = None) -> Verification:
    """Whether a file can be what it is said to be: a table published at this (ε, δ)."""
    path = Path(path)
    try:
        mechanism = StabilityHistogram(read_exact(epsilon), read_exact(delta))
    except ValueError as error:
        raise UsageError(f"--epsilon, --delta: {error}") from None
    read = 0
    # How many bytes there will be in a packed file, or one that is not there, nobody knows.
    size = path.stat().st_size if path.suffix != ".gz" and path.is_file() else None
    with (progress or Silent()).stage(Stage.READING_FILE, lambda: read, total=size, unit=BYTES):
        look = _Look(mechanism.smallest_published)
        try:
            for number, line in enumerate(_lines(path), start=1):
                look.add(number, line)
                read += len(line)
        except UnreadableError as error:
            return Verification([error.finding])
        except (EOFError, gzip.BadGzipFile, zlib.error):
            return Verification([Finding("not-csv", shown(path.name), "is a damaged gzip file")])
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    return Verification(list(look.findings(shown(path.name))), [], look.summary)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, plain or gzipped, as long as it stays within bounds."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    size = path.stat().st_size
    if size > LARGEST:
        raise UnreadableError("too-large", shown(path.name), f"is larger than {LARGEST:,} bytes")
    if path.suffix == ".gz":  # unpack it once and keep nothing, before any of it is looked at
        most = min(LARGEST, MOST_GROWTH * size)
        with gzip.open(path) as unpacked:
            while block := unpacked.read(2**20):
                most -= len(block)
                if most < 0:
                    raise UnreadableError("too-large", shown(path.name), "unpacks to more data than any table has")
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        yield from iter(lambda: file.readline(LONGEST_LINE), b"")


class _Look:
    """What the lines of a file show."""

    def __init__(self, smallest: int) -> None:
        self._smallest = smallest
        self._header: list[str] | None = None
        self._lines: dict[str, list[int]] = defaultdict(list)
        self._seen: set[tuple[str, ...]] = set()
        self._rows, self._least = 0, 0

    def add(self, number: int, line: bytes) -> None:
        """One more line."""
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            fields = next(csv.reader([text]), [])
        except UnicodeDecodeError:
            self._lines["not-utf8"].append(number)
            return
        except csv.Error:
            fields = []
        if self._header is None:
            self._header = [name.strip() for name in fields]
        elif self._is_usable:
            self._add_row(number, fields)

    @property
    def _is_usable(self) -> bool:
        names = self._header or []
        known = set(names) <= {*_KEYS, COUNT} and len(set(names)) == len(names)
        return known and COUNT in names and bool({"time", "loc"} & set(names))

    def _add_row(self, number: int, fields: list[str]) -> None:
        header = self._header or []
        missing = len(header) - len(fields)
        if missing or "" in fields:
            is_row = len(fields) >= 3 and (0 < missing <= 2 or not missing) and bool(_WHOLE.fullmatch(fields[-1]))
            self._lines["field-missing" if is_row else "stray-line"].append(number)
            return
        row = dict(zip(header, fields, strict=True))
        count = row.pop(COUNT)
        if not _WHOLE.fullmatch(count) or not all(_is_possible(key, value) for key, value in row.items()):
            self._lines["value-impossible"].append(number)
            return
        if "time" in row and row["time"] != "-1" and len(row["time"]) != 5:
            self._lines["time-spelling"].append(number)
            row["time"] = row["time"].zfill(5)
        key = tuple(row.values())
        if key in self._seen:
            self._lines["duplicate-key"].append(number)
        self._seen.add(key)
        self._least = min(self._least, int(count)) if self._rows else int(count)
        self._rows += 1
        if int(count) < self._smallest:
            self._lines["count-below-smallest"].append(number)

    def findings(self, place: str) -> Iterator[Finding]:
        """All that was found, with the first lines where it is."""
        if not self._is_usable:
            words = f"does not have the columns of the Opal data: {','.join(_KEYS)} and {COUNT}, with a time or a loc"
            yield Finding("not-opal-shape", place, words)
            return
        below = f"a count is below {self._smallest}, the smallest that can be published at this epsilon and delta"
        for code, lines in self._lines.items():
            named = ", ".join(str(line) for line in lines[:LINES_NAMED])
            more = f" and {len(lines) - LINES_NAMED:,} more" if len(lines) > LINES_NAMED else ""
            yield Finding(code, f"{place}, line {named}{more}", {**_SENTENCES, "count-below-smallest": below}[code])
        if not self._rows:
            yield Finding("no-rows", place, "has no rows")

    @property
    def summary(self) -> str:
        return (
            f"{self._rows:,} cells; smallest count {self._least}, at least {self._smallest} as this epsilon and delta "
            "require. The file is consistent with them. Its noise cannot be checked from the file"
        )


def _is_possible(key: str, value: str) -> bool:
    if key == "tap":
        return value in ("on", "off")
    if key == "time":
        found = _TIME.fullmatch(value)
        return value == "-1" or (found is not None and int(found[1]) < 24 and int(found[2]) < 60)
    if key == "date":
        try:
            date.fromisoformat(value)
        except ValueError:
            return False
    return True
