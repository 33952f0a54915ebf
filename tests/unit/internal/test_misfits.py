"""What does not fit the plan is named, with its share; what fits is not, and a few from elsewhere raise no alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tapveil
from tapveil.base.errors import TripDataError
from tapveil.internal.outlook import Outlook, outlook
from tapveil.ledger.book import Ledger
from tapveil.plan.model import Plan
from tapveil.veil.release import release
from tapveil.verification.folder import verify_folder
from tests.conftest import start_ledger, write_csv
from tests.property.test_world import BOUNDS, PLACES, PLAN
from tests.support.commands import run

KEYS = ("card", "mode", "day", "hour", "from", "to")
Row = tuple[str, str, str, str, str, str]


def rows(number: int = 1_000) -> list[Row]:
    """Trips of the world, each of another card."""
    return [
        (f"c{n}", ("bus", "train")[n % 2], f"2025-03-0{3 + n % 3}", f"{6 + n % 12:02}:{n % 60:02}", "Ash", "Elm")
        for n in range(number)
    ]


@dataclass
class World:
    """A folder with a list of places and trips."""

    folder: Path
    places: list[tuple[str, str, object, object]] = field(default_factory=lambda: [*PLACES])

    def plan(self, trips: Sequence[Sequence[str]] | None = None, unit: str = "trip", **changes: str) -> Plan:
        text = PLAN.format(unit=unit, bounds=BOUNDS[unit], per_cell="")
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        write_csv(self.folder / "places.csv", self.places, ("name", "mode", "latitude", "longitude"))
        if trips is not None:
            write_csv(self.folder / "trips.csv", trips, KEYS)
        return Plan.parse(text, base=self.folder)

    def check(self, trips: Sequence[Sequence[str]], unit: str = "trip", **changes: str) -> Outlook:
        return outlook(self.plan(trips, unit, **changes))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def changed(trips: Sequence[Row], every: int, **fields: str) -> list[Row]:
    """One trip in some, with other fields."""
    own = dict(zip(("card", "mode", "day", "hour", "start", "end"), range(6), strict=True))
    found = []
    for n, trip in enumerate(trips):
        each = list(trip)
        for name, value in fields.items() if n % every == 0 else ():
            each[own[name]] = value
        found.append(tuple(each))
    return found  # type: ignore[return-value]


def test_what_fits_is_not_remarked_on(world: World) -> None:
    found = world.check(rows())
    assert not found.alarms
    said = " ".join(found.notes)
    assert not any(words in said for words in ("the public lists", "does not cover", "copies", "service", "offsets"))


# --- places -----------------------------------------------------------------------------------------------------------


def test_places_that_are_not_listed_are_named_with_what_they_look_like(world: World) -> None:
    found = world.check(changed(changed(rows(), 10, start="ash "), 100, end="Pier"))
    (start, end) = (note for note in found.notes if "the public lists" in note)
    expected = "tap_on_location: 1 stop, with 10 % of trips, is not in the public lists, and is UNKNOWN: "
    assert start.startswith(expected)
    assert "`ash` (10.0 %; differs only in capitals, blanks or how letters are encoded from `Ash`)" in start
    assert "`Pier` (1.0 %)" in end
    assert list(found.alarms) == ["tap_on_location of 10 % of trips is in no public list"], "few are no mistake"


def test_names_that_a_terminal_would_obey_are_shown_without_it(world: World) -> None:
    (note,) = (
        note for note in world.check(changed(rows(), 10, end=f"\x1b[2J{'x' * 100}")).notes if "public lists" in note
    )
    assert f"`\N{REPLACEMENT CHARACTER}[2J{'x' * 56}…`" in note


def test_a_trip_without_a_tap_is_at_no_place_that_is_not_listed(world: World) -> None:
    assert not any("the public lists" in note for note in world.check(changed(rows(), 2, end="")).notes)


def test_a_release_of_foreign_places_stops_before_it_is_charged(world: World) -> None:
    foreign = [(*trip[:4], f"Stop {trip[4]}", f"Stop {trip[5]}") for trip in rows()]
    plan = world.plan(foreign)
    start_ledger(plan, epsilon="20", delta="1e-5")
    with pytest.raises(TripDataError, match="no trip has a tap_on_location of the public lists"):
        release(plan, world.folder / "out")
    assert not (world.folder / "out").exists()
    with Ledger.open(plan.ledger_path) as ledger:
        assert not [entry for entry in ledger.entries if type(entry).__name__ == "Spend"]
    found = outlook(plan)
    assert "no trip has a tap_on_location of the public lists" in (found.stops or "")
    assert "tap_on_location of 100 % of trips is in no public list" in found.alarms


def test_one_trip_at_a_listed_place_is_enough_for_a_release(world: World) -> None:
    foreign = [(*trip[:4], "Here", "There") for trip in rows()]
    found = world.check([*foreign, rows(1)[0]])
    assert found.stops is None
    assert "tap_on_location of > 99 % of trips is in no public list" in found.alarms


def test_a_place_without_coordinates_is_a_place_of_the_world(world: World) -> None:
    world.places = [(name, mode, 0, 1) for name in ("Ash", "Elm") for mode in ("bus", "train")]
    world.places.append(("Pier", "bus", "", ""))
    plan = world.plan(changed(rows(), 10, end="Pier"))
    folder = release(plan, world.folder / "out", in_ledger=False)
    assert verify_folder(folder.path).findings == []
    assert "Pier" in {row["tap_off_location"] for row in folder.table("od").rows()}
    assert "Pier" not in (folder.path / "areas.geojson").read_text(encoding="utf-8")
    notes = " ".join(outlook(plan).notes)
    assert "the public lists" not in notes
    assert "with 10 % of trips, have no coordinates in places.csv, or none for their mode: they will not be" in notes


# --- modes and days ---------------------------------------------------------------------------------------------------


def test_modes_that_are_not_covered_are_named(world: World) -> None:
    found = world.check(changed(changed(rows(), 5, mode="Bus"), 100, mode="tram"))
    (note,) = (note for note in found.notes if "modes that the plan" in note)
    assert note.startswith("200 trips have modes that the plan does not cover, and are left out: `Bus` (190; differs")
    assert "`tram` (10)" in note
    assert list(found.alarms) == ["200 trips have modes that the plan does not cover"]


def test_days_of_the_same_period_raise_no_alarm_and_days_apart_do(world: World) -> None:
    year = changed(changed(rows(), 10, day="2025-03-09"), 15, day="2025-03-16")
    found = world.check(year)
    assert any(
        "trips are on 2 days that the plan does not cover, from 2025-03-09 to 2025-03-16" in n for n in found.notes
    )
    assert not found.alarms
    turned = changed(changed(rows(), 10, day="2025-04-03"), 15, day="2025-05-03")
    found = world.check(turned)
    assert any("write the month first" in note for note in found.notes)
    assert len(found.alarms) == 1
    assert "some far from it" in found.alarms[0]


# --- times ------------------------------------------------------------------------------------------------------------


def test_trips_at_hours_without_service_are_said(world: World) -> None:
    hours = {"[coarsen]": '[world.service]\n"*" = "06:00-18:00"\n[coarsen]'}
    assert not any("[world] service" in note for note in world.check(rows(), **hours).notes)
    found = world.check(changed(rows(), 10, hour="02:30"), **hours)
    assert any(
        note.startswith("tap_on_time of 10.0 % of trips is outside the hours of [world] service")
        for note in found.notes
    )
    assert list(found.alarms) == ["tap_on_time of 10.0 % of trips is outside the hours of service"]


@pytest.mark.parametrize(
    ("offset", "said"), [("-05:00", True), ("+01:00", False), ("+00:00", False), ("Z", False), ("", False)]
)
def test_offsets_that_the_time_zone_does_not_have_are_said(offset: str, said: bool, world: World) -> None:
    trips = [(*trip[:3], f"{trip[2]} {trip[3]}:00{offset}", *trip[4:]) for trip in rows()]
    found = world.check(trips, **{"max_refused = 1\n": 'max_refused = 1\ntimezone = "Europe/Berlin"\n'})
    assert any("`hour` has the offsets -05:00 from UTC" in note for note in found.notes) == said
    assert ("the times of the trips are not of the time zone Europe/Berlin" in found.alarms) == said


def test_offsets_of_taps_are_looked_at_as_well(tmp_path: Path) -> None:
    taps = [
        (f"c{n}", f"2025-03-03T{hour:02}:{n % 60:02}:00-05:00", tap, stop)
        for n in range(200)
        for hour, tap, stop in ((7, "in", "Ash"), (8, "out", "Elm"))
    ]
    write_csv(tmp_path / "trips.csv", taps, ("card", "time", "gate", "stop"))
    text = PLAN.format(unit="card-day", bounds=BOUNDS["card-day"], per_cell="").replace('"mode", "date"', '"date"')
    first, last = text.index("[source.columns]"), text.index("[places]")
    columns = 'card = "card"\ndate = "time"\ntap = "gate"\ntap_time = "time"\ntap_location = "stop"\n'
    taps_of = '[source.taps]\non = ["in"]\noff = ["out"]\nsame = "card"\n'
    text = f"{text[:first]}{taps_of}[source.columns]\n{columns}{text[last:]}".replace('modes = ["bus", "train"]\n', "")
    write_csv(tmp_path / "places.csv", [("Ash", 0, 0), ("Elm", 0, 1)], ("name", "latitude", "longitude"))
    for zone, said in (("Europe/Berlin", True), ("America/New_York", False)):
        shape = f'[source]\nshape = "taps"\ntimezone = "{zone}"\n'
        plan = Plan.parse(text.replace("[source]\n", shape), base=tmp_path)
        assert any("has the offsets -05:00 from UTC" in note for note in outlook(plan).notes) == said


# --- cards and files --------------------------------------------------------------------------------------------------


def test_a_card_that_stands_for_many_is_named(world: World) -> None:
    found = world.check(changed(rows(2_400), 12, card="PAPIER"), "card")
    (note,) = (note for note in found.notes if "one card" in note)
    assert note.startswith("one card, `PAPIER`, has 200 rows, 8.3 % of all")
    assert 'card = { column = "card", missing = ["PAPIER"] }' in note
    assert list(found.alarms) == ["one card has 8.3 % of all rows"]


def test_a_commuter_is_no_placeholder(world: World) -> None:
    commuter = changed(rows(2_400), 40, card="c1")
    assert not any("c1" in note for note in world.check(commuter, "card").notes)


def test_files_that_are_copies_are_named(world: World) -> None:
    plan = world.plan(None, **{'path = "trips.csv"': 'path = "trips/*.csv"', 'card = "card"\n': ""})
    for name, trips in {"a": rows(), "b": rows(), "c": rows(900)}.items():
        write_csv(world.folder / "trips" / f"{name}.csv", trips, KEYS)
    found = outlook(plan)
    assert any("copies of another, byte by byte: a.csv and b.csv" in note for note in found.notes)
    assert list(found.alarms) == ["1 of 3 files of trips are copies of another"]


def test_the_summary_repeats_what_is_probably_a_mistake(world: World) -> None:
    world.plan(changed(rows(), 5, mode="Bus"))
    text = PLAN.format(unit="trip", bounds="", per_cell="")
    (world.folder / "plan.toml").write_text(text, encoding="utf-8")
    said = run("check", "plan.toml", cwd=world.folder).stdout
    summary = said[said.rindex("Summary") :]
    assert "Probably a mistake, see above: 200 trips have modes that the plan does not cover." in summary


def test_json_has_the_alarms(world: World) -> None:
    found = tapveil.outlook(world.plan(changed(rows(), 5, mode="Bus")))
    assert found.as_json()["alarms"] == found.alarms
