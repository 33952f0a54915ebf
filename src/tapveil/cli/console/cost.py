"""What a plan promises and what it costs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rich.console import Console

from tapveil.base.text_table import Grid
from tapveil.base.vocabulary import NOUNS
from tapveil.cli.console.text import head, say
from tapveil.internal.plan_in_words import in_words
from tapveil.plan.model import Plan
from tapveil.privacy.mechanisms import Mechanism, StabilityHistogram
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import change, gaussian_in_words, rounded_up
from tapveil.published.manifest import ERROR_CONFIDENCE, EXAMPLE_COUNTS
from tapveil.veil.statement import cost, gaussian_part


def _chance(p: Fraction) -> str:
    """A probability for a person: two digits, and never a rounded 0 or 1."""
    if p < Fraction(1, 1000):
        return f"{float(p):.0e}"
    return f"{min(float(100 * p), 99.9):.1f} %" if p < 1 else "100 %"


def show_cost(console: Console, plan: Plan) -> None:
    """The plan in words, and what each table costs."""
    for sentence in in_words(plan):
        say(console, sentence)
    head(console, "What it costs, and the noise of each table")
    _show_tables(console, plan)
    spent = cost(plan)
    for guarantee in spent["guarantees"]:
        meant = change(plan.privacy.unit, guarantee["neighbours"])
        at, delta = f"{guarantee['epsilon']:g}", rounded_up(Fraction(guarantee["delta_accounted"]))
        say(console, f"Accounted exactly, {meant}: at epsilon = {at} delta is at most {delta}.")
    if part := gaussian_part(plan):
        say(console, gaussian_in_words(plan.privacy.unit, plan.privacy.neighbours, part))
    if spent["whole_cards"]:
        _show_whole_cards(console, spent["whole_cards"])
    head(console, f"The chance that a cell appears, by its true number of {NOUNS[plan.privacy.unit]}")
    chances = Grid("table", *(str(count) for count in EXAMPLE_COUNTS))
    alike: dict[Mechanism, list[str]] = {}
    for name, mechanism in plan.guarantee.mechanisms.items():
        alike.setdefault(mechanism, []).append(name)
    for mechanism, names in alike.items():
        named = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} like it"
        chances.add(named, *(_chance(mechanism.publish_probability(count)) for count in EXAMPLE_COUNTS))
    chances.show(console)


def _show_tables(console: Console, plan: Plan) -> None:
    shares = ("weight",) if plan.guarantee.is_shared else ("epsilon", "delta")
    grid = Grid("table", *shares, "scale", "95 % within", "threshold", "prints from")
    for table in plan.table:
        mechanism = plan.guarantee.mechanisms[table.name]
        share = [decimal_text(table.weight or Fraction(1), 6)]
        if table.epsilon is not None:
            share = [decimal_text(table.epsilon, 6), f"{float(table.delta or 0):.3g}"]
        noise = (decimal_text(mechanism.scale, 6), f"± {mechanism.error_bound(1 - ERROR_CONFIDENCE)}")
        shown = (f"{float(mechanism.threshold):.2f}", f"{mechanism.smallest_published}")
        grid.add(table.name, *share, *noise, *shown)
    if not plan.guarantee.is_shared:
        grid.add("in total", decimal_text(plan.guarantee.loss.epsilon, 6), f"{float(plan.guarantee.loss.delta):.3g}")
    grid.show(console)
    bounds = {
        mechanism.scale: f"± {float(mechanism.laplace_bound(1 - ERROR_CONFIDENCE)):.2f}"
        for mechanism in plan.guarantee.mechanisms.values()
        if isinstance(mechanism, StabilityHistogram)
    }
    if bounds:
        each = ", ".join(f"{bound} at scale {decimal_text(scale, 6)}" for scale, bound in bounds.items())
        say(console, f"(Before rounding, the paper's Laplace bound at 95 %: {each}.)")


def _show_whole_cards(console: Console, cards: list[dict[str, Any]]) -> None:
    """What the promise for single trips means for a person with many."""
    head(console, "A card is not a trip. With a whole card added or left out, its trips all in different cells:")
    grid = Grid("trips", "epsilon", "delta", "any outcome at most")
    for card in cards:
        grid.add(str(card["trips"]), f"{card['epsilon']:.2f}", f"{card['delta']:.3g}", f"e^{card['epsilon']:.2f} x")
    grid.show(console)
    say(console, 'Trips of one card in the same cell show more. To protect cards, use unit = "card-day" or "card".')
