"""Estimates of whole trips from measurements of a known world: post-processing, free of privacy loss.

In: noisy tables over public lists, every cell of them (`Measurement`), and what is public (`World`). Out: for each day
whole numbers of trips by time, origin and destination, of which every table is a sum; intervals; how far an estimate
rests on its own measurement; and synthetic trips. Nothing here can see an exact count, and everything is the same on
every machine (`parts`).

>>> import numpy as np
>>> world = World((0, 0, 1), {"tap_on_location": 2, "tap_off_location": 3})
>>> noisy = np.array([[[9, 1, 0], [4, 30, -2]], [[11, -1, 1], [6, 28, 1]], [[2, 0, 1], [1, 8, 0]]])
>>> columns = ("date", "tap_on_location", "tap_off_location")
>>> found = estimate(world, [Measurement(columns, noisy, 2.0)])
>>> found.count(["date"]).tolist(), found.count(["tap_off_location"]).tolist()
([42, 46, 12], [33, 65, 2])
"""

from tapveil.published.estimates.clock import NO_TAP, Clock
from tapveil.published.estimates.estimate import NEWEST, Estimates, Table, estimate
from tapveil.published.estimates.spread import Spread
from tapveil.published.estimates.totals import Total
from tapveil.published.estimates.world import Measurement, World

__all__ = ["NEWEST", "NO_TAP", "Clock", "Estimates", "Measurement", "Spread", "Table", "Total", "World", "estimate"]
