"""What the page holds: words from the manifest, the published tables as codes, the shapes of places.

Every part follows from files of the folder, so `verify` makes the page again and compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.base.vocabulary import CHECKSUMS, COUNT, HIGH, LOW, MANIFEST, PACKAGE, README
from tapveil.published.describe.wording import wording
from tapveil.published.explorer.columns import LARGEST, Integers, packed, width_of
from tapveil.published.lattice import Labels
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.published.places import FeatureCollection
from tapveil.published.sheets import DerivedSheet

MOST_CELLS = 3_000_000
"""What a browser on a modest machine still opens at ease; the page leaves out larger tables, and says so."""
PLACES = "*place"
"""The list of places: a place is the same where people get on and where they get off. No column is so called."""


@dataclass
class Contents:
    """The words and the columns of a page."""

    about: dict[str, Any]
    columns: list[bytes] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        """All of it: the length of the words, the words as JSON, the columns in the order that the words name."""
        words = json.dumps(self.about, ensure_ascii=False, separators=(",", ":")).encode()
        return b"".join([len(words).to_bytes(4, "little"), words, *self.columns])


def contents(
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
    places: FeatureCollection | None,
) -> Contents:
    """The page's contents, from what the folder publishes: `tables` by their names, keys as texts."""
    stated, manifest = manifest, _drawn_as(manifest)
    shown = _that_fit(manifest, tables)
    if manifest.is_world:
        tables = {name: _drawn(cells) if name in shown else cells for name, cells in tables.items()}
    labels = _labels(manifest, {name: tables[name] for name in shown})
    words = wording(manifest.versions.wording)
    losses = {each.neighbours: each.exact.loss for each in manifest.guarantees}
    promised = words.promise(manifest.unit, manifest.neighbours, losses, "promise_about")
    page = Contents(
        {
            "title": manifest.title,
            "publisher": next((each["title"] for each in package.get("contributors", [])), ""),
            "licence": next((each["name"] for each in package.get("licenses", [])), ""),
            "region": manifest.region or "",
            "created": manifest.created.isoformat(),
            "release": manifest.release,
            "counted": words.counted[manifest.unit],
            "promise": [_what_was_done(manifest), promised, words.not_protected[manifest.unit]],
            "partition": list(manifest.partition),
            "kinds": dict(manifest.columns),
            "from_a_list": manifest.from_a_list,
            "cells": sum(map(len, tables.values())),
            "labels": labels,
            "left_out": [table.name for table in manifest.tables if table.name not in shown],
            "files": _files(manifest, package),
            "shapes": places["features"] if places else [],
        }
    )
    if manifest.is_world:
        page.about["every_cell"] = True
    page.about["tables"] = [
        _table(manifest, table, tables[table.name], labels, page) for table in manifest.tables if table.name in shown
    ]
    total = _totals(stated, tables)
    fits = total is not None and _largest(total) <= LARGEST
    page.about["total"] = _total(manifest, total, labels, page) if fits else None
    return page


def _drawn_as(manifest: Manifest) -> Manifest:
    """With the tables that are drawn: all but the total. Where that is all there is, its last key is its column."""
    if tables := tuple(table for table in manifest.tables if table.columns):
        return manifest.model_copy(update={"tables": tables})
    *partition, last = manifest.partition
    alone = manifest.tables[0].model_copy(update={"columns": (last,)})
    return manifest.model_copy(update={"tables": (alone,), "partition": tuple(partition)})


