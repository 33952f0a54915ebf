"""Checks that a Parquet file contains nothing but its values and what follows from them.

Footers and headers of pages have room for anything: metadata of fields, the name of a program, least and greatest
values, lists with values that no row has. What follows from the table is compared. The rest is bounded by what Arrow
writes for such columns, as its versions differ by a few bytes.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Sequence
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapveil.published.synthetic_trips import NOTE
from tapveil.verification.known_versions import ROW_GROUPS
from tapveil.verification.parquet_pages import Chunk, Page, footer_size
from tapveil.verification.reading import UnreadableError

_SCHEMA = b"ARROW:schema"
_PROGRAM = re.compile(r"parquet-cpp-arrow version ([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})(-SNAPSHOT)?")
SCHEMA_ROOM = 64
"""Bytes by which a schema of another version of Arrow may be longer than ours."""
FILE_ROOM, COLUMN_ROOM, CHUNK_ROOM, PAGE_ROOM = 100, 40, 100, 80
"""Bytes that a footer, a column, its part of a row group and the header of a page take, besides names and values."""
_NUMBER = 8
_FULL_LIST = 2**20
"""Arrow writes values plainly only when the list of those before them has become so long."""
_MERGED_AT = 100_000


def refuse_more_than_a_table(file: IO[bytes], name: str, parquet: pq.ParquetFile, note: str | None = None) -> None:
    """Stop where the footer holds what no release writes. `note`: what the file has to say of itself, if anything."""
    metadata, schema = parquet.metadata, parquet.schema_arrow
    said = {NOTE.encode(): note.encode()} if note else {}
    more = {key: value for key, value in (metadata.metadata or {}).items() if key != _SCHEMA}
    other = more != said or (schema.metadata or said) != said or any(each.metadata for each in schema)
    if other or _SCHEMA not in (metadata.metadata or {}):
        raise _hidden(name, "metadata that no release writes")
    program = _PROGRAM.fullmatch(metadata.created_by)
    if not program:
        raise _hidden(name, "an unknown program as its creator")
    if not _is_canonical(metadata.metadata[_SCHEMA], schema, exactly=program[1] == pa.__version__):
        raise _hidden(name, "a schema with more than its columns")
    groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    *full, last = groups or [0]
    if last > max(ROW_GROUPS) or (full and (last == 0 or set(full) not in [{size} for size in ROW_GROUPS])):
        raise _hidden(name, "row groups of unexpected sizes")
    if footer_size(file) > _largest_footer(metadata) + sum(map(len, (*said, *said.values()))):
        raise _hidden(name, "a footer larger than needed")


def refuse_gaps(file: IO[bytes], name: str, groups: list[list[Chunk]]) -> None:
    """Nothing may lie between the columns of a Parquet file, where no reader looks."""
    end = file.seek(0, os.SEEK_END) - 8 - footer_size(file)
    ranges = [chunk for group in groups for chunk in group]
    starts, ends = zip(*sorted(ranges), strict=True) if ranges else ((), ())
    if [4, *ends] != [*starts, end]:
        raise _hidden(name, "bytes that belong to no column")


def refuse_unused(
    name: str, group: pq.RowGroupMetaData, pages: Sequence[Sequence[Page]], distinct: Sequence[Distinct]
) -> None:
    """Stop where a row group, once it is read, turns out to have more in its lists and limits than its rows."""
    for number, (written, found) in enumerate(zip(pages, distinct, strict=True)):
        values, said = found.values, group.column(number).statistics
        lists = [page for page in written if page.entries is not None]
        early = sum(page.unpacked for page in lists) < _FULL_LIST and any(page.is_plain for page in written)
        if sum(page.entries or 0 for page in lists) > len(values) or (lists and early):
            raise _hidden(name, "dictionary values that no row uses")
        if said and said.has_min_max and [said.min, said.max] != list(pc.min_max(values).as_py().values()):
            raise _hidden(name, "column statistics that do not match its values")
        if max((page.header for page in written), default=0) > PAGE_ROOM + 2 * found.longest:
            raise _hidden(name, "a page header larger than needed")


class Distinct:
    """The distinct values of a column, put together from batches."""

    def __init__(self, kind: pa.DataType) -> None:
        self._parts, self._merged = [pa.array([], kind)], 0

    def add(self, values: pa.Array) -> None:
        """Add some more values, which may be indices into a list."""
        found = pc.unique(values)
        self._parts.append(found.dictionary_decode() if pa.types.is_dictionary(found.type) else found)
        if sum(map(len, self._parts)) > 2 * self._merged + _MERGED_AT:
            self._merged = len(self.values)

    @property
    def values(self) -> pa.Array:
        """Each once."""
        if len(self._parts) > 1:
            self._parts = [pc.unique(pa.concat_arrays(self._parts))]
        return self._parts[0]

    @property
    def longest(self) -> int:
        """The bytes of the longest value."""
        values = self.values
        return int(pc.max(pc.binary_length(values)).as_py() or 0) if pa.types.is_string(values.type) else _NUMBER


def _hidden(name: str, what: str) -> UnreadableError:
    return UnreadableError("hidden-data", name, f"contains more than its table, which could hide data: {what}")


def _is_canonical(stored: bytes, schema: pa.Schema, *, exactly: bool) -> bool:
    """Whether Arrow's own copy of the schema is what Arrow writes: to the byte, if this very version wrote it."""
    try:
        blob = base64.b64decode(stored, validate=True)
        found = pa.ipc.read_schema(pa.py_buffer(blob))
    except (binascii.Error, pa.ArrowException, OSError):
        return False
    expected = pa.schema([pa.field(each.name, each.type) for each in schema])
    ours = expected.serialize().to_pybytes()
    fits = blob == ours if exactly else len(blob) <= len(ours) + SCHEMA_ROOM
    return fits and base64.b64encode(blob) == stored and found.equals(expected, check_metadata=True)


def _largest_footer(metadata: pq.FileMetaData) -> int:
    """What a footer with these columns, row groups and limits takes at most; the limits are compared later."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    names = sum(len(name.encode()) for name in metadata.schema.names)
    said = [group.column(number).statistics for group in groups for number in range(metadata.num_columns)]
    limits = [limit for each in said if each and each.has_min_max for limit in (each.min, each.max)]
    return int(
        FILE_ROOM
        + len(metadata.metadata[_SCHEMA])
        + names * (1 + len(groups))
        + metadata.num_columns * (COLUMN_ROOM + CHUNK_ROOM * len(groups))
        + sum(len(limit.encode()) if isinstance(limit, str) else 2 * _NUMBER for limit in limits)
    )
