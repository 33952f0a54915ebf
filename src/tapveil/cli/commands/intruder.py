"""`tapveil intruder` looks for generated people in a plan's release, and in what agencies publish instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from tapveil.base.atomic import write_new
from tapveil.base.defaults import INTRUDER_PEOPLE, INTRUDER_TRIALS, INTRUDER_TRIPS
from tapveil.base.errors import UsageError
from tapveil.base.progress import Stage, for_console
from tapveil.cli.options import Json, PlanFile, Quiet, err, out, read_plan


def intruder(
    plan_file: PlanFile,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Also write the result to this new JSON file.")
    ] = None,
    trials: Annotated[
        int, Option(min=1000, max=1_000_000, help="Publications as planned, for each attack.")
    ] = INTRUDER_TRIALS,
    people: Annotated[int, Option(min=30, max=10_000, help="How many people are looked for.")] = INTRUDER_PEOPLE,
    trips: Annotated[int, Option(min=5000, max=20_000_000, help="Size of the generated city.")] = INTRUDER_TRIPS,
    seed: Annotated[int, Option(min=0, help="Same seed, same city, same people. Noise has none.")] = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how often attacks on a release succeed.

    On generated people: does not read your trips. Compares the plan with hashed card ids, exact tables, masks and
    rounding.
    """
    from tapveil.cli.console.intruder import show
    from tapveil.demo.residents import residents
    from tapveil.internal.intruder.attacks import intrude

    if output and output.exists():
        raise UsageError(f"{output} already exists; choose another name")
    progress = for_console(err, quiet=quiet)
    plan = read_plan(plan_file, progress)
    with progress.stage(Stage.GENERATING_PEOPLE):
        made = residents(plan, trips=trips, seed=seed)
    found = intrude(plan, made, trials=trials, people=people, seed=seed, progress=progress)
    text = json.dumps(found.as_json(), indent=2)
    if output:
        write_new(output, text + "\n")
    if as_json:
        typer.echo(text)
    else:
        show(out, found)
    if output:
        err.print(f"Wrote {output}.")
    if found.exceeded:
        raise typer.Exit(1)
