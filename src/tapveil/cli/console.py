"""What the commands show on a screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_CEILING
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console

from tapveil.base.defaults import AUDIT_TRIALS
from tapveil.base.errors import LedgerError
from tapveil.base.findings import Finding
from tapveil.base.text_table import Grid
from tapveil.base.vocabulary import NOUNS
from tapveil.cli.summary import budget_in_words, left_in_words, spent_in_words
from tapveil.internal.audit import MISTAKEN
from tapveil.internal.audit import Finding as AuditFinding
from tapveil.internal.confidential import NOTICE
from tapveil.internal.outlook import DENSITY_AT, Outlook
from tapveil.internal.plan_in_words import in_words
from tapveil.ledger import words as ledger_words
from tapveil.ledger.accounts import Account, accounts
from tapveil.ledger.book import open_ledger
from tapveil.ledger.coverage import Everywhere, names_no_days
from tapveil.ledger.entry import Accepted, Budget, Entry, Published, Spend, Start
from tapveil.ledger.refusals import repeated
from tapveil.plan.model import Plan
from tapveil.privacy.mechanisms import Mechanism, StabilityHistogram
from tapveil.privacy.rational import decimal_text
from tapveil.privacy.units import Unit
from tapveil.published.describe.wording import UNIT_NAMES, change, gaussian_in_words, loss_in_words, rounded_up
from tapveil.published.manifest import ERROR_CONFIDENCE, EXAMPLE_COUNTS
from tapveil.trips.recognise import Recognised
from tapveil.veil.release import around_ledger, folder_of, refuse_outdated
from tapveil.veil.spend import would_spend
from tapveil.veil.statement import cost, gaussian_part

MOST_UNUSED = 40
SPENT: dict[Unit, str] = {
    "trip": "Most spent on any day and mode",
    "card-day": "Most spent on any day",
    "card": "Spent",
}
MOST_OF_A_KIND = 5
"""So many findings of a kind fit a screen; a file or a program gets all of them."""


def _say(console: Console, words: str) -> None:
    """A sentence: broken between words on a screen, and whole in a file."""
    console.print(words, soft_wrap=not console.is_terminal)


def _head(console: Console, words: str) -> None:
    """What the next lines are about."""
    console.print()
    console.print(words, style="bold", soft_wrap=not console.is_terminal)


def _sentence(words: str) -> str:
    """With a capital, unless it begins with the name of a column or a table."""
    first = words.split(" ")[0]
    return words if "_" in first or first.endswith(":") else words[0].upper() + words[1:]


def _chance(p: Fraction) -> str:
    """A probability for a person: two digits, and never a rounded 0 or 1."""
    if p < Fraction(1, 1000):
        return f"{float(p):.0e}"
    return f"{min(float(100 * p), 99.9):.1f} %" if p < 1 else "100 %"


def show_cost(console: Console, plan: Plan) -> None:
    """The plan in words, and what each table costs."""
    for sentence in in_words(plan):
        _say(console, sentence)
    _head(console, "What it costs, and the noise of each table")
    _show_tables(console, plan)
    spent = cost(plan)
    for guarantee in spent["guarantees"]:
        meant = change(plan.privacy.unit, guarantee["neighbours"])
        _say(
            console,
            f"Accounted exactly, {meant}: at epsilon = {guarantee['epsilon']:g} "
            f"delta is at most {rounded_up(Fraction(guarantee['delta_accounted']))}.",
        )
    if part := gaussian_part(plan):
        _say(console, gaussian_in_words(plan.privacy.unit, plan.privacy.neighbours, part))
    if spent["whole_cards"]:
        _show_whole_cards(console, spent["whole_cards"])
    _head(console, f"The chance that a cell appears, by its true number of {NOUNS[plan.privacy.unit]}")
    chances = Grid("table", *(str(count) for count in EXAMPLE_COUNTS))
    alike: dict[Mechanism, list[str]] = {}
    for name, mechanism in plan.guarantee.mechanisms.items():
        alike.setdefault(mechanism, []).append(name)
    for mechanism, names in alike.items():
        chances.add(_named(names), *(_chance(mechanism.publish_probability(count)) for count in EXAMPLE_COUNTS))
    chances.show(console)


def _named(tables: Sequence[str]) -> str:
    """Tables that have the same noise: the first, and how many more."""
    return tables[0] if len(tables) == 1 else f"{tables[0]} and {len(tables) - 1} like it"


def _show_tables(console: Console, plan: Plan) -> None:
    shares = ("weight",) if plan.guarantee.is_shared else ("epsilon", "delta")
    grid = Grid("table", *shares, "scale", "95 % within", "threshold", "prints from")
    for table in plan.table:
        mechanism = plan.guarantee.mechanisms[table.name]
        share = (
            (decimal_text(table.weight or Fraction(1), 6),)
            if table.epsilon is None
            else (decimal_text(table.epsilon, 6), f"{float(table.delta or 0):.3g}")
        )
        grid.add(
            table.name,
            *share,
            decimal_text(mechanism.scale, 6),
            f"± {mechanism.error_bound(1 - ERROR_CONFIDENCE)}",
            f"{float(mechanism.threshold):.2f}",
            f"{mechanism.smallest_published}",
        )
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
        _say(console, f"(Before rounding, the paper's Laplace bound at 95 %: {each}.)")


def _show_whole_cards(console: Console, cards: list[dict[str, Any]]) -> None:
    """What the promise for single trips means for a person with many."""
    _head(console, "A card is not a trip. With a whole card added or left out, its trips all in different cells:")
    grid = Grid("trips", "epsilon", "delta", "any outcome at most")
    for card in cards:
        grid.add(str(card["trips"]), f"{card['epsilon']:.2f}", f"{card['delta']:.3g}", f"e^{card['epsilon']:.2f} x")
    grid.show(console)
    _say(console, 'Trips of one card in the same cell show more. To protect cards, use unit = "card-day" or "card".')


def show_draft(console: Console, found: Recognised, remarks: Sequence[str]) -> None:
    """What was recognised in an export, and how sure that is. No value of it."""
    if found.like:
        console.print(f"It looks like {found.like}.")
    grid = Grid("ours", "your column", "how sure", "why")
    for ours, guess in found.columns.items():
        notes = [guess.why]
        notes += [f"written {guess.format}"] if guess.format else []
        notes += [f"{' and '.join(guess.missing)} for missing"] if guess.missing else []
        grid.add(ours, guess.column, guess.sureness, "; ".join(notes))
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
        console.print(f"\n{_sentence(remark)}")


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
    _head(console, "Expected to be published")
    noun = NOUNS[plan.privacy.unit]
    grid = Grid("table", "cells", "of cells", noun, f"of {noun}")
    for table in outlook.tables:
        grid.add(
            table.name,
            f"{table.expected_cells:,.0f}",
            f"{table.cells:,}",
            f"{table.expected_trips:,.0f}",
            f"{100 * table.trip_share:.1f} %",
        )
    grid.show(console)
    _head(console, f"Density: the share of the cells that have at least this many {noun}")
    density = Grid("table", *(str(k) for k in DENSITY_AT), "threshold")
    for table in outlook.tables:
        shares = [*table.density.values(), table.threshold_density]
        density.add(table.name, *(f"{100 * share:.1f} %" for share in shares))
    density.show(console)
    for note in (*(f"Nearly empty: {t.advice}" for t in outlook.tables if t.advice), *outlook.notes):
        console.print()
        _say(console, f"{_sentence(note)}.")


def show_verdict(console: Console, plan: Plan, plan_file: Path, outlook: Outlook) -> None:
    """What it comes to, last: the rest has run off the screen by then."""
    _head(console, "In short")
    if outlook.stops:
        _say(console, "A release would stop, and spend nothing: see above.")
        return
    empty = sum(table.advice is not None for table in outlook.tables)
    of_tables = (
        f"{empty} of {len(outlook.tables)} tables would be nearly empty" if empty else "no table is nearly empty"
    )
    _say(
        console,
        f"It would spend {loss_in_words(plan.guarantee.loss)}, for {UNIT_NAMES[plan.privacy.unit]}; {of_tables}.",
    )
    if not plan.privacy.looked_at_trips:
        _say(console, "If you change the plan because of this, you looked at the trips: set looked_at_trips = true.")
    if names_no_days(would_spend(plan)):
        _say(console, ledger_words.NAMES_NO_DAYS)
    if not plan.ledger_path.exists():
        if _left_behind(plan):
            _say(console, "The ledger is missing: see above.")
            return
        console.print(f"Next: tapveil ledger start {plan_file} --epsilon ... --delta ...")
    elif _refusal(plan):
        _say(console, "The ledger would refuse it: see above.")
        return
    again = " --again" if _released_before(plan) else ""
    console.print(f"Next: tapveil release {plan_file} -o published{again}")


def show_room(console: Console, plan: Plan, plan_file: Path) -> None:
    """Whether the ledger has room for a release of this plan."""
    console.print()
    if not plan.ledger_path.exists():
        if left := _left_behind(plan):
            _say(console, ledger_words.missing(plan.ledger_path, left))
        else:
            console.print(f"There is no ledger yet: tapveil ledger start {plan_file} --epsilon ... --delta ...")
        return
    refusal = _refusal(plan)
    says = f"would say: {refusal}" if refusal else "has room for it"
    _say(console, f"The ledger {plan.ledger_path} {says}.")
    if not refusal and (earlier := _released_before(plan)):
        which = f"{ledger_words.release(earlier[-1])} of {earlier[-1].on}"
        _say(console, f"It covers days and modes that were released before ({which}): that takes --again.")


def _left_behind(plan: Plan) -> list[str]:
    """The published folders next to the place of a ledger that is not there: they tell that there was one."""
    return [found.name for found in map(folder_of, around_ledger(plan.ledger_path)) if found.ledger]


def _refusal(plan: Plan) -> str | None:
    """Why the ledger would refuse a release of this plan into a folder here, if it would."""
    try:
        with open_ledger(plan.ledger_path) as book:
            refuse_outdated(book, Path.cwd(), paid=False)
            book.refuse(would_spend(plan), again=True)
    except LedgerError as error:
        return str(error)
    return None


def _released_before(plan: Plan) -> list[Spend]:
    """The releases of some of the plan's days and modes, where there is a ledger."""
    if not plan.ledger_path.exists():
        return []
    with open_ledger(plan.ledger_path) as book:
        return repeated(book.entries, would_spend(plan))


