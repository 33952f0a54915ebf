"""A comparison as a picture: a row for each measure, a column for each unit, a line for each mechanism. SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import log2, log10
from pathlib import Path

from tapveil.base import svg as draw
from tapveil.internal.comparison.compare import ALL, EPSILONS, LISTED, MECHANISMS, SEVERAL, Comparison, Point
from tapveil.internal.comparison.forecast import Worth
from tapveil.internal.comparison.screen import cautions, refusals
from tapveil.internal.confidential import NOTICE, write_internal
from tapveil.privacy.rational import decimal_text
from tapveil.privacy.units import Unit

LEFT, TOP, HIGH = 78, 236, 180
"""Where the first panel is, and how high each is."""
WIDTHS = (560, 310, 220)
"""How wide a panel is, where there are one, two or three of them side by side."""
BESIDE, DOWN = 128, HIGH + 116
"""From a panel to the next one on its right, and from the top of one to the top of the one below."""
ALARM = 30
"""How high the notice is, above all else."""
BELOW_TITLE = 94
"""How much higher all of it is where there is no title."""
INSIDE = 14
"""Between the frame of a panel and its first and last ε."""
SHAPES = {"sbh": "square", "laplace": "circle", "gaussian": "triangle", LISTED: "diamond"}


def write_plot(path: Path, comparison: Comparison) -> None:
    """The picture, as a file that was not there and that only its owner may read."""
    write_internal(path, svg(comparison), ".svg")


@dataclass(frozen=True)
class Axis:
    """A measure, and where on the way from the bottom of a panel, 0, to its top, 1, it is."""

    title: str
    value: Callable[[Worth], float | None]
    height: Callable[[float], float]
    ticks: Sequence[tuple[float, str]]


def svg(comparison: Comparison) -> str:
    """The whole picture, as a file of its own."""
    return _Picture(comparison, _axes(comparison), draw.ON_PAPER).svg() + "\n"


def trips_svg(comparison: Comparison, colours: draw.Colours) -> str:
    """Published trips alone, for a page that has a heading and notes of its own."""
    return _Picture(comparison, _axes(comparison)[:1], colours, headed=False).svg()


class _Picture:
    def __init__(
        self, comparison: Comparison, axes: Sequence[Axis], colours: draw.Colours, *, headed: bool = True
    ) -> None:
        self._comparison, self._axes, self._colours, self._headed = comparison, axes, colours, headed
        self._colour = {"sbh": colours.ink, "laplace": colours.blue, "gaussian": colours.orange, LISTED: colours.green}
        present = {point.mechanism for point in comparison.points if not point.impossible}
        self._mechanisms = [mechanism for mechanism in (*MECHANISMS, LISTED) if mechanism in present]
        self._scale = sorted({*EPSILONS, comparison.own.epsilon})
        self._wide = WIDTHS[len(comparison.units) - 1]
        self._across = self._wide + BESIDE
        self._width = len(comparison.units) * self._across + LEFT - 30
        self._top = TOP if headed else TOP - BELOW_TITLE
        self._notes = _notes(comparison, room=self._width // 7) if headed else []
        self._height = self._top + len(axes) * DOWN + 18 * len(self._notes) - (32 if headed else 66)

    def svg(self) -> str:
        said = f"{NOTICE} Published trips and errors against epsilon, for each mechanism and unit."
        return draw.picture(self._width, self._height, said, [f"  <title>{said}</title>", *self._lines()])

    def _lines(self) -> Iterator[str]:
        if self._headed:
            yield draw.box(0, 0, self._width, self._height, self._colours.paper)
            yield from self._head()
        yield from self._legend(self._top - 122)
        for row, axis in enumerate(self._axes):
            top = self._top + row * DOWN
            yield draw.text(20, top - 50, axis.title, 14, bold=True, colour=self._colours.ink)
            for column, unit in enumerate(self._comparison.units):
                yield from self._panel(LEFT + column * self._across, top, unit, axis)
        foot = self._top + len(self._axes) * DOWN - 48
        for number, words in enumerate(self._notes):
            yield self._pale(20, foot + 18 * number, words, 12)

    def _pale(self, x: float, y: float, words: str, size: float = 13, anchor: str = "start") -> str:
        return draw.text(x, y, words, size, colour=self._colours.pale, anchor=anchor)

    def _head(self) -> Iterator[str]:
        """What it is, and whom it is for."""
        title = textwrap.shorten(self._comparison.title, (self._width - 160) // 11, placeholder=" …")
        yield draw.text(20, ALARM + 32, f"Choosing ε: {title}", 18, bold=True, colour=self._colours.ink)
        yield draw.box(0, 0, self._width, ALARM, self._colours.alarm)
        yield draw.text(self._width / 2, 20, NOTICE, 14, bold=True, anchor="middle", colour="#ffffff")
        delta = self._comparison.delta
        at = f"δ = {float(delta):.3g}" if delta else "no δ"
        changed = "replaced by another" if self._comparison.neighbours == "replace" else "added or left out"
        words = f"Expected results at other values of ε, with {at}. Protected: any one, {changed}."
        yield self._pale(20, ALARM + 54, words)

    def _legend(self, y: float) -> Iterator[str]:
        """The lines of the mechanisms, and below them the other marks."""
        comparison, x = self._comparison, 20.0
        for mechanism in self._mechanisms:
            yield self._line([(x, y), (x + 34, y)], mechanism)
            yield self._marks([(x + 17, y)], mechanism)
            yield draw.text(x + 42, y + 4, mechanism, bold=True, colour=self._colour[mechanism])
            x += 64 + 9 * len(mechanism)
        x, y = 20.0, y + 24
        for group in comparison.groups if len(comparison.groups) > 1 else ():
            yield self._line([(x, y), (x + 34, y)], "sbh", dashed=_dashed(group))
            yield self._pale(x + 42, y + 4, f"tables of {group}")
            x += 64 + 8 * len(f"tables of {group}")
        yield draw.ring(x + 9, y, self._colours)
        yield self._pale(x + 24, y + 4, "your plan")
        if any(point.impossible and point.mechanism in self._mechanisms for point in comparison.points):
            yield draw.cross(x + 112, y, self._colours.ink)
            yield self._pale(x + 122, y + 4, "not possible")

    def _panel(self, left: float, top: float, unit: Unit, axis: Axis) -> Iterator[str]:
        per_day, per_card = self._comparison.bounds[unit]
        headings = {
            "trip": "any one trip",
            "card-day": f"a card’s day, at most {per_day} trips",
            "card": f"a whole card, at most {per_card} trips",
        }
        yield draw.text(left, top - 29, headings[unit], colour=self._colours.ink)
        yield from self._frame(left, top, axis)
        ends: dict[str, float] = {}
        for number, mechanism in enumerate(self._mechanisms):
            points = [point for point in self._comparison.of(unit) if point.mechanism == mechanism]
            for group in sorted(self._comparison.groups, key=_dashed):
                places = self._places(left, top, axis, group, points)
                for _, run in groupby(places, key=bool):  # a line must not cross what is not possible
                    if stretch := [place for place in run if place]:
                        yield self._line(stretch, mechanism, dashed=_dashed(group))
                        yield self._marks(stretch, mechanism)
                if there := [place for place in places if place]:
                    ends.setdefault(mechanism, there[-1][1])
            for point in points if mechanism not in self._comparison.never(unit) else ():
                if point.impossible:
                    yield draw.cross(
                        self._x(left, point.epsilon), top + HIGH - 14 - 12 * number, self._colour[mechanism]
                    )
        for mechanism, y in draw.apart(ends, top, top + HIGH).items():
            yield draw.text(left + self._wide + 5, y + 4, mechanism, bold=True, colour=self._colour[mechanism])
        yield from self._own(left, top, unit, axis)

    def _frame(self, left: float, top: float, axis: Axis) -> Iterator[str]:
        for value, name in axis.ticks:
            y = _y(top, axis, value)
            yield draw.line([(left, y), (left + self._wide, y)], self._colours.grid)
            yield self._pale(left - 6, y + 4, name, 11, anchor="end")
        for epsilon in EPSILONS:  # the plan's own has a label above the panel
            x = self._x(left, epsilon)
            yield draw.line([(x, top + HIGH), (x, top + HIGH + 4)], self._colours.pale)
            yield self._pale(x, top + HIGH + 17, decimal_text(epsilon, 3), 11, anchor="middle")
        yield self._pale(left + self._wide / 2, top + HIGH + 33, "total ε", 12, anchor="middle")

    def _own(self, left: float, top: float, unit: Unit, axis: Axis) -> Iterator[str]:
        """The plan itself: a line down from its label, and a ring around each of its values."""
        own = self._comparison.own
        if unit != own.unit:
            return
        x = self._x(left, own.epsilon)
        yield draw.line([(x, top - 9), (x, top + HIGH)], self._colours.pale, dashes="1 3")
        label = f"your plan, ε = {decimal_text(own.epsilon, 3)}"
        yield draw.text(x, top - 13, label, 11, bold=True, anchor="middle", colour=self._colours.ink)
        for group in self._comparison.groups:
            for place in self._places(left, top, axis, group, [own]):
                if place:
                    yield draw.ring(*place, self._colours)
                    yield self._marks([place], own.mechanism)

    def _places(
        self, left: float, top: float, axis: Axis, group: str, points: Sequence[Point]
    ) -> list[draw.Place | None]:
        """Where points lie, from the least ε on. Where the plan's own tables differ from shared ones, it is no part."""
        shared = {point.epsilon for point in points if not point.own}
        along = [point for point in points if not point.own or point.epsilon not in shared]
        values = [axis.value(point.worth[group]) if group in point.worth else None for point in along]
        return [
            None if value is None else (self._x(left, point.epsilon), _y(top, axis, value))
            for point, value in zip(along, values, strict=True)
        ]

    def _x(self, left: float, epsilon: Fraction) -> float:
        least, most = log2(self._scale[0]), log2(self._scale[-1])
        return left + INSIDE + (log2(epsilon) - least) / (most - least) * (self._wide - 2 * INSIDE)

    def _line(self, places: Sequence[draw.Place], mechanism: str, *, dashed: bool = False) -> str:
        width, dashes = (1.6, "5 3") if dashed else (2.2, "")
        return draw.line(places, self._colour[mechanism], width, dashes=dashes)

    def _marks(self, places: Sequence[draw.Place], mechanism: str) -> str:
        return draw.marks(places, SHAPES[mechanism], self._colour[mechanism])


