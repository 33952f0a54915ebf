"""The plots of the report. Each is an SVG of its own, in the colours of the page, and says what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING

from markupsafe import Markup

from tapveil.base import svg
from tapveil.base.numbers import percent
from tapveil.base.svg import ON_PAGE, QUARTERS, Place, area, box, line, marks, plain, shortened, text
from tapveil.base.vocabulary import MISSING
from tapveil.internal import explain
from tapveil.internal.comparison.compare import Comparison
from tapveil.internal.report.model.accuracy import TableAccuracy
from tapveil.internal.report.model.density import Density
from tapveil.internal.report.model.suppression import Group, Strip
from tapveil.privacy.attacker import attacker

if TYPE_CHECKING:
    from tapveil.internal.report.model.changes import Change
    from tapveil.internal.report.model.findings import Findings

_, INK, PALE, GRID, _, BLUE, ORANGE, _ = ON_PAGE
WIDE, NARROW = 980, 470
"""A plot across the page, and one of two side by side."""
ROW, BAR = 30, 14
WIDEST_LABEL = 380
DEEP, DARK = 0.8, 0.6
"""From these shares on, words on a coloured cell change their colour, in light and in dark."""


def _picture(width: float, height: float, said: str, body: Iterable[str]) -> Markup:
    """A whole plot: every text in it was escaped where it was written."""
    return Markup(svg.picture(width, height, said, body))  # noqa: S704


def shares(found: Findings, said: str) -> Markup:
    """What is published of each table, and of a folder what was expected."""
    rows = [
        Bar(each.name, each.share, percent(each.share), each.expected_share if found.folder else None)
        for each in found.tables
    ]
    return bars(rows, said)


def frequencies(found: Findings) -> Markup:
    """What the promise of the plan means, and what the best attacker can do."""
    guarantee, unit = found.plan.guarantee, found.plan.privacy.unit
    best = attacker(list(guarantee.mechanisms.values()), guarantee.loss, guarantee.exposure)
    return Markup(explain.picture(best, unit, f"A {best.verdict} promise", ON_PAGE))  # noqa: S704  escaped there


def refused(found: Findings) -> Markup:
    """Refused rows by reason, against the most frequent one."""
    most = found.reasons[0][1]
    rows = [Bar(reason, rows / most, f"{rows:,}") for reason, rows in found.reasons]
    return bars(rows, "Refused rows by reason", colour=ORANGE, shares=False)


@dataclass(frozen=True)
class Bar:
    """One row: how far it reaches, from 0 to 1, what stands behind it, and where it was expected to end."""

    label: str
    value: float
    words: str
    expected: float | None = None


def bars(rows: Sequence[Bar], said: str, *, colour: str = BLUE, shares: bool = True) -> Markup:
    """Rows one below another; where they are shares, with a scale in quarters."""
    left, bottom = _room_for([row.label for row in rows]), len(rows) * ROW
    wide = WIDE - left - (90 if shares else 150)
    body = []
    for value, name in QUARTERS if shares else ():
        x = left + value * wide
        body.append(line([(x, 0), (x, bottom)], GRID))
        body.append(text(x, bottom + 16, name, 11, colour=PALE, anchor="middle"))
    for number, row in enumerate(rows):
        top = number * ROW + (ROW - BAR) / 2
        body.append(text(left - 10, top + BAR - 2.5, shortened(row.label, left - 12), colour=INK, anchor="end"))
        if shares:
            body.append(box(left, top, wide, BAR, GRID, opacity=0.45, rounded=2))
        body.append(box(left, top, max(row.value * wide, 1.5 if row.value else 0), BAR, colour, rounded=2))
        if row.expected is not None:
            x = left + row.expected * wide
            body.append(line([(x, top - 4), (x, top + BAR + 4)], INK, 2))
        end = wide if shares else row.value * wide
        body.append(text(left + end + 10, top + BAR - 2.5, row.words, colour=INK, bold=True))
    return _picture(WIDE, bottom + (24 if shares else 4), said, body)


def _room_for(labels: Sequence[str]) -> float:
    longest = max((len(label) for label in labels), default=0)
    return min(longest * 13 * svg.LETTER + 24, WIDEST_LABEL)


def strip(found: Strip, name: str) -> Markup:
    """A coloured cell for each mode and day: the more of its trips are lost, the deeper."""
    left, high = min(_room_for(found.rows), 130), 24
    wide = min((NARROW - left - 4) / max(1, len(found.columns)), 64)
    gap, bottom = 2 if wide > 8 else 0.5, len(found.rows) * high
    body = []
    for i, row in enumerate(found.rows):
        y = i * high
        body.append(text(left - 8, y + high / 2 + 4, shortened(row, left - 10, 12), 12, colour=INK, anchor="end"))
        for j, group in enumerate(found.groups[i]):
            x = left + j * wide
            body.append(box(x, y, wide - gap, high - gap, GRID, opacity=0.35))
            if group:
                body.append(box(x, y, wide - gap, high - gap, ORANGE, opacity=max(group.share, 0.02)))
            if group and wide >= 22:
                kind = "deep" if group.share >= DEEP else "dark" if group.share >= DARK else ""
                place = (x + (wide - gap) / 2, y + high / 2 + 3)
                body.append(text(*place, f"{100 * group.share:.0f}", 10, colour=INK, anchor="middle", kind=kind))
    said = f"{name}: the share of trips in cells that are not published, for each part"
    return _picture(NARROW, bottom + 22, said, [*body, *_day_ticks(found.columns, left, wide, bottom)])


def _day_ticks(days: Sequence[str], left: float, wide: float, bottom: float) -> Iterator[str]:
    """As many days as there is room for; in one year, without the year."""
    short = [day[5:] if len(day) == 10 and day[4] == "-" else day for day in days]
    widest = max((len(day) for day in short), default=0) * 11 * svg.LETTER + 8
    every = max(1, int(-(-widest // wide)))
    for number in range(0, len(short), every):
        words, x = shortened(short[number], max(wide * every, 40), 11), left + (number + 0.5) * wide
        beyond = x + len(words) * 11 * svg.LETTER / 2 > NARROW
        yield text(NARROW if beyond else x, bottom + 15, words, 11, colour=PALE, anchor="end" if beyond else "middle")


def hours(groups: Sequence[Group], name: str, noun: str) -> Markup:
    """A column for each hour: what is published below, what is lost on top."""
    left, top, high = 54.0, 8.0, 120.0
    most = max((group.trips for group in groups), default=0) or 1
    wide = (NARROW - left - 6) / max(1, len(groups))
    labels = ["none" if group.label == MISSING else group.label for group in groups]
    every = max(1, int(-(-(max(map(len, labels), default=1) * 11 * svg.LETTER + 6) // wide)))
    body = list(_rising(left, NARROW - 6, most, lambda value: top + high * (1 - value / most)))
    for number, group in enumerate(groups):
        x, kept = left + number * wide, group.trips - group.lost
        body.append(box(x + 1, top + high * (1 - kept / most), wide - 2, high * kept / most, BLUE))
        body.append(box(x + 1, top + high * (1 - group.trips / most), wide - 2, high * group.lost / most, ORANGE))
        if number % every == 0:
            body.append(text(x + wide / 2, top + high + 15, labels[number], 11, colour=PALE, anchor="middle"))
    return _picture(NARROW, top + high + 24, f"{name}: {noun} published and lost, for each hour of the day", body)


def _rising(left: float, right: float, most: float, height: Callable[[float], float]) -> Iterator[str]:
    """Lines across, at round numbers."""
    for value in svg.round_steps(most, 3):
        yield line([(left, height(value)), (right, height(value))], GRID)
        yield text(left - 6, height(value) + 4, plain(value), 11, colour=PALE, anchor="end")


NEARLY_ALL = 0.995


def errors(found: TableAccuracy, name: str) -> Markup:
    """How many numbers are off by how much: columns as the folder has them, a line by the distribution of the noise."""
    left, top, high = 54, 10, 130
    known = [each.errors for each in (found.expected, found.published) if each]
    reach = max(3, *(each.within(NEARLY_ALL) or 0 for each in known))
    step = -(-(2 * reach + 1) // 61)  # more columns could not be distinguished
    starts = list(range(-(reach // step) * step, reach + 1, step))
    expected, *real = ([sum(each.at(start + more) for more in range(step)) for start in starts] for each in known)
    most = max(1e-9, *expected, *(real[0] if real else ()))
    wide = (NARROW - left - 8) / len(starts)

    def place(number: int, value: float) -> Place:
        return left + (number + 0.5) * wide, top + high * (1 - value / most)

    body = list(_rising(left, NARROW - 8, most, lambda value: top + high * (1 - value / most)))
    for number, value in enumerate(real[0] if real else expected):
        x, y = place(number, value)
        body.append(box(x - wide / 2 + 0.5, y, wide - 1, top + high - y, BLUE, opacity=1.0 if real else 0.35))
    through = [place(number, value) for number, value in enumerate(expected)]
    body.append(line(through, ORANGE, 2))
    body.append(marks(through, "circle", ORANGE, 2.2) if len(through) <= 31 else "")
    every = max(1, -(-len(starts) // 9))
    for number, start in enumerate(starts):
        if (number - starts.index(0)) % every == 0:
            words = f"+{start}" if start > 0 else f"{start}".replace("-", "−")
            body.append(text(place(number, 0)[0], top + high + 16, words, 11, colour=PALE, anchor="middle"))
    body.append(text(left + (NARROW - left - 8) / 2, top + high + 34, "error", 12, colour=PALE, anchor="middle"))
    return _picture(NARROW, 186, f"{name}: number of published counts by error", body)


def density(found: Density, name: str, noun: str) -> Markup:
    """The share of trips in cells of at least each size, and the threshold."""
    left, right, top, high, bottom = 54, NARROW - 26.0, 24, 130, 154
    _, end = svg.decades(1, max(2, found.threshold, *(size for size, _ in found.points), 1))

    def place(size: float, share: float) -> Place:
        return left + log10(max(size, 1)) / end * (right - left), top + high * (1 - share)

    body = []
    for value, words in QUARTERS:
        y = place(1, value)[1]
        body.append(line([(left, y), (right, y)], GRID))
        body.append(text(left - 6, y + 4, words, 11, colour=PALE, anchor="end"))
    for power in range(end + 1):
        body.append(text(place(10**power, 0)[0], bottom + 16, plain(10**power), 11, colour=PALE, anchor="middle"))
    words = f"{noun} in the cell, at least"
    body.append(text((left + right) / 2, bottom + 34, words, 12, colour=PALE, anchor="middle"))
    share = found.share(found.threshold)
    x, y = place(found.threshold, share)
    through = [place(*point) for point in found.points]
    if through:
        steps = [(left, through[0][1]), *through, (through[-1][0], bottom)]
        above = [each for each in steps if each[0] >= x]
        body.append(area([(x, bottom), (x, y), *above, (above[-1][0] if above else x, bottom)], BLUE, 0.22))
        body.append(line(steps, BLUE, 2.2))
    body.append(line([(x, top - 6), (x, bottom)], ORANGE, 2, dashes="5 3"))
    at, anchor = (x - 4, "end") if x > NARROW * 0.6 else (x, "start")
    words = f"threshold {found.threshold:,}: {percent(share)}"
    body.append(text(at, top - 11, words, 12, colour=INK, bold=True, anchor=anchor))
    body.append(marks([(x, y)], "circle", ORANGE))
    said = f"{name}: share of {noun} in cells of at least each size, and the smallest published count"
    return _picture(NARROW, 204, said, body)


def epsilons(comparison: Comparison) -> Markup:
    """Published trips against ε."""
    from tapveil.internal.comparison.plot import trips_svg

    return Markup(trips_svg(comparison, ON_PAGE))  # noqa: S704  its texts are escaped


def changes(found: Sequence[Change]) -> Markup:
    """For each change, from where to where the published share goes."""
    left, wide, bottom = 20.0, WIDE - 130.0, len(found) * 46.0
    body = []
    for value, name in QUARTERS:
        x = left + value * wide
        body.append(line([(x, 0), (x, bottom)], GRID))
        body.append(text(x, bottom + 18, name, 11, colour=PALE, anchor="middle"))
    for number, change in enumerate(found):
        y = number * 46 + 32
        now, then = (left + each / change.of * wide for each in (change.before, change.after))
        body += [
            text(left + 4, y - 13, shortened(f"{number + 1}. {change.what}", wide), colour=INK),
            line([(left, y), (left + wide, y)], GRID, 1, dashes="2 3"),
            line([(now, y), (then, y)], BLUE, 5),
            marks([(now, y)], "circle", PALE, 5),
            marks([(then, y)], "circle", BLUE, 6),
            text(left + wide + 14, y + 5, f"+{change.gain:,.0f}", colour=INK, bold=True),
        ]
    return _picture(WIDE, bottom + 26, "Published trips now and after each change", body)
