"""A public list of places next to an export: which of its columns name the places of the trips, and what it allows.

With such a list every cell can be published, with noise and without a threshold (docs/world.md). It is only a proposal:
whether a list is public, or was made from the trips, is for a person to say.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tapveil.base.domain import MOST_CELLS
from tapveil.base.errors import InputFileError
from tapveil.base.vocabulary import MINUTES_PER_DAY
from tapveil.inputs.place_list import read_place_list
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import Snapshot
from tapveil.plan.model import PlaceList
from tapveil.trips import words

MATCHED = 0.5
"""This many of the places of the trips must be in a list for it to be theirs."""
FEW = 0.02
A_MONTH = 31
LONGEST_HEADER = 100_000


@dataclass(frozen=True)
class World:
    """What every cell is made of."""

    places: PlaceList | None
    """A list of places; None where the timetable has them."""
    what: str
    """What the list is called."""
    modes: tuple[str, ...] = ()
    """The modes of the list, if it has all those of the trips."""
    pairs: bool = True
    """Whether pairs of places are few enough to be measured."""


def place_list(path: Path, samples: Sequence[Collection[str]]) -> PlaceList:
    """A list of places, with the column that names those of the trips; by its name alone, where nobody looked."""
    if path.suffix.lower() in (".geojson", ".json"):
        return PlaceList(path=str(path), name=_best(_properties(path), samples, path))
    header = _header(path)
    by_word = _coordinates(header)
    if missing := [ours for ours, theirs in by_word.items() if theirs is None]:
        raise InputFileError(
            f"{path.name} has no column of {' and '.join(missing)} (columns: {', '.join(header)}); "
            "call them so, or add them, in degrees (WGS 84)"
        )
    taken = set(by_word.values())
    mode = next((name for name in header if "mode" in words.concepts(name)), None)
    name = _best(_columns(path, [each for each in header if each not in taken and each != mode]), samples, path)
    chosen = {"path": str(path), "name": name, "mode": mode, **by_word}
    return PlaceList.model_validate({key: value for key, value in chosen.items() if value})


def lists_places(path: Path) -> bool:
    """Whether a CSV file is a list of places, by its header: coordinates, and nothing that only trips have."""
    try:
        with path.open("rb") as file:
            header = _columns_in(file.readline(LONGEST_HEADER).decode("utf-8-sig", "replace"))
    except OSError:
        return False
    at = _coordinates(header).values()
    of_trips = any({"card", "time", "day", "count"} & words.concepts(name) for name in header)
    return not of_trips and all(name and not {"start", "end"} & words.concepts(name) for name in at)


def world(listed: PlaceList, seen_modes: Collection[str], days: tuple[date, date] | None, width: int) -> World | None:
    """The cells of a list of places; None where they are too many for any table."""
    found = read_place_list(Path(), listed, Snapshot(None))
    modes = {place.mode for place in found}
    named = tuple(sorted(modes)) if seen_modes and set(seen_modes) <= modes else ()
    return cells(World(listed, Path(listed.path).name, named), len({place.name for place in found}), days, width)


def not_listed(listed: PlaceList, samples: Sequence[Collection[str]]) -> Iterator[str]:
    """Where some of the trips are at places that the list does not have."""
    known = {place.name for place in read_place_list(Path(), listed, Snapshot(None))}
    values = [value for values in samples for value in values]
    if (unknown := sum(value not in known for value in values)) > FEW * len(values):
        yield (
            f"About {round(100 * unknown / len(values))} of 100 trips looked at begin or end at a place that "
            f"{Path(listed.path).name} does not have: they are counted as UNKNOWN. List all places as the trips name "
            "them, or map stops to areas under [coarsen.location]."
        )


def cells(of: World, places: int, days: tuple[date, date] | None, width: int) -> World | None:
    """A world with pairs of places if there is room for them, without if not; None where there is room for nothing."""
    number = (days[1] - days[0]).days + 1 if days else A_MONTH
    parts, bins = number * max(1, len(of.modes)), MINUTES_PER_DAY // width + 1
    by_time, by_pair = 2 * parts * bins * (places + 1), parts * (places + 1) ** 2
    if by_time > MOST_CELLS:
        return None
    return World(of.places, of.what, of.modes, by_time + by_pair <= MOST_CELLS)


def _best(columns: Mapping[str, set[str]], samples: Sequence[Collection[str]], path: Path) -> str:
    """The column whose values the trips have most of."""
    if not samples:
        named = [name for name in columns if "name" in words.concepts(name)] or list(columns)
        return named[0]
    shares = {
        name: max(sum(value in listed for value in values) / max(1, len(values)) for values in samples)
        for name, listed in columns.items()
    }
    best = max(shares, key=shares.__getitem__, default=None)
    if best is None or shares[best] < MATCHED:
        raise InputFileError(
            f"few places of the trips are in {path.name}: it must list all of them, named as the trips name them"
        )
    return best


def _coordinates(header: Sequence[str]) -> dict[str, str | None]:
    """The columns of the coordinates, by their names."""
    known = {"latitude": "lat latitude stoplat y", "longitude": "lon lng long longitude stoplon x"}
    return {
        ours: next((name for name in header if words.words_of(name) & set(theirs.split())), None)
        for ours, theirs in known.items()
    }


def _header(path: Path) -> list[str]:
    with PublicList(Snapshot(None), path, "list of places").opened() as file:
        try:
            first = file.readline()
        except UnicodeDecodeError:
            raise InputFileError(f"the list of places {path.name} is not a CSV file in UTF-8; save it as one") from None
    return _columns_in(first)


def _columns_in(first: str) -> list[str]:
    delimiter = max(",;\t|", key=first.count)
    return [name.strip().strip('"') for name in first.rstrip("\r\n").split(delimiter) if name.strip()]


def _columns(path: Path, names: Sequence[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {name: set() for name in names}
    for _, row in PublicList(Snapshot(None), path, "list of places").rows(names):
        for name in names:
            found[name].add(row[name])
    return found


def _properties(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, value in _features(path):
        found.setdefault(name, set()).add(str(value).strip())
    return found


def _features(path: Path) -> Iterator[tuple[str, object]]:
    with PublicList(Snapshot(None), path, "list of places").opened() as file:
        try:
            features = json.load(file).get("features", [])
        except (ValueError, AttributeError):
            raise InputFileError(f"{path.name} is not GeoJSON") from None
    for feature in features:
        yield from (feature.get("properties") or {}).items()
