"""What `init` recognised."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tapveil.base.text_table import Grid
from tapveil.cli.console.text import sentence
from tapveil.trips.recognise import Recognised

MOST_UNUSED = 40


def show_draft(console: Console, found: Recognised, remarks: Sequence[str]) -> None:
    """What was recognised in an export, and how sure that is. No value of it."""
    if found.like:
        console.print(f"It looks like {found.like}.")
    grid = Grid("ours", "your column", "how sure", "why")
    for ours, guess in found.columns.items():
        notes = [guess.why]
        notes += [f"written {guess.format}"] if guess.format else []
        notes += [f"{' and '.join(guess.missing)} for missing"] if guess.missing else []
        grid.add(ours, guess.column, guess.how_sure, "; ".join(notes))
    grid.show(console, left=True)
    if found.unused:
        console.print(
            f"Not read: {', '.join(found.unused[:MOST_UNUSED])}{', …' if len(found.unused) > MOST_UNUSED else ''}."
        )
    if found.is_taps and not found.unclear:
        console.print(
            f"A row is one tap: on is {' or '.join(found.on)}; off is {' or '.join(found.off) or 'not there'}."
        )
    for remark in (*found.remarks, *remarks):
        console.print(f"\n{sentence(remark)}")
