"""Taps, where a row is one tap: which of them count, their ends and moments, and the trips that they make.

The same trips as by SQL (`sql.pairing`): a tap on and the tap off that directly follows it, on the same card and mode
(or vehicle) and soon enough, are one trip; any other tap is a trip whose other end is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tapveil.base.vocabulary import CARD, TAP
from tapveil.counting import coding
from tapveil.counting.direct.dictionary_index import encoded, raw_values
from tapveil.counting.direct.units import KEY_BITS, NEARLY_SORTED, changes
from tapveil.inputs.values import UNIT_SEPARATOR
from tapveil.plan.model import Plan
from tapveil.trips.buffers import AnyIntegers, Flags, Integers, Positions, integers, per_day, present
from tapveil.trips.files import TripFiles

NO_MOMENT = np.iinfo(np.int64).min
"""The second of a tap whose time is not known."""
TIME, DATE = "tap_on_time", "date"
_SECONDS = 24 * 60 * 60


@dataclass(frozen=True, eq=False)
class TapsOfBatch:
    """Of each tap: whether it is a tap on, what the taps of a trip share in addition to the card, and its second."""

    is_on: Flags
    together: Integers
    second: Integers


def suits(plan: Plan, files: TripFiles) -> bool:
    """Whether the taps can be read here: ends and modes as texts, times as timestamps, or times and days as texts."""
    theirs = plan.columns.read

    def are(name: str, *kinds: str) -> bool:
        return name not in theirs or all(group.type_of(theirs[name]) in kinds for group in files.groups)

    if TAP not in theirs or not are(TAP, "text", "integer"):
        return False
    if not plan.columns.pairs_taps:
        return True
    same = plan.source.taps.same if plan.source.taps else CARD
    if (same != CARD and not are(same, "text", "integer")) or any("." in column for column in theirs.values()):
        return False
    timed = not plan.source.missing(TIME) and plan.source.timezone is None and are(TIME, "timestamp")
    return TIME in theirs and (timed or (are(TIME, "text") and are(DATE, "text")))


class Taps:
    """The taps of one batch after the other."""

    def __init__(self, plan: Plan) -> None:
        taps = plan.source.taps
        self._theirs, self._pairs = plan.columns.read, plan.columns.pairs_taps
        self._on = frozenset(word.strip() for word in (taps.on if taps else ()))
        self._counted = frozenset(word.strip() for word in plan.columns.counted_taps)
        self._same = taps.same if taps and taps.same != CARD else ""
        self._shared: dict[str, int] = {}
        self._second, self._seconds = coding.reads_second(plan) if self._pairs else None, dict[tuple[str, str], int]()
        self.within = 60 * taps.within_minutes if taps else 0

    @property
    def shared(self) -> int:
        """How many modes or vehicles there are, at least 1."""
        return max(1, len(self._shared))

    def counted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The taps that the tables count: those on, those off, or both."""
        counted = self._is_among(batch, self._counted)
        return batch if counted.all() else batch.filter(pa.array(counted))

    def of(self, batch: pa.RecordBatch) -> TapsOfBatch:
        """What pairing needs to know of each tap."""
        together = np.zeros(batch.num_rows, dtype=np.int64)
        if self._same in self._theirs:
            texts, indices = self._texts(batch, self._same)
            together = np.array([self._shared.setdefault(text.strip(), len(self._shared)) for text in texts])[indices]
        return TapsOfBatch(self._is_among(batch, self._on), together, self._moments(batch))

    def _is_among(self, batch: pa.RecordBatch, words: Collection[str]) -> Flags:
        texts, indices = self._texts(batch, TAP)
        among: Flags = np.array([text.strip() in words for text in texts])[indices]
        return among

    def _moments(self, batch: pa.RecordBatch) -> Integers:
        array = batch.column(batch.schema.get_field_index(self._theirs[TIME]))
        if pa.types.is_timestamp(array.type):
            length, numbers = per_day(array.type) // _SECONDS, integers(array).astype(np.int64)
            seconds = np.where(numbers < 0, -(-numbers // length), numbers // length)  # towards 1970, as in `values`
            return np.where(present(array), seconds, NO_MOMENT)
        times, at = self._texts(batch, TIME)
        days, on = (
            self._texts(batch, DATE) if DATE in self._theirs else ([""], np.zeros(batch.num_rows, dtype=np.int64))
        )
        pairs, inverse = np.unique(at * len(days) + on, return_inverse=True)
        seconds = np.array([self._read(times[pair // len(days)], days[pair % len(days)]) for pair in pairs.tolist()])
        found: Integers = seconds[inverse] if len(pairs) else np.empty(0, dtype=np.int64)
        return found

    def _read(self, time: str, day: str) -> int:
        known = self._seconds.get((time, day))
        if known is None and self._second:
            second = self._second(f"{time}{UNIT_SEPARATOR}0{day}")
            known = self._seconds[time, day] = NO_MOMENT if second is None else second
        return NO_MOMENT if known is None else known

    def _texts(self, batch: pa.RecordBatch, name: str) -> tuple[list[str], Integers]:
        """The distinct texts of a column, last that of a missing one, and the index of each row."""
        array = encoded(batch.column(batch.schema.get_field_index(self._theirs[name])))
        texts = [*raw_values(array.dictionary), ""]
        return texts, np.where(present(array), integers(array.indices), len(texts) - 1).astype(np.int64)


def paired(
    units: Integers, taps: TapsOfBatch, within: int, labels: Callable[[Positions], Sequence[AnyIntegers]]
) -> tuple[Positions, Flags, Flags]:
    """The order of the taps of each unit; and in it, which begin a trip with the next tap, and which end one.

    Args:
        units: the numbers of the groups in which taps are paired.
        labels: the codes of some taps, the first column first: they decide between taps of one end and second.
    """
    known = taps.second != NO_MOMENT
    low = int(taps.second[known].min()) if known.any() else 0
    after = int(taps.second[known].max()) - low + 1 if known.any() else 0
    since = np.where(known, taps.second - np.int64(low), after)  # an unknown time comes last
    if int(units.max(initial=0)).bit_length() + after.bit_length() + 1 > KEY_BITS:
        units, since = np.unique(units, return_inverse=True)[1], np.unique(since, return_inverse=True)[1]
    bits = int(since.max(initial=0)).bit_length() + 1
    keys = (units << bits) | (since << 1) | taps.is_on
    order = np.argsort(keys, kind=NEARLY_SORTED)
    _settle_ties(order, keys[order], labels)
    is_on, second, known = taps.is_on[order], taps.second[order], known[order]
    begins = np.zeros(len(order), dtype=np.bool_)
    soon = second[1:] - np.where(known[:-1], second[:-1], 0) <= within
    begins[:-1] = is_on[:-1] & ~is_on[1:] & known[:-1] & known[1:] & soon & ~changes(units[order])[1:]
    ends = np.zeros(len(order), dtype=np.bool_)
    ends[1:] = begins[:-1]
    return order, begins, ends


def _settle_ties(order: Positions, keys: Integers, labels: Callable[[Positions], Sequence[AnyIntegers]]) -> None:
    """Sort places with equal keys, which are in order, by their labels."""
    differs = changes(keys)
    tied = np.flatnonzero(~differs | ~np.append(differs[1:], True))
    if len(tied):
        places = order[tied]
        order[tied] = places[np.lexsort((*reversed(labels(places)), keys[tied]))]
