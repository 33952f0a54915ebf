"""Codes: every spelling of a value is understood once, and rows then carry small integers.

A column of texts has few spellings and many rows. The engine lists the spellings, plain Python reads each
(`trips`) and gives up detail (`coarsen`), and the engine counts codes. Codes follow the alphabet of the labels;
they are never published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from tapveil.coarsen import Areas, TimeBins
from tapveil.plan import EVERY_MODE, Kind, Plan
from tapveil.trips import UNKNOWN, RawType, TripFiles, read_date, read_location, read_time

REFUSE_MISSING = -1
REFUSE_UNREADABLE = -2

Understand = Callable[[str], str | None]
"""The label of a spelling: "" where it means missing, None where it cannot be read."""


@dataclass(frozen=True)
class Column:
    """How one column of the plan is coded."""

    name: str
    raw: RawType
    kind: Kind
    missing: str | None
    """The label of a missing value; None where a row without one is refused."""
    understand: Understand
    for_mode: tuple[tuple[str, Understand], ...] = ()
    """Modes whose spellings mean something else: stops that are looked up in another list."""
    fixed_labels: tuple[str, ...] = ()
    """Labels that the plan alone decides, in the order of their codes."""

    @property
    def arithmetic(self) -> bool:
        """Whether the engine computes the code from a typed value, without spellings."""
        return self.kind == "time" and self.raw not in ("text", "number")

    @property
    def refuses(self) -> bool:
        """Whether a row can be refused for its value here: only a place or a label is taken as it comes."""
        return self.missing is None or (self.kind == "time" and self.raw in ("text", "number", "integer"))

    @property
    def variants(self) -> list[Understand]:
        """All ways to understand a spelling: the ordinary one, then those `for_mode`."""
        return [self.understand, *(understand for _, understand in self.for_mode)]


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
        return Column(name, raw, kind, bins.labels[0], _reads_time(bins, zone), fixed_labels=bins.labels)
    if kind == "date":
        return Column(name, raw, kind, None, str.strip if plan.source.dates == "labels" else _reads_date(zone))
    if kind == "location":
        looked_up = tuple((mode, _reads_area(areas, mode)) for mode in areas.lookups if mode != EVERY_MODE)
        return Column(name, raw, kind, UNKNOWN, _reads_area(areas, EVERY_MODE), looked_up)
    return Column(name, raw, kind, None if name == "mode" else UNKNOWN, str.strip)


def _reads_time(bins: TimeBins, zone: ZoneInfo | None) -> Understand:
    labels = bins.labels

    def understand(text: str) -> str | None:
        minute = read_time(text, zone)
        return None if minute is None else labels[bins.code(minute)]

    return understand


def _reads_date(zone: ZoneInfo | None) -> Understand:
    return lambda text: read_date(text, zone)


def _reads_area(areas: Areas, mode: str) -> Understand:
    return lambda text: areas.area(mode, read_location(text))


def assign(column: Column, spellings: Sequence[str]) -> tuple[Code, list[list[int]]]:
    """The codes of a column; and, for each variant of it, the code of each spelling."""
    found = [[understand(spelling) for spelling in spellings] for understand in column.variants]
    labels = column.fixed_labels or _sorted_labels(column, found)
    position = {label: index for index, label in enumerate(labels)}
    code = Code(column, labels)
    missing = code.missing
    return code, [[_code_of(label, missing, position) for label in variant] for variant in found]


def _sorted_labels(column: Column, found: Sequence[Sequence[str | None]]) -> tuple[str, ...]:
    labels = {label for variant in found for label in variant if label}
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
