"""The plan of the next release, from the present one and what was learnt of it: same text, other noise.

A plan is a text that people have commented. So it is changed line by line, and what comes out is read again: unless it
means just what the old plan meant, but for mechanism and weights, it is not handed out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tapveil.base.errors import PlanError
from tapveil.base.types import read_exact
from tapveil.plan.model import Plan
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import loss_in_words
from tapveil.tuning.tune import Tuned

_HEADER = re.compile(r"^[ \t]*\[\[?[ \t]*([\w.\"'* -]+?)[ \t]*\]\]?[ \t]*(?:#.*)?$", re.MULTILINE)
_KEY = re.compile(r"\s*([a-z_]+)\s*=")
_LEVELS = re.compile(r"^\s*levels\s*=\s*\[", re.MULTILINE)
_WEIGHT = re.compile(r",?\s*\bweight\s*=\s*(?:\"[^\"]*\"|'[^']*'|[\d._eE+-]+)")


def tuned_plan_text(text: str, tuned: Tuned) -> str:
    """The plan with the tuned mechanism, one total, and a weight per table; PlanError if its tables are others."""
    plan = Plan.parse(text)
    _refuse_another(plan, tuned)
    written = _rewritten(text, plan, tuned)
    try:
        same = Plan.parse(written).model_dump() == _meant(plan, tuned)
    except PlanError:
        same = False
    if not same:
        raise PlanError(
            f"the plan is written in a way that cannot be changed line by line. By hand: {_by_hand(plan, tuned)}"
        )
    return written


def _refuse_another(plan: Plan, tuned: Tuned) -> None:
    """What was learnt holds for tables like those of the folder, at its promise."""
    folder = tuned.folder
    if {table.name: table.columns for table in plan.table} != {table.name: table.columns for table in folder.tables}:
        raise PlanError("the tables of the plan are not those of the folder: tune from a folder with the same tables")
    if (plan.release.partition, plan.coarsen.time_minutes) != (folder.partition, folder.time_minutes):
        raise PlanError("the plan has another partition or other time bins than the folder: its cells are others")
    if (plan.privacy.unit, plan.guarantee.exposure) != (folder.unit, folder.exposure):
        raise PlanError("the unit, its bounds or the neighbours of the plan are not those of the folder")
    if plan.guarantee.loss != tuned.loss:
        raise PlanError(
            f"the plan promises {loss_in_words(plan.guarantee.loss)}, the folder {loss_in_words(tuned.loss)}: "
            "a plan is tuned at the promise of the folder"
        )
    if (plan.privacy.mechanism == "dictionary") != (tuned.mechanism == "dictionary"):
        raise PlanError("a dictionary is neither tuned to, nor from, another mechanism: its cells are listed")


# --- the text ---------------------------------------------------------------------------------------------------------


def _rewritten(text: str, plan: Plan, tuned: Tuned) -> str:
    """Every section as it is, but those that say how the promise is kept."""
    starts = [0, *(header.start() for header in _HEADER.finditer(text)), len(text)]
    weights = iter(_weights_by_section(text, tuned))
    levels: Iterator[Fraction] = iter(())
    written = []
    for start, end in pairwise(starts):
        section, header = text[start:end], _HEADER.match(text, start)
        name = header[1] if header else ""
        if name == "privacy":
            section = "".join(_privacy_lines(section, plan, tuned))
        elif not tuned.improves:
            pass  # to keep the plan is a choice, too, and is noted; nothing else changes
        elif name == "table":
            own = next(weights, [])
            levels = iter(own)
            section = _with_level_weights("".join(_weighed_lines(section, sum(own, start=Fraction(0)))), own)
        elif name == "table.levels":
            section = "".join(_weighed_lines(section, next(levels, Fraction(0))))
        written.append(section)
    return "".join(written)


def _weights_by_section(text: str, tuned: Tuned) -> Iterator[list[Fraction]]:
    """For each [[table]] of the text the weights of its levels, or its own."""
    known = _weights(tuned)
    for table in tomllib.loads(text)["table"]:
        names = [f"{table['name']}-{level['name']}" if "name" in level else None for level in table.get("levels", [{}])]
        yield [known[name or table["name"]] for name in names]


def _privacy_lines(section: str, plan: Plan, tuned: Tuned) -> Iterator[str]:
    for line in section.splitlines(keepends=True):
        if _key(line) == "chosen_from":
            continue
        if _key(line) == "looked_at_trips" and plan.privacy.looked_at_trips != _looked(plan, tuned):
            yield from _remembered(line)
            continue
        if _key(line) != "mechanism":
            yield line
            continue
        if plan.privacy.mechanism == tuned.mechanism or not tuned.improves:
            yield line
        else:
            yield from _remembered(line)
            yield f'mechanism = "{tuned.mechanism}"\n'
        if not plan.guarantee.is_shared and tuned.improves:
            yield from (f"{line}\n" for line in _total(tuned))
        yield f'chosen_from = "{tuned.folder.release_id}"  # the ledger must know: see docs/ledger.md\n'
        if plan.privacy.looked_at_trips != _looked(plan, tuned):
            yield f"looked_at_trips = {str(_looked(plan, tuned)).lower()}  # as that release states\n"


def _weighed_lines(section: str, weight: Fraction) -> Iterator[str]:
    """The weight stands where the share of the table stood, or on top."""
    header, *lines = section.splitlines(keepends=True)
    yield header
    if not {"epsilon", "weight"} & set(map(_key, lines)):
        yield f"weight = {_toml(weight)}\n"
    for line in lines:
        key = _key(line)
        if key not in ("epsilon", "weight", "delta") or (key == "weight" and _value(line) == weight):
            yield line
            continue
        yield from _remembered(line)
        if key != "delta":
            yield f"weight = {_toml(weight)}\n"


def _with_level_weights(section: str, weights: Sequence[Fraction]) -> str:
    """Levels that are written as a list: { … } for each."""
    start = _LEVELS.search(section)
    if not start:
        return section
    left = iter(weights)

    def weighed(level: re.Match[str]) -> str:
        inner = _WEIGHT.sub("", level[1]).strip(" ,")
        comma = ", " if inner else ""
        return f"{{ {inner}{comma}weight = {_toml(next(left))} }}"

    return section[: start.end()] + re.sub(r"\{([^{}]*)\}", weighed, section[start.end() :], count=len(weights))


def _key(line: str) -> str:
    key = _KEY.match(line)
    return key[1] if key else ""


def _value(line: str) -> Fraction:
    (value,) = tomllib.loads(line, parse_float=Decimal).values()
    return read_exact(value)


def _remembered(line: str) -> Iterator[str]:
    """A line that goes, if someone wrote a comment on it: the comment may be about what it said."""
    if "#" in line:
        yield f"# was: {line.strip()}\n"


def _total(tuned: Tuned) -> list[str]:
    delta = [f"delta = {_toml(tuned.loss.delta)}"] if tuned.loss.delta else []
    return [f"epsilon = {_toml(tuned.loss.epsilon)}", *delta]


def _toml(value: Fraction) -> str:
    """Exactly: a decimal where it is one, else a fraction.

    >>> _toml(Fraction(3, 4_000_000)), _toml(Fraction(8)), _toml(Fraction(1, 3))
    ('7.5e-7', '8', '"1/3"')
    """
    text = decimal_text(value).lower()
    return text if Fraction(Decimal(text)) == value else f'"{value}"'


# --- its meaning ------------------------------------------------------------------------------------------------------


def _meant(plan: Plan, tuned: Tuned) -> dict[str, Any]:
    """The old plan with another mechanism, one total, and other weights; or with a note that it was kept."""
    meaning, weights = plan.model_dump(), _weights(tuned)
    meaning["privacy"] |= {"chosen_from": tuned.folder.release_id, "looked_at_trips": _looked(plan, tuned)}
    if not tuned.improves:
        return meaning
    delta = tuned.loss.delta or plan.privacy.delta
    meaning["privacy"] |= {
        "mechanism": tuned.mechanism,
        "epsilon": str(tuned.loss.epsilon),
        "delta": None if delta is None else str(delta),
    }
    for table in meaning["table"]:
        table |= {"epsilon": None, "delta": None, "weight": str(weights[table["name"]])}
    return meaning


def _looked(plan: Plan, tuned: Tuned) -> bool | None:
    """Whether trips were looked at: as the plan states, or the folder, which has the same bins and tables."""
    own, folder = plan.privacy.looked_at_trips, tuned.folder.looked_at_trips
    return folder if own is None or folder else own


def _weights(tuned: Tuned) -> Mapping[str, Fraction]:
    return {table.name: table.weight for table in tuned.tables}


def _by_hand(plan: Plan, tuned: Tuned) -> str:
    weights = ", ".join(f"{name} {_toml(weight)}" for name, weight in _weights(tuned).items())
    chosen = f'chosen_from = "{tuned.folder.release_id}"'
    if (looked := _looked(plan, tuned)) is not None:
        chosen += f", looked_at_trips = {str(looked).lower()}"
    total = ", ".join([f'mechanism = "{tuned.mechanism}"', *_total(tuned), chosen])
    return f"under [privacy] {total}; weights: {weights}; no other epsilon or delta"
