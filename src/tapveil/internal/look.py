"""Another look at the trips: what counts alone do not show. Taps that are neither, copies, columns that contradict
each other, places that are coupled; and trips by columns as they are written, for what does not fit the plan
(`misfits`).

Of many trips an excerpt is enough (`trips.excerpt`): it is made while they are counted, and holds all rows of some
cards. Places and times are counted together in it, each trip once, whatever the plan protects. CONFIDENTIAL, like all
that is computed from exact counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

import numpy as np

from tapveil.base.errors import LeakError
from tapveil.base.numbers import percent
from tapveil.base.progress import Reporter, Stage
from tapveil.base.vocabulary import EVERY_MODE, MINUTES_PER_DAY, MISSING, UNKNOWN
from tapveil.counting import counter
from tapveil.counting.counter import count
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.public import PublicInputs
from tapveil.inputs.values import read_time
from tapveil.internal.bounds import bound_of, with_bound
from tapveil.internal.coupling import from_timetable, from_trips, sentence
from tapveil.internal.warnings import share_left_out
from tapveil.plan.model import Plan, Table
from tapveil.plan.source import SourceColumn, has_a_day
from tapveil.trips.excerpt import Excerpt
from tapveil.veil.leak_guard import refuse_mixed_up, words

MANY_TRIPS = 10_000
MANY_COPIES = 0.03
MANY_REVERSED = 0.05
"""A trip over midnight ends before it begins; more than a few do not."""
MANY_OTHER_DAYS = 0.05
ENOUGH_SEEN = 20
"""Of an excerpt, places with fewer trips than this tell nothing about where one can go from them."""
PLACES = ("tap_on_location", "tap_off_location")
TIMES = ("tap_on_time", "tap_off_time")
TIME_DAY, CLOCK, AS_WRITTEN = "day_of_the_time", "time_as_written", "text_as_written"
"""Columns of our own: the day that stands in the time of a trip, and what the trips have, as they have it."""
AFTER_MIDNIGHT = 0.001
"""Of times that a timetable would write as 25:10; a single one decides nothing."""

Pairs = dict[tuple[str, str, str], int]
"""The trips of each mode from each stop to each; without a mode, of every mode."""


@dataclass(frozen=True)
class Look:
    """What takes another look at the trips, or at the timetable."""

    inputs: PublicInputs
    counted: Counted
    memory: str
    scratch: Path | None
    progress: Reporter
    paths: Sequence[Path] = ()
    """The files of an excerpt; none where the trips themselves are looked at."""
    one_in: int = 1
    """How many cards there are for each whose rows it has."""

    @classmethod
    @contextmanager
    def at(
        cls,
        inputs: PublicInputs,
        counted: Counted,
        excerpt: Excerpt,
        *,
        memory: str,
        scratch: Path | None,
        progress: Reporter,
    ) -> Iterator[Look]:
        """A look at an excerpt, or at all trips where there are few."""
        with excerpt.files(scratch) as paths:
            yield cls(inputs, counted, memory, scratch, progress, paths, excerpt.one_in)

    @property
    def plan(self) -> Plan:
        return self.inputs.plan

    @property
    def _looked_at(self) -> Plan:
        """The plan, of the excerpt."""
        paths = tuple(map(str, self.paths)) or self.plan.source.path
        return self.plan.model_copy(update={"source": self.plan.source.model_copy(update={"path": paths})})

    def remarks(self) -> Iterator[str]:
        """All that it finds, the likeliest mistakes first."""
        yield from self.other_rows()
        yield from self.copies()
        yield from self.contradictions()
        yield from self.coupled()

    def left_out(self, most: int) -> float:
        """The share of trips that a bound on the trips of a unit leaves out: of another than the plan's, by excerpt."""
        plan, counted = self.plan, self.counted
        if most != bound_of(plan):
            plan = with_bound(self._looked_at, most)
            counted = count(plan, memory=self.memory, scratch=self.scratch, inputs=self.inputs)
        return share_left_out(plan, counted.left_out, counted.refusals.rows - counted.refusals.refused)

    def other_rows(self) -> Iterator[str]:
        """Taps that are neither on nor off: left out, and perhaps a word that the plan does not know."""
        if self.plan.source.taps:
            others = counter.other_taps(
                self._looked_at, memory=self.memory, scratch=self.scratch, progress=self.progress
            )
            if others:
                yield (
                    f"{self.about(others)} rows are neither taps on nor taps off according to [source.taps], and are "
                    "left out"
                )

    def copies(self) -> Iterator[str]:
        """Rows that are the same, card and all: one person cannot do the same twice at once."""
        timed = any(self.plan.source.kind(ours) == "time" for ours in self.plan.columns.named)
        if self.plan.source.card is None or not timed:
            return  # without a card or a time, rows may be alike that are not the same
        found = counter.copies(self._looked_at, memory=self.memory, scratch=self.scratch, progress=self.progress)
        if found:
            rows, every = self.counted.refusals.rows + self.counted.refusals.elsewhere, found * self.one_in
            # Of taps that are neither on nor off no row is counted, though rows may be alike.
            many = f" ({percent(every / rows, digits=0)} of all rows)" if 0 < MANY_COPIES * rows < every <= rows else ""
            yield (
                f"{self.about(found)} rows{many} are duplicates of another row in every column that is read, "
                "including the card. Refused rows and rows of other days are among them. A duplicated trip counts "
                "twice and is protected half as well: check whether files were exported twice"
            )

    def about(self, found: int) -> str:
        """A number of rows: of an excerpt, how many there may be in all."""
        return f"{found:,}" if self.one_in == 1 else f"about {found * self.one_in:,}"

    def mixed_up(self) -> str | None:
        """Why the leak guard would stop a release of these trips; None where it would not."""
        labels = self.counted.texts(self.plan)
        every = words(text for texts in labels.values() for text in texts)
        cards = counter.cards_among(
            every, self.plan, memory=self.memory, scratch=self.scratch, shapes=self.counted.cards
        )
        try:
            refuse_mixed_up(labels, cards)
        except LeakError as error:
            return str(error)
        return None

    # --- places and times, from one pass ----------------------------------------------------------------------------

    @cached_property
    def _looked(self) -> Mapping[str, ExactTable]:
        """All stops as the trips name them, in pairs; both times; and one time as it is written."""
        used, columns = set(self.plan.columns.used), dict[str, SourceColumn]()
        sets = {"places": [each for each in PLACES if each in used], "times": [each for each in TIMES if each in used]}
        if clock := _time_of_a_calendar_day(self.plan):
            columns[CLOCK] = SourceColumn(column=clock.column, kind="label", missing=clock.missing)
            sets["clocks"] = [CLOCK]
        return self._count_with(columns, sets)

    @cached_property
    def _days(self) -> ExactTable | None:
        """The days in a time and in the date. Counted by themselves: rows whose times have no day are refused."""
        timed = _time_with_a_day(self.plan)
        if timed is None:
            return None
        column = SourceColumn(column=timed.column, kind="date", format=timed.format, missing=timed.missing)
        return self._count_with({TIME_DAY: column}, {"days": ["date", TIME_DAY]}).get("days")

    def _count_with(
        self, columns: Mapping[str, SourceColumn], sets: Mapping[str, Sequence[str]]
    ) -> Mapping[str, ExactTable]:
        """Tables of the trips, one by one, with columns of our own."""
        source = self._looked_at.source
        tables = tuple(Table(name=name, columns=tuple(each)) for name, each in sets.items() if each)
        if source.taps or not tables:
            return {}
        changed = source.model_copy(update={"columns": {**source.columns, **columns}})
        return self._count(tables, {"source": changed, "privacy": self._trips})

    @property
    def _trips(self) -> object:
        """Every trip by itself, whatever the plan protects: that is quickly counted."""
        single = {"unit": "trip", "trips_per_card": None, "trips_per_day": None, "without_card": None}
        return self.plan.privacy.model_copy(update=single)

    def _count(self, tables: tuple[Table, ...], changes: Mapping[str, object]) -> Mapping[str, ExactTable]:
        """Some tables of the trips, with stops and times as they are, by mode where the plan reads it; nothing else."""
        parts = ("mode",) if "mode" in self.plan.columns.used else ()
        release = self.plan.release.model_copy(update={"partition": parts})
        as_named = self.plan.coarsen.model_copy(update={"location": {}})
        always = self.plan.world.model_copy(update={"service": {}})
        changed = self._looked_at.model_copy(
            update={
                "table": tables,
                "release": release,
                "coarsen": as_named,
                "world": always,
                "places": None,
                **changes,
            }
        )
        with self.progress.stage(Stage.LOOKING_UP_STOPS):
            counted = count(changed, memory=self.memory, scratch=self.scratch, inputs=self.inputs)
        return counted.tables

    def contradictions(self) -> Iterator[str]:
        """Columns that cannot both be right: a trip that ends before it begins, a time of another day than the date."""
        if (times := self._looked.get("times")) and times.packing.columns[-2:] == TIMES:
            on, off = (_labels(times, name) for name in TIMES)
            known = (on != MISSING) & (off != MISSING)
            trips = exact_counts(times)
            reversed_ = int(trips[known & (off < on)].sum())
            if reversed_ > MANY_REVERSED * max(int(trips[known].sum()), 1):
                share = percent(reversed_ / int(trips[known].sum()), digits=0)
                yield (
                    f"{share} of trips end before they begin: check that tap_on_time and tap_off_time are not "
                    "mixed up, and that both are times of day"
                )
        if days := self._days:
            apart = Counter[bool]()
            for one, other, trips in zip(
                _labels(days, "date"), _labels(days, TIME_DAY), exact_counts(days).tolist(), strict=True
            ):
                apart[abs((date.fromisoformat(one) - date.fromisoformat(other)).days) > 1] += trips
            if apart[True] > MANY_OTHER_DAYS * apart.total():
                column = self.plan.source.columns["date"].column
                share = percent(apart[True] / apart.total(), digits=0)
                yield (
                    f"`{column}` is more than a day from the day in the times, for {share} of trips: check that it is "
                    "the day of the trip, not of its settlement"
                )

        if clocks := self._looked.get("clocks"):
            minutes = [read_time(each) or 0 for each in _labels(clocks, CLOCK)]
            late = np.array(minutes) >= MINUTES_PER_DAY
            trips = exact_counts(clocks)
            if trips[late].sum() > AFTER_MIDNIGHT * max(int(trips.sum()), 1):
                share = percent(int(trips[late].sum()) / int(trips.sum()))
                yield (
                    f"{share} of trips have a time such as 25:10, and are counted at 01:10 of the date in their row: "
                    'if that is the day on which service began, set `dates = "service"` and `day_starts`, such as '
                    '"04:00", under [source]'
                )

    def by_label(self, column: str) -> Counter[tuple[str, str]]:
        """The trips of each mode and label of one end, as the trips name it; of taps, counted for that end."""
        if self.plan.source.taps:
            exact = self._count((Table(name="labels", columns=(column,)),), {})["labels"]
        else:
            exact = self._looked["places" if column in PLACES else "times"]
        return _by_mode(exact, column)

    def of_every_day_and_mode(self) -> Counter[tuple[str, str]]:
        """The trips of each mode and day, also of those that the plan does not cover."""
        every = {"modes": None, "first_day": None, "last_day": None}
        source = self._looked_at.source.model_copy(update=every)
        columns = ("date",) if "date" in self.plan.columns.used else ()
        exact = self._count((Table(name="covered", columns=columns),), {"source": source, "privacy": self._trips})
        return _by_mode(exact["covered"], "date" if columns else None)

    def as_written(self, column: SourceColumn) -> Counter[str]:
        """The trips of each value of a column of the files, as it is written there."""
        label = SourceColumn(column=column.column, kind="label", missing=column.missing)
        source = self._looked_at.source
        source = source.model_copy(update={"columns": {**source.columns, AS_WRITTEN: label}})
        tables = (Table(name="written", columns=(AS_WRITTEN,)),)
        exact = self._count(tables, {"source": source, "privacy": self._trips})["written"]
        found = Counter[str]()
        for place, trips in _by_mode(exact, AS_WRITTEN).items():
            found[place[1]] += trips
        return found

    # --- coupled places ---------------------------------------------------------------------------------------------

    def coupled(self) -> Iterator[str]:
        """Places between which there is only one way to go, by the timetable or by the trips, if they would show."""
        if not set(PLACES) <= set(self.plan.columns.used):
            return
        feed = self.inputs.feed
        if feed and feed.has_lines:
            found = from_timetable(self.plan, self.inputs.areas, feed)
        elif self.plan.source.taps and (self.plan.source.card is None or not self.plan.source.deciding):
            yield "coupled places cannot be found: that needs a timetable, or cards and times by which to pair taps"
            return
        else:
            found = from_trips(self._pairs(), least=ENOUGH_SEEN if self.one_in > 1 else 0)
        shown = self._places_that_show()
        if showing := [each for each in found if {(each.mode, place) for place in each.places} <= shown]:
            yield sentence(showing)

    def _pairs(self) -> Pairs:
        """How many trips of each mode go from each place to each, as places are published; of taps, how many cards."""
        if self.plan.source.taps:
            bounds = {"unit": "card", "trips_per_card": MANY_TRIPS, "trips_per_day": None, "without_card": "own-unit"}
            changes = {"privacy": self.plan.privacy.model_copy(update=bounds)}
            exact = self._count((Table(name="pairs", columns=PLACES),), changes)["pairs"]
        else:
            exact = self._looked["places"]
        modes = _labels(exact, "mode") if "mode" in exact.labels else np.full(len(exact_counts(exact)), "")
        starts, ends = (_labels(exact, column) for column in PLACES)
        area, pairs = self.inputs.areas.area, Counter[tuple[str, str, str]]()
        known = {
            (mode, stop): stop if stop == UNKNOWN else area(mode or EVERY_MODE, stop)
            for mode, stop in {*zip(modes, starts, strict=True), *zip(modes, ends, strict=True)}
        }
        for mode, start, end, trips in zip(modes, starts, ends, exact_counts(exact).tolist(), strict=True):
            pairs[mode, known[mode, start], known[mode, end]] += trips
        return pairs

    def _places_that_show(self) -> set[tuple[str, str]]:
        """The places of which some count of a table is large enough to be published: of others nobody learns."""
        found = set[tuple[str, str]]()
        for table in self.plan.table:
            exact, mechanism = self.counted.tables[table.name], self.plan.guarantee.mechanisms[table.name]
            large = np.flatnonzero(exact_counts(exact) >= float(mechanism.threshold))
            modes = _labels(exact, "mode")[large] if "mode" in exact.labels else np.full(len(large), "")
            for column in (each for each in PLACES if each in table.columns and table.level.location is None):
                found.update(zip(modes.tolist(), _labels(exact, column)[large].tolist(), strict=True))
        return found


