"""What each mechanism leaves of the demo city, for each unit of protection and ε, as Markdown tables.

.venv/bin/python -m benchmarks.utility            # prints
.venv/bin/python -m benchmarks.utility --write    # also renews docs/utility.md and docs/utility.svg
.venv/bin/python -m benchmarks.utility --journeys 3 --journeys-alone --write    # the journeys alone, with more draws
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import journeys, picture, report
from .measure import Claim, measure

DOCS = Path(__file__).parents[2] / "docs"


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--draws", type=int, default=5, help="how often each plan is drawn; figures are means")
    parser.add_argument("--journeys", type=int, default=1, help="the same for journeys, whose estimates take longer")
    parser.add_argument("--journeys-alone", action="store_true", help="measure the journeys only")
    parser.add_argument("--write", action="store_true", help="renew docs/utility.md and docs/utility.svg")
    options = parser.parse_args()
    people = journeys.People.of(max(options.trips), say)
    travelled = journeys.markdown(people, [*journeys.measure(people, options.journeys, say)], options.journeys)
    print(travelled)
    if options.write:
        report.put_into(DOCS / "utility.md", travelled, "journeys")
    if options.journeys_alone:
        return
    cities = [measure(trips, options.draws, say) for trips in options.trips]
    text = report.markdown(cities)
    print(text)
    if options.write:
        report.put_into(DOCS / "utility.md", text)
        largest = max(cities, key=lambda city: city.trips)
        (DOCS / "utility.svg").write_text(picture.svg(largest), encoding="utf-8")
    if not all(Claim.on(city).met for city in cities):
        raise SystemExit("gaussian does not publish 30 % more time × location cells than sbh")


if __name__ == "__main__":
    main()
