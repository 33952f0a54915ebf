"""What an unknown export is: what a row stands for, and what each column holds. Evidence first, then roles.

Three kinds of evidence: what a column is called (`words`, in many languages), how its values are written (`reading`),
and how columns go together in their rows: which of two times is earlier, whether a date is that of the time next to it.
What they do not settle is a question, with a proposal: nothing is guessed in silence.

No value of a trip gets out, but for the commonest values of a column that may say on and off, words that
may stand for no card, and the common modes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from tapveil.base.vocabulary import YEARS
from tapveil.trips.evidence import RowsOfCards
from tapveil.trips.questions import Asking
from tapveil.trips.reading import Sample, odd_rows
from tapveil.trips.recognised import Guess, Recognised
from tapveil.trips.roles import Roles

TIDES = {"card": "token_id", "date": "service_date", "tap": "fare_action", "tap_time": "event_timestamp"}
TIDES_WORDS = ("Enter", "Transfer entrance"), ("Exit", "Transfer exit")
TIDES_MISSING = ("NA", "NaN")
_BY_TIDES = "TIDES calls it so"


def recognise(
    samples: Sequence[Sample],
    answers: Mapping[str, str] | None = None,
    rows_of_cards: RowsOfCards | None = None,
    *,
    assumed: bool = False,
) -> Recognised:
    """What an export is, with what was answered of its questions; or assumed, where nobody was asked."""
    by_name = {sample.name: sample for sample in samples}
    if set(TIDES.values()) <= set(by_name):
        found = _tides(by_name)
    else:
        found = Roles(samples, Asking(answers or {}, assumed), rows_of_cards).recognised()
        found.like = _likeness(set(by_name))
    taken = {guess.column for guess in found.columns.values()}
    found.unused = tuple(sample.name for sample in samples if sample.name not in taken)
    found.offsets = any(
        by_name[guess.column].raw == "instant" or guess.format == "epoch" or _has_offsets(by_name[guess.column], guess)
        for ours, guess in found.columns.items()
        if ours.endswith("time") and guess.column in by_name
    )
    found.remarks += _in_utc(found, by_name)
    found.days = _first_and_last(found, by_name)
    if card := found.columns.get("card"):
        found.without_card = len(by_name[card.column].values or ()) > 0 and not _always(by_name[card.column], card)
    return found


_OFFSET = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)\s*$")


def _has_offsets(sample: Sample, guess: Guess) -> bool:
    return guess.format is None and sum(bool(_OFFSET.search(value)) for value in sample.filled) > odd_rows(
        len(sample.filled)
    )


def _in_utc(found: Recognised, by_name: Mapping[str, Sample]) -> Iterator[str]:
    """Times that are called UTC, without an offset: they are read as they stand."""
    timed = {guess.column: None for ours, guess in found.columns.items() if ours.endswith("time")}
    named = [name for name in timed if name in by_name and by_name[name].words & {"utc", "gmt", "zulu"}]
    if named and not found.offsets:
        yield (
            f"`{named[0]}` seems to be in UTC, and its times have no offset: hours and days will be those of UTC. For "
            "those of the clocks, write `Z` after each time, and name timezone under [source]."
        )


def _always(sample: Sample, guess: Guess) -> bool:
    rows = len(sample.values or ())
    filled = [value for value in sample.filled if value.strip() not in guess.missing]
    return rows - len(filled) <= odd_rows(rows)


def _first_and_last(found: Recognised, by_name: Mapping[str, Sample]) -> tuple[date, date] | None:
    day = found.columns.get("date")
    if day is None or found.labels or day.column not in by_name or by_name[day.column].values is None:
        return None
    rows = by_name[day.column].days
    often = (date.fromisoformat(each) for each, n in Counter(filter(None, rows)).items() if n > min(4, len(rows) // 50))
    days = sorted(day for day in often if day.year in YEARS)
    return (days[0], days[-1]) if days else None


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
