"""What of the trips does not fit the plan: places that no list has, modes and days that it does not cover, hours
without service, offsets of another time zone, a card that many trips share, files that are copies.

A plan that counts none of it is sound, and may be meant so: nothing is refused here. CONFIDENTIAL, like all that is
computed from exact counts.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from tapveil.base.numbers import percent
from tapveil.base.vocabulary import ENDS, EVERY_MODE, MISSING, UNKNOWN
from tapveil.counting import counter
from tapveil.inputs.public import PublicInputs
from tapveil.inputs.values import with_offset
from tapveil.internal.warnings import look_of
from tapveil.plan.model import Plan
from tapveil.plan.source import FORMATS
from tapveil.trips import files

if TYPE_CHECKING:
    from tapveil.internal.look import Look

MANY = 0.05
"""Of trips: more are most likely a mistake, not a few from elsewhere."""
FAR_DAYS, ENOUGH_FAR = 7, 0.001
"""Days with trips that lie further apart are no longer one period; and the share of trips that must be there."""
ONE_CARD, MANY_TIMES, FEWEST = 0.01, 50, 100
"""A card that stands for many: its share of all rows, how many times as many as a card has on average, and rows."""
SMALL_FILE = 1_000
"""Bytes. Smaller files may be alike since they hold hardly any trips."""
BEGINNING = 1 << 14
"""Bytes, in which files that differ nearly always do."""
NAMED, LONGEST = 5, 60
"""Names in a sentence, and letters of a name."""


@dataclass(frozen=True)
class Misfit:
    """What does not fit."""

    note: str
    """A sentence that says what was found and what to do; it begins in lower case."""
    alarm: str | None = None
    """The same in few words for the summary, where it is most likely a mistake."""


def misfits(look: Look) -> Iterator[Misfit]:
    """All that is found, the likeliest mistakes first."""
    yield from _uncovered(look)
    yield from _unlisted(look)
    yield from _other_zone(look)
    yield from _shared_card(look)
    yield from _same_files(look.plan)
    yield from _without_service(look)


# --- modes and days that the plan does not cover ----------------------------------------------------------------------


def _uncovered(look: Look) -> Iterator[Misfit]:
    if not look.counted.refusals.elsewhere:
        return
    found, covered = look.of_every_day_and_mode(), look.plan.source.modes
    modes, days = Counter[str](), Counter[str]()
    for (mode, day), trips in found.items():
        modes[mode] += trips
        days[day] += trips
    if covered and (others := Counter({mode: trips for mode, trips in modes.items() if mode not in covered})):
        similar = _similar_to(covered)
        what = f"{look.about(others.total())} trips have modes that the plan does not cover"
        names = _named(others, {mode: f"{look.about(trips)}{similar(mode)}" for mode, trips in others.items()})
        yield Misfit(f"{what}, and are left out: {names}. Write those that are meant under [source] modes", what)
    if look.plan.source.calendar and look.plan.source.first_day:
        yield from _other_days(look, days)


def _other_days(look: Look, days: Counter[str]) -> Iterator[Misfit]:
    first, last = str(look.plan.source.first_day), str(look.plan.source.last_day)
    others = Counter({day: trips for day, trips in days.items() if not first <= day <= last})
    if not others:
        return
    about, number = look.about(others.total()), f"{len(others):,} {'day' if len(others) == 1 else 'days'}"
    between = min(others) if len(others) == 1 else f"from {min(others)} to {max(others)}"
    words = f"{about} trips are on {number} that the plan does not cover, {between}, and are left out"
    far = sum(others[day] for day in _far_from(first, last, others))
    if far <= ENOUGH_FAR * days.total():
        yield Misfit(words)
        return
    hint = f"more than {FAR_DAYS} days without any trip separate {look.about(far)} of them from the days of the plan"
    why = "check whether some files write the month first, and others the day"
    yield Misfit(f"{words}; {hint}: {why}", f"{about} trips are on days that the plan does not cover, some far from it")


def _far_from(first: str, last: str, others: Iterable[str]) -> Iterator[str]:
    """Days that no unbroken period connects with those of the plan: an export of a year is one period."""
    before = [first, *sorted((day for day in others if day < first), reverse=True)]
    after = [last, *sorted(day for day in others if day > last)]
    for days in (before, after):
        gap = next((n for n, (one, next_) in enumerate(pairwise(days), 1) if _apart(one, next_) > FAR_DAYS), len(days))
        yield from days[gap:]


def _apart(one: str, other: str) -> int:
    return abs((date.fromisoformat(one) - date.fromisoformat(other)).days)


# --- places that no list has ------------------------------------------------------------------------------------------


def _unlisted(look: Look) -> Iterator[Misfit]:
    """Places of the trips that the public lists do not have; trips without a tap have none."""
    lists = _Lists.of(look.inputs)
    for column in (each for each in ENDS["tap_location"] if each in look.plan.columns.used and lists.any):
        found = look.by_label(column)
        trips = Counter({place: number for place, number in found.items() if place[1] != UNKNOWN})
        others, similar = Counter[str](), dict[str, str]()
        for (mode, name), number in trips.items():
            if not lists.has(mode, name):
                others[name] += number
                similar[name] = lists.similar(mode, name)
        if not others:
            continue
        every = trips.total()
        share = percent(others.total() / every, digits=0)
        said = {name: f"{percent(number / every)}{similar[name]}" for name, number in others.items()}
        noun, verb = ("stop", "is") if len(others) == 1 else ("stops", "are")
        many = f"{'at least ' * (look.one_in > 1)}{len(others):,} {noun}"
        names = _named(others, said)
        consequence = UNKNOWN if look.plan.privacy.is_world else f"{UNKNOWN} or not on the map"
        note = (
            f"{column}: {many}, with {share} of trips, {verb} not in the public lists, and {verb} {consequence}: "
            f"{names}. Use the right list or timetable, and the right column of it"
        )
        alarming = others.total() > MANY * every
        yield Misfit(note, f"{column} of {share} of trips is in no public list" if alarming else None)


@dataclass(frozen=True)
class _Lists:
    """The public lists of stops and places that a plan names."""

    inputs: PublicInputs
    stops: frozenset[str] | None
    """The stops of the timetable; None without one."""

    @classmethod
    def of(cls, inputs: PublicInputs) -> _Lists:
        return cls(inputs, frozenset(inputs.stops.by_name) if inputs.plan.gtfs else None)

    @property
    def any(self) -> bool:
        return self.stops is not None or bool(self.inputs.areas.lookups)

    def has(self, mode: str, name: str) -> bool:
        if self._lookup(mode) is not None:
            return self.inputs.areas.area(mode, name) != UNKNOWN
        return self.stops is None or name in self.stops

    def similar(self, mode: str, name: str) -> str:
        """The listed name that looks like one that is not."""
        listed = self._lookup(mode)
        return _similar_to(self.stops or () if listed is None else listed)(name)

    def _lookup(self, mode: str) -> Mapping[str, str] | None:
        lookups = self.inputs.areas.lookups
        return lookups.get(mode, lookups.get(EVERY_MODE))


def _similar_to(names: Iterable[str]) -> Callable[[str], str]:
    """What is said of a name next to its number, where one of some names looks like it."""
    known = {look_of(name): name for name in names}

    def said(name: str) -> str:
        other = known.get(look_of(name))
        return f"; differs only in capitals, blanks or how letters are encoded from `{other}`" if other else ""

    return said


def _named(found: Counter[str], said: Mapping[str, str]) -> str:
    """The commonest of some names, with what is said of each."""
    first = ", ".join(f"`{_quoted(name)}` ({said[name]})" for name, _ in found.most_common(NAMED))
    return f"{first}{', …' if len(found) > NAMED else ''}"


def _quoted(text: str) -> str:
    """A text of the trips that a terminal shows and does not obey, and that fits a line."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[: LONGEST + 1])
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


