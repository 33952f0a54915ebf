"""What a release cost, version after version: a line of JSON for each recorded run, and a page that plots them.

    python -m benchmarks.release --trips 5000000 --csv 2000000 --growth --record     adds a line, draws the page anew
    python -m benchmarks.history                                                     draws the page anew

Costs are kept as ratios: seconds of one machine say nothing about another's, and a busy machine is slow for all.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import tapveil
from tapveil._version import __version__
from tapveil.base.svg import ON_PAPER, SHAPES, apart, box, line, marks, picture, round_steps, text

if TYPE_CHECKING:
    from benchmarks.release import Cost

HERE = Path(__file__).parent
HISTORY = HERE / "history.jsonl"
DOCS = HERE.parent / "docs"
FLOORS = {"scan": "a bare scan", "group-bys": "bare `GROUP BY`s", "parsing": "bare parsing"}
FORMATS = {"parquet": "Parquet", "csv": "CSV"}


@dataclass(frozen=True)
class Case:
    """A release of one size: its CPU time as a multiple of each floor's, and its peak memory."""

    trips: int
    format: str
    ratios: Mapping[str, float]
    peak_mb: float

    def named(self, floor: str) -> str:
        """What a ratio is of."""
        return f"{trips_in_words(self.trips)} trips, {FORMATS[self.format]}, against {FLOORS[floor]}"


@dataclass(frozen=True)
class Run:
    """One run: of which commit, when and where."""

    date: str
    commit: str
    committed: str
    version: str
    cores: int
    load: float
    python: str
    repeat: int
    cases: tuple[Case, ...]


def trips_in_words(trips: int) -> str:
    """A number of trips.

    >>> trips_in_words(10_000), trips_in_words(5_000_000)
    ('10 thousand', '5 million')
    """
    return f"{trips / 1e6:g} million" if trips >= 1_000_000 else f"{trips / 1e3:g} thousand"


# --- keeping ----------------------------------------------------------------------------------------------------------


def run_of(results: Mapping[str, Mapping[str, Cost]], repeat: int, load: float) -> Run:
    """A run, from the costs of `benchmarks.release`; of the tapveil that is imported, wherever its source lies."""
    commit, committed = _commit()
    cases = []
    for name, costs in results.items():
        trips, format = name.split()
        ours = costs["tapveil"]
        ratios = {floor: round(ours.cpu / cost.cpu, 3) for floor, cost in costs.items() if floor in FLOORS}
        cases.append(Case(int(trips), format, ratios, round(ours.peak_mb)))
    today = datetime.now(UTC).date().isoformat()
    machine = (os.cpu_count() or 1, round(load, 1), platform.python_version())
    return Run(today, commit, committed, __version__, *machine, repeat, tuple(cases))


