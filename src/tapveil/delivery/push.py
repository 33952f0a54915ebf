"""Push a published folder to a portal: verify it, bring it there once, complete, and record where it is."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tapveil.base.errors import FolderError, LedgerError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.vocabulary import SIGNATURE
from tapveil.delivery.client import Client
from tapveil.delivery.conversation import Wait, converse
from tapveil.delivery.lock import alone
from tapveil.delivery.parcel import Parcel
from tapveil.delivery.portal import Portal
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Delivered, Withdrawn
from tapveil.ledger.witness import folder_of
from tapveil.published.folder import Folder
from tapveil.verification.folder import verify_folder


def verified(
    folder: Path,
    *,
    unsigned: bool,
    signers: Path | None = None,
    name: str | None = None,
    progress: Reporter | None = None,
) -> Parcel:
    """The parcel of a folder, which was verified just now; FolderError if it must not be delivered."""
    if not folder.is_dir():
        raise FolderError(f"{folder} is not a folder")
    checked = verify_folder(folder, signers=signers, progress=progress)
    for finding in checked.findings:
        more = f" (and {len(checked.findings) - 1} more)" if len(checked.findings) > 1 else ""
        raise FolderError(f"{folder} is not verified: {finding.place}: {finding.sentence}{more}. Nothing was delivered")
    if not unsigned and not (folder / SIGNATURE).exists():
        raise FolderError(
            f"{folder} is not signed, so nobody can check who published it. Release with --sign, or add --unsigned"
        )
    return Parcel.of(folder, name)


def push(
    portal: Portal,
    parcel: Parcel,
    ledger: Path | None,
    *,
    wait: Wait = time.sleep,
    progress: Reporter | None = None,
) -> str:
    """Bring a release to a portal, and record it in the ledger that paid for it. A second time changes nothing.

    Returns:
        The address at which people find it.
    """
    secret = portal.secret
    with alone(parcel.folder), (progress or Silent()).stage(Stage.DELIVERING):
        if parcel.manifest.ledger:
            parcel = _known(portal, parcel, ledger)
        checked: set[str] = set()
        client = Client(portal.address, secret)
        address = converse(client, lambda: portal.push(parcel, checked), checked, wait)
        if parcel.manifest.ledger and ledger:
            with Ledger.open(ledger) as book:
                book.deliver(
                    Delivered(
                        on=datetime.now(UTC).date(),
                        id=parcel.manifest.release_id,
                        checksums_sha256=parcel.digest,
                        portal=portal.name,
                        address=address,
                    )
                )
    return address


def _known(portal: Portal, parcel: Parcel, ledger: Path | None) -> Parcel:
    """The parcel, under the name that it has at the portal already, if the ledger says so: a release is there once.

    LedgerError unless the ledger that paid for the release is here, knows the folder, and has not withdrawn it.
    """
    if ledger is None:
        raise LedgerError("the release was charged to a ledger: name it with --ledger")
    with Ledger.open(ledger) as book:
        for finding in book.findings([folder_of(Folder(parcel.folder))]):
            raise LedgerError(f"{finding.place}: {finding.sentence}. Nothing was delivered")
        ours = [each for each in book.entries if isinstance(each, Delivered | Withdrawn)]
    for entry in (each for each in ours if each.id == parcel.manifest.release_id):
        if isinstance(entry, Withdrawn):
            raise LedgerError("the release was withdrawn, so it is not delivered")
        if entry.portal == portal.name:
            there, name = portal.found(entry.address)
            parcel = replace(parcel, name=name) if there.address == portal.address else parcel
    return parcel
