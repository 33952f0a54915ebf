"""The command line: one thin command per library call.

Exit codes: 0 ok, 1 a check or verification failed, 2 wrong use or plan, 3 bad trip data, 4 engine, memory or disk
failed, 5 the ledger refused, 130 interrupted. Errors go to standard error; never a traceback, never a value from a
trip.

Each command imports what it needs when it runs: nobody waits for an engine to read `--help`.
"""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from typer import Argument, Option

from tapveil._version import __version__
from tapveil.base.atomic import write_new
from tapveil.base.defaults import AUDIT_TRIALS, DEMO_TRIPS, MEMORY, Format
from tapveil.base.errors import LedgerError, PlanError
from tapveil.base.progress import Reporter, Stage, for_console

if TYPE_CHECKING:
    from tapveil.base.findings import Finding
    from tapveil.ledger.entry import Budget
    from tapveil.plan.model import Plan
    from tapveil.published.folder import Folder

app = typer.Typer(
    help="Publish public-transport trips as open data under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)

PlanFile = Annotated[Path, Argument(metavar="PLAN", help="The plan, a TOML file.", readable=False)]
Memory = Annotated[str, Option(help="Most memory that counting may use; beyond it, it spills to disk.")]
Scratch = Annotated[
    Path | None, Option(help="Folder to spill to, in a subfolder of yours alone. Default: the system's.")
]
Json = Annotated[bool, Option("--json", help="For a program to read.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress, only the result.")]
Hushed = Annotated[bool, Option("--quiet", "-q", help="Say nothing unless something is wrong.")]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"tapveil {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Publish public-transport trips as open data under differential privacy."""


@app.command()
def demo(
    folder: Annotated[Path, Argument(metavar="[DIR]", help="A new folder for the city and its release.")] = Path(
        "tapveil-demo"
    ),
    trips: Annotated[int, Option(help="How many trips to make up.")] = DEMO_TRIPS,
    seed: Annotated[int, Option(min=0, help="Same seed, same city. The noise is never seeded.")] = 1,
    file_format: Annotated[
        Format | None, Option("--format", help="Of the trips. Default: csv up to 5 million trips, then parquet.")
    ] = None,
    gtfs: Annotated[
        Path | None, Option(help="Lay the city on this timetable, and release it with the timetable as its dictionary.")
    ] = None,
    memory: Memory = MEMORY,
    quiet: Hushed = False,
) -> None:
    """Make up a city, release it: the five-minute tour."""
    from tapveil.demo import city as demo_city
    from tapveil.demo import ridership
    from tapveil.ledger.book import start as start_ledger
    from tapveil.plan.model import Plan
    from tapveil.veil.release import release as release_folder

    progress = for_console(err, quiet=quiet, every_step=True)
    if gtfs is not None:
        plan_path = ridership.make_rides(folder, gtfs, trips=trips, seed=seed, progress=progress)
        city, budget = f"Made-up rides on {gtfs.name}", ridership.BUDGET
    else:
        plan_path = demo_city.make_city(folder, trips=trips, seed=seed, file_format=file_format, progress=progress)
        city, budget = "Port Vesper, a made-up city", demo_city.BUDGET
    if not quiet:
        out.print(f"{city}: {trips:,} trips and {plan_path.name} in {folder}\n")
    plan = Plan.read(plan_path)
    start_ledger(plan.ledger_path, datetime.now(UTC).date())
    _declare(plan, _budget(plan, *budget), quiet=True)  # the summary says it
    published = release_folder(plan, folder / "published", memory=memory, progress=progress)
    if not quiet:
        _close(plan, published, plan_path, progress)


@app.command()
def plan(
    preset: Annotated[str, Argument(help="Which plan: opal, or od (from where to where).")],
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file instead of the screen.")] = None,
) -> None:
    """Write a commented plan to start from."""
    from tapveil.plan.model import preset_text

    text = preset_text(preset)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_new(output, text)
    err.print(f"Wrote {output}. Change its [source] part to fit your files, then: tapveil check {output}")


@app.command()
def init(
    trips: Annotated[str, Argument(metavar="TRIPS", help="A file of trips or taps, a folder, or a pattern.")],
    output: Annotated[Path, Option("--output", "-o", help="The plan to write; it must not exist yet.")] = Path(
        "plan.toml"
    ),
    gtfs: Annotated[
        Path | None, Option(help="The timetable: a zip file or a folder. Default: one beside the trips.")
    ] = None,
    no_look: Annotated[
        bool, Option("--no-look", help="Read no trip: only column names and types, file names and public files decide.")
    ] = False,
    memory: Memory = MEMORY,
    scratch: Scratch = None,
    quiet: Quiet = False,
) -> None:
    """Look at an export, write a commented plan for it. Asks nothing, shows no value of a trip."""
    from tapveil.cli.console.draft import show_draft
    from tapveil.internal import draft as drafting

    if output.exists():
        raise PlanError(f"{output} already exists; choose another name")
    if not output.resolve().parent.is_dir():
        raise PlanError(f"there is no folder {output.parent} to put {output.name} in")
    progress = for_console(err, quiet=quiet)
    drafted = drafting.draft(
        trips, output, gtfs=gtfs, look=not no_look, memory=memory, scratch=scratch, progress=progress
    )
    write_new(output, drafted.text)
    show_draft(out, drafted.found, drafted.remarks)
    out.print(f"\nWrote {output}. Read it through, then: tapveil check {output}")


@app.command()
def check(
    plan_file: PlanFile,
    plan_only: Annotated[bool, Option("--plan-only", help="Do not look at the trips.")] = False,
    compare: Annotated[
        bool, Option("--compare", help="What each mechanism, unit and epsilon would leave of the trips instead.")
    ] = False,
    plot: Annotated[
        Path | None, Option(help="With --compare: also draw it, as an SVG file that only you may read.")
    ] = None,
    as_json: Json = False,
    memory: Memory = MEMORY,
    scratch: Scratch = None,
    quiet: Quiet = False,
) -> None:
    """Is the plan sound, what would it cost, what would survive. Publishes nothing; what it shows is internal."""
    from tapveil.cli.console.cost import show_cost
    from tapveil.cli.console.outlook import show_outlook, show_verdict
    from tapveil.cli.console.room import show_room
    from tapveil.internal import outlook as checking
    from tapveil.veil import statement

    if compare and plan_only:
        raise PlanError("--compare looks at the trips: leave out --plan-only")
    if plot and not compare:
        raise PlanError("--plot draws a comparison: give --compare as well")
    progress = for_console(err, quiet=quiet)
    plan = _read_plan(plan_file, progress)
    checking.read_public_files(plan)
    if compare:
        _compare(plan, plot, as_json, memory, scratch, progress)
        return
    if not as_json:
        show_cost(out, plan)
        show_room(out, plan, plan_file)
    outlook = None
    if not plan_only:
        outlook = checking.outlook(plan, memory=memory, scratch=scratch, progress=progress)
    if as_json:
        typer.echo(json.dumps({"cost": statement.cost(plan), "data": outlook and outlook.as_json()}, indent=2))
    elif outlook:
        show_outlook(out, plan, outlook)
        show_verdict(out, plan, plan_file, outlook)
    if outlook and outlook.stops:
        raise typer.Exit(1)


def _compare(
    plan: Plan, plot: Path | None, as_json: bool, memory: str, scratch: Path | None, progress: Reporter
) -> None:
    """The plan's point among others."""
    from tapveil.internal.comparison import compare as comparing
    from tapveil.internal.comparison import screen as comparison_screen
    from tapveil.internal.comparison.plot import write_plot
    from tapveil.internal.confidential import NOTICE, check_destination

    if plot:
        check_destination(plot, ".svg")
    found = comparing.compare(plan, memory=memory, scratch=scratch, progress=progress)
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=2))
    else:
        comparison_screen.show(out, found)
    if plot:
        write_plot(plot, found)
        err.print(f"Drawn in {plot}. {NOTICE} Do not publish it.")


