"""Makes the golden folders: one release of every kind, from generated trips and seeded noise.

    python -m tests.golden.make FOLDER        (with Spark installed, and Java, for the last of them)
    python -m tests.golden.make FOLDER ledger (a ledger of two releases, and what their folders say of it)

The folders of a format version are made once, by the last program of that version, and are never made again: every
later program must verify them as they lie here. Their noise is seeded, so they protect nobody; nor is there anybody.
"""

from __future__ import annotations

import os
import random
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from tapveil import release
from tapveil.base.defaults import Format
from tapveil.demo.city import make_city
from tapveil.plan.model import Plan
from tapveil.published.signature import SigningKey, read_key
from tests.conftest import BY_CARD, levelled_plan, opal_text, start_ledger, write_csv

DAYS = [date(2025, 3, 3), date(2025, 3, 4)]

TOTAL = {
    'mechanism = "sbh"                     # noise': 'mechanism = "{}"\nepsilon = 8\ndelta = "3/4000000"\n# noise',
    'epsilon = 1\ndelta = "1/8000000"\n': "",
    'epsilon = 2\ndelta = "1/8000000"\n': "weight = 2\n",
    "# In total: ": '[[table]]\nname = "total"\ncolumns = []\nweight = "1/4"\n\n# In total: ',
}
NO_MAP = {"[places]    ": "# [places]  ", 'path = "places.geojson"': '# path = "places.geojson"'}
CARDS = 'unit = "card"\ntrips_per_card = 2\ntrips_per_day = 1\nwithout_card = "own-unit"\n#'

TAPS = """
[release]
name = "taps"
title = "Boardings and journeys from taps"
licence = "CC-BY-4.0"
publisher = "Port Vesper Transit"
publisher_type = "government"
region = "Port Vesper"
[source]
path = "taps.csv"
shape = "taps"
day_starts = "04:00"
[source.taps]
on = ["Enter"]
off = "Exit"
same = "card"
[source.columns]
card = "card"
mode = "mode"
date = "at"
tap = "action"
tap_time = "at"
tap_location = "stop"
[coarsen]
time_minutes = 60
after_midnight = "continued"
[privacy]
unit = "card-day"
trips_per_day = 2
without_card = "refuse"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 4
delta = 1e-6
looked_at_trips = true
[[table]]
name = "on_time"
columns = ["tap_on_time"]
[[table]]
name = "journeys"
columns = ["tap_on_location", "tap_off_location"]
weight = 2
"""


def _opal(folder: Path, changes: dict[str, str] | None = None, file_format: Format = "csv") -> Plan:
    """The demo city's plan, small enough to keep in a repository, with some of its text replaced."""
    path = make_city(folder / "city", trips=6_000, days=DAYS, file_format=file_format)
    text = path.read_text(encoding="utf-8")
    for old, new in (changes or {}).items():
        if old not in text:
            raise AssertionError(old)
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return Plan.read(path)


def _total(mechanism: str) -> dict[str, str]:
    return {old: new.format(mechanism) for old, new in TOTAL.items()}


def _dictionary(folder: Path) -> Plan:
    cells = [
        (mode, f"2025-03-0{day}", f"{hour:02d}:00")
        for mode in ("bus", "ferry")
        for day in (3, 4)
        for hour in range(5, 24)
    ]
    write_csv(folder / "cells.csv", cells, ("mode", "date", "tap_on_time"))
    rows = [
        (
            f"3085{n % 900:012}",
            f"2025-03-0{3 + n % 2}",
            ("bus", "ferry")[n % 3 > 1],
            f"{5 + n * n % 19:02d}:{n % 60:02d}",
        )
        for n in range(3000)
    ]
    write_csv(folder / "trips.csv", rows, ("card_id", "trip_date", "mode", "tap_on_time"))
    text = opal_text(**{"trips/*": "trips.csv", "time_minutes = 15": "time_minutes = 60"})
    text = text[: text.index("[coarsen.location.bus]")] + (
        '[privacy]\nunit = "trip"\nneighbours = "replace"\nmechanism = "dictionary"\nepsilon = 2\ncut = 3\n'
        '[[table]]\nname = "on_time"\ncolumns = ["tap_on_time"]\ncells = "cells.csv"\n'
    )
    text = "\n".join(line for line in text.split("\n") if not line.startswith(("tap_off", "tap_on_location")))
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return Plan.read(folder / "plan.toml")


