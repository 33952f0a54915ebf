"""What it costs to protect a person: whole releases of trips, cards and card-days beside the bare queries in DuckDB.

A month of a generated metro: commuters who mostly travel between two stations, and others; twenty trips for each card.
The bare queries rank the trips of each card (or card and day), keep as many as the plan does, and count each card once
in a cell of three tables; for taps, they pair the taps before that; for unit `trip` they just count. No privacy, no
folder. The release does all of it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from benchmarks.release import BUILD, Cost, measure

STATIONS, DAYS, TRIPS_PER_CARD = 83, 31, 20
KEPT = {"card": 20, "card-day": 4}
UNITS = ("trip", *KEPT)
"""Of taps, only cards and card-days: how a tap is paired depends on the other taps of its card."""
WITHIN_MINUTES = 120
PLAN = """
[release]
name = "cards"
title = "A generated metro"
partition = ["date"]
[source]
path = "*.parquet"
{shape}
first_day = 2025-08-01
last_day = 2025-08-31
{taps}
[source.columns]
card = "card"
date = "day"
{columns}
[coarsen]
time_minutes = 60
[privacy]
unit = "{unit}"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 8
delta = "1/1000000"
{bound}
[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]
[[table]]
name = "origin_hour"
columns = ["tap_on_time", "tap_on_location"]
[[table]]
name = "total"
columns = []
"""
OF_TRIPS = """
tap_on_time = "begins"
tap_on_location = "origin"
tap_off_location = "destination"
"""
OF_TAPS = """
tap = "kind"
tap_time = "moment"
tap_location = "station"
"""
TAPS = f"""
[source.taps]
on = ["on"]
off = ["off"]
same = "card"
within_minutes = {WITHIN_MINUTES}
"""
PAIRED = f"""
SELECT card, day, moment AS begins, CASE WHEN kind = 'on' THEN station END AS origin,
       CASE WHEN begun THEN next_station WHEN kind = 'off' THEN station END AS destination
FROM (
  SELECT *, coalesce(kind = 'on' AND lead(kind) OVER w = 'off'
                     AND lead(moment) OVER w - moment <= INTERVAL {WITHIN_MINUTES} MINUTE, false) AS begun,
         coalesce(kind = 'off' AND lag(kind) OVER w = 'on'
                  AND moment - lag(moment) OVER w <= INTERVAL {WITHIN_MINUTES} MINUTE, false) AS ended,
         lead(station) OVER w AS next_station
  FROM read_parquet('{{files}}') WINDOW w AS (PARTITION BY {{unit}} ORDER BY moment, kind)
) WHERE NOT ended
"""
CELLS = ("day, origin, destination", "day, hour(begins) AS hour, origin", "day")


def bound(unit: str) -> str:
    """Lines of the plan."""
    if unit == "trip":
        return ""
    return f'without_card = "refuse"\n{"trips_per_card" if unit == "card" else "trips_per_day"} = {KEPT[unit]}'


def generate(trips: int, folder: Path, taps: bool) -> None:
    """Write the Parquet files of a month, one for each day."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    chance, cards = np.random.default_rng(trips), trips // TRIPS_PER_CARD
    popular = 1 / np.arange(1, STATIONS + 1)
    stations = pa.array([f"Station {n:02d}" for n in range(STATIONS)])
    home, work = (chance.choice(STATIONS, cards, p=popular / popular.sum()) for _ in range(2))
    # Some travel all the time and most now and then: how often a card travels is exponentially distributed.
    often = np.cumsum(chance.exponential(size=cards))
    names = pa.array([f"{number * 7_919_999 % 10**10:010d}" for number in range(cards)])
    for day in range(DAYS):
        number = trips * (day + 1) // DAYS - trips * day // DAYS
        card = np.searchsorted(often, chance.random(number) * often[-1])
        morning, usual = chance.random(number) < 0.5, chance.random(number) < 0.8
        hour = np.where(morning, chance.normal(8.5, 1.5, number), chance.normal(17.5, 2, number)).clip(4, 22.9)
        second = (hour * 3600).astype(np.int64)
        anywhere = [chance.choice(STATIONS, number, p=popular / popular.sum()) for _ in range(2)]
        origin = np.where(usual, np.where(morning, home[card], work[card]), anywhere[0])
        destination = np.where(usual, np.where(morning, work[card], home[card]), anywhere[1])
        midnight = (np.datetime64("2025-08-01") + day).astype("datetime64[s]").astype(np.int64)
        date = pa.array(np.full(number, np.datetime64("2025-08-01") + day), pa.date32())
        begins = pa.array(midnight + second, pa.timestamp("s"))
        if taps:
            after = second + chance.integers(300, 3600, number)
            ends = pa.array(midnight + after, pa.timestamp("s"))
            kinds = pa.array(["on", "off"]).take(pa.array(np.repeat([0, 1], number)))
            both = {
                "card": pa.concat_arrays([names.take(pa.array(card))] * 2),
                "day": pa.concat_arrays([date, date]),
                "moment": pa.concat_arrays([begins, ends]),
                "station": stations.take(pa.array(np.concatenate([origin, destination]))),
                "kind": kinds,
            }
            table = pa.table(both).take(pa.array(np.argsort(np.concatenate([second, after]))))
        else:
            table = pa.table(
                {
                    "card": names.take(pa.array(card)),
                    "day": date,
                    "begins": begins,
                    "origin": stations.take(pa.array(origin)),
                    "destination": stations.take(pa.array(destination)),
                }
            )
        pq.write_table(table, folder / f"day-{day + 1:02d}.parquet")


