"""The plan of the next release, from the present one and what was learnt of it: same text, other noise.

A plan is a text that people have commented. So it is changed key by key, and what comes out is read again: unless it
means just what the old plan meant, but for mechanism and weights, it is not handed out.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.items import InlineTable, Whitespace

from tapveil.base.errors import PlanError
from tapveil.base.types import read_exact
from tapveil.plan.model import Plan
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import loss_in_words

if TYPE_CHECKING:
    from tapveil.tuning.every_cell import TunedWorld
    from tapveil.tuning.tune import Tuned


def next_plan(text: str, tuned: Tuned | TunedWorld) -> str:
    """Write the choice of `tune` into the text of a plan: mechanism, one total, and a weight per table.

    Comments and everything else stay as they are. The new plan notes which release it was chosen from
    (`chosen_from`): the ledger must know.

    Args:
        text: The TOML text of the plan that made the folder.
        tuned: What `tapveil.tune` returned for the folder.

    Returns:
        The TOML text of the next plan.

    Raises:
        PlanError: The plan is wrong, is not of this folder, or is written in a way that cannot be edited.

    Example:
        >>> import tapveil
        >>> from pathlib import Path
        >>> text = tapveil.next_plan(Path("plan.toml").read_text(), tapveil.tune("published", keep_mechanism=True))
        >>> "chosen_from" in text
        True
    """
    plan = Plan.parse(text)
    _refuse_another(plan, tuned)
    written = _rewritten(text, plan, tuned)
    try:
        same = Plan.parse(written).model_dump() == _meant(plan, tuned)
    except PlanError:
        same = False
    if not same:
        raise PlanError(f"this plan cannot be rewritten automatically. Edit it by hand: {_by_hand(plan, tuned)}")
    return written


def _refuse_another(plan: Plan, tuned: Tuned | TunedWorld) -> None:
    """What was learnt holds for tables like those of the folder, at its promise."""
    folder = tuned.folder
    if {table.name: table.columns for table in plan.table} != {table.name: table.columns for table in folder.tables}:
        raise PlanError("the plan and the folder have different tables: tune from a folder with the same tables")
    if (plan.release.partition, plan.coarsen.time_minutes) != (folder.partition, folder.time_minutes):
        raise PlanError(
            "the plan and the folder have different partitions or time bins: tune from a folder with the same cells"
        )
    if (plan.privacy.unit, plan.guarantee.exposure) != (folder.unit, folder.exposure):
        raise PlanError(
            "the plan and the folder differ in unit, bounds or neighbours: tune from a folder of the same guarantee"
        )
    if plan.guarantee.loss != tuned.loss:
        raise PlanError(
            f"the plan has {loss_in_words(plan.guarantee.loss)}, the folder {loss_in_words(tuned.loss)}: give the plan "
            "the same epsilon and delta as the folder"
        )
    several = {table.name: table.trips_per_cell or 1 for table in folder.tables}
    if plan.privacy.is_world != folder.is_world or several != {table.name: table.most_per_cell for table in plan.table}:
        raise PlanError(
            "a plan of every cell can only be tuned from a folder with every cell and the same trips_per_cell, and the "
            "other way round"
        )
    if plan.privacy.lists_cells != tuned.folder.from_a_list:
        raise PlanError("a plan with a dictionary can only be tuned from a folder with one, and the other way round")


def _rewritten(text: str, plan: Plan, tuned: Tuned | TunedWorld) -> str:
    """Every section as it is, but those that say how the promise is kept."""
    document: Any = tomlkit.parse(text)
    section, known = document["privacy"], _weights(tuned)
    section.pop("chosen_from", None)
    # Below the mechanism stands what it was chosen from, and the total where there was none.
    total = _total(tuned) if tuned.improves and not plan.guarantee.is_shared else []
    added = [*total, f'chosen_from = "{tuned.folder.release_id}"  # the ledger must know: see docs/ledger.md']
    if plan.privacy.looked_at_trips != (looked := _looked(plan, tuned)):
        _replace(section, "looked_at_trips", "")
        added.append(f"looked_at_trips = {str(looked).lower()}  # as that release states")
    below = "".join(f"{line}\n" for line in added)
    if plan.privacy.mechanism == tuned.mechanism or not tuned.improves:
        section["mechanism"].trivia.trail = f"\n{below}"
    else:
        _replace(section, "mechanism", f'mechanism = "{tuned.mechanism}"\n{below}')
    for table in document["table"] if tuned.improves else ():  # to keep the plan is a choice, too, and is noted
        name, levels = table["name"], table.get("levels", [])
        weights = [known[f"{name}-{level['name']}" if "name" in level else name] for level in levels]
        _weigh(table, sum(weights, start=Fraction(0)) if levels else known[name])
        for level, weight in zip(levels, weights, strict=True):
            _weigh(level, weight)
    return str(document.as_string())


def _weigh(section: Any, weight: Fraction) -> None:
    """The weight stands where the share of the table stood, or on top."""
    if isinstance(section, InlineTable):
        for key in {"epsilon", "delta"} & set(section):
            del section[key]
        section["weight"] = tomlkit.value(_toml(weight))
        return
    stood = next((key for key in ("weight", "epsilon") if key in section), None)
    line = f"weight = {_toml(weight)}\n"
    if stood is None:
        section.value.body.insert(0, (None, Whitespace(line)))
    elif stood == "epsilon" or read_exact(section["weight"].unwrap()) != weight:
        _replace(section, stood, line)
    _replace(section, "delta", "")


def _replace(section: Any, key: str, lines: str) -> None:
    """Other lines instead of a key's. If someone wrote a comment on it, it is kept: it may be about what it said."""
    for number, (written, item) in enumerate(section.value.body):
        if written is not None and written.key == key:
            was = f"# was: {written.as_string().strip()} = {item.as_string()}"
            note = f"{was}{item.trivia.comment_ws}{item.trivia.comment}\n" if item.trivia.comment else ""
            section.value.body[number] = (None, Whitespace(note + lines))  # as text: it is read again when it is whole


