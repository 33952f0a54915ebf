from __future__ import annotations

import csv
import io
import re
import tempfile
import zipfile
from collections import defaultdict
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapveil.base.errors import TripDataError
from tapveil.inputs.gtfs import Calls, Feed, Line, Stop, files, read_feed

STOP_TIMES = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
THREE_STOPS = STOP_TIMES + "T,07:00:00,07:01:00,A,1\nT,07:05:00,07:06:00,B,2\nT,07:10:00,07:11:00,C,3\n"
FEED = {
    "agency.txt": "agency_name,agency_timezone\nBuses,Australia/Sydney\n",
    "stops.txt": "stop_id,stop_name\nA,First St\nB,Second St\nC,Third St\n",
    "routes.txt": "route_id,route_short_name,route_type\nR,10,3\n",
    "trips.txt": "route_id,service_id,trip_id\nR,S,T\n",
    "stop_times.txt": THREE_STOPS,
    "calendar.txt": (
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
        "S,1,1,1,1,1,0,0,20160801,20160831\n"
    ),
}

Call = tuple[str, int, str, int, bool, bool]


def write_feed(folder: Path, without: str = "", **changes: str | bytes) -> Path:
    """The small feed in a folder, with some files changed: `write_feed(tmp_path, stops="stop_id\\nA\\n")`."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, str | bytes] = {**FEED, **{f"{name}.txt": text for name, text in changes.items()}}
    for name in files.keys() - set(without.split()):
        text = files[name]
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def zip_feed(path: Path, inside: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in FEED.items():
            archive.writestr(inside + name, text)
    return path


def listed(calls: Calls) -> list[Call]:
    columns = (calls.service, calls.route_type, calls.stop, calls.second, calls.boards, calls.alights)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(calls.services[service], kind, calls.stop_ids[stop], *rest) for service, kind, stop, *rest in rows]


def timed(feed: Feed) -> list[tuple[str, int, str]]:
    """The calls of a feed of one line: stop, second, and what one may do there."""
    return [(stop, at, "on" * on + "off" * off) for _, _, stop, at, on, off in listed(feed.calls())]


def at(hours: int, minutes: int = 0, seconds: int = 0) -> int:
    return 3600 * hours + 60 * minutes + seconds


def read_whole(path: Path) -> None:
    feed = read_feed(path)
    feed.calls()
    feed.calendar.days(date(2016, 1, 1), date(2016, 12, 31))


def refusal(feed: Path) -> str:
    """What is said of a feed that is wrong somewhere."""
    with pytest.raises(TripDataError) as caught:
        read_whole(feed)
    assert caught.value.__cause__ is None
    return str(caught.value)


# --- where a feed is kept -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["", "feed/", "a/b/"])
def test_a_zip_file_is_read_whether_or_not_it_has_a_folder_inside(tmp_path: Path, inside: str) -> None:
    feed = read_feed(zip_feed(tmp_path / "feed.zip", inside))
    assert list(feed.stops) == ["A", "B", "C"]
    assert feed.timezone == "Australia/Sydney"
    assert len(feed.calls().second) == 4


def test_a_zip_file_and_its_folder_say_the_same(tmp_path: Path) -> None:
    zipped, folder = read_feed(zip_feed(tmp_path / "feed.zip")), read_feed(write_feed(tmp_path / "feed"))
    assert zipped.stops == folder.stops
    assert zipped.lines() == folder.lines()
    assert listed(zipped.calls()) == listed(folder.calls())
    assert (zipped.calendar.first, zipped.calendar.last) == (folder.calendar.first, folder.calendar.last)


def test_what_a_mac_adds_to_a_zip_file_is_left_alone(tmp_path: Path) -> None:
    path = zip_feed(tmp_path / "feed.zip", "feed/")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("__MACOSX/feed/._stops.txt", b"\x00\x05\x16\x07")
    assert len(read_feed(path).stops) == 3


def test_a_csv_file_of_stops_is_a_feed_of_stops_alone(tmp_path: Path) -> None:
    path = tmp_path / "stations.csv"
    path.write_text("stop_id,stop_name,postcode\n1001,First St,2000\n")
    feed = read_feed(path)
    assert feed.stops == {"1001": Stop("1001", "", "First St", None, None, "1001", "")}
    assert feed.timezone is None
    with pytest.raises(TripDataError, match=r'stations\.csv is only a list of stops; cells = "gtfs" needs routes\.txt'):
        feed.calls()
    with pytest.raises(TripDataError, match=r"needs calendar\.txt or calendar_dates\.txt"):
        _ = feed.calendar.first


def test_a_feed_is_found_by_what_it_is_not_by_its_name(tmp_path: Path) -> None:
    assert len(read_feed(zip_feed(tmp_path / "google_transit")).stops) == 3


def test_stops_are_read_without_the_rest(tmp_path: Path) -> None:
    feed = read_feed(write_feed(tmp_path, stop_times="not a timetable", calendar="nor a calendar"))
    assert list(feed.stops) == ["A", "B", "C"]


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nowhere.zip").startswith("there is no nowhere.zip; a feed is a GTFS zip file")


def test_a_folder_without_stops(tmp_path: Path) -> None:
    folder = write_feed(tmp_path / "feed", without="stops.txt")
    assert refusal(folder) == "feed has no stops.txt; check that it is a GTFS feed"


def test_a_zip_file_of_zip_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "state.zip", "w") as archive:
        archive.write(zip_feed(tmp_path / "inner.zip"), "2/google_transit.zip")
    assert refusal(tmp_path / "state.zip") == (
        "state.zip has no stops.txt; it contains other zip files; unpack them and choose one"
    )


def test_a_zip_file_of_several_feeds(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        for folder in ("bus", "train"):
            archive.writestr(f"{folder}/stops.txt", FEED["stops.txt"])
    assert "both.zip contains several feeds (bus, train)" in refusal(tmp_path / "both.zip")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 cut off", b"<html>Not found</html>"])
def test_a_damaged_zip_file(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "feed.zip").write_bytes(data)
    assert refusal(tmp_path / "feed.zip").startswith("feed.zip is damaged; download the feed again")


def test_a_damaged_member_of_a_zip_file(tmp_path: Path) -> None:
    path = tmp_path / "feed.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, text in FEED.items():
            archive.writestr(name, text)
    path.write_bytes(path.read_bytes().replace(b"07:05:00", b"08:05:00"))  # no longer what its checksum says
    assert refusal(path).startswith("stop_times.txt in feed.zip is damaged")


def test_an_encrypted_zip_file(tmp_path: Path) -> None:
    path = zip_feed(tmp_path / "feed.zip")
    data = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for match in re.finditer(re.escape(mark), bytes(data)):
            data[match.start() + flags] |= 1
    path.write_bytes(data)
    assert refusal(path) == "stops.txt in feed.zip is encrypted; unpack the feed and use the folder"


def test_a_zip_member_packed_in_an_unknown_way(tmp_path: Path) -> None:
    path = zip_feed(tmp_path / "feed.zip")
    data = bytearray(path.read_bytes())
    for mark, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        for match in re.finditer(re.escape(mark), bytes(data)):
            data[match.start() + method] = 97
    path.write_bytes(data)
    assert "uses an unknown compression" in refusal(path)


def test_a_zip_member_that_is_absurdly_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_FILE", len(FEED["stop_times.txt"]) - 1)
    path = zip_feed(tmp_path / "feed.zip")
    assert len(read_feed(path).stops) == 3
    with pytest.raises(TripDataError, match=r"stop_times\.txt in feed\.zip unpacks to .* GB, more than the maximum"):
        read_feed(path).lines()


def test_a_feed_taken_away_after_its_stops_were_read(tmp_path: Path) -> None:
    path = zip_feed(tmp_path / "feed.zip")
    feed = read_feed(path)
    path.unlink()
    with pytest.raises(TripDataError, match=r"there is no routes\.txt in feed\.zip"):
        feed.calls()


@pytest.mark.parametrize("name", ["routes.txt", "trips.txt", "stop_times.txt"])
def test_a_missing_file_says_what_it_is_for(tmp_path: Path, name: str) -> None:
    folder = write_feed(tmp_path / "feed", without=name)
    said = f'feed has no {name}; cells = "gtfs" needs {name} to know which line calls where and when'
    assert refusal(folder) == said
    with pytest.raises(TripDataError, match=re.escape(said)):
        read_feed(folder).lines()


def test_a_feed_without_a_calendar(tmp_path: Path) -> None:
    said = refusal(write_feed(tmp_path / "feed", without="calendar.txt"))
    assert said == (
        'feed has no calendar.txt or calendar_dates.txt; cells = "gtfs" needs calendar.txt or calendar_dates.txt '
        "to know on which days a service runs"
    )


# --- how a file is written ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stops",
    [
        "\ufeffstop_id,stop_name\nA,First St\nB,Second St\nC,Third St\n",
        '\ufeff"stop_id","stop_name"\n"A","First St"\n"B","Second St"\n"C","Third St"',
        "stop_id,stop_name\r\nA,First St\r\nB,Second St\r\nC,Third St\r\n",
        "stop_name,stop_url,stop_id\nFirst St,,A\nSecond St,,B\nThird St,,C\n",
        " stop_id , stop_name \n A , First St\t\n B , Second St\n C , Third St\n",
        'stop_id, stop_name\nA, "First St"\nB, "Second St" \nC, "Third St"\n',
        "\n\nstop_id,stop_name\nA,First St\n\nB,Second St\n  \nC,Third St\n\n\n   \n,\n , \n",
        'stop_name,stop_desc,stop_id\nFirst St,"one, two",A\nSecond St, "one, two",B\nThird St,"one\ntwo",C\n',
    ],
)
def test_a_file_may_be_written_in_many_ways(tmp_path: Path, stops: str) -> None:
    feed = read_feed(write_feed(tmp_path, stops=stops))
    assert {stop.id: stop.name for stop in feed.stops.values()} == {"A": "First St", "B": "Second St", "C": "Third St"}
    assert [stop for stop, _, _ in timed(feed)] == ["A", "B", "B", "C"]


def test_names_keep_their_quotes_commas_and_letters(tmp_path: Path) -> None:
    feed = read_feed(write_feed(tmp_path, stops='stop_id,stop_name\nA,"""Žižkov"", No. 3"\nB,5" pipe\nC,東\n'))
    assert [stop.name for stop in feed.stops.values()] == ['"Žižkov", No. 3', '5" pipe', "東"]


