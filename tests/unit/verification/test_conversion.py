"""Files of `tapveil convert` are made again from their folder, and what differs is found."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.atomic import sha256
from tapveil.base.errors import FolderError, UsageError
from tapveil.published.conversion.convert import FORMS
from tapveil.published.folder import Folder, open_folder
from tapveil.verification.conversion import verify_conversion
from tests.support.commands import run

GOLDEN = Path(__file__).parents[2] / "golden"
WORLD = GOLDEN / "3d" / "world-of-all-days"


@pytest.fixture(scope="module")
def folder() -> Folder:
    return open_folder(WORLD)


@pytest.fixture(scope="module")
def made(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All forms of a folder."""
    out = tmp_path_factory.mktemp("made") / "files"
    for form in FORMS:
        folder.convert(form, out, bom=False)
    return out


def restate(out: Path, name: str) -> None:
    """Make the statement name a file as it is now."""
    path = out / "converted.json"
    stated = json.loads(path.read_text(encoding="utf-8"))
    digest = sha256(out / name)
    for form in stated["forms"].values():
        if name in form["files"]:
            form["files"][name] = digest
    path.write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def test_all_forms_are_made_again(made: Path, folder: Folder) -> None:
    checked = verify_conversion(made, folder)
    assert checked.findings == []
    assert all(form in checked.summary for form in FORMS)
    with pytest.raises(UsageError, match=r"check it with `tapveil convert FOLDER --verify"):
        tapveil.verify(made)


def one_more_trip(path: Path) -> None:
    database = sqlite3.connect(path)
    table = database.execute("SELECT name FROM sqlite_master WHERE name LIKE 'table_%'").fetchone()[0]
    database.execute(f'UPDATE "{table}" SET count = count + 1 WHERE fid = 1')
    database.commit()
    database.close()