def _total(tuned: Tuned | TunedWorld) -> list[str]:
    delta = [f"delta = {_toml(tuned.loss.delta)}"] if tuned.loss.delta else []
    return [f"epsilon = {_toml(tuned.loss.epsilon)}", *delta]


def _toml(value: Fraction) -> str:
    """Exactly: a decimal where it is one, else a fraction.

    >>> _toml(Fraction(3, 4_000_000)), _toml(Fraction(8)), _toml(Fraction(1, 3))
    ('7.5e-7', '8', '"1/3"')
    """
    text = decimal_text(value).lower()
    return text if Fraction(Decimal(text)) == value else f'"{value}"'


def _meant(plan: Plan, tuned: Tuned | TunedWorld) -> dict[str, Any]:
    """The old plan with another mechanism, one total, and other weights; or with a note that it was kept."""
    meaning, weights = plan.model_dump(), _weights(tuned)
    meaning["privacy"] |= {"chosen_from": tuned.folder.release_id, "looked_at_trips": _looked(plan, tuned)}
    if not tuned.improves:
        return meaning
    delta = tuned.loss.delta or plan.privacy.delta
    total = {"epsilon": str(tuned.loss.epsilon), "delta": None if delta is None else str(delta)}
    meaning["privacy"] |= {"mechanism": tuned.mechanism, **total}
    for table in meaning["table"]:
        table |= {"epsilon": None, "delta": None, "weight": str(weights[table["name"]])}
    return meaning


def _looked(plan: Plan, tuned: Tuned | TunedWorld) -> bool | None:
    """Whether trips were looked at: as the plan states, or the folder, which has the same bins and tables."""
    own, folder = plan.privacy.looked_at_trips, tuned.folder.looked_at_trips
    return folder if own is None or folder else own


def _weights(tuned: Tuned | TunedWorld) -> Mapping[str, Fraction]:
    return {table.name: table.weight for table in tuned.tables}


def _by_hand(plan: Plan, tuned: Tuned | TunedWorld) -> str:
    weights = ", ".join(f"{name} {_toml(weight)}" for name, weight in _weights(tuned).items())
    chosen = f'chosen_from = "{tuned.folder.release_id}"'
    if (looked := _looked(plan, tuned)) is not None:
        chosen += f", looked_at_trips = {str(looked).lower()}"
    total = ", ".join([f'mechanism = "{tuned.mechanism}"', *_total(tuned), chosen])
    return f"under [privacy] {total}; weights: {weights}; no other epsilon or delta"
