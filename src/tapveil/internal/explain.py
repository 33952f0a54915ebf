"""ε in frequencies, for a person: of 100 publications, how many would make a suspicious neighbour believe it.

One component for the terminal, the report and the dossier: sentences, dots on a screen, and a picture. There are two
pairs of numbers, and each says which it is: the one that is promised, and the one computed from the noise, than which
nobody can do better (`privacy.attacker`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tapveil.base.svg import ON_PAPER, Colours
from tapveil.privacy.attacker import Attacker
from tapveil.privacy.units import Neighbours, Unit
from tapveil.published.describe import frequencies
from tapveil.published.describe.frequencies import Halves, Panel


class _Case(NamedTuple):
    """What the neighbour wonders about."""

    other: str
    """How it was, if he is wrong to believe it."""
    believed: str
    so: str
    """That it was so."""


_CASES: dict[Neighbours, dict[Unit, _Case]] = {
    "add-remove": {
        "trip": _Case("you did not make a trip", "you did", "you did make it"),
        "card-day": _Case("you did not travel on a day", "you did", "you did travel"),
        "card": _Case("you never travelled", "you did", "you did travel"),
    },
    "replace": {
        "trip": _Case("you made another trip", "you made this one", "you did make it"),
        "card-day": _Case("your trips of a day were others", "they were these", "they were these"),
        "card": _Case("all your trips were others", "they were these", "they were these"),
    },
}

PROMISED = "Promised: the worst case"
COMPUTED = "Computed from the noise"
HOW_MANY = "How many of 100 publications would make a suspicious neighbour believe it"


def sentence(found: Attacker, unit: Unit, pair: tuple[str, str] | None = None) -> str:
    """Of 100 publications, in words; of what is promised, if no other pair is given."""
    case, (wrong, right) = _CASES[found.neighbours][unit], pair or found.promised.of_100
    who = f"would make a suspicious neighbour believe that {case.believed}"
    return f"If {case.other}, {wrong} of 100 such publications {who}; if {case.so}, {right} of 100."


def computed(found: Attacker) -> str:
    """The other pair, after the first."""
    wrong, right = found.of_100
    return f"Computed from the noise itself, it is {wrong} and {right} of 100: nobody can do better."


def headings(found: Attacker, unit: Unit) -> Halves:
    """Of both halves of a picture."""
    case = _CASES[found.neighbours][unit]
    return Halves(f"If {case.other}", f"If {case.so}")


# --- on a terminal ----------------------------------------------------------------------------------------------------


def dots(found: Attacker, *, compact: bool = False) -> Iterator[str]:
    """The promise as two squares of a hundred: a full one stands for a publication that makes him believe it."""
    return frequencies.dots(found.promised.of_100, compact=compact)


# --- as a picture -----------------------------------------------------------------------------------------------------


def panels(found: Attacker, unit: Unit, colours: Colours = ON_PAPER) -> tuple[Panel, Panel]:
    """What a picture shows: the promise, and what was computed."""
    about = headings(found, unit)
    promised = Panel(PROMISED, found.promised.of_100, about, colours.orange)
    return promised, Panel(COMPUTED, found.of_100, about, colours.blue)


def picture(found: Attacker, unit: Unit, title: str, colours: Colours = ON_PAPER) -> str:
    """Both pairs, each as two squares of a hundred dots, with their numbers."""
    said = f"{title}. {sentence(found, unit)} {computed(found)}"
    return frequencies.picture(panels(found, unit, colours), title, HOW_MANY, said, colours)
