"""How much work it is to account for a release: whoever verifies it does it all again, for a folder by a stranger.

Time goes with the width of the noise, whose tables are made number by number, and with how many different mechanisms
there are, whose losses are added up in every combination. Tables with the same mechanism are looked at once. A plan
beyond these bounds is refused, so that whatever is released can be verified.
"""

from __future__ import annotations

from collections.abc import Collection
from math import ceil

from tapveil.privacy.mechanisms import Mechanism

WIDEST = 2000
"""The greatest scale: no number of a city says anything under wider noise."""
WIDEST_TOGETHER = 5000
"""All different scales together."""
MOST_KINDS = 32
"""Different mechanisms."""


def too_much(mechanisms: Collection[Mechanism]) -> str | None:
    """Why tables of these mechanisms take too long to be verified; None where they do not."""
    scales = {mechanism.scale for mechanism in mechanisms}
    if (widest := max(scales, default=0)) > WIDEST:
        return f"the noise has scale {ceil(widest):,}, and beyond {WIDEST:,} nobody can verify it"
    if (together := sum(scales)) > WIDEST_TOGETHER:
        added = f"the different scales of the noise add up to {ceil(together):,}"
        return f"{added}, and beyond {WIDEST_TOGETHER:,} nobody can verify them"
    if (kinds := len(set(mechanisms))) > MOST_KINDS:
        return f"there are {kinds} tables with different noise, and more than {MOST_KINDS} nobody can verify"
    return None
