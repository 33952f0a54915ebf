"""The words that both sides share: names of columns and files, kinds of values, and what stands for "none"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

MINUTES_PER_DAY = 1440

# --- columns --------------------------------------------------------------------------------------------------------

Kind = Literal["time", "date", "location", "label", "card"]

End = Literal["on", "off"]
"""Of a trip."""
CARD = "card"
TAP = "tap"
VEHICLE = "vehicle"
ENDS = {"tap_time": ("tap_on_time", "tap_off_time"), "tap_location": ("tap_on_location", "tap_off_location")}
"""Where a row is one tap: its columns, and what they are called at each end of a trip."""
COUNT = "count"
"""The column of numbers in a published table; and, where a row of the source is a count, that of its trips."""
LOW, HIGH = "low", "high"
NUMBERS = (COUNT, LOW, HIGH)
"""The columns of a published table that are not keys."""
RESERVED = {*NUMBERS, "total", "listed", "other", "other_low", "other_high", "row", "table", "cells", "published"}
"""What columns of ours cannot be called: all columns of numbers in a folder."""
UNTIL = "_until"
"""What the ends of times are called after."""
ROW, TABLE = "row", "table"
"""Of `finest/`: what sort of row it is, and of which table."""
MOST_LEVELS = 8
"""Of one table."""
TOTAL = "total"
"""The table without columns of its own: one number for each part, all that it has."""


def ends_of(columns: Sequence[str]) -> End | Literal["both"]:
    """Which end of a trip columns are about; those that are about neither are where it begins."""
    on, off = (any(column.startswith(end) for column in columns) for end in ("tap_on_", "tap_off_"))
    return "both" if on and off else "off" if off else "on"


def columns_in_words(columns: Sequence[str]) -> str:
    """The columns of a table of its own: of the table of totals, which has none, its name."""
    return " × ".join(columns) or TOTAL


OPAL_SHAPES: dict[tuple[str, ...], tuple[str, str]] = {
    ("tap_on_time",): ("time", "on"),
    ("tap_off_time",): ("time", "off"),
    ("tap_on_location",): ("loc", "on"),
    ("tap_off_location",): ("loc", "off"),
    ("tap_on_time", "tap_on_location"): ("time-loc", "on"),
    ("tap_off_time", "tap_off_location"): ("time-loc", "off"),
}
"""Which file of the published Opal data a table goes to, and its `tap`."""


def level_in_words(time_minutes: int | None, times: Sequence[int] | None, location: str | None) -> str:
    """What a cell of a coarser table is, in a few words."""
    length = "the whole day" if time_minutes == MINUTES_PER_DAY else f"{time_minutes} minutes"
    time = length if time_minutes else "parts of the day" if times else ""
    return " and ".join(filter(None, [time, location or ""])) or "as fine as the plan"


# --- values ---------------------------------------------------------------------------------------------------------

UNKNOWN = "UNKNOWN"
"""A place that is not known, or no tap."""
MISSING_TIME = -1
"""The minute of a missing time."""
MISSING = "-1"
"""The label of a missing time, at every level."""
EVERY_MODE = "*"
"""Every mode that has no entry of its own."""
YEARS = range(1900, 2201)
DIGITS = 6
"""Of a degree in a map: a tenth of a metre."""

# --- files of a folder ----------------------------------------------------------------------------------------------

CONSISTENT, FINEST = "consistent", "finest"
"""The folders of what follows from the tables."""
MANIFEST = "privacy.json"
"""The manifest: what is promised, and with which parameters."""
PACKAGE = "datapackage.json"
"""The data dictionary."""
README = "README.md"
CHECKSUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
EXPLORER = "explorer.html"
"""The page to look at."""
PLACES: Literal["areas.geojson"] = "areas.geojson"
"""The file that says where the published places lie."""
WIDER = "wider-areas.csv"
"""The file that says which wider area each published place lies in."""

# --- units ----------------------------------------------------------------------------------------------------------

NOUNS: dict[str, str] = {"trip": "trips", "card-day": "cards", "card": "cards"}
"""What a count counts, in a word."""