def show_ledger(console: Console, entries: Sequence[Entry]) -> None:
    """Entries, and for each budget what is spent on which days and modes, and what is left."""
    grid = Grid("entry", "date", "what", "data set", "unit", "covers", "status")
    appeared = {entry.id for entry in entries if isinstance(entry, Published)}
    for number, entry in enumerate(entries, start=1):
        what, of, covers, status = _entry_in_words(entry), ("", ""), "", ""
        if isinstance(entry, Spend | Budget):
            of = (entry.data_set, entry.unit)
        if isinstance(entry, Spend):
            covers = (
                ledger_words.days(entry.first_day, entry.last_day) + ", " + ", ".join(entry.modes or ("all modes",))
            )
            status = "published" if entry.id in appeared else "not finished"
        grid.add(str(number), str(entry.on), what, *of, covers, status)
    grid.show(console, left=True)
    for number, entry in enumerate(entries, start=1):
        if isinstance(entry, Budget | Accepted) and entry.reason:
            _say(console, f"Entry {number}, by {entry.by}: {entry.reason}")
    for account in accounts(entries):
        _show_account(console, account)


def _entry_in_words(entry: Entry) -> str:
    match entry:
        case Spend():
            return f"release {ledger_words.release(entry)}"
        case Budget():
            return f"budget {loss_in_words(entry.loss)}"
        case Published():
            return f"published {entry.id[:8]}"
        case Accepted():
            return f"accepted ledger {entry.ledger[:8]}"
        case Start():
            return f"start of ledger {entry.ledger[:8]}"


