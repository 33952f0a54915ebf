"""Names of places and of wider areas are texts of others: `verify` searches them for identifiers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tapveil.published.places import places_text
from tapveil.verification.folder import verify_folder
from tests.support.tampering import refresh

GOLDEN = Path(__file__).parents[2] / "golden" / "2"
TRIP = "2016-08-{:02d} 07:15 Central to Museum, card 4111222233{:06d}"


def point(name: str, **more: str) -> dict[str, Any]:
    shape = {"type": "Point", "coordinates": [151.0, -33.0]}
    return {"type": "Feature", "properties": {"name": name, "mode": "*", **more}, "geometry": shape}


@pytest.mark.parametrize("key", ["name", "title"])
def test_raw_trips_do_not_verify_as_the_names_of_places(key: str, tmp_path: Path) -> None:
    """1 500 trips with their cards, each as an extra point on the map, everything else made fit again."""
    folder = Path(shutil.copytree(GOLDEN / "paper", tmp_path / "folder"))
    (folder / "SHA256SUMS.sig").unlink(missing_ok=True)
    places = json.loads((folder / "areas.geojson").read_text(encoding="utf-8"))
    for number in range(1500):
        trip = TRIP.format(1 + number % 28, number)
        places["features"].append(point(**({"name": f"x{number}"} | {key: trip})))
    places["features"].sort(key=lambda each: (each["properties"]["name"], each["properties"]["mode"]))
    (folder / "areas.geojson").write_text(places_text(places), encoding="utf-8")
    refresh(folder)
    assert [(each.code, each.place) for each in verify_folder(folder).findings] == [
        ("identifier-card", "areas.geojson")
    ]


def test_a_wider_area_is_not_the_number_of_a_card(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(GOLDEN / "levels", tmp_path / "folder"))
    (folder / "SHA256SUMS.sig").unlink(missing_ok=True)
    path = folder / "wider-areas.csv"
    text = path.read_text(encoding="utf-8")
    assert "bus,9999,UNKNOWN" in text
    path.write_text(text.replace("bus,9999,UNKNOWN", "bus,9999,4111222233334444"), encoding="utf-8")
    refresh(folder)
    assert ("identifier-card", "wider-areas.csv") in {
        (each.code, each.place) for each in verify_folder(folder).findings
    }
