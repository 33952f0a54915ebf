from __future__ import annotations

import re
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapveil.base.errors import TripDataError
from tapveil.base.time_bins import TimeBins
from tapveil.counting.packing import Packing
from tapveil.inputs.areas import Areas
from tapveil.inputs.public import PublicInputs
from tapveil.inputs.values import read_date, read_time
from tapveil.trips import csv_reader
from tapveil.trips.csv_reader import LONGEST_LINE, CsvReading
from tapveil.trips.files import find
from tapveil.trips.reasons import MALFORMED, NOT_UTF8
from tests.conftest import BUS, OPAL_COLUMNS, TRAIN, opal_plan, write_csv


def read(path: Path, data: bytes, width: int = 2, delimiter: str = ",") -> tuple[list[tuple[str, ...]], CsvReading]:
    path.write_bytes(data)
    reading = CsvReading([path], delimiter, width, range(width))
    return [tuple(row.values()) for row in reading.reader().read_all().to_pylist()], reading


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_end_in_any_way(tmp_path: Path, end: bytes) -> None:
    rows, _ = read(tmp_path / "t.csv", b"\xef\xbb\xbfa,b" + end + b"1,2" + end + b"3,4")
    assert rows == [("1", "2"), ("3", "4")]
    mixed, _ = read(tmp_path / "t.csv", b"a,b\r\n1,2\n3,4\r\n")
    assert mixed == [("1", "2"), ("3", "4")]


def test_lines_that_are_not_trips_are_left_out_and_counted(tmp_path: Path) -> None:
    data = b'a,b\n1,2\n\n   \nonly\n1,2,3\ncaf\xe9,2\n"x, ""y""",\xe6\x9d\xb1\n<Error>\n'
    rows, reading = read(tmp_path / "t.csv", data)
    assert rows == [("1", "2"), ('x, "y"', "東")]
    assert reading.refused == {MALFORMED: 4, NOT_UTF8: 1}


