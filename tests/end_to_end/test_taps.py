"""Taps instead of trips: counted at each end, paired where both are needed, and protected as whole trips."""

from __future__ import annotations

import csv
import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from tapveil import release
from tapveil.base.errors import PlanError
from tapveil.counting.reveal import exact_counts
from tapveil.internal.outlook import outlook
from tapveil.ledger.accounts import Account
from tapveil.ledger.entry import Budget, Spend
from tapveil.plan.model import Plan
from tapveil.veil.spend import spend_of
from tapveil.verification.folder import verify_folder
from tests.conftest import write_csv
from tests.property.test_counting import cells, exact
from tests.support import exports

PLAN = """
[release]
name = "taps"
title = "Taps"
[source]
path = "taps.csv"
shape = "taps"
{source}
[source.taps]
on = ["Enter", "Transfer entrance"]
off = "Exit"
{taps}
[source.columns]
card = "card"
mode = "mode"
date = "at"
tap = "action"
tap_time = "at"
tap_location = "stop"
vehicle = "vehicle"
[privacy]
{unit}
neighbours = "replace"
mechanism = "gaussian"
epsilon = 8
delta = 1e-6
{tables}
"""
HEADER = ("card", "at", "mode", "action", "stop", "vehicle")
TRIP = 'unit = "trip"'
CARD = 'unit = "card"\ntrips_per_card = 20\nwithout_card = "refuse"'
DAY = 'unit = "card-day"\ntrips_per_day = 20\nwithout_card = "refuse"'
ENDS = {"on": ["tap_on_location"], "off": ["tap_off_location"], "modes": []}
BOTH = {"od": ["tap_on_location", "tap_off_location"]}


def plan(folder: Path, unit: str = TRIP, tables: dict[str, list[str]] = BOTH, source: str = "", taps: str = "") -> Plan:
    listed = "\n".join(f'[[table]]\nname = "{name}"\ncolumns = {keys}' for name, keys in tables.items() if keys)
    text = PLAN.format(source=source, taps=taps, unit=unit, tables=listed)
    return Plan.parse(text, base=folder)


def tap(
    card: str, clock: str, action: str, stop: str, mode: str = "train", vehicle: str = "v1", day: str = "08"
) -> tuple[str, ...]:
    return card, f"2016-08-{day} {clock}:00", mode, action, stop, vehicle


def od(
    folder: Path, rows: list[tuple[str, ...]], unit: str = CARD, source: str = "", taps: str = ""
) -> Counter[tuple[str, str]]:
    write_csv(folder / "taps.csv", rows, HEADER)
    found = cells(exact(plan(folder, unit, source=source, taps=taps)).tables["od"])
    return Counter({(key[2], key[3]): n for key, n in found.items()})


def test_each_end_is_counted_from_its_own_taps(tmp_path: Path) -> None:
    """Tap-on-only modes, other actions, an off without an on: every tap is in the tables of its end, once."""
    rows = [
        tap("c1", "08:00", "Enter", "A"),
        tap("c1", "08:20", "Exit", "B"),
        tap("c2", "08:00", "Enter", "A", "bus"),
        tap("c3", "09:00", "Exit", "C"),
        tap("", "09:00", "Transfer entrance", "D"),
        tap("c4", "09:00", "Purchase", "E"),
        tap("c4", "09:00", "enter", "E"),
    ]
    write_csv(tmp_path / "taps.csv", rows, HEADER)
    made = plan(tmp_path, tables={"on": ["tap_on_location"], "off": ["tap_off_location"]})
    counted = exact(made)
    day = "2016-08-08"
    assert cells(counted.tables["on"]) == Counter(
        {("train", day, "A"): 1, ("bus", day, "A"): 1, ("train", day, "D"): 1}
    )
    assert cells(counted.tables["off"]) == Counter({("train", day, "B"): 1, ("train", day, "C"): 1})
    assert (counted.refusals.rows, counted.refusals.refused) == (5, 0)
    assert any(note.startswith("2 rows are neither taps on nor taps off") for note in outlook(made).notes)


@pytest.mark.parametrize("unit", [CARD, DAY])
def test_taps_that_belong_together(unit: str, tmp_path: Path) -> None:
    rows = [
        tap("c1", "08:00", "Enter", "A"),
        tap("c1", "08:20", "Exit", "B"),
        tap("c1", "09:00", "Enter", "C"),  # no tap off before the next tap on
        tap("c1", "10:00", "Enter", "D"),
        tap("c1", "13:01", "Exit", "E"),  # too late
        tap("c2", "08:00", "Enter", "F"),
        tap("c2", "08:10", "Exit", "G", "bus"),  # another mode
        tap("", "08:00", "Enter", "H"),  # no card: refused
    ]
    assert od(tmp_path, rows, unit) == Counter(
        {
            ("A", "B"): 1,
            ("C", "UNKNOWN"): 1,
            ("D", "UNKNOWN"): 1,
            ("UNKNOWN", "E"): 1,
            ("F", "UNKNOWN"): 1,
            ("UNKNOWN", "G"): 1,
        }
    )


