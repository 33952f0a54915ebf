"""Files for other programs have the published numbers, cell by cell, as these programs read them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sqlite3
import struct
import subprocess
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

import tapveil
from tapveil.base.errors import FolderError, UsageError
from tapveil.plan.model import Plan
from tapveil.published.conversion import sheets
from tapveil.published.conversion.convert import FORMS, convert
from tapveil.published.conversion.places import places
from tapveil.published.folder import Folder, open_folder
from tapveil.verification.conversion import verify_conversion
from tests.conftest import free_plan, write_csv
from tests.support.commands import run
from tests.support.r import r_with

GOLDEN = Path(__file__).parents[3] / "golden"
GAUSSIAN, WORLD, CARDS = GOLDEN / "3" / "gaussian", GOLDEN / "3d" / "world-of-all-days", GOLDEN / "3e" / "calendars"


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


WRITTEN = {
    "flows": "5d921b2413e29d37",
    "gpkg": "77bcbdc9f6311969",
    "geoparquet": None,
    "xlsx": "d20a53d9883d9491",
    "csv": "7f80c4ed34d24a59",
    "omx": None,
}
"""The bytes of version 1 of each form, of one folder; those of Parquet and HDF5 are up to their libraries."""


@pytest.mark.parametrize("form", FORMS)
def test_the_same_folder_gives_the_same_bytes_in_every_version_of_tapveil(form: str, tmp_path: Path) -> None:
    folder = open_folder(WORLD)
    first, second = (convert(folder, form, tmp_path / name) for name in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with pytest.raises(UsageError, match="already exists"):
        convert(folder, form, tmp_path / "first")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in first)).hexdigest()
    assert FORMS[form].version == 1, "a new version needs its digest here, and the old one its writer"
    assert WRITTEN[form] in (None, digest[:16])


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


def _places_of(folder: Folder, places: Sequence[tuple[str, str]]) -> dict[str, list[Any]]:
    """What the layer of places has of each, from the tables: NaN where a place has no mean, or no cell."""
    features = json.loads((folder.path / "areas.geojson").read_text(encoding="utf-8"))["features"]
    assert set(places) == {(each["properties"]["mode"], each["properties"]["name"]) for each in features}
    found: dict[str, list[Any]] = {"mode": [mode for mode, _ in places], "name": [name for _, name in places]}
    for table in ("on_location", "off_location"):
        means = {(row["mode"], row[f"tap_{table}"]): row for row in folder.table(table).mean().rows()}
        for name, number in (("mean", "mean"), ("low", "noise_low"), ("high", "noise_high")):
            found[f"{table}_{name}"] = [means.get(place, {}).get(number, np.nan) for place in places]
            assert np.isfinite(found[f"{table}_{name}"]).sum() > 3
    return found


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
    opened = open_folder(GAUSSIAN)
    found = dict(zip(info["fields"].tolist(), (column.tolist() for column in fields), strict=True))
    expected = _places_of(opened, list(zip(found["mode"], found["name"], strict=True)))
    assert set(found) == {"title", *expected}
    for name, column in expected.items():
        assert found[name] == (pytest.approx(column, nan_ok=True, abs=1e-3) if "location_" in name else column), name
    for name in opened.tables:
        meta, _, _, columns = pyogrio.raw.read(path, layer=f"table_{name}", read_geometry=False)
        found = dict(zip(meta["fields"].tolist(), (column.tolist() for column in columns), strict=True))
        assert found == {key: column.tolist() for key, column in opened.table(name).cells.items()}
    shapely = pytest.importorskip("shapely")
    drawn = shapely.from_wkb(shapes)
    assert info["total_bounds"] == pytest.approx(shapely.total_bounds(drawn))


def test_places_of_a_folder_of_every_cell_have_the_sums_of_its_tables(tmp_path: Path) -> None:
    """Its tables have places with times or other places, and none has them alone."""
    opened = open_folder(GOLDEN / "3d" / "world")
    (path,) = convert(opened, "gpkg", tmp_path)
    with closing(sqlite3.connect(path)) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(places)")]
        assert [name for name in columns if "location" in name] == [
            f"tap_{end}_location_{number}" for end in ("on", "off") for number in ("mean", "low", "high")
        ]
        rows = database.execute(
            "SELECT mode, name, tap_on_location_mean, tap_on_location_low, tap_on_location_high FROM places"
        ).fetchall()
    table = opened.table("origin_time")
    assert len(rows) > 5
    for mode, name, mean, low, high in rows:
        cells = table.where(mode=mode, tap_on_location=name)
        assert mean == pytest.approx(sum(row["count"] for row in cells.rows()) / len(table.days), abs=1e-3)
        noise = cells.sum(by="date").mean().rows()[0]
        assert (low, high) == pytest.approx((noise["noise_low"], noise["noise_high"]), abs=1e-3)


def test_r_reads_the_geopackage_and_the_workbook(tmp_path: Path) -> None:
    """sf by GDAL of the system, readxl by its own library: cell by cell, as R writes them."""
    rscript = r_with("sf", "readxl", "jsonlite")
    opened = open_folder(GAUSSIAN)
    (package,), (book,) = convert(opened, "gpkg", tmp_path), convert(opened, "xlsx", tmp_path)
    script = f"""
      frames <- list()
      for (name in c({", ".join(f"'{name}'" for name in opened.tables)})) {{
        frames[[paste0("gpkg/", name)]] <- sf::read_sf("{package}", paste0("table_", name))
        sheet <- readxl::read_excel("{book}", name)
        sheet$date <- format(sheet$date, "%Y-%m-%d")
        frames[[paste0("xlsx/", name)]] <- sheet
      }}
      places <- sf::read_sf("{package}", "places")
      stopifnot(sf::st_crs(places)$epsg == 4326)
      frames$places <- sf::st_drop_geometry(places)
      cat(jsonlite::toJSON(frames, dataframe = "columns", na = "null", digits = NA))"""
    done = subprocess.run([rscript, "-e", script], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for name in opened.tables:
        expected = {key: column.tolist() for key, column in opened.table(name).cells.items()}
        for form in ("gpkg", "xlsx"):
            assert {key: found[f"{form}/{name}"][key] for key in expected} == expected
    placed = found["places"]
    for name, column in _places_of(opened, list(zip(placed["mode"], placed["name"], strict=True))).items():
        read = [np.nan if each is None else each for each in placed[name]]
        assert read == (pytest.approx(column, nan_ok=True, abs=1e-3) if "location_" in name else column), name


def test_geopandas_reads_the_geoparquet(tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    opened = open_folder(GAUSSIAN)
    (path,), (package,) = convert(opened, "geoparquet", tmp_path), convert(opened, "gpkg", tmp_path)
    ours, theirs = geopandas.read_parquet(path), geopandas.read_file(package, layer="places")
    assert str(ours.crs) == "OGC:CRS84"
    assert list(ours.columns) == [*theirs.columns[:-1], "geometry"]
    assert ours.geometry.geom_equals(theirs.geometry.set_crs("OGC:CRS84", allow_override=True)).all()
    for column in ours.columns[:-1]:
        assert ours[column].tolist() == pytest.approx(theirs[column].tolist(), nan_ok=True)
    assert len(ours) > 5


def test_csv_for_excel_begins_with_its_mark_and_has_the_table(tmp_path: Path) -> None:
    opened = open_folder(GAUSSIAN)
    for path in convert(opened, "csv", tmp_path):
        data = path.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf")
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
        frame = opened.table(path.stem)
        assert rows == [frame.columns, *([str(value) for value in row.values()] for row in frame.rows())]


def test_how_csv_is_written_can_be_chosen(tmp_path: Path) -> None:
    opened = open_folder(GAUSSIAN)
    plain = opened.convert("csv", tmp_path / "plain", bom=False)
    assert not plain[0].read_bytes().startswith(b"\xef")
    for path in opened.convert("csv", tmp_path / "semicolons", delimiter=";"):
        rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline=""), delimiter=";"))
        assert rows == list(csv.reader(io.StringIO((tmp_path / "plain" / path.name).read_text(), newline="")))
    with pytest.raises(UsageError, match=r"there is no delimiter '\|' for CSV: a comma, a semicolon or a tab"):
        opened.convert("csv", tmp_path / "bars", delimiter="|")


def test_openpyxl_reads_the_workbook(tmp_path: Path) -> None:
    opened = open_folder(GAUSSIAN)
    (path,) = convert(opened, "xlsx", tmp_path)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["About", "Noise", "Places", *opened.tables]
    for name in opened.tables:
        header, *found = book[name].iter_rows(values_only=True)
        frame = opened.table(name)
        assert header == tuple(frame.columns)
        assert [_with_days(row) for row in found] == [tuple(row.values()) for row in frame.rows()]
        for column in frame.columns:
            named = book.defined_names[f"{name}.{column}"].attr_text
            sheet, _, cells = named.rpartition("!")
            own = [cell.value for (cell,) in book[sheet.strip("'")][cells.replace("$", "")]]
            assert list(_with_days(own)) == frame.cells[column].tolist()
    noise = {row[0]: row[1:] for row in book["Noise"].iter_rows(min_row=2, values_only=True)}
    assert noise == {
        each.name: (each.error_95, each.smallest_published, each.absent_95) for each in opened.manifest.tables
    }
    assert len(list(book["Places"].iter_rows(min_row=2))) == len(places(opened))
    assert "not zero" in str(book["About"].cell(8, 2).value)


def _with_days(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(each.date().isoformat() if isinstance(each, datetime) else each for each in row)


@pytest.mark.parametrize("folder", [WORLD, CARDS], ids=lambda path: path.name)
def test_matrices_have_the_flows(folder: Path, tmp_path: Path) -> None:
    openmatrix = pytest.importorskip("openmatrix")
    opened = open_folder(folder)
    first, second = (convert(opened, "omx", tmp_path / name)[0] for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    file = openmatrix.open_file(first)
    assert file.version() == b"0.2"
    zones = [zone.decode() for zone in file.root.lookup.zone[:]]
    assert tuple(file.shape()) == (len(zones), len(zones))
    assert [zone.decode() for zone in file.mapping("zone")] == zones
    matrices = {name: file[name][:] for name in file.list_matrices()}
    file.close()
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
        high = matrices[f"{row['mode']} high"][at]
        assert np.isnan(high) if row["high"] is None else high == row["high"]
    total = sum(matrices[mode].sum() for mode in opened.modes)
    assert total == sum(row["count"] for row in rows)


def test_a_form_that_is_not_there_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tapveil.ReaderError, match=r"no form `shp` \(forms: flows, gpkg, geoparquet, xlsx, csv, omx\)"):
        convert(open_folder(GAUSSIAN), "shp", tmp_path)
    with pytest.raises(tapveil.ReaderError, match="there is no form `xslx`: did you mean `xlsx`"):
        convert(open_folder(GAUSSIAN), "xslx", tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(tapveil.ReaderError, match=r"h5py is not installed: pip install 'tapveil\[omx\]'"):
        convert(open_folder(WORLD), "omx", tmp_path)
    assert not list(tmp_path.iterdir()), "nothing is left of what failed"


def test_files_are_written_next_to_what_they_are_made_from(tmp_path: Path) -> None:
    opened = open_folder(WORLD)
    opened.convert("csv", tmp_path / "out", delimiter=";")
    opened.convert("flows", tmp_path / "out")
    stated = json.loads((tmp_path / "out" / "converted.json").read_text(encoding="utf-8"))
    assert stated["release_id"] == opened.manifest.release_id
    assert stated["sums_sha256"] == hashlib.sha256((WORLD / "SHA256SUMS").read_bytes()).hexdigest()
    assert stated["forms"]["csv"]["style"] == {"bom": True, "delimiter": ";"}
    assert {name for form in stated["forms"].values() for name in form["files"]} | {"converted.json"} == {
        path.name for path in (tmp_path / "out").iterdir()
    }
    with pytest.raises(UsageError, match="has files of another release"):
        open_folder(GAUSSIAN).convert("csv", tmp_path / "out")
    with pytest.raises(UsageError, match="is in the published folder"):
        opened.convert("csv", WORLD / "for-excel")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        opened.convert("csv", tmp_path / "file")


def test_tables_can_be_chosen_and_files_of_them_verify(tmp_path: Path) -> None:
    folder = open_folder(GAUSSIAN)
    names = [path.name for path in folder.convert("csv", tmp_path, tables=["total", "on_time"])]
    assert names == ["on_time.csv", "total.csv"]
    (path,) = folder.convert("xlsx", tmp_path, tables=["total"])
    assert openpyxl.load_workbook(path).sheetnames == ["About", "Noise", "Places", "total"]
    assert verify_conversion(tmp_path, folder).findings == []
    with pytest.raises(tapveil.ReaderError, match=r"there is no table `totl` .*did you mean"):
        folder.convert("csv", tmp_path / "other", tables=["totl"])
    with pytest.raises(tapveil.ReaderError, match="tables cannot be chosen for `flows`, only for gpkg, xlsx, csv"):
        folder.convert("flows", tmp_path / "other", tables=["total"])


def test_tables_that_no_sheet_holds_are_named_with_those_that_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = open_folder(GAUSSIAN)
    sizes = {name: len(folder.table(name)) for name in folder.tables}
    most = max(sizes.values())
    monkeypatch.setattr(sheets, "MOST_ROWS", most)
    large, fit = ([name for name, rows in sizes.items() if (rows == most) is is_large] for is_large in (True, False))
    with pytest.raises(FolderError, match=f"at most {most} rows with its header: `{large[0]}` has {most}") as error:
        folder.convert("xlsx", tmp_path)
    assert " ".join(f"--table {name}" for name in fit) in str(error.value)
    folder.convert("xlsx", tmp_path, tables=fit)


def test_large_workbooks_are_compressed_and_verify_by_what_they_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = open_folder(GAUSSIAN)
    (stored,) = folder.convert("xlsx", tmp_path / "stored")
    monkeypatch.setattr(sheets, "MOST_STORED", 10)
    (small,) = folder.convert("xlsx", tmp_path / "small")
    assert small.stat().st_size < stored.stat().st_size / 4
    for place in ("stored", "small"):
        assert verify_conversion(tmp_path / place, folder).findings == []
    assert openpyxl.load_workbook(small)["total"].max_row == len(folder.totals) + 1
    whole = small.read_bytes()
    for hidden in (whole + b"more", b"more" + whole, whole[:-2] + b"\x04\x00more"):
        small.write_bytes(hidden)
        assert not sheets.same_workbook(small, stored), "an archive has room for more than its files"


def test_a_form_that_fails_stops_no_other_and_formulas_are_named(tmp_path: Path) -> None:
    columns = ("mode", "date", "tap_on_location")
    rows = [("bus", "2025-03-03", name) for name in ("=cmd|' /C calc'!A0", "-1", "Quay") for _ in range(60)]
    write_csv(tmp_path / "trips.csv", rows, columns)
    free_plan(tmp_path, "trips.csv", {name: name for name in columns}, {"on": ["tap_on_location"]}, ["mode", "date"])
    tapveil.release(Plan.read(tmp_path / "plan.toml"), tmp_path / "published", in_ledger=False)
    ended = run("convert", "published", "--to", "flows", "--to", "csv", "--to", "xlsx", "-o", "files", cwd=tmp_path)
    assert ended.returncode == 2
    assert "flows: published has no table of origins and destinations" in ended.stderr
    assert {path.name for path in (tmp_path / "files").iterdir()} == {"converted.json", "free.xlsx", "on.csv"}
    ended = run("convert", "published", "--to", "csv", "-o", "again", cwd=tmp_path)
    assert ended.returncode == 0
    assert "Note: Excel takes =cmd|' /C calc'!A0 for a formula: open the workbook (--to xlsx) instead." in ended.stderr
    book = openpyxl.load_workbook(tmp_path / "files" / "free.xlsx")["on"]
    assert {cell.data_type for cell in book["C"]} == {"s"}, "in a workbook, texts are texts"
