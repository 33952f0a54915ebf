"""What `check` shows: the plan in words, its cost, the room in the ledger, what would be published, a verdict."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

from rich.console import Console

from tapveil.base.errors import LedgerError
from tapveil.base.public_total import PublicTotal
from tapveil.base.text_table import Grid
from tapveil.base.vocabulary import NOUNS
from tapveil.cli.console.ledger import show_people
from tapveil.cli.console.text import head, say, sentence, show_dots
from tapveil.inputs.public import PublicInputs
from tapveil.internal import differencing
from tapveil.internal.approval import Standing, standing_of
from tapveil.internal.bounds import Bound, bound_of
from tapveil.internal.confidential import NOTICE
from tapveil.internal.explain import dots
from tapveil.internal.outlook import DENSITY_AT, Outlook
from tapveil.internal.plan_in_words import best_attacker, in_words
from tapveil.ledger import words as ledger_words
from tapveil.ledger.book import Ledger
from tapveil.ledger.coverage import names_no_days
from tapveil.ledger.entry import Spend
from tapveil.ledger.refusals import repeated
from tapveil.ledger.witness import around_ledger, folder_of, refuse_outdated
from tapveil.plan.model import Plan
from tapveil.privacy.mechanisms import Mechanism, StabilityHistogram
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import UNIT_NAMES, change, gaussian_in_words, loss_in_words, rounded_up
from tapveil.published.manifest import ERROR_CONFIDENCE, EXAMPLE_COUNTS
from tapveil.veil.spend import would_spend
from tapveil.veil.statement import gaussian_part, people

MOST_UNUSED = 40


def _chance(p: Fraction) -> str:
    """A probability for a person: about two digits, and never a rounded 0 or 1."""
    if 0 < p < Fraction(1, 1000):
        times = float(f"{float(1 / p):.1e}")
        return f"1 in {times:,.0f}" if times < 1e6 else f"1 in {times / 1e6:,.3g} million"
    return f"{min(float(100 * p), 99.9):.1f} %" if p < 1 else "100 %"


def show_cost(console: Console, plan: Plan, spent: Mapping[str, Any]) -> None:
    """The plan in words, and what each table costs; `spent`: the cost as `statement.cost` says it."""
    for words in in_words(plan):
        say(console, words)
    head(console, "Promised: how many of 100 publications would make him believe it, if it is not so, and if it is")
    show_dots(console, dots(best_attacker(plan), compact=True))
    head(console, "Privacy cost and noise of each table")
    _show_tables(console, plan)
    for guarantee in spent["guarantees"]:
        meant = change(plan.privacy.unit, guarantee["neighbours"])
        at, delta = f"{guarantee['epsilon']:g}", rounded_up(Fraction(guarantee["delta_accounted"]))
        say(console, f"Exact accounting for {meant}: epsilon = {at}, delta at most {delta}.")
    if part := gaussian_part(plan):
        every = plan.privacy.is_world
        say(console, gaussian_in_words(plan.privacy.unit, plan.privacy.neighbours, part, every_cell=every))
    if spent["whole_cards"]:
        _show_whole_cards(console, plan, spent["whole_cards"])
    show_people(console, people(plan) or ())
    if plan.privacy.is_world:
        say(console, "Every cell of the public lists is published, whether anyone was in it or not.")
        return
    head(console, f"Probability that a cell is published, by its exact number of {NOUNS[plan.privacy.unit]}")
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
    grid = Grid("table", *shares, "scale", "95 % error bound", "threshold", "smallest published")
    for table in plan.table:
        mechanism = plan.guarantee.mechanisms[table.name]
        share = [decimal_text(plan.guarantee.weights[table.name], 6)]
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
        say(console, f"(The paper's 95 % error bound, before rounding: {each}.)")


def _show_whole_cards(console: Console, plan: Plan, cards: list[dict[str, Any]]) -> None:
    """What the guarantee for single trips means for a person with many."""
    head(console, "What this means for a whole card that is added or removed, with all its trips in different cells")
    grid = Grid("trips of the card", "epsilon", "delta", "any result up to")
    for card in cards:
        epsilon = card["epsilon"]
        likely = f"{exp(epsilon):,.0f}" if epsilon < log(1e6) else "> 1 million"
        grid.add(str(card["trips"]), f"{epsilon:.2f}", f"{card['delta']:.3g}", f"{likely} times as likely")
    grid.show(console)
    more = ' To protect cards, set unit to "card-day" or "card".' if plan.source.shape != "counts" else ""
    say(console, f"A card with several trips in one cell is protected less.{more}")


def room(plan: Plan, plan_file: Path, *, approved: bool = False) -> tuple[str, list[str]]:
    """What the ledger would say to a release of this plan into a folder here, and how to go on.

    `approved`: whether an officer asks, who is about to approve it.
    """
    from tapveil.cli.console.approval import standing_in_words  # most ledgers have no officers

    quoted, loss = shlex.quote(str(plan_file)), plan.guarantee.loss
    path, next_step = plan.ledger_path, f"Next: tapveil release {quoted} -o published"
    if plan.source.first_day is None:
        next_step += " --all-days"
    if not path.exists():
        # Published folders next to its place show that there was one.
        if left := [found.name for found in map(folder_of, around_ledger(path)) if found.ledger]:
            return ledger_words.missing(path, left), ["The ledger is missing: see above."]
        budget = f"--epsilon {rounded_up(loss.epsilon)} --delta {rounded_up(loss.delta)}"
        start = f"tapveil ledger start {quoted} {budget}"
        return f"There is no ledger yet: {start}", [f"Next: {start}", next_step]
    try:
        with Ledger.open(path) as book:
            refuse_outdated(book, Path.cwd(), paid=False)
            book.refuse(would_spend(plan), again=True)
            earlier = repeated(book.entries, would_spend(plan))
    except LedgerError as error:
        return f"The ledger {path} would say: {error}.", ["The ledger would refuse it: see above."]
    standing = Standing(()) if approved else standing_of(plan, plan_file)
    if standing.refused:
        approve = f"tapveil approve {quoted} --key KEY" + (" --again" if earlier else "")
        next_steps = [f"Next, the privacy officer: {approve}", f"{next_step}{' --again' if earlier else ''}"]
        return f"The ledger {path} has room for it.\n{standing_in_words(standing)}", next_steps
    approval = f"\n{standing_in_words(standing)}" if standing.needed else ""
    if not earlier:
        return f"The ledger {path} has room for it.{approval}", [next_step]
    which = f"{ledger_words.release(earlier[-1])} of {earlier[-1].on}"
    again = f"Some of these days and modes were released before ({which}); to release them again, add --again."
    return f"The ledger {path} has room for it.{approval}\n{again}", [f"{next_step} --again"]


def show_totals(console: Console, inputs: PublicInputs) -> None:
    """The exact totals that the plan declares, and what they tell together with those of earlier releases."""
    if not inputs.totals:
        return
    head(console, "Exact totals that are public anyway: without noise, and not covered by the guarantee")
    grid = Grid("trips", "of", "from", "to", "source")
    for total in inputs.totals:
        of = ", ".join(f"{column} {label}" for column, label in total.of.items()) or "all"
        grid.add(f"{total.trips:,}", of, *(str(day or "") for day in (total.first_day, total.last_day)), total.source)
    grid.show(console)
    for words in differencing.warnings(inputs, _earlier_totals(inputs.plan)):
        say(console, f"Warning: {words}.")


def _earlier_totals(plan: Plan) -> list[PublicTotal]:
    """Those that earlier releases of the same trips declared."""
    try:
        with Ledger.open(plan.ledger_path) as book:
            spends = [entry for entry in book.entries if isinstance(entry, Spend)]
    except LedgerError:  # which `room` says
        return []
    return [total for spend in spends if spend.data_set == plan.ledger.data_set for total in spend.totals]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_UNUSED]) + (", …" if len(names) > MOST_UNUSED else "")


def show_outlook(console: Console, plan: Plan, outlook: Outlook) -> None:
    """What would survive, from the exact counts: internal."""
    console.print(f"\n--- {NOTICE} Do not publish. ---", style="bold")
    refused = sum(outlook.refused.values())
    console.print(
        f"{outlook.rows:,} rows read, {refused:,} refused"
        + (" (file:line, or file:row in Parquet):" if refused else ".")
    )
    for reason, number in sorted(outlook.refused.items(), key=lambda item: -item[1]):
        where = ", ".join(f"{file}:{line}" for file, line in outlook.refused_at.get(reason, ()))
        console.print(f"  {number:,}  {reason}" + (f" (first at {where})" if where else ""))
    if outlook.elsewhere:
        console.print(f"{outlook.elsewhere:,} more rows have days or modes that the plan does not cover.")
    if days := outlook.found.get("date"):
        named = f"from {days[0]} to {days[-1]}" if plan.source.calendar else _listed(days)
        console.print(f"Days: {len(days):,}, {named}.")
    if modes := outlook.found.get("mode"):
        console.print(f"Modes: {_listed(modes)}.")
    if outlook.left_out:
        trips = "trip exceeds" if outlook.left_out == 1 else "trips exceed"
        console.print(f"{outlook.left_out:,} {trips} the plan's bounds per card: left out.")
    if outlook.stops:
        console.print(f"A release would stop: {outlook.stops}")
        for note in outlook.notes if outlook.alarms else ():  # some may be the reason
            console.print()
            say(console, f"{sentence(note)}.")
        return
    show_bounds(console, plan, outlook.bounds)
    head(console, "Expected to be published")
    noun = NOUNS[plan.privacy.unit]
    grid = Grid("table", "published cells", f"cells with {noun}", f"published {noun}", f"share of {noun}")
    for table in outlook.tables:
        cells = (f"{table.expected_cells:,.0f}", f"{table.cells:,}")
        grid.add(table.name, *cells, f"{table.expected_trips:,.0f}", f"{100 * table.trip_share:.1f} %")
    grid.show(console)
    head(console, f"Density: share of the cells that have at least this many {noun}")
    density = Grid("table", *(str(k) for k in DENSITY_AT), "threshold")
    for table in outlook.tables:
        shares = [*table.density.values(), table.threshold_density]
        density.add(table.name, *(f"{100 * share:.1f} %" for share in shares))
    density.show(console)
    for note in (*(f"Nearly empty: {t.advice}" for t in outlook.tables if t.advice), *outlook.notes):
        console.print()
        say(console, f"{sentence(note)}.")


def show_bounds(console: Console, plan: Plan, bounds: Sequence[Bound], *, source: str = "") -> None:
    """What each bound on the trips of a unit drops, and the noise that it adds to every cell."""
    if not bounds:
        return
    key = "trips_per_day" if plan.privacy.unit == "card-day" else "trips_per_card"
    head(console, f"What {key} drops and adds{source}")
    errors = sorted(each.error_bound(1 - ERROR_CONFIDENCE) for each in plan.guarantee.mechanisms.values())
    grid = Grid(key, "trips left out", "noise", "95 % error bound, about", "")
    for bound in bounds:
        error = " to ".join(dict.fromkeys(f"± {each * bound.noise:,.0f}" for each in (errors[0], errors[-1])))
        own = "this plan" if bound.most == bound_of(plan) else ""
        grid.add(str(bound.most), f"{100 * bound.left_out:.1f} %", f"× {bound.noise:.2f}", error, own)
    grid.show(console)


def show_verdict(console: Console, plan: Plan, outlook: Outlook, further: list[str]) -> None:
    """What it comes to, last: the rest has run off the screen by then."""
    head(console, "Summary")
    if outlook.stops:
        say(console, "A release would stop and spend nothing: see above.")
        return
    empty = sum(table.advice is not None for table in outlook.tables)
    nearly = f"{empty} of {len(outlook.tables)} tables would be nearly empty" if empty else "no table is nearly empty"
    if outlook.thin:
        nearly = f"noise hides most cells of {len(outlook.thin)} of {len(outlook.tables)} tables: see above"
    spent = f"{loss_in_words(plan.guarantee.loss)}, for {UNIT_NAMES[plan.privacy.unit]}"
    say(console, f"A release would spend {spent}; {nearly}.")
    for alarm in outlook.alarms:
        say(console, f"Probably a mistake, see above: {alarm}.")
    if not plan.privacy.looked_at_trips:
        say(console, "If you change the plan because of this output, set looked_at_trips = true under [privacy].")
    if names_no_days(would_spend(plan)):
        say(console, ledger_words.NAMES_NO_DAYS if plan.source.can_name_days else ledger_words.HAS_NO_DAYS)
    for words in further:
        say(console, words)