def test_what_two_taps_have_in_common(tmp_path: Path) -> None:
    rows = [tap("c", "08:00", "Enter", "A", vehicle="v1"), tap("c", "08:10", "Exit", "B", "bus", vehicle="v1")]
    assert od(tmp_path, rows, taps='same = "vehicle"') == Counter({("A", "B"): 1})
    rows = [rows[0], tap("c", "08:10", "Exit", "B", vehicle="v2")]
    assert od(tmp_path, rows, taps='same = "vehicle"') == Counter({("A", "UNKNOWN"): 1, ("UNKNOWN", "B"): 1})
    assert od(tmp_path, rows, taps='same = "card"\nwithin_minutes = 10') == Counter({("A", "B"): 1})
    assert od(tmp_path, rows, taps='same = "card"\nwithin_minutes = 9')["A", "B"] == 0


def test_a_card_s_day_is_paired_by_itself(tmp_path: Path) -> None:
    """Else one day would decide what another shows; with a service day, the night is one with its day."""
    rows = [tap("c", "23:50", "Enter", "A"), tap("c", "00:10", "Exit", "B", day="09")]
    assert od(tmp_path, rows, CARD) == Counter({("A", "B"): 1})
    assert od(tmp_path, rows, DAY) == Counter({("A", "UNKNOWN"): 1, ("UNKNOWN", "B"): 1})
    assert od(tmp_path, rows, DAY, source='day_starts = "04:00"') == Counter({("A", "B"): 1})


def test_no_tap_of_another_card_or_day_changes_a_pair(tmp_path: Path) -> None:
    rows = [tap("c", f"{8 + n // 2:02d}:{30 * (n % 2):02d}", ("Enter", "Exit")[n % 2], f"S{n}") for n in range(8)]
    alone = od(tmp_path, rows)
    others = [tap(f"x{n}", "08:10", "Exit", "X") for n in range(20)] + [tap("c", "07:00", "Enter", "Y", "bus")]
    together = od(tmp_path, rows + others)
    assert {key: together[key] for key in alone} == dict(alone)


def test_a_trip_cannot_be_protected_where_taps_are_paired(tmp_path: Path) -> None:
    """One trip more can change four cells of one table, as this shows; so it takes a card, or its day."""
    with pytest.raises(PlanError, match='Use unit = "card-day" or "card"'):
        plan(tmp_path)
    before = [tap("c", "08:00", "Enter", "A"), tap("c", "08:40", "Exit", "D")]
    one_trip = [tap("c", "08:10", "Enter", "B"), tap("c", "08:20", "Exit", "C")]
    changed = od(tmp_path, before + one_trip)
    changed.subtract(od(tmp_path, before))
    assert sum(map(abs, changed.values())) == 4
    for unit in (CARD, DAY):
        assert plan(tmp_path, unit).guarantee.exposure.cells == 20


@pytest.mark.parametrize("unit", [CARD, DAY])
def test_taps_without_a_card_are_refused_where_both_ends_are_needed(unit: str, tmp_path: Path) -> None:
    """Nobody can pair them: one trip would be two cells of a table, or one cell twice."""
    alone = unit.replace("refuse", "own-unit")
    with pytest.raises(PlanError, match=r"od: .* such a trip would count twice"):
        plan(tmp_path, alone)
    rows = [tap("", "08:00", "Enter", "A"), tap("", "08:10", "Exit", "A"), tap("c", "08:20", "Exit", "B")]
    write_csv(tmp_path / "taps.csv", rows, HEADER)
    tables = exact(plan(tmp_path, alone, {"on": ["tap_on_location"], "off": ["tap_off_location"]})).tables
    assert [exact_counts(table).tolist() for table in tables.values()] == [[1], [1, 1]], (
        "one cell of each table of one end"
    )


def test_one_trip_is_one_cell_of_each_end(tmp_path: Path) -> None:
    made = plan(tmp_path, tables={"on": ["tap_on_location"], "off": ["tap_off_location"]})
    assert made.guarantee.exposure.cells == 1, "and ε adds up over both tables: a trip has a tap in each"
    assert made.guarantee.loss.epsilon == 8


ON = {"on": ["tap_on_location"]}


def spends(folder: Path, unit: str, tables: dict[str, list[str]]) -> list[Spend]:
    """A release of 8 August, and one of 9 August."""
    days = [f"first_day = 2016-08-{day}\nlast_day = 2016-08-{day}" for day in ("08", "09")]
    plans = [plan(folder, unit, tables, source=each) for each in days]
    return [spend_of(each, f"{number:032x}", date(2026, 1, 1)) for number, each in enumerate(plans)]


