"""Weights for the next release of a known world, from the measurements of an earlier folder and nothing else.

How far the truth is from what coarser tables and other days say follows from the measurements, since their noise is
known exactly (`published.estimates.spread`): for estimates of size x by a variance q(x), and measuring with noise of
variance v leaves q·v/(q + v) of it. Other weights have other v, and q stays, since it is of the trips. So errors with
other weights are computed, not tried out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import pi, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tapveil.base.errors import FolderError
from tapveil.base.numbers import percent
from tapveil.base.text_table import Grid
from tapveil.base.vocabulary import COUNT
from tapveil.privacy.accountant import over_time
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.loss import Loss, certified
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.describe.wording import UNIT_NAMES, loss_in_words
from tapveil.published.estimated import Counts, Estimated, why_not
from tapveil.published.estimates import Measurement, Spread
from tapveil.published.estimates.world import DATE, World, in_order
from tapveil.published.manifest import ERROR_CONFIDENCE, Manifest, TableClaim, number
from tapveil.tuning.weights import FARTHEST, STRIDES, Places, Weights, detailed, groups, start, weight_of, weights_at
from tapveil.verification.parquet_pages import open_parquet
from tapveil.verification.reading import UnreadableError, open_inside
from tapveil.verification.world import LARGEST_NUMBER, domain_of

WORTH_IT, WORTH_A_STEP = 0.01, 0.001
"""A gain below this share of the error is not worth another plan, or another step on the way to it."""
WIDER, WORSE = 2.0, 1.25
"""The noise of no table may grow by more than the first factor, and its expected error by more than the second."""
ABSOLUTE = sqrt(2 / pi)
"""The mean absolute error of a normal law, of its deviation."""
CAUTION = (
    "Errors are estimates from one published folder; the next trips may differ. Tuning costs no privacy, because it "
    "reads only public data."
)


@dataclass(frozen=True)
class TunedWorldTable:
    """One table: its weight in the next release, and what that changes."""

    name: str
    weight: Fraction
    """Its share of the total."""
    errors: tuple[float, float] | None
    """Expected error of its estimates, before and after: the sum of all errors, as a share of all trips; None for
    tables with bins or areas of their own, from which no estimates are made."""
    bounds: tuple[int, int]
    """The 95 % error bound of its measurements, before and after."""

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "name": self.name,
            "weight": number(self.weight),
            "expected_error": dict(zip(("before", "after"), self.errors or (None, None), strict=True)),
            "error_95": dict(zip(("before", "after"), self.bounds, strict=True)),
        }


@dataclass(frozen=True)
class TunedWorld:
    """The weights for the next release of every cell, at the promise of the folder that they were chosen from."""

    folder: Manifest = field(repr=False)
    """The manifest of the folder."""
    tables: tuple[TunedWorldTable, ...]
    """Each table with its weight, before and after."""

    @property
    def mechanism(self) -> str:
        """The mechanism, which stays as it is."""
        return self.folder.mechanism

    @property
    def loss(self) -> Loss:
        """The total (ε, δ), which stays as it is."""
        return self.folder.exact.loss

    @property
    def before(self) -> float:
        """The expected error of the folder's own estimates, as a mean over the tables without the totals."""
        return self._mean(0)

    @property
    def after(self) -> float:
        """The expected error of the next release's estimates."""
        return self._mean(1)

    def _mean(self, when: int) -> float:
        told = {table.name: table.errors for table in self.tables if table.errors}
        counted = [list(told.values())[place][when] for place in detailed(list(told))]
        return sum(counted) / len(counted)

    @property
    def improves(self) -> bool:
        """Whether better weights than the folder's own were found."""
        return self.after < self.before * (1 - WORTH_IT)

    def as_json(self) -> dict[str, Any]:
        """The choice as JSON values: what `tapveil tune --json` prints.

        Returns:
            The values.

        Example:
            >>> import tapveil
            >>> tuned = tapveil.tune("published")
            >>> tuned.as_json()["expected_error"] if isinstance(tuned, tapveil.TunedWorld) else tuned.mechanism
            'gaussian'
        """
        return {
            "from": {"release": self.folder.release, "release_id": self.folder.release_id},
            "unit": self.folder.unit,
            "neighbours": self.folder.neighbours,
            "epsilon": number(self.loss.epsilon),
            "delta": number(self.loss.delta),
            "improves": self.improves,
            "mechanism": {"before": self.mechanism, "after": self.mechanism},
            "expected_error": {"before": self.before, "after": self.after},
            "tables": [table.as_json() for table in self.tables],
            "caution": CAUTION,
        }

    def lines(self) -> Iterator[str]:
        """The choice in words, line by line.

        Returns:
            The lines.

        Example:
            >>> import tapveil
            >>> tuned = tapveil.tune("published")
            >>> next(tuned.lines()) if isinstance(tuned, tapveil.TunedWorld) else tuned.mechanism
            'gaussian'
        """
        promise = f"{loss_in_words(self.loss)}, for {UNIT_NAMES[self.folder.unit]}"
        if not self.improves:
            yield f"No better weights found at the same {promise}: keep the plan."
            return
        yield f"For the next release use these weights, at the same {promise}:"
        yield ""
        grid = Grid("table", "weight", "expected error", "95 % error bound of measurements")
        for table in self.tables:
            error = " → ".join(map(percent, table.errors)) if table.errors else "unknown"
            grid.add(table.name, str(table.weight), error, "± " + " → ".join(map(str, table.bounds)))
        yield from grid.lines()
        yield ""
        yield f"Expected error, mean over the tables: {percent(self.before)} before, {percent(self.after)} after."
        yield CAUTION