@app.command()
def report(
    plan_file: PlanFile,
    output: Annotated[
        Path, Option("--output", "-o", help="The report, a new HTML file that only you may read.")
    ] = Path("report.html"),
    folder: Annotated[
        Path | None, Option("--release", help="A folder that this plan published: hold it against the truth.")
    ] = None,
    memory: Memory = MEMORY,
    scratch: Scratch = None,
    quiet: Quiet = False,
) -> None:
    """The holder's report, for deciding: what is lost where, how far numbers are off, what would pay. Internal."""
    from tapveil.internal.confidential import NOTICE, check_destination, write_internal
    from tapveil.internal.report.model.findings import findings as report_findings
    from tapveil.internal.report.view.page import html as report_page

    check_destination(output, ".html")
    progress = for_console(err, quiet=quiet)
    plan = _read_plan(plan_file, progress)
    found = report_findings(plan, folder=folder, memory=memory, scratch=scratch, progress=progress)
    write_internal(output, report_page(found), ".html")
    err.print(f"Wrote {output}. {NOTICE} Do not publish it. Open it in a browser.")
    if found.outlook.stops:
        raise typer.Exit(1)


@app.command()
def tune(
    folder: Annotated[Path, Option("--from", help="A published folder: nothing else is looked at.")],
    plan_file: Annotated[
        Path | None, Option("--plan", help="The plan of that folder, to be rewritten for the next one.")
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="With --plan: the plan to write; it must not exist yet.")
    ] = None,
    keep_mechanism: Annotated[
        bool, Option("--keep-mechanism", help="Choose the weights alone, and leave the mechanism as it is.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose weights and mechanism for the next release from a published folder alone: costs no privacy."""
    from tapveil.internal.next_plan import tuned_plan_text
    from tapveil.plan import toml
    from tapveil.tuning import tune as tuning

    if (plan_file is None) != (output is None):
        raise PlanError("--plan and --output belong together: the plan as it is, and the one to write")
    if output and output.exists():
        raise PlanError(f"{output} already exists; choose another name")
    text = toml.read_text(plan_file) if plan_file else None
    tuned = tuning.tune(folder, keep_mechanism=keep_mechanism, progress=for_console(err, quiet=quiet))
    if text is not None and output:
        write_new(output, tuned_plan_text(text, tuned))
    if as_json:
        typer.echo(json.dumps(tuned.as_json(), indent=2))
    else:
        for line in tuned.lines():
            out.print(line)
    if output:
        kept = "" if tuned.improves else ": the same noise, with chosen_from"
        err.print(f"Wrote {output}{kept}. Read it through, then: tapveil check {output}")
        err.print("The ledger adds its releases to those of other plans: it was chosen from what a release showed.")


@app.command()
def release(
    plan_file: PlanFile,
    output: Annotated[Path, Option("--output", "-o", help="The folder to publish; it must not exist yet.")],
    resume: Annotated[
        bool, Option("--resume", help="Finish a release that was cut short: same numbers, no further cost.")
    ] = False,
    again: Annotated[
        bool, Option("--again", help="Release days and modes that were released before: the budget is charged again.")
    ] = False,
    sign: Annotated[Path | None, Option(help="Sign the folder with this private SSH key (Ed25519).")] = None,
    no_ledger: Annotated[
        bool, Option("--no-ledger", help="Spend without writing it down anywhere: for made-up trips only.")
    ] = False,
    memory: Memory = MEMORY,
    scratch: Scratch = None,
    quiet: Hushed = False,
) -> None:
    """Spend the budget, publish the folder."""
    from tapveil.veil.release import release as release_folder

    progress = for_console(err, quiet=quiet, every_step=True)
    plan = _read_plan(plan_file, progress)
    key = None
    if sign:
        from tapveil.published.signature import read_key

        ask = partial(getpass.getpass, "Passphrase of the key: ") if sys.stdin.isatty() else None
        key = read_key(sign, ask)
    published = release_folder(
        plan,
        output,
        in_ledger=not no_ledger,
        resume=resume,
        again=again,
        key=key,
        memory=memory,
        scratch=scratch,
        progress=progress,
    )
    if not quiet:
        _close(plan, published, plan_file, progress, in_ledger=not no_ledger)


def _close(plan: Plan, published: Folder, plan_file: Path, progress: Reporter, *, in_ledger: bool = True) -> None:
    """The closing words of a release."""
    try:
        from tapveil.cli.summary import closing_lines

        with progress.stage(Stage.ADDING_UP_BUDGET):
            first, *rest = closing_lines(plan, published, plan_file, in_ledger=in_ledger)
        out.print(first, style="bold")
        for line in rest:
            out.print(line)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt):
        # The folder is there: a screen that fails must not look like a release that failed, which would be run again.
        with suppress(Exception):
            err.print(f"tapveil: published {published.path}, but the summary could not be shown")
        os._exit(0)


@app.command()
def audit(
    plan_file: Annotated[
        Path | None, Argument(metavar="[PLAN]", help="The plan to attack. Default: the opal preset.")
    ] = None,
    trials: Annotated[int, Option(min=1000, max=1_000_000, help="Equal cells per experiment.")] = AUDIT_TRIALS,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Attack the program as built, on made-up trips: is what it promises true? Reads none of your trips."""
    from tapveil.cli.console.audit import show_audit
    from tapveil.internal.audit import attack as auditing
    from tapveil.plan.model import Plan

    progress = for_console(err, quiet=quiet)
    attacked = _read_plan(plan_file, progress) if plan_file else Plan.preset("opal")
    findings = auditing.audit(attacked, trials=trials, progress=progress)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        show_audit(out, findings, trials)
    if any(finding.broken for finding in findings):
        raise typer.Exit(1)


ledger_app = typer.Typer(
    help="Show the privacy budget spent and remaining.", invoke_without_command=True, rich_markup_mode=None
)
app.add_typer(ledger_app, name="ledger")

LedgerFile = Annotated[Path, Option("--ledger", help="The file of the ledger.")]
LEDGER = Path("ledger.sqlite")
SHORT_ID = 8
"""So many digits of an id are shown, and are enough where they are of one ledger."""


@ledger_app.callback()
def ledger(context: typer.Context, ledger_file: LedgerFile = LEDGER, as_json: Json = False) -> None:
    """Show the privacy budget spent and remaining."""
    from tapveil.cli.console.ledger import show_ledger
    from tapveil.ledger.accounts import report as ledger_report
    from tapveil.ledger.book import open_ledger

    if context.invoked_subcommand is not None:
        return
    with open_ledger(ledger_file) as book:
        entries = book.entries
    with (
        for_console(err).stage(Stage.ACCOUNTING),
        out.capture() as shown,
    ):  # a bar and its results do not share a screen
        report = ledger_report(entries) if as_json else None
        if report is None:
            show_ledger(out, entries)
    typer.echo(shown.get() if report is None else json.dumps(report, indent=2, ensure_ascii=False) + "\n", nl=False)


Plan_ = Annotated[Path, Argument(metavar="PLAN", help="A plan of these trips.")]
BudgetEpsilon = Annotated[str, Option("--epsilon", help="All that may ever be spent.")]
BudgetDelta = Annotated[str, Option("--delta", help="For example 1e-6; 0 for dictionaries alone.")]


@ledger_app.command("start")
def ledger_start(plan_file: Plan_, epsilon: BudgetEpsilon, delta: BudgetDelta) -> None:
    """Start the ledger that a plan names, with a budget for the plan's data set and unit."""
    from tapveil.ledger.book import open_ledger
    from tapveil.ledger.book import start as start_ledger
    from tapveil.ledger.coverage import names_no_days
    from tapveil.ledger.witness import around_ledger, folder_of
    from tapveil.ledger.words import NAMES_NO_DAYS
    from tapveil.veil.spend import would_spend

    plan = _read_plan(plan_file)
    budget = _budget(plan, epsilon, delta)
    start_ledger(plan.ledger_path, budget.on)
    _declare(plan, budget)
    if names_no_days(would_spend(plan)):
        err.print(NAMES_NO_DAYS)
    with open_ledger(plan.ledger_path) as book:
        for finding in book.findings(beside=map(folder_of, around_ledger(plan.ledger_path))):
            err.print(f"Note: {finding.sentence}. Until then, no release is made.")


@ledger_app.command("budget")
def ledger_budget(
    plan_file: Plan_,
    epsilon: BudgetEpsilon,
    delta: BudgetDelta,
    reason: Annotated[str | None, Option(help="Why; required for a budget that allows more than before.")] = None,
    by: Annotated[str | None, Option(help="Who decided it; required with --reason.")] = None,
) -> None:
    """Set the budget of the plan's data set and unit in an existing ledger. Earlier budgets stay on record."""
    if (reason is None) != (by is None):
        raise PlanError("--reason and --by belong together: why, and who decided it")
    plan = _read_plan(plan_file)
    _declare(plan, _budget(plan, epsilon, delta, reason=reason, by=by))


@ledger_app.command("accept")
def ledger_accept(
    other: Annotated[str, Argument(metavar="LEDGER_ID", help="The other ledger's id, or its first 8 digits.")],
    reason: Annotated[str, Option(help="Why there is another ledger.")],
    by: Annotated[str, Option(help="Who decided it.")],
    ledger_file: LedgerFile = LEDGER,
) -> None:
    """Accept folders of another ledger next to yours: it is of other trips, or was taken over. Stays on record."""
    from tapveil.ledger.book import open_ledger
    from tapveil.ledger.entry import Accepted
    from tapveil.ledger.witness import around_ledger, folder_of

    with open_ledger(ledger_file) as book:
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
        Argument(
            metavar="[DIR]...",
            help="Published folders whose releases must be in the ledger. Default: those next to the ledger.",
        ),
    ] = None,
    ledger_file: LedgerFile = LEDGER,
    as_json: Json = False,
) -> None:
    """Check that the ledger is intact: no entry changed or removed, and none missing that a published folder names."""
    from tapveil.base.findings import Finding
    from tapveil.ledger.book import open_ledger
    from tapveil.ledger.witness import around_ledger, folder_of
    from tapveil.published.folder import Folder

    asked = [folder_of(Folder(folder)) for folder in folders or ()]
    try:
        with open_ledger(ledger_file) as book:
            beside = [found for found in map(folder_of, around_ledger(ledger_file)) if found.ledger and not asked]
            findings = list(book.findings(asked, beside))
            names = [found.name for found in beside]
    except LedgerError as error:
        if not ledger_file.exists():
            raise
        findings, names = [Finding("file-damaged", ledger_file.name, str(error))], []
    beside_it = f"; looked at the published folders next to it: {', '.join(names) or 'none'}"
    known = f", and holds the release of {', '.join(map(str, folders))}" if folders else beside_it
    _report(findings, f"{ledger_file} is intact{known}", as_json)


