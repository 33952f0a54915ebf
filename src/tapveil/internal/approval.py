"""Two people: what a privacy officer is asked to approve, what changed since the last time, and their signature.

All of it is data; `cli.console.approval` and the studio put it into words. Nothing here reads a trip.
"""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tapveil.base import atomic
from tapveil.base.errors import ApprovalError, LedgerError, PlanError, UsageError
from tapveil.base.span import Every, Span
from tapveil.inputs.public import PublicInputs
from tapveil.ledger import difference, words
from tapveil.ledger.approval import ENDING, Approval, History, Reason, Refused, Statement, fingerprint, read_approval
from tapveil.ledger.book import Ledger
from tapveil.ledger.difference import Difference
from tapveil.ledger.entry import Entry, Officers
from tapveil.plan import toml
from tapveil.plan.model import Plan
from tapveil.veil import approval as approving
from tapveil.veil.approval import VARIES, Terms, meaning
from tapveil.veil.preconditions import sound_statement
from tapveil.veil.spend import spend_of

if TYPE_CHECKING:
    from tapveil.published.signature import SigningKey

DAYS_VALID = 30
"""For how many days an approval is valid, unless it says otherwise."""


@dataclass(frozen=True, eq=False)
class Request:
    """A plan, or a routine, that an officer is asked to approve, with the ledger that would record its releases."""

    path: Path
    """Of the plan or the routine: the approval is written next to it."""
    plan: Plan
    """Of a routine, that of its first period."""
    history: History
    every: Every | None = None
    template: str | None = None

    @cached_property
    def inputs(self) -> PublicInputs:
        """The public files of the plan, as they are now."""
        return PublicInputs.of(self.plan)

    def statement(
        self,
        *,
        today: date | None = None,
        until: date | None = None,
        releases: int = 1,
        again: bool = False,
        by: str | None = None,
        comment: str | None = None,
    ) -> Statement:
        """What would be signed; UsageError for terms that cannot be, PlanError for a plan that cannot be published."""
        on = today or _today()
        until = until or on + timedelta(days=DAYS_VALID)
        if until < on:
            raise UsageError(f"--until: {until} is before {on}")
        if self.template is None and releases != 1:
            raise UsageError("--releases: a plan is approved for one release; for several, approve its routine")
        if self.template is not None and again:
            raise UsageError("--again: a routine publishes each period once")
        sound_statement(self.inputs, on)
        terms = Terms(secrets.token_hex(16), on, until, releases, again, self.every, self.template, by, comment)
        try:
            return approving.statement_of(self.inputs, self.history, terms)
        except ValidationError as error:
            option = error.errors()[0]["loc"] or ("plan",)
            raise UsageError(f"--{option[0]}: {error.errors()[0]['msg']}") from None

    @cached_property
    def last(self) -> Statement | None:
        """The latest approval of this data set: of this plan, if it was not used yet, or else in the ledger."""
        found = [each for each in self.history.approvals.values() if each.key]
        beside = read_approval(self.path)
        if beside and beside.key and not (self.history.keys and beside.signed_by(self.history.keys)):
            found.append(beside)
        ours = [each.statement for each in found if each.statement.data_set == self.plan.ledger.data_set]
        return ours[-1] if ours else None

    def changes(self, statement: Statement) -> list[Difference]:
        """What differs from the latest approval; nothing if there is none."""
        return list(difference.of_statements(self.last, statement)) if self.last else []

    @property
    def since(self) -> Sequence[Entry]:
        """What was written in the ledger since the latest approval was given, or all of it."""
        hashes = list(self.history.hashes)
        start = hashes.index(self.last.head) + 1 if self.last and self.last.head in hashes else 0
        return self.history.entries[start:]


def request_of(path: Path) -> Request:
    """A plan or a routine to approve; UsageError if the ledger was not started yet."""
    from tapveil.internal.routine import read_routine  # which can release: this cannot

    every, template, plan_path = None, None, path
    if _is_routine(path):
        routine = read_routine(path)
        every, plan_path = routine.every, path.parent / routine.plan
        template = toml.read_text(plan_path)
        span = Span(every, routine.first_day)
        plan = _filled(template, span, plan_path)
        _refuse_other_promises(plan, template, span, plan_path)
    else:
        plan = Plan.read(path)
    if not plan.ledger_path.is_file():
        raise UsageError(f"an approval is for one ledger, and {plan.ledger_path} is not there: tapveil ledger start")
    with Ledger.open(plan.ledger_path) as ledger:
        return Request(path, plan, ledger.history, every, template)


def _is_routine(path: Path) -> bool:
    """Whether a file is a routine; a plan with gaps is none, and often no TOML."""
    try:
        data = tomllib.loads(toml.read_text(path))
    except tomllib.TOMLDecodeError:
        return False
    return "run" in data or {"plan", "every"} <= set(data)


