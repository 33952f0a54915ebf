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
        ({"delimiter": "::"}, "should be"),
    ],
)
def test_a_shape_that_does_not_say_what_a_file_holds_is_none(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(pydantic.ValidationError, match=words):
        shape(**changes)
