"""How values are written, by a sample of them: a few odd ones decide nothing."""

from __future__ import annotations

import pytest

from tapveil.trips.reading import Sample

MINUTES = [300 + 7 * n % 1100 for n in range(400)]

WRITTEN: dict[str, tuple[str, list[str], str | None]] = {
    "hours": ("hour", [str(n % 24) for n in range(400)], "hours"),
    "hours with zeros": ("時段", [f"{n % 24:02d}" for n in range(400)], "hours"),
    "minutes": ("EntTime", [str(minute) for minute in MINUTES], None),
    "clocks without zeros": ("time", [f"{m // 60}{m % 60:02d}" for m in MINUTES], "%H%M"),
    "clocks": ("time", [f"{m // 60}:{m % 60:02d}" for m in MINUTES], None),
    "clocks with h": ("hora", [f"{m // 60:02d}h{m % 60:02d}" for m in MINUTES], "%Hh%M"),
    "six digits": ("time", [f"{m // 60:02d}{m % 60:02d}09" for m in MINUTES], "%H%M%S"),
    "six digits that lost a zero": ("time", [f"{m // 60}{m % 60:02d}09" for m in MINUTES], "%H%M%S"),
    "from and to": ("Stunde", [f"{n % 24:02d}:00-{n % 24 + 1:02d}:00" for n in range(400)], "range"),
    "hours with h": ("Faixa Horária", [f"{n % 24:02d}h-{n % 24 + 1:02d}h" for n in range(400)], "range"),
    "quarters": ("Quarter Hour", [f"{n % 24:02d}00-{n % 24:02d}15" for n in range(400)], "range"),
    "twelve hours": ("time", [f"{m // 60 % 12 + 1}:{m % 60:02d} {'AP'[m // 720 % 2]}M" for m in MINUTES], "%I:%M %p"),
    "twelve hours and seconds": (
        "time",
        [f"{m // 60 % 12 + 1}:{m % 60:02d}:07 {'AP'[m // 720 % 2]}M" for m in MINUTES],
        "%I:%M:%S %p",
    ),
    "twenty-four hours, with PM": (
        "time",
        [f"{m // 60:02d}:{m % 60:02d}:07 {'AP'[m // 720 % 2]}M" for m in MINUTES],
        "%H:%M:%S %p",
    ),
    "seconds since 1970": ("ts", [str(1_741_000_000 + 60 * minute) for minute in MINUTES], "epoch"),
    "milliseconds": ("ts", [str(1_741_000_000_123 + 60_000 * minute) for minute in MINUTES], "epoch"),
    "fourteen digits": (
        "time",
        [f"202503{1 + n % 28:02d}{n % 24:02d}{n % 60:02d}00" for n in range(400)],
        "%Y%m%d%H%M%S",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("odd", ["", "26:99", "NULL", "99999999", "x"])
def test_a_time_is_known_by_its_values_whatever_one_row_says(name: str, odd: str) -> None:
    column, values, written = WRITTEN[name]
    sample = Sample(column, "text", [*values[:40], odd, *values[40:]])
    assert sample.time.share > 0.9
    assert sample.time.format == written
    assert not sample.time.doubt


def test_bands_of_a_clock_of_twelve_hours_are_no_mornings() -> None:
    bands = [f"{n % 11 + 1}:00-{n % 11 + 2}:00 {'AP'[n % 2]}M" for n in range(400)]
    assert Sample("hour_band", "text", bands).time.share < 0.5


def test_midnights_are_days_and_one_time_among_them_decides_nothing() -> None:
    days = [f"2025-03-{1 + n % 28:02d} 00:00:00.0" for n in range(400)]
    assert Sample("at", "text", [*days, "2025-03-03 07:31:00.0"]).is_midnight
    assert not Sample("at", "text", [day.replace(" 00", f" {n % 24:02d}") for n, day in enumerate(days)]).is_midnight


def test_numbers_of_excel_are_moments_only_by_their_name_or_their_parts() -> None:
    whole, parts = [str(45700 + n % 30) for n in range(400)], [f"{45700 + n % 30},{n % 97:02d}" for n in range(400)]
    assert Sample("Date", "text", whole).is_serial
    assert Sample("Tap On", "text", parts).is_serial
    assert not Sample("From", "text", whole).is_serial, "it may be a number of a stop"


def test_numbers_that_could_be_anything_are_doubtful() -> None:
    assert Sample("time", "integer", [str(n % 96) for n in range(400)]).time.doubt, "quarters of an hour?"
    assert "1 to 24" in Sample("hour", "integer", [str(1 + n % 24) for n in range(400)]).time.doubt
    assert Sample("time", "integer", [str(200 * n) for n in range(400)]).time.share == 0, (
        "seconds of the day are not read"
    )


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([f"{1 + n % 28} April 2025" for n in range(300)], "%d %B %Y"),
        ([f"4/{1 + n % 28}/25 {1 + n % 12}:05 PM" for n in range(300)], "%m/%d/%y %I:%M %p"),
    ],
)
def test_days_are_known_by_their_values(values: list[str], written: str) -> None:
    assert (Sample("date", "text", values).date.format, Sample("date", "text", values).date.share) == (written, 1)


def test_day_and_month_that_could_be_turned_are_two_formats() -> None:
    days = [f"{1 + n % 9:02d}/{1 + n % 9:02d}/2025" for n in range(300)]
    assert {(reading := Sample("date", "text", days).date).format, reading.other} == {"%d/%m/%Y", "%m/%d/%Y"}
    assert Sample("date", "text", [f"{1 + n % 28:02d}/03/2025" for n in range(300)]).date.other is None


@pytest.mark.parametrize(("step", "grain"), [(60, 60), (30, 30), (15, 15), (7, 1)])
def test_the_steps_of_times_are_seen(step: int, grain: int) -> None:
    values = [f"{m // 60:02d}:{m % 60:02d}" for m in (step * n % 1440 for n in range(500))]
    assert Sample("time", "text", [*values, "07:31"]).grain == grain


def test_what_its_rows_have_in_common_stays_in_their_order() -> None:
    sample = Sample("time", "text", ["2025-03-03 07:31", "", "2025-03-04 08:00"])
    assert sample.moments == [("2025-03-03", 451), ("", None), ("2025-03-04", 480)]