def _taps(folder: Path) -> Plan:
    rows = []
    for n in range(2500):
        card, day, minute = f"3085{n % 700:012}", 3 + n % 2, 300 + n * n * 31 % 1000
        stops = ("Central", "Quay, West", "東門", "Hill")
        for action, at, stop in (("Enter", minute, stops[n % 4]), ("Exit", minute + 12 + n % 40, stops[n * n % 7 % 4])):
            if n % 23 or action == "Enter":
                when = f"2025-03-{day + at // 1440:02d} {at // 60 % 24:02d}:{at % 60:02d}:00"
                rows.append((card, when, "metro", action, stop))
    write_csv(folder / "taps.csv", rows, ("card", "at", "mode", "action", "stop"))
    (folder / "plan.toml").write_text(TAPS, encoding="utf-8")
    return Plan.read(folder / "plan.toml")


WORLD = """
[release]
name = "world"
title = "Journeys: every cell, and estimates"
licence = "CC-BY-4.0"
publisher = "Port Vesper Transit"
partition = ["mode", "date"]
[source]
path = "trips.csv"
modes = ["metro", "tram"]
first_day = 2025-03-06
last_day = 2025-03-10
[source.columns]
card = "card"
mode = "mode"
date = "day"
tap_on_time = "time"
tap_on_location = "from"
tap_off_location = "to"
[places]
path = "places.csv"
[coarsen]
time_minutes = 360
[world]
holidays = [2025-03-07]
[privacy]
unit = "card-day"
trips_per_day = 2
without_card = "refuse"
neighbours = "add-remove"
mechanism = "world"
epsilon = 2
delta = 1e-6
looked_at_trips = false
[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]
[[table]]
name = "origin_time"
columns = ["tap_on_time", "tap_on_location"]
[[table]]
name = "total"
columns = []
weight = "1/4"
"""


HOURS = {
    'tap_off_location = "to"\n': 'tap_off_time = "until"\ntap_off_location = "to"\n',
    "time_minutes = 360": "time_minutes = 240",
    "[world]\n": '[world]\nservice = "04:00-24:00"\ndurations = ["00:00", "00:20", "00:40"]\n',
    "columns = []\n": 'columns = []\ntrips_per_cell = 2\n[[table]]\nname = "durations"\ncolumns = ["duration"]\n',
}
"""Everything that a known world may have: both times, hours of service, durations, several trips of a card's day."""
ALL_DAYS = {'["mode", "date"]': '["mode"]', "columns = []\n": "columns = []\ntrips_per_cell = 2\n"}


def _world(folder: Path, changes: dict[str, str] | None = None) -> Plan:
    stops = ("Central", "Quay, West", "東門", "Hill", "Depot")
    rows = [
        (
            f"3085{n % 900:012}",
            ("metro", "tram")[n % 3 > 1],
            f"2025-03-{6 + n % 5:02d}",
            f"{5 + n * n % 19:02d}:{n % 60:02d}",
            stops[n % 4],
            stops[n * n % 11 % 5],
            f"{5 + (n * n % 19 * 60 + n % 60 + n % 53) // 60:02d}:{(n % 60 + n % 53) % 60:02d}",
        )
        for n in range(3000)
    ]
    write_csv(folder / "trips.csv", rows, ("card", "mode", "day", "time", "from", "to", "until"))
    places = [(stop, "" if stop == "Central" else "metro", n, n) for n, stop in enumerate(stops[:4])]
    write_csv(folder / "places.csv", [*places, ("Hill", "tram", 3, 3)], ("name", "mode", "latitude", "longitude"))
    text = WORLD
    for old, new in (changes or {}).items():
        if old not in text:
            raise AssertionError(old)
        text = text.replace(old, new)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return Plan.read(folder / "plan.toml")


