"""`tapveil ledger` and its commands: what was spent, and what may be."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tapveil.base.errors import LedgerError, UsageError
from tapveil.base.progress import Stage, for_console
from tapveil.cli.commands.approve import Officer, public_keys, read_signing_key
from tapveil.cli.commands.verify import show
from tapveil.cli.options import Json, err, out, read_plan

if TYPE_CHECKING:
    from tapveil.internal.accuracy import Counts
    from tapveil.ledger.entry import Budget
    from tapveil.plan.model import Plan

ledger_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

LedgerFile = Annotated[Path, Option("--ledger", help="The ledger file.")]
LEDGER = Path("ledger.sqlite")
SHORT_ID = 8
"""This many digits of an id are shown, and are enough where they are of one ledger."""
OfTrips = Annotated[Path, Argument(metavar="PLAN", help="A plan of these trips.")]
BudgetEpsilon = Annotated[str, Option("--epsilon", help="The most that may ever be spent.")]
BudgetDelta = Annotated[str, Option("--delta", help="For example 1e-6; 0 if every plan uses a dictionary.")]


@ledger_app.callback()
def ledger(context: typer.Context, ledger_file: LedgerFile = LEDGER, as_json: Json = False) -> None:
    """Show the privacy budget spent and remaining."""
    from pydantic_core import to_json

    from tapveil.cli.console.ledger import show_ledger
    from tapveil.ledger.book import Ledger
    from tapveil.ledger.report import report as ledger_report

    if context.invoked_subcommand is not None:
        return
    with Ledger.open(ledger_file) as book:
        entries = book.entries
    # A bar and its results do not share a screen.
    with for_console(err).stage(Stage.ACCOUNTING), out.capture() as shown:
        report = ledger_report(entries) if as_json else None
        if report is None:
            show_ledger(out, entries)
    typer.echo(shown.get() if report is None else to_json(report, indent=2).decode() + "\n", nl=False)


@ledger_app.command("start")
def ledger_start(plan_file: OfTrips, epsilon: BudgetEpsilon, delta: BudgetDelta, approval: Officer = None) -> None:
    """Start the ledger that a plan names, and set its budget.

    The budget is for the plan's data set and unit.
    """
    from tapveil.internal.approval import appoint
    from tapveil.ledger.book import Ledger
    from tapveil.ledger.coverage import names_no_days
    from tapveil.ledger.witness import around_ledger, folder_of
    from tapveil.ledger.words import HAS_NO_DAYS, NAMES_NO_DAYS
    from tapveil.veil.spend import would_spend

    plan = read_plan(plan_file)
    budget = budget_of(plan, epsilon, delta)
    officers = public_keys(approval)
    Ledger.start(plan.ledger_path, budget.on)
    if officers:
        appoint(plan.ledger_path, officers)
        _say_officers(plan.ledger_path, officers)
    declare(plan, budget)
    if names_no_days(would_spend(plan)):
        err.print(NAMES_NO_DAYS if plan.source.can_name_days else HAS_NO_DAYS)
    with Ledger.open(plan.ledger_path) as book:
        for finding in book.findings(beside=map(folder_of, around_ledger(plan.ledger_path))):
            err.print(f"Note: {finding.sentence}. Until this is resolved, no release can be made.")


@ledger_app.command("budget")
def ledger_budget(
    plan_file: OfTrips,
    epsilon: BudgetEpsilon,
    delta: BudgetDelta,
    reason: Annotated[str | None, Option(help="Why; required for a budget that allows more than before.")] = None,
    by: Annotated[str | None, Option(help="Who decided it; required with --reason.")] = None,
) -> None:
    """Set the budget of a plan's data set and unit.

    The ledger must exist. Earlier budgets stay on record.
    """
    if (reason is None) != (by is None):
        raise UsageError("--reason and --by go together: why, and who decided it")
    plan = read_plan(plan_file)
    declare(plan, budget_of(plan, epsilon, delta, reason=reason, by=by))


@ledger_app.command("approval")
def ledger_approval(
    officer: Annotated[
        Path | None, Argument(metavar="[OFFICER.pub]", help="Public SSH keys (Ed25519), any of which approves.")
    ] = None,
    end: Annotated[bool, Option("--end", help="Require no approval any more.")] = False,
    key: Annotated[
        Path | None, Option(help="Private SSH key of the officer until now, or its .pub if the SSH agent has it.")
    ] = None,
    reason: Annotated[str | None, Option(help="Why; required for a change.")] = None,
    by: Annotated[str | None, Option(help="Who decided it; required with --reason.")] = None,
    ledger_file: LedgerFile = LEDGER,
) -> None:
    """Require a privacy officer's approval for every release.

    The first officer is set freely. Only that officer can replace or end it: with --key, --reason and --by.
    """
    from tapveil.internal.approval import appoint
    from tapveil.ledger.book import Ledger

    if (officer is None) != end:
        raise UsageError("give the public key of the officer, or --end")
    if (reason is None) != (by is None):
        raise UsageError("--reason and --by go together: why, and who decided it")
    with Ledger.open(ledger_file) as book:
        if book.history.keys and reason is None:
            raise UsageError("to change whose approval is required, state why, and who decided it: --reason … --by …")
    officers = public_keys(officer)
    appoint(ledger_file, officers, key=read_signing_key(key) if key else None, reason=reason, by=by)
    _say_officers(ledger_file, officers)


def _say_officers(path: Path, officers: list[str]) -> None:
    from tapveil.ledger.approval import fingerprint

    if not officers:
        err.print(f"In {path}: releases need no approval any more.")
        return
    whose = " or ".join(map(fingerprint, officers))
    err.print(f"In {path}: every release needs an approval signed with {whose} (tapveil approve).")


@ledger_app.command("plan")
def ledger_plan(
    plan_file: OfTrips,
    epsilon: BudgetEpsilon,
    delta: BudgetDelta,
    every: Annotated[str, Option(help="The length of a release: day, week, two-weeks, month or quarter.")] = "week",
    number: Annotated[int, Option("--for", help="The number of releases.")] = 52,
    need: Annotated[
        str | None, Option(help='The accuracy needed, such as "origin_hour within 10 % where at least 200".')
    ] = None,
    of_folder: Annotated[
        Path | None, Option("--from", help="A published folder: how accurate its counts would be. No trip is read.")
    ] = None,
    look: Annotated[
        bool, Option("--look", help="The same for the exact counts of the trips. Output is confidential.")
    ] = False,
    new_plan: Annotated[Path | None, Option("-o", help="Write the plan with this epsilon and delta.")] = None,
    keep: Annotated[bool, Option("--keep", help="Record the schedule in the ledger, which then keeps it.")] = False,
    as_json: Json = False,
) -> None:
    """Plan a schedule of releases under one budget.

    Shows what each release may spend, and how accurate its tables are.
    """
    from tapveil.base.atomic import write_new
    from tapveil.cli.console.schedule import show_folder, show_need, show_schedule
    from tapveil.internal.accuracy import Need, counts_of_folder, counts_of_trips, sources_of_folder
    from tapveil.internal.forecast import as_json as forecast
    from tapveil.internal.schedule import EVERY, Schedule
    from tapveil.ledger.book import Ledger

    if every not in EVERY:
        raise UsageError(f"--every: must be one of {', '.join(EVERY)}, not `{every}`")
    if of_folder and look:
        raise UsageError("--from and --look both say which counts are meant: give one of the two")
    plan = read_plan(plan_file)
    schedule = Schedule(plan, every, number, budget_of(plan, epsilon, delta).loss)

    def counts(of: Schedule) -> Mapping[str, Counts]:
        return counts_of_folder(of_folder, of.plan, of.days) if of_folder else counts_of_trips(of.plan, of.days)

    held = counts if of_folder or look else None
    asked = Need.read(need) if need else None
    with for_console(err).stage(Stage.ACCOUNTING), out.capture() as shown:
        if asked:
            schedule.plan_has(asked.table)
            if held and asked.table not in held(schedule):
                raise UsageError(f"--from: {of_folder} has no table `{asked.table}` in bins that make up this plan's")
            chosen = schedule.least(asked, held(schedule)[asked.table] if held else None)
        else:
            chosen = schedule.epsilon
        if as_json:
            sources = sources_of_folder(of_folder, plan) if of_folder else None
            found = forecast(schedule, chosen, held, need=asked, sources=sources, confidential=look)
            out.print(json.dumps(found, indent=2))
        elif asked:
            show_need(out, schedule, asked, chosen, confidential=look)
        else:
            show_schedule(out, schedule, held, confidential=look)
            if of_folder:
                show_folder(out, schedule, of_folder)
    typer.echo(shown.get(), nl=False)
    if chosen is None or not (new_plan or keep):
        return
    if need and not schedule.fits(chosen):
        raise UsageError(f"{number} releases with that accuracy do not fit into this budget: nothing was written")
    if keep and need and look and not (new_plan or plan.privacy.looked_at_trips):
        raise UsageError(
            "--keep: this noise follows from exact counts, and nothing that is written would say so. Write the plan as "
            "well (-o), or set looked_at_trips = true in it: nothing was written"
        )
    if need and held:
        from tapveil.published.folder import Folder

        schedule = schedule.chosen_by(Folder(of_folder).manifest if of_folder else None)
        said = "chosen_from" if of_folder else "looked_at_trips = true"
        err.print(f"Epsilon follows from these counts, and is published: the plan must say so ({said}).")
    if new_plan:
        write_new(new_plan, schedule.written(plan_file.read_text(encoding="utf-8"), chosen))
        err.print(f"Written: {new_plan}")
    if keep:
        with Ledger.open(plan.ledger_path) as book:
            book.schedule(*schedule.to_keep(chosen))
        err.print(f"In {plan.ledger_path}: a schedule of {number} releases. Others that would break it are refused.")


@ledger_app.command("accept")
def ledger_accept(
    other: Annotated[str, Argument(metavar="LEDGER_ID", help="The other ledger's ID, or its first 8 digits.")],
    reason: Annotated[str, Option(help="Why there is another ledger.")],
    by: Annotated[str, Option(help="Who decided it.")],
    ledger_file: LedgerFile = LEDGER,
) -> None:
    """Accept folders of another ledger next to this one.

    Use it if that ledger covers other trips, or was taken over by this one. It stays on record.
    """
    from tapveil.ledger.book import Ledger
    from tapveil.ledger.entry import Accepted
    from tapveil.ledger.witness import around_ledger, folder_of

    with Ledger.open(ledger_file) as book:
        around = {found.ledger for found in map(folder_of, around_ledger(ledger_file))} - {book.id, None}
        meant = [found for found in around if found and len(other) >= SHORT_ID and found.startswith(other)]
        with _option_errors():
            ledger = meant[0] if len(meant) == 1 else other
            entry = Accepted(on=datetime.now(UTC).date(), ledger=ledger, reason=reason, by=by)
        book.accept(entry)
    err.print(f"In {ledger_file}: folders of the ledger {entry.ledger} are accepted next to its own.")


@ledger_app.command("verify")
def ledger_verify(
    folders: Annotated[
        list[Path] | None,
        Argument(metavar="[DIR]...", help="Folders that must be on record. Default: those next to the ledger."),
    ] = None,
    officer: Annotated[
        Path | None, Option("--approval", help="Also check that this public SSH key approved every release.")
    ] = None,
    ledger_file: LedgerFile = LEDGER,
    as_json: Json = False,
) -> None:
    """Check that the ledger is intact and complete.

    No entry may have been changed or removed, every published folder must be on record, and every release approved
    where that was required.
    """
    from tapveil.base.findings import Finding
    from tapveil.ledger.book import Ledger
    from tapveil.ledger.witness import around_ledger, folder_of
    from tapveil.published.folder import Folder

    asked = [folder_of(Folder(folder)) for folder in folders or ()]
    try:
        with Ledger.open(ledger_file) as book:
            beside = [found for found in map(folder_of, around_ledger(ledger_file)) if found.ledger and not asked]
            findings = list(book.findings(asked, beside))
            findings += book.history.not_by(public_keys(officer)) if officer and not findings else []
            names = [found.name for found in beside]
    except LedgerError as error:
        if not ledger_file.exists():
            raise
        findings, names = [Finding("file-damaged", ledger_file.name, str(error))], []
    beside_it = f"; published folders next to it that were checked: {', '.join(names) or 'none'}"
    known = f", and records the release of {', '.join(map(str, folders))}" if folders else beside_it
    show(findings, f"{ledger_file} is intact{known}", as_json)


def budget_of(plan: Plan, epsilon: str, delta: str, *, reason: str | None = None, by: str | None = None) -> Budget:
    """A budget for a plan's data set and unit, from today on."""
    from tapveil.ledger.entry import Budget

    with _option_errors():
        whose = {"data_set": plan.ledger.data_set, **plan.privacy.model_dump(include={"unit", "neighbours"})}
        decided = {"on": datetime.now(UTC).date(), "reason": reason, "by": by}
        return Budget.model_validate({**whose, **decided, "epsilon": epsilon, "delta": delta})


