"""What a plan would cost, and what would survive: for the holder, before anything is spent.

The first half follows from the plan. The second is computed from exact counts: it is internal, not private, and
must not be published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import TripDataError
from tapveil.base.pace import SHARE
from tapveil.base.progress import Done, Reporter, Silent
from tapveil.base.types import clock_text
from tapveil.base.vocabulary import EVERY_MODE, NOUNS, UNKNOWN
from tapveil.counting.counter import count
from tapveil.counting.exact import Counted, ExactTable
from tapveil.inputs.areas import relabelling
from tapveil.inputs.public import PublicInputs
from tapveil.internal.warnings import Look, percent, remarks
from tapveil.plan.model import Level, Plan, Table
from tapveil.published.describe.wording import COUNTED, LOOKED, UNIT_NAMES, change, loss_in_words
from tapveil.veil.expectation import publish_probabilities
from tapveil.veil.release import refuse_too_many, sound_places

Integers = npt.NDArray[np.int64]

INTERNAL = "internal: not private"
NEARLY_EMPTY = 0.10
LARGE_EPSILON = 10
LARGE_DELTA = Fraction(1, 100_000)
DENSITY_AT = (2, 5, 10, 20, 50)
LOCATING = "Finding refused rows"
"""The stage that counting has only if there is a row to be found."""


@dataclass(frozen=True, repr=False)
class TableOutlook:
    """What one table would look like, from its exact counts."""

    name: str
    cells: int
    trips: int
    density: dict[int, float]
    """γ for each k: the share of the cells that occur whose count is at least k (Definition 7 of the paper)."""
    threshold_density: float
    expected_cells: float
    expected_trips: float
    advice: str | None

    @property
    def trip_share(self) -> float:
        return self.expected_trips / self.trips if self.trips else 0.0


@dataclass(frozen=True, repr=False)
class Outlook:
    """What would survive, and what was refused. Internal: not private."""

    counted: str
    """What a count counts: "trips" below are these."""
    rows: int
    refused: dict[str, int]
    elsewhere: int
    """Rows of days or modes that the plan does not cover."""
    left_out: int
    """Trips beyond what the plan counts of one unit."""
    stops: str | None
    """Why a release would stop, if it would."""
    tables: tuple[TableOutlook, ...]
    notes: tuple[str, ...] = ()
    """What a holder would want to look into."""
    refused_at: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)
    """Where the first refused rows of each reason stand: file and line."""
    found: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The days and the modes that the trips have."""

    def as_json(self) -> dict[str, Any]:
        return {
            "notice": INTERNAL,
            "counted": self.counted,
            "rows_read": self.rows,
            "rows_refused": self.refused,
            "rows_refused_at": self.refused_at,
            "found": self.found,
            "rows_elsewhere": self.elsewhere,
            "trips_beyond_bounds": self.left_out,
            "stops_the_release": self.stops,
            "notes": self.notes,
            "tables": [{**vars(table), "trip_share": table.trip_share} for table in self.tables],
        }