CALENDARS = """
[release]
name = "hours"
title = "Taps by hour, by month and kind of day"
partition = ["mode", "month", "day_type"]
shapes = ["lta", "own.toml"]
[source]
path = "trips.csv"
modes = ["bus", "train"]
first_day = 2025-02-20
last_day = 2025-03-16
[source.columns]
card = "card"
mode = "mode"
date = "day"
tap_on_time = "time"
tap_on_location = "from"
tap_off_time = "until"
tap_off_location = "to"
[coarsen]
time_minutes = 60
[coarsen.date]
month = "month"
day_type = { days = "weekday-weekend", holidays = [2025-03-10] }
week = "week"
term = { lookup = "terms.csv", from = "from", until = "until", to = "name", otherwise = "term, as usual" }
[privacy]
unit = "card-day"
trips_per_day = 2
without_card = "refuse"
neighbours = "add-remove"
mechanism = "gaussian"
epsilon = 4
delta = 1e-6
[[table]]
name = "on"
columns = ["tap_on_time", "tap_on_location"]
[[table]]
name = "off"
columns = ["tap_off_time", "tap_off_location"]
[[table]]
name = "od"
columns = ["tap_on_time", "tap_on_location", "tap_off_location"]
[[table]]
name = "weeks"
columns = ["week", "term"]
[[table]]
name = "total"
columns = []
"""
OWN_SHAPE = """
title = "Weeks and terms"
[[file]]
name = "weeks.txt"
delimiter = ";"
header = false
missing = "n/a"
tables = { all = ["week", "term"] }
column = [
  { name = "network", value = "Port Vesper" },
  { name = "month", key = "month" },
  { name = "kind", key = "day_type", words = { weekday = "Mon-Fri" } },
  { name = "mode", key = "mode" },
  { name = "week", key = "week" },
  { name = "term", key = "term" },
  { name = "trips", count = "all" },
  { name = "least", low = "all" },
  { name = "most", high = "all" },
]
"""


def _calendars(folder: Path) -> Plan:
    stops = ("10009", "Quay, West", "東門", "Hill")
    rows = [
        (
            f"3085{n % 900:012}",
            ("bus", "train")[n % 3 > 1],
            date.fromordinal(date(2025, 2, 18).toordinal() + n * 7 % 29),
            f"{7 + n * n % 3:02d}:{n % 60:02d}",
            stops[n % 4],
            f"{9 + n * n % 3:02d}:{n % 60:02d}" if n % 9 else "",
            stops[n * n % 11 % 4] if n % 9 else "",
        )
        for n in range(9000)
    ]
    write_csv(folder / "trips.csv", rows, ("card", "mode", "day", "time", "from", "until", "to"))
    write_csv(folder / "terms.csv", [("2025-03-03", "2025-03-07", "break")], ("from", "until", "name"))
    (folder / "own.toml").write_text(OWN_SHAPE, encoding="utf-8")
    return Plan.parse(CALENDARS, base=folder)