def _totals(manifest: Manifest, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    """All trips of each part, with intervals."""
    claim = next((table for table in manifest.tables if not table.columns), None)
    if claim is None or len(manifest.tables) == 1:
        return None
    cells = tables[claim.name]
    counts = cells.column(COUNT).to_numpy()
    low = np.maximum(_least(manifest), counts - claim.error_95)
    return cells.append_column(LOW, pa.array(low)).append_column(HIGH, pa.array(counts + claim.error_95))


def _least(manifest: Manifest) -> int:
    """The least true count of a published cell."""
    return 0 if manifest.from_a_list or manifest.is_world else 1


def _that_fit(manifest: Manifest, tables: Mapping[str, pa.Table]) -> set[str]:
    """The tables that the page has room for: the smallest first, so that it always has something to show."""
    room, fit = MOST_CELLS, set()
    for name in sorted((table.name for table in manifest.tables), key=lambda name: (len(tables[name]), name)):
        room -= len(tables[name])
        if room >= 0 and _largest(tables[name]) <= LARGEST:
            fit.add(name)
    return fit


def _drawn(cells: pa.Table) -> pa.Table:
    """The cells of a known world as they are drawn: keys as texts, and no number below zero."""
    keys = {name: cells.column(name).cast(pa.string()) for name in cells.column_names if name != COUNT}
    return pa.table({**keys, COUNT: np.maximum(cells.column(COUNT).to_numpy(), 0)})


def _largest(cells: pa.Table) -> int:
    return max((pc.max(cells.column(name)).as_py() or 0) for name in (COUNT, HIGH) if name in cells.column_names)


def _what_was_done(manifest: Manifest) -> str:
    """In one sentence, with all that makes a number another than the one that was counted."""
    words, bounds = wording(manifest.versions.wording), manifest.bounds
    limits = {"page.a_day": bounds.trips_per_day, "page.in_all": bounds.trips_per_card}
    at_most = " and ".join(words.say(name, most=most) for name, most in limits.items() if most)
    counted = words.counted[manifest.unit]
    cut = words.say("page.at_most", counted=counted, limits=at_most) if at_most else counted
    if manifest.is_world:
        return words.say("page.done_measured", counted=cut)
    return words.say("page.done_from_a_list" if manifest.from_a_list else "page.done", counted=cut)


def _files(manifest: Manifest, package: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a person may want to open next."""
    ours = {README: "readme", MANIFEST: "manifest", PACKAGE: "package", CHECKSUMS: "checksums"}
    titles = {path: wording(manifest.versions.wording).say(f"page.{name}") for path, name in ours.items()}
    shown = [each for each in package["resources"] if not each["path"].startswith("synthetic/")]
    titles |= {each["path"]: each["title"] for each in shown}
    return [{"path": path, "title": title} for path, title in titles.items()]


# --- tables as codes ------------------------------------------------------------------------------------------------


def _list_of(manifest: Manifest, column: str, table: TableClaim | None = None) -> str:
    """Which list of labels a column is coded by; wider areas are no places, though they may have the same names."""
    if manifest.columns[column] != "location":
        return column
    wider = table.level.location if table and table.level and column in table.columns else None
    return f"{PLACES} {wider}" if wider else PLACES


def _labels(manifest: Manifest, tables: Mapping[str, pa.Table]) -> dict[str, list[str]]:
    """Every list of labels: only what is published, in the order of the alphabet. Times have their own, per table."""
    found: dict[str, set[str]] = {}
    for table in manifest.tables:
        for column in manifest.keys(table) if table.name in tables else ():
            if manifest.columns[column] != "time":
                texts = found.setdefault(_list_of(manifest, column, table), set())
                texts.update(pc.unique(tables[table.name].column(column)).to_pylist())
    return {name: sorted(texts) for name, texts in sorted(found.items())}


def _table(
    manifest: Manifest, table: TableClaim, cells: pa.Table, labels: Mapping[str, Sequence[str]], page: Contents
) -> dict[str, Any]:
    """One table: its description for the page; its columns are added to the contents."""
    times, keys = manifest.times(table), manifest.keys(table)
    lists = {key: _list_of(manifest, key, table) for key in keys if manifest.columns[key] != "time"}
    codes = [_codes(cells.column(key), labels[lists[key]] if key in lists else times.labels) for key in keys]
    timed = len(lists) < len(keys)
    return {
        "name": table.name,
        "columns": list(table.columns),
        "lists": lists,
        "wider": (table.level and table.level.location) or "",
        "times": list(times.labels[1:]) if timed else [],
        "until": list(times.ends.values()) if timed else [],
        "rows": len(cells),
        "widths": _add(page, codes, [cells.column(COUNT).to_numpy()]),
        "half": table.error_95,
        "least": _least(manifest),
        "absent": table.absent_95,
        "smallest": 1 if manifest.is_world else table.smallest_published,
        "mean_error": table.mean_error,
        "noise": wording(manifest.versions.wording).noise[table.noise],
    }


def _total(
    manifest: Manifest, cells: pa.Table, labels: Mapping[str, Sequence[str]], page: Contents
) -> dict[str, Any] | None:
    """All trips of each part; parts that no table has are not asked for."""
    lists = [labels.get(_list_of(manifest, key), []) for key in manifest.partition]
    for key, each in zip(manifest.partition, lists, strict=True):
        cells = cells.filter(pc.is_in(cells.column(key), pa.array(each, pa.string())))
    codes = [_codes(cells.column(key), each) for key, each in zip(manifest.partition, lists, strict=True)]
    numbers = [cells.column(name).to_numpy() for name in (COUNT, LOW, HIGH)]
    return {"rows": len(cells), "widths": _add(page, codes, numbers)}


def _codes(column: pa.ChunkedArray, labels: Sequence[str]) -> Integers:
    places, ours = {label: place for place, label in enumerate(labels)}, Labels.of(column)
    return np.array([places[text] for text in ours.texts], dtype=np.int64)[ours.codes]


def _are_in_order(codes: Sequence[Integers]) -> bool:
    same = np.ones(max(len(codes[0]) - 1, 0), dtype=bool) if codes else np.zeros(0, dtype=bool)
    for code in codes:  # as long as the codes before are the same, the next must not fall
        step = np.diff(code)
        if (same & (step < 0)).any():
            return False
        same &= step == 0
    return True


def _add(page: Contents, codes: list[Integers], numbers: list[Integers]) -> list[int]:
    """Columns into the contents, sorted by the codes, which are written as differences; how wide each is."""
    columns = [*codes, *numbers]
    if not _are_in_order(codes):  # mostly they are
        order = np.lexsort(codes[::-1])
        columns = [column[order] for column in columns]
    widths = [width_of(column) for column in columns]
    for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
        page.columns.append(packed(column, width, differences=index < len(codes)))
    return widths
