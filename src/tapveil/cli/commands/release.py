"""`tapveil release` publishes a folder; `tapveil demo` does it with a generated city."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from tapveil.base.defaults import DEMO_TRIPS, MEMORY, Format
from tapveil.base.errors import PlanError
from tapveil.base.progress import Reporter, Stage, for_console
from tapveil.cli.commands.approve import Officer, public_keys, read_signing_key
from tapveil.cli.commands.ledger import budget_of, declare
from tapveil.cli.options import Memory, PlanFile, Scratch, Silent, err, out, read_plan

if TYPE_CHECKING:
    from tapveil.plan.model import Plan
    from tapveil.published.folder import Folder


def release(
    plan_file: PlanFile,
    output: Annotated[Path, Option("--output", "-o", help="New folder to publish.")],
    resume: Annotated[
        bool, Option("--resume", help="Finish an interrupted release: same numbers, no further cost.")
    ] = False,
    again: Annotated[
        bool, Option("--again", help="Release days and modes again. The budget is charged a second time.")
    ] = False,
    all_days: Annotated[
        bool, Option("--all-days", help="Release a plan that names no days: it is charged to every day, for ever.")
    ] = False,
    sign: Annotated[Path | None, Option(help="Sign the folder with this private SSH key (Ed25519).")] = None,
    approval: Officer = None,
    no_ledger: Annotated[
        bool, Option("--no-ledger", help="Do not record the privacy cost. For generated trips only.")
    ] = False,
    memory: Memory = MEMORY,
    scratch: Scratch = None,
    quiet: Silent = False,
) -> None:
    """Charge the privacy budget and publish a folder."""
    from tapveil.ledger.approval import read_approval
    from tapveil.veil.release import release as release_folder

    progress = for_console(err, quiet=quiet, every_step=True)
    plan = read_plan(plan_file, progress)
    if plan.source.first_day is None and not (all_days or resume or no_ledger):
        missing = "names no days ([source] first_day and last_day)"
        ways = "Name the days, or add --all-days"
        if not plan.source.can_name_days:
            missing, ways = (
                "reads no calendar dates, and so names no days",
                "To release it nevertheless, add --all-days",
            )
        raise PlanError(
            f"{plan_file} {missing}, so its cost counts for every day, for ever, and later releases of these trips "
            f"would find the budget used up. {ways}"
        )
    key = read_signing_key(sign) if sign else None
    settled = partial(release_folder, plan, output, memory=memory, scratch=scratch, progress=progress)
    settled = partial(settled, approval=read_approval(plan_file), officers=public_keys(approval))
    published = settled(in_ledger=not no_ledger, resume=resume, again=again, key=key)
    if not quiet:
        show_summary(plan, published, plan_file, progress, in_ledger=not no_ledger)


def demo(
    folder: Annotated[Path, Argument(metavar="[DIR]", help="New folder for the city and its release.")] = Path(
        "tapveil-demo"
    ),
    trips: Annotated[int, Option(help="Number of trips to generate.")] = DEMO_TRIPS,
    seed: Annotated[int, Option(min=0, help="Seed of the city: same seed, same trips. Noise is never seeded.")] = 1,
    file_format: Annotated[
        Format | None, Option("--format", help="Format of the trips. Default: csv up to 5 million trips, then parquet.")
    ] = None,
    gtfs: Annotated[
        Path | None, Option(help="Generate rides on this GTFS timetable, and use it as the dictionary of cells.")
    ] = None,
    memory: Memory = MEMORY,
    quiet: Silent = False,
) -> None:
    """Generate a city and publish it: a five-minute tour."""
    from tapveil.demo import city as demo_city
    from tapveil.demo import ridership
    from tapveil.demo.comparison import comparison
    from tapveil.ledger.book import Ledger
    from tapveil.plan.model import Plan
    from tapveil.veil.release import release as release_folder

    progress = for_console(err, quiet=quiet, every_step=True)
    if gtfs is not None:
        plan_path = ridership.make_rides(folder, gtfs, trips=trips, seed=seed, progress=progress)
        city, budget = f"Generated rides on {gtfs.name}", ridership.BUDGET
    else:
        plan_path = demo_city.make_city(folder, trips=trips, seed=seed, file_format=file_format, progress=progress)
        city, budget = "Port Vesper, a generated city", demo_city.BUDGET
    if not quiet:
        out.print(f"{city}: {trips:,} trips and {plan_path.name} in {folder}\n")
    plan = Plan.read(plan_path)
    Ledger.start(plan.ledger_path, datetime.now(UTC).date())
    declare(plan, budget_of(plan, *budget), quiet=True)  # the summary says it
    published = release_folder(plan, folder / "published", memory=memory, progress=progress)
    if not quiet:
        show_summary(plan, published, plan_path, progress)
    if gtfs is None:
        journeys = Plan.read(folder / demo_city.JOURNEYS)
        # Either, not both: a ledger with a release of trips has no room for a promise about cards.
        also = release_folder(journeys, folder / "journeys", memory=memory, progress=progress, in_ledger=False)
        if not quiet:
            grid = comparison((plan, journeys), (published, also), memory=memory, progress=progress)
            out.print(f"\nPublished: {also.path}", style="bold")
            out.print("The recommended plan, for the first week of the same trips. Compared with exact counts:")
            grid.show(out, left=True)
            out.print("Choose one of the two for your trips: both together protect a trip and no more.")


def show_summary(plan: Plan, published: Folder, plan_file: Path, progress: Reporter, *, in_ledger: bool = True) -> None:
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
