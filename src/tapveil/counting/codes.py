"""Codes: every spelling of a value is understood once, and rows then carry small integers.

A column of texts has few spellings and many rows. The engine lists the spellings, plain Python reads each
(`trips`) and gives up detail (`coarsen`), and the engine counts codes. Codes follow the alphabet of the labels;
they are never published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from tapveil.coarsen import Areas, TimeBins
from tapveil.plan import Plan
from tapveil.trips import UNKNOWN, RawType, TripFiles, read_date, read_location, read_time

REFUSE_MISSING = -1
REFUSE_UNREADABLE = -2

Spelling = tuple[str, ...]
"""A text as it stands in the files; with its row's mode before it where the mode decides what it means."""


@dataclass(frozen=True)
class Column:
    """How one column of the plan is coded."""

    name: str
    raw: RawType
    kind: str
    reads_mode: bool
    understand: Callable[[Spelling], str | None]
    """The label of a spelling: "" where it means missing, None where it cannot be read."""
    missing: str | None
    """The label of a missing value; None where a row without one is refused."""
    fixed_labels: tuple[str, ...] = ()
    """Labels that the plan alone decides, in the order of their codes."""

    @property
    def arithmetic(self) -> bool:
        """Whether the engine computes the code from a typed value, without spellings."""
        return self.kind == "time" and self.raw != "text"

    @property
    def refuses(self) -> bool:
        """Whether a row can be refused for its value here: only a place or a label is taken as it comes."""
        return self.missing is None or (self.kind == "time" and self.raw in ("text", "integer"))


@dataclass(frozen=True)
class Code:
    """A column with all its labels: a row's code is the position of its label, or a reason to refuse the row."""

    column: Column
    labels: tuple[str, ...]

    @property
    def missing(self) -> int:
        """The code of a row without a value."""
        return REFUSE_MISSING if self.column.missing is None else self.labels.index(self.column.missing)


def columns(plan: Plan, files: TripFiles, areas: Areas) -> list[Column]:
    """How each column that the plan uses is coded."""
    return [_column(plan, files, areas, name) for name in plan.used_columns]


def _column(plan: Plan, files: TripFiles, areas: Areas, name: str) -> Column:
    theirs, kind = plan.source.columns[name].column, plan.source.kind(name)
    raw: RawType = files.type_of(theirs) if theirs else "text"
    zone = ZoneInfo(plan.source.timezone) if plan.source.timezone else None
    if kind == "time":
        bins = TimeBins(plan.coarsen.time_minutes)
        return Column(name, raw, kind, False, _reads_time(bins, zone), bins.labels[0], bins.labels)
    if kind == "date":
        read = _reads_label if plan.source.dates == "labels" else _reads_date(zone)
        return Column(name, raw, kind, False, read, None)
    if kind == "location":
        return Column(name, raw, kind, areas.by_mode, _reads_area(areas), UNKNOWN)
    return Column(name, raw, kind, False, _reads_label, None if name == "mode" else UNKNOWN)


def _reads_time(bins: TimeBins, zone: ZoneInfo | None) -> Callable[[Spelling], str | None]:
    labels = bins.labels

    def understand(spelling: Spelling) -> str | None:
        minute = read_time(spelling[-1], zone)
        return None if minute is None else labels[bins.code(minute)]

    return understand


def _reads_date(zone: ZoneInfo | None) -> Callable[[Spelling], str | None]:
    return lambda spelling: read_date(spelling[-1], zone)


def _reads_area(areas: Areas) -> Callable[[Spelling], str | None]:
    def understand(spelling: Spelling) -> str:
        mode = spelling[0].strip() if len(spelling) > 1 else ""
        return areas.area(mode, read_location(spelling[-1]))

    return understand


def _reads_label(spelling: Spelling) -> str:
    return spelling[-1].strip()


def assign(column: Column, spellings: Iterable[Spelling]) -> tuple[Code, list[int]]:
    """The codes of a column, and the code of each spelling."""
    found = [column.understand(spelling) for spelling in spellings]
    labels = column.fixed_labels or _sorted_labels(column, found)
    position = {label: index for index, label in enumerate(labels)}
    code = Code(column, labels)
    return code, [_code_of(label, code.missing, position) for label in found]


def _sorted_labels(column: Column, found: Sequence[str | None]) -> tuple[str, ...]:
    labels = {label for label in found if label}
    if column.missing is not None:
        labels.add(column.missing)
    return tuple(sorted(labels))


def _code_of(label: str | None, missing: int, position: dict[str, int]) -> int:
    if label is None:
        return REFUSE_UNREADABLE
    return position[label] if label else missing


def refusal_reasons(coded: Sequence[Code]) -> dict[int, str]:
    """What the negative keys of refused rows stand for (see `query.refusal_sql`)."""
    reasons: dict[int, str] = {}
    for index, code in enumerate(coded):
        reasons[REFUSE_MISSING - 2 * index] = f"{code.column.name} is missing"
        reasons[REFUSE_UNREADABLE - 2 * index] = f"{code.column.name} cannot be read"
    return reasons
