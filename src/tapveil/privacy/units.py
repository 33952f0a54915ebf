"""The unit of protection and the notion of neighbours of a privacy guarantee."""

from __future__ import annotations

from typing import Literal

Neighbours = Literal["replace", "add-remove"]
"""Whether a unit is exchanged for any other, or is present or absent."""
Unit = Literal["trip", "card-day", "card"]
"""A trip, all trips of a card on a day, all trips of a card."""
