"""Withdraw a release: mark it in the ledger, and at every portal that the ledger says it was delivered to.

What it spent stays spent, and what readers have copied stays copied. A withdrawal says that its counts are not to be
used; it takes back neither.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tapveil.base.errors import LedgerError, UsageError
from tapveil.delivery.client import Client, sound_address
from tapveil.delivery.conversation import Wait, converse
from tapveil.delivery.lock import alone
from tapveil.delivery.notice import Notice
from tapveil.delivery.parcel import Parcel
from tapveil.delivery.portal import Portal
from tapveil.delivery.portals import PORTALS
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Delivered, Withdrawn
from tapveil.ledger.witness import folder_of
from tapveil.published.folder import Folder


@dataclass(frozen=True)
class Withdrawal:
    """A release that is to be withdrawn, from the ledger that paid for it."""

    parcel: Parcel
    ledger: Path
    reason: str
    by: str
    hide: bool = False
    to: str | None = None
    """Of several portals, the address of the one where it is marked now."""

    @classmethod
    def of(
        cls, folder: Path, ledger: Path, reason: str, by: str, *, hide: bool = False, to: str | None = None
    ) -> Withdrawal:
        """UsageError if a word of it cannot be recorded; LedgerError unless the ledger knows the folder."""
        parcel = Parcel.of(folder)
        if parcel.manifest.ledger is None:
            raise LedgerError(f"{folder} was released without a ledger, so there is none that could mark it")
        for option, words in (("--reason", reason), ("--by", by)):
            if not (words.strip() and words.isprintable() and len(words) <= 500):
                raise UsageError(f"{option}: must be one line of at most 500 characters")
        with Ledger.open(ledger) as book:
            for finding in book.findings([folder_of(Folder(folder))]):
                raise LedgerError(f"{finding.place}: {finding.sentence}. Nothing was withdrawn")
        return cls(parcel, ledger, reason, by, hide, to and sound_address(to))

    @property
    def _entry(self) -> Withdrawn:
        today = datetime.now(UTC).date()
        return Withdrawn(on=today, id=self.parcel.manifest.release_id, reason=self.reason, by=self.by)

    @property
    def notice(self) -> Notice:
        """What readers would be told today."""
        return Notice(self.parcel.manifest, self._entry.on, self.reason)

    def portals(self) -> Iterator[tuple[Portal, Parcel]]:
        """Where the release is, as the ledger has it, and as which data set."""
        with Ledger.open(self.ledger) as book:
            entries = book.entries
        for entry in entries:
            if isinstance(entry, Delivered) and entry.id == self.parcel.manifest.release_id:
                portal, name = PORTALS[entry.portal].found(entry.address)
                if self.to in (None, portal.address):
                    yield portal, replace(self.parcel, name=name)

    def mark(self, *, at_portals: bool = True, wait: Wait = time.sleep) -> tuple[Notice, list[str]]:
        """Mark it in the ledger, then at each portal; a second time changes nothing.

        Returns:
            The notice, by what was recorded first; and the addresses where it is now.
        """
        with alone(self.parcel.folder):  # a push that is under way would make it public without a notice
            there = list(self.portals()) if at_portals else []
            _refuse_shared([portal for portal, _ in there])
            clients = [Client(portal.address, portal.secret) for portal, _ in there]
            with Ledger.open(self.ledger) as book:
                recorded = book.withdraw(self._entry)
            notice = Notice(self.parcel.manifest, recorded.on, recorded.reason)
            return notice, [
                converse(client, partial(portal.withdraw, parcel, notice, hide=self.hide), set(), wait)
                for client, (portal, parcel) in zip(clients, there, strict=True)
            ]


def _refuse_shared(portals: Sequence[Portal]) -> None:
    """UsageError where the credentials for one portal would be sent to another one, too."""
    for variable in dict.fromkeys(portal.variable for portal in portals):
        first, *others = dict.fromkeys(portal.address for portal in portals if portal.variable == variable)
        if others:
            raise UsageError(
                f"the release is at {first} and {', '.join(others)}, and {variable} has the credentials for one of "
                "them: withdraw it at each with --to ADDRESS"
            )
