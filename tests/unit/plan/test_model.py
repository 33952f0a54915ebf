from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from tapveil import Plan, PlanError
from tapveil.base.types import read_exact
from tapveil.plan.model import preset_text
from tests.conftest import WITH_TOTAL, opal_text


def test_the_opal_preset_is_the_papers_release() -> None:
    plan = Plan.preset("opal")
    assert [(t.columns, t.epsilon, t.delta) for t in plan.table] == [
        (("tap_on_time",), 1, Fraction(1, 8_000_000)),
        (("tap_on_location",), 1, Fraction(1, 8_000_000)),
        (("tap_off_time",), 1, Fraction(1, 8_000_000)),
        (("tap_off_location",), 1, Fraction(1, 8_000_000)),
        (("tap_on_time", "tap_on_location"), 2, Fraction(1, 8_000_000)),
        (("tap_off_time", "tap_off_location"), 2, Fraction(1, 8_000_000)),
    ]
    assert plan.release.partition == ("mode", "date")
    assert plan.coarsen.time_minutes == 15
    assert (plan.guarantee.loss.epsilon, plan.guarantee.loss.delta) == (8, Fraction(3, 4_000_000))
    added = plan.guarantee.loss_for("add-remove")
    assert (added.epsilon, added.delta) == (4, Fraction(3, 4_000_000))


def test_numbers_are_kept_exactly_as_written() -> None:
    plan = Plan.parse(opal_text(**{"epsilon = 1\n": "epsilon = 0.1\n", '"1/8000000"': "1.25e-7"}))
    assert plan.table[0].epsilon == Fraction(1, 10)
    assert plan.table[0].delta == Fraction(1, 8_000_000)
    assert read_exact(0.3) == Fraction(3, 10)
    assert read_exact(Decimal("1e-30")) == Fraction(1, 10**30)


def test_a_plan_is_frozen() -> None:
    plan = Plan.preset("opal")
    with pytest.raises(Exception, match="frozen"):
        plan.table[0].epsilon = Fraction(9)


def test_the_digest_follows_the_meaning_not_the_spelling() -> None:
    text = preset_text("opal")
    same = text.replace('delta = "1/8000000"', "delta = 1.25e-7").replace("# The Opal release", "# Ours")
    other = text.replace("epsilon = 2", "epsilon = 3", 1)
    assert Plan.parse(same).digest == Plan.parse(text).digest
    assert Plan.parse(other).digest != Plan.parse(text).digest


EPSILON = preset_text("opal").partition("epsilon = 1\n")[0].count("\n") + 1
"""The line of the first of them."""
REGION = """[coarsen.wider.region.bus]
lookup = "regions.csv"
from = "place"
to = "region"
"""
LEVELS = {
    "not several bins": (
        "level = { time_minutes = 20 }",
        "[[table]] on_time: time_minutes of a level must be a multiple of the bins of 15 minutes",
    ),
    "as fine as the plan": (
        "level = { time_minutes = 15 }",
        "time_minutes of a level must be a multiple of the bins of 15",
    ),
    "between bins": (
        'level = { times = ["06:10"] }',
        "[[table]] on_time: times of a level must be start times of bins of 15 minutes",
    ),
    "no part of a day": ("level = { time_minutes = 50 }", "`time_minutes`: must divide a day of 1440 minutes"),
    "two ways": ('level = { time_minutes = 60, times = ["06:00"] }', "give `time_minutes` or `times`, not both"),
    "not in order": (
        'level = { times = ["10:00", "06:00"] }',
        "`times` must be in ascending order, without duplicates",
    ),
    "no times": ("level = { times = [] }", "[[table]] on_time: `times`: must not be empty"),
    "one and several": (
        'level = { time_minutes = 60 }\nlevels = [{ name = "a", time_minutes = 30 }]',
        "give `level` or `levels`, not both",
    ),
    "same name": ("levels = [{}, { time_minutes = 60 }]", "table name `on_time` is used twice"),
    "same level": (
        'levels = [{ name = "a", time_minutes = 60 }, { name = "b", time_minutes = 60 }]',
        "set of columns in a table `tap_on_time (60 minutes)` is used twice",
    ),
    "not whole bins of the one before": (
        'levels = [{ times = ["06:00"] }, { name = "a", time_minutes = 60 }]',
        "[[table]] on_time-a: Each bin or area of on_time-a must contain whole bins or areas of on_time.",
    ),
    "too many": (f"levels = [{', '.join(['{}'] * 9)}]", "`levels`"),
    "weight of none": ('levels = [{ weight = 0 }, { name = "a", time_minutes = 60 }]', "`weight`: must be above 0"),
    "unknown key": ("level = { time_minute = 60 }", "unknown key `time_minute`: did you mean `time_minutes`?"),
}
"""Mistakes in a level of on_time, and what is said of them."""

