"""The words of the report: numbers as people read them, and the small pieces that every section has."""

from __future__ import annotations

from collections.abc import Iterator

from tapveil.comparison.screen import percent, three_digits
from tapveil.report.findings import Findings, TableFindings
from tapveil.report.markup import Html, element
from tapveil.statement import NOUNS

MOST_PANELS = 12
"""Of one sort: the tables that lose most have one."""
NOTHING = "–"


def noun_of(found: Findings) -> str:
    return NOUNS[found.plan.privacy.unit]


def are(found: Findings) -> str:
    return "are" if found.folder else "are expected to be"


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
