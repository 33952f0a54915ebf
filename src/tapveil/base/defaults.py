"""What is taken where nobody says otherwise. Light: the command line shows these without loading what uses them."""

from __future__ import annotations

from typing import Literal

Format = Literal["csv", "parquet"]
"""How trips are written."""

MEMORY = "1GB"
"""The most that counting may use."""
DEMO_TRIPS = 1_000_000
AUDIT_TRIALS = 20_000