def test_blanks_around_values_do_not_make_two_of_one(tmp_path: Path) -> None:
    stop_times = THREE_STOPS.replace("T,07:05:00,07:06:00,B", " T , 07:05:00 , 7:06:00, B ")
    assert timed(read_feed(write_feed(tmp_path, stop_times=stop_times))) == timed(
        read_feed(write_feed(tmp_path / "as_it_was"))
    )


def test_lines_of_commas_are_no_stop_times(tmp_path: Path) -> None:
    stop_times = THREE_STOPS.replace("T,07:05:00", ",,,,\nT,07:05:00") + "\n,,,,\n , ,,,\n"
    feed = read_feed(write_feed(tmp_path, stop_times=stop_times, trips=FEED["trips.txt"] + ",,\n"))
    assert len(feed.calls().second) == 4
    assert feed.calls().services == ("S",)


@pytest.mark.parametrize(
    ("stops", "message"),
    [
        ("", "is empty; its first line must be a header"),
        ("\n \n", "is empty; its first line must be a header"),
        ("stop_id,stop_name\n", "has a header but no stops"),
        ("stopid,stop_name\nA,x\n", "has no column `stop_id`: did you mean `stopid`?"),
        ("stop_id,stop_id\nA,B\n", "has 2 columns named `stop_id`; keep one"),
        ("stop_id,stop_name\nA,x\n\nA,y\n", ", line 4: stop_id `A` is a duplicate; keep one"),
        ("stop_id,stop_name\nA,x\n,y\n", ", line 3: stop_id is empty"),
        ("stop_id,stop_name\nA,x\nB,y,z\n", ", line 3: the header has 2 fields, this line 3"),
        ("stop_id,stop_name\nA,x\nB\n", ", line 3: the header has 2 fields, this line 1"),
        ('stop_id,stop_name\nA,x\n"B,y\nC,z\n', ", line 3: the header has 2 fields, this line 1"),
        ("stop_id,stop_name\rA,x\r", ", line 1 is not valid CSV"),
        (b"stop_id,stop_name\nA,x\nB,caf\xe9\n", ", line 3 is not UTF-8; save the file as UTF-8"),
        ("stop_id,stop_name\nA,x\n".encode("utf-16"), ", line 1 is not UTF-8; save the file as UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, stops: str | bytes, message: str) -> None:
    said = refusal(write_feed(tmp_path / "feed", stops=stops))
    assert said.startswith("stops.txt in feed")
    assert message in said


def test_a_csv_file_of_stops_is_named_by_itself(tmp_path: Path) -> None:
    (tmp_path / "stops.csv").write_text("stop_id\nA\n\nA\n")
    assert refusal(tmp_path / "stops.csv") == "stops.csv, line 4: stop_id `A` is a duplicate; keep one"


# --- stops --------------------------------------------------------------------------------------------------------


def test_everything_about_a_stop(tmp_path: Path) -> None:
    stops = (
        "stop_id,stop_code,stop_name,stop_lat,stop_lon,zone_id,location_type,parent_station\n"
        "A,1001,First St,-33.88,151.2,Z1,0,\nB,,,,,,,\nC,,,-33.9,,,,\n"
    )
    feed = read_feed(write_feed(tmp_path, stops=stops))
    assert feed.stops["A"] == Stop("A", "1001", "First St", -33.88, 151.2, "A", "Z1")
    assert feed.stops["B"] == Stop("B", "", "", None, None, "B", "")
    assert [stop.place for stop in feed.stops.values()] == [(-33.88, 151.2), None, None]


def test_a_platform_belongs_to_the_topmost_station(tmp_path: Path) -> None:
    stops = (
        "stop_id,location_type,parent_station\narea,4,platform\nplatform,0,station\nentrance,2,station\n"
        "station,1,\nalone,0,\n"
    )
    feed = read_feed(write_feed(tmp_path, stops=stops))
    assert {stop.id: stop.station for stop in feed.stops.values()} == {
        **dict.fromkeys(["area", "platform", "entrance", "station"], "station"),
        "alone": "alone",
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("A,X,,\n", "line 2: parent_station `X` is not a stop_id of this file"),
        ("A,A,,\n", "line 2: parent_station forms a circle: `A`, `A`"),
        ("C,,,\nA,B,,\nB,A,,\n", "line 3: parent_station forms a circle: `A`, `B`, `A`"),
        ("A,,north,1\n", "line 2: stop_lat `north` is not a number of degrees from -90 to 90"),
        ("A,,nan,1\n", "line 2: stop_lat `nan` is not"),
        ("A,,91,1\n", "line 2: stop_lat `91` is not"),
        ('A,,1,"151,2"\n', "line 2: stop_lon `151,2` is not a number of degrees from -180 to 180"),
    ],
)
def test_a_stop_that_cannot_be(tmp_path: Path, rows: str, message: str) -> None:
    said = refusal(write_feed(tmp_path / "feed", stops="stop_id,parent_station,stop_lat,stop_lon\n" + rows))
    assert said.startswith(f"stops.txt in feed, {message}")


# --- time zone ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agency", "zone"),
    [
        ("agency_timezone\nEurope/Prague\n", "Europe/Prague"),
        ("agency_id,agency_timezone\n1,Europe/Prague\n2,Europe/Prague \n3,\n", "Europe/Prague"),
        ("agency_id,agency_timezone\n1,\n", None),
        ("agency_timezone\n", None),
    ],
)
def test_the_time_zone_is_that_of_the_agencies(tmp_path: Path, agency: str, zone: str | None) -> None:
    assert read_feed(write_feed(tmp_path, agency=agency)).timezone == zone


def test_a_feed_without_agencies_has_no_time_zone(tmp_path: Path) -> None:
    assert read_feed(write_feed(tmp_path, without="agency.txt")).timezone is None


def test_two_time_zones_are_refused(tmp_path: Path) -> None:
    said = refusal(write_feed(tmp_path / "feed", agency="agency_timezone\nEurope/Prague\nEurope/London\n"))
    assert said.startswith("agency.txt in feed has several time zones (Europe/London, Europe/Prague)")


@pytest.mark.parametrize("zone", ["Sydney", "Europe", "/etc/passwd", "+10:00"])
def test_a_time_zone_that_does_not_exist(tmp_path: Path, zone: str) -> None:
    said = refusal(write_feed(tmp_path / "feed", agency=f"agency_timezone\n{zone}\n"))
    assert said == f"agency.txt in feed, line 2: agency_timezone `{zone}` is not a time zone"


# --- lines --------------------------------------------------------------------------------------------------------


def test_a_line_has_the_stops_of_all_its_trips(tmp_path: Path) -> None:
    folder = write_feed(
        tmp_path,
        routes="route_id,route_short_name,route_long_name,route_type\n1,10,City,3\n2,,Airport,2\n3,,,700\n",
        trips="trip_id,route_id,service_id\nT1,1,S\nT2,1,S\nT3,2,S\nno stop times,2,S\n",
        stop_times=STOP_TIMES
        + "T1,7:00:00,7:00:00,A,1\nT1,7:05:00,7:05:00,B,2\nT2,7:00:00,7:00:00,B,1\nT2,7:05:00,7:05:00,C,2\n"
        + "T3,7:00:00,7:00:00,C,1\nT3,7:05:00,7:05:00,C,2\n",
    )
    assert read_feed(folder).lines() == [
        Line("1", "10", 3, frozenset("ABC")),
        Line("2", "Airport", 2, frozenset("C")),
        Line("3", "3", 700, frozenset()),
    ]


def test_a_stop_that_is_only_passed_is_not_of_the_line(tmp_path: Path) -> None:
    header = STOP_TIMES.replace("\n", ",pickup_type,drop_off_type\n")
    times = "T,7:00:00,7:00:00,A,1,0,0\nT,7:05:00,7:05:00,B,2,1,1\nT,7:10:00,7:10:00,C,3,0,0\n"
    feed = read_feed(write_feed(tmp_path, stop_times=header + times))
    assert feed.lines()[0].stops == {"A", "C"}
    assert [stop for stop, _, _ in timed(feed)] == ["A", "C"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("routes", "route_id,route_type\nR,bus\n", "line 2: route_type `bus` is not a whole number such as 3"),
        ("routes", "route_id,route_type\nR,3\nR,3\n", "line 3: route_id `R` is a duplicate"),
        ("trips", "route_id,service_id,trip_id\nX,S,T\n", "line 2: route_id `X` is not in routes.txt"),
        ("trips", "route_id,service_id,trip_id\n,S,T\n", "line 2: route_id is empty"),
        ("trips", "route_id,service_id,trip_id\nR,,T\n", "line 2: service_id is empty"),
        ("trips", "route_id,service_id,trip_id\nR,S,T\nR,S,T\n", "line 3: trip_id `T` is a duplicate"),
    ],
)
def test_a_line_or_trip_that_cannot_be(tmp_path: Path, name: str, text: str, message: str) -> None:
    said = refusal(write_feed(tmp_path / "feed", **{name: text}))
    assert said.startswith(f"{name}.txt in feed, {message}")


