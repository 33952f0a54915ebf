"""What the page of a series holds, version 1: frozen, so that series that were written with it verify for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tapveil.base.vocabulary import COUNT, HIGH, LOW, TOTAL
from tapveil.published.frame import DATE, Frame

if TYPE_CHECKING:
    from tapveil.published.series.reading import Series

MOST_PLACES = 3_000
"""Places with a history on the page: those with most trips."""
NUMBERS_OF_A_LINE = ("count", "below", "above")


def data(series: Series, contents: Mapping[str, Any]) -> dict[str, Any]:
    """Lines by day: of every mode, and of every place."""
    days = series.days
    lines = [*_lines(_totals(series), "total", days)]
    if (places := _places(series)) is not None:
        lines += _lines(places, "place", days)
    about = {name: contents[name] for name in ("title", "releases", "breaks", "gaps")}
    return {**about, "days": days, "lines": lines}


def _totals(series: Series) -> Frame | None:
    """The numbers of whole days: published totals, or else sums over all times."""
    keys = {claim.name: folder.manifest.keys(claim) for folder in series.folders for claim in folder.manifest.tables}
    if TOTAL in keys and DATE in keys[TOTAL]:
        return series.totals
    kinds = series.folders[-1].manifest.columns
    for name, own in keys.items():
        if DATE in own and [kinds.get(key) for key in own if key not in (DATE, "mode")] == ["time"]:
            frame = series.table(name)
            return frame.sum(by=[key for key in frame.keys if key in (DATE, "mode")])
    return None


def _places(series: Series) -> Frame | None:
    """The first table of places by day."""
    kinds = series.folders[-1].manifest.columns
    for claim in series.folders[-1].manifest.tables:
        own = series.folders[-1].manifest.keys(claim)
        if DATE in own and [kinds[key] for key in own if key not in (DATE, "mode")] == ["location"]:
            return series.table(claim.name)
    return None


def _lines(frame: Frame | None, kind: str, days: list[str]) -> list[dict[str, Any]]:
    """A line for each cell: of each day its count, or none, and how far its interval goes."""
    if frame is None:
        return []
    keys = [key for key in frame.keys if key != DATE]
    column = {day: place for place, day in enumerate(days)}
    rows = dict[tuple[str, ...], list[int]]()
    for row, group in enumerate(frame._groups(keys)):
        rows.setdefault(group, []).append(row)
    at = [column[day] for day in frame.cells[DATE].tolist()]
    count, low, high = (np.ma.filled(frame.cells[name], -1).tolist() for name in (COUNT, LOW, HIGH))
    found = []
    ordered = sorted(rows, key=lambda group: (-sum(count[row] for row in rows[group]), group))[:MOST_PLACES]
    for group in sorted(ordered):
        line: dict[str, list[int | None]] = {name: [None] * len(days) for name in NUMBERS_OF_A_LINE}
        for row in rows[group]:
            values = (count[row], count[row] - low[row], max(high[row] - count[row], 0))
            for name, value in zip(line, values, strict=True):
                line[name][at[row]] = value
        found.append({"kind": kind, "names": list(group), **line})
    absent = [int(value) if (value := frame.absents.get(day, -1)) < 2**53 else -1 for day in days]
    return [{**line, "absent": absent if number == 0 else 0} for number, line in enumerate(found)]
