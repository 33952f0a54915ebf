"""The mathematics of a release, a library of its own: integer noise, exact accounting, calibration, intervals.

Pure: no files, no clock, no engine; randomness is handed in. ε, δ, scales and thresholds are `Fraction`s, and what is
rounded is rounded against us (docs/privacy/proofs.md). Two tables for one trip that may be replaced by another:

>>> from fractions import Fraction
>>> trip, promise = Exposure("replace"), Loss(Fraction(1), Fraction(1, 10**6))
>>> tables = calibrate("gaussian", (Fraction(1), Fraction(1)), promise.epsilon, promise.delta, trip)
>>> [table.smallest_published for table in tables], certified(tables, promise, trip)
([43, 43], True)
>>> interval(tables[0], MISS).of(50)
(33, 67)
>>> round(mean_error(tables[0]), 2)
6.74

A cell is drawn with randomness from anywhere; a release takes it from the operating system:

>>> import os
>>> import numpy as np
>>> numbers, published = tables[0].draw(np.array([3, 500]), os.urandom)
>>> published.tolist()
[False, True]
"""

from tapveil.privacy.accountant import Exposure
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.distribution import Distribution, Expected, mean_error, spread, variance
from tapveil.privacy.intervals import MISS, Interval, given_published, interval
from tapveil.privacy.loss import (
    Change,
    Loss,
    accounted_delta,
    certified,
    changes,
    compose,
    epsilon_upper_bound,
    in_other_notion,
)
from tapveil.privacy.mechanisms import Dictionary, Gaussian, Laplace, Mechanism, StabilityHistogram, stated
from tapveil.privacy.noise import NoiseTable, RandomBytes
from tapveil.privacy.units import Neighbours, Unit

__all__ = [
    "MISS",
    "Change",
    "Dictionary",
    "Distribution",
    "Expected",
    "Exposure",
    "Gaussian",
    "Interval",
    "Laplace",
    "Loss",
    "Mechanism",
    "Neighbours",
    "NoiseTable",
    "RandomBytes",
    "StabilityHistogram",
    "Unit",
    "accounted_delta",
    "calibrate",
    "certified",
    "changes",
    "compose",
    "epsilon_upper_bound",
    "given_published",
    "in_other_notion",
    "interval",
    "mean_error",
    "spread",
    "stated",
    "variance",
]
