"""The synthetic trips of a folder of a known world: one row each, whose sums are its estimates.

They follow from the measurements and public facts alone. They look like trips and are nobody's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from tapveil.base.layouts import MOST_IN_CSV
from tapveil.base.vocabulary import TRIPS
from tapveil.published.describe.wording import wording
from tapveil.published.estimated import Estimated
from tapveil.published.manifest import Manifest

NAME = "synthetic_trips"
"""Of the files: whoever has one of them alone knows what it is."""
NOTE = "description"
"""The key in the footer of the Parquet file under which it says so."""
_ORDER = ("tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location", "duration")


def note(manifest: Manifest) -> str:
    """What a file of synthetic trips says of itself."""
    return wording(manifest.versions.package or 1).say("package.trips")


@dataclass(frozen=True)
class SyntheticTrips:
    """All synthetic trips of a folder, made when they are asked for: never more in memory than some of one day."""

    estimated: Estimated

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The mode, where tables have it, the day, and both ends of a trip as far as they were measured."""
        made = next(iter(self.estimated.by_mode.values())).trip_columns
        mode = ["mode"] if "mode" in self.estimated.domain.manifest.partition else []
        return (*mode, *self.estimated.day_columns, *(column for column in _ORDER if column in made))

    @cached_property
    def number(self) -> int:
        """How many there are."""
        return sum(int(day.sum(dtype=np.int64)) for each in self.estimated.by_mode.values() for day in each.days)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, the first of which the data dictionary describes."""
        forms = ("csv", "parquet") if self.number <= MOST_IN_CSV else ("parquet",)
        return tuple(f"{TRIPS}/{NAME}.{form}" for form in forms)

    def pieces(self) -> Iterator[pa.Table]:
        """The rows in order, mode by mode and day by day, as codes of their labels."""
        lists = {column: self.estimated.all_labels(column) for column in self.columns}
        texts = {column: pa.array(labels, pa.string()) for column, labels in lists.items()}
        yield pa.table({column: _coded(np.zeros(0, np.int32), texts[column]) for column in self.columns})
        for mode, estimates in self.estimated.by_mode.items():
            place = {
                column: np.array(
                    [lists[column].index(label) for label in self.estimated.labels(column, mode)], np.int32
                )
                for column in self.columns
            }
            for day in range(estimates.world.days):
                for rows in estimates.some_trips(day):
                    size = len(next(iter(rows.values())))
                    same = {"mode": np.zeros(size, np.int32), "date": np.full(size, day, np.int32)}
                    labels = self.estimated.day_labels
                    same |= {column: np.full(size, entries[day], np.int32) for column, entries in labels.items()}
                    codes = {column: place[column][{**same, **rows}[column]] for column in self.columns}
                    yield pa.table({column: _coded(codes[column], texts[column]) for column in self.columns})


def _coded(codes: np.ndarray[tuple[int], np.dtype[np.int32]], texts: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes), texts)
