"""Verification from the folder alone: sound folders pass, tampered ones never do, hostile ones do no harm."""

from __future__ import annotations

import base64
import csv
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.demo.city import make_city
from tapveil.plan.model import Plan
from tapveil.privacy.intervals import MISS, interval
from tapveil.published import signature
from tapveil.published.describe.metadata import METADATA
from tapveil.published.manifest import Manifest
from tapveil.verification import folder as folders
from tapveil.verification import known_versions, reading, totals
from tapveil.verification import manifest as manifests
from tapveil.verification.derived import derived_sheets, published_tables
from tapveil.verification.folder import verify_folder
from tests.conftest import BY_CARD, levelled_plan, opal_plan, write_csv
from tests.end_to_end.test_release import TABLES
from tests.property.test_units import listed_plan
from tests.support.commands import run
from tests.support.tampering import change_package, codes, forge_sizes, refresh, resum, write_package
from tests.unit.published.test_signature import make_key, needs_openssh


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verified") / "city"
    make_city(folder, trips=60_000, file_format="parquet")
    return folder


@pytest.fixture(scope="module")
def published(city: Path) -> Path:
    return tapveil.release(Plan.read(city / "plan.toml"), city / "published", in_ledger=False).path


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    """A copy to be tampered with."""
    shutil.copytree(published, tmp_path / "folder")
    return tmp_path / "folder"


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "privacy.json").read_text())
    change(manifest)
    (folder / "privacy.json").write_text(json.dumps(manifest, indent=2) + "\n")
    refresh(folder)


def change_table(
    folder: Path,
    name: str,
    change: Callable[[list[dict[str, str]]], object],
    *,
    text: bool = False,
    intervals: bool = True,
) -> None:
    """CSV and Parquet alike, with all that follows; `text` keeps days as texts, `intervals` fits them to the counts."""
    path = folder / "data" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = list(rows[0])
    change(rows)
    if intervals and "low" in columns:
        fit_intervals(folder, name, rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    types = {column: pa.string() for column in columns if column not in ("count", "low", "high")}
    table = pa_csv.read_csv(path, convert_options=pa_csv.ConvertOptions(column_types=types))
    if "date" in table.column_names and not text:
        index = table.column_names.index("date")
        table = table.set_column(index, "date", table.column("date").cast(pa.date32()))
    pq.write_table(table, path.with_suffix(".parquet"))
    refresh(folder)


def fit_intervals(folder: Path, name: str, rows: list[dict[str, str]]) -> None:
    opened = tapveil.open(folder)
    rule = interval(opened.mechanism(name), MISS)
    for row in rows:
        count = int(row["count"])
        row |= {"low": str(max(rule.least, count - rule.half_width)), "high": str(count + rule.half_width)}


# --- sound folders ----------------------------------------------------------------------------------------------------


PLANS = {
    "paper": [],
    "opal layout": [("# layout", "layout")],
    "synthetic": [("# synthetic", "synthetic")],
    "opal layout, synthetic": [("# layout", "layout"), ("# synthetic", "synthetic")],
    "add-remove": [('neighbours = "replace"', 'neighbours = "add-remove"')],
    **{
        f"{mechanism}, {unit}": [
            ('mechanism = "sbh"', f'mechanism = "{mechanism}"\nepsilon = 8\ndelta = "3/4000000"'),
            ('delta = "1/8000000"\n', ""),
            ("epsilon = 1\n", ""),
            ("epsilon = 2\n", "weight = 2\n"),
            *([] if unit == "trip" else [('unit = "trip"', f'unit = "{unit}"\nwithout_card = "refuse"\n{bound}')]),
        ]
        for mechanism in ("sbh", "laplace", "gaussian")
        for unit, bound in {"trip": "", "card-day": "trips_per_day = 4", "card": "trips_per_card = 20"}.items()
    },
}


@pytest.mark.parametrize("name", PLANS)
def test_a_sound_folder_passes(name: str, city: Path, tmp_path: Path) -> None:
    text = (city / "plan.toml").read_text()
    for old, new in PLANS[name]:
        assert old in text, old
        text = text.replace(old, new)
    release = tapveil.release(Plan.parse(text, base=city), tmp_path / "published", in_ledger=False)
    checked = verify_folder(release.path)
    assert not checked.findings
    assert "the stated noise satisfies" in checked.summary


def test_a_dictionary_passes(tmp_path: Path) -> None:
    release = tapveil.release(listed_plan(tmp_path), tmp_path / "out", in_ledger=False)
    assert not verify_folder(release.path).findings


def test_the_command(folder: Path) -> None:
    good = run("verify", folder, cwd=folder.parent)
    assert good.returncode == 0
    assert " verified: intact" in good.stdout
    (folder / "data" / "on_time.csv").unlink()
    bad = run("verify", folder, "--json", cwd=folder.parent)
    assert bad.returncode == 1
    found = json.loads(bad.stdout)["findings"]
    assert {"code", "place", "sentence"} == set(found[0])
    assert "file-missing" in {each["code"] for each in found}
    assert run("verify", "nowhere", cwd=folder.parent).returncode == 2
    assert run("verify", folder, "--epsilon", "1", cwd=folder.parent).returncode == 2


# --- tampering --------------------------------------------------------------------------------------------------------


def flip_a_byte(folder: Path) -> None:
    path = folder / "data" / "on_location.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def swap_tables(folder: Path) -> None:
    one, two = folder / "data" / "on_time.csv", folder / "data" / "off_time.csv"
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)


