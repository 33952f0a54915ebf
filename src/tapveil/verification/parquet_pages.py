"""The footer and the pages of a Parquet file, by their own bytes: whether it is safe to let Arrow read them.

The sizes in the footer are only said, and a page of a few kilobytes can unpack to gigabytes. A reader goes by the
header of each page: so does this check, before any page is unpacked. Where a footer contradicts itself, Arrow ends the
process that asks it for a column: so it is read here first. Both are in Thrift's compact protocol, of which this reads
as much as Arrow writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import pyarrow.parquet as pq

from tapveil.verification.reading import UnreadableError

LARGEST_FOOTER = 16 * 2**20
LARGEST_PAGE = 64 * 2**20
"""Arrow closes a page after about a megabyte."""
LARGEST_GROUP = 512 * 2**20
"""Of all pages of a row group, packed and unpacked."""
MOST_PAGES = 100_000
MOST_ELEMENTS = 100_000
"""Row groups, and columns of each."""
_LONGEST_HEADER = 2**16
_DEEPEST = 8
"""Structs within structs."""
_WIDTHS = {1: 4, 2: 8}
"""Bytes of a number, by its type in the file."""
_TEXT = 6
_OPTIONAL = 1
_DICTIONARY = 2
_PLAIN = 0
_ENCODINGS = {_PLAIN, 2, 3, 8}
"""Plain values, and places in a list: of other encodings, a small page can hold long texts by the million."""
_ENCODING = {5: 2, 7: 2, 8: 4}
"""Where a header of each kind of page has its encoding."""
_LEAST_VALUE = 4
"""Bytes that a value of a list takes at the least."""

Chunk = tuple[int, int]
"""Where a column of a row group begins and ends in the file."""


class Page(NamedTuple):
    """What the header of a page says, and how long it is."""

    unpacked: int
    header: int
    entries: int | None
    """Values of the list, if it is the list of a column."""
    is_plain: bool
    """Whether it has values themselves, and not their places in a list."""


def footer_size(file: IO[bytes]) -> int:
    """The size that a Parquet file states, in its last 8 bytes."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - 8))
    return int.from_bytes(file.read(4), "little")


def open_parquet(file: IO[bytes], name: str, **options: Any) -> pq.ParquetFile:
    """A Parquet file whose footer is not too large to be read."""
    size, footer = file.seek(0, os.SEEK_END), footer_size(file)
    if LARGEST_FOOTER < footer <= size:
        raise UnreadableError("too-large", name, f"its footer is larger than {LARGEST_FOOTER:,} bytes")
    file.seek(max(0, size - 8 - footer))
    if not _is_of_flat_columns(file.read(footer)):
        raise UnreadableError("not-parquet", name, "has a footer in a form that tapveil does not write")
    file.seek(0)
    limits = {"thrift_string_size_limit": LARGEST_FOOTER, "thrift_container_size_limit": MOST_ELEMENTS}
    return pq.ParquetFile(file, pre_buffer=False, **limits, **options)


def _is_of_flat_columns(data: bytes) -> bool:
    """Whether a footer has the same columns in each row group, and says nothing of them that they cannot have."""
    try:
        footer, _ = _struct(data, 0)
        root, *columns = footer[2]
        flat = _short(root[5]) == len(columns) and all(_short(each[3]) == _OPTIONAL for each in columns)
        flat &= not any(5 in each for each in columns)
        every = [(column, chunk) for group in footer[4] for column, chunk in zip(columns, group[1], strict=True)]
        return flat and all(_is_chunk_of(column, chunk) for column, chunk in every)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False


class _Short(int):
    """A number of 32 bits: where one is expected, readers pass over any other."""


def _short(value: object) -> int:
    if not isinstance(value, _Short):
        raise TypeError("not a number of 32 bits")
    return value


def _is_chunk_of(column: dict[int, Any], chunk: dict[int, Any]) -> bool:
    """Whether limits are as long as values of its type, and histograms have as many levels as an optional column."""
    said = chunk[3]
    limits = [said.get(12, {}).get(number) for number in (1, 2, 5, 6)]
    kind, sizes = _short(column[1]), said.get(16, {})
    width = _WIDTHS.get(kind)
    return (
        not chunk.keys() & {8, 9}  # encrypted
        and _short(said[1]) == kind
        and all(limit is None or width in (None, len(limit)) for limit in limits)
        and (1 not in sizes or kind == _TEXT)
        and len(sizes.get(2, ())) in (0, 1)
        and len(sizes.get(3, ())) in (0, 2)
    )


