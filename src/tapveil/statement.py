"""What the folder says about itself, in words and in JSON: from the plan alone, never from the data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from tapveil._version import __version__
from tapveil.notation import clock_text
from tapveil.plan import COUNT, HIGH, LOW, Level, Plan, Table, Unit
from tapveil.privacy.accountant import Exposure, Neighbours
from tapveil.privacy.intervals import MISS, interval, mean_error
from tapveil.privacy.loss import Loss, accounted_delta, whole_card_epsilon
from tapveil.privacy.rational import decimal_text, exp_above
from tapveil.published import Field

MANIFEST_VERSION = 1
DERIVED_VERSION = 1
"""By which method the consistent version and the finest are made: they are made again by the same."""
EXPLORER = "explorer.html"
"""The page to look at."""
PLACES = "areas.geojson"
"""The file that says where the published places lie."""
WIDER = "wider-areas.csv"
"""The file that says which wider area each published place lies in."""
LARGEST_PLACES = 32 * 2**20
"""Whoever verifies a folder reads them all, and so does the page."""
EXAMPLE_COUNTS = (1, 2, 5, 10, 20, 50)
ERROR_CONFIDENCE = Fraction(95, 100)
EXAMPLE_CARDS = (2, 10, 28, 40)
CURVE = tuple(Fraction(part, 4) for part in (2, 3, 4, 5, 6, 8))
"""At which parts and multiples of ε the folder states δ."""

UNIT_NAMES: dict[Unit, str] = {
    "trip": "any one trip",
    "card-day": "all trips of any one card on any one day",
    "card": "all trips of any one card",
}

NOUNS: dict[Unit, str] = {"trip": "trips", "card-day": "cards", "card": "cards"}
"""What a count counts, in a word."""

COMPOSITION = "exact over all tables, wherever the changed cells lie"
WHOLE_CARDS = "all trips of any one card added or left out, each of them in other cells than the rest"

COUNTED: dict[Unit, str] = {
    "trip": "trips",
    "card-day": "cards, each once per cell and day",
    "card": "cards, each once per cell",
}


def change(unit: Unit, neighbours: Neighbours) -> str:
    """What may be different, in words.

    >>> change("trip", "replace"), change("card", "add-remove")
    ('any one trip exchanged for any other', 'all trips of any one card added or left out')
    """
    others = "any other" if unit == "trip" else "any others"
    return f"{UNIT_NAMES[unit]} " + (f"exchanged for {others}" if neighbours == "replace" else "added or left out")


def number(x: Fraction, rounding: str = ROUND_HALF_EVEN) -> int | float:
    """A fraction as a JSON number, to 15 digits; `exact` fields carry what this may round."""
    text = decimal_text(x, rounding=rounding)
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _loss(loss: Loss) -> dict[str, Any]:
    """(ε, δ) as numbers, rounded up, and exactly."""
    return {
        "epsilon": number(loss.epsilon, ROUND_CEILING),
        "delta": number(loss.delta, ROUND_CEILING),
        "exact": {"epsilon": str(loss.epsilon), "delta": str(loss.delta)},
    }


def manifest(plan: Plan, created: date, public_files: Mapping[str, str], *, places: bool = False) -> dict[str, Any]:
    """`privacy.json`: the promise and every parameter it rests on. Which release it is comes in when it is paid for."""
    return {
        "manifest_version": MANIFEST_VERSION,
        "release": plan.release.name,
        "release_id": None,
        "ledger": None,
        "title": plan.release.title,
        "publisher_type": plan.release.publisher_type,
        "region": plan.release.region,
        "created": created.isoformat(),
        **cost(plan),
        "covers": _coverage(plan),
        "partition": list(plan.release.partition),
        "columns": {name: plan.source.kind(name) for table in plan.table for name in plan.key_columns(table)},
        "layout": plan.release.layout,
        "rows": plan.source.shape,
        "time_minutes": plan.coarsen.time_minutes,
        "day": _day(plan),
        "areas": {mode: area.label for mode, area in plan.coarsen.location.items()},
        "wider": {
            name: {mode: area.label for mode, area in plan.coarsen.wider[name].items()}
            for name in sorted({table.level.location for table in plan.table if table.level.location})
        },
        "derived_version": DERIVED_VERSION,
        "plan_sha256": plan.digest,
        "public_files_sha256": dict(public_files),
        "places": PLACES if places else None,
        "software": {"name": "tapveil", "version": __version__},
    }


def _day(plan: Plan) -> dict[str, Any]:
    """When a day starts, by whose clock, and how its hours after midnight are written."""
    return {
        "starts": clock_text(plan.source.day_starts),
        "after_midnight": plan.coarsen.after_midnight,
        "timezone": plan.source.timezone,
    }


def _coverage(plan: Plan) -> dict[str, Any]:
    """Which days and modes were counted; null where there was no limit."""
    source = plan.source
    return {
        "first_day": source.first_day and source.first_day.isoformat(),
        "last_day": source.last_day and source.last_day.isoformat(),
        "modes": source.modes and sorted(source.modes),
    }


def cost(plan: Plan) -> dict[str, Any]:
    """What the release promises and spends, in total and per table."""
    return {
        "chosen_from": plan.privacy.chosen_from,
        "unit": plan.privacy.unit,
        "counted": COUNTED[plan.privacy.unit],
        "bounds": _bounds(plan),
        "neighbours": plan.privacy.neighbours,
        "mechanism": plan.privacy.mechanism,
        **_loss(plan.loss),
        "composition": COMPOSITION,
        "guarantees": [_guarantee(plan, "replace"), _guarantee(plan, "add-remove")],
        "curve": {"neighbours": plan.privacy.neighbours, "points": _curve(plan)},
        **({} if plan.privacy.by_card else {"whole_cards": _whole_cards(plan)}),
        "tables": [_table(plan, table) for table in plan.table],
    }


def _bounds(plan: Plan) -> dict[str, Any]:
    """How many trips of one unit are counted, at most; each of them changes one cell of a table by one."""
    privacy = plan.privacy
    given = {
        "trips_per_day": privacy.trips_per_day,
        "trips_per_card": privacy.trips_per_card,
        "without_card": privacy.without_card,
    }
    return {
        "cells_per_table": plan.exposure.cells,
        **{key: value for key, value in given.items() if value is not None},
    }


def _curve(plan: Plan) -> list[dict[str, Any]]:
    """What is left of δ at other ε, by exact accounting; a bound at a smaller ε is one at a larger, too."""
    points, least = [], 1.0
    for part in CURVE:
        epsilon = plan.loss.epsilon * part
        least = min(least, accounted_delta(list(plan.mechanisms.values()), epsilon, plan.exposure))
        points.append({"epsilon": number(epsilon, ROUND_CEILING), "delta": least})
    return points


def _whole_cards(plan: Plan) -> dict[str, Any]:
    return {
        "meaning": WHOLE_CARDS,
        "caution": "more where several of them fall into the same cell",
        "cards": [_whole_card(plan, trips) for trips in EXAMPLE_CARDS],
    }


def _whole_card(plan: Plan, trips: int) -> dict[str, Any]:
    """What a promise for single trips is worth for a card with so many, each in other cells than the rest.

    δ grows with the number of trips, as each of them may be alone in its cells; ε then follows.
    """
    delta = plan.loss.delta * trips
    bound = whole_card_epsilon(list(plan.mechanisms.values()), trips, delta)
    pure = plan.loss_for("add-remove").epsilon * trips
    return {
        "trips": trips,
        "epsilon": number(pure if bound is None else bound, ROUND_CEILING),
        "delta": number(delta, ROUND_CEILING),
    }


def _guarantee(plan: Plan, neighbours: Neighbours) -> dict[str, Any]:
    loss = plan.loss_for(neighbours)
    exposure = Exposure(neighbours, plan.exposure.cells)
    return {
        "neighbours": neighbours,
        "meaning": change(plan.privacy.unit, neighbours),
        **_loss(loss),
        "delta_accounted": accounted_delta(list(plan.mechanisms.values()), loss.epsilon, exposure),
    }


def _table(plan: Plan, table: Table) -> dict[str, Any]:
    mechanism = plan.mechanisms[table.name]
    share: dict[str, Any] = {"weight": number(table.weight or Fraction(1))}
    return {
        "name": table.name,
        "columns": list(table.columns),
        "level": _level(table.level),
        **(share if table.epsilon is None else _loss(Loss(table.epsilon, table.delta or Fraction(0)))),
        "noise": mechanism.noise_name,
        "scale": number(mechanism.scale),
        "scale_exact": str(mechanism.scale),
        "threshold": number(mechanism.threshold),
        "threshold_exact": str(mechanism.threshold),
        "smallest_published": mechanism.smallest_published,
        "error_95": mechanism.error_bound(1 - ERROR_CONFIDENCE),
        "absent_95": interval(mechanism, MISS).absent,
        "mean_error": round(mean_error(mechanism), 3),
        "probability_published": {str(c): number(mechanism.publish_probability(c)) for c in EXAMPLE_COUNTS},
    }


def _level(level: Level) -> dict[str, Any] | None:
    """How much coarser than the rest a table is; null where it is not."""
    if level == Level():
        return None
    return {
        "time_minutes": level.time_minutes,
        "times": level.times and [clock_text(minute) for minute in level.times],
        "location": level.location,
    }


def field(published: Field, *, continued: bool = False) -> dict[str, Any]:
    """A key column in the data dictionary."""
    described: dict[str, Any] = {
        "name": published.name,
        "type": "string",
        "description": _DESCRIPTIONS[published.kind],
    }
    if published.kind == "date":
        described |= {"type": "date", "format": "default"}
    if published.kind == "time":
        ends = published.name.endswith("_until")
        hours = r"[0-4]\d" if continued or ends else r"([01]\d|2[0-3])"
        described["constraints"] = {"pattern": rf"-1|{hours}:[0-5]\d", "required": True}
        if ends:
            described["description"] = "End of the time bin, HH:MM; -1 where there was no tap."
    else:
        described["constraints"] = {"required": True}
    return described


_DESCRIPTIONS = {
    "time": "Start of the time bin, HH:MM on a 24-hour clock; -1 where there was no tap.",
    "date": "Day on which the trip began, YYYY-MM-DD: a tap off after midnight is listed under it.",
    "location": "Stop, or the area it lies in; UNKNOWN where there was no tap or the stop is not known.",
    "label": "As in the source.",
}


ROW_FIELD: dict[str, Any] = {
    "name": "row",
    "type": "string",
    "description": "cell: a cell that was published; rest: what the finer cells leave of a coarser one; around: a "
    "coarser cell, of which finer ones are listed, too.",
    "constraints": {"required": True, "enum": ["cell", "rest", "around"]},
}
"""What sort of row it is, in the data dictionary."""
TABLE_FIELD: dict[str, Any] = {
    "name": "table",
    "type": "string",
    "description": "The table of data/ that the cell is of, and so its resolution.",
    "constraints": {"required": True},
}
"""Which table a row is of, in the data dictionary."""


NOT_ON_THE_LIST = "what is not on that list was not counted"


def absent_in_words(mechanism: str) -> str:
    """What a cell that is not there says; of cells beyond a list, nothing."""
    if mechanism == "dictionary":
        return (
            "A cell that is not there was absent or small, and is not zero, if it is on the list of cells that was "
            f"fixed beforehand; {NOT_ON_THE_LIST}."
        )
    return "A cell that is not listed was absent or small: it is not zero."


def number_field(plan: Plan, name: str, smallest: int) -> dict[str, Any]:
    """A column of numbers in the data dictionary."""
    what = COUNTED[plan.privacy.unit].capitalize()
    cells = "cells of the list" if plan.privacy.mechanism == "dictionary" else "cells"
    words = {
        COUNT: f"{what}, with noise. {absent_in_words(plan.privacy.mechanism)} Never below {smallest}.",
        LOW: f"The true number is at least this, and at most `{HIGH}`, in 19 of 20 {cells}, published or not.",
        HIGH: f"The true number is at most this: see `{LOW}`.",
    }
    least = {COUNT: smallest, LOW: 0, HIGH: 1}
    return {
        "name": name,
        "type": "integer",
        "description": words[name],
        "constraints": {"required": True, "minimum": least[name]},
    }


def derived_field(plan: Plan, name: str) -> dict[str, Any]:
    """A column of numbers, in the data dictionary, that follows from published ones."""
    what = COUNTED[plan.privacy.unit].capitalize()
    words = {
        COUNT: f"{what}, from the published counts: whole numbers that add up.",
        LOW: f"The true number is about between this and `{HIGH}`.",
        HIGH: f"The true number is about between `{LOW}` and this.",
        "total": f"{what} of the coarser cell: `listed` and `other` together.",
        "listed": "Of these, in finer cells that are listed.",
        "other": "Of these, in finer cells that are not listed, because each was too small.",
        "other_low": "`other` is about between this and `other_high`.",
        "other_high": "`other` is about between `other_low` and this.",
    }
    return {
        "name": name,
        "type": "integer",
        "description": words[name],
        "constraints": {"required": True, "minimum": 0},
    }


def json_text(data: Mapping[str, Any]) -> str:
    """A JSON file of the folder: the one way to write it, so that there is room for nothing else."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


