"""How quick the page is, in a real browser: first view, every interaction, size of the file.

    python -m benchmarks.page [--write]

Made-up counts in the shape of the paper's six tables, 56 parts, up to 1 000 places; and a year of 52 weeks with 500
places by the hour, every cell published, whose large tables are in files next to the page. Opened from the disk in
Chromium without a window. First view: from the start of the navigation to the first picture. An interaction: from the
change until the browser has drawn the next frame, and has read the files that it needs. Times are those that the main
thread of the page was at work, so that they hold on a busy machine as well.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from playwright.sync_api import Page, sync_playwright
from tests.browser import launch

from tapveil.plan.model import Plan, preset_text
from tapveil.published.explorer.page import page_files
from tapveil.published.manifest import Manifest
from tapveil.published.places import FeatureCollection
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
CHANGED = """async (change) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  (0, eval)(change);
  await frame();
  while (!document.getElementById("loading").hidden) await frame();
}"""
OF_A_YEAR = {
    "a day of another month": "tapveil.set({ part: { ...tapveil.view.part, date: 250 } })",
    "the same day once more": "tapveil.set({ part: { ...tapveil.view.part, date: 0 } })",
    "the mean of a week": "tapveil.set({ part: { ...tapveil.view.part, date: week(20) } })",
    "compared with the week before": "tapveil.set({ vs: week(19), difference: true })",
    "the year of a place": "tapveil.set({ vs: null, place: tapveil.release.places[7] })",
    "the mean of all days, all files": "tapveil.set({ part: { ...tapveil.view.part, date: all() } })",
}
OF_PAIRS = {
    "the flow map of another day": "tapveil.set({ part: { ...tapveil.view.part, date: 1 } })",
    "a place's catchment": "tapveil.set({ place: tapveil.release.places[3] })",
    "the matrix": "tapveil.set({ place: null, flows: 'matrix' })",
    "the list": "tapveil.set({ flows: 'list' })",
    "two days compared on the map": "tapveil.set({ flows: 'map', vs: 0, difference: true })",
}
NAMES = """
  window.week = (n) => {
    const { days } = tapveil.release.periods;
    return tapveil.release.periods.code(`${days[7 * n]}..${days[7 * n + 6]}`);
  };
  window.all = () => tapveil.release.periods.code("all");
