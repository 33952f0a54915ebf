"""What an unknown export is: what a row stands for, and what each column holds. Evidence first, then roles.

Three kinds of evidence: what a column is called (`words`, in many languages), how its values are written (`reading`),
and how columns go together in their rows: which of two times is earlier, whether a date is that of the time next to it.
What they do not settle is a question, with a proposal: nothing is guessed in silence.

No value of a trip gets out, but for the commonest values of a column that may say on and off.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Literal

from tapveil.base.errors import TripDataError
from tapveil.trips import words
from tapveil.trips.reading import MOST, Reading, Sample, odd_rows, share

Sureness = Literal["sure", "likely", "question"]
Shape = Literal["trips", "taps", "counts"]
OPEN = "?"
"""The answer to a question that nobody has answered."""

FEW_MODES, FEW_LABELS, FEW_CARDS = 50, 12, 12
ORDERED, TURNED = 0.95, 0.5
"""One time is that of the start if it is earlier in this share of rows; below the other, names and rows disagree."""
AGREE = 0.98
ENOUGH_ROWS = 10
"""Fewer rows than this tell nothing about how columns go together."""
WIDE = 12
"""As many columns, and more, that differ in a number alone are one column in many."""
NIGHT = 360
"""A service day may end this many minutes after midnight."""


@dataclass(frozen=True)
class Question:
    """What cannot be told from the files, and the answer that is likeliest."""

    key: str
    """What it is about: `shape`, `on`, one of our columns, or `format` and one of them."""
    text: str
    proposal: str = OPEN
    choices: tuple[str, ...] = ()
    """The answers that there are; none where any text will do."""
    must: bool = True
    """Whether there is no plan without an answer; else what is proposed stands in it, for somebody to decide."""


@dataclass(frozen=True)
class Guess:
    """What one of our columns is."""

    column: str
    sureness: Sureness
    why: str
    format: str | None = None
    missing: tuple[str, ...] = ()


@dataclass
class Recognised:
    """What was recognised in an export."""

    shape: Shape = "trips"
    why: str = ""
    """Why a row is that."""
    columns: dict[str, Guess] = field(default_factory=dict)
    like: str = ""
    """Which well-known export it looks like."""
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    """Where a row is one tap: the words that mean on, and off."""
    questions: list[Question] = field(default_factory=list)
    unused: tuple[str, ...] = ()
    """Columns that are not read."""
    labels: bool = False
    """Whether days are names, not dates."""
    service: bool = False
    """Whether dates are those of service days."""
    zone: str | None = None
    """The time zone that the files themselves name."""
    offsets: bool = False
    """Whether times carry an offset from UTC, or are counted from 1970."""
    grain: int = 1
    """The length of the bins that times are given in, in minutes."""
    days: tuple[date, date] | None = None
    """The first and the last day that more than a few rows have; of the rows that were looked at."""
    without_card: bool = False
    """Whether more than a few rows have no card."""
    remarks: list[str] = field(default_factory=list)

    @property
    def is_taps(self) -> bool:
        return self.shape == "taps"

    @property
    def is_counts(self) -> bool:
        return self.shape == "counts"

    def open(self, answers: Mapping[str, str]) -> Question | None:
        """The first question that has no answer yet."""
        return next((each for each in self.questions if each.key not in answers), None)


TIDES = {"card": "token_id", "date": "service_date", "tap": "fare_action", "tap_time": "event_timestamp"}
TIDES_WORDS = ("Enter", "Transfer entrance"), ("Exit", "Transfer exit")
TIDES_MISSING = ("NA", "NaN")
_BY_TIDES = "TIDES calls it so"


def recognise(samples: Sequence[Sample], answers: Mapping[str, str] | None = None) -> Recognised:
    """What an export is, with what was answered of its questions."""
    by_name = {sample.name: sample for sample in samples}
    if set(TIDES.values()) <= set(by_name):
        found = _tides(by_name)
    else:
        found = _Evidence(samples, answers or {}).recognised()
        found.like = _likeness(set(by_name))
    taken = {guess.column for guess in found.columns.values()}
    found.unused = tuple(sample.name for sample in samples if sample.name not in taken)
    found.offsets = any(
        by_name[guess.column].raw == "instant" or guess.format == "epoch" or _has_offsets(by_name[guess.column], guess)
        for ours, guess in found.columns.items()
        if ours.endswith("time") and guess.column in by_name
    )
    found.days = _first_and_last(found, by_name)
    if card := found.columns.get("card"):
        found.without_card = len(by_name[card.column].values or ()) > 0 and not _always(by_name[card.column])
    return found


_OFFSET = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)\s*$")


def _has_offsets(sample: Sample, guess: Guess) -> bool:
    return guess.format is None and sum(bool(_OFFSET.search(value)) for value in sample.filled) > odd_rows(
        len(sample.filled)
    )


def _always(sample: Sample) -> bool:
    rows = len(sample.values or ())
    return rows - len(sample.filled) <= odd_rows(rows)


def _first_and_last(found: Recognised, by_name: Mapping[str, Sample]) -> tuple[date, date] | None:
    day = found.columns.get("date")
    if day is None or found.labels or day.column not in by_name or by_name[day.column].values is None:
        return None
    rows = by_name[day.column].days
    often = sorted(each for each, seen in Counter(filter(None, rows)).items() if seen > min(4, len(rows) // 50))
    return (date.fromisoformat(often[0]), date.fromisoformat(often[-1])) if often else None


def _tides(by_name: Mapping[str, Sample]) -> Recognised:
    found = Recognised(
        shape="taps", why="it has the columns of TIDES fare_transactions", like="TIDES fare_transactions"
    )
    found.on, found.off = TIDES_WORDS
    for ours, theirs in (TIDES | {"tap_location": "stop_id", "vehicle": "vehicle_id"}).items():
        if theirs in by_name:
            found.columns[ours] = Guess(theirs, "sure", _BY_TIDES, missing=TIDES_MISSING if ours != "tap" else ())
    found.service = True
    found.remarks.append("`num_riders` is not read: a row is one tap, however many ride on it.")
    return found


def _likeness(names: set[str]) -> str:
    lowered = {re.sub(r"[^a-z]", "", name.lower()) for name in names}
    for like, known in _LIKE.items():
        if any(each <= lowered for each in known):
            return like
    return ""


_LIKE: dict[str, tuple[set[str], ...]] = {
    "Oyster": ({"enttime", "extime"}, {"startstn", "endstation"}),
    "bike share": ({"starttime", "startstationname"}, {"startedat", "startstationname"}),
    "Opal": ({"tapontime", "taponlocation"},),
}


class _Evidence:
    """What the columns of an export are, step by step: a column that has a role has no other."""

    def __init__(self, samples: Sequence[Sample], answers: Mapping[str, str]) -> None:
        self._samples, self._answers = samples, answers
        self._by_name = {sample.name: sample for sample in samples}
        self._found = Recognised()
        self._looked = any(sample.values is not None for sample in samples)

    def recognised(self) -> Recognised:
        """The roles of all columns, and what a row is."""
        found = self._found
        self._refuse_wide()
        self._decide_shape()
        if card := self._card:
            self._take("card", card, "its name says so" if "card" in card.says else _LIKE_A_CARD)
        if mode := self._mode:
            self._take("mode", mode, "its name says so")
        if found.shape == "counts" and self._count:
            self._take("count", self._count, "its name and its values say so")
        if found.shape == "taps":
            self._take_tap()
        else:
            self._take_ends()
        self._take_day()
        found.grain = self._grain()
        self._ask_about_formats()
        if not any(ours.endswith("location") for ours in found.columns):
            found.remarks.append("No column was recognised as a place: no table has any.")
        if not any(ours.endswith("time") for ours in found.columns):
            found.remarks.append("No column was recognised as a time: no table has any.")
        if "date" not in found.columns:
            found.remarks.append("No column was recognised as a day: every table is over the whole period.")
        return found

    # --- asking -------------------------------------------------------------------------------------------------------

    def _ask(self, key: str, text: str, proposal: str = OPEN, choices: Sequence[str] = ()) -> str:
        """The answer to a question; what is proposed, where nobody has answered."""
        self._found.questions.append(Question(key, text, proposal, tuple(choices)))
        answer = self._answers.get(key, OPEN)
        return proposal if answer == OPEN else answer

    def _take(self, ours: str, sample: Sample, why: str, reading: Reading | None = None, asked: bool = False) -> None:
        """Give a column its role."""
        sureness: Sureness = "question" if asked and self._answers.get(ours, OPEN) == OPEN else "sure"
        if not self._looked and sureness == "sure":
            sureness, why = "likely", self._by_name_alone(ours, sample)
        missing = sample.missing
        if ours == "tap_off_time" and _zeros_mean_none(sample):
            missing = (*missing, "0")
        written = reading.format if reading else None
        self._found.columns[ours] = Guess(sample.name, sureness, why, written, missing)

    def _by_name_alone(self, ours: str, sample: Sample) -> str:
        """What a name says that no value supports, and what is left to be said by who knows them."""
        if sample.raw in ("date", "time", "timestamp", "instant"):
            return "its name and its type say so"
        ask = "its values were not looked at"
        if ours.endswith("time"):
            ask = "add `format` unless it is written like 07:31 or 2016-08-08 07:31"
        elif ours == "date":
            labels = self._found.labels
            ask = "taken for names of days, not dates" if labels else "add `format` unless it is like 2016-08-08"
        return f"its name says so; {ask}"

    def _choose(self, ours: str, among: Sequence[Sample], text: str, proposal: Sample, why: str) -> Sample | None:
        """One of several columns, by asking."""
        names = [sample.name for sample in among]
        chosen = self._ask(ours, text, proposal.name, names)
        sample = self._by_name.get(chosen)
        if sample:
            answered = self._answers.get(ours, OPEN) != OPEN
            self._take(ours, sample, "so you said" if answered else why, self._reading_for(ours, sample), asked=True)
        return sample

    def _reading_for(self, ours: str, sample: Sample) -> Reading | None:
        return sample.time if ours.endswith("time") else sample.date if ours == "date" else None

    def _ask_about_formats(self) -> None:
        """Day and month that could be the other way round, and numbers that could be something else."""
        for ours, guess in list(self._found.columns.items()):
            sample = self._by_name.get(guess.column)
            reading = self._reading_for(ours, sample) if sample else None
            if (
                sample is None
                or reading is None
                or guess.column in self._asked_formats
                or (ours == "date" and self._found.labels)
            ):
                continue
            if reading.other:
                text = f"How is `{sample.name}` written? Day and month could be the other way round."
                chosen = self._ask(f"format.{ours}", text, str(reading.format), (str(reading.format), reading.other))
            elif reading.doubt:
                text = f"How is `{sample.name}` written? In the rows that were looked at {reading.doubt}."
                chosen = self._ask(f"format.{ours}", text, str(reading.format or OPEN))
            else:
                continue
            self._asked_formats.add(guess.column)
            is_open = self._answers.get(f"format.{ours}", OPEN) == OPEN
            for each, known in list(self._found.columns.items()):
                if known.column == guess.column:
                    written = OPEN if is_open else chosen
                    self._found.columns[each] = replace(known, format=written if written != "minutes" else None)

    @cached_property
    def _asked_formats(self) -> set[str]:
        return set()

    # --- what columns there are ---------------------------------------------------------------------------------------

    def _free(self) -> Iterator[Sample]:
        """The columns that have no role yet."""
        taken = {guess.column for guess in self._found.columns.values()}
        return (sample for sample in self._samples if sample.name not in taken)

    @cached_property
    def _times(self) -> list[Sample]:
        """The columns that hold times of trips: by their values and names, not those of the books."""
        return [sample for sample in self._samples if _may_be_time(sample) and sample.time.share >= 0.5]

    @cached_property
    def _days(self) -> list[Sample]:
        """The columns of dates, without those that are times as well."""
        times = {sample.name for sample in self._times}
        named = [sample for sample in self._samples if sample.name not in times and _may_be_day(sample)]
        return [sample for sample in named if sample.date.share >= 0.5]

    @cached_property
    def _card(self) -> Sample | None:
        named = [
            sample
            for sample in self._samples
            if "card" in sample.says
            and not sample.says & {"place", "count", "start", "end"}
            and (sample.in_use or sample.raw == "binary")
            and (sample.values is None or sample.raw == "binary" or _many(sample))
            and not (sample.values is None and sample.says & {"tap"})
            and not ("row" in sample.says and sample.values is not None and _never_again(sample))
        ]
        most = max((sample.kinds for sample in named), default=0)
        if named:
            return next(sample for sample in named if 2 * sample.kinds >= most)  # as many, or nearly: the first
        if self._looked:
            return self._unnamed_card()
        return None

    def _unnamed_card(self) -> Sample | None:
        """A column that looks like one of cards, by its values alone: only who knows it can say."""
        roles = {
            "time",
            "day",
            "place",
            "count",
            "mode",
            "start",
            "end",
            "other",
            "settled",
            "hour",
            "period",
            "vehicle",
        }
        dated = {sample.name for sample in (*self._times, *self._days)}
        free = [sample for sample in self._samples if not sample.says & roles and sample.name not in dated]
        alike = [sample for sample in free if _looks_like_cards(sample)]
        if not alike:
            return None
        text = (
            f"Is `{alike[0].name}` the card, or another number of a person? It looks like one; it is never published."
        )
        return alike[0] if self._ask("card", text, "yes", ("yes", "no")) != "no" else None

    @cached_property
    def _mode(self) -> Sample | None:
        named = [
            sample
            for sample in self._samples
            if "mode" in sample.says and sample.in_use and sample is not self._card and sample not in self._times
        ]
        few = [sample for sample in named if sample.kinds <= FEW_MODES]
        return min(few, key=lambda sample: sample.kinds, default=None)

    @cached_property
    def _counts(self) -> list[Sample]:
        """The columns that say how many trips a row stands for."""
        return [
            sample
            for sample in self._samples
            if "count" in sample.says
            and not sample.says & {"identifier", "time", "day", "card", "settled", "mode"}
            and sample not in self._times
            and (sample.raw in ("integer", "number") or (sample.values is not None and sample.whole >= 0.5))
        ]

    @cached_property
    def _count(self) -> Sample | None:
        counts = [sample for sample in self._counts if sample.values is None or sample.whole >= 0.5]
        if len(counts) < 2:
            return counts[0] if counts else self._only_number
        first = next((sample for sample in counts if "start" in sample.says), counts[0])
        text = (
            f"Which of {_listed(counts)} is to be counted? A plan counts one of them; for another, write a second plan "
            'with its own [ledger] data_set = "…" only if no trip is in both.'
        )
        return self._by_name.get(self._ask("count", text, first.name, [sample.name for sample in counts]), first)

    @property
    def _averages(self) -> list[Sample]:
        """Columns that are called numbers of trips, and are numbers, but not whole."""
        named = [s for s in self._samples if "count" in s.says and s.values and s.whole < 0.5]
        return [s for s in named if share(bool(_A_FRACTION.fullmatch(value.strip())) for value in s.some) >= 0.5]

    @property
    def _finest(self) -> int:
        """The steps in which the finest times are given, in minutes."""
        return min((sample.grain for sample in self._times), default=1440)

    @cached_property
    def _only_number(self) -> Sample | None:
        """The only column of numbers in rows that are alike in nothing else: it may be how many trips there were."""
        if not self._looked or self._card or any(sample.grain < 15 for sample in self._times):
            return None
        roles = {
            "identifier",
            "card",
            "place",
            "time",
            "hour",
            "day",
            "other",
            "settled",
            "start",
            "end",
            "mode",
            "period",
        }
        free = [s for s in self._samples if not s.says & roles and s.whole >= MOST and s.kinds > FEW_LABELS]
        others = [sample for sample in self._samples if free and sample is not free[0]]
        if len(free) != 1 or not others:
            return None
        rows = list(zip(*(sample.rows for sample in others if len(sample.rows) == len(free[0].rows)), strict=True))
        return free[0] if rows and len(rows) - len(set(rows)) <= odd_rows(len(rows)) else None

    @cached_property
    def _label(self) -> Sample | None:
        """The column that says on or off, by its values."""
        found = [sample for sample in self._samples if sample.values is not None and _says_on(sample) > 0.2]
        named = [sample for sample in found if "tap" in sample.says]
        sure = [sample for sample in found if _says_on(sample) > 0.8]
        return max(named or sure, key=_says_on, default=None)

    @cached_property
    def _unknown_label(self) -> Sample | None:
        """A column that may say on or off in words that are not known."""
        taken = {sample.name for sample in (self._card, self._mode) if sample}
        for sample in self._samples:
            if "tap" not in sample.says or sample.name in taken or sample.says & _NO_LABEL:
                continue
            if sample.values is None or (2 <= len(sample.frequent) <= FEW_LABELS and _says_bound(sample) < 0.5):
                return sample
        return None

    def _refuse_wide(self) -> None:
        alike = Counter(
            re.sub(r"[0-9]+", "#", sample.name) for sample in self._samples if re.search("[0-9]", sample.name)
        )
        for pattern, columns in alike.items():
            if columns >= WIDE and (not self._looked or self._are_numbers(pattern)):
                raise TripDataError(
                    f"it has {columns} columns named like `{pattern}`, one for each hour or stop: tapveil reads one "
                    "row for each. Turn the columns into rows (in pandas `melt`, in DuckDB `UNPIVOT`), then try again"
                )

    def _are_numbers(self, pattern: str) -> bool:
        return all(s.whole >= 0.5 or not s.in_use for s in self._samples if re.sub(r"[0-9]+", "#", s.name) == pattern)

    # --- what a row is ------------------------------------------------------------------------------------------------

    def _decide_shape(self) -> None:
        """Trips, taps or counts: the first evidence that holds."""
        found = self._found
        ends = {end: [s for s in (*self._times, *self._places) if end in s.says] for end in ("start", "end")}
        both, count = bool(ends["start"] and ends["end"]), None if self._card else self._count
        label, unknown = self._label, self._unknown_label
        if count and label:
            raise TripDataError(
                f"rows of taps on and rows of taps off, by `{label.name}`, are both counts (`{count.name}`): added up, "
                "each trip would be in twice. Make a file of each kind, and a plan for each"
            )
        average = next((each for each in self._averages if not self._card and not self._count), None)
        if average and not (both and self._finest < 15):
            raise TripDataError(
                f"`{average.name}` is called a number of trips, but its values are not whole: averages and shares "
                "cannot be counted. Take a file of whole numbers; or, if a row is one trip, rename the column"
            )
        if count and "count" in count.says and unknown and self._looked:
            self._ask_shape(
                f"Is a trip in several rows, by `{unknown.name}` (one for its start, one for its end)? Then it would "
                "be counted in each: make a file of each kind first.",
                "counts",
                ("counts",),
            )
        elif count and "count" in count.says and self._two_times and self._finest < 15:
            self._ask_shape(f"Is a row one trip, or as many as `{count.name}` says?", "counts", ("trips", "counts"))
        elif count and "count" in count.says:
            found.shape, found.why = (
                "counts",
                f"`{count.name}` says how many trips a row stands for, and no card is there",
            )
        elif count:
            self._ask_shape(
                f"Is a row one trip, or as many as `{count.name}` says? No two rows are alike in all other columns.",
                "counts",
                ("trips", "counts"),
            )
        elif label and not (both and self._two_times):
            found.shape, found.why = "taps", f"the values of `{label.name}` mean on and off"
        elif both or self._two_times:
            found.why = "both ends of a trip are in a row"
        elif unknown and (self._card or not self._looked):
            found.shape, found.why = (
                "taps",
                f"`{unknown.name}` has few different values, and a row has one end of a trip",
            )
        elif ends["start"]:
            found.why = f"`{ends['start'][0].name}` is where a trip begins, and no column is where it ends"
        elif self._times or self._places:
            self._ask_shape(
                "Is a row a trip, or one tap (on or off)? It has one time or place, and no column that says on or off. "
                "If rows are taps on and off, counting them as trips counts each trip twice and protects half of it: "
                "then leave one kind out of the files, or add a column that distinguishes them.",
                "trips",
                ("trips", "taps"),
            )

    def _ask_shape(self, text: str, proposal: Shape, choices: tuple[Shape, ...]) -> None:
        answer = self._ask("shape", text, proposal, choices)
        shapes: dict[str, Shape] = {each: each for each in choices}
        self._found.shape = shapes.get(answer, proposal)
        self._found.why = "so you said" if self._answers.get("shape", OPEN) != OPEN else "a question is open"

    @cached_property
    def _two_times(self) -> bool:
        """Whether a row has two times, one of which is later."""
        plain = [s for s in self._times if not s.says & {"start", "end"}]
        named = [s for s in self._times if s.says & {"start", "end"}]
        if {"start", "end"} <= {word for s in named for word in s.says}:
            return True
        return any(
            (order := self._order(one, two)) is not None
            and not order.same
            and (order.earlier >= ORDERED or order.later >= ORDERED)
            for one in (*named, *plain)
            for two in plain
            if one is not two
        )

    # --- the ends of a trip -------------------------------------------------------------------------------------------

    def _take_tap(self) -> None:
        """The columns of a tap: what says on or off, its time, and its place."""
        found, label = self._found, self._label or self._unknown_label
        if label:
            self._take("tap", label, "its values mean on and off" if self._label else found.why)
            self._take_words(label)
        else:
            text = "Which column says whether a tap is on or off? Without one taps cannot be counted."
            free = [sample for sample in self._free() if 2 <= sample.kinds <= FEW_LABELS]
            self._ask("tap", text, choices=[sample.name for sample in free])
            chosen = self._by_name.get(self._answers.get("tap", OPEN))
            if chosen:
                self._take("tap", chosen, "so you said")
                self._take_words(chosen)
            else:
                found.columns["tap"] = Guess(OPEN, "question", "no column was recognised")
                found.on = (OPEN,)
        times = [sample for sample in self._times if sample is not label]
        self._take_one("tap_time", times, "Which column is the time of the tap?", lambda s: "time" in s.says)
        places = [sample for sample in self._places if sample is not label]
        self._take_one("tap_location", self._best_places(places), "Which column is the place of the tap?", None)

    def _take_words(self, label: Sample) -> None:
        """The values that mean on, and off."""
        found = self._found
        values = sorted(label.frequent)
        found.on = tuple(value for value in values if words.said(value) in words.values("on"))
        found.off = tuple(value for value in values if words.said(value) in words.values("off"))
        if found.on:
            return
        if not values and not self._looked:
            self._ask("on", f"Which values of `{label.name}` mean a tap on? Its values were not looked at.")
            self._ask("off", f"Which values of `{label.name}` mean a tap off? None: leave the list empty.")
        else:
            first = self._first_of_two(label, values)
            text = f"Which values of `{label.name}` mean a tap on? Its commonest values are {', '.join(values)}."
            self._ask("on", text, first or OPEN, values)
            text = f"Which values of `{label.name}` mean a tap off? Empty, if there are none."
            self._ask("off", text, next((v for v in values if v != first), "") if first else OPEN, values)
        for end in ("on", "off"):
            answer = self._answers.get(end, OPEN)
            listed = tuple(part.strip() for part in answer.split(",") if part.strip())
            found.on, found.off = (listed, found.off) if end == "on" else (found.on, listed)

    def _first_of_two(self, label: Sample, values: Sequence[str]) -> str | None:
        """Of two values, the one that comes first on a card and day: a trip begins before it ends."""
        card, times = self._card, [sample for sample in self._times if sample.date.share >= MOST]
        if card is None or not times or len(values) != 2:
            return None
        taps: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for who, (day, minute), value in zip(card.rows, times[0].moments, label.rows, strict=True):
            if minute is not None and value.strip() in values:
                taps.setdefault((who, day), []).append((minute, value.strip()))
        firsts = Counter(min(each)[1] for each in taps.values() if len({value for _, value in each}) == 2)
        best = max(firsts, key=firsts.__getitem__, default=None)
        return best if best and firsts[best] >= max(20, 0.9 * firsts.total()) else None

    def _take_one(
        self, ours: str, among: Sequence[Sample], text: str, likelier: Callable[[Sample], bool] | None
    ) -> None:
        """The only column that can be it; or else a question."""
        named = [sample for sample in among if likelier and likelier(sample)] or list(among)
        distinct = self._distinct(named) if ours.endswith("time") else named
        if len(distinct) == 1:
            self._take(ours, distinct[0], "its name and its values say so", self._reading_for(ours, distinct[0]))
        elif distinct:
            self._choose(
                ours, distinct, f"{text} {_listed(distinct)} could be.", distinct[0], "the first that could be"
            )

    def _take_ends(self) -> None:
        """The times and places of both ends of a trip, or of one."""
        self._take_times()
        if self._found.shape == "counts" and "tap_on_time" not in self._found.columns:
            off = self._found.columns.pop("tap_off_time", None)  # the only time of a count is that of its trips
            if off:
                self._found.columns["tap_on_time"] = off
        places = {end: self._best_places([s for s in self._places if end in s.says]) for end in ("start", "end")}
        plain = self._best_places([s for s in self._places if not s.says & {"start", "end"}])
        for end, ours in (("start", "tap_on_location"), ("end", "tap_off_location")):
            if len(places[end]) == 1:
                self._take(ours, places[end][0], "its name and its values say so")
            elif places[end]:
                text = f"Where does a trip {'begin' if end == 'start' else 'end'}? {_listed(places[end])} could be it."
                self._choose(ours, places[end], text, places[end][0], "the first that could be")
        if not places["start"] and not places["end"] and plain:
            if len(plain) == 1:
                self._take("tap_on_location", plain[0], "it is the only place in a row")
            else:
                text = f"Where does a trip begin? {_listed(plain)} are places."
                self._choose("tap_on_location", plain, text, plain[0], "the first that could be")
        self._say_what_is_missing()

    def _say_what_is_missing(self) -> None:
        """One end found, and the other missed."""
        columns = self._found.columns
        for kind in ("time", "location"):
            on, off = f"tap_on_{kind}" in columns, f"tap_off_{kind}" in columns
            what = "time" if kind == "time" else "place"
            if on != off and self._found.shape == "trips":
                ours = f"tap_{'off' if on else 'on'}_{kind}"
                self._found.remarks.append(
                    f"No column was recognised as the {what} where a trip {'ends' if on else 'begins'}. If there is "
                    f"one, name it as {ours}."
                )

    def _take_times(self) -> None:
        named = {end: self._distinct([s for s in self._times if end in s.says]) for end in ("start", "end")}
        plain = self._distinct([s for s in self._times if not s.says & {"start", "end"}])
        for end, ours in (("start", "tap_on_time"), ("end", "tap_off_time")):
            if len(named[end]) > 1:
                text = f"When does a trip {'begin' if end == 'start' else 'end'}? {_listed(named[end])} differ."
                self._choose(ours, named[end], text, named[end][0], "the first that could be")
            elif named[end]:
                self._take(ours, named[end][0], "its name and its values say so", named[end][0].time)
        on, off = named["start"], named["end"]
        if len(on) == 1 and len(off) == 1:
            self._ask_if_turned(on[0], off[0])
        elif on and not off:
            self._take_later(on[0], plain)
        elif off and not on:
            self._take_earlier(off[0], plain)
        elif not on and not off:
            self._take_plain_times(plain)

    def _ask_if_turned(self, on: Sample, off: Sample) -> None:
        order = self._order(on, off)
        if order and not order.same and order.earlier < TURNED:
            text = (
                f"When does a trip begin, at `{on.name}` or at `{off.name}`? By their names the first, but in most "
                "rows it is the later of the two."
            )
            chosen = self._ask("tap_on_time", text, off.name, (on.name, off.name))
            first, last = (on, off) if chosen == on.name else (off, on)
            why = "in most rows it is the earlier of the two" if chosen == off.name else "so you said"
            self._take("tap_on_time", first, why, first.time, asked=True)
            self._take("tap_off_time", last, "the other of the two", last.time)

    def _take_later(self, on: Sample, plain: Sequence[Sample]) -> None:
        later = [s for s in plain if (o := self._order(on, s)) and not o.same and o.earlier >= ORDERED]
        if not self._looked:
            later = [sample for sample in plain if "stop" in sample.words]
        if later and self._found.shape == "trips":
            why = f"it is later than `{on.name}` in nearly every row" if self._looked else "its name says so"
            self._take("tap_off_time", later[0], why, later[0].time)

    def _take_earlier(self, off: Sample, plain: Sequence[Sample]) -> None:
        earlier = [s for s in plain if (o := self._order(s, off)) and not o.same and o.earlier >= ORDERED]
        if earlier:
            why = f"it is earlier than `{off.name}` in nearly every row"
            self._take("tap_on_time", earlier[0], why, earlier[0].time)

    def _take_plain_times(self, plain: Sequence[Sample]) -> None:
        """Times whose names do not say which end they are of: the rows' own time does."""
        if len(plain) == 1:
            self._take("tap_on_time", plain[0], "it is the only time in a row", plain[0].time)
            return
        orders = [(one, two, self._order(one, two)) for one in plain for two in plain if one is not two]
        clear = [(one, two) for one, two, order in orders if order and order.earlier >= ORDERED and not order.same]
        if len(plain) == 2 and clear:
            (on, off), why = clear[0], "in nearly every row it is the {} of the two"
            self._take("tap_on_time", on, why.format("earlier"), on.time)
            self._take("tap_off_time", off, why.format("later"), off.time)
        elif plain:
            text = f"When does a trip begin? {_listed(plain)} are times."
            self._choose("tap_on_time", plain, text, plain[0], "the first that could be")

    def _distinct(self, times: Sequence[Sample]) -> list[Sample]:
        """Columns of times, without those that say the same as one before them; a better reading first."""
        ranked = sorted(times, key=lambda s: (s.time.share < MOST, "time" not in s.says, len(s.name)))
        if not self._looked:
            return ranked[:1]
        kept: list[Sample] = []
        for sample in ranked:
            if not any((order := self._order(sample, each)) is None or order.same for each in kept):
                kept.append(sample)
        return kept

    def _order(self, one: Sample, two: Sample) -> _Order | None:
        """How two times go together in their rows; None where they cannot be compared."""
        pairs = [
            ((day or other_day, minute), (other_day or day, other))
            for (day, minute), (other_day, other) in zip(one.moments, two.moments, strict=False)
            if minute is not None and other is not None
        ]
        if len(pairs) < ENOUGH_ROWS or len(one.moments) != len(two.moments):
            return None
        clocks = not any(first[0] for first, _ in pairs)
        return _Order(
            share(
                first < second or (clocks and first[1] - second[1] > 720) for first, second in pairs if first != second
            ),
            share(first > second for first, second in pairs if first != second),
            share(first == second for first, second in pairs) >= MOST,
        )

    @cached_property
    def _places(self) -> list[Sample]:
        """The columns that name places."""
        taken = {s.name for s in (*self._times, *self._days, *self._counts, self._card, self._mode, self._label) if s}
        free = [sample for sample in self._samples if sample.name not in taken]
        places = [sample for sample in free if _may_be_place(sample)]
        return places or [s for s in free if "area" in s.says and not s.says & _NO_PLACE and s.kinds != 1]

    def _best_places(self, places: Sequence[Sample]) -> list[Sample]:
        """The name of a place rather than its number; several where that does not decide."""
        if not places:
            return []

        def rank(sample: Sample) -> tuple[bool, bool, bool, bool]:
            return (
                "place" not in sample.says,
                "name" not in sample.says,
                "identifier" in sample.says,
                not sample.in_use,
            )

        best = min(map(rank, places))
        equal = [sample for sample in places if rank(sample) == best]
        return equal[:1] if not self._looked else equal

    # --- the day ------------------------------------------------------------------------------------------------------

    def _take_day(self) -> None:
        """The day: a column of dates that agrees with the times, or the day of the time at which a trip begins."""
        columns = self._found.columns
        free = {sample.name for sample in self._free()}
        days = [sample for sample in self._days if sample.name in free and "settled" not in sample.says]
        start = next((columns[each] for each in ("tap_on_time", "tap_time", "tap_off_time") if each in columns), None)
        time = self._by_name.get(start.column) if start else None
        if time and start and time.date.share >= 0.5:
            self._take_day_beside(days, time, start)
            return
        if not days:
            self._take_doubtful_day(free)
            return
        distinct = [s for n, s in enumerate(days) if not any(self._same_days(s, each) for each in days[:n])]
        if len(distinct) > 1 and self._looked:
            text = f"Which is the day of a trip? {_listed(distinct)} differ."
            self._choose("date", distinct, text, distinct[0], "the first that could be")
        else:
            self._take("date", days[0], "its name and its values say so", days[0].date)
        beyond = [s for s in self._times if s.raw == "text" and _often(s, lambda minute: minute >= 1440)]
        beyond += [
            s for s in self._times if s.raw == "integer" and not s.time.format and _often(s, lambda m: m >= 1440)
        ]
        self._found.service = bool(beyond)

    def _take_day_beside(self, days: Sequence[Sample], time: Sample, start: Guess) -> None:
        """Where times have dates of their own: a column of dates is the day only if it agrees with them."""
        for sample in days:
            agree, night = self._agreement(sample, time)
            if not self._looked or agree + night >= AGREE:
                self._take("date", sample, "its name and its values say so", sample.date)
                self._found.service = night > 0.001 and "period" not in sample.says
                return
            self._found.remarks.append(
                f"`{sample.name}` is not taken for the day of a trip: in {round(100 * (1 - agree))} of 100 rows it is "
                f"another day than that of `{time.name}`."
            )
        ours = next(each for each, guess in self._found.columns.items() if guess is start)
        why = f"the day of {ours}, which holds dates as well"
        self._found.columns["date"] = replace(start, why=why, missing=start.missing)

    def _agreement(self, sample: Sample, time: Sample) -> tuple[float, float]:
        """In which share of rows a date is that of a time; in which it is the day before, by night."""
        same = night = rows = 0
        for day, (on, minute) in zip(sample.days, time.moments, strict=False):
            if day and on and minute is not None:
                rows += 1
                same += day == on
                night += minute < NIGHT and date.fromisoformat(day) + timedelta(days=1) == date.fromisoformat(on)
        return (same / rows, night / rows) if rows >= ENOUGH_ROWS else (1.0, 0.0)

    def _same_days(self, one: Sample, two: Sample) -> bool:
        pairs = [(a, b) for a, b in zip(one.days, two.days, strict=False) if a and b]
        return not self._looked or share(a == b for a, b in pairs) >= AGREE

    def _take_doubtful_day(self, free: set[str]) -> None:
        """Names of days and months; or a date that may be that of the books."""
        periods = [s for s in self._samples if s.name in free and s.says & {"period", "day"} and s.in_use]
        few = [s for s in periods if (s.values is None or 0 < s.kinds <= 400) and not s.says & {"settled"}]
        booked = [s for s in self._days if s.name in free]
        if few:
            self._found.labels = True
            best = min(few, key=lambda s: ("period" not in s.says, "tap" in s.says))
            self._take("date", best, "its name says so; its values are names of days or months, not dates")
        elif booked:
            text = f"Is `{booked[0].name}` the day of a trip? By its name it may be a day of the books."
            if self._ask("date", text, booked[0].name, (booked[0].name, "no")) != "no":
                self._take("date", booked[0], "the only column of dates", booked[0].date, asked=True)

    def _grain(self) -> int:
        """The bins that times are given in, where all of them start at such."""
        theirs = {guess.column for ours, guess in self._found.columns.items() if ours.endswith("time")}
        return min((self._by_name[name].grain for name in theirs if name in self._by_name), default=1)


