"""With a public list of places `init` proposes to publish every cell, and asks whether the list is public."""

from __future__ import annotations

from pathlib import Path

import pytest

import tapveil
from tapveil.base.errors import InputFileError, TripDataError
from tapveil.base.progress import Silent
from tapveil.internal.draft import Draft, Look, draft, leave_open, take_proposal
from tapveil.plan.model import Plan
from tapveil.trips.questions import Question
from tests.support.corpus import CORPUS, ENGLISH, GERMAN, write
from tests.unit.inputs.test_timetable import write_feed

TRIPS = CORPUS["German, Windows-1252 and sep="]


def stops(folder: Path, names: list[str]) -> Path:
    rows = [(n, name, -33.8 - n / 1000, 151 + n / 1000) for n, name in enumerate(names)]
    return write(folder / "stops.csv", "stop_id;stop_name;stop_lat;stop_lon", rows, delimiter=";")


def drafted(folder: Path, names: list[str], *, says: str | None = None, look: str = "columns") -> Draft:
    def answer(question: Question) -> str:
        return says if question.key == "mechanism" and says else question.proposal

    listed = stops(folder, names)
    trips = str(TRIPS.make(folder))
    chosen = leave_open if says == "?" else answer
    found = draft(
        trips,
        folder / "plan.toml",
        places=listed,
        answer=chosen,
        look="nothing" if look == "nothing" else "columns",
        progress=Silent(),
    )
    (folder / "plan.toml").write_text(found.text, encoding="utf-8")
    return found


def test_the_plan_measures_every_cell_and_is_released(tmp_path: Path) -> None:
    drafted(tmp_path, [*GERMAN, "Geisterstraße"])
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.privacy.mechanism == "world"
    assert plan.places
    assert (plan.places.name, plan.places.latitude) == ("stop_name", "stop_lat")
    assert list(plan.tables) == ["od", "origin_time", "destination_time", "total"]
    assert plan.release.partition == ("date",), "the list has no modes"
    tapveil.release(plan, tmp_path / "out", in_ledger=False)
    measured = tapveil.open(tmp_path / "out").measurement(["tap_on_location", "tap_off_location"])
    assert "Geisterstraße" in str(measured.rows()), "a place where nobody was is published as well"


def test_where_nobody_is_asked_the_mechanism_is_an_open_question(tmp_path: Path) -> None:
    found = drafted(tmp_path, GERMAN, says="?")
    assert 'mechanism = "?"' in found.text
    assert "A list made from the trips would tell where somebody was" in " ".join(found.text.replace("# ?", "").split())


def test_a_plan_whose_question_is_answered_by_hand_counts_all_trips_of_a_card(tmp_path: Path) -> None:
    """As if it had been answered when it was asked."""
    by_hand = drafted(tmp_path, GERMAN, says="?").text.replace('mechanism = "?"', 'mechanism = "world"')
    (tmp_path / "asked").mkdir()
    asked = Plan.parse(drafted(tmp_path / "asked", GERMAN, says="world").text, base=tmp_path / "asked")
    days = {
        f'{which}_day = "?"': f"{which}_day = {getattr(asked.source, f'{which}_day')}" for which in ("first", "last")
    }
    for question, said in days.items():
        by_hand = by_hand.replace(question, said)
    assert asked.tables["total"].trips_per_cell == 4
    assert Plan.parse(by_hand, base=tmp_path).tables == asked.tables


def test_of_a_list_that_is_not_public_only_large_counts_are_published(tmp_path: Path) -> None:
    drafted(tmp_path, GERMAN, says="gaussian")
    plan = Plan.read(tmp_path / "plan.toml")
    assert (plan.privacy.mechanism, plan.privacy.neighbours) == ("gaussian", "replace")


def test_a_list_of_other_places_is_refused_and_one_that_lacks_some_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"few places of the trips are in stops\.csv"):
        drafted(tmp_path, ENGLISH)
    found = drafted(tmp_path, GERMAN[:9])
    assert "begin or end at a place that stops.csv does not have" in " ".join(found.remarks)
    notes = " ".join(tapveil.outlook(Plan.read(tmp_path / "plan.toml")).notes)
    assert "tap_on_location is UNKNOWN for" in notes


