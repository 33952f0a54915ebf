"""ε in frequencies, for a person: of 100 publications, how many would make a suspicious neighbour believe it.

One component for the terminal, the report and the dossier: sentences, dots on a screen, and a picture. There are two
pairs of numbers, and each says which it is: the one that is promised, and the one computed from the noise, which is the
best that anyone can do (`privacy.attacker`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tapveil.internal import svg
from tapveil.internal.svg import ON_PAPER, Colours
from tapveil.privacy.attacker import Attacker
from tapveil.privacy.units import Neighbours, Unit


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
NOT_A_PROMISE = "The first pair is the promise. The second is the best that anyone can do against this noise."


def sentence(found: Attacker, unit: Unit, pair: tuple[str, str] | None = None) -> str:
    """Of 100 publications, in words; of what is promised, if no other pair is given."""
    case, (wrong, right) = _CASES[found.neighbours][unit], pair or found.promised.of_100
    who = f"would make a suspicious neighbour believe that {case.believed}"
    return f"If {case.other}, {wrong} of 100 such publications {who}; if {case.so}, {right} of 100."


def computed(found: Attacker) -> str:
    """The other pair, after the first."""
    wrong, right = found.of_100
    return f"Computed from the noise itself, it is {wrong} and {right} of 100: the best that anyone can do."


class Halves(NamedTuple):
    """What both halves of a picture are about."""

    other: str
    so: str


def headings(found: Attacker, unit: Unit) -> Halves:
    """Of both halves of a picture."""
    case = _CASES[found.neighbours][unit]
    return Halves(f"If {case.other}", f"If {case.so}")


# --- on a terminal ----------------------------------------------------------------------------------------------------

SIDE = 10
"""A hundred dots are a square."""


def dots(found: Attacker) -> Iterator[str]:
    """The promise as two squares of a hundred: a full one stands for a publication that makes him believe it."""
    squares = [_filled(number) for number in found.promised.of_100]
    for row in range(SIDE):
        yield "     ".join(" ".join("●○"[row * SIDE + column >= full] for column in range(SIDE)) for full in squares)


def _filled(of_100: str) -> int:
    """Whole dots; a chance that is shown in digits is not shown as none, nor as a certainty."""
    number = float(of_100)
    return round(number) if number in (0, 100) else min(99, max(1, round(number)))


# --- as a picture -----------------------------------------------------------------------------------------------------

_WIDE, _TOP, _GAP, _DOT = 640, 92, 14, 9
_BLOCKS = (24, 344)


def picture(found: Attacker, unit: Unit, title: str, colours: Colours = ON_PAPER) -> str:
    """Both pairs, each as two squares of a hundred dots, with their numbers."""
    pairs = ((PROMISED, found.promised.of_100, colours.orange), (COMPUTED, found.of_100, colours.blue))
    said = f"{title}. {sentence(found, unit)} {computed(found)}"
    return svg.picture(_WIDE, 296, said, _body(found, unit, title, pairs, colours))


def _body(
    found: Attacker,
    unit: Unit,
    title: str,
    pairs: tuple[tuple[str, tuple[str, str], str], ...],
    colours: Colours,
) -> Iterator[str]:
    yield svg.box(0, 0, _WIDE, 296, colours.paper)
    yield svg.text(24, 28, title, 16, colour=colours.ink, bold=True)
    yield svg.text(
        24, 48, "How many of 100 publications would make a suspicious neighbour believe it", colour=colours.pale
    )
    for left, (name, numbers, colour) in zip(_BLOCKS, pairs, strict=True):
        yield svg.text(left, 76, name, 13, colour=colours.ink, bold=True)
        for place, (heading, number) in enumerate(zip(headings(found, unit), numbers, strict=True)):
            x = left + place * 150
            full = _filled(number)
            spots = [(x + _GAP * (k % SIDE) + 5, _TOP + _GAP * (k // SIDE) + 5) for k in range(SIDE * SIDE)]
            yield _spots(spots[full:], colours.grid)
            yield _spots(spots[:full], colour)
            yield svg.text(x, 258, number, 20, colour=colours.ink, bold=True)
            yield svg.text(x, 278, heading, 11, colour=colours.pale)


def _spots(places: Sequence[svg.Place], colour: str) -> str:
    """Round ends of lines without a length: the shortest way to write a hundred dots."""
    drawn = "".join(f"M{x:g} {y:g}h0" for x, y in places)
    return f'  <path d="{drawn}" stroke="{colour}" stroke-width="{_DOT}" stroke-linecap="round"/>' if places else ""
