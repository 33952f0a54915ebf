"""A schedule: what each of many releases may spend, kept by the ledger to the last of them."""

from __future__ import annotations

import json
import shutil
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tapveil
from tapveil.base.errors import BudgetError, UsageError
from tapveil.cli.commands.ledger import budget_of
from tapveil.internal.accuracy import Need, counts_of_folder, counts_of_trips, share_within, sources_of_folder
from tapveil.internal.confidential import NOTICE
from tapveil.internal.forecast import BOUNDED, EVERY_WEEK, MEASURED, SOURCES
from tapveil.internal.schedule import Schedule
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Entry, Scheduled
from tapveil.ledger.refusals import Code, of_release
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import mean_error
from tapveil.privacy.loss import Loss
from tests.support.commands import run
from tests.unit.ledger.test_accounts import START

TOTAL = Loss(Fraction(8), Fraction(1, 10**6))
MONDAY = date(2025, 3, 3)
PLAN = """
[release]
name = "weekly"
title = "Weekly"
partition = []

[source]
path = "trips.csv"
first_day = {first}
last_day = {last}

[source.columns]
date = "day"
card = "card"
tap_on_location = "stop"

[privacy]
unit = "card"
neighbours = "add-remove"
mechanism = "{mechanism}"
epsilon = {epsilon}  # of a week
delta = {delta}
trips_per_card = 3
without_card = "refuse"

[[table]]
name = "stops"
columns = ["tap_on_location"]
"""


def plan_of(week: int = 0, mechanism: str = "gaussian", epsilon: str = "1", delta: str = "1e-8") -> str:
    first = MONDAY + timedelta(weeks=week)
    return PLAN.format(first=first, last=first + timedelta(days=6), mechanism=mechanism, epsilon=epsilon, delta=delta)


def schedule(mechanism: str = "gaussian", number: int = 52) -> Schedule:
    return Schedule(Plan.parse(plan_of(mechanism=mechanism)), "week", number, TOTAL)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_each_release_may_spend_what_fits_as_often_and_no_more(mechanism: str) -> None:
    planned = schedule(mechanism)
    assert planned.epsilon > 2 * TOTAL.epsilon / 52  # composition, not division
    assert planned.account(planned.epsilon).fits
    assert not planned.fits(planned.epsilon * Fraction(103, 100))


def test_what_a_release_may_spend_does_not_depend_on_where_the_search_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    found = schedule().epsilon
    for guess in ("1/100", "8"):
        monkeypatch.setattr(Schedule, "_guess", Fraction(guess))
        assert schedule().epsilon == found


def test_fewer_releases_may_spend_more_each() -> None:
    epsilons = [schedule(number=number).epsilon for number in (52, 13, 1)]
    assert epsilons == sorted(epsilons)
    assert epsilons[-1] == TOTAL.epsilon


def test_the_least_epsilon_for_an_accuracy_gives_it_and_less_does_not() -> None:
    planned, need = schedule(), Need.read("stops within 10 % where at least 200")
    least = planned.least(need)
    assert least is not None
    for epsilon, met in ((least, True), (least * Fraction(95, 100), False)):
        mechanism = planned.with_epsilon(epsilon).guarantee.mechanisms["stops"]
        assert need.is_met(mechanism) is met
        assert (mechanism.error_bound(Fraction(1, 20)) <= 20) is met


UNREADABLE = ["stops", *(f"stops within {each}" for each in ("ten % where at least 2", "10 % where at least 0"))]
TOO_MANY = [f"stops within {each}" for each in ("1.1.1 % where at least 2", f"10 % where at least {10**23}")]


@pytest.mark.parametrize("text", UNREADABLE + TOO_MANY)
def test_a_need_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--need"):
        Need.read(text)


@pytest.mark.parametrize("number", [0, 5001, 10**9])
def test_a_schedule_has_as_many_releases_as_a_ledger_can_record(number: int) -> None:
    with pytest.raises(UsageError, match=r"from 1 to 5,000"):
        schedule(number=number)