SHAPES = """
title = "All that a shape can say"
[[file]]
name = "taps-{month:%Y%m}-{mode}.csv"
tables = { on = ["tap_on_time", "tap_on_location"], off = ["tap_off_time", "tap_off_location"] }
keys = { time = ["tap_on_time", "tap_off_time"], place = ["tap_on_location", "tap_off_location"] }
delimiter = ";"
decimal = ","
missing = "..."
above = ["Taps by hour", ""]
column = [
  { name = "Days", text = "{days.first:%d %b %Y} to {days.last:%d %b %Y}, {days.number} days" },
  { name = "Mondays", text = "{days.monday}" },
  { name = "Kind", key = "day_type", words = { weekday = "Mon-Fri" } },
  { name = "From", key = "time", format = "%I:%M %p" },
  { name = "Until", text = "{time.end:%H.%M}", words = { "-1" = "none" } },
  { name = "First", text = "{time.moment}/{time.end_moment:%j %H}" },
  { name = "Stop", text = "{place.title} ({place.code})", optional = true },
  { name = "Place", key = "place" },
  { name = "Where", text = "{place.latitude} {place.longitude}" },
  { name = "Line", key = "line", value = "all", optional = true },
  { name = "On", count = "on", per = "day" },
  { name = "On at least", low = "on", per = "day", digits = 0 },
  { name = "Off at most", high = "off" },
]
[[file]]
name = "shares.csv"
tables = { on = ["tap_on_time", "tap_on_location"] }
sum = ["mode"]
complete = true
column = [
  { name = "days", text = "{days.first}" },
  { name = "kind", key = "day_type" },
  { name = "hour", key = "tap_on_time", format = "hour" },
  { name = "stop", key = "tap_on_location" },
  { name = "share", share = "on", within = ["month", "day_type", "tap_on_location"], digits = 3 },
]
[[file]]
name = "ends.txt"
tables = { on = ["tap_on_time", "tap_on_location"], off = ["tap_off_time", "tap_off_location"] }
keys = { time = ["tap_on_time", "tap_off_time"], place = ["tap_on_location", "tap_off_location"] }
stack = "end"
merge = true
header = false
column = [
  { name = "month", key = "month", words = { "2025-02" = "early", "2025-03" = "early" } },
  { name = "kind", key = "day_type" },
  { name = "mode", key = "mode" },
  { name = "end", key = "end", words = { on = "start" } },
  { name = "time", key = "time" },
  { name = "place", key = "place" },
  { name = "taps", count = "end" },
]
[[file]]
name = "pairs.csv"
tables = { trips = ["tap_on_time", "tap_on_location"] }
rest = { key = "tap_off_location", word = "(rest)" }
column = [
  { name = "month", key = "month" },
  { name = "kind", key = "day_type" },
  { name = "mode", key = "mode" },
  { name = "time", key = "tap_on_time" },
  { name = "from", key = "tap_on_location" },
  { name = "to", key = "tap_off_location", optional = true },
  { name = "trips", count = "trips" },
  { name = "least", low = "trips" },
  { name = "most", high = "trips" },
]
[[file]]
name = "hours-{day_type}.xlsx"
sheet = "On"
tables = { on = ["tap_on_time", "tap_on_location"] }
across = "tap_on_time"
above = ["Taps on"]
column = [
  { name = "month", key = "month" },
  { name = "mode", key = "mode" },
  { name = "place", key = "tap_on_location" },
  { name = "all", count = "on" },
  { name = "7 to 9", count = "on", per = "day", between = ["07:00", "09:00"] },
  { name = "{tap_on_time:%H}", count = "on" },
  { name = "{tap_on_time:%H}+", high = "on" },
]
[[file]]
name = "hours-{day_type}.xlsx"
sheet = "About"
tables = { on = ["tap_on_time"] }
column = [{ name = "never", key = "tap_on_time" }, { name = "made", count = "on" }]
[[file]]
name = "kinds.xlsx"
sheet = "Off & on"
tables = { off = ["tap_off_time", "tap_off_location"] }
across = "day_type"
sum = ["month"]
column = [
  { name = "mode", key = "mode" },
  { name = "time", key = "tap_off_time" },
  { name = "place", key = "tap_off_location" },
  { name = "{day_type}", count = "off" },
]
[[file]]
name = "about.txt"
tables = { on = ["tap_on_time", "tap_on_location"] }
column = [
  { name = "from", text = "{days.first}" },
  { name = "until", text = "{days.last}" },
  { name = "of", value = "us" },
]
"""


def _shapes(folder: Path) -> Plan:
    _ = _calendars(folder)
    (folder / "all.toml").write_text(SHAPES, encoding="utf-8")
    stops = [("10009", 1.25, 103.5, "Pier", "P1"), ("Quay, West", -1.5, 103.25, "", ""), ("東門", 1, 104, "East", "E")]
    write_csv(folder / "places.csv", stops, ("name", "latitude", "longitude", "called", "code"))
    text = CALENDARS.replace('"own.toml"', '"all.toml", "gtfs-ride", "station-hour"')
    return Plan.parse(text + '[places]\npath = "places.csv"\ntitle = "called"\n', base=folder)


TOTALS = """[[public.total]]
trips = 2_100
of = { mode = "metro" }
source = "Patronage of the week"
[[public.total]]
trips = 450
of = { mode = "metro" }
first_day = 2025-03-06
last_day = 2025-03-06
source = "Patronage of a day"
[[public.total]]
trips = 130
of = { mode = "metro", tap_on_location = "Central" }
first_day = 2025-03-06
last_day = 2025-03-06
source = "Entries of stations"
[places]
"""


