"""Time bins and areas: the detail given up before counting.

Both are fixed by the plan alone, so giving up detail costs no privacy and promises none.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tapveil.errors import TripDataError, did_you_mean
from tapveil.plan import EVERY_MODE, MINUTES_PER_DAY, Lookup, Plan
from tapveil.trips import MISSING_TIME, UNKNOWN


@dataclass(frozen=True)
class TimeBins:
    """A day in bins of equal length. Code 0 is a missing time; the rest are the bins in order.

    >>> bins = TimeBins(15)
    >>> bins.code(451), bins.labels[bins.code(451)], bins.labels[bins.code(1465)], bins.labels[bins.code(-1)]
    (31, '07:30', '00:15', '-1')
    """

    minutes: int

    @property
    def labels(self) -> tuple[str, ...]:
        """`-1`, then the start of each bin as HH:MM: in the order of the codes, and of the alphabet."""
        starts = range(0, MINUTES_PER_DAY, self.minutes)
        return (str(MISSING_TIME), *(f"{start // 60:02d}:{start % 60:02d}" for start in starts))

    def code(self, minute: int) -> int:
        """The bin of a minute; after midnight starts the day again."""
        return 0 if minute == MISSING_TIME else 1 + minute % MINUTES_PER_DAY // self.minutes


@dataclass(frozen=True)
class Areas:
    """Which area a stop is published under: itself, unless its mode has a lookup."""

    lookups: Mapping[str, Mapping[str, str]]

    @property
    def by_mode(self) -> bool:
        """Whether the area of a stop depends on the mode."""
        return any(mode != EVERY_MODE for mode in self.lookups)

    def area(self, mode: str, stop: str) -> str:
        """The area of a stop; `UNKNOWN` where there is no stop, or the lookup does not know it."""
        lookup = self.lookups.get(mode, self.lookups.get(EVERY_MODE))
        if lookup is None:
            return stop or UNKNOWN
        return lookup.get(stop, UNKNOWN)


def read_areas(plan: Plan) -> Areas:
    """The lookups of a plan, read and checked."""
    return Areas(
        {mode: _read_lookup(plan.base / lookup.lookup, lookup) for mode, lookup in plan.coarsen.location.items()}
    )


def _read_lookup(path: Path, lookup: Lookup) -> dict[str, str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, delimiter=lookup.delimiter, skipinitialspace=True)
            rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
            _require_columns(path, lookup, rows.fieldnames)
            return _areas_by_stop(path, lookup, rows)
    except FileNotFoundError:
        raise TripDataError(
            f"there is no lookup {lookup.lookup} ([coarsen.location]; it starts from the plan)"
        ) from None
    except IsADirectoryError:
        raise TripDataError(f"the lookup {lookup.lookup} is a folder") from None
    except PermissionError:
        raise TripDataError(f"no permission to read the lookup {lookup.lookup}") from None
    except (UnicodeDecodeError, csv.Error):
        raise TripDataError(f"the lookup {lookup.lookup} is not a CSV file in UTF-8") from None


def _require_columns(path: Path, lookup: Lookup, columns: Sequence[str]) -> None:
    for wanted in (lookup.from_, lookup.to):
        if wanted not in columns:
            raise TripDataError(f"the lookup {path.name} has no column `{wanted}`{did_you_mean(wanted, columns)}")
        if columns.count(wanted) > 1:
            raise TripDataError(
                f"the lookup {path.name} has {columns.count(wanted)} columns named `{wanted}`; keep one"
            )


def _areas_by_stop(path: Path, lookup: Lookup, rows: csv.DictReader[str]) -> dict[str, str]:
    areas: dict[str, str] = {}
    for row in rows:
        stop, area = (row[lookup.from_] or "").strip(), (row[lookup.to] or "").strip() or UNKNOWN
        if areas.setdefault(stop, area) != area:
            raise TripDataError(
                f"{path.name}, line {rows.line_num}: stop `{stop}` has two values of `{lookup.to}`; keep one"
            )
    areas.pop("", None)
    return areas
