"""What the page holds: words from the manifest, the published tables as codes, the shapes of places.

Every part follows from files of the folder, so `verify` makes the page again and compares. Of a known world with
estimates it holds both, the estimates first. Large tables are in files next to the page, which are read when they are
asked for; what is too large even so is left out. Both by a rule that asks for sizes alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import CHECKSUMS, COUNT, ESTIMATES, HIGH, LOW, MANIFEST, PACKAGE, README, RIDER, WEIGHT
from tapveil.privacy.distribution import spread, variance
from tapveil.privacy.intervals import MISS
from tapveil.privacy.mechanisms import Gaussian, World
from tapveil.published.describe.wording import rounded_up, wording
from tapveil.published.explorer.columns import LARGEST, Integers, packed, width_of
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.published.places import FeatureCollection
from tapveil.published.sheets import DerivedSheet, whole

MOST_IN_PAGE = 1_000_000
"""Cells of the page itself: its first view takes less than a second on a modest machine. Larger tables are in files."""
IN_PAGE_OF_A_WORLD = 500_000
"""The same of estimates, which have four numbers each, and again of measurements."""
IN_A_FILE = 120_000
"""Cells of a file next to the page, but for a part that has more: a quarter of a megabyte."""
MOST_CELLS = 20_000_000
"""Of the page and its files: fifty megabytes. The page leaves out larger tables, and says so."""
MOST_OF_A_WORLD = 5_000_000
"""The same of estimates, and again of measurements."""
MOST_TYPICAL = 600_000
"""Cells of trips by kind of day."""
PLACES = "*place"
"""The list of places: a place is the same where people get on and where they get off. No column is so called."""
KINDS = ("weekday", "saturday", "sunday")
"""Kinds of day; holidays are like Sundays."""
PARTS_OF_DAY = (0, 6, 10, 15, 19)
"""When parts of the day start, where hours would be too many."""


@dataclass
class Contents:
    """The words and the columns of a page."""

    about: dict[str, Any]
    columns: list[bytes] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)
    """The columns of rows that are in files: the first is that of file 1."""

    @property
    def data(self) -> bytes:
        """All of it: the length of the words, the words as JSON, the columns in the order that the words name."""
        words = json.dumps(self.about, ensure_ascii=False, separators=(",", ":")).encode()
        return b"".join([len(words).to_bytes(4, "little"), words, *self.columns])


@dataclass(frozen=True, eq=False)
class Drawn:
    """A table as the page has it."""

    name: str
    path: str
    columns: tuple[str, ...]
    """Besides the partition."""
    claim: TableClaim | None
    """What the manifest says of it; None of an estimate."""
    times: TimeBins
    listed: tuple[str, ...]
    """The labels of the times that it has: those of the hours of service, where there are such."""
    pieces: Callable[[], Iterable[pa.Table]]
    """Its cells, some at a time: those of every day may be too many for the memory, and then for the page."""

    @cached_property
    def rows(self) -> int:
        """How many cells it has."""
        return sum(map(len, self.pieces()))

    @cached_property
    def cells(self) -> pa.Table:
        """All of them, of a table that the page shows."""
        return pa.concat_tables(self.pieces()).combine_chunks()

    @property
    def numbers(self) -> list[Integers]:
        """Its counts; of estimates with their intervals and weights."""
        names = (COUNT,) if self.claim else (COUNT, LOW, HIGH, WEIGHT)
        return [self.cells.column(name).to_numpy() for name in names]

    @property
    def fits(self) -> bool:
        """Whether a browser counts so far."""
        return max(map(_largest, self.pieces())) <= LARGEST


def contents(
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
    places: FeatureCollection | None,
) -> Contents:
    """The page's contents, from what the folder publishes: `tables` by their names."""
    stated, manifest = manifest, _drawn_as(manifest)
    measured = [_measured(manifest, table, tables[table.name]) for table in manifest.tables]
    estimated = [_estimate(manifest, sheet) for sheet in beside if sheet.folder == ESTIMATES]
    detailed = [each for each in estimated if each.columns]
    room = MOST_OF_A_WORLD if detailed else MOST_CELLS
    shown = [*_that_fit(detailed, room), *_that_fit(measured, room)]
    near = IN_PAGE_OF_A_WORLD if detailed else MOST_IN_PAGE
    inside = {each.path for some in (detailed, measured) for each in _that_fit([t for t in some if t in shown], near)}
    labels = _labels(manifest, shown)
    words = wording(manifest.versions.wording)
    losses = {each.neighbours: each.exact.loss for each in manifest.guarantees}
    promised = words.promise(manifest.unit, manifest.neighbours, losses, "promise_about")
    given = [words.say("totals.portals", number=len(manifest.totals))] if manifest.totals else []
    page = Contents(
        {
            "title": manifest.title,
            "publisher": next((each["title"] for each in package.get("contributors", [])), ""),
            "licence": next((each["name"] for each in package.get("licenses", [])), ""),
            "region": manifest.region or "",
            "created": manifest.created.isoformat(),
            "release": manifest.release,
            "counted": words.counted[manifest.unit],
            "promise": [_what_was_done(manifest, bool(detailed)), promised, *given, words.not_protected[manifest.unit]],
            "meaning": words.meaning(manifest.unit, losses[manifest.neighbours]),
            "people": _people(manifest),
            "partition": list(manifest.partition),
            "kinds": dict(manifest.columns),
            "holidays": [day.isoformat() for day in manifest.holidays or ()],
            "from_a_list": manifest.from_a_list,
            "every_cell": manifest.is_world,
            "cells": sum(map(len, tables.values())),
            "labels": labels,
            "left_out": [each.path for each in (*detailed, *measured) if each not in shown],
            "files": _files(manifest, package),
            "shapes": places["features"] if places else [],
        }
    )
    page.about["tables"] = [_table(manifest, each, labels, page, each.path in inside) for each in shown]
    page.about["total"] = _total(manifest, _totals(stated, tables), labels, page)
    total = next((each.cells for each in estimated if not each.columns), None)
    page.about["estimated_total"] = _total(manifest, total, labels, page)
    page.about["typical"] = _typical(manifest, [each for each in detailed if each not in shown], labels, page)
    return page


