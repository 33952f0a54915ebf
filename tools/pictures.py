"""The pictures of the tutorials: the demo city is released, its page is opened in a browser, and looked at. So is the
studio, on the way from an export of taps to a folder.

    python -m tools.pictures                # all of them, into docs/pictures
    python -m tools.pictures explorer-map   # some of them
    python -m tools.pictures --look DIR     # flow maps and matrices in every size, light and dark, into a folder

The last are to be looked at, and belong into no repository: some show real trips, if these are at hand.
The noise is never the same twice, so the pictures are not either: make them anew when the page looks different.
"""

from __future__ import annotations

import argparse
import html
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from tests.browser import launch
from tests.browser.studio import Mouse, enter, week_of_the_city
from tests.browser.test_page import SIZES
from tests.browser.test_parts import STILL
from tests.support.corpus import CORPUS
from tests.support.networks import VIEWS, network
from tests.support.officer import new_key
from tests.support.studio import studio_of
from tests.support.terminal import talk
from tests.support.weeks import FIRST, trips, week_folder

import tapveil

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
TAPVEIL = Path(sys.executable).with_name("tapveil")
PAGE = "published/explorer.html"
SHARPNESS = 1.5
HIGH = 2000
"""A window so high that nothing covers a part of the page."""
Scheme = Literal["light", "dark"]


@dataclass(frozen=True)
class Picture:
    """What to look at, and how."""

    name: str
    page: str = PAGE
    view: str = ""
    """What stands behind the # of the address."""
    part: str | None = None
    """The part of the page, as CSS names it; None for what fits into the window."""
    from_: str | None = None
    """Where the window starts."""
    size: tuple[int, int] = (1200, 860)
    scheme: Scheme = "light"


ALL = (
    Picture("explorer-heat", view="mode=bus&date=2025-03-03"),
    Picture(
        "explorer-profile", view="mode=train&date=2025-03-03&compare=2025-03-08&place=S%C3%A3o+Bento", part="#profile"
    ),
    Picture("explorer-days", view="mode=train&date=weekday&compare=2025-03-08&place=S%C3%A3o+Bento", part="#days"),
    Picture("explorer-map", view="table=on_location&mode=bus&date=2025-03-03", part="#map", size=(1200, 900)),
    Picture(
        "explorer-flows",
        page="journeys/explorer.html",
        view="mode=train&date=weekday&time=08:00",
        part="#flows",
        size=(1200, 1400),
    ),
    Picture(
        "explorer-matrix",
        page="journeys/explorer.html",
        view="mode=ferry&date=2025-03-03&flows=matrix",
        part="#flows",
        size=(1200, 1400),
    ),
    Picture("explorer-phone", view="mode=ferry&date=2025-03-03", from_="#profile", size=(390, 760), scheme="dark"),
    Picture("series", page="series/series.html", size=(1200, 1340)),
    Picture("report", page="report.html", size=(1100, 900)),
    Picture("init", page="init.html", part="pre", size=(1100, 900)),
)
WHARVES = ("Ashwood Wharf", "Dunside Wharf", "Harrow Quay", "Léonie Steps", "Old Mole", "Saltmarket", "Tidewater")
SEEN = {
    "studio-data": "#columns",
    "studio-publish": "#looking",
    "studio-promise": "#strength",
    "studio-budget": "#step",
    "studio-check": "#step",
    "studio-release": "#folder-published",
}
"""One picture for each step, in their order: the part of the page that it begins with."""
STUDIO = tuple(SEEN)
TERMINAL = (
    "<pre style='margin:0; padding:20px; width:100ch; white-space:pre-wrap; background:#16202c; color:#e6edf3; "
    "font:14px monospace'>"
)
"""A screen, as it looks in a browser."""
ANSWERS = (
    ("[Enter: 1]", "1"),
    ("[Enter: 0]", "0"),
    ("[Enter: 2025-03-03 to 2025-03-16]", "2025-03-03 to 2025-03-16"),
    ("[Enter: card-day]", ""),
    ("[Enter: 2]", "1"),
)
"""What somebody with an export of taps types."""


def take(browser: Browser, city: Path, picture: Picture, folder: Path) -> Path:
    """One picture, as a PNG file."""
    width, height = picture.size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=picture.scheme, device_scale_factor=SHARPNESS
    )
    page.goto(f"{(city / picture.page).as_uri()}{'#' + picture.view if picture.view else ''}")
    if picture.page.endswith("explorer.html"):
        page.wait_for_function("() => performance.getEntriesByName('drawn').length > 0")
    page.wait_for_timeout(500)  # until it is drawn
    if picture.name == "series":
        page.locator("#places summary").click()
        page.select_option("#sort", "sure")
        page.wait_for_selector("#changes tbody tr")
    if picture.from_ is not None:
        page.locator(picture.from_).evaluate("part => part.scrollIntoView()")
        page.wait_for_timeout(200)
    path = folder / f"{picture.name}.png"
    if picture.part is None:
        page.screenshot(path=path)
    else:
        page.locator(picture.part).screenshot(path=path)
    page.close()
    return path


