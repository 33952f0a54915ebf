"""Is it real? What is noise that was added, and what is chance between days: numbers by day, and their contrasts.

A number by day is a true count plus noise of a known variance, and true counts differ from day to day. A contrast is a
weighted sum over days: a mean, a difference of two periods, a slope. Two intervals belong to it:

- that of the noise: what the same contrast of the true counts is;
- that of noise and days: what it would be for days like these. Residuals of the published numbers, after what the day
  of the week explains, contain both, so their spread needs no model of either; Student's t allows for few days. Where
  a history of other weeks is known, how weeks differ from the next is taken into account, too: days of a week are not
  independent (docs/series.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from math import atan, ceil, cos, isinf, log, pi, sin, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
MISS = 0.05
"""The probability that an interval misses."""
CAUTION = 0.7
"""The part of it that chance between days is given: counts are skewed, and a spread is estimated from few days."""
FEWEST = 3
"""Degrees of freedom: with fewer, nothing is said of the days."""
FEWEST_WEEKS = 5
"""Other weeks from which it is estimated how weeks differ."""
CLEAR = 8
"""How many standard deviations of its noise a total must have, for numbers to be compared as shares of it."""


def noise_quantile(miss: float, *, gaussian: bool) -> float:
    """How many standard deviations a sum of noise is off at most, but for this probability.

    Of Laplace noise, that of a single number: of a sum, and of rounded noise, it is less.

    >>> round(noise_quantile(0.05, gaussian=True), 2), round(noise_quantile(0.05, gaussian=False), 2)
    (1.96, 2.12)
    """
    normal = NormalDist().inv_cdf(1 - miss / 2)
    return normal if gaussian else max(normal, -log(miss) / sqrt(2))


@lru_cache(maxsize=4096)
def student_quantile(freedom: int, miss: float) -> float:
    """Student's t: beyond it on both sides with this probability, for whole degrees of freedom.

    By the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4, and bisection.

    >>> [round(student_quantile(n, 0.05), 3) for n in (1, 6, 30, 1000)]
    [12.706, 2.447, 2.042, 1.962]
    """
    low, high = 0.0, 1.0
    while _student_within(high, freedom) < 1 - miss and not isinf(high):
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_within(middle, freedom) < 1 - miss else (low, middle)
    return high


def _student_within(t: float, freedom: int) -> float:
    """P(|T| ≤ t)."""
    if freedom > 400:  # the next order of the normal distribution: off by less than 1e-5
        return 2 * NormalDist().cdf(t * (1 - 1 / (4 * freedom)) / sqrt(1 + t * t / (2 * freedom))) - 1
    angle = atan(t / sqrt(freedom))
    odd = freedom % 2
    term, total = (cos(angle), cos(angle)) if odd else (1.0, 1.0)
    for number in range(3 if odd else 2, freedom - 1, 2):
        term *= cos(angle) ** 2 * (number - 1) / number
        total += term
    if not odd:
        return sin(angle) * total
    return 2 / pi * (angle + (sin(angle) * total if freedom > 1 else 0.0))


@dataclass(frozen=True)
class Panel:
    """Numbers by day: a row for each cell or sum, a column for each day."""

    days: tuple[date, ...]
    counts: Floats
    """The published numbers, without noise that is known; 0 where nothing is published."""
    left_out: Floats
    """How much more there can be at most: what is not published; infinite where that is not known."""
    noise: Floats
    """The variance of the noise of each number."""
    gaussian: bool = False

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """The rows of which every day is published."""
        found: npt.NDArray[np.bool_] = (self.left_out == 0).all(axis=1)
        return found

    def of(self, chosen: Sequence[int] | npt.NDArray[np.intp]) -> Panel:
        """Some of the days."""
        days = tuple(self.days[place] for place in chosen)
        parts = (self.counts, self.left_out, self.noise)
        counts, left_out, noise = (each[:, list(chosen)] for each in parts)
        return replace(self, days=days, counts=counts, left_out=left_out, noise=noise)


@dataclass(frozen=True)
class Contrast:
    """A weighted sum over days for each row, and both of its intervals; NaN where one is not known."""

    value: Floats
    noise_low: Floats
    noise_high: Floats
    low: Floats
    high: Floats

    @property
    def real(self) -> npt.NDArray[np.float64]:
        """1 where the interval of noise and days has one sign, 0 where it has not, NaN where it is not known."""
        found = ((self.low > 0) | (self.high < 0)).astype(float)
        found[np.isnan(self.low)] = np.nan
        return found


def strata(days: Sequence[date], freedom: int = FEWEST, others: int = 0) -> Floats:
    """Which days are alike, as columns of a design: the days of the week; or its kinds, or none, if days are few."""
    names = [day.weekday() for day in days]
    for labels in (names, [max(name, 4) for name in names], [name > 4 for name in names]):
        kinds = sorted(set(labels))
        if len(days) - len(kinds) - others >= freedom:
            return np.array([[float(label == kind) for kind in kinds] for label in labels])
    return np.ones((len(days), 1))


def _residual(counts: Floats, design: Floats) -> tuple[Floats, int]:
    """The variance of numbers around what a design explains, and its degrees of freedom."""
    freedom = len(design) - int(np.linalg.matrix_rank(design))
    if freedom < FEWEST:
        return np.full(len(counts), np.nan), 0
    explained = design @ np.linalg.pinv(design)
    rest = counts - counts @ explained.T
    return (rest**2).sum(axis=1) / freedom, freedom


def _between_weeks(history: Panel) -> tuple[Floats, int]:
    """The variance of the mean of a week, from how each week differs from the next: a slow trend is no chance.

    Von Neumann (1941); two thirds of the weeks as degrees of freedom are on the safe side.
    """
    weeks = dict[tuple[int, int], list[int]]()
    for place, day in enumerate(history.days):
        weeks.setdefault(day.isocalendar()[:2], []).append(place)
    whole = [places for places in weeks.values() if len(places) == 7]
    if len(whole) < FEWEST_WEEKS:
        return np.full(len(history.counts), np.nan), 0
    means = np.stack([history.counts[:, places].mean(axis=1) for places in whole], axis=1)
    return (np.diff(means, axis=1) ** 2).mean(axis=1) / 2, 2 * (len(whole) - 1) // 3


def _chance(
    counts: Floats, design: Floats, weights: Floats, miss: float, week: tuple[Floats, int], weeks: float
) -> Floats:
    """How far a contrast is off by noise and days: from residuals of days, or from weeks if these differ by more."""
    (variance, freedom), half = _residual(counts, design), np.full(len(counts), np.nan)
    if freedom:
        half = student_quantile(freedom, CAUTION * miss) * np.sqrt(variance * float((weights**2).sum()))
    if week[1]:
        half = np.fmax(half, student_quantile(week[1], CAUTION * miss) * np.sqrt(week[0] * weeks))
    return half


def _contrast(
    panel: Panel, weights: Floats, design: Floats, miss: float, week: tuple[Floats, int] | None = None, weeks: float = 0
) -> Contrast:
    """A contrast of each row, its days being explained by a design."""
    value = panel.counts @ weights
    below = np.where(weights < 0, weights, 0.0)
    above = np.where(weights > 0, weights, 0.0)
    with np.errstate(invalid="ignore"):
        under, over = (
            np.nan_to_num(panel.left_out * each, nan=0.0, posinf=np.inf, neginf=-np.inf).sum(axis=1)
            for each in (below, above)
        )
    step = float(np.abs(weights).max())
    spread = np.sqrt(panel.noise @ weights**2) * noise_quantile(miss, gaussian=panel.gaussian)
    noise = np.ceil(spread / step - 1e-9) * step  # whole counts, away from zero
    chance = _chance(panel.counts, design, weights, miss, week or (value, 0), weeks)
    # The residuals contain the noise; by chance they can be too small for it.
    chance = np.where(panel.complete, np.maximum(chance, noise), np.nan)
    number = np.where(panel.complete, value, np.nan)
    return Contrast(number, value + under - noise, value + over + noise, value - chance, value + chance)


def mean(panel: Panel, miss: float = MISS) -> Contrast:
    """The mean of a day."""
    return _rounded(_contrast(panel, np.full(len(panel.days), 1 / len(panel.days)), strata(panel.days), miss))


def change(after: Panel, before: Panel, history: Panel | None = None, miss: float = MISS) -> Contrast:
    """By how much a mean day of a period differs from that of an earlier one, days of the week being compared alike.

    History: numbers of more days, for how much days and weeks differ; those of both periods may be among them.
    """
    days = (*before.days, *after.days)
    parts = [(each.counts, each.left_out, each.noise) for each in (before, after)]
    counts, left_out, noise = (np.concatenate(pair, axis=1) for pair in zip(*parts, strict=True))
    panel = Panel(days, counts, left_out, noise, before.gaussian and after.gaussian)
    late = np.array([0.0] * len(before.days) + [1.0] * len(after.days))
    alike = _common(before.days, after.days, late)
    weights = np.linalg.pinv(np.column_stack([alike, late]))[-1]
    weights[np.abs(weights) < 1e-12] = 0.0
    found = _contrast(panel, weights, np.column_stack([strata(days, others=1), late]), miss)
    if (residual := _as_products(panel, late)) is not None:
        quantiles = {each: student_quantile(each, CAUTION * miss) for each in set(residual[1].tolist())}
        quantile = np.array([quantiles[each] for each in residual[1].tolist()])
        half = quantile * np.sqrt(residual[0] * float((weights**2).sum()))
        half = np.maximum(half, (found.noise_high - found.noise_low) / 2)
        found = _around(found, half, panel.complete & ~np.isnan(half))
    if history is None or len(history.days) <= len(days):
        return _rounded(found)
    periods = [[float(day in period.days) for day in history.days] for period in (before, after)]
    design = np.column_stack([strata(history.days, others=2), *periods])
    rest = [place for place, day in enumerate(history.days) if day not in days]
    weeks = 7 / len(before.days) + 7 / len(after.days)
    half = _chance(history.counts, design, weights, miss, _between_weeks(history.of(rest)), weeks)
    known = panel.complete & history.complete
    return _rounded(_around(found, np.maximum(half, (found.noise_high - found.noise_low) / 2), known))


def _around(found: Contrast, half: Floats, known: npt.NDArray[np.bool_]) -> Contrast:
    """A contrast with another interval of noise and days, in the rows where that is known."""
    low, high = (np.where(known, found.value + side * half, own) for side, own in ((-1, found.low), (1, found.high)))
    return replace(found, low=low, high=high)


def _rounded(found: Contrast) -> Contrast:
    """Without errors of floating point: a difference of nothing is 0, and what ends at 0 is not beyond it."""
    parts = (found.value, found.noise_low, found.noise_high, found.low, found.high)
    return Contrast(*(np.round(each, 9) + 0.0 for each in parts))


def _as_products(panel: Panel, late: Floats) -> tuple[Floats, npt.NDArray[np.int64]] | None:
    """The residual variance of two periods of whole weeks, and its degrees of freedom, in numbers that are products.

    A change is mostly a share: a tenth more of a Monday is more than a tenth of a Sunday. So a number is expected to be
    that of its day of the week, times that of its period, and not their sum, which would take the growth of busy days
    for chance. Busy days also vary by more, so that fewer days count (Satterthwaite 1946): a variance is that of the
    noise, of trips that happen each by itself, and a share of the number. NaN where the total is hardly more than its
    noise, so that there are no shares of it. None where periods are no whole weeks.
    """
    names = np.array([day.weekday() for day in panel.days])
    cells = [[np.flatnonzero((names == name) & (late == period)) for period in (0, 1)] for name in range(7)]
    sizes = {(period, len(cells[name][period])) for name in range(7) for period in (0, 1)}
    if len(sizes) > 2 or (0, 0) in sizes or (1, 0) in sizes:
        return None
    means = np.stack([[panel.counts[:, own].mean(axis=1) for own in pair] for pair in cells])  # day × period × row
    total = means.sum(axis=(0, 1))
    products = means.sum(axis=1, keepdims=True) * means.sum(axis=0, keepdims=True) / np.where(total > 0, total, 1)
    of_total = sum(panel.noise[:, own].mean(axis=1) / len(own) for pair in cells for own in pair)
    clear = (total > 0) & (total**2 >= CLEAR**2 * of_total)
    squares = np.zeros(len(panel.counts))
    for name, pair in enumerate(cells):
        for period, own in enumerate(pair):
            squares += ((panel.counts[:, own] - products[name, period][:, None]) ** 2).sum(axis=1)
    freedom = len(panel.days) - 8
    variance = np.where(clear, squares / freedom, np.nan)
    level, noise = np.maximum(means.mean(axis=1), 0), panel.noise.mean(axis=1)  # day × row
    share = np.maximum(squares / freedom - noise - level.mean(axis=0), 0) / np.maximum((level**2).mean(axis=0), 1)
    each = noise + level + share * level**2
    as_many = np.where(
        noise + level.sum(axis=0) > 0, each.sum(axis=0) ** 2 / np.maximum((each**2).sum(axis=0), 1e-9), 7
    )
    return variance, np.maximum(np.rint(freedom * as_many / 7), 1).astype(np.int64)


def _common(before: Sequence[date], after: Sequence[date], late: Floats) -> Floats:
    """The strata by which both periods are compared: the finest that both have days of."""
    days = (*before, *after)
    names = [day.weekday() for day in days]
    for labels in (names, [max(name, 4) for name in names], [name > 4 for name in names]):
        if set(labels[: len(before)]) == set(labels[len(before) :]):
            kinds = sorted(set(labels))
            return np.array([[float(label == kind) for kind in kinds] for label in labels])
    return np.ones((len(days), 1))


def trend(panel: Panel, miss: float = MISS) -> Contrast:
    """By how much a day changes in a week, along the straight line that fits best."""
    alike = strata(panel.days, others=1)
    time = np.array([(day - panel.days[0]).days / 7 for day in panel.days])
    design = np.column_stack([alike, time])
    weights = np.linalg.pinv(design)[-1]
    weeks = dict[tuple[int, int], list[float]]()
    for day, weight in zip(panel.days, weights.tolist(), strict=True):
        weeks.setdefault(day.isocalendar()[:2], []).append(weight)
    weighted = sum(sum(each) ** 2 for each in weeks.values())
    return _rounded(_contrast(panel, weights, design, miss, _between_weeks(panel), weighted))


def share(part: Panel, whole: Panel, miss: float = MISS) -> Contrast:
    """The part of a whole over all days, between 0 and 1: the sum of one by the sum of the other."""
    total = whole.counts.sum(axis=1)
    total = np.where(total > 0, total, np.nan)
    value = part.counts.sum(axis=1) / total
    spread = np.sqrt(part.noise.sum(axis=1) + value**2 * whole.noise.sum(axis=1))
    half = np.ceil(spread * noise_quantile(miss, gaussian=part.gaussian and whole.gaussian)) / total
    over, hidden = part.left_out.sum(axis=1) / total, whole.left_out.sum(axis=1)
    low, high = value * total / (total + hidden) - half, value + over + half
    rest, number = part.counts - value[:, None] * whole.counts, len(part.days)
    chance = np.full(len(value), np.nan)
    if number > FEWEST:
        deviation = rest.std(axis=1, ddof=1) * sqrt(number) / total
        chance = student_quantile(number - 1, CAUTION * miss) * deviation
    complete = part.complete & whole.complete
    chance = np.where(complete, np.maximum(chance, half), np.nan)
    ends = [np.maximum(each, 0.0) for each in (low, high, value - chance, value + chance)]
    return Contrast(np.where(complete, value, np.nan), *ends)


def adjusted(miss: float, comparisons: int) -> float:
    """The probability for each of several comparisons, so that all of them hold together (Bonferroni).

    >>> adjusted(0.05, 10)
    0.005
    """
    return miss / max(comparisons, 1)


def expected_by_chance(comparisons: int, miss: float = MISS) -> float:
    """How many of several comparisons look real though nothing changed, at most on average.

    >>> expected_by_chance(7), expected_by_chance(120)
    (0.4, 6.0)
    """
    return ceil(10 * comparisons * miss - 1e-9) / 10
