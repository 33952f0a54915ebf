"""Published tables as the files of a folder, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapveil.base.layouts import DATE, MODE
from tapveil.base.vocabulary import COUNT, HIGH, LOW, TAP, Kind, columns_in_words
from tapveil.privacy.intervals import MISS, interval
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.published.table import Field, PublishedTable

ROWS_AT_ONCE = 1_000_000
_OPAL_NAMES = {"time": "time", "location": "loc"}


@dataclass(frozen=True)
class Sheet:
    """One file of counts: its key fields, then `count` and, unless it has the shape of the Opal files, its interval."""

    name: str
    title: str
    fields: tuple[Field, ...]
    smallest: int
    numbers: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        return [field.name for field in self.fields]


@dataclass(frozen=True)
class DerivedSheet:
    """A file that follows from the published tables."""

    folder: str
    name: str
    title: str
    keys: tuple[str, ...]
    numbers: tuple[str, ...]
    pieces: Callable[[], Iterable[pa.Table]]
    """All rows, some at a time, made anew each time: keys as texts or codes of them, then integers. The first may have
    no rows; there is always one."""
    form: str = "csv"
    """Or `parquet`, where a CSV file would be too large."""

    @cached_property
    def cells(self) -> pa.Table:
        """All rows in memory: for sheets of which not too many are there."""
        return pa.concat_tables(self.pieces()).combine_chunks()

    @cached_property
    def rows(self) -> int:
        """How many there are."""
        return sum(map(len, self.pieces()))

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}.{self.form}"


def whole(cells: pa.Table) -> Callable[[], Iterable[pa.Table]]:
    """The pieces of a sheet that is there as one."""
    return lambda: [cells]


def in_groups(pieces: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """The same rows in groups of one size, and the rest; of none, their columns.

    >>> [len(each) for each in in_groups([pa.table({"a": [1, 2]}), pa.table({"a": [3, 4, 5]})], 2)]
    [2, 2, 1]
    """
    waiting: list[pa.Table] = []
    rows = written = 0
    for piece in pieces:
        waiting.append(piece)
        rows += len(piece)
        while rows >= size:
            some = pa.concat_tables(waiting)
            yield some.slice(0, size)
            waiting, rows, written = [some.slice(size)], rows - size, written + size
    if rows or not written:
        yield pa.concat_tables(waiting)


def sheets(manifest: Manifest) -> list[Sheet]:
    """The files of counts that a release has, in the order of its tables."""
    members: dict[str, list[TableClaim]] = {}
    for claim in manifest.tables:
        members.setdefault(manifest.arrangement.file_of(claim)[0], []).append(claim)
    return [_sheet(manifest, name, claims) for name, claims in members.items()]


def _sheet(manifest: Manifest, name: str, claims: Sequence[TableClaim]) -> Sheet:
    first, smallest = claims[0], min(claim.smallest_published for claim in claims)
    _, tap = manifest.arrangement.file_of(first)
    if tap is None:
        fields = tuple(Field(key, published_kind(manifest, key)) for key in manifest.keys(first))
        by = f" by {', '.join(manifest.partition)}" if manifest.partition else ""
        level = f" ({first.level.in_words})" if first.level else ""
        title = f"{columns_in_words(first.columns)}{by}{level}"
    else:
        kinds = [manifest.columns[column] for column in first.columns]
        keys = [Field(_OPAL_NAMES[kind], kind) for kind in kinds]
        fields = (*(Field(key, "label") for key in (MODE, DATE, TAP)), *keys)
        title = f"tap counts by {' and '.join(key.name for key in keys)}"
    return Sheet(name, title, fields, smallest, manifest.numbers, manifest.files(first))


def published_kind(manifest: Manifest, key: str) -> Kind:
    """What sort of values a key column has as it is published; days that are no calendar's are labels."""
    kind = manifest.columns.get(key, "label")
    return "label" if kind == "date" and not manifest.has_days else kind


def laid_out(manifest: Manifest, tables: Sequence[PublishedTable]) -> dict[str, pa.Table]:
    """The rows of each file, from the published tables."""
    claims, pieces = {claim.name: claim for claim in manifest.tables}, dict[str, list[pa.Table]]()
    for table in tables:
        name, tap = manifest.arrangement.file_of(claims[table.name])
        if manifest.is_world:
            rows = table.cells  # keys as codes: there are many cells, and few labels
        elif tap is None:
            rule, counts = interval(manifest.mechanisms[table.name], MISS), table.cells.column(COUNT).to_numpy()
            rows = table.cells.append_column(LOW, pa.array(rule.low(counts)))
            rows = rows.append_column(HIGH, pa.array(rule.high(counts)))
            for index, key in enumerate(rows.column_names):
                if published_kind(manifest, key) == "date":
                    rows = rows.set_column(index, key, rows.column(index).cast(pa.date32()))
        else:
            mode, date, *keys, count = table.cells.columns
            taps = pa.array([tap] * len(count), pa.string())
            names = [MODE, DATE, TAP, *(_OPAL_NAMES[field.kind] for field in table.fields[2:]), COUNT]
            rows = pa.table([mode, pc.replace_substring(date, "-", ""), taps, *keys, count], names=names)
        pieces.setdefault(name, []).append(rows)
    return {name: _in_order(rows) if len(rows) > 1 else rows[0] for name, rows in pieces.items()}


def as_written(manifest: Manifest, rows: pa.Table) -> pa.Table:
    """Some rows of a file with the types that it has: codes become the texts, or the days, that they stand for."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            texts = rows.column(index).cast(pa.string())
            kind = published_kind(manifest, field.name)
            rows = rows.set_column(index, field.name, texts.cast(pa.date32()) if kind == "date" else texts)
    return rows


def _in_order(pieces: Sequence[pa.Table]) -> pa.Table:
    whole = pa.concat_tables(pieces)
    return whole.sort_by([(key, "ascending") for key in whole.column_names if key != COUNT])


def raw_tables(manifest: Manifest, files: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The published tables by their names, keys as texts, from the rows of the files."""
    found = {}
    for claim in manifest.tables:
        name, tap = manifest.arrangement.file_of(claim)
        rows, keys = files[name], manifest.keys(claim)
        if manifest.is_world:
            found[claim.name] = rows
            continue
        if tap is not None:
            rows = rows.filter(pc.equal(rows.column(TAP).cast(pa.string()), tap)).drop_columns(TAP)
            rows = rows.rename_columns([*keys, COUNT])
        texts = {key: rows.column(key).cast(pa.string()) for key in keys}
        found[claim.name] = pa.table({**texts, COUNT: rows.column(COUNT).cast(pa.int64())}).combine_chunks()
    return found


def distinct(parquet: Path, column: str) -> set[str]:
    """The texts of a column of a Parquet file, each once: by the dictionaries that Parquet keeps of them."""
    found = set[str]()
    with pq.ParquetFile(parquet, read_dictionary=[column]) as file:
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=[column], use_threads=False):
            found.update(pc.unique(batch.column(0)).cast(pa.string()).to_pylist())
    return found