def flows(browser: Browser, name: str, folder: Path, out: Path) -> Iterator[Path]:
    """Flow map and matrix of a network: three sizes, light and dark."""
    for (view, words), (size, (width, _)), scheme in product(VIEWS[name].items(), SIZES.items(), get_args(Scheme)):
        page = browser.new_page(
            viewport=ViewportSize(width=width, height=HIGH), color_scheme=scheme, device_scale_factor=SHARPNESS
        )
        page.goto(f"{(folder / 'explorer.html').as_uri()}#{urlencode(words)}")
        page.wait_for_function(STILL)
        path = out / f"{name}-{view}-{size}-{scheme}.png"
        page.locator("#flows").screenshot(path=path)
        page.close()
        yield path


def main() -> None:
    """Make the city, then the pictures."""
    parser = argparse.ArgumentParser(description="The pictures of the tutorials.")
    parser.add_argument("names", nargs="*", help="which; all if none is named")
    parser.add_argument("--look", metavar="DIR", type=Path, help="flow maps and matrices to look at, instead")
    asked = parser.parse_args()
    if asked.look:
        look(asked.look)
        return
    names = asked.names or [*(picture.name for picture in ALL), *STUDIO]
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        city, browser = Path(name) / "city", launch(playwright)
        _tapveil("demo", str(city))
        if "report" in names:
            _tapveil("report", str(city / "plan.toml"), "-o", str(city / "report.html"))
        if "init" in names:
            _init(city)
        if "series" in names:
            _series(city)
        for picture in ALL:
            if picture.name in names:
                print(take(browser, city, picture, PICTURES))
        if set(names) & set(STUDIO):
            for path in studio(browser, city, Path(name) / "project"):
                print(path)
        browser.close()


def look(out: Path) -> None:
    """Make the networks whose data are at hand, then all their pictures."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        browser = launch(playwright)
        for name in VIEWS:
            (own := Path(temporary) / name).mkdir()
            if folder := network(name, own):
                for path in flows(browser, name, folder, out):
                    print(path)
        browser.close()


def _series(city: Path) -> None:
    """Sixty weeks of some wharves, as a page; one of them grows in the last week."""
    folders = []
    for week in range(60):
        levels = {name: 400.0 + 130 * at + 2 * week for at, name in enumerate(WHARVES)}
        levels[WHARVES[2]] *= 1 + (week == 59) / 8
        truth = {name: trips(level, 100 * week + at) for at, (name, level) in enumerate(levels.items())}
        first = FIRST + timedelta(days=7 * week)
        title = "Port Vesper: trips from wharves"
        folders.append(week_folder(city / "weeks" / f"w{week:02d}", truth, first, week, title=title))
    tapveil.open(folders).write(city / "series")


def studio(browser: Browser, city: Path, project: Path) -> Iterator[Path]:
    """A week of the city on its way through the six steps, as the tutorial has it: one picture of each."""
    project.mkdir()
    new_key(project, "agency")
    page = browser.new_page(viewport={"width": 1280, "height": 900}, device_scale_factor=SHARPNESS)
    with studio_of(project) as opened:
        enter(opened, page)
        for step, part in week_of_the_city(Mouse(page), city, project / "agency"):
            if part == SEEN[f"studio-{step}"]:
                yield _shot(page, f"studio-{step}", part)
    page.close()


def _shot(page: Page, name: str, from_: str) -> Path:
    page.wait_for_function("() => !studio.busy")
    page.locator(from_).evaluate("part => part.scrollIntoView()")
    page.wait_for_timeout(700)  # until frames are drawn
    path = PICTURES / f"{name}.png"
    page.screenshot(path=path)
    return path


def _init(folder: Path) -> None:
    """The screen of somebody who is asked by `tapveil init`, in a real terminal."""
    trips = CORPUS["Hangzhou, 0 and 1"].make(folder / "export")
    _, screen = talk(("init", trips.name), ANSWERS, trips.parent)
    said = html.escape(f"$ tapveil init {trips.name}\n{screen.rstrip()}")
    (folder / "init.html").write_text(f"<meta charset='utf-8'>{TERMINAL}{said}</pre>", encoding="utf-8")


def _tapveil(*words: str) -> None:
    subprocess.run([TAPVEIL, *words], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
