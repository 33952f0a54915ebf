"""Sessions of Spark in a process of their own: killed, stopped, of Spark Connect, or that of a release alone.

python -m tests.support.sparkjobs FOLDER killed|stopped|connect|alone
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from tapveil import release
from tapveil.base.errors import TapveilError
from tapveil.base.progress import Silent, Stage
from tapveil.plan.model import Plan


def slow_trips(session: SparkSession, folder: Path) -> None:
    """A table whose tasks say that they have begun, and then take forever."""
    trips, begun = session.read.parquet(str(folder / "trips.parquet")), str(folder / "begun")

    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            Path(begun).touch()
            time.sleep(600)
            yield batch

    trips.mapInArrow(slow, trips.schema).createOrReplaceTempView("trips")


class Stopping(Silent):
    """Stops the session when trips are to be counted."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @contextmanager
    def stage(self, stage: Stage, *_: object, **__: object) -> Iterator[None]:
        if stage is Stage.COUNTING_TRIPS:
            self._session.stop()
        yield


def alone(folder: Path) -> None:
    """A release that starts its session itself: say how many it started, and whether one is left."""
    started, start = list[SparkSession](), SparkSession.Builder.getOrCreate

    def noted(builder: SparkSession.Builder) -> SparkSession:
        started.append(start(builder))
        return started[-1]

    SparkSession.Builder.getOrCreate = noted
    text = (folder / "plan.toml").read_text(encoding="utf-8").replace('table = "trips"', 'path = "trips.parquet"')
    release(Plan.parse(text, base=folder), folder / "out")
    print(f"{len(started)} started, {'one' if SparkSession.getActiveSession() else 'none'} left")


def main(folder: Path, what: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if what == "alone":
        return alone(folder)
    builder = SparkSession.builder.remote("local[2]") if what == "connect" else SparkSession.builder.master("local[1]")
    for name, value in {"ui.enabled": "false", "sql.shuffle.partitions": "2", "log.level": "OFF"}.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    plan = Plan.read(folder / "plan.toml")
    if what == "killed":
        slow_trips(session, folder)
        release(plan, folder / "out")
    trips = session.read.parquet(str(folder / "trips.parquet"))
    if what == "connect":  # typed, so that groups of rows are fetched
        moment = "to_timestamp_ntz(concat(trip_date, ' ', tap_on_time)) AS tap_on_time"
        trips = trips.selectExpr("card_id", "mode", "tap_on_location", "date(trip_date) AS trip_date", moment)
    trips.createOrReplaceTempView("trips")
    if what == "stopped":
        try:
            release(plan, folder / "out", progress=Stopping(session))
        except TapveilError as error:
            print(f"{type(error).__name__}: {error}")
    if what == "connect":
        print(type(session).__module__)
        print(sorted(path.name for path in release(plan, folder / "out").path.iterdir()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
