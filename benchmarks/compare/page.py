"""What was measured, as a page in Markdown with a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.compare.contenders import BASE, CONTENDERS, OURS
from benchmarks.compare.picture import svg
from benchmarks.compare.results import SLOW_SECONDS, Results
from benchmarks.peers.job import DELTA_TOTAL, EPSILON_TOTAL

PICTURE = Path("pictures") / "benchmarks.svg"
NONE = "–"

DELTA = f"{DELTA_TOTAL:.1e}".replace("e-0", "e-")

HEAD = f"""\
<!-- Written by `python -m benchmarks.compare` from benchmarks.json. Change it there. -->

# Benchmarks

This page compares tapveil with six other libraries, and with no privacy at all.
The task is the paper's six tables of counts per mode and day, from the same generated trips, each with noise and a
threshold, in total ε = {EPSILON_TOTAL}, δ = {DELTA}.
The other libraries write six tables; tapveil makes a complete release.

![CPU time against trips, one line for each contender]({PICTURE})
"""

METHOD = """\
## How it was measured
- The trips are one Parquet file, already binned: two weeks, four modes, 786 places. No cleaning or lookup is needed.
- Each contender is a separate program, started again for each run. Start-up, reading and writing are included, and so
  is every process that it starts, such as Spark's JVM. CPU time is user and system time; memory is the peak of all its
  processes together.
- All run in turn on the same machine, and are compared with the bare DuckDB of the same run.
- The guarantee is the same for all that give one: one trip added or left out. Of tapveil's two notions of neighbours it
  is the weaker one; the others have no tight bound for a replaced trip.
- The programs for the other libraries are ours (`benchmarks/peers`) and are not tuned; experts in a library may find a
  faster way.
- On many machines, Tumult and PipelineDP do what a single machine cannot. That is not measured here.
"""


def write_pages(results: Results, folder: Path) -> None:
    """The page and its picture."""
    (folder / PICTURE).parent.mkdir(parents=True, exist_ok=True)
    (folder / PICTURE).write_text(svg(results), encoding="utf-8")
    (folder / "benchmarks.md").write_text(markdown(results), encoding="utf-8")


def markdown(results: Results) -> str:
    return "\n".join(_parts(results))


def _parts(results: Results) -> Iterator[str]:
    yield HEAD
    yield "## CPU time, as a multiple of bare DuckDB"
    yield ratios(results)
    yield from _unfinished(results)
    yield "## Figures"
    for title, figure, shown in FIGURES:
        yield f"**{title}**"
        yield _figures(results, figure, shown)
    yield "## What each contender does\n"
    yield _table(["", "guarantee", "what it does", "versions"], "----", _contenders(results))
    yield METHOD
    yield f"{_where(results)}\n"


def ratios(results: Results) -> str:
    """CPU time over that of the base, by contender and size."""
    return _by_size(results, lambda name, trips: _shown(results.ratio(name, trips), _digits))


def _figures(results: Results, figure: Figure, shown: Callable[[float], str]) -> str:
    return _by_size(results, lambda name, trips: _shown(figure(results, name, trips), shown))


def _by_size(results: Results, entry: Callable[[str, int], str]) -> str:
    heads = ["trips", *(f"{trips:,}" for trips in results.sizes)]
    rows = ([_name(name), *(entry(name, trips) for trips in results.sizes)] for name in results.contenders)
    return "\n" + _table(heads, "-" + ":" * len(results.sizes), rows)


def _table(heads: Sequence[str], alignment: str, rows: Iterable[Sequence[str]]) -> str:
    """A column is set flush right where its letter is a colon."""
    rule = ["--:" if letter == ":" else "---" for letter in alignment]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows)) + "\n"


def _name(name: str) -> str:
    return f"**{name}**" if name == OURS else name


Figure = Callable[[Results, str, int], float | None]


def _per_trip(results: Results, name: str, trips: int) -> float | None:
    seconds = results.median(name, trips, "cpu_seconds")
    return None if seconds is None else 1e6 * seconds / trips


def _median(figure: str) -> Figure:
    return lambda results, name, trips: results.median(name, trips, figure)


def _shown(number: float | None, shown: Callable[[float], str]) -> str:
    return NONE if number is None else shown(number)


def _digits(number: float) -> str:
    """Three digits, without an exponent.

    >>> _digits(0.1234), _digits(12.345), _digits(1234.5)
    ('0.12', '12.3', '1,234')
    """
    return f"{number:.2f}" if number < 10 else f"{number:.1f}" if number < 100 else f"{number:,.0f}"


def _whole(number: float) -> str:
    return f"{number:,.0f}"


FIGURES: tuple[tuple[str, Figure, Callable[[float], str]], ...] = (
    ("CPU time, s", _median("cpu_seconds"), _digits),
    ("CPU time per trip, µs", _per_trip, _digits),
    ("Wall time, s", _median("wall_seconds"), _digits),
    ("Most memory, MB", _median("peak_mb"), _whole),
    (f"Cells published ({BASE}: all that occur)", _median("cells"), _whole),
)


def _unfinished(results: Results) -> Iterator[str]:
    found = {name: results.reason(name) for name in results.contenders}
    lines = [f"- {name}, {stop[0]:,} trips: {stop[1]}." for name, stop in found.items() if stop]
    if lines:
        yield "Not finished, and not tried with more trips:\n"
        yield "\n".join(lines) + "\n"


def _contenders(results: Results) -> Iterator[list[str]]:
    for each in CONTENDERS:
        if each.name in results.contenders:
            used = results.versions.get(each.name, {})
            listed = ", ".join(f"{package} {version}" for package, version in used.items()) or NONE
            yield [_name(each.name), each.guarantee, each.remark, listed]


def _where(results: Results) -> str:
    machine = results.machine
    most = max(len([run for run in results.runs if run.contender == BASE and run.trips == n]) for n in results.sizes)
    runs = (
        f"medians of {most}, but what takes longer than {SLOW_SECONDS} s was run once" if most > 1 else "each run once"
    )
    return (
        f"Measured on {results.date}: {machine.processor}, {machine.cores} cores, {machine.memory_gb:g} GB, "
        f"{machine.system}; at most {results.limit_seconds:g} s and {results.limit_gb:g} GB for a run; {runs}. "
        "Every run is in [benchmarks.json](benchmarks.json)."
    )
