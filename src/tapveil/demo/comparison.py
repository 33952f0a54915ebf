"""Two releases of the generated city, compared with each other and with its exact counts. Nobody lives there, so these
may be shown; for trips of real people they would be confidential.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tapveil.base.progress import Reporter
from tapveil.base.text_table import Grid
from tapveil.base.vocabulary import COUNT, ESTIMATES, NUMBERS, WEIGHT
from tapveil.counting.counter import count
from tapveil.counting.exact import ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.plan.model import Plan
from tapveil.published.columns import read_columns
from tapveil.published.describe.wording import rounded_up
from tapveil.published.folder import Folder

PROTECTED = {"trip": "a trip", "card-day": "a card's day", "card": "a card"}
NONE = "not published"


def comparison(plans: Sequence[Plan], folders: Sequence[Folder], *, memory: str, progress: Reporter) -> Grid:
    """What the paper's release and the recommended one protect, and how far they are from the truth."""
    paper, recommended = folders
    exact = count(_all_trips(plans[1]), memory=memory, scratch=None, progress=progress).tables
    timed, travelled = _exact(exact["origin_time"]), _exact(exact["od"])
    placed, travelled = timed.drop_columns("tap_on_time"), travelled.drop_columns("date")
    days = pa.array(exact["od"].labels["date"], pa.string())
    theirs = {name: _of(paper.sheet(name), days) for name in ("on_location", "on_time_location")}
    ours = {name: _estimates(recommended, name) for name in ("origin_time", "od")}
    epsilons = (f"{PROTECTED[each.privacy.unit]}, {rounded_up(each.guarantee.loss.epsilon)}" for each in plans)
    grid = Grid("", *(folder.path.name for folder in folders))
    grid.add("protects, at epsilon", *epsilons)
    grid.add("error by origin and day", _off(theirs["on_location"], placed), _off(ours["origin_time"], placed))
    hourly = _by_hour(theirs["on_time_location"])
    grid.add("error by origin, hour and day", _off(hourly, timed), _off(ours["origin_time"], timed))
    grid.add("error by origin and destination", NONE, _off(ours["od"], travelled))
    return grid


def _all_trips(plan: Plan) -> Plan:
    """The same tables, of all trips: none is left out because its card has others."""
    privacy = plan.privacy.model_copy(update={"unit": "trip", "trips_per_day": None, "without_card": None})
    tables = tuple(table.model_copy(update={"trips_per_cell": None}) for table in plan.table if table.columns)
    return plan.model_copy(update={"privacy": privacy, "table": tables})


def _estimates(folder: Folder, name: str) -> pa.Table:
    columns = read_columns(folder.path / ESTIMATES / f"{name}.csv", (*NUMBERS, WEIGHT))
    return pa.table({name: column.tolist() if column.dtype == object else column for name, column in columns.items()})


def _exact(table: ExactTable) -> pa.Table:
    codes = table.packing.unpack(table.words)
    labels = {name: pa.array(every, pa.string()).take(pa.array(codes[name])) for name, every in table.labels.items()}
    return pa.table({**labels, COUNT: exact_counts(table)})


def _of(table: pa.Table, days: pa.Array) -> pa.Table:
    return table.filter(pc.is_in(table.column("date").cast(pa.string()), days))


def _by_hour(table: pa.Table) -> pa.Table:
    """Counts by quarter of an hour: their times become those of the hour."""
    quarter = table.column("tap_on_time").cast(pa.string())
    hour = pc.replace_substring_regex(quarter, r":\d\d$", ":00")
    return table.set_column(table.schema.get_field_index("tap_on_time"), "tap_on_time", hour)


def _off(published: pa.Table, exact: pa.Table) -> str:
    """The sum of all errors as a share of all trips, by the columns of the truth; what is not published counts as 0."""
    keys = [name for name in exact.column_names if name != COUNT]
    said = published.select([*keys, COUNT]).set_column(len(keys), COUNT, pc.negate(published.column(COUNT)))
    both = pa.concat_tables([each.cast(exact.schema) for each in (exact, said)])
    errors = both.group_by(keys).aggregate([(COUNT, "sum")]).column(f"{COUNT}_sum")
    trips = pc.sum(exact.column(COUNT)).as_py()
    return f"{pc.sum(pc.abs(errors)).as_py() / trips * 100:.0f} %" if trips else NONE
