from __future__ import annotations

import pytest

from tapveil.published.estimates import Measurement
from tapveil.published.estimates.margins import Measured, margin
from tapveil.tuning.every_cell import told_with
from tests.unit.published.estimates.city import AXES, TABLES, measured, table, trips, world


@pytest.mark.parametrize(
    "columns",
    [(), ("tap_on_location",), ("tap_on_location", "tap_off_location"), ("tap_on_time", "tap_on_location"), AXES[1:]],
)
def test_the_variance_of_sums_is_the_one_that_estimates_go_by(columns: tuple[str, ...]) -> None:
    """By tables of each day, a finest one, and one of all days, which tells nothing of a single one."""
    counts, city = trips(), world()
    all_days = Measurement(("tap_on_location",), table(counts, ("tap_on_location",)), 9.0)
    measurements = [*measured(counts, 3.0, (*TABLES, AXES)), all_days]
    own = Measured(city, measurements)
    assert told_with(city, ("date", *columns), measurements) == pytest.approx(margin(own.day(0), columns).variance)
    assert told_with(city, columns, measurements) == pytest.approx(margin(own.all_days(), columns).variance)
