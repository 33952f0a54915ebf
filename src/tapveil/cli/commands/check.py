"""`tapveil check` and `tapveil report`: what a plan would publish of the trips. Both are confidential."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import LedgerError, UsageError
from tapveil.base.progress import Reporter, for_console
from tapveil.cli.console.text import say
from tapveil.cli.options import Json, Memory, PlanFile, Quiet, Scratch, err, out, read_plan

if TYPE_CHECKING:
    from tapveil.plan.model import Plan


def check(
    plan_file: PlanFile,
    plan_only: Annotated[bool, Option("--plan-only", help="Do not read the trips.")] = False,
    compare: Annotated[
        bool, Option("--compare", help="Compare mechanisms, units and epsilons on your trips instead.")
    ] = False,
    plot: Annotated[Path | None, Option(help="With --compare: also draw it, as a confidential SVG file.")] = None,
    as_json: Json = False,
    memory: Memory = MEMORY,
    scratch: Scratch = None,
    quiet: Quiet = False,
) -> None:
    """Validate a plan and show its privacy cost and expected output.

    Publishes nothing and spends nothing. What it shows of the trips is confidential.
    """
    from tapveil.cli.console.check import room, show_cost, show_outlook, show_totals, show_verdict
    from tapveil.internal import outlook as checking
    from tapveil.published.people import facts_of
    from tapveil.veil import statement

    if compare and plan_only:
        raise UsageError("--compare needs the trips: leave out --plan-only")
    if plot and not compare:
        raise UsageError("--plot draws a comparison: add --compare")
    progress = for_console(err, quiet=quiet)
    plan = read_plan(plan_file, progress)
    inputs = checking.read_public_files(plan)
    if compare:
        _compare(plan, plot, as_json, memory, scratch, progress)
        return
    spent = statement.cost_in(checking.statement_of(inputs, progress))
    if not as_json:
        show_cost(out, plan, spent)
        show_totals(out, inputs)
        in_ledger, further = room(plan, plan_file)
        say(out, f"\n{in_ledger}")
    outlook = None
    if not plan_only:
        outlook = checking.outlook(plan, memory=memory, scratch=scratch, progress=progress)
    if as_json:
        people = [facts_of(person) for person in statement.people(plan) or ()]
        approval = _approval(plan, plan_file)
        found = {"cost": spent, "people": people, "approval": approval, "data": outlook and outlook.as_json()}
        typer.echo(json.dumps(found, indent=2))
    elif outlook:
        show_outlook(out, plan, outlook)
        show_verdict(out, plan, outlook, further)
    if outlook and outlook.stops:
        raise typer.Exit(1)


def _approval(plan: Plan, plan_file: Path) -> dict[str, Any]:
    """Whether a release of the plan needs the signature of an officer, and has it."""
    from tapveil.internal.approval import standing_of

    try:
        return standing_of(plan, plan_file).as_json
    except LedgerError as error:  # nobody knows what it requires
        return {"required": None, "approved": False, "code": "ledger", "refused": str(error)}


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
        err.print(f"Wrote the picture {plot}. {NOTICE} Do not publish it.")


def report(
    plan_file: PlanFile,
    output: Annotated[Path, Option("--output", "-o", help="New HTML file that only you may read.")] = Path(
        "report.html"
    ),
    folder: Annotated[
        Path | None, Option("--release", help="A folder that this plan published, to compare with the exact counts.")
    ] = None,
    memory: Memory = MEMORY,
    scratch: Scratch = None,
    quiet: Quiet = False,
) -> None:
    """Write a confidential HTML report on suppression and accuracy.

    It shows what is suppressed and where, how accurate the counts are, and which plan changes would help most.
    """
    from tapveil.internal.confidential import NOTICE, check_destination, write_internal
    from tapveil.internal.report.model.findings import findings as report_findings
    from tapveil.internal.report.view.page import html as report_page

    check_destination(output, ".html")
    progress = for_console(err, quiet=quiet)
    plan = read_plan(plan_file, progress)
    found = report_findings(plan, folder=folder, memory=memory, scratch=scratch, progress=progress)
    write_internal(output, report_page(found), ".html")
    err.print(f"Wrote {output}. {NOTICE} Do not publish it. Open it in a browser.")
    if found.outlook.stops:
        raise typer.Exit(1)
