"""The sentences of wording 1: frozen. `verify` writes them again for every folder that says it has them.

Rewording anything here is a new wording: copy this module under the next number, change the copy, and name it in
`wording/__init__.py`. Sentences follow from codes and numbers of a manifest; nothing is ever decided by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from tapveil.privacy.rational import decimal_text, exp_above
from tapveil.privacy.units import Neighbours, Unit

if TYPE_CHECKING:
    from tapveil.privacy.concentrated import Concentrated
    from tapveil.privacy.loss import Loss

UNIT_NAMES: dict[Unit, str] = {
    "trip": "any one trip",
    "card-day": "all trips of any one card on any one day",
    "card": "all trips of any one card",
}

COUNTED: dict[Unit, str] = {
    "trip": "trips",
    "card-day": "cards, each once per cell and day",
    "card": "cards, each once per cell",
}


COMPOSITION = "exact over all tables, wherever the changed cells lie"
WHOLE_CARDS = "all trips of any one card added or left out, each of them in other cells than the rest"

CAUTION = "more where several of them fall into the same cell"
"""Of a whole card: when it is worth less than stated."""

NOISE = {
    "laplace-rounded": "Laplace, rounded after the threshold",
    "discrete-laplace": "discrete Laplace",
    "discrete-gaussian": "discrete Gaussian",
    "discrete-laplace-listed": "discrete Laplace on every cell of a public list",
}
"""The noise of a table, by its code."""


def change(unit: Unit, neighbours: Neighbours) -> str:
    """What may be different, in words.

    >>> change("trip", "replace"), change("card", "add-remove")
    ('any one trip exchanged for any other', 'all trips of any one card added or left out')
    """
    others = "any other" if unit == "trip" else "any others"
    return f"{UNIT_NAMES[unit]} " + (f"exchanged for {others}" if neighbours == "replace" else "added or left out")


NOT_ON_THE_LIST = "what is not on that list was not counted"


def absent_in_words(mechanism: str) -> str:
    """What a cell that is not there says; of cells beyond a list, nothing."""
    if mechanism == "dictionary":
        return (
            "A cell that is not there was absent or small, and is not zero, if it is on the list of cells that was "
            f"fixed beforehand; {NOT_ON_THE_LIST}."
        )
    return "A cell that is not listed was absent or small: it is not zero."


def loss_in_words(loss: Loss) -> str:
    """ε and δ for a person, rounded up."""
    return f"epsilon = {rounded_up(loss.epsilon)}, delta = {rounded_up(loss.delta)}"


def rounded_up(x: Fraction) -> str:
    """Three digits, never less than the number."""
    if 0 < x < Fraction(1, 1000):  # 1e-6 rather than 0.000001
        digits, power = f"{Decimal(decimal_text(x, 3, ROUND_CEILING)):.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return decimal_text(x, max(3, len(str(ceil(x)))), ROUND_CEILING)


def promise_about(unit: Unit, neighbours: Neighbours, losses: Mapping[Neighbours, Loss]) -> str:
    """The promise in one sentence, from what a manifest states; the stricter notion is never left out."""
    loss, replaced = losses[neighbours], losses["replace"]
    other = f"; with {change(unit, 'replace')}, it is {loss_in_words(replaced)}" if neighbours != "replace" else ""
    return (
        f"With {change(unit, neighbours)}, no outcome of the whole release becomes {at_most(loss)} "
        f"({loss_in_words(loss)}{other})."
    )


def promise(unit: Unit, neighbours: Neighbours, losses: Mapping[Neighbours, Loss]) -> str:
    """The promise, without flattery: what changing one unit can change, at most."""
    loss = losses[neighbours]
    other = f"With {change(unit, 'replace')}, it is {loss_in_words(losses['replace'])}. "
    return (
        f"Counts of {COUNTED[unit]}, with noise, differentially private ({loss_in_words(loss)}): "
        f"with {change(unit, neighbours)}, no outcome becomes {at_most(loss)}. "
        f"{'' if neighbours == 'replace' else other}The smaller epsilon, the stronger the protection."
    )


def gaussian_in_words(unit: Unit, neighbours: Neighbours, part: Concentrated) -> str:
    """ρ of the Gaussian noise for a person, rounded up."""
    return (
        f"The Gaussian noise by itself, with {change(unit, neighbours)}: "
        f"zero-concentrated differential privacy with rho = {rounded_up(part.rho)} (continuous noise of this width "
        f"would have mu = {rounded_up(part.mu)}). Cells that nobody else was in are outside of rho: that one of "
        f"them appears has probability at most {rounded_up(part.delta_singletons)}."
    )


LOOKED: Mapping[bool | None, str] = {
    True: "The plan was made by looking at the trips; epsilon does not account for that.",
    False: "The plan was made without looking at the trips, as its author states.",
    None: "The plan does not state whether it was made by looking at the trips.",
}
"""Whether the plan depends on the trips, by `looked_at_trips`."""


def at_most(loss: Loss) -> str:
    """δ is added to a probability: it is no chance with which the rest fails."""
    plus = f", plus {rounded_up(loss.delta)}" if loss.delta else ""
    return f"more than {_factor(loss.epsilon)} times as likely{plus}"


NOT_PROTECTED: dict[Unit, str] = {
    "trip": "It protects single trips, not all the trips of one person taken together: the more trips a person made, "
    "the less their habits as a whole are hidden.",
    "card-day": "It protects a card's day, not all its days taken together, nor several cards of one person.",
    "card": "It protects a card, not several cards of one person taken together, nor a group that travels together.",
}


def _factor(epsilon: Fraction) -> str:
    power = f"e^{decimal_text(epsilon, 4, ROUND_CEILING)}"
    if epsilon > 20:
        return f"{power} (so much that little is promised)"
    bound = exp_above(epsilon)
    return f"{power} (about {ceil(bound):,})" if bound >= 100 else f"{power} (about {ceil(100 * bound) / 100:g})"
