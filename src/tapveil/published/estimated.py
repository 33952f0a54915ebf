"""The estimates of a folder of a known world, from its measurements and its public lists alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from math import isqrt, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tapveil.base.calendar import days_from
from tapveil.base.domain import MOST_CELLS, Codes
from tapveil.base.public_total import days_together, part_of
from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import COUNT, EVERY_MODE, HIGH, LOW, MINUTES_PER_DAY, UNKNOWN, WEIGHT, ends_of
from tapveil.published.calibrated import calendars_of, lists_of
from tapveil.published.domain import Domain, modes
from tapveil.published.estimates import NEWEST, NO_TAP, Clock, Estimates, Measurement, Total, World, estimate
from tapveil.published.estimates import Table as EstimatedTable
from tapveil.published.estimates.estimate import ADDS_UP, JUDGED
from tapveil.published.estimates.joint import trip_columns
from tapveil.published.estimates.world import AXES, DATE, DURATION, OFF_PLACE, OFF_TIME, ON_PLACE, ON_TIME
from tapveil.published.manifest import TableClaim

MOST_AT_ONCE = 12_000_000
"""Cells of whole trips of one mode on one day: by time, origin and destination."""
MOST_TOGETHER, MOST_IN_ALL = 200_000_000, 1_000_000_000
"""The same of one mode on all days: in versions up to 4, when all days were in memory together, and since."""
OF_CALENDARS = 4
"""The first version that has estimates by columns that follow from the day."""
TOO_MANY_PLACES = "there are too many places"
JOINT = "joint"
"""The table of whole trips, if the plan has none of the same columns."""
SATURDAY, SUNDAY = 5, 6
PLACES, TIMES = (ON_PLACE, OFF_PLACE), (ON_TIME, OFF_TIME)

Counts = npt.NDArray[np.int64]
Piece = tuple[dict[str, Codes], dict[str, Counts]]
"""Some cells of estimates: codes of each key, and numbers."""


PARTS_OF_A_DAY = (120, 240, 480, MINUTES_PER_DAY)
"""Minutes: where whole trips by the bins of the plan are too many, they are estimated by the first that fits."""


def version(domain: Domain) -> int | None:
    """The version of the estimates of a new folder; None where it can have none. From what is public."""
    return NEWEST if why_not(domain, NEWEST) is None else None


def versions(domain: Domain) -> Set[int | None]:
    """The versions that a folder may have: that of the first programs, and each since version 3; or none."""
    since = OF_CALENDARS if domain.manifest.calendars else ADDS_UP
    return {first_version(domain), *(each for each in range(since, NEWEST + 1) if why_not(domain, each) is None)}


def first_version(domain: Domain) -> int | None:
    """The version that earlier programs gave: 1 for trips in tables split by the date, with few enough places.

    Version 2 is for the others, made in the same way. In version 3, totals of days add up also where noise makes some
    negative; in version 4, thin tables have only the cells that can be told from nothing; in version 5,
    by another rule, and cells that follow from exact totals have no interval.
    """
    if why_not(domain, 1) is not None or domain.manifest.calendars:
        return None
    manifest = domain.manifest
    split = manifest.partition in ((DATE,), ("mode", DATE)) and manifest.rows == "trips"
    return 1 if split and minutes(domain, 1) is None else 2


def why_not(domain: Domain, version: int) -> str | None:
    """Why a folder has no estimates of a version; None where it has. From what is public."""
    manifest = domain.manifest
    columns = {column for table in _usable(domain) for column in _keys(domain, table)} - {DATE}
    columns -= set(manifest.calendars or ())
    if not columns & {ON_PLACE, OFF_PLACE} or not columns <= set(AXES):
        return "no table has places"
    if not columns & {OFF_TIME, DURATION} <= _told(columns):
        return "tables have a second time, or durations, and no table has when and where trips begin and where they end"
    split = manifest.partition in ((DATE,), ("mode", DATE)) and manifest.rows == "trips"
    if not split and not {ON_PLACE, OFF_PLACE} <= columns:
        return "tables have one end of a trip only, and are not split by the date, or are of taps"
    if not _fits(domain, version, minutes(domain, version)):
        return TOO_MANY_PLACES
    return None


def minutes(domain: Domain, version: int) -> int | None:
    """The length of the bins of estimates, where it is not that of the plan."""
    own = domain.manifest.time_minutes
    longer = [each for each in PARTS_OF_A_DAY if each > own and each % own == 0]
    return next((each for each in (None, *longer) if _fits(domain, version, each)), None)


def _fits(domain: Domain, version: int, by: int | None) -> bool:
    return not any(crowded(domain, version, by))


def crowded(domain: Domain, version: int, by: int | None) -> Iterator[tuple[str, int]]:
    """The modes with too many places for estimates with bins of a length, and how many each could have."""
    for mode in modes(domain.manifest):
        world = _world(domain, mode, by)
        columns = trip_columns(world)
        most = (MOST_IN_ALL if version >= JUDGED else MOST_TOGETHER) // max(world.days, 1)
        times = prod(world.sizes[column] for column in columns if column not in PLACES)
        room = min(MOST_AT_ONCE, most) // times
        if prod(world.sizes[column] for column in columns if column in PLACES) > room:
            yield mode, isqrt(room) if {*PLACES} <= {*columns} else room


def _keys(domain: Domain, table: TableClaim) -> tuple[str, ...]:
    """The columns of a table but the mode."""
    return tuple(key for key in domain.manifest.keys(table) if key != "mode")


def _told(columns: Set[str]) -> Set[str]:
    """The columns of synthetic trips, of those that tables have: one time, and more if both places are there."""
    if {ON_TIME, ON_PLACE, OFF_PLACE} <= columns:
        return columns
    return columns - {DURATION} - ({OFF_TIME} if ON_TIME in columns else set())


def _usable(domain: Domain) -> list[TableClaim]:
    """The tables that estimates are made from, and of: those with the bins of the plan, and of trips alone.

    A table with another column, such as a fare class, has measurements only; and so has one whose columns of the
    calendar are not those of the others.

    Where rows are taps, tables of one end count taps, others count trips and taps that belong to none: the former are
    of use where they have places, and the latter tell how many taps the others miss.
    """
    manifest, calendars = domain.manifest, set(domain.manifest.calendars or ())
    known, by = {"mode", DATE, *AXES, *calendars}, set(calendar_columns(domain))
    own = [
        table
        for table in manifest.tables
        for keys in [set(manifest.keys(table))]
        if table.level is None and keys <= known and keys & calendars in (by, set())
    ]
    if manifest.rows == "trips":
        return own
    both = [_keys(domain, table) for table in own if ends_of(manifest.keys(table)) == "both"]
    return [
        table
        for table in own
        for keys in [_keys(domain, table)]
        if ends_of(keys) == "both"
        or any(
            place in keys and place in other and (DATE in keys) == (DATE in other) for place in PLACES for other in both
        )
    ]


def calendar_columns(domain: Domain) -> tuple[str, ...]:
    """The columns that follow from the day by which estimates are made, where tables have such and not the date.

    They are those of most tables with places.
    """
    manifest = domain.manifest
    tables = [set(manifest.keys(table)) for table in manifest.tables if table.level is None]
    if any(DATE in keys for keys in tables):
        return ()
    made = (frozenset(keys & set(manifest.calendars or ())) for keys in tables if keys & {*PLACES})
    found = Counter(columns for columns in made if columns)
    ranked = sorted(found.items(), key=lambda each: (each[1], sorted(each[0])))
    return tuple(sorted(ranked[-1][0])) if ranked else ()


@dataclass(frozen=True)
class Estimated:
    """The estimates of all modes."""

    domain: Domain
    counts: Mapping[str, Counts]
    """Of each table: its measurements, in the order of its cells."""

    @cached_property
    def by_mode(self) -> Mapping[str, Estimates]:
        """The estimates of each mode."""
        return {
            mode: estimate(_world(self.domain, mode, self.minutes), measurements, self.version, self.totals(mode))
            for mode, measurements in self.measurements()
        }

    def totals(self, mode: str) -> list[Total]:
        """The exact totals of a mode that its estimates add up to."""
        manifest, found = self.domain.manifest, []
        lists = lists_of(manifest, self.domain.places, together(self.domain))
        for claim in manifest.totals or ():
            part = part_of(claim, lists) if claim.calibrated else None
            if part and part.of.get("mode", EVERY_MODE) == mode:
                days = frozenset(number for number, each in enumerate(lists.together) if each <= part.days)
                labels = {column: label for column, label in part.of.items() if column != "mode"}
                at = {column: self.labels(column, mode).index(label) for column, label in labels.items()}
                found.append(Total(days, at, claim.trips))
        return found

    @property
    def version(self) -> int:
        """Of the estimates: as the folder states; where it has none, as the first that programs made."""
        return self.domain.manifest.versions.estimates or 1

    @property
    def usable(self) -> list[TableClaim]:
        """The tables that estimates are made from."""
        return _usable(self.domain)

    def measurements(self) -> Iterator[tuple[str, list[Measurement]]]:
        """What was measured of each mode, in the order of its tables: one mode at a time."""
        before = dict.fromkeys(self.counts, 0)
        for mode in modes(self.domain.manifest):
            measurements = []
            for table in _usable(self.domain):
                keys = _keys(self.domain, table)
                shape = [len(self.domain.labels(table, key, mode)) for key in keys]
                start = before[table.name]
                before[table.name] += prod(shape)
                noisy = self.counts[table.name][start : before[table.name]].reshape(shape)
                measurements.append(Measurement(*self._by_day(keys, noisy), float(table.scale_exact**2)))
            if self.domain.manifest.rows == "taps":
                unknown = self.labels(ON_PLACE, mode).index(UNKNOWN)
                measurements = [with_lone_taps(each, measurements, unknown) for each in measurements]
            if self.minutes:
                firsts = _first_bins(self.domain, mode, self.minutes)
                measurements = [in_longer_bins(each, firsts) for each in measurements]
            yield mode, measurements

    @cached_property
    def minutes(self) -> int | None:
        """The length of the bins of estimates, where it is not that of the plan."""
        return minutes(self.domain, self.version)

    @cached_property
    def day_columns(self) -> tuple[str, ...]:
        """The date, if some table has it; or the columns that follow from the day: all estimates have them."""
        if _is_dated(self.domain):
            return (DATE,)
        by = set(calendar_columns(self.domain))
        tables = (_keys(self.domain, table) for table in self.usable)  # in the order in which tables have them
        return next((tuple(key for key in keys if key in by) for keys in tables if by <= set(keys)), ())

    @cached_property
    def day_labels(self) -> dict[str, tuple[int, ...]]:
        """By column that follows from the day: of each day of estimates, the entry of its label in the public list."""
        columns = calendar_columns(self.domain)
        calendars, found = calendars_of(self.domain.manifest), {}
        for column in columns:
            labels = tuple(sorted(set(calendars[column].values())))
            found[column] = tuple(labels.index(calendars[column][min(days)]) for days in together(self.domain))
        return found

    def _by_day(self, keys: tuple[str, ...], numbers: Counts) -> tuple[tuple[str, ...], Counts]:
        """A table with the days of estimates in the place of columns that follow from the day."""
        by = tuple(self.day_labels)
        if not by or not set(by) <= set(keys):
            return keys, numbers
        rest = [key for key in keys if key not in by]
        turned = numbers.transpose([keys.index(key) for key in (*by, *rest)])
        return (DATE, *rest), turned[tuple(np.array(self.day_labels[column]) for column in by)]

    def pieces_of(self, estimates: Estimates, columns: Sequence[str]) -> Iterator[EstimatedTable]:
        """Estimates of a mode by columns, day by day where the date comes first; otherwise in one piece.

        Of columns that follow from the day, all where there are such. Of labels that no day has together, all numbers
        are 0.
        """
        by = tuple(self.day_labels)
        if not by or not set(by) & set(columns):
            yield from estimates.pieces(columns)
            return
        if not set(by) <= set(columns):
            raise ValueError(f"estimates are by {' and '.join(by)} together, or by neither: add up what you need")
        rest = [column for column in columns if column not in by]
        found = estimates.table((DATE, *rest))
        order = [(*by, *rest).index(column) for column in columns]
        sizes = [len(self.domain.labels(_usable(self.domain)[0], column, "")) for column in by]

        def spread_out(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
            whole = np.zeros((*sizes, *numbers.shape[1:]), dtype=numbers.dtype)
            whole[tuple(np.array(self.day_labels[column]) for column in by)] = numbers
            return whole.transpose(order)

        yield EstimatedTable(
            tuple(columns), *(spread_out(each) for each in (found.count, found.low, found.high, found.weight))
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Of whole trips."""
        return next(iter(self.by_mode.values())).columns

    def tables(self) -> Iterator[tuple[str, tuple[str, ...], int]]:
        """The files of estimates: name, columns besides the mode, and the number of cells."""
        tables = {table.name: _keys(self.domain, table) for table in _usable(self.domain)}
        for name, keys in tables.items():
            yield name, keys, self._number(keys)
        whole = (*self.day_columns, *self.columns)
        if self._number(whole) <= MOST_CELLS and set(whole) not in map(set, tables.values()):
            names, name = {table.name for table in self.domain.manifest.tables}, JOINT
            while name in names:
                name += f"-{JOINT}"
            yield name, whole, self._number(whole)

    def _number(self, keys: Sequence[str]) -> int:
        """How many cells there are by these columns."""
        return sum(prod(len(self.labels(key, mode)) for key in keys) for mode in modes(self.domain.manifest))

    def keys(self, columns: Sequence[str]) -> dict[str, list[str]]:
        """The keys of estimates over columns of a trip and the date, and the labels of each, of all modes together."""
        keys = [*(["mode"] if "mode" in self.domain.manifest.partition else []), *columns]
        return {key: self.all_labels(key) for key in keys}

    def pieces(self, columns: Sequence[str], *, zeros: bool = False) -> Iterator[Piece]:
        """Estimates over columns of a trip and the date: codes of each key, and the numbers of each cell.

        One mode after the other, day by day where the date comes first: memory holds one day of one mode. Cells that
        are estimated as 0, or cannot be told from it, are left out, unless they are asked for.
        """
        keys = self.keys(columns)
        place = {key: {label: code for code, label in enumerate(labels)} for key, labels in keys.items()}
        for mode, estimates in self.by_mode.items():
            codes = {key: np.array([place[key][each] for each in self.labels(key, mode)], np.int32) for key in keys}
            before = 0
            for table in self.pieces_of(estimates, columns):
                flat = table.count.reshape(-1)
                chosen = np.arange(flat.size) if zeros else np.flatnonzero(flat)
                own = [len(each) for each in codes.values()]
                places = np.unravel_index(chosen + before, own) if own else ()
                weight = np.rint(100 * table.weight.reshape(-1)[chosen]).astype(np.int64)
                low, high = (limit.reshape(-1)[chosen] for limit in (table.low, table.high))
                coded = {key: codes[key][each] for key, each in zip(keys, places, strict=True)}
                yield coded, {COUNT: flat[chosen], LOW: low, HIGH: high, WEIGHT: weight}
                before += flat.size

    def cells(
        self, columns: Sequence[str], *, zeros: bool = False
    ) -> tuple[dict[str, tuple[list[str], Codes]], dict[str, Counts]]:
        """All of these pieces together: labels and codes of each key, and the numbers of each cell."""
        keys, pieces = self.keys(columns), [*self.pieces(columns, zeros=zeros)]
        found = {key: (keys[key], np.concatenate([codes[key] for codes, _ in pieces])) for key in keys}
        return found, {name: np.concatenate([each[name] for _, each in pieces]) for name in pieces[0][1]}

    def labels(self, key: str, mode: str) -> tuple[str, ...]:
        """The public list of a key of a mode; the end of a trip may follow from durations alone."""
        key = ON_TIME if key == OFF_TIME and key not in self.domain.manifest.columns else key
        if self.minutes and key in TIMES:
            served = _served(self.domain, mode)
            return tuple(served[first] for first in _first_bins(self.domain, mode, self.minutes))
        return self.domain.labels(_usable(self.domain)[0], key, mode)

    def all_labels(self, key: str) -> list[str]:
        """The public lists of a key of all modes together, sorted."""
        return sorted({label for mode in modes(self.domain.manifest) for label in self.labels(key, mode)})


