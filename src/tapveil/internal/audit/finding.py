"""What the audit says."""

from __future__ import annotations

from dataclasses import dataclass

MISTAKEN = 1e-7
"""The chance, at most, that a sound program fails the audit."""


@dataclass(frozen=True)
class Finding:
    """One thing that was tried, what came of it, and what is allowed."""

    check: str
    table: str
    observed: str
    allowed: str
    broken: bool
