"""Warnings: what the data custodian would want to look into before publishing. Computed from exact counts.

Each is a sentence that says what was found and what to do, and begins in lower case.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tapveil.base.errors import did_you_mean
from tapveil.base.numbers import percent
from tapveil.base.vocabulary import EVERY_MODE, NOUNS, UNKNOWN
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.areas import relabelling
from tapveil.inputs.public import PublicInputs
from tapveil.plan.guarantee import Guarantee
from tapveil.plan.model import Plan, Table
from tapveil.privacy.distribution import distribution
from tapveil.privacy.mechanisms import Mechanism

MANY_UNKNOWN = 0.20
MANY_LEFT_OUT = 0.20
MANY_SHARED = 0.10
NEARLY_EMPTY = 0.10
MUCH_PUBLISHED, STILL_PUBLISHED = 0.95, 0.90
"""Where every table publishes so much, a smaller epsilon is tried; and what must still be published under it."""


def remarks(inputs: PublicInputs, counted: Counted) -> Iterator[str]:
    """What the counts show, the likeliest mistakes first."""
    plan = inputs.plan
    yield from _unmatched_modes(plan, counted)
    yield from _look_alike(plan, counted)
    yield from _days_without_trips(plan, counted)
    yield from _unknown_places(plan, counted)
    yield from _not_on_the_map(inputs, counted)
    yield from _unlisted(plan, counted, inputs.dictionaries)
    yield from _many_left_out(plan, counted)
    yield from _many_in_a_cell(plan, counted)
    yield from _no_such_taps(plan, counted)
    yield from _extra_columns(inputs, counted)


def _unmatched_modes(plan: Plan, counted: Counted) -> Iterator[str]:
    """Lookups for modes that no trip has: most likely a misspelling, and stops published as they are."""
    found = {label for table in counted.tables.values() for label in table.labels.get("mode", ())}
    for mode in plan.coarsen.location:
        if mode != EVERY_MODE and found and mode not in found:
            yield f"no trip has mode `{mode}`, so [coarsen.location.{mode}] has no effect{did_you_mean(mode, found)}"


def look_of(name: str) -> str:
    """A name without what is hardly seen: capitals, blanks, and how letters are encoded."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _look_alike(plan: Plan, counted: Counted) -> Iterator[str]:
    """Names that differ in capitals, blanks or how accents are encoded: most likely one mode or place, in two parts."""
    for column, labels in sorted(counted.texts(plan).items()):
        by_look: dict[str, list[str]] = {}
        for label in sorted(labels):
            by_look.setdefault(look_of(label), []).append(label)
        alike = [names for names in by_look.values() if len(names) > 1]
        if alike:
            some = "; ".join(" and ".join(f"`{name}`" for name in names) for names in alike[:3])
            many = f"{len(alike):,} names are" if len(alike) > 1 else "a name is"
            yield (
                f"{column}: {many} written in several ways, which differ in capitals, in blanks or in how letters are "
                f"encoded: {some}{'; …' if len(alike) > 3 else ''}. Each way is counted and published by itself: write "
                "each name in one way in the export"
            )


def _days_without_trips(plan: Plan, counted: Counted) -> Iterator[str]:
    """Days of the plan before all trips, or after them: most likely the plan is of a month and the export of a part."""
    first, last = plan.source.first_day, plan.source.last_day
    days = {label for table in counted.tables.values() for label in table.labels.get("date", ())}
    if first is None or last is None or not days or not plan.source.calendar:
        return
    if str(first) < min(days) or max(days) < str(last):
        yield (
            f"no trip is before {min(days)} or after {max(days)}, and the plan is of {first} to {last}: the other days "
            "would be published empty, or not at all, and the budget of each is spent. If the export does not have "
            "them, change first_day and last_day under [source]"
        )


