"""The closing words of a release: one screen, four things, and no number that is not published."""

from __future__ import annotations

import os
import random
import re
from itertools import product
from pathlib import Path

import pytest

from tapveil.cli.summary import LEAST_TABLES, LINES, WIDTH, _Contents, _table_lines, closing_lines
from tapveil.demo.city import make_city
from tapveil.ledger.words import NAMES_NO_DAYS
from tapveil.plan.model import Plan
from tapveil.published.folder import Folder
from tapveil.published.frame import Estimate
from tapveil.veil.release import release
from tests.conftest import WITH_TOTAL, declare, opal_plan, start_ledger, write_csv
from tests.support.commands import run

PLAN = Path("plan.toml")


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("closing") / "city"
    make_city(folder, trips=30_000, file_format="parquet")
    return folder


@pytest.fixture
def here(city: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In the folder of the city, as a holder would be."""
    monkeypatch.chdir(city)
    return city


@pytest.fixture
def published(here: Path) -> tuple[Plan, Folder]:
    plan = Plan.read(PLAN)
    if not Path("published").exists():
        start_ledger(plan, "16", "1.5e-6")
        release(plan, "published")
    return plan, Folder(Path("published"))


def test_it_fits_a_screen(published: tuple[Plan, Folder]) -> None:
    lines = list(closing_lines(*published, PLAN))
    assert len(lines) <= LINES == 24 - 1, "and a line is left for the prompt"
    assert max(map(len, lines)) <= WIDTH


def test_it_says_what_was_published_what_it_cost_what_is_left_and_what_is_next(published: tuple[Plan, Folder]) -> None:
    plan, folder = published
    text = "\n".join(closing_lines(plan, folder, PLAN))
    flat = " ".join(text.split())
    cells = sum(len(folder.sheet(name)) for name in folder.sheets)
    assert f"Published: published 6 tables, {cells:,} cells, " in flat
    assert re.search(r"\d+ days \(2025-03-0\d to 2025-07-1\d\), [234] modes \(.*\), \d+ places\. table", flat)
    assert "in total" not in flat, "nothing is said of what is not published"
    for name in folder.sheets:
        counted = sum(folder.sheet(name).column("count").to_pylist())
        assert re.search(rf"{name} +{len(folder.sheet(name)):,} +{counted:,}\n", text)
    assert "Privacy cost: epsilon = 8, delta = 7.5e-7, for any one trip (exact accounting: delta 1.88e-7)." in flat
    assert "Ledger ledger.sqlite: budget epsilon = 16, delta = 1.5e-6 for `trips`; remaining: epsilon 8.0" in flat
    assert "Room for 1 more release like this one; releases of other days fit as well." in flat
    assert "open published/explorer.html in a browser" in text
    assert "tapveil verify published\n" in text
    assert "dcat.jsonld" in text
    assert "ledger.sqlite, and a backup on another disk" in text


@pytest.mark.parametrize(
    ("epsilon", "delta", "room"),
    [
        ("14.4", "1.5e-6", "For these days the budget is used up"),
        ("16", "1.5e-6", "Room for 1 more release like this"),
        ("22", "1.5e-6", "Room for 2 more releases like this"),
        ("1000", "1.5e-6", "Room for 7 more releases like this"),  # delta is spent, too
        ("1000", "1e-3", "Room for 20 or more releases like this"),
    ],
)
def test_room_is_what_the_ledger_would_grant(
    published: tuple[Plan, Folder], epsilon: str, delta: str, room: str
) -> None:
    plan, folder = published
    declare(plan, epsilon, delta)
    try:
        assert room in " ".join(" ".join(closing_lines(plan, folder, PLAN)).split())
    finally:
        declare(plan, "16", "1.5e-6")


def test_without_a_ledger_it_says_so(published: tuple[Plan, Folder]) -> None:
    text = "\n".join(closing_lines(*published, PLAN, in_ledger=False))
    assert "Not recorded in a ledger" in text
    assert "ledger.sqlite" not in text


def with_totals(city: Path, out: Path, **changes: str) -> tuple[str, Folder]:
    """The closing words of a release with totals, and the release."""
    text = (city / "plan.toml").read_text()
    for old, new in {**WITH_TOTAL, **changes}.items():
        assert old in text
        text = text.replace(old, new)
    plan = Plan.parse(text, base=city)
    published = release(plan, out, in_ledger=False)
    return " ".join(" ".join(closing_lines(plan, published, PLAN, in_ledger=False)).split()), published


@pytest.mark.parametrize("partition", ['["mode", "date"]', "[]"])
def test_the_number_of_trips_is_the_sum_of_the_totals_with_its_limits(
    here: Path, partition: str, tmp_path: Path
) -> None:
    """Noise that is added up goes less far than its limits would: the sum has an interval of its own."""
    said, folder = with_totals(here, tmp_path / "out", **{'partition = ["mode", "date"]': f"partition = {partition}"})
    totals = folder.sheet("total").to_pylist()
    count, low, high = (sum(row[name] for row in totals) for name in ("count", "low", "high"))
    found = re.search(r"about ([\d,]+) trips in total \(between ([\d,]+) and ([\d,]+)\)\.", said)
    assert found
    about, least, most = (int(number.replace(",", "")) for number in found.groups())
    assert about == count
    assert low - 1 <= least <= about <= most <= high
    assert len(totals) == 1 or high - low > 2 * (most - least)


def test_cards_of_several_parts_are_not_added_up(here: Path, tmp_path: Path) -> None:
    cards = 'unit = "card-day"\ntrips_per_day = 2\nwithout_card = "refuse"\n#'
    said, folder = with_totals(here, tmp_path / "out", **{'unit = "trip" ': cards})
    assert len(folder.sheet("total"))
    assert "in total" not in said


def test_a_release_of_many_tables_fits_a_screen(small: Path) -> None:
    plan_file, share = small / "plan.toml", "epsilon = 1\ndelta = 1e-7"
    sides = product(("tap_on_time", "tap_on_location"), ("tap_off_time", "tap_off_location"))
    more = [f'[[table]]\nname = "{on}_{off}"\ncolumns = ["{on}", "{off}"]\n{share}\n' for on, off in sides]
    plan_file.write_text("\n".join([plan_file.read_text(), *more]))
    plan = Plan.read(plan_file)
    start_ledger(plan, "32", "1e-5")
    lines = list(closing_lines(plan, release(plan, small / "out"), plan_file))
    assert len(lines) == LINES
    assert any(re.match(r"\d+ others ", line) for line in lines)


def test_many_tables_and_long_names_fit_a_screen(published: tuple[Plan, Folder]) -> None:
    tables = {f"{'long_' * 20}{number}": (1000 + number, 10**7) for number in range(40)}
    contents = _Contents(tables, [], [], 0, None)
    assert len(list(_table_lines(published[0], contents, 0))) == 1 + LEAST_TABLES
    lines = list(_table_lines(published[0], contents, 8))
    assert len(lines) == 1 + 8
    assert max(map(len, lines)) <= WIDTH
    assert re.fullmatch(r"33 others +33,759", lines[-1]), "the tables count the same trips: they are not added up"


def test_totals_are_never_among_the_others(published: tuple[Plan, Folder]) -> None:
    tables = {f"table_{number}": (10, 500) for number in range(9)} | {"total": (4, 20_000)}
    unsaid, said = _Contents(tables, [], [], 0, None), _Contents(tables, [], [], 0, Estimate(20_000, 19_990, 20_010))
    assert re.fullmatch(r"total +4 +20,000", list(_table_lines(published[0], unsaid, 5))[1])
    assert not any("total" in line for line in _table_lines(published[0], said, 5))
    alone = _Contents({"total": (4, 20_000)}, [], [], 0, said.total)
    assert list(_table_lines(published[0], alone, 5)) == [], "no heading without a row"


def test_it_is_the_same_when_the_trips_are_gone_and_when_one_of_them_was_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it follows from the folder: a trip that leaves no trace there leaves none here."""
    usual = ("1", "2016-08-08", "train", "08:00", "A", "08:20", "B")
    texts = []
    for alone in ("C", "D"):  # one trip, from somewhere else
        folder = tmp_path / alone
        write_csv(folder / "trips.csv", [usual] * 200 + [("2", "2016-08-08", "train", "08:00", alone, "08:20", "B")])
        opal_plan(folder)
        monkeypatch.chdir(folder)
        plan = Plan.read(PLAN)
        with monkeypatch.context() as patched:
            patched.setattr(os, "urandom", random.Random(7).randbytes)
            published = release(plan, "published", in_ledger=False)
        (folder / "trips.csv").unlink()
        texts.append("\n".join(closing_lines(plan, published, PLAN, in_ledger=False)))
    assert texts[0] == texts[1]
    assert "6 tables" in texts[0]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    write_csv(tmp_path / "trips.csv", [("1", "2016-08-08", "train", "08:00", "A", "08:20", "B")] * 90)
    opal_plan(tmp_path)
    return tmp_path


def test_commands_are_quiet_when_asked(small: Path) -> None:
    released = run("release", "plan.toml", "-o", "out", "--no-ledger", "-q", cwd=small)
    assert (released.returncode, released.stdout, released.stderr) == (0, "", "")
    verified = run("verify", "out", "--quiet", cwd=small)
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")


def test_check_ends_with_what_it_comes_to(small: Path) -> None:
    said = run("check", "plan.toml", "-q", cwd=small)
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.splitlines()[-6:] == [
        "Summary",
        "A release would spend epsilon = 8, delta = 7.5e-7, for any one trip; no table is nearly empty.",
        "If you change the plan because of this output, set looked_at_trips = true under [privacy].",
        NAMES_NO_DAYS,
        "Next: tapveil ledger start plan.toml --epsilon 8 --delta 7.5e-7",
        "Next: tapveil release plan.toml -o published --all-days",
    ]
