"""The shapes that a plan names: those that ship with tapveil, or TOML files of one's own."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pydantic

from tapveil.base.errors import InputFileError, PlanError, did_you_mean
from tapveil.base.geojson import positions
from tapveil.base.shape import Shape, Tables
from tapveil.base.vocabulary import DIGITS
from tapveil.inputs.place_list import facts_in_list
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import PublicFiles
from tapveil.plan.model import Plan
from tapveil.plan.rules import SHAPES


def read_shapes(plan: Plan, files: PublicFiles) -> Mapping[str, Shape]:
    """The shapes of a plan by their names, which its tables have files for."""
    in_order = sorted(plan.table, key=lambda table: not table.level.is_finest)
    world = plan.privacy.is_world
    usable = {
        table.name: table.columns for table in in_order if table.level.is_finest or not (table.level.location or world)
    }
    keys = {*plan.release.partition, *(column for columns in usable.values() for column in columns)}
    of_days = {column for column in keys if plan.source.kind(column) in ("date", "calendar")}
    found = {}
    for given in plan.release.shapes:
        name, text = (given, built_in(given)) if given in SHAPES else _own(plan.base / given, files)
        shape = _parsed(text, given)
        try:
            shape.made(Tables(plan.release.partition, usable, of_days))
        except ValueError as error:
            raise PlanError(f"[release] shapes: `{given}`: {error}") from None
        if name in found:
            raise PlanError(f"[release] shapes: two shapes are called `{name}`; rename a file")
        found[name] = shape
    return dict(sorted(found.items()))


def read_place_facts(
    plan: Plan, files: PublicFiles, places: Mapping[str, Any] | None, fields: Mapping[str, bool]
) -> dict[tuple[str, str], tuple[str, ...]]:
    """What public lists say of places, by mode and name: names and coordinates of the map, and columns of [places].

    `fields`: what is asked for, and whether it must be there.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for feature in places["features"] if places else ():
        named, (longitude, latitude) = feature["properties"], _middle(feature["geometry"])
        said = {"title": named.get("title", ""), "latitude": latitude, "longitude": longitude}
        found[named["mode"], named["name"]] = {field: text for field, text in said.items() if field in fields}
    own = {field: needed for field, needed in fields.items() if field not in ("title", "latitude", "longitude")}
    if plan.places and own:
        needed, others = ([field for field in own if own[field] is must] for must in (True, False))
        for place, more in facts_in_list(plan.base, plan.places, files, needed, others).items():
            found[place] = found.get(place, {}) | more
    elif missing := next((field for field in fields if fields[field] and (field in own or not places)), None):
        raise PlanError(f"[release] shapes: they need `{missing}` of each place; name a list of places under [places]")
    return {place: tuple(said.get(field, "") for field in fields) for place, said in found.items()}


def _middle(geometry: Mapping[str, Any]) -> tuple[str, str]:
    """The longitude and the latitude of a point, or of the middle of what it extends over."""
    corners = positions(geometry["type"], geometry["coordinates"]) or []
    middles = ((min(each) + max(each)) / 2 for each in zip(*corners, strict=True))
    longitude, latitude = (str(round(degrees, DIGITS)) for degrees in middles)
    return longitude, latitude


def built_in(name: str) -> str:
    """The TOML of a shape that ships with tapveil."""
    return (resources.files("tapveil.base.shapes") / f"{name}.toml").read_text(encoding="utf-8")


def _own(path: Path, files: PublicFiles) -> tuple[str, str]:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,63}", path.stem):
        raise InputFileError(f"the shape {path.name} must be called by a-z, 0-9, _ and -, such as `agency.toml`")
    with PublicList(files, path, "shape", "[release] shapes").opened() as file:
        try:
            return path.stem, file.read()
        except UnicodeDecodeError:
            raise InputFileError(f"the shape {path.name} is not UTF-8 text; save it as UTF-8") from None


def _parsed(text: str, given: str) -> Shape:
    try:
        return Shape.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputFileError(f"the shape {given} is not valid TOML: {error}") from None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        known = [*Shape.model_fields]
        hint = did_you_mean(str(first["loc"][-1]), known) if first["type"] == "extra_forbidden" else ""
        words = first.get("ctx", {}).get("error", first["msg"])
        raise InputFileError(f"the shape {given}: {place}: {words}{hint}") from None