def _commit() -> tuple[str, str]:
    """Of the source that is measured, and when it was made; a changed one is no commit."""
    source = Path(tapveil.__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(source), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    if git("status", "--porcelain", "."):
        raise SystemExit("The source has changes that are in no commit: commit them before recording.")
    commit, committed = git("log", "-1", "--format=%h %cI").split()
    return commit, committed


def read(path: Path = HISTORY) -> list[Run]:
    """All runs, in the order of their commits."""
    runs = []
    for each in path.read_text(encoding="utf-8").splitlines():
        said = json.loads(each)
        runs.append(Run(**said | {"cases": tuple(Case(**case) for case in said["cases"])}))
    return sorted(runs, key=lambda run: (datetime.fromisoformat(run.committed), run.date))


def record(run: Run, path: Path = HISTORY) -> None:
    """One line more."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run)) + "\n")


# --- showing ----------------------------------------------------------------------------------------------------------

PAGE = """\
# Benchmark history

What a release cost, version after version.
One row for each run of `python -m benchmarks.release --record`, in the order of the commits.
The runs themselves are in `benchmarks/history.jsonl`.
A ratio is the CPU time of a complete release divided by that of a *floor*, measured in turn on the same machine.
Floors are the least that the same work could take.
For Parquet they are a scan of the columns by PyArrow, and DuckDB's bare `GROUP BY`s of the two largest tables.
For CSV it is DuckDB's parsing of the columns.
So 2 means twice the floor, and less is better.
[Benchmarks](benchmarks.md) and [scale](scale.md) have seconds, and larger cities.

![CPU time of a release against the floors, and its peak memory, by commit](benchmarks-history.svg)

"""
NOTE = """\
*Load* is how many processes wanted a core when the run began, on average over five minutes.
A busy machine takes more time for everything, and ratios move by some percent.
"""
COLOURS = (ON_PAPER.blue, ON_PAPER.orange, ON_PAPER.green, ON_PAPER.pale)
WIDTH, LEFT, WIDE, HIGH = 960, 60, 520, 240


def page(runs: Sequence[Run]) -> str:
    """The page in Markdown."""
    ratios, peaks = _series(runs)
    heads = ["commit", "of", "version", "measured", "cores (load)", *ratios, *(f"{name}: memory" for name in peaks)]
    rows = [heads, ["---"] * 5 + ["--:"] * (len(heads) - 5)]
    for number, run in enumerate(runs):
        where = [run.commit, run.committed[:10], run.version, run.date, f"{run.cores} ({run.load:g})"]
        found = [f"{values[number]:.2f} ×" if number in values else "–" for values in ratios.values()]
        memory = [f"{values[number]:.0f} MB" if number in values else "–" for values in peaks.values()]
        rows.append([*where, *found, *memory])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{PAGE}{table}\n\n{NOTE}"


def _series(runs: Sequence[Run]) -> tuple[dict[str, dict[int, float]], dict[str, dict[int, float]]]:
    """Ratios and peak memory by name; each by the number of its run."""
    ratios: dict[str, dict[int, float]] = {}
    peaks: dict[str, dict[int, float]] = {}
    for number, run in enumerate(runs):
        for case in run.cases:
            for floor, ratio in case.ratios.items():
                ratios.setdefault(case.named(floor), {})[number] = ratio
            name = f"{trips_in_words(case.trips)} trips, {FORMATS[case.format]}"
            peaks.setdefault(name, {})[number] = case.peak_mb
    return ratios, peaks


def svg(runs: Sequence[Run]) -> str:
    """The picture: above the ratios, below the memory."""
    said = "Two plots by commit: CPU time of a release as a multiple of several floors, and its peak memory."
    return picture(WIDTH, 2 * HIGH + 220, said, _body(runs)) + "\n"


def _body(runs: Sequence[Run]) -> Iterator[str]:
    ratios, peaks = _series(runs)
    yield box(0, 0, WIDTH, 2 * HIGH + 220, ON_PAPER.paper)
    looks = {name: number for number, name in enumerate(ratios)}  # a size looks the same in both
    looks |= {name: next((looks[other] for other in ratios if other.startswith(name)), 0) for name in peaks}
    yield from _panel(60, "CPU time of a release, as a multiple of the floor's", ratios, runs, looks)
    yield from _panel(60 + HIGH + 100, "Peak memory of a release, MB", peaks, runs, looks)


def _panel(
    top: float, title: str, series: Mapping[str, Mapping[int, float]], runs: Sequence[Run], looks: Mapping[str, int]
) -> Iterator[str]:
    yield text(20, top - 26, title, 16, colour=ON_PAPER.ink, bold=True)
    most = max((value for values in series.values() for value in values.values()), default=1.0)
    across = [LEFT + WIDE * (number + 0.5) / max(1, len(runs)) for number in range(len(runs))]
    for step in round_steps(most):
        y = top + HIGH * (1 - step / most)
        yield line([(LEFT, y), (LEFT + WIDE, y)], ON_PAPER.grid)
        yield text(LEFT - 8, y + 4, f"{step:g}", 12, colour=ON_PAPER.pale, anchor="end")
    for x, run in zip(across, runs, strict=True):
        yield text(x, top + HIGH + 18, run.commit, 12, colour=ON_PAPER.pale, anchor="middle")
        yield text(x, top + HIGH + 34, run.committed[:10], 11, colour=ON_PAPER.pale, anchor="middle")
    ends = {name: top + HIGH * (1 - values[max(values)] / most) for name, values in series.items()}
    heights = apart(ends, top, top + HIGH, gap=18)
    for name, values in series.items():
        colour, shape = COLOURS[looks[name] % len(COLOURS)], list(SHAPES)[looks[name] % len(SHAPES)]
        places = [(across[at], top + HIGH * (1 - value / most)) for at, value in sorted(values.items())]
        yield line(places, colour, 1.8)
        yield marks(places, shape, colour, 4)
        yield marks([(LEFT + WIDE + 12, heights[name])], shape, colour, 4)
        yield text(LEFT + WIDE + 22, heights[name] + 4, name.replace("`", ""), 12, colour=colour)


def write(runs: Sequence[Run], folder: Path = DOCS) -> None:
    """The page and its picture."""
    (folder / "benchmarks-history.md").write_text(page(runs), encoding="utf-8")
    (folder / "benchmarks-history.svg").write_text(svg(runs), encoding="utf-8")


if __name__ == "__main__":
    write(read())
