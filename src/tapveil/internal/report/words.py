"""The words of the report: numbers as people read them, and the small pieces that every section has."""

from __future__ import annotations

from collections.abc import Iterator

from tapveil.base.numbers import percent, three_digits
from tapveil.base.vocabulary import NOUNS
from tapveil.internal.report.findings import Findings, TableFindings
from tapveil.internal.report.markup import Html, element

MOST_PANELS = 12
"""Of one sort: the tables that lose most have one."""
NOTHING = "–"


def noun_of(found: Findings) -> str:
    return NOUNS[found.plan.privacy.unit]


def are(found: Findings) -> str:
    return "are" if found.folder else "are expected to be"


def left_out(found: Findings) -> str:
    """How many trips the bounds of a card leave out, and which share of them that is; nothing where none is."""
    beyond = found.left_out
    if beyond is None:
        return ""
    what = "taps" if found.plan.source.taps and beyond.is_exact else "trips"
    if not beyond.is_exact:
        return f"{beyond.trips:,} {what} (at least {percent(beyond.share)})"
    return f"{beyond.trips:,} of {beyond.accepted:,} {what} ({percent(beyond.share)})"


def before_counting(found: Findings) -> str:
    """A sentence on what no table has, with a space before it; nothing where nothing is left out."""
    privacy = found.plan.privacy
    if found.left_out is None:
        return ""
    most = [
        *([f"{privacy.trips_per_day} trips per day"] if privacy.trips_per_day else []),
        *([f"{privacy.trips_per_card} trips in all"] if privacy.trips_per_card else []),
    ]
    return (
        f" Before anything is counted, {left_out(found)} are left out: the plan takes at most {' and '.join(most)} of "
        "each card."
    )


def number(value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return NOTHING
    words = three_digits(abs(value))
    if not signed or float(words.replace(",", "")) == 0:
        return words
    return f"+{words}" if value > 0 else f"−{words}"


def share(value: float | None) -> str:
    return NOTHING if value is None else percent(value)


def key(*entries: tuple[str, str]) -> Html:
    return element(
        "div", *(element("span", words, **({"class_": kind} if kind else {})) for kind, words in entries), class_="key"
    )


def lead(words: str) -> Html:
    return element("p", words, class_="lead")


def pale(words: str) -> Html:
    return element("p", words, class_="pale")


def most_lost(found: Findings) -> list[TableFindings]:
    """The tables that have a panel of their own, in the order of the plan."""
    ranked = sorted(found.tables, key=lambda each: -each.suppression.whole.lost)[:MOST_PANELS]
    return [each for each in found.tables if each in ranked]


def not_all(found: Findings) -> Iterator[Html]:
    if len(found.tables) > MOST_PANELS:
        yield pale(f"Drawn for the {MOST_PANELS} tables that lose most; the table below has all of them.")


def small(value: float) -> str:
    """A number below one as people write it.

    >>> small(7.5e-7), small(0.02)
    ('7.5 · 10⁻⁷', '0.02')
    """
    digits, _, power = f"{value:.3g}".partition("e")
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(each)] if each.isdigit() else "⁻" for each in str(int(power or 0)))
    return f"{digits} · 10{raised}" if power else digits
