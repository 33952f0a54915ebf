"""What is wrong between the parts of a plan, each of which is right by itself."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from tapveil.base.errors import did_you_mean
from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import (
    CARD,
    EARLIEST_YEAR,
    EVERY_MODE,
    LATEST_YEAR,
    MOST_LEVELS,
    OPAL_SHAPES,
    RESERVED,
    TAP,
    TOTAL,
    VEHICLE,
)
from tapveil.plan.model import TIMETABLE, Level, Plan, Table
from tapveil.privacy.effort import too_much
from tapveil.privacy.loss import certified


def misfits(plan: Plan) -> Iterator[str]:
    """All of it, a sentence each."""
    yield from _repeated("table name", (table.name for table in plan.table), " (give every level but one a `name`)")
    alike = [(", ".join(sorted(table.columns)), table.level) for table in plan.table]
    for columns, level in dict.fromkeys(each for each in alike if alike.count(each) > 1):
        yield f"set of columns in a table `{columns} ({level.in_words})` is used twice"
    yield from _repeated("partition column", plan.release.partition)
    for place, column in _named_columns(plan):
        if column not in plan.source.columns:
            hint = did_you_mean(column, plan.source.columns)
            yield f"{place}: unknown column `{column}`{hint or ' (it is not under [source.columns])'}"
        elif column in RESERVED:
            yield f"{place}: `{column}` is the name of a published number: give your column another name of ours"
        elif column.endswith("_until"):
            yield f"{place}: `{column}` ends like the ends of times in a folder: give it another name of ours"
        elif plan.source.kind(column) == "card":
            yield f"{place}: `{column}` tells people apart and can never be published"
        elif (theirs := plan.source.columns[column].column) and theirs == plan.source.card:
            yield f"{place}: `{column}` is the column of the cards, `{theirs}`: it can never be published"
    for table in plan.table:
        yield from _table_misfits(plan, table)
    yield from _family_misfits(plan)
    known = all(column in plan.source.columns for column in plan.used_columns)
    if known and not any(plan.source.columns[column].column for column in plan.used_columns):
        yield "[source.columns]: every column has a fixed value: at least one must come from the files"
    if "mode" in plan.source.columns and plan.source.kind("mode") != "label":
        yield "[source.columns] mode: must be a label, not another kind"
    yield from _coverage_misfits(plan)
    yield from _day_misfits(plan)
    yield from _place_misfits(plan)
    if plan.source.taps:
        yield from _tap_misfits(plan)
    problems = [*_unit_misfits(plan), *_budget_misfits(plan)]
    yield from problems or _mechanism_misfits(plan)
    if "mode" not in plan.source.columns and any(mode != EVERY_MODE for mode in plan.coarsen.location):
        yield f'[coarsen.location]: there is no `mode` column; use [coarsen.location."{EVERY_MODE}"] for every row'
    yield from _total_misfits(plan)
    if plan.release.layout == "opal":
        yield from _opal_misfits(plan)


def _named_columns(plan: Plan) -> Iterator[tuple[str, str]]:
    for column in plan.release.partition:
        yield "[release] partition", column
    for table in plan.table:
        for column in table.columns:
            yield f"[[table]] {table.name}", column


def _table_misfits(plan: Plan, table: Table) -> Iterator[str]:
    place = f"[[table]] {table.name}"
    yield from _repeated(f"column of {table.name}", table.columns)
    for column in set(table.columns) & set(plan.release.partition):
        yield f"{place}: `{column}` is already a partition column: leave it out of the table"
    if (table.name == TOTAL) != (not table.columns):
        yield f"{place}: the table of totals, and no other, has columns = [] and the name `{TOTAL}`"
    if all(column in plan.source.columns for column in table.columns):
        yield from _level_misfits(plan, table, place)


def _total_misfits(plan: Plan) -> Iterator[str]:
    """Without a partition, the table of totals is one number, which no list can name and no row can stand for."""
    if TOTAL not in plan.tables or plan.release.partition:
        return
    place = f"[[table]] {TOTAL}"
    if len(plan.table) == 1:
        yield f"{place}: it would be the only number of the release: give it a partition, or add another table"
    if plan.privacy.mechanism == "dictionary":
        yield f'{place}: mechanism = "dictionary" needs a partition, whose parts can be listed'
    if plan.release.synthetic:
        yield f"{place}: synthetic = true needs a partition: a row would have no column"


def _family_misfits(plan: Plan) -> Iterator[str]:
    """Whether the levels of one table lie in each other, so that what shows can be put together."""
    families: dict[frozenset[str], list[Table]] = {}
    for table in plan.table:
        families.setdefault(frozenset(table.columns), []).append(table)
    for family in families.values():
        if len(family) > MOST_LEVELS:
            yield f"[[table]] {family[0].name}: has more than {MOST_LEVELS} levels"
        for fine, coarse in pairwise(family):
            if not _lies_in(plan, fine, coarse):
                yield (
                    f"[[table]] {coarse.name}: its bins or areas do not hold those of {fine.name} whole: list levels "
                    "from the finest to the coarsest, each of whole bins and areas of the one before"
                )


def _lies_in(plan: Plan, fine: Table, coarse: Table) -> bool:
    first = plan.source.day_starts if plan.coarsen.after_midnight == "continued" else 0
    times = [
        TimeBins.parts(level.times, first)
        if level.times
        else TimeBins.every(level.time_minutes or plan.coarsen.time_minutes, first)
        for level in (fine.level, coarse.level)
    ]
    return times[0].nests_in(times[1]) and fine.level.location in (None, coarse.level.location)


def _level_misfits(plan: Plan, table: Table, place: str) -> Iterator[str]:
    """Whether a coarser level can be made from the plan's own bins and areas."""
    level, bin_minutes = table.level, plan.coarsen.time_minutes
    kinds = {plan.source.kind(column) for column in table.columns}
    if (level.time_minutes or level.times) and "time" not in kinds:
        yield f"{place}: its level has times, the table has not"
    if level.time_minutes and (level.time_minutes % bin_minutes or level.time_minutes == bin_minutes):
        yield f"{place}: time_minutes of a level must be several bins of {bin_minutes} minutes"
    if any(minute % bin_minutes for minute in level.times or ()):
        yield f"{place}: times of a level must be starts of bins of {bin_minutes} minutes"
    if level.location is None:
        return
    if "location" not in kinds:
        yield f"{place}: its level has wider areas, the table has no places"
    wider = plan.coarsen.wider.get(level.location)
    if wider is None:
        hint = did_you_mean(level.location, plan.coarsen.wider)
        yield f"{place}: there are no wider areas `{level.location}`{hint or ' (give them under [coarsen.wider])'}"
    elif any(mode != EVERY_MODE for mode in wider) and "mode" not in plan.key_columns(table):
        yield f'{place}: its wider areas are by mode, the table is not: use [coarsen.wider.{level.location}."*"]'


