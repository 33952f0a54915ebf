"""How quick the page is, in a real browser: first view, every interaction, size of the file.

    python -m benchmarks.page [--write]

Made-up counts in the shape of the paper's six tables, 56 parts, up to 1 000 places; opened from the disk in Chromium
without a window. First view: from the start of the navigation to the first picture. An interaction: from the change
until the browser has drawn the next frame.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time as clock
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from playwright.sync_api import Page, sync_playwright
from tests.browser import launch

from tapveil.plan.model import Plan
from tapveil.published.explorer.page import page as page_text
from tapveil.published.manifest import Manifest
from tapveil.veil import statement

SIZES = (50_000, 500_000)
TIMES = 3
DAYS = [str(date(2025, 3, 3) + timedelta(days=day)) for day in range(14)]
MODES = ("bus", "ferry", "lightrail", "train")
PLACES = np.array([f"Place {number:04d} at Some Street" for number in range(2000)])
CLOCKS = np.array([f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(0, 1440, 15)])
DOCS = Path(__file__).parents[1] / "docs" / "page.md"

CHANGES = {
    "another table": "tapveil.set({ table: tapveil.release.tables[5] })",
    "another mode": "tapveil.set({ part: { ...tapveil.view.part, mode: 1 } })",
    "another day": "tapveil.set({ part: { ...tapveil.view.part, date: 3 } })",
    "compare two days": "tapveil.set({ vs: 5 })",
    "show the difference": "tapveil.set({ difference: true })",
    "pick a place": "tapveil.set({ place: tapveil.release.places[tapveil.cards[0].rows[4]] })",
    "pick a time": "tapveil.set({ time: '08:15' })",
    "a letter in the search": "tapveil.set({ place: null, find: '17' })",
    "order by name": "tapveil.set({ find: '', sort: 'name' })",
    "sort the numbers": "tapveil.set({ by: { id: 'count', down: false } })",
    "scroll the heat map": "document.getElementById('heat-scroll').scrollTop += 700",
    "light and dark": "document.getElementById('theme').click()",
}
TIMED = """async (change) => {
  const start = performance.now();
  (0, eval)(change);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""


@dataclass(frozen=True)
class Measured:
    """What a page of so many cells took."""

    cells: int
    megabytes: float
    writing: float
    first_view: float
    interactions: dict[str, float]

    @property
    def slowest(self) -> tuple[str, float]:
        return max(self.interactions.items(), key=lambda item: item[1])


def made_up(cells: int) -> dict[str, pa.Table]:
    """Tables with about so many cells in all: times and places by part, then the busiest of their pairs."""
    random = np.random.default_rng(1)
    parts = [(mode, day) for mode in MODES for day in DAYS]
    places = min(len(PLACES), max(20, cells // 500))
    rest = cells - 2 * len(parts) * (len(CLOCKS) + places)
    pairs = max(1, rest // (2 * len(parts)))
    tables: dict[str, pa.Table] = {}
    for side in ("on", "off"):
        time, place = f"tap_{side}_time", f"tap_{side}_location"
        tables[f"{side}_time"] = _table(random, parts, {time: np.arange(len(CLOCKS))}, len(CLOCKS))
        tables[f"{side}_location"] = _table(random, parts, {place: np.arange(places)}, places)
        some = [np.sort(random.choice(len(CLOCKS) * places, pairs, replace=False)) for _ in parts]
        chosen = np.concatenate(some)
        keys = {time: chosen // places, place: chosen % places}
        tables[f"{side}_time_location"] = _table(random, parts, keys, pairs)
    return tables


def _table(random: np.random.Generator, parts: list[tuple[str, str]], keys: dict[str, Any], rows: int) -> pa.Table:
    columns: dict[str, Any] = {
        "mode": np.repeat([mode for mode, _ in parts], rows),
        "date": np.repeat([day for _, day in parts], rows),
    }
    for name, codes in keys.items():
        labels = (CLOCKS if name.endswith("time") else PLACES)[codes]
        columns[name] = labels if len(labels) == len(parts) * rows else np.tile(labels, len(parts))
    counts = 18 + random.pareto(1.1, len(parts) * rows) * 12
    columns["count"] = np.minimum(counts, 60_000).astype(np.int64)
    return pa.table(columns)


def _manifest() -> Manifest:
    return statement.manifest(Plan.preset("opal"), date(2026, 1, 1), {"lookup of bus": "0" * 64})


def measure(cells: int, folder: Path, browser: Any) -> Measured:
    tables, manifest = made_up(cells), _manifest()
    package = {"description": "Made up.", "resources": []}
    start = clock.process_time()
    text = page_text(manifest, package, tables, [], None)
    writing = clock.process_time() - start
    path = folder / "explorer.html"
    path.write_text(text, encoding="utf-8")
    firsts, interactions = [], dict[str, list[float]]()
    for _ in range(TIMES):
        page: Page = browser.new_page(viewport={"width": 1440, "height": 1000}, bypass_csp=True)
        page.goto(path.as_uri())
        page.wait_for_function("performance.getEntriesByName('drawn').length > 0")
        firsts.append(page.evaluate("performance.getEntriesByName('drawn')[0].startTime"))
        for name, change in CHANGES.items():
            interactions.setdefault(name, []).append(page.evaluate(TIMED, change))
        page.close()
    medians = {name: statistics.median(times) for name, times in interactions.items()}
    size = sum(len(table) for table in tables.values())
    return Measured(size, path.stat().st_size / 1e6, writing, statistics.median(firsts), medians)


def lines(found: list[Measured]) -> Iterator[str]:
    yield "| | " + " | ".join(f"{each.cells:,} cells" for each in found) + " |"
    yield "|---" * (len(found) + 1) + "|"
    yield "| size of the file, MB | " + " | ".join(f"{each.megabytes:.2f}" for each in found) + " |"
    yield "| to write it, s of CPU | " + " | ".join(f"{each.writing:.2f}" for each in found) + " |"
    yield "| **first view**, ms | " + " | ".join(f"**{each.first_view:.0f}**" for each in found) + " |"
    for name in CHANGES:
        yield f"| {name}, ms | " + " | ".join(f"{each.interactions[name]:.0f}" for each in found) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/page.md")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch(playwright)
        found = [measure(cells, Path(folder), browser) for cells in SIZES]
        version = browser.version
        browser.close()
    table = "\n".join([*lines(found), "", f"Chromium {version}, median of {TIMES}."])
    print(table)
    print(json.dumps({each.cells: each.slowest for each in found}))
    if chosen.write:
        text = DOCS.read_text(encoding="utf-8")
        start, end = "<!-- measured -->\n", "<!-- /measured -->"
        before, after = text.split(start)[0], text.split(end)[1]
        DOCS.write_text(f"{before}{start}{table}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