def _show_account(console: Console, account: Account) -> None:
    console.print(f"\nBudget: {budget_in_words(account.budget)}.")
    spent, places = spent_in_words(account.epsilon), account.places
    # A unit that is exchanged may leave one row and enter another: that can cost more than any row (proofs, 13).
    across = bool(places) and spent not in {spent_in_words(place.epsilon) for place in places}
    what = "Most spent" if across else SPENT[account.budget.unit]
    _say(console, f"{what}: {spent}, by exact accounting at this delta; left: {left_in_words(account)}.")
    if across:
        chosen = "; losses are added where noise was chosen from what another release showed (chosen_from)"
        moved = f"{change(account.budget.unit, 'replace')} may leave one row and enter another"
        _say(console, f"No row has all of it: {moved}{chosen if account.generations > 1 else ''}.")
    if not places:
        return
    grid = Grid("days", "modes", "releases", "epsilon spent")
    for place in places:
        modes = ", ".join(place.modes) if place.modes else "all others" if _names_modes(account) else "all"
        amount = "-" if place.epsilon is None else decimal_text(place.epsilon, 5, ROUND_CEILING)
        grid.add(ledger_words.days(place.first_day, place.last_day), modes, str(len(place.releases)), amount)
    grid.show(console)
    for why, words in ledger_words.EVERYWHERE.items():
        counted = [spend for spend in account.spends if account.coverage.everywhere(spend) is why]
        if counted and why is not Everywhere.CARD:
            which = ", ".join(map(ledger_words.release, counted[:MOST_OF_A_KIND]))
            more = f" and {len(counted) - MOST_OF_A_KIND} more" if len(counted) > MOST_OF_A_KIND else ""
            _say(console, f"Counted for every day: {which}{more} ({words}).")


