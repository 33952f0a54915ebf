"""What a release costs with tapveil, with six other libraries of differential privacy, and without any privacy.

python -m benchmarks.compare                                    # everything; renews docs/benchmarks.*
python -m benchmarks.compare --sizes 10000 --only OpenDP        # a trial, kept in build/
python -m benchmarks.compare --page                             # page and picture again, from the kept results

Machines are shared and noisy: all contenders run in turn, several times, and are compared by their medians with the
bare DuckDB of the same run. Start-up is included, and so is every process that a contender starts.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.compare.contenders import BASE, BUILD, CONTENDERS, ROOT, Contender
from benchmarks.compare.environment import python_for, versions
from benchmarks.compare.page import ratios, write_pages
from benchmarks.compare.process import Limits, StoppedError, run
from benchmarks.compare.results import SLOW_SECONDS, Machine, Results, Run

SIZES = (10_000, 100_000, 1_000_000, 5_000_000, 30_000_000, 100_000_000)
ALMOST_LINEAR = 0.7
"""Of what it would take if cost grew with the trips: nobody does much better on ten times as many."""
DOCS = ROOT / "docs"
TRIAL = BUILD / "trial"


def trips_file(trips: int) -> Path:
    """Made once, by a process of its own."""
    path = BUILD / f"trips-{trips}.parquet"
    if not path.exists():
        print(f"Making up {trips:,} trips ...", flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.compare.trips", str(trips), str(path)]
        subprocess.run(command, cwd=ROOT, check=True)
    return path


class Race:
    """All contenders, size by size; who does not finish is out."""

    def __init__(self, results: Results, contenders: Sequence[Contender], repeat: int) -> None:
        self.results, self.contenders, self.repeat = results, contenders, repeat
        self.limits = Limits(results.limit_seconds, 1024 * results.limit_gb)
        self.pythons: dict[str, Path] = {}
        self.out: set[str] = set()
        self.last: dict[str, tuple[int, float]] = {}
        """How many trips each did last, and in how many seconds."""

    def get_ready(self, first_size: int) -> None:
        """Environments first, so that nothing is installed while others are measured."""
        for contender in self.contenders:
            try:
                python = python_for(contender)
            except StoppedError as stopped:
                self._leave(contender, first_size, str(stopped))
            else:
                self.pythons[contender.name] = python
                self.results.versions[contender.name] = versions(contender, python)

    def go(self, trips: int) -> None:
        """One size: everyone in turn, several times."""
        source, slow = trips_file(trips), set[str]()
        for _ in range(self.repeat):
            for contender in self.contenders:
                if contender.name not in self.out | slow and trips <= contender.largest:
                    if self._is_hopeless(contender, trips):
                        continue
                    seconds = self._once(contender, trips, source)
                    if seconds > SLOW_SECONDS:
                        slow.add(contender.name)

    def _is_hopeless(self, contender: Contender, trips: int) -> bool:
        """Whether it would surely not finish in time: who took so long for fewer trips is not waited for."""
        before, seconds = self.last.get(contender.name, (trips, 0.0))
        if ALMOST_LINEAR * seconds * trips / before <= self.limits.seconds:
            return False
        self._leave(contender, trips, f"not tried: {before:,} trips took {seconds:.0f} s")
        return True

    def _once(self, contender: Contender, trips: int, source: Path) -> float:
        out = BUILD / "out"
        shutil.rmtree(out, ignore_errors=True)
        command = contender.command(self.pythons[contender.name], source, out)
        try:
            cost = run(command, ROOT, BUILD / f"{contender.module or 'tapveil'}.log", self.limits)
        except StoppedError as stopped:
            self._leave(contender, trips, str(stopped))
            return 0.0
        found = Run(contender.name, trips, cells=cells(out), **vars(cost))
        if contender.name == BASE:
            self.results.cells[trips] = found.cells
        self.results.runs.append(found)
        self.last[contender.name] = trips, cost.wall_seconds
        said = f"{cost.cpu_seconds:9.2f} s of CPU{cost.wall_seconds:9.2f} s"
        print(f"{trips:>12,}  {contender.name:24}{said}", flush=True)
        return cost.wall_seconds

    def _leave(self, contender: Contender, trips: int, reason: str) -> None:
        print(f"{trips:>12,}  {contender.name:24}  skipped: {reason}", flush=True)
        self.out.add(contender.name)
        self.results.runs.append(Run(contender.name, trips, reason=reason))


def cells(out: Path) -> int:
    """How many cells a contender has written."""
    files = (path for path in out.rglob("*.parquet") if path.is_file())
    return sum(pq.read_metadata(path).num_rows for path in files)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [contender.name for contender in CONTENDERS]
    parser.add_argument("--sizes", type=int, nargs="+", metavar="TRIPS", help="default: 10 000 to 100 million")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"of: {', '.join(map(repr, names))}")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; default: 3")
    parser.add_argument("--seconds", type=float, default=600, help="most time for a run")
    parser.add_argument("--gigabytes", type=float, default=16, help="most memory for a run")
    parser.add_argument("--page", action="store_true", help="run nothing; page and picture from the kept results")
    parser.add_argument("-o", "--output", type=Path, help="folder; default: docs, or for a trial one in build")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    folder = chosen.output or (TRIAL if chosen.sizes or chosen.only else DOCS)
    if chosen.page:
        write_pages(Results.read(folder / "benchmarks.json"), folder)
        return
    sizes = sorted(chosen.sizes or SIZES)
    results = Results(str(date.today()), Machine.this(), chosen.seconds, chosen.gigabytes)
    contenders = [each for each in CONTENDERS if not chosen.only or each.name in {BASE, *chosen.only}]
    race = Race(results, contenders, chosen.repeat)
    race.get_ready(sizes[0])
    for trips in sizes:
        race.go(trips)
        results.write(folder / "benchmarks.json")  # after each size: a run that is cut short is not lost
        write_pages(results, folder)
    print(ratios(results))


if __name__ == "__main__":
    main()
