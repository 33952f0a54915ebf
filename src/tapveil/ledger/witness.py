"""Published folders as witnesses: each names the ledger that paid for it, and its entry there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tapveil.base.errors import LedgerError
from tapveil.base.vocabulary import CHECKSUMS
from tapveil.ledger.book import Head, Ledger, Witness
from tapveil.published.folder import Folder, folders_in


def refuse_outdated(ledger: Ledger, folder: Path, *, paid: bool) -> None:
    """Every folder names the ledger it was published from, and its entry: those that lie here must be known.

    Else the ledger was rolled back, or another was started in its place; the latter is of no concern to what is paid.
    """
    # What became of a folder after it was published is not the ledger's fault.
    # A release that was not approved cannot be taken back, and officers are told of it when they approve the next.
    passed = {"folder-differs", "not-approved", *(["ledger-replaced"] if paid else [])}
    around = {each.path.resolve(): each for each in (*folders_in(folder), *around_ledger(ledger.path))}
    for finding in ledger.findings(beside=map(folder_of, around.values())):
        if finding.code not in passed:
            raise LedgerError(f"{finding.sentence}. Nothing was spent")


def around_ledger(path: Path) -> Iterator[Folder]:
    """The published folders next to a ledger, or in a folder next to it."""
    home = path.resolve().parent
    for folder in (home, *sorted(each for each in home.glob("*") if each.is_dir())):
        with suppress(OSError):  # a folder of someone else's
            yield from folders_in(folder)


def folder_of(published: Folder) -> Witness:
    """What a published folder says of where it is written down; what is none says nothing."""
    try:
        manifest = published.privacy
        entry = manifest["ledger"]  # folders of version 1 have the number of the entry, too: its hash is enough
        head = Head.of(entry["ledger"], entry["hash"]) if entry else None
        checksums = hashlib.sha256((published.path / CHECKSUMS).read_bytes()).hexdigest()
        return Witness(published.path.name, head, str(manifest["release_id"]), checksums)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return Witness(published.path.name, None, "", "")
