"""What would be published of the trips, from their exact counts: for the data custodian, before anything is spent."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import PlanError, TripDataError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.vocabulary import EVERY_MODE, MINUTES_PER_DAY, UNKNOWN
from tapveil.counting.counter import count
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.refusals import refuse_too_many
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.public import PublicInputs
from tapveil.internal.bounds import Bound, around
from tapveil.internal.confidential import NOTICE
from tapveil.internal.look import Look, excerpt_of
from tapveil.internal.merged import merged
from tapveil.internal.misfits import misfits
from tapveil.internal.thin_tables import advice, thin_tables
from tapveil.internal.warnings import nearly_empty, remarks, room, wider_areas
from tapveil.plan.model import Plan, Table
from tapveil.privacy.distribution import distribution
from tapveil.published import estimated
from tapveil.published.describe.wording import COUNTED
from tapveil.published.estimates import NEWEST
from tapveil.published.manifest import Manifest
from tapveil.trips.excerpt import Excerpt
from tapveil.veil.preconditions import refuse_foreign_places, sound_places, sound_statement, stated_domain

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
    """What a release would publish, and which rows would be refused. CONFIDENTIAL: from exact counts."""

    counted: str
    """What a count counts: "trips" below are these."""
    rows: int
    """Rows read."""
    refused: dict[str, int]
    """Rows refused, by reason."""
    elsewhere: int
    """Rows of days or modes that the plan does not cover."""
    left_out: int
    """Trips beyond what the plan counts of one unit."""
    stops: str | None
    """Why a release would stop, if it would."""
    tables: tuple[TableOutlook, ...]
    """Each table, as it would be published."""
    notes: tuple[str, ...] = ()
    """What the data custodian would want to look into."""
    refused_at: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)
    """Where the first refused rows of each reason stand: file and line."""
    found: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The days and the modes that the trips have."""
    bounds: Sequence[Bound] = ()
    """Where cards are protected: what other bounds on their trips would drop and add."""
    thin: Sequence[str] = ()
    """The tables of a known world in which noise hides most trips."""
    alarms: Sequence[str] = ()
    """What does not fit the plan, in few words, where it is most likely a mistake."""

    def as_json(self) -> dict[str, Any]:
        """The same as JSON values, marked as confidential.

        Returns:
            What `tapveil check --json` prints.

        Example:
            >>> import tapveil
            >>> tapveil.outlook(tapveil.Plan.read("plan.toml")).as_json()["rows_read"]
            4000
        """
        return {
            "notice": NOTICE,
            "counted": self.counted,
            "rows_read": self.rows,
            "rows_refused": self.refused,
            "rows_refused_at": self.refused_at,
            "found": self.found,
            "rows_elsewhere": self.elsewhere,
            "trips_beyond_bounds": self.left_out,
            "bounds": [bound.as_json for bound in self.bounds],
            "stops_the_release": self.stops,
            "notes": self.notes,
            "alarms": self.alarms,
            "tables": [{**vars(table), "trip_share": table.trip_share} for table in self.tables],
        }


def outlook(
    plan: Plan, *, memory: str = MEMORY, scratch: Path | None = None, progress: Reporter | None = None
) -> Outlook:
    """Count the trips and estimate what a release would publish. Draws no noise, publishes nothing, spends nothing.

    CONFIDENTIAL: the result follows from exact counts and is not protected by differential privacy.

    Args:
        plan: The plan of the release.
        memory: Memory limit for counting, such as `"2GB"`; larger data spills to disk.
        scratch: Folder to spill to; by default the system's.
        progress: Receives the stages of the work; silent by default.

    Returns:
        Rows read and refused, and for each table the cells and trips expected in it.

    Raises:
        TripDataError: The trips, or a file that the plan names, cannot be used.
        EngineError: The engine, the memory or the disk failed.
        UsageError: `memory` is not an amount.

    Example:
        >>> import tapveil
        >>> expected = tapveil.outlook(tapveil.Plan.read("plan.toml"))
        >>> expected.rows, [table.name for table in expected.tables if table.trip_share > 0.9]
        (4000, ['on_time', 'on_location', 'total'])
    """
    inputs, progress = PublicInputs.of(plan, scratch), progress or Silent()
    _ = inputs.dictionaries  # what is wrong with a list is said before the trips are read
    excerpt = excerpt_of(plan)
    counted = count_and_locate(inputs, memory=memory, scratch=scratch, progress=progress, excerpt=excerpt)
    with Look.at(inputs, counted, excerpt, memory=memory, scratch=scratch, progress=progress) as looked:
        unfit = tuple(misfits(looked))
        said = (*(each.note for each in unfit), *looked.remarks())
        found = outlook_of(inputs, counted, said, looked.mixed_up())
        found = replace(found, alarms=tuple(each.alarm for each in unfit if each.alarm))
        return found if found.stops else replace(found, bounds=tuple(around(plan, looked.left_out)))


def count_and_locate(
    inputs: PublicInputs, *, memory: str, scratch: Path | None, progress: Reporter, excerpt: Excerpt | None = None
) -> Counted:
    """The exact counts, and where refused rows stand. One stage is around all of it, whether any row was refused."""
    with progress.stage(Stage.LOOKING_AT_TRIPS):
        return count(
            inputs.plan,
            memory=memory,
            scratch=scratch,
            progress=progress,
            locate=True,
            inputs=inputs,
            excerpt=excerpt,
        )


