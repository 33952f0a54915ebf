"""`tapveil verify` checks a published folder, `tapveil audit` the program that makes them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tapveil._version import __version__
from tapveil.base.atomic import write_new
from tapveil.base.defaults import AUDIT_TRIALS
from tapveil.base.errors import UsageError
from tapveil.base.progress import for_console
from tapveil.cli.console.text import MOST_OF_A_KIND, say
from tapveil.cli.options import Json, Quiet, Silent, err, out, read_plan

if TYPE_CHECKING:
    from tapveil.base.findings import Finding
    from tapveil.internal.audit.attack import AuditResult


def verify(
    path: Annotated[
        Path, Argument(metavar="DIR|FILE", help="A published folder, one CSV file, or a signed file such as a dossier.")
    ],
    signers: Annotated[
        Path | None, Option(help="File of allowed signers (as in ssh-keygen): one of them must have signed it.")
    ] = None,
    epsilon: Annotated[str | None, Option(help="For a CSV file: the epsilon that its table claims.")] = None,
    delta: Annotated[str | None, Option(help="For a CSV file: the delta that its table claims.")] = None,
    as_json: Json = False,
    quiet: Silent = False,
) -> None:
    """Check that a published folder is intact and its claims hold.

    Needs only the folder: anyone can do it.
    """
    from tapveil.verification.verify import verify as verify_path

    progress = for_console(err, quiet=quiet)
    checked = verify_path(path, signers=signers, epsilon=epsilon, delta=delta, progress=progress)
    all_well = f"{path} verified: {checked.summary}" if path.is_dir() else f"{path}: {checked.summary}"
    show(checked.findings, all_well, as_json, checked.notes, quiet=quiet)


def show(
    findings: Sequence[Finding], all_well: str, as_json: bool, notes: Sequence[str] = (), *, quiet: bool = False
) -> None:
    """All findings, a line each, or that there are none; exit 1 if there are."""
    if as_json:
        result = {"findings": [asdict(each) for each in findings], "notes": list(notes)}
        typer.echo(json.dumps(result | ({} if findings else {"summary": all_well}), indent=2, ensure_ascii=False))
    elif findings or not quiet:
        shown = Counter[str]()
        for finding in findings:
            shown[finding.code] += 1
            if shown[finding.code] <= MOST_OF_A_KIND or not out.is_terminal:
                out.print(f"{finding.code}: {finding.place}: {finding.sentence}")
        for code, number in shown.items():
            if number > MOST_OF_A_KIND and out.is_terminal:
                out.print(f"{code}: {number - MOST_OF_A_KIND:,} more like these; to see them all: | cat, or --json")
        for note in notes:
            say(out, f"Note: {note}.")
        many = f"{len(findings):,} findings" if len(findings) > 1 else "1 finding"
        say(out, f"{many}: do not rely on it." if findings else f"{all_well}.")
    if findings:
        raise typer.Exit(1)


def audit(
    plan_file: Annotated[Path | None, Argument(metavar="[PLAN]", help="The plan to test. Default: opal.")] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Also write the result to this new JSON file, for the dossier.")
    ] = None,
    trials: Annotated[int, Option(min=1000, max=1_000_000, help="Equal cells per experiment.")] = AUDIT_TRIALS,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test the privacy guarantee empirically on generated trips.

    Does not read your data.
    """
    from tapveil.internal.audit import attack as auditing
    from tapveil.plan.model import Plan

    if output and output.exists():
        raise UsageError(f"{output} already exists; choose another name")
    progress = for_console(err, quiet=quiet)
    attacked = read_plan(plan_file, progress) if plan_file else Plan.preset("opal")
    findings = auditing.audit(attacked, trials=trials, progress=progress)
    if output:
        results = [asdict(finding) for finding in findings]
        stated = {"version": 1, "software": __version__, "plan": attacked.digest, "trials": trials, "results": results}
        write_new(output, json.dumps(stated, indent=2) + "\n")
        err.print(f"Wrote {output}.")
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _show(findings, trials)
    if any(finding.broken for finding in findings):
        raise typer.Exit(1)


def _show(findings: Sequence[AuditResult], trials: int) -> None:
    """What was tried, what came of it, and what is allowed."""
    from tapveil.base.text_table import Grid
    from tapveil.internal.audit.attack import MISTAKEN

    grid = Grid("test", "table", "observed", "allowed", "")
    for finding in findings:
        grid.add(finding.check, finding.table, finding.observed, finding.allowed, "BROKEN" if finding.broken else "ok")
    grid.show(out)
    broken = sum(finding.broken for finding in findings)
    out.print("\n(wide, narrow: the plan's tables with the widest and the narrowest noise.)")
    if trials < AUDIT_TRIALS:
        out.print(f"With fewer than {AUDIT_TRIALS:,} trials, only gross errors can be found.")
    if broken:
        out.print(f"\n{broken} of {len(findings)} bounds are broken: do not publish with this program.")
    else:
        rarely = f"a correct program fails this test once in {1 / MISTAKEN:,.0f} audits"
        out.print(f"\nAll {len(findings)} bounds hold ({rarely}).")