"""


@dataclass(frozen=True)
class Measured:
    """What a page of so many cells took."""

    cells: int
    megabytes: float
    beside: float
    """Megabytes in files next to the page."""
    writing: float
    first_view: float
    interactions: dict[str, float]

    @property
    def slowest(self) -> tuple[str, float]:
        return max(self.interactions.items(), key=lambda item: item[1])


class Work:
    """How long the main thread of a page was at work, in ms of CPU."""

    def __init__(self, session: Any) -> None:
        self._session, self._before = session, 0.0
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.since()

    def since(self) -> float:
        """Since this was asked before."""
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        found: dict[str, float] = {each["name"]: each["value"] for each in metrics}
        now, before = 1000 * found["TaskDuration"], self._before
        self._before = now
        return now - before if now >= before else now  # a page in another process starts anew


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


def a_year(sides: Sequence[str] = ("on", "off")) -> dict[str, pa.Table]:
    """52 weeks of 500 places by the hour, each cell published: 9 million cells, half of them on each side."""
    random, places, hours = np.random.default_rng(1), 500, CLOCKS[::4]
    days = [str(date(2025, 3, 3) + timedelta(days=day)) for day in range(364)]
    tables: dict[str, pa.Table] = {}
    for side in sides:
        time, place = f"tap_{side}_time", f"tap_{side}_location"
        shape = {"time": {time: hours}, "location": {place: PLACES[:places]}}
        shape["time_location"] = shape["time"] | shape["location"]
        for name, lists in shape.items():
            sizes = [len(days), *map(len, lists.values())]
            codes = np.indices(sizes, dtype=np.int32).reshape(len(sizes), -1)
            labels = [pa.array(days), *(pa.array(values.tolist()) for values in lists.values())]
            keys = [labels[at].take(pa.array(code)) for at, code in enumerate(codes)]
            mode = pa.array(["train"]).take(pa.array(np.zeros(codes.shape[1], np.int32)))
            counts = np.minimum(18 + random.pareto(1.1, codes.shape[1]) * 12, 60_000).astype(np.int64)
            tables[f"{side}_{name}"] = pa.table([mode, *keys, counts], names=["mode", "date", *lists, "count"])
    return tables


def of_pairs(places: int = 400, pairs: int = 100_000) -> tuple[dict[str, pa.Table], FeatureCollection]:
    """Two days with 100 000 pairs of places each, and where these lie."""
    random, days = np.random.default_rng(1), DAYS[:2]
    chosen = np.concatenate([np.sort(random.choice(places * places, pairs, replace=False)) for _ in days])
    keys = {"mode": np.repeat("train", 2 * pairs), "date": np.repeat(days, pairs)}
    ends = {"tap_on_location": PLACES[chosen // places], "tap_off_location": PLACES[chosen % places]}
    counts = np.minimum(18 + random.pareto(1.1, 2 * pairs) * 12, 60_000).astype(np.int64)
    alone = {"mode": np.repeat("train", 2 * places), "date": np.repeat(days, places)}
    alone |= {"tap_on_location": np.tile(PLACES[:places], 2), "count": np.full(2 * places, 5000)}
    spots = random.normal(0, 0.1, (places, 2)).round(4).tolist()
    features = [
        {
            "type": "Feature",
            "properties": {"mode": "*", "name": str(PLACES[n])},
            "geometry": {"type": "Point", "coordinates": spot},
        }
        for n, spot in enumerate(spots)
    ]
    tables = {"od": pa.table({**keys, **ends, "count": counts}), "on_location": pa.table(alone)}
    return tables, {"type": "FeatureCollection", "features": features}


def _manifest_of_pairs() -> Manifest:
    text = preset_text("opal")
    table = '[[table]]\nname = "{}"\ncolumns = {}\nepsilon = 1\ndelta = "1/8000000"\n'
    tables = {"od": '["tap_on_location", "tap_off_location"]', "on_location": '["tap_on_location"]'}
    head = text[: text.index("\n[[table]]")] + "\n"
    plan = Plan.parse(head + "".join(table.format(*each) for each in tables.items()))
    return statement.manifest(plan, date(2026, 1, 1), {"lookup of bus": "0" * 64})


def manifest_of_bins(minutes: int = 15) -> Manifest:
    text = preset_text("opal").replace("time_minutes = 15", f"time_minutes = {minutes}")
    return statement.manifest(Plan.parse(text), date(2026, 1, 1), {"lookup of bus": "0" * 64})


def measure(
    tables: dict[str, pa.Table],
    manifest: Manifest,
    folder: Path,
    browser: Any,
    changes: Mapping[str, str] = CHANGES,
    places: FeatureCollection | None = None,
) -> Measured:
    package = {"description": "Made up.", "resources": []}
    start = clock.process_time()
    texts = page_files(manifest, package, tables, [], places)
    writing = clock.process_time() - start
    path = folder / "explorer.html"
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "empty.html").write_text("<!doctype html>", encoding="utf-8")
    firsts, interactions = [], dict[str, list[float]]()
    for _ in range(TIMES):
        page: Page = browser.new_page(viewport={"width": 1440, "height": 1000}, bypass_csp=True)
        page.goto((folder / "empty.html").as_uri())  # in the process of pages on the disk
        work = Work(page.context.new_cdp_session(page))
        page.goto(path.as_uri())
        page.wait_for_function("performance.getEntriesByName('drawn').length > 0", polling=100)
        firsts.append(work.since())
        page.evaluate(NAMES)
        for name, change in changes.items():
            work.since()
            page.evaluate(CHANGED, change)
            interactions.setdefault(name, []).append(work.since())
        page.close()
    medians = {name: statistics.median(times) for name, times in interactions.items()}
    size = sum(len(table) for table in tables.values())
    beside = sum(len(text) for name, text in texts.items()) / 1e6 - path.stat().st_size / 1e6
    return Measured(size, path.stat().st_size / 1e6, beside, writing, statistics.median(firsts), medians)


def lines(found: list[Measured]) -> Iterator[str]:
    yield "| | " + " | ".join(f"{each.cells:,} cells" for each in found) + " |"
    yield "|---" * (len(found) + 1) + "|"
    yield "| size of the file, MB | " + " | ".join(f"{each.megabytes:.2f}" for each in found) + " |"
    if any(each.beside > 0.01 for each in found):
        yield "| files next to it, MB | " + " | ".join(f"{each.beside:.1f}" for each in found) + " |"
    yield "| to write it, s of CPU | " + " | ".join(f"{each.writing:.2f}" for each in found) + " |"
    yield "| **first view**, ms | " + " | ".join(f"**{each.first_view:.0f}**" for each in found) + " |"
    for name in found[0].interactions:
        yield f"| {name}, ms | " + " | ".join(f"{each.interactions[name]:.0f}" for each in found) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/page.md")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch(playwright)
        found = [measure(made_up(cells), manifest_of_bins(), Path(folder), browser) for cells in SIZES]
        year = measure(a_year(), manifest_of_bins(60), Path(folder), browser, OF_A_YEAR)
        tables, places = of_pairs()
        pairs = measure(tables, _manifest_of_pairs(), Path(folder), browser, OF_PAIRS, places)
        version = browser.version
        browser.close()
    told = f"Chromium {version}, median of {TIMES}; ms of CPU of the main thread."
    table = "\n".join([*lines(found), "", *lines([year]), "", *lines([pairs]), "", told])
    print(table)
    print(json.dumps({each.cells: each.slowest for each in found}))
    if chosen.write:
        text = DOCS.read_text(encoding="utf-8")
        start, end = "<!-- measured -->\n", "<!-- /measured -->"
        before, after = text.split(start)[0], text.split(end)[1]
        DOCS.write_text(f"{before}{start}{table}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
