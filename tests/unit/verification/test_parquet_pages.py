"""A footer that contradicts itself, and how large pages are, are known before Arrow reads them, whatever they say."""

from __future__ import annotations

import io
import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tapveil.verification import parquet_pages
from tapveil.verification.parquet_pages import chunks, open_parquet, pages_of
from tapveil.verification.reading import UnreadableError

TABLE = pa.table({"place": [f"stop {n % 700}" for n in range(5000)], "count": range(5000)})
WRITTEN: list[dict[str, Any]] = [
    {"compression": "zstd"},
    {"compression": "none", "use_dictionary": False},
    {"compression": "snappy", "data_page_version": "2.0", "row_group_size": 999},
    {"compression": "gzip", "data_page_size": 500, "write_page_checksum": True, "write_statistics": False},
]


def written(table: pa.Table = TABLE, **options: Any) -> io.BytesIO:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink


def look(file: io.BytesIO) -> None:
    pages_of(file, "x.parquet", chunks(open_parquet(file, "x.parquet")))


@pytest.mark.parametrize("options", WRITTEN)
def test_what_arrow_writes_is_walked_to_its_end(options: dict[str, Any]) -> None:
    file = written(**options)
    look(file)
    parquet = open_parquet(file, "x.parquet")
    unpacked = sum(
        page.unpacked for group in chunks(parquet) for each in group for page in parquet_pages._pages(file, "x", *each)
    )
    groups = [parquet.metadata.row_group(number) for number in range(parquet.metadata.num_row_groups)]
    said = sum(group.column(column).total_uncompressed_size for group in groups for column in range(2))
    assert 0.5 * said < unpacked <= said  # the rest are headers


@pytest.mark.parametrize(("limit", "most"), [("LARGEST_PAGE", 1000), ("LARGEST_GROUP", 9000), ("MOST_PAGES", 3)])
def test_more_than_a_release_has_is_refused(monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    monkeypatch.setattr(parquet_pages, limit, most)
    with pytest.raises(UnreadableError) as refused:
        look(written(compression="zstd"))
    assert refused.value.finding.code == "too-large"


def test_a_long_footer_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_pages, "LARGEST_FOOTER", 100)
    with pytest.raises(UnreadableError, match="footer"):
        open_parquet(written(), "x.parquet")


def number(value: int) -> bytes:
    """As Thrift has it: so that 63 is one byte."""
    rest, digits = 2 * value, bytearray()
    while rest > 127:
        digits.append(128 | rest & 127)
        rest >>= 7
    return bytes([*digits, rest])


def header(kind: int, unpacked: int, packed: int, field: int, *values: int) -> bytes:
    inside = b"".join(b"\x15" + number(value) for value in values) + b"\0"
    sizes = b"".join(b"\x15" + number(value) for value in (kind, unpacked, packed))
    return sizes + bytes([(field - 3) << 4 | 12]) + inside + b"\0"


SOUND = {
    "data": header(0, 40, 10, 5, 10, 0, 3, 3),
    "list": header(2, 40, 10, 7, 10, 2),
    "data, version 2": header(3, 40, 10, 8, 10, 0, 10, 8, 0, 0),
}
UNSOUND = {
    "a list with more values than bytes": header(2, 40, 10, 7, 11, 2),
    "a list of billions": header(2, 40, 10, 7, 2**31 - 1, 2),
    "texts that begin like the one before": header(0, 40, 10, 5, 10, 7, 3, 3),
    "an encoding that nobody knows": header(3, 40, 10, 8, 10, 0, 10, 99, 0, 0),
    "of no kind": header(0, 40, 10, 6, 10, 0),
    "without an encoding": header(0, 40, 10, 5, 10),
    "longer than the column": header(0, 40, 11, 5, 10, 0, 3, 3),
    "cut off": SOUND["data"][:5],
    "nothing": b"",
    "of a list": b"\x19\x00",
    "a number without end": b"\x15" + b"\xff" * 40,
}


@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_page(kind: str) -> None:
    data = SOUND[kind] + b"x" * 10
    assert [page.unpacked for page in parquet_pages._pages(io.BytesIO(data), "x.parquet", 0, len(data))] == [40]


@pytest.mark.parametrize("kind", UNSOUND)
def test_a_page_that_could_be_more_than_it_says(kind: str) -> None:
    data = UNSOUND[kind] + b"x" * 10
    with pytest.raises(UnreadableError) as refused:
        list(parquet_pages._pages(io.BytesIO(data), "x.parquet", 0, len(data)))
    assert refused.value.finding.code == "not-parquet"


def test_damaged_headers_are_refused_in_our_words() -> None:
    chance, data = random.Random(1), written(compression="zstd").getvalue()
    groups = chunks(open_parquet(io.BytesIO(data), "x.parquet"))
    for _ in range(3000):
        changed = bytearray(data)
        start, end = chance.choice(groups[0])
        for _ in range(chance.randint(1, 4)):
            changed[min(end, start + chance.randrange(40))] = chance.randrange(256)
        try:
            pages_of(io.BytesIO(bytes(changed)), "x.parquet", groups)
        except UnreadableError:
            continue


OPTIONAL_PLACE = b"\x15\x0c\x25\x02\x18\x05place"
"""The column as the schema has it: its type, that it is optional, its name."""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(OPTIONAL_PLACE, b"\x15\x0c\x25\x00\x18\x05place", id="not optional, and counted as if it were"),
        pytest.param(OPTIONAL_PLACE, b"\x15\x0c\x24\x02\x18\x05place", id="optional by a number that readers skip"),
        pytest.param(OPTIONAL_PLACE, b"\x15\x02\x25\x02\x18\x05place", id="of another type than its values"),
        pytest.param(b"\x18\x06schema\x15\x04", b"\x18\x06schema\x15\x02", id="a column that no schema has"),
        pytest.param(b"\x18\x08\x87\x13\0\0\0\0\0\0", b"\x18\x07\x87\x13\0\0\0\0\0", id="a limit that is too short"),
    ],
)
def test_a_footer_that_contradicts_itself_is_refused_before_arrow_asks_for_a_column(old: bytes, new: bytes) -> None:
    """Arrow would end the process."""
    data = written().getvalue()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[start:-8].replace(old, new)
    assert footer != data[start:-8]
    file = io.BytesIO(data[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(UnreadableError, match="a footer in a form"):
        open_parquet(file, "x.parquet")


def test_structs_within_structs_are_refused_before_they_are_too_deep() -> None:
    with pytest.raises(UnreadableError, match="a page in a form"):
        pages_of(io.BytesIO(b"\x1c" * 5000), "x.parquet", [[(0, 5000)]])
