"""Passenger volume by origin and destination (LTA DataMall, user guide, "Passenger Volume by OD"): a matrix of a day.

Columns by the guide: YEAR_MONTH as YYYY-MM; DAY_TYPE is WEEKDAY or WEEKENDS/HOLIDAY; TIME_PER_HOUR is the hour, 0 to
23; PT_TYPE is BUS or TRAIN; the codes of both ends; TOTAL_TRIPS is the number of trips in the month.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

NAMES = {
    "YEAR_MONTH": str,
    "DAY_TYPE": str,
    "TIME_PER_HOUR": int,
    "PT_TYPE": str,
    "ORIGIN_PT_CODE": str,
    "DESTINATION_PT_CODE": str,
    "TOTAL_TRIPS": int,
}


def matrix(path: Path, day_type: str = "WEEKDAY", hours: range = range(24)) -> pd.DataFrame:
    """Trips of a month from each origin (rows) to each destination (columns), on one kind of day."""
    trips = pd.read_csv(path, dtype=NAMES)
    if trips.columns.tolist() != list(NAMES):
        raise ValueError(f"unexpected columns: {list(trips.columns)}")
    chosen = trips[(day_type == trips.DAY_TYPE) & trips.TIME_PER_HOUR.isin(hours)]
    found = chosen.pivot_table(
        index="ORIGIN_PT_CODE", columns="DESTINATION_PT_CODE", values="TOTAL_TRIPS", aggfunc="sum", fill_value=0
    )
    codes = sorted({*found.index, *found.columns})
    return found.reindex(index=codes, columns=codes, fill_value=0)
