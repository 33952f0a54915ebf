"""Codes: every raw value is parsed once, and rows then carry small integers.

A column of texts has few distinct raw values and many rows. The engine lists them, Python parses each
(`inputs.values`) and removes detail (`inputs.areas`), and the engine counts codes. Codes follow the alphabetical order
of the labels; they are never published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import CARD, COUNT, EVERY_MODE, MINUTES_PER_DAY, MISSING, MISSING_TIME, UNKNOWN, Kind
from tapveil.counting.packing import WORD, Packing
from tapveil.inputs import values
from tapveil.inputs.areas import Areas, relabelling
from tapveil.inputs.values import UNIT_SEPARATOR, Days
from tapveil.plan.model import Plan, Table
from tapveil.trips.files import RawType, TripFiles
from tapveil.trips.reasons import NOT_COVERED, OTHER_COLUMN, Reason

Understand = Callable[[str], str | None]
"""The label of a raw value: "" where it means missing, None where it cannot be read."""


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
    """Modes with their own meaning of raw values: stops that are looked up in another list."""
    fixed_labels: tuple[str, ...] = ()
    """Labels that follow from the plan alone, in the order of their codes."""
    as_text: bool = False
    """Whether every value is parsed as text, even if it is typed: some texts mean missing."""
    context: tuple[str, ...] = ()
    """Other columns needed to parse a value: the first of them with a value follows it, after its number."""
    zoned: bool = False
    """Whether a time zone decides the meaning of a typed value: then Python parses it, not the engine."""
    covers: Callable[[str], bool] | None = None
    """Which labels the plan covers; other rows are not counted. None where it covers all."""

    @property
    def arithmetic(self) -> bool:
        """Whether the engine computes the code from a typed value, without text."""
        typed = self.kind == "time" and self.raw in ("integer", "time", "timestamp")
        return typed and not self.as_text and not self.context and not self.zoned

    @property
    def refuses(self) -> bool:
        """Whether a row can be refused for this column: only places and labels are accepted as they are."""
        return (
            self.missing is None or self.kind in ("time", "duration", "card") or self.as_text or self.covers is not None
        )

    @property
    def variants(self) -> list[Understand]:
        """All ways to parse a raw value: the ordinary one, then those `for_mode`."""
        return [self.understand, *(understand for _, understand in self.for_mode)]


@dataclass(frozen=True)
class Code:
    """A column with all its labels; the code of a row is the index of its label."""

    column: Column
    labels: tuple[str, ...]


@dataclass(frozen=True)
class CodedValue:
    """The code of a raw value in each variant of the column, or a reason to refuse the row."""

    codes: tuple[int, ...]
    refusal: int = 0
    labels: tuple[str, ...] = ()


class Reasons:
    """Reasons to refuse a row, each a bit of its own above the keys of cells, so that they can be added to a key.

    A row's key is the sum of its columns' parts. A reason is minus a power of two beyond every key: the sum is then
    negative, and its upper half says which reasons there were. The lowest bits say that the plan does not cover the
    row: then nothing else that is wrong with it matters.
    """

    MOST_COLUMNS = 9
    """Further columns share the bits of the last one; the bits above leave room for their sums."""
    _ELSEWHERE: ClassVar = {"date": 0, "mode": 1}

    def __init__(self, columns: Sequence[Column]) -> None:
        refusing = [column.name for column in columns if column.refuses]
        first = len(self._ELSEWHERE)
        self._bits = {name: first + 2 * min(index, self.MOST_COLUMNS - 1) for index, name in enumerate(refusing)}
        self._columns = {bit: name for name, bit in reversed(self._bits.items())}

    def elsewhere(self, column: Column) -> int:
        """The number that a value outside the plan adds to the key of its row."""
        return -WORD << self._ELSEWHERE[column.name]

    def missing(self, column: Column) -> int:
        """The number that a missing value adds to the key of its row."""
        return -WORD << self._bits[column.name]

    def unreadable(self, column: Column) -> int:
        """The number that an unreadable value adds to the key of its row."""
        return -WORD << (self._bits[column.name] + 1)

    def of(self, key: int) -> Reason:
        """The first reason in a negative key."""
        found = -(key // WORD)
        first = (found & -found).bit_length() - 1
        if first < len(self._ELSEWHERE):
            return NOT_COVERED
        if first // 2 not in range(self.MOST_COLUMNS) and len(self._bits) >= self.MOST_COLUMNS:
            return OTHER_COLUMN
        return Reason("unreadable" if first % 2 else "missing", self._columns[first // 2 * 2])


def columns(plan: Plan, files: TripFiles, areas: Areas) -> list[Column]:
    """How each column that the plan uses is coded."""
    found = [_column(plan, files, areas, name) for name in plan.columns.used]
    for index, column in enumerate(found):
        if missing := plan.source.missing(column.name):
            for_mode = tuple((mode, _unless_missing(understand, missing)) for mode, understand in column.for_mode)
            understand = _unless_missing(column.understand, missing)
            found[index] = replace(column, understand=understand, for_mode=for_mode, as_text=True)
    return found


def as_fine_as_labels(column: Column, plan: Plan, areas: Areas) -> bool:
    """Whether a column has about as many raw values as labels: rows then have no more groups than cells."""
    if column.kind == "date" and plan.source.calendar:  # a text may have a clock as well
        return column.raw in ("date", "timestamp") and not column.context
    if column.kind == "location":
        return not areas.lookups
    return column.arithmetic or (column.kind == "label" and column.name != COUNT and not column.fixed_labels)


def _unless_missing(understand: Understand, missing: frozenset[str]) -> Understand:
    return lambda text: "" if text.partition(UNIT_SEPARATOR)[0].strip() in missing else understand(text)


def _column(plan: Plan, files: TripFiles, areas: Areas, name: str) -> Column:
    theirs, kind = plan.source.columns[name].column, plan.source.kind(name)
    raw: RawType = files.type_of(theirs) if theirs else "text"
    if kind == "time":
        # A clock time needs its day where daylight saving may have skipped it; a timestamp has its own.
        zoned = plan.source.timezone is not None
        needed = zoned and "date" in plan.source.columns and plan.source.calendar
        context: tuple[str, ...] = ("date",) if needed and raw not in ("timestamp", "instant") else ()
        bins, read = plan.columns.times(), _reads_time(plan, name, bool(context))
        coded = Column(name, raw, kind, bins.labels[0], read, fixed_labels=bins.labels, context=context, zoned=zoned)
        # A number in a format is not one of minutes: 7 is an hour, 731 a clock, 1470609060 a moment.
        return replace(coded, as_text=raw == "integer" and plan.source.columns[name].format is not None)
    if kind == "duration":
        classes = TimeBins.parts(plan.world.durations)
        read = _reads_duration(plan, classes)
        return Column(name, "text", kind, MISSING, read, fixed_labels=classes.labels, context=("tap_on_time",))
    if kind == "calendar":
        context = plan.source.deciding if plan.source.day_follows_time else ()
        labels = tuple(sorted({*areas.calendars[name].values()}))
        read = _reads_calendar(_reads_date(plan, "date", bool(context)), areas.calendars[name], labels[0])
        return Column(name, raw, kind, labels[0], read, fixed_labels=labels, context=context)
    if kind == "date":
        context = plan.source.deciding if name == "date" and plan.source.day_follows_time else ()
        read = _reads_date(plan, name, bool(context)) if plan.source.calendar else str.strip
        covers = _covered_days(plan) if name == "date" else None
        return Column(name, raw, kind, None, read, covers=covers, context=context)
    if kind == "location":
        looked_up = tuple((mode, _reads_area(areas, mode)) for mode in areas.lookups if mode != EVERY_MODE)
        return Column(name, raw, kind, UNKNOWN, _reads_area(areas, EVERY_MODE), looked_up)
    if name == COUNT and (most := plan.source.most_per_row):
        return Column(name, raw, kind, None, lambda text: values.read_number(text, most))
    if listed := plan.world.lists.get(name):
        # What is not listed is one label before a card is counted, so that it counts there once, too.
        labels = tuple(sorted({UNKNOWN, *listed}))
        return Column(name, raw, kind, UNKNOWN, _reads_listed(frozenset(listed)), fixed_labels=labels)
    modes = plan.source.modes if name == "mode" else None
    covers = modes.__contains__ if modes else None
    return Column(name, raw, kind, None if name == "mode" else UNKNOWN, str.strip, covers=covers)


def _covered_days(plan: Plan) -> Callable[[str], bool] | None:
    first, last = plan.source.first_day, plan.source.last_day
    if first is None or last is None:
        return None
    earliest, latest = first.isoformat(), last.isoformat()
    return lambda day: earliest <= day <= latest


def card_column(plan: Plan, files: TripFiles) -> Column | None:
    """The card, where trips are distinguished by it: it is compared, never coded and never published."""
    if not plan.privacy.by_card:
        return None
    without = None if plan.privacy.without_card == "refuse" else ""
    return Column(CARD, files.type_of(plan.columns.read[CARD]), "card", without, str.strip)


def _split(text: str, context: bool) -> tuple[str, str] | None:
    """A value and its context; None where the value contains the separator."""
    value, mark, other = text.partition(UNIT_SEPARATOR)
    return (value, other[1:]) if bool(mark) == context and UNIT_SEPARATOR not in other else None


def _reads_time(plan: Plan, name: str, context: bool) -> Understand:
    bins, days, written = plan.columns.times(), Days.of(plan.source), plan.source.columns[name].format
    labels = bins.labels
    day_written = plan.source.columns["date"].format if "date" in plan.source.columns else None

    def understand(text: str) -> str | None:
        parts = _split(text, context)
        minute = values.read_time(parts[0], days.zone, written) if parts else None
        if parts is None or minute is None:
            return None
        if parts[1] and not values.is_written_with_a_date(parts[0], written):
            on = values.read_date(parts[1], days.zone, day_written)
            if on and days.is_skipped(on, minute):
                return None
        return labels[bins.code(minute)]

    return understand


def _reads_duration(plan: Plan, classes: TimeBins) -> Understand:
    """The class of a duration, from the time of the tap off and, as its context, that of the tap on."""
    columns, zone, labels = plan.source.columns, Days.of(plan.source).zone, classes.labels
    formats = [columns[name].format for name in ("tap_off_time", "tap_on_time")]
    none = plan.source.missing("tap_on_time")

    def understand(text: str) -> str | None:
        parts = _split(text, context=True)
        if parts is None:
            return None
        if parts[1].strip() in none:
            return ""
        off, on = (values.read_clock(part, zone, written) for part, written in zip(parts, formats, strict=True))
        if off is None or on is None:
            return None
        missing = MISSING_TIME in (off, on)
        return labels[0] if missing else labels[classes.code((off - on) // 60 % MINUTES_PER_DAY)]

    return understand


def reads_second(plan: Plan) -> Callable[[str], int | None]:
    """Parse the time of a tap, in seconds, from the raw values of its time and its day."""
    columns, days = plan.source.columns, Days.of(plan.source)
    written, day_written = columns["tap_on_time"].format, columns["date"].format if "date" in columns else None
    none = plan.source.missing("tap_on_time")

    def second(text: str) -> int | None:
        parts = _split(text, context=True)
        known = parts and parts[0].strip() not in none
        return values.read_second(*parts, days, written, day_written) if parts and known else None

    return second


def _reads_date(plan: Plan, name: str, context: bool) -> Understand:
    days, written = Days.of(plan.source), plan.source.columns[name].format
    times_written = [plan.source.columns[time].format for time in plan.source.deciding]

    def understand(text: str) -> str | None:
        parts = _split(text, context)
        day = values.read_date(parts[0], days.zone, written) if parts else None
        if parts is None or not day or not context:
            return day
        which = int(text[len(parts[0]) + len(UNIT_SEPARATOR)])
        minute = values.read_time(parts[1], days.zone, times_written[which])
        return day if minute is None else days.day_of(day, minute)

    return understand


def _reads_calendar(read: Understand, labels: Mapping[str, str], other: str) -> Understand:
    """The label of a day. A row without a day, or of a day that the plan does not cover, is refused by its date."""
    return lambda text: labels.get(read(text) or "", other)


def _reads_listed(listed: frozenset[str]) -> Understand:
    return lambda text: label if (label := text.strip()) in listed else ""


def _reads_area(areas: Areas, mode: str) -> Understand:
    return lambda text: areas.area(mode, values.read_location(text))


@dataclass(frozen=True)
class Recoding:
    """The codes of a column at a coarser level of a table: one list, or one for each mode."""

    labels: tuple[str, ...]
    codes: tuple[tuple[int, ...], ...]

    def sql(self, code: str, mode: str) -> str:
        """SQL for the coarser code, from the finer code and that of the mode."""
        lists = ", ".join(f"[{', '.join(map(str, codes))}]" for codes in self.codes)
        return f"[{lists}][{f'{mode} + 1' if len(self.codes) > 1 else '1'}][{code} + 1]"


def at_level(
    plan: Plan, table: Table, coded: Sequence[Code], wider: Mapping[str, Areas]
) -> tuple[dict[str, Recoding], dict[str, tuple[str, ...]], Packing]:
    """The recoding of a table's columns at its level, all its labels, and the layout of its cells."""
    fine = {code.column.name: code.labels for code in coded}
    recodings, keys = dict[str, Recoding](), plan.columns.of(table)
    for column, relabel in relabelling(plan, table, wider).items():
        modes = (fine["mode"] if relabel.modes else ()) or ("",)  # of no trips, there is no mode
        coarser = [[relabel.label(mode, label) for label in fine[column]] for mode in modes]
        every = tuple(sorted({label for each in coarser for label in each}))
        position = {label: index for index, label in enumerate(every)}
        recodings[column] = Recoding(every, tuple(tuple(position[label] for label in each) for each in coarser))
    labels = {column: recodings[column].labels if column in recodings else fine[column] for column in keys}
    return recodings, labels, Packing(keys, tuple(len(labels[column]) for column in keys))


