"""`tapveil studio`: plan, look and publish in a browser, on this machine alone."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from tapveil.base.errors import UsageError
from tapveil.cli.commands.approve import Officer, public_keys
from tapveil.cli.options import err

if TYPE_CHECKING:
    from tapveil.inputs.public import PublicInputs
    from tapveil.internal.approval import Request
    from tapveil.internal.outlook import Outlook
    from tapveil.ledger.approval import Statement
    from tapveil.plan.model import Plan
    from tapveil.published.folder import Folder

WIDE = 110
"""Characters in a line of what commands print."""


def studio(
    folder: Annotated[
        Path, Argument(metavar="[FOLDER]", help="The project folder: plan, trips, ledger and what is published.")
    ] = Path(),
    no_browser: Annotated[
        bool, Option("--no-browser", help="Open no browser: show the file that opens the studio.")
    ] = False,
    approval: Officer = None,
) -> None:
    """Plan, look and publish in a browser, on this machine.

    Everything is written into the same plan, ledger and folders as by commands. It ends with the browser, or by Ctrl-C.
    """
    from tapveil.studio.browser import entry_file, open_browser
    from tapveil.studio.calls import attach
    from tapveil.studio.project import Project
    from tapveil.studio.scratch import scratch
    from tapveil.studio.server import Server
    from tapveil.studio.studio import Studio

    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}: make it, and name it here")
    officers = tuple(public_keys(approval))
    project, server = Project.of(folder), Server(folder.resolve().name)
    project.sweep()
    attach(Studio(project, server, _Screens(), officers))
    with scratch(), entry_file(server.door.host, server.door.entry or "") as path, server.open():
        server.on_entered = lambda: shutil.rmtree(path.parent, ignore_errors=True)
        if no_browser or not open_browser(path):
            err.print(f"Open this file in your browser, within ten minutes: {path}")
        err.print("The studio runs until you close its page, or press Ctrl-C here.")
        server.jobs.run()
    err.print("The studio has ended.")


class _Screens:
    """What commands print, as texts."""

    def check(self, plan: Plan, path: Path, inputs: PublicInputs, cost: Mapping[str, Any], seen: Outlook | None) -> str:
        """What `tapveil check` shows."""
        from rich.console import Console

        from tapveil.cli.console.check import room, show_cost, show_outlook, show_totals, show_verdict
        from tapveil.cli.console.text import say

        console = Console(
            highlight=False, markup=False, emoji=False, width=WIDE, color_system=None, force_terminal=False
        )
        with console.capture() as shown:
            show_cost(console, plan, dict(cost))
            show_totals(console, inputs)
            in_ledger, further = room(plan, path)
            say(console, f"\n{in_ledger}")
            if seen:
                show_outlook(console, plan, seen)
                show_verdict(console, plan, seen, further)
        return shown.get()

    def approval(self, request: Request, statement: Statement) -> tuple[Sequence[str], Sequence[str]]:
        """What changed since the last approval, and what is signed."""
        from tapveil.cli.console.approval import difference_in_words, terms, visible

        changes = [visible(difference_in_words(each)) for each in request.changes(statement)]
        return changes, [visible(line) for line in terms(statement)]

    def closing(self, plan: Plan, published: Folder, path: Path) -> Sequence[str]:
        """The closing words of a release."""
        from tapveil.cli.summary import closing_lines

        return list(closing_lines(plan, published, path))
