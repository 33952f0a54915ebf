"""Tumult on Spark: the partition selection under Tumult Analytics, which keeps its noisy counts.

Tumult Analytics itself, with its experimental flag for unknown keys, would spend half of ε on the keys and count twice.
"""

from __future__ import annotations

import os
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

from pyspark.sql import SparkSession
from tmlt.core.domains.spark_domains import SparkDataFrameDomain
from tmlt.core.measurements.aggregations import create_partition_selection_measurement
from tmlt.core.utils.exact_number import ExactNumber

from benchmarks.peers.job import DELTA, PART, TABLES, arguments


def session(warehouse: str) -> SparkSession:
    """Spark on this machine: all of its cores, and 8 GB."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "8g",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "localhost",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.sql.warehouse.dir": warehouse,
    }
    return SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()


def main() -> None:
    source, out = arguments()
    with tempfile.TemporaryDirectory() as warehouse:  # it keeps exact counts there for a while
        release(session(warehouse), source, out)


def release(spark: SparkSession, source: Path, out: Path) -> None:
    trips = spark.read.parquet(str(source))
    for name, (columns, epsilon) in TABLES.items():
        keys = trips.select(*PART, *columns)
        measurement = create_partition_selection_measurement(
            input_domain=SparkDataFrameDomain.from_spark_schema(keys.schema),
            epsilon=ExactNumber(epsilon),
            delta=ExactNumber(Fraction(DELTA).limit_denominator(10**9)),
            d_in=1,
            count_column="n",
        )
        measurement(keys).write.parquet(str(out / f"{name}.parquet"))
    spark.stop()


if __name__ == "__main__":
    main()