def one_more_in_a_matrix(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        matrix = next(iter(file["data"].values()))
        matrix[0, 0] += 1


def a_row_less(path: Path) -> None:
    import pyarrow.parquet as pq

    rows = pq.read_table(path)
    pq.write_table(rows.slice(1), path)


def another_digit(path: Path) -> None:
    data = path.read_bytes()
    at = next(at for at in range(len(data) - 1, 0, -1) if data[at : at + 1].isdigit())
    path.write_bytes(data[:at] + bytes([48 + (data[at] - 47) % 10]) + data[at + 1 :])


CHANGES: dict[str, Callable[[Path], None]] = {
    ".gpkg": one_more_trip,
    ".omx": one_more_in_a_matrix,
    ".parquet": a_row_less,
    ".xlsx": another_digit,
    ".csv": another_digit,
}


@pytest.mark.parametrize("suffix", CHANGES)
def test_another_number_is_found_whether_the_statement_names_it_or_not(
    suffix: str, made: Path, folder: Folder, tmp_path: Path
) -> None:
    out = shutil.copytree(made, tmp_path / "out")
    path = next(each for each in sorted(out.iterdir()) if each.suffix == suffix)
    CHANGES[suffix](path)
    assert [each.code for each in verify_conversion(out, folder).findings] == ["checksum-differs"]
    restate(out, path.name)
    findings = verify_conversion(out, folder).findings
    assert [(each.code, each.place) for each in findings] == [("derived-differs", path.name)]


def test_written_by_another_library_is_no_finding(made: Path, folder: Folder, tmp_path: Path) -> None:
    """The same rows on other pages of SQLite, and in other chunks of HDF5."""
    out = shutil.copytree(made, tmp_path / "out")
    package, matrices = (next(out.glob(f"*{suffix}")) for suffix in (".gpkg", ".omx"))
    database = sqlite3.connect(package)
    database.executescript("PRAGMA page_size = 8192; VACUUM;")
    database.close()
    with h5py.File(matrices) as old, h5py.File(tmp_path / "new.omx", "w") as new:
        for key, value in old.attrs.items():
            new.attrs[key] = value
        for name in ("data", "lookup"):
            for key, values in old[name].items():
                new.create_dataset(f"{name}/{key}", data=values[:])
    shutil.copy(tmp_path / "new.omx", matrices)
    for path in (package, matrices):
        restate(out, path.name)
    assert verify_conversion(out, folder).findings == []


def free_pages(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE trips (trip TEXT)")
    database.executemany("INSERT INTO trips VALUES (?)", [(f"trip {n}",) for n in range(2000)])
    database.execute("DROP TABLE trips")
    database.commit()
    database.close()


def bytes_behind(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"trip" * 1000)


def words_of_a_column(path: Path) -> None:
    table = pq.read_table(path)
    fields = [field.with_metadata({**(field.metadata or {}), b"more": b"trips"}) for field in table.schema]
    pq.write_table(table.cast(pa.schema(fields, table.schema.metadata)), path)


def endless_matrix(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.create_dataset("more", shape=(10**7, 10**6), dtype="f8", chunks=(1000, 1000))


@pytest.mark.parametrize(
    ("kind", "hide"),
    [
        ("gpkg", free_pages),
        ("gpkg", bytes_behind),
        ("parquet", words_of_a_column),
        ("parquet", bytes_behind),
        ("xlsx", bytes_behind),
        ("omx", endless_matrix),
    ],
)
def test_room_for_what_no_table_has_is_found(
    kind: str, hide: Callable[[Path], None], made: Path, folder: Folder, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(made, tmp_path / "files"))
    path = next(out.glob(f"*.{kind}"))
    hide(path)
    restate(out, path.name)
    assert [each.code for each in verify_conversion(out, folder).findings] == ["derived-differs"]


def test_a_workbook_that_would_fill_a_memory_is_not_unpacked(made: Path, folder: Folder, tmp_path: Path) -> None:
    """Each of its sheets is as large as one may be, and takes a thousandth of that on the disk."""
    out = Path(shutil.copytree(made, tmp_path / "files"))
    path = next(out.glob("*.xlsx"))
    sheet = b"0" * 2**26
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(4):
            archive.writestr(zipfile.ZipInfo(f"{number}", (1980, 1, 1, 0, 0, 0)), sheet, zipfile.ZIP_DEFLATED)
    restate(out, path.name)
    tracemalloc.start()
    try:
        found = verify_conversion(out, folder).findings
        assert tracemalloc.get_traced_memory()[1] < len(sheet)
    finally:
        tracemalloc.stop()
    assert [each.code for each in found] == ["derived-differs"]


def test_what_does_not_belong_or_is_not_there_is_found(made: Path, folder: Folder, tmp_path: Path) -> None:
    out = shutil.copytree(made, tmp_path / "out")
    (out / "more.csv").write_text("mode,count\n")
    (out / "flows.csv").unlink()
    codes = {each.code for each in verify_conversion(out, folder).findings}
    assert codes == {"file-unexpected", "file-missing"}
    path = out / "converted.json"
    stated = json.loads(path.read_text(encoding="utf-8"))
    stated["forms"]["gpkg"]["version"] = 9
    path.write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert "conversion-version" in {each.code for each in verify_conversion(out, folder).findings}
    other = verify_conversion(made, open_folder(GOLDEN / "3" / "gaussian"))
    assert [each.code for each in other.findings] == ["other-release"]
    path.write_text("{")
    with pytest.raises(UsageError, match="is damaged, or of a later version"):
        verify_conversion(out, folder)
    with pytest.raises(FolderError, match=r"there is no converted\.json"):
        verify_conversion(tmp_path, folder)


def test_a_folder_that_was_changed_is_found(tmp_path: Path) -> None:
    copy = shutil.copytree(GOLDEN / "3" / "gaussian", tmp_path / "copy")
    folder = open_folder(copy)
    folder.convert("csv", tmp_path / "out")
    with (copy / "data" / "total.csv").open("a") as file:
        file.write("bus,2025-03-05,99,90,108\n")
    codes = {each.code for each in verify_conversion(tmp_path / "out", open_folder(copy)).findings}
    assert codes == {"checksum-differs", "derived-differs"}


def test_the_command_makes_files_and_makes_them_again(tmp_path: Path) -> None:
    done = run("convert", str(WORLD), "--to", "csv", "--no-bom", "--delimiter", ";", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = run("convert", str(WORLD), "--verify", "out", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "out verified: csv of" in again.stdout
    path = next((tmp_path / "out").glob("*.csv"))
    path.write_text(path.read_text().replace("1", "2"))
    assert run("convert", str(WORLD), "--verify", "out", cwd=tmp_path).returncode == 1
    wrong = run("convert", str(WORLD), "-o", "out", cwd=tmp_path)
    assert (wrong.returncode, "say which form with --to" in wrong.stderr) == (2, True)