# --- times ------------------------------------------------------------------------------------------------------------


def _without_service(look: Look) -> Iterator[Misfit]:
    """Trips at hours of which the plan says that nothing runs: their time is taken for missing."""
    plan = look.plan
    for column in (each for each in ENDS["tap_time"] if plan.world.service and each in plan.columns.used):
        timed = Counter({each: trips for each, trips in look.by_label(column).items() if each[1] != MISSING})
        within = {mode: _hours(plan, mode) for mode, _ in timed}
        outside = sum(trips for (mode, label), trips in timed.items() if label not in within[mode])
        if outside:
            share = percent(outside / timed.total())
            note = (
                f"{column} of {share} of trips is outside the hours of [world] service, and is taken for missing: make "
                "the hours longer, if vehicles run then"
            )
            alarming = outside > MANY * timed.total()
            yield Misfit(note, f"{column} of {share} of trips is outside the hours of service" if alarming else None)


def _hours(plan: Plan, mode: str) -> frozenset[str]:
    hours = plan.world.service.get(mode, plan.world.service.get(EVERY_MODE))
    return frozenset(plan.columns.times().within_hours(hours))


def _other_zone(look: Look) -> Iterator[Misfit]:
    """Offsets none of which the time zone of the plan has; of those in UTC nobody can tell where they are from."""
    source = look.plan.source
    columns = (source.columns[name] for name in ENDS["tap_time"] if name in look.plan.columns.used)
    time = next((each for each in columns if each.column and each.format not in FORMATS), None)
    if source.timezone is None or time is None or source.table:  # where all rows would be looked at, not an excerpt
        return
    zone, offsets = ZoneInfo(source.timezone), Counter[str]()
    for text, trips in look.as_written(time).items():
        moment = with_offset(text, time.format)
        if moment is None:
            continue
        if moment.utcoffset() == moment.astimezone(zone).utcoffset():
            return
        offsets[_offset_in_words(moment)] += trips
    if set(offsets) - {"+00:00"}:
        names = ", ".join(offset for offset, _ in offsets.most_common(NAMED))
        note = (
            f"`{time.column}` has the offsets {names} from UTC, and {source.timezone} has none of them at these times: "
            "all times and perhaps days are shifted. Check `timezone` under [source]"
        )
        yield Misfit(note, f"the times of the trips are not of the time zone {source.timezone}")


