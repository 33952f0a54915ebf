"""What a folder may state of its estimates, by its public lists and its version."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

from tapveil.published import estimated
from tapveil.published.domain import Domain
from tapveil.published.estimates import NEWEST
from tapveil.published.manifest import Manifest

GOLDEN = Path(__file__).parents[2] / "golden" / "3d" / "world" / "privacy.json"
FIRST = date(2025, 3, 3)


def domain(places: int, days: int) -> Domain:
    """Four parts of a day, and no tap, over so many places, and one for all others."""
    manifest = Manifest.model_validate(json.loads(GOLDEN.read_text(encoding="utf-8")))
    covers = manifest.covers.model_copy(update={"first_day": FIRST, "last_day": FIRST + timedelta(days - 1)})
    listed = ("UNKNOWN", *(f"place {number}" for number in range(places)))
    return Domain(manifest.model_copy(update={"covers": covers}), {"metro": listed, "tram": listed[:2]})


def bins(of: Domain) -> list[int | None]:
    return [estimated.minutes(of, version) for version in (1, 4, 5, NEWEST)]


def test_bins_are_longer_from_200_million_whole_trips_on_and_from_1000_million_since_version_5() -> None:
    assert bins(domain(199, 1000)) == [None, None, None, None]
    assert bins(domain(199, 1001)) == [1440, 1440, None, None]
    assert bins(domain(223, 4000)) == [None, None, 1440, 1440]  # the whole day is too long for earlier versions, too


def test_a_folder_may_state_the_versions_that_had_estimates_of_so_many_places() -> None:
    assert estimated.versions(domain(199, 1000)) == {1, *range(3, NEWEST + 1)}
    assert estimated.versions(domain(199, 1001)) == {2, *range(3, NEWEST + 1)}
    assert estimated.versions(domain(199, 5000)) == {None, *range(5, NEWEST + 1)}
    assert estimated.versions(domain(999, 5000)) == {None}


def test_the_most_places_are_those_that_fit() -> None:
    for days in (1, 999, 4321):
        ((mode, most),) = estimated.crowded(domain(1999, days), NEWEST, None)
        assert mode == "metro"
        assert not [*estimated.crowded(domain(most - 1, days), NEWEST, None)]
        assert [*estimated.crowded(domain(most, days), NEWEST, None)]
