"""Public lists that are exchanged while a release runs: what was used is what is published, and hashed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tapveil import release
from tapveil.base.errors import PlanError
from tapveil.base.progress import Stage
from tapveil.plan.model import Plan
from tapveil.verification.folder import verify_folder
from tests.conftest import write_csv
from tests.support.fuzz import AREAS, FEED, zipped

PLAN = """
[release]
name = "inputs"
title = "Inputs"
partition = ["mode"]
[source]
path = "trips.csv"
[source.columns]
mode = "mode"
date = "date"
tap_on_time = "at"
tap_on_location = "stop"
[coarsen]
time_minutes = 60
[coarsen.location.bus]
lookup = "stops.csv"
from = "stop_id"
to = "area"
[coarsen.location.ferry]
polygons = "areas.geojson"
name = "name"
[coarsen.location.train]
gtfs = "stop_name"
[coarsen.wider.region."*"]
lookup = "regions.csv"
from = "area"
to = "region"
[gtfs]
path = "{gtfs}"
[places]
path = "places.csv"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "dictionary"
[[table]]
name = "places"
columns = ["tap_on_location"]
epsilon = 1
cells = "cells.csv"
[[table]]
name = "regions"
columns = ["tap_on_location"]
epsilon = 1
cells = "cells.csv"
level = {{ location = "region" }}
[[table]]
name = "timetable"
columns = ["tap_on_time"]
epsilon = 1
cells = "gtfs"
"""
LISTS = {
    "stops.csv": "stop_id,area\nA,Old Town\nB,Old Port\n",
    "regions.csv": "area,region\nOld Town,Old North\nOld Port,Old South\nOld Street,Old East\nOld West,Old West Side\n",
    "places.csv": "name,latitude,longitude\nOld Town,-33.8,151.1\nOld Port,-33.9,151.2\n",
    "cells.csv": "mode,tap_on_location\nbus,Old Town\nbus,Old Port\ntrain,Old Street\nferry,Old West\n",
    "areas.geojson": json.dumps(AREAS).replace('"West"', '"Old West"'),
}
TIMETABLE = FEED | {"stops.txt": FEED["stops.txt"].replace("First St", "Old Street")}
STAGES = [Stage.COUNTING_TRIPS, Stage.DRAWING_NOISE, Stage.WRITING_TABLES]


def write_lists(folder: Path, gtfs: str, change: Callable[[str], str] = str) -> None:
    """Written into the files that are there, as `cp` does."""
    for name, text in LISTS.items():
        (folder / name).write_text(change(text), encoding="utf-8")
    feed = {name: change(text).encode() for name, text in TIMETABLE.items()}
    if gtfs.endswith(".zip"):
        (folder / gtfs).write_bytes(zipped(feed))
        return
    (folder / gtfs).mkdir(exist_ok=True)
    for name, data in feed.items():
        (folder / gtfs / name).write_bytes(data)


def prepared(folder: Path, gtfs: str) -> Plan:
    stops = [("bus", "A"), ("bus", "B"), ("train", "A"), ("ferry", "A")]
    rows = [(mode, "2019-04-02", "13:05", stop) for mode, stop in stops for _ in range(400)]
    write_csv(folder / "trips.csv", rows, ("mode", "date", "at", "stop"))
    write_lists(folder, gtfs)
    return Plan.parse(PLAN.format(gtfs=gtfs), base=folder)


class Exchange:
    """Puts other lists in the place of the plan's when a stage begins."""

    def __init__(self, folder: Path, gtfs: str, at: Stage) -> None:
        self.folder, self.gtfs, self.at, self.done = folder, gtfs, at, False

    @contextmanager
    def stage(self, stage: Stage, *_: object, **__: object) -> Iterator[None]:
        if stage == self.at:
            write_lists(self.folder, self.gtfs, lambda text: text.replace("Old", "New"))
            self.done = True
        yield


def folder_hash(path: Path) -> str:
    parts = ((each.name, each.read_bytes()) for each in sorted(path.iterdir()))
    whole = b"".join(f"{name}\0{len(data)}\0".encode() + data for name, data in parts)
    return hashlib.sha256(whole).hexdigest()


@pytest.mark.parametrize("gtfs", ["gtfs.zip", "feed"])
@pytest.mark.parametrize("at", STAGES)
def test_lists_that_are_exchanged_are_not_published_under_the_old_hash(at: Stage, gtfs: str, tmp_path: Path) -> None:
    plan = prepared(tmp_path, gtfs)
    hashes = {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in LISTS}
    feed = tmp_path / gtfs
    hashes[gtfs] = folder_hash(feed) if feed.is_dir() else hashlib.sha256(feed.read_bytes()).hexdigest()
    exchange = Exchange(tmp_path, gtfs, at)
    folder = release(plan, tmp_path / "out", in_ledger=False, progress=exchange).path
    assert exchange.done
    assert json.loads((folder / "privacy.json").read_text())["public_files_sha256"] == {
        "cells of places": hashes["cells.csv"],
        "cells of regions": hashes["cells.csv"],
        "gtfs": hashes[gtfs],
        "lookup of bus": hashes["stops.csv"],
        "lookup of region of *": hashes["regions.csv"],
        "places": hashes["places.csv"],
        "polygons of ferry": hashes["areas.geojson"],
    }
    texts = [path.read_text() for path in folder.rglob("*") if path.suffix in (".csv", ".json", ".geojson")]
    assert not [text for text in texts if "New" in text]
    published = (folder / "data" / "places.csv").read_text()
    assert all(f"{place}," in published for place in ("Old Town", "Old Port", "Old Street", "Old West"))
    assert "Old North" in (folder / "wider-areas.csv").read_text()
    assert "Old Town" in (folder / "areas.geojson").read_text()
    assert not verify_folder(folder).findings


def test_lists_that_are_exchanged_before_a_release_goes_on_are_refused(tmp_path: Path) -> None:
    plan = prepared(tmp_path, "gtfs.zip")

    class Interrupt(Exchange):
        @contextmanager
        def stage(self, stage: Stage, *_: object, **__: object) -> Iterator[None]:
            if stage == self.at:
                raise KeyboardInterrupt
            yield

    with pytest.raises(KeyboardInterrupt):
        release(plan, tmp_path / "out", in_ledger=False, progress=Interrupt(tmp_path, "", Stage.WRITING_TABLES))
    write_lists(tmp_path, "gtfs.zip", lambda text: text.replace("Old", "New"))
    with pytest.raises(PlanError, match="a public file"):
        release(plan, tmp_path / "out", in_ledger=False, resume=True)
    write_lists(tmp_path, "gtfs.zip")
    assert not verify_folder(release(plan, tmp_path / "out", in_ledger=False, resume=True).path).findings