Places = Mapping[str, Any]
"""Where places lie, as a GeoJSON FeatureCollection."""


def places_text(places: Places) -> str:
    """The file of places, a line for each: the one way to write it, so that there is room for nothing else."""
    lines = (json.dumps(feature, ensure_ascii=False, separators=(",", ":")) for feature in places["features"])
    return '{"type":"FeatureCollection","features":[\n' + ",\n".join(lines) + "\n]}\n"


def loss_in_words(loss: Loss) -> str:
    """ε and δ for a person, rounded up."""
    return f"epsilon = {rounded_up(loss.epsilon)}, delta = {rounded_up(loss.delta)}"


def rounded_up(x: Fraction) -> str:
    """Three digits, never less than the number."""
    if 0 < x < Fraction(1, 1000):  # 1e-6 rather than 0.000001
        digits, power = f"{Decimal(decimal_text(x, 3, ROUND_CEILING)):.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return decimal_text(x, max(3, len(str(ceil(x)))), ROUND_CEILING)


def promise(plan: Plan) -> str:
    """The promise, without flattery: what changing one unit can change, at most."""
    unit, neighbours = plan.privacy.unit, plan.privacy.neighbours
    return (
        f"Counts of {COUNTED[unit]}, with noise, differentially private ({loss_in_words(plan.loss)}): "
        f"with {change(unit, neighbours)}, no outcome becomes {_at_most(plan.loss)}. "
        f"{_other_notion(plan)}The smaller epsilon, the stronger the protection."
    )