# --- calls --------------------------------------------------------------------------------------------------------


def test_one_boards_at_departure_and_alights_at_arrival(tmp_path: Path) -> None:
    """The first stop does not alight, and the last does not board."""
    calls = read_feed(write_feed(tmp_path)).calls()
    assert listed(calls) == [
        ("S", 3, "A", at(7, 1), True, False),
        ("S", 3, "B", at(7, 5), False, True),
        ("S", 3, "B", at(7, 6), True, False),
        ("S", 3, "C", at(7, 10), False, True),
    ]
    assert (calls.services, calls.stop_ids) == (("S",), ("A", "B", "C"))


def test_arrival_and_departure_in_the_same_second_are_one_call(tmp_path: Path) -> None:
    feed = read_feed(write_feed(tmp_path, stop_times=THREE_STOPS.replace("07:06:00", "07:05:00")))
    assert timed(feed) == [("A", at(7, 1), "on"), ("B", at(7, 5), "onoff"), ("C", at(7, 10), "off")]


def test_trips_that_call_at_the_same_second_are_one_call(tmp_path: Path) -> None:
    """As long as service and route type are the same; what one may do there is what one may do on any of them."""
    again = THREE_STOPS.removeprefix(STOP_TIMES)
    folder = write_feed(
        tmp_path,
        routes="route_id,route_type\nR,3\nQ,3\nF,4\n",
        trips="route_id,service_id,trip_id\nR,S,T\nQ,S,U\nF,S,V\nR,weekend,W\nR,S,onward\n",
        stop_times=THREE_STOPS
        + again.replace("T,", "U,")
        + again.replace("T,", "V,")
        + again.replace("T,", "W,")
        + "onward,07:10:00,07:10:00,C,1\nonward,07:20:00,07:20:00,A,2\n",
    )
    calls = listed(read_feed(folder).calls())
    assert len(calls) == 3 * 4 + 1
    assert ("S", 3, "C", at(7, 10), True, True) in calls
    assert ("S", 4, "C", at(7, 10), False, True) in calls
    assert ("weekend", 3, "C", at(7, 10), False, True) in calls