def test_a_list_in_another_encoding_is_refused_with_what_to_do(tmp_path: Path) -> None:
    listed, trips = tmp_path / "paragens.csv", TRIPS.make(tmp_path / "trips")
    listed.write_bytes("Código;Paragem;Latitude;Longitude\n1;Praça;1;2\n".encode("latin-1"))
    with pytest.raises(InputFileError, match=r"paragens\.csv is not a CSV file in UTF-8; save it as one"):
        draft(str(trips), tmp_path / "plan.toml", places=listed, answer=take_proposal, progress=Silent())


def test_a_list_of_places_among_the_trips_is_named(tmp_path: Path) -> None:
    stops(tmp_path, GERMAN)
    with pytest.raises(TripDataError, match=r"stops\.csv is a list of places, and not of trips"):
        draft(str(tmp_path), tmp_path / "plan.toml", progress=Silent())


@pytest.mark.parametrize("with_modes", [True, False])
def test_that_tables_are_not_split_by_mode_is_said_where_the_list_has_none(with_modes: bool, tmp_path: Path) -> None:
    rows = [
        (f"c{n}", ("bus", "train")[n % 2], "2025-03-03", f"{7 + n % 9:02}:15", "AB"[n % 2], f"{8 + n % 9:02}:15", "B")
        for n in range(200)
    ]
    header = "card_id,mode,trip_date,tap_on_time,tap_on_location,tap_off_time,tap_off_location"
    trips = write(tmp_path / "trips.csv", header, rows)
    places = [("A", 1, 2, "bus"), ("B", 3, 4, "train")]
    listed = write(tmp_path / "stops.csv", "name,latitude,longitude,mode", places) if with_modes else None
    listed = listed or write(tmp_path / "stops.csv", "name,latitude,longitude", [each[:3] for each in places])
    found = draft(str(trips), tmp_path / "plan.toml", places=listed, answer=take_proposal, progress=Silent())
    assert ("for all modes together: stops.csv does not say" in " ".join(found.remarks)) != with_modes
    assert ('partition = ["mode", "date"]' in found.text) == with_modes


def test_too_many_pairs_are_left_out(tmp_path: Path) -> None:
    drafted(tmp_path, [*GERMAN, *(f"Platz {n}" for n in range(3000))])
    assert "od" not in Plan.read(tmp_path / "plan.toml").tables


def test_without_a_list_one_line_says_what_it_would_bring(tmp_path: Path) -> None:
    found = draft(str(TRIPS.make(tmp_path)), tmp_path / "plan.toml", answer=take_proposal, progress=Silent())
    assert sum("every cell could be published" in remark for remark in found.remarks) == 1


def feed(folder: Path, names: list[str]) -> Path:
    """A timetable whose stops are the platforms of stations."""
    stations = [f"s{n},{name},-33.8,{151 + n / 1000},,1," for n, name in enumerate(names)]
    platforms = [f"p{n},{name} Gleis 1,-33.8,{151 + n / 1000},,0,s{n}" for n, name in enumerate(names)]
    header = "stop_id,stop_name,stop_lat,stop_lon,zone_id,location_type,parent_station"
    write_feed(folder, stops="\n".join([header, *stations, *platforms]) + "\n")
    return folder / "gtfs.zip"


def of_feed(folder: Path, names: list[str], *, look: Look = "columns", says: str = "world") -> Draft:
    def answer(question: Question) -> str:
        return says if question.key == "mechanism" else question.proposal

    trips, timetable = str(TRIPS.make(folder)), feed(folder, names)
    found = draft(trips, folder / "plan.toml", gtfs=timetable, answer=answer, look=look, progress=Silent())
    (folder / "plan.toml").write_text(found.text, encoding="utf-8")
    return found


def test_of_a_timetable_that_is_given_every_station_is_measured_and_released(tmp_path: Path) -> None:
    found = of_feed(tmp_path, [*GERMAN, "Geisterstraße"])
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.privacy.mechanism == "world"
    assert plan.gtfs
    assert (plan.gtfs.path, plan.gtfs.match, plan.places) == ("gtfs.zip", "stop_name", None)
    assert plan.coarsen.location["*"].gtfs == "station_name"
    assert (plan.release.partition, plan.source.timezone) == (("date",), "Australia/Sydney")
    assert list(plan.tables) == ["od", "origin_time", "destination_time", "total"]
    assert found.prospect is None, "where every cell is published none is empty"
    tapveil.release(plan, tmp_path / "out", in_ledger=False)
    measured = tapveil.open(tmp_path / "out").measurement(["tap_on_location", "tap_off_location"])
    assert {row["tap_on_location"] for row in measured.rows()} == {*GERMAN, "Geisterstraße", "UNKNOWN"}, (
        "stations, and not their platforms"
    )


