"""Which days and modes releases cover, and so which of them may show the same unit.

A trip is at one place: one day and one mode. A card's day is at one day, whatever its modes; a card may be everywhere
(docs/privacy/proofs.md, 13). A day is one day, and a mode one mode, only where they are read in the same way. What is
read in another way than in the first release with a limit counts as everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import cached_property

from tapveil.ledger.entry import Spend
from tapveil.privacy.units import Unit

ANY_OTHER = None
"""Stands for all modes that no release names."""
ONE_DAY = timedelta(days=1)

Covering = frozenset[int]
"""The releases that cover a place, by their positions."""
Days = tuple[date | None, date | None]
"""From one day to another; None: no limit on that side."""


class Everywhere(StrEnum):
    """Why a release counts for every day."""

    CARD = "card"
    """A card may travel on every day."""
    TAPS = "taps"
    """A trip may tap on on one day and off on the next (proofs, 15)."""
    NO_DAYS = "no-days"
    """Its plan names none."""
    CARDLESS = "cardless-taps"
    """Its plan names none, or keeps taps without a card, which nobody can pair: the entry does not say which."""
    OTHER_READING = "other-reading"
    """Its days are not those of the others: another column, format, encoding, time zone or start of the day."""


def unlimited(spend: Spend, days_by: str | None) -> Everywhere | None:
    """Why a release covers every day, if days are read in this way; None where it covers those that it names."""
    if not (spend.first_day and spend.last_day):
        return Everywhere.CARDLESS if spend.rows == "taps" and spend.days_by else Everywhere.NO_DAYS
    return None if spend.days_by == days_by else Everywhere.OTHER_READING


def names_no_days(spend: Spend) -> bool:
    """Whether a release counts for every day, and would not if its plan named days."""
    return Coverage(spend.unit, [spend]).everywhere(spend) is Everywhere.NO_DAYS


@dataclass(frozen=True)
class Coverage:
    """The days and modes of some releases, as a budget for one unit sees them."""

    unit: Unit
    spends: Sequence[Spend]

    @property
    def days_by(self) -> str | None:
        """How a day is read by the first release that says it."""
        return next((spend.days_by for spend in self.spends if spend.days_by), None)

    def everywhere(self, spend: Spend) -> Everywhere | None:
        """Why a release counts for every day; None where it counts for those that it names."""
        if self.unit == "card":
            return Everywhere.CARD
        return Everywhere.TAPS if self.is_of_taps(spend) else unlimited(spend, self.days_by)

    def is_of_taps(self, spend: Spend) -> bool:
        """Whether a release sees the two taps of a trip as two rows, perhaps on two days and of two modes."""
        return self.unit == "trip" and spend.rows == "taps"

    @cached_property
    def grid(self) -> list[tuple[Days, str | None, Covering]]:
        """The days between which coverage changes, times the modes that are named, and all others."""
        days = [None if self.everywhere(each) else (each.first_day, each.last_day) for each in self.spends]
        limits = [(first, last) for first, last in filter(None, days) if first and last]
        starts = {first for first, _ in limits} | {last + ONE_DAY for _, last in limits}
        cuts: list[date | None] = [None, *sorted(starts), None]
        spans = [(cuts[i], (end - ONE_DAY) if (end := cuts[i + 1]) else None) for i in range(len(cuts) - 1)]
        by = next((each.modes_by for each in self.spends if each.modes_by), None)
        apart = [self.unit == "trip" and each.modes_by == by and not self.is_of_taps(each) for each in self.spends]
        modes = [each.modes if by_mode else None for each, by_mode in zip(self.spends, apart, strict=True)]
        named = sorted({mode for each in modes for mode in each or ()})
        found: list[tuple[Days, str | None, Covering]] = []
        starting: dict[date | None, list[int]] = {}
        for position, each in enumerate(days):
            starting.setdefault(each[0] if each else None, []).append(position)
        active: list[int] = []
        for span in spans:
            # Days go on from span to span: those that are over leave, those that start here join.
            active = [position for position in active if (each := days[position]) is None or _within(span, each)]
            active += starting.get(span[0], [])
            for mode in (*named, ANY_OTHER):
                covering = (each for each in active if (own := modes[each]) is None or mode in own)
                found.append((span, mode, frozenset(covering)))
        return found

    def sharing_with(self, position: int) -> list[int]:
        """The other releases that cover a place that this one covers."""
        places = [covering for _, _, covering in self.grid if position in covering]
        return sorted(frozenset().union(*places) - {position})


def _within(span: Days, limits: Days) -> bool:
    (first, last), (earliest, latest) = span, limits
    return bool(first and last and earliest and latest and earliest <= first and last <= latest)
