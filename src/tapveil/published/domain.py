"""The domain of a folder of a known world: every cell that its tables have, from its manifest and `world.csv` alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tapveil.base.domain import Codes, Lists, every_cell, number_of_cells
from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import EVERY_MODE, UNKNOWN
from tapveil.published.manifest import Manifest, TableClaim

COLUMNS = ("mode", "place")
Places = Mapping[str, tuple[str, ...]]
"""All places of each mode, sorted, with one entry for those that are not listed; under `*` where tables have no mode.
None where no table has places."""


@dataclass(frozen=True)
class Domain:
    """The public lists of a release: days, times and modes as the manifest has them, and the places."""

    manifest: Manifest
    places: Places

    def number_of_cells(self, table: TableClaim) -> int:
        """How many cells a table has."""
        return number_of_cells(list(self._lists(table)))

    def cells(self, table: TableClaim) -> dict[str, tuple[list[str], Codes]]:
        """All cells of a table, in their order: for each key its labels, and for each cell which of them it has."""
        return every_cell(list(self._lists(table)))

    def _lists(self, table: TableClaim) -> Iterator[Lists]:
        for mode in modes(self.manifest):
            yield {key: self.labels(table, key, mode) for key in self.manifest.keys(table)}

    def labels(self, table: TableClaim, key: str, mode: str) -> tuple[str, ...]:
        """The public list of a key."""
        kind = self.manifest.columns[key]
        if key == "mode":
            return (mode,)
        if kind == "date" and self.manifest.days:
            return self.manifest.calendar["date"]
        if kind == "time":
            return self.manifest.times(table).within_hours(self.manifest.hours(mode))
        if kind == "duration" and self.manifest.durations:
            return TimeBins.parts(self.manifest.durations).labels
        if kind == "calendar":
            return tuple(sorted(set(self.manifest.calendar[key])))
        if kind == "location":
            return self.places[mode]
        if kind == "label" and self.manifest.lists:
            return self.manifest.lists[key]
        raise ValueError(f"there is no public list of {key}")


def modes(manifest: Manifest) -> tuple[str, ...]:
    """The modes that cells are apart by."""
    return (manifest.covers.modes or ()) if "mode" in manifest.partition else (EVERY_MODE,)


def places_text(places: Places) -> str:
    """`world.csv`."""
    written = io.StringIO(newline="")
    rows = ((mode, place) for mode, listed in places.items() for place in listed)
    csv.writer(written, lineterminator="\n").writerows([COLUMNS, *rows])
    return written.getvalue()


def places_in_world(manifest: Manifest, text: str) -> Places:
    """The places of a folder; ValueError where they are not those of its modes, or not written in the one way."""
    found: dict[str, list[str]] = {mode: [] for mode in modes(manifest)}
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        for mode, place in rows:
            found[mode].append(place)
    except (csv.Error, KeyError) as error:
        raise ValueError("is not a list of places by mode") from error
    places = {mode: tuple(listed) for mode, listed in found.items()}
    if tuple(header) != COLUMNS or places_text(places) != text:
        raise ValueError("is not written as a release writes it")
    for listed in places.values():
        if UNKNOWN not in listed or list(listed) != sorted(set(listed)) or not all(listed):
            raise ValueError(f"does not list each place once, in order, with one entry {UNKNOWN} for all others")
    return places


def has_places(manifest: Manifest) -> bool:
    """Whether some table has places, so that there is a list of them."""
    return manifest.is_world and "location" in manifest.columns.values()
