"""`tapveil init`: a plan for an export."""

from __future__ import annotations

import itertools
import shlex
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tapveil.base.atomic import write_new
from tapveil.base.defaults import MEMORY
from tapveil.base.errors import UsageError
from tapveil.base.progress import for_console
from tapveil.cli.options import Memory, Quiet, Scratch, err, out


def init(
    trips: Annotated[str, Argument(metavar="TRIPS", help="A file of trips or taps, a folder, or a pattern.")],
    output: Annotated[Path, Option("--output", "-o", help="New plan to write.")] = Path("plan.toml"),
    gtfs: Annotated[
        Path | None, Option(help="The timetable: a zip file or a folder. Default: one next to the trips.")
    ] = None,
    places: Annotated[
        Path | None, Option(help="A public list of all places, as CSV or GeoJSON: then every cell can be published.")
    ] = None,
    look: Annotated[
        bool | None,
        Option(
            "--look/--no-look",
            help="Choose days, bins, areas and tables by counting the trips; or read no row at all. "
            "Default: read some rows to see how the files are written.",
        ),
    ] = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Ask nothing: take what is proposed; the plan says so.")] = False,
    memory: Memory = MEMORY,
    scratch: Scratch = None,
    quiet: Quiet = False,
) -> None:
    """Write a commented plan for your files.

    Asks what only you can know, and shows no value of a trip.
    """
    from tapveil.cli.console.draft import asking, show_draft, show_prospect
    from tapveil.internal import draft as drafting

    if output.exists():
        raise UsageError(f"{output} already exists; choose another name")
    if not output.resolve().parent.is_dir():
        raise UsageError(f"there is no folder {output.parent} to put {output.name} in")
    answer: drafting.Answer = drafting.take_proposal if yes else drafting.leave_open
    if not yes and sys.stdin.isatty() and out.is_terminal:
        answer = asking(out, input)
    drafted = drafting.draft(
        trips,
        output,
        gtfs=gtfs,
        places=places,
        look="columns" if look is None else "trips" if look else "nothing",
        answer=answer,
        memory=memory,
        scratch=scratch,
        progress=for_console(err, quiet=quiet),
    )
    write_new(output, drafted.text)
    show_draft(out, drafted)
    if drafted.prospect and drafted.prospect.mostly_empty:
        options = [f"--gtfs {shlex.quote(str(gtfs))}"] * bool(gtfs) + ["--yes"] * yes
        coarser = shlex.quote(str(_free_name(output)))
        command = " ".join(["tapveil init", shlex.quote(trips), *options, "--look -o", coarser])
        show_prospect(out, drafted, command)
    still = len(drafted.open)
    todo = f"Answer the open question{'s' * (still > 1)} in it (marked `# ?`)" if still else "Read it through"
    out.print(f"\nWrote {output}. {todo}, then: tapveil check {output}")


def _free_name(plan: Path) -> Path:
    """A name for another plan next to one."""
    names = (plan.with_stem(f"{plan.stem}-coarser{number or ''}") for number in itertools.count())
    return next(path for path in names if not path.exists())
