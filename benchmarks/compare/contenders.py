"""Who does the job, by which command, with which guarantee, and what else it does or leaves out."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.job import DELTA, EPSILON_TOTAL, TABLES

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "bench" / "compare"
BASE = "bare DuckDB"
"""What the others are compared with."""
OURS = "tapveil"


@dataclass(frozen=True)
class Contender:
    """One of them."""

    name: str
    guarantee: str
    remark: str
    packages: tuple[str, ...]
    """Whose versions matter."""
    module: str = ""
    environment: str = ""
    """The name of its own environment; without one it runs in ours."""
    programs: tuple[str, ...] = ()
    """What else the machine must have."""
    largest: int = 30_000_000
    card: bool = False

    def command(self, python: Path, source: Path, out: Path) -> list[str]:
        if self.module:
            return [str(python), "-m", f"benchmarks.peers.{self.module}", str(source), str(out)]
        plan = source.with_name(f"{source.stem}{'-card' if self.card else ''}.toml")
        plan.write_text(plan_text(source, self.card), encoding="utf-8")
        return [sys.executable, "-m", "tapveil", "release", str(plan), "--no-ledger", "--quiet", "-o", str(out)]


def plan_text(source: Path, card: bool) -> str:
    """The paper's tables and total; neighbours and noise are those of the peers."""
    lines = [
        '[release]\nname = "trips"\ntitle = "Made-up trips"',
        f'[source]\npath = "{source.name}"',
        '[source.columns]\nmode = "mode"\ndate = "date"',
        *(f'tap_{end}_time = "{end}_time"\ntap_{end}_location = "{end}_loc"' for end in ("on", "off")),
        *(['card = "card"'] if card else []),
        '[privacy]\nunit = "trip"\nneighbours = "add-remove"\nmechanism = "laplace"',
        f'epsilon = {EPSILON_TOTAL}\ndelta = "{len(TABLES)}/{round(1 / DELTA)}"',
    ]
    for name, (columns, epsilon) in TABLES.items():
        ours = ", ".join(f'"tap_{column.replace("loc", "location")}"' for column in columns)
        lines.append(f'[[table]]\nname = "{name}"\ncolumns = [{ours}]\nweight = {epsilon}')
    return "\n".join(lines) + "\n"


TRIP = "one trip added or left out"

CONTENDERS = (
    Contender(
        "bare scan",
        "none",
        "Reads the six columns with PyArrow and counts nothing.",
        ("pyarrow",),
        module="bare_scan",
        largest=100_000_000,
    ),
    Contender(
        BASE,
        "none",
        "Two GROUP BYs and four roll-ups; writes the exact counts.",
        ("duckdb",),
        module="bare_duckdb",
        largest=100_000_000,
    ),
    Contender(
        OURS,
        f"{TRIP}; the complete release accounted for, exact discrete noise",
        "A complete release: every row checked, tables as CSV and Parquet with intervals, consistent totals, metadata, "
        "checksums, and a page to look at.",
        ("tapveil", "duckdb", "numpy", "pyarrow"),
        largest=100_000_000,
    ),
    Contender(
        "tapveil, cards guarded",
        f"{TRIP}; the complete release accounted for, exact discrete noise",
        "The same, and a seventh column is read to make sure that no card is in the folder.",
        ("tapveil", "duckdb", "numpy", "pyarrow"),
        largest=100_000_000,
        card=True,
    ),
    Contender(
        "Google (PyDP)",
        f"{TRIP}; the sum over tables is left to the caller; Laplace noise on a grid of floats",
        "pandas counts; the library is called cell by cell.",
        ("python-dp", "pandas", "pyarrow"),
        module="google",
        environment="google",
    ),
    Contender(
        "OpenDP",
        f"{TRIP}; its privacy map is checked for each table, the sum is left to the caller; exact discrete noise. "
        "Its Polars way, used here, publishes above the threshold, as it charges; its `make_laplace_threshold` "
        "publishes at the threshold, too, and charges too little for it",
        "Polars counts and adds noise. Framework API with given scales: its Context API costs some 5 s of CPU more "
        "for each table.",
        ("opendp", "polars"),
        module="opendp",
        environment="opendp",
    ),
    Contender(
        "diffprivlib",
        f"{TRIP}, δ = 0, but only if the list of places is public; the sum is left to the caller; noise of floats",
        "Draws noise for every cell that there could be: it has no unknown keys. Its cost hardly depends on the trips.",
        ("diffprivlib", "numpy", "pandas", "scikit-learn"),
        module="diffprivlib",
        environment="diffprivlib",
    ),
    Contender(
        "SmartNoise SQL",
        f"{TRIP}; asked for ⅔ of δ for each table, since it reports half as much again; the sum over queries of "
        "several readers is left to the caller; exact discrete noise",
        "A reader of SQL over pandas.",
        ("smartnoise-sql", "opendp", "pandas"),
        module="smartnoise",
        environment="smartnoise",
    ),
    Contender(
        "PipelineDP",
        f"{TRIP}; one accountant for each table, the sum is left to the caller; Laplace noise on a grid of floats",
        "Its local backend, in plain Python. It is made for Spark and Beam, on many machines.",
        ("pipeline-dp", "python-dp"),
        module="pipelinedp",
        environment="pipelinedp",
    ),
    Contender(
        "Tumult",
        f"{TRIP}; the sum is left to the caller in `tmlt.core`, used here; exact discrete noise",
        "Spark, made for many machines, here on one. `tmlt.core` directly: Tumult Analytics halves ε for unknown keys.",
        ("tmlt.analytics", "tmlt.core", "pyspark"),
        module="tumult",
        environment="tumult",
        programs=("java",),
    ),
)
