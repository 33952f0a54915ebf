"""What `benchmarks.world` measured, as Markdown and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tapveil.base import svg
from tapveil.base.svg import ON_PAPER

if TYPE_CHECKING:
    from benchmarks.world import City, Found

QUERIES = ("OD per day", "OD in all", "origin × hour", "origin per day", "OD × hour per day")
NAMES = {
    "gaussian": "thresholds (`gaussian`)",
    "dictionary": "`dictionary`",
    "private-pgm": "private-pgm, 3 000 rounds",
}
WIDTH, LEFT, RIGHT, ROW = 900, 190, 30, 22
LEAST, MOST = 0.1, 1000.0
"""Of the scale, in per cent."""
SHAPES = {
    "estimates": ("triangle", ON_PAPER.orange),
    "gaussian": ("square", ON_PAPER.ink),
    "dictionary": ("circle", ON_PAPER.blue),
    "private-pgm": ("circle", ON_PAPER.green),
}


def section(name: str, truth: City, found: Sequence[Found], draws: int) -> str:
    """The cases of some trips."""
    trips, cells = int(truth.counts.sum()), truth.counts.size
    parts = [f"### {name}\n\n{trips:,} trips, {cells:,} cells of whole trips; mean of {draws} draws.\n"]
    for each in found:
        parts.append(f"**{each.case.name}**\n")
        parts.append("| | " + " | ".join(QUERIES) + " |\n| --- |" + " --: |" * len(QUERIES))
        parts[-1] += "\n" + "\n".join(_rows(each)) + "\n"
        rows = f"{each.empty:.1f} % of estimated trips are in cells that are empty in truth"
        parts.append(f"{rows}; estimating took {each.seconds:.0f} s of CPU time.\n")
        parts += [f"{NAMES[what]}: {why}.\n" for what, why in each.stopped.items()]
    return "\n".join(parts)


def _rows(found: Found) -> Iterator[str]:
    yield _row("error of the estimates", found.errors, "%")
    for what, errors in found.peers.items():
        yield _row(f"error of {NAMES[what]}", errors, "%")
    cells, trips, width = found.held
    yield _row("cells in their intervals", 100 * cells, "%")
    yield _row("trips in cells in their intervals", 100 * trips, "%")
    yield _row("width of intervals, as a multiple of what an oracle needs", width, "")


def _row(name: str, numbers: npt.NDArray[np.float64], unit: str) -> str:
    shown = (f"{number:.3g} {unit}".strip() if number == number else "–" for number in numbers.tolist())
    return f"| {name} | {' | '.join(shown)} |"


def picture(found: Sequence[Found]) -> str:
    """Errors on a scale of powers of ten: a block for each case, a line for each query, a mark for each method."""
    height = 70 + sum(50 + ROW * len(QUERIES) for _ in found)
    said = "Errors of estimates, thresholds, dictionary and private-pgm for five queries."
    return svg.picture(WIDTH, height, said, _drawn(found, height)) + "\n"


def _drawn(found: Sequence[Found], height: float) -> Iterator[str]:
    yield svg.box(0, 0, WIDTH, height, ON_PAPER.paper, rounded=12)
    for number, (name, (shape, colour)) in enumerate(SHAPES.items()):
        yield svg.marks([(LEFT + 170 * number, 22)], shape, colour, 5)
        yield svg.text(LEFT + 170 * number + 10, 27, name if name != "gaussian" else "thresholds", 13, colour=colour)
    top = 50.0
    for each in found:
        yield svg.text(20, top + 14, each.case.name, 14, bold=True, colour=ON_PAPER.ink)
        yield from _block(each, top + 26)
        top += 50 + ROW * len(QUERIES)
    for tick in (0.1, 1, 10, 100, 1000):
        yield svg.text(_x(tick), top + 6, f"{tick:g} %", 12, anchor="middle", colour=ON_PAPER.pale)


def _block(found: Found, top: float) -> Iterator[str]:
    bottom = top + ROW * len(QUERIES)
    for tick in (0.1, 1, 10, 100, 1000):
        yield svg.line([(_x(tick), top), (_x(tick), bottom)], ON_PAPER.grid)
    for number, query in enumerate(QUERIES):
        y = top + ROW * (number + 0.5)
        yield svg.text(LEFT - 10, y + 4, query, 12, anchor="end", colour=ON_PAPER.pale)
        for name, errors in {**found.peers, "estimates": found.errors}.items():
            shape, colour = SHAPES[name]
            if errors[number] == errors[number]:
                yield svg.marks([(_x(float(errors[number])), y)], shape, colour, 5)


def _x(error: float) -> float:
    share = (log10(min(max(error, LEAST), MOST)) - log10(LEAST)) / (log10(MOST) - log10(LEAST))
    return LEFT + share * (WIDTH - LEFT - RIGHT)
