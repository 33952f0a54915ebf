"""Approval: what a second person is asked to sign, what changed since the last time, and their signature.

The key of the officer never comes here: its path is named, and it is read, or asked of the SSH agent, for one
signature.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from tapveil.base.errors import LedgerError, PlanError, UsageError
from tapveil.ledger.book import Ledger
from tapveil.plan.model import Plan
from tapveil.published.signature import SigningKey, read_key, read_public_keys
from tapveil.studio.faults import ChangedError
from tapveil.studio.studio import Found, Given, Studio

if TYPE_CHECKING:
    from tapveil.internal.approval import Request


def is_required(studio: Studio, plan: Plan) -> bool:
    """Whether the ledger of a plan, or the studio itself, asks for an approval."""
    if studio.officers:
        return True
    if not plan.ledger_path.is_file():
        return False
    try:
        with Ledger.open(plan.ledger_path) as book:
            return bool(book.history.keys)
    except LedgerError:
        return False  # which the budget says


def approval(studio: Studio, given: Given) -> Found:
    """Whether a release of the plan would be approved now, and what would be signed."""
    from tapveil.internal.approval import request_of, standing_of

    project = studio.project
    plan = project.plan()
    found = standing_of(plan, project.plan_path, studio.officers).as_json
    if not plan.ledger_path.is_file():
        return {**found, "changes": [], "since": None, "statement": [], "seen": None}
    return {**found, **_asked(studio, request_of(project.plan_path))}


def _asked(studio: Studio, request: Request) -> dict[str, Any]:
    """What would be signed now, and what is other than the last time."""
    try:
        statement = request.statement()
    except (PlanError, UsageError) as error:
        return {"changes": [], "since": None, "statement": [str(error)], "seen": None}
    changes, terms = studio.screens.approval(request, statement)
    last = request.last
    since = last.on.isoformat() if last else None
    return {"changes": list(changes), "since": since, "statement": list(terms), "seen": statement.subject}


def approve(studio: Studio, given: Given) -> Found:
    """Sign, as the officer, what they saw, and nothing that took its place since: as `tapveil approve` does."""
    from tapveil.internal.approval import approve as write_approval
    from tapveil.internal.approval import request_of

    studio.said()
    path, texts = studio.project.plan_path, {key: given[key] for key in ("by", "comment") if given.get(key)}
    request = request_of(path)
    until = _day(given.get("until"))
    statement = request.statement(until=until, again=given.get("again") is True, **texts)
    if given.get("seen") != statement.subject:
        raise ChangedError("the plan, a public file or the ledger has changed since it was shown; look at it again")
    key = signing_key(studio, given.get("key"), given.get("passphrase"))
    write_approval(path, statement, key, request.history.keys or studio.officers)
    return approval(studio, given)


def require(studio: Studio, given: Given) -> Found:
    """Make every release need the signature of an officer, by the path of their public key."""
    from tapveil.internal.approval import appoint

    appoint(studio.project.plan().ledger_path, officers(studio, given.get("approval")))
    return approval(studio, given)


def officers(studio: Studio, typed: object) -> list[str]:
    """The public keys of a file, as the ledger has them."""
    path = studio.project.path(typed)
    keys = [each.line for each in read_public_keys(path)]
    if not keys:
        raise UsageError(f"{path.name} has no public key")
    return keys


def signing_key(studio: Studio, typed: object, passphrase: object) -> SigningKey:
    """A key by its path; a `.pub` is asked of the SSH agent."""
    ask = (lambda: str(passphrase)) if passphrase else None
    return read_key(studio.project.path(typed), ask)


def _day(text: object) -> date | None:
    try:
        return date.fromisoformat(str(text)) if text else None
    except ValueError:
        raise UsageError("until: must be a day such as 2025-03-01") from None
