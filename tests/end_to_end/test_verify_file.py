"""One file of somebody else's in the shape of the Opal data: what can be checked without a manifest."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tapveil.verification.file import verify_file
from tests.support.commands import run
from tests.support.tampering import codes


def test_the_real_opal_file(shared_data: Path) -> None:
    path = shared_data / "opal" / "loc_20160808-14.csv"
    good = run("verify", path, "--epsilon", "1", "--delta", "1/8000000", cwd=shared_data)
    assert good.returncode == 0, good.stdout
    assert "8,605 cells" in good.stdout
    bad = run("verify", path, "--epsilon", "0.5", "--delta", "1/8000000", "--json", cwd=shared_data)
    assert bad.returncode == 1
    assert [each["code"] for each in json.loads(bad.stdout)["findings"]] == ["count-below-smallest"]


MESSY = """mode,date,tap,time,count
bus,20160808,on,02:30,40
bus,20160808,on,2:30,41
bus,20160808,02:45,50
bus,20160808,on,,50
bus,20160808,on,03:00,50
bus,20160808,on,03:00,51
bus,20160808,on,25:00,51
bus,20160808,sideways,04:00,51
bus,20160808,off,-1,99
<Error><Code>AccessDenied</Code>
</Error>
"""


def test_messy_lines_are_named(tmp_path: Path) -> None:
    (tmp_path / "time.csv").write_text(MESSY)
    found = {each.code: each.place for each in verify_file(tmp_path / "time.csv", "1", "1/8000000").findings}
    assert found == {
        "time-spelling": "time.csv, line 3",
        "duplicate-key": "time.csv, line 3, 7",
        "field-missing": "time.csv, line 4, 5",
        "value-impossible": "time.csv, line 8, 9",
        "stray-line": "time.csv, line 11, 12",
    }


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not-opal-shape"),
        (b"a,b\n1,2\n", "not-opal-shape"),
        (b"mode,date,tap,loc,count\n", "no-rows"),
        (b"mode,date,tap,loc,count\nbus,20160808,on,\xff,40\n", "not-utf8"),
        (b"mode,date,tap,loc,count\n" + b"x" * 100_000, "stray-line"),
    ],
)
def test_files_that_are_none(content: bytes, code: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    assert code in codes(verify_file(tmp_path / "x.csv", "1", "1/8000000"))


def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    header = b"mode,date,tap,loc,count\n"
    with gzip.open(tmp_path / "x.csv.gz", "wb") as file:
        file.write(header + b"bus,20160808,on,2000,40\n" * 20_000_000)
    assert codes(verify_file(tmp_path / "x.csv.gz", "1", "1/8000000")) == {"too-large"}