def _budget(plan: Plan, epsilon: str, delta: str, *, reason: str | None = None, by: str | None = None) -> Budget:
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
        raise PlanError(
            f"{option}: {_OPTION_WORDS.get(first['type'], first['msg'].removeprefix('Value error, '))}"
        ) from None


_OPTION_WORDS = {
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most 500 characters",
    "string_pattern_mismatch": (
        f"must be the 32 digits of its id, as a message or privacy.json has it, or the first {SHORT_ID} of them if a "
        "published folder next to the ledger names it"
    ),
}
"""What is wrong with an option, by the validator's code."""


def _declare(plan: Plan, budget: Budget, *, quiet: bool = False) -> None:
    from tapveil.cli.summary import budget_in_words, spent_in_words
    from tapveil.ledger.accounts import over_budget
    from tapveil.ledger.book import open_ledger

    with open_ledger(plan.ledger_path) as book:
        book.declare(budget)
        if (spent := over_budget(book.entries, budget)) is not None:
            err.print(f"Note: {spent_in_words(spent)} at this delta is spent already: nothing more fits.")
    if not quiet:
        err.print(f"In {plan.ledger_path}: {budget_in_words(budget)}. Keep the ledger, and its backups, for ever.")


@app.command()
def verify(
    path: Annotated[Path, Argument(metavar="DIR|FILE.csv", help="A published folder, or one CSV file.")],
    signers: Annotated[
        Path | None,
        Option(help="A file of allowed signers, as ssh-keygen has it: the folder must be signed by one of them."),
    ] = None,
    epsilon: Annotated[str | None, Option(help="For a CSV file: the epsilon that its table is said to have.")] = None,
    delta: Annotated[str | None, Option(help="For a CSV file: the delta that its table is said to have.")] = None,
    as_json: Json = False,
    quiet: Hushed = False,
) -> None:
    """Anyone: is this folder whole, and does it keep its word. Needs nothing but the folder."""
    from tapveil.verification.file import verify_file
    from tapveil.verification.folder import verify_folder

    progress = for_console(err, quiet=quiet)
    if path.is_dir():
        if epsilon or delta:
            raise PlanError("--epsilon and --delta are for a single CSV file; a folder states its own")
        checked = verify_folder(path, signers=signers, progress=progress)
        _report(checked.findings, f"{path} verified: {checked.summary}", as_json, checked.notes, quiet=quiet)
        return
    if not path.exists():
        raise PlanError(f"there is no {path}")
    if signers or not epsilon or not delta:
        raise PlanError(f"{path} is not a folder; for one CSV file give --epsilon and --delta, and no --signers")
    single = verify_file(path, epsilon, delta, progress=progress)
    _report(single.findings, f"{path}: {single.summary}", as_json, single.notes, quiet=quiet)


