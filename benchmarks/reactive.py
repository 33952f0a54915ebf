"""What it costs to keep the promise for trips that react to earlier releases: `python -m benchmarks.reactive`.

The gaussian Opal tables at (8, 7.5e-7), calibrated for one release alone and for releases over time: δ of an exchange
across releases, and how many cells of the demo city are published on average. The city is generated, so its exact
counts may be seen.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from benchmarks.utility.measure import BUILD, city
from tapveil.counting import counter
from tapveil.counting.reveal import exact_counts
from tapveil.plan.model import Plan
from tapveil.privacy.accountant import Exposure, delta
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.mechanisms import Mechanism

TRIPS = 1_000_000
SHARES = (*(Fraction(1),) * 4, *(Fraction(2),) * 2)
ALONE, ACROSS = Exposure("replace"), Exposure("replace", across=True)


def published(mechanism: Mechanism, counts: npt.NDArray[np.int64]) -> float:
    """How many cells with these counts are published, on average."""
    sizes, numbers = np.unique(counts, return_counts=True)
    return sum(float(mechanism.publish_probability(int(c))) * int(n) for c, n in zip(sizes, numbers, strict=True))


def main() -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    plan = Plan.read(city(TRIPS) / "plan.toml")
    tables = counter.count(plan).tables
    for name, exposure in (("one release alone", ALONE), ("over time", ACROSS)):
        design = calibrate("gaussian", SHARES, Fraction(8), Fraction(3, 4_000_000), exposure)
        found = delta([mechanism.cells for mechanism in design], 8.0, ACROSS)
        cells = sum(published(m, exact_counts(tables[table])) for m, table in zip(design, plan.tables, strict=True))
        least = " and ".join(str(design[place].smallest_published) for place in (0, -1))
        noise = f"sigma {float(design[-1].scale)}, thresholds {least}"
        print(f"calibrated for {name}: {noise}; delta across releases {found:.4g}; {cells:,.0f} cells on average")


if __name__ == "__main__":
    main()
