"""Weights of the tables of a known world where a plan gives none: a public rule, from columns and guarantee alone.

A weight is a share of precision, so it matters how large the counts of a table are against the noise, and whether other
tables tell them, too. Both follow from its columns: nobody has to look at a trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from tapveil.base.vocabulary import DURATION

if TYPE_CHECKING:
    from tapveil.plan.model import Privacy, Table

TELLS = Fraction(1)
"""Tables of pairs of places, or of places and times: estimates are made from these."""
SUMS = Fraction(1, 4)
"""Few cells with large counts, and all other tables tell them, too."""
DURATIONS = Fraction(1, 2)
"""Durations are taken from all days together."""
SHOWS = Fraction(2, 5)
"""Whole trips, in noise: a twentieth of the budget shows how far estimates scatter, and no single cell."""
WHOLE = Fraction(3, 2)
"""Whole trips, if noise is so narrow that single cells can be seen in it: nothing else tells them."""
NARROW = 4
"""It is, from this ε on for a unit that changes two cells of a table; for others as much as their noise is wider."""
PLACES, TIMES = {"tap_on_location", "tap_off_location"}, {"tap_on_time", "tap_off_time"}


def by_rule(privacy: Privacy, tables: Sequence[Table], changed: int) -> tuple[Fraction, ...]:
    """A weight for each table of a known world; `changed` cells of each are what one unit can change."""
    narrow = (privacy.epsilon or 0) ** 2 * 2 >= NARROW**2 * changed
    return tuple(_weight(set(table.columns), narrow=narrow) for table in tables)


def _weight(columns: set[str], *, narrow: bool) -> Fraction:
    if DURATION in columns:
        return DURATIONS
    if columns >= PLACES and columns & TIMES:
        return WHOLE if narrow else SHOWS
    if not columns & PLACES:
        return SUMS
    return TELLS
