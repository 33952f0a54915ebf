"""Whether the ledger has room for a plan."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from tapveil.base.errors import LedgerError
from tapveil.cli.console.text import say
from tapveil.ledger import words as ledger_words
from tapveil.ledger.book import open_ledger
from tapveil.ledger.entry import Spend
from tapveil.ledger.refusals import repeated
from tapveil.ledger.witness import around_ledger, folder_of, refuse_outdated
from tapveil.plan.model import Plan
from tapveil.veil.spend import would_spend


def show_room(console: Console, plan: Plan, plan_file: Path) -> None:
    """Whether the ledger has room for a release of this plan."""
    console.print()
    if not plan.ledger_path.exists():
        if left := left_behind(plan):
            say(console, ledger_words.missing(plan.ledger_path, left))
        else:
            console.print(f"There is no ledger yet: tapveil ledger start {plan_file} --epsilon ... --delta ...")
        return
    refused = refusal(plan)
    says = f"would say: {refused}" if refused else "has room for it"
    say(console, f"The ledger {plan.ledger_path} {says}.")
    if not refused and (earlier := released_before(plan)):
        which = f"{ledger_words.release(earlier[-1])} of {earlier[-1].on}"
        say(console, f"It covers days and modes that were released before ({which}): that takes --again.")


def left_behind(plan: Plan) -> list[str]:
    """The published folders next to the place of a ledger that is not there: they tell that there was one."""
    return [found.name for found in map(folder_of, around_ledger(plan.ledger_path)) if found.ledger]


def refusal(plan: Plan) -> str | None:
    """Why the ledger would refuse a release of this plan into a folder here, if it would."""
    try:
        with open_ledger(plan.ledger_path) as book:
            refuse_outdated(book, Path.cwd(), paid=False)
            book.refuse(would_spend(plan), again=True)
    except LedgerError as error:
        return str(error)
    return None


def released_before(plan: Plan) -> list[Spend]:
    """The releases of some of the plan's days and modes, where there is a ledger."""
    if not plan.ledger_path.exists():
        return []
    with open_ledger(plan.ledger_path) as book:
        return repeated(book.entries, would_spend(plan))