def smaller_epsilon(manifest: dict[str, Any]) -> None:
    manifest["epsilon"] = 4
    manifest["exact"]["epsilon"] = "4"


def smaller_epsilon_everywhere(manifest: dict[str, Any]) -> None:
    text = json.dumps(manifest)
    for table in manifest["tables"]:
        table["epsilon"] /= 2
        table["exact"]["epsilon"] = str(table["epsilon"])
    for loss in (manifest, *manifest["guarantees"]):
        loss["epsilon"] /= 2
        loss["exact"]["epsilon"] = str(loss["epsilon"])
    assert json.dumps(manifest) != text


def with_columns(**more: str) -> Callable[[list[dict[str, str]]], None]:
    def change(rows: list[dict[str, str]]) -> None:
        for number, row in enumerate(rows):
            count = row.pop("count")
            row |= {name: value.format(n=number) for name, value in more.items()} | {"count": count}

    return change


def set_count(value: str) -> Callable[[list[dict[str, str]]], None]:
    return lambda rows: rows[7].update(count=value)


TAMPERING: dict[str, tuple[Callable[[Path], object], str]] = {
    "a changed byte": (flip_a_byte, "checksum-differs"),
    "a removed file": (lambda f: (f / "data" / "on_time.parquet").unlink(), "file-missing"),
    "an added file": (lambda f: (f / "data" / "extra.csv").write_text("x"), "file-unlisted"),
    "an added file, listed": (lambda f: ((f / "extra.csv").write_text("x"), refresh(f)), "file-unexpected"),
    "swapped tables": (swap_tables, "file-swapped"),
    "swapped tables, listed": (lambda f: (swap_tables(f), refresh(f)), "column-unexpected"),
    "no checksums": (lambda f: (f / "SHA256SUMS").unlink(), "checksums-missing"),
    "checksums in another order": (
        lambda f: (f / "SHA256SUMS").write_text(
            "".join(reversed((f / "SHA256SUMS").read_text().splitlines(keepends=True)))
        ),
        "checksums-damaged",
    ),
    "a smaller epsilon": (lambda f: change_manifest(f, smaller_epsilon), "epsilon-understated"),
    "a smaller epsilon everywhere": (
        lambda f: change_manifest(f, smaller_epsilon_everywhere),
        "epsilon-understated",
    ),
    "a smaller delta": (
        lambda f: change_manifest(f, lambda m: (m.update(delta=1e-9), m["exact"].update(delta="1e-9"))),
        "epsilon-understated",
    ),
    "a smaller delta on the curve": (
        lambda f: change_manifest(f, lambda m: m["curve"]["points"][2].update(delta=1e-12)),
        "epsilon-understated",
    ),
    "a smaller epsilon for cards": (
        lambda f: change_manifest(f, lambda m: m["whole_cards"][1].update(epsilon=8)),
        "epsilon-understated",
    ),
    "another scale": (
        lambda f: (
            change_manifest(f, lambda m: m["tables"][0].update(scale=1, scale_exact="1")),
            change_table(f, "on_time", lambda r: None),
        ),
        "epsilon-understated",
    ),
    "a lower threshold": (
        lambda f: change_manifest(f, lambda m: m["tables"][0].update(threshold=2, threshold_exact="2")),
        "epsilon-understated",
    ),
    "a figure": (lambda f: change_manifest(f, lambda m: m["tables"][0].update(error_95=1)), "figure-differs"),
    "a smallest count": (
        lambda f: change_manifest(f, lambda m: m["tables"][0].update(smallest_published=5)),
        "figure-differs",
    ),
    "bounds": (lambda f: change_manifest(f, lambda m: m["bounds"].update(cells_per_table=2)), "bounds"),
    "no noise": (
        lambda f: change_manifest(f, lambda m: m["tables"][0].update(scale_exact="1/100000")),
        "mechanism-impossible",
    ),
    "an unknown version": (lambda f: change_manifest(f, lambda m: m.update(manifest_version=9)), "manifest-version"),
    "a key beyond": (lambda f: change_manifest(f, lambda m: m.update(rows_read=12345)), "manifest-shape"),
    "a count below the threshold": (lambda f: change_table(f, "on_time", set_count("33")), "count-below-smallest"),
    "a count that is none": (lambda f: change_table(f, "on_time", set_count("0")), "count-unreadable"),
    "a row twice": (lambda f: change_table(f, "on_time", lambda r: r.insert(7, dict(r[7]))), "duplicate-key"),
    "rows in another order": (lambda f: change_table(f, "on_time", lambda r: r.reverse()), "not-sorted"),
    "a time between bins": (
        lambda f: change_table(f, "on_time", lambda r: r[7].update(tap_on_time="08:07")),
        "value-impossible",
    ),
    "a day that is not covered": (
        lambda f: change_table(f, "on_time", lambda r: r[0].update(date="2020-01-01")),
        "value-impossible",
    ),
    "places as days": (
        lambda f: change_manifest(f, lambda m: m["columns"].update(tap_on_location="date")),
        "value-impossible",
    ),
    "a day written in another way": (
        lambda f: change_table(f, "on_time", lambda r: r[-1].update(date=r[-1]["date"].replace("-", "")), text=True),
        "value-impossible",
    ),
    "a column beyond": (lambda f: change_table(f, "on_time", with_columns(rider="{n}")), "column-unexpected"),
    "a total that cannot be": (
        lambda f: change_table(f, "on_location", lambda r: [row.update(count="90000") for row in r]),
        "totals-differ",
    ),
    "Parquet that says something else": (
        lambda f: (
            pq.write_table(pq.read_table(f / "data" / "on_time.parquet").slice(1), f / "data" / "on_time.parquet"),
            refresh(f),
        ),
        "parquet-differs",
    ),
    "a rho where no noise is Gaussian": (
        lambda f: change_manifest(
            f,
            lambda m: m.update(
                gaussian={"mu": 0.5, "rho": 0.125, "delta_singletons": 0, "exact": {"mu_squared": "1/4"}}
            ),
        ),
        "figure-differs",
    ),
    "a table's epsilon in numbers only": (
        lambda f: change_manifest(f, lambda m: m["tables"][0].update(epsilon=0.0001)),
        "figure-differs",
    ),
    "a table without its exact form": (
        lambda f: change_manifest(f, lambda m: (m["tables"][0].pop("exact"), m["tables"][0].update(epsilon=0.0001))),
        "figure-differs",
    ),
    "another meaning": (
        lambda f: change_manifest(f, lambda m: m["guarantees"][0].update(meaning="everything that anyone ever did")),
        "manifest-shape",
    ),
    "no word about cards": (lambda f: change_manifest(f, lambda m: m.update(whole_cards=None)), "figure-differs"),
    "a curve without points": (lambda f: change_manifest(f, lambda m: m["curve"].update(points=[])), "manifest-shape"),
    "a person whose year costs less": (
        lambda f: change_manifest(f, lambda m: m["people"][-4]["apart"].update(epsilon=8)),
        "epsilon-understated",
    ),
    "a better word for a person": (
        lambda f: change_manifest(f, lambda m: m["people"][1].update(verdict="strong")),
        "figure-differs",
    ),
    "a person's delta with digits that could tell": (
        lambda f: change_manifest(
            f, lambda m: m["people"][0]["apart"].update(delta=m["people"][0]["apart"]["delta"] * 1.01234567)
        ),
        "epsilon-understated",
    ),
    "nothing about people": (lambda f: change_manifest(f, lambda m: m.update(people=None)), "figure-differs"),
    "a delta of one": (
        lambda f: change_manifest(
            f, lambda m: (m.update(epsilon=1e-9, delta=1), m.update(exact={"epsilon": "1e-9", "delta": "1"}))
        ),
        "figure-differs",
    ),
    "another epsilon in the README": (
        lambda f: (
            (f / "README.md").write_text((f / "README.md").read_text().replace("epsilon = 8", "epsilon = 0.001")),
            resum(f),
        ),
        "words-differ",
    ),
    "cards as days": (
        lambda f: change_table(
            f, "on_time", lambda r: [row.update(date=f"{n:016}") for n, row in enumerate(r)], text=True
        ),
        "value-impossible",
    ),
    "a day with something behind": (
        lambda f: change_table(f, "on_time", lambda r: r[0].update(date="2025-03-043085000"), text=True),
        "value-impossible",
    ),
    "counts that wrap around": (
        lambda f: change_table(f, "on_location", lambda r: [row.update(count="922337203685477581") for row in r]),
        "count-unreadable",
    ),
    "data in the metadata of Parquet": (
        lambda f: (
            pq.write_table(
                pq.read_table(f / "data" / "on_time.parquet").replace_schema_metadata({"cards": "3085"}),
                f / "data" / "on_time.parquet",
            ),
            refresh(f),
        ),
        "hidden-data",
    ),
    "data in the data package": (
        lambda f: change_package(f, '"resources"', '"cards": "3085", "resources"'),
        "package-differs",
    ),
    "data in the ends of lines": (
        lambda f: (
            (f / "data" / "on_time.csv").write_bytes(
                (f / "data" / "on_time.csv").read_bytes().replace(b"\n", b"\r\n", 3)
            ),
            refresh(f),
        ),
        "hidden-data",
    ),
    "data in empty lines": (
        lambda f: (
            (f / "data" / "on_time.csv").write_bytes((f / "data" / "on_time.csv").read_bytes() + b"\n\n\n"),
            refresh(f),
        ),
        "parquet-differs",
    ),
    "a schema that says something else": (
        lambda f: change_package(f, '"minimum": 34', '"minimum": 1'),
        "package-differs",
    ),
    "a path out of the folder": (
        lambda f: change_package(f, '"data/on_time.csv"', '"../../etc/passwd"'),
        "package-differs",
    ),
}


