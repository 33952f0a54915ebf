"""The plan of the next release, from the present one and what was learnt of it: same text, other noise.

A plan is a text that people have commented. So it is changed line by line, and what comes out is read again: unless it
means just what the old plan meant, but for mechanism and weights, it is not handed out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tapveil.errors import PlanError
from tapveil.plan import Plan
from tapveil.privacy.rational import decimal_text
from tapveil.statement import loss_in_words
from tapveil.tuning import Tuned

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"\s*([a-z_]+)\s*=")


def tuned_plan_text(text: str, tuned: Tuned) -> str:
    """The plan with the tuned mechanism, one total and a weight per table; PlanError if it is a plan of other tables."""
    plan = Plan.parse(text)
    _refuse_another(plan, tuned)
    if not tuned.improves:
        return text
    written = "".join(_lines(text, plan, tuned))
    try:
        same = Plan.parse(written).model_dump() == _meant(plan, tuned)
    except PlanError:
        same = False
    if not same:
        raise PlanError(f"the plan is written in a way that cannot be changed line by line. By hand: {_by_hand(tuned)}")
    return written


def _refuse_another(plan: Plan, tuned: Tuned) -> None:
    """What was learnt holds for tables like those of the folder, at its promise."""
    folder = tuned.folder
    if {table.name: table.columns for table in plan.table} != {table.name: table.columns for table in folder.tables}:
        raise PlanError("the tables of the plan are not those of the folder: tune from a folder with the same tables")
    if (plan.release.partition, plan.coarsen.time_minutes) != (folder.partition, folder.time_minutes):
        raise PlanError("the plan has another partition or other time bins than the folder: its cells are others")
    if (plan.privacy.unit, plan.exposure) != (folder.unit, folder.exposure):
        raise PlanError("the unit, its bounds or the neighbours of the plan are not those of the folder")
    if plan.loss != tuned.loss:
        raise PlanError(
            f"the plan promises {loss_in_words(plan.loss)}, the folder {loss_in_words(tuned.loss)}: "
            "a plan is tuned at the promise of the folder"
        )
    if (plan.privacy.mechanism == "dictionary") != (tuned.mechanism == "dictionary"):
        raise PlanError("a dictionary is neither tuned to, nor from, another mechanism: its cells are listed")


def _lines(text: str, plan: Plan, tuned: Tuned) -> Iterator[str]:
    """Every line of the plan as it is, but those that say how the promise is kept."""
    section, number = "", -1
    for line in text.splitlines(keepends=True):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            section = header[1].strip("\"'")
            number += line.lstrip().startswith("[[")
            yield line
        elif key and section == "privacy":
            yield from _privacy_lines(line, key[1], plan, tuned)
        elif key and section == "table" and number < len(plan.table):
            yield from _table_lines(line, key[1], plan, number, tuned)
        else:
            yield line


def _privacy_lines(line: str, key: str, plan: Plan, tuned: Tuned) -> Iterator[str]:
    if key != "mechanism":
        yield line
        return
    if plan.privacy.mechanism == tuned.mechanism:
        yield line
    else:
        yield from _remembered(line)
        yield f'mechanism = "{tuned.mechanism}"\n'
    if not plan.total_is_given:
        yield f"epsilon = {_toml(tuned.loss.epsilon)}\n"
        if tuned.loss.delta:
            yield f"delta = {_toml(tuned.loss.delta)}\n"


def _table_lines(line: str, key: str, plan: Plan, number: int, tuned: Tuned) -> Iterator[str]:
    """The weight stands where the share of the table stood, or after its name."""
    table, weight = plan.table[number], _weights(tuned)[plan.table[number].name]
    if key == "name":
        yield line
        if table.epsilon is None and table.weight is None:
            yield f"weight = {_toml(weight)}\n"
    elif key in ("epsilon", "weight") and table.weight != weight:
        yield from _remembered(line)
        yield f"weight = {_toml(weight)}\n"
    elif key == "delta":
        yield from _remembered(line)
    else:
        yield line


def _remembered(line: str) -> Iterator[str]:
    """A line that goes, if someone wrote a comment on it: the comment may be about what it said."""
    if "#" in line:
        yield f"# was: {line.strip()}\n"


def _meant(plan: Plan, tuned: Tuned) -> dict[str, Any]:
    meaning = plan.model_dump()
    total = {"epsilon": tuned.loss.epsilon, "delta": tuned.loss.delta or plan.privacy.delta}
    meaning["privacy"] |= {"mechanism": tuned.mechanism} | {key: _dumped(value) for key, value in total.items()}
    for table in meaning["table"]:
        table |= {"epsilon": None, "delta": None, "weight": _dumped(_weights(tuned)[table["name"]])}
    return meaning


def _dumped(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _weights(tuned: Tuned) -> Mapping[str, Fraction]:
    return {table.name: table.weight for table in tuned.tables}


def _by_hand(tuned: Tuned) -> str:
    weights = ", ".join(f"{name} {_toml(weight)}" for name, weight in _weights(tuned).items())
    total = f"epsilon = {_toml(tuned.loss.epsilon)}" + (f", delta = {_toml(tuned.loss.delta)}" if tuned.loss.delta else "")
    return f'under [privacy] mechanism = "{tuned.mechanism}", {total}; weights: {weights}; no other epsilon or delta'


def _toml(value: Fraction) -> str:
    """Exactly: a decimal where it is one, else a fraction.

    >>> _toml(Fraction(3, 4_000_000)), _toml(Fraction(8)), _toml(Fraction(1, 3))
    ('7.5E-7', '8', '"1/3"')
    """
    text = decimal_text(value)
    return text if Fraction(Decimal(text)) == value else f'"{value}"'
