"""What an officer sees before they approve, and whether a release is approved, in words."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rich.console import Console

from tapveil.base.text_table import Grid
from tapveil.cli.console.ledger import entry_in_words
from tapveil.cli.console.text import head, say
from tapveil.internal.approval import Request, Standing
from tapveil.internal.plan_in_words import in_words
from tapveil.ledger import words as ledger_words
from tapveil.ledger.accounts import accounts
from tapveil.ledger.approval import Statement
from tapveil.ledger.difference import Difference
from tapveil.published.describe.wording import rounded_up
from tapveil.veil.spend import would_spend

SHORT = 16
"""This many digits of a SHA-256 are shown where it can be compared with another."""
KINDS = {
    "promise": "the promise",
    "plan": "the plan",
    "file": "public file",
    "period": "the routine",
    "program": "the program",
}


def visible(text: str) -> str:
    """A text with whatever a terminal would act upon, or would not show, as an escape: nobody hides a change by it.

    >>> visible("Harbour\\x1b[2K \\u202eferries")
    'Harbour\\\\x1b[2K \\\\u202eferries'
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def show_request(console: Console, request: Request, statement: Statement, room: str) -> None:
    """What is approved: the promise, what it spends, and what is different from the last time."""
    for line in in_words(request.plan):
        say(console, visible(line))
    head(console, "What a release would spend")
    for line in _spent(request):
        say(console, visible(line))
    for line in room.split("\n"):
        say(console, visible(line))
    head(console, "Public files")
    grid = Grid("file", "SHA-256")
    for role, digest in statement.files.items():
        grid.add(visible(role), digest)
    grid.show(console, left=True) if statement.files else say(console, "None: the plan reads the trips alone.")
    head(console, "What changed since the last approval")
    for line in _changed(request, statement):
        say(console, visible(line))
    head(console, "What you approve")
    for line in terms(statement):
        say(console, visible(line))


def _spent(request: Request) -> Iterator[str]:
    """Which days and modes it covers, and what is spent in all without and with it."""
    spend = would_spend(request.plan)
    modes = ", ".join(spend.modes or ("all modes",))
    first = "The first period: " if request.template is not None else ""
    yield f"{first}{ledger_words.days(spend.first_day, spend.last_day)}, {modes}, unit {spend.unit}."
    now, then = (accounts([*request.history.entries, *more]) for more in ((), (spend,)))
    for before, after in zip(now, then, strict=True):
        if before.budget.data_set == spend.data_set:
            yield f"Budget: {ledger_words.limit(before.budget)}."
            yield f"Spent: {ledger_words.spent(before.epsilon)}; with this release {ledger_words.spent(after.epsilon)}."


def _changed(request: Request, statement: Statement) -> Iterator[str]:
    last, found = request.last, request.changes(statement)
    if last is None:
        yield f"This is the first approval for `{request.plan.ledger.data_set}`."
    else:
        who = f" by {last.by}" if last.by else ""
        yield f"The last one was given on {last.on}{who}, for plan {last.plan_sha256[:SHORT]}."
        yield from map(difference_in_words, found)
        if not found:
            yield "Nothing: the same plan, the same public files, the same program."
    number = len(request.history.entries) - len(request.since)
    for entry in request.since if last else ():
        number += 1
        yield f"Since then in the ledger, entry {number} of {entry.on}: {entry_in_words(entry)}"
    for number, spend, refused in request.history.unapproved():
        yield f"Warning: entry {number}, {ledger_words.release(spend)}, was not approved ({refused.reason})."


def difference_in_words(one: Difference) -> str:
    """What one key or file was, and what it is."""
    kind = KINDS[one.what]
    if one.what == "file":
        before, after = (each and each[:SHORT] for each in (one.before, one.after))
    else:
        before, after = one.before, one.after
    if before is None:
        return f"{kind}: {one.name} is new: {after}"
    if after is None:
        return f"{kind}: {one.name} is gone; it was {before}"
    return f"{kind}: {one.name} is {after}; it was {before}"


def terms(statement: Statement) -> Iterator[str]:
    """For how many releases, until when, of which plan."""
    loss = f"epsilon {rounded_up(Fraction(statement.epsilon))}, delta {rounded_up(Fraction(statement.delta))}"
    what = "One release" if statement.releases == 1 else f"Up to {statement.releases} releases"
    if statement.template is not None:
        what += f" by routine, one for each {statement.every}"
    each = " each" if statement.releases > 1 else ""
    yield f"{what} of plan {statement.plan_sha256[:SHORT]} with {loss}{each}, begun by {statement.until}."
    yield f"In the ledger {statement.ledger}, with tapveil {statement.tapveil}."
    if statement.again:
        yield "Days that were published before may be published again."


def standing_in_words(standing: Standing) -> str:
    """Whether a release is approved, for `check`."""
    if not standing.needed:
        return ""
    if standing.refused:
        return f"It needs an approval, and would be refused: {ledger_words.not_approved(standing.refused)}."
    stated = standing.statement
    who = f" by {stated.by}" if stated and stated.by else ""
    return f"Approved on {stated.on}{who}, until {stated.until}." if stated else ""