def account(spent: list[Spend], unit: str, neighbours: str = "replace") -> Account:
    budget = {"on": "2026-01-01", "data_set": "trips", "unit": unit, "neighbours": neighbours, "epsilon": 99}
    return Account(Budget.model_validate(budget | {"delta": "1e-3"}), tuple(spent))


@pytest.mark.parametrize(
    ("unit", "tables"), [(TRIP, ON), (CARD.replace("20", "2"), BOTH), (DAY.replace("20", "2"), BOTH)]
)
def test_days_of_taps_are_not_apart_for_a_trip(unit: str, tables: dict[str, list[str]], tmp_path: Path) -> None:
    """It may tap on on one day and off on the next: two releases show it, whatever they protect."""
    both = spends(tmp_path, unit, tables)
    alone, together = account(both[:1], "trip").epsilon, account(both, "trip").epsilon
    assert alone is not None
    assert together is None or together > alone


def test_a_trip_may_be_in_two_days_of_a_card(tmp_path: Path) -> None:
    """So it changes what is kept of both: twice as many cells as a trip of one row, also of one release."""
    [spent, _] = spends(tmp_path, DAY, BOTH)
    for neighbours, times in (("add-remove", 2), ("replace", 4)):
        changes = account([spent], "trip", neighbours)._changes
        assert {number for change in changes for number in change.left.values()} == {times * spent.cells}


def test_days_of_taps_are_apart_for_a_card_s_day(tmp_path: Path) -> None:
    both = spends(tmp_path, DAY, BOTH)
    one, two = (account(some, "card-day").epsilon for some in (both[:1], both))
    assert two == pytest.approx(one, rel=1e-3), "what is exchanged may enter the other: its trips may react, no more"
    as_trips = both[1].model_copy(update={"days_by": both[1].days_by and both[1].days_by.replace(" of taps", "")})
    assert account([both[0], as_trips], "card-day").epsilon is None, "a trip's day is not that of its taps"


@pytest.mark.parametrize("unit", [CARD, DAY])
def test_days_of_taps_without_a_card_are_not_apart(unit: str, tmp_path: Path) -> None:
    """A trip without a card may tap on on one day and off on the next: two releases show it."""
    alone = unit.replace("20", "2").replace("refuse", "own-unit")
    on, off = spends(tmp_path, alone, ON)[0], spends(tmp_path, alone, {"off": ["tap_off_location"]})[1]
    one, both = account([on], "card-day").epsilon, account([on, off], "card-day").epsilon
    assert one
    assert both
    assert both > 1.5 * one


def test_the_day_of_an_end_is_refused(tmp_path: Path) -> None:
    """The other end has none, and no label may stand for that which depends on other cards."""
    listed = '[[table]]\nname = "t"\ncolumns = ["tap_on_location", "tap_off_day"]'
    text = PLAN.format(source="", taps="", unit=CARD, tables=listed)
    text = text.replace('tap = "action"', 'tap = "action"\ntap_off_day = { column = "at", kind = "date" }')
    with pytest.raises(PlanError, match="is the day of one end of a trip"):
        Plan.parse(text, base=tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('[source.taps]\non = ["Enter", "Transfer entrance"]\noff = "Exit"', "", "needs a section [source.taps]"),
        ('shape = "taps"', "", 'needs shape = "taps"'),
        ('tap = "action"\n', "", "the column with on or off"),
        ('tap_time = "at"', 'tap_on_time = "at"\ntap_time = "at"', "remove tap_on_"),
        ('off = "Exit"', 'off = " Enter"', "`Enter` cannot mean both on and off"),
        ('tap_time = "at"\n', "", "for the order of taps"),
        ('["tap_on_location", "tap_off_location"]', '["tap"]', "only tells which end a row is"),
        ('off = "Exit"', 'off = "Exit"\nsame = "vehicle"', None),
        ('off = "Exit"', 'off = "Exit"\nwithin_minutes = 0', "greater than or equal to 1"),
    ],
)
def test_taps_that_cannot_be(old: str, new: str, message: str | None, tmp_path: Path) -> None:
    tables = '[[table]]\nname = "od"\ncolumns = ["tap_on_location", "tap_off_location"]'
    text = PLAN.format(source="", taps="", unit=CARD, tables=tables)
    assert old in text
    if message is None:
        text, message = text.replace('vehicle = "vehicle"\n', ""), "needs a column `vehicle`"
    with pytest.raises(PlanError) as error:
        Plan.parse(text.replace(old, new), base=tmp_path)
    assert message in str(error.value)


# --- TIDES ---------------------------------------------------------------------------------------------------------