def test_the_order_of_rows_and_the_gaps_of_the_sequence_do_not_matter(tmp_path: Path) -> None:
    shuffled = "T,07:10:00,07:11:00,C,100\nT,07:00:00,07:01:00,A,0\nT,07:05:00,07:06:00,B,20\n"
    assert timed(read_feed(write_feed(tmp_path, stop_times=STOP_TIMES + shuffled))) == timed(
        read_feed(write_feed(tmp_path / "as_it_was"))
    )


@pytest.mark.parametrize(
    ("pickup", "drop_off", "may"),
    [("", "", "onoff"), ("0", "0", "onoff"), ("1", "", "off"), ("", "1", "on"), ("2", "3", "onoff"), ("1", "1", None)],
)
def test_pickup_and_drop_off_types(tmp_path: Path, pickup: str, drop_off: str, may: str | None) -> None:
    header = STOP_TIMES.replace("\n", ",pickup_type,drop_off_type\n")
    times = f"T,7:00:00,7:00:00,A,1,,\nT,7:05:00,7:05:00,B,2,{pickup},{drop_off}\nT,7:10:00,7:10:00,C,3,,\n"
    calls = timed(read_feed(write_feed(tmp_path, stop_times=header + times)))
    assert [what for stop, _, what in calls if stop == "B"] == ([may] if may else [])


