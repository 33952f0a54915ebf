"""The audit: attacks the program as built, and says what the attack proves.

It generates trips, releases them through the same function as everyone (`veil.release`), reads the published folder
as anyone could, and holds it against the promise and against the exact distribution. Cells are independent, so one run
with thousands of equal cells is thousands of trials. Singletons must appear often enough to be counted, so the run has
a δ of its own, large; unit, neighbours, mechanism and ε are those of the plan, and noise and thresholds are made from
them by the plan's rules. What one unit changes before any noise is compared exactly. Only counting, noise and writing
are attacked: the trips come as plain Parquet, with nothing to misread.

No trips of the plan are read. Every bound holds but for a chance of `MISTAKEN` over the whole audit.
"""

from __future__ import annotations

import os
import tempfile
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from itertools import accumulate, pairwise
from math import log
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tapveil.base.defaults import AUDIT_TRIALS, MEMORY
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.vocabulary import MEASUREMENTS, UNKNOWN
from tapveil.counting import counter
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.cell_list import LONG_LIST
from tapveil.internal.audit.city import DAY, PARTS, City, Counts, Row, busy_units
from tapveil.internal.audit.closed_form import FLOATS, NOTHING, ClosedForm
from tapveil.plan.model import Plan, Table
from tapveil.privacy.binomial import Trials, delta_lower_bound, epsilon_lower_bound
from tapveil.privacy.mechanisms import Mechanism
from tapveil.veil import release
from tapveil.veil.statement import cost
from tapveil.verification.folder import verify_folder

MISTAKEN = 1e-7
"""The chance, at most, that a sound program fails the audit."""
CHECKS = 20_000
"""More comparisons than any audit makes: each gets an equal part of `MISTAKEN`."""
ALPHA = MISTAKEN / CHECKS
MOST_ROWS = 3_000_000
SINGLETON = Fraction(1, 100)
"""About how often a cell of one shall appear in the audit's own release: often enough to be counted."""
BOUNDS = ("trips_per_day", "trips_per_card", "cut")
FEW, MANY = 5, 30
"""In the release with estimates, places of each group, since all cells of all days are drawn; and trips for each."""
TWICE = 200
"""Equal cells that are released twice."""
TABLES = ("wide", "narrow")
"""The widest and the narrowest noise of the plan."""
EVERY_TABLE = ", ".join(TABLES)
TO = "to"
"""The column of the other end of a trip."""
NEXT_DAY, LAST_DAY, CLOCK = "2025-03-04", "2025-03-11", "00:00"
"""Of a known world: the last of its days, with estimates and without, and the only time that its trips have."""


@dataclass(frozen=True)
class AuditResult:
    """One experiment of the audit: what was tried, what was observed, and what is allowed."""

    check: str
    """What was tried."""
    table: str
    """On which table of the audit: `wide` has the widest noise of the plan, `narrow` the narrowest."""
    observed: str
    """What was observed."""
    allowed: str
    """What the guarantee allows."""
    broken: bool
    """Whether the observation contradicts the guarantee."""


def audit(
    plan: Plan | None = None, *, trials: int = AUDIT_TRIALS, progress: Reporter | None = None
) -> list[AuditResult]:
    """Test the privacy guarantee empirically, on generated trips. Does not read your data.

    Args:
        plan: The plan whose mechanism, unit and neighbours are attacked; by default the preset `opal`.
        trials: Number of equal cells per experiment, at least 1,000. More find smaller faults.
        progress: Receives the stages of the work; silent by default.

    Returns:
        One result per experiment. The guarantee failed where `broken` is true; a sound program has one of these with
        a probability below 1e-7.

    Raises:
        EngineError: The disk or the memory failed.

    Example:
        >>> import tapveil
        >>> results = tapveil.audit(tapveil.Plan.read("plan.toml"), trials=1000)
        >>> any(result.broken for result in results)
        False
    """
    plan = plan or Plan.preset("opal")
    with tempfile.TemporaryDirectory(prefix="tapveil-audit-") as folder:
        return list(_Attack(plan, Path(folder), trials, progress or Silent()).findings())


