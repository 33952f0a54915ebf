"""What the intruder test found: for each attack and each way to publish, how often the intruder was right.

Written as JSON, for the dossier and for other programs; generated people only, so all of it may be shown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from typing import Any, Literal, get_args

from tapveil._version import __version__
from tapveil.base.errors import UsageError
from tapveil.privacy.binomial import Trials
from tapveil.published.variation import student_quantile

VERSION = 1
"""Of the JSON."""
UNSURE = 0.05
"""The chance that the limits miss the true rate."""
MISTAKEN = 1e-6
"""The chance, at most, that a test of a sound program says that a bound is exceeded."""

Attack = Literal["two taps", "co-traveller", "differencing", "home and work"]
Method = Literal[
    "hashed card ids",
    "exact origin-destination table",
    "exact table",
    "masked below 5",
    "rounded to 100",
    "as planned",
    "as planned, published twice",
]
"""Without a destination, an exact table is one of places and times."""
PLANNED: tuple[Method, ...] = ("as planned", "as planned, published twice")
ATTACKS: tuple[Attack, ...] = get_args(Attack)
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class Result:
    """One attack on one way to publish."""

    attack: Attack
    method: Method
    question: str
    """What the intruder had to answer."""
    success: float
    """How often he was right."""
    low: float
    """Limits of 95 % of the rate among such people: exact (Clopper and Pearson), or by groups (`Repeated`)."""
    high: float
    baseline: float
    """How often somebody without the publication is right."""
    bound: float | None
    """How often anybody can be right, by exact accounting; None where nothing is promised."""
    promised: float | None
    """The same by the plan's epsilon and delta alone."""
    trials: int
    seed: int
    exceeds: bool
    """Whether the bound is exceeded, beyond all chance."""


@dataclass(frozen=True)
class Findings:
    """All results of a test."""

    plan: str
    """SHA-256 of the plan's meaning."""
    unit: str
    epsilon: str
    delta: str
    neighbours: str
    trips: int
    """Generated trips."""
    people: int
    """People who were looked for."""
    seed: int
    results: tuple[Result, ...]
    software: str = __version__
    """The version of tapveil that was attacked."""
    version: int = VERSION

    @property
    def exceeded(self) -> list[Result]:
        """Where the release does not keep its bound: none, for a sound program."""
        return [result for result in self.results if result.exceeds]

    def as_json(self) -> dict[str, Any]:
        return {"version": self.version, **{k: v for k, v in asdict(self).items() if k != "version"}}

    @classmethod
    def read(cls, path: Path) -> Findings:
        """From a file that `tapveil intruder` wrote.

        Raises:
            UsageError: The file cannot be read, or is of another version.
        """
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise UsageError(f"{path} cannot be read; write it with: tapveil intruder PLAN -o {path.name}") from None
        if not isinstance(found, dict) or found.get("version") != VERSION:
            raise UsageError(f"{path} is not a result of `tapveil intruder` of version {VERSION}; run it again")
        try:
            results = tuple(Result(**each) for each in found.pop("results"))
            return cls(results=results, **found)
        except (KeyError, TypeError):
            raise UsageError(f"{path} is not a complete result of `tapveil intruder`; run it again") from None


@dataclass(frozen=True)
class Repeated:
    """For each group of people, how many of equally many attempts were right.

    Attempts on a group have the same people in them, and some are easy to find, so that groups, not attempts, are what
    was drawn at random.
    """

    hits: tuple[int, ...]
    each: int
    people: int
    """In all groups."""

    @property
    def trials(self) -> Trials:
        """All attempts."""
        return Trials(sum(self.hits), self.each * len(self.hits))

    @property
    def limits(self) -> tuple[float, float]:
        """Of the rate among such people: by Student's t; exact for people where all attempts came out alike."""
        groups, share = len(self.hits), self.trials.share
        if share in (0, 1):
            return _limits(Trials(round(share) * self.people, self.people))
        if groups == 1:
            return 0.0, 1.0
        squares = sum((number / self.each - share) ** 2 for number in self.hits)
        if not squares:  # by chance; a t of nothing would leave no room at all
            return _limits(self.trials)
        half = student_quantile(groups - 1, UNSURE) * sqrt(squares / (groups * (groups - 1)))
        return max(0.0, share - half), min(1.0, share + half)


def _limits(seen: Trials) -> tuple[float, float]:
    return seen.at_least(UNSURE / 2), seen.at_most(UNSURE / 2)


def result(
    what: tuple[Attack, Method, str],
    seen: Trials | Repeated,
    *,
    baseline: float,
    seed: int,
    bound: tuple[float, float | None] | None = None,
) -> Result:
    """With its limits; and, where there is a bound, whether it is exceeded.

    The bound holds for every person, so for the attempts on these people as they are: of independent attempts whose
    mean chance is no more than it, none are right more often by chance than if each had that chance (Hoeffding 1956).
    """
    low, high = seen.limits if isinstance(seen, Repeated) else _limits(seen)
    every, (exact, promised) = seen.trials if isinstance(seen, Repeated) else seen, bound or (None, None)
    exceeds = exact is not None and every.at_least(MISTAKEN / (len(ATTACKS) * len(PLANNED))) > exact
    return Result(*what, every.share, low, high, baseline, exact, promised, every.number, seed, exceeds)


def grouped(results: Sequence[Result]) -> dict[Attack, list[Result]]:
    """By attack, each in the order of the methods."""
    return {
        attack: sorted((each for each in results if each.attack == attack), key=lambda e: METHODS.index(e.method))
        for attack in ATTACKS
        if any(each.attack == attack for each in results)
    }