def assign(column: Column, raw_values: Sequence[str], reasons: Reasons) -> tuple[Code, list[CodedValue]]:
    """The codes of a column, and the code of each raw value; the last is for a missing value."""
    found = [tuple(understand(raw_value) for understand in column.variants) for raw_value in raw_values]
    covers = column.covers or (lambda label: True)
    labels = {label for variants in found for label in variants if label and covers(label)}
    labels |= set() if column.missing is None else {column.missing}
    code = Code(column, column.fixed_labels or tuple(sorted(labels)))
    position = {label: index for index, label in enumerate(code.labels)}
    coded = []
    for variants in [*found, ("",) * len(column.variants)]:
        meant = understood(column, variants, reasons)
        if isinstance(meant, int):
            coded.append(CodedValue((0,) * len(variants), meant))
        else:
            coded.append(CodedValue(tuple(position[label] for label in meant), labels=meant))
    return code, coded


def understood(column: Column, labels: tuple[str | None, ...], reasons: Reasons) -> tuple[str, ...] | int:
    """The labels of a raw value in each variant of the column, or a reason to refuse the row."""
    if None in labels:
        return reasons.unreadable(column)
    if "" in labels and column.missing is None:
        return reasons.missing(column)
    if column.covers and not column.covers(str(labels[0])):
        return reasons.elsewhere(column)
    return tuple(label or str(column.missing) for label in labels)
