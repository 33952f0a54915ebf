"""A harbour whose releases need an officer's approval: keys, a plan with a lookup of areas, and a ledger."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tapveil.internal.approval import appoint, approve, request_of
from tapveil.ledger.approval import Approval
from tapveil.plan.model import Plan
from tapveil.published.signature import SigningKey
from tests.conftest import start_ledger, write_csv

PLAN = """
[release]
name = "ferries"
title = "Harbour ferries"
[source]
path = "trips.csv"
first_day = 2025-01-01
last_day = 2025-01-31
[source.columns]
mode = "mode"
date = "trip_date"
tap_on_location = "tap_on_location"
[coarsen.location.ferry]
lookup = "areas.csv"
from = "stop"
to = "area"
[privacy]
unit = "trip"
neighbours = "add-remove"
mechanism = "laplace"
epsilon = 1
delta = 1e-6
[[table]]
name = "on"
columns = ["tap_on_location"]
"""
GAPS = {
    'path = "trips.csv"': 'path = "trips-{month}.csv"',
    "2025-01-01": "{first_day}",
    "2025-01-31": "{last_day}",
    'title = "Harbour ferries"': 'title = "Harbour ferries, {month}"',
}
ROUTINE = """
[run]
plan = "month.toml"
every = "month"
first_day = 2025-01-01
folder = "published/{month}"
"""


def new_key(folder: Path, name: str) -> SigningKey:
    """A key, with its files as `ssh-keygen` writes them."""
    private = Ed25519PrivateKey.generate()
    (folder / name).write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    key = SigningKey(private)
    (folder / f"{name}.pub").write_text(f"{key.public.line} {name}@city\n")
    return key


class Office:
    """An agency, and the officer that its ledger names."""

    def __init__(self, folder: Path, *, required: bool = True) -> None:
        self.folder, self.path = folder, folder / "plan.toml"
        self.path.write_text(PLAN, encoding="utf-8")
        self.lookup("quay,Harbour\nheads,Heads\n")
        self.trips("trips.csv", 1)
        self.officer, self.agency = new_key(folder, "officer"), new_key(folder, "agency")
        self.ledger = start_ledger(Plan.read(self.path), "8", "1e-5")
        if required:
            appoint(self.ledger, [self.officer.public.line])

    def trips(self, name: str, month: int) -> None:
        rows = [(f"2025-{month:02d}-{1 + n % 28:02d}", "ferry", ("quay", "heads")[n % 2]) for n in range(2000)]
        write_csv(self.folder / name, rows, ("trip_date", "mode", "tap_on_location"))

    def lookup(self, rows: str) -> None:
        (self.folder / "areas.csv").write_text(f"stop,area\n{rows}", encoding="utf-8")

    def edit(self, old: str, new: str) -> None:
        text = self.path.read_text(encoding="utf-8")
        assert old in text
        self.path.write_text(text.replace(old, new), encoding="utf-8")

    def routine(self) -> Path:
        text = PLAN
        for old, new in GAPS.items():
            text = text.replace(old, new)
        (self.folder / "month.toml").write_text(text, encoding="utf-8")
        (self.folder / "routine.toml").write_text(ROUTINE, encoding="utf-8")
        return self.folder / "routine.toml"

    def approve(
        self,
        path: Path | None = None,
        *,
        key: SigningKey | None = None,
        today: date | None = None,
        until: date | None = None,
        releases: int = 1,
        again: bool = False,
    ) -> Approval:
        """As the officer does, or who else has the key: nobody asks whose it is."""
        request = request_of(path or self.path)
        statement = request.statement(today=today, until=until, releases=releases, again=again, by="A. Officer")
        return approve(request.path, statement, key or self.officer)
