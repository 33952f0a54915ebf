"""What a plan would cost, and what would survive: for the holder, before anything is spent.

The first half follows from the plan. The second is computed from exact counts: it is internal, not private, and
must not be published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tapveil.coarsen import read_areas
from tapveil.counting import duckdb as engine
from tapveil.counting.exact import Counted, ExactTable
from tapveil.dictionary import read_dictionaries
from tapveil.errors import TripDataError, did_you_mean
from tapveil.plan import EVERY_MODE, Plan, Table
from tapveil.privacy.mechanisms import Mechanism
from tapveil.progress import Reporter, Silent
from tapveil.publication import count, refuse_too_many
from tapveil.statement import COUNTED, NOUNS, UNIT_NAMES, change, loss_in_words
from tapveil.values import UNKNOWN

INTERNAL = "internal: not private"
NEARLY_EMPTY = 0.10
MANY_UNKNOWN = 0.20
MANY_LEFT_OUT = 0.20
LARGE_EPSILON = 10
LARGE_DELTA = Fraction(1, 100_000)
DENSITY_AT = (2, 5, 10, 20, 50)


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

    def as_json(self) -> dict[str, Any]:
        return {
            "notice": INTERNAL,
            "counted": self.counted,
            "rows_read": self.rows,
            "rows_refused": self.refused,
            "rows_elsewhere": self.elsewhere,
            "trips_beyond_bounds": self.left_out,
            "stops_the_release": self.stops,
            "notes": self.notes,
            "tables": [{**vars(table), "trip_share": table.trip_share} for table in self.tables],
        }


def outlook(
    plan: Plan,
    *,
    memory: str = engine.DEFAULT_MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> Outlook:
    """Look at the trips: count them, draw nothing, publish nothing."""
    dictionaries = read_dictionaries(plan)
    counted = count(plan, memory=memory, scratch=scratch, progress=progress or Silent())
    tables = tuple(
        _table_outlook(plan, table, counted.tables[table.name], dictionaries[table.name]) for table in plan.table
    )
    refusals = counted.refusals
    notes = (
        *_unmatched_modes(plan, counted),
        *_unknown_places(plan, counted),
        *_unlisted(plan, counted, dictionaries),
        *_many_left_out(counted),
    )
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
    )


def _why_stopped(counted: Counted, plan: Plan) -> str | None:
    try:
        refuse_too_many(counted.refusals, plan)
    except TripDataError as error:
        return str(error)
    return None


def _unmatched_modes(plan: Plan, counted: Counted) -> Iterator[str]:
    """Lookups for modes that no trip has: most likely a misspelling, and stops published as they are."""
    found = {label for table in counted.tables.values() for label in table.labels.get("mode", ())}
    for mode in plan.coarsen.location:
        if mode != EVERY_MODE and found and mode not in found:
            yield f"no trip has mode `{mode}`, so [coarsen.location.{mode}] does nothing{did_you_mean(mode, found)}"


def _unknown_places(plan: Plan, counted: Counted) -> Iterator[str]:
    """Places that are UNKNOWN for many trips: no tap there, or a lookup that does not know them."""
    for column in plan.used_columns:
        table = next((table for table in counted.tables.values() if column in table.packing.columns), None)
        if table is None or plan.source.kind(column) != "location" or not len(table.counts):
            continue
        unknown = table.packing.unpack(table.words)[column] == table.labels[column].index(UNKNOWN)
        share = float(table.counts[unknown].sum() / table.counts.sum())
        if share > MANY_UNKNOWN:
            reason = "no tap, or stops that the lookup does not know"
            yield f"{column} is {UNKNOWN} for {_percent(share)} of {NOUNS[plan.privacy.unit]}: {reason}"


def _many_left_out(counted: Counted) -> Iterator[str]:
    """Bounds that drop much of the data: a wrong column of cards, or bounds below what people do."""
    accepted = counted.refusals.rows - counted.refusals.refused
    if counted.left_out > MANY_LEFT_OUT * accepted:
        share = _percent(counted.left_out / accepted)
        yield (
            f"{share} of trips are left out because their card has more than the plan counts: "
            "is `card` the right column, and are trips_per_day and trips_per_card what people do"
        )


def _unlisted(plan: Plan, counted: Counted, dictionaries: Mapping[str, pa.Table | None]) -> Iterator[str]:
    """With a dictionary: what it leaves out, and how much of what is printed would be noise alone."""
    for name, dictionary in dictionaries.items():
        if dictionary is None:
            continue
        exact, mechanism = counted.tables[name], plan.mechanisms[name]
        places, cells = exact.places_in(dictionary)
        outside = int(exact.counts.sum() - exact.counts[cells].sum())
        empty = len(dictionary) - len(places)
        noise = empty * float(mechanism.publish_probability(0))
        yield (
            f"{name}: of {len(dictionary):,} listed cells {empty:,} are empty, and about {noise:,.0f} of those would "
            f"be printed with a number that is noise alone; {outside:,} {NOUNS[plan.privacy.unit]} are in cells that "
            "are not listed, and are left out"
        )


def _table_outlook(plan: Plan, table: Table, exact: ExactTable, dictionary: pa.Table | None) -> TableOutlook:
    """With a dictionary, only listed cells can be published, and empty ones are, too."""
    counts = exact.counts if dictionary is None else exact.counts[exact.places_in(dictionary)[1]]
    sizes, cells = np.unique(counts, return_counts=True)
    total, trips = int(cells.sum()), int(exact.counts.sum())
    mechanism = plan.mechanisms[table.name]
    chance = _publish_probabilities(mechanism, sizes)
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


def _publish_probabilities(mechanism: Mechanism, sizes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """P(published) for each count; far above the threshold it is 1 to more digits than matter for a forecast."""
    certain = float(mechanism.threshold + 30 * mechanism.scale)
    return np.array([1.0 if size > certain else float(mechanism.publish_probability(int(size))) for size in sizes])


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
    published = f"{_percent(share)} of {NOUNS[plan.privacy.unit]}"
    return f"{' × '.join(table.columns)} would publish {published}: use {' or '.join(ways)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else "less than 1 %"


def read_public_files(plan: Plan) -> None:
    """The lookups and lists that a plan names, read and checked: they are part of the plan, not of the trips."""
    read_areas(plan)
    read_dictionaries(plan)


def in_words(plan: Plan) -> Iterator[str]:
    """The plan, in sentences."""
    parts = " and ".join(plan.release.partition)
    tables = "1 table" if len(plan.table) == 1 else f"{len(plan.table)} tables"
    what = f"counts of {NOUNS[plan.privacy.unit]}"
    yield f"Publish {tables} of {what}" + (f", split by {parts}." if parts else ".")
    if "time" in plan.published_kinds:
        yield f"Times are rounded down to {plan.coarsen.time_minutes} minutes."
    for mode, area in plan.coarsen.location.items():
        whose = "Every stop" if mode == EVERY_MODE else f"A stop of mode {mode}"
        yield f"{whose} is published as its {area.in_words}."
    columns = ", ".join(dict.fromkeys(plan.named_columns.values()))
    yield f"Only these columns are read: {columns}."
    if plan.privacy.by_card:
        yield from _bounds_in_words(plan)
    summed = "the total given, accounted for exactly" if plan.total_is_given else "the sum over the tables"
    yield (
        f"Protected: {change(plan.privacy.unit, plan.privacy.neighbours)}. In total {loss_in_words(plan.loss)} "
        f"({summed}, however they are split into parts)."
    )
    yield from warnings(plan)


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
    if plan.loss.epsilon > LARGE_EPSILON:
        yield (
            f"Warning: a total epsilon above {LARGE_EPSILON} promises little. The Opal release spent 8, which is "
            "already high; 1 or less is a strong promise."
        )
    if plan.loss.delta > LARGE_DELTA:
        yield (
            f"Warning: delta is about the chance that {UNIT_NAMES[plan.privacy.unit]} shows where nothing else is. "
            f"Keep the total well below one over their number; here it is {float(plan.loss.delta):.2g}."
        )
