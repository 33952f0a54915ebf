"""Folders for ever: what any version has published verifies, whatever was reworded, restyled or renumbered since."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tools import programs

import tapveil
from tapveil.base.findings import Verification
from tapveil.published.describe.wording import WORDING
from tapveil.published.manifest import MANIFEST_VERSION, VERSIONS, Manifest, json_text
from tapveil.published.series import written
from tapveil.verification import known_versions
from tapveil.verification.folder import verify_folder
from tapveil.verification.series import verify_series
from tests.support.tampering import describe_again, resum, write_package

GOLDEN = Path(__file__).parents[1] / "golden"
SOURCE = Path(__file__).parents[2] / "src"
FOLDERS = sorted(path for version in GOLDEN.glob("[0-9]*") for path in version.iterdir())
EDITS = int(os.environ.get("TAPVEIL_TAMPERED", "150"))
"""Of the manifest: CI makes so many, `make test-full` a thousand."""


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_every_folder_that_was_ever_published_verifies(folder: Path) -> None:
    checked = verify_folder(folder)
    assert checked.findings == []
    form = folder.parent.name[0]  # 3b is of format 3, in other words
    assert f"in folder format {form}" in " ".join(checked.notes) or form == str(MANIFEST_VERSION)


def test_there_is_a_folder_of_every_kind() -> None:
    for version in ("1", "2", "3"):
        stated = [json.loads((path / "privacy.json").read_text()) for path in FOLDERS if path.parent.name == version]
        assert {each["mechanism"] for each in stated} == {"sbh", "laplace", "gaussian", "dictionary"}
        assert {each["unit"] for each in stated} == {"trip", "card-day", "card"}
        assert {each["layout"] for each in stated} == {"tables", "opal"}
        assert {each["rows"] for each in stated} == {"trips", "taps"}
        assert {bool(each["ledger"]) for each in stated} == {True, False}
        assert any(table["level"] for each in stated for table in each["tables"])
        assert all(each["manifest_version"] == int(version) for each in stated)


def test_there_is_a_folder_of_all_versions_that_were_used_together() -> None:
    read = [Manifest.read(json.loads((path / "privacy.json").read_text())) for path in FOLDERS]
    made = {(each.manifest_version, each.versions.without_parts) for each in read}
    known = {(form, each) for form, all_of_it in known_versions.VERSIONS_OF.items() for each in all_of_it}
    assert made == known


def test_there_is_a_folder_of_every_part_that_only_some_have() -> None:
    read = [Manifest.read(json.loads((path / "privacy.json").read_text())).versions for path in FOLDERS]
    for wording in {each.wording for each in read}:
        made = {one for each in read if each.wording == wording for one in each.parts.items()}
        parts = known_versions.PARTS_OF.get(wording, {})
        assert made == {(part, number) for part in VERSIONS.parts for number in (None, *parts.get(part, ()))}


def test_versions_that_were_never_used_together_are_refused() -> None:
    first = known_versions.VERSIONS_OF[3][0]
    assert known_versions.were_used_together(3, first)
    assert not known_versions.were_used_together(2, first)
    assert not known_versions.were_used_together(3, first.model_copy(update={"page": 2}))
    assert not known_versions.were_used_together(3, first.model_copy(update={"estimates": 1}))
    assert known_versions.were_used_together(3, VERSIONS.model_copy(update={"estimates": 1}))


def test_the_present_page_program_is_on_the_list() -> None:
    """Else folders that are made now would not be known later: add the line that `python -m tools.programs` prints."""
    for digest, version in (
        line for each in programs.lines() for line in re.findall(r'"([0-9a-f]{64})": ([0-9]+)', each)
    ):
        assert known_versions.PROGRAMS.get(digest) == int(version)
    assert VERSIONS in known_versions.VERSIONS_OF[MANIFEST_VERSION]
    for line in programs.lines_of_series():
        assert tuple(re.findall(r"[0-9a-f]{64}|[0-9]+", line)) in {
            (digest, str(version)) for digest, version in known_versions.SERIES_PROGRAMS.items()
        }


SERIES = [GOLDEN / name for name in ("2/laplace", "3/gaussian", "3/taps")]
"""The folders of the golden series: other mechanisms on the same days, and a break."""


@pytest.mark.parametrize("version", range(1, written.VERSION + 1))
def test_every_series_that_was_ever_written_verifies_and_opens(version: int) -> None:
    place = GOLDEN / f"series-{version}"
    assert json.loads((place / "series.json").read_text(encoding="utf-8"))["series_version"] == version
    series = tapveil.open(SERIES)
    assert verify_series(place, series).findings == []
    assert tapveil.open(place).totals.rows() == series.totals.rows()


def test_a_series_of_one_version_is_not_one_of_another(tmp_path: Path) -> None:
    copy = shutil.copytree(GOLDEN / "series-1", tmp_path / "series")
    shutil.copy(GOLDEN / f"series-{written.VERSION}" / "series.html", copy)
    assert {"page-program", "page-differs"} <= {
        each.code for each in verify_series(copy, tapveil.open(SERIES)).findings
    }


# --- a later program --------------------------------------------------------------------------------------------------


def style(source: Path) -> None:
    css = source / "tapveil/published/explorer/static/page.css"
    css.write_text(css.read_text(encoding="utf-8") + "\n/* a comment */\n", encoding="utf-8")


def program(source: Path) -> None:
    script = source / "tapveil/published/explorer/static/words.js"
    script.write_text(script.read_text(encoding="utf-8").replace("not published", "left out"), encoding="utf-8")


def version(source: Path) -> None:
    (source / "tapveil/_version.py").write_text('__version__ = "9.9.9"\n', encoding="utf-8")


def sentences(source: Path) -> None:
    """A new wording, made as `docs/compatibility.md` says, in which every sentence is another."""
    words = source / "tapveil/published/describe/wording"
    shutil.copytree(words / str(WORDING), words / str(WORDING + 1))
    path = words / str(WORDING + 1) / "sentences.toml"
    path.write_text(re.sub('= "', '= "Reworded: ', path.read_text(encoding="utf-8")), encoding="utf-8")
    init = words / "__init__.py"
    text = init.read_text(encoding="utf-8")
    assert f"WORDING = {WORDING}" in text
    init.write_text(text.replace(f"WORDING = {WORDING}", f"WORDING = {WORDING + 1}"), encoding="utf-8")


LATER: dict[str, Callable[[Path], None]] = {
    "a comment in the style sheet": style,
    "other words on the page": program,
    "a version number raised": version,
    "sentences reworded": sentences,
}


VERIFY = """import json, sys
from tapveil.verification.folder import verify_folder
from tapveil.verification.series import verify_series
checked = [verify_folder(folder) for folder in sys.argv[1:]]
print(json.dumps([{"findings": list(map(str, each.findings)), "notes": each.notes} for each in checked]))"""
BEFORE = ("1/gaussian", "2/gaussian", "3/gaussian", "3/paper", "3b/gaussian")


@pytest.mark.parametrize("later", LATER)
def test_a_later_program_verifies_what_was_made_before(later: str, tmp_path: Path) -> None:
    source = tmp_path / "src"
    shutil.copytree(SOURCE, source)
    LATER[later](source)
    done = subprocess.run(
        [sys.executable, "-c", VERIFY, *(str(GOLDEN / folder) for folder in BEFORE)],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    for folder, said in zip(BEFORE, json.loads(done.stdout), strict=True):
        assert said["findings"] == [], folder
        if later != "sentences reworded":
            assert any("made by tapveil" in note or "another known version" in note for note in said["notes"])


# --- numbers that went through floats ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / "2" / "spark", tmp_path / "folder"))


def rewrite(path: Path, line: int, change: Callable[[dict[str, int]], None]) -> list[str]:
    """Change the numbers of one line of a CSV file; its keys are returned."""
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    names, values = header.split(","), rows[line].split(",")
    numbers = {name: int(value) for name, value in zip(names, values, strict=True) if value.isdecimal()}
    change(numbers)
    rows[line] = ",".join(str(numbers.get(name, value)) for name, value in zip(names, values, strict=True))
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return [value for name, value in zip(names, values, strict=True) if name not in numbers]


def described_anew(folder: Path) -> Verification:
    package = json.loads((folder / "datapackage.json").read_text())
    for one in package["resources"]:
        data = (folder / one["path"]).read_bytes()
        one |= {"bytes": len(data), "hash": f"sha256:{hashlib.sha256(data).hexdigest()}"}
    page = (folder / "explorer.html").read_bytes()
    write_package(folder, package)
    (folder / "explorer.html").write_bytes(page)  # its numbers are those of the tables, and its file list the same
    resum(folder)
    return verify_folder(folder)


def test_a_limit_that_is_rounded_otherwise_is_a_note(folder: Path) -> None:
    path = folder / "consistent" / "on_time_location.by.on_location.csv"
    rewrite(path, 0, lambda row: row.update(other_high=row["other_high"] + 1))
    checked = described_anew(folder)
    assert checked.findings == []
    assert any("rounded differently" in note for note in checked.notes)


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(other_high=row["other_high"] + 2),
        lambda row: row.update(other=row["other"] + 1),
        lambda row: row.update(other=row["other"] + 1, total=row["total"] + 1),
    ],
)
def test_more_than_a_rounding_or_a_sum_that_is_not_one_is_found(
    change: Callable[[dict[str, int]], None], folder: Path
) -> None:
    rewrite(folder / "consistent" / "on_time_location.by.on_location.csv", 0, change)
    assert "derived-differs" in {each.code for each in described_anew(folder).findings}


# --- a manifest edited at random --------------------------------------------------------------------------------------

PUBLISHERS = re.compile(
    r"^(title|description|publisher|licence|region|publisher_type|release_id|chosen_from|looked_at_trips|created|plan_sha256"
    r"|(ledger|public_files_sha256|software|areas|wider|covers|day)(\.|$).*)$"
)
"""What only the publisher knows: no folder can tell it from another."""
ACCOUNTED = re.compile(
    r"^(guarantees\.[0-9]+\.delta_accounted|curve\.points\.[0-9]+\.delta|whole_cards\.[0-9]+\.epsilon)$"
)
"""Figures of the accountant, which may get better: a folder may state a little more than is true, never less."""


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    yield path


def inside(data: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        data = data[step]
    return data


def other(value: Any, pool: list[Any], chance: random.Random) -> Any:
    """Another value of the same type: one that stands elsewhere, or one a little off."""
    alike = [each for each in pool if type(each) is type(value) and each != value]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice([value + 1, value - 1, 2 * value, 0, *alike])
    if isinstance(value, float):
        return chance.choice([value * 2, value / 2, value * 1.2, 0.0, -value, *alike])
    if isinstance(value, str):
        return chance.choice([value + "0", value[:-1], value.upper(), "308522003085220030852200", *alike])
    return chance.choice([None, "x", 1, {}, []])


def edited(data: dict[str, Any], chance: random.Random) -> str:
    """One edit at random, in place; where it was made."""
    paths = [path for path in leaves(data) if path]
    pool = [json.loads(json.dumps(inside(data, path))) for path in paths]
    path = chance.choice(paths)
    around, last = inside(data, path[:-1]), path[-1]
    way = chance.choice(["replace", "replace", "replace", "add", "remove", "turn"])
    if way == "add" and isinstance(around, dict):
        around[f"note_{chance.randrange(10)}"] = chance.choice(pool)
    elif way == "remove" and isinstance(around, dict):
        del around[last]
    elif way == "turn" and isinstance(around, dict):
        around[last] = around.pop(last)
    elif isinstance(around[last], dict | list):
        around[last] = type(around[last])() if around[last] else None
    else:
        around[last] = other(around[last], pool, chance)
    return ".".join(map(str, path))


TRIPS = "3085220000000017,2025-03-03,bus,07:31,1001,07:55,1003\n" * 1500
"""What must not be hidden in a folder, by somebody who changes the program itself."""


def hidden_in_digests(manifest: dict[str, Any], role: str) -> None:
    hexes = TRIPS.encode().hex()
    chunks = [hexes[at : at + 64].ljust(64, "0") for at in range(0, len(hexes), 64)]
    manifest["public_files_sha256"] |= {role.format(n): chunk for n, chunk in enumerate(chunks[:700])}


HIDDEN: dict[str, tuple[str, Callable[[dict[str, Any]], None], str]] = {
    "in a sentence": ("1", lambda m: m["whole_cards"].update(caution=TRIPS), "words-differ"),
    "in another sentence": ("1", lambda m: m.update(composition=TRIPS), "words-differ"),
    "in digests of lists": ("2", lambda m: hidden_in_digests(m, "lookup of {:05d}"), "public-file"),
    "in digests of wider areas": ("2", lambda m: hidden_in_digests(m, "lookup of a{:05d} of bus"), "public-file"),
    "in digests, before": ("1", lambda m: hidden_in_digests(m, "polygons of {:05d}"), "public-file"),
    "in the title": ("2", lambda m: m.update(title=TRIPS[:480]), "identifier-card"),
    "in areas": ("2", lambda m: m["areas"].update({f"m{n:03}": TRIPS[20:500] for n in range(150)}), "too-large"),
    "in a region": ("2", lambda m: m.update(region="tap 3085220000000017"), "identifier-card"),
    "in the version": ("2", lambda m: m["software"].update(version=TRIPS), "manifest-shape"),
    "in the chances": ("2", lambda m: m["tables"][0]["probability_published"].update({"7": 0}), "figure-differs"),
    "in the order of keys": ("2", lambda m: m.update(title=m.pop("title")), "hidden-data"),
}


@pytest.mark.parametrize("where", HIDDEN)
def test_raw_trips_in_a_manifest_are_found(where: str, tmp_path: Path) -> None:
    """A folder with 1 500 raw trips in a sentence and in made-up digests verified once."""
    version, hide, code = HIDDEN[where]
    folder = Path(shutil.copytree(GOLDEN / version / "laplace", tmp_path / "folder"))
    data, package = (json.loads((folder / name).read_text()) for name in ("privacy.json", "datapackage.json"))
    hide(data)
    if where != "in the order of keys" and version == "2":  # else the form alone would give it away
        data["areas"], data["public_files_sha256"] = (
            dict(sorted(data[name].items())) for name in ("areas", "public_files_sha256")
        )
    (folder / "privacy.json").write_text(json_text(data))
    write_package(folder, package)
    assert code in {each.code for each in verify_folder(folder).findings}


@pytest.mark.parametrize("kind", ["2/laplace", "3/spark"])
def test_no_edit_of_a_manifest_passes(kind: str, tmp_path: Path) -> None:
    """Values of the same type, keys added, removed or turned around; checksums that fit again."""
    chance, folder = random.Random(kind), tmp_path / "folder"
    shutil.copytree(GOLDEN / kind, folder)
    sound = (folder / "privacy.json").read_text()
    for number in range(EDITS // 2):
        data = json.loads(sound)
        where = edited(data, chance)
        if json_text(data) != sound:
            (folder / "privacy.json").write_text(json_text(data))
            resum(folder)
            assert verify_folder(folder).findings, (number, where)
    (folder / "privacy.json").write_text(sound)
    resum(folder)
    assert not verify_folder(folder).findings


def is_overstated(where: str, data: dict[str, Any], sound: dict[str, Any]) -> bool:
    path = [int(step) if step.isdigit() else step for step in where.split(".")]
    if not ACCOUNTED.match(where) or path[-1] not in inside(data, path[:-1]):
        return False
    stated, true = inside(data, path), inside(sound, path)
    return isinstance(stated, int | float) and bool(stated > true)


def test_what_passes_when_all_else_is_made_to_fit_is_the_publishers_to_say(tmp_path: Path) -> None:
    """Somebody who knows the format writes all that follows from the manifest anew, by our own writers."""
    chance, folder = random.Random(5), tmp_path / "folder"
    shutil.copytree(GOLDEN / "3" / "laplace", folder)
    sound = json.loads((folder / "privacy.json").read_text())
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for number in range(EDITS // 5):
        data = json.loads(json.dumps(sound))
        where = edited(data, chance)
        if json_text(data) != json_text(sound):
            (folder / "privacy.json").write_text(json_text(data))
            describe_again(folder)
            passes = PUBLISHERS.match(where) or is_overstated(where, data, sound)
            assert verify_folder(folder).findings or passes, (number, where)
        for path, content in kept.items():
            path.write_bytes(content)
