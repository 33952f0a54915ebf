"""The estimates of a folder of a known world, from its measurements and its public lists alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from tapveil.base.domain import MOST_CELLS, Codes
from tapveil.base.vocabulary import COUNT, HIGH, LOW, WEIGHT
from tapveil.published.domain import Domain, modes
from tapveil.published.estimates import NO_TAP, Clock, Estimates, Measurement, World, estimate
from tapveil.published.estimates.joint import trip_columns
from tapveil.published.estimates.world import AXES, DATE, OFF_PLACE, OFF_TIME, ON_PLACE, ON_TIME
from tapveil.published.manifest import TableClaim

MOST_AT_ONCE = 12_000_000
"""Cells of whole trips of one mode on one day: by time, origin and destination."""
MOST_IN_ALL = 200_000_000
"""The same of one mode on all days."""
JOINT = "joint"
"""The table of whole trips, if the plan has none of the same columns."""
SATURDAY, SUNDAY = 5, 6

Counts = npt.NDArray[np.int64]


def why_not(domain: Domain) -> str | None:
    """Why a folder has no estimates; None where it has. From what is public."""
    manifest = domain.manifest
    if manifest.partition not in ((DATE,), ("mode", DATE)):
        return "tables are not split by the date, or by the mode and the date"
    if manifest.rows == "taps":
        return "a tap on and a tap off are counted separately"
    columns = {column for table in _usable(domain) for column in table.columns}
    if not columns & {ON_PLACE, OFF_PLACE} or not columns <= set(AXES):
        return "no table has places"
    for mode in modes(manifest):
        sizes = _world(domain, mode).sizes
        cells = prod(sizes[column] for column in trip_columns(_world(domain, mode)))
        if cells > MOST_AT_ONCE or cells * len(_kinds(domain)) > MOST_IN_ALL:
            return "there are too many places and times"
    return None


def _usable(domain: Domain) -> list[TableClaim]:
    """The tables that estimates are made from, and of: those with the bins of the plan."""
    return [table for table in domain.manifest.tables if table.level is None]


@dataclass(frozen=True)
class Estimated:
    """The estimates of all modes."""

    domain: Domain
    counts: Mapping[str, Counts]
    """Of each table: its measurements, in the order of its cells."""

    @cached_property
    def by_mode(self) -> Mapping[str, Estimates]:
        """The estimates of each mode."""
        before = dict.fromkeys(self.counts, 0)
        found = {}
        for mode in modes(self.domain.manifest):
            measurements = []
            for table in _usable(self.domain):
                shape = [len(self.domain.labels(table, key, mode)) for key in (DATE, *table.columns)]
                start = before[table.name]
                before[table.name] += prod(shape)
                noisy = self.counts[table.name][start : before[table.name]].reshape(shape)
                measurements.append(Measurement((DATE, *table.columns), noisy, float(table.scale_exact**2)))
            found[mode] = estimate(_world(self.domain, mode), measurements)
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """Of whole trips."""
        return next(iter(self.by_mode.values())).columns

    def tables(self) -> Iterator[tuple[str, tuple[str, ...], int]]:
        """The files of estimates: name, columns besides the mode and the date, and the number of cells."""
        usable = _usable(self.domain)
        yield from ((table.name, table.columns, table.cells or 0) for table in usable)
        cells = sum(prod(each.world.sizes[column] for column in self.columns) for each in self.by_mode.values())
        cells *= len(_kinds(self.domain))
        if cells <= MOST_CELLS and not any(set(table.columns) == set(self.columns) for table in usable):
            names, name = {table.name for table in self.domain.manifest.tables}, JOINT
            while name in names:
                name += f"-{JOINT}"
            yield name, self.columns, cells

    def cells(
        self, columns: Sequence[str], *, zeros: bool = False
    ) -> tuple[dict[str, tuple[list[str], Codes]], dict[str, Counts]]:
        """Estimates over columns of a trip and the date: labels and codes of each key, and the numbers of each cell.

        Cells that are estimated as 0 are left out, unless they are asked for.
        """
        keys = [*(["mode"] if "mode" in self.domain.manifest.partition else []), *columns]
        pieces: list[tuple[dict[str, tuple[str, ...]], dict[str, Counts], dict[str, Counts]]] = []
        for mode, estimates in self.by_mode.items():
            lists = {key: self.labels(key, mode) for key in keys}
            table = estimates.table(columns)
            flat = table.count.reshape(-1)
            chosen = np.arange(len(flat)) if zeros else np.flatnonzero(flat)
            places = np.unravel_index(chosen, [len(each) for each in lists.values()])
            weight = np.rint(100 * table.weight.reshape(-1)[chosen]).astype(np.int64)
            numbers = {COUNT: flat[chosen], LOW: table.low.reshape(-1)[chosen], HIGH: table.high.reshape(-1)[chosen]}
            pieces.append((lists, dict(zip(keys, places, strict=True)), {**numbers, WEIGHT: weight}))
        found = {}
        for key in keys:
            labels = sorted({label for lists, _, _ in pieces for label in lists[key]})
            place = {label: code for code, label in enumerate(labels)}
            own = [np.array([place[label] for label in lists[key]], np.int32)[codes[key]] for lists, codes, _ in pieces]
            found[key] = labels, np.concatenate(own)
        return found, {name: np.concatenate([each[name] for _, _, each in pieces]) for name in pieces[0][2]}

    def labels(self, key: str, mode: str) -> tuple[str, ...]:
        """The public list of a key of a mode."""
        return self.domain.labels(_usable(self.domain)[0], key, mode)

    def all_labels(self, key: str) -> list[str]:
        """The public lists of a key of all modes together, sorted."""
        return sorted({label for mode in modes(self.domain.manifest) for label in self.labels(key, mode)})


def _world(domain: Domain, mode: str) -> World:
    columns = {column for table in _usable(domain) for column in table.columns}
    usable = _usable(domain)[0]
    sizes = {column: len(domain.labels(usable, column, mode)) for column in AXES if column in columns}
    times = domain.manifest.times(usable)
    served = [times.spans[label] for label in times.within_hours(domain.manifest.hours(mode))[1:]]
    bins = (NO_TAP, *(start for start, _ in served))
    clock = Clock(bins, bins, until=served[-1][1]) if {ON_TIME, OFF_TIME} <= columns else None
    return World(tuple(_kinds(domain)), sizes, same_places={ON_PLACE, OFF_PLACE} <= columns, clock=clock)


def _kinds(domain: Domain) -> list[int]:
    """Which days are alike: weekdays, Saturdays, and Sundays with holidays."""
    covers, holidays = domain.manifest.covers, domain.manifest.holidays or ()
    if covers.first_day is None or covers.last_day is None:
        return []
    days = [covers.first_day + timedelta(days=n) for n in range((covers.last_day - covers.first_day).days + 1)]
    kinds = [2 if day in holidays or day.weekday() == SUNDAY else int(day.weekday() == SATURDAY) for day in days]
    used = sorted(set(kinds))
    return [used.index(kind) for kind in kinds]