def _offset_in_words(moment: datetime) -> str:
    return moment.isoformat()[-6:]


# --- cards and files --------------------------------------------------------------------------------------------------


def _shared_card(look: Look) -> Iterator[Misfit]:
    """A text that stands for no card, such as 0: bounds would leave out nearly all of its trips.

    A value is shown only if it has far more rows than anybody makes trips: then it is nobody's card.
    """
    plan, rows = look.plan, look.counted.refusals.rows + look.counted.refusals.elsewhere
    if not plan.privacy.by_card or not look.counted.left_out:
        return
    cards = counter.commonest_cards(plan, memory=look.memory, scratch=look.scratch)
    least = max(ONE_CARD * rows, MANY_TIMES * rows / max(cards.number, 1), FEWEST)
    for card, number in cards.commonest.items():
        if number >= least:
            share, shown = percent(number / rows), _quoted(card)
            note = (
                f"one card, `{shown}`, has {number:,} rows, {share} of all: the bounds of a card leave out nearly all "
                "of its trips. If it stands for no card, add it to `missing` of `card` under [source.columns], such as "
                f'card = {{ column = "{plan.source.card}", missing = ["{shown}"] }}, and say under [privacy] what '
                "`without_card` does with such rows"
            )
            yield Misfit(note, f"one card has {share} of all rows")


def _same_files(plan: Plan) -> Iterator[Misfit]:
    """Files that are the same, byte by byte: one was exported, or copied, twice."""
    if plan.source.table or files.is_elsewhere(plan):
        return
    by_size = defaultdict[int, list[Path]](list)
    called = files.told_apart([path for group in files.find(plan).groups for path in group.paths])
    for path in called:
        by_size[path.stat().st_size].append(path)
    alike = [paths for size, some in by_size.items() if size >= SMALL_FILE for paths in _by_content(some)]
    if alike:
        names = "; ".join(" and ".join(called[path] for path in paths) for paths in alike[:NAMED])
        what = f"{sum(len(paths) - 1 for paths in alike):,} of {len(called):,} files of trips are copies of another"
        more = "; …" if len(alike) > NAMED else ""
        note = f"{what}, byte by byte: {names}{more}. Their trips are counted again: remove the copies"
        yield Misfit(note, what)


def _by_content(paths: list[Path]) -> Iterator[list[Path]]:
    """Those of some files of one size that are the same; most differ soon, and are not read any further."""
    for alike in _by(_beginning, paths):
        yield from _by(_digest, alike)


def _by(key: Callable[[Path], bytes], paths: list[Path]) -> Iterator[list[Path]]:
    """Files of which something is the same."""
    found = defaultdict[bytes, list[Path]](list)
    for path in paths if len(paths) > 1 else ():
        found[key(path)].append(path)
    yield from (same for same in found.values() if len(same) > 1)


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(BEGINNING)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