HIGHEST_SHARE = 1.02
"""A total that is off by more needs another axis: noise on empty cells can add up to many times the truth."""


def _axes(comparison: Comparison) -> tuple[Axis, Axis, Axis]:
    every = [point.worth[group] for point in comparison.points for group in comparison.groups if point.worth]
    added_up = "Error of a part’s total, added up from published cells"
    beyond = any((worth.total_error or 0) > HIGHEST_SHARE for worth in every)
    return (
        Axis("Share of trips in published cells", lambda worth: worth.trip_share, float, draw.QUARTERS),
        _decades("Mean error of a published count", lambda worth: worth.number_error, every, draw.plain),
        _decades(added_up, lambda worth: worth.total_error, every, lambda share: f"{draw.plain(100 * share)} %")
        if beyond
        else Axis(added_up, lambda worth: worth.total_error, float, draw.QUARTERS),
    )


def _decades(
    title: str, value: Callable[[Worth], float | None], every: Sequence[Worth], name: Callable[[float], str]
) -> Axis:
    """Each step is ten times as much; an error of 0 lies at the bottom."""
    found = [error for worth in every if (error := value(worth))] or [1.0]
    low, high = draw.decades(min(found), max(found))
    ticks = [(10.0**power, name(10.0**power)) for power in range(low, high + 1)]
    return Axis(title, value, lambda error: (log10(max(error, 10.0**low)) - low) / (high - low), ticks)


def _y(top: float, axis: Axis, value: float) -> float:
    return top + HIGH * (1 - axis.height(value))


def _dashed(group: str) -> bool:
    return group not in (SEVERAL, ALL)


def _notes(comparison: Comparison, room: int) -> list[str]:
    """What is not possible, and what the picture does not show."""
    refused: dict[str, list[str]] = {}
    for unit in comparison.units:
        for words in refusals(comparison, unit):
            refused.setdefault(words, []).append(unit)
    reasons = [f"Not possible by {', '.join(units)}: {words}." for words, units in refused.items()]
    notes = [*reasons, " ".join(cautions(comparison)), "Computed from exact counts, for the data custodian alone."]
    return [line for note in notes for line in textwrap.wrap(note, room)]