def outlook_of(
    inputs: PublicInputs, counted: Counted, looked: Sequence[str] = (), mixed_up: str | None = None
) -> Outlook:
    """The same from exact counts that are there already, with what another look at the trips found."""
    plan, dictionaries = inputs.plan, inputs.dictionaries
    tables, refusals, stops = counted.tables, counted.refusals, mixed_up
    labels = ChainMap(*(dict(table.labels) for table in tables.values()))
    try:
        refuse_too_many(refusals, plan)
        refuse_foreign_places(plan, counted)
    except TripDataError as error:
        stops = str(error)
    outlooks = tuple(_table_outlook(plan, each, tables[each.name], dictionaries[each.name]) for each in plan.table)
    spare = room(plan, {table.name: table.trip_share for table in outlooks}, counted)
    return Outlook(
        COUNTED[plan.privacy.unit],
        refusals.rows,
        {str(reason): number for reason, number in refusals.by_reason.items()},
        refusals.elsewhere,
        counted.left_out,
        stops,
        outlooks,
        (
            *remarks(inputs, counted),
            *advice(inputs, counted),
            *_too_many_places(inputs),
            *looked,
            *wider_areas(inputs, counted),
            *spare,
        ),
        {str(reason): list(where) for reason, where in refusals.located.items()},
        {column: labels[column] for column in ("date", "mode") if labels.get(column)},
        thin=(*thin_tables(plan, counted),),
    )


def _too_many_places(inputs: PublicInputs) -> Iterator[str]:
    """Where there will be no estimates of whole trips, or with longer bins. From public lists alone."""
    if not inputs.plan.privacy.is_world:
        return
    try:
        domain = stated_domain(inputs, datetime.now(UTC).date(), drawn=False)
    except PlanError:  # which a release says
        return
    longer = estimated.minutes(domain, NEWEST)
    none = estimated.why_not(domain, NEWEST) == estimated.TOO_MANY_PLACES
    for mode, most in estimated.crowded(domain, NEWEST, MINUTES_PER_DAY if none else None):
        the_places = f"the {len(inputs.world[mode]):,} places{'' if mode == EVERY_MODE else f' of mode {mode}'}"
        if none:
            yield (f"{the_places} are too many for estimates: at most {most:,}. Use larger areas, [coarsen.location]")
        elif longer:
            yield f"{the_places} are so many that estimates have longer time bins than the tables: {longer} minutes"


def _table_outlook(plan: Plan, table: Table, exact: ExactTable, dictionary: pa.Table | None) -> TableOutlook:
    """With a dictionary, only listed cells can be published, and empty ones are, too."""
    counts = exact_counts(exact) if dictionary is None else exact_counts(exact)[exact.places_in(dictionary)[1]]
    sizes, cells = np.unique(counts, return_counts=True)
    total, trips = int(cells.sum()), int(exact_counts(exact).sum())
    mechanism = plan.guarantee.mechanisms[table.name]
    empty = 0 if dictionary is None else len(dictionary) - total
    expected = distribution(mechanism).expected(np.append(sizes, 0), np.append(cells, empty))

    def share_from(k: float) -> float:
        return float(cells[sizes >= k].sum() / total) if total else 0.0

    return TableOutlook(
        name=table.name,
        cells=total,
        trips=trips,
        density={k: share_from(k) for k in DENSITY_AT},
        threshold_density=share_from(float(mechanism.threshold)),
        expected_cells=expected.cells,
        expected_trips=expected.trips,
        advice=nearly_empty(plan, table, expected.trips / trips if trips else 0.0),
    )


def shares_by_width(
    plan: Plan,
    counted: Counted,
    name: str,
    widths: Sequence[int],
    areas: Mapping[str, str] | None = None,
    *,
    by_day: bool = True,
) -> dict[int, float]:
    """The share of the trips that a table would publish with wider time bins, multiples of the plan's. Internal.

    `areas` says what stops would be published as, where not as themselves; `by_day`, whether days are kept apart.
    """
    exact, mechanism = counted.tables[name], plan.guarantee.mechanisms[name]
    trips = int(exact_counts(exact).sum())
    codes = {each: code for each, code in exact.packing.unpack(exact.words).items() if by_day or each != "date"}
    timed = [column for column in exact.packing.columns if plan.source.kind(column) == "time"]
    for column in exact.packing.columns if areas is not None else ():
        if plan.source.kind(column) == "location":
            named = np.array([(areas or {}).get(stop, UNKNOWN) for stop in exact.labels[column]])
            codes[column] = np.unique(named, return_inverse=True)[1][codes[column]]
    shares = {}
    for width in widths:
        wider = width // plan.coarsen.time_minutes
        columns = {each: (codes[each] + wider - 1) // wider if each in timed else codes[each] for each in codes}
        expected = distribution(mechanism).expected(merged(columns, exact_counts(exact))[1])
        shares[width] = expected.trips / trips if trips else 0.0
    return shares


def read_public_files(plan: Plan) -> PublicInputs:
    """The lookups and lists that a plan names, read and checked: they are part of the plan, not of the trips."""
    inputs = PublicInputs.of(plan)
    _ = inputs.areas, inputs.wider, sound_places(inputs), inputs.dictionaries, inputs.totals
    return inputs


def statement_of(inputs: PublicInputs, progress: Reporter) -> Manifest:
    """What a folder would state if it were published today; raises what a release would refuse, and for the same."""
    with progress.stage(Stage.COMPUTING_PROMISE):
        return sound_statement(inputs, datetime.now(UTC).date())