@pytest.mark.parametrize(
    "line", [b'1,"2', b'"1,2', b"1\r2,3", b'"1\r"x,"2', b"caf\xe9,2", b"caf\xe9", b"x" * 2_000_000]
)
def test_a_line_that_would_swallow_or_split_others_is_set_aside_alone(tmp_path: Path, line: bytes) -> None:
    rows, reading = read(tmp_path / "t.csv", b"a,b\n1,2\n" + line + b'\n3,4\n5,"6"\n')
    assert rows == [("1", "2"), ("3", "4"), ("5", "6")]
    assert reading.refused.total() == 1


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b'5" pipe,2', ('5" pipe', "2")),
        (b'"a ""b"" c",d', ('a "b" c', "d")),
        (b'"a,b",c', ("a,b", "c")),
        (b'"a"b,c', ("ab", "c")),
        (b"\xef\xbb\xbfa,b", ("\ufeffa", "b")),
        (b"a\x00b,c", ("a\x00b", "c")),
    ],
)
def test_quotes_and_marks_inside_a_line_mean_the_same_wherever_it_stands(
    tmp_path: Path, line: bytes, fields: tuple[str, ...]
) -> None:
    for before, after in ((b"", b""), (b"1,2\n", b""), (b"", b"1,2\n"), (b'"1,2\n', b'"3",4\n')):
        rows, _ = read(tmp_path / "t.csv", b"a,b\n" + before + line + b"\n" + after)
        assert fields in rows


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a file of some blocks is small."""
    monkeypatch.setattr(csv_reader, "BLOCK", 4 << 14)
    monkeypatch.setattr(csv_reader, "LONGEST_LINE", 1 << 14)


def test_lines_are_told_apart_across_blocks(tmp_path: Path, small_blocks: None) -> None:
    """Three blocks of random lines, line ends of both kinds, compared with a look at each line by itself."""
    random = np.random.default_rng(3)
    pool = [
        b"12345,abc",
        b'"q,1",2',
        b'x"y,"z',
        b'"open,2',
        b"",
        b"one",
        b"caf\xe9,2",
        b"s\rt,3",
        b'5" p,4',
        b"\xef\xbb\xbfb,c",
    ]
    chosen = [pool[index] for index in random.integers(0, len(pool), 25_000)]
    ends = [b"\n" if each else b"\r\n" for each in random.integers(0, 2, len(chosen))]
    rows, reading = read(tmp_path / "t.csv", b"a,b\n" + b"".join(x + y for x, y in zip(chosen, ends, strict=True)))
    times = Counter(chosen)
    sound = {
        b"12345,abc": ("12345", "abc"),
        b'"q,1",2': ("q,1", "2"),
        b'5" p,4': ('5" p', "4"),
        b"\xef\xbb\xbfb,c": ("\ufeffb", "c"),
    }
    assert Counter(rows) == {fields: times[line] for line, fields in sound.items()}
    bad = sum(times[line] for line in (b'x"y,"z', b'"open,2', b"one", b"s\rt,3"))
    assert reading.refused == {MALFORMED: bad, NOT_UTF8: times[b"caf\xe9,2"]}


@pytest.mark.parametrize(
    ("data", "trips"),
    [
        (b"a,b\n" + b"\n" * (9 << 14) + b"x,y\n" * 3, 3),
        (b"a,b", 0),
        (b"a,b\n   \n", 0),
        (b"a,b\nonly\n", 0),
        (b"a,b\n" + b"only\n" * 31_250 + b"x,y\n", 1),
    ],
)
def test_nothing_is_lost_behind_empty_or_malformed_blocks(
    tmp_path: Path, small_blocks: None, data: bytes, trips: int
) -> None:
    rows, _ = read(tmp_path / "t.csv", data)
    assert len(rows) == trips


def test_an_unclosed_quote_in_the_middle_of_a_large_file_costs_its_own_line_only(tmp_path: Path) -> None:
    line = b"2016-08-08,train,07:31,Central\n"
    data = b"a,b,c,d\n" + line * 200_000 + b'2016-08-08,train,07:31,"Central\n' + line * 200_000
    rows, reading = read(tmp_path / "t.csv", data, width=4)
    assert len(rows) == 400_000
    assert reading.refused == {MALFORMED: 1}


ANY_LINE = st.lists(
    st.sampled_from([b'"', b",", b"\r", b"a", b" ", b"\xe9", b"1", b'""', b'"\r', b"\x00", b",,"]), max_size=12
).map(b"".join)


@settings(max_examples=300)
@given(
    lines=st.lists(ANY_LINE, min_size=1, max_size=12),
    where=st.integers(0, 11),
    other=ANY_LINE,
    end=st.sampled_from([b"\n", b"\r\n"]),
)
def test_another_line_changes_one_trip_at_most(lines: list[bytes], where: int, other: bytes, end: bytes) -> None:
    """Whatever a line holds: exchanging it takes away at most one trip and adds at most one."""
    changed = [*lines]
    changed[where % len(lines)] = other
    with tempfile.TemporaryDirectory() as folder:
        try:
            before, after = (
                Counter(read(Path(folder) / "t.csv", end.join([b"a,b", *each]) + end)[0]) for each in (lines, changed)
            )
        except TripDataError:
            return  # stopping publishes nothing
    assert (before - after).total() <= 1
    assert (after - before).total() <= 1


def test_another_delimiter(tmp_path: Path) -> None:
    rows, _ = read(tmp_path / "t.csv", b"a;b\n1,5;2\n", delimiter=";")
    assert rows == [("1,5", "2")]


@pytest.mark.parametrize(
    ("text", "minute"),
    [
        ("00:00", 0),
        ("23:59:59.5", 1439),
        ("47:59", 2879),
        ("48:00", None),
        ("7:5", None),
        ("12:60", None),
        ("12:30:61", None),
        ("2879", 2879),
        ("2880", None),
        ("451.0", 451),
        ("451.5", None),
        ("-5", None),
        ("-1.0", -1),
        ("2016-08-08T07:31", 451),
        ("2016-08-08 07:31:00.123", 451),
        ("2016-08-08", None),
        ("2016-02-30 07:31", None),
        ("2016-08-08T07:31Z", None),
        ("٠٧:٣١", None),
    ],
)
def test_a_time_is_read_or_refused(text: str, minute: int | None) -> None:
    assert read_time(text) == minute


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2016-02-29", "2016-02-29"),
        ("2015-02-29", None),
        ("20160231", None),
        ("160808", None),
        ("2016-W32-1", "2016-08-08"),
        ("2016-W54-1", None),
    ],
)
def test_a_date_is_read_or_refused(text: str, day: str | None) -> None:
    assert read_date(text) == day


@pytest.mark.parametrize("minutes", [1, 5, 15, 60, 1440])
def test_bins_cover_the_day_in_the_order_of_their_labels(minutes: int) -> None:
    bins = TimeBins.every(minutes)
    assert list(bins.labels) == sorted(bins.labels)
    assert [bins.code(minute) for minute in range(1440)] == [1 + minute // minutes for minute in range(1440)]


def test_a_stop_is_published_as_its_area_where_its_mode_has_a_lookup() -> None:
    areas = Areas({"bus": {"1001": "2000"}})
    assert areas.area("bus", "1001") == "2000"
    assert areas.area("bus", "9999") == "UNKNOWN"
    assert areas.area("train", "1001") == "1001"
    assert areas.area("train", "") == "UNKNOWN"
    assert Areas({"*": {"1001": "2000"}}).area("train", "1001") == "2000"


def test_the_same_stop_twice_with_one_area_is_no_conflict(tmp_path: Path) -> None:
    plan = opal_plan(tmp_path)
    (tmp_path / "stops.csv").write_text("stop_id,postcode\n1,2000\n1,2000\n2,\n,2010\n")
    assert PublicInputs.of(plan).areas.lookups == {"bus": {"1": "2000", "2": "UNKNOWN"}}


def test_files_of_one_shape_are_read_together(tmp_path: Path) -> None:
    write_csv(tmp_path / "trips" / "a.csv", [BUS])
    write_csv(tmp_path / "trips" / "b.csv", [TRAIN])
    write_csv(
        tmp_path / "trips" / "c.csv",
        [(TRAIN[1], *TRAIN)],
        [
            "more",
            "card_id",
            *["trip_date", "mode"],
            "tap_on_time",
            "tap_on_location",
            "tap_off_time",
            "tap_off_location",
        ],
    )
    files = find(opal_plan(tmp_path, "trips/*.csv"))
    assert [len(group.paths) for group in files.groups] == [2, 1]


def test_a_file_reached_by_two_names_is_refused(tmp_path: Path) -> None:
    """Its trips would count twice, and cost twice what is promised."""
    write_csv(tmp_path / "trips" / "a.csv", [BUS])
    (tmp_path / "trips" / "latest.csv").symlink_to("a.csv")
    with pytest.raises(TripDataError, match=r"a\.csv and latest\.csv are the same file"):
        find(opal_plan(tmp_path, "trips/*.csv"))


def test_columns_that_differ_in_case_only_are_refused(tmp_path: Path) -> None:
    """An engine that does not tell MODE from mode would read a column that the plan does not name."""
    table = pa.table({"MODE": ["CARD0001"], **{name: [value] for name, value in zip(OPAL_COLUMNS, TRAIN, strict=True)}})
    pq.write_table(table, tmp_path / "trips.parquet")
    with pytest.raises(TripDataError, match="2 columns named `mode`"):
        find(opal_plan(tmp_path, "trips.parquet"))


def test_other_columns_that_differ_in_case_only_are_refused_in_parquet(tmp_path: Path) -> None:
    """An engine would rename them, perhaps to the name of a column that the plan means."""
    row = {name: [value] for name, value in zip(OPAL_COLUMNS, TRAIN, strict=True)}
    pq.write_table(pa.table({"X": ["a"], "x": ["SECRET"], **row}), tmp_path / "trips.parquet")
    with pytest.raises(TripDataError, match="differ in case only"):
        find(opal_plan(tmp_path, "trips.parquet"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04rest", "is a zip archive"),
        (b"mode,trip_date\rbus,1\r", "end in CR"),
    ],
)
def test_another_format_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "trips.csv").write_bytes(data)
    with pytest.raises(TripDataError, match=re.escape(message)):
        find(opal_plan(tmp_path))


def test_the_delimiter_is_found_unless_it_is_named(tmp_path: Path) -> None:
    for mark in ";|\t,":
        (tmp_path / "trips.csv").write_text(mark.join(OPAL_COLUMNS) + "\n", encoding="utf-8")
        assert find(opal_plan(tmp_path)).groups[0].delimiter == mark
    (tmp_path / "trips.csv").write_text(";".join(OPAL_COLUMNS) + "\n", encoding="utf-8")
    with pytest.raises(TripDataError, match="set delimiter = ';'"):
        find(opal_plan(tmp_path, **{'max_refused = "1 %"': 'delimiter = ","\nmax_refused = "1 %"'}))


@pytest.mark.parametrize("first", [b"mode,x\rbus,LOST", b'mode,"x'])
def test_a_header_is_one_line_by_itself(tmp_path: Path, first: bytes) -> None:
    (tmp_path / "trips.csv").write_bytes(first + b"\nbus,y\n")
    with pytest.raises(TripDataError) as caught:
        find(opal_plan(tmp_path))
    assert "LOST" not in str(caught.value)


def test_a_first_trip_is_not_suggested_as_a_column(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_bytes(b"Modena,Tom Smythe\nbus,x\n")
    with pytest.raises(TripDataError) as caught:
        find(opal_plan(tmp_path))
    assert "Modena" not in str(caught.value)


def test_packing_survives_a_round_trip() -> None:
    packing = Packing(("a", "b", "c"), (2**30, 2**30, 3))
    assert packing.words == 2
    codes = {"a": np.array([0, 2**30 - 1]), "b": np.array([5, 2**30 - 1]), "c": np.array([2, 0])}
    words = [np.zeros(2, dtype=np.int64) for _ in range(packing.words)]
    for column, slot in packing.slots.items():
        words[slot.word] += codes[column] * slot.stride
    assert all(np.array_equal(codes[column], code) for column, code in packing.unpack(tuple(words)).items())


@pytest.mark.parametrize("length", [600, 600_000, LONGEST_LINE - 50])
def test_what_the_last_line_means_does_not_depend_on_the_first(tmp_path: Path, length: int) -> None:
    line = b"2016-08-08,train,07:31,Central\n"
    data = b"a,b,c,d\n" + b"2016-08-08,train,07:31," + b"x" * length + b"\n" + 3 * line + b'2016-08-08,bus,07:31,"open'
    rows, reading = read(tmp_path / "t.csv", data, width=4)
    assert len(rows) == 4
    assert reading.refused == {MALFORMED: 1}