def with_lone_taps(each: Measurement, measurements: Sequence[Measurement], unknown: int) -> Measurement:
    """A table of one end, with the trips that have no tap there: at no time, at an unknown place.

    How many those are is what tables of both ends have at unknown places beyond what this one has.
    """
    place, time = (ON_PLACE, ON_TIME) if ON_PLACE in each.columns else (OFF_PLACE, OFF_TIME)
    if ends_of(each.columns) == "both":
        return each

    def at_unknown(table: Measurement) -> Counts:
        numbers = np.take(table.noisy, unknown, axis=table.columns.index(place))
        kept = [column for column in table.columns if column != place]
        found: Counts = numbers.sum(axis=tuple(axis for axis, column in enumerate(kept) if column != DATE))
        return found

    pairs = [table for table in measurements if ends_of(table.columns) == "both" and place in table.columns]
    other = min((table for table in pairs if (DATE in table.columns) == (DATE in each.columns)), key=_noise_of_sums)
    noisy = np.array(each.noisy)
    where = tuple(unknown if c == place else 0 if c == time else slice(None) for c in each.columns)
    noisy[where] += np.maximum(at_unknown(other) - at_unknown(each), 0)
    return Measurement(each.columns, noisy, each.variance)


def _noise_of_sums(table: Measurement) -> float:
    return table.variance * float(np.size(table.noisy))


