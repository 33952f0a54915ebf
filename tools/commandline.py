"""The command line, as Markdown: from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from tapveil import __main__
from tapveil.base import errors
from tapveil.cli.app import app
from tapveil.cli.commands import run
from tools.models import row

_WORDS = {"int": "N", "int range": "N", "str": "TEXT", "path": "PATH"}
_FIXED = {0: "All is well.", 1: "A check failed: a release would stop, a folder or a ledger is not sound."}


def sections() -> Iterator[str]:
    """A section for each command, in the order of `tapveil --help`."""
    for path, command in _walk("tapveil", get_command(app)):
        usage = " ".join([path, *(_usage(each) for each in command.params if each.param_type_name == "argument")])
        parts = [f"## `{usage}`", command.help, _table(command)]
        yield "\n\n".join(part for part in parts if part)


def exit_codes() -> str:
    """What each exit code means."""
    found = dict(_FIXED)
    for kind in (errors.UsageError, errors.TripDataError, errors.EngineError, errors.LedgerError, errors.DeliveryError):
        found[kind.exit_code] = str(kind.__doc__)
    found[errors.LedgerError.exit_code] += f" {errors.BudgetError.__doc__}"
    found[run.WAITING] = "`tapveil run`: trips are not there yet, or another run is under way. Try again later."
    found[__main__.INTERRUPTED] = "Interrupted: no partial folder was published."
    lines = [row(f"`{code}`", words) for code, words in sorted(found.items())]
    return "\n".join(["| code | meaning |", "|---|---|", *lines])


def _walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from _walk(f"{path} {name}", each)


def _usage(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _table(command: Any) -> str:
    lines = [
        row(f"`{_spelling(each, command)}`", _default(each), str(each.help))
        for each in command.params
        if not each.hidden
    ]
    return "\n".join(["| argument or option | default | meaning |", "|---|---|---|", *lines]) if lines else ""


def _spelling(parameter: Any, command: Any) -> str:
    if parameter.param_type_name == "argument":
        return _usage(parameter)
    spelled, _ = parameter.get_help_record(command.context_class(command))
    return re.sub(r"<([^>]+)>", lambda kind: _WORDS.get(kind[1], kind[1]), spelled)


def _default(parameter: Any) -> str:
    if parameter.required:
        return "**needed**"
    if parameter.default in (None, False):
        return ""
    bounds = [str(each) for each in (parameter.min, parameter.max) if each is not None]
    more = f", {' to '.join(bounds)}" if len(bounds) == 2 else f", from {bounds[0]}" if bounds else ""
    return f"`{parameter.default}`{more}"