FOLLOWS = {"interval-differs", "derived-differs", "metadata-differs"}
"""What follows from the rest. One who knows the format makes it fit, so it must not be these that give him away."""


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_found_by_its_own_code(name: str, folder: Path) -> None:
    tamper, code = TAMPERING[name]
    tamper(folder)
    found = codes(verify_folder(folder))
    assert code in found
    assert not found & FOLLOWS, found


# --- what follows from the tables -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_levels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("levels")
    return tapveil.release(levelled_plan(home), home / "published", in_ledger=False).path


@pytest.fixture
def levels(many_levels: Path, tmp_path: Path) -> Path:
    """A copy with coarser levels and wider areas, to be tampered with."""
    return shutil.copytree(many_levels, tmp_path / "levels")


def edit(name: str, old: str, new: str, times: int = 1, *, rederive: bool = False) -> Callable[[Path], None]:
    """Change a file that follows from others, and its checksums; `rederive` also what follows from it."""

    def change(folder: Path) -> None:
        text = (folder / name).read_bytes().decode()
        assert old in text
        (folder / name).write_bytes(text.replace(old, new, times).encode())
        refresh(folder, rederive=rederive)

    return change


def more(name: str) -> Callable[[Path], None]:
    """The first number of the second row of a file, one higher."""

    def change(folder: Path) -> None:
        path = folder / name
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        at = next(i for i, column in enumerate(header) if column in ("count", "total"))
        rows[1][at] = str(int(rows[1][at]) + 1)
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
        refresh(folder, rederive=False)

    return change