def test_times_after_midnight_and_hours_of_one_digit(tmp_path: Path) -> None:
    times = "T,7:05:00,7:05:00,A,1\nT,25:15:00,25:15:30,B,2\nT,100:00:00,100:00:00,C,3\n"
    calls = timed(read_feed(write_feed(tmp_path, stop_times=STOP_TIMES + times)))
    assert [second for _, second, _ in calls] == [at(7, 5), at(25, 15), at(25, 15, 30), at(100)]


def test_open_times_are_in_equal_steps_by_position(tmp_path: Path) -> None:
    """Between the departure before and the arrival after, whatever the numbers of the sequence; rounded down."""
    stops = "stop_id\nA\nB\nC\nD\nE\nF\n"
    times = "T,07:00:00,07:01:00,A,1\nT,,,B,2\nT,,,C,50\nT,07:11:00,07:15:00,D,60\nT,,,E,61\nT,07:15:05,07:15:05,F,62\n"
    calls = timed(read_feed(write_feed(tmp_path, stops=stops, stop_times=STOP_TIMES + times)))
    assert [(stop, second) for stop, second, _ in calls if stop in "BCE"] == [
        ("B", at(7, 4, 20)),
        ("C", at(7, 7, 40)),
        ("E", at(7, 15, 2)),
    ]


def test_one_of_both_times_stands_for_the_other(tmp_path: Path) -> None:
    times = "T,07:00:00,,A,1\nT,07:05:00,,B,2\nT,,07:10:00,C,3\n"
    calls = timed(read_feed(write_feed(tmp_path, stop_times=STOP_TIMES + times)))
    assert calls == [("A", at(7), "on"), ("B", at(7, 5), "onoff"), ("C", at(7, 10), "off")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("T,7:20:00,7:20:00,X,9", "stop_id `X` is not in stops.txt"),
        ("T,7:20:00,7:20:00,,9", "stop_id is empty"),
        ("X,7:20:00,7:20:00,A,9", "trip_id `X` is not in trips.txt"),
        ("T,7:20,7:20:00,A,9", "arrival_time `7:20` cannot be read as a time such as 07:05:00 or 25:15:00"),
        ("T,7:20:00,7:60:00,A,9", "departure_time `7:60:00` cannot be read"),
        ("T,7:20:00,-7:20:00,A,9", "departure_time `-7:20:00` cannot be read"),
        ("T,,,A,9", "the first and the last stop of a trip need a time"),
        ("T,,,A,0", "the first and the last stop of a trip need a time"),
        ("T,7:20:00,7:20:00,A,2", "this stop_sequence is used twice in the trip"),
        ("T,7:20:00,7:20:00,A,last", "stop_sequence `last` is not a whole number such as 3"),
        ("T,7:20:00,7:20:00,A,", "stop_sequence is empty"),
        ("T,7:20:00,7:20:00,A", "the header has 5 fields, this line 4"),
    ],
)
def test_a_stop_time_that_cannot_be(tmp_path: Path, row: str, message: str) -> None:
    said = refusal(write_feed(tmp_path / "feed", stop_times=f"{THREE_STOPS}\n,,,,\n   \n{row}\n"))
    assert said.startswith(f"stop_times.txt in feed, line 8: {message}")


def test_a_pickup_type_that_does_not_exist(tmp_path: Path) -> None:
    header = STOP_TIMES.replace("\n", ",pickup_type\n")
    said = refusal(write_feed(tmp_path / "feed", stop_times=header + "T,7:00:00,7:00:00,A,1,yes\n"))
    assert said == "stop_times.txt in feed, line 2: pickup_type `yes` is not 0, 1, 2 or 3"


@pytest.mark.parametrize("stop_times", [STOP_TIMES, STOP_TIMES.strip(), STOP_TIMES + "T,7:00:00,7:00:00,A,1\n"])
def test_a_timetable_may_have_no_calls(tmp_path: Path, stop_times: str) -> None:
    feed = read_feed(write_feed(tmp_path, stop_times=stop_times))
    assert listed(feed.calls()) == []
    assert feed.lines()[0].stops == frozenset()


def test_a_feed_may_have_no_trips(tmp_path: Path) -> None:
    headers = {name: FEED[f"{name}.txt"].splitlines()[0] for name in ("routes", "trips", "stop_times")}
    feed = read_feed(write_feed(tmp_path, **headers))
    assert listed(feed.calls()) == []
    assert feed.lines() == []