@dataclass(frozen=True)
class _Order:
    """Of two times in a row: how often the first is earlier, and later, where they differ; whether they rarely do."""

    earlier: float
    later: float
    same: bool


_A_FRACTION = re.compile(r"[0-9]*[.,][0-9]+")
_LIKE_A_CARD = "its values look like numbers of cards"
_NO_LABEL = frozenset({"place", "time", "day", "start", "end", "card", "identifier", "period", "hour", "mode", "other"})


def _may_be_time(sample: Sample) -> bool:
    if sample.says & {"settled", "other"}:
        return False
    if sample.raw in ("time", "timestamp", "instant"):
        return True
    if sample.raw == "date" or "area" in sample.says:
        return False
    return bool(sample.says & {"time", "hour"}) or (sample.values is not None and sample.has_clock)


def _may_be_day(sample: Sample) -> bool:
    if "other" in sample.says and "day" not in sample.says:
        return False
    dashed = r"\d{4}[-/.年]\d\d?[-/.月]\d\d?日?|\d\d?[-/.]\d\d?[-/.]\d{2,4}"
    return (
        sample.raw == "date"
        or "day" in sample.says
        or share(bool(re.fullmatch(dashed, value.strip())) for value in sample.some[:100]) >= MOST
    )


def _may_be_place(sample: Sample) -> bool:
    if sample.raw not in ("text", "integer", "number") or sample.says & _NO_PLACE:
        return False
    several = sample.values is None or sample.kinds > 1
    return several and bool(sample.says & {"place", "start", "end"})


