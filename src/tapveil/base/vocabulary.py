"""Names shared by both sides: columns, files, kinds of values, and marks for missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

MINUTES_PER_DAY = 1440

# --- columns --------------------------------------------------------------------------------------------------------

Kind = Literal["time", "date", "location", "label", "card", "duration", "calendar"]

End = Literal["on", "off"]
"""Of a trip."""
CARD = "card"
DURATION = "duration"
"""How long a trip took, in classes: it follows from both times, before anything is counted."""
TAP = "tap"
VEHICLE = "vehicle"
ENDS = {"tap_time": ("tap_on_time", "tap_off_time"), "tap_location": ("tap_on_location", "tap_off_location")}
"""Where a row is one tap: its columns, and their names at each end of a trip."""
COUNT = "count"
"""The column of numbers in a published table; and, where a row of the source is a count, that of its trips."""
LOW, HIGH = "low", "high"
WEIGHT = "weight"
"""Of an estimate: how much it depends on its own measurement, in per cent."""
NUMBERS = (COUNT, LOW, HIGH)
"""The columns of a published table that are not keys."""
RESERVED = {*NUMBERS, "total", "listed", "other", "other_low", "other_high", "row", "table", "cells", "published"}
"""Names that columns of a plan cannot have: those of the numbers in a folder."""
UNTIL = "_until"
"""The suffix of columns with the end of a time bin."""
ROW, TABLE = "row", "table"
"""Columns of `finest/`: the type of a row, and its table."""
MOST_LEVELS = 8
"""Maximum number of levels of one table."""
TOTAL = "total"
"""The table without its own columns: the total number for each part."""


def ends_of(columns: Sequence[str]) -> End | Literal["both"]:
    """The end of a trip that columns describe; "on" if they describe neither."""
    on, off = (any(column.startswith(end) for column in columns) for end in ("tap_on_", "tap_off_"))
    return "both" if on and off else "off" if off else "on"


def columns_in_words(columns: Sequence[str]) -> str:
    """The columns of a table in words; the name of the table of totals, which has none."""
    return " × ".join(columns) or TOTAL


def level_in_words(time_minutes: int | None, times: Sequence[int] | None, location: str | None) -> str:
    """A cell of a coarser table in a few words."""
    length = "the whole day" if time_minutes == MINUTES_PER_DAY else f"{time_minutes} minutes"
    time = length if time_minutes else "parts of the day" if times else ""
    return " and ".join(filter(None, [time, location or ""])) or "as fine as the plan"


# --- values ---------------------------------------------------------------------------------------------------------

UNKNOWN = "UNKNOWN"
"""An unknown place, or a missing tap."""
MISSING_TIME = -1
"""The minute of a missing time."""
MISSING = "-1"
"""The label of a missing time, at every level."""
EVERY_MODE = "*"
"""Every mode without its own entry."""
YEARS = range(1900, 2201)
DIGITS = 6
"""Decimals of a degree in a map: a tenth of a metre."""

# --- files of a folder ----------------------------------------------------------------------------------------------

CONSISTENT, FINEST, ESTIMATES = "consistent", "finest", "estimates"
"""The folders of derived tables."""
TRIPS = "trips"
"""The folder of synthetic trips, which follow from the measurements of a known world."""
MANIFEST = "privacy.json"
"""The manifest: the privacy guarantee and its parameters."""
PACKAGE = "datapackage.json"
"""The data dictionary."""
README = "README.md"
CHECKSUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
EXPLORER = "explorer.html"
"""The explorer page."""
PLACES: Literal["areas.geojson"] = "areas.geojson"
"""The file with the shapes of the published places."""
WORLD = "world.csv"
"""The file that lists every place that the tables of a known world can have."""
MEASUREMENTS = "measurements"
"""The folder of tables that have every cell of a known world."""
SHAPES = "shapes"
"""The folder of files in the columns that an agency's readers know."""
CALENDAR = "calendar.csv"
"""The file with the period, the kind or another label of each day that was counted."""
READER = "read.R"
"""The script that reads the folder in R."""
RIDER = "rider.html"
"""The page for riders."""
WIDER = "wider-areas.csv"
"""The file with the wider area of each published place."""

# --- files next to a folder -----------------------------------------------------------------------------------------

DOSSIER_ANSWERS = ".dossier.toml"
"""The end of the name of a file with a dossier's answers."""

# --- units ----------------------------------------------------------------------------------------------------------

NOUNS: dict[str, str] = {"trip": "trips", "card-day": "cards", "card": "cards"}
"""The noun for what is counted, by unit."""