TIMED = """
[[table]]
name = "stop_time"
columns = ["tap_on_time", "tap_on_location"]
"""


def timed(plan: str) -> str:
    return plan.replace('tap_on_location = "stop"', 'tap_on_location = "stop"\ntap_on_time = "time"') + TIMED


def test_hours_have_the_noise_of_quarters_on_four_times_the_trips() -> None:
    quarters = Schedule(Plan.parse(timed(plan_of())), "week", 52, TOTAL)
    hours = quarters.in_hours
    assert hours is not None
    one, other = (each.with_epsilon(Fraction(1)).guarantee.mechanisms for each in (quarters, hours))
    assert one == other
    assert [each.a_week("stop_time", 200, quarters.bins("stop_time")) for each in (quarters, hours)] == [200, 50]
    assert [each.a_week("stops", 200, quarters.bins("stops")) for each in (quarters, hours)] == [200, 200]
    assert hours.in_hours is None


def test_a_longer_release_has_more_trips_in_a_cell_unless_cells_are_of_one_day() -> None:
    for partition, expected in (("[]", [200, 100]), ('["date"]', [1400, 1400])):
        plan = Plan.parse(plan_of().replace("partition = []", f"partition = {partition}"))
        week = Schedule(plan, "week", 52, TOTAL)
        assert [each.a_week("stops", 200, None) for each in (week, week.instead("two-weeks"))] == expected


@pytest.fixture
def quarter_hours(tmp_path: Path) -> Path:
    """A plan with times, its trips, and a folder that was published from them with hardly any noise."""
    rows = [
        f"{MONDAY + timedelta(days=card % 7)},c{card},s{card % 2},{8 + card % 3:02}:{15 * (card % 4):02}"
        for card in range(2400)
    ]
    (tmp_path / "trips.csv").write_text("day,card,stop,time\n" + "\n".join(rows) + "\n", encoding="utf-8")
    file = tmp_path / "plan.toml"
    file.write_text(timed(plan_of(epsilon="90", delta="1e-4")), encoding="utf-8")
    tapveil.release(tapveil.Plan.read(file), tmp_path / "published", in_ledger=False)
    return file


def test_counts_of_a_folder_are_joined_to_hours_and_to_the_length_of_a_release(quarter_hours: Path) -> None:
    folder = quarter_hours.parent / "published"
    week = Schedule(Plan.read(quarter_hours), "week", 52, TOTAL)
    hours = week.in_hours
    assert hours is not None
    for schedule, cells, each in ((week, 12, 200), (hours, 6, 400), (week.instead("two-weeks"), 12, 400)):
        published = counts_of_folder(folder, schedule.plan, schedule.days)
        exact = counts_of_trips(schedule.plan, schedule.days)
        assert len(published["stop_time"]) == len(exact["stop_time"]) == cells
        assert set(exact["stop_time"]) == {each}
        assert abs(published["stop_time"] - each).max() <= 10
        assert abs(published["stops"] - exact["stops"]).max() <= 10


def test_a_plan_is_shown_at_the_counts_of_a_folder_or_of_the_trips(quarter_hours: Path) -> None:
    asked = ("ledger", "plan", quarter_hours, "--epsilon", "8", "--delta", "1e-6", "--for", "52")
    free, looked = (run(*asked, *option) for option in (("--from", quarter_hours.parent / "published"), ("--look",)))
    for done in (free, looked):
        assert done.returncode == 0, done.stderr
        [quarters, hours] = [
            line.split() for line in done.stdout.splitlines() if line.startswith("week") and "stop_time" in line
        ]
        # The error bound, about 23, is more than 10 % of 200 and less than 10 % of 400.
        assert float(quarters[-1].rstrip("%")) < 95
        assert float(hours[-1].rstrip("%")) > 99
    assert NOTICE in looked.stdout
    assert NOTICE not in free.stdout
    assert "smaller cells are missing" in free.stdout  # it was published with thresholds


