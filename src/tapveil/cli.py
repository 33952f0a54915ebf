"""The command line: one thin command per library call.

Exit codes: 0 ok, 1 a check or verification failed, 2 wrong use or plan, 3 bad trip data, 4 engine, memory or disk
failed, 130 interrupted. Errors go to standard error; never a traceback, never a value from a trip.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tapveil import audit as auditing
from tapveil import check as checking
from tapveil import demo as demo_city
from tapveil import plan as planning
from tapveil import screen, statement
from tapveil._version import __version__
from tapveil.counting.duckdb import DEFAULT_MEMORY
from tapveil.errors import PlanError
from tapveil.plan import Plan
from tapveil.progress import for_console
from tapveil.publication import release as release_folder

app = typer.Typer(
    help="Publish public-transport trips as open data under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
out = Console(highlight=False, markup=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="The plan, a TOML file.", show_default=False, readable=False)
]
Memory = Annotated[str, typer.Option(help="Most memory that counting may use; beyond it, it spills to disk.")]
Scratch = Annotated[
    Path | None, typer.Option(help="Folder to spill to, in a subfolder of yours alone. Default: the system's.")
]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"tapveil {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Publish public-transport trips as open data under differential privacy."""


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="A new folder for the city and its release.")] = Path(
        "tapveil-demo"
    ),
    trips: Annotated[int, typer.Option(help="How many trips to make up.")] = demo_city.DEFAULT_TRIPS,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same city. The noise is never seeded.")] = 1,
    file_format: Annotated[
        demo_city.Format | None,
        typer.Option("--format", help="Of the trips. Default: csv up to 5 million trips, then parquet."),
    ] = None,
    memory: Memory = DEFAULT_MEMORY,
) -> None:
    """Make up a city, release it: the five-minute tour."""
    progress = for_console(err)
    plan_path = demo_city.make_city(folder, trips=trips, seed=seed, file_format=file_format, progress=progress)
    out.print(f"Port Vesper, a made-up city: {trips:,} trips in {folder / 'trips'}, the plan in {plan_path}\n")
    plan = Plan.read(plan_path)
    published = release_folder(plan, folder / "published", memory=memory, progress=progress)
    with _already_published(published.path):
        screen.show_release(out, plan, published)
        out.print(
            f"\nNext: open {published.path / 'README.md'}, or see what the holder sees: tapveil check {plan_path}"
        )


@app.command()
def plan(
    preset: Annotated[str, typer.Argument(help="Which plan: opal.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file instead of the screen.")
    ] = None,
) -> None:
    """Write a commented plan to start from."""
    text = planning.preset_text(preset)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise PlanError(f"{output} already exists; choose another name") from None
    except OSError as error:
        raise PlanError(f"{output} cannot be written: {error.strerror}") from None
    err.print(f"Wrote {output}. Change its [source] part to fit your files, then: tapveil check {output}")


@app.command()
def check(
    plan_file: PlanFile,
    plan_only: Annotated[bool, typer.Option("--plan-only", help="Do not look at the trips.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
    memory: Memory = DEFAULT_MEMORY,
    scratch: Scratch = None,
) -> None:
    """Is the plan sound, what would it cost, what would survive. Publishes nothing; what it shows is internal."""
    plan = _read_plan(plan_file)
    checking.read_public_files(plan)
    if not as_json:
        screen.show_cost(out, plan)
    outlook = None
    if not plan_only:
        outlook = checking.outlook(plan, memory=memory, scratch=scratch, progress=for_console(err))
    if as_json:
        typer.echo(json.dumps({"cost": statement.cost(plan), "data": outlook and outlook.as_json()}, indent=2))
    elif outlook:
        screen.show_outlook(out, plan, outlook)
    if outlook and outlook.stops:
        raise typer.Exit(1)


@app.command()
def release(
    plan_file: PlanFile,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The folder to publish; it must not exist yet.", show_default=False),
    ],
    memory: Memory = DEFAULT_MEMORY,
    scratch: Scratch = None,
) -> None:
    """Spend the budget, publish the folder."""
    plan = _read_plan(plan_file)
    published = release_folder(plan, output, memory=memory, scratch=scratch, progress=for_console(err))
    with _already_published(published.path):
        screen.show_release(out, plan, published)
        out.print(f"Rows that cannot be read were left out; only you can see how many: tapveil check {plan_file}")


@app.command()
def audit(
    plan_file: Annotated[
        Path | None,
        typer.Argument(metavar="[PLAN]", help="The plan to attack. Default: the opal preset.", show_default=False),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1000, max=1_000_000, help="Equal cells per experiment.")
    ] = auditing.DEFAULT_TRIALS,
    as_json: Annotated[bool, typer.Option("--json", help="For a program to read.")] = False,
) -> None:
    """Attack the program as built, on made-up trips: is what it promises true? Reads none of your trips."""
    attacked = _read_plan(plan_file) if plan_file else Plan.preset("opal")
    findings = auditing.audit(attacked, trials=trials, progress=for_console(err))
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        screen.show_audit(out, findings, trials)
    if any(finding.broken for finding in findings):
        raise typer.Exit(1)


def _read_plan(path: Path) -> Plan:
    with for_console(err).stage("Searching for the least noise"):
        return Plan.read(path)


@contextmanager
def _already_published(folder: Path) -> Iterator[None]:
    """Once the folder is there, a screen that fails must not look like a release that failed: it would be run again."""
    try:
        yield
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt):
        with suppress(Exception):
            err.print(f"tapveil: published {folder}, but the summary could not be shown")
        os._exit(0)