def _coverage_misfits(plan: Plan) -> Iterator[str]:
    """Whether the days and modes that a release is limited to can be told apart."""
    source = plan.source
    if (source.first_day is None) != (source.last_day is None):
        given, other = ("first_day", "last_day") if source.last_day is None else ("last_day", "first_day")
        yield f"[source] {given}: needs {other} as well"
    elif source.first_day and source.last_day:
        if source.first_day.year < EARLIEST_YEAR or source.last_day.year > LATEST_YEAR:
            yield f"[source] first_day: days must be between {EARLIEST_YEAR} and {LATEST_YEAR}"
        if source.first_day > source.last_day:
            yield "[source] last_day: must not be before first_day"
        if "date" not in source.columns or source.kind("date") != "date" or not source.calendar:
            yield "[source] first_day: needs a column `date` under [source.columns], and dates that are no labels"
        elif source.columns["date"].column is None:
            yield "[source] first_day: needs a `date` that comes from the files, not one value for every row"
    if source.modes and ("mode" not in source.columns or source.columns["mode"].column is None):
        yield "[source] modes: needs a column `mode` that comes from the files"
    yield from _repeated("mode in [source] modes", source.modes or ())


def _day_misfits(plan: Plan) -> Iterator[str]:
    """Whether days that start at another hour than midnight can be told, and their times labelled."""
    source, starts = plan.source, plan.source.day_starts
    for name, column in source.columns.items():
        if source.kind(name) == "date" and source.calendar and not column.tells_days_apart:
            yield f"[source.columns] {name}: `{column.format}` has no year, month or day: several days would become one"
    if starts % plan.coarsen.time_minutes:
        yield f"[source] day_starts: must be the start of a time bin of {plan.coarsen.time_minutes} minutes"
    if starts and source.dates == "labels":
        yield '[source] day_starts: needs dates = "calendar" or "service"'
    if starts and source.dates == "calendar" and "date" in source.columns and not source.deciding:
        yield "[source] day_starts: needs a tap_on_time or tap_off_time, which says to which day a trip belongs"
    if plan.coarsen.after_midnight == "continued" and not starts:
        yield '[coarsen] after_midnight: "continued" needs [source] day_starts, such as "04:00"'


