"""Whole trips: numbers rounded so that they still add up along every column, as nearly as whole numbers can.

A table is rounded after its sums over one column, which are rounded first in the same way, down to the total. A cell
then goes up or down by one where that brings it, and the sums that it is in, nearer to what they should be; sums count
little at first, so that the cells with the largest remainders go up, and more in each sweep. Cells that are looked at
together share no sum, so the outcome does not depend on their order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tapveil.published.estimates.parts import Floats, Ints, in_trips

_SWEEPS = tuple(2.0**power for power in (-8, -6, -5, -4, -3, -2, 0, 1))
"""What an error of a sum counts against one of a cell, from sweep to sweep."""

Indices = npt.NDArray[np.intp]


def whole(parts: Floats) -> Ints:
    """Numbers of at least 0 trips, in parts, as whole trips, with the rounded total and nearly the same sums.

    >>> whole(np.full((2, 3), 0.5 * 2**20)).sum(axis=1).tolist()
    [1, 2]
    """
    if parts.ndim < 2:
        return _one_column(np.atleast_1d(in_trips(parts))).reshape(parts.shape)
    longest = int(np.argmax(parts.shape))
    turned = np.ascontiguousarray(np.moveaxis(parts, longest, -1))
    wanted = [whole(turned.sum(axis=axis)) for axis in range(parts.ndim)]
    trips = in_trips(turned)
    numbers = np.rint(trips)
    _meet(trips, numbers, wanted)
    to_total(trips, numbers, int(wanted[0].sum()))
    return np.ascontiguousarray(np.moveaxis(numbers, -1, longest)).astype(np.int64)


def _one_column(trips: Floats) -> Ints:
    numbers = np.rint(trips)
    to_total(trips, numbers, int(np.rint((trips * 2.0**20).sum() / 2.0**20)))
    return numbers.astype(np.int64)


def _meet(trips: Floats, numbers: Floats, wanted: list[Ints]) -> None:
    """Change numbers by one, here and there, until their sums are those that are wanted, or nearly."""
    missing = [(want - numbers.sum(axis=axis)).reshape(-1) for axis, want in enumerate(wanted)]
    values, exact = numbers.reshape(-1), trips.reshape(-1)
    planes = list(_planes(trips.shape))
    rests = [(exact[cells] - values[cells]) for cells, _ in planes]
    for weight in _SWEEPS:
        least = 0.5 * (1 + weight * trips.ndim)
        for (cells, sums), rest in zip(planes, rests, strict=True):
            pull = missing[-1].copy()
            for index, each in zip(sums, missing, strict=False):
                pull += each[index]
            pull *= weight
            pull += rest
            moved = (np.abs(pull) > least).nonzero()[0]
            if len(moved):
                at, up = cells[moved], pull[moved] > 0
                allowed = np.where(up, exact[at], values[at]) > 0
                moved, at, step = moved[allowed], at[allowed], np.where(up[allowed], 1.0, -1.0)
                values[at] += step
                rest[moved] -= step
                missing[-1][moved] -= step
                for index, each in zip(sums, missing, strict=False):
                    each[index[moved]] -= step


def _planes(shape: tuple[int, ...]) -> Iterator[tuple[Indices, list[Indices]]]:
    """Cells of which no two share a sum, and where their sums are: over each column but the last, which is longest.

    In plane c the last index is c less all others, so a plane has one cell for each choice of these: the sums over
    the last column lie in their order.
    """
    *free, length = shape
    others = np.indices(free).reshape(len(free), -1)
    turn = others.sum(axis=0)
    rows = np.arange(len(turn)) * length
    starts = []
    for axis in range(len(free)):
        kept = [size for other, size in enumerate(free) if other != axis]
        place = np.delete(others, axis, axis=0)
        starts.append((np.ravel_multi_index(tuple(place), tuple(kept)) if kept else np.zeros_like(turn)) * length)
    for plane in range(length):
        last = (plane - turn) % length
        yield rows + last, [start + last for start in starts]


def to_total(trips: Floats, numbers: Floats, total: int) -> None:
    """What is still missing goes to the cells with the largest remainders, or comes from those with the smallest."""
    missing = total - int(numbers.sum())
    values = numbers.reshape(-1)
    while missing:
        step = 1.0 if missing > 0 else -1.0
        rest = (trips.reshape(-1) - values) * step
        rest[(values <= 0) & (step < 0)] = -np.inf
        rest[(trips.reshape(-1) <= 0) & (step > 0)] = -np.inf
        chosen = _largest(rest, abs(missing))
        if not len(chosen):
            break
        values[chosen] += step
        missing -= int(step) * len(chosen)


def _largest(numbers: Floats, size: int) -> Indices:
    """Where the largest are, of equal ones the first."""
    for bar in (0.45, 0.25, 0.0, -np.inf):  # few are sorted, mostly
        found = np.flatnonzero(numbers > bar)
        if len(found) >= size:
            break
    return found[np.argsort(-numbers[found], kind="stable")[:size]]
