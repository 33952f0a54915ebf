"""`tapveil push` brings a published folder to a portal; `tapveil withdraw` says that it is not to be used any more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from tapveil.base.progress import for_console
from tapveil.cli.commands.ledger import LEDGER, LedgerFile
from tapveil.cli.options import Silent, err, out

if TYPE_CHECKING:
    from tapveil.delivery.portal import Portal
    from tapveil.delivery.request import Conversation

Published = Annotated[Path, Argument(metavar="DIR", help="A published folder.")]
To = Annotated[str | None, Option("--to", help="Address of the portal, such as https://data.example.org.")]
DryRun = Annotated[bool, Option("--dry-run", help="Show every request, without credentials, and send none.")]


def push(
    portal: Annotated[str, Argument(help="Which sort of portal: ckan, datagouv, opendatasoft or socrata.")],
    folder: Published,
    to: To = None,
    owner: Annotated[str | None, Option(help="Your organisation, by its ID or name at the portal.")] = None,
    name: Annotated[str | None, Option(help="Name of the data set in addresses. Default: of the release.")] = None,
    unsigned: Annotated[bool, Option("--unsigned", help="Deliver a folder that is not signed.")] = False,
    signers: Annotated[Path | None, Option(help="File of allowed signers: one of them must have signed.")] = None,
    dry_run: DryRun = False,
    ledger_file: LedgerFile = LEDGER,
    quiet: Silent = False,
) -> None:
    """Deliver a published folder to a portal, once and complete.

    The folder is verified first. Credentials are read from the environment.
    """
    from tapveil.delivery.portals import portal as portal_at
    from tapveil.delivery.push import push as push_parcel
    from tapveil.delivery.push import verified

    there, progress = portal_at(portal, to, owner), for_console(err, quiet=quiet)
    parcel = verified(folder, unsigned=unsigned, signers=signers, name=name, progress=progress)
    if dry_run:
        _show(there, there.push(parcel, set()))
        return
    address = push_parcel(there, parcel, ledger_file, progress=progress)
    if not quiet:
        out.print(f"Delivered: {address}")


def withdraw(
    folder: Published,
    reason: Annotated[str, Option(help="Why, in one line. Readers will see it.")],
    by: Annotated[str, Option(help="Who decided it. Stays in the ledger.")],
    notice: Annotated[Path | None, Option("--notice", help="Write the notice for readers to this new file.")] = None,
    to: Annotated[str | None, Option("--to", help="Of several portals, the address of one.")] = None,
    hide: Annotated[bool, Option("--hide", help="Hide the data set at the portal as well.")] = False,
    ledger_only: Annotated[bool, Option("--ledger-only", help="Do not change anything at a portal.")] = False,
    dry_run: DryRun = False,
    ledger_file: LedgerFile = LEDGER,
) -> None:
    """Mark a release as withdrawn, in the ledger and at its portal.

    What it spent stays spent. Correct it with a new release that names it (`corrects` in the plan).
    """
    from tapveil.base.atomic import write_new
    from tapveil.delivery.withdraw import Withdrawal

    asked = Withdrawal.of(folder, ledger_file, reason, by, hide=hide, to=to)
    if dry_run:
        for there, parcel in asked.portals():
            _show(there, there.withdraw(parcel, asked.notice, hide=hide))
        out.print(asked.notice.text, end="")
        err.print("Nothing was sent, and nothing recorded: this is what a withdrawal would do.")
        return
    written, addresses = asked.mark(at_portals=not ledger_only)
    if notice:
        write_new(notice, written.text)
    else:
        out.print(written.text, end="")
    err.print(f"In {ledger_file}: release {asked.parcel.manifest.release_id} is withdrawn. What it spent stays spent.")
    for address in addresses:
        err.print(f"Marked: {address}")
    if not addresses:
        err.print("It was marked at no portal: put the notice where the release is.")


def _show(portal: Portal, conversation: Conversation) -> None:
    """Every request of a conversation with a portal, as it would be sent, but for the credentials."""
    from tapveil.delivery.request import rehearsed

    for number, request in enumerate(rehearsed(conversation), start=1):
        first, *rest = request.lines(f"{portal.header}: (from {portal.variable})")
        out.print(f"{number}. {first}")
        for line in rest:
            out.print(f"  {line}")
