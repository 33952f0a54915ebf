"""`tapveil run` does what is due: for each period that is over, one release, verified, signed and delivered."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import EngineError, UsageError
from tapveil.base.progress import for_console
from tapveil.cli.commands.approve import Officer, public_keys
from tapveil.cli.options import Memory, Silent, err, out

WAITING = 75
"""Nothing is wrong, and not all is done: try again later. Other programs use this code for the same (EX_TEMPFAIL)."""


def run(
    routine_file: Annotated[Path, Argument(metavar="ROUTINE", help="The routine, a TOML file.")],
    today: Annotated[str | None, Option(help="Act as on this day, such as 2025-03-01. Default: today.")] = None,
    no_push: Annotated[
        bool, Option("--no-push", help="Release and verify, and leave delivery to a later run.")
    ] = False,
    memory: Memory = MEMORY,
    quiet: Silent = False,
    approval: Officer = None,
) -> None:
    """Release, verify, sign and deliver every period that is due.

    For cron and systemd. Run it again after any failure: nothing is paid for or delivered twice.
    """
    from datetime import date

    from tapveil.delivery.portals import portal
    from tapveil.delivery.push import push, verified
    from tapveil.internal.routine import Run, only_run, read_routine
    from tapveil.verification.folder import verify_folder

    routine = read_routine(routine_file)
    try:
        day = date.fromisoformat(today) if today else datetime.now(UTC).date()
    except ValueError:
        raise UsageError("--today: must be a day such as 2025-03-01") from None
    progress = for_console(err, quiet=quiet)
    to = routine.push
    there = portal(to.portal, to.to, to.owner) if to and not no_push else None
    if there:
        _ = there.secret  # before anything is spent

    def deliver(folder: Path, ledger: Path, name: str | None) -> str:
        if there is None:
            raise UsageError("there is no portal to deliver to")
        parcel = verified(folder, unsigned=bool(to and to.unsigned), name=name, progress=progress)
        return push(there, parcel, ledger, progress=progress)

    def verify(folder: Path) -> None:
        for finding in verify_folder(folder, progress=progress).findings if not there else ():
            raise EngineError(f"{folder} is not verified: {finding.place}: {finding.sentence}. Do not publish it")

    key = None
    if routine.sign:
        from tapveil.published.signature import read_key

        key = read_key(routine_file.parent / routine.sign)
    officers = tuple(public_keys(approval))
    doing = Run(routine_file, routine, verify, deliver if there else None, key, memory, progress, officers)
    with only_run(routine_file) as alone:
        if not alone:
            err.print("tapveil: another run of this routine is under way")
            raise typer.Exit(WAITING)

        def say(line: str) -> None:
            if not quiet:
                out.print(line)

        if not doing.all_due(day, say):
            raise typer.Exit(WAITING)
