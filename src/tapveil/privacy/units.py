"""What is protected as a whole, and against what: the words of a promise."""

from __future__ import annotations

from typing import Literal

Neighbours = Literal["replace", "add-remove"]
"""Whether a unit is exchanged for any other, or is there or not."""
Unit = Literal["trip", "card-day", "card"]
"""A trip, all trips of a card on a day, all trips of a card."""
