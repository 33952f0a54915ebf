"""How long the studio lets one wait: from choosing a file to the first picture, and for an answer to the slider.

    python -m benchmarks.studio [--trips 12000000] [--format parquet|csv]
    python -m benchmarks.studio --trips 0

It generates the demo city, starts a studio as a process of its own, and speaks to it as the page does. Wall time is
what a person waits; on a machine that has other things to do, CPU time says what it would be on an idle one. Without
trips, the slider alone is measured, on the plan of the paper with one total ε, and on the journeys of a known world.

Each slider is measured twice: at first answers are made with the noise of the nearest ε, scaled, while that of the ε
itself is calibrated; then all of it is known. `promise` is what the page asks for while the slider moves, and once it
has stopped, with people and the best attacker; `preview` is what the page draws of the trips.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.studio import Page, Studio, studio_of

from tapveil.base.progress import Silent
from tapveil.demo.city import make_city
from tapveil.plan.model import preset_text

TICKS = os.sysconf("SC_CLK_TCK")


def cpu(studio: Studio) -> float:
    """The CPU time that the process has used so far, in seconds."""
    fields = Path(f"/proc/{studio.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def timed(studio: Studio, what: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall time, CPU time and result."""
    before, start = cpu(studio), time.perf_counter()
    found = what()
    return time.perf_counter() - start, cpu(studio) - before, found


def slider(studio: Studio, page: Page, call: str, label: str, **more: Any) -> None:
    """Every place of the slider, from left to right."""
    waits, used, about = [], [], 0
    for epsilon in places(page):
        wall, cost, found = timed(studio, partial(page.call, call, edits=moved(epsilon), **more))
        waits.append(1000 * wall)
        used.append(1000 * cost)
        about += found["about"]
    middle, worst, mean = statistics.median(waits), max(waits), statistics.mean(used)
    print(f"{call}, {label}: median {middle:.0f} ms, longest {worst:.0f} ms; CPU {mean:.0f} ms each; {about} scaled")


def places(page: Page) -> list[str]:
    return [each["epsilon"] for each in page.call("promise", moving=True)["grid"]]


def settle(page: Page, call: str, **more: Any) -> None:
    """Ask for every place until its noise is calibrated."""
    for epsilon in places(page):
        while page.call(call, edits=moved(epsilon), **more)["about"]:
            time.sleep(0.1)


def moved(epsilon: str) -> list[dict[str, Any]]:
    return [{"at": ["privacy", "epsilon"], "value": float(epsilon)}]


def of_the_paper() -> str:
    """The plan of the paper, with its total shared by weight: where each table has its own ε, there is no slider."""
    text = preset_text("opal")
    for table, weight in (("epsilon = 1\n", 1), ("epsilon = 2\n", 2)):
        text = text.replace(f'{table}delta = "1/8000000"\n', f"weight = {weight}\n")
    return text.replace('mechanism = "sbh"', 'mechanism = "gaussian"\nepsilon = 8\ndelta = 7.5e-7')


def sliders_of_plans() -> None:
    for name, text in (("paper", of_the_paper()), ("journeys", preset_text("journeys"))):
        with tempfile.TemporaryDirectory() as scratch:
            (Path(scratch) / "plan.toml").write_text(text, encoding="utf-8")
            with studio_of(Path(scratch)) as studio:
                page = Page.entered(studio)
                wall, used, _ = timed(studio, partial(page.call, "promise", edits=[]))
                print(f"{name}: the step opens in {1000 * wall:.0f} ms, CPU {1000 * used:.0f} ms")
                slider(studio, page, "promise", f"{name}, at first", moving=True)
                settle(page, "promise", moving=True)
                slider(studio, page, "promise", f"{name}, then", moving=True)
                slider(studio, page, "promise", f"{name}, stopped", every="month")
                page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trips", type=int, default=12_000_000)
    parser.add_argument("--format", choices=("parquet", "csv"), default="parquet")
    parser.add_argument("--scratch", type=Path, help="Where the city is built; it is deleted afterwards.")
    given = parser.parse_args()
    sliders_of_plans()
    if not given.trips:
        return
    with tempfile.TemporaryDirectory(dir=given.scratch) as scratch:
        folder = Path(scratch) / "city"
        make_city(folder, trips=given.trips, seed=1, file_format=given.format, progress=Silent())
        (folder / "plan.toml").unlink()
        with studio_of(folder) as studio:
            page = Page.entered(studio)
            trips = next(path.name for path in sorted(folder.iterdir()) if path.name.startswith("trips"))
            look = {"trips": trips}
            wall, used, seen = timed(studio, lambda: page.call("look", **look))
            print(f"{given.trips:,} trips, {given.format}: first picture {wall:.2f} s, CPU {used:.2f} s")
            answers = {each["key"]: each["proposal"] for each in seen["questions"] if each["proposal"]}
            page.call("look/write", **look, plan="plan.toml", answers={**answers, "unit": "trip"})
            wall, used, _ = timed(studio, lambda: page.done("count"))
            print(f"counted once: {wall:.1f} s, CPU {used:.1f} s")
            wall, used, _ = timed(studio, lambda: page.call("preview", edits=[]))
            print(f"first preview: {1000 * wall:.0f} ms, CPU {1000 * used:.0f} ms")
            for call, more in (("promise", {"moving": True}), ("preview", {})):
                # Another table begins anew, as after a choice.
                table = page.call("plan")["model"]["tables"][-1]["name"]
                fewer = [{"at": ["table", table], "value": None}]
                page.call("plan/edit", version=page.call("plan")["version"], edits=fewer)
                page.call("promise", edits=[])
                slider(studio, page, call, "city, at first", **more)
                settle(page, call, **more)
                slider(studio, page, call, "city, then", **more)
            page.close()


if __name__ == "__main__":
    main()
