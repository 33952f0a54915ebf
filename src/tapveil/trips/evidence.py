"""What is seen in the columns of an export: which hold times, days, places, cards and counts, and how they go together.

Three kinds of evidence: what a column is called (`words`), how its values are written (`reading`), and how columns go
together in their rows: which of two times is earlier, whether a date is that of the time next to it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise

from tapveil.base.errors import TripDataError
from tapveil.trips import words
from tapveil.trips.questions import YES_OR_NO, Asking
from tapveil.trips.reading import MOST, WHOLE, Sample, odd_rows, share, telling
from tapveil.trips.turns import MOST_GATES, Journeys, Turns

RowsOfCards = Callable[[Sequence[str], str], Mapping[str, Sequence[str]]]
"""All rows of some cards, by the names of columns and that of the card."""
FEW_MODES, FEW_LABELS, FEW_CARDS = 50, 12, 12
ORDERED = 0.95
"""One time is that of the start if it is earlier in this share of rows."""
AGREE = 0.98
ENOUGH_ROWS = 10
"""Fewer rows than this tell nothing about how columns go together."""
WIDE = 12
"""As many columns, and more, that differ in a number alone are one column in many."""
COUNTER, STEADY = 1000, 0.7
"""Readings of a counter are at least so large, and in this share of rows at most a hundredth more than in the last."""
NIGHT = 360
"""A service day may end this many minutes after midnight."""


@dataclass(frozen=True)
class Order:
    """Of two times in a row: how often the first is earlier, and later, where they differ; whether they rarely do."""

    earlier: float
    later: float
    same: bool


class Evidence:
    """The columns of an export, and what is seen in them."""

    def __init__(self, samples: Sequence[Sample], asking: Asking, rows_of_cards: RowsOfCards | None = None) -> None:
        self.samples, self._asking, self._rows_of_cards = samples, asking, rows_of_cards
        self.by_name = {sample.name: sample for sample in samples}
        self.looked = any(sample.values is not None for sample in samples)

    @cached_property
    def times(self) -> list[Sample]:
        """The columns that hold times of trips: by their values and names, not those of the books."""
        free = [sample for sample in self.samples if sample is not self._named_card]
        named = [sample for sample in free if _may_be_time(sample) and sample.time.share >= 0.5]
        return [sample for sample in named if not sample.is_midnight]

    @cached_property
    def days(self) -> list[Sample]:
        """The columns of dates, without those that are times as well."""
        times = {sample.name for sample in self.times}
        named = [sample for sample in self.samples if sample.name not in times and _may_be_day(sample)]
        return [sample for sample in named if sample.date.share >= 0.5]

    @cached_property
    def card(self) -> Sample | None:
        return self._named_card or (self._unnamed_card() if self.looked else None)

    @cached_property
    def _named_card(self) -> Sample | None:
        named = [
            sample
            for sample in self.samples
            if "card" in sample.says
            and not sample.says & {"place", "count", "start", "end", "time", "settled"}
            and ("other" not in sample.says or "identifier" in sample.says)
            and (sample.in_use or sample.raw == "binary")
            and (sample.values is None or sample.raw == "binary" or _many(sample))
            and not (sample.values is None and sample.says & {"tap"})
            and not ("row" in sample.says and sample.values is not None and _never_again(sample))
        ]
        most = max((sample.kinds for sample in named), default=0)
        return next((sample for sample in named if 2 * sample.kinds >= most), None)  # as many, or nearly: the first

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
        dated = {sample.name for sample in (*self.times, *self.days)}
        free = [sample for sample in self.samples if not sample.says & roles and sample.name not in dated]
        alike = [sample for sample in free if _looks_like_cards(sample)]
        if not alike:
            return None
        text = (
            f"Is `{alike[0].name}` the card, or another number of a person? It looks like one; it is never published."
        )
        return alike[0] if self._asking.ask("card", text, "yes", YES_OR_NO) != "no" else None

    @cached_property
    def mode(self) -> Sample | None:
        named = [
            sample
            for sample in self.samples
            if "mode" in sample.says and sample.in_use and sample is not self.card and sample not in self.times
        ]
        few = [sample for sample in named if sample.kinds <= FEW_MODES]
        return min(few, key=lambda sample: sample.kinds, default=None)

    @cached_property
    def counts(self) -> list[Sample]:
        """The columns that say how many trips a row stands for."""
        return [
            sample
            for sample in self.samples
            if "count" in sample.says
            and not sample.says & {"identifier", "time", "day", "card", "settled", "mode"}
            and sample not in self.times
            and (sample.values is None or sample.raw in ("integer", "number") or sample.whole >= 0.5)
        ]

    @cached_property
    def count(self) -> Sample | None:
        counts = [sample for sample in self.counts if sample.values is None or sample.whole >= 0.5]
        if len(counts) < 2:
            return counts[0] if counts else self._only_number
        first = next((sample for sample in counts if "start" in sample.says), counts[0])
        text = (
            f"Which of {listed(counts)} is to be counted? A plan counts one of them; for another, write a second plan "
            'with its own [ledger] data_set = "…" only if no trip is in both.'
        )
        return self.by_name.get(self._asking.ask("count", text, first.name, [sample.name for sample in counts]), first)

    @property
    def is_a_counter(self) -> bool:
        """Whether the numbers of trips are readings of a counter that runs on: large, and hardly more in every row."""
        if self.count is None or not self.count.values:
            return False
        found = [int(match[1]) for value in self.count.values if (match := WHOLE.fullmatch(value.strip()))]
        in_order = sorted(found)
        if len(found) < ENOUGH_ROWS or in_order[len(found) // 2] < COUNTER:
            return False
        if found == in_order and not self._is_in_order_of_time:
            return False  # in a file that is sorted by its numbers, they grow as well
        return share(0 <= later - one <= one // 100 for one, later in pairwise(found)) >= STEADY

    @property
    def _is_in_order_of_time(self) -> bool:
        """Whether rows follow each other in time, over several days."""
        days = [[day for day, _ in time.moments if day] for time in self.times]
        days += [[day for day in sample.days if day] for sample in self.days]
        return any(len(set(each)) > 2 and each == sorted(each) for each in days)

    @property
    def masked(self) -> tuple[Sample, list[str]] | None:
        """A column of numbers of trips in which some are masked, and the words that stand for them."""
        for sample in (s for s in self.samples if "count" in s.says and s.values and not s.says & {"identifier"}):
            texts = [value.strip() for value in sample.filled]
            others = [text for text in texts if not WHOLE.fullmatch(text) and not _A_FRACTION.fullmatch(text)]
            masks = sorted(telling(others, len(texts)))
            numbers = len(texts) - len(others) > 0.05 * len(texts)
            if numbers and 0 < len(masks) <= FEW_LABELS and any(re.search("[0-9]", mask) for mask in masks):
                return sample, masks
        return None

    @property
    def separated(self) -> Sample | None:
        """A column of numbers of trips, some of which have separators for thousands."""
        named = [s for s in self.samples if "count" in s.says and s.values and not s.says & {"identifier", "time"}]
        parts = (
            each for each in named if sum(map(bool, map(_THOUSANDS.fullmatch, each.some))) > odd_rows(len(each.some))
        )
        return next((each for each in parts if each.whole + share(map(_is_separated, each.some)) >= MOST), None)

    @property
    def averages(self) -> list[Sample]:
        """Columns that are called numbers of trips, and are numbers, but not whole."""
        named = [s for s in self.samples if "count" in s.says and s.values and s.whole < 0.5]
        return [s for s in named if share(bool(_A_FRACTION.fullmatch(value.strip())) for value in s.some) >= 0.5]

    @property
    def finest(self) -> int:
        """The steps in which the finest times are given, in minutes."""
        return min((sample.grain for sample in self.times), default=1440)

    @cached_property
    def _only_number(self) -> Sample | None:
        """The only column of numbers in rows that are alike in nothing else: it may be how many trips there were."""
        if not self.looked or self.card or any(sample.grain < 15 for sample in self.times):
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
        free = [s for s in self.samples if not s.says & roles and s.whole >= MOST and s.kinds > FEW_LABELS]
        others = [sample for sample in self.samples if free and sample is not free[0]]
        if len(free) != 1 or not others:
            return None
        rows = list(zip(*(sample.rows for sample in others if len(sample.rows) == len(free[0].rows)), strict=True))
        return free[0] if rows and len(rows) - len(set(rows)) <= odd_rows(len(rows)) else None

    @cached_property
    def label(self) -> Sample | None:
        """The column that says on or off, by its values."""
        found = [sample for sample in self.samples if sample.values is not None and _says_on(sample) > 0.2]
        named = [sample for sample in found if "tap" in sample.says]
        sure = [sample for sample in found if _says_on(sample) > 0.8]
        return max(named or sure, key=_says_on, default=None)

    @property
    def has_both_ends(self) -> bool:
        """Whether rows of taps on and rows of taps off are there."""
        said = [words.said(value) for value in self.label.some] if self.label else []
        return sum(value in words.values("off") for value in said) > odd_rows(len(said))

    @cached_property
    def unknown_label(self) -> Sample | None:
        """A column that may say on or off in words that are not known."""
        taken = {sample.name for sample in (self.card, self.mode) if sample}
        for sample in self.samples:
            if "tap" not in sample.says or sample.name in taken or sample.says & _NO_LABEL:
                continue
            if sample.values is None or (
                2 <= len(sample.frequent) <= FEW_LABELS and _says_bound(sample) < 0.5 and _are_words(sample)
            ):
                return sample
        return None

    @cached_property
    def turns(self) -> Turns:
        """Whether the rows of a card take turns, on and off."""
        if self._rows_of_cards is None or self.card is None or not self.times:
            return Turns()
        time, day = self.times[0], next(iter(self.days), None)
        taken = {sample.name for sample in (self.card, *self.times, *self.days, *self.places)}
        others = [s for s in self.samples if s.name not in taken and s.values and 2 <= s.kinds <= MOST_GATES]
        wanted = [sample for sample in (self.card, time, day, *self.places, *others) if sample]
        rows = self._rows_of_cards([sample.name for sample in wanted], self.card.name)
        if not rows:
            return Turns()
        of = {sample.name: Sample(sample.name, sample.raw, rows[sample.name]) for sample in wanted}
        journeys = Journeys.of(of[self.card.name], of[time.name], of[day.name] if day else None)
        return journeys.turns([of[each.name] for each in self.places], [of[each.name] for each in others])

    @cached_property
    def two_times(self) -> bool:
        """Whether a row has two times, one of which is later."""
        plain = [s for s in self.times if not s.says & {"start", "end"}]
        named = [s for s in self.times if s.says & {"start", "end"}]
        if {"start", "end"} <= {word for s in named for word in s.says}:
            return True
        return any(
            (order := self.order(one, two)) is not None
            and not order.same
            and (order.earlier >= ORDERED or order.later >= ORDERED)
            for one in (*named, *plain)
            for two in plain
            if one is not two
        )

    def order(self, one: Sample, two: Sample) -> Order | None:
        """How two times go together in their rows; None where they cannot be compared."""
        pairs = [
            ((day or other_day, minute), (other_day or day, other))
            for (day, minute), (other_day, other) in zip(one.moments, two.moments, strict=False)
            if minute is not None and other is not None
        ]
        if len(pairs) < ENOUGH_ROWS or len(one.moments) != len(two.moments):
            return None
        clocks = not any(first[0] for first, _ in pairs)
        return Order(
            share(
                first < second or (clocks and first[1] - second[1] > 720) for first, second in pairs if first != second
            ),
            share(first > second for first, second in pairs if first != second),
            share(first == second for first, second in pairs) >= MOST,
        )

    @cached_property
    def places(self) -> list[Sample]:
        """The columns that name places."""
        taken = {s.name for s in (*self.times, *self.days, *self.counts, self.card, self.mode, self.label) if s}
        free = [sample for sample in self.samples if sample.name not in taken]
        places = [sample for sample in free if _may_be_place(sample)]
        named = [sample for sample in places if "place" in sample.says]
        ends = {end for sample in places if sample not in named for end in ("start", "end") if end in sample.says}
        places = named if named and len(ends) == 1 else places  # `boarding_type` is no place where there is a `stop`
        return places or [s for s in free if "area" in s.says and not s.says & _NO_PLACE and s.kinds != 1]

    def distinct(self, times: Sequence[Sample]) -> list[Sample]:
        """Columns of times, without those that say the same as one before them; a better reading first."""
        ranked = sorted(times, key=lambda s: (s.time.share < MOST, "time" not in s.says, len(s.name)))
        if not self.looked:
            return ranked[:1]
        kept: list[Sample] = []
        for sample in ranked:
            if not any((order := self.order(sample, each)) is None or order.same for each in kept):
                kept.append(sample)
        return kept

    def best_places(self, places: Sequence[Sample]) -> list[Sample]:
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
        return equal[:1] if not self.looked else equal

    def agreement(self, sample: Sample, time: Sample) -> tuple[float, float]:
        """In which share of rows a date is that of a time; in which it is the day before, by night."""
        same = night = rows = 0
        for day, (on, minute) in zip(sample.days, time.moments, strict=False):
            if day and on and minute is not None:
                rows += 1
                same += day == on
                after = date.fromisoformat(on).toordinal() - date.fromisoformat(day).toordinal()
                night += minute < NIGHT and after == 1
        return (same / rows, night / rows) if rows >= ENOUGH_ROWS else (1.0, 0.0)

    def same_days(self, one: Sample, two: Sample) -> bool:
        pairs = [(a, b) for a, b in zip(one.days, two.days, strict=False) if a and b]
        return not self.looked or share(a == b for a, b in pairs) >= AGREE

    def refuse_wide(self) -> None:
        alike = Counter(
            re.sub(r"[0-9]+", "#", sample.name) for sample in self.samples if re.search("[0-9]", sample.name)
        )
        for pattern, columns in alike.items():
            if columns >= WIDE and (not self.looked or self._are_numbers(pattern)):
                raise TripDataError(
                    f"it has {columns} columns named like `{pattern}`, one for each hour or stop: tapveil reads one "
                    "row for each. Turn the columns into rows (in pandas `melt`, in DuckDB `UNPIVOT`), then try again"
                )

    def _are_numbers(self, pattern: str) -> bool:
        return all(s.whole >= 0.5 or not s.in_use for s in self.samples if re.sub(r"[0-9]+", "#", s.name) == pattern)


_THOUSANDS = re.compile(r"\s*[0-9]{1,3}([.,'’\u202f\u00a0 ][0-9]{3})+\s*")
_A_FRACTION = re.compile(r"[0-9]*[.,][0-9]+")
_A_WORD = re.compile(r"(?!.*[0-9]{6})(?!.*[0-9]:[0-9])(?!.*[0-9]-[0-9]).{1,40}")
_NO_LABEL = frozenset({"place", "time", "day", "start", "end", "card", "identifier", "period", "hour", "mode", "other"})
_NO_PLACE = frozenset({"other", "time", "hour", "day", "period", "card", "settled", "mode", "count"})


def _is_separated(value: str) -> bool:
    return bool(_THOUSANDS.fullmatch(value)) and not WHOLE.fullmatch(value.strip())


def _may_be_time(sample: Sample) -> bool:
    if sample.says & {"settled", "other"}:
        return False
    if sample.says & {"start", "end"} and sample.values and sample.whole >= MOST and sample.time.format == "epoch":
        return True
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
        or (_may_be_time(sample) and sample.is_midnight)
        or share(bool(re.fullmatch(dashed, value.strip())) for value in sample.some[:100]) >= MOST
    )


def _may_be_place(sample: Sample) -> bool:
    against = sample.says & _NO_PLACE
    if against == {"time"} and "place" in sample.says and sample.values:  # `boarded at stop`
        against = against if max(sample.time.share, sample.date.share) > 0.1 else frozenset()
    if sample.raw not in ("text", "integer", "number") or against:
        return False
    several = sample.values is None or sample.kinds > 1
    return several and bool(sample.says & {"place", "start", "end"})


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


def _are_words(sample: Sample) -> bool:
    """Whether values can be words or codes for on and off: not times, days or numbers of anything, whose values are
    those of a trip and are not to be shown."""
    return share(bool(_A_WORD.fullmatch(value.strip())) for value in sample.some) >= MOST


def _says_bound(sample: Sample) -> float:
    return share(words.said(value) in words.values("bound") for value in sample.some)


def listed(samples: Sequence[Sample]) -> str:
    names = [f"`{sample.name}`" for sample in samples]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