def _names_modes(account: Account) -> bool:
    return account.budget.unit == "trip" and any(spend.modes for spend in account.spends)


def show_findings(console: Console, findings: Sequence[Finding], all_well: str, notes: Sequence[str]) -> None:
    """What was found, a line each: a code, a place, a sentence."""
    shown = Counter[str]()
    for finding in findings:
        shown[finding.code] += 1
        if shown[finding.code] <= MOST_OF_A_KIND or not console.is_terminal:
            console.print(f"{finding.code}: {finding.place}: {finding.sentence}")
    for code, number in shown.items():
        if number > MOST_OF_A_KIND and console.is_terminal:
            console.print(f"{code}: {number - MOST_OF_A_KIND:,} more like these; all of them: | cat, or --json")
    for note in notes:
        _say(console, f"Note: {note}.")
    if findings:
        many = f"{len(findings)} findings" if len(findings) > 1 else "1 finding"
        console.print(f"{many}: do not rely on it.")
    else:
        _say(console, f"{all_well}.")


def show_audit(console: Console, findings: Sequence[AuditFinding], trials: int) -> None:
    """What was tried, what came of it, and what is allowed."""
    grid = Grid("tried", "table", "observed", "allowed", "")
    for finding in findings:
        grid.add(finding.check, finding.table, finding.observed, finding.allowed, "BROKEN" if finding.broken else "ok")
    grid.show(console)
    broken = sum(finding.broken for finding in findings)
    console.print("\n(wide, narrow: the plan's tables with the widest and the narrowest noise.)")
    if trials < AUDIT_TRIALS:
        console.print(f"With fewer than {AUDIT_TRIALS:,} trials only gross faults show.")
    if broken:
        console.print(f"\n{broken} of {len(findings)} bounds are broken: do not publish with this program.")
    else:
        console.print(
            f"\nAll {len(findings)} bounds hold (a sound program fails this once in {1 / MISTAKEN:,.0f} audits)."
        )
