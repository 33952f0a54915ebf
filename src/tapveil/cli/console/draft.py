"""What `init` recognised, and what it asks."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from fractions import Fraction

from rich.console import Console

from tapveil.base.text_table import Grid
from tapveil.cli.console.text import sentence
from tapveil.internal.draft import Draft
from tapveil.internal.draft_text import Choices
from tapveil.privacy.meaning import Meaning
from tapveil.trips.questions import OPEN, Question
from tapveil.trips.recognised import Recognised

MOST_UNUSED = 40
_ROWS = {"trips": "A row is a trip", "taps": "A row is one tap", "counts": "A row is a number of trips"}


def show_draft(console: Console, drafted: Draft) -> None:
    """What was recognised in an export, and why. No value of it."""
    found = drafted.found
    if found.like:
        console.print(f"It looks like {found.like}.")
    console.print(f"{_ROWS[found.shape]}: {found.why}.")
    _show_columns(console, found)
    if found.unused:
        console.print(
            f"Not read: {', '.join(found.unused[:MOST_UNUSED])}{', …' if len(found.unused) > MOST_UNUSED else ''}."
        )
    if found.is_taps and found.on and OPEN not in found.on:
        console.print(f"On is {' or '.join(found.on)}; off is {' or '.join(found.off) or 'not there'}.")
    if drafted.choices:
        _show_promise(console, drafted.choices)
    for remark in (*found.remarks, *drafted.remarks):
        console.print(f"\n{sentence(remark)}")
    for question in drafted.open:
        proposal = f" Proposed: {question.proposal}." if question.proposal != OPEN else ""
        console.print(f"\nOpen question: {question.text}{proposal}")


def show_prospect(console: Console, drafted: Draft, coarser: str) -> None:
    """That there are few trips for a plan, and what to do, to be pasted: a command, or for counts lines of the plan."""
    way = "This counts the trips and writes a plan with coarser bins, fewer tables or all days together, which says so:"
    lines = [coarser]
    if drafted.found.is_counts:
        way = "Wider bins, and all days together, are for you to write into the plan, and that you looked, such as:"
        parts = [name for name in ("mode",) if name in drafted.found.columns]
        lines = [f"partition = {json.dumps(parts)}", "time_minutes = 240", "looked_at_trips = true"]
    console.print(f"\n{drafted.prospect.sentences if drafted.prospect else ''} {way}")
    for line in lines:
        console.print(f"  {line}")


def _show_columns(console: Console, found: Recognised) -> None:
    grid = Grid("ours", "your column", "how sure", "why")
    for ours, guess in found.columns.items():
        notes = [guess.why]
        notes += [f"written {guess.format}"] if guess.format and guess.format != OPEN else []
        notes += [f"{' and '.join(guess.missing)} for missing"] if guess.missing else []
        grid.add(ours, guess.column, guess.sureness, "; ".join(notes))
    grid.show(console, left=True)


def _show_promise(console: Console, choices: Choices) -> None:
    meaning = Meaning(Fraction(choices.epsilon))
    days = f"Days: {choices.days}, by {choices.days.source}. " if choices.days else ""
    chosen = choices.answers.get("epsilon", OPEN) != OPEN and not choices.proposed
    console.print(
        f"{days}{'Your' if chosen else 'Proposed'} promise: {choices.unit} with epsilon {choices.epsilon}, which is "
        f"{meaning.verdict}. {meaning.sentence(choices.unit, choices.neighbours)}"
    )


def asking(console: Console, read: Callable[[], str]) -> Callable[[Question], str]:
    """Ask a person: Enter takes what is proposed, a number one of the choices, "?" leaves the question open."""

    def ask(question: Question) -> str:
        console.print("\n" + "\n".join(textwrap.wrap(question.text, 100)))
        # Choices that are numbers themselves have none of their own: 1 would mean two of them.
        numbered = not any(choice.isdecimal() for choice in question.choices)
        for number, choice in enumerate(question.choices, 1):
            console.print(f"  {number}  {choice}" if numbered else f"  {choice}")
        proposal = f"[Enter: {question.proposal}] " if question.proposal != OPEN else '["?" leaves it open] '
        while True:
            console.print(proposal, end="")
            said = read().strip()
            if not said:
                return question.proposal
            if numbered and said.isdecimal() and 1 <= int(said) <= len(question.choices):
                return question.choices[int(said) - 1]
            parts = [part.strip() for part in said.split(",")]
            if said == OPEN or (set(parts) <= set(question.choices) if question.choices else question.fits(said)):
                return said
            console.print(f"Please answer with {question.like or 'one of: ' + ', '.join(question.choices)}.")

    return ask