MISTAKES = {
    "unknown key": (
        "epsilon = 1\n",
        "epsilonn = 1\n",
        f"line {EPSILON}, [[table]] on_time: unknown key `epsilonn`: did you mean `epsilon`?",
    ),
    "zero epsilon": (
        "epsilon = 1\n",
        "epsilon = 0\n",
        f"line {EPSILON}, [[table]] on_time: `epsilon`: must be above 0",
    ),
    "negative epsilon": ("epsilon = 1\n", "epsilon = -1\n", "`epsilon`: must be above 0"),
    "tiny epsilon": ("epsilon = 1\n", "epsilon = 0.001\n", "epsilon must be at least 1/100"),
    "NaN": ("epsilon = 1\n", "epsilon = nan\n", "`epsilon`: `NaN` is not a number"),
    "infinite": ("epsilon = 1\n", "epsilon = inf\n", "`epsilon`: `Infinity` is not a number"),
    "word": ("epsilon = 1\n", 'epsilon = "much"\n', "`epsilon`: `much` is not a number"),
    "division by zero": ('delta = "1/8000000"', 'delta = "1/0"', "`delta`: `1/0` is not a number"),
    "a switch for a number": ("epsilon = 1\n", "epsilon = true\n", "`epsilon`: expected a number"),
    "delta of one": ('delta = "1/8000000"', "delta = 1", "`delta`: must be below 1"),
    "delta above one": ('delta = "1/8000000"', "delta = 1.5", "`delta`: must be below 1"),
    "zero delta": ('delta = "1/8000000"', "delta = 0", "`delta`: must be above 0"),
    "delta finer than the noise table": ('delta = "1/8000000"', "delta = 1e-20", "delta must be at least 1e-15"),
    "unknown table column": (
        '["tap_on_time"]',
        '["tap_on_tim"]',
        "[[table]] on_time: unknown column `tap_on_tim`: did you mean `tap_on_time`?",
    ),
    "same table name": ('name = "on_location"', 'name = "on_time"', "table name `on_time` is used twice"),
    "same columns": (
        '["tap_on_location"]',
        '["tap_on_time"]',
        "set of columns in a table `tap_on_time (as fine as the plan)` is used twice",
    ),
    "no columns": (
        'columns = ["tap_on_time"]',
        "columns = []",
        "[[table]] on_time: only the table of totals has columns = [], and it must be named `total`",
    ),
    "column twice": (
        '["tap_on_time"]',
        '["tap_on_time", "tap_on_time"]',
        "[[table]] on_time: column `tap_on_time` is used twice",
    ),
    "partition column in a table": ('["tap_on_time"]', '["mode"]', "`mode` is already a partition column"),
    "unknown partition column": (
        'partition = ["mode", "date"]',
        'partition = ["mode", "dat"]',
        "[release] partition: unknown column `dat`: did you mean `date`?",
    ),
    "card in a table": ('mode = "mode"\n', 'mode = "mode"\ncard = "card_id"\n', None),
    "unknown unit": ('unit = "trip"', 'unit = "tripp"', "[privacy] `unit`: must be 'trip', 'card-day' or 'card': did"),
    "silent privacy": ('unit = "trip"', 'unity = "trip"', "[privacy] unknown key `unity`: did you mean `unit`?"),
    "bin of seven": ("time_minutes = 15", "time_minutes = 7", "[coarsen] `time_minutes`: must divide a day"),
    "a column that is a number": ('mode = "mode"\n', "mode = 3\n", "[source.columns] `mode`: must be a text"),
    "a column of two origins": ('mode = "mode"\n', 'mode = {column = "a", value = "b"}\n', "give either"),
    "unknown zone": (
        '# timezone = "Australia/Sydney"',
        'timezone = "Australia/Sidney"',
        "did you mean `Australia/Sydney`?",
    ),
    "share above one": (
        'max_refused = "1 %"',
        "max_refused = 3",
        "[source] `max_refused`: must be a share between 0 and 1",
    ),
    "unknown layout": ('# layout = "opal"', 'layout = "opla"', "did you mean `opal`?"),
    "broken TOML": ("[release]\n", "[release\n", "is not valid TOML"),
    "key outside a section": ("[release]\n", "epsilon = 3\n[release]\n", "unknown key `epsilon`"),
    "text for a list": ('columns = ["tap_on_time"]', 'columns = "tap_on_time"', "`columns`: must be a list"),
    **{
        f"level: {name}": ('columns = ["tap_on_time"]\n', f'columns = ["tap_on_time"]\n{level}\n', message)
        for name, (level, message) in LEVELS.items()
    },
    "level of a table without times": (
        'columns = ["tap_on_location"]\n',
        'columns = ["tap_on_location"]\nlevel = { time_minutes = 60 }\n',
        "[[table]] on_location: the level has times, but the table has no time column",
    ),
    "wider areas that are not there": (
        'columns = ["tap_on_location"]\n',
        'columns = ["tap_on_location"]\nlevel = { location = "regoin" }\n',
        "[[table]] on_location: there are no wider areas `regoin` (define them under [coarsen.wider])",
    ),
    "wider areas by coordinates": (
        "[privacy]\n",
        "[coarsen.wider.region.bus]\nh3 = 5\n[privacy]\n",
        "[coarsen.wider.region.bus] `lookup` is missing",
    ),
    "a table named as the totals": (
        'name = "on_time"\n',
        'name = "total"\n',
        "[[table]] total: only the table of totals has columns = [], and it must be named `total`",
    ),
    "totals at a level": (
        'name = "on_time"\ncolumns = ["tap_on_time"]\n',
        'name = "total"\ncolumns = []\nlevel = { time_minutes = 60 }\n',
        "[[table]] total: the level has times, but the table has no time column",
    ),
    "numbers of trips without their column": (
        "[source]\n",
        '[source]\nshape = "counts"\n',
        'shape = "counts" needs `count` under [source.columns], the column with the number of trips',
    ),
    "a bound on rows that are trips": (
        "[source.columns]",
        "[source.counts]\nmost = 5\n[source.columns]",
        '[source.counts] needs shape = "counts" under [source]',
    ),
    "a column called as the number of trips": (
        "[source.columns]",
        '[source.columns]\ncount = "riders"',
        '[source.columns] count: is reserved for the number of trips of a row with shape = "counts"',
    ),
    "name with a slash": ('name = "on_time"\n', 'name = "../on_time"\n', "`name`: must start with a letter"),
}


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_named_with_its_place(old: str, new: str, message: str | None) -> None:
    text = preset_text("opal")
    assert old in text
    text = text.replace(old, new, 1)
    if message is None:
        text, message = text.replace('["tap_on_time"]', '["card"]', 1), "`card` identifies people"
    with pytest.raises(PlanError) as caught:
        Plan.parse(text, where="plan.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("plan.toml")


def test_rows_that_are_numbers_of_trips_protect_single_trips_only() -> None:
    text = preset_text("opal").replace("[source]\n", '[source]\nshape = "counts"\n', 1)
    text = text.replace("[source.columns]", '[source.columns]\ncount = "riders"', 1)
    assert Plan.parse(text).source.most_per_row == 1_000_000
    by_card = text.replace('unit = "trip"', 'unit = "card"\ntrips_per_card = 2\nwithout_card = "refuse"', 1)
    with pytest.raises(PlanError, match='use unit = "trip"'):
        Plan.parse(by_card)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('count = "riders"', 'count = { column = "riders", missing = ["<5"] }', "count: is a whole number"),
        ('count = "riders"', 'count = { column = "riders", format = "%H" }', "count: is a whole number"),
        ('count = "riders"', 'count = "riders"\nsize = "riders"', "size: `riders` is the number of trips"),
    ],
)
def test_nothing_but_the_number_of_a_row_follows_from_its_number_of_trips(old: str, new: str, message: str) -> None:
    """Else one trip more would move, or hide, all the trips of its row."""
    text = preset_text("opal").replace("[source]\n", '[source]\nshape = "counts"\n', 1)
    text = text.replace("[source.columns]", '[source.columns]\ncount = "riders"', 1)
    with pytest.raises(PlanError, match=re.escape(message)):
        Plan.parse(text.replace(old, new))


