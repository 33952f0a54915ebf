"""Where published places lie: `areas.geojson` of a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Places = Mapping[str, Any]
"""A GeoJSON FeatureCollection."""


def places_text(places: Places) -> str:
    """The file of places, a line for each: the one way to write it, so that there is room for nothing else."""
    lines = (json.dumps(feature, ensure_ascii=False, separators=(",", ":")) for feature in places["features"])
    return '{"type":"FeatureCollection","features":[\n' + ",\n".join(lines) + "\n]}\n"