# --- trips that are repeated --------------------------------------------------------------------------------------

FREQUENCIES = "trip_id,start_time,end_time,headway_secs\n"


def test_a_trip_is_repeated_from_the_start_until_before_the_end(tmp_path: Path) -> None:
    """Times count from the first departure; the trip as it is written does not run by itself."""
    feed = read_feed(write_feed(tmp_path, frequencies=FREQUENCIES + "T,6:00:00,6:20:00,600\nT,24:00:00,24:00:01,60\n"))
    assert timed(feed) == [
        *[("A", at(6), "on"), ("A", at(6, 10), "on"), ("A", at(24), "on")],
        *[("B", at(6, 4), "off"), ("B", at(6, 5), "on"), ("B", at(6, 14), "off"), ("B", at(6, 15), "on")],
        *[("B", at(24, 4), "off"), ("B", at(24, 5), "on")],
        *[("C", at(6, 9), "off"), ("C", at(6, 19), "off"), ("C", at(24, 9), "off")],
    ]


def test_other_trips_run_as_written_beside_repeated_ones(tmp_path: Path) -> None:
    folder = write_feed(
        tmp_path,
        trips="route_id,service_id,trip_id\nR,S,T\nR,S,U\nR,S,no stop times\n",
        stop_times=THREE_STOPS + "U,12:00:00,12:00:00,A,1\nU,12:05:00,12:05:00,B,2\n",
        frequencies=FREQUENCIES + "T,6:00:00,6:10:00,600\nno stop times,6:00:00,7:00:00,600\n",
    )
    calls = timed(read_feed(folder))
    assert ("A", at(12), "on") in calls
    assert [second for stop, second, _ in calls if stop == "A"] == [at(6), at(12)]


def test_a_trip_repeated_from_its_end_on_does_not_run(tmp_path: Path) -> None:
    assert timed(read_feed(write_feed(tmp_path, frequencies=FREQUENCIES + "T,6:00:00,6:00:00,600\n"))) == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("X,6:00:00,7:00:00,600", "line 2: trip_id `X` is not in trips.txt"),
        ("T,6:00,7:00:00,600", "line 2: start_time `6:00` cannot be read"),
        ("T,6:00:00,,600", "line 2: start_time or end_time is missing"),
        ("T,6:00:00,7:00:00,0", "line 2: headway_secs is 0; it must be positive"),
        ("T,6:00:00,7:00:00,-60", "line 2: headway_secs `-60` is not a whole number of seconds"),
    ],
)
def test_a_repetition_that_cannot_be(tmp_path: Path, row: str, message: str) -> None:
    said = refusal(write_feed(tmp_path / "feed", frequencies=f"{FREQUENCIES}{row}\n"))
    assert said.startswith(f"frequencies.txt in feed, {message}")


def test_a_repeated_trip_that_goes_back_in_time(tmp_path: Path) -> None:
    times = THREE_STOPS.replace("07:10:00", "06:10:00")
    said = refusal(write_feed(tmp_path / "feed", stop_times=times, frequencies=FREQUENCIES + "T,0:00:00,1:00:00,600\n"))
    assert "frequencies.txt in feed repeats the trip `T`, whose times go backwards in stop_times.txt" in said


# --- days ---------------------------------------------------------------------------------------------------------

WEEK = FEED["calendar.txt"].splitlines()[0] + "\n"
EXCEPTIONS = "service_id,date,exception_type\n"


def days(month: int, *numbers: int) -> tuple[date, ...]:
    return tuple(date(2016, month, number) for number in numbers)


def test_weekdays_within_the_days_asked_for(tmp_path: Path) -> None:
    calendar = WEEK + "S,1,1,1,1,1,0,0,20160801,20160831\nweekend,0,0,0,0,0,1,1,20160806,20160828\n"
    feed = read_feed(write_feed(tmp_path, calendar=calendar))
    assert (feed.calendar.first, feed.calendar.last) == (date(2016, 8, 1), date(2016, 8, 31))
    assert feed.calendar.days(date(2016, 8, 5), date(2016, 8, 8)) == {"S": days(8, 5, 8), "weekend": days(8, 6, 7)}
    assert feed.calendar.days(date(2016, 1, 1), date(2016, 8, 2)) == {"S": days(8, 1, 2), "weekend": ()}
    assert len(feed.calendar.days(date.min, date.max)["S"]) == 23


@pytest.mark.parametrize(("first", "last"), [("2016-07-01", "2016-07-31"), ("2016-08-09", "2016-08-08")])
def test_days_outside_the_calendar_are_none(tmp_path: Path, first: str, last: str) -> None:
    feed = read_feed(write_feed(tmp_path))
    assert feed.calendar.days(date.fromisoformat(first), date.fromisoformat(last)) == {"S": ()}


def test_exceptions_add_and_remove_days(tmp_path: Path) -> None:
    calendar = WEEK + "S,1,1,1,1,1,0,0,20160808,20160812\n"
    exceptions = EXCEPTIONS + "S,20160809,2\nS,20160813,1\nS,20160814,2\nS,20160813,1\nextra,20160820,1\n"
    feed = read_feed(write_feed(tmp_path, calendar=calendar, calendar_dates=exceptions))
    assert (feed.calendar.first, feed.calendar.last) == (date(2016, 8, 8), date(2016, 8, 20))
    assert feed.calendar.days(date(2016, 8, 1), date(2016, 8, 31)) == {
        "S": days(8, 8, 10, 11, 12, 13),
        "extra": days(8, 20),
    }
    assert feed.calendar.days(date(2016, 8, 9), date(2016, 8, 10)) == {"S": days(8, 10), "extra": ()}