def _unknown_places(plan: Plan, counted: Counted) -> Iterator[str]:
    """Places that are UNKNOWN for many trips: no tap there, or a lookup that does not know them."""
    for column in plan.columns.used:
        table = next((table for table in counted.tables.values() if column in table.packing.columns), None)
        if table is None or plan.source.kind(column) != "location" or not len(exact_counts(table)):
            continue
        unknown = table.packing.unpack(table.words)[column] == table.labels[column].index(UNKNOWN)
        share = float(exact_counts(table)[unknown].sum() / exact_counts(table).sum())
        if share > MANY_UNKNOWN:
            of = f"{percent(share, digits=0)} of {NOUNS[plan.privacy.unit]}"
            yield f"{column} is {UNKNOWN} for {of}: there was no tap, or the lookup does not have the stops"


def _not_on_the_map(inputs: PublicInputs, counted: Counted) -> Iterator[str]:
    """Published places that the list of places does not have."""
    plan, drawn = inputs.plan, dict[str, set[str]]()
    if plan.places is None:
        return
    for feature in (inputs.places or {}).get("features", ()):
        drawn.setdefault(feature["properties"]["mode"], set()).add(feature["properties"]["name"])
    lists = f"are in neither {plan.places.path} nor the timetable" if plan.gtfs else f"are not in {plan.places.path}"
    if plan.privacy.is_world:  # places that are not listed are UNKNOWN there
        lists = f"have no coordinates in {plan.places.path}, or none for their mode"
    for column in (column for column in plan.columns.used if plan.source.kind(column) == "location"):
        if exact := _least_table(plan, counted, column):
            trips = _trips_by_place(exact, column)
            # As the page does it: a mode that has places of its own has no others.
            lacking = [(mode, name) for mode, name in trips if name not in drawn.get(mode, drawn.get(EVERY_MODE, ()))]
            lost = sum(trips[place] for place in lacking)
            if lacking:
                share = f"{percent(lost / int(exact_counts(exact).sum()), digits=0)} of {NOUNS[plan.privacy.unit]}"
                what = f"{len(lacking):,} of {len(trips):,} places, with {share}, {lists}"
                misnamed = len(lacking) == len(trips) and not plan.privacy.is_world
                yield f"{column}: {what}: they will not be on the map{_MISNAMED if misnamed else ''}"


_MISNAMED = "; use the names as they are published, such as the postcode, not the stop"


def _least_table(plan: Plan, counted: Counted, column: str) -> ExactTable | None:
    """The table with the fewest cells that has the places of a column as the plan publishes them, not wider ones."""
    fits = [table.name for table in plan.table if column in table.columns and table.level.location is None]
    return min((counted.tables[name] for name in fits), key=lambda exact: len(exact_counts(exact)), default=None)


