"""What the page of a series holds: the numbers of every mode and every place by day, with their noise.

All of it is published, or follows from the manifests: variances of the noise, what a cell that is not published has at
most, and which days have the same definition. With these the page compares periods as the reader does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tapveil.base.vocabulary import COUNT, HIGH, LOW, TOTAL
from tapveil.published.frame import DATE, Frame

if TYPE_CHECKING:
    from tapveil.published.series.reading import Series

MOST_PLACES = 3_000
"""Places with a history on the page: those with most trips."""
NOT_KNOWN = -1
"""How much a number leaves out, where nobody knows."""


@dataclass(frozen=True)
class Source:
    """The table that some lines are of."""

    kind: str
    """`total` or `place`."""
    table: str
    frame: Frame


def data(series: Series, contents: Mapping[str, Any]) -> dict[str, Any]:
    """Lines by day, of every mode and of every place; and what is true of all lines of a table."""
    sources = [source for source in (_totals(series), _places(series)) if source]
    days = series.days
    releases = [{name: each[name] for name in ("name", "first_day", "last_day")} for each in contents["releases"]]
    holidays = {day.isoformat() for folder in series.folders for day in folder.manifest.holidays or ()}
    return {
        **{name: contents[name] for name in ("title", "breaks", "gaps")},
        "releases": releases,
        "days": days,
        "holidays": sorted(holidays),
        "kinds": {source.kind: _of_days(series, source, days) for source in sources},
        "lines": [line for source in sources for line in _lines(source, days)],
    }


def _totals(series: Series) -> Source | None:
    """The numbers of whole days: published totals, or else sums over all times."""
    keys = {claim.name: folder.manifest.keys(claim) for folder in series.folders for claim in folder.manifest.tables}
    if TOTAL in keys and DATE in keys[TOTAL]:
        return Source("total", TOTAL, series.totals)
    kinds = series.folders[-1].manifest.columns
    for name, own in keys.items():
        if DATE in own and [kinds.get(key) for key in own if key not in (DATE, "mode")] == ["time"]:
            frame = series.table(name)
            return Source("total", name, frame.sum(by=[key for key in frame.keys if key in (DATE, "mode")]))
    return None


def _places(series: Series) -> Source | None:
    """The first table of places by day."""
    kinds = series.folders[-1].manifest.columns
    for claim in series.folders[-1].manifest.tables:
        own = series.folders[-1].manifest.keys(claim)
        if DATE in own and [kinds[key] for key in own if key not in (DATE, "mode")] == ["location"]:
            return Source("place", claim.name, series.table(claim.name))
    return None


def _of_days(series: Series, source: Source, days: Sequence[str]) -> dict[str, Any]:
    """Of each day: its definition (0 where the table has no number of it), its noise, and what an absent cell has."""
    frame, definitions = source.frame, series._definitions(source.table)
    listed, counted = {*frame.cells[DATE].tolist()}, {*frame.days}
    noise = _noise_of_days(frame)
    return {
        "table": source.table,
        "gaussian": frame._is_gaussian,
        "definition": [definitions[day] if day in listed else 0 for day in days],
        "absent": [_most(frame.absents.get(day, np.inf)) if day in counted else None for day in days],
        "noise": [noise.get(day, 0.0) for day in days],
    }


def _noise_of_days(frame: Frame) -> dict[str, float]:
    """The noise of the first number of each day: mostly that of all."""
    return dict(zip(reversed(frame.cells[DATE].tolist()), reversed(_variances(frame)), strict=True))


def _variances(frame: Frame) -> list[float]:
    return [float(f"{each:.6g}") for each in frame._variances().tolist()]  # digits on which all machines agree


def _most(value: float) -> int:
    return int(np.ceil(value)) if value < 2**53 else NOT_KNOWN


def _lines(source: Source, days: Sequence[str]) -> list[dict[str, Any]]:
    """A line for each cell: of each day its count, and how far its interval goes below and above.

    A day without a count has no interval, or how much there is at least (`below`). `noise` and `missing` are there
    where a line differs from the others, or where its numbers leave something out.
    """
    frame, column = source.frame, {day: place for place, day in enumerate(days)}
    keys = [key for key in frame.keys if key != DATE]
    rows = dict[tuple[str, ...], list[int]]()
    for row, group in enumerate(frame._groups(keys)):
        rows.setdefault(group, []).append(row)
    of_row = frame.cells[DATE].tolist()
    count, low, high = (frame.cells[name].tolist() for name in (COUNT, LOW, HIGH))
    noise, of_day = _variances(frame), _noise_of_days(frame)
    missing = [0] * len(frame) if frame.left_out is None else [_most(each) for each in frame.left_out.tolist()]
    most = sorted(rows, key=lambda group: (-sum(count[row] or 0 for row in rows[group]), group))[:MOST_PLACES]
    found = []
    for group in sorted(most):
        line: dict[str, Any] = {name: [None] * len(days) for name in ("count", "below", "above")}
        own = rows[group]
        for row in own:
            at = column[of_row[row]]
            if count[row] is None:
                line["below"][at] = low[row]
            else:
                line["count"][at], line["below"][at] = count[row], count[row] - low[row]
                line["above"][at] = max(high[row] - count[row], 0)
        for name, values, differs in (
            ("noise", noise, any(noise[row] != of_day[of_row[row]] for row in own)),
            ("missing", missing, any(missing[row] for row in own)),
        ):
            if differs:
                line[name] = [0] * len(days)
                for row in own:
                    line[name][column[of_row[row]]] = values[row]
        found.append({"kind": source.kind, "names": list(group), **line})
    return found
