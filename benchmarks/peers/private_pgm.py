"""private-pgm (`mbi`): a graphical model fitted to the same measurements, by mirror descent.

In: a folder with `measured.npz`: for each table its noisy counts and its standard deviation, and what is asked for.
Out: `answered.npz` in the same folder: the answer to each query. It runs in an environment of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
from mbi import Domain, LinearMeasurement, estimation

jax.config.update("jax_enable_x64", True)  # its authors' advice for more than 100 000 trips
ROUNDS = 3000
"""After 250 it is still far from its end."""


def main() -> None:
    folder = Path(sys.argv[1])
    with np.load(folder / "measured.npz") as file:
        given = dict(file)
    axes, shape = given["axes"].tolist(), given["shape"].tolist()
    measurements = []
    for number in range(int(given["tables"])):
        clique = tuple(axes[axis] for axis in given[f"columns{number}"])
        measurements.append(
            LinearMeasurement(given[f"noisy{number}"].ravel(), clique, stddev=float(given[f"deviation{number}"]))
        )
    model = estimation.MirrorDescent().estimate(Domain(axes, shape), measurements, iters=ROUNDS)
    answers: dict[str, Any] = {}
    for number in range(int(given["queries"])):
        asked = tuple(axes[axis] for axis in given[f"query{number}"])
        sizes = [shape[axes.index(axis)] for axis in asked]
        answers[str(number)] = np.asarray(model.project(asked).datavector()).reshape(sizes)
    np.savez(folder / "answered.npz", **answers)


if __name__ == "__main__":
    main()
