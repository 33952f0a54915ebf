"""Cells of a table of which some have come to be the same, as one. Of exact counts: internal."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tapveil.privacy.distribution import Integers


def merged(codes: Mapping[str, Integers], counts: Integers) -> tuple[dict[str, Integers], Integers]:
    """Cells that have come to have the same codes, as one: its codes, and what they count together."""
    cells = pa.table({**codes, "#": counts}).group_by(list(codes)).aggregate([("#", "sum")])
    return {name: cells.column(name).to_numpy() for name in codes}, cells.column("#_sum").to_numpy()