def without(name: str) -> Callable[[Path], None]:
    """A file gone, and all trace of it."""

    def change(folder: Path) -> None:
        (folder / name).unlink()
        package = json.loads((folder / "datapackage.json").read_text())
        package["resources"] = [each for each in package["resources"] if each["path"] != name]
        write_package(folder, package)

    return change


def tell_portals(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))
        resum(folder)

    return change


def double_an_area(folder: Path) -> None:
    path = folder / "wider-areas.csv"
    path.write_text(path.read_text() + path.read_text().replace("region,", "zone,").split("\n", 1)[1])
    refresh(folder, rederive=False)


def half_as_much_again(rows: list[dict[str, str]]) -> None:
    for row in rows:
        row["count"] = str(int(row["count"]) * 3 // 2)


def one_less(table: str, column: str, folder: Path) -> None:
    change_table(folder, table, lambda rows: rows[3].update({column: str(int(rows[3][column]) - 1)}), intervals=False)


FOLLOWING: dict[str, tuple[Callable[[Path], object], str]] = {
    **{
        f"{column} of {table}": (
            partial(one_less, table, column),
            "interval-differs",
        )
        for table, column in (("on_time", "low"), ("on_time", "high"), ("both-region", "high"))
    },
    **{
        f"a number of {name}": (more(f"{name}.csv"), "derived-differs")
        for name in (
            *("consistent/total", "consistent/both", "consistent/both.by.both-hours"),
            *("consistent/on_time-peaks.by.total", "finest/both", "finest/on_location"),
        )
    },
    "a part less": (
        lambda f: (
            (f / "consistent" / "total.csv").write_text(
                "".join((f / "consistent" / "total.csv").read_text().splitlines(keepends=True)[:-1])
            ),
            refresh(f, rederive=False),
        ),
        "derived-differs",
    ),
    "totals of other trips": (lambda f: change_table(f, "total", half_as_much_again), "totals-differ"),
    "a table of other trips than the totals": (
        lambda f: change_table(f, "on_location-region", half_as_much_again),
        "totals-differ",
    ),
    "a part without its total": (lambda f: change_table(f, "total", lambda r: r.pop()), "totals-differ"),
    "a rest that is a cell": (edit("finest/both.csv", ",rest,", ",cell,"), "derived-differs"),
    "a file of the consistent version gone": (without("consistent/on_time.csv"), "table-missing"),
    "the finest gone": (without("finest/both.csv"), "table-missing"),
    "another column": (edit("consistent/total.csv", "count,low", "trips,low"), "column-unexpected"),
    "more in the ends of lines": (edit("consistent/both.csv", "\n", "\r\n", 3), "hidden-data"),
    "more in empty lines": (edit("finest/on_time.csv", "\n", "\n\n", 1), "derived-differs"),
    "not text": (
        lambda f: (
            (f / "finest" / "both.csv").write_bytes(
                (f / "finest" / "both.csv").read_bytes().replace(b"bus", b"b\xffs", 1)
            ),
            refresh(f, rederive=False),
        ),
        "not-utf8",
    ),
    "another area": (edit("wider-areas.csv", "region,bus,2020,B", "region,bus,2020,A"), "derived-differs"),
    "a place that is not published": (
        edit("wider-areas.csv", "region,bus,2000,A\n", "region,bus,1999,A\nregion,bus,2000,A\n", rederive=True),
        "places-shape",
    ),
    "a place less": (edit("wider-areas.csv", "region,bus,9999,UNKNOWN\n", "", rederive=True), "places-shape"),
    "areas in another order": (
        edit("wider-areas.csv", "region,bus,2000,A\nregion,bus,2010,A\n", "region,bus,2010,A\nregion,bus,2000,A\n"),
        "hidden-data",
    ),
    "areas in quotes": (edit("wider-areas.csv", "bus,2000,A", 'bus,"2000",A'), "hidden-data"),
    "areas that no table has": (double_an_area, "places-shape"),
    "no list of areas": (edit("wider-areas.csv", "wider,mode", "wider,made"), "places-shape"),
    "areas gone": (lambda f: ((f / "wider-areas.csv").unlink(), resum(f)), "file-missing"),
    "another epsilon in the registry": (tell_portals("dp-registry.yaml", "8", "2"), "metadata-differs"),
    "another title for portals": (tell_portals("dcat.jsonld", "Boardings", "Alightings"), "metadata-differs"),
    "another column for machines": (tell_portals("croissant.json", "tap_on_time", "tap_off_time"), "metadata-differs"),
    "metadata gone": (lambda f: ((f / "croissant.json").unlink(), resum(f)), "file-missing"),
}


def test_a_folder_with_levels_and_wider_areas_passes(many_levels: Path) -> None:
    assert (many_levels / "wider-areas.csv").exists()
    assert len(list((many_levels / "finest").iterdir())) == 3
    assert not verify_folder(many_levels).findings


@pytest.mark.parametrize("name", FOLLOWING)
def test_what_does_not_follow_is_found_by_its_own_code(name: str, levels: Path) -> None:
    tamper, code = FOLLOWING[name]
    tamper(levels)
    assert codes(verify_folder(levels)) == {code}


def test_one_who_makes_all_of_it_fit_again_changed_nothing(levels: Path) -> None:
    """The helper that tampers knows the format: what it writes again is byte for byte what was there."""
    before = {path: path.read_bytes() for path in levels.rglob("*") if path.is_file()}
    refresh(levels)
    for path, data in before.items():
        assert path.read_bytes() == data, path


LEVELLED_PLANS = {
    "gaussian": {'mechanism = "sbh"': 'mechanism = "gaussian"'},
    "cards": BY_CARD,
    "no parts": {
        "[source]\npath": "partition = []\n[source]\npath",
        '[coarsen.wider.region.bus]\nlookup = "zones.csv"\nfrom = "place"\nto = "zone"\n': "",
    },
    "a day that starts at four": {
        "first_day": 'dates = "service"\nday_starts = "04:00"\nfirst_day',
        "time_minutes = 30": 'time_minutes = 30\nafter_midnight = "continued"',
    },
    "columns turned at one level": {
        'location = "region" },\n]\n': 'location = "region" },\n]\n[[table]]\nname = "turned"\n'
        'columns = ["tap_on_location", "tap_on_time"]\nlevel = { times = ["06:00"], location = "region" }\n',
    },
    "two ways to say a whole day": {
        '{ name = "hours", time_minutes = 60 }, { name = "peaks", times = ["06:00", "10:00"] }': '{ name = "whole", '
        'time_minutes = 1440 }, { name = "day", times = ["00:00"] }',
    },
}


@pytest.mark.parametrize("name", LEVELLED_PLANS)
def test_folders_with_levels_of_all_sorts_pass(name: str, tmp_path: Path) -> None:
    plan = levelled_plan(tmp_path, **LEVELLED_PLANS[name])
    release = tapveil.release(plan, tmp_path / "published", in_ledger=False)
    assert not verify_folder(release.path).findings


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ("{n:032x}", "identifier-hash"),
        ("308522{n:010}", "identifier-card"),
        ("rider{n}@example.org", "identifier-email"),
    ],
)
def test_values_that_tell_people_apart_are_found(values: str, code: str, folder: Path) -> None:
    def change(rows: list[dict[str, str]]) -> None:
        for number, row in enumerate(rows):
            row["tap_on_location"] = values.format(n=number)

    change_table(folder, "on_location", change)
    assert code in codes(verify_folder(folder))


