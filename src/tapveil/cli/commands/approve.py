"""`tapveil approve`: the privacy officer's signature, without which a release is refused where the ledger says so."""

from __future__ import annotations

import getpass
import sys
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from tapveil.base.errors import UsageError
from tapveil.cli.options import err, out

if TYPE_CHECKING:
    from tapveil.published.signature import SigningKey

Officer = Annotated[
    Path | None,
    Option("--approval", help="Require an approval signed with this public SSH key, such as officer.pub."),
]


def approve(
    file: Annotated[Path, Argument(metavar="PLAN", help="The plan or the routine, a TOML file.", readable=False)],
    key: Annotated[
        Path | None, Option(help="Your private SSH key (Ed25519), or its .pub if the SSH agent has it.")
    ] = None,
    by: Annotated[str | None, Option(help="Your name, which the ledger keeps.")] = None,
    comment: Annotated[str | None, Option(help="A comment, which the ledger keeps.")] = None,
    until: Annotated[str | None, Option(help="Last day to begin a release. Default: 30 days from today.")] = None,
    releases: Annotated[int, Option(min=1, help="For a routine: how many releases.")] = 1,
    again: Annotated[
        bool, Option("--again", help="Also approve that days are published again that were published before.")
    ] = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Approve a release: show what changed, and sign it.

    Writes PLAN.approval and its signature next to the plan. Without --key, shows what would be approved.
    """
    from tapveil.cli.console.approval import show_request
    from tapveil.cli.console.check import room
    from tapveil.internal.approval import approve as write_approval
    from tapveil.internal.approval import request_of

    request = request_of(file)
    statement = request.statement(until=_day(until), releases=releases, again=again, by=by, comment=comment)
    in_ledger, _ = room(request.plan, file, approved=True)
    show_request(out, request, statement, in_ledger)
    if key is None:
        out.print("\nNothing was signed. To approve it, add --key KEY.")
        return
    signing = read_signing_key(key)
    if not yes and not _agreed():
        raise UsageError("nothing was approved")
    write_approval(file, statement, signing, request.history.keys)
    err.print(f"Approved: {file.with_suffix('.approval')}, signed with {signing.public.fingerprint}.")


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on: read what is shown, then add --yes")
    return typer.confirm("\nApprove this?", default=False)


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise UsageError("--until: must be a day such as 2025-03-01") from None


def read_signing_key(path: Path) -> SigningKey:
    """A private key; a passphrase is asked for on the terminal."""
    from tapveil.published.signature import read_key

    ask = partial(getpass.getpass, "Passphrase of the key: ") if sys.stdin.isatty() else None
    return read_key(path, ask)


def public_keys(path: Path | None) -> list[str]:
    """The keys of a .pub file, as the ledger has them."""
    from tapveil.published.signature import read_public_keys

    keys = [each.line for each in read_public_keys(path)] if path else []
    if path and not keys:
        raise UsageError(f"{path} has no public key")
    return keys