_NO_PLACE = frozenset({"other", "time", "hour", "day", "period", "card", "settled", "mode", "count"})


def _never_again(sample: Sample) -> bool:
    """Whether no value comes twice, but for a few: it numbers the rows."""
    return len(sample.filled) - len(set(sample.filled)) <= odd_rows(len(sample.filled))


def _many(sample: Sample) -> bool:
    return sample.kinds > FEW_CARDS or 4 * sample.kinds >= len(sample.filled) > 0


def _looks_like_cards(sample: Sample) -> bool:
    """Whether values are long numbers or hashes of one length, many of them, and come again."""
    lengths = Counter(len(value.strip()) for value in sample.some)
    digits = share(bool(re.fullmatch(r"[0-9A-Fa-f-]{8,}", value.strip())) for value in sample.some)
    again = sample.kinds < 0.95 * len(sample.filled)
    return (
        bool(lengths)
        and digits >= MOST
        and lengths.most_common(1)[0][1] >= MOST * lengths.total()
        and again
        and _many(sample)
    )


def _says_on(sample: Sample) -> float:
    """Which share of values means on or off, where more than a few mean on, and there are few kinds."""
    if sample.kinds > 40:
        return 0.0
    lowered = [words.said(value) for value in sample.some]
    ons = sum(value in words.values("on") for value in lowered) > odd_rows(len(lowered))
    return share(value in words.values("on") | words.values("off") for value in lowered) if ons else 0.0


def _says_bound(sample: Sample) -> float:
    return share(words.said(value) in words.values("bound") for value in sample.some)


def _zeros_mean_none(sample: Sample) -> bool:
    zeros = [value.strip() in ("0", "0.0") for value in sample.filled]
    return share(zeros) > 0.01 and sum(zeros) > odd_rows(len(zeros)) and sample.time.format is None


def _often(sample: Sample, holds: Callable[[int], bool]) -> bool:
    minutes = [minute for _, minute in sample.moments if minute is not None]
    return sum(map(holds, minutes)) > odd_rows(len(minutes))


def _listed(samples: Sequence[Sample]) -> str:
    names = [f"`{sample.name}`" for sample in samples]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
