"""Whatever the level, the engine counts what plain Python counts: trips, or each card once in a coarser cell."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapveil.base.errors import TripDataError
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan
from tests.conftest import write_csv
from tests.property.test_counting import cells, exact

NAMES = ("card", "date", "mode", "on", "from", "to")
Row = tuple[str, str, str, str, str, str]
ROW = st.tuples(
    st.sampled_from(["c1", "c2", "c3", ""]),
    st.sampled_from(["2025-03-03", "2025-03-04"]),
    st.sampled_from(["bus", "train", "ferry"]),
    st.integers(0, 95).map(lambda quarter: f"{quarter // 4:02d}:{quarter % 4 * 15 + 7:02d}")
    | st.sampled_from(["", "25:07", "03:59"]),
    st.sampled_from(["s1", "s2", "s3", "東門, No. 1", ""]),
    st.sampled_from(["s1", "s2", "s3"]),
)
PLACES = ("s1", "s2", "s3", "東門, No. 1")
AREAS = st.dictionaries(st.sampled_from(PLACES), st.sampled_from(["A", "B", "s1", ""]), max_size=4)
COLUMNS = {"tap_on_time": 3, "tap_on_location": 4, "tap_off_location": 5}
BOUNDS = {
    "trip": "",
    "card-day": 'trips_per_day = 99\nwithout_card = "own-unit"',
    "card": 'trips_per_card = 99\nwithout_card = "own-unit"',
}


@dataclass(frozen=True)
class Levelled:
    """A table at a level: bins of so many minutes, or parts that start then; areas as they are, or wider."""

    columns: tuple[str, ...]
    minutes: int | None
    times: tuple[int, ...] | None
    wider: bool

    @property
    def toml(self) -> str:
        keys = {
            "time_minutes": self.minutes,
            "times": self.times and [clock(minute) for minute in self.times],
            "location": "area" if self.wider else None,
        }
        level = ", ".join(f"{key} = {json.dumps(value)}" for key, value in keys.items() if value)
        return f"columns = {json.dumps(self.columns)}\nlevel = {{ {level} }}"


def clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


@st.composite
def levels(draw: st.DrawFn) -> list[Levelled]:
    found = []
    for columns in draw(st.sets(st.sampled_from(sorted(COLUMN_SETS)), min_size=1, max_size=3)):
        way = draw(st.sampled_from(["bins", "times", ""])) if "tap_on_time" in columns else ""
        minutes = draw(st.sampled_from([30, 60, 360, 1440])) if way == "bins" else None
        times = (
            draw(st.sets(st.integers(0, 95).map(lambda n: 15 * n), min_size=1, max_size=4)) if way == "times" else ()
        )
        wider = draw(st.booleans()) and columns != ("tap_on_time",)
        found.append(Levelled(columns, minutes, tuple(sorted(times)) or None, wider))
    return found


COLUMN_SETS = [
    ("tap_on_time",),
    ("tap_on_location",),
    ("tap_on_time", "tap_on_location"),
    ("tap_on_location", "tap_off_location"),
    ("tap_off_location", "tap_on_time", "tap_on_location"),
]


@dataclass(frozen=True)
class Case:
    """How a plan tells times and areas apart."""

    unit: str
    partition: tuple[str, ...]
    first: int
    """Where a day starts, if its hours go on after midnight."""
    areas: Mapping[str, Mapping[str, str]]
    """The wider area of each place, by mode."""
    tables: Sequence[Levelled]

    def plan(self, folder: Path, privacy: str = 'mechanism = "sbh"\nepsilon = 8\ndelta = 1e-6') -> Plan:
        for number, areas in enumerate(self.areas.values()):
            write_csv(folder / f"areas-{number}.csv", areas.items(), ("place", "area"))
        lists = "\n".join(
            f'[coarsen.wider.area.{json.dumps(mode)}]\nlookup = "areas-{number}.csv"\nfrom = "place"\nto = "area"'
            for number, mode in enumerate(self.areas)
        )
        columns = "\n".join(
            f'{ours} = "{theirs}"' for ours, theirs in zip(("card", "date", "mode", *COLUMNS), NAMES, strict=True)
        )
        continued = 'after_midnight = "continued"\n' if self.first else ""
        starts = f'dates = "service"\nday_starts = "{clock(self.first)}"\n' if self.first else ""
        listed = 'cells = "cells-{n}.csv"\n' if "dictionary" in privacy else ""
        tables = "\n".join(
            f'[[table]]\nname = "t{n}"\n{listed.format(n=n)}{table.toml}' for n, table in enumerate(self.tables)
        )
        return Plan.parse(
            f'[release]\nname = "x"\ntitle = "x"\npartition = {json.dumps(self.partition)}\n'
            f'[source]\npath = "trips.csv"\n{starts}[source.columns]\n{columns}\n'
            f"[coarsen]\ntime_minutes = 15\n{continued}{lists}\n"
            f'[privacy]\nunit = "{self.unit}"\nneighbours = "replace"\n{BOUNDS[self.unit]}\n{privacy}\n{tables}\n',
            base=folder,
        )

    def label(self, table: Levelled, column: str, mode: str, text: str) -> str:
        """What a value is called at a level, without bins, codes or anything else of ours."""
        if column != "tap_on_time":
            place = text or "UNKNOWN"
            areas = self.areas.get(mode, self.areas.get("*"))
            if not table.wider or place == "UNKNOWN" or areas is None:
                return place
            return areas.get(place) or "UNKNOWN"
        if not text:
            return "-1"
        minute = (60 * int(text[:2]) + int(text[3:])) % 1440
        minute += 1440 if minute < self.first else 0
        while not self.starts(table, minute):
            minute -= 1
        return clock(minute)

    def starts(self, table: Levelled, minute: int) -> bool:
        if table.times:
            return minute == self.first or minute % 1440 in table.times
        return (minute - self.first) % (table.minutes or 15) == 0

    def key(self, table: Levelled, row: Row) -> tuple[str, ...]:
        part = {"mode": row[2], "date": row[1]}
        own = (self.label(table, column, row[2], row[COLUMNS[column]]) for column in table.columns)
        return (*(part[name] for name in self.partition), *own)

    def loses_a_place(self, table: Levelled, row: Row) -> bool:
        """Whether a place that is known has no wider area."""
        places = [(column, row[COLUMNS[column]]) for column in table.columns if column != "tap_on_time"]
        return any(place and self.label(table, column, row[2], place) == "UNKNOWN" for column, place in places)

    def count(self, table: Levelled, rows: Sequence[Row]) -> Counter[tuple[str, ...]]:
        found: Counter[tuple[str, ...]] = Counter()
        seen: set[tuple[object, ...]] = set()
        for number, row in enumerate(rows):
            unit: tuple[object, ...] = (number,)
            if row[0] and self.unit != "trip":
                unit = (row[0], row[1]) if self.unit == "card-day" else (row[0],)
            key = self.key(table, row)
            found[key] += (unit, key) not in seen
            seen.add((unit, key))
        return found


@st.composite
def cases(draw: st.DrawFn) -> Case:
    partition = draw(st.sampled_from([("mode", "date"), ("mode",), ("date",), ()]))
    modes = ["*", "bus", "train"] if "mode" in partition else ["*"]
    areas = draw(st.dictionaries(st.sampled_from(modes), AREAS, min_size=1, max_size=3))
    first = draw(st.sampled_from([0, 240]))
    return Case(draw(st.sampled_from(list(BOUNDS))), partition, first, areas, draw(levels()))


@settings(max_examples=60)
@given(case=cases(), rows=st.lists(ROW, max_size=40))
def test_every_level_counts_what_plain_python_counts(case: Case, rows: list[Row]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_csv(folder / "trips.csv", rows, NAMES)
        counted = exact(case.plan(folder))
    for number, table in enumerate(case.tables):
        assert cells(counted.tables[f"t{number}"]) == case.count(table, rows), table
    assert counted.refusals.refused == 0


@settings(max_examples=30)
@given(case=cases(), rows=st.lists(ROW, min_size=1, max_size=20))
def test_a_list_of_cells_is_that_of_the_coarser_cells_that_they_lie_in(case: Case, rows: list[Row]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, table in enumerate(case.tables):
            fine = Levelled(table.columns, None, None, wider=False)
            listed = {case.key(fine, row) for row in rows}
            write_csv(folder / f"cells-{number}.csv", listed, (*case.partition, *table.columns))
        plan = case.plan(folder, 'mechanism = "dictionary"\nepsilon = 8')
        if any(case.loses_a_place(table, row) for table in case.tables for row in rows):
            with pytest.raises(TripDataError, match="which has no wider area"):
                _ = PublicInputs.of(plan).dictionaries
            return
        lists = PublicInputs.of(plan).dictionaries
    for number, table in enumerate(case.tables):
        found = lists[f"t{number}"]
        assert found is not None
        expected = sorted({case.key(table, row) for row in rows})
        assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == expected
