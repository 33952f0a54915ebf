"""The pages of a Parquet file, by their own headers: how much memory they will take when they are unpacked.

The sizes in the footer are only said, and a page of a few kilobytes can unpack to gigabytes. A reader goes by the
header of each page: so does this check, before any page is unpacked. Headers are in Thrift's compact protocol, of which
this reads as much as Arrow writes.
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
    size = file.seek(0, os.SEEK_END)
    if LARGEST_FOOTER < footer_size(file) <= size:
        raise UnreadableError("too-large", name, f"its footer is larger than {LARGEST_FOOTER:,} bytes")
    file.seek(0)
    limits = {"thrift_string_size_limit": LARGEST_FOOTER, "thrift_container_size_limit": MOST_ELEMENTS}
    return pq.ParquetFile(file, pre_buffer=False, **limits, **options)


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


def _struct(data: bytes, place: int) -> tuple[dict[int, Any], int]:
    """The fields of a struct by their numbers, and where it ends; texts and fractions are passed over."""
    found: dict[int, Any] = {}
    number = 0
    while kind := data[place] & 15:
        step, place = data[place] >> 4, place + 1
        if not step:
            raise ValueError("a field out of order")
        number += step
        if kind in (1, 2):
            found[number] = kind == 1
        elif kind in (4, 5, 6):
            value, place = _varint(data, place)
            found[number] = (value >> 1) ^ -(value & 1)
        elif kind == 8:
            length, place = _varint(data, place)
            place += length
        elif kind == 12:
            found[number], place = _struct(data, place)
        else:
            raise ValueError("a type that no page header has")
    return found, place + 1


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while data[place] & 128:
        value, shift, place = value | (data[place] & 127) << shift, shift + 7, place + 1
        if shift > 63:
            raise ValueError("a number that is too long")
    return value | data[place] << shift, place + 1
