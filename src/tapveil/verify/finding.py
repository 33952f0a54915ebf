"""A finding: what is wrong, by a code for programs, at a place, in a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be."""

    code: str
    place: str
    sentence: str
