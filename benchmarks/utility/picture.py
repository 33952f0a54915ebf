"""The picture: what is published against ε, one line per mechanism, one column per unit. SVG, written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log10

from .measure import EPSILONS, MECHANISMS, UNITS, City, Tables

WIDTH, HEIGHT = 960, 640
PLOT_WIDTH, PLOT_HEIGHT = 190, 190
LEFTS, TOPS = (70, 375, 680), (100, 370)
GAP = 15
"""Between two labels, at least."""

# From the palette of Okabe and Ito, told apart by people who see few colours; the marks differ as well.
COLOURS = {"sbh": "#222222", "laplace": "#0072b2", "gaussian": "#d55e00"}
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
            tuple((part / 4, f"{25 * part} %") for part in range(5)),
        ),
    )


def svg(city: City) -> str:
    """The whole picture."""
    return "\n".join(_lines(city)) + "\n"


def _lines(city: City) -> Iterator[str]:
    said = (
        "What three mechanisms publish of the demo city at total epsilon 0.5, 1, 4 and 8, for three units: gaussian "
        "publishes most throughout, and every mechanism publishes less the more is protected."
    )
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, sans-serif" '
        f'font-size="13" role="img" aria-label="{said}">'
    )
    yield f'  <rect width="{WIDTH}" height="{HEIGHT}" rx="12" fill="#ffffff"/>'
    yield from _text(20, 30, f"What is left of {city.trips / 1e6:g} million trips of the demo city", 16, bold=True)
    highest = max(result.fine.cells for result in city.results)
    for top, axis in zip(TOPS, _axes(highest), strict=True):
        yield from _text(20, top - 38, axis.title, 14, bold=True)
        for left, unit in zip(LEFTS, UNITS, strict=True):
            what, how = TITLES[unit]
            yield from _text(left, top - 16, f"{what} ({how})")
            yield from _frame(left, top, axis)
            yield from _curves(city, unit, left, top, axis)
    yield from _text(
        LEFTS[0], HEIGHT - 20, "Total ε; δ = 7.5e-7 throughout. Mean of several draws.", 13, colour="#555555"
    )
    yield "</svg>"


def _text(
    x: float,
    y: float,
    words: str,
    size: int = 13,
    *,
    bold: bool = False,
    anchor: str = "start",
    colour: str = "#222222",
) -> Iterator[str]:
    weight = ' font-weight="600"' if bold else ""
    at = f' text-anchor="{anchor}"' if anchor != "start" else ""
    yield f'  <text x="{x:.0f}" y="{y:.0f}" font-size="{size}"{weight}{at} fill="{colour}">{words}</text>'


def _x(left: int, epsilon: str) -> float:
    least, most = log10(0.5), log10(8)
    return left + 12 + (log10(float(epsilon)) - least) / (most - least) * (PLOT_WIDTH - 24)


def _y(top: int, axis: Axis, value: float) -> float:
    return top + PLOT_HEIGHT * (1 - axis.height(value))


def _frame(left: int, top: int, axis: Axis) -> Iterator[str]:
    for value, name in axis.ticks:
        y = _y(top, axis, value)
        yield f'  <path d="M{left} {y:.1f} H{left + PLOT_WIDTH}" stroke="#dddddd"/>'
        if left == LEFTS[0]:
            yield from _text(left - 6, y + 4, name, 11, anchor="end", colour="#555555")
    for epsilon in EPSILONS:
        yield from _text(_x(left, epsilon), top + PLOT_HEIGHT + 17, epsilon, 12, anchor="middle", colour="#555555")
    yield from _text(left + PLOT_WIDTH + 4, top + PLOT_HEIGHT + 17, "ε", 12, colour="#555555")


def _curves(city: City, unit: str, left: int, top: int, axis: Axis) -> Iterator[str]:
    ends: dict[str, float] = {}
    for mechanism in MECHANISMS:
        points = [
            (_x(left, epsilon), _y(top, axis, axis.value(city.result(unit, mechanism, epsilon).fine)))
            for epsilon in reversed(EPSILONS)
        ]
        colour = COLOURS[mechanism]
        path = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        yield f'  <path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield f'  <path d="{" ".join(_mark(mechanism, x, y) for x, y in points)}" fill="{colour}"/>'
        ends[mechanism] = points[-1][1]
    for mechanism, y in _apart(ends).items():
        yield from _text(left + PLOT_WIDTH + 4, y + 4, mechanism, 13, bold=True, colour=COLOURS[mechanism])


def _mark(mechanism: str, x: float, y: float) -> str:
    """A square, a circle, a triangle."""
    if mechanism == "sbh":
        return f"M{x - 4:.1f} {y - 4:.1f} h8 v8 h-8 z"
    if mechanism == "laplace":
        return f"M{x - 4.5:.1f} {y:.1f} a4.5 4.5 0 1 0 9 0 a4.5 4.5 0 1 0 -9 0 z"
    return f"M{x - 5.5:.1f} {y + 4:.1f} h11 l-5.5 -9.5 z"


def _apart(ends: dict[str, float]) -> dict[str, float]:
    """The labels' heights: near their lines, but not on top of each other."""
    order = sorted(ends, key=lambda name: ends[name])
    heights = [ends[name] for name in order]
    for _ in range(100):
        for above in range(len(heights) - 1):
            short = GAP - (heights[above + 1] - heights[above])
            if short > 0:
                heights[above] -= short / 2
                heights[above + 1] += short / 2
    return dict(zip(order, heights, strict=True))
