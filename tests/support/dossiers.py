"""The four cases that dossiers are looked at for: the paper's plan, card-days, a year of weeks, a month of bicycles.

`python -m tests.support.dossiers FOLDER DATA` writes them with audits and intruder tests, to be printed and looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path

import tapveil
from tapveil.cli.app import app
from tapveil.internal.dossier.case import Case, read_case
from tapveil.internal.dossier.document import FORMATS, Dossier
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Published
from tapveil.plan.model import Plan, preset_text
from tapveil.veil.spend import spend_of
from tests.conftest import TODAY, start_ledger, write_csv

BIKES = "JC-201510-citibike-tripdata.csv"
WEEKS = 52


def paper(folder: Path) -> Case:
    """The paper's plan, before its release of 14 days: no trips, and a short list of stops."""
    write_csv(folder / "stops.csv", [("2000101", "2000"), ("2010101", "2010")], ("stop_id", "postcode"))
    text, named = preset_text("opal"), "# first_day = 2016-08-08 "
    assert named in text
    text = text.replace(named, "first_day = 2016-08-01 # ").replace("# last_day", "last_day")
    return _planned(folder, text)


def card_day(folder: Path) -> Case:
    """All trips of a card on a day, every cell: the recommended plan, before its release."""
    rows = [(f"{mode} {number}", mode, "1", f"{number}") for mode in ("bus", "train") for number in range(12)]
    write_csv(folder / "places.csv", rows, ("name", "mode", "latitude", "longitude"))
    return _planned(folder, preset_text("journeys"))


WEEKLY = """
[release]
name = "week-{number}"
title = "Boardings by hour and stop, every week"
partition = ["date"]
[source]
path = "trips.csv"
first_day = {first}
last_day = {last}
[source.columns]
card = "card"
date = "date"
tap_on_time = "time"
tap_on_location = "stop"
[coarsen]
time_minutes = 60
[privacy]
unit = "card-day"
trips_per_day = 4
without_card = "refuse"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 1
delta = "1e-7"
looked_at_trips = false
[ledger]
path = "weeks.ledger"
data_set = "boardings"
[[table]]
name = "hours"
columns = ["tap_on_time"]
[[table]]
name = "stops"
columns = ["tap_on_location"]
"""


def year_of_weeks(folder: Path) -> Case:
    """The last of 52 weekly releases, which has not appeared yet, with the ledger of all."""
    monday = date(2025, 1, 6)
    for number in range(WEEKS):
        first = monday + timedelta(weeks=number)
        text = WEEKLY.format(number=number + 1, first=first, last=first + timedelta(days=6))
        plan = Plan.parse(text, base=folder)
        if not number:
            start_ledger(plan, "1", "1e-5")
        with Ledger.open(plan.ledger_path) as book:
            spend, done = spend_of(plan, f"{number:032x}", first + timedelta(days=9)), first + timedelta(days=9)
            book.spend(spend)
            if number != WEEKS - 1:
                book.bind(Published(on=done, id=spend.id, checksums_sha256=f"{number:064x}"))
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return read_case(folder / "plan.toml", today=TODAY)


BIKE_MONTH = """
[release]
name = "bikes"
title = "Bicycle trips of October 2015, by day"
publisher = "An operator of bicycles"
[source]
path = "{path}"
first_day = 2015-10-01
last_day = 2015-10-31
[source.columns]
mode = {{ value = "bike" }}
date = "Start Time"
tap_on_time = "Start Time"
tap_on_location = "Start Station Name"
tap_off_location = "End Station Name"
[coarsen]
time_minutes = 60
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 4
delta = "1e-6"
looked_at_trips = true
[[table]]
name = "on_time"
columns = ["tap_on_time"]
[[table]]
name = "on_location"
columns = ["tap_on_location"]
[[table]]
name = "trips"
columns = ["tap_on_location", "tap_off_location"]
"""


def bike_month(folder: Path, shared: Path) -> Case:
    """A month of real bicycle trips, after its release, with an index of stations that is made up."""
    (folder / "plan.toml").write_text(BIKE_MONTH.format(path=shared / "bikeshare" / BIKES), encoding="utf-8")
    plan = Plan.read(folder / "plan.toml")
    published = tapveil.release(plan, folder / "published", in_ledger=False).path
    places = sorted(read_case(published, today=TODAY).places)
    rows = [(place, str(7 * number % 31)) for number, place in enumerate(places[:-1])]
    write_csv(folder / "deprivation.csv", rows, ("place", "value"))
    return read_case(published, index=folder / "deprivation.csv", today=TODAY)


def _planned(folder: Path, text: str) -> Case:
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return read_case(folder / "plan.toml", today=TODAY)


CASES: Mapping[str, Callable[[Path], Case]] = {"paper": paper, "card-day": card_day, "year-of-weeks": year_of_weeks}
"""Those that need no data."""


def tested(folder: Path, plan: Path) -> dict[str, Path]:
    """The files of an audit and an intruder test of a plan, as long as the commands make them, made once."""
    files = {command: folder / f"{command}.json" for command in ("audit", "intruder")}
    for command, file in files.items():
        if not file.exists():
            app([command, str(plan), "-o", str(file), "-q"], standalone_mode=False)
    return files


def main() -> None:
    """Write all of them, in every format."""
    into, shared = (Path(each).resolve() for each in sys.argv[1:])
    for name, made in {**CASES, "bike-month": lambda folder: bike_month(folder, shared)}.items():
        (folder := into / name).mkdir(parents=True, exist_ok=True)
        if not (folder / "plan.toml").exists():
            made(folder)
        plan, published, index = folder / "plan.toml", folder / "published", folder / "deprivation.csv"
        about = {"index": index} if index.exists() else {}
        tests = tested(folder, plan)
        dossier = Dossier(read_case(published if published.exists() else plan, **tests, **about, today=TODAY))
        for ending, write in FORMATS.items():
            (into / f"{name}{ending}").write_bytes(write(dossier))


if __name__ == "__main__":
    main()