TIDES = """
[release]
name = "tides"
title = "TIDES"
partition = ["date"]
[source]
path = "fare_transactions.csv"
shape = "taps"
dates = "service"
day_starts = "03:00"
timezone = "Australia/Brisbane"
[source.taps]
on = ["Enter", "Transfer entrance"]
off = ["Exit", "Transfer exit"]
[source.columns]
card = { column = "token_id", missing = ["NA", "NaN"] }
date = { column = "service_date", missing = ["NA", "NaN"] }
tap = "fare_action"
tap_time = { column = "event_timestamp", missing = ["NA", "NaN"] }
tap_location = { column = "stop_id", missing = ["NA", "NaN"] }
[coarsen]
after_midnight = "continued"
[coarsen.location."*"]
gtfs = "station_name"
[gtfs]
path = "stops.txt"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "sbh"
[[table]]
name = "on"
columns = ["tap_on_time", "tap_on_location"]
epsilon = 1
delta = 1e-7
[[table]]
name = "off"
columns = ["tap_off_time", "tap_off_location"]
epsilon = 1
delta = 1e-7
"""
STOPS = (
    "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station\n"
    "s1,Central Station,-16.9,145.7,1,\np1,Platform 1,-16.9,145.7,0,s1\np2,Platform 2,-16.9,145.7,0,s1\n"
    "s2,Esplanade,-16.8,145.8,0,\n"
)
STATION = {"s1": "Central Station", "p1": "Central Station", "p2": "Central Station", "s2": "Esplanade"}
ENTRANCES, EXITS = {"Enter", "Transfer entrance"}, {"Exit", "Transfer exit"}


def tides_reference(path: Path) -> dict[str, Counter[tuple[str, ...]]]:
    tables: dict[str, Counter[tuple[str, ...]]] = {"on": Counter(), "off": Counter()}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            clock = re.search(r"T(\d\d):(\d\d)", row["event_timestamp"])
            assert clock
            hour = int(clock[1]) + (24 if int(clock[1]) < 3 else 0)
            label = f"{hour:02d}:{int(clock[2]) // 15 * 15:02d}"
            cell = (row["service_date"], label, STATION.get(row["stop_id"], "UNKNOWN"))
            for table, actions in (("on", ENTRANCES), ("off", EXITS)):
                tables[table][cell] += row["fare_action"] in actions
    return {name: +counter for name, counter in tables.items()}


def test_tides_by_its_schema(shared_data: Path, tmp_path: Path) -> None:
    """Every action and every mark of a missing value that the schema has; 40 riders are one row."""
    path = exports.tides(tmp_path, shared_data / exports.SCHEMA, rows=4000)
    (tmp_path / "stops.txt").write_text(STOPS)
    made = Plan.parse(TIDES, base=tmp_path)
    counted = exact(made)
    assert {name: cells(table) for name, table in counted.tables.items()} == tides_reference(path)
    assert counted.refusals.refused == 0
    assert any(key[1] >= "24:00" for key in cells(counted.tables["on"])), "after midnight, of the same service day"


def test_a_release_of_taps_verifies(tmp_path: Path) -> None:
    """Fewer taps off than on is no fault; the folder says where its stations lie, and nothing else does."""
    rows = [tap(f"c{n}", f"{7 + n % 3:02d}:{n % 60:02d}", "Enter", "p1") for n in range(1500)]
    rows += [tap(f"c{n}", f"{9 + n % 3:02d}:{n % 60:02d}", "Exit", "s2") for n in range(100)]
    header = ("token_id", "event_timestamp", "mode", "fare_action", "stop_id", "vehicle")
    write_csv(tmp_path / "fare_transactions.csv", [(*row, row[1][:10]) for row in rows], (*header, "service_date"))
    (tmp_path / "stops.txt").write_text(STOPS)
    folder = release(Plan.parse(TIDES, base=tmp_path), tmp_path / "out", in_ledger=False).path
    checked = verify_folder(folder)
    assert not checked.findings, checked.findings
    assert '"title"' not in (folder / "areas.geojson").read_text()
    assert "Central Station" in (folder / "areas.geojson").read_text()
    for old, new, code in (
        ('"FeatureCollection"', '"Feature"', "places-shape"),
        ('"properties":{', '"properties":{"trips":"17",', "places-shape"),
        ("145.7", "1450.7", "places-shape"),
        ("145.7", "145.70000017", "places-shape"),
        ("145.7", "145.70", "hidden-data"),
        (",\n", ", \n", "hidden-data"),
    ):
        text = (folder / "areas.geojson").read_text()
        (folder / "areas.geojson").write_text(text.replace(old, new, 1))
        assert {"checksum-differs", code} <= {each.code for each in verify_folder(folder).findings}
        (folder / "areas.geojson").write_text(text)