def test_a_calendar_of_dates_alone(tmp_path: Path) -> None:
    exceptions = EXCEPTIONS + "S,20160809,1\nS,20160731,1\nS,20160901,2\n"
    feed = read_feed(write_feed(tmp_path, without="calendar.txt", calendar_dates=exceptions))
    assert (feed.calendar.first, feed.calendar.last) == (date(2016, 7, 31), date(2016, 8, 9))
    assert feed.calendar.days(feed.calendar.first, feed.calendar.last) == {"S": (date(2016, 7, 31), date(2016, 8, 9))}


def test_every_weekday_is_the_right_one(tmp_path: Path) -> None:
    names = WEEK.split(",")[1:8]
    rows = "".join(f"{name},{','.join(str(int(each == name)) for each in names)},20160101,20161231\n" for name in names)
    found = read_feed(write_feed(tmp_path, calendar=WEEK + rows)).calendar.days(date.min, date.max)
    assert {name: {day.strftime("%A").lower() for day in dates} for name, dates in found.items()} == {
        name: {name} for name in names
    }
    assert sum(map(len, found.values())) == 366


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("calendar", "S,1,1,1,1,1,0,0,2016-08-01,20160831", "start_date `2016-08-01` cannot be read as a date such as"),
        ("calendar", "S,1,1,1,1,1,0,0,20160801,20160832", "end_date `20160832` cannot be read as a date such as"),
        ("calendar", "S,1,1,1,1,1,0,0,20160831,20160801", "end_date is before start_date"),
        ("calendar", "S,1,1,1,1,yes,0,0,20160801,20160831", "friday `yes` is neither 0 nor 1"),
        ("calendar_dates", "S,today,1", "date `today` cannot be read as a date such as 20161231"),
        ("calendar_dates", "S,20160801,3", "exception_type `3` is neither 1 (added) nor 2 (removed)"),
        ("calendar_dates", ",20160801,1", "service_id is empty"),
    ],
)
def test_a_calendar_that_cannot_be(tmp_path: Path, name: str, text: str, message: str) -> None:
    header = {"calendar": WEEK, "calendar_dates": EXCEPTIONS}[name]
    said = refusal(write_feed(tmp_path / "feed", **{name: f"{header}{text}\n"}))
    assert said.startswith(f"{name}.txt in feed, line 2: {message}")


def test_a_day_that_is_added_and_removed(tmp_path: Path) -> None:
    said = refusal(write_feed(tmp_path / "feed", calendar_dates=EXCEPTIONS + "S,20160809,1\nS,20160809,2\n"))
    assert said == "feed: calendar_dates.txt adds and removes the service `S` on 2016-08-09; keep one"


@pytest.mark.parametrize("exceptions", [EXCEPTIONS, EXCEPTIONS + "S,20160809,2\n"])
def test_a_calendar_without_a_day(tmp_path: Path, exceptions: str) -> None:
    folder = write_feed(tmp_path / "feed", without="calendar.txt", calendar_dates=exceptions)
    assert refusal(folder) == "feed: no service runs on any day; check calendar.txt and calendar_dates.txt"


# --- against a plain reading --------------------------------------------------------------------------------------


def plain_calls(files: dict[str, str]) -> list[Call]:
    """The calls of a feed, read stop time by stop time."""

    def rows(name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(files.get(name, ""))))

    types = {row["route_id"]: int(row["route_type"]) for row in rows("routes.txt")}
    trips = {row["trip_id"]: row for row in rows("trips.txt")}
    repeats: dict[str, list[int]] = defaultdict(list)
    for row in rows("frequencies.txt"):
        repeats[row["trip_id"]] += range(seconds(row["start_time"]), seconds(row["end_time"]), int(row["headway_secs"]))
    times = defaultdict(list)
    for row in rows("stop_times.txt"):
        times[row["trip_id"]].append(row)
    found: dict[tuple[str, int, str, int], set[str]] = defaultdict(set)
    for trip, stops in times.items():
        stops.sort(key=lambda row: int(row["stop_sequence"]))
        service, kind = trips[trip]["service_id"], types[trips[trip]["route_id"]]
        written = plain_times(stops)
        starts = repeats[trip] if trip in repeats else [written[0][1]]
        for start in starts:
            for place, (row, (arrival, departure)) in enumerate(zip(stops, written, strict=True)):
                shift = start - written[0][1]
                if place < len(stops) - 1 and row.get("pickup_type") != "1":
                    found[service, kind, row["stop_id"], departure + shift].add("on")
                if place > 0 and row.get("drop_off_type") != "1":
                    found[service, kind, row["stop_id"], arrival + shift].add("off")
    return sorted((*call, "on" in may, "off" in may) for call, may in found.items())


def plain_times(stops: list[dict[str, str]]) -> list[tuple[int, int]]:
    times: list[tuple[int, int]] = []
    for place, row in enumerate(stops):
        if row["arrival_time"]:
            times.append((seconds(row["arrival_time"]), seconds(row["departure_time"])))
            continue
        before = max(i for i in range(place) if stops[i]["arrival_time"])
        after = min(i for i in range(place, len(stops)) if stops[i]["arrival_time"])
        start, end = seconds(stops[before]["departure_time"]), seconds(stops[after]["arrival_time"])
        time = start + (end - start) * (place - before) // (after - before)
        times.append((time, time))
    return times


