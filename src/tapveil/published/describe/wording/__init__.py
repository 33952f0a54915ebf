"""What a folder says in sentences, by the version of its wording: words at the edge, codes inside.

A folder outlives the program, and `verify` writes its sentences again: each wording stays as it was.
"""

from __future__ import annotations

from types import ModuleType

from tapveil.published.describe.wording import v1
from tapveil.published.describe.wording.v1 import (
    COUNTED,
    LOOKED,
    NOT_ON_THE_LIST,
    NOT_PROTECTED,
    UNIT_NAMES,
    absent_in_words,
    at_most,
    change,
    gaussian_in_words,
    loss_in_words,
    promise,
    rounded_up,
)

__all__ = [
    "COUNTED",
    "LOOKED",
    "NOT_ON_THE_LIST",
    "NOT_PROTECTED",
    "UNIT_NAMES",
    "WORDINGS",
    "absent_in_words",
    "at_most",
    "change",
    "gaussian_in_words",
    "loss_in_words",
    "promise",
    "rounded_up",
]

WORDINGS: dict[int, ModuleType] = {1: v1}