@pytest.mark.parametrize("column", ["card_id", "birth_year", "gender", "passenger_name", "token", "name", "user_hash"])
def test_columns_that_tell_people_apart_are_found_by_name(column: str, tmp_path: Path) -> None:
    from tests.conftest import free_plan

    write_csv(tmp_path / "trips.csv", [(f"{1950 + n % 40}",) for n in range(4000)], ["x"])
    plan = free_plan(tmp_path, "trips.csv", {column: "x"}, {"a": [column]})
    checked = verify_folder(tapveil.release(plan, tmp_path / "published", in_ledger=False).path)
    assert {"identifier-name", "identifier-birth-year"} <= codes(checked)


TAMPERED = int(os.environ.get("TAPVEIL_TAMPERED", "150"))
"""CI tampers a hundred and fifty times, `make test-full` a thousand."""


def test_a_thousand_tampered_folders_and_none_passes(published: Path, tmp_path: Path) -> None:
    """Any byte of any file changed, removed or added; files cut, removed, swapped or added."""
    chance = random.Random(4)
    folder = tmp_path / "folder"
    shutil.copytree(published, folder)
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    untouched = {name: (folder / name).read_bytes() for name in files}
    quick = quickly_checked(published)
    for _ in range(TAMPERED):
        name = chance.choice(files)
        data = untouched[name]
        other = chance.choice([each for each in files if untouched[each] != data])
        at = chance.randrange(len(data))
        tampered = {
            "change": data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :],
            "remove": data[:at] + data[at + 1 :],
            "insert": data[:at] + bytes([chance.randrange(256)]) + data[at:],
            "cut": data[:at],
            "swap": untouched[other],
            "delete": None,
            "add": data,
        }
        way = chance.choice(list(tampered))
        new = tampered[way]
        extra = folder / f"{name}.copy"
        if way == "add":
            extra.write_bytes(data)
        elif new is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(new)
        assert quick(folder), (way, name, at)
        (folder / name).write_bytes(data)
        extra.unlink(missing_ok=True)
    assert not verify_folder(folder).findings


