"""The two or three things to do first, as codes with the tables and changes that they are about. Confidential."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tapveil.internal.report.model.changes import Change
    from tapveil.internal.report.model.findings import Findings, TableFindings

MOST_ACTIONS = 3
MANY_REFUSED = 0.005
"""A share of refused rows above this comes before all else: trips that are not counted cannot be published."""
FULL = 0.95
MANY_LEFT_OUT = 1 - FULL
"""Bounds that leave out less than this share of the trips are what bounds are for."""

Urgent = Literal["stops", "refused", "bounds", "lists", "mechanism", "larger-cells", "fewer"]
AsItIs = Literal["nothing", "more-epsilon", "fewer-columns"]


@dataclass(frozen=True, repr=False)
class Action:
    """One thing to do."""

    code: Urgent | AsItIs
    changes: tuple[Change, ...] = ()
    tables: tuple[TableFindings, ...] = ()


def actions(found: Findings) -> list[Action]:
    """What to do, the most urgent first."""
    urgent = list(_urgent(found))[:MOST_ACTIONS]
    if urgent:
        return urgent
    if min((table.share for table in found.tables), default=0.0) >= FULL:
        return [Action("nothing")]
    return [Action("more-epsilon" if found.epsilon_pays else "fewer-columns")]


def _urgent(found: Findings) -> Iterator[Action]:
    many = found.refused > MANY_REFUSED * found.outlook.rows
    if found.outlook.stops:
        yield Action("stops")
    if many:
        yield Action("refused")
    # What the bounds of a card leave out is in no table, however much of the tables is published.
    if found.left_out and found.left_out.share > MANY_LEFT_OUT:
        yield Action("bounds")
    # A list is public: it may be completed from what everyone can know, and from nothing else.
    if found.lacking:
        yield Action("lists", tables=tuple(found.lacking))
    # What costs no detail comes before the bins or areas that bring most, alike ones together.
    yield from (Action("mechanism", (change,)) for change in found.changes if change.kind == "mechanism")
    coarser = [change for change in found.changes if change.kind in ("bins", "areas")]
    if coarser:
        alike = [each for each in coarser if each.minutes and each.minutes == coarser[0].minutes]
        yield Action("larger-cells", tuple(alike or coarser[:1]))
    else:
        yield from (Action("fewer", (change,)) for change in found.changes if change.kind in ("parts", "tables"))
    if found.refused and not many:
        yield Action("refused")
