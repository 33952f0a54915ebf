"""Checks the derived tables of a folder: they are recomputed from its tables and compared, number for number."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from tapveil.base.findings import Finding
from tapveil.base.vocabulary import CONSISTENT, COUNT, HIGH, LOW, WIDER
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.derived import derived
from tapveil.published.estimated import Estimated
from tapveil.published.lattice import WIDER_COLUMNS, Ints, Wider
from tapveil.published.manifest import Manifest
from tapveil.published.places import name_findings
from tapveil.published.sheets import DerivedSheet, raw_tables, whole
from tapveil.published.synthetic_trips import SyntheticTrips, note
from tapveil.verification import reading
from tapveil.verification.known_versions import LARGEST_PLACES
from tapveil.verification.reading import UnreadableError
from tapveil.verification.tables import (
    ROWS_AT_ONCE,
    csv_batches,
    is_written_otherwise,
    number_of_rows,
    parquet_batches,
    same_rows,
)

ROUNDED = 1
"""Largest difference to a number that another build computed."""
LIMITS = {LOW, HIGH, "other_low", "other_high"}
"""Numbers from which nothing else is computed."""
MOST_CELLS = 20_000_000
"""Beyond it, nothing is computed again: it would take more memory than the machine of whoever verifies it may have."""


def published_tables(folder: Path, manifest: Manifest) -> dict[str, pa.Table]:
    """The tables of a folder, which have been found to be sound, by their names."""
    sheets = {
        name: _texts(folder, f"data/{name}.csv", (*keys, *manifest.numbers)).select([*keys, COUNT])
        for name, keys in manifest.sheets.items()
    }
    if sum(map(len, sheets.values())) > MOST_CELLS:
        raise UnreadableError("too-large", ".", "has too many cells to be recomputed")
    return raw_tables(manifest, sheets)


def derived_sheets(
    folder: Path,
    manifest: Manifest,
    made: Mapping[str, Mechanism],
    tables: Mapping[str, pa.Table],
    estimated: Estimated | None = None,
) -> list[DerivedSheet]:
    """The sheets that follow from the tables."""
    return derived(manifest, made, tables, _wider(folder, manifest), estimated=estimated)


def rounded_otherwise(
    folder: Path,
    manifest: Manifest,
    made: Mapping[str, Mechanism],
    tables: Mapping[str, pa.Table],
    ours: Sequence[DerivedSheet],
) -> list[DerivedSheet] | None:
    """The sheets as they lie in the folder, if only a rounding tells them from ours; None if anything else does.

    The consistent version is computed in floats, and another build of their library may round a number the other way.
    So a count may be one more or one less than ours. Then all that is made of counts must be just what is made of
    these: sums stay exact. Limits may differ by one.
    """
    found = [_as_it_lies(folder, sheet) for sheet in ours]
    given = {sheet.name: _numbers(sheet, COUNT) for sheet in found if sheet and _is_table(sheet)}
    again = derived(manifest, made, tables, _wider(folder, manifest), given) if None not in found else []
    every = [(theirs, sheet, first) for theirs, sheet, first in zip(found, again, ours, strict=False) if theirs]
    sound = len(every) == len(ours) and all(_rounds_to(*each) for each in every)
    return [theirs for theirs, _, _ in every] if sound else None


def _is_table(sheet: DerivedSheet) -> bool:
    return sheet.folder == CONSISTENT and sheet.numbers[0] == COUNT


def _as_it_lies(folder: Path, sheet: DerivedSheet) -> DerivedSheet | None:
    """A sheet as the folder has it; None where that is not even such a sheet."""
    columns = (*sheet.keys, *sheet.numbers)
    try:
        texts = _texts(folder, sheet.path, columns)
        numbers = {name: texts.column(name).cast(pa.int64()) for name in sheet.numbers}
    except (UnreadableError, pa.ArrowException, OSError):
        return None
    cells = pa.table({**{key: texts.column(key) for key in sheet.keys}, **numbers})
    return replace(sheet, pieces=whole(cells)) if len(cells) == len(sheet.cells) else None


def _rounds_to(theirs: DerivedSheet, exact: DerivedSheet, ours: DerivedSheet) -> bool:
    if any(
        theirs.cells.column(key).to_pylist() != exact.cells.column(key).cast(pa.string()).to_pylist()
        for key in theirs.keys
    ):
        return False
    off = {name: np.abs(_numbers(theirs, name) - _numbers(exact, name)).max(initial=0) for name in theirs.numbers}
    moved = np.abs(_numbers(theirs, COUNT) - _numbers(ours, COUNT)).max(initial=0) if _is_table(theirs) else 0
    least = min(_numbers(theirs, name).min(initial=0) for name in theirs.numbers)
    return moved <= ROUNDED and least >= 0 and all(each <= (name in LIMITS) * ROUNDED for name, each in off.items())


def _numbers(sheet: DerivedSheet, name: str) -> Ints:
    return np.asarray(sheet.cells.column(name).to_numpy())


def _texts(folder: Path, path: str, columns: tuple[str, ...]) -> pa.Table:
    """A CSV file as texts; one with no rows has its columns all the same."""
    none = pa.table({column: pa.array([], pa.string()) for column in columns})
    return pa.concat_tables([none, *csv_batches(folder, path, columns)])


def sheet_findings(folder: Path, sheet: DerivedSheet) -> Iterator[Finding]:
    """Whether a file says what follows from the tables."""
    columns = (*sheet.keys, *sheet.numbers)
    batches = csv_batches if sheet.form == "csv" else parquet_batches
    try:
        ours = (piece for each in sheet.pieces() for piece in _as_texts(each, columns))
        if not same_rows(ours, batches(folder, sheet.path, columns)):
            yield Finding("derived-differs", sheet.path, "does not follow from the published tables")
        elif sheet.form == "csv" and is_written_otherwise(folder, sheet.path, columns):
            yield Finding("hidden-data", sheet.path, reading.NOT_CANONICAL)
    except UnreadableError as error:
        yield error.finding


def trips_findings(folder: Path, manifest: Manifest, trips: SyntheticTrips) -> Iterator[Finding]:
    """Whether the synthetic trips are those that follow from the measurements: each row, in order, in each file."""
    *twins, parquet = trips.paths
    try:
        if number_of_rows(folder, parquet) != trips.number:  # before any is made: a stranger's number may be huge
            yield Finding("trips-differ", parquet, "does not have as many rows as there are estimated trips")
            return
        said = note(manifest)
        for path in (parquet, *twins):
            found = csv_batches(folder, path, trips.columns) if path in twins else None
            rows = found or parquet_batches(folder, path, trips.columns, note=said)
            if not same_rows((piece for each in trips.pieces() for piece in _as_texts(each, trips.columns)), rows):
                yield Finding("trips-differ", path, "does not follow from the measurements")
            elif path in twins and is_written_otherwise(folder, path, trips.columns):
                yield Finding("hidden-data", path, reading.NOT_CANONICAL)
    except UnreadableError as error:
        yield error.finding


def _as_texts(cells: pa.Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Every value as text, some rows at a time."""
    for start in range(0, len(cells), ROWS_AT_ONCE):
        piece = cells.slice(start, ROWS_AT_ONCE)
        yield pa.table({column: piece.column(column).cast(pa.string()) for column in columns})