def bare(unit: str, folder: Path, taps: bool) -> None:
    """The bare queries: pair the taps; rank the trips of a unit, keep some, count each unit once in a cell."""
    import duckdb

    of_unit = "card, day" if unit == "card-day" else "card"
    files = f"{folder}/*.parquet"
    trips = f"({PAIRED.format(files=files, unit=of_unit)})" if taps else f"read_parquet('{files}')"
    with duckdb.connect(config={"preserve_insertion_order": False}) as connection:
        if unit == "trip":
            for cells in CELLS:
                connection.execute(f"SELECT {cells}, count(*) FROM {trips} GROUP BY ALL").fetchall()
            return
        # What is random and follows from the trip alone: a hash, as in any careful hand-written query.
        rank = f"row_number() OVER (PARTITION BY {of_unit} ORDER BY hash(card, day, begins, origin, destination))"
        kept = f"SELECT card, day, begins, origin, destination FROM {trips} QUALIFY {rank} <= {KEPT[unit]}"
        connection.execute(f"CREATE TEMP TABLE kept AS {kept}")
        for cells in CELLS:
            once = f"SELECT DISTINCT {of_unit if unit == 'card' else 'card'}, {cells} FROM kept"
            connection.execute(f"SELECT * EXCLUDE (card), count(*) FROM ({once}) GROUP BY ALL").fetchall()


def metro(trips: int, taps: bool) -> Path:
    """The trips, made once; a child's peak memory starts from its parent's, so a child makes them."""
    folder = BUILD / f"metro-{trips}{'-taps' if taps else ''}"
    units = tuple(KEPT) if taps else UNITS
    if not all((folder / f"{unit}.toml").exists() for unit in units):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        print(f"Making {trips:,} trips ...", flush=True)
        measure(_self("--make", str(trips), str(folder), taps=taps))
        row = {"shape": 'shape = "taps"', "taps": TAPS, "columns": OF_TAPS}
        shape = row if taps else {"shape": "", "taps": "", "columns": OF_TRIPS}
        for unit in units:
            text = PLAN.format(unit=unit, bound=bound(unit), **shape)
            (folder / f"{unit}.toml").write_text(text, encoding="utf-8")
    return folder


def _self(*options: str, taps: bool) -> list[str]:
    return [sys.executable, "-m", "benchmarks.cards", *options, *(["--of-taps"] if taps else [])]


def compared(trips: int, unit: str, taps: bool) -> tuple[Cost, Cost]:
    """What a release and the bare queries cost."""
    folder, out = metro(trips, taps), BUILD / "published"
    shutil.rmtree(out, ignore_errors=True)
    plan = str(folder / f"{unit}.toml")
    ours = measure([sys.executable, "-m", "tapveil", "release", plan, "--no-ledger", "-q", "-o", str(out)])
    return ours, measure(_self("--bare", unit, str(folder), taps=taps))


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.cards", description=__doc__)
    parser.add_argument("--trips", type=int, nargs="*", default=[3_000_000, 12_000_000, 30_000_000])
    parser.add_argument("--taps", type=int, nargs="*", default=[24_000_000], help="taps, two for each trip")
    parser.add_argument("--units", nargs="+", default=list(UNITS), choices=list(UNITS))
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--bare", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--of-taps", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        return generate(int(options.make[0]), Path(options.make[1]), options.of_taps)
    if options.bare:
        return bare(options.bare[0], Path(options.bare[1]), options.of_taps)
    print(
        f"{'rows':>18}{'unit':>10}{'CPU s':>9}{'ns per row':>12}{'peak MB':>9}{'bare CPU s':>12}{'bare MB':>9}", end=""
    )
    print(f"{'ratio':>8}")
    for taps, sizes in ((False, options.trips), (True, options.taps)):
        for rows in sizes:
            for unit in (each for each in options.units if each in KEPT or not taps):
                ours, theirs = compared(rows // 2 if taps else rows, unit, taps)
                print(f"{rows:12,} {'taps ' if taps else 'trips'}{unit:>10}{ours.cpu:9.1f}", end="")
                print(
                    f"{1e9 * ours.cpu / rows:12.0f}{ours.peak_mb:9.0f}{theirs.cpu:12.1f}{theirs.peak_mb:9.0f}", end=""
                )
                print(f"{ours.cpu / theirs.cpu:8.2f}", flush=True)


if __name__ == "__main__":
    main()