@contextmanager
def _option_errors() -> Iterator[None]:
    """What is wrong with an entry, as what is wrong with the option that it was made from."""
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        option = "LEDGER_ID" if first["loc"][0] == "ledger" else f"--{first['loc'][0]}"
        words = _OPTION_WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise UsageError(f"{option}: {words}") from None


_OPTION_WORDS = {
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most 500 characters",
    "string_pattern_mismatch": (
        f"must be the 32 digits of a ledger ID, as in privacy.json, or the first {SHORT_ID} of them if a published "
        "folder next to the ledger names it"
    ),
}
"""What is wrong with an option, by the validator's code."""


def declare(plan: Plan, budget: Budget, *, quiet: bool = False) -> None:
    """Set a budget in the plan's ledger, and say so."""
    from tapveil.ledger import words
    from tapveil.ledger.accounts import over_budget
    from tapveil.ledger.book import Ledger
    from tapveil.privacy.meaning import Meaning

    with Ledger.open(plan.ledger_path) as book:
        book.declare(budget)
        if (spent := over_budget(book.entries, budget)) is not None:
            err.print(f"Note: {words.spent(spent)} at this delta is already spent: no further release fits.")
    if not quiet:
        err.print(f"In {plan.ledger_path}: {words.limit(budget)}. Keep the ledger and its backups for ever.")
        err.print(Meaning(budget.loss.epsilon, budget.loss.delta).in_words(budget.unit, budget.neighbours))
