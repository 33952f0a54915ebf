"""What `check` costs beside a release of the same plan: CPU time, in turn, several times, as ratios of medians.

`check` counts by the same route as the release, and looks for contradictions and copies in an excerpt. It should cost
at most 1.2 times the release: who finds looking dear publishes without it.

    trip       the Opal plan of the demo city: six tables, any one trip protected
    card-day   the same, all trips of a card on a day protected
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from benchmarks.release import BUILD, Cost, city, measure, median, released

CARD_DAY = 'unit = "card-day"\ntrips_per_day = 4\nwithout_card = "refuse"'
AIM = 1.2


def plan_by_card(folder: Path) -> Path:
    """The plan of a city with card-days protected, beside it."""
    text = (folder / "plan.toml").read_text(encoding="utf-8")
    unit = next(line for line in text.splitlines() if line.startswith('unit = "trip"'))
    path = folder / "card-day.toml"
    path.write_text(text.replace(unit, CARD_DAY), encoding="utf-8")
    return path


def costs(plan: Path, repeat: int) -> tuple[Cost, Cost]:
    """The medians of `check` and `release` of a plan."""
    checks, releases = [], []
    check = [sys.executable, "-m", "tapveil", "check", str(plan), "-q"]
    for _ in range(repeat):
        checks.append(measure(check))
        releases.append(measure(released(plan)))
    return median(checks), median(releases)


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trips", type=int, default=1_000_000, help="default: one million")
    parser.add_argument("--formats", nargs="*", default=["parquet", "csv"], help="default: parquet csv")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each; default: 5")
    options = parser.parse_args()
    print(f"{'':22}{'check, CPU s':>14}{'release, CPU s':>16}{'ratio':>8}   aim: at most {AIM}")
    for format in options.formats:
        folder = city(options.trips, format)
        for name, plan in {"trip": folder / "plan.toml", "card-day": plan_by_card(folder)}.items():
            check, release = costs(plan, options.repeat)
            ratio = check.cpu / release.cpu
            print(f"{name + ', ' + format:22}{check.cpu:14.2f}{release.cpu:16.2f}{ratio:8.2f}", flush=True)
    shutil.rmtree(BUILD / "published", ignore_errors=True)


if __name__ == "__main__":
    main()