_WORLD = {"part": "mode", "date": "date", "place": "tap_on_location", "twin": "tap_on_time", "card": "card"}
"""What the columns of generated trips are in a known world, which has lists for these kinds alone."""


def _audit_plan(plan: Plan, folder: Path, *, dated: bool = False) -> Plan:
    """A small plan with the same unit, neighbours and mechanism, over the audit's own trips."""
    privacy = plan.privacy
    if privacy.epsilon is not None:
        weights = list(plan.guarantee.weights.values())
        shares = [privacy.epsilon * weight / sum(weights) for weight in weights]
    else:
        shares = [table.epsilon or Fraction(1) for table in plan.table]
    slack = 4 if privacy.mechanism == "sbh" else 1
    delta = min(slack * SINGLETON * plan.guarantee.exposure.cells, Fraction(4, 10))
    names = _WORLD if privacy.is_world else {name: name for name in _WORLD}
    last_day = NEXT_DAY if dated else LAST_DAY
    days = f"modes = {list(PARTS)}\nfirst_day = {DAY}\nlast_day = {last_day}\n" if privacy.is_world else ""
    # Every cell of a known world is drawn, on each of its days: without the date there are fewer, and no estimates.
    partition = [names["part"], *(["date"] if dated or not privacy.is_world else [])]
    ends = {TO: "tap_off_location"} if dated else {}
    lines = [
        f'[release]\nname = "audit"\ntitle = "Audit"\npartition = {partition}',
        f'[source]\npath = "trips.parquet"\nmax_refused = 0\n{days}',
        "[source.columns]",
        *(f'{ours} = "{theirs}"' for theirs, ours in (names | ends).items()),
        *(['[places]\npath = "places.csv"', "[coarsen]\ntime_minutes = 1440"] if privacy.is_world else []),
        f'[privacy]\nunit = "{privacy.unit}"\nneighbours = "{privacy.neighbours}"\nmechanism = "{privacy.mechanism}"',
        *(f"{key} = {each}" for key, each in privacy.model_dump(include=set(BOUNDS), exclude_none=True).items()),
        *([f'without_card = "{privacy.without_card}"'] if privacy.without_card else []),
    ]
    place, twin = names["place"], names["twin"]
    most = max(table.most_per_cell for table in plan.table)
    tables = [("wide", [place], min(shares)), ("narrow", [place, twin], max(shares))]
    for name, columns, epsilon in tables + [("pairs", [place, end], max(shares)) for end in ends.values()]:
        lines.append(f'[[table]]\nname = "{name}"\ncolumns = {columns}\nepsilon = "{epsilon}"')
        lines.append('cells = "cells.csv"' if privacy.lists_cells else f'delta = "{delta}"')
        lines.extend([f"trips_per_cell = {most}"] if most > 1 else [])
    return Plan.parse("\n".join(lines), where="audit", base=folder)


