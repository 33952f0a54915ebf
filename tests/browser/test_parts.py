"""A large release in a browser: its page reads files next to it when they are asked for, from the disk, and says so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapveil.published.explorer import contents
from tests.browser.conftest import Opener
from tests.browser.test_page import go, shown_rows
from tests.browser.test_world import DAY, estimates, flows, summed, view
from tests.support.tampering import redraw

STILL = "() => document.getElementById('loading').hidden && !document.querySelector('.waiting')"


@pytest.fixture(scope="module")
def split(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The small city, as if its tables were too large for a page."""
    folder = tmp_path_factory.mktemp("split") / "published"
    shutil.copytree(world, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "IN_PAGE_OF_A_WORLD", 1_000)
        patch.setattr(contents, "IN_A_FILE", 1_500)
        redraw(folder)
        yield folder


def test_files_are_read_when_a_day_asks_for_them(split: Path, look: Opener) -> None:
    looked = look(split, view(table="origin_time", **DAY))
    files = [url for url in looked.requests if "/explorer/" in url]
    assert 0 < len(files) < len(list((split / "explorer").iterdir()))
    for day in (DAY["date"], "2025-03-16"):
        go(looked, table="origin_time", mode="metro", date=day)
        looked.page.wait_for_function(STILL)
        expected = estimates(split, "origin_time", mode="metro", date=day)
        assert sorted(map(str, shown_rows(looked))) == sorted(map(str, expected))
    assert len(looked.requests) == len(set(looked.requests)), "each is read once"


def test_means_over_all_files_are_those_of_the_folder(split: Path, look: Opener) -> None:
    looked = look(split, view(mode="metro", date="all", table="od"))
    looked.page.wait_for_function(STILL)
    assert flows(looked) == summed(estimates(split, "od", mode="metro"), days=11)


def test_sums_of_a_table_in_files_are_made_part_by_part(split: Path, look: Opener) -> None:
    looked = look(split, view(place="Ash+North", **DAY))
    looked.page.wait_for_function(STILL)
    rows = estimates(split, "od", tap_on_location="Ash North", **DAY)
    assert looked.page.inner_text("#answer") == f"about {sum(int(row['count']) for row in rows):,} trips"


def test_a_missing_file_is_named(split: Path, look: Opener, tmp_path: Path) -> None:
    shutil.copy(split / "explorer.html", tmp_path)
    looked = look(tmp_path, view(table="origin_time", **DAY))
    looked.page.wait_for_selector("#trouble:not([hidden])")
    assert "This page cannot read explorer/part-" in looked.page.inner_text("#trouble")
    looked.complaints.clear()  # the browser says that there is no such file


def test_its_policy_allows_scripts_next_to_it_and_no_others(split: Path, look: Opener) -> None:
    looked = look(split)
    looked.page.wait_for_function(STILL)
    looked.run(
        "document.head.append(Object.assign(document.createElement('script'), { src: 'https://example.org/x.js' }))"
    )
    looked.run(
        "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }))"
    )
    assert looked.run("window.ran") is None
    assert looked.run("fetch('https://example.org/').then(() => 'went', (error) => error.name)") == "TypeError"
    assert any("example.org" in each for each in looked.complaints), "the browser says that it refused"
    looked.complaints.clear()
    looked.requests[:] = [url for url in looked.requests if not url.startswith("https://example.org")]