def quickly_checked(published: Path) -> Callable[[Path], bool]:
    """Verification with its arithmetic remembered: all is computed once, and again where its own files changed."""
    sound = {path.relative_to(published).as_posix(): path.read_bytes() for path in published.rglob("*.*")}
    manifest = Manifest.read(json.loads(sound["privacy.json"]))
    tables = published_tables(published, manifest)
    sheets = derived_sheets(published, manifest, manifests.mechanisms(manifest)[0], tables)
    said = {name: sound[name].decode() for name in METADATA}
    steps: dict[tuple[ModuleType, str], tuple[Any, ...]] = {
        (manifests, "promise_findings"): (lambda *_: iter(()), "privacy.json"),
        (folders, "derived_sheets"): (lambda *_: sheets, "privacy.json", *(f"data/{name}.csv" for name in TABLES)),
        (folders, "texts"): (lambda *_: said, "privacy.json", "datapackage.json"),
        (folders, "page_findings"): (lambda *_: iter(()), *(name for name in sound if "." in name)),
    }

    def check(folder: Path) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            for (module, name), (remembered, *files) in steps.items():
                if all((folder / each).exists() and (folder / each).read_bytes() == sound[each] for each in files):
                    patch.setattr(module, name, remembered)
            return bool(verify_folder(folder).findings)

    return check


def test_totals_of_sound_releases_agree_and_half_as_much_again_is_found(city: Path, tmp_path: Path) -> None:
    """The bound is not idle: on a city of ordinary size a table that counts half as much again is found."""
    make_city(tmp_path / "city", trips=400_000, file_format="parquet")
    release = tapveil.release(Plan.read(tmp_path / "city" / "plan.toml"), tmp_path / "out", in_ledger=False)
    assert not verify_folder(release.path).findings

    change_table(release.path, "on_location", half_as_much_again)
    assert codes(verify_folder(release.path)) == {"totals-differ"}


# --- signatures -------------------------------------------------------------------------------------------------------


@needs_openssh
def test_a_signed_folder(city: Path, tmp_path: Path) -> None:
    key = make_key(tmp_path)
    signers = tmp_path / "signers"
    signers.write_text("agency " + key.with_suffix(".pub").read_text())
    release = tapveil.release(
        Plan.read(city / "plan.toml"), tmp_path / "published", in_ledger=False, key=signature.read_key(key)
    )
    checked = verify_folder(release.path, signers=signers)
    assert not checked.findings
    assert "signed by agency" in checked.notes
    assert any("SHA256:" in note for note in verify_folder(release.path).notes)
    signers.write_text("agency " + make_key(tmp_path, "other").with_suffix(".pub").read_text())
    assert codes(verify_folder(release.path, signers=signers)) == {"signature-invalid"}
    change_table(release.path, "on_time", set_count("4000"))
    assert codes(verify_folder(release.path)) == {"signature-invalid"}
    (release.path / "SHA256SUMS.sig").unlink()
    assert codes(verify_folder(release.path, signers=signers)) == {"signature-missing"}


@needs_openssh
def test_signing_on_the_command_line(city: Path, tmp_path: Path) -> None:
    key = make_key(tmp_path)
    (tmp_path / "signers").write_text("agency " + key.with_suffix(".pub").read_text())
    done = run("release", city / "plan.toml", "--no-ledger", "--sign", key, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run("verify", "out", "--signers", "signers", cwd=tmp_path).returncode == 0
    assert b"BEGIN OPENSSH" not in b"".join(
        path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()
    )
    assert run("release", city / "plan.toml", "--no-ledger", "--sign", "no", "-o", "o", cwd=tmp_path).returncode == 2


# --- hostile folders --------------------------------------------------------------------------------------------------


def sparse(folder: Path) -> None:
    with (folder / "data" / "on_time.csv").open("r+b") as file:
        file.truncate(10 * 2**30)


def bomb(folder: Path) -> None:
    """A Parquet file of a few kB that unpacks to gigabytes."""
    keys = {"mode": ["x" * 700_000_000], "date": ["2025-03-03"], "tap_on_time": ["08:00"]}
    cells = pa.table({**keys, "count": [99], "low": [93], "high": [105]})
    options = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
    pq.write_table(cells, folder / "data" / "on_time.parquet", **options)


def cells(modes: pa.Array) -> pa.Table:
    keys = {"mode": modes, "date": pa.array([20150] * len(modes), pa.date32()), "tap_on_time": ["08:00"] * len(modes)}
    return pa.table(
        keys | {name: [number] * len(modes) for name, number in (("count", 99), ("low", 93), ("high", 105))}
    )


def forged(folder: Path, modes: pa.Array, **options: Any) -> None:
    """A Parquet file whose footer says that it is small."""
    path = folder / "data" / "on_time.parquet"
    table, plain = cells(modes), pq.read_schema(path)
    options |= {"compression": "zstd", "write_statistics": False, "store_schema": False}
    with pq.ParquetWriter(path, table.schema, **options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(plain.serialize().to_pybytes()).decode()})
    forge_sizes(path)
    refresh(folder)