def _drawn_as(manifest: Manifest) -> Manifest:
    """With the tables that are drawn: all but the total. Where that is all there is, its last key is its column."""
    if tables := tuple(table for table in manifest.tables if table.columns):
        return manifest.model_copy(update={"tables": tables})
    *partition, last = manifest.partition
    alone = manifest.tables[0].model_copy(update={"columns": (last,)})
    return manifest.model_copy(update={"tables": (alone,), "partition": tuple(partition)})


def _measured(manifest: Manifest, table: TableClaim, cells: pa.Table) -> Drawn:
    times, listed = manifest.times(table), manifest.listed_times(table)
    return Drawn(table.name, manifest.files(table)[0], table.columns, table, times, listed, whole(cells))


def _estimate(manifest: Manifest, sheet: DerivedSheet) -> Drawn:
    columns = tuple(key for key in sheet.keys if key not in manifest.partition)
    alike = next(table for table in manifest.tables if table.level is None)  # estimates have the bins of the plan
    times, listed = manifest.times(alike), manifest.listed_times(alike)
    return Drawn(sheet.name, sheet.path, columns, None, times, listed, sheet.pieces)


def _totals(manifest: Manifest, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    """All trips of each part, with intervals, as they were published."""
    claim = next((table for table in manifest.tables if not table.columns), None)
    if claim is None or len(manifest.tables) == 1:
        return None
    cells = tables[claim.name]
    counts = cells.column(COUNT).to_numpy()
    low = np.maximum(_least(manifest), counts - claim.error_95)
    high = np.maximum(0, counts + claim.error_95)
    keys = {key: cells.column(key) for key in manifest.partition}
    return pa.table({**keys, COUNT: np.maximum(counts, 0), LOW: low, HIGH: high})


def _least(manifest: Manifest) -> int:
    """The least true count of a published cell."""
    return 0 if manifest.from_a_list or manifest.is_world else 1


def _that_fit(tables: Sequence[Drawn], room: int) -> list[Drawn]:
    """The tables that the page has room for: the smallest first, so that it always has something to show."""
    fit = set()
    for table in sorted(tables, key=lambda each: (each.rows, each.name)):
        room -= table.rows
        if room >= 0 and table.fits:
            fit.add(table.name)
    return [each for each in tables if each.name in fit]


def _largest(cells: pa.Table) -> int:
    return max((pc.max(cells.column(name)).as_py() or 0) for name in (COUNT, HIGH) if name in cells.column_names)


def _what_was_done(manifest: Manifest, estimated: bool) -> str:
    """In one sentence, with all that makes a number another than the one that was counted."""
    words, bounds = wording(manifest.versions.wording), manifest.bounds
    limits = {"page.a_day": bounds.trips_per_day, "page.in_all": bounds.trips_per_card}
    at_most = " and ".join(words.say(name, most=most) for name, most in limits.items() if most)
    counted = words.counted[manifest.unit]
    cut = words.say("page.at_most", counted=counted, limits=at_most) if at_most else counted
    if manifest.is_world:
        return words.say("page.done_estimated" if estimated else "page.done_measured", counted=cut)
    return words.say("page.done_from_a_list" if manifest.from_a_list else "page.done", counted=cut)


def _people(manifest: Manifest) -> dict[str, Any] | None:
    """What the release, and a year of such releases, is worth for all trips of a person: sentences, and a table."""
    if not manifest.people:
        return None
    words, year = wording(manifest.versions.wording), max(each.releases for each in manifest.people)
    said = [words.say("page.people", part=words.say(f"part_of_a_person.{manifest.unit}"))]
    if year > 1:
        said.append(words.say("page.people_year", releases=year))
    if any(each.epsilon is None for each in manifest.people):
        said.append(words.say("no_epsilon"))
    rows = [
        {
            "week": each.trips_per_week,
            "releases": each.releases,
            "trips": each.trips,
            "epsilon": "none" if each.epsilon is None else rounded_up(Fraction(str(each.epsilon))),
            "believed": list(each.believed or ()),
            "verdict": words.say(f"verdict.{each.verdict}"),
        }
        for each in manifest.people
    ]
    return {"said": said, "rows": rows}


def _files(manifest: Manifest, package: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a person may want to open next."""
    ours = {RIDER: "rider"} if manifest.versions.rider else {}
    ours |= {README: "readme", MANIFEST: "manifest", PACKAGE: "package", CHECKSUMS: "checksums"}
    titles = {path: wording(manifest.versions.wording).say(f"page.{name}") for path, name in ours.items()}
    shown = [each for each in package["resources"] if not each["path"].startswith("synthetic/")]
    titles |= {each["path"]: each["title"] for each in shown}
    return [{"path": path, "title": title} for path, title in titles.items()]


# --- tables as codes ------------------------------------------------------------------------------------------------


def _list_of(manifest: Manifest, column: str, table: Drawn | None = None) -> str:
    """Which list of labels a column is coded by; wider areas are no places, though they may have the same names."""
    if manifest.columns[column] != "location":
        return column
    level = table.claim.level if table and table.claim and column in table.columns else None
    return f"{PLACES} {level.location}" if level and level.location else PLACES


def _labels(manifest: Manifest, tables: Iterable[Drawn]) -> dict[str, list[str]]:
    """Every list of labels: only what is published, in the order of the alphabet. Times have their own, per table."""
    found: dict[str, set[str]] = {}
    for table in tables:
        for column in (*manifest.partition, *table.columns):
            if manifest.columns[column] != "time":
                texts = found.setdefault(_list_of(manifest, column, table), set())
                texts.update(map(str, pc.unique(table.cells.column(column)).to_pylist()))
    return {name: sorted(texts) for name, texts in sorted(found.items())}


def _table(
    manifest: Manifest, table: Drawn, labels: Mapping[str, Sequence[str]], page: Contents, inside: bool
) -> dict[str, Any]:
    """One table: its description for the page; its columns are added to the contents, or to files next to it."""
    times, keys, claim = table.listed, (*manifest.partition, *table.columns), table.claim
    lists = {key: _list_of(manifest, key, table) for key in keys if manifest.columns[key] != "time"}
    codes = [_codes(table.cells.column(key), labels[lists[key]] if key in lists else times) for key in keys]
    counts, *others = table.numbers
    start = int(counts.min(initial=0))  # measurements may be negative
    timed = len(lists) < len(keys)
    about = {
        "name": table.name,
        "path": table.path,
        "columns": list(table.columns),
        "lists": lists,
        "wider": (claim and claim.level and claim.level.location) or "",
        "times": list(times[1:]) if timed else [],
        "until": [table.times.ends[label] for label in times[1:]] if timed else [],
        "rows": len(table.cells),
        "from": start,
        "estimate": claim is None,
    }
    columns = _in_order(codes, [counts - start, *others])
    if inside:
        about["blocks"] = [{"rows": len(table.cells), "widths": _write(page.columns, columns, len(keys)), "file": None}]
    else:
        about |= _in_files(manifest, page, columns, len(keys), start)
        about["busy"] = {
            key: int(np.argmax(np.bincount(code, weights=np.maximum(counts, 0))))
            for key, code in zip(keys, codes, strict=True)
            if key in table.columns and len(counts)
        }
    if claim is None:
        return {
            **about,
            "half": 0,
            "change": 0,
            "variance": 0,
            "gaussian": False,
            "least": 0,
            "absent": 0,
            "smallest": 1,
        }
    mechanism = manifest.mechanism_of(claim)
    return {
        **about,
        "half": claim.error_95,
        # Of two counts that are both published; cells that are not have the other half of the misses.
        "change": spread({mechanism: 2}, MISS / 2),
        "variance": float(f"{variance(mechanism):.6g}"),  # digits on which all machines agree
        "gaussian": isinstance(mechanism, Gaussian | World),
        "least": _least(manifest),
        "absent": claim.absent_95,
        "smallest": 1 if manifest.is_world else claim.smallest_published,
        "mean_error": claim.mean_error,
        "noise": wording(manifest.versions.wording).noise[claim.noise],
    }


def _total(
    manifest: Manifest, cells: pa.Table | None, labels: Mapping[str, Sequence[str]], page: Contents
) -> dict[str, Any] | None:
    """All trips of each part; parts that no table has are not asked for."""
    if cells is None or _largest(cells) > LARGEST:
        return None
    codes = [_codes(cells.column(key), labels.get(_list_of(manifest, key), [])) for key in manifest.partition]
    known = np.ones(len(cells), dtype=bool)
    for code in codes:
        known &= code >= 0
    numbers = [cells.column(name).to_numpy()[known] for name in (COUNT, LOW, HIGH)]
    return {"rows": int(known.sum()), "widths": _add(page, [code[known] for code in codes], numbers)}


def _codes(column: pa.ChunkedArray, labels: Sequence[str]) -> Integers:
    """Where each value stands in a list; -1 where it does not."""
    places = {label: place for place, label in enumerate(labels)}
    coded = column.dictionary_encode().combine_chunks()
    own = np.array([places.get(str(each), -1) for each in coded.dictionary.to_pylist()], dtype=np.int64)
    return own[coded.indices.to_numpy()] if len(own) else np.zeros(0, dtype=np.int64)


def _are_in_order(codes: Sequence[Integers]) -> bool:
    same = np.ones(max(len(codes[0]) - 1, 0), dtype=bool) if codes else np.zeros(0, dtype=bool)
    for code in codes:  # as long as the codes before are the same, the next must not fall
        step = np.diff(code)
        if (same & (step < 0)).any():
            return False
        same &= step == 0
    return True


def _in_order(codes: list[Integers], numbers: list[Integers]) -> list[Integers]:
    """Columns, sorted by the codes."""
    columns = [*codes, *numbers]
    if _are_in_order(codes):  # mostly they are
        return columns
    order = np.lexsort(codes[::-1])
    return [column[order] for column in columns]


def _write(out: list[bytes], columns: Sequence[Integers], keys: int) -> list[int]:
    """Columns as bytes, the first of which are keys and are written as differences; how wide each is."""
    widths = [width_of(column) for column in columns]
    for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
        out.append(packed(column, width, differences=index < keys))
    return widths


def _add(page: Contents, codes: list[Integers], numbers: list[Integers]) -> list[int]:
    """Columns into the page, sorted by the codes; how wide each is."""
    return _write(page.columns, _in_order(codes, numbers), len(codes))


def _in_files(manifest: Manifest, page: Contents, columns: Sequence[Integers], keys: int, start: int) -> dict[str, Any]:
    """A table in files, some parts of the data in each; the page knows of each part where it is, and how busy."""
    partition, counts = columns[: len(manifest.partition)], columns[keys] + start
    begins = np.zeros(len(counts), dtype=bool)
    begins[0] = True  # a table of no rows is small, and in the page
    for code in partition:
        begins[1:] |= np.diff(code) != 0
    starts = np.flatnonzero(begins)
    sizes = np.diff(np.append(starts, len(counts)))
    most, sums = np.maximum.reduceat(counts, starts), np.add.reduceat(counts, starts)
    facts = [sizes, np.maximum(most, 2), np.maximum(sums, 0)]
    widths = _write(page.columns, [*(code[starts] for code in partition), *facts], len(partition))
    blocks = []
    for first, last in _filled(sizes):
        rows, part = slice(int(first), int(last)), list[bytes]()
        found = {"rows": int(last - first), "widths": _write(part, [column[rows] for column in columns], keys)}
        page.parts.append(b"".join(part))
        blocks.append({**found, "file": len(page.parts)})
    return {"spans": {"rows": len(starts), "widths": widths}, "blocks": blocks}


def _filled(sizes: Integers) -> Iterator[tuple[int, int]]:
    """The rows of each file: as many parts as it has room for, and one at least."""
    first = last = 0
    for size in map(int, sizes):
        if last > first and last + size - first > IN_A_FILE:
            yield first, last
            first = last
        last += size
    yield first, last


# --- typical days ---------------------------------------------------------------------------------------------------


def _typical(
    manifest: Manifest, left_out: Sequence[Drawn], labels: Mapping[str, Sequence[str]], page: Contents
) -> dict[str, Any] | None:
    """Whole trips by time and kind of day, where those of every day are too many: sums of estimates."""
    table = next((each for each in left_out if _is_whole(manifest, each)), None)
    lists = [PLACES, *manifest.partition]
    if table is None or manifest.partition[-1:] != ("date",) or not all(each in labels for each in lists):
        return None
    days = labels["date"]
    kinds = np.array([kind_of_day(manifest, day) for day in days], dtype=np.int64)
    time = next(column for column in table.columns if manifest.columns[column] == "time")
    places = [column for column in table.columns if manifest.columns[column] == "location"]
    keys = [*manifest.partition[:-1], *places]
    for each in (table.times, _parts_of_day(table.times)):
        starts = np.searchsorted(each.starts, table.times.starts, side="right")
        parts = []
        for cells in table.pieces():
            codes = [_codes(cells.column(key), labels[_list_of(manifest, key)]) for key in keys]
            day, bins = _codes(cells.column("date"), days), _codes(cells.column(time), table.times.labels)
            own = np.concatenate([[0], starts])[bins]
            parts.append(_summed([*codes[:-2], kinds[day], own, *codes[-2:]], cells.column(COUNT).to_numpy()))
        together = [np.concatenate(column) for column in zip(*(codes for codes, _ in parts), strict=True)]
        found, sums = _summed(together, np.concatenate([sums for _, sums in parts]))
        if len(sums) <= MOST_TYPICAL:
            return {
                "columns": [*keys[:-2], "kind", time, *places],
                "path": table.path,
                "days": [int((kinds == kind).sum()) for kind in range(len(KINDS))],
                "times": list(each.labels[1:]),
                "until": list(each.ends.values()),
                "rows": len(sums),
                "widths": _add(page, found, [sums]),
            }
    return None


def _is_whole(manifest: Manifest, table: Drawn) -> bool:
    """Whether it has both ends of a trip and a time."""
    kinds = [manifest.columns[column] for column in table.columns]
    return kinds.count("location") == 2 and kinds.count("time") == 1 and len(kinds) == 3


def kind_of_day(manifest: Manifest, day: str) -> int:
    """0 a weekday, 1 a Saturday, 2 a Sunday or a holiday."""
    found = date.fromisoformat(day)
    return 2 if found in (manifest.holidays or ()) else max(0, found.weekday() - 4)


def _parts_of_day(times: TimeBins) -> TimeBins:
    """Bins of some hours; a bin of the table belongs to the part in which it starts."""
    wanted = TimeBins.parts([60 * hour for hour in PARTS_OF_DAY], times.first).starts
    return TimeBins(tuple(sorted({min(each for each in times.starts if each >= start) for start in wanted})))


def _summed(codes: Sequence[Integers], counts: Integers) -> tuple[list[Integers], Integers]:
    """The sum over each combination of codes."""
    shape = [int(code.max(initial=0)) + 1 for code in codes]
    cells, places = np.unique(np.ravel_multi_index(tuple(codes), shape), return_inverse=True)
    sums: npt.NDArray[np.int64] = np.zeros(len(cells), dtype=np.int64)
    np.add.at(sums, places, counts)
    return [np.asarray(each, dtype=np.int64) for each in np.unravel_index(cells, shape)], sums
