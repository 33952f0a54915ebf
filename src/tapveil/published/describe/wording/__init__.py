"""What a folder says in sentences, by the version of its wording: words at the edge, codes inside.

A folder outlives the program, and `verify` writes its sentences again: each wording stays as it was.
"""

from __future__ import annotations

from types import ModuleType

from tapveil.published.describe.wording import v1
from tapveil.published.describe.wording.v1 import (
    COUNTED,
    LOOKED,
    UNIT_NAMES,
    change,
    gaussian_in_words,
    loss_in_words,
    rounded_up,
)

__all__ = [
    "COUNTED",
    "LOOKED",
    "UNIT_NAMES",
    "WORDINGS",
    "change",
    "gaussian_in_words",
    "loss_in_words",
    "rounded_up",
]

WORDINGS: dict[int, ModuleType] = {1: v1}
