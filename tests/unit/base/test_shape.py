"""Shapes: which files a release has the tables for, and what a shape must say of them."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import pydantic
import pytest

from tapveil.base.shape import Shape, Tables
from tapveil.plan.rules import SHAPES

FILE: dict[str, Any] = {
    "name": "taps.csv",
    "tables": {"on": ["tap_on_location"], "off": ["tap_off_location"]},
    "keys": {"place": ["tap_on_location", "tap_off_location"]},
    "column": [
        {"name": "Day", "key": "date"},
        {"name": "Place", "key": "place"},
        {"name": "On", "count": "on"},
        {"name": "Off", "count": "off"},
    ],
}
OWN = {"ons": ("tap_on_location",), "offs": ("tap_off_location",)}
TABLES = Tables(("date",), OWN, {"date"})


def shape(**changes: Any) -> Shape:
    return Shape.model_validate({"title": "Ours", "file": [{**FILE, **changes}]})


@pytest.mark.parametrize("name", SHAPES)
def test_the_shapes_that_ship_are_shapes_and_they_are_all_known_to_a_plan(name: str) -> None:
    folder = resources.files("tapveil.base.shapes")
    assert Shape.model_validate(tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")))
    assert {each.name for each in folder.iterdir() if each.name.endswith(".toml")} == {
        f"{each}.toml" for each in SHAPES
    }


def test_a_file_is_made_from_the_tables_with_its_columns_whatever_they_are_called() -> None:
    ((file, tables),) = shape().made(TABLES)
    assert (file.name, tables) == ("taps.csv", {"on": "ons", "off": "offs"})


def test_a_release_without_one_of_the_tables_has_no_file() -> None:
    with pytest.raises(ValueError, match="needs tables with the columns tap_on_location and tap_off_location"):
        shape().made(Tables(("date",), {"ons": ("tap_on_location",)}))


def test_every_key_of_a_table_has_a_column_so_that_no_two_cells_are_one_row() -> None:
    with pytest.raises(ValueError, match="has no column for `mode`, by which ons is split"):
        shape().made(Tables(("mode", "date"), OWN))
    with pytest.raises(ValueError, match="has a column for `date`, which ons does not have"):
        shape().made(Tables((), OWN))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"column": [{"name": "A", "key": "date", "count": "on"}]}, "exactly one of"),
        ({"column": [{"name": "A", "count": "on", "words": {"a": "b"}}]}, "need `key`"),
        ({"column": [{"name": "A", "count": "of"}]}, "which is not one of `tables`"),
        ({"column": [{"name": "A", "key": "date"}]}, "has no column with a number"),
        ({"name": "../taps.csv"}, "match pattern"),
        ({"name": "taps.xlsx"}, "`sheet` is for workbooks, which need it"),
        ({"sum": ["date"]}, "neither `across` nor added up"),
        ({"column": [{"name": "A", "low": "on"}], "sum": ["date"]}, "cannot be added up"),
        ({"column": [{"name": "{time}", "count": "on"}]}, "not `across`"),
        ({"column": [{"name": "A", "low": "on"}], "across": "time"}, "is a sum"),
        ({"column": [{"name": "A", "text": "{days.often}"}, {"name": "B", "count": "on"}]}, "`days` has first"),
        ({"column": [{"name": "A", "count": "on", "digits": 1}]}, "`digits` needs"),
        ({"column": [{"name": "A", "share": "on", "per": "day"}]}, "`per` needs"),
        ({"rest": {"key": "date", "word": "rest"}}, "`rest` is for files of one table"),
        ({"delimiter": "::"}, "should be"),
    ],
)
def test_a_shape_that_does_not_say_what_a_file_holds_is_none(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(pydantic.ValidationError, match=words):
        shape(**changes)


def test_a_table_may_have_more_columns_that_the_file_writes_and_the_date_may_be_its_own() -> None:
    fare = {"name": "Fare", "key": "fare", "value": "all", "optional": True}
    changed = shape(column=[*FILE["column"], fare])
    own = {"ons": ("date", "tap_on_location", "fare"), "offs": ("date", "tap_off_location", "fare")}
    assert changed.made(Tables((), own, {"date"}))[0][1] == {"on": "ons", "off": "offs"}
    assert changed.made(TABLES)[0][1] == {"on": "ons", "off": "offs"}
    with pytest.raises(ValueError, match="no file can be made"):
        changed.made(Tables((), own, {"date"}, only_exact=True))


def test_a_table_with_both_ends_is_not_taken_for_one_with_one_of_them() -> None:
    pairs = {"od": ("tap_on_location", "tap_off_location"), **OWN}
    assert shape().made(Tables(("date",), pairs, {"date"}))[0][1] == {"on": "ons", "off": "offs"}


def test_of_files_with_one_name_the_first_that_can_be_made_is() -> None:
    lone = {**FILE, "tables": {"on": ["tap_on_location"]}, "column": FILE["column"][:3]}
    both = Shape.model_validate({"title": "Ours", "file": [FILE, lone]})
    assert len(both.made(TABLES)[0][0].column) == 4
    ((file, tables),) = both.made(Tables(("date",), {"ons": ("tap_on_location",)}, {"date"}))
    assert (len(file.column), tables) == (3, {"on": "ons"})
