"""Conditions that must hold before the budget is charged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tapveil.base.errors import EngineError, InputFileError
from tapveil.base.vocabulary import PLACES, WIDER, WORLD
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan
from tapveil.published import places as published_places
from tapveil.trips import files

LEAST_DISK, MOST_DISK = 100 * 10**6, 5 * 10**9
"""Free bytes that a release asks for: half of what the trip files take, within these."""


def sound_places(inputs: PublicInputs) -> dict[str, Any] | None:
    """The places to publish; TripDataError for those that `verify` would not accept, before the budget is charged."""
    places = inputs.places
    wider = {area for areas in inputs.wider.values() for listed in areas.lookups.values() for area in listed.values()}
    listed = inputs.world.values() if inputs.plan.privacy.is_world else ()
    world = {place for places in listed for place in places}
    for finding in (
        *(published_places.places_findings(places, PLACES) if places else ()),
        *published_places.name_findings(WIDER, wider),
        *published_places.name_findings(WORLD, world),
    ):
        raise InputFileError(f"the lists of places cannot be published: {finding.place} {finding.sentence}")
    if places and (size := len(published_places.places_text(places).encode())) > published_places.LARGEST:
        raise InputFileError(
            f"the shapes of the areas need {size / 2**20:.0f} MB; the maximum is {published_places.LARGEST >> 20} MB. "
            "Simplify their borders"
        )
    return places


def refuse_full_disk(plan: Plan, out: Path) -> None:
    """EngineError, before anything is paid for, where the folder might not fit on its disk.

    How much is asked for follows from the sizes of the files, not from what they hold: a folder is smaller than that.
    """
    there = next(each for each in out.absolute().parents if each.exists())
    needed = min(max(LEAST_DISK, files.size(plan) // 2), MOST_DISK)
    if (free := shutil.disk_usage(there).free) < needed:
        raise EngineError(
            f"only {free / 10**6:,.0f} MB are free for {out}, and a release may need {needed / 10**6:,.0f} MB: "
            "free some space or choose another disk. Nothing was spent"
        )
