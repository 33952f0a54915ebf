"""The result of an intruder test as a picture and as a part of a page: how often each attack is right, with limits.

One strip per attack and way to publish: a mark for what was measured, a line for its limits, a tick for guessing, and
a bracket for the bound. Works without a network and without scripts.
"""

from __future__ import annotations

from collections.abc import Iterator

from tapveil.base import svg
from tapveil.internal.intruder.result import PLANNED, Findings, Result, grouped
from tapveil.internal.intruder.words import (
    GENERATED,
    HEADINGS,
    KNOWS,
    STRENGTH,
    percent,
    row,
    unprotected,
    verdict,
)

WIDTH, LEFT, RIGHT, ROW, TOP, HEAD, BOTTOM = 720.0, 230.0, 60.0, 22.0, 36.0, 30.0, 34.0


def picture(findings: Findings, colours: svg.Colours = svg.ON_PAPER) -> str:
    """All attacks, one below the other."""
    groups = grouped(findings.results)
    height = TOP + sum(HEAD + ROW * len(results) for results in groups.values()) + BOTTOM
    said = "; ".join(
        f"{attack}: " + ", ".join(f"{each.method} {percent(each.success)}" for each in results)
        for attack, results in groups.items()
    )
    return svg.picture(WIDTH, height, f"How often an intruder is right. {said}", _body(findings, height, colours))


def fragment(findings: Findings) -> str:
    """For a page: the picture in the page's colours, the table below it, and what both mean."""
    head = "".join(f'<th scope="col">{svg.escape(name)}</th>' for name in HEADINGS)
    rows = "".join(_row(each) for results in grouped(findings.results).values() for each in results)
    knows = "".join(f"<dt>{svg.escape(name)}</dt><dd>{svg.escape(words)}</dd>" for name, words in KNOWS.items())
    notes = (STRENGTH, unprotected(findings), verdict(findings), GENERATED)
    return (
        f'<section class="intruder">\n{picture(findings, svg.ON_PAGE)}\n<dl>{knows}</dl>\n'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>\n"
        + "\n".join(f"<p>{svg.escape(note)}</p>" for note in notes if note)
        + "\n</section>"
    )


def _row(result: Result) -> str:
    first, *others = row(result)
    cells = "".join(f"<td>{svg.escape(text)}</td>" for text in others)
    return f'<tr><th scope="row">{svg.escape(first)}</th>{cells}</tr>'


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _body(findings: Findings, height: float, colours: svg.Colours) -> Iterator[str]:
    yield svg.box(0, 0, WIDTH, height, colours.paper)
    for share, label in svg.QUARTERS:
        yield svg.line([(_x(share), TOP - 8), (_x(share), height - BOTTOM)], colours.grid)
        yield svg.text(_x(share), TOP - 14, label, 11, colour=colours.pale, anchor="middle")
    y = TOP
    for attack, results in grouped(findings.results).items():
        y += HEAD
        yield svg.text(0, y - 10, attack, colour=colours.ink, bold=True)
        for each in results:
            yield from _strip(each, y + ROW / 2, colours)
            y += ROW
    legend = "square or circle: measured, with 95 % limits · tick: by guessing · bracket: at most, by the promise"
    yield svg.text(0, height - 10, legend, 11, colour=colours.pale)


def _strip(result: Result, y: float, colours: svg.Colours) -> Iterator[str]:
    planned = result.method in PLANNED
    colour = colours.alarm if result.exceeds else colours.blue if planned else colours.orange
    yield svg.text(12, y + 4, result.method, 12, colour=colours.ink, bold=planned)
    yield svg.line([(_x(result.baseline), y - 7), (_x(result.baseline), y + 7)], colours.pale, 1.5)
    if result.bound is not None and result.bound < 1:
        at = _x(result.bound)
        yield svg.line([(at - 4, y - 7), (at, y - 7), (at, y + 7), (at - 4, y + 7)], colours.green, 1.5)
    yield svg.line([(_x(result.low), y), (_x(result.high), y)], colour, 3)
    yield svg.marks([(_x(result.success), y)], "circle" if planned else "square", colour)
    yield svg.text(WIDTH - RIGHT + 12, y + 4, percent(result.success), 12, colour=colours.ink)