def wider_findings(folder: Path, manifest: Manifest, tables: Mapping[str, pa.Table]) -> Iterator[Finding]:
    """Whether the wider areas are those of published places, each once, and written as they were."""
    text, found = reading.text_of(folder, WIDER, LARGEST_PLACES), _wider(folder, manifest)
    if set(found) - set(manifest.wider):
        yield Finding("places-shape", WIDER, "lists wider areas that no table uses")
    rows = [(name, *place, area) for name, places in sorted(found.items()) for place, area in sorted(places.items())]
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator="\n").writerows([WIDER_COLUMNS, *rows])
    if written.getvalue() != text:
        yield Finding("hidden-data", WIDER, reading.NOT_CANONICAL)
    # what is named as itself stands in the tables, and is looked at there
    named = (area for places in found.values() for (_, place), area in places.items() if area != place)
    yield from name_findings(WIDER, named)
    published: set[tuple[str, str]] = set()  # at the finest level, with their modes
    finest = [table for table in manifest.tables if not (table.level and table.level.location)]
    for cells, column in ((tables[table.name], column) for table in finest for column in table.columns):
        if manifest.columns[column] == "location":
            keys = [key for key in ("mode", column) if key in cells.column_names]
            pairs = cells.group_by(keys).aggregate([]).to_pylist()
            published.update((pair.get("mode", "*"), pair[column]) for pair in pairs)
    if any(set(places) != published for places in found.values()):
        yield Finding("places-shape", WIDER, "does not list every published place exactly once")


def _wider(folder: Path, manifest: Manifest) -> Wider:
    found: dict[str, dict[tuple[str, str], str]] = {level: {} for level in manifest.wider}
    if not found:
        return {}
    rows = csv.reader(io.StringIO(reading.text_of(folder, WIDER, LARGEST_PLACES), newline=""))
    try:
        if tuple(next(rows, ())) != WIDER_COLUMNS:
            raise ValueError
        for name, mode, place, area in rows:
            found.setdefault(name, {})[mode, place] = area
    except (ValueError, csv.Error):
        raise UnreadableError("places-shape", WIDER, "is not a valid list of wider areas") from None
    return found
