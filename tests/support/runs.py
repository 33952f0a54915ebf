"""Six months of `tapveil run`, killed at chosen steps and started again, with a portal on this machine.

A program of its own, so that it can fork before any engine has started threads:

    python -m tests.support.runs FOLDER EVERY [FIRST]

The steps of a month (writes, renames, ledger, requests to the portal) are counted first. Then every EVERY-th scenario
is played, from FIRST on: six months, each killed at another step, so that all scenarios together have every step once.
It prints every promise that was broken; exit 1 if any was.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from contextlib import chdir
from importlib import import_module
from pathlib import Path

from tapveil.base.defaults import MEMORY
from tapveil.cli.commands.run import run as tapveil_run
from tapveil.delivery import client
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Delivered, Published, Spend
from tapveil.plan.model import Plan
from tapveil.verification.folder import verify_folder
from tests.conftest import start_ledger, write_csv
from tests.support.faults import How, Points, _os_error, in_child
from tests.support.portals.ckan import ORGANISATION, FakeCkan
from tests.support.portals.server import TOKEN

MONTHS = 6
PLAN = """
[release]
name = "ferries"
title = "Harbour ferries, {month}"
[source]
path = "trips/{month}*.csv"
first_day = {first_day}
last_day = {last_day}
[source.columns]
mode = "mode"
date = "trip_date"
tap_on_location = "tap_on_location"
[privacy]
unit = "trip"
neighbours = "add-remove"
mechanism = "laplace"
epsilon = 4
delta = 1e-6
[[table]]
name = "on"
columns = ["tap_on_location"]
"""
ROUTINE = """
[run]
plan = "month.toml"
every = "month"
first_day = 2025-01-01
folder = "published/{{month}}"
[run.push]
portal = "ckan"
to = "{address}"
owner = "{organisation}"
unsigned = true
"""


class Watched(FakeCkan):
    """Finds a data set that is visible and lacks a file."""

    def look(self) -> None:
        for package in self.packages.values():
            there = {each["name"]: self.files[each["id"]] for each in package["resources"]}
            listed = [line.split("  ", 1)[1] for line in there.get("SHA256SUMS", b"").decode().splitlines()]
            if not package["private"] and (not listed or {*listed, "SHA256SUMS"} != there.keys()):
                self.broken.append(f"{package['name']} is visible and incomplete")


def agency(folder: Path, address: str) -> Path:
    """A plan with gaps, a routine, the trips of a year's first half, and a ledger with room for one month at a time."""
    for month in range(1, MONTHS + 1):
        rows = [(f"2025-{month:02d}-{1 + n % 28:02d}", "ferry", f"wharf {n % 3}") for n in range(3000)]
        write_csv(folder / "trips" / f"2025-{month:02d}.csv", rows, ("trip_date", "mode", "tap_on_location"))
    (folder / "month.toml").write_text(PLAN, encoding="utf-8")
    written = ROUTINE.format(address=address, organisation=ORGANISATION)
    (folder / "routine.toml").write_text(written, encoding="utf-8")
    filled = PLAN.format(month="2025-01", first_day="2025-01-01", last_day="2025-01-31")
    start_ledger(Plan.parse(filled, base=folder), "4", "1e-6")
    return folder


def due(folder: Path, month: int, points: Points | None = None, names: Path | None = None) -> int:
    """Run what is due after a month, in a process of its own; how it ended."""

    def work() -> None:
        if points:
            send = points.wrap("send", client.Client.send, _os_error)
            client.Client.send = lambda self, request: send(self, request)  # type: ignore[method-assign]
        with chdir(folder):
            tapveil_run(Path("routine.toml"), f"2025-{month + 1:02d}-01", False, MEMORY, True)
        if points and names:
            found = list(points.names)
            names.write_text(json.dumps(found), encoding="utf-8")

    return in_child(work, points)


def kept(folder: Path, portal: Watched) -> list[str]:
    """Which promises were broken, after six months."""
    broken = list(portal.broken)
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        entries = ledger.entries
        broken += [finding.sentence for finding in ledger.findings()]
    for kind in (Spend, Published, Delivered):
        if (number := sum(isinstance(each, kind) for each in entries)) != MONTHS:
            broken.append(f"{number} entries {kind.__name__}")
    folders = sorted((folder / "published").iterdir())
    if [each.name for each in folders] != [f"2025-{month:02d}" for month in range(1, MONTHS + 1)]:
        broken.append(f"other folders than six: {[each.name for each in folders]}")
    for each in folders:
        broken += [f"{each.name}: {finding.sentence}" for finding in verify_folder(each).findings]
    theirs = [
        {each["name"]: portal.files[each["id"]] for each in package["resources"]}
        for package in portal.packages.values()
        if not package["private"] and len(package["resources"]) == len({each["name"] for each in package["resources"]})
    ]
    ours = [
        {path.relative_to(each).as_posix(): path.read_bytes() for path in each.rglob("*") if path.is_file()}
        for each in folders
    ]
    if len(portal.packages) != MONTHS or any(each not in theirs for each in ours):
        broken.append(f"{len(portal.packages)} data sets, {sum(each in theirs for each in ours)} as they should be")
    return broken


def play(folder: Path, points: list[int], how: How) -> list[str]:
    """Six months, each killed at its step, then started again until it is done."""
    with Watched().running() as portal:
        assert isinstance(portal, Watched)
        agency(folder, portal.address)
        broken = []
        for month, point in enumerate(points, start=1):
            ended = due(folder, month, Points(point, how))
            again = due(folder, month)
            if (ended, again) != (-9, 0):
                broken.append(f"month {month}, step {point}, {how}: ended {ended}, then {again}")
        if due(folder, MONTHS):
            broken.append("a run with nothing to do does not end well")
        broken += kept(folder, portal)
    shutil.rmtree(folder)
    return broken


def _warm(folder: Path) -> None:
    """What every child would do first is done once, before they fork: imports, templates."""
    for module in ("internal.routine", "delivery.portals", "delivery.push"):
        import_module(f"tapveil.{module}")
    if verify_folder(folder / "published" / "2025-01").findings:
        raise SystemExit("an undisturbed release does not verify")


def main(folder: Path, every: int, first: int = 0) -> int:
    os.environ["TAPVEIL_CKAN_TOKEN"] = TOKEN
    with Watched().running() as portal:
        names = folder / "points.json"
        if due(agency(folder / "record", portal.address), 1, Points(None), names):
            raise SystemExit("an undisturbed run does not end well")
        _warm(folder / "record")
    steps = len(json.loads(names.read_text(encoding="utf-8")))
    scenarios = -(-steps // MONTHS)
    fine = True
    for number in range(first % scenarios, scenarios, every):
        # The steps of a scenario are spread over the month: each month dies at another part of the work.
        points = [min(number + month * scenarios, steps - 1) for month in range(MONTHS)]
        for how in ("kill before", "kill after") if every < scenarios else ("kill before",):
            for line in play(folder / f"{number}", points, how):
                print(f"broken: scenario {number}, {how}: {line}", flush=True)
                fine = False
    print(f"{steps} steps, {scenarios} scenarios of {MONTHS} months")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(int, sys.argv[2:])))
