"""Releases counted in PostgreSQL and on Spark beside the bare queries on the same engine: time, three tables.

    python -m benchmarks.engines [--trips 12000000] [--engines postgresql spark] [--units trip card] [--repeat 1]

The trips are those of `benchmarks.cards`. Bare queries for trips are three GROUP BYs; for cards they rank the trips of
each card, keep as many as the plan does, and count each card once in a cell. Every run is a process of its own, from
its start to its end: with Spark, both start it. The server of PostgreSQL is started once, with trips loaded.

Release and bare queries are run in turn, several times; the medians are shown. CPU time is that of all processes, also
of Spark's and of the server's: on a busy machine it says more than wall time.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from benchmarks.cards import KEPT, OF_TRIPS, PLAN, bound, metro
from benchmarks.release import Cost, median, released

ENGINES = ("postgresql", "spark")
UNITS = ("trip", "card")
SPARK = "--master local[2] --conf spark.sql.shuffle.partitions=4 pyspark-shell"
"""Of releases and bare queries alike: with 200 parts, as by default, the bare queries mostly wait for small tasks."""
TABLE = "transit.metro"
COLUMNS = "card, day, begins, origin, destination"
CELLS = (
    "day, origin, destination",
    "day, extract(hour FROM begins) AS hour, origin",
    "day",
)
HASH = {
    "postgresql": "hashtextextended(concat_ws('|', card, day, begins, origin, destination), 0)",
    "spark": "xxhash64(card, day, begins, origin, destination)",
}


def queries(engine: str, unit: str, trips: str) -> Iterator[str]:
    """What a careful hand would write: for cards, first the trips that are kept, as a table; then each table."""
    of = trips
    if unit == "card":
        of = "kept"
        rank = f"row_number() OVER (PARTITION BY card ORDER BY {HASH[engine]}) AS place"
        ranked = f"SELECT {COLUMNS}, {rank} FROM {trips}"
        kept = f"SELECT {COLUMNS} FROM ({ranked}) AS ranked WHERE place <= {KEPT['card']}"
        yield f"CREATE TEMP TABLE kept AS {kept}" if engine == "postgresql" else f"CACHE TABLE kept AS {kept}"
    for cells in CELLS:
        names = ", ".join(cell.rpartition(" AS ")[2] for cell in cells.split(", "))
        rows = f"SELECT {'DISTINCT card, ' * (unit == 'card')}{cells} FROM {of}"
        yield f"SELECT {names}, count(*) AS number FROM ({rows}) AS cells GROUP BY {names}"


def bare(engine: str, unit: str, folder: Path) -> None:
    """Run them, and fetch what they say."""
    if engine == "postgresql":
        from adbc_driver_postgresql.dbapi import connect  # type: ignore[import-untyped]

        with connect("postgresql://", autocommit=True) as connection, connection.cursor() as cursor:
            for query in queries(engine, unit, TABLE):
                cursor.execute(query)
                if query.startswith("SELECT"):
                    cursor.fetch_arrow_table()
        return
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in {"ui.enabled": "false", "ui.showConsoleProgress": "false", "log.level": "OFF"}.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    session.read.parquet(*map(str, sorted(folder.glob("day-*.parquet")))).createOrReplaceTempView("trips")
    for query in queries(engine, unit, "trips"):
        session.sql(query).toArrow()
    session.stop()


def measured(command: Sequence[str], server_process: int | None) -> Cost:
    """What a command used to its end, with all that it started, and the server for it."""
    _adopt_orphans()
    started, used, served = time.perf_counter(), _of_children(), _of_server(server_process)
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    wall = time.perf_counter() - started
    with suppress(ChildProcessError):  # Java ends a little later than the Python that started it
        while os.waitpid(-1, 0 if server_process is None else os.WNOHANG)[0]:
            pass
    return Cost(_of_children() - used + _of_server(server_process) - served, wall, 0)


def _adopt_orphans() -> None:
    """Let the kernel give us the children of our children, whose time would count for nobody."""
    subreaper = 36  # PR_SET_CHILD_SUBREAPER
    ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _of_server(process: int | None) -> float:
    """CPU seconds of a server and of its sessions that have ended."""
    if process is None:
        return 0
    time.sleep(1)  # a session ends a little later than its client
    values = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return sum(map(int, values[11:15])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(folder: Path) -> Iterator[int]:
    """A server of our own with the trips in it, to which this environment leads; the number of its process."""
    import pyarrow.parquet as pq
    from tests.support.postgres import running

    with running() as started:
        started.load("metro", pq.read_table(sorted(folder.glob("day-*.parquet"))))
        started.run(f"VACUUM ANALYZE {TABLE}")
        before = dict(os.environ)
        os.environ.update(started.environment())
        try:
            yield int((started.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        finally:
            os.environ.clear()
            os.environ.update(before)


def plan(engine: str, unit: str, folder: Path) -> Path:
    """The plan of `benchmarks.cards`, for this engine."""
    text = PLAN.format(unit=unit, bound=bound(unit), shape="", taps="", columns=OF_TRIPS)
    where = (
        f'engine = "adbc"\ntable = "{TABLE}"' if engine == "postgresql" else 'engine = "spark"\npath = "day-*.parquet"'
    )
    file = folder / f"{engine}-{unit}.toml"
    file.write_text(text.replace('path = "*.parquet"', where), encoding="utf-8")
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, default=12_000_000)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--units", nargs="+", default=list(UNITS), choices=list(UNITS))
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, in turn; default: 1")
    parser.add_argument("--bare", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        engine, unit, folder = options.bare
        return bare(engine, unit, Path(folder))
    folder = metro(options.trips, taps=False)
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", SPARK)
    print(f"{options.trips:,} trips; seconds, medians of {options.repeat} runs in turn")
    print(
        f"{'engine':12}{'unit':>6}{'wall':>10}{'bare':>10}{'ratio':>8}{'CPU':>10}{'bare':>10}{'ratio':>8}", flush=True
    )
    for engine in options.engines:
        with server(folder) if engine == "postgresql" else nullcontext() as process:
            for unit in options.units:
                ours, theirs = compared(engine, unit, folder, process, options.repeat)
                row = f"{engine:12}{unit:>6}{ours.wall:10.1f}{theirs.wall:10.1f}{ours.wall / theirs.wall:8.2f}"
                print(f"{row}{ours.cpu:10.1f}{theirs.cpu:10.1f}{ours.cpu / theirs.cpu:8.2f}", flush=True)


def compared(engine: str, unit: str, folder: Path, process: int | None, repeat: int) -> tuple[Cost, Cost]:
    """What a release and the bare queries cost, run in turn."""
    ours, theirs = list[Cost](), list[Cost]()
    for _ in range(repeat):
        ours.append(measured(released(plan(engine, unit, folder)), process))
        itself = [sys.executable, "-m", "benchmarks.engines", "--bare", engine, unit, str(folder)]
        theirs.append(measured(itself, process))
    return median(ours), median(theirs)


if __name__ == "__main__":
    main()