def chunks(parquet: pq.ParquetFile) -> list[list[Chunk]]:
    """The columns of each row group."""
    found: list[list[Chunk]] = []
    for group in map(parquet.metadata.row_group, range(parquet.metadata.num_row_groups)):
        found.append([])
        for chunk in map(group.column, range(group.num_columns)):
            first = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
            found[-1].append((first, first + chunk.total_compressed_size))
    return found


def pages_of(file: IO[bytes], name: str, groups: list[list[Chunk]]) -> list[list[list[Page]]]:
    """The pages of each column of each row group.

    Stops before anything is unpacked that takes more memory than a table of a release.
    """
    found: list[list[list[Page]]] = []
    pages = 0
    for group in groups:
        room = LARGEST_GROUP
        if sum(end - start for start, end in group) > LARGEST_GROUP:
            raise _too_large(name)
        found.append([[] for _ in group])
        for column, page in ((n, page) for n, chunk in enumerate(group) for page in _pages(file, name, *chunk)):
            room, pages = room - page.unpacked, pages + 1
            if page.unpacked > LARGEST_PAGE or room < 0 or pages > MOST_PAGES:
                raise _too_large(name)
            found[-1][column].append(page)
    return found


def _too_large(name: str) -> UnreadableError:
    return UnreadableError("too-large", name, "would unpack to more data than any release has")


def _pages(file: IO[bytes], name: str, start: int, end: int) -> Iterator[Page]:
    """The pages of a column, by their headers."""
    while start < end:
        file.seek(start)
        try:
            header, length = _struct(file.read(min(_LONGEST_HEADER, end - start)), 0)
            packed, unpacked = header[3], header[2]
            kind, said = next((kind, header[kind]) for kind in _ENCODING if kind in header)
            entries, encoding = said[1] if header[1] == _DICTIONARY else None, said[_ENCODING[kind]]
            sound = encoding in _ENCODINGS and packed >= 0 and unpacked >= 0
            sound &= entries is None or 0 <= entries * _LEAST_VALUE <= unpacked
        except (IndexError, KeyError, TypeError, ValueError, StopIteration):
            sound = False
        if not sound:
            raise UnreadableError("not-parquet", name, "has a page in a form that tapveil does not write")
        yield Page(unpacked, length, entries, entries is None and encoding == _PLAIN)
        start += length + packed
    if start != end:
        raise UnreadableError("not-parquet", name, "has a page that is longer than its column")


def _struct(data: bytes, place: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a struct by their numbers, and where it ends."""
    found: dict[int, Any] = {}
    number = 0
    if depth > _DEEPEST:
        raise ValueError("a struct too deep")
    while kind := data[place] & 15:
        step, place = data[place] >> 4, place + 1
        if not step:
            raise ValueError("a field out of order")
        number += step
        if kind in (1, 2):
            found[number] = kind == 1
        else:
            found[number], place = _value(data, place, kind, depth)
    return found, place + 1


def _value(data: bytes, place: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (4, 5, 6):
        value, place = _varint(data, place)
        value = (value >> 1) ^ -(value & 1)
        return _Short(value) if kind == 5 else value, place
    if kind == 8:
        length, place = _varint(data, place)
        return data[place : place + length], place + length
    if kind == 9:
        (length, of), place = divmod(data[place], 16), place + 1
        if length == 15:
            length, place = _varint(data, place)
        values = []
        for _ in range(length):
            value, place = _value(data, place, of, depth + 1)
            values.append(value)
        return values, place
    if kind == 12:
        return _struct(data, place, depth + 1)
    raise ValueError("a type that neither footers nor headers have")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while data[place] & 128:
        value, shift, place = value | (data[place] & 127) << shift, shift + 7, place + 1
        if shift > 63:
            raise ValueError("a number that is too long")
    return value | data[place] << shift, place + 1