def outlook(
    plan: Plan,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> Outlook:
    """Look at the trips: count them, draw nothing, publish nothing."""
    inputs, progress = PublicInputs.of(plan, scratch), progress or Silent()
    _ = inputs.dictionaries  # what is wrong with a list is said before the trips are read
    counted = count_and_locate(inputs, memory=memory, scratch=scratch, progress=progress)
    looked = Look(inputs, memory, scratch, progress).remarks()
    return outlook_of(inputs, counted, tuple(looked))


def count_and_locate(inputs: PublicInputs, *, memory: str, scratch: Path | None, progress: Reporter) -> Counted:
    """The exact counts, and where refused rows stand. One stage is around all of it, whether any row was refused."""
    with progress.stage("Looking at the trips"):
        discreet = _Discreet(progress)
        return count(inputs.plan, memory=memory, scratch=scratch, progress=discreet, locate=True, inputs=inputs)


@dataclass(frozen=True)
class _Discreet:
    """Tells of every stage but the one that depends on single rows: a log may be read by others."""

    progress: Reporter

    def stage(
        self, name: str, done: Done | None = None, *, total: float | None = 1.0, unit: str = SHARE
    ) -> AbstractContextManager[None]:
        return nullcontext() if name == LOCATING else self.progress.stage(name, done, total=total, unit=unit)


def outlook_of(inputs: PublicInputs, counted: Counted, looked: Sequence[str] = ()) -> Outlook:
    """The same from exact counts that are there already, with what another look at the trips found."""
    plan, dictionaries = inputs.plan, inputs.dictionaries
    tables = tuple(
        _table_outlook(plan, table, counted.tables[table.name], dictionaries[table.name]) for table in plan.table
    )
    refusals = counted.refusals
    wider = [*_modes_without_wider_areas(plan, _labels(counted, "mode")), *_places_without_wider_areas(inputs, counted)]
    notes = (*remarks(inputs, counted), *looked, *wider)
    stops = _why_stopped(counted, plan)
    return Outlook(
        COUNTED[plan.privacy.unit],
        refusals.rows,
        dict(refusals.by_reason),
        refusals.elsewhere,
        counted.left_out,
        stops,
        tables,
        notes,
        {reason: list(where) for reason, where in refusals.located.items()},
        {column: found for column in ("date", "mode") if (found := _labels(counted, column))},
    )


def _modes_without_wider_areas(plan: Plan, found: Sequence[str]) -> Iterator[str]:
    """Their places would be published a second time, as finely as before: that wastes their part of the budget."""
    for name in sorted({table.level.location for table in plan.table if table.level.location}):
        wider = plan.coarsen.wider[name]
        if EVERY_MODE not in wider and (without := [mode for mode in found if mode not in wider]):
            yield f"[coarsen.wider.{name}] has nothing for {', '.join(without)}: their places are not made wider"


def _places_without_wider_areas(inputs: PublicInputs, counted: Counted) -> Iterator[str]:
    """A list that lacks places makes them UNKNOWN."""
    plan = inputs.plan
    for table in plan.table:
        relabelled = relabelling(plan, table, inputs.wider) if table.level.location else {}
        for column in (column for column in relabelled if plan.source.kind(column) == "location"):
            places = _places(plan, counted, column)
            lost = [place for mode, place in places if relabelled[column].label(mode, place) == UNKNOWN != place]
            if lost:
                yield (
                    f"{table.name}: {len(lost)} of {len(places)} places of {column} are not in the list of wider areas "
                    f"`{table.level.location}`, and are {UNKNOWN} there"
                )


def _places(plan: Plan, counted: Counted, column: str) -> set[tuple[str, str]]:
    """All places of a column that the trips have, with their modes."""
    for table in plan.table:
        if column in table.columns and table.level.location is None:
            exact = counted.tables[table.name]
            codes = exact.label_codes(np.arange(len(exact.words[0])))
            modes = codes.get("mode", np.zeros(len(codes[column]), dtype=np.int64)).tolist()
            names = exact.labels.get("mode", (EVERY_MODE,))
            pairs = set(zip(modes, codes[column].tolist(), strict=True))
            return {(names[mode], exact.labels[column][place]) for mode, place in pairs}
    return set()


def _labels(counted: Counted, column: str) -> tuple[str, ...]:
    """All days, or all modes, that the trips have."""
    return next((table.labels[column] for table in counted.tables.values() if column in table.labels), ())


def _why_stopped(counted: Counted, plan: Plan) -> str | None:
    try:
        refuse_too_many(counted.refusals, plan)
    except TripDataError as error:
        return str(error)
    return None


def _table_outlook(plan: Plan, table: Table, exact: ExactTable, dictionary: pa.Table | None) -> TableOutlook:
    """With a dictionary, only listed cells can be published, and empty ones are, too."""
    counts = exact.counts if dictionary is None else exact.counts[exact.places_in(dictionary)[1]]
    sizes, cells = np.unique(counts, return_counts=True)
    total, trips = int(cells.sum()), int(exact.counts.sum())
    mechanism = plan.guarantee.mechanisms[table.name]
    chance = publish_probabilities(mechanism, sizes)
    invented = 0.0 if dictionary is None else (len(dictionary) - total) * float(mechanism.publish_probability(0))

    def share_from(k: float) -> float:
        return float(cells[sizes >= k].sum() / total) if total else 0.0

    expected_trips = float((chance * sizes * cells).sum())
    return TableOutlook(
        name=table.name,
        cells=total,
        trips=trips,
        density={k: share_from(k) for k in DENSITY_AT},
        threshold_density=share_from(float(mechanism.threshold)),
        expected_cells=float((chance * cells).sum()) + invented,
        expected_trips=expected_trips,
        advice=_advice(plan, table, expected_trips / trips if trips else 0.0),
    )


def shares_by_width(
    plan: Plan, counted: Counted, name: str, widths: Sequence[int], areas: Mapping[str, str] | None = None
) -> dict[int, float]:
    """The share of the trips that a table would publish with wider time bins, multiples of the plan's. Internal.

    `areas` says what stops would be published as, where not as themselves.
    """
    exact, mechanism = counted.tables[name], plan.guarantee.mechanisms[name]
    trips = int(exact.counts.sum())
    codes = exact.packing.unpack(exact.words)
    timed = [column for column in exact.packing.columns if plan.source.kind(column) == "time"]
    for column in exact.packing.columns if areas is not None else ():
        if plan.source.kind(column) == "location":
            named = np.array([(areas or {}).get(stop, UNKNOWN) for stop in exact.labels[column]])
            codes[column] = np.unique(named, return_inverse=True)[1][codes[column]]
    shares = {}
    for width in widths:
        wider = width // plan.coarsen.time_minutes
        columns = {each: (codes[each] + wider - 1) // wider if each in timed else codes[each] for each in codes}
        sizes, times = np.unique(merged(columns, exact.counts)[1], return_counts=True)
        expected = float((publish_probabilities(mechanism, sizes) * sizes * times).sum())
        shares[width] = expected / trips if trips else 0.0
    return shares


def merged(codes: Mapping[str, Integers], counts: Integers) -> tuple[dict[str, Integers], Integers]:
    """Cells that have come to have the same codes, as one: its codes, and what they count together."""
    cells = pa.table({**codes, "#": counts}).group_by(list(codes)).aggregate([("#", "sum")])
    return {name: cells.column(name).to_numpy() for name in codes}, cells.column("#_sum").to_numpy()


def _advice(plan: Plan, table: Table, share: float) -> str | None:
    """A plain sentence where a table would be nearly empty."""
    if share >= NEARLY_EMPTY:
        return None
    kinds = {plan.source.kind(column) for column in table.columns}
    ways = [
        *(["wider bins"] if "time" in kinds else []),
        *(["larger areas"] if "location" in kinds else []),
        *(["fewer or broader labels"] if kinds & {"label", "date"} else []),
    ]
    published = f"{percent(share)} of {NOUNS[plan.privacy.unit]}"
    several = any(set(other.columns) == set(table.columns) and other is not table for other in plan.table)
    levels = "" if several or not kinds & {"time", "location"} else ", or publish it at several `levels`"
    what = table.name if several else table.in_words
    return f"{what} would publish {published}: use {' or '.join(ways) or 'fewer parts'}{levels}"


def read_public_files(plan: Plan) -> None:
    """The lookups and lists that a plan names, read and checked: they are part of the plan, not of the trips."""
    inputs = PublicInputs.of(plan)
    _ = inputs.areas, inputs.wider, sound_places(inputs), inputs.dictionaries


def in_words(plan: Plan) -> Iterator[str]:
    """The plan, in sentences."""
    parts = " and ".join(plan.release.partition)
    tables = "1 table" if len(plan.table) == 1 else f"{len(plan.table)} tables"
    what = f"counts of {NOUNS[plan.privacy.unit]}"
    yield f"Publish {tables} of {what}" + (f", split by {parts}." if parts else ".")
    if "time" in plan.columns.kinds:
        yield f"Times are rounded down to {plan.coarsen.time_minutes} minutes."
    for table in plan.table:
        if table.level != Level():
            yield f"Of {table.in_words}, {table.name} is at {table.level.in_words}."
    for mode, area in plan.coarsen.location.items():
        whose = "Every stop" if mode == EVERY_MODE else f"A stop of mode {mode}"
        yield f"{whose} is published as its {area.in_words}."
    yield from _rows_in_words(plan)
    columns = ", ".join(dict.fromkeys(plan.columns.named.values()))
    yield f"Only these columns are read: {columns}."
    if plan.privacy.by_card:
        yield from _bounds_in_words(plan)
    summed = "the total given, accounted for exactly" if plan.guarantee.is_shared else "the sum over the tables"
    yield (
        f"Protected: {change(plan.privacy.unit, plan.privacy.neighbours)}. In total "
        f"{loss_in_words(plan.guarantee.loss)} ({summed}, however they are split into parts)."
    )
    stated = plan.privacy.looked_at_trips is not None
    yield LOOKED[plan.privacy.looked_at_trips] + ("" if stated else " State it: looked_at_trips under [privacy].")
    yield from warnings(plan)


def _rows_in_words(plan: Plan) -> Iterator[str]:
    """How the rows of an export become trips on days."""
    source, taps = plan.source, plan.source.taps
    if taps:
        ends = [
            f"on is {' or '.join(taps.on)}" if taps.on else "",
            f"off is {' or '.join(taps.off)}" if taps.off else "",
        ]
        yield f"A row is one tap ({', '.join(filter(None, ends))}); other rows are left out."
    if plan.columns.pairs_taps and taps:
        within = f"within {taps.within_minutes} minutes"
        day = ", on one day" if plan.privacy.unit == "card-day" else ""
        common = "" if taps.same == "card" else f" with the same {taps.same}"
        yield f"A tap on and the next tap off of its card{common}, {within}{day}, are one trip."
    if source.day_starts:
        what = "Dates are those of service days" if source.dates == "service" else "A day starts"
        hours = "go on as 24:00, 25:00, …" if plan.coarsen.after_midnight == "continued" else "are 00:00, 01:00, …"
        yield f"{what} at {clock_text(source.day_starts)}; hours after midnight {hours}"
    if source.timezone:
        yield f"Times are those of {source.timezone}: skipped hours are refused, repeated ones are one."
    if plan.gtfs:
        yield f"Stops have their names and places from {plan.gtfs.path}."


def _bounds_in_words(plan: Plan) -> Iterator[str]:
    privacy = plan.privacy
    most = [
        *([f"{privacy.trips_per_day} trips per day"] if privacy.trips_per_day else []),
        *([f"{privacy.trips_per_card} trips in all"] if privacy.trips_per_card else []),
    ]
    yield f"Of each card at most {' and '.join(most)} are kept; then {COUNTED[privacy.unit]}, are counted."
    without = {"refuse": "is refused", "own-unit": "counts as a card of its own"}[privacy.without_card or "refuse"]
    yield f"A row without a card {without}."


def warnings(plan: Plan) -> Iterator[str]:
    """What someone who does not know these numbers should hear."""
    per_day, per_card = plan.privacy.trips_per_day, plan.privacy.trips_per_card
    if per_day and per_card and per_day >= per_card:
        yield f"Warning: trips_per_day = {per_day} does nothing beside trips_per_card = {per_card}."
    if plan.guarantee.loss.epsilon > LARGE_EPSILON:
        yield (
            f"Warning: a total epsilon above {LARGE_EPSILON} promises little. The Opal release spent 8, which is "
            "already high; 1 or less is a strong promise."
        )
    if plan.guarantee.loss.delta > LARGE_DELTA:
        yield (
            f"Warning: delta is about the chance that {UNIT_NAMES[plan.privacy.unit]} shows where nothing else is. "
            f"Keep the total well below one over their number; here it is {float(plan.guarantee.loss.delta):.2g}."
        )
