"""The pictures of the tutorial: the demo city is released, its page is opened in a browser, and looked at.

    python -m tools.pictures                # all of them, into docs/pictures
    python -m tools.pictures explorer-map   # some of them

The noise is never the same twice, so the pictures are not either: make them anew when the page looks different.
"""

from __future__ import annotations

import argparse
import html
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright
from tests.browser import launch
from tests.support.corpus import CORPUS
from tests.support.terminal import talk

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
TAPVEIL = Path(sys.executable).with_name("tapveil")
PAGE = "published/explorer.html"
SHARPNESS = 1.5


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
    scheme: Literal["light", "dark"] = "light"


ALL = (
    Picture("explorer-heat", view="mode=bus&date=2025-03-03"),
    Picture(
        "explorer-profile", view="mode=train&date=2025-03-03&compare=2025-03-08&place=S%C3%A3o+Bento", part="#profile"
    ),
    Picture("explorer-map", view="table=on_location&mode=bus&date=2025-03-03", part="#map", size=(1200, 900)),
    Picture(
        "explorer-flows",
        page="journeys/explorer.html",
        view="mode=train&date=2025-03-03&days=weekday&time=08:00",
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
    Picture("report", page="report.html", size=(1100, 900)),
    Picture("init", page="init.html", part="pre", size=(1100, 900)),
)
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
    page.wait_for_timeout(500)  # until it is drawn
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


def main() -> None:
    """Make the city, then the pictures."""
    parser = argparse.ArgumentParser(description="The pictures of the tutorial.")
    parser.add_argument("names", nargs="*", help="which; all if none is named")
    names = parser.parse_args().names or [picture.name for picture in ALL]
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        city, browser = Path(name) / "city", launch(playwright)
        _tapveil("demo", str(city))
        if "report" in names:
            _tapveil("report", str(city / "plan.toml"), "-o", str(city / "report.html"))
        if "init" in names:
            _init(city)
        for picture in ALL:
            if picture.name in names:
                print(take(browser, city, picture, PICTURES))
        browser.close()


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
