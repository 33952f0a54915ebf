"""From where to where: `flows.csv` and `locations.csv`, as flowmap.blue and kepler.gl read them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tapveil.base.errors import FolderError
from tapveil.base.vocabulary import COUNT, HIGH, LOW
from tapveil.published.conversion.delimited import csv_text
from tapveil.published.conversion.places import places
from tapveil.published.folder import Folder
from tapveil.published.frame import DATE, Frame

ON, OFF = "tap_on_location", "tap_off_location"


def flow_table(folder: Folder) -> Frame:
    """The numbers of trips from place to place: published cells, or of a known world, the estimates."""
    manifest = folder.manifest
    fits = [claim for claim in manifest.tables if {ON, OFF} <= set(claim.columns) and claim.level is None]
    if not fits:
        raise FolderError(f"{folder.where} has no table of origins and destinations")
    claim = min(fits, key=lambda each: len(each.columns))
    if manifest.versions.estimates:
        return folder.estimate([key for key in manifest.keys(claim) if key != "mode"])
    return folder.table(claim.name)


def location_id(mode: str, place: str) -> str:
    """How a place is called in both files: places of two modes can have one name.

    >>> location_id("train", "Central"), location_id("", "Central")
    ('train: Central', 'Central')
    """
    return f"{mode}: {place}" if mode else place


def flow_files(folder: Folder) -> Iterator[tuple[str, str]]:
    """Both files, by name. A flow with an end that has no position is left out: no map can draw it."""
    frame, known = flow_table(folder), places(folder)
    split = "mode" in frame.keys
    ids = {location_id(place.mode if split else "", place.name): place for place in known}
    yield (
        "locations.csv",
        csv_text(
            ("id", "name", "lat", "lon"),
            [(id_, each.title or each.name, each.latitude, each.longitude) for id_, each in sorted(ids.items())],
        ),
    )
    times = [key for key in frame.keys if key not in ("mode", ON, OFF)]
    clock = next((key for key in times if key.endswith("_time")), None)
    rest = [key for key in times if key not in (DATE, clock)]
    modes = frame.cells["mode"].tolist() if split else [""] * len(frame)
    keys = [
        frame.cells[key].tolist() for key in (ON, OFF, *([DATE] if DATE in times else []), *([clock] if clock else []))
    ]
    others = [frame.cells[key].tolist() for key in rest]
    numbers = [np.ma.filled(frame.cells[name], -1).tolist() for name in (COUNT, LOW, HIGH)]
    rows = []
    for row, (mode, start, end) in enumerate(zip(modes, keys[0], keys[1], strict=True)):
        origin, dest = location_id(mode, start), location_id(mode, end)
        if origin in ids and dest in ids and numbers[0][row] > 0:
            when = "T".join(each[row] for each in keys[2:])
            ends = (numbers[1][row], numbers[2][row], *(each[row] for each in others))
            rows.append((origin, dest, numbers[0][row], when, *ends))
    yield "flows.csv", csv_text(("origin", "dest", "count", "time", LOW, HIGH, *rest), rows)
