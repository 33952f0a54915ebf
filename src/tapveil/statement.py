"""What the folder says about itself, in words and in JSON: from the plan alone, never from the data."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import ROUND_CEILING, ROUND_HALF_EVEN
from fractions import Fraction
from math import ceil, nextafter
from typing import Any

from tapveil._version import __version__
from tapveil.plan import EVERY_MODE, OPAL_SHAPES, Plan, Table
from tapveil.privacy.accountant import Exposure, Neighbours, delta
from tapveil.privacy.loss import Loss, table_loss
from tapveil.privacy.rational import decimal_text, exp_above
from tapveil.privacy.spectrum import TooManyLossesError
from tapveil.published import Field

MANIFEST_VERSION = 1
EXAMPLE_COUNTS = (1, 2, 5, 10, 20, 50)
ERROR_CONFIDENCE = Fraction(95, 100)


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


def manifest(plan: Plan, created: date) -> dict[str, Any]:
    """`privacy.json`: the promise and every parameter it rests on."""
    return {
        "manifest_version": MANIFEST_VERSION,
        "release": plan.release.name,
        "title": plan.release.title,
        "created": created.isoformat(),
        **cost(plan),
        "partition": list(plan.release.partition),
        "layout": plan.release.layout,
        "time_minutes": plan.coarsen.time_minutes,
        "areas": {mode: lookup.to for mode, lookup in plan.coarsen.location.items()},
        "plan_sha256": plan.digest,
        "software": {"name": "tapveil", "version": __version__},
    }


def cost(plan: Plan) -> dict[str, Any]:
    """What the release promises and spends, in total and per table."""
    return {
        "unit": plan.privacy.unit,
        "neighbours": plan.privacy.neighbours,
        "mechanism": plan.privacy.mechanism,
        **_loss(plan.loss),
        "composition": "sequential over tables, parallel over parts",
        "guarantees": [_guarantee(plan, "replace"), _guarantee(plan, "add-remove")],
        "tables": [_table(plan, table) for table in plan.table],
    }


def _guarantee(plan: Plan, neighbours: Neighbours) -> dict[str, Any]:
    words = {"replace": "one trip exchanged for any other", "add-remove": "one trip added or removed"}
    return {
        "neighbours": neighbours,
        "meaning": words[neighbours],
        **_loss(plan.loss_for(neighbours)),
        **_accounted(plan, neighbours),
    }


def _accounted(plan: Plan, neighbours: Neighbours) -> dict[str, Any]:
    """The δ at the stated ε by exact accounting, where it is less than what is promised; else nothing to add."""
    loss = plan.loss_for(neighbours)
    epsilon = nextafter(float(loss.epsilon), 0)
    try:
        accounted = delta([table.mechanism.cells for table in plan.table], epsilon, Exposure(neighbours))
    except TooManyLossesError:
        return {}
    return {"delta_accounted": accounted} if accounted < loss.delta else {}


def _table(plan: Plan, table: Table) -> dict[str, Any]:
    mechanism = table.mechanism
    return {
        "name": table.name,
        "columns": list(table.columns),
        **_loss(table_loss(mechanism, plan.privacy.neighbours)),
        "noise": mechanism.noise_name,
        "scale": number(mechanism.scale),
        "threshold": number(mechanism.threshold),
        "smallest_published": mechanism.smallest_published,
        "error_95": mechanism.error_bound(1 - ERROR_CONFIDENCE),
        "probability_published": {str(c): number(mechanism.publish_probability(c)) for c in EXAMPLE_COUNTS},
    }


def field(published: Field) -> dict[str, Any]:
    """A key column in the data dictionary."""
    described: dict[str, Any] = {
        "name": published.name,
        "type": "string",
        "description": _DESCRIPTIONS[published.kind],
    }
    if published.kind == "date":
        described |= {"type": "date", "format": "default"}
    if published.kind == "time":
        described["constraints"] = {"pattern": r"-1|([01]\d|2[0-3]):[0-5]\d", "required": True}
    else:
        described["constraints"] = {"required": True}
    return described


_DESCRIPTIONS = {
    "time": "Start of the time bin, HH:MM on a 24-hour clock; -1 where there was no tap.",
    "date": "Day of the trip, YYYY-MM-DD.",
    "location": "Stop, or the area it lies in; UNKNOWN where there was no tap or the stop is not known.",
    "label": "As in the source.",
}


def count_field(smallest: int) -> dict[str, Any]:
    """The count column in the data dictionary."""
    words = f"Trips, with noise. A cell that is not listed was absent or small: it is not zero. Never below {smallest}."
    return {
        "name": "count",
        "type": "integer",
        "description": words,
        "constraints": {"required": True, "minimum": smallest},
    }


def loss_in_words(loss: Loss) -> str:
    """ε and δ for a person, rounded up."""
    return f"epsilon = {rounded_up(loss.epsilon)}, delta = {rounded_up(loss.delta)}"


def rounded_up(x: Fraction) -> str:
    """Three digits, never less than the number."""
    return decimal_text(x, 3, ROUND_CEILING).replace("E", "e")


def promise(plan: Plan) -> str:
    """The promise, without flattery: what exchanging one trip can change, at most."""
    return (
        f"Trip counts with noise, differentially private for every single trip ({loss_in_words(plan.loss)}): "
        f"exchanging any one trip for any other makes no outcome more than {_factor(plan.loss.epsilon)} times "
        f"as likely, up to a probability of {rounded_up(plan.loss.delta)}. "
        "The smaller epsilon, the stronger the protection."
    )


def _factor(epsilon: Fraction) -> str:
    power = f"e^{decimal_text(epsilon, 4, ROUND_CEILING)}"
    if epsilon > 20:
        return f"{power} (so much that little is promised)"
    bound = exp_above(epsilon)
    return f"{power} (about {ceil(bound):,})" if bound >= 100 else f"{power} (about {ceil(100 * bound) / 100:g})"


def readme(plan: Plan, created: date) -> str:
    """README.md of the folder: for a person who opens it."""
    return "\n\n".join(_readme_parts(plan, created)) + "\n"


def _readme_parts(plan: Plan, created: date) -> Iterator[str]:
    release = plan.release
    yield f"# {release.title}"
    if release.description:
        yield release.description
    publisher = f"Published by {release.publisher}. " if release.publisher else ""
    licence = f" Licence: {release.licence}." if release.licence else ""
    yield f"{publisher}Made on {created.isoformat()} with tapveil {__version__}.{licence}"
    yield "## What it is"
    yield " ".join(_what_it_is(plan))
    yield " ".join(_what_is_where(plan))
    yield "## How to read a number"
    yield "Each count is the true count plus random noise. Small counts are left out altogether:"
    yield "\n".join([_README_HEAD, *(_readme_row(table) for table in plan.table)])
    yield _HOW_TO_READ
    yield "## What it protects"
    yield f"{promise(plan)} {_PROTECTS}"


def _what_it_is(plan: Plan) -> Iterator[str]:
    parts = " and ".join(f"`{name}`" for name in plan.release.partition)
    yield "Counts of public-transport trips" + (f", each table split by {parts}." if parts else ".")
    if "time" in plan.published_kinds:
        yield f"Times are the starts of {plan.coarsen.time_minutes}-minute bins; `-1` means there was no tap."
    for mode, lookup in plan.coarsen.location.items():
        whose = "Stops" if mode == EVERY_MODE else f"Stops of mode `{mode}`"
        yield f"{whose} are given by their `{lookup.to}`."
    if "location" in plan.published_kinds:
        yield "`UNKNOWN` means there was no tap, or the stop is not known."


def _what_is_where(plan: Plan) -> Iterator[str]:
    opal = sorted({OPAL_SHAPES[table.columns][0] for table in plan.table}) if plan.release.layout == "opal" else []
    files = " and ".join(f"`{name}`" for name in opal) or "one file per table"
    yield f"`data/` holds {files}, as CSV and Parquet;"
    if plan.release.synthetic:
        yield "`synthetic/` the same as rows, as many for each cell as its count says (not trips that took place);"
    yield "`datapackage.json` describes every column; `privacy.json` states the privacy parameters;"
    yield "`SHA256SUMS` lets you check that the files are whole (`sha256sum -c SHA256SUMS`)."


_README_HEAD = """\
| table | columns | noise scale | noise beyond … in at most 1 of 20 cells | smallest number printed |
|---|---|---|---|---|"""

_HOW_TO_READ = """\
- **A cell that is not listed is not zero.** It was absent, or too small to print.
- Tables are noised separately, so their totals do not agree exactly. Sums over a fine table come out low, because its
  small cells are missing.
- A number just above the smallest says little about how small the true count was."""

_PROTECTS = """\
This holds whatever else anyone knows or will ever know. It protects single trips, not all the trips of one person
taken together: the more trips a person made, the less their habits as a whole are hidden."""


def _readme_row(table: Table) -> str:
    mechanism = table.mechanism
    error = mechanism.error_bound(1 - ERROR_CONFIDENCE)
    columns = " × ".join(table.columns)
    cells = (table.name, columns, decimal_text(mechanism.scale, 4), error, mechanism.smallest_published)
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