def learnt(folder: Path, manifest: Manifest) -> Learnt:
    """What the measurements of a folder tell of its trips."""
    try:
        domain = domain_of(folder, manifest)
        counts = {table.name: _counts(folder, manifest, table) for table in manifest.tables}
    except UnreadableError as error:
        finding = error.finding
        raise FolderError(f"{folder} is not a usable published folder: {finding.place} {finding.sentence}") from None
    reason = why_not(domain, manifest.versions.estimates or 1)
    reason = "its tables are of kinds of day or periods" if manifest.calendars else reason
    if reason is not None:
        raise FolderError(f"{folder} has no estimates to learn from: {reason}")
    return Learnt(Estimated(domain, counts))


def _counts(folder: Path, manifest: Manifest, table: TableClaim) -> Counts:
    name = manifest.files(table)[-1]
    try:
        with os.fdopen(open_inside(folder, name), "rb") as file:
            parquet = open_parquet(file, name)
            if parquet.metadata.num_rows != table.cells:
                raise ValueError
            counts: Counts = parquet.read([COUNT], use_threads=False).column(COUNT).cast(pa.int64()).to_numpy()
        if len(counts) and not table.smallest_published <= counts.min() <= counts.max() < LARGEST_NUMBER:
            raise ValueError
    except (pa.ArrowException, OSError, KeyError, ValueError, MemoryError):
        raise FolderError(f"the counts of table {table.name} in {folder} cannot be read: {name}") from None
    return counts


@dataclass(frozen=True)
class _Told:
    """A table of one mode: estimates of each size, how many cells have it, and how far the truth is from them."""

    sizes: np.ndarray[Any, np.dtype[np.float64]]
    cells: np.ndarray[Any, np.dtype[np.int64]]
    spread: Spread

    @property
    def trips(self) -> float:
        return float(self.sizes @ self.cells)

    def error(self, variance: float) -> float:
        """The sum of errors, if the sums that tell this table had noise of this variance."""
        return ABSOLUTE * float(replace(self.spread, variance=variance).deviation(self.sizes) @ self.cells)


class Learnt:
    """What a folder tells: for each table and mode how large its cells are, and how far estimates may be off."""

    def __init__(self, estimated: Estimated) -> None:
        manifest = estimated.domain.manifest
        self.names = [table.name for table in estimated.usable]
        self.places = [place for place, table in enumerate(manifest.tables) if table.name in self.names]
        self._modes: list[tuple[World, Sequence[Measurement], list[_Told]]] = []
        for mode, measurements in estimated.measurements():
            estimates, told = estimated.by_mode[mode], []
            for each in measurements:
                sizes, cells = np.unique(estimates.count(each.columns), return_counts=True)
                told.append(_Told(sizes.astype(np.float64), cells, estimates.spread(each.columns)))
            self._modes.append((estimates.world, measurements, told))

    def errors(self, wider: Sequence[float]) -> list[float]:
        """The expected error of each table, as a share of its trips, if its noise were wider by these factors."""
        found = []
        for place in range(len(self.names)):
            off = trips = 0.0
            for world, measurements, told in self._modes:
                changed = [
                    replace(each, variance=each.variance * factor * factor)
                    for each, factor in zip(measurements, wider, strict=True)
                ]
                off += told[place].error(told_with(world, measurements[place].columns, changed))
                trips += told[place].trips
            found.append(off / max(trips, 1.0))
        return found


