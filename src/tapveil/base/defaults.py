"""Default values. Lightweight, so that the command line can show them without other imports."""

from __future__ import annotations

from typing import Literal

Format = Literal["csv", "parquet"]
"""The format of trip files."""

MEMORY = "1GB"
"""Memory limit for counting."""
DEMO_TRIPS = 1_000_000
AUDIT_TRIALS = 20_000
INTRUDER_TRIALS = 20_000
INTRUDER_PEOPLE = 500
INTRUDER_TRIPS = 200_000
