"""The picture: CPU time against trips, both in steps of ten times, a line for each contender. SVG, written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log10

from benchmarks.compare.contenders import CONTENDERS, OURS
from benchmarks.compare.results import Results
from tapveil.base.svg import LETTER, ON_PAPER, SHAPES, Place, apart, box, decades, line, marks, picture, plain, text

WIDTH, HEIGHT = 960, 560
LEFT, TOP, WIDE, HIGH = 70, 80, 690, 410
COLOURS = ("#d55e00", "#007a5a", "#8a4f9e", "#8c6d00", "#a0325a", "#3d5a80")
"""Of the peers. Every line has its name beside it, so nobody needs to tell colours apart."""


@dataclass(frozen=True)
class Axes:
    """Powers of ten, from and to."""

    trips: tuple[int, int]
    seconds: tuple[int, int]

    def place(self, trips: float, seconds: float) -> Place:
        return (
            LEFT + WIDE * _part(trips, *self.trips),
            TOP + HIGH * (1 - _part(seconds, *self.seconds)),
        )


def _part(number: float, low: int, high: int) -> float:
    return (log10(number) - low) / (high - low)


def svg(results: Results) -> str:
    """The whole picture, dark on its own paper: it can be read on light and dark pages."""
    said = "CPU seconds of a release against the number of trips, both on logarithmic scales, a line per contender."
    return picture(WIDTH, HEIGHT, said, _body(results)) + "\n"


def _body(results: Results) -> Iterator[str]:
    yield box(0, 0, WIDTH, HEIGHT, ON_PAPER.paper)
    yield text(20, 32, "What six tables cost", 18, colour=ON_PAPER.ink, bold=True)
    yield text(20, 54, "seconds of CPU; each step is ten times as much", 13, colour=ON_PAPER.pale)
    points = {name: list(_points(results, name)) for name in results.contenders}
    points = {name: found for name, found in points.items() if found}
    everything = [point for found in points.values() for point in found]
    if not everything:
        return
    trips, seconds = zip(*everything, strict=True)
    axes = Axes(decades(min(trips), max(trips)), decades(min(seconds), max(seconds)))
    yield from _grid(axes)
    lines = {name: [axes.place(*point) for point in found] for name, found in points.items()}
    for name, places in lines.items():
        yield from _line(name, places)
    yield from _names(lines)


def _points(results: Results, name: str) -> Iterator[tuple[float, float]]:
    for trips in results.sizes:
        seconds = results.median(name, trips, "cpu_seconds")
        if seconds:
            yield trips, seconds


def _grid(axes: Axes) -> Iterator[str]:
    for power in range(axes.seconds[0], axes.seconds[1] + 1):
        _, y = axes.place(10.0 ** axes.trips[0], 10.0**power)
        yield line([(LEFT, y), (LEFT + WIDE, y)], ON_PAPER.grid)
        yield text(LEFT - 8, y + 4, plain(10.0**power), 12, colour=ON_PAPER.pale, anchor="end")
    for power in range(axes.trips[0], axes.trips[1] + 1):
        x, _ = axes.place(10.0**power, 10.0 ** axes.seconds[0])
        yield line([(x, TOP), (x, TOP + HIGH)], ON_PAPER.grid)
        yield text(x, TOP + HIGH + 20, plain(10.0**power), 12, colour=ON_PAPER.pale, anchor="middle")
    yield text(LEFT + WIDE / 2, TOP + HIGH + 44, "trips", 13, colour=ON_PAPER.pale, anchor="middle")


def _line(name: str, places: list[Place]) -> Iterator[str]:
    bare = name.startswith("bare")
    yield line(places, colour(name), 3 if name == OURS else 1.8, dashes="5 4" if bare else "")
    yield marks(places, _shape(name), colour(name), 5 if name == OURS else 3.5)


def _names(lines: dict[str, list[Place]]) -> Iterator[str]:
    """Each beside the end of its line; lines that end at the same number of trips make room for each other."""
    for end in sorted({places[-1][0] for places in lines.values()}):
        heights = {name: places[-1][1] for name, places in lines.items() if places[-1][0] == end}
        for name, height in apart(heights, TOP, TOP + HIGH, gap=16).items():
            yield box(end + 8, height - 8, 13 * LETTER * len(name), 16, ON_PAPER.paper, opacity=0.8)  # over other lines
            yield text(end + 10, height + 4, name, 13, colour=colour(name), bold=name == OURS)


def colour(name: str) -> str:
    if name.startswith("bare"):
        return ON_PAPER.pale
    if name.startswith(OURS):
        return ON_PAPER.blue
    peers = [each.name for each in CONTENDERS if each.environment]
    return COLOURS[peers.index(name) % len(COLOURS)] if name in peers else ON_PAPER.ink


def _shape(name: str) -> str:
    names = [each.name for each in CONTENDERS]
    return list(SHAPES)[names.index(name) % len(SHAPES)] if name in names else "circle"