def one_text(length: int, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), ["x" * length])


def billion_rows(folder: Path) -> None:
    """Runs of one value take no room: a billion rows in a small file."""
    path = folder / "data" / "on_time.parquet"
    schema = pq.read_schema(path)
    some = known_versions.ROW_GROUPS[0]
    columns = [pa.array(["bus"] * some), pa.array([20150] * some, pa.date32()), pa.array(["08:00"] * some)]
    batch = pa.table([*columns, *(pa.array([number] * some) for number in (99, 93, 105))], schema=schema)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(80):
            writer.write_table(batch)


def name_places(folder: Path) -> None:
    change_manifest(folder, lambda manifest: manifest.update(places="areas.geojson"))


HOSTILE: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "sparse": (sparse, {"too-large"}),
    "bomb": (lambda f: (bomb(f), refresh(f, rederive=False)), {"too-large"}),
    "a billion rows": (lambda f: (billion_rows(f), refresh(f)), {"parquet-differs"}),
    "a bomb with forged sizes": (
        lambda f: forged(f, pa.array(["x" * 700_000_000]), use_dictionary=False),
        {"too-large"},
    ),
    "a long text a million times": (
        lambda f: forged(f, one_text(20_000_000, 1_000_000), dictionary_pagesize_limit=2**30),
        {"too-large"},
    ),
    "many long texts": (
        lambda f: forged(f, one_text(1_000_000, 1_000_000), dictionary_pagesize_limit=2**30),
        {"too-large"},
    ),
    "texts that begin like the one before": (
        lambda f: forged(
            f,
            one_text(8000, 100_000).dictionary_decode(),
            use_dictionary=False,
            column_encoding={"mode": "DELTA_BYTE_ARRAY"},
            data_page_size=2**30,
        ),
        {"not-parquet"},
    ),
    "long lines": (
        lambda f: (
            (f / "data" / "on_time.csv").write_text(
                "mode,date,tap_on_time,count,low,high\n" + f"{'x' * 10**6},2025-03-03,08:00,99,93,105\n" * 200
            ),
            refresh(f, rederive=False),
        ),
        {"too-large"},
    ),
    "many places": (
        lambda f: ((f / "areas.geojson").write_text("[" + "1," * 40_000_000), name_places(f)),
        {"too-large"},
    ),
    "link out": (
        lambda f: ((f / "data" / "on_time.csv").unlink(), (f / "data" / "on_time.csv").symlink_to("/etc/passwd")),
        {"link", "file-missing"},
    ),
    "folder that is a link": (lambda f: (f / "more").symlink_to("/etc"), {"link"}),
    "fifo": (lambda f: os.mkfifo(f / "pipe"), {"not-a-file"}),
    "traversal in checksums": (
        lambda f: (f / "SHA256SUMS").write_text("0" * 64 + "  ../../etc/passwd\n"),
        {"checksums-damaged"},
    ),
    "invalid UTF-8 in checksums": (lambda f: (f / "SHA256SUMS").write_bytes(b"\xff" * 100), {"not-utf8"}),
    "invalid UTF-8 in the manifest": (lambda f: (f / "privacy.json").write_bytes(b'{"a": "\xff"}'), {"not-utf8"}),
    "invalid UTF-8 in a table": (
        lambda f: (
            (f / "data" / "on_time.csv").write_bytes(
                (f / "data" / "on_time.csv").read_bytes().replace(b"bus", b"b\xffs", 1)
            ),
            refresh(f),
        ),
        {"not-utf8"},
    ),
    "deep JSON": (lambda f: (f / "privacy.json").write_text("[" * 200_000), {"not-json"}),
    "a key twice": (lambda f: (f / "privacy.json").write_text('{"a": 1, "a": 2}'), {"not-json"}),
    "a number without end": (lambda f: (f / "privacy.json").write_text('{"a": ' + "9" * 10_000 + "}"), {"not-json"}),
    "a long manifest": (lambda f: (f / "privacy.json").write_text('"' + "x" * 5_000_000 + '"'), {"too-large"}),
    "a scale of a million digits": (
        lambda f: change_manifest(f, lambda m: m["tables"][0].update(scale_exact="1" * 4000 + "/3")),
        {"mechanism-impossible"},
    ),
    "an exponent": (
        lambda f: change_manifest(f, lambda m: m["tables"][0].update(scale_exact="1e999999999")),
        {"manifest-shape"},
    ),
    "noise as wide as a city": (
        lambda f: change_manifest(f, lambda m: m["tables"][0].update(scale_exact="19999")),
        {"mechanism-impossible"},
    ),
    "noise that takes minutes to account for": (
        lambda f: change_manifest(
            f, lambda m: [table.update(scale_exact=f"{1999 - n}") for n, table in enumerate(m["tables"])]
        ),
        {"mechanism-impossible"},
    ),
    "many tables": (
        lambda f: change_manifest(
            f, lambda m: m.update(tables=[{**m["tables"][0], "name": f"t{n}"} for n in range(999)])
        ),
        {"manifest-shape"},
    ),
    "a table named out of the folder": (
        lambda f: change_manifest(f, lambda m: m["tables"][0].update(name="../../etc/passwd")),
        {"manifest-shape"},
    ),
    "one long line": (
        lambda f: ((f / "data" / "on_time.csv").write_text("mode," * 10_000_000), refresh(f)),
        {"not-csv"},
    ),
    "one long line that should follow": (
        lambda f: ((f / "consistent" / "on_time.csv").write_text("mode," * 10_000_000), refresh(f, rederive=False)),
        {"not-csv"},
    ),
    "many files": (
        lambda f: [(f / f"file-{n}").write_text("") for n in range(reading.MOST_FILES + 1)],
        {"too-many-files"},
    ),
    "deep folders": (lambda f: (f / "a/b/c/d/e").mkdir(parents=True), {"too-deep"}),
    "not a Parquet file": (
        lambda f: ((f / "data" / "on_time.parquet").write_bytes(b"PAR1" * 100), refresh(f)),
        {"not-parquet"},
    ),
}


