"""The studio where something is not as it should be: what it remembers, refuses, survives and leaves behind."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tapveil.plan.model import Plan
from tapveil.studio.server import HOST, MOST_CONNECTIONS
from tests.support.example import prepare
from tests.support.studio import PATIENCE, Page, RefusedError, Studio, studio_of

WIDER = [{"at": ["coarsen", "time_minutes"], "value": 240}]
TITLE = [{"at": ["release", "title"], "value": "Ferries of the harbour"}]


def looked_at(folder: Path) -> bool | None:
    return Plan.read(folder / "plan.toml").privacy.looked_at_trips


def edit(page: Page, edits: list[dict[str, Any]]) -> dict[str, Any]:
    return page.call("plan/edit", version=page.call("plan")["version"], edits=edits)


def reloaded(page: Page) -> Page:
    """The page, loaded again."""
    page.call("bye")
    _, _, html = page.studio.request("GET", f"/resume/{page.resume}", b"", {"Sec-Fetch-Site": "same-origin"})
    page.close()
    return Page(page.studio, html)


# --- numbers that were shown ------------------------------------------------------------------------------------------


def by_choice(page: Page) -> dict[str, Any]:
    return edit(page, WIDER)


def by_hand(page: Page) -> dict[str, Any]:
    plan = page.call("plan")
    text = plan["text"].replace("time_minutes = 60", "time_minutes = 240")
    return page.call("plan/text", version=plan["version"], text=text)


@pytest.mark.parametrize(("shown", "change"), [("count", by_hand), ("check", by_choice)])
def test_a_choice_after_numbers_were_shown_is_recorded_whatever_the_page_knows(
    shown: str, change: Callable[[Page], dict[str, Any]], tmp_path: Path
) -> None:
    prepare(tmp_path)
    with studio_of(tmp_path) as studio:
        page = Page.entered(studio)
        assert not page.call("plan")["shown"]
        page.done(shown)
        page = reloaded(page)
        assert page.call("plan")["shown"]
        if shown == "count":
            assert page.call("preview", edits=[])["held"], "the counts are there without being counted again"
        assert not edit(page, TITLE)["noted"], "a title is no choice"
        assert looked_at(tmp_path) is None
        changed = change(page)
        assert changed["noted"]
        assert changed["text"] == (tmp_path / "plan.toml").read_text(encoding="utf-8")
        assert looked_at(tmp_path) is True
        text = changed["text"].replace("looked_at_trips = true", "looked_at_trips = false")
        assert page.call("plan/text", version=changed["version"], text=text)["noted"], "it is not taken back by hand"
        assert looked_at(tmp_path) is True
        page.close()


def test_where_nothing_was_shown_nothing_is_recorded(tmp_path: Path) -> None:
    prepare(tmp_path)
    with studio_of(tmp_path) as studio:
        page = Page.entered(studio)
        page.call("look", trips="trips.csv")  # distributions, as `init` shows them to anyone who has the export
        page.call("preview", edits=WIDER)
        page.call("map", edits=[])
        page.done("check", plan_only=True)
        assert not edit(page, WIDER)["noted"]
        assert looked_at(tmp_path) is None
        page.close()


def test_a_plan_that_was_changed_outside_is_neither_signed_nor_released_unsaid(tmp_path: Path) -> None:
    prepare(tmp_path)
    plan = tmp_path / "plan.toml"
    with studio_of(tmp_path) as studio:
        page = Page.entered(studio)
        page.done("count")
        plan.write_text(plan.read_text().replace("time_minutes = 60", "time_minutes = 240"))
        for name in ("release", "approve"):
            with pytest.raises(RefusedError) as refused:
                page.call(name)
            assert "set looked_at_trips = true" in refused.value.error["message"]
        page.close()


def test_a_plan_that_was_proposed_by_counting_is_remembered_where_another_is_written(tmp_path: Path) -> None:
    prepare(tmp_path)
    with studio_of(tmp_path) as studio:
        page = Page.entered(studio)
        days = {"days": "2025-03-01 to 2025-03-31"}  # not those of the trips
        seen = page.done("look", trips="trips.csv", look="trips", answers=days)
        answers = {each["key"]: each["proposal"] for each in seen["questions"]} | days
        written = page.call("look/write", trips="trips.csv", look="columns", plan="other.toml", answers=answers)
        assert written["valid"], written["problems"]
        assert written["noted"], written["text"]
        assert "looked_at_trips = true" in (tmp_path / "other.toml").read_text()
        page.close()


# --- what lies in the folder ------------------------------------------------------------------------------------------


def test_a_name_that_is_no_utf8_is_shown_and_not_used(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"gares \xe9t\xe9")
    folder.mkdir()
    (folder / os.fsdecode(b"ao\xfbt.csv")).write_text("a,b\n1,2\n")
    with studio_of(folder) as studio:
        page = Page.entered(studio)
        (entry,) = page.call("project")["data"]
        assert entry["name"] == r"ao\udcfbt.csv"
        for asked in ({"trips": entry["path"]}, {"trips": "a.csv", "plan": "\udcfb.toml"}):
            with pytest.raises(RefusedError) as refused:
                page.call("look/write", **asked)
            assert refused.value.error["kind"] == "Usage"
        assert page.call("files")["entries"] == [entry], "the page lives on"
        page.close()


def test_what_a_killed_studio_left_is_swept_and_what_a_living_one_needs_is_not(tmp_path: Path) -> None:
    scratch, folder = tmp_path / "scratch", tmp_path / "project"
    for each in (scratch, folder):
        each.mkdir()
    killed = Studio(folder, {"TMPDIR": str(scratch)})
    try:
        page = Page.entered(killed)
        head = "".join(f"{name}: {value}\r\n" for name, value in page.headers.items())
        sending = socket.create_connection((HOST, killed.port))
        sending.sendall(f"POST /api/upload HTTP/1.1\r\n{head}X-Name: t.csv\r\nContent-Length: 9\r\n\r\ncard".encode())
        wait_for(lambda: bool(asides(folder)))
        (own,) = scratch.iterdir()
        (own / "spilled").mkdir()
        with studio_of(folder, TMPDIR=str(scratch)):
            assert asides(folder), "one that is received is kept"
            assert (own / "spilled").exists()
    finally:
        killed.process.kill()
        killed.wait()
    assert asides(folder)
    assert own.exists()
    (folder / "data" / ".mine.aside").touch()
    with studio_of(folder, TMPDIR=str(scratch)):
        assert not asides(folder)
        assert not own.exists()
    assert [path.name for path in (folder / "data").iterdir()] == [".mine.aside"], "nobody else's is touched"
    assert not list(scratch.iterdir())


def asides(folder: Path) -> list[Path]:
    return [path for path in (folder / "data").glob(".*.aside") if path.name != ".mine.aside"]


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it never comes"
        time.sleep(0.01)


# --- who else is there ------------------------------------------------------------------------------------------------


def test_more_slow_connections_than_there_is_room_for_do_not_lock_the_page_out(tmp_path: Path) -> None:
    with studio_of(tmp_path) as studio:
        page = Page.entered(studio)
        slow = [socket.create_connection((HOST, studio.port)) for _ in range(2 * MOST_CONNECTIONS)]
        for each in slow:
            with suppress(OSError):
                each.sendall(b"POST /api/project HTTP/1.1\r\nHost: ")
        for _ in range(3):
            assert page.call("project")["plan"] is None
        for each in slow:
            each.close()
        page.close()
