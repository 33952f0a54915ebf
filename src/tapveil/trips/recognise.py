"""Columns recognised: what each column of an unknown export holds, by its name and by what its values look like.

Values are looked at, a sample of them, and none is kept or shown: what comes out are names of columns, ways to write a
time, and words for "missing" from a list that is fixed here. A few odd rows decide nothing (`odd_rows`). Where values
are not to be looked at, names and declared types decide alone.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal
from zoneinfo import ZoneInfo

from tapveil.base.vocabulary import MISSING_TIME
from tapveil.inputs.values import read_date, read_time
from tapveil.trips.files import RawType

Sureness = Literal["sure", "likely", "guess"]

FORMATS = (
    *("%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M"),
    *("%d/%m/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M:%S %p", "%d/%m/%Y %I:%M %p", "%m/%d/%Y %I:%M %p"),
    *("%d-%m-%Y %H:%M:%S", "%d-%m-%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M"),
    *("%d-%b-%Y %H:%M:%S", "%d-%b-%Y %H:%M", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M"),
    *("%d-%m-%Y %I:%M:%S %p", "%m-%d-%Y %I:%M:%S %p", "%m-%d-%Y %H:%M:%S", "%m-%d-%Y %H:%M"),
    *("%d/%m/%y %H:%M", "%m/%d/%y %H:%M", "%d/%m/%y %H:%M:%S", "%Y%m%d%H%M%S", "%Y-%m-%d %H.%M.%S"),
)
DATE_FORMATS = (*"%d/%m/%Y %m/%d/%Y %d-%m-%Y %d.%m.%Y %d/%m/%y %m/%d/%y %d-%b-%Y %Y/%m/%d".split(), *FORMATS)
TIME_FORMATS = ("%H%M", "%H.%M", "%H:%M:%S %p", "%I:%M %p", "%I:%M:%S %p", "%Hh%M", *FORMATS)
"""Ways to write a day or a time that need to be named, those with the day first before those with the month first."""

MISSING_WORDS = frozenset(
    "NA,N/A,n/a,NaN,nan,NULL,null,None,none,-,--,?,(null),\\N,nil,Unknown,unknown,UNKNOWN,Unfinished,Unstarted,"
    "Not Applicable,Missing,missing".split(",")
)
ON_WORDS = frozenset(
    "on,tap on,tapon,tag on,touch on,touch in,in,tap in,check in,checkin,enter,entry,entrance,board,boarding,"
    "transfer entrance,start,begin,entrada,subida,entrée,entree,montée,einstieg,eingang,einstempeln,instappen,"
    "进站,進站,上车,上車".split(",")
)
OFF_WORDS = frozenset(
    "off,tap off,tapoff,tag off,touch off,touch out,out,tap out,check out,checkout,exit,leave,alight,alighting,"
    "transfer exit,end,finish,salida,bajada,sortie,descente,ausstieg,ausgang,ausstempeln,uitstappen,"
    "出站,下车,下車".split(",")
)
_ON = frozenset(
    "on entry enter ent entrance start started origin orig board boarding checkin in from departure o".split()
)
_OFF = frozenset("off exit ex end ended destination dest alight alighting checkout out to arrival d".split())
_ENDS = {"on": _ON, "off": _OFF}
_TIME = frozenset("time datetime timestamp ts at minute minutes hour clock".split())
_PLACE = frozenset("station stop location loc place wharf stn halt terminal dock zone site".split())
_NOT_A_PLACE = frozenset("lat latitude lon lng long longitude geom fare price lga type".split())
_DAY = frozenset("date day daytype weekday dt".split())
_MODE = frozenset("mode subsystem vehicletype".split())
_CARD = frozenset("card cardid token tokenid smartcard passenger customer pan member rider account".split())
_TAP = frozenset("action tap event direction type entryexit inout".split())
_KIND_OF_TAP = frozenset("eventtype taptype transactiontype actiontype sens vorgang richtung operation".split())
_SAYS = _TAP - {"type"} | _KIND_OF_TAP
"""How a column may be called that says on or off."""
_TO_AND_FRO = frozenset("origin destination orig dest from to".split())
_SERVICE = frozenset("service operating business traffic betriebstag".split())
_DAY_NAMES = frozenset("daytype weekday".split())
_STAMP = frozenset("datetime timestamp ts at".split())
"""How a column may be called that has a day as well as a time."""

A_FEW, ONE_IN = 4, 1000
LOOKED_AT = 2000
FEW_MODES = 50
MOST = 0.9
NEARLY = 0.01
"""Shares that differ by no more are equal: the first in the file is taken, or the likelier name."""
ANY_ZONE = ZoneInfo("UTC")


def odd_rows(rows: int) -> int:
    """How many of a number of rows may be odd without deciding anything: a few, or one in a thousand.

    >>> [odd_rows(rows) for rows in (1, 9, 10, 300, 40_000)]
    [0, 0, 1, 4, 40]
    """
    return max(min(A_FEW, rows // 10), rows // ONE_IN)


def telling(values: Iterable[str], of: int) -> set[str]:
    """The values that more than a few odd ones of a number of rows have."""
    return {value for value, rows in Counter(values).items() if rows > odd_rows(of)}


def words_of(name: str) -> frozenset[str]:
    """The words of a column's name, in lower case; two that are one are both.

    >>> sorted(words_of("EntTimeHHMM")), sorted(words_of("Start Station Name"))
    (['ent', 'enttime', 'hhmm', 'time', 'timehhmm'], ['name', 'start', 'startstation', 'station', 'stationname'])
    """
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", re.sub(r"[^0-9A-Za-z]+", " ", name))
    small = [part.lower() for part in parts]
    return frozenset([*small, *(one + two for one, two in itertools.pairwise(small))])


@dataclass(frozen=True)
class Sample:
    """Some values of one column, as texts; None where they are not looked at."""

    name: str
    raw: RawType
    values: Sequence[str] | None = field(repr=False)

    @property
    def words(self) -> frozenset[str]:
        return words_of(self.name)

    @property
    def filled(self) -> list[str]:
        """The values that are there."""
        return [value for value in self.values or () if value.strip() and value.strip() not in MISSING_WORDS]

    @property
    def in_use(self) -> bool:
        """Whether it has values, in more than a few odd rows; taken for granted where they are not looked at."""
        return self.values is None or len(self.filled) > odd_rows(len(self.values))

    @property
    def missing(self) -> tuple[str, ...]:
        """Words in it that most likely mean that there is none."""
        values = self.values or ()
        return tuple(sorted(telling((value.strip() for value in values), len(values)) & MISSING_WORDS))

    @property
    def kinds(self) -> int:
        """How many different values there are, without the rarest, which a few odd rows may have."""
        rows = itertools.accumulate(sorted(Counter(value.strip() for value in self.filled).values()))
        return sum(seen > odd_rows(len(self.filled)) for seen in rows)

    def read_as(self, kind: Literal["time", "date"]) -> Reading:
        """The way to write a time or a date by which most values can be read; ways that differ by a few are equal."""
        if self.raw in (kind, "timestamp", "instant"):
            return Reading(1.0, None)
        if self.values is None:  # the name alone says so, where the type leaves it open
            named = kind == "time" or not self.words.isdisjoint(_DAY - _DAY_NAMES | _STAMP)
            return Reading(float(named and self.raw in ("text", "integer", "number")), None)
        values = self.filled[:LOOKED_AT]
        plain = _share(_reads(kind, value, None) for value in values)
        if plain >= MOST or not values:
            return Reading(plain, None)
        formats = TIME_FORMATS if kind == "time" else DATE_FORMATS
        ways = [(_share(_reads(kind, value, way) for value in values), way) for way in formats]
        best, slack = max(share for share, _ in ways), odd_rows(len(values)) / len(values)
        if best <= plain + slack:
            return Reading(plain, None)
        equal = [way for share, way in ways if share >= best - slack]
        spans = {way: _days_spanned(values, way) for way in equal}
        closest = [way for way in equal if spans[way] == min(spans.values())]
        return Reading(best, closest[0], ambiguous=len({way[:2] for way in closest}) > 1)


@dataclass(frozen=True)
class Reading:
    """How well a column reads as a time or a date, and in which format; none for those that need no name."""

    share: float
    format: str | None
    ambiguous: bool = False
    """Whether day and month could be the other way round."""


def _share(found: Iterable[bool]) -> float:
    listed = list(found)
    return sum(listed) / len(listed) if listed else 0.0


def _days_spanned(values: Sequence[str], way: str) -> int:
    """From the first day to the last, but for a few: of two readings, days that are close together are likelier."""
    if "%d" not in way:
        return 0
    days = sorted(date.fromisoformat(day) for value in values if (day := read_date(value, ANY_ZONE, way)))
    odd = odd_rows(len(values))
    return (days[-1 - odd] - days[odd]).days if len(days) > 2 * odd else 0


def _reads(kind: Literal["time", "date"], value: str, way: str | None) -> bool:
    if kind == "date":
        return bool(read_date(value, ANY_ZONE, way))
    minute = read_time(value, ANY_ZONE, way)
    return minute is not None and minute != MISSING_TIME


@dataclass(frozen=True)
class Guess:
    """What one of our columns most likely is."""

    column: str
    sureness: Sureness
    why: str
    format: str | None = None
    missing: tuple[str, ...] = ()

    @property
    def how_sure(self) -> str:
        """In words."""
        return "a guess" if self.sureness == "guess" else self.sureness


@dataclass
class Recognised:
    """What was recognised in an export."""

    columns: dict[str, Guess] = field(default_factory=dict)
    like: str = ""
    """Which well-known export it looks like."""
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    """Where a row is one tap: the words that mean on, and off."""
    unclear: bool = False
    """Whether a row may be one tap, but in words that are not known."""
    unused: tuple[str, ...] = ()
    """Columns that are not read."""
    labels: bool = False
    """Whether days are names, not dates."""
    service: bool = False
    """Whether dates are those of service days."""
    zone: str | None = None
    """The time zone that the files themselves name."""
    offsets: bool = False
    """Whether times carry an offset from UTC."""
    remarks: list[str] = field(default_factory=list)

    @property
    def is_taps(self) -> bool:
        return bool(self.on or self.off or self.unclear)


TIDES = {"card": "token_id", "date": "service_date", "tap": "fare_action", "tap_time": "event_timestamp"}
TIDES_WORDS = ("Enter", "Transfer entrance"), ("Exit", "Transfer exit")
TIDES_MISSING = ("NA", "NaN")


def recognise(samples: Sequence[Sample]) -> Recognised:
    """What the columns of an export are."""
    by_name = {sample.name: sample for sample in samples}
    found = Recognised()
    if set(TIDES.values()) <= set(by_name):
        _take_tides(found, by_name)
    else:
        tap = _tap_column(samples)
        times = _times(samples)
        if tap and not (times["on"] and times["off"]):
            _take_taps(found, tap, samples)
        else:
            _take_trips(found, times, samples)
        _take_common(found, samples)
        found.like = _likeness(set(by_name))
        if not found.is_taps:
            _take_unclear(found, samples)
        found.service = found.service or _is_of_service_days(found, by_name)
        if not any(ours.endswith("time") for ours in found.columns):
            found.remarks.append("No column was recognised as a time: no table has any.")
        if "date" not in found.columns:
            found.remarks.append("No column was recognised as a day: every table is over the whole period.")
    taken = {guess.column for guess in found.columns.values()}
    found.unused = tuple(sample.name for sample in samples if sample.name not in taken)
    found.offsets = any(
        by_name[guess.column].raw == "instant"
        or _often(by_name[guess.column], lambda value: bool(_OFFSET.search(value)))
        for ours, guess in found.columns.items()
        if ours.endswith("time")
    )
    for ours, guess in found.columns.items():
        if by_name[guess.column].values is None and guess.why != _BY_TIDES:
            found.columns[ours] = _by_name_alone(ours, guess, by_name[guess.column], labels=found.labels)
    return found


def _often(sample: Sample, holds: Callable[[str], bool]) -> bool:
    """Whether it holds of more values than a few odd ones."""
    return sum(map(holds, sample.filled)) > odd_rows(len(sample.filled))


def _by_name_alone(ours: str, guess: Guess, sample: Sample, *, labels: bool) -> Guess:
    """A guess that no value supports, and what is left to be said by who knows them."""
    if sample.raw in ("date", "time", "timestamp", "instant"):
        return replace(guess, why="its name and its type say so")
    ask = "its values were not looked at"
    if ours.endswith("time"):
        ask = "add `format` unless it is written like 07:31 or 2016-08-08 07:31"
    elif ours == "date":
        ask = "taken for names of days, not dates" if labels else "add `format` unless it is written like 2016-08-08"
    return replace(guess, sureness="guess" if guess.sureness == "guess" else "likely", why=f"its name says so; {ask}")


_OFFSET = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)\s*$")


def _take_unclear(found: Recognised, samples: Sequence[Sample]) -> None:
    """A column that may say on and off in words that are not known: then a row may be a tap, and no trip."""
    one_end = {"tap_on_time", "tap_on_location"} >= {ours for ours in found.columns if ours.startswith("tap_")}
    taken = {guess.column for guess in found.columns.values()}
    free = (sample for sample in samples if one_end and sample.name not in taken)
    says = next((sample for sample in free if sample.words & _SAYS and _may_say_on(sample)), None)
    if says is None:
        return
    found.unclear = True
    for end in ("time", "location"):
        if guess := found.columns.pop(f"tap_on_{end}", None):
            found.columns[f"tap_{end}"] = guess
    found.columns["tap"] = Guess(says.name, "guess", "few different words, and no column for where a trip ends")
    found.remarks.append(
        f"This looks like one row for each tap, not each trip, but the words in `{says.name}` for on and off are not "
        "known: fill them in under [source.taps], then check. If a row is a trip after all, take out that section, "
        "shape and tap, and write tap_on_time and tap_on_location instead of tap_time and tap_location."
    )


def _may_say_on(sample: Sample) -> bool:
    if sample.values is None:
        return not sample.words & (_ON | _OFF | _PLACE | _TIME | _DAY | _NOT_A_PLACE - {"type"} | {"id", "number"})
    return 2 <= sample.kinds <= 8


def _is_of_service_days(found: Recognised, by_name: Mapping[str, Sample]) -> bool:
    """Whether dates are those of service days: by their name, or because times go beyond 24:00."""
    day = found.columns.get("date")
    if day is None or found.labels:
        return False
    times = {guess.column for ours, guess in found.columns.items() if ours.endswith("time") and not guess.format}
    others = [by_name[name] for name in times - {day.column}]
    beyond = any(_often(sample, lambda value: (read_time(value) or 0) >= 1440) for sample in others)
    return beyond or (bool(words_of(day.column) & _SERVICE) and day.column not in times)


def _likeness(names: set[str]) -> str:
    lowered = {re.sub(r"[^a-z]", "", name.lower()) for name in names}
    if {"enttime", "extime"} <= lowered or {"startstn", "endstation"} <= lowered:
        return "Oyster"
    if lowered >= {"starttime", "startstationname"} or lowered >= {"startedat", "startstationname"}:
        return "bike share"
    return "Opal" if {"tapontime", "taponlocation"} <= lowered else ""


_BY_TIDES = "TIDES calls it so"


def _take_tides(found: Recognised, by_name: Mapping[str, Sample]) -> None:
    found.like = "TIDES fare_transactions"
    found.on, found.off = TIDES_WORDS
    for ours, theirs in (TIDES | {"tap_location": "stop_id", "vehicle": "vehicle_id"}).items():
        if theirs in by_name:
            found.columns[ours] = Guess(theirs, "sure", _BY_TIDES, missing=TIDES_MISSING if ours != "tap" else ())
    found.service = True
    found.remarks.append("`num_riders` is not read: a row is one tap, however many ride on it.")


def _tap_column(samples: Sequence[Sample]) -> Sample | None:
    """The column that says whether a tap is on or off: by its values."""

    def known(sample: Sample) -> float:
        lowered = [_word(value) for value in sample.filled[:LOOKED_AT]]
        ons = sum(value in ON_WORDS for value in lowered) > odd_rows(len(lowered))
        return _share(value in ON_WORDS | OFF_WORDS for value in lowered) if ons and sample.kinds <= 40 else 0.0

    shares = {sample.name: known(sample) for sample in samples}
    most = [sample for sample in samples if shares[sample.name] >= max(shares.values()) - NEARLY]
    best = max(most, key=lambda sample: bool(sample.words & _TAP), default=None)
    return best if best and shares[best.name] > (0.2 if best.words & _TAP else 0.8) else None


def _word(value: str) -> str:
    """A word as the lists above have it: in lower case, with blanks for hyphens and underscores."""
    return re.sub(r"[-_\s]+", " ", value.strip().lower())


def _times(samples: Sequence[Sample]) -> dict[str, Guess | None]:
    """The time of each end of a trip."""
    readings = _readings(samples)
    readable = [sample for sample in samples if sample.name in readings]
    ends = {end: [sample for sample in readable if sample.words & words] for end, words in _ENDS.items()}
    if not ends["off"]:  # `Stop Time`: where it is no place, stop is an end
        ends["off"] = [sample for sample in readable if "stop" in sample.words and not sample.words & _ON]
    found: dict[str, Guess | None] = {}
    for end, candidates in ends.items():
        best = max(candidates, key=lambda s: (readings[s.name].share >= MOST, -len(s.name)), default=None)
        found[end] = _guess(best, readings[best.name], "its name and its values say so", "sure") if best else None
    if not found["on"]:
        spare = [sample for sample in readable if not found["off"] or sample.name != found["off"].column]
        named = (sample for sample in spare if sample.words & _TIME)
        stamps = (sample for sample in spare if sample.read_as("date").share >= MOST)
        if best := next(named, None) or next(stamps, None):
            why = "it holds times, and no other column is named for where a trip begins"
            found["on"] = _guess(best, readings[best.name], why, "guess")
    return found


def _readings(samples: Sequence[Sample]) -> dict[str, Reading]:
    """How the columns read that may be times, by their names."""
    readings = {sample.name: sample.read_as("time") for sample in samples if _may_be_time(sample)}
    return {name: reading for name, reading in readings.items() if reading.share >= 0.5}


def _may_be_time(sample: Sample) -> bool:
    if sample.words & {"duration", "length", "birth", "year", "price", "fare", "amount", "distance"}:
        return False
    if sample.raw in ("time", "timestamp", "instant") or sample.words & _TIME:
        return True
    return _share(bool(re.match(r".*\d\d?:\d\d", value)) for value in sample.filled[:100]) >= MOST


def _guess(sample: Sample, reading: Reading, why: str, sureness: Sureness) -> Guess:
    if reading.ambiguous:
        sureness, why = "guess", f"{why}; day and month could be the other way round"
    zeros = [value.strip() in ("0", "0.0") for value in sample.filled]
    often = _share(zeros) > 0.01 and sum(zeros) > odd_rows(len(zeros))
    missing = (*sample.missing, "0") if often and sample.words & _OFF else sample.missing
    return Guess(sample.name, sureness, why, reading.format, missing)


def _take_trips(found: Recognised, times: Mapping[str, Guess | None], samples: Sequence[Sample]) -> None:
    found.columns |= {f"tap_{end}_time": guess for end, guess in times.items() if guess}
    taken = {guess.column for guess in found.columns.values()}
    places = [sample for sample in samples if sample.name not in taken and _may_be_place(sample)]
    for end, words in _ENDS.items():
        if best := _best_place([sample for sample in places if sample.words & words]):
            why = "its name and its values say so"
            found.columns[f"tap_{end}_location"] = Guess(best.name, "sure", why, missing=best.missing)
    if "tap_on_location" not in found.columns and (best := _best_place(places)):
        why = "it is named for a place, and no other for where a trip begins"
        found.columns["tap_on_location"] = Guess(best.name, "guess", why, missing=best.missing)


def _may_be_place(sample: Sample) -> bool:
    if sample.raw not in ("text", "integer", "number") or sample.words & (_NOT_A_PLACE | _TIME | _DAY):
        return False
    several = sample.values is None or sample.kinds > 1
    return bool(sample.words & _PLACE) or (bool(sample.words & _TO_AND_FRO) and several)


def _best_place(places: Sequence[Sample]) -> Sample | None:
    """The name of a place rather than its number, as people read it."""
    return max(places, key=lambda s: ("name" in s.words, "id" not in s.words, s.in_use), default=None)


def _take_taps(found: Recognised, tap: Sample, samples: Sequence[Sample]) -> None:
    values = [value.strip() for value in tap.filled]
    ons, often = {value for value in values if _word(value) in ON_WORDS}, telling(values, len(values))
    found.on = tuple(sorted(ons & often or ons))
    found.off = tuple(sorted(value for value in often if _word(value) in OFF_WORDS))
    found.columns["tap"] = Guess(tap.name, "sure", "its values mean on and off")
    others = [sample for sample in samples if sample is not tap]
    readings = _readings(others)
    readable = [sample for sample in others if sample.name in readings]
    if readable:
        best = max(readable, key=lambda sample: (readings[sample.name].share >= MOST, bool(sample.words & _TIME)))
        found.columns["tap_time"] = _guess(best, readings[best.name], "its name and its values say so", "sure")
    if place := _best_place([sample for sample in others if _may_be_place(sample)]):
        found.columns["tap_location"] = Guess(place.name, "sure", "its name says so", missing=place.missing)


def _take_common(found: Recognised, samples: Sequence[Sample]) -> None:
    taken = {guess.column for guess in found.columns.values()}
    free = [sample for sample in samples if sample.name not in taken and (sample.in_use or sample.raw == "binary")]
    cards = [sample for sample in free if sample.words & _CARD and not sample.words & (_PLACE | {"type"})]
    most = max((sample.kinds for sample in cards), default=0)
    card = next((sample for sample in cards if 2 * sample.kinds >= most), None)  # as many, or nearly: the first
    free = [sample for sample in free if sample is not card]  # a card is nothing else: it is never published
    modes = [sample for sample in free if sample.words & _MODE and sample.in_use]
    if modes:
        best = min(modes, key=lambda sample: sample.kinds)
        sure: Sureness = "sure" if best.kinds <= FEW_MODES else "likely"
        found.columns["mode"] = Guess(best.name, sure, "its name says so", missing=best.missing)
    if card:
        sure = "sure" if card.kinds > len(card.filled) / 50 else "likely"
        found.columns["card"] = Guess(card.name, sure, "its name says so", missing=card.missing)
    _take_day(found, free, {sample.name: sample for sample in samples})


def _take_day(found: Recognised, free: Sequence[Sample], by_name: Mapping[str, Sample]) -> None:
    """The day: a column of dates, or else the day of the time at which a trip begins."""
    named = [sample for sample in free if sample.words & _DAY and not sample.words & {"birth", "expiry", "issue"}]
    dated = [(sample.read_as("date"), sample) for sample in named]
    good = [(reading, sample) for reading, sample in dated if reading.share >= 0.5]
    if good:
        most = max(reading.share for reading, _ in good)
        reading, best = next(each for each in good if each[0].share >= most - NEARLY)
        found.columns["date"] = _guess(best, reading, "its name and its values say so", "sure")
        return
    for ours in ("tap_on_time", "tap_time", "tap_off_time"):
        guess = found.columns.get(ours)
        if guess and by_name[guess.column].read_as("date").share >= 0.5:
            why = f"the day of {ours}, which holds dates as well"
            found.columns["date"] = Guess(guess.column, guess.sureness, why, guess.format, guess.missing)
            return
    few = [sample for sample in named if sample.in_use and sample.kinds <= 31]
    if few:
        found.labels, why = True, "its name says so; its values are names of days, not dates"
        found.columns["date"] = Guess(few[0].name, "likely", why)
