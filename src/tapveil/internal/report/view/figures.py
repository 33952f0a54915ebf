"""The plots of the report. Each is an SVG of its own, in the colours of the page, and says what it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING

from markupsafe import Markup

from tapveil.base.numbers import percent
from tapveil.base.vocabulary import MISSING
from tapveil.internal.comparison.compare import Comparison
from tapveil.internal.report.model.accuracy import TableAccuracy
from tapveil.internal.report.model.density import Density
from tapveil.internal.report.model.suppression import Group, Strip
from tapveil.internal.svg import (
    LETTER,
    ON_PAGE,
    QUARTERS,
    Place,
    area,
    box,
    decades,
    line,
    marks,
    picture,
    plain,
    round_steps,
    shortened,
    text,
)

if TYPE_CHECKING:
    from tapveil.internal.report.model.changes import Change
    from tapveil.internal.report.model.findings import Findings

INK, PALE, GRID, BLUE, ORANGE = ON_PAGE.ink, ON_PAGE.pale, ON_PAGE.grid, ON_PAGE.blue, ON_PAGE.orange
WIDE, NARROW = 980, 470
"""A plot across the page, and one of two beside each other."""
ROW, BAR = 30, 14
WIDEST_LABEL = 380
DEEP, DARK = 0.8, 0.6
"""From these shares on, words on a coloured cell change their colour, in light and in dark."""


def _picture(width: float, height: float, said: str, body: Iterable[str]) -> Markup:
    """A whole plot: every text in it was escaped where it was written."""
    return Markup(picture(width, height, said, body))  # noqa: S704


# --- bars -----------------------------------------------------------------------------------------------------------


def shares(found: Findings, said: str) -> Markup:
    """What is published of each table, and of a folder what was expected."""
    rows = [
        Bar(each.name, each.share, percent(each.share), each.expected_share if found.folder else None)
        for each in found.tables
    ]
    return bars(rows, said)


def refused(found: Findings) -> Markup:
    """Refused rows by reason, against the most frequent one."""
    most = found.reasons[0][1]
    rows = [Bar(reason, rows / most, f"{rows:,}") for reason, rows in found.reasons]
    return bars(rows, "Refused rows by reason", colour=ORANGE, shares=False)


def epsilons(comparison: Comparison) -> Markup:
    """Published trips against ε."""
    from tapveil.internal.comparison.plot import trips_svg

    return Markup(trips_svg(comparison, ON_PAGE))  # noqa: S704  its texts are escaped


@dataclass(frozen=True)
class Bar:
    """One row: how far it reaches, from 0 to 1, what stands behind it, and where it was expected to end."""

    label: str
    value: float
    words: str
    expected: float | None = None


def bars(rows: Sequence[Bar], said: str, *, colour: str = BLUE, shares: bool = True) -> Markup:
    """Rows one below another; where they are shares, with a scale in quarters."""
    left = _room_for([row.label for row in rows])
    right = 90 if shares else 150
    wide, foot = WIDE - left - right, 24 if shares else 4
    return _picture(WIDE, len(rows) * ROW + foot, said, _bar_lines(rows, left, wide, colour, shares))


def _bar_lines(rows: Sequence[Bar], left: float, wide: float, colour: str, shares: bool) -> Iterator[str]:
    bottom = len(rows) * ROW
    for value, name in QUARTERS if shares else ():
        x = left + value * wide
        yield line([(x, 0), (x, bottom)], GRID)
        yield text(x, bottom + 16, name, 11, colour=PALE, anchor="middle")
    for number, row in enumerate(rows):
        top = number * ROW + (ROW - BAR) / 2
        yield text(left - 10, top + BAR - 2.5, shortened(row.label, left - 12), colour=INK, anchor="end")
        if shares:
            yield box(left, top, wide, BAR, GRID, opacity=0.45, rounded=2)
        yield box(left, top, max(row.value * wide, 1.5 if row.value else 0), BAR, colour, rounded=2)
        if row.expected is not None:
            x = left + row.expected * wide
            yield line([(x, top - 4), (x, top + BAR + 4)], INK, 2)
        end = wide if shares else row.value * wide
        yield text(left + end + 10, top + BAR - 2.5, row.words, colour=INK, bold=True)


def _room_for(labels: Sequence[str]) -> float:
    longest = max((len(label) for label in labels), default=0)
    return min(longest * 13 * LETTER + 24, WIDEST_LABEL)


# --- what is lost where ---------------------------------------------------------------------------------------------


def strip(found: Strip, name: str) -> Markup:
    """A coloured cell for each mode and day: the more of its trips are lost, the deeper."""
    left = min(_room_for(found.rows), 130)
    wide = (NARROW - left - 4) / max(1, len(found.columns))
    wide, high = min(wide, 64), 24
    bottom = len(found.rows) * high
    said = f"{name}: the share of trips in cells that are not published, for each part"
    return _picture(NARROW, bottom + 22, said, _strip_lines(found, left, wide, high, bottom))


def _strip_lines(found: Strip, left: float, wide: float, high: float, bottom: float) -> Iterator[str]:
    gap = 2 if wide > 8 else 0.5
    for i, row in enumerate(found.rows):
        yield text(left - 8, i * high + high / 2 + 4, shortened(row, left - 10, 12), 12, colour=INK, anchor="end")
        for j, group in enumerate(found.groups[i]):
            x, y = left + j * wide, i * high
            yield box(x, y, wide - gap, high - gap, GRID, opacity=0.35)
            if group:
                yield box(x, y, wide - gap, high - gap, ORANGE, opacity=max(group.share, 0.02))
                yield from _cell_words(x + (wide - gap) / 2, y + high / 2 + 3, group.share, wide)
    yield from _day_ticks(found.columns, left, wide, bottom)


def _cell_words(x: float, y: float, share: float, wide: float) -> Iterator[str]:
    if wide >= 22:
        kind = "deep" if share >= DEEP else "dark" if share >= DARK else ""
        yield text(x, y, f"{100 * share:.0f}", 10, colour=INK, anchor="middle", kind=kind)


def _day_ticks(days: Sequence[str], left: float, wide: float, bottom: float) -> Iterator[str]:
    """As many days as there is room for; in one year, without the year."""
    short = [day[5:] if len(day) == 10 and day[4] == "-" else day for day in days]
    widest = max((len(day) for day in short), default=0) * 11 * LETTER + 8
    every = max(1, int(-(-widest // wide)))
    for number in range(0, len(short), every):
        words, x = shortened(short[number], max(wide * every, 40), 11), left + (number + 0.5) * wide
        beyond = x + len(words) * 11 * LETTER / 2 > NARROW
        yield text(NARROW if beyond else x, bottom + 15, words, 11, colour=PALE, anchor="end" if beyond else "middle")


def hours(groups: Sequence[Group], name: str, noun: str) -> Markup:
    """A column for each hour: what is published below, what is lost on top."""
    left, top, high = 54.0, 8.0, 120.0
    said = f"{name}: {noun} published and lost, for each hour of the day"
    return _picture(NARROW, top + high + 24, said, _hour_lines(groups, left, top, high))


def _hour_lines(groups: Sequence[Group], left: float, top: float, high: float) -> Iterator[str]:
    most = max((group.trips for group in groups), default=0) or 1
    wide = (NARROW - left - 6) / max(1, len(groups))
    yield from _rising(left, NARROW - 6, most, lambda value: top + high * (1 - value / most))
    labels = ["none" if group.label == MISSING else group.label for group in groups]
    every = max(1, int(-(-(max(map(len, labels), default=1) * 11 * LETTER + 6) // wide)))
    for number, group in enumerate(groups):
        x, kept = left + number * wide, group.trips - group.lost
        yield box(x + 1, top + high * (1 - kept / most), wide - 2, high * kept / most, BLUE)
        yield box(x + 1, top + high * (1 - group.trips / most), wide - 2, high * group.lost / most, ORANGE)
        if number % every == 0:
            yield text(x + wide / 2, top + high + 15, labels[number], 11, colour=PALE, anchor="middle")


def _rising(left: float, right: float, most: float, height: Callable[[float], float]) -> Iterator[str]:
    """Lines across, at round numbers."""
    for value in round_steps(most, 3):
        yield line([(left, height(value)), (right, height(value))], GRID)
        yield text(left - 6, height(value) + 4, plain(value), 11, colour=PALE, anchor="end")


# --- errors ---------------------------------------------------------------------------------------------------------

NEARLY_ALL = 0.995


def errors(found: TableAccuracy, name: str) -> Markup:
    """How many numbers are off by how much: columns as the folder has them, a line by the distribution of the noise."""
    reach = max(3, found.expected.errors.within(NEARLY_ALL) or 0)
    if found.published:
        reach = max(reach, found.published.errors.within(NEARLY_ALL) or 0)
    said = f"{name}: how many published numbers are off by how much"
    return _picture(NARROW, 186, said, _error_lines(found, reach, 54, 10, 130))


def _error_lines(found: TableAccuracy, reach: int, left: float, top: float, high: float) -> Iterator[str]:
    step = -(-(2 * reach + 1) // 61)  # more columns could not be distinguished
    starts = list(range(-(reach // step) * step, reach + 1, step))
    expected = [sum(found.expected.errors.at(start + each) for each in range(step)) for start in starts]
    real = (
        [sum(found.published.errors.at(start + each) for each in range(step)) for start in starts]
        if found.published
        else []
    )
    most = max(*expected, *real, 1e-9)
    wide = (NARROW - left - 8) / len(starts)

    def place(number: int, value: float) -> Place:
        return left + (number + 0.5) * wide, top + high * (1 - value / most)

    yield from _rising(left, NARROW - 8, most, lambda value: top + high * (1 - value / most))
    for number, value in enumerate(real or expected):
        x, y = place(number, value)
        colour, opacity = (BLUE, 1.0) if real else (BLUE, 0.35)
        yield box(x - wide / 2 + 0.5, y, wide - 1, top + high - y, colour, opacity=opacity)
    through = [place(number, value) for number, value in enumerate(expected)]
    yield line(through, ORANGE, 2)
    yield marks(through, "circle", ORANGE, 2.2) if len(through) <= 31 else ""
    every = max(1, -(-len(starts) // 9))
    middle = starts.index(0)
    for number, start in enumerate(starts):
        if (number - middle) % every == 0:
            words = f"+{start}" if start > 0 else f"{start}".replace("-", "−")
            yield text(place(number, 0)[0], top + high + 16, words, 11, colour=PALE, anchor="middle")
    yield text(left + (NARROW - left - 8) / 2, top + high + 34, "off by", 12, colour=PALE, anchor="middle")


# --- density --------------------------------------------------------------------------------------------------------


def density(found: Density, name: str, noun: str) -> Markup:
    """The share of trips in cells of at least so many, and the threshold."""
    said = f"{name}: the share of {noun} in cells of at least so many, and the least number that is printed"
    return _picture(NARROW, 204, said, _density_lines(found, noun, 54, 24, 130))


def _density_lines(found: Density, noun: str, left: float, top: float, high: float) -> Iterator[str]:
    right = NARROW - 26.0
    _, end = decades(1, max(2, found.threshold, *(size for size, _ in found.points), 1))

    def place(size: float, share: float) -> Place:
        return left + log10(max(size, 1)) / end * (right - left), top + high * (1 - share)

    for value, words in QUARTERS:
        yield line([(left, place(1, value)[1]), (right, place(1, value)[1])], GRID)
        yield text(left - 6, place(1, value)[1] + 4, words, 11, colour=PALE, anchor="end")
    for power in range(end + 1):
        yield text(place(10**power, 0)[0], top + high + 16, plain(10**power), 11, colour=PALE, anchor="middle")
    yield text((left + right) / 2, top + high + 34, f"{noun} in the cell, at least", 12, colour=PALE, anchor="middle")
    through = [place(size, share) for size, share in found.points]
    if through:
        last = (right, place(1, 0)[1])
        steps = [(place(1, 1)[0], through[0][1]), *through, (through[-1][0], last[1])]
        above = [each for each in steps if each[0] >= place(found.threshold, 0)[0]]
        at = place(found.threshold, found.share(found.threshold))
        yield area([(at[0], last[1]), at, *above, (above[-1][0] if above else at[0], last[1])], BLUE, 0.22)
        yield line(steps, BLUE, 2.2)
    yield from _threshold(found, place(found.threshold, 0)[0], top, high)


def _threshold(found: Density, x: float, top: float, high: float) -> Iterator[str]:
    share = found.share(found.threshold)
    yield line([(x, top - 6), (x, top + high)], ORANGE, 2, dashes="5 3")
    on_left = x > NARROW * 0.6
    words = f"threshold {found.threshold:,}: {percent(share)}"
    yield text(
        x + (-4 if on_left else 0), top - 11, words, 12, colour=INK, bold=True, anchor="end" if on_left else "start"
    )
    yield marks([(x, top + high * (1 - share))], "circle", ORANGE)


# --- changes --------------------------------------------------------------------------------------------------------


def changes(found: Sequence[Change]) -> Markup:
    """For each change, from where to where the published share goes."""
    said = "Published trips now and after each change"
    return _picture(WIDE, len(found) * 46 + 26, said, _change_lines(found))


def _change_lines(found: Sequence[Change]) -> Iterator[str]:
    left, wide, bottom = 20.0, WIDE - 130.0, len(found) * 46.0
    for value, name in QUARTERS:
        x = left + value * wide
        yield line([(x, 0), (x, bottom)], GRID)
        yield text(x, bottom + 18, name, 11, colour=PALE, anchor="middle")
    for number, change in enumerate(found):
        y = number * 46 + 32
        now, then = (left + each / change.of * wide for each in (change.before, change.after))
        yield text(left + 4, y - 13, shortened(f"{number + 1}. {change.what}", wide), colour=INK)
        yield line([(left, y), (left + wide, y)], GRID, 1, dashes="2 3")
        yield line([(now, y), (then, y)], BLUE, 5)
        yield marks([(now, y)], "circle", PALE, 5)
        yield marks([(then, y)], "circle", BLUE, 6)
        yield text(left + wide + 14, y + 5, f"+{change.gain:,.0f}", colour=INK, bold=True)