SLOW = {"sparse"}
"""A file of 8 GB takes a minute to hash."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in HOSTILE]
)
def test_a_hostile_folder_is_safe_to_open(name: str, folder: Path) -> None:
    """In a process of its own, with a bound on its memory: a clear finding, soon, and no traceback."""
    damage, expected = HOSTILE[name]
    damage(folder)

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))

    done = subprocess.run(
        [sys.executable, "-m", "tapveil", "verify", str(folder), "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,  # hours, were a bound missing
        preexec_fn=bounded,
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    found = {each["code"] for each in json.loads(done.stdout)["findings"]}
    assert expected & found, found
    assert "root:" not in done.stdout


NAMES = {
    "script": "<script>alert(1)</script>",
    "formula": '=HYPERLINK("http://x","y")',
    "plus": "+1+1",
    "traversal": "../../x",
    "long": "x" * 5000,
    "right to left": "‮מחר‬ שלום",
    "quotes": 'O\'Brien "The" Stop, No. 3; DROP TABLE x',
    "line end": "Two\nLines",
    "Chinese": "北京南站",
    "markup": "[bold]Central[/bold] $(rm -rf) `x` %s {0}",
}


def test_strange_names_are_data_and_harmless(tmp_path: Path) -> None:
    """They come out as they went in, in CSV and Parquet, and nowhere else: no file name, no message."""
    rows = [name for name in NAMES.values() for _ in range(300)]
    pq.write_table(
        pa.table(
            {
                "mode": ["bus"] * len(rows),
                "trip_date": ["2016-08-08"] * len(rows),
                "tap_on_time": ["08:00"] * len(rows),
                "tap_off_time": ["08:30"] * len(rows),
                "tap_on_location": rows,
                "tap_off_location": rows,
            }
        ),
        tmp_path / "trips.parquet",
    )
    plan = opal_plan(tmp_path, "trips.parquet", **{"[coarsen.location.bus]": "[coarsen.location.tram]"})
    release = tapveil.release(plan, tmp_path / "published", in_ledger=False)
    assert not verify_folder(release.path).findings
    with (release.path / "data" / "on_location.csv").open(encoding="utf-8", newline="") as file:
        assert {row["tap_on_location"] for row in csv.DictReader(file)} == set(NAMES.values())
    assert set(release.sheet("on_location").column("tap_on_location").to_pylist()) == set(NAMES.values())
    done = run("verify", release.path, cwd=tmp_path)
    for name in NAMES.values():
        assert name not in done.stdout + done.stderr
        for path in release.path.rglob("*"):
            assert name not in path.name


def test_nothing_in_a_finding_speaks_to_the_terminal(folder: Path) -> None:
    change_manifest(folder, lambda m: m.update({"\x1b]0;owned\x07\x1b[2Jkeeps its word": 1}))
    done = run("verify", folder, cwd=folder.parent)
    assert done.returncode == 1
    assert "\x1b" not in done.stdout


def test_the_bound_on_totals_is_one() -> None:
    """κ is greatest at the threshold: what a count of zero noise needs is the worst, and more room is never less."""
    from tapveil.privacy.mechanisms import stated

    for name, scale, threshold in (("sbh", 2, 34), ("laplace", 3, 40), ("gaussian", 3, 18)):
        offset, divisor = totals._least(stated(name, Fraction(scale), Fraction(threshold)), 1e-9)
        assert (1000 - offset) / divisor < 1000
        assert (2000 - 1000) / divisor < 1000


def test_nothing_is_read_outside_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" and watching else None)
    watching = True
    verify_folder(folder)
    watching = False
    scratch = str(Path(tempfile.gettempdir()) / "tapveil-")  # what it writes again, to compare it
    known = (str(folder), "/proc", "/sys", sys.prefix, sys.base_prefix, str(Path(tapveil.__file__).parent), scratch)
    assert [name for name in opened if name.startswith(str(folder))]
    outside = [name for name in opened if not name.isdigit() and not name.startswith(known)]
    assert not [name for name in outside if "/" in name or name == ".."], "a step at a time, each within the one before"