def _filled(template: str, span: Span, path: Path) -> Plan:
    return Plan.parse(span.filled(template, path.name), where=path.name, base=path.parent)


def _refuse_other_promises(first: Plan, template: str, span: Span, path: Path) -> None:
    """PlanError if plans of later periods promise something else: nobody could approve them ahead."""
    later = Span(span.every, _a_period_after(span))
    for each in (span.next, later):
        changed = difference.of_plans(meaning(first), meaning(_filled(template, each, path)))
        if other := [one.name for one in changed if one.name not in VARIES]:
            raise PlanError(
                f"{path.name}: {', '.join(other)} differs from period to period, so a routine with it cannot be "
                "approved ahead: approve the plan of each period"
            )


def _a_period_after(span: Span) -> date:
    """The first day of a period of another year, quarter and month."""
    day = span
    while (day.first_day - span.first_day).days < 500:
        day = day.next
    return day.first_day


def approve(path: Path, statement: Statement, key: SigningKey, officers: Collection[str] = ()) -> Approval:
    """Sign a statement and write it next to the plan or routine; ApprovalError if the key is not the officer's."""
    from tapveil.published.signature import APPROVAL

    approval = Approval(statement.text, key.sign(statement.text.encode(), APPROVAL))
    if refused := approval.signed_by(officers or [key.public.line]):
        raise ApprovalError(words.not_approved(refused), refused.reason)
    beside = path.with_suffix(ENDING)
    for file, text in ((beside, approval.text), (beside.with_name(f"{beside.name}.sig"), approval.signature)):
        try:
            atomic.write_whole(file, lambda aside, text=text: aside.write_text(text, encoding="utf-8", newline=""))  # type: ignore[misc]
        except OSError as error:
            raise UsageError(f"{file} cannot be written: {error.strerror}") from None
    return approval


@dataclass(frozen=True)
class Standing:
    """Whether a release of a plan would be approved now."""

    officers: tuple[str, ...]
    """Fingerprints of the keys that may approve; none if no approval is needed."""
    statement: Statement | None = None
    """What was approved, if that can be read."""
    refused: Refused | None = None
    """Why a release would be refused; None if it is approved, or need not be."""

    @property
    def needed(self) -> bool:
        return bool(self.officers)

    @property
    def as_json(self) -> dict[str, Any]:
        """What `tapveil check --json` prints, and the studio shows."""
        return {
            "required": self.needed,
            "approved": self.needed and self.refused is None,
            "code": self.refused.reason if self.refused else None,
            "refused": words.not_approved(self.refused) if self.refused else None,
            "officers": list(self.officers),
            "by": self.statement.by if self.statement else None,
            "until": self.statement.until.isoformat() if self.statement else None,
        }


def standing_of(plan: Plan, path: Path, also: Collection[str] = (), *, approval: Approval | None = None) -> Standing:
    """Whether a plan is approved, by the approval next to it or by another. `also`: keys that are required besides.

    Raises:
        LedgerError: The ledger cannot be trusted. Without a ledger nothing is required but `also`.
    """
    if not plan.ledger_path.is_file():
        officers = tuple(map(fingerprint, also))
        return Standing(officers, None, Refused(Reason.MISSING, officers) if also else None)
    with Ledger.open(plan.ledger_path) as ledger:
        history = ledger.history
    keys = tuple(dict.fromkeys([*history.keys, *also]))
    if not keys:
        return Standing(())
    officers, approval = tuple(map(fingerprint, keys)), approval or read_approval(path)
    try:
        stated = approval.statement if approval else None
    except ApprovalError:
        stated = None
    inputs = PublicInputs.of(plan)
    spend = spend_of(plan, "0" * 32, _today(), inputs.totals)
    return Standing(officers, stated, approving.why_not(history, approval, inputs, spend, also))


def appoint(
    ledger: Path,
    keys: Sequence[str],
    *,
    key: SigningKey | None = None,
    reason: str | None = None,
    by: str | None = None,
) -> None:
    """Require the approval of these officers from now on, or of nobody; `key` is of an officer until now.

    Raises:
        ApprovalError: The ledger has officers, and `key` is not of one of them.
    """
    from tapveil.published.signature import APPROVAL

    with Ledger.open(ledger) as book:
        history = book.history
        before = history.officers
        try:
            entry = Officers(on=_today(), keys=tuple(keys), replaces=before and before[1], reason=reason, by=by)
        except ValidationError as error:
            raise UsageError(f"--{error.errors()[0]['loc'][0]}: {error.errors()[0]['msg']}") from None
        if key and before and before[0].keys:
            entry = entry.model_copy(update={"signature": key.sign(entry.signed(history.ledger), APPROVAL)})
        if not keys and not (before and before[0].keys):
            raise LedgerError(f"{ledger.name} requires no approval")
        book.appoint(entry)


def _today() -> date:
    return datetime.now(UTC).date()