def told_with(world: World, columns: Sequence[str], measurements: Sequence[Measurement]) -> float:
    """The variance of the noise in the sums over these columns, from all tables that tell them.

    As estimates take them: each by the inverse of its variance; those of single days for all days, but not the reverse.
    """
    kept, dated, precision = set(in_order(columns)), DATE in columns, 0.0
    for each in measurements:
        if kept <= set(each.columns) and (DATE in each.columns or not dated):
            gone = prod(world.sizes[column] for column in set(each.of_trips) - kept)
            days = world.days if DATE in each.columns and not dated else 1
            precision += 1 / (each.variance * gone * days)
    return 1 / precision


class Search:
    """A walk over weights from those of the folder, one group of tables at a time, while errors fall."""

    def __init__(self, manifest: Manifest, made: Sequence[Mechanism], learnt: Learnt) -> None:
        self._manifest, self._made, self._learnt = manifest, made, learnt
        self._now = [weight_of(table) for table in manifest.tables]
        self._groups = groups(manifest.tables)
        self._counted = [n for n, name in enumerate(learnt.names) if n in detailed(learnt.names)]
        self._before = learnt.errors([1.0] * len(learnt.names))
        self.tried: dict[Weights, float | None] = {}

    def tuned(self) -> TunedWorld:
        """The best that was found, or the folder's own weights."""
        first = self._mean(self._before)
        places, best, weights = start(self._now, self._groups), first, tuple(self._now)
        origin = places
        for stride in STRIDES:
            while steps := [
                step for step in self._steps(places, stride, origin) if step[0] < best * (1 - WORTH_A_STEP)
            ]:
                best, places = min(steps)
                weights = weights_at(places, self._groups)
        made = self._calibrated(weights) if best < first * (1 - WORTH_IT) else None
        return self._outcome(weights, made) if made else self._outcome(tuple(self._now), self._made)

    def _steps(self, places: Places, stride: int, origin: Places) -> Iterator[tuple[float, Places]]:
        # The share of totals stays as it is: other tables tell them, too.
        names = [table.name for table in self._manifest.tables]
        movable = [n for n, group in enumerate(self._groups) if group[0] in detailed(names)]
        for group, way in product(movable, (stride, -stride)):
            moved = (*places[:group], places[group] + way, *places[group + 1 :])
            if abs(moved[group] - origin[group]) <= FARTHEST and (error := self._try(moved)) is not None:
                yield error, moved

    def _try(self, places: Places) -> float | None:
        """The mean error with other weights; None where a table would lose too much."""
        weights = weights_at(places, self._groups)
        if weights not in self.tried:
            wider = self._wider(weights)
            after = self._learnt.errors([wider[place] for place in self._learnt.places])
            worse = any(new > WORSE * old for new, old in zip(after, self._before, strict=True))
            self.tried[weights] = None if worse or max(wider) > WIDER else self._mean(after)
        return self.tried[weights]

    def _wider(self, weights: Weights) -> list[float]:
        """How much wider noise gets: the loss is a function of Σ (change / σ)² alone, as nearly as matters here."""
        squares = [mechanism.square for mechanism in self._made]
        now, then = (
            sqrt(sum(square * weight**2 for square, weight in zip(squares, each, strict=True)))
            for each in (self._now, weights)
        )
        return [then / now * float(old / new) for old, new in zip(self._now, weights, strict=True)]

    def _calibrated(self, weights: Weights) -> Sequence[Mechanism] | None:
        """The noise of the next release, by exact accounting; None where there is none."""
        manifest, loss = self._manifest, self._manifest.exact.loss
        over = over_time(manifest.exposure, manifest.unit)  # as the plan will have it
        per_cell = tuple(table.trips_per_cell or 1 for table in manifest.tables)
        try:
            made = calibrate(manifest.mechanism, weights, loss.epsilon, loss.delta, over, 1, per_cell)
        except ValueError:  # there is no such noise
            return None
        return made if certified(made, loss, manifest.exposure) else None

    def _outcome(self, weights: Weights, made: Sequence[Mechanism]) -> TunedWorld:
        scales = [float(new.scale / old.scale) for new, old in zip(made, self._made, strict=True)]
        after = self._learnt.errors([scales[place] for place in self._learnt.places])
        errors: Mapping[str, tuple[float, float]] = dict(
            zip(self._learnt.names, zip(self._before, after, strict=True), strict=True)
        )
        tables = []
        for table, weight, old, new in zip(self._manifest.tables, weights, self._made, made, strict=True):
            bounds = (old.error_bound(1 - ERROR_CONFIDENCE), new.error_bound(1 - ERROR_CONFIDENCE))
            tables.append(TunedWorldTable(table.name, weight, errors.get(table.name), bounds))
        return TunedWorld(self._manifest, tuple(tables))

    def _mean(self, errors: Sequence[float]) -> float:
        return sum(errors[n] for n in self._counted) / len(self._counted)
