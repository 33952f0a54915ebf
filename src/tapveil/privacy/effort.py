"""The work of accounting for a release. Verification repeats it, for folders from untrusted sources.

Time grows with the width of the noise, whose tables are computed number by number, and with the number of different
mechanisms, whose losses are combined. Tables with the same mechanism are computed once. Plans beyond these limits are
refused, so that every release can be verified.
"""

from __future__ import annotations

from collections.abc import Collection
from math import ceil

from tapveil.privacy.mechanisms import Mechanism

WIDEST = 2000
"""The maximum scale: wider noise would hide every number of a city."""
WIDEST_TOGETHER = 5000
"""The maximum sum of different scales."""
MOST_KINDS = 32
"""The maximum number of different mechanisms."""


def too_much(mechanisms: Collection[Mechanism]) -> str | None:
    """Why tables of these mechanisms take too long to verify; None if they do not."""
    scales = {mechanism.scale for mechanism in mechanisms}
    if (widest := max(scales, default=0)) > WIDEST:
        return f"the noise has scale {ceil(widest):,}; the maximum that can be verified is {WIDEST:,}"
    if (together := sum(scales)) > WIDEST_TOGETHER:
        added = f"the different scales of the noise add up to {ceil(together):,}"
        return f"{added}; the maximum that can be verified is {WIDEST_TOGETHER:,}"
    if (kinds := len(set(mechanisms))) > MOST_KINDS:
        return f"there are {kinds} tables with different noise; the maximum that can be verified is {MOST_KINDS}"
    return None