class _Attack:
    def __init__(self, plan: Plan, folder: Path, trials: int, progress: Reporter) -> None:
        self._plan, self._folder, self._progress = plan, folder, progress
        self._audited = _audit_plan(plan, folder)
        self._expected = {table.name: self._closed_form(table) for table in self._audited.table}
        busy = max(expected.smallest for expected in self._expected.values()) + 2
        self._counts = {"busy": busy, "less": busy - 1, "one": 1, "none": 0}
        for name, expected in self._expected.items():
            if expected.smallest not in self._counts.values():
                self._counts[f"edge of {name}"] = expected.smallest
        self._trials = max(200, min(trials, MOST_ROWS // sum(self._counts.values())))

    @property
    def _per_cell(self) -> int:
        """How many trips of a unit may count in one cell."""
        return self._audited.table[0].most_per_cell

    @property
    def _shifts(self) -> dict[int, int]:
        """The number of cells that a unit changes, by how much: as many as it can of them as far as it can."""
        exposure = self._audited.guarantee.exposure
        full, rest = divmod(exposure.cells, self._per_cell)
        sides = exposure.changed // exposure.cells
        return {self._per_cell: sides * full} | ({rest: sides} if rest else {})

    def _closed_form(self, table: Table) -> ClosedForm:
        name, exposure = self._audited.privacy.mechanism, self._audited.guarantee.exposure
        if name == "sbh":
            scale = exposure.changed / float(table.epsilon or 1)
            return ClosedForm(name, scale, 1 + scale * log(2 * exposure.cells / float(table.delta or 1)))
        stated = next(each for each in cost(self._audited)["tables"] if each["name"] == table.name)
        if self._audited.privacy.is_world:
            return ClosedForm("gaussian", stated["scale"], 0, visits_empty_cells=True, every_cell=True)
        return ClosedForm(name, stated["scale"], stated["threshold"], self._audited.privacy.lists_cells)

    def findings(self) -> Iterator[AuditResult]:
        yield from self._sensitivity()
        for table in self._audited.table:
            yield from self._promise(table)
            yield _replay(table.name, self._audited.guarantee.mechanisms[table.name])
        city = City(self._counts, self._trials, heavy=False)
        with self._progress.stage(Stage.RELEASING), _watched() as asked:
            rows = self._released(city, "first")
        first = _by_group(city, rows)
        for name, expected in self._expected.items():
            yield from self._losses(name, expected, first[name])
            yield from _conformance(name, expected, self._counts, first[name])
        yield from self._independence(first)
        yield self._randomness(sum(asked))
        keys = {name: zip(*(each.to_pylist() for each in rows[name].columns[:-1]), strict=True) for name in TABLES}
        unsorted = [name for name in TABLES if not all(one < other for one, other in pairwise(keys[name]))]
        yield _yes("rows are sorted by key", unsorted)
        yield from self._nothing_invented(city, rows)
        with self._progress.stage(Stage.RELEASING_AGAIN):
            yield self._released_twice()
        if self._audited.privacy.by_card:
            yield from self._bounds()
        if self._audited.privacy.is_world:
            yield self._estimates()

    def _released_twice(self) -> AuditResult:
        """Noise that is drawn again is other noise. A few cells are enough: if it is not, it is the same in all."""
        city = City(self._counts, TWICE, heavy=False)
        first, again = (_by_group(city, self._released(city, name)) for name in ("once", "again"))
        alike = [name for name in TABLES if np.array_equal(first[name]["busy"], again[name]["busy"])]
        return _yes("two releases of the same trips differ", alike)

    def _sensitivity(self) -> Iterator[AuditResult]:
        """One unit more, in exact counts: how many cells of a table change, and by how much.

        Other units have more trips than are counted, over many days, and the new one brings places of its own.
        """
        self._list(pa.table({"part": ["*"] * 23, "place": [f"p {number}" for number in range(23)]}))
        busy, unit = busy_units(self._audited.guarantee.exposure.cells), self._audited.privacy.unit
        trips = 5 * self._audited.guarantee.exposure.cells if unit != "trip" else 1
        day = (np.arange(trips) % 9 if unit == "card" else np.zeros(trips, np.int64)).tolist()
        new: list[Row] = [(f"day {day[k]}", f"{'a' if k % 2 else 'z'} {k}", "new") for k in range(trips)]
        additions = {f"one {unit} added": (new, self._audited.guarantee.exposure.cells)}
        if self._per_cell > 1:
            same = [(day, "a 0", card) for day, _, card in new]
            additions[f"one {unit} in one place added"] = (same, self._audited.guarantee.exposure.cells)
        if self._audited.privacy.without_card == "own-unit":
            alone: list[Row] = [("day 0", "a 0", None)]
            additions["one row without a card added"] = (alone, 1)
        before = self._exact(busy)
        for what, (rows, most) in additions.items():
            after = self._exact([*busy, *rows])
            for name in TABLES:
                changes = [abs(after[name][cell] - before[name][cell]) for cell in {*before[name], *after[name]}]
                number, by = sum(change > 0 for change in changes), max(changes)
                observed, allowed = f"{number} by up to {by}", f"{most} by up to {self._per_cell}"
                over = number > most or by > self._per_cell or sum(changes) > most
                yield AuditResult(f"cells changed by {what}", name, observed, allowed, over)

    def _exact(self, rows: Sequence[Row]) -> dict[str, Counter[tuple[str, ...]]]:
        """The exact counts of generated rows, by cell: what goes into the noise."""
        days, places, cards = zip(*rows, strict=True)
        dates = [f"2025-03-{3 + int(day.split()[1]):02d}" for day in days]
        fixed = {"part": [PARTS[0]] * len(rows), "twin": ["x"] * len(rows)}
        table = pa.table({**fixed, "date": dates, "place": places, "card": pa.array(cards, pa.string())})
        pq.write_table(self._with_clocks(table), self._folder / "trips.parquet")
        counted = counter.count(self._audited, memory=MEMORY, scratch=None, progress=Silent())
        found: dict[str, Counter[tuple[str, ...]]] = {}
        for name, exact in counted.tables.items():
            codes, counts = exact.label_codes(np.arange(len(exact_counts(exact)))), exact_counts(exact).tolist()
            labels = ([exact.labels[column][code] for code in coded] for column, coded in codes.items())
            found[name] = Counter(dict(zip(zip(*labels, strict=True), counts, strict=True)))
        return found

    def _promise(self, table: Table) -> Iterator[AuditResult]:
        """What is stated keeps the promise, by brute force over every outcome of the changed cells."""
        expected, exposure, busy = self._expected[table.name], self._audited.guarantee.exposure, self._counts["busy"]
        epsilon, allowed = float(table.epsilon or 0), float(table.delta or 0) + FLOATS
        if exposure.cells > 1 and expected.mechanism in ("laplace", "gaussian"):
            alone = 1 - expected.outcomes(1)[NOTHING]
            apart = {"all trips removed": expected.all_shifted(self._shifts, epsilon)}
            if not expected.every_cell:
                apart["all trips alone in their cells"] = 1 - (1 - alone) ** exposure.cells
        else:
            whole = exposure.cells == 1 and exposure.neighbours == "replace"
            epsilon = epsilon if whole else epsilon / exposure.changed
            between = expected.moved if whole else expected.apart
            changes = {"one trip removed": (busy, busy - 1), "a trip alone in its cell": (1, 0)}
            apart = {what: between(*counts, epsilon) for what, counts in changes.items()}
        for what, delta in apart.items():
            check = f"stated noise, {what}: delta at epsilon {epsilon:.3g}"
            yield AuditResult(check, table.name, f"{delta:.3g}", f"at most {allowed:.3g}", delta > allowed)

    def _independence(self, seen: Mapping[str, Mapping[str, Counts]]) -> Iterator[AuditResult]:
        high = self._counts["busy"]
        chance = {
            name: sum(p for value, p in expected.outcomes(high).items() if value >= high)
            for name, expected in self._expected.items()
        }
        for name in TABLES:
            busy = seen[name]["busy"]
            half = len(busy) // 2
            together = (busy[: 2 * half : 2] >= high) & (busy[1 : 2 * half : 2] >= high)
            yield _as_often("independence: two cells at or above their count", name, together, chance[name] ** 2)
        one, other = (seen[name]["busy"] for name in TABLES)
        both = chance[TABLES[0]] * chance[TABLES[1]]
        yield _as_often(
            "independence: both tables at or above the count", EVERY_TABLE, (one >= high) & (other >= high), both
        )

    def _randomness(self, given: int) -> AuditResult:
        """Every cell that is visited takes a word of its own from the operating system."""
        groups = sum(1 for count in self._counts.values() if count or self._audited.privacy.kind.visits_empty_cells)
        visited = len(TABLES) * groups * self._trials
        needed = 8 * visited if visited < LONG_LIST or self._audited.privacy.is_world else 0
        return AuditResult(
            "random bytes read from the system", EVERY_TABLE, f"{given:,}", f"at least {needed:,}", given < needed
        )

    def _bounds(self) -> Iterator[AuditResult]:
        """One card that rides everywhere, and cards that ride twice in a cell, must not show."""
        if self._trials < 50 * self._audited.guarantee.exposure.cells:
            yield AuditResult("cards with many trips", EVERY_TABLE, "not tested", "needs more trials", False)
            return
        with self._progress.stage(Stage.RELEASING_BUSY_CARDS):
            city = City(self._counts, self._trials, heavy=True)
            seen = _by_group(city, self._released(city, "bounded"))
        busy = {"busy": self._counts["busy"] + (self._per_cell > 1)}  # cards that ride twice may count twice
        for name, expected in self._expected.items():
            yield from _conformance(name, expected, busy, seen[name], "cards with many trips, ")

    def _estimates(self) -> AuditResult:
        """Estimates and synthetic trips, made again from the published measurements: no exact count is in them.

        Trips have another end here, and there are many: so there are estimates of pairs of places, and of whole trips.
        """
        city = City({group: MANY * count for group, count in self._counts.items()}, FEW, heavy=False)
        trips = city.trips()
        ends = (trips.column("place").cast(pa.int64()).to_numpy() + len(PARTS)) % len(city.places)  # of the same part
        trips = self._with_clocks(trips).append_column(TO, pa.array(ends).cast(pa.string()))
        pq.write_table(trips, self._folder / "trips.parquet")
        self._list(city.cells())
        dated = _audit_plan(self._plan, self._folder, dated=True)
        with self._progress.stage(Stage.RELEASING_AGAIN):
            try:
                folder = release.release(dated, self._folder / "estimated", in_ledger=False)
            except ValueError:  # measurements without all cells of the public lists
                return _yes("estimates follow from the measurements alone", ["no estimates"])
            lacking = [] if folder.manifest.versions.estimates else ["no estimates"]
            found = [*lacking, *(each.place for each in verify_folder(folder.path).findings)]
        return _yes("estimates follow from the measurements alone", found)

    def _released(self, city: City, name: str) -> dict[str, pa.Table]:
        """The published tables, every column of them as text."""
        pq.write_table(self._with_clocks(city.trips()), self._folder / "trips.parquet")
        self._list(city.cells())
        if self._audited.privacy.lists_cells:
            pa_csv.write_csv(city.cells(), self._folder / "cells.csv")
        release.release(self._audited, self._folder / name, in_ledger=False, progress=self._progress)
        if self._audited.privacy.is_world:
            return {table: self._measured(name, table) for table in TABLES}
        options = pa_csv.ConvertOptions(
            column_types=dict.fromkeys(("part", "date", "place", "twin", "count"), pa.string())
        )
        data = self._folder / name / "data"
        return {table: pa_csv.read_csv(data / f"{table}.csv", convert_options=options) for table in TABLES}

    def _with_clocks(self, trips: pa.Table) -> pa.Table:
        """In a known world the second column is a time."""
        if not self._audited.privacy.is_world:
            return trips
        index = trips.column_names.index("twin")
        return trips.set_column(index, "twin", pa.array([CLOCK]).take(pa.array(np.zeros(len(trips), np.int64))))

    def _list(self, cells: pa.Table) -> None:
        """The public list of places of a known world; where they lie, nobody asks."""
        nowhere = pa.array(np.zeros(len(cells)))
        columns = {"name": cells.column("place"), "mode": cells.column("part")}
        listed = pa.table({**columns, "latitude": nowhere, "longitude": nowhere})
        pa_csv.write_csv(listed, self._folder / "places.csv")

    def _measured(self, name: str, table: str) -> pa.Table:
        """The cells of a measured table in which generated trips can be: those of their time, at a place."""
        cells = pq.read_table(self._folder / name / MEASUREMENTS / f"{table}.parquet")
        cells = pa.table({column: cells.column(column).cast(pa.string()) for column in cells.column_names})
        named = {theirs: ours for ours, theirs in _WORLD.items()}
        cells = cells.rename_columns([named.get(column, column) for column in cells.column_names])
        own = pc.not_equal(cells.column("place"), UNKNOWN)
        timed = "twin" in cells.column_names
        return cells.filter(pc.and_(own, pc.equal(cells.column("twin"), CLOCK)) if timed else own)

    def _losses(self, name: str, expected: ClosedForm, seen: Mapping[str, Counts]) -> Iterator[AuditResult]:
        """Events that distinguish neighbours: no δ that they prove may exceed the true one of those neighbours."""
        busy, less, high = seen["busy"], seen["less"], self._counts["busy"]
        half = len(busy) // 2
        # A trip moves from one cell to another: here the first is the busier one, there the second.
        own = (busy[:half] >= high, less[:half] >= high, less[-half:] >= high, busy[-half:] >= high)
        elsewhere = _trials(own[0] & ~own[1]), _trials(own[2] & ~own[3])
        one, none = _trials(seen["one"] != NOTHING), _trials(seen["none"] != NOTHING)
        above, less_above = _trials(busy >= high), _trials(less >= high)
        below, less_below = _trials(busy < high), _trials(less < high)
        for epsilon in (0.5 / expected.scale, 1 / expected.scale):
            for what, here, there, at, delta in (
                ("one trip removed", above, less_above, epsilon, expected.apart(high, high - 1, epsilon)),
                ("one trip added", less_below, below, epsilon, expected.apart(high - 1, high, epsilon)),
                ("a trip alone in its cell", one, none, epsilon, expected.apart(1, 0, epsilon)),
                ("one trip moved", *elsewhere, 2 * epsilon, expected.moved(high, high - 1, 2 * epsilon)),
            ):
                proven, allowed = delta_lower_bound(here, there, at, ALPHA), delta + FLOATS
                check, observed = f"measured, {what}: delta at epsilon {at:.3g}", f"at least {max(0.0, proven):.3g}"
                yield AuditResult(check, name, observed, f"at most {allowed:.3g}", proven > allowed)
        if expected.mechanism != "gaussian":
            proven, allowed = epsilon_lower_bound(*elsewhere, 0.0, ALPHA), 2 / expected.scale
            observed = f"at least {max(0.0, proven):.3f}"
            yield AuditResult(
                "measured, one trip moved: epsilon", name, observed, f"at most {allowed:.3f}", proven > allowed
            )

    def _nothing_invented(self, city: City, published: Mapping[str, pa.Table]) -> Iterator[AuditResult]:
        """Every published cell is one that the trips (or the public list) have, in its own part, and a whole number."""
        every = self._audited.privacy.kind.visits_empty_cells
        known = {
            (PARTS[index % 2], str(index))
            for index, (group, _) in enumerate(city.places)
            if every or self._counts[group]
        }
        for table, rows in published.items():
            keys = list(zip(rows.column("part").to_pylist(), rows.column("place").to_pylist(), strict=True))
            foreign = len(set(keys) - known) + len(keys) - len(set(keys))
            yield AuditResult("published cells without a trip, or duplicated", table, str(foreign), "0", foreign > 0)
            odd = sum(not text.lstrip("-").isdigit() for text in rows.column("count").to_pylist())
            yield AuditResult("counts that are not integers", table, str(odd), "0", odd > 0)


def _by_group(city: City, published: Mapping[str, pa.Table]) -> dict[str, dict[str, Counts]]:
    """What is published for each place, by table and group; `NOTHING` where nothing is."""
    found, groups = {}, len(city.trips_at)
    for table, rows in published.items():
        place = np.array(rows.column("place").to_pylist(), dtype=np.int64)
        values = np.array([int(float(text)) for text in rows.column("count").to_pylist()], dtype=np.int64)
        part = np.array([PARTS.index(text) if text in PARTS else -1 for text in rows.column("part").to_pylist()])
        own = (part == place % 2) & (place < len(city.places))
        numbers = np.full(len(city.places), NOTHING, dtype=np.int64)
        numbers[place[own]] = values[own]
        found[table] = {group: numbers[index::groups] for index, group in enumerate(city.trips_at)}
    return found


def _yes(check: str, lacking: Sequence[str]) -> AuditResult:
    """Whether something is so of every table."""
    return AuditResult(check, EVERY_TABLE, "no" if lacking else "yes", "yes", bool(lacking))


def _trials(happened: npt.NDArray[np.bool_]) -> Trials:
    return Trials(int(happened.sum()), len(happened))


def _as_often(check: str, table: str, happened: npt.NDArray[np.bool_], p: float) -> AuditResult:
    """Whether something happens as often as it should, neither more nor less."""
    trials = _trials(happened)
    return AuditResult(check, table, f"{trials.share:.4g}", f"{p:.4g}", trials.unlikely(p) < ALPHA)


def _conformance(
    name: str, expected: ClosedForm, counts: Mapping[str, int], seen: Mapping[str, Counts], whose: str = ""
) -> Iterator[AuditResult]:
    """Each number appears as often as its distribution says: any at all, then the one that is furthest from it."""
    for group, count in counts.items():
        outcomes = expected.outcomes(count)
        what = f"share of cells of count {count}"
        yield _as_often(f"{whose}{what} published", name, seen[group] != NOTHING, 1 - outcomes[NOTHING])
        common = {value: p for value, p in outcomes.items() if p * len(seen[group]) > 5}
        unlikely = {value: _trials(seen[group] == value).unlikely(p) for value, p in common.items()}
        worst = min(unlikely, key=lambda value: unlikely[value])
        shown = "not published" if worst == NOTHING else f"published as {worst}"
        yield _as_often(f"{whose}{what} {shown}", name, seen[group] == worst, outcomes[worst])


def _replay(name: str, mechanism: Mechanism) -> AuditResult:
    """The words at both sides of every edge of the noise table become just the numbers that the integers say.

    Noise that passed through a float would miss some of them: its tails have gaps, which distinguish counts.
    """
    table = mechanism.noise
    edges = list(accumulate(table.weights))
    words = [word for edge in edges for word in (edge - 1, edge) if 0 <= word < table.total]
    steps = (table.first + bisect_right(edges, word) for word in words)
    expected = [1 + step // table.steps_per_count for step in steps]
    prepared = BytesIO(np.array(words, dtype=np.uint64).tobytes())

    def given(size: int) -> bytes:
        return prepared.read(size).ljust(size, b"\xff")  # after the last one, words that end every wait

    numbers, _ = mechanism.draw(np.ones(len(words), dtype=np.int64), given)
    missed = sum(number != value for number, value in zip(numbers.tolist(), expected, strict=True))
    check = f"{2 * len(table.weights):,} boundary values of the noise table"
    return AuditResult(check, name, f"{missed} wrong", "0 wrong", missed > 0)


_ALONE = threading.Lock()


@contextmanager
def _watched() -> Iterator[list[int]]:
    """How many random bytes the operating system is asked for, each time; one watches at a time."""
    asked: list[int] = []
    with _ALONE:
        system = os.urandom

        def urandom(size: int) -> bytes:
            asked.append(size)
            return system(size)

        os.urandom = urandom
        try:
            yield asked
        finally:
            os.urandom = system
