"""The command line: one thin command per library call, listed by who uses it.

Exit codes: 0 ok, 1 a check or verification failed, 2 wrong use or plan, 3 bad trip data, 4 engine, memory or disk
failed, 5 the ledger refused, 6 the portal refused, 75 try again later (`run`), 130 interrupted. Errors go to
standard error; never a traceback, never a value from a trip.

Each command imports what it needs when it runs: nobody waits for an engine to read `--help`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from tapveil._version import __version__
from tapveil.cli.commands import (
    approve,
    check,
    convert,
    dossier,
    explain,
    init,
    intruder,
    ledger,
    plan,
    push,
    release,
    run,
    series,
    studio,
    verify,
)
from tapveil.cli.options import out

COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Publish": (
        release.demo,
        studio.studio,
        init.init,
        plan.plan,
        check.check,
        release.release,
        push.push,
        run.run,
        push.withdraw,
    ),
    "Approve": (approve.approve, explain.explain, dossier.dossier, check.report, verify.audit, intruder.intruder),
    "Analyse": (verify.verify, series.series, convert.convert),
    "Maintain": (plan.tune,),
}
"""Commands by who uses them; the ledger and its commands are for those who approve."""


class _ByUser(TyperGroup):
    """A list of commands with a heading for each sort of user, for a plain terminal."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands: dict[str, Any] = dict(self.commands)
        longest = max(map(len, commands))
        for panel in COMMANDS:
            named = [(name, each) for name, each in commands.items() if each.rich_help_panel == panel]
            with formatter.section(panel):
                room = formatter.width - 6 - longest
                formatter.write_dl([(name.ljust(longest), each.get_short_help_str(room)) for name, each in named])


app = typer.Typer(
    cls=_ByUser, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
for _panel, _commands in COMMANDS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
app.add_typer(ledger.ledger_app, name="ledger", rich_help_panel="Approve")


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"tapveil {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Publish public-transport trips as open data under differential privacy."""
