"""What the slider is told while it moves, and what is said of a person when it stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tapveil.base.errors import UsageError
from tapveil.plan.model import Plan
from tapveil.studio.ahead import exact
from tapveil.studio.project import Project
from tapveil.studio.promise import promise, table_accuracy
from tapveil.studio.server import Server
from tapveil.studio.studio import Screens, Studio
from tapveil.veil.statement import people
from tests.support.example import PLAN

DAYS = "[source]\nfirst_day = 2025-03-03\nlast_day = 2025-03-09\n"


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    (tmp_path / "plan.toml").write_text(PLAN.replace("[source]\n", DAYS), encoding="utf-8")
    made = Studio(Project.of(tmp_path), Server(tmp_path.name), cast("Screens", None))
    yield made
    made.ahead.stop()


def moved(epsilon: float, **more: Any) -> dict[str, Any]:
    return {"edits": [{"at": ["privacy", "epsilon"], "value": epsilon}], **more}


def test_a_moved_slider_is_told_about_what_it_is_exactly_when_it_stops(studio: Studio) -> None:
    assert promise(studio, {"edits": []})["about"] is False
    rough, sure = promise(studio, moved(1.3, moving=True)), promise(studio, moved(1.3))
    assert rough["about"]
    assert not sure["about"]
    for key in ("epsilon", "delta", "verdict", "sentence", "of_100", "headings", "warnings", "grid"):
        assert rough[key] == sure[key], "what follows from the promise alone is exact at once"
    assert not rough.keys() & {"people", "computed"}, "what follows from the noise is said of no other noise"
    for about, is_so in zip(rough["tables"], sure["tables"], strict=True):
        assert about["error"] == pytest.approx(is_so["error"], rel=0.15)
    plan = studio.plan(moved(1.3)["edits"])
    assert sure["tables"] == [table_accuracy(plan, name, exact(plan)[name]) for name in plan.tables]
    again = promise(studio, moved(1.3, moving=True))
    assert not again["about"], "noise that is known is not guessed"
    assert again["tables"] == sure["tables"]


def test_a_person_over_a_year_depends_on_how_long_its_releases_are(studio: Studio) -> None:
    found = {every: promise(studio, {"edits": [], "every": every})["people"] for every in ("", "week", "month", "year")}
    assert [each[0]["year"]["releases"] for each in found.values()] == [52, 52, 12, 1]
    assert found[""] == found["week"], "this release covers a week"
    assert len({each[0]["year"]["epsilon"] for each in found.values()}) == 3
    assert len({each[0]["release"]["epsilon"] for each in found.values()}) == 1, "this release is as it is"
    stated = people(Plan.read(studio.project.plan_path)) or []
    told = [person["release"]["trips"] for person in found[""]] + [person["year"]["trips"] for person in found[""]]
    assert told == [person.trips for person in stated], "the same as in privacy.json"
    with pytest.raises(UsageError, match="every"):
        promise(studio, {"edits": [], "every": "decade"})


def test_of_a_plan_without_days_only_a_year_can_be_spoken(studio: Studio) -> None:
    studio.project.plan_path.write_text(PLAN, encoding="utf-8")
    assert promise(studio, {"edits": []})["people"] == []
    found = promise(studio, {"edits": [], "every": "month"})["people"]
    assert [(each["release"], each["year"]["releases"]) for each in found] == [(None, 12)] * len(found)
    assert found
