"""A comparison as a picture: a row for each measure, a column for each unit, a line for each mechanism. SVG."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log2, log10
from pathlib import Path
from xml.sax.saxutils import escape

from tapveil.check import INTERNAL
from tapveil.comparison.compare import ALL, EPSILONS, LISTED, MECHANISMS, SEVERAL, Comparison, Point
from tapveil.comparison.forecast import Worth
from tapveil.comparison.screen import cautions, refusals
from tapveil.disk import why
from tapveil.errors import PlanError
from tapveil.plan import Unit
from tapveil.privacy.rational import decimal_text

LEFT, TOP, HIGH = 78, 206, 180
"""Where the first panel is, and how high each is."""
WIDTHS = (560, 310, 220)
"""How wide a panel is, where there are one, two or three of them beside each other."""
BESIDE, DOWN = 128, HIGH + 116
"""From a panel to the next one on its right, and from the top of one to the top of the one below."""
INSIDE = 14
"""Between the frame of a panel and its first and last ε."""
GAP = 15
"""Between two labels, at least."""

# From the palette of Okabe and Ito, told apart by people who see few colours; the marks differ as well.
COLOURS = {"sbh": "#222222", "laplace": "#0072b2", "gaussian": "#d55e00", LISTED: "#007a5a"}
INK, PALE, GRID, ALARM = "#222222", "#555555", "#dddddd", "#b00020"
OWNER_ALONE = 0o600


def write_plot(path: Path, comparison: Comparison) -> None:
    """The picture, as a file that was not there and that only its owner may read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ALONE)
    except FileExistsError:
        raise PlanError(f"{path} already exists; choose another name") from None
    except OSError as error:
        raise PlanError(f"{path} cannot be written: {why(error)}") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(svg(comparison))
    except OSError as error:
        path.unlink(missing_ok=True)
        raise PlanError(f"{path} cannot be written: {why(error)}") from None


@dataclass(frozen=True)
class Axis:
    """A measure, and where on the way from the bottom of a panel, 0, to its top, 1, it is."""

    title: str
    value: Callable[[Worth], float | None]
    height: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]


def svg(comparison: Comparison) -> str:
    """The whole picture."""
    return "\n".join(_Picture(comparison).lines()) + "\n"