def _report(
    findings: Sequence[Finding], all_well: str, as_json: bool, notes: Sequence[str] = (), *, quiet: bool = False
) -> None:
    """All findings, or that there are none; exit 1 if there are."""
    from tapveil.cli.console.findings import show_findings

    if as_json:
        result = {"findings": [asdict(each) for each in findings], "notes": list(notes)}
        typer.echo(json.dumps(result | ({} if findings else {"summary": all_well}), indent=2, ensure_ascii=False))
    elif findings or not quiet:
        show_findings(out, findings, all_well, notes)
    if findings:
        raise typer.Exit(1)


def _read_plan(path: Path, progress: Reporter | None = None) -> Plan:
    from tapveil.plan.model import Plan

    with (progress or for_console(err)).stage(Stage.READING_PLAN):
        plan = Plan.read(path)
        if plan.source.engine == "duckdb":
            _leave_pandas_out()
        return plan


def _leave_pandas_out() -> None:
    """PyArrow loads pandas, where there is one, to see whether a list is a pandas one: 13 % of the CPU of a `check`.

    It looks for it once, and then knows. Only a command does this: who uses tapveil from Python may want pandas.
    """
    import pyarrow as pa

    class NoPandas:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "pandas":
                raise ModuleNotFoundError(name=name)

    finder = NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
