"""Week against week, by place: what is noise, what is chance between days, and how many comparisons were made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapveil
from tapveil.base.errors import ReaderError
from tapveil.published.frame import Frame
from tests.support.weeks import week_folder

FIRST_WEEK, SECOND_WEEK = ("2025-03-03", "2025-03-09"), ("2025-03-10", "2025-03-16")
STEADY = [1000, 1050, 1100, 1050, 1100, 600, 400]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Frame:
    """Two weeks: one place grows by a fifth, some stay as they are but for some trips a day, one is hidden at times."""
    random = np.random.default_rng(1)
    truth = {f"P{n}": (np.array(STEADY * 2) + random.integers(-25, 26, 14)).tolist() for n in range(20)}
    truth["Grown"] = [*STEADY, *(round(1.2 * each) for each in STEADY)]
    truth["Halt"] = [40] * 13 + [0]
    folder = week_folder(tmp_path_factory.mktemp("change") / "weeks", truth, seed=3)
    return tapveil.open(folder).table("on_location").where(mode="train")


def by_place(frame: Frame) -> dict[str, dict[str, Any]]:
    return {row["tap_on_location"]: row for row in frame.rows()}


def test_week_against_week_by_place(places: Frame) -> None:
    changes = places.between(*SECOND_WEEK).minus(places.between(*FIRST_WEEK))
    assert changes.columns == ["tap_on_location", "mean", "noise_low", "noise_high", "low", "high", "real"]
    found = by_place(changes)
    assert found["Grown"]["real"] is True
    assert abs(float(found["Grown"]["mean"]) - 0.2 * sum(STEADY) / 7) < 15
    steady = [row for place, row in found.items() if place.startswith("P")]
    assert sum(row["real"] is True for row in steady) <= 3
    assert all(row["low"] <= row["noise_low"] <= row["mean"] <= row["noise_high"] <= row["high"] for row in steady)
    halt = found["Halt"]
    assert np.isnan(float(halt["mean"]))
    assert halt["real"] is None
    assert float(halt["noise_low"]) <= -40 / 7 <= float(halt["noise_high"]), "what is hidden is in the interval"


def test_several_comparisons_are_pointed_out_and_adjusted_by_choice(places: Frame) -> None:
    changes = places.between(*SECOND_WEEK).minus(places.between(*FIRST_WEEK))
    assert changes.comparisons == 22
    by_chance = "22 comparisons: by chance alone, at most 1.1 of them look real on average; adjusted() allows for that"
    assert by_chance in repr(changes)
    wider = by_place(changes.adjusted())
    for place, row in by_place(changes).items():
        assert float(wider[place]["noise_high"]) >= float(row["noise_high"])
        if row["real"] is not None:
            assert float(wider[place]["low"]) < float(row["low"])
    assert wider["Grown"]["real"] is True
    assert not any(row["real"] for place, row in wider.items() if place.startswith("P"))
    chosen = changes.where(tap_on_location="Grown")
    assert isinstance(chosen, tapveil.Changes)
    with pytest.raises(ReaderError, match="adjust them before choosing"):
        chosen.adjusted()
    together = "these intervals hold for all of 22 comparisons together"
    assert repr(changes.adjusted()).endswith(together)
    assert repr(changes.adjusted().where(tap_on_location=["Grown", "Halt"])).endswith(together)


def test_means_sums_and_days_say_the_same_of_a_week(places: Frame) -> None:
    first, second = (places.between(*week) for week in (FIRST_WEEK, SECOND_WEEK))
    direct, means = second.minus(first), second.mean(over="date").minus(first.mean(over="date"))
    for ours, theirs in zip(direct.rows(), means.rows(), strict=True):
        assert str(ours) == str(theirs)
    sums = by_place(second.sum(by="tap_on_location").minus(first.sum(by="tap_on_location")))
    for row in direct.rows():
        other = sums[row["tap_on_location"]]
        if row["real"] is not None:
            assert other["count"] == round(7 * row["mean"])
            assert other["low"] == pytest.approx(7 * row["low"])
            assert other["real"] == row["real"]
    means_of_sums = places.sum(by=["tap_on_location", "date"]).mean()
    assert means_of_sums.where(tap_on_location="Grown").rows()[0]["days"] == len(places.days)


def test_a_day_is_compared_by_how_days_differ(places: Frame) -> None:
    monday, later = places.where(date="2025-03-03"), places.where(date="2025-03-10")
    found = by_place(later.minus(monday))
    ours, theirs = (each.cell(tap_on_location="Grown").count for each in (later, monday))
    assert ours is not None
    assert theirs is not None
    assert found["Grown"]["count"] == ours - theirs
    row = found["P1"]
    assert float(row["low"]) < float(row["noise_low"]) < float(row["noise_high"]) < float(row["high"])


def test_kinds_of_day_are_chosen_by_their_days(places: Frame) -> None:
    weekdays = [day for day in places.days if np.datetime64(day).astype(object).weekday() < 5]
    work, rest = places.where(date=weekdays), places.where(date=sorted(set(places.days) - set(weekdays)))
    row = by_place(rest.mean().minus(work.mean()))["P0"]
    assert row["real"] is True
    assert float(row["mean"]) == pytest.approx(-560, abs=40)


def test_a_share_of_the_total_and_a_trend(places: Frame, tmp_path: Path) -> None:
    totals = places.sum(by="date")
    found = by_place(places.share(of=totals))
    assert float(found["P1"]["noise_low"]) < 1 / 21 < float(found["P1"]["noise_high"]) + 0.005
    assert by_place(places.trend())["Grown"]["real"] is True
    with pytest.raises(ReaderError, match="the same days"):
        places.between(*FIRST_WEEK).share(of=totals)
    with pytest.raises(ReaderError, match="a trend needs at least three days"):
        places.between("2025-03-03", "2025-03-04").trend()
    fewer = places.between("2025-03-10", "2025-03-15").sum(by="tap_on_location")
    week = places.between(*FIRST_WEEK).sum(by="tap_on_location")
    with pytest.raises(ReaderError, match="sums over 7 and 6 days: compare means"):
        week.minus(fewer)


def test_what_cannot_be_compared_is_said_so(places: Frame) -> None:
    with pytest.raises(ReaderError, match="there is no day from 2024-01-01 to 2024-02-01"):
        places.between("2024-01-01", "2024-02-01")
    april, may = (
        Frame({"month": np.array([m]), "count": np.array([1])}, ("month",), known={"month": frozenset({m})})
        for m in ("2025-04", "2025-05")
    )
    with pytest.raises(ReaderError, match=r"`month` has other labels .* choose one with where\(\)"):
        may.minus(april)
    without = Frame({"count": np.array([1])}, ())
    with pytest.raises(ReaderError, match="means, trends and shares are over days"):
        without.mean()


def test_shares_of_tables_without_days_have_the_interval_of_the_noise() -> None:
    release = tapveil.open(Path(__file__).parents[2] / "golden" / "3e" / "calendars")
    march = {"mode": "bus", "month": "2025-03"}
    part, whole = (release.table(name).where(**march) for name in ("on", "total"))
    totals = {row["day_type"]: row for row in whole.rows()}
    found = part.share(of=whole)
    assert len(found) == len(part)
    counts = {(row["day_type"], row["tap_on_time"], row["tap_on_location"]): row for row in part.rows()}
    for row in found.rows():
        own, of = counts[row["day_type"], row["tap_on_time"], row["tap_on_location"]], totals[row["day_type"]]
        assert row["share"] == pytest.approx(own["count"] / of["count"])
        assert row["noise_high"] - row["share"] == pytest.approx(row["share"] - row["noise_low"])
        assert own["low"] / of["high"] <= row["noise_low"] + 0.001, "as wide as the noise of the part, at least"
        assert row["noise_high"] <= own["high"] / of["low"] + 0.005
        assert np.isnan(row["low"]), "nobody knows how days differ"
    with pytest.raises(ReaderError, match="a share is of the same days"):
        part.share(of=release.totals.where(mode="bus", month="2025-02"))
    with pytest.raises(ReaderError, match="nobody knows how much these numbers leave out"):
        part.sum(by="day_type").share(of=whole)
