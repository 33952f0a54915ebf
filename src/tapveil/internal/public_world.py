"""A public list of places next to an export: which of its columns name the places of the trips, and what it allows.

With such a list every cell can be published, with noise and without a threshold (docs/world.md). It is only a proposal:
whether a list is public, or was made from the trips, is for a person to say.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tapveil.base.domain import MOST_CELLS
from tapveil.base.errors import InputFileError
from tapveil.base.vocabulary import EVERY_MODE, MINUTES_PER_DAY
from tapveil.inputs.place_list import read_place_list
from tapveil.inputs.public_list import PublicList
from tapveil.inputs.snapshot import Snapshot
from tapveil.inputs.timetable import plain_mode
from tapveil.plan.model import PlaceList
from tapveil.trips import words

MATCHED = 0.5
"""This many of the places of the trips must be in a list for it to be theirs."""
FEW = 0.02
A_MONTH = 31
LONGEST_HEADER = 100_000
_NO_TITLE = {"identifier", "area", "vehicle"}


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
        properties = _properties(path)
        mode = _mode(properties)
        name = _best({each: values for each, values in properties.items() if each != mode}, samples, path)
        return PlaceList(path=str(path), name=name, mode=mode or "mode", title=_title(name, list(properties)))
    header = _header(path)
    by_word = _coordinates(header)
    if missing := [f"`{ours}`" for ours, theirs in by_word.items() if theirs is None]:
        raise InputFileError(
            f"{path.name} has no column that is called {' or '.join(missing)}, in a language that is known (columns: "
            f"{', '.join(header)}); call it so, or add it, in degrees (WGS 84)"
        )
    mode = _mode(header)
    others = [each for each in header if each not in {mode, *by_word.values()}]
    name = _best(_columns(path, others), samples, path)
    chosen = {"path": str(path), "name": name, "mode": mode, "title": _title(name, others), **by_word}
    return PlaceList.model_validate({key: value for key, value in chosen.items() if value})


def _mode(header: Iterable[str]) -> str | None:
    """The column with the modes of places, by its name."""
    return next((name for name in header if "mode" in words.concepts(name)), None)


def _title(name: str, others: Sequence[str]) -> str | None:
    """The column with names for people, where another names the places of the trips: `stop_name` next to `stop_id`."""
    if "name" in words.concepts(name):
        return None
    called = [each for each in others if "name" in words.concepts(each) and not words.concepts(each) & _NO_TITLE]
    return min(called, key=lambda each: "place" not in words.concepts(each), default=None)


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


def why_unsplit(listed: PlaceList, column: str, seen: Collection[str]) -> str:
    """Why tables cannot be split by the modes of a list, in the words of the trips, and what to do."""
    path = Path(listed.path).name
    modes = {place.mode for place in read_place_list(Path(), listed, Snapshot(None))} - {EVERY_MODE}
    together = f"Every cell would be published for all modes together: {path}"
    split = f'write modes = {json.dumps(sorted(modes), ensure_ascii=False)} under [source], and "mode" in partition'
    if not modes:
        return (
            f"{together} does not say which mode a place is of, in the words of `{column}`. Add a column `mode` to it "
            "for tables split by mode."
        )
    if not seen:
        return f"{together} has the modes {_and(modes)}, and how `{column}` writes them was not seen. If so, {split}."
    lacks = f"{together} has the modes {_and(modes)}, and `{column}` has {_and(set(seen) - modes)}, which it lacks."
    if {words.said(each) for each in seen} <= {words.said(each) for each in modes}:
        return f"{lacks} They seem to be the same, written differently: write them in one way, then run this again."
    return (
        f"{lacks} Write the modes of places as the trips do, and list the places of all modes; or, to leave trips of "
        f"other modes out, {split}."
    )


def _and(names: Collection[str]) -> str:
    *most, last = (f"`{name}`" for name in sorted(names))
    return f"{', '.join(most)} and {last}" if most else last


def modes_of_routes(types: Iterable[int], seen: Collection[str]) -> tuple[str, ...]:
    """The modes of a timetable in the words of the trips; none where these are other words.

    >>> modes_of_routes((0, 3, 700), ("Bus", "Tram")), modes_of_routes((0, 3), ("Bus", "Straßenbahn"))
    (('Bus', 'Tram'), ())
    """
    named = {words.said(mode): mode for mode in map(plain_mode, types)}
    theirs = {words.said(word): word for word in seen}
    known = len(theirs) == len(seen) > 0 and theirs.keys() <= named.keys()
    return tuple(sorted((named | theirs).values())) if known else ()


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
    of = {ours: [name for name in header if ours in words.concepts(name)] for ours in ("latitude", "longitude")}
    # `x` and `y` may be metres of a projection, where there are degrees as well.
    return {
        ours: min(names, key=lambda name: bool(words.words_of(name) & {"x", "y"}), default=None)
        for ours, names in of.items()
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
