"""`tapveil init`: a plan for an export."""

from __future__ import annotations

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
    no_look: Annotated[
        bool,
        Option("--no-look", help="Do not read trips: decide by column names and types, file names and public files."),
    ] = False,
    memory: Memory = MEMORY,
    scratch: Scratch = None,
    quiet: Quiet = False,
) -> None:
    """Write a commented plan for your files.

    Asks nothing, and shows no value of a trip.
    """
    from tapveil.cli.console.draft import show_draft
    from tapveil.internal import draft as drafting

    if output.exists():
        raise UsageError(f"{output} already exists; choose another name")
    if not output.resolve().parent.is_dir():
        raise UsageError(f"there is no folder {output.parent} to put {output.name} in")
    progress = for_console(err, quiet=quiet)
    drafted = drafting.draft(
        trips, output, gtfs=gtfs, look=not no_look, memory=memory, scratch=scratch, progress=progress
    )
    write_new(output, drafted.text)
    show_draft(out, drafted.found, drafted.remarks)
    out.print(f"\nWrote {output}. Read it through, then: tapveil check {output}")
