"""Coupled places: an isolated ferry is found, from the timetable and from the trips; a network is not."""

from __future__ import annotations

from pathlib import Path

from tapveil.inputs.gtfs import read_feed
from tapveil.inputs.public import PublicInputs
from tapveil.internal.coupling import Coupled, from_timetable, from_trips, sentence
from tests.unit.inputs.test_timetable import plan


def timetable(folder: Path, coarsen: str = "") -> list[Coupled]:
    made = plan(folder, coarsen=coarsen)
    return from_timetable(made, PublicInputs.of(made).areas, read_feed(folder / "gtfs.zip"))


def test_an_isolated_line_of_the_timetable(tmp_path: Path) -> None:
    """T1 has two platforms and Alpha; the bus shares none of its own mode; the ferry goes to and fro."""
    found = {each.mode: each for each in timetable(tmp_path)}
    assert found["ferry"] == Coupled("ferry", ("f", "g"), ("F9",))
    words = sentence([found["ferry"]])
    assert "ferry: f, g (F9). Where a trip began tells where it ended" in words
    assert "give them one name under [coarsen.location]" in words


def test_places_of_one_name_are_not_coupled(tmp_path: Path) -> None:
    merged = timetable(tmp_path, '[coarsen.location.ferry]\ngtfs = "zone_id"')
    assert "ferry" not in {each.mode for each in merged}
    stations = timetable(tmp_path, '[coarsen.location.train]\ngtfs = "station"')
    assert Coupled("train", ("a", "s"), ("T1",)) in stations


def test_from_the_trips() -> None:
    """Many places that lead anywhere, and two that lead to each other but for a stray record."""
    pairs = {("bus", str(a), str(b)): 10 for a in range(30) for b in range(30)}
    assert from_trips(pairs) == []
    ferry = {("ferry", "A", "B"): 900, ("ferry", "B", "A"): 800, ("ferry", "A", "UNKNOWN"): 50, ("ferry", "A", "A"): 3}
    network = {("ferry", c, d): 100 for c in "CDEFG" for d in "CDEFG" if c != d}
    stray = {("ferry", "A", "C"): 2}
    assert from_trips(pairs | ferry | network | stray) == [Coupled("ferry", ("A", "B"))]
    busy = {("ferry", "A", "C"): 300, ("ferry", "C", "B"): 300}
    assert from_trips(pairs | ferry | network | busy) == []


def test_a_crowd_of_rare_pairs_is_no_island() -> None:
    """In a large network every pair is rare; that must not make islands of its places."""
    pairs = {("train", str(a), str(b)): 1 + (a * b) % 3 for a in range(120) for b in range(120) if a != b}
    assert from_trips(pairs) == []
