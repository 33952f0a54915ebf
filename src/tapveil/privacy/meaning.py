"""What epsilon means, in frequencies: how often a suspicious reader of the folder would be right.

The reader asks whether someone travelled, both being equally likely to him, and decides as well as anyone can. Under
(ε, δ) his chance of a true "yes" is at most e^ε times that of a false one, plus δ. Where both of his errors are
equally likely, he is wrong with probability at least (1 - δ) / (1 + e^ε): Kairouz, Oh and Viswanath (2015),
theorem 2.1. Readers understand such frequencies better than any other way to put it (Nanayakkara et al., 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from tapveil.privacy.units import Neighbours, Unit

Verdict = Literal["strong", "moderate", "weak"]

RIGHT_AT_MOST: dict[Verdict, Fraction] = {"strong": Fraction(3, 4), "moderate": Fraction(19, 20)}
"""How often the reader may be right under a promise that is called so; any other is weak."""


class Case(NamedTuple):
    """What the reader wonders about."""

    other: str
    """How it was, if he is wrong to believe it."""
    believed: str
    so: str
    """That it was so."""


CASES: dict[Neighbours, dict[Unit, Case]] = {
    "add-remove": {
        "trip": Case("you did not make a trip", "you did", "you did make it"),
        "card-day": Case("you did not travel on a day", "you did", "you did travel"),
        "card": Case("you never travelled", "you did", "you did travel"),
    },
    "replace": {
        "trip": Case("you made another trip", "you made this one", "you did make it"),
        "card-day": Case("your trips of a day were others", "they were these", "they were these"),
        "card": Case("all your trips were others", "they were these", "they were these"),
    },
}
"""A promise says how often he is right in its own notion of neighbours: in the other one it is another number."""


def of_100(wrong: float) -> tuple[str, str]:
    """A probability to be wrong, and its counterpart, as numbers of 100: never a chance that is rounded to none."""
    wrong = 100 * wrong
    if wrong < 1e-9:
        return "0", "100"
    digits = max(0, -math.floor(math.log10(wrong)))
    return f"{wrong:.{digits}f}", f"{100 - round(wrong, digits):.{digits}f}"


@dataclass(frozen=True)
class Meaning:
    """What a promise of ε (and δ) for a unit means.

    >>> [Meaning(Fraction(epsilon)).of_100 for epsilon in ("1/10", "1", "2", "4", "8")]
    [('48', '52'), ('27', '73'), ('12', '88'), ('2', '98'), ('0.03', '99.97')]
    >>> [Meaning(Fraction(epsilon)).verdict for epsilon in (1, 2, 8)]
    ['strong', 'moderate', 'weak']
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @property
    def wrong(self) -> float:
        """How likely the reader believes that someone travelled who did not: at least this."""
        if self.epsilon > 700:  # e^700 is about the largest float
            return 0.0
        return float(1 - self.delta) / (1 + math.exp(self.epsilon))

    @property
    def right(self) -> float:
        """How likely he believes it of someone who did: at most this."""
        return 1 - self.wrong

    @property
    def verdict(self) -> Verdict:
        """In a word."""
        return next((word for word, most in RIGHT_AT_MOST.items() if self.right <= most), "weak")

    @property
    def of_100(self) -> tuple[str, str]:
        """How many of 100 publications would make him believe it: of who did not travel, and of who did."""
        return of_100(self.wrong)

    def sentence(self, unit: Unit, neighbours: Neighbours) -> str:
        """For people, of the unit that is protected.

        >>> print(Meaning(Fraction(1)).sentence("card-day", "add-remove"))
        If you did not travel on a day, 27 of 100 such publications would make a suspicious neighbour believe that you \
did; if you did travel, 73 of 100.
        """
        (wrong, right), case = self.of_100, CASES[neighbours][unit]
        who = f"would make a suspicious neighbour believe that {case.believed}"
        return f"If {case.other}, {wrong} of 100 such publications {who}; if {case.so}, {right} of 100."

    def in_words(self, unit: Unit, neighbours: Neighbours) -> str:
        """The same, with the verdict."""
        return f"What that means: {self.sentence(unit, neighbours)} This is a {self.verdict} promise."
