"""The picture: what is published against ε, one line per mechanism, one column per unit. SVG, written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log10

from tapveil.base.svg import ON_PAPER, QUARTERS, apart, box, line, marks, picture, text

from .measure import EPSILONS, MECHANISMS, UNITS, City, Tables

WIDTH, HEIGHT = 960, 640
PLOT_WIDTH, PLOT_HEIGHT = 190, 190
LEFTS, TOPS = (70, 375, 680), (100, 370)
COLOURS = {"sbh": ON_PAPER.ink, "laplace": ON_PAPER.blue, "gaussian": ON_PAPER.orange}
SHAPES = {"sbh": "square", "laplace": "circle", "gaussian": "triangle"}
TITLES = {
    "trip": ("any one trip", "replace"),
    "card-day": ("a card’s day", "add-remove, 4 trips"),
    "card": ("a whole card", "add-remove, 28 trips"),
}


@dataclass(frozen=True)
class Axis:
    """From a number to a height, 0 below and 1 above."""

    title: str
    value: Callable[[Tables], float]
    height: Callable[[float], float]
    ticks: tuple[tuple[float, str], ...]


def _axes(highest: float) -> tuple[Axis, Axis]:
    decades = 1
    while 10**decades < highest:
        decades += 1
    names = {0: "1", 1: "10", 2: "100", 3: "1,000", 4: "10,000", 5: "100,000", 6: "1 million"}
    return (
        Axis(
            "Time × location cells published (each step is ten times as many)",
            lambda tables: tables.cells,
            lambda cells: log10(max(1, cells)) / decades,
            tuple((10.0**power, names[power]) for power in range(decades + 1)),
        ),
        Axis(
            "Trips in those cells, of all trips",
            lambda tables: tables.share,
            lambda share: share,
            tuple(QUARTERS),
        ),
    )


def svg(city: City) -> str:
    """The whole picture."""
    said = (
        "What three mechanisms publish of the demo city at total epsilon 0.5, 1, 4 and 8, for three units: gaussian "
        "publishes most throughout, and every mechanism publishes less the more is protected."
    )
    return picture(WIDTH, HEIGHT, said, _lines(city)) + "\n"


def _lines(city: City) -> Iterator[str]:
    yield box(0, 0, WIDTH, HEIGHT, ON_PAPER.paper, rounded=12)
    yield _text(20, 30, f"What is left of {city.trips / 1e6:g} million trips of the demo city", 16, bold=True)
    highest = max(result.fine.cells for result in city.results)
    for top, axis in zip(TOPS, _axes(highest), strict=True):
        yield _text(20, top - 38, axis.title, 14, bold=True)
        for left, unit in zip(LEFTS, UNITS, strict=True):
            what, how = TITLES[unit]
            yield _text(left, top - 16, f"{what} ({how})")
            yield from _frame(left, top, axis)
            yield from _curves(city, unit, left, top, axis)
    yield _pale(LEFTS[0], HEIGHT - 20, "Total ε; δ = 7.5e-7 throughout. Mean of several draws.", 13)


def _text(x: float, y: float, words: str, size: int = 13, *, bold: bool = False) -> str:
    return text(x, y, words, size, bold=bold, colour=ON_PAPER.ink)


def _pale(x: float, y: float, words: str, size: int = 12, anchor: str = "start") -> str:
    return text(x, y, words, size, anchor=anchor, colour=ON_PAPER.pale)


def _x(left: int, epsilon: str) -> float:
    least, most = log10(0.5), log10(8)
    return left + 12 + (log10(float(epsilon)) - least) / (most - least) * (PLOT_WIDTH - 24)


def _y(top: int, axis: Axis, value: float) -> float:
    return top + PLOT_HEIGHT * (1 - axis.height(value))


def _frame(left: int, top: int, axis: Axis) -> Iterator[str]:
    for value, name in axis.ticks:
        y = _y(top, axis, value)
        yield line([(left, y), (left + PLOT_WIDTH, y)], ON_PAPER.grid)
        if left == LEFTS[0]:
            yield _pale(left - 6, y + 4, name, 11, anchor="end")
    for epsilon in EPSILONS:
        yield _pale(_x(left, epsilon), top + PLOT_HEIGHT + 17, epsilon, anchor="middle")
    yield _pale(left + PLOT_WIDTH + 4, top + PLOT_HEIGHT + 17, "ε")


def _curves(city: City, unit: str, left: int, top: int, axis: Axis) -> Iterator[str]:
    ends: dict[str, float] = {}
    for mechanism in MECHANISMS:
        points = [
            (_x(left, epsilon), _y(top, axis, axis.value(city.result(unit, mechanism, epsilon).fine)))
            for epsilon in reversed(EPSILONS)
        ]
        colour = COLOURS[mechanism]
        yield line(points, colour, 2)
        yield marks(points, SHAPES[mechanism], colour, 4.5)
        ends[mechanism] = points[-1][1]
    for mechanism, y in apart(ends, top, top + PLOT_HEIGHT).items():
        yield text(left + PLOT_WIDTH + 4, y + 4, mechanism, bold=True, colour=COLOURS[mechanism])
