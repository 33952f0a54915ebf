"""Lookups: lists in the project folder by which places can be published as areas. Found by their columns: no trip is
read."""

from __future__ import annotations

from collections.abc import Iterator

from tapveil.base.csv_header import column_names, found_delimiter
from tapveil.base.errors import InputFileError, PlanError
from tapveil.base.vocabulary import EVERY_MODE
from tapveil.inputs.public import PublicInputs
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import OnDisk
from tapveil.plan.model import Area, Plan
from tapveil.studio.project import Project

LARGEST = 10_000_000
"""Bytes of a list that is looked at."""
MOST_COLUMNS = 40


def lookups(project: Project, plan: Plan) -> Iterator[dict[str, str]]:
    """Each list with a column that is called like the places of the trips, by each column that has fewer areas."""
    named = {ours: column.column for ours, column in plan.source.columns.items() if column.column}
    places = [name for ours, name in named.items() if plan.source.kind(ours) == "location"]
    for entry in project.data:
        is_list = entry["path"].lower().endswith(".csv") and (entry["size"] or 0) <= LARGEST
        header = _header(plan, entry["path"]) if is_list else []
        if ({*named.values()} - {*places}) & {*header}:
            continue  # more trips
        for stop in (each for each in header if any(_is_called(place, each) for place in places)):
            for area in header:
                value = {"lookup": entry["path"], "from": stop, "to": area}
                if area != stop and _makes_areas(plan, value):
                    yield value


def _header(plan: Plan, path: str) -> list[str]:
    try:
        with PublicList(OnDisk(), plan.base / path, "lookup").opened() as file:
            line = file.readline()
    except (InputFileError, UnicodeDecodeError):
        return []
    return [*column_names(line, found_delimiter(line, ()))][:MOST_COLUMNS]


def _is_called(place: str, column: str) -> bool:
    """Whether a column is called like the places of the trips: `station`, also where these are in `start station`."""
    whole, end = place.casefold().replace("_", " "), column.casefold().replace("_", " ")
    return bool(end) and (whole == end or whole.endswith(f" {end}"))


def _makes_areas(plan: Plan, value: dict[str, str]) -> bool:
    """Whether a column of a list has one area for each place, and fewer areas than places."""
    coarsen = plan.coarsen.model_copy(update={"location": {EVERY_MODE: Area.model_validate(value)}})
    try:
        found = PublicInputs.of(plan.model_copy(update={"coarsen": coarsen})).areas.lookups[EVERY_MODE]
    except (InputFileError, PlanError):
        return False
    return 1 < len({*found.values()}) < len(found)