def test_a_need_is_met_at_the_counts_of_a_folder_or_of_the_trips_for_less(quarter_hours: Path) -> None:
    asked = ("ledger", "plan", quarter_hours, "--epsilon", "8", "--delta", "1e-6", "--for", "4")
    need = ("--need", "stop_time within 10 % where at least 100")
    shown = [
        run(*asked, *need, *option).stdout
        for option in ((), ("--from", quarter_hours.parent / "published"), ("--look",))
    ]
    alone, free, looked = (float(text.split("the least epsilon of a release is ")[1].split()[0][:-1]) for text in shown)
    assert free == pytest.approx(looked, rel=0.1)
    assert looked < 0.7 * alone  # all cells have 200, not 100
    assert [NOTICE in text for text in shown] == [False, False, True]


def test_an_epsilon_that_follows_from_counts_is_noted_in_the_plan_and_in_the_ledger(quarter_hours: Path) -> None:
    """It is published, and so are counts through it: those of the trips, or of a release that the ledger must know."""
    budget = ("--epsilon", "20", "--delta", "1e-6")
    text = quarter_hours.read_text(encoding="utf-8").replace("[privacy]", "[privacy]\nlooked_at_trips = false")
    quarter_hours.write_text(text, encoding="utf-8")
    folder = quarter_hours.parent / "published"
    assert run("ledger", "start", quarter_hours, *budget).returncode == 0
    asked = ("ledger", "plan", quarter_hours, *budget, "--for", "2", "--keep")
    need = ("--need", "stop_time within 10 % where at least 100")
    release = tapveil.open(folder).manifest.release_id
    for number, (options, looked, chosen) in enumerate(
        [
            (need, False, None),
            (("--look",), False, None),  # ε is what fits, whatever the counts are
            ((*need, "--look"), True, None),
            ((*need, "--from", folder), False, release),
        ]
    ):
        new = quarter_hours.parent / f"{number}.toml"
        done = run(*asked, *options, "-o", new)
        assert done.returncode == 0, done.stderr
        privacy = Plan.read(new).privacy
        assert (privacy.looked_at_trips, privacy.chosen_from) == (looked, chosen)
        with Ledger.open(quarter_hours.parent / "ledger.sqlite") as book:
            kept = book.entries[-1]
        assert isinstance(kept, Scheduled)
        assert kept.chosen_from == chosen
    unsaid = run(*asked, *need, "--look")
    assert unsaid.returncode == 2
    assert "nothing that is written would say so" in unsaid.stderr
    with Ledger.open(quarter_hours.parent / "ledger.sqlite") as book:
        assert book.entries[-1] == kept


WORLD = """
[places]
path = "places.csv"

[coarsen]
time_minutes = 60

[[table]]
name = "od"
columns = ["tap_on_location", "tap_off_location"]

[[table]]
name = "origin_hour"
columns = ["tap_on_time", "tap_on_location"]
"""


