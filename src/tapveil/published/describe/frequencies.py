"""ε in frequencies as a picture: of 100 publications, how many would make a suspicious neighbour believe it.

The one picture for `explain`, the report, the dossier and the page of a folder: pairs of numbers, each drawn as a
square of a hundred dots; also as text. It is made from numbers that a manifest has, so that `verify` draws it again;
what it says is given by whoever draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from tapveil.base import svg
from tapveil.base.svg import Colours

SIDE = 10
"""A hundred dots are a square."""
_WIDE, _TOP, _GAP, _DOT = 320, 92, 14, 9
_LEFT, _APART, _LETTERS = 24, 150, 22


class Halves(NamedTuple):
    """What both squares of a pair are about."""

    other: str
    so: str


class Panel(NamedTuple):
    """One pair of numbers, each drawn as a square of a hundred dots."""

    heading: str
    numbers: tuple[str, str]
    about: Halves
    colour: str


def filled(of_100: str) -> int:
    """How many dots are full: whole ones; a chance that is shown in digits is not shown as none, nor as a certainty.

    >>> [filled(number) for number in ("0", "0.03", "27", "99.97", "100")]
    [0, 1, 27, 99, 100]
    """
    number = float(of_100)
    return round(number) if number in (0, 100) else min(99, max(1, round(number)))


def dots(numbers: Sequence[str], *, compact: bool = False) -> Iterator[str]:
    """Squares of a hundred dots next to each other, for who reads text: a full dot stands for a publication.

    >>> print(*dots(("3", "97"), compact=True), sep="\\n")
    ●●●○○○○○○○○○○○○○○○○○     ●●●●●●●●●●●●●●●●●●●●
    ○○○○○○○○○○○○○○○○○○○○     ●●●●●●●●●●●●●●●●●●●●
    ○○○○○○○○○○○○○○○○○○○○     ●●●●●●●●●●●●●●●●●●●●
    ○○○○○○○○○○○○○○○○○○○○     ●●●●●●●●●●●●●●●●●●●●
    ○○○○○○○○○○○○○○○○○○○○     ●●●●●●●●●●●●●●●●●○○○
    """
    lines, between = (SIDE // 2, "") if compact else (SIDE, " ")
    across, squares = SIDE * SIDE // lines, [filled(number) for number in numbers]
    for line in range(lines):
        yield "     ".join(between.join("●○"[line * across + k >= full] for k in range(across)) for full in squares)


def picture(panels: Sequence[Panel], title: str, below: str, said: str, colours: Colours) -> str:
    """Pairs next to each other, with a title, a line below it, and what it says to who cannot see it."""
    lines = max(len(wrap(text, _LETTERS)) for panel in panels for text in panel.about)
    wide, high = _WIDE * len(panels), 276 + 14 * lines
    return svg.picture(wide, high, said, _body(panels, (wide, high), title, below, colours))


def _body(panels: Sequence[Panel], size: tuple[int, int], title: str, below: str, colours: Colours) -> Iterator[str]:
    yield svg.box(0, 0, *size, colours.paper)
    yield svg.text(_LEFT, 28, title, 16, colour=colours.ink, bold=True)
    yield svg.text(_LEFT, 48, below, colour=colours.pale)
    for place, panel in enumerate(panels):
        yield from _drawn(panel, _LEFT + _WIDE * place, colours)


def _drawn(panel: Panel, left: int, colours: Colours) -> Iterator[str]:
    yield svg.text(left, 76, panel.heading, 13, colour=colours.ink, bold=True)
    for place, (about, number) in enumerate(zip(panel.about, panel.numbers, strict=True)):
        x, full = left + _APART * place, filled(number)
        spots = [(x + _GAP * (k % SIDE) + 5, _TOP + _GAP * (k // SIDE) + 5) for k in range(SIDE * SIDE)]
        yield _spots(spots[full:], colours.grid)
        yield _spots(spots[:full], panel.colour)
        yield svg.text(x, 258, number, 20, colour=colours.ink, bold=True)
        for line, words in enumerate(wrap(about, _LETTERS)):
            yield svg.text(x, 277 + 14 * line, words, 11, colour=colours.pale)


def _spots(places: Sequence[svg.Place], colour: str) -> str:
    """Round ends of lines without a length: the shortest way to write a hundred dots."""
    drawn = "".join(f"M{x:g} {y:g}h0" for x, y in places)
    return f'  <path d="{drawn}" stroke="{colour}" stroke-width="{_DOT}" stroke-linecap="round"/>' if places else ""
