"""What the folder says about itself, in words and in JSON: from the plan alone, never from the data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_EVEN
from fractions import Fraction
from typing import Any

from tapveil._version import __version__
from tapveil.base.types import clock_text
from tapveil.base.vocabulary import COUNT, HIGH, LOW, PLACES
from tapveil.plan.model import Level, Plan, Table
from tapveil.privacy.accountant import Exposure, Neighbours
from tapveil.privacy.concentrated import Concentrated, concentrated
from tapveil.privacy.intervals import MISS, interval, mean_error
from tapveil.privacy.loss import Loss, accounted_delta, whole_card_epsilon
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.metadata import METADATA_VERSION
from tapveil.published.describe.wording import (
    COUNTED,
    WORDING_VERSION,
    absent_in_words,
    at_most,
    change,
    loss_in_words,
    rounded_up,
)
from tapveil.published.table import Field

MANIFEST_VERSION = 2
VERSIONS = {"derived": 2, "page": 1, "metadata": METADATA_VERSION, "wording": WORDING_VERSION}
"""By which methods the rest of a folder is made from its tables and its manifest: `verify` makes it again by them."""
EXAMPLE_COUNTS = (1, 2, 5, 10, 20, 50)
ERROR_CONFIDENCE = Fraction(95, 100)
EXAMPLE_CARDS = (2, 10, 28, 40)
CURVE = tuple(Fraction(part, 4) for part in (2, 3, 4, 5, 6, 8))
"""At which parts and multiples of ε the folder states δ."""


def number(x: Fraction, rounding: str = ROUND_HALF_EVEN, digits: int = 15) -> int | float:
    """A fraction as a JSON number, to 15 digits; `exact` fields carry what this may round."""
    text = decimal_text(x, digits, rounding)
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _few_digits(delta: float) -> int | float:
    """What the accountant finds, rounded up: its last digits hang on the machine, and say nothing."""
    return number(Fraction(delta), ROUND_CEILING, digits=6)


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
        "versions": VERSIONS,
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
        "areas": {mode: area.label for mode, area in sorted(plan.coarsen.location.items())},
        "wider": {
            name: {mode: area.label for mode, area in sorted(plan.coarsen.wider[name].items())}
            for name in sorted({table.level.location for table in plan.table if table.level.location})
        },
        "plan_sha256": plan.digest,
        "public_files_sha256": dict(sorted(public_files.items())),
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
        "looked_at_trips": plan.privacy.looked_at_trips,
        "unit": plan.privacy.unit,
        "bounds": _bounds(plan),
        "neighbours": plan.privacy.neighbours,
        "mechanism": plan.privacy.mechanism,
        **_loss(plan.loss),
        "guarantees": [_guarantee(plan, "replace"), _guarantee(plan, "add-remove")],
        "curve": {"neighbours": plan.privacy.neighbours, "points": _curve(plan)},
        "gaussian": gaussian(_concentrated(plan)),
        "whole_cards": None if plan.privacy.by_card else [_whole_card(plan, trips) for trips in EXAMPLE_CARDS],
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
        points.append({"epsilon": number(epsilon, ROUND_CEILING), "delta": _few_digits(least)})
    return points


def _concentrated(plan: Plan) -> Concentrated | None:
    return concentrated(list(plan.mechanisms.values()), plan.exposure)


def gaussian(part: Concentrated | None) -> dict[str, Any] | None:
    """ρ and μ of the Gaussian noise, rounded up, and the probability of what is outside of it; null for other noise."""
    if part is None:
        return None
    return {
        "mu": number(part.mu, ROUND_CEILING),
        "rho": number(part.rho, ROUND_CEILING),
        "delta_singletons": number(part.delta_singletons, ROUND_CEILING),
        "exact": {"mu_squared": str(part.mu_squared)},
    }


def gaussian_in_words(plan: Plan) -> Iterator[str]:
    """ρ of the Gaussian noise for a person, rounded up; nothing for other noise."""
    part = _concentrated(plan)
    if part:
        yield (
            f"The Gaussian noise by itself, with {change(plan.privacy.unit, plan.privacy.neighbours)}: "
            f"zero-concentrated differential privacy with rho = {rounded_up(part.rho)} (continuous noise of this width "
            f"would have mu = {rounded_up(part.mu)}). Cells that nobody else was in are outside of rho: that one of "
            f"them appears has probability at most {rounded_up(part.delta_singletons)}."
        )


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
        **_loss(loss),
        "delta_accounted": _few_digits(accounted_delta(list(plan.mechanisms.values()), loss.epsilon, exposure)),
    }


def _table(plan: Plan, table: Table) -> dict[str, Any]:
    mechanism = plan.mechanisms[table.name]
    share: dict[str, Any] = {"weight": number(table.weight or Fraction(1))}
    return {
        "name": table.name,
        "columns": list(table.columns),
        "level": _level(table.level),
        **(share if table.epsilon is None else _loss(Loss(table.epsilon, table.delta or Fraction(0)))),
        "noise": mechanism.noise_code,
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


def promise(plan: Plan) -> str:
    """The promise, without flattery: what changing one unit can change, at most."""
    unit, neighbours = plan.privacy.unit, plan.privacy.neighbours
    return (
        f"Counts of {COUNTED[unit]}, with noise, differentially private ({loss_in_words(plan.loss)}): "
        f"with {change(unit, neighbours)}, no outcome becomes {at_most(plan.loss)}. "
        f"{_other_notion(plan)}The smaller epsilon, the stronger the protection."
    )


LOOKED: Mapping[bool | None, str] = {
    True: "The plan was made by looking at the trips; epsilon does not account for that.",
    False: "The plan was made without looking at the trips, as its author states.",
    None: "The plan does not state whether it was made by looking at the trips.",
}
"""Whether the plan depends on the trips, by `looked_at_trips`."""


def _other_notion(plan: Plan) -> str:
    """Where the promise is about whether a unit was there, what it says about which one it was."""
    if plan.privacy.neighbours == "replace":
        return ""
    loss = plan.loss_for("replace")
    return f"With {change(plan.privacy.unit, 'replace')}, it is {loss_in_words(loss)}. "
