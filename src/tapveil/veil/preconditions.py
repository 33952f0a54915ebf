"""What must hold before a release is paid for."""

from __future__ import annotations

from typing import Any

from tapveil.base.errors import TripDataError
from tapveil.base.vocabulary import PLACES, WIDER
from tapveil.inputs.public import PublicInputs
from tapveil.published import places as published_places


def sound_places(inputs: PublicInputs) -> dict[str, Any] | None:
    """The places to publish; what `verify` would not take of public lists is refused before anything is paid for."""
    places = inputs.places
    wider = {area for areas in inputs.wider.values() for listed in areas.lookups.values() for area in listed.values()}
    for finding in (
        *(published_places.places_findings(places, PLACES) if places else ()),
        *published_places.name_findings(WIDER, wider),
    ):
        raise TripDataError(f"the lists have places that no folder may have: {finding.place} {finding.sentence}")
    if places and (size := len(published_places.places_text(places).encode())) > published_places.LARGEST:
        raise TripDataError(
            f"the shapes of the areas would take {size / 2**20:.0f} MB in the folder; at most "
            f"{published_places.LARGEST >> 20} MB can be published: simplify their borders"
        )
    return places
