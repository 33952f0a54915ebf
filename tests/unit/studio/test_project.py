"""The project folder: nothing is written outside of it, and nothing that somebody else wrote is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tapveil.base.errors import UsageError
from tapveil.studio.faults import ChangedError, ExistsError
from tapveil.studio.project import Project
from tests.support.example import PLAN


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "bikes"
    folder.mkdir()
    return Project.of(folder)


HOSTILE = [
    "../evil.csv",
    "..%2Fevil.csv",
    "%2e%2e%2fevil.csv",
    "/etc/passwd",
    "%2Fetc%2Fpasswd",
    "a/b.csv",
    "a%5Cb.csv",
    ".hidden",
    "..",
    ".",
    "",
    "a%00b.csv",
    "a%0Ab.csv",
    "x" * 130,
    " a.csv",
    "con:stream",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_with_a_hostile_name_is_not_received(project: Project, name: str) -> None:
    before = sorted(project.folder.parent.rglob("*"))
    with pytest.raises(UsageError):
        project.receive(name, [b"x"], replace=True)
    assert sorted(each for each in project.folder.parent.rglob("*") if each.name != "data") == before


def test_a_dropped_file_is_its_owners_alone(project: Project) -> None:
    found = project.receive("%E8%BF%9B%E5%87%BA%E7%AB%99.csv", [b"ab", b"c"], replace=False)
    assert found == {"path": "data/进出站.csv", "size": 3}
    path = project.folder / "data" / "进出站.csv"
    assert path.read_bytes() == b"abc"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    with pytest.raises(ExistsError):
        project.receive(path.name, [b"d"], replace=False)
    project.receive(path.name, [b"d"], replace=True)
    assert path.read_bytes() == b"d"


LISTS = {
    "Código;Paragem;Latitude;Longitude\n": "places",
    "stop_id,stop_name,stop_lat,stop_lon,zone_id,location_type\n": "places",
    "name,latitude\n": "trips",
    "started_at,start_lat,start_lng,end_lat,end_lng\n": "trips",
    "card,latitude,longitude\n": "trips",
    "stop,latitude,longitude,boardings\n": "trips",
    "origin_lat,origin_lon,dest_lat,dest_lon\n": "trips",
    "": "trips",
}


@pytest.mark.parametrize(("header", "kind"), LISTS.items())
def test_a_list_of_places_is_known_by_its_columns(header: str, kind: str, project: Project) -> None:
    project.receive("some.csv", [header.encode("latin-1")], replace=False)
    assert [each["kind"] for each in project.entries("data")["entries"]] == [kind]


def test_a_file_that_was_cut_short_is_not_there(project: Project) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise OSError("gone")

    with pytest.raises(UsageError):
        project.receive("trips.csv", broken(), replace=False)
    assert not list((project.folder / "data").iterdir())


def test_two_files_of_one_name_do_not_mix(project: Project) -> None:
    def first() -> Iterator[bytes]:
        yield b"one, "
        project.receive("trips.csv", [b"other"], replace=True)
        yield b"whole"

    project.receive("trips.csv", first(), replace=True)
    assert (project.folder / "data" / "trips.csv").read_bytes() == b"one, whole"
    assert len(list((project.folder / "data").iterdir())) == 1


def test_a_file_that_came_meanwhile_is_not_replaced_unless_somebody_says_so(project: Project) -> None:
    def first() -> Iterator[bytes]:
        project.receive("trips.csv", [b"earlier"], replace=False)
        yield b"later"

    with pytest.raises(ExistsError):
        project.receive("trips.csv", first(), replace=False)
    assert (project.folder / "data" / "trips.csv").read_bytes() == b"earlier"
    assert len(list((project.folder / "data").iterdir())) == 1


def test_a_link_is_replaced_and_not_followed(project: Project, tmp_path: Path) -> None:
    (project.folder / "data").mkdir()
    outside = tmp_path / "outside.txt"
    outside.write_text("kept")
    (project.folder / "data" / "trips.csv").symlink_to(outside)
    with pytest.raises(ExistsError):
        project.receive("trips.csv", [b"new"], replace=False)
    project.receive("trips.csv", [b"new"], replace=True)
    assert outside.read_text() == "kept"


def test_a_plan_that_somebody_else_changed_is_not_overwritten(project: Project) -> None:
    project.write_new_plan("plan.toml", PLAN, replace=False)
    version = project.version
    project.plan_path.write_text(PLAN + "# by hand\n")
    with pytest.raises(ChangedError):
        project.write(PLAN, version)
    project.write(PLAN, project.version)
    assert project.text == PLAN


def test_a_new_plan_keeps_the_old_one(project: Project) -> None:
    project.write_new_plan("plan.toml", PLAN, replace=False)
    with pytest.raises(ExistsError):
        project.write_new_plan("plan.toml", "x", replace=False)
    project.write_new_plan("plan.toml", PLAN + "# new\n", replace=True)
    assert (project.folder / "plan-1.toml").read_text() == PLAN
    with pytest.raises(UsageError):
        project.write_new_plan("../plan.toml", PLAN, replace=True)


def test_plans_are_told_from_other_files(project: Project) -> None:
    (project.folder / "my.toml").write_text(PLAN)
    (project.folder / "routine.toml").write_text("plan = 'my.toml'\n")
    assert Project.of(project.folder).plan_name == "my.toml"


def test_changes_on_the_disk_are_noticed_once(project: Project) -> None:
    assert project.changes() == []
    project.plan_path.write_text(PLAN)
    (project.folder / "trips.csv").write_text("a\n")
    assert project.changes() == ["plan", "data"]
    assert project.changes() == []
