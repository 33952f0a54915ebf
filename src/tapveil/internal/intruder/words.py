"""What the intruder test found, in words: the same on the screen, in its picture and in a dossier."""

from __future__ import annotations

from math import floor, log10

from tapveil.internal.intruder.result import MISTAKEN, PLANNED, Attack, Findings, Result

KNOWS: dict[Attack, str] = {
    "two taps": "Somebody knows two taps of a person: place and quarter of an hour.",
    "co-traveller": "Somebody shared one trip with a person, and wants to know about another day.",
    "differencing": "Somebody compares two publications of the same days; one person was deleted in between.",
    "home and work": "Somebody looks for home and place of work of a commuter in all days together.",
}
"""What each attack is."""
STRENGTH = (
    "Against the release as planned the intruder knows all trips of everybody else and decides as well as anyone can. "
    "Against the others he knows only what the attack says, and how busy the network is on ordinary days."
)
GENERATED = "All people and trips are generated: no trip of yours was read."
_UNITS = {"trip": "one trip", "card-day": "one day of a card", "card": "all trips of a card"}


def percent(share: float) -> str:
    """A share as people read it; small ones keep a digit.

    >>> [percent(share) for share in (0.978, 0.1, 1.0, 0.99999, 0.00004)]
    ['98 %', '10 %', '100 %', '>99 %', '0.004 %']
    """
    if share <= 0 or share >= 1:
        return f"{100 * share:.0f} %"
    if share > 0.995:
        return ">99 %"
    digits = max(0, -floor(log10(100 * share)))
    return f"{100 * share:.{digits}f} %"


def limits(result: Result) -> str:
    """Between which two the true rate is."""
    return f"{100 * result.low:.0f}–{100 * result.high:.0f} %"


def at_most(result: Result) -> str:
    """How often anybody can be right, by the promise."""
    if result.method not in PLANNED:
        return "no promise"
    return "no bound" if result.bound is None or result.bound >= 1 else percent(result.bound)


HEADINGS = ("attack", "published", "right", "95 % limits", "by guessing", "at most")


def row(result: Result) -> tuple[str, ...]:
    """A result under these headings."""
    right = (percent(result.success), limits(result), percent(result.baseline), at_most(result))
    return (result.attack, result.method, *right)


def verdict(findings: Findings) -> str:
    """Whether the release keeps its bounds."""
    if exceeded := findings.exceeded:
        attacks = ", ".join(dict.fromkeys(result.attack for result in exceeded))
        return f"The release as planned exceeds its bound: {attacks}. Do not publish with this program."
    rarely = f"a correct program fails this test at most once in {1 / MISTAKEN:,.0f} times"
    return f"The release as planned stays within its bounds ({rarely})."


def unprotected(findings: Findings) -> str | None:
    """What the plan's unit leaves open, where the test met it."""
    open_to = [
        each for each in findings.results if each.method in PLANNED and each.bound is not None and each.bound >= 1
    ]
    if not open_to:
        return None
    seen = ", ".join(f"{each.attack} ({percent(each.success)} right)" for each in open_to)
    return (
        f"This plan protects {_UNITS[findings.unit]}, not a person: it gives no bound for {seen}. "
        "To bound it, protect cards, cover fewer days or choose a smaller epsilon."
    )