@pytest.fixture(scope="module")
def known_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan of a known world in which noise is about as large as most cells, its trips, and its folder."""
    folder, draw = tmp_path_factory.mktemp("known-world"), np.random.default_rng(3)
    stops, trips = [f"s{number:02}" for number in range(40)], 30_000
    busy = 1 / np.arange(1, len(stops) + 1)
    ends = draw.choice(len(stops), (trips, 2), p=busy / busy.sum())
    hours, days = draw.triangular(5, 8, 23, trips), draw.integers(7, size=trips)
    rows = (
        f"{MONDAY + timedelta(days=int(day))},c{card},{stops[on]},{stops[off]},{int(hour):02}:00"
        for card, day, hour, (on, off) in zip(draw.integers(trips, size=trips), days, hours, ends, strict=True)
    )
    (folder / "trips.csv").write_text("day,card,stop,to,time\n" + "\n".join(rows) + "\n", encoding="utf-8")
    places = (f"{stop},*,{number // 8},{number % 8}" for number, stop in enumerate(stops))
    (folder / "places.csv").write_text("name,mode,latitude,longitude\n" + "\n".join(places) + "\n", encoding="utf-8")
    columns = 'tap_on_location = "stop"\ntap_off_location = "to"\ntap_on_time = "time"'
    text = plan_of(mechanism="world", epsilon="0.5").replace('tap_on_location = "stop"', columns) + WORLD
    file = folder / "plan.toml"
    file.write_text(text, encoding="utf-8")
    tapveil.release(tapveil.Plan.read(file), folder / "published", in_ledger=False)
    return file


@pytest.mark.parametrize(("has_estimates", "near"), [(True, 0.05), (False, 0.1)])
def test_a_known_world_predicts_from_its_folder_nearly_what_the_trips_do(
    has_estimates: bool, near: float, known_world: Path, tmp_path: Path
) -> None:
    """Measurements as they are would predict something else: noise is large in small cells, and no trip."""
    folder = known_world.parent / "published"
    if not has_estimates:
        folder = shutil.copytree(folder, tmp_path / "published")
        shutil.rmtree(folder / "estimates")
    plan = Plan.read(known_world)
    assert set(sources_of_folder(folder, plan).values()) == {"estimates" if has_estimates else "measurements"}
    noise, measured = plan.guarantee.mechanisms["od"], np.asarray(tapveil.open(folder).table("od").to_arrow()["count"])
    for days, is_far in ((7, False), (91, True)):
        free, looked = (
            share_within(noise, counts["od"])
            for counts in (counts_of_folder(folder, plan, days), counts_of_trips(plan, days))
        )
        assert free == pytest.approx(looked, abs=near)
        assert is_far == (share_within(noise, measured * days // 7) > looked + 0.05)


def test_what_the_counts_of_a_known_world_are_is_said_and_that_estimates_are_nearer(known_world: Path) -> None:
    asked = ("ledger", "plan", known_world, "--epsilon", "8", "--delta", "1e-6", "--for", "4", "--every", "quarter")
    shown = run(*asked, "--from", known_world.parent / "published").stdout
    assert f"Counts of stops, od, origin_hour: {SOURCES['estimates']}." in shown
    assert MEASURED in shown
    assert BOUNDED in shown
    found = json.loads(run(*asked, "--from", known_world.parent / "published", "--json").stdout)
    assert found["counts"] == dict.fromkeys(("stops", "od", "origin_hour"), "estimates")
    assert found["notes"] == [MEASURED, BOUNDED, EVERY_WEEK]
    assert f"Each release may spend epsilon = {found['epsilon']}" in shown
    for row in found["tables"]:
        assert row["within_10_from"] == 10 * row["error_95"]
        assert f"{row['share_within_10']:.1%}" in shown
    needed = json.loads(run(*asked, "--need", "od within 10 % where at least 500", "--json").stdout)
    assert needed["need"] == {"table": "od", "within": 0.1, "least": 500}
    assert needed["notes"] == [MEASURED, BOUNDED]
    assert needed["fits"] is True


def test_check_states_of_people_what_the_folder_will(known_world: Path) -> None:
    checked = json.loads(run("check", known_world, "--plan-only", "--json").stdout)["people"]
    stated = tapveil.open(known_world.parent / "published").privacy["people"]
    assert checked == [{key: row[key] for key in row if key != "apart"} for row in stated]
    shown = run("check", known_world, "--plan-only").stdout
    assert all(f"{row['believed'][0]} | {row['believed'][1]}" in shown for row in checked)


STOPS, CARDS_AT_A_STOP = 20, 110
"""A small city: every card makes one trip a week; all stops are large enough to be published."""


def of_week(week: int, plan: str, folder: Path) -> Path:
    """A plan for another week of the city, and its trips."""
    first, last = (MONDAY + timedelta(weeks=week, days=days) for days in (0, 6))
    trips = [f"{first},c{card},s{card % STOPS}" for card in range(STOPS * CARDS_AT_A_STOP)]
    (folder / f"week-{week}.csv").write_text("day,card,stop\n" + "\n".join(trips) + "\n", encoding="utf-8")
    file = folder / f"week-{week}.toml"
    text = plan.replace("2025-03-03", str(first)).replace("2025-03-09", str(last))
    file.write_text(text.replace("trips.csv", f"week-{week}.csv"), encoding="utf-8")
    return file


def test_a_year_of_releases_is_made_as_accurate_as_predicted_and_the_next_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(plan_of(), encoding="utf-8")
    budget = ["--epsilon", "8", "--delta", "1e-6"]
    assert run("ledger", "start", file, *budget).returncode == 0
    done = run("ledger", "plan", file, *budget, "--for", "52", "-o", tmp_path / "new.toml", "--keep")
    assert done.returncode == 0, done.stderr
    assert "Each release may spend" in done.stdout
    chosen = (tmp_path / "new.toml").read_text(encoding="utf-8")
    assert "# of a week" in chosen
    off = []
    for week in range(52):
        if week == 26:  # more than its share would leave no room for the others
            delta = str(float(Plan.parse(chosen).guarantee.loss.delta))
            greedy = of_week(week, plan_of(epsilon="6", delta=delta), tmp_path)
            with pytest.raises(BudgetError, match="the schedule"):
                tapveil.release(tapveil.Plan.read(greedy), tmp_path / "greedy")
        released = tapveil.release(tapveil.Plan.read(of_week(week, chosen, tmp_path)), tmp_path / f"week-{week}")
        off.append(np.asarray(released.table("stops").to_arrow().column("count")) - CARDS_AT_A_STOP)
    with pytest.raises(BudgetError, match="the total would be epsilon 8"):
        tapveil.release(tapveil.Plan.read(of_week(52, chosen, tmp_path)), tmp_path / "week-52")
    with Ledger.open(tmp_path / "ledger.sqlite") as book:
        kinds = [entry.kind for entry in book.entries]
    assert kinds.count("release") == kinds.count("published") == 52
    errors = np.concatenate(off)
    assert len(errors) == 52 * STOPS  # 1,040 draws: their mean is within 2.4 % of what is expected, mostly
    mechanism = Plan.parse(chosen).guarantee.mechanisms["stops"]
    assert np.abs(errors).mean() == pytest.approx(mean_error(mechanism), rel=0.1)
    assert (np.abs(errors) <= mechanism.error_bound(Fraction(1, 20))).mean() == pytest.approx(0.95, abs=0.04)


def test_a_schedule_that_does_not_fit_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(plan_of(), encoding="utf-8")
    assert run("ledger", "start", file, "--epsilon", "4", "--delta", "1e-6").returncode == 0
    done = run("ledger", "plan", file, "--epsilon", "8", "--delta", "1e-6", "--for", "10", "--keep")
    assert done.returncode == 5
    assert "would not all fit" in done.stdout + done.stderr
    plan = Plan.read(file)
    assert budget_of(plan, "8", "1e-6").loss == TOTAL


def test_when_all_releases_of_a_schedule_are_made_one_more_is_refused_even_where_there_is_room() -> None:
    entry, release = schedule(number=2).to_keep(Fraction(1))
    made = [release.model_copy(update={"id": f"{number:032x}"}) for number in range(3)]
    held: list[Entry] = [START, budget_of(schedule().plan, "50", "1e-3"), entry]
    codes = [of_release([*held, *made[:number]], made[number], again=True) for number in range(3)]
    assert [each and each.code for each in codes] == [None, None, Code.SCHEDULE_COMPLETE]
    assert of_release([*held, *made[:2], entry], made[2], again=True) is None  # a new schedule begins anew