def in_longer_bins(each: Measurement, firsts: Sequence[int]) -> Measurement:
    """A table with longer bins, each beginning with one of these; all noise is taken to be that of the longest."""
    noisy, variance = np.asarray(each.noisy), each.variance
    for axis, column in enumerate(each.columns):
        if column in TIMES:
            ends = (*firsts[1:], noisy.shape[axis])
            noisy = np.add.reduceat(noisy, firsts, axis=axis)
            variance *= max(end - first for first, end in zip(firsts, ends, strict=True))
    return Measurement(each.columns, noisy, variance)


def _first_bins(domain: Domain, mode: str, by: int | None) -> list[int]:
    """Which of the bins that a mode has, counting the entry for no tap, begin a bin of estimates."""
    times = _times(domain)
    starts = [times.spans[label][0] for label in _served(domain, mode)[1:]]
    parts = [(start - times.first) // by if by else start for start in starts]
    return [0, *(number + 1 for number, part in enumerate(parts) if not number or part != parts[number - 1])]


def _times(domain: Domain) -> TimeBins:
    return domain.manifest.times(_usable(domain)[0])


def _served(domain: Domain, mode: str) -> tuple[str, ...]:
    return _times(domain).within_hours(domain.manifest.hours(mode))


def _world(domain: Domain, mode: str, by: int | None) -> World:
    usable = _usable(domain)
    columns = {column for table in usable for column in _keys(domain, table)}
    spans, served, firsts = _times(domain).spans, _served(domain, mode), _first_bins(domain, mode, by)
    bins = (NO_TAP, *(spans[served[first]][0] for first in firsts[1:]))
    sizes = {
        column: len(bins) if column in TIMES else len(domain.labels(usable[0], column, mode))
        for column in AXES
        if column in columns
    }
    classes = TimeBins.parts(domain.manifest.durations).starts if domain.manifest.durations else ()
    durations = (NO_TAP, *classes) if DURATION in columns else ()
    both = ON_TIME in columns and columns & {OFF_TIME, DURATION}
    clock = Clock(bins, bins, durations, until=spans[served[-1]][1]) if both else None
    return World(tuple(_kinds(domain)), sizes, same_places={ON_PLACE, OFF_PLACE} <= columns, clock=clock)


def _is_dated(domain: Domain) -> bool:
    return any(DATE in domain.manifest.keys(table) for table in _usable(domain))


def together(domain: Domain) -> list[frozenset[date]]:
    """The days that each day of estimates stands for: itself; those with the same labels; or all."""
    labels = calendars_of(domain.manifest)
    calendars = {column: labels[column] for column in calendar_columns(domain)}
    return days_together(domain.manifest.days, calendars, _is_dated(domain))


def _kinds(domain: Domain) -> list[int]:
    """Which days are alike: weekdays, Saturdays, and Sundays with holidays; all are one where no table has the date."""
    if by := calendar_columns(domain):
        # A kind of day in one month is like the same in another; months are alike where nothing else is known.
        labels, claims = calendars_of(domain.manifest), domain.manifest.calendars or {}
        kinds_by = [column for column in by if not claims[column].period]
        named = [tuple(labels[column][min(days)] for column in kinds_by) for days in together(domain)]
        return [sorted(set(named)).index(each) for each in named]
    if not _is_dated(domain):
        return [0]
    covers, holidays = domain.manifest.covers, domain.manifest.holidays or ()
    if covers.first_day is None or covers.last_day is None:
        return []
    days = days_from(covers.first_day, covers.last_day)
    kinds = [2 if day in holidays or day.weekday() == SUNDAY else int(day.weekday() == SATURDAY) for day in days]
    used = sorted(set(kinds))
    return [used.index(kind) for kind in kinds]
