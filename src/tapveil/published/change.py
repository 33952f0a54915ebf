"""Means, differences, trends and shares of published numbers: tables in, tables out; `variation` has the statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tapveil.base.errors import ReaderError
from tapveil.base.vocabulary import COUNT, HIGH, LOW
from tapveil.privacy.distribution import spread, variance
from tapveil.privacy.intervals import MISS, Interval, interval
from tapveil.published import variation
from tapveil.published.columns import Column, texts, whole_numbers
from tapveil.published.variation import Contrast, Panel

if TYPE_CHECKING:
    from tapveil.published.frame import Changes, Frame

DATE, DEFINITION = "date", "definition"
NOISE_LOW, NOISE_HIGH, REAL, MEAN, DAYS = "noise_low", "noise_high", "real", "mean", "days"
Key = tuple[str, ...]


def mean(frame: Frame) -> Frame:
    """The mean of a day."""
    daily = _by_day(frame)
    _one_definition(daily)
    keys, groups = _keys(daily), _groups(daily)
    means = variation.mean(_panel(daily, groups))
    numbers = {DAYS: np.full(len(groups), len(daily.days), np.int64), MEAN: means.value, **_ends(means)}
    chosen = {**daily.chosen, DATE: frozenset(daily.days)}
    cells = {**_columns(keys, groups), **numbers}
    history = frame.history or daily
    found = replace(daily, cells=cells, keys=keys, adds_up=False, history=history, chosen=chosen)
    return replace(found, noise=None, left_out=None, leans=None)  # which are of the numbers of each day


def trend(frame: Frame, comparisons: int = 1) -> Changes:
    """The change of a day per week."""
    from tapveil.published.frame import Changes

    daily = _by_day(frame)
    _one_definition(daily)
    if len(daily.days) < 3:
        raise ReaderError(f"a trend needs at least three days: {', '.join(daily.days) or 'there is none'}")
    keys, groups = _keys(daily), _groups(daily)
    found = variation.trend(_panel(daily, groups), variation.adjusted(variation.MISS, comparisons))
    numbers = {DAYS: np.full(len(groups), len(daily.days), np.int64), "per_week": found.value, **_ends(found)}
    cells = {**_columns(keys, groups), **numbers, REAL: _verdict(found.real)}
    again = partial(trend, frame)
    return Changes(cells, keys, adds_up=False, calendar=daily.calendar, again=again)


def share(frame: Frame, of: Frame) -> Frame:
    """The share of each number in those of another table."""
    from tapveil.published.frame import Frame

    dated = any(DATE in each.keys or each.history is not None for each in (frame, of))
    part, whole = (_by_day(frame), _by_day(of)) if dated else (_counts(frame), _counts(of))
    _one_definition(part, whole)
    days = [each.days if dated else each.calendar.get(DATE, np.array([])).tolist() for each in (part, whole)]
    if days[0] != days[1]:
        raise ReaderError("a share is of the same days: choose them with where() or between() in both tables")
    keys, outer = _keys(part), _keys(whole)
    if other := [key for key in outer if key not in keys]:
        raise ReaderError(f"the whole of a share has no other columns than its parts: add up {other[0]}, or choose one")
    groups = _groups(part)
    places = [keys.index(key) for key in outer]
    wholes = [tuple(group[place] for place in places) for group in groups]
    panel = _panel if dated else _one_column
    found = variation.share(panel(part, groups), panel(whole, wholes))
    cells = {**_columns(keys, groups), "share": found.value, **_ends(found)}
    return Frame(cells, keys, adds_up=False, calendar=part.calendar)


def minus(ours: Frame, theirs: Frame, comparisons: int = 1) -> Changes:
    """The difference of two tables."""
    from tapveil.published.frame import Changes

    if ours.keys != theirs.keys:
        raise ReaderError(f"the tables have different columns: {', '.join(ours.keys)}; {', '.join(theirs.keys)}")
    for key in ours.keys:
        if key not in (DATE, "mode") and ours.known.get(key) != theirs.known.get(key):
            raise ReaderError(
                f"`{key}` has other labels in the two tables, so their cells are not the same: choose one with where()"
            )
    for what, now in ours.definition.items():
        if now != (was := theirs.definition.get(what, now)):
            raise ReaderError(f"the tables count different things, which cannot be compared: {what}: {was} -> {now}")
    if ours.counts is not None and theirs.counts is not None:
        return _minus_per_day(ours, theirs, comparisons)
    miss = variation.adjusted(variation.MISS, comparisons)
    _one_definition(*(each for each in (ours, theirs) if DATE not in each.keys and each.mechanism))
    cells = None if DATE in ours.keys or MEAN in ours.columns else _of_cells(ours, theirs, comparisons)
    dated = DATE in ours.keys or (ours.history is not None and theirs.history is not None)
    if cells is None and not dated:
        raise ReaderError("differences are of published tables, or of their sums: each number has noise of its own")
    keys = tuple(key for key in ours.keys if key != DATE)
    if not dated:
        groups, numbers = cells or ([], {})
        unknown = np.full(len(groups), np.nan)
        numbers |= {LOW: unknown, HIGH: unknown, REAL: _verdict(unknown)}
    else:
        after, before = _by_day(ours), _by_day(theirs)
        _one_definition(after, before)
        groups = cells[0] if cells else sorted({*_groups(after), *_groups(before)})
        history = _history(ours, after, before)
        past = None if history is None else _panel(history, groups)
        found = variation.change(_panel(after, groups), _panel(before, groups), past, miss)
        counted = COUNT in ours.columns and DATE not in ours.keys
        if counted and len(after.days) != len(before.days):
            raise ReaderError(
                f"these are sums over {len(after.days)} and {len(before.days)} days: compare means, with mean()"
            )
        scale = len(after.days) if counted else 1
        value, ends = found.value * scale, {name: each * scale for name, each in _ends(found).items()}
        numbers = {COUNT: _whole(value), **ends} if counted else {MEAN: value, **ends}
        numbers |= cells[1] if cells else {}
        numbers |= {LOW: ends[LOW], HIGH: ends[HIGH], REAL: _verdict(found.real)}
    order = [name for name in (COUNT, MEAN, NOISE_LOW, NOISE_HIGH, LOW, HIGH, REAL) if name in numbers]
    columns = {**_columns(keys, groups), **{name: numbers[name] for name in order}}
    return Changes(columns, keys, adds_up=False, again=partial(minus, ours, theirs))


def _minus_per_day(ours: Frame, theirs: Frame, comparisons: int) -> Changes:
    """The differences of means per day, such as those of two months: what chance between days adds, nobody knows."""
    from tapveil.published.frame import Changes

    frames = [each for each in (ours.counts, theirs.counts) if each is not None]
    mechanisms = [each.mechanism for each in frames if each.mechanism is not None and each.adds_up]
    if len(mechanisms) < 2:
        raise ReaderError("differences of means per day are those of published tables, not of their sums")
    _one_definition(*frames)
    miss = Fraction(MISS, comparisons)
    gaussian = all(each._is_gaussian for each in frames)
    reach = variation.noise_quantile(float(miss) / 2, gaussian=gaussian)
    rules, variances = [interval(each, miss / 4) for each in mechanisms], [variance(each) for each in mechanisms]
    counts = [each._by_key() for each in frames]
    groups, rows = sorted({*counts[0], *counts[1]}), []
    days = zip(*(each._days_of(groups) for each in frames), strict=True)
    for key, numbers_of_days in zip(groups, days, strict=True):
        found = [each.get(key) for each in counts]
        number = [each or float("nan") for each in numbers_of_days]
        if found[0] is not None and found[1] is not None:
            value = found[0] / number[0] - found[1] / number[1]
            half = reach * (variances[0] / number[0] ** 2 + variances[1] / number[1] ** 2) ** 0.5
            rows.append((value, value - half, value + half))
        else:
            (low, high), (their_low, their_high) = (rule.of(each) for rule, each in zip(rules, found, strict=True))
            ends = low / number[0] - their_high / number[1], high / number[0] - their_low / number[1]
            rows.append((float("nan"), *ends))
    columns = np.array(rows, float).reshape(-1, 3).T
    unknown = np.full(len(groups), np.nan)
    numbers = dict(zip((MEAN, NOISE_LOW, NOISE_HIGH), columns, strict=True)) | {LOW: unknown, HIGH: unknown}
    cells = {**_columns(ours.keys, groups), **numbers, REAL: _verdict(unknown)}
    return Changes(cells, ours.keys, adds_up=False, again=partial(minus, ours, theirs))


def adjusted(changes: Changes) -> Changes:
    """The same with intervals that hold together."""
    if changes.again is None:
        raise ReaderError("these differences were chosen from others: adjust them before choosing")
    return replace(changes.again(changes.comparisons), together=changes.comparisons)


# --- cells of one day, each with noise of its own ---------------------------------------------------------------------


def _of_cells(ours: Frame, theirs: Frame, comparisons: int) -> tuple[list[Key], dict[str, Column]] | None:
    """The differences of published cells, with exact intervals; None where these are no such cells."""
    if ours.mechanism is None or theirs.mechanism is None or not (ours.adds_up and theirs.adds_up):
        return None
    miss = Fraction(MISS, comparisons)
    # Half of the misses for cells that are both there; of the other half, half for each cell by itself.
    half = spread(Counter([ours.mechanism, theirs.mechanism]), miss / 2)
    rules = [interval(mechanism, miss / 4) for mechanism in (ours.mechanism, theirs.mechanism)]
    first, second = ours._by_key(), theirs._by_key()
    groups = sorted({*first, *second})
    rows = [_difference(first.get(key), second.get(key), half, rules) for key in groups]
    names = (COUNT, NOISE_LOW, NOISE_HIGH)
    return groups, {name: whole_numbers([row[index] for row in rows]) for index, name in enumerate(names)}


def _difference(
    ours: int | None, theirs: int | None, half: int, rules: Sequence[Interval]
) -> tuple[int | None, int, int]:
    """The difference, and its interval; no number where one of them was not published."""
    if ours is not None and theirs is not None:
        return ours - theirs, ours - theirs - half, ours - theirs + half
    (low, high), (their_low, their_high) = (rule.of(count) for rule, count in zip(rules, (ours, theirs), strict=True))
    return None, low - their_high, high - their_low


# --- numbers by day ---------------------------------------------------------------------------------------------------


def _by_day(frame: Frame) -> Frame:
    """The numbers of a table by day: its own, or those that it was made from."""
    if DATE in frame.keys:
        daily = frame
    elif frame.history is not None:
        daily = frame.history.where(date=sorted(frame.chosen[DATE]))
    else:
        raise ReaderError("there is no column `date`: means, trends and shares are over days")
    if COUNT not in daily.columns or not daily.adds_up or not daily._has_noise:
        raise ReaderError("means, differences, trends and shares are of published numbers, or of their sums")
    return daily


def _history(ours: Frame, after: Frame, before: Frame) -> Frame | None:
    """The same numbers on all days of the definition, where more are known than those that are compared."""
    history = ours.history
    if history is None or len(history.days) <= len(after.days) + len(before.days):
        return None
    if DEFINITION in history.cells:
        own = after.cells[DEFINITION]
        days = {*history.cells[DATE][history.cells[DEFINITION] == own[0]].tolist()} if len(own) else set[str]()
        return history.where(date=sorted(days)) if len(days) > 1 else None
    return history


def _one_definition(*frames: Frame) -> None:
    found = {number for frame in frames if DEFINITION in frame.cells for number in frame.cells[DEFINITION].tolist()}
    if len(found) > 1:
        numbers = " and ".join(map(str, sorted(found)))
        raise ReaderError(
            f"these days have definitions {numbers}, which cannot be compared: choose days of one of them with "
            "between(); `breaks` says what changed, and when"
        )


def _keys(frame: Frame) -> Key:
    return tuple(key for key in frame.keys if key != DATE)


def _groups(frame: Frame) -> list[Key]:
    """The cells of a table, whatever the day."""
    return sorted(set(frame._groups(_keys(frame)))) if _keys(frame) else [()]


def _panel(frame: Frame, groups: Sequence[Key]) -> Panel:
    """The numbers of some cells by day."""
    if frame.left_out is not None and np.isinf(frame.left_out).any():
        raise ReaderError(
            "nobody knows how much these sums leave out: add up a coarser table, or compare cells (docs/series.md)"
        )
    days = frame.days
    row_of = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    column_of = {day: place for place, day in enumerate(days)}
    rows = np.array([row_of.get(group, -1) for group in frame._groups(_keys(frame))], np.intp)
    columns = np.array([column_of[day] for day in frame.cells[DATE].tolist()], np.intp)
    kept = rows >= 0
    shape = (len(row_of), len(days))
    counts, noise, left_out = np.zeros(shape), np.zeros(shape), np.empty(shape)
    left_out[:] = [_absent(frame, day) for day in days]
    at = rows[kept], columns[kept]
    counts[at] = np.ma.getdata(frame.cells[COUNT])[kept]
    noise[at] = frame._variances()[kept]
    left_out[at] = 0.0 if frame.left_out is None else frame.left_out[kept]
    every = np.array([row_of[group] for group in groups], np.intp)
    try:
        calendar_days = tuple(date.fromisoformat(day) for day in days)
    except ValueError:
        raise ReaderError("its days are labels, and not days of a calendar: nobody knows which are alike") from None
    return Panel(calendar_days, counts[every], left_out[every], noise[every], frame._is_gaussian)


def _counts(frame: Frame) -> Frame:
    """A table without days, if each of its numbers has noise of its own."""
    if COUNT not in frame.columns or not frame.adds_up or not frame._has_noise:
        raise ReaderError("means, differences, trends and shares are of published numbers, or of their sums")
    return frame


def _one_column(frame: Frame, groups: Sequence[Key]) -> Panel:
    """The numbers of some cells of a table without days: one for each, so that nothing is known of how days differ."""
    place = {group: number for number, group in enumerate(frame._groups(frame.keys))}
    rows = np.array([place.get(group, -1) for group in groups], np.intp)
    there = rows >= 0
    counts, noise = np.zeros((len(groups), 1)), np.zeros((len(groups), 1))
    left_out = np.full((len(groups), 1), _absent(frame, ""))
    counts[there, 0] = np.ma.getdata(frame.cells[COUNT])[rows[there]]
    noise[there, 0] = frame._variances()[rows[there]]
    left_out[there, 0] = 0.0 if frame.left_out is None else frame.left_out[rows[there]]
    if np.isinf(left_out).any():
        raise ReaderError("nobody knows how much these numbers leave out: take a coarser table (docs/series.md)")
    return Panel((date.min,), counts, left_out, noise, frame._is_gaussian)


def _absent(frame: Frame, day: str) -> float:
    """What a number that is not there has on a day, at most."""
    if frame.mechanism is None:
        return float(frame.absents.get(day, max(frame.absents.values(), default=float("inf"))))
    return float("inf") if frame.mechanism.from_a_list else float(frame._absent)


# --- columns ----------------------------------------------------------------------------------------------------------


def _columns(keys: Sequence[str], groups: Sequence[Key]) -> dict[str, Column]:
    return {key: texts([group[place] for group in groups]) for place, key in enumerate(keys)}


def _ends(found: Contrast) -> dict[str, Column]:
    return {NOISE_LOW: found.noise_low, NOISE_HIGH: found.noise_high, LOW: found.low, HIGH: found.high}


def _whole(value: npt.NDArray[np.float64]) -> Column:
    return whole_numbers([None if np.isnan(each) else round(each) for each in value.tolist()])


def _verdict(real: npt.NDArray[np.float64]) -> Column:
    """Whether a difference is real; nothing where that is not known."""
    return np.ma.MaskedArray(np.nan_to_num(real).astype(bool), mask=np.isnan(real))