def test_a_timetable_that_only_lies_beside_the_trips_makes_no_world(tmp_path: Path) -> None:
    feed(tmp_path, GERMAN)
    found = draft(str(TRIPS.make(tmp_path)), tmp_path / "plan.toml", answer=take_proposal, progress=Silent())
    plan = Plan.parse(found.text, base=tmp_path)
    assert (plan.privacy.mechanism, bool(plan.gtfs)) == ("gaussian", True)
    assert sum("every cell could be published" in remark for remark in found.remarks) == 1


def test_whether_a_timetable_is_public_is_asked_and_may_be_denied(tmp_path: Path) -> None:
    found = of_feed(tmp_path, GERMAN, says="?")
    (question,) = (each for each in found.open if each.key == "mechanism")
    assert question.text.startswith("Is gtfs.zip a public list, made without these trips?")
    (denied := tmp_path / "denied").mkdir()
    plan = Plan.parse(of_feed(denied, GERMAN, says="gaussian").text, base=denied)
    assert (plan.privacy.mechanism, bool(plan.gtfs)) == ("gaussian", True)


def test_a_timetable_of_other_places_makes_no_world(tmp_path: Path) -> None:
    found = of_feed(tmp_path, ENGLISH)
    assert "few stops of the trips are in gtfs.zip: is it the right timetable?" in found.found.remarks
    plan = Plan.parse(found.text, base=tmp_path)
    assert (plan.privacy.mechanism, plan.gtfs) == ("gaussian", None)


JOURNEYS = "card_id,mode,trip_date,tap_on_time,tap_on_location,tap_off_time,tap_off_location"


def journeys(folder: Path, modes: tuple[str, ...] = ("Bus", "Tram"), places: tuple[str, ...] = ("A", "B")) -> str:
    rows = [
        (
            *(f"c{n % 90}", modes[n % len(modes)], "2025-03-03"),
            *(f"{7 + n % 9:02}:15", places[n % 2], f"{8 + n % 9:02}:15", places[n % 3 % 2]),
        )
        for n in range(600)
    ]
    return str(write(folder / "trips.csv", JOURNEYS, rows))


def with_places(
    folder: Path, header: str, rows: list[tuple[object, ...]], modes: tuple[str, ...] = ("Bus", "Tram"), text: str = ""
) -> Draft:
    """The plan of journeys between A and B, next to a list of these places."""
    delimiter = ";" if ";" in header else ","
    listed = write(folder / "stops.csv", header, rows, delimiter=delimiter)
    found = draft(journeys(folder, modes), folder / "plan.toml", places=listed, answer=take_proposal, progress=Silent())
    (folder / "plan.toml").write_text(found.text, encoding="utf-8")
    return found


@pytest.mark.parametrize(
    "header",
    [
        "Haltestelle;Bezeichnung;Verkehrsmittel;Breite;Länge",
        "Parada;Nombre;Modo;Latitud;Longitud",
        "id;name;mode;y;x",
        "Arrêt;Nom;Mode;Latitude;Longitude",
        "Przystanek;Nazwa;Środek transportu;Szerokość;Długość",
        "站;名称;交通方式;纬度;经度",
    ],
)
def test_the_columns_of_places_are_known_in_the_languages_of_trips(header: str, tmp_path: Path) -> None:
    """With decimal commas; the names for people are those that the page shows."""
    found = with_places(
        tmp_path, header, [("A", "Arm", "Tram", "50,8497", "12,8982"), ("B", "Bein", "Bus", "50,8", "-12,9")]
    )
    plan, columns = Plan.read(tmp_path / "plan.toml"), header.split(";")
    assert plan.places
    places = plan.places
    assert [places.name, places.title, places.mode, places.latitude, places.longitude] == columns
    assert plan.source.modes == ("Bus", "Tram")
    assert f'title = "{columns[1]}"' in found.text
    assert tapveil.outlook(plan).tables


def test_degrees_go_before_metres(tmp_path: Path) -> None:
    with_places(tmp_path, "name,x,y,lat,lon,mode", [("A", 4e6, 3e5, 1, 2, "Bus"), ("B", 4e6, 3e5, 3, 4, "Tram")])
    places = Plan.read(tmp_path / "plan.toml").places
    assert places
    assert (places.latitude, places.longitude, places.title) == ("lat", "lon", None)