def _trips_by_place(exact: ExactTable, column: str) -> dict[tuple[str, str], int]:
    """The trips of each mode and place; without those that have none."""
    codes, places = exact.packing.unpack(exact.words), exact.labels[column]
    modes = exact.labels.get("mode", (EVERY_MODE,))
    keys = codes.get("mode", np.zeros(len(exact_counts(exact)), dtype=np.int64)) * len(places) + codes[column]
    found, inverse = np.unique(keys, return_inverse=True)
    trips = np.bincount(inverse, exact_counts(exact), minlength=len(found)).astype(np.int64).tolist()
    named = [(modes[key // len(places)], places[key % len(places)]) for key in found.tolist()]
    return {place: number for place, number in zip(named, trips, strict=True) if place[1] != UNKNOWN}


def share_left_out(plan: Plan, left_out: int, accepted: int) -> float:
    """The share of trips that the bounds of a card leave out.

    Where taps are paired, rows are taps, and how many trips they make is not told: it is at least this share then.
    """
    ends = plan.columns.sides
    most = accepted // 2 + (accepted if len(ends) > 1 else 0) if "both" in ends else accepted
    return left_out / most if most else 0.0


def _many_left_out(plan: Plan, counted: Counted) -> Iterator[str]:
    """Bounds that drop much of the data: a wrong column of cards, or bounds below what people do."""
    accepted = counted.refusals.rows - counted.refusals.refused
    share = share_left_out(plan, counted.left_out, accepted)
    if share > MANY_LEFT_OUT:
        at_least = "at least " if plan.columns.pairs_taps else ""
        yield (
            f"{at_least}{percent(share, digits=0)} of trips are left out because their card exceeds the plan's bounds: "
            "check that `card` is the right column, and that trips_per_day and trips_per_card fit what people do"
        )


def _many_in_a_cell(plan: Plan, counted: Counted) -> Iterator[str]:
    """Tables of a known world that lack many trips, since those of a card share cells: a total, by its very nature.

    Estimates take all tables to be of the same trips, and a total has little noise: it would draw all others down.
    """
    privacy = plan.privacy
    if not (privacy.is_world and privacy.by_card and plan.source.shape == "trips"):
        return
    trips = counted.refusals.rows - counted.refusals.refused - counted.left_out
    for table in plan.table:
        own, most = int(exact_counts(counted.tables[table.name]).sum()), privacy.trips_per_unit
        if own < (1 - MANY_SHARED) * trips and table.most_per_cell < most:
            yield (
                f"`{table.name}` counts {percent(own / trips, digits=0)} of the trips: of a card it counts "
                f"{table.most_per_cell} in a cell, and many cards have more there. Estimates take all tables to be of "
                f"the same trips, and would be too low: raise trips_per_cell of this table (at most {most})"
            )


def wider_areas(inputs: PublicInputs, counted: Counted) -> Iterator[str]:
    """Places that a level does not make wider, or that its list does not have."""
    plan = inputs.plan
    modes = next((table.labels["mode"] for table in counted.tables.values() if "mode" in table.labels), ())
    for name in sorted({table.level.location for table in plan.table if table.level.location}):
        wider = plan.coarsen.wider[name]
        if EVERY_MODE not in wider and (without := [mode for mode in modes if mode not in wider]):
            # They would be published a second time, as finely as before: that wastes their part of the budget.
            yield f"[coarsen.wider.{name}] has no entry for {', '.join(without)}: their places stay as they are"
    for table in plan.table:
        relabelled = relabelling(plan, table, inputs.wider) if table.level.location else {}
        for column in (column for column in relabelled if plan.source.kind(column) == "location"):
            if exact := _least_table(plan, counted, column):
                places = _trips_by_place(exact, column)
                if lost := [place for place in places if relabelled[column].label(*place) == UNKNOWN]:
                    yield (
                        f"{table.name}: {len(lost)} of {len(places)} places of {column} are not in the list of wider "
                        f"areas `{table.level.location}`, and are {UNKNOWN} there"
                    )


def nearly_empty(plan: Plan, table: Table, share: float) -> str | None:
    """A plain sentence where a table would be nearly empty."""
    if share >= NEARLY_EMPTY:
        return None
    kinds = {plan.source.kind(column) for column in table.columns}
    helps = {"wider bins": {"time"}, "larger areas": {"location"}, "fewer or broader labels": {"label", "date"}}
    ways = [way for way, whose in helps.items() if kinds & whose]
    published = f"{percent(share, digits=0)} of {NOUNS[plan.privacy.unit]}"
    several = any(set(other.columns) == set(table.columns) and other is not table for other in plan.table)
    levels = "" if several or not kinds & {"time", "location"} else ", or publish it at several `levels`"
    what = table.name if several else table.in_words
    return f"{what} would publish {published}: use {' or '.join(ways) or 'fewer parts'}{levels}"


def _unlisted(plan: Plan, counted: Counted, dictionaries: Mapping[str, pa.Table | None]) -> Iterator[str]:
    """With a dictionary: what it leaves out, and how much of what is printed would be noise alone."""
    for name, dictionary in dictionaries.items():
        if dictionary is None or plan.privacy.is_world:  # where every cell is published, and none lies outside
            continue
        exact, mechanism = counted.tables[name], plan.guarantee.mechanisms[name]
        places, cells = exact.places_in(dictionary)
        outside = int(exact_counts(exact).sum() - exact_counts(exact)[cells].sum())
        empty = len(dictionary) - len(places)
        noise = distribution(mechanism).expected(np.zeros(1, dtype=np.int64), empty).cells
        yield (
            f"{name}: {empty:,} of {len(dictionary):,} listed cells are empty. About {noise:,.0f} of them would be "
            f"published with a count that is noise only. {outside:,} {NOUNS[plan.privacy.unit]} are in cells that are "
            "not listed, and are left out"
        )


def _no_such_taps(plan: Plan, counted: Counted) -> Iterator[str]:
    """An end without any tap: most likely a word that the plan does not know."""
    for end, tables in plan.columns.sides.items():
        if end != "both" and not any(len(exact_counts(counted.tables[table.name])) for table in tables):
            empty = ", ".join(table.name for table in tables)
            yield f"no row is a tap {end} according to [source.taps], so nothing is counted in {empty}"


def _extra_columns(inputs: PublicInputs, counted: Counted) -> Iterator[str]:
    """What other columns, such as a fare class, do to the cells of a table: more of them, with fewer trips in each."""
    plan = inputs.plan
    for table in plan.table:
        exact, half = counted.tables[table.name], plan.guarantee.mechanisms[table.name].error_bound(_MISSED)
        trips, listed = int(exact_counts(exact).sum()), inputs.dictionaries.get(table.name)
        cells = len(listed) if listed is not None else len(exact_counts(exact))
        for column in (name for name in table.columns if plan.source.kind(name) == "label" and name != "mode"):
            labels = plan.world.lists.get(column)
            times = len(labels) + 1 if labels else len(exact.labels[column])
            if times > 1 and cells and trips:
                mean, noun = trips / cells, NOUNS[plan.privacy.unit]
                yield (
                    f"{column} multiplies the cells of {table.name} by up to {times:,}, to {cells:,}: {mean:,.1f} "
                    f"{noun} in a cell instead of {times * mean:,.1f}. The 95 % error bound, {half}, is "
                    f"{100 * half / mean:,.0f} % of a mean cell; without {column} it would be "
                    f"{100 * half / mean / times:,.0f} %"
                )


_MISSED = Fraction(1, 20)
"""Of 95 % error bounds."""


def room(plan: Plan, shares: Mapping[str, float], counted: Counted) -> Iterator[str]:
    """How much smaller epsilon could be while nearly as much would be published: a stronger promise at little cost."""
    if plan.privacy.lists_cells or plan.privacy.is_world or not shares or min(shares.values()) < MUCH_PUBLISHED:
        return
    fits: tuple[Fraction, float] | None = None
    for part in (2, 4, 8, 16):
        try:
            made = _at_a_part(plan, part).mechanisms
        except ValueError:  # there is no noise for so little
            break
        least = min(_share(exact, made[name]) for name, exact in counted.tables.items())
        if least < STILL_PUBLISHED:
            break
        fits = plan.guarantee.loss.epsilon / part, least
    if fits:
        of = f"{percent(fits[1], digits=0)} of {NOUNS[plan.privacy.unit]}"
        yield f"you have room: at epsilon = {float(fits[0]):g} even the emptiest table would still publish {of}"


def _at_a_part(plan: Plan, part: int) -> Guarantee:
    """The noise of the same plan at a part of its epsilon."""
    privacy = plan.privacy.model_copy(update={"epsilon": plan.privacy.epsilon and plan.privacy.epsilon / part})
    tables = (each.model_copy(update={"epsilon": each.epsilon and each.epsilon / part}) for each in plan.table)
    return Guarantee(privacy, tuple(tables))


def _share(exact: ExactTable, mechanism: Mechanism) -> float:
    """The share of its trips that a table is expected to publish."""
    sizes, cells = np.unique(exact_counts(exact), return_counts=True)
    return distribution(mechanism).expected(sizes, cells).trips / max(int(exact_counts(exact).sum()), 1)
