"""What a folder says in sentences, by the version of its wording: words at the edge, codes inside.

A folder outlives the program, and `verify` writes its sentences again: so they are data, in a folder for each version,
which stays as it was. Rewording anything is a new version. Sentences follow from codes and numbers of a manifest;
nothing is ever decided by one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files
from math import ceil
from typing import TYPE_CHECKING, Any

from tapveil.privacy.meaning import Meaning
from tapveil.privacy.rational import decimal_text, exp_above
from tapveil.privacy.units import Neighbours, Unit

if TYPE_CHECKING:
    from tapveil.privacy.concentrated import Concentrated
    from tapveil.privacy.loss import Loss

WORDING = 3
"""Of the folders that are made now."""


class Wording:
    """The sentences of one version."""

    def __init__(self, version: int) -> None:
        self._said: Mapping[str, Any] = tomllib.loads(template(version, "sentences.toml"))
        self.units: Mapping[Unit, str] = self._said["unit"]
        """What is protected."""
        self.counted: Mapping[Unit, str] = self._said["counted"]
        self.noise: Mapping[str, str] = self._said["noise"]
        """The noise of a table, by its code."""
        self.not_protected: Mapping[Unit, str] = self._said["not_protected"]
        looked = self._said["looked"]
        self.looked: Mapping[bool | None, str] = {True: looked["yes"], False: looked["no"], None: looked["unknown"]}
        """Whether the plan depends on the trips, by `looked_at_trips`."""

    def say(self, name: str, /, **facts: object) -> str:
        """A sentence by its name, `part.name` in parts of the list, with its facts."""
        found = self._said
        for step in name.split("."):
            found = found[step]
        return str(found).format(**facts)

    def change(self, unit: Unit, neighbours: Neighbours) -> str:
        """What may be different."""
        found: str = self._said["change"][neighbours][unit]
        return found

    def absent(self, *, from_a_list: bool) -> str:
        """What a cell that is not there says; of cells beyond a list, nothing."""
        return self.say("absent_from_a_list" if from_a_list else "absent")

    def promise(
        self, unit: Unit, neighbours: Neighbours, losses: Mapping[Neighbours, Loss], name: str = "promise"
    ) -> str:
        """The promise, without flattery: what changing one unit can change, at most. The stricter notion is said."""
        return self.say(
            name if neighbours == "replace" else f"{name}_both",
            counted=self.counted[unit],
            change=self.change(unit, neighbours),
            likelier=self._likelier(losses[neighbours]),
            loss=loss_in_words(losses[neighbours]),
            replaced=self.change(unit, "replace"),
            other=loss_in_words(losses["replace"]),
        )

    def gaussian(self, unit: Unit, neighbours: Neighbours, part: Concentrated, *, every_cell: bool = False) -> str:
        """ρ of the Gaussian noise for a person, rounded up; where every cell is published, it is all there is."""
        rho, mu, delta = (rounded_up(each) for each in (part.rho, part.mu, part.delta_singletons))
        name = "gaussian_measured" if every_cell else "gaussian"
        return self.say(name, change=self.change(unit, neighbours), rho=rho, mu=mu, delta=delta)

    def meaning(self, unit: Unit, loss: Loss) -> dict[str, str]:
        """What the promise means in frequencies, with its verdict: codes and numbers, and the sentences from them."""
        meant = Meaning(loss.epsilon, loss.delta)
        (wrong, right), verdict = meant.of_100, meant.verdict
        did_not, did = self.say(f"meaning.did_not.{unit}"), self.say(f"meaning.did.{unit}")
        said = self.say("meaning.frequencies", did_not=did_not, did=did, wrong=wrong, right=right)
        called = self.say("meaning.verdict", verdict=verdict)
        return {"wrong": wrong, "right": right, "verdict": verdict, "frequencies": said, "called": called}

    def _likelier(self, loss: Loss) -> str:
        """δ is added to a probability; it is not the probability that the guarantee fails."""
        power = f"e^{decimal_text(loss.epsilon, 4, ROUND_CEILING)}"
        if loss.epsilon > 20:
            factor = f"{power} ({self.say('too_large')})"
        else:
            bound = exp_above(loss.epsilon)
            factor = f"{power} (about {f'{ceil(bound):,}' if bound >= 100 else f'{ceil(100 * bound) / 100:g}'})"
        name = "likelier_plus" if loss.delta else "likelier"
        return self.say(name, factor=factor, delta=rounded_up(loss.delta))


def template(version: int, name: str) -> str:
    """A file of a version."""
    return (files(__package__) / str(version) / name).read_text(encoding="utf-8")


@cache
def wording(version: int) -> Wording:
    """The sentences of a version."""
    return Wording(version)


def loss_in_words(loss: Loss) -> str:
    """ε and δ for a person, rounded up."""
    return f"epsilon = {rounded_up(loss.epsilon)}, delta = {rounded_up(loss.delta)}"


def rounded_up(x: Fraction) -> str:
    """Three digits, never less than the number."""
    if 0 < x < Fraction(1, 1000):  # 1e-6 rather than 0.000001
        digits, power = f"{Decimal(decimal_text(x, 3, ROUND_CEILING)):.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return decimal_text(x, max(3, len(str(ceil(x)))), ROUND_CEILING)


_NOW = wording(WORDING)
COUNTED, LOOKED, UNIT_NAMES = _NOW.counted, _NOW.looked, _NOW.units
change, gaussian_in_words = _NOW.change, _NOW.gaussian
