"""Releases that are cut short, at every point and at random times, each followed by a look at what is left.

A program of its own, so that it can fork before any engine has started threads:

    python -m tests.support.crashes FOLDER points|errors EVERY [FIRST]
    python -m tests.support.crashes FOLDER times HOW-MANY

FOLDER holds a plan, its trips and a ledger. It prints the points, and every promise that was broken; exit 1 if any was.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import random
import shutil
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pyarrow.feather as feather

from tapveil.base.errors import EngineError, LedgerError, TripDataError
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tapveil.plan.model import Plan
from tapveil.published.folder import Folder
from tapveil.veil import release as releasing
from tapveil.veil import workspace
from tapveil.verification.folder import verify_folder
from tests.support.faults import How, Points, in_child

BROKEN = 70


class Case:
    """One release to be cut short, in a folder of its own: plan and trips are shared, ledger and output are not."""

    def __init__(self, source: Path, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for path in source.iterdir():
            if path.is_file():
                shutil.copy2(path, folder)
        self.folder, self.out = folder, folder / "published"
        self.plan = Plan.read(folder / "plan.toml")

    def release(self, *, resume: bool = False) -> None:
        releasing.release(self.plan, self.out, resume=resume)

    @property
    def spends(self) -> list[str]:
        with Ledger.open(self.plan.ledger_path) as ledger:
            return [entry.id for entry in ledger.entries if isinstance(entry, Spend)]

    def look(self) -> None:
        """After the cut: whole or nothing, paid for or not there; then finish it, with the numbers that were sealed."""
        work = workspace.place_for(self.out)
        require(not self.out.exists() or self.is_whole(), "half a folder")
        require(not self.out.exists() or len(self.spends) == 1, "a folder without its spend")
        sealed = {name: feather.read_table(str(path)) for name, path in self._drawn(work)}
        require(not sealed or len(self.spends) == 1, "noise before its spend")
        if work.exists():
            self.release(resume=True)
        elif not self.out.exists():
            require(not self.spends, "a spend that nothing can finish")
            self.release()
        require(self.is_whole(), "a folder that does not verify in the end")
        require(len(self.spends) == 1, "spent twice, or not at all")
        require(not work.exists(), "something left behind")
        for name, cells in sealed.items():
            published = Folder(self.out).sheet(name)
            require(published.column("count").equals(cells.column("count")), "other numbers than were sealed")

    def _drawn(self, work: Path) -> Iterator[tuple[str, Path]]:
        """The tables that the journal has, each in its file or still aside; and no other file is sealed."""
        if not work.exists():
            return
        recorded: dict[str, str] = json.loads((work / "journal.json").read_text())["sealed"]
        require({path.stem for path in work.glob("*.sealed")} <= set(recorded), "a seal that is not recorded")
        for name, digest in recorded.items():
            files = [path for path in (work / f"{name}.sealed", work / f".{name}.sealed.aside") if path.exists()]
            require(bool(files), "a record of what is not there")
            require(hashlib.sha256(files[0].read_bytes()).hexdigest() == digest, "a record of something else")
            yield name, files[0]

    def is_whole(self) -> bool:
        findings = verify_folder(self.out).findings
        for finding in findings:
            print(finding, file=sys.stderr)
        return not findings


class BrokenError(Exception):
    exit_code = BROKEN


def require(kept: bool, promise: str) -> None:
    if not kept:
        print(f"broken: {promise}", flush=True)
        raise BrokenError(promise)


def record(source: Path, folder: Path) -> list[str]:
    """The points of a release that nothing disturbs."""
    case, points = Case(source, folder), Points(None)

    def work() -> None:
        case.release()
        (folder / "points.json").write_text(json.dumps([points.names, list(sys.modules)]))

    if in_child(work, points):
        raise SystemExit("an undisturbed release failed")
    names, modules = json.loads((folder / "points.json").read_text())
    _warm(modules, case)
    return names[: names.index("write points.json")] if "write points.json" in names else names


def _warm(modules: list[str], case: Case) -> None:
    """What every child would do first is done once, before they fork: imports, templates, the accounts of the noise."""
    for module in modules:
        with contextlib.suppress(ImportError):  # names that modules made up
            import_module(module)
    if not case.is_whole():
        raise SystemExit("an undisturbed release does not verify")


def run(
    source: Path, folder: Path, label: str, points: Points | None, expected: set[int], after: float | None = None
) -> bool:
    """One case: cut short, then looked at. Whether every promise held."""
    case = Case(source, folder)
    ended = in_child(case.release, points, after)
    looked = in_child(case.look)
    fine = ended in expected and looked == 0
    if not fine:
        print(f"FAILED {label}: ended {ended}, looked {looked}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    return fine


ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
REFUSED = {error.exit_code for error in (EngineError, LedgerError, TripDataError)}


def main(source: Path, what: str, number: int, first: int = 0) -> int:
    scratch = source / "cases"
    names = record(source, scratch / "record")
    fine = True
    if what == "times":
        start = time.perf_counter()
        in_child(Case(source, scratch / "timed").release)
        whole = time.perf_counter() - start
        chance = random.Random(number)
        for count in range(number):
            after = chance.uniform(0, 1.1 * whole)
            fine &= run(source, scratch / str(count), f"killed after {after:.3f} s", None, {-9, 0}, after)
        print(f"{number} kills at random times within {whole:.2f} s")
        return 0 if fine else 1
    ways: list[How] = ["kill before", "kill after"] if what == "points" else list(ERRORS)
    for at, name in enumerate(names):
        print(f"point {at + 1}: {name}", flush=True)
        if at % number != first:
            continue
        for how in ways:
            expected = {-9} if isinstance(how, str) else REFUSED | {0}  # cleaning up may fail in silence
            fine &= run(source, scratch / f"{at}-{how}", f"{name}, {how}", Points(at, how), expected)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])))