def _by_mode(exact: ExactTable, column: str | None) -> Counter[tuple[str, str]]:
    """The trips of each mode and label; without a column, or a mode, of all of them."""
    trips = exact_counts(exact).tolist()
    modes = _labels(exact, "mode") if "mode" in exact.labels else [EVERY_MODE] * len(trips)
    labels = _labels(exact, column) if column else [""] * len(trips)
    found = Counter[tuple[str, str]]()
    for mode, label, number in zip(modes, labels, trips, strict=True):
        found[mode, label] += number
    return found


def _labels(exact: ExactTable, column: str) -> np.ndarray:
    """The label of each cell in a column."""
    return np.array(exact.labels[column], dtype=object)[exact.packing.unpack(exact.words)[column]]


def excerpt_of(plan: Plan) -> Excerpt:
    """An empty excerpt with the columns that are looked at."""
    timed = _time_with_a_day(plan)
    columns = {*plan.columns.named.values(), *([timed.column] if timed and timed.column else [])}
    return Excerpt(columns, plan.source.card)


def _time_of_a_calendar_day(plan: Plan) -> SourceColumn | None:
    """A time of the day, where nothing says that its hours go on after midnight."""
    source = plan.source
    if source.dates != "calendar" or source.day_starts or "date" not in source.columns:
        return None
    times = (source.columns[name] for name in TIMES if name in plan.columns.used)
    return next((time for time in times if time.column and time.format is None), None)


def _time_with_a_day(plan: Plan) -> SourceColumn | None:
    """The time that decides the day of a trip, where the files give the day in a column of its own, too."""
    source = plan.source
    given, times = source.columns.get("date"), [source.columns[name] for name in source.deciding[:1]]
    if given is None or given.column is None or not source.calendar or source.dates == "service":
        return None
    # A format of hours and minutes would be read as a day of 1900.
    brings = (time for time in times if time.format is None or has_a_day(time.format))
    return next((time for time in brings if time.column and time.column != given.column), None)
