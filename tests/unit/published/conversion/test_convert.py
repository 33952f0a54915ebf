"""Files for other programs have the published numbers, cell by cell, as these programs read them."""

from __future__ import annotations

import csv
import io
import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest

import tapveil
from tapveil.base.errors import FolderError, UsageError
from tapveil.published.conversion.convert import FORMS, convert
from tapveil.published.folder import open_folder

GOLDEN = Path(__file__).parents[3] / "golden"
GAUSSIAN, WORLD, CARDS = GOLDEN / "3" / "gaussian", GOLDEN / "3d" / "world-of-all-days", GOLDEN / "3e" / "calendars"


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("form", ["flows", "gpkg", "xlsx", "csv"])
def test_the_same_folder_gives_the_same_bytes(form: str, tmp_path: Path) -> None:
    folder = open_folder(WORLD)
    first, second = (convert(folder, form, tmp_path / name) for name in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with pytest.raises(UsageError, match="already exists"):
        convert(folder, form, tmp_path / "first")


def test_flows_and_locations_are_those_of_the_estimates(tmp_path: Path) -> None:
    folder = open_folder(WORLD)
    locations, flows = (read(path) for path in convert(folder, "flows", tmp_path))
    assert list(locations[0]) == ["id", "name", "lat", "lon"]
    assert list(flows[0])[:4] == ["origin", "dest", "count", "time"]
    ids = {row["id"] for row in locations}
    estimates = folder.estimate(["tap_on_location", "tap_off_location"])
    expected = {
        (f"{row['mode']}: {row['tap_on_location']}", f"{row['mode']}: {row['tap_off_location']}"): row["count"]
        for row in estimates.rows()
        if row["count"]
    }
    drawn = {ends: count for ends, count in expected.items() if set(ends) <= ids}
    assert {(row["origin"], row["dest"]): int(row["count"]) for row in flows} == drawn
    assert drawn
    assert all(-180 <= float(row["lon"]) <= 180 and -90 <= float(row["lat"]) <= 90 for row in locations)
    with pytest.raises(FolderError, match="has no table of origins and destinations"):
        convert(open_folder(GAUSSIAN), "flows", tmp_path / "none")
    with pytest.raises(FolderError, match=r"has no areas\.geojson"):
        convert(open_folder(CARDS), "flows", tmp_path / "none")


def test_a_geopackage_has_what_the_standard_asks_for(tmp_path: Path) -> None:
    (path,) = convert(open_folder(GAUSSIAN), "gpkg", tmp_path)
    assert path.read_bytes()[68:72] == b"GPKG"
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    systems = {row[0] for row in database.execute("SELECT srs_id FROM gpkg_spatial_ref_sys")}
    assert {-1, 0, 4326} <= systems
    contents = dict(database.execute("SELECT table_name, data_type FROM gpkg_contents"))
    opened = open_folder(GAUSSIAN)
    assert contents == {"places": "features"} | {f"table_{name}": "attributes" for name in opened.tables}
    for name in opened.tables:
        frame = opened.table(name)
        columns = ", ".join(f'"{column}"' for column in frame.columns)
        found = database.execute(f'SELECT {columns} FROM "table_{name}" ORDER BY fid').fetchall()
        assert found == [tuple(row.values()) for row in frame.rows()]
    means = {(row["mode"], row["tap_on_location"]): row for row in opened.table("on_location").mean().rows()}
    rows = database.execute("SELECT mode, name, geom, on_location_mean, on_location_low FROM places").fetchall()
    assert len(rows) > 5
    seen = 0
    for mode, place, shape, mean, low in rows:
        assert shape[:4] == b"GP\x00\x01"
        assert struct.unpack("<i", shape[4:8]) == (4326,)
        if (mode, place) in means:
            own = means[mode, place]
            assert low == pytest.approx(own["noise_low"], abs=1e-3)
            assert mean is None if np.isnan(own["mean"]) else mean == pytest.approx(own["mean"], abs=1e-3)
            seen += 1
    assert seen > 3


def test_gdal_reads_the_geopackage(tmp_path: Path) -> None:
    pyogrio = pytest.importorskip("pyogrio")
    (path,) = convert(open_folder(GAUSSIAN), "gpkg", tmp_path)
    layers = {name for name, _ in pyogrio.list_layers(path)}
    assert {"places", "table_total"} <= layers
    info = pyogrio.read_info(path, layer="places")
    assert info["crs"] == "EPSG:4326"
    _, _, shapes, fields = pyogrio.raw.read(path, layer="places")
    assert len(shapes) == info["features"]
    assert all(shape[:1] == b"\x01" for shape in shapes)
    _, _, _, totals = pyogrio.raw.read(path, layer="table_total", read_geometry=False)
    assert totals[2].tolist() == open_folder(GAUSSIAN).totals.cells["count"].tolist()
    assert len(fields) == 9


def test_csv_for_excel_begins_with_its_mark_and_has_the_table(tmp_path: Path) -> None:
    opened = open_folder(GAUSSIAN)
    for path in convert(opened, "csv", tmp_path):
        data = path.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf")
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
        frame = opened.table(path.stem)
        assert rows == [frame.columns, *([str(value) for value in row.values()] for row in frame.rows())]


def test_openpyxl_reads_the_workbook(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    opened = open_folder(GAUSSIAN)
    (path,) = convert(opened, "xlsx", tmp_path)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["About", *opened.tables]
    for name in opened.tables:
        found = list(book[name].iter_rows(values_only=True))
        frame = opened.table(name)
        assert found == [tuple(frame.columns), *(tuple(row.values()) for row in frame.rows())]
    assert "not zero" in str(book["About"].cell(8, 2).value)


@pytest.mark.parametrize("folder", [WORLD, CARDS], ids=lambda path: path.name)
def test_matrices_have_the_flows(folder: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    opened = open_folder(folder)
    first, second = (convert(opened, "omx", tmp_path / name)[0] for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    with h5py.File(first) as file:
        assert bytes(file.attrs["OMX_VERSION"]) == b"0.2"
        zones = [zone.decode() for zone in file["lookup/zone"][:]]
        assert tuple(file.attrs["SHAPE"]) == (len(zones), len(zones))
        matrices = {name: file[f"data/{name}"][:] for name in file["data"]}
    if folder == WORLD:
        rows = opened.estimate(["tap_on_location", "tap_off_location"]).rows()
    else:
        sums = opened.table("od").sum(by=["mode", "tap_on_location", "tap_off_location"]).rows()
        rows = [{**row, "count": row["listed"]} for row in sums]
    assert set(matrices) == {f"{mode}{end}" for mode in opened.modes for end in ("", " low", " high")}
    for row in rows:
        at = zones.index(row["tap_on_location"]), zones.index(row["tap_off_location"])
        assert matrices[row["mode"]][at] == row["count"]
        assert matrices[f"{row['mode']} low"][at] == row["low"]
    total = sum(matrices[mode].sum() for mode in opened.modes)
    assert total == sum(row["count"] for row in rows)


def test_a_form_that_is_not_there_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="there is no form `shp`: flows, gpkg, xlsx, csv, omx"):
        convert(open_folder(GAUSSIAN), "shp", tmp_path)
    assert list(FORMS) == ["flows", "gpkg", "xlsx", "csv", "omx"]
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(tapveil.ReaderError, match=r"h5py is not installed: pip install 'tapveil\[omx\]'"):
        convert(open_folder(WORLD), "omx", tmp_path)
    assert not list(tmp_path.iterdir()), "nothing is left of what failed"
