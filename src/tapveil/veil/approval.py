"""What an officer is asked to approve, and whether a release is that: the plan, its public files and the program."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from tapveil._version import __version__
from tapveil.base.errors import ApprovalError, PlanError
from tapveil.base.span import Every, Span
from tapveil.inputs.public import PublicInputs
from tapveil.ledger import difference, words
from tapveil.ledger.approval import Approval, History, Reason, Refused, Statement
from tapveil.ledger.entry import Spend
from tapveil.plan.model import Plan

if TYPE_CHECKING:
    from tapveil.published.signature import SigningKey

VARIES = {"release.name", "release.title", "release.description"} | {
    f"source.{key}" for key in ("path", "table", "first_day", "last_day")
}
"""Keys in which the plans of one routine may differ: which trips, and what they are called. Nothing that protects."""


@dataclass(frozen=True)
class Terms:
    """For how long an officer approves, for how many releases, and what they say."""

    identity: str
    on: date
    until: date
    releases: int = 1
    again: bool = False
    every: Every | None = None
    """Of a routine: how long a period is."""
    template: str | None = None
    """Of a routine: its plan, with gaps."""
    by: str | None = None
    comment: str | None = None


def meaning(plan: Plan) -> dict[str, Any]:
    """Every key of a plan, as `Plan.digest` has them."""
    return plan.model_dump(mode="json", by_alias=True)


def files_of(inputs: PublicInputs) -> dict[str, str]:
    """SHA-256 of whatever the plan reads besides the trips, by its role."""
    shapes = {
        f"shape {name}": hashlib.sha256(shape.model_dump_json().encode()).hexdigest()
        for name, shape in inputs.shapes.items()
    }
    return {**inputs.sha256, **shapes}


def statement_of(inputs: PublicInputs, history: History, terms: Terms) -> Statement:
    """The statement that an officer signs to approve a release of this plan."""
    plan, loss = inputs.plan, inputs.plan.guarantee.loss
    return Statement(
        id=terms.identity,
        on=terms.on,
        until=terms.until,
        releases=terms.releases,
        again=terms.again,
        tapveil=__version__,
        ledger=history.ledger,
        head=history.hashes[-1],
        data_set=plan.ledger.data_set,
        unit=plan.privacy.unit,
        neighbours=plan.privacy.neighbours,
        epsilon=loss.epsilon,
        delta=loss.delta,
        plan_sha256=plan.digest,
        plan=meaning(plan),
        every=terms.every,
        template=terms.template,
        files=files_of(inputs),
        by=terms.by,
        comment=terms.comment,
    )


def refusal(statement: Statement, inputs: PublicInputs) -> Refused | None:
    """Why a statement is not about this plan, its public files and this program; None if it is."""
    plan, loss = inputs.plan, inputs.plan.guarantee.loss
    if statement.tapveil != __version__:
        return Refused(Reason.OTHER_VERSION, (statement.tapveil, __version__))
    changed = [each.name for each in difference.of_plans(statement.plan, meaning(plan))]
    if statement.template is not None:
        if not _is_of_routine(statement, plan):
            return Refused(Reason.OTHER_PERIOD)
        changed = [name for name in changed if name not in VARIES]
    if changed or (statement.epsilon, statement.delta) != (loss.epsilon, loss.delta):
        return Refused(Reason.OTHER_PLAN, tuple(changed))
    other = [each.name for each in difference.of_files(statement.files, files_of(inputs))]
    return Refused(Reason.OTHER_FILES, tuple(other)) if other else None


def _is_of_routine(statement: Statement, plan: Plan) -> bool:
    """Whether a plan is that of a period of the routine: what its gaps are filled with makes it, from the first on."""
    first = statement.plan["source"].get("first_day")
    if not (statement.every and statement.template and first and plan.source.first_day):
        return False
    span = Span(statement.every, plan.source.first_day)
    if plan.source.first_day < date.fromisoformat(first) or not span.begins_there:
        return False
    try:
        return Plan.parse(span.filled(statement.template, "the approved plan")).digest == plan.digest
    except PlanError:
        return False


def why_not(
    history: History, approval: Approval | None, inputs: PublicInputs, spend: Spend, also: Collection[str] = ()
) -> Refused | None:
    """Why a release is not approved; None if it is, or need not be. `also`: keys that are required besides."""
    if not (history.keys or also):
        return None
    # What changed is said by name, if an officer signed it: so the plan comes before what the ledger knows of it.
    signed = approval and not any(approval.signed_by(keys) for keys in (history.keys, also) if keys)
    other = refusal(approval.statement, inputs) if approval and signed else None
    return other or history.refusal(approval, spend, also)


def require(
    history: History, approval: Approval | None, inputs: PublicInputs, spend: Spend, also: Collection[str] = ()
) -> Approval | None:
    """The approval that a release is made under, None if none is needed; ApprovalError if it is not approved."""
    if refused := why_not(history, approval, inputs, spend, also):
        raise ApprovalError(words.not_approved(refused), refused.reason)
    return approval if history.keys or also else None


def refuse_own_key(keys: Collection[str], key: SigningKey | None) -> None:
    """ApprovalError if the folder would be signed with an officer's key: two people have two keys."""
    if key and key.public.line in keys:
        refused = Refused(Reason.SAME_KEY, (key.public.fingerprint,))
        raise ApprovalError(words.not_approved(refused), refused.reason)


def refuse_no_ledger(keys: Collection[str]) -> None:
    """ApprovalError for a release without its ledger, if one of these keys must approve it."""
    if keys:
        raise ApprovalError(words.not_approved(Refused(Reason.NO_LEDGER)), Reason.NO_LEDGER)
