"""Folders to look at, and a browser to look at them with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

import tapveil
from tapveil.demo.city import make_city
from tapveil.plan.model import Plan
from tests.conftest import WITH_TOTAL, free_plan, write_csv
from tests.support.journeys import journeys

DAYS = [date(2025, 3, 3), date(2025, 3, 4), date(2025, 3, 8)]
HOSTILE = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "</script><svg onload='window.hacked = 1'>",
    'O\'Brien "the" & <b>Sons</b>, Ltd',
    "محطة القطار‎ (رئيسية)",
    "\u202eevil txt\u202c",
    "=cmd|' /C calc'!A0",
    "{{script}} ${window.hacked = 1} {{data}}",
    "-->]]><!--",
    "Ä" * 300,
    "constructor",
    "__proto__",
)


@dataclass
class Looked:
    """A page, and what it did that it should not."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def run(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)


class Opener:
    """Opens pages from the disk, and watches them."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self.opened: list[Looked] = []

    def __call__(
        self,
        folder: Path,
        view: str = "",
        *,
        width: int = 1280,
        height: int = 900,
        scheme: Any = "light",
        **options: Any,
    ) -> Looked:
        size = ViewportSize(width=width, height=height)
        context = self._browser.new_context(viewport=size, color_scheme=scheme, accept_downloads=True, **options)
        looked = Looked(context.new_page())
        looked.page.on("request", lambda request: looked.requests.append(request.url))
        looked.page.on("console", lambda message: looked.complaints.append(message.text))
        looked.page.on("pageerror", lambda error: looked.complaints.append(str(error)))
        looked.page.goto(f"{(folder / 'explorer.html').as_uri()}{view}")
        if options.get("java_script_enabled", True):
            looked.page.wait_for_function("() => performance.getEntriesByName('drawn').length > 0 || !trouble.hidden")
        self.opened.append(looked)
        return looked


@pytest.fixture
def look(browser: Browser) -> Iterator[Opener]:
    """Whatever a test does, a page asks nobody for anything and complains of nothing."""
    opener = Opener(browser)
    yield opener
    for looked in opener.opened:
        outside = [url for url in looked.requests if not url.startswith(("file:", "blob:"))]
        own = re.compile(r"/explorer\.html|/explorer/part-[0-9]{4}\.js$")
        others = [url for url in looked.requests if url.startswith("file:") and not own.search(url)]
        looked.page.context.close()
        assert (outside, others, looked.complaints) == ([], [], [])


def _released(plan: Plan, out: Path) -> Path:
    tapveil.release(plan, out, in_ledger=False)
    return out


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days of Port Vesper, with a map, and with totals."""
    folder = tmp_path_factory.mktemp("browser")
    path = make_city(folder / "city", trips=150_000, days=DAYS)
    ((old, new),) = WITH_TOTAL.items()
    plan = Plan.parse(path.read_text(encoding="utf-8").replace(old, new), base=path.parent)
    return _released(plan, folder / "published")


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eleven days of a small city."""
    folder = tmp_path_factory.mktemp("world")
    return tapveil.release(journeys(folder), folder / "published", in_ledger=False).path


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Places, modes and a title that would be markup, formulas or tricks if they were not text."""
    folder = tmp_path_factory.mktemp("hostile")
    modes, rows = ("<b>bus</b>", "train & 'tram'"), []
    for number, name in enumerate(HOSTILE):
        for minute in range(40 + 5 * number):
            rows.append((modes[number % 2], "2025-03-03", f"07:{minute % 60:02d}", name))
            rows.append((modes[number % 2], "2025-03-04", f"08:{minute % 60:02d}", name))
    write_csv(folder / "trips.csv", rows, ("mode", "date", "tap_on_time", "tap_on_location"))
    columns = {name: name for name in ("mode", "date", "tap_on_time", "tap_on_location")}
    tables = {"both": ["tap_on_time", "tap_on_location"], "place": ["tap_on_location"], "time": ["tap_on_time"]}
    free_plan(folder, "trips.csv", columns, tables, ["mode", "date"])
    path = folder / "plan.toml"
    extra = 'publisher = "<i>City</i> \\"& Sons\\""\\ndescription = "</script><script>window.hacked = 1</script>"'
    text = path.read_text(encoding="utf-8").replace("epsilon = 1", "epsilon = 20")
    title = 'title = "</title></script><script>window.hacked = 1</script> {{data}}"\n' + extra.replace("\\n", "\n")
    path.write_text(text.replace('title = "Free"', title) + "\n[coarsen]\ntime_minutes = 60\n", encoding="utf-8")
    return _released(Plan.read(path), folder / "published")
