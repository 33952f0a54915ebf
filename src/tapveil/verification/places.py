"""The places of a folder: named shapes to draw, and nothing else."""

from __future__ import annotations

from pathlib import Path

from tapveil.base.findings import Finding
from tapveil.published.places import FeatureCollection, places_findings, places_text
from tapveil.verification import reading
from tapveil.verification.known_versions import LARGEST_PLACES


def places_in(folder: Path, name: str) -> tuple[FeatureCollection, list[Finding]]:
    """The places of a folder, and what is wrong with their file."""
    text = reading.text_of(folder, name, LARGEST_PLACES)
    data = reading.json_in(text, name)
    found = list(places_findings(data, name))
    if not any(each.code == "places-shape" for each in found) and text != places_text(data):
        found.append(Finding("hidden-data", name, reading.NOT_CANONICAL))
    return data, found
