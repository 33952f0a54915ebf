"""The columns of a plan: which are read, which are keys of a table, and which end of a trip they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import CARD, COUNT, DURATION, EVERY_MODE, TAP, End, Kind, ends_of

if TYPE_CHECKING:
    from tapveil.plan.calendar import CalendarColumn
    from tapveil.plan.model import Level, Plan, Table


@dataclass(frozen=True)
class Columns:
    """The columns of a plan, by the names that the plan gives them."""

    plan: Plan

    def of(self, table: Table) -> tuple[str, ...]:
        """Key columns of a table: those of the partition, then its own."""
        return (*self.plan.release.partition, *table.columns)

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are read."""
        plan, source = self.plan, self.plan.source
        by_mode = ["mode"] if any(mode != EVERY_MODE for mode in plan.coarsen.location) else []
        by_day = ["date"] if plan.privacy.trips_per_day or source.first_day else []
        some_modes = ["mode"] if source.modes else []
        keys = (column for table in plan.table for column in table.columns)
        used = dict.fromkeys([*plan.release.partition, *keys, *by_mode, *by_day, *some_modes])
        times = source.deciding if "date" in used and source.day_follows_time else ()
        order = ("tap_on_time",) if self.pairs_taps else ()  # a tap that has none cannot be put in order
        number = (COUNT,) if source.most_per_row else ()
        return tuple(dict.fromkeys([*used, *times, *order, *number]))

    @property
    def read(self) -> dict[str, str]:
        """The columns that are read from the files: the name in the plan, and the name in the files."""
        source = self.plan.source
        card = [CARD] if self.plan.privacy.by_card else []
        for_days = ["date"] if source.timezone else []
        ends = [TAP] if source.taps else []
        pairs = ["date", source.taps.same] if source.taps and self.pairs_taps else []
        starts = ["tap_on_time"] if DURATION in self.used and self.plan.world.durations else []
        wanted = dict.fromkeys([*self.used, *card, *for_days, *ends, *pairs, *starts])
        return {ours: theirs for ours in wanted if ours in source.columns and (theirs := source.columns[ours].column)}

    @property
    def named(self) -> dict[str, str]:
        """The columns that the files must have: those that are read, and the card, which the leak guard looks for."""
        card = self.plan.source.card
        return {**self.read, **({CARD: card} if card else {})}

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of the key columns of all tables."""
        return {self.plan.source.kind(column) for table in self.plan.table for column in self.of(table)}

    @property
    def calendars(self) -> dict[str, CalendarColumn]:
        """The columns of the tables that follow from the day."""
        keys = {column for table in self.plan.table for column in self.of(table)}
        return {name: column for name, column in self.plan.coarsen.date.items() if name in keys}

    def times(self, level: Level | None = None) -> TimeBins:
        """The time bins of a day, at the plan's own level or at the level of a table."""
        coarsen = self.plan.coarsen
        first = self.plan.source.day_starts if coarsen.after_midnight == "continued" else 0
        if level and level.times:
            return TimeBins.parts(level.times, first)
        return TimeBins.every((level and level.time_minutes) or coarsen.time_minutes, first)

    def copies(self, column: str) -> bool:
        """Whether a column is published with values copied from the trips; times and calendar days are not."""
        kind = self.plan.source.kind(column)
        return kind in ("label", "location") or (kind == "date" and not self.plan.source.calendar)

    def ends(self, table: Table) -> End | Literal["both"]:
        """Which end of a trip a table describes; a table without places or times counts trips where they begin."""
        return ends_of(self.of(table))

    @property
    def sides(self) -> dict[End | Literal["both"], tuple[Table, ...]]:
        """Where a row is one tap: the tables that count taps on, taps off, and complete trips."""
        tables = self.plan.table if self.plan.source.taps else ()
        ends = dict.fromkeys(map(self.ends, tables))
        return {end: tuple(table for table in tables if self.ends(table) == end) for end in ends}

    @property
    def counted_taps(self) -> tuple[str, ...]:
        """The words of [source.taps] for the taps that the tables count: on, off, or both."""
        taps = self.plan.source.taps
        words = {"on": taps.on, "off": taps.off, "both": (*taps.on, *taps.off)} if taps else {}
        return tuple(word for end in self.sides for word in words[end])

    @property
    def pairs_taps(self) -> bool:
        """Whether a row is one tap, and some table needs both taps of a trip."""
        return "both" in self.sides
