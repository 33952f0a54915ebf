"""The ledger: its entries, what is spent and what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING

from rich.console import Console

from tapveil.base.errors import LedgerError
from tapveil.base.text_table import Grid
from tapveil.cli.console.text import MOST_OF_A_KIND, say
from tapveil.ledger import words as ledger_words
from tapveil.ledger.accounts import Account, Place, accounts
from tapveil.ledger.approval import Approval, fingerprint
from tapveil.ledger.coverage import ONE_DAY, Everywhere
from tapveil.ledger.entry import (
    Accepted,
    Approved,
    Budget,
    Delivered,
    Entry,
    Officers,
    Published,
    Scheduled,
    Spend,
    Start,
    Withdrawn,
)
from tapveil.ledger.people import so_far, why_none
from tapveil.privacy.meaning import Meaning
from tapveil.privacy.person import Person, verdict
from tapveil.privacy.rational import decimal_text
from tapveil.privacy.units import Neighbours, Unit
from tapveil.published.describe.wording import WORDING, change, loss_in_words, rounded_up, wording

LEAST_OF_100 = 0.01
NONE_FOR_A_PERSON = "no meaningful promise"
"""Below a line that says that it is for a person."""
NEWEST = 200
"""Of longer ledgers, the newest entries are shown."""
SPENT: dict[Unit, str] = {
    "trip": "Most spent on any day and mode",
    "card-day": "Most spent on any day",
    "card": "Spent",
}


def show_ledger(console: Console, entries: Sequence[Entry]) -> None:
    """Entries, and for each budget what is spent on which days and modes, and what is left."""
    grid = Grid("entry", "date", "what", "data set", "unit", "covers", "status")
    appeared = {entry.id: "published" for entry in entries if isinstance(entry, Published)}
    appeared |= {entry.id: "withdrawn" for entry in entries if isinstance(entry, Withdrawn)}
    shown = [(number, entry) for number, entry in enumerate(entries, start=1) if number > len(entries) - NEWEST]
    if len(shown) < len(entries):
        say(console, f"The newest {NEWEST} of {len(entries):,} entries; --json lists all of them.")
    for number, entry in shown:
        grid.add(str(number), str(entry.on), *_row(entry, appeared))
    grid.show(console, left=True)
    for number, entry in enumerate(entries, start=1):
        if isinstance(entry, Budget | Accepted | Withdrawn | Officers) and entry.reason:
            say(console, f"Entry {number}, by {entry.by}: {entry.reason}")
    officers = [entry for entry in entries if isinstance(entry, Officers)]
    if officers and officers[-1].keys:
        whose = " or ".join(map(fingerprint, officers[-1].keys))
        say(console, f"Every release needs an approval signed with {whose}: tapveil approve PLAN --key KEY")
    for account in accounts(entries):
        _show_account(console, account)
        if why := why_none(account):
            say(console, why)
        show_people(console, so_far(account))
        if any(spend.unit == "card-day" and spend.first_day != spend.last_day for spend in account.spends):
            say(console, ledger_words.AT_MOST)


def entry_in_words(entry: Entry) -> str:
    """One entry, as the ledger shows it."""
    return ", ".join(filter(None, _row(entry)))


def _row(entry: Entry, appeared: Mapping[str, str] | None = None) -> tuple[str, ...]:
    match entry:
        case Spend():
            days = ledger_words.days(entry.first_day, entry.last_day)
            given = [f"given {len(entry.totals)} exact totals"] if entry.totals else []
            approved = [f"approved by {entry.approval[:8]}"] if entry.approval else []
            covers = ", ".join([days, *(entry.modes or ("all modes",)), *given, *approved])
            status = "" if appeared is None else appeared.get(entry.id, "not finished")
            return (f"release {ledger_words.release(entry)}", entry.data_set, entry.unit, covers, status)
        case Budget():
            return (f"budget {loss_in_words(entry.loss)}", entry.data_set, entry.unit)
        case Scheduled():
            return (f"schedule of {entry.releases} releases", entry.data_set, entry.unit, f"{entry.days} days each")
        case Published():
            return (f"published {entry.id[:8]}",)
        case Delivered():
            return (f"delivered {entry.id[:8]} to {entry.address}",)
        case Withdrawn():
            return (f"withdrawn {entry.id[:8]}",)
        case Accepted():
            return (f"accepted ledger {entry.ledger[:8]}",)
        case Officers():
            keys = " or ".join(fingerprint(key)[:15] for key in entry.keys)
            return (f"approval required of {keys}" if keys else "approval no longer required",)
        case Approved():
            return (_approval(Approval(entry.statement, entry.signature)),)
        case Start():
            return (f"start of ledger {entry.ledger[:8]}",)


def _approval(approval: Approval) -> str:
    """An approval; the ledger may be damaged."""
    try:
        stated = approval.statement
    except LedgerError:
        return "approval that cannot be read"
    who = f" by {stated.by}" if stated.by else ""
    return f"approval {stated.id[:8]} of {stated.on}{who}" + (f": {stated.comment}" if stated.comment else "")


def show_people(console: Console, found: Sequence[Person]) -> None:
    """What releases mean for all trips of one person, so far and for a year."""
    if not found:
        return
    grid = Grid("a week", "releases", "trips", "epsilon", "replaced", "delta", "of 100", "promise")
    for person in found:
        meaning = person.meaning
        word = verdict(meaning)
        grid.add(
            f"{person.trips_a_week}",
            f"{sum(each.number for each in person.releases):,}",
            f"{person.trips:,}",
            *("none" if each is None else rounded_up(each) for each in map(person.shown_epsilon, _BOTH)),
            rounded_up(person.delta),
            "none" if meaning is None else _of_100(meaning),
            NONE_FOR_A_PERSON if word == "none" else wording(WORDING).say(f"verdict.{word}"),
        )
    say(console, "What that means for all trips of one person, whatever they are (docs/privacy/a-year.md):")
    grid.show(console)
    say(console, "A week: trips of the person. Replaced: epsilon where all of them are replaced by others.")
    say(console, "Of 100 publications, how many would make a suspicious reader believe they travelled: if not | if so.")


_BOTH: tuple[Neighbours, ...] = ("add-remove", "replace")


def _of_100(meaning: Meaning) -> str:
    """In frequencies. What is nearly none is not shown as none, nor in ten digits."""
    return "<0.01 | >99.99" if 0 < 100 * meaning.wrong < LEAST_OF_100 else " | ".join(meaning.of_100)


def _alike(places: Sequence[Place]) -> list[Place]:
    """Places one after the other with as many releases, and as much spent, are one row."""
    rows: list[Place] = []
    for place in places:
        before = rows[-1] if rows else None
        if before and before.last_day and place.first_day == before.last_day + ONE_DAY:
            alike = [(each.modes, each.epsilon, len(each.releases)) for each in (before, place)]
            if alike[0] == alike[1]:
                rows[-1] = replace(before, last_day=place.last_day)
                continue
        rows.append(place)
    return rows


def _show_account(console: Console, account: Account) -> None:
    console.print(f"\nBudget: {ledger_words.limit(account.budget)}.")
    spent, places = ledger_words.spent(account.epsilon), account.places
    # A unit that is exchanged may leave one row and enter another: that can cost more than any row (proofs, 13).
    across = bool(places) and spent not in {ledger_words.spent(place.epsilon) for place in places}
    what = "Most spent" if across else SPENT[account.budget.unit]
    say(console, f"{what}: {spent} (exact accounting at this delta). Remaining: {ledger_words.left(account)}.")
    if across:
        say(console, f"No row below has all of it: {change(account.budget.unit, 'replace')} may change two rows.")
        if account.generations > 1:
            say(console, "Losses are added where noise was chosen from another release (chosen_from).")
    if not places:
        return
    grid = Grid("days", "modes", "releases", "epsilon spent")
    names_modes = account.budget.unit == "trip" and any(spend.modes for spend in account.spends)
    for place in _alike(places):
        modes = ", ".join(place.modes) if place.modes else "all others" if names_modes else "all"
        amount = "-" if place.epsilon is None else decimal_text(place.epsilon, 5, ROUND_CEILING)
        grid.add(ledger_words.days(place.first_day, place.last_day), modes, str(len(place.releases)), amount)
    grid.show(console)
    for why, words in ledger_words.EVERYWHERE.items():
        counted = [spend for spend in account.spends if account.coverage.everywhere(spend) is why]
        if counted and why is not Everywhere.CARD:
            which = ", ".join(map(ledger_words.release, counted[:MOST_OF_A_KIND]))
            more = f" and {len(counted) - MOST_OF_A_KIND} more" if len(counted) > MOST_OF_A_KIND else ""
            say(console, f"Counts for every day: {which}{more} ({words}).")
