"""The tables of a plan, counted from generated trips by the program's own counter: what people of the test add to them.

The people of the test are taken out of the city, and the others counted: the base. What each of them would add is
counted once, with the plan's bounds, bins and levels. A cell that none of them can change tells nothing of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tapveil.base.progress import Silent
from tapveil.base.vocabulary import EVERY_MODE, MINUTES_PER_DAY
from tapveil.counting import counter
from tapveil.counting.exact import ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.demo.population import Integers, Population
from tapveil.plan.model import Plan, Table, WiderArea
from tapveil.plan.source import SourceColumn

WHO = "intruder_who"
"""The column that says whose trips are counted."""
PAIRS = "exact_pairs"
"""The table from where to where, by time: what agencies publish exactly."""
TOGETHER = 12
"""Places in a generated wider area."""

Cell = tuple[str, ...]
Addition = tuple[Integers, Integers]
"""What somebody adds to a table: the numbers of its cells, and by how much each grows."""
NOTHING: Addition = (np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(eq=False)
class Counts:
    """One table: cells that people of the test can change, each with a number; what they add; and all others."""

    cells: dict[Cell, int] = field(default_factory=dict)
    added: dict[str, dict[int, Addition]] = field(default_factory=dict)
    """By slice and person."""
    base: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    usual: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    """The base of ordinary days like these: what an intruder may know of everybody else."""

    def between(self, which: str, people: Sequence[int | None], *others: int) -> tuple[Integers, Integers]:
        """The cells in which these differ, and the counts if each of them were the one who is there.

        `None` is nobody. `others` are there in any case.
        """
        found = self.added[which]
        additions = [found.get(person, NOTHING) if person is not None else NOTHING for person in people]
        fixed = [found.get(other, NOTHING) for other in others]
        cells = np.unique(np.concatenate([each[0] for each in (*additions, *fixed)]))
        counts = np.tile(self.base[cells], (len(people), 1))
        for row, addition in zip(counts, additions, strict=True):
            for each, by in (addition, *fixed):
                row[np.searchsorted(cells, each)] += by
        return cells, counts


@dataclass(frozen=True)
class Counter:
    """Counts generated trips as the plan says; or every trip, where an agency bounds nothing."""

    plan: Plan
    folder: Path
    bounded: bool = True

    def tables(
        self, slices: Mapping[str, Population], who: Mapping[str, Integers], base: Population, usual: Population
    ) -> dict[str, Counts]:
        """All tables; `who` says whose each trip of a slice is."""
        found: dict[str, Counts] = defaultdict(Counts)
        for name, trips in slices.items():
            for table, exact in self._counted(trips, who[name]).items():
                _add(found[table], name, exact)
        for attribute, everybody in (("base", base), ("usual", usual)):
            for table, exact in self._counted(everybody, np.zeros(len(everybody), np.int64)).items():
                setattr(found[table], attribute, _at(found[table].cells, exact))
        return dict(found)

    def _counted(self, trips: Population, who: Integers) -> Mapping[str, ExactTable]:
        pq.write_table(self._rows(trips, who), self.folder / "trips.parquet")
        pa_csv.write_csv(_wider(trips.places), self.folder / "wider.csv")
        counted = counter.count(self._fitted, progress=Silent())
        if counted.refusals.refused:
            raise AssertionError("a generated trip does not fit the plan")
        return counted.tables

    def _rows(self, trips: Population, who: Integers) -> pa.Table:
        """One row per trip, with every column that the plan reads."""
        return pa.table({name: self._column(name, trips, who) for name in self._fitted.source.columns})

    def _column(self, name: str, trips: Population, who: Integers) -> pa.Array:
        off = name.startswith("tap_off")
        clock = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(MINUTES_PER_DAY)]
        days, modes = [str(day) for day in trips.days], list(trips.modes)
        labels = list(self.plan.world.lists.get(name) or (f"{name} {number}" for number in range(3)))
        kind = self._fitted.source.kind(name)
        coded: tuple[list[str], Integers] = {
            "time": (clock, trips.off if off else trips.on),
            "duration": (clock, trips.off),
            "date": (days, trips.day),
            "calendar": (days, trips.day),
            "location": (list(trips.places), trips.stop if off else trips.start),
            "label": (modes, trips.mode) if name == "mode" else (labels, trips.card % len(labels)),
        }.get(kind, ([], trips.card))
        if name == WHO:
            return pa.array(who).cast(pa.string())
        if kind == "card":
            return pa.array(trips.card * 1_000_003 + who).cast(pa.string())
        return pa.array(coded[0]).take(pa.array(coded[1]))

    @property
    def _fitted(self) -> Plan:
        """The plan over generated trips, which have its areas already. Nothing but counting is asked of it."""
        plan = self.plan
        columns = {
            name: SourceColumn(column=name, kind=plan.source.kind(name)) if column.column else column
            for name, column in plan.source.columns.items()
        } | {WHO: SourceColumn(column=WHO)}
        source: dict[str, Any] = {"path": (str((self.folder / "trips.parquet").resolve()),), "columns": columns}
        plain = ("table", "taps", "counts", "delimiter", "header_line", "first_trip_line", "sheet", "timezone")
        source |= {"engine": "duckdb", "shape": "trips", "encoding": "utf-8", **dict.fromkeys(plain)}
        wider = WiderArea.model_validate(
            {"lookup": str((self.folder / "wider.csv").resolve()), "from": "place", "to": "area"}
        )
        areas = {"location": {}, "wider": {name: {EVERY_MODE: wider} for name in plan.coarsen.wider}}
        # Lists of places and cells are left out: all cells of generated trips are taken to be in them.
        privacy: dict[str, Any] = {"mechanism": "gaussian"}
        if not self.bounded:
            privacy |= {"unit": "trip", **dict.fromkeys(("trips_per_day", "trips_per_card", "without_card"))}
        timed = any(each.timetable for each in plan.coarsen.date.values())
        return plan.model_copy(
            update={
                "release": plan.release.model_copy(update={"partition": (WHO, *plan.release.partition)}),
                "source": plan.source.model_copy(update=source),
                "coarsen": plan.coarsen.model_copy(update=areas),
                "gtfs": plan.gtfs if timed else None,
                "privacy": plan.privacy.model_copy(update=privacy),
                "table": plan.table if self.bounded else (*map(_unbounded, plan.table), *pairs(plan)),
            }
        )


def pairs(plan: Plan) -> list[Table]:
    """The table from where to where, by time, as far as the plan has such columns."""
    wanted = ("tap_on_location", "tap_off_location", "tap_on_time")
    columns = tuple(name for name in wanted if name in plan.source.columns and name not in plan.release.partition)
    return [Table(name=PAIRS, columns=columns)] if columns else []


def has_destinations(plan: Plan) -> bool:
    """Whether that table says from where to where; where only boardings are counted, it is of places and times."""
    return {"tap_on_location", "tap_off_location"} <= plan.source.columns.keys()


def _unbounded(table: Table) -> Table:
    return table.model_copy(update={"trips_per_cell": None})


def _wider(places: Sequence[str]) -> pa.Table:
    return pa.table({"place": list(places), "area": [f"area {number // TOGETHER}" for number in range(len(places))]})


def _labels(exact: ExactTable) -> dict[str, list[str]]:
    codes = exact.label_codes(np.arange(len(exact_counts(exact)), dtype=np.intp))
    return {name: pa.array(exact.labels[name], pa.string()).take(pa.array(codes[name])).to_pylist() for name in codes}


def _add(counts: Counts, which: str, exact: ExactTable) -> None:
    """Note what each person adds, and give new cells their numbers."""
    labels = _labels(exact)
    whose = labels.pop(WHO)
    found: dict[int, dict[int, int]] = defaultdict(dict)
    keys = zip(*labels.values(), strict=True) if labels else ((),) * len(whose)
    for person, key, count in zip(whose, keys, exact_counts(exact).tolist(), strict=True):
        found[int(person)][counts.cells.setdefault(key, len(counts.cells))] = count
    counts.added[which] = {
        person: (np.fromiter(cells, np.int64, len(cells)), np.fromiter(cells.values(), np.int64, len(cells)))
        for person, cells in found.items()
    }


def _at(cells: Mapping[Cell, int], exact: ExactTable) -> npt.NDArray[np.int64]:
    """The counts of the numbered cells; 0 where nobody was."""
    names = [name for name in exact.labels if name != WHO]
    columns = zip(*cells, strict=True) if cells and names else iter(())
    listed = {name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=False)}
    one = pa.array(["0"]).take(pa.array(np.zeros(len(cells), np.int64)))
    places, own = exact.places_in(pa.table({WHO: one, **listed}))
    found = np.zeros(len(cells), dtype=np.int64)
    found[places] = exact_counts(exact)[own]
    return found
