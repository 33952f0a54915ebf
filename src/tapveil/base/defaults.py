"""Default values. Lightweight, so that the command line can show them without other imports."""

from __future__ import annotations

from typing import Literal

Format = Literal["csv", "parquet"]
"""The format of trip files."""
Encoding = Literal[
    "utf-8",
    "windows-1252",
    "windows-1250",
    "windows-1254",
    "windows-1251",
    "gb18030",
    "big5",
    "shift-jis",
    "euc-kr",
]
"""Of CSV files. None has a line end, a comma or a quote within a letter: files are cut into lines, then decoded."""

MEMORY = "1GB"
"""Memory limit for counting."""
DEMO_TRIPS = 1_000_000
AUDIT_TRIALS = 20_000
INTRUDER_TRIALS = 20_000
INTRUDER_PEOPLE = 500
INTRUDER_TRIPS = 200_000