def seconds(text: str) -> int:
    return at(*(int(part) for part in text.split(":")))


def clock(second: int) -> str:
    return f"{second // 3600}:{second // 60 % 60:02d}:{second % 60:02d}"


@st.composite
def feeds(draw: st.DrawFn) -> dict[str, str]:
    """Small feeds of a few trips: open times, forbidden boardings, repeated trips, rows in any order."""
    types = st.sampled_from(["", "0", "1", "2"])
    trips, stop_times, frequencies = [], [], []
    for trip in range(draw(st.integers(1, 4))):
        trips.append(f"{draw(st.sampled_from('RQ'))},{draw(st.sampled_from('ST'))},{trip}")
        now, count = draw(st.integers(0, 200)), draw(st.integers(1, 6))
        for sequence in range(count):
            arrival = now + draw(st.integers(0, 20))
            now = arrival + draw(st.integers(0, 3))
            is_open = 0 < sequence < count - 1 and draw(st.booleans())
            times = "," if is_open else f"{clock(arrival)},{clock(now)}"
            stop = draw(st.sampled_from("ABC"))
            stop_times.append(f"{trip},{times},{stop},{3 * sequence},{draw(types)},{draw(types)}")
        for _ in range(draw(st.integers(0, 2))):
            start, length = draw(st.integers(0, 100_000)), draw(st.integers(1, 100))
            frequencies.append(f"{trip},{clock(start)},{clock(start + length)},{draw(st.integers(1, 50))}")
    rows = draw(st.permutations(stop_times))
    return {
        "stops.txt": "stop_id\nA\nB\nC\n",
        "routes.txt": "route_id,route_type\nR,3\nQ,0\n",
        "trips.txt": "route_id,service_id,trip_id\n" + "".join(f"{row}\n" for row in trips),
        "stop_times.txt": STOP_TIMES.replace("\n", ",pickup_type,drop_off_type\n") + "".join(f"{r}\n" for r in rows),
        "frequencies.txt": FREQUENCIES + "".join(f"{row}\n" for row in frequencies),
    }


@settings(max_examples=150)
@given(files=feeds())
def test_calls_are_those_of_a_plain_reading(files: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        feed = read_feed(Path(folder))
        calls = listed(feed.calls())
        assert sorted(calls) == plain_calls(files)
        assert len({call[:4] for call in calls}) == len(calls)
        for line in feed.lines():  # each is the only one of its type, and every trip runs at least once
            assert line.stops == {stop for _, kind, stop, *_ in calls if kind == line.route_type}


def test_a_large_timetable(tmp_path: Path) -> None:
    """300 000 stop times, in blocks: 6 000 trips of 50 stops, a trip every 10 seconds."""
    stops = "stop_id\n" + "".join(f"stop {place}\n" for place in range(50))
    trips = "route_id,service_id,trip_id\n" + "".join(f"R,S{trip % 2},trip {trip}\n" for trip in range(6_000))
    times = [clock(10 * trip + 60 * place) for trip in range(6_000) for place in range(50)]
    rows = (f"trip {row // 50},{time},{time},stop {row % 50},{row % 50}\n" for row, time in enumerate(times))
    folder = write_feed(tmp_path, stops=stops, trips=trips, stop_times=STOP_TIMES + "".join(rows))
    feed = read_feed(folder)
    calls = feed.calls()
    assert len(calls.second) == 300_000  # a stop and a second belong to one trip
    assert calls.boards.sum() == calls.alights.sum() == 300_000 - 6_000
    assert len(feed.lines()[0].stops) == 50

    with (folder / "stop_times.txt").open("a") as file:
        file.write("trip 1,now,now,stop 1,99\n")
    with pytest.raises(TripDataError, match="line 300002: arrival_time `now` cannot be read"):
        read_feed(folder).calls()


# --- a real feed --------------------------------------------------------------------------------------------------


def test_the_feed_of_cairns(shared_data: Path) -> None:
    path = shared_data / "gtfs" / "cairns_gtfs.zip"
    feed = read_feed(path)
    assert len(feed.stops) == 416
    assert feed.timezone == "Australia/Brisbane"
    assert feed.stops["750001"] == Stop("750001", "", "Williams Esplanade N201", -16.744015, 145.67111, "750001", "")
    lines = {line.id: line for line in feed.lines()}
    assert len(lines) == 22
    assert (lines["110-423"].name, lines["110-423"].route_type, len(lines["110-423"].stops)) == ("110", 3, 66)
    with zipfile.ZipFile(path) as archive:
        plain = plain_calls({name: archive.read(name).decode("utf-8-sig") for name in archive.namelist()})
    assert len(plain) == 36_148
    assert sorted(listed(feed.calls())) == plain


def test_the_days_of_cairns(shared_data: Path) -> None:
    feed = read_feed(shared_data / "gtfs" / "cairns_gtfs.zip")
    assert (feed.calendar.first, feed.calendar.last) == (date(2014, 5, 26), date(2014, 12, 28))
    running = feed.calendar.days(feed.calendar.first, feed.calendar.last)
    assert {service.removeprefix("CNS2014-CNS_MUL-"): len(each) for service, each in running.items()} == {
        "Weekday-00": 151,
        "Weekday-00-0000100": 30,
        "Saturday-00": 31,
        "Sunday-00": 35,
    }
    every_day = {feed.calendar.first + timedelta(days=day) for day in range(217)}
    assert set().union(*running.values()) == every_day
