"""A plan in sentences, and what someone who does not know its numbers should hear. From the plan alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tapveil.base.numbers import clock_text
from tapveil.base.vocabulary import COUNT, EVERY_MODE, NOUNS
from tapveil.internal.explain import computed
from tapveil.plan.model import Level, Plan
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.attacker import Attacker, attacker
from tapveil.published.describe.wording import COUNTED, LOOKED, UNIT_NAMES, change, loss_in_words

LARGE_EPSILON = 10
LARGE_DELTA = Fraction(1, 100_000)


def in_words(plan: Plan) -> Iterator[str]:
    """The plan, in sentences."""
    parts = " and ".join(plan.release.partition)
    tables = "1 table" if len(plan.table) == 1 else f"{len(plan.table)} tables"
    what = f"counts of {NOUNS[plan.privacy.unit]}"
    yield f"Publish {tables} of {what}" + (f", split by {parts}." if parts else ".")
    if "time" in plan.columns.kinds:
        yield f"Times are rounded down to {plan.coarsen.time_minutes} minutes."
    for name, column in plan.columns.calendars.items():
        yield f"{name} is {column.in_words}, by the day of the trip."
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
        privacy = plan.privacy
        bounds = ((privacy.trips_per_day, "trips per day"), (privacy.trips_per_card, "trips in total"))
        most = " and ".join(f"{number} {what}" for number, what in bounds if number)
        yield f"At most {most} of each card are kept; then {COUNTED[privacy.unit]}, are counted."
        for table in plan.table:
            if table.most_per_cell > 1:
                yield f"In a cell of {table.name}, up to {table.most_per_cell} trips of one {privacy.unit} are counted."
        without = {"refuse": "is refused", "own-unit": "counts as a card of its own"}[privacy.without_card or "refuse"]
        yield f"A row without a card {without}."
    summed = "the total given, accounted for exactly" if plan.guarantee.is_shared else "the sum over the tables"
    in_total = loss_in_words(plan.guarantee.loss)
    yield f"Protected: {change(plan.privacy.unit, plan.privacy.neighbours)}."
    yield f"Total privacy cost: {in_total} ({summed}; splitting tables into parts costs nothing more)."
    found = best_attacker(plan)
    yield found.promised.in_words(plan.privacy.unit, found.neighbours)
    yield computed(found)
    if plan.public.has_totals:
        loss = loss_in_words(plan.guarantee.loss_for("replace"))
        replaced = change(plan.privacy.unit, "replace")
        yield (
            "Exact totals are declared as public anyway. The guarantee holds given that they are known: of all sets of "
            f"trips with these totals, two that differ by {replaced} are protected with {loss}. What the totals reveal "
            "by themselves is not covered. Take each from a publication, never from these trips."
        )
    stated = plan.privacy.looked_at_trips is not None
    yield LOOKED[plan.privacy.looked_at_trips] + ("" if stated else " State it: looked_at_trips under [privacy].")
    yield from (f"Warning: {words}" for words in warnings(plan))


def best_attacker(plan: Plan) -> Attacker:
    """What the promise means; given exact totals, of what is exchanged for something else."""
    neighbours = "replace" if plan.public.has_totals else plan.privacy.neighbours
    exposure = Exposure(neighbours, plan.guarantee.exposure.cells)
    return attacker(list(plan.guarantee.mechanisms.values()), plan.guarantee.loss_for(neighbours), exposure)


def _rows_in_words(plan: Plan) -> Iterator[str]:
    """How the rows of an export become trips on days."""
    source, taps = plan.source, plan.source.taps
    if taps:
        ends = [f"{end} is {' or '.join(words)}" for end, words in (("on", taps.on), ("off", taps.off)) if words]
        yield f"A row is one tap ({', '.join(ends)}); other rows are left out."
    if source.most_per_row:
        theirs = source.columns[COUNT].column
        yield f"A row is a number of trips (column `{theirs}`); more than {source.most_per_row:,} count as that many."
    if "both" in plan.columns.sides and taps:
        within = f"within {taps.within_minutes} minutes"
        day = ", on one day" if plan.privacy.unit == "card-day" else ""
        common = "" if taps.same == "card" else f" with the same {taps.same}"
        yield f"A tap on and the next tap off of the same card{common}, {within}{day}, make one trip."
    if source.day_starts:
        what = "Dates are those of service days" if source.dates == "service" else "A day starts"
        hours = "go on as 24:00, 25:00, …" if plan.coarsen.after_midnight == "continued" else "are 00:00, 01:00, …"
        yield f"{what} at {clock_text(source.day_starts)}; hours after midnight {hours}"
    if source.timezone:
        yield f"Times are in {source.timezone}: hours that daylight saving skips are refused, repeated ones are merged."
    if plan.gtfs:
        yield f"Names and locations of stops come from {plan.gtfs.path}."


def warnings(plan: Plan) -> Iterator[str]:
    """What someone who does not know these numbers should hear."""
    privacy, per_day, per_card = plan.privacy, plan.privacy.trips_per_day, plan.privacy.trips_per_card
    if per_day and per_card and per_day >= per_card:
        yield f"trips_per_day = {per_day} has no effect with trips_per_card = {per_card}."
    for table in plan.table if privacy.is_world and privacy.trips_per_unit > 1 else ():
        if table.most_per_cell == 1 and "location" not in map(plan.source.kind, table.columns):
            yield (
                f"in a cell of {table.name}, only one trip of a {privacy.unit} is counted, of up to "
                f"{privacy.trips_per_unit}. Estimates take all tables to be of the same trips, and would be too low: "
                "set trips_per_cell of this table."
            )
    if plan.guarantee.loss.epsilon > LARGE_EPSILON:
        yield (
            f"a total epsilon above {LARGE_EPSILON} gives little protection. The Opal release spent 8, which is "
            "already high; 1 or less is strong."
        )
    if plan.guarantee.loss.delta > LARGE_DELTA:
        yield (
            f"delta = {float(plan.guarantee.loss.delta):.2g} is high. It is about the probability that "
            f"{UNIT_NAMES[plan.privacy.unit]} is exposed: keep it well below 1 divided by their number."
        )