def test_a_list_without_coordinates_is_refused_with_the_names_that_do(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"no column that is called `latitude` or `longitude`.* call it so"):
        with_places(tmp_path, "name,here,there", [("A", 1, 2)])


@pytest.mark.parametrize(
    ("modes", "said"),
    [
        (
            ("BUS", "Tram"),
            "has the modes `Bus` and `Tram`, and `mode` has `BUS`, which it lacks. They seem to be the same",
        ),
        (("Bus", "Ferry"), "`mode` has `Ferry`, which it lacks. Write the modes of places as the trips do"),
        (("Ferry", "Bus"), 'write modes = ["Bus", "Tram"] under [source]'),
    ],
)
def test_modes_that_a_list_does_not_have_are_named(modes: tuple[str, ...], said: str, tmp_path: Path) -> None:
    found = with_places(tmp_path, "name,lat,lon,mode", [("A", 1, 2, "Bus"), ("B", 3, 4, "Tram")], modes)
    assert said in " ".join(found.remarks)
    assert Plan.read(tmp_path / "plan.toml").release.partition == ("date",)


def of_routes(folder: Path, modes: tuple[str, ...], says: str = "yes") -> Draft:
    def answer(question: Question) -> str:
        return says if question.key == "modes" else question.proposal

    stops = "stop_id,stop_name,stop_lat,stop_lon,zone_id,location_type,parent_station\n"
    stops += "".join(f"{each},{each},-33.8,151.2,,0,\n" for each in "ABpafg")
    write_feed(folder, stops=stops.replace("p,p,", "p1,p,").replace("a,a,", "p2,q,"))
    found = draft(
        journeys(folder, modes), folder / "plan.toml", gtfs=folder / "gtfs.zip", answer=answer, progress=Silent()
    )
    (folder / "plan.toml").write_text(found.text, encoding="utf-8")
    return found


def test_tables_are_split_by_the_modes_of_a_timetable_if_the_trips_call_them_so(tmp_path: Path) -> None:
    """Also by a mode that no trip looked at had; its routes are public."""
    of_routes(tmp_path, ("Bus", "Train"))
    plan = Plan.read(tmp_path / "plan.toml")
    assert (plan.release.partition, plan.source.modes) == (("mode", "date"), ("Bus", "Train", "ferry"))
    of_routes(tmp_path, ("Bus", "Train"), says="no")
    assert Plan.read(tmp_path / "plan.toml").release.partition == ("date",)


def test_that_a_timetable_has_other_modes_is_said(tmp_path: Path) -> None:
    found = of_routes(tmp_path, ("Bus", "Bahn"))
    assert "the words of `mode` are not the types of the routes of gtfs.zip" in " ".join(found.remarks)
    assert Plan.read(tmp_path / "plan.toml").release.partition == ("date",)


def taps(folder: Path, card: str = "card") -> Draft:
    rows = [
        (f"c{n % 90}", f"2025-03-03 {7 + n % 9:02}:{n % 60:02}", ("IN", "OUT")[n % 2], "AB"[n % 2]) for n in range(600)
    ]
    trips = write(folder / "taps_20250303_20250304.csv", f"{card},time,direction,station", rows)
    listed = write(folder / "stops.csv", "name,lat,lon", [("A", 1, 2), ("B", 3, 4)])
    found = draft(str(trips), folder / "plan.toml", places=listed, answer=take_proposal, progress=Silent())
    (folder / "plan.toml").write_text(found.text, encoding="utf-8")
    return found


def test_taps_are_paired_to_journeys_of_which_every_cell_is_published(tmp_path: Path) -> None:
    taps(tmp_path)
    plan = Plan.read(tmp_path / "plan.toml")
    assert (plan.privacy.mechanism, plan.privacy.unit) == ("world", "card-day")
    assert list(plan.tables) == ["od", "origin_time", "destination_time", "total"]
    tapveil.release(plan, tmp_path / "out", in_ledger=False)


def test_taps_without_a_card_are_not_and_why_is_said(tmp_path: Path) -> None:
    found = taps(tmp_path, "weather")
    assert "stops.csv is not used: every cell of journeys needs cards, by which taps are paired" in " ".join(
        found.remarks
    )
    assert Plan.read(tmp_path / "plan.toml").privacy.mechanism == "gaussian"
