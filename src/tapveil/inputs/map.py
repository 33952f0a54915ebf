"""Places of the map: from the timetable, from polygons, or from a list of places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tapveil.base.vocabulary import EVERY_MODE, UNKNOWN
from tapveil.inputs.areas import Areas, Stops, read_stops
from tapveil.inputs.geometry import NamedShape, collection, h3_place, points, polygons
from tapveil.inputs.place_list import read_place_list
from tapveil.inputs.snapshot import PublicFiles
from tapveil.plan.model import Plan

if TYPE_CHECKING:
    from tapveil.inputs.gtfs import Stop


def read_places(plan: Plan, files: PublicFiles, areas: Areas) -> dict[str, Any] | None:
    """The places of the map, as GeoJSON; None where they are not known.

    These are all places in the public lists, not those of the trips: which of them occur is decided by the mechanism.
    """
    if (plan.gtfs is None and plan.places is None) or "location" not in plan.columns.kinds:
        return None
    listed = read_place_list(plan.base, plan.places, files) if plan.places else []
    somewhere = [place for place in listed if place.is_somewhere]
    drawn = {(place.mode, place.name): place for place in [*_places_of_stops(plan, files, areas), *somewhere]}
    return collection(drawn.values())


def _places_of_stops(plan: Plan, files: PublicFiles, areas: Areas) -> Iterator[NamedShape]:
    """The places that follow from the stops of the timetable."""
    if plan.gtfs is None:
        return
    stops = read_stops(plan, files)
    for mode in dict.fromkeys([*plan.coarsen.location, EVERY_MODE]):
        area = plan.coarsen.location.get(mode)
        found: Iterable[NamedShape] = _stop_places(mode, stops, areas)
        if area and area.polygons:
            found = polygons(plan, area, files).places
        elif area and area.h3 is not None:
            found = map(h3_place, sorted(set(areas.lookups[mode].values())))
        yield from (replace(place, mode=mode) for place in found)


def _stop_places(mode: str, stops: Stops, areas: Areas) -> Iterator[NamedShape]:
    """Areas without a shape become the points of their stops; a stop published by its ID also has its name."""
    members: dict[str, list[Stop]] = {}
    for name, stop in stops.by_name.items():
        members.setdefault(areas.area(mode, name), []).append(stop)
    for label, stops_of in members.items():
        where = [stop.place for stop in stops_of if stop.place]
        if where and label != UNKNOWN:
            title = stops_of[0].name if len(stops_of) == 1 and stops_of[0].name != label else ""
            yield replace(points(label, where), title=title)