AT_A_REGION = {
    column: {column: f'{column}level = {{ location = "region" }}\n', "[privacy]\n": REGION + "[privacy]\n"}
    for column in ('columns = ["tap_on_time"]\n', 'columns = ["tap_on_location"]\n')
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            AT_A_REGION['columns = ["tap_on_time"]\n'],
            "[[table]] on_time: the level has wider areas, but the table has no location column",
        ),
        (
            {**AT_A_REGION['columns = ["tap_on_location"]\n'], '["mode", "date"]': '["date"]'},
            'wider areas by mode need a `mode` column in the table; or use [coarsen.wider.region."*"]',
        ),
        (
            {'mode = "mode"\n': 'mode = "mode"\nlow = "low"\n', '["tap_on_time"]': '["low"]'},
            "[[table]] on_time: `low` is reserved for published numbers; rename it under [source.columns]",
        ),
        (
            {
                'columns = ["tap_on_time"]\n': 'columns = ["tap_on_time"]\nlevel = { time_minutes = 60 }\n',
                '# layout = "opal"': 'layout = "opal"',
            },
            '[[table]] on_time: layout "opal" has no file for a coarser level',
        ),
    ],
)
def test_what_does_not_fit_together_is_named(changes: dict[str, str], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan.parse(opal_text(**changes))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({'# layout = "opal"': 'layout = "opal"'}, 'layout "opal" has no file for totals; remove the table'),
        (
            {'["mode", "date"]': "[]", 'mechanism = "sbh" ': 'mechanism = "dictionary" '},
            '[[table]] total: mechanism = "dictionary" needs a partition for a table of totals',
        ),
        (
            {'mechanism = "sbh" ': 'mechanism = "dictionary" '},
            '[[table]] total: mechanism = "dictionary" needs `cells`',
        ),
        ({'["mode", "date"]': "[]", "# synthetic": "synthetic"}, "[[table]] total: synthetic = true needs a partition"),
        ({'"total"\n': '"total"\nlevels = [{}, { name = "all" }]\n'}, "[[table]] total-all: only the table of totals"),
    ],
)
def test_totals_that_cannot_be_are_named(changes: dict[str, str], message: str) -> None:
    text = opal_text(**WITH_TOTAL)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    with pytest.raises(PlanError) as caught:
        Plan.parse(text)
    assert message in str(caught.value)


