"""The files of shapes: published tables in the columns that an agency's readers know. Version 1.

They follow from the manifest, which has the shapes, and from the published tables: `verify` makes them again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from tapveil.base.shape import ShapeColumn, ShapeFile
from tapveil.base.vocabulary import COUNT, HIGH, LOW, MISSING, SHAPES, UNKNOWN
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.manifest import Manifest

Key = tuple[str, ...]
_NUMBERS = (COUNT, LOW, HIGH)


@dataclass(frozen=True)
class ShapedFile:
    """A file of a shape, and the tables that it is made from."""

    shape: str
    title: str
    """Of the shape."""
    file: ShapeFile
    tables: Mapping[str, str]
    """The name of each table, by what the shape calls it."""

    @property
    def path(self) -> str:
        return f"{SHAPES}/{self.shape}/{self.file.name}"

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it has, in the order of its columns."""
        return tuple(dict.fromkeys(column.key for column in self.file.column if column.key))


def shaped_files(manifest: Manifest) -> list[ShapedFile]:
    """The files that the shapes of a release make from its tables; ValueError where a shape has none."""
    finest = {table.name: table.columns for table in manifest.tables if table.level is None}
    return [
        ShapedFile(name, shape.title, file, tables)
        for name, shape in (manifest.shapes or {}).items()
        for file, tables in shape.made(manifest.partition, finest)
    ]


def text_of(
    shaped: ShapedFile, manifest: Manifest, made: Mapping[str, Mechanism], tables: Mapping[str, pa.Table]
) -> str:
    """The file, in the order of its keys."""
    file, numbers = shaped.file, _numbers(shaped, manifest, made, tables)
    columns = [_Column.of(column, shaped) for column in file.column]
    written = io.StringIO(newline="")
    out = csv.writer(written, lineterminator="\n", delimiter=file.delimiter)
    if file.header:
        out.writerow([column.name for column in file.column])
    kinds = {file.key_of(column): kind for column, kind in manifest.columns.items()}
    none = [{"time": MISSING, "location": UNKNOWN}.get(kinds[key]) for key in shaped.keys]
    for key in sorted(numbers):
        if not (file.complete and any(label == other for label, other in zip(key, none, strict=True))):
            out.writerow([column.text(key, numbers[key], file.missing) for column in columns])
    return written.getvalue()


def _numbers(
    shaped: ShapedFile, manifest: Manifest, made: Mapping[str, Mechanism], tables: Mapping[str, pa.Table]
) -> dict[Key, dict[str, tuple[int, ...]]]:
    """By the keys of a row: count, low and high of each table that published it."""
    found: dict[Key, dict[str, tuple[int, ...]]] = {}
    for called, name in shaped.tables.items():
        cells, rule = tables[name], interval(made[name], MISS)
        counts = cells.column(COUNT).to_numpy()
        claim = next(table for table in manifest.tables if table.name == name)
        own = {shaped.file.key_of(column): column for column in manifest.keys(claim)}
        keys = zip(*(cells.column(own[key]).to_pylist() for key in shaped.keys), strict=True)
        numbers = (each.tolist() for each in (counts, rule.low(counts), rule.high(counts)))
        for key, *three in zip(keys, *numbers, strict=True):
            found.setdefault(key, {})[called] = tuple(three)
    return found


@dataclass(frozen=True)
class _Column:
    """A column, and where in a row its value is."""

    column: ShapeColumn
    place: int

    @classmethod
    def of(cls, column: ShapeColumn, shaped: ShapedFile) -> _Column:
        place = shaped.keys.index(column.key) if column.key else 0
        return cls(column, _NUMBERS.index(column.number[0]) if column.number else place)

    def text(self, key: Key, numbers: Mapping[str, tuple[int, ...]], missing: str) -> str:
        if self.column.value:
            return self.column.value
        if self.column.number:
            own = numbers.get(self.column.number[1])
            return missing if own is None else str(own[self.place])
        label = key[self.place]
        if self.column.format == "hour" and label != MISSING:
            return str(int(label.partition(":")[0]))
        return self.column.words.get(label, label)


def texts(
    manifest: Manifest, made: Mapping[str, Mechanism], tables: Mapping[str, pa.Table]
) -> Iterator[tuple[str, str]]:
    """The path and the text of each file of the shapes."""
    for shaped in shaped_files(manifest):
        yield shaped.path, text_of(shaped, manifest, made, tables)
