"""Folders of whole networks, whose flows are looked at: the demo city, and a real metro where its data are at hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow.parquet as pq

import tapveil
from tapveil.demo.city import JOURNEYS, make_city
from tapveil.plan.model import Plan
from tests.conftest import write_csv
from tests.statistical.test_world_of_real_trips import PLAN, TRIPS

View = Mapping[str, str]
VIEWS: Mapping[str, Mapping[str, View]] = {
    "city": {
        "map": {"mode": "train", "date": "weekday", "time": "08:00"},
        "matrix": {"mode": "ferry", "flows": "matrix"},
    },
    "metro": {
        "map": {"date": "weekday", "time": "08:00"},
        "matrix": {"date": "2025-08-04", "flows": "matrix"},
    },
}
"""What is looked at, as the address of a page says it."""


def _city(folder: Path) -> Plan:
    make_city(folder / "city")
    return Plan.read(folder / "city" / JOURNEYS)


def _metro(folder: Path) -> Plan | None:
    if not TRIPS.exists():
        return None
    names = pq.read_table(TRIPS, columns=["Origin Station"])["Origin Station"].unique().to_pylist()
    turns = [(name, 13 + math.sin(at) * at / 500, 77.5 + math.cos(at) * at / 500) for at, name in enumerate(names)]
    write_csv(folder / "stations.csv", turns, ("name", "latitude", "longitude"))  # made up: the data have none
    return Plan.parse(PLAN[: PLAN.index('[[table]]\nname = "whole"')], base=folder)


_PLANS: Mapping[str, Callable[[Path], Plan | None]] = {"city": _city, "metro": _metro}


def network(name: str, folder: Path) -> Path | None:
    """A published folder; None if its data are not beside this checkout (../shared/data)."""
    plan = _PLANS[name](folder)
    return tapveil.release(plan, folder / "published", in_ledger=False).path if plan else None