def test_totals_are_a_table_like_any_other() -> None:
    plan = Plan.parse(opal_text(**WITH_TOTAL))
    assert plan.columns.of(plan.tables["total"]) == ("mode", "date")
    assert (plan.guarantee.loss.epsilon, plan.tables["total"].in_words) == (9, "total")
    assert [table.name for table in plan.detailed] == list(Plan.preset("opal").tables), "what may lose something"
    in_all = opal_text(**WITH_TOTAL, **{'["mode", "date"]': "[]"})
    assert Plan.parse(in_all).columns.of(plan.tables["total"]) == ()
    alone = in_all[: in_all.index('[[table]]\nname = "on_time"')] + in_all[in_all.index('[[table]]\nname = "total"') :]
    with pytest.raises(PlanError, match="it would be the only number of the release"):
        Plan.parse(alone.replace("[source]\n", '[source]\nmodes = ["bus"]\n'))
    assert list(Plan.parse(alone.replace("partition = []", 'partition = ["mode"]')).tables) == ["total"]


def test_the_plan_of_pairs_has_totals_and_the_papers_plan_shows_how() -> None:
    total = Plan.preset("od").guarantee.mechanisms["total"]
    assert float(total.scale) < 15
    text = preset_text("opal")
    start = text.index("# [[table]]\n")
    shown = text[:start] + "\n".join(line.removeprefix("# ") for line in text[start:].splitlines())
    plan = Plan.parse(shown)
    assert (plan.guarantee.loss.epsilon, plan.guarantee.loss.delta) == (Fraction("8.2"), Fraction("8.75e-7")), (
        "as the preset says"
    )
    assert "epsilon = 8.2, delta = 8.75e-7" in text


def test_all_mistakes_are_named_at_once() -> None:
    text = opal_text(**{"epsilon = 1\n": "epsilon = 0\n", "time_minutes = 15": "time_minutes = 7"})
    with pytest.raises(PlanError, match="plan has 5 mistakes"):
        Plan.parse(text)


def test_the_opal_layout_fits_only_the_opal_tables() -> None:
    free = {'columns = ["tap_on_time"]': 'columns = ["tap_on_location", "tap_off_location"]'}
    assert Plan.parse(opal_text(**free))
    with pytest.raises(PlanError, match='layout "opal" has no file for'):
        Plan.parse(opal_text(**free, **{'# layout = "opal"': 'layout = "opal"'}))
    with pytest.raises(PlanError, match='needs partition = \\["mode", "date"\\]'):
        Plan.parse(opal_text(**{'# layout = "opal"': 'layout = "opal"', '["mode", "date"]': '["date"]'}))


def test_a_lookup_by_mode_needs_a_mode() -> None:
    text = opal_text(**{'mode = "mode"\n': "", '["mode", "date"]': '["date"]'})
    with pytest.raises(PlanError, match="there is no `mode` column"):
        Plan.parse(text)


@pytest.mark.parametrize("name", ["missing.toml", ".", "latin1.toml"])
def test_a_plan_that_cannot_be_read_is_a_plan_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "latin1.toml").write_bytes(b'title = "caf\xe9"')
    with pytest.raises(PlanError):
        Plan.read(tmp_path / name)


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(PlanError, match="there is no preset `opa`: did you mean `opal`"):
        Plan.preset("opa")


def test_an_unknown_column_of_a_known_world_is_named_as_in_any_plan() -> None:
    with pytest.raises(PlanError, match="unknown column `dat`: did you mean `date`"):
        Plan.parse(preset_text("journeys").replace('["mode", "date"]', '["mode", "dat"]'))