class _Picture:
    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._axes = _axes(comparison)
        self._scale = sorted({*EPSILONS, comparison.own.epsilon})
        self._wide = WIDTHS[len(comparison.units) - 1]
        self._across = self._wide + BESIDE
        self._width = len(comparison.units) * self._across + LEFT - 30
        self._notes = _notes(comparison, room=self._width // 7)
        self._height = TOP + len(self._axes) * DOWN + 18 * len(self._notes) - 32

    def lines(self) -> Iterator[str]:
        said = f"{INTERNAL}. Published trips and errors against epsilon, for each mechanism and unit."
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self._width} {self._height}" '
            f'width="{self._width}" height="{self._height}" font-family="system-ui, sans-serif" font-size="13" '
            f'role="img" aria-label="{said}">'
        )
        yield f"  <title>{said}</title>"
        yield f'  <rect width="{self._width}" height="{self._height}" fill="#ffffff"/>'
        yield from self._head()
        for row, axis in enumerate(self._axes):
            top = TOP + row * DOWN
            yield _text(20, top - 50, axis.title, 14, bold=True)
            for column, unit in enumerate(self._comparison.units):
                yield from self._panel(LEFT + column * self._across, top, unit, axis)
        foot = TOP + len(self._axes) * DOWN - 48
        for number, words in enumerate(self._notes):
            yield _text(20, foot + 18 * number, words, 12, colour=PALE)
        yield "</svg>"

    # --- the head ---------------------------------------------------------------------------------------------------

    def _head(self) -> Iterator[str]:
        """What it is, whom it is for, and what the lines mean."""
        title = textwrap.shorten(self._comparison.title, (self._width - 360) // 11, placeholder=" …")
        yield _text(20, 32, f"Choosing ε: {title}", 18, bold=True)
        yield f'  <rect x="{self._width - 202}" y="14" width="182" height="26" rx="4" fill="{ALARM}"/>'
        yield _text(self._width - 111, 32, INTERNAL, 14, bold=True, anchor="middle", colour="#ffffff")
        delta = self._comparison.delta
        at = f"δ = {float(delta):.3g}" if delta else "no δ"
        changed = "exchanged for another" if self._comparison.neighbours == "replace" else "added or left out"
        words = f"What is to be expected at other totals ε, with {at}. Protected: any one, {changed}."
        yield _text(20, 54, words, colour=PALE)
        yield from self._lines_of_mechanisms(84)
        yield from self._other_marks(108)

    def _lines_of_mechanisms(self, y: float) -> Iterator[str]:
        x = 20.0
        for mechanism in _shown(self._comparison):
            yield _line([(x, y), (x + 34, y)], mechanism)
            yield _marks([(x + 17, y)], mechanism)
            yield _text(x + 42, y + 4, mechanism, bold=True, colour=COLOURS[mechanism])
            x += 64 + 9 * len(mechanism)

    def _other_marks(self, y: float) -> Iterator[str]:
        x = 20.0
        for group in self._comparison.groups if len(self._comparison.groups) > 1 else ():
            yield _line([(x, y), (x + 34, y)], "sbh", dashed=_dashed(group))
            yield _text(x + 42, y + 4, f"tables of {group}", colour=PALE)
            x += 64 + 8 * len(f"tables of {group}")
        yield _ring(x + 9, y)
        yield _text(x + 24, y + 4, "your plan", colour=PALE)
        if any(point.impossible and point.mechanism in _shown(self._comparison) for point in self._comparison.points):
            yield _cross(x + 112, y, INK)
            yield _text(x + 122, y + 4, "not possible", colour=PALE)

    # --- one panel --------------------------------------------------------------------------------------------------

    def _panel(self, left: float, top: float, unit: Unit, axis: Axis) -> Iterator[str]:
        yield _text(left, top - 29, _heading(self._comparison, unit))
        yield from self._frame(left, top, axis)
        ends: dict[str, float] = {}
        for number, mechanism in enumerate(_shown(self._comparison)):
            points = [point for point in self._comparison.of(unit) if point.mechanism == mechanism]
            for group in sorted(self._comparison.groups, key=_dashed):
                places = self._places(left, top, axis, group, points)
                yield from _curve(places, mechanism, dashed=_dashed(group))
                if there := [place for place in places if place]:
                    ends.setdefault(mechanism, there[-1][1])
            for point in points if mechanism not in self._comparison.never(unit) else ():
                if point.impossible:
                    yield _cross(self._x(left, point.epsilon), top + HIGH - 14 - 12 * number, COLOURS[mechanism])
        for mechanism, y in _apart(ends, top, top + HIGH).items():
            yield _text(left + self._wide + 5, y + 4, mechanism, bold=True, colour=COLOURS[mechanism])
        yield from self._own(left, top, unit, axis)

    def _frame(self, left: float, top: float, axis: Axis) -> Iterator[str]:
        for value, name in axis.ticks:
            y = _y(top, axis, value)
            yield f'  <path d="M{left} {y:.1f} H{left + self._wide}" stroke="{GRID}"/>'
            yield _text(left - 6, y + 4, name, 11, anchor="end", colour=PALE)
        for epsilon in EPSILONS:  # the plan's own has a label above the panel
            x = self._x(left, epsilon)
            yield f'  <path d="M{x:.1f} {top + HIGH} v4" stroke="{PALE}"/>'
            yield _text(x, top + HIGH + 17, decimal_text(epsilon, 3), 11, anchor="middle", colour=PALE)
        yield _text(left + self._wide / 2, top + HIGH + 33, "total ε", 12, anchor="middle", colour=PALE)

    def _own(self, left: float, top: float, unit: Unit, axis: Axis) -> Iterator[str]:
        """The plan itself: a line down from its label, and a ring around each of its values."""
        own = self._comparison.own
        if unit != own.unit:
            return
        x = self._x(left, own.epsilon)
        yield f'  <path d="M{x:.1f} {top - 9} V{top + HIGH}" stroke="{PALE}" stroke-dasharray="1 3"/>'
        yield _text(x, top - 13, f"your plan, ε = {decimal_text(own.epsilon, 3)}", 11, bold=True, anchor="middle")
        for group in self._comparison.groups:
            for place in self._places(left, top, axis, group, [own], itself=True):
                if place:
                    yield _ring(*place)
                    yield _marks([place], own.mechanism)

    def _places(
        self, left: float, top: float, axis: Axis, group: str, points: Sequence[Point], *, itself: bool = False
    ) -> list[tuple[float, float] | None]:
        """Where points lie, from the least ε on. Where the plan's own tables differ from shared ones, it is no part."""
        shared = {point.epsilon: point for point in points if not point.own}
        along = list(points) if itself else [p for p in points if not p.own or p.epsilon not in shared]
        values = [axis.value(point.worth[group]) if group in point.worth else None for point in along]
        return [
            None if value is None else (self._x(left, point.epsilon), _y(top, axis, value))
            for point, value in zip(along, values, strict=True)
        ]

    def _x(self, left: float, epsilon: Fraction) -> float:
        least, most = log2(self._scale[0]), log2(self._scale[-1])
        return left + INSIDE + (log2(epsilon) - least) / (most - least) * (self._wide - 2 * INSIDE)


# --- measures -------------------------------------------------------------------------------------------------------


def _axes(comparison: Comparison) -> tuple[Axis, Axis, Axis]:
    every = [point.worth[group] for point in comparison.points for group in comparison.groups if point.worth]
    added_up = "A part’s total, added up from published cells, is off by"
    beyond = any((worth.total_error or 0) > HIGHEST_SHARE for worth in every)
    return (
        Axis("Trips in published cells, of all that are counted", lambda worth: worth.trip_share, float, QUARTERS),
        _decades("A published number is off by, on average", lambda worth: worth.number_error, every, _plain),
        _decades(added_up, lambda worth: worth.total_error, every, _percent)
        if beyond
        else Axis(added_up, lambda worth: worth.total_error, float, QUARTERS),
    )


QUARTERS = [(part / 4, f"{25 * part} %") for part in range(5)]
HIGHEST_SHARE = 1.02
"""A total that is off by more needs another axis: noise on empty cells can add up to many times the truth."""


def _decades(
    title: str, value: Callable[[Worth], float | None], every: Sequence[Worth], name: Callable[[float], str]
) -> Axis:
    """Each step is ten times as much; an error of 0 lies at the bottom."""
    found = [error for worth in every if (error := value(worth))] or [1.0]
    low = floor(log10(min(found)))
    high = max(ceil(log10(max(found))), low + 1)
    ticks = [(10.0**power, name(10.0**power)) for power in range(low, high + 1)]
    return Axis(title, value, lambda error: (log10(max(error, 10.0**low)) - low) / (high - low), ticks)


def _plain(x: float) -> str:
    return f"{x:,.0f}" if x >= 1 else f"{x:g}"


def _percent(x: float) -> str:
    return f"{_plain(100 * x)} %"


def _y(top: float, axis: Axis, value: float) -> float:
    return top + HIGH * (1 - axis.height(value))


# --- words ----------------------------------------------------------------------------------------------------------


def _shown(comparison: Comparison) -> list[str]:
    """The mechanisms that have a line."""
    present = {point.mechanism for point in comparison.points if not point.impossible}
    return [mechanism for mechanism in (*MECHANISMS, LISTED) if mechanism in present]


def _heading(comparison: Comparison, unit: Unit) -> str:
    per_day, per_card = comparison.bounds[unit]
    if unit == "trip":
        return "any one trip"
    return f"a card’s day, at most {per_day} trips" if unit == "card-day" else f"a whole card, at most {per_card} trips"


def _notes(comparison: Comparison, room: int) -> list[str]:
    """What is not possible, and what the picture does not show."""
    refused: dict[str, list[str]] = {}
    for unit in comparison.units:
        for words in refusals(comparison, unit):
            refused.setdefault(words, []).append(unit)
    reasons = [f"Not possible by {', '.join(units)}: {words}." for words, units in refused.items()]
    notes = [*reasons, " ".join(cautions(comparison)), "Computed from exact counts, for the holder of the trips alone."]
    return [line for note in notes for line in textwrap.wrap(note, room)]


# --- marks ----------------------------------------------------------------------------------------------------------


def _text(
    x: float,
    y: float,
    words: str,
    size: int = 13,
    *,
    bold: bool = False,
    anchor: str = "start",
    colour: str = INK,
) -> str:
    weight = ' font-weight="600"' if bold else ""
    at = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'  <text x="{x:.1f}" y="{y:.1f}" font-size="{size}"{weight}{at} fill="{colour}">{escape(words)}</text>'


def _dashed(group: str) -> bool:
    return group not in (SEVERAL, ALL)


def _line(places: Sequence[tuple[float, float]], mechanism: str, *, dashed: bool = False) -> str:
    path = " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    style = ' stroke-width="1.6" stroke-dasharray="5 3"' if dashed else ' stroke-width="2.2"'
    return f'  <path d="M{path}" fill="none" stroke="{COLOURS[mechanism]}"{style}/>'


def _curve(places: Sequence[tuple[float, float] | None], mechanism: str, *, dashed: bool) -> Iterator[str]:
    for stretch in _stretches(places):
        yield _line(stretch, mechanism, dashed=dashed)
        yield _marks(stretch, mechanism)


def _stretches(places: Sequence[tuple[float, float] | None]) -> Iterator[list[tuple[float, float]]]:
    """Runs without a gap: a line must not cross what is not possible."""
    run: list[tuple[float, float]] = []
    for place in (*places, None):
        if place:
            run.append(place)
        elif run:
            yield run
            run = []


def _marks(places: Sequence[tuple[float, float]], mechanism: str) -> str:
    shape = {"sbh": _square, "laplace": _circle, "gaussian": _triangle, LISTED: _diamond}[mechanism]
    return f'  <path d="{" ".join(shape(x, y) for x, y in places)}" fill="{COLOURS[mechanism]}"/>'


def _square(x: float, y: float) -> str:
    return f"M{x - 3.5:.1f} {y - 3.5:.1f} h7 v7 h-7 z"


def _circle(x: float, y: float) -> str:
    return f"M{x - 4:.1f} {y:.1f} a4 4 0 1 0 8 0 a4 4 0 1 0 -8 0 z"


def _triangle(x: float, y: float) -> str:
    return f"M{x - 4.8:.1f} {y + 3.4:.1f} h9.6 l-4.8 -8.2 z"


def _diamond(x: float, y: float) -> str:
    return f"M{x:.1f} {y - 5:.1f} l5 5 l-5 5 l-5 -5 z"


def _ring(x: float, y: float) -> str:
    return f'  <circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="#ffffff" stroke="{INK}" stroke-width="2"/>'


def _cross(x: float, y: float, colour: str) -> str:
    return f'  <path d="M{x - 3.5:.1f} {y - 3.5:.1f} l7 7 m0 -7 l-7 7" stroke="{colour}" stroke-width="1.6"/>'


def _apart(ends: dict[str, float], top: float, bottom: float) -> dict[str, float]:
    """The labels' heights: near their lines, not on top of each other, and inside the panel."""
    order = sorted(ends, key=lambda name: ends[name])
    heights = [ends[name] for name in order]
    for _ in range(100):
        heights = [min(max(height, top), bottom) for height in heights]
        for above in range(len(heights) - 1):
            short = GAP - (heights[above + 1] - heights[above])
            if short > 0:
                heights[above] -= short / 2
                heights[above + 1] += short / 2
    return dict(zip(order, heights, strict=True))
