"""What `check` found: what would be published. CONFIDENTIAL."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from tapveil.base.text_table import Grid
from tapveil.base.vocabulary import NOUNS
from tapveil.cli.console.room import left_behind, refusal, released_before
from tapveil.cli.console.text import head, say, sentence
from tapveil.internal.confidential import NOTICE
from tapveil.internal.outlook import DENSITY_AT, Outlook
from tapveil.ledger import words as ledger_words
from tapveil.ledger.coverage import names_no_days
from tapveil.plan.model import Plan
from tapveil.published.describe.wording import UNIT_NAMES, loss_in_words
from tapveil.veil.spend import would_spend

MOST_UNUSED = 40


def show_outlook(console: Console, plan: Plan, outlook: Outlook) -> None:
    """What would survive, from the exact counts: internal."""
    console.print(f"\n--- {NOTICE} Do not publish. ---", style="bold")
    refused = sum(outlook.refused.values())
    console.print(f"{outlook.rows:,} rows read, {refused:,} of them refused" + (":" if refused else "."))
    for reason, number in sorted(outlook.refused.items(), key=lambda item: -item[1]):
        where = "; ".join(f"{file} {line}" for file, line in outlook.refused_at.get(reason, ()))
        console.print(f"  {number:,}  {reason}" + (f" (first at, file and line or row: {where})" if where else ""))
    if outlook.elsewhere:
        console.print(f"{outlook.elsewhere:,} more rows are of days or modes that the plan does not cover.")
    if days := outlook.found.get("date"):
        console.print(f"Days: {len(days):,}, from {days[0]} to {days[-1]}.")
    if modes := outlook.found.get("mode"):
        console.print(f"Modes: {', '.join(modes[:MOST_UNUSED])}.")
    if outlook.left_out:
        console.print(f"{outlook.left_out:,} trips beyond what the plan counts of one card were left out.")
    if outlook.stops:
        console.print(f"A release would stop: {outlook.stops}")
        return
    head(console, "Expected to be published")
    noun = NOUNS[plan.privacy.unit]
    grid = Grid("table", "cells", "of cells", noun, f"of {noun}")
    for table in outlook.tables:
        cells = (f"{table.expected_cells:,.0f}", f"{table.cells:,}")
        grid.add(table.name, *cells, f"{table.expected_trips:,.0f}", f"{100 * table.trip_share:.1f} %")
    grid.show(console)
    head(console, f"Density: the share of the cells that have at least this many {noun}")
    density = Grid("table", *(str(k) for k in DENSITY_AT), "threshold")
    for table in outlook.tables:
        shares = [*table.density.values(), table.threshold_density]
        density.add(table.name, *(f"{100 * share:.1f} %" for share in shares))
    density.show(console)
    for note in (*(f"Nearly empty: {t.advice}" for t in outlook.tables if t.advice), *outlook.notes):
        console.print()
        say(console, f"{sentence(note)}.")


def show_verdict(console: Console, plan: Plan, plan_file: Path, outlook: Outlook) -> None:
    """What it comes to, last: the rest has run off the screen by then."""
    head(console, "In short")
    if outlook.stops:
        say(console, "A release would stop, and spend nothing: see above.")
        return
    empty = sum(table.advice is not None for table in outlook.tables)
    nearly = f"{empty} of {len(outlook.tables)} tables would be nearly empty" if empty else "no table is nearly empty"
    spent = f"{loss_in_words(plan.guarantee.loss)}, for {UNIT_NAMES[plan.privacy.unit]}"
    say(console, f"It would spend {spent}; {nearly}.")
    if not plan.privacy.looked_at_trips:
        say(console, "If you change the plan because of this, you looked at the trips: set looked_at_trips = true.")
    if names_no_days(would_spend(plan)):
        say(console, ledger_words.NAMES_NO_DAYS)
    if not plan.ledger_path.exists():
        if left_behind(plan):
            say(console, "The ledger is missing: see above.")
            return
        console.print(f"Next: tapveil ledger start {plan_file} --epsilon ... --delta ...")
    elif refusal(plan):
        say(console, "The ledger would refuse it: see above.")
        return
    again = " --again" if released_before(plan) else ""
    console.print(f"Next: tapveil release {plan_file} -o published{again}")