def promise_about(unit: Unit, neighbours: Neighbours, losses: Mapping[Neighbours, Loss]) -> str:
    """The promise in one sentence, from what a manifest states; the stricter notion is never left out."""
    loss, replaced = losses[neighbours], losses["replace"]
    other = f"; with {change(unit, 'replace')}, it is {loss_in_words(replaced)}" if neighbours != "replace" else ""
    return (
        f"With {change(unit, neighbours)}, no outcome of the whole release becomes {_at_most(loss)} "
        f"({loss_in_words(loss)}{other})."
    )


def _at_most(loss: Loss) -> str:
    """δ is added to a probability: it is no chance with which the rest fails."""
    plus = f", plus {rounded_up(loss.delta)}" if loss.delta else ""
    return f"more than {_factor(loss.epsilon)} times as likely{plus}"


NOT_PROTECTED: dict[Unit, str] = {
    "trip": "It protects single trips, not all the trips of one person taken together: the more trips a person made, "
    "the less their habits as a whole are hidden.",
    "card-day": "It protects a card's day, not all its days taken together, nor several cards of one person.",
    "card": "It protects a card, not several cards of one person taken together, nor a group that travels together.",
}


def _other_notion(plan: Plan) -> str:
    """Where the promise is about whether a unit was there, what it says about which one it was."""
    if plan.privacy.neighbours == "replace":
        return ""
    loss = plan.loss_for("replace")
    return f"With {change(plan.privacy.unit, 'replace')}, it is {loss_in_words(loss)}. "


def _factor(epsilon: Fraction) -> str:
    power = f"e^{decimal_text(epsilon, 4, ROUND_CEILING)}"
    if epsilon > 20:
        return f"{power} (so much that little is promised)"
    bound = exp_above(epsilon)
    return f"{power} (about {ceil(bound):,})" if bound >= 100 else f"{power} (about {ceil(100 * bound) / 100:g})"