def _place_misfits(plan: Plan) -> Iterator[str]:
    """Whether there is a list of stops for what needs one."""
    for mode, area in plan.coarsen.location.items():
        if plan.gtfs is None and (area.gtfs or area.needs_coordinates):
            what = "gtfs" if area.gtfs else "polygons" if area.polygons else "h3"
            yield f"[coarsen.location.{mode}] {what}: needs a section [gtfs], whose stops have names and coordinates"
    for table in plan.table:
        if table.cells != TIMETABLE:
            continue
        place = f'[[table]] {table.name}: cells = "{TIMETABLE}"'
        if plan.gtfs is None:
            yield f"{place} needs a section [gtfs]"
        elif unknown := set(plan.key_columns(table)) - _OF_A_TIMETABLE:
            yield f"{place} knows nothing of {', '.join(sorted(unknown))}: list the cells in a file"
        elif plan.ends(table) == "both":
            yield f"{place} is for tables of one end of a trip: list the cells in a file"
        elif not plan.source.calendar:
            yield f'{place} needs dates that are dates, not [source] dates = "labels"'


_OF_A_TIMETABLE = {"mode", "date", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"}


def _tap_misfits(plan: Plan) -> Iterator[str]:
    """Whether taps can be counted as the plan asks."""
    source, taps = plan.source, plan.source.taps
    for place, column in _named_columns(plan):
        of_an_end = column.startswith(("tap_on_", "tap_off_")) and column in source.columns
        if of_an_end and source.kind(column) == "date":
            yield f"{place}: `{column}` is a day of one end of a trip, which the other end has not: use `date`"
        if column == TAP:
            yield f"{place}: `{TAP}` says which end a row is: use the columns tap_on_… and tap_off_…"
    if taps and taps.same == "vehicle" and (VEHICLE not in source.columns or source.columns[VEHICLE].column is None):
        yield f"[source.taps] same: needs a column `{VEHICLE}` under [source.columns]"
    if taps and taps.same == "mode" and "mode" not in source.columns and "both" in plan.sides:
        yield '[source.taps] same: needs a column `mode` under [source.columns], or same = "card"'
    for table in plan.table:
        if plan.ends(table) != "both":
            continue
        place = f"[[table]] {table.name}"
        if "tap_on_time" not in source.columns:
            yield f"{place}: needs both ends of a trip, and so a `tap_time`, which says which tap comes first"
        elif CARD not in source.columns:
            yield f"{place}: needs both ends of a trip, and so a column `{CARD}`, which says which taps belong together"
        elif plan.privacy.unit == "trip":
            # One tap more can pair the taps around it anew, in several cells (docs/privacy/proofs.md, taps).
            yield (
                f"{place}: needs both ends of a trip. Which taps belong together depends on the other taps of their "
                'card, so no single trip can be protected: use unit = "card-day" or "card"'
            )
        elif plan.privacy.without_card == "own-unit":
            # Such a trip is two taps that nobody can pair: two cells, or one cell twice (docs/privacy/proofs.md, taps).
            yield (
                f"{place}: needs both ends of a trip. Taps without a card cannot be paired, so one trip without a card "
                'would count twice: use without_card = "refuse"'
            )


def _unit_misfits(plan: Plan) -> Iterator[str]:
    """Whether the unit of protection can be told apart, and how many trips it has."""
    privacy = plan.privacy
    if not privacy.by_card:
        for_cards = {
            "trips_per_day": privacy.trips_per_day,
            "trips_per_card": privacy.trips_per_card,
            "without_card": privacy.without_card,
        }
        for key in (key for key, value in for_cards.items() if value is not None):
            yield f'[privacy] {key}: is for unit = "card-day" or "card"; a trip is one by itself'
        return
    if CARD not in plan.source.columns or plan.source.columns[CARD].column is None:
        yield f'[privacy] unit: "{privacy.unit}" needs a column `{CARD}` under [source.columns]'
    elif plan.source.kind(CARD) != "card":
        yield f"[source.columns] {CARD}: must be a card, not another kind"
    if privacy.without_card is None:
        yield '[privacy] unit: say under without_card what becomes of rows without a card: "refuse" or "own-unit"'
    if privacy.trips_per_day and "date" not in plan.source.columns:
        yield "[privacy] trips_per_day: needs a column `date` under [source.columns]"
    elif privacy.trips_per_day and plan.source.kind("date") != "date":
        yield "[source.columns] date: must be a date, not another kind"
    elif privacy.trips_per_day and plan.source.columns["date"].column is None:
        # Of several days that pass for one, what is kept of the one would depend on the others.
        yield (
            "[privacy] trips_per_day: needs a `date` that comes from the files, not one value for every row, which "
            'would make all days of a card one. If the files are of a single day: unit = "card" with trips_per_card'
        )
    if privacy.trips_per_day and not plan.source.calendar:
        yield '[privacy] trips_per_day: needs dates = "calendar" or "service": by labels, one day could be several'
    if privacy.unit == "card" and privacy.trips_per_card is None:
        yield '[privacy] unit: "card" needs trips_per_card, the most trips of one card that are counted'
    if privacy.unit == "card-day" and privacy.trips_per_day is None:
        yield '[privacy] unit: "card-day" needs trips_per_day, the most trips of one card and day that are counted'
    if privacy.unit == "card-day" and privacy.trips_per_card is not None:
        # The trips kept of one day would depend on those of other days, and a changed day would show in all of them.
        yield '[privacy] trips_per_card: does not go with unit = "card-day", whose days must not depend on each other'


def _budget_misfits(plan: Plan) -> Iterator[str]:
    """Whether there is one total with weights, or an (ε, δ) for every table; and δ where it is needed."""
    privacy, pure = plan.privacy, plan.privacy.mechanism == "dictionary"
    if privacy.cut is not None and not pure:
        yield '[privacy] cut: is for mechanism = "dictionary"; the others have a threshold that follows from delta'
    if plan.total_is_given:
        yield from _delta_misfits(
            "[privacy] epsilon" if privacy.delta is None else "[privacy] delta", privacy.delta, pure
        )
    elif privacy.delta is not None:
        yield "[privacy] delta: a total needs epsilon as well"
    for table in plan.table:
        place = f"[[table]] {table.name}"
        if (table.cells is not None) != pure:
            wanted = "needs `cells`, a file that lists every possible cell" if pure else "has no use for `cells`"
            yield f'{place}: mechanism = "{privacy.mechanism}" {wanted}'
        if plan.total_is_given:
            if table.epsilon is not None or table.delta is not None:
                yield f"{place}: [privacy] gives a total: give this table a weight instead of epsilon and delta"
        elif table.weight is not None:
            yield f"{place}: a weight shares a total: give epsilon and delta under [privacy], or none of the weights"
        elif table.epsilon is None:
            yield f"{place}: epsilon is missing (or give a total under [privacy] and a weight to each table)"
        else:
            yield from _delta_misfits(place, table.delta, pure)
    if sum(table.delta or 0 for table in plan.table) >= 1:
        yield "[[table]]: the deltas add up to 1 or more: nothing would be promised"


def _delta_misfits(place: str, delta: Fraction | None, pure: bool) -> Iterator[str]:
    if pure and delta:
        yield f'{place}: `delta`: mechanism = "dictionary" has none: leave it out'
    if not pure and delta is None:
        yield f"{place}: delta is missing"
    elif not pure and delta == 0:
        yield f"{place}: `delta`: must be above 0: the threshold would be infinite"


def _mechanism_misfits(plan: Plan) -> Iterator[str]:
    """Whether there is noise for the budget, and whether its integers keep the promise."""
    for table in () if plan.total_is_given else plan.table:
        try:
            plan.own_mechanism(table)
        except ValueError as error:
            yield f"[[table]] {table.name}: {error}"
            return
    try:
        mechanisms = list(plan.mechanisms.values())
    except ValueError as error:
        yield f"[privacy] epsilon: {error}"
        return
    place = "[privacy]" if plan.total_is_given else "[[table]]"
    if words := too_much(mechanisms):
        fewer = "weights" if plan.total_is_given else "epsilons and deltas"
        yield f"{place}: {words}: use a larger epsilon, or fewer different {fewer}"
        return
    if not certified(mechanisms, plan.loss, plan.exposure):
        yield f"{place}: the noise is too coarse for these parameters: use a smaller epsilon or a larger delta"


def _opal_misfits(plan: Plan) -> Iterator[str]:
    if plan.release.partition != ("mode", "date"):
        yield '[release] layout: "opal" needs partition = ["mode", "date"]'
    for table in plan.table:
        if table.level != Level():
            yield f'[[table]] {table.name}: layout "opal" has no file for a coarser level'
        if table.columns not in OPAL_SHAPES:
            what = f"the columns {', '.join(table.columns)}" if table.columns else "totals: leave the table out"
            yield f'[[table]] {table.name}: layout "opal" has no file for {what}'


def _repeated(what: str, names: Iterator[str] | tuple[str, ...], hint: str = "") -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield f"{what} `{name}` is used twice{hint}"
        seen.add(name)
