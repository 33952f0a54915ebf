"""Subway hourly ridership (data.ny.gov, data dictionary of wujg-7c2s): what a dashboard of a system shows.

By the dictionary: transit_timestamp is the start of the hour, MM/DD/YYYY HH:MM:SS AM; ridership and transfers are
numbers; latitude and longitude are those of the complex, and georeference the same as a point.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def frame(path: Path) -> pd.DataFrame:
    """Ridership of each station complex by day, with its busiest hour, ready to be drawn on a map."""
    rides = pd.read_csv(path, dtype={"station_complex_id": str}, parse_dates=False)
    rides["at"] = pd.to_datetime(rides.transit_timestamp, format="%m/%d/%Y %I:%M:%S %p")
    rides["day"], rides["hour"] = rides["at"].dt.date, rides["at"].dt.hour
    rides["ridership"] = pd.to_numeric(rides.ridership)
    point = rides.georeference.str.extract(r"^POINT \((-?[\d.]+) (-?[\d.]+)\)$").astype(float)
    if not ((point[0] == rides.longitude) & (point[1] == rides.latitude)).all():
        raise ValueError("a point is not where its coordinates are")
    by = ["transit_mode", "station_complex_id", "station_complex"]
    daily = rides.groupby([*by, "day"], as_index=False).agg(
        ridership=("ridership", "sum"), latitude=("latitude", "first"), longitude=("longitude", "first")
    )
    hours = rides.groupby([*by, "day", "hour"], as_index=False).agg(ridership=("ridership", "sum"))
    busiest = hours.sort_values(by="ridership").groupby([*by, "day"], as_index=False).last()[[*by, "day", "hour"]]
    return daily.merge(busiest.rename(columns={"hour": "busiest_hour"}), on=[*by, "day"])