KINDS: dict[str, Callable[[Path], Plan]] = {
    "paper": lambda folder: _opal(folder),
    "paper-layout": lambda folder: _opal(
        folder, {"# layout = ": "layout = ", "# synthetic = true": "synthetic = true"} | NO_MAP
    ),
    "laplace": lambda folder: _opal(
        folder, _total("laplace") | NO_MAP | {'neighbours = "replace"': 'neighbours = "add-remove"'}
    ),
    "gaussian": lambda folder: _opal(folder, _total("gaussian")),
    "cards": lambda folder: _opal(folder, _total("gaussian") | NO_MAP | {'unit = "trip" ': CARDS}),
    "levels": levelled_plan,
    "levels-of-card-days": lambda folder: levelled_plan(folder, **BY_CARD),
    "dictionary": _dictionary,
    "taps": _taps,
    "world": _world,
    "world-of-hours": lambda folder: _world(folder, HOURS),
    "world-of-all-days": lambda folder: _world(folder, ALL_DAYS),
    "calendars": _calendars,
    "shapes": _shapes,
    "world-of-shapes": lambda folder: _world(folder, {"[source]\n": 'shapes = ["mta", "tides"]\n[source]\n'}),
    "world-of-noise": lambda folder: _world(folder, {"epsilon = 2": 'epsilon = "1/10"'}),
    "world-of-few": lambda folder: _world(folder, {"epsilon = 2": 'epsilon = "3/4"'}),
    "world-of-totals": lambda folder: _world(folder, {"[places]\n": TOTALS}),
    "spark": lambda folder: _opal(
        folder, _total("gaussian") | NO_MAP | {"[source]\n": '[source]\nengine = "spark"\n'}, "parquet"
    ),
}
"""One plan of every kind, over trips that it writes beside it."""
SIGNED = {"gaussian"}
ONE_DAY = "last_day = 2025-03-03"
IN_LEDGER = {"paper", "gaussian", "cards", "taps"}


def make(destination: Path, kinds: list[str]) -> Iterator[Path]:
    """One folder after another."""
    for kind in kinds:
        with tempfile.TemporaryDirectory() as name, seeded(kind):
            folder = Path(name)
            plan = KINDS[kind](folder)
            if kind in IN_LEDGER:
                start_ledger(plan, "20", "1e-5")
            key = _key(folder) if kind in SIGNED else None
            made = release(plan, folder / "made", in_ledger=kind in IN_LEDGER, key=key)
            shutil.copytree(made.path, destination / kind)
        yield destination / kind


def make_ledger(destination: Path) -> Path:
    """A ledger with a budget and two releases that share a day; of their folders, what names its entries."""
    with tempfile.TemporaryDirectory() as name, seeded("ledger"):
        folder = Path(name)
        both = _opal(folder)
        first = Plan.parse(
            (folder / "city" / "plan.toml").read_text(encoding="utf-8").replace("last_day = 2025-03-04", ONE_DAY),
            base=folder / "city",
        )
        start_ledger(both, "16", "1.5e-6")
        for plan, out in ((first, "first"), (both, "second")):
            made = release(plan, folder / out, again=True)
            (destination / out).mkdir(parents=True)
            for file in ("privacy.json", "SHA256SUMS"):
                shutil.copy(made.path / file, destination / out)
        for file in ("ledger.sqlite", "ledger.sqlite.head"):
            shutil.copy(both.ledger_path.with_name(file), destination)
    return destination


@contextmanager
def seeded(seed: str) -> Iterator[None]:
    """Random bytes that are the same every time: for folders that tests read, and for nothing else."""
    draws, before = random.Random(seed), (os.urandom, secrets.token_hex)
    os.urandom = draws.randbytes
    secrets.token_hex = lambda nbytes=None: draws.randbytes(nbytes or 32).hex()
    try:
        yield
    finally:
        os.urandom, secrets.token_hex = before


def _key(folder: Path) -> SigningKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH
    path = folder / "key"
    path.write_bytes(private.private_bytes(encoding, form, serialization.NoEncryption()))
    path.chmod(0o600)
    return read_key(path)


if __name__ == "__main__":
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:] == ["ledger"]:
        print(make_ledger(where))
    else:
        for folder in make(where, sys.argv[2:] or list(KINDS)):
            print(folder)
