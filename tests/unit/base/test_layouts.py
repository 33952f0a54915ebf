"""How tables become files: each layout knows which it has files for."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tapveil.base.layouts import LAYOUTS, MOST_IN_CSV

TABLES, OPAL, WORLD = (LAYOUTS[name] for name in ("tables", "opal", "world"))
PARTS = ("mode", "date")


class Laid(NamedTuple):
    name: str
    columns: tuple[str, ...]


ON, OFF = Laid("on-time", ("tap_on_time",)), Laid("off-time", ("tap_off_time",))
OD = Laid("od", ("tap_on_location", "tap_off_location"))


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_has_a_file_for_each_table_that_it_says_it_has_one_for(name: str) -> None:
    layout = LAYOUTS[name]
    tables = [table for table in (ON, OFF, OD) if layout.has_file_for(table.columns)]
    assert {layout.file_of(table)[0] for table in tables} == set(layout.files(tables, PARTS))


def test_tables_have_files_and_keys_of_their_own() -> None:
    assert TABLES.files([ON, OD], PARTS) == {"on-time": (*PARTS, *ON.columns), "od": (*PARTS, *OD.columns)}
    assert TABLES.file_of(ON) == ("on-time", None)
    assert TABLES.copied({"mode", "tap_on_location"}) == {"mode", "tap_on_location"}


def test_the_files_of_opal_have_both_ends_and_no_pairs_of_places() -> None:
    assert OPAL.files([ON, OFF], PARTS) == {"time": ("mode", "date", "tap", "time")}
    assert (OPAL.file_of(ON), OPAL.file_of(OFF)) == (("time", "on"), ("time", "off"))
    assert not OPAL.has_file_for(OD.columns)
    assert not OPAL.has_file_for(())


@pytest.mark.parametrize(("keys", "copied"), [({"mode", "date"}, {"mode", "date", "loc"}), (set(), {"mode", "loc"})])
def test_what_opal_copies_has_the_names_of_its_files(keys: set[str], copied: set[str]) -> None:
    assert OPAL.copied(keys) == copied
    assert OPAL.copied(keys) <= set(OPAL.columns)


def test_a_large_table_of_a_world_has_no_csv_file() -> None:
    assert WORLD.formats(MOST_IN_CSV) == ("csv", "parquet")
    assert WORLD.formats(MOST_IN_CSV + 1) == ("parquet",)
