from __future__ import annotations

import tomllib

import pydantic
import pytest

from tapveil import Plan, PlanError
from tapveil.plan.toml import lines, problems
from tests.conftest import opal_text

LEVELS = {
    "in a list": 'levels = [\n  {},\n  { name = "a", time_minutes = 50 },\n]\n',
    "in sections": '[[table.levels]]\n[[table.levels]]\nname = "a"\ntime_minutes = 50\n',
}


@pytest.mark.parametrize("spelling", LEVELS)
def test_a_mistake_in_a_level_has_its_line_however_levels_are_written(spelling: str) -> None:
    text = opal_text().replace('delta = "1/8000000"\n', f'delta = "1/8000000"\n{LEVELS[spelling]}', 1)
    wanted = "levels = [" if spelling == "in a list" else "time_minutes = 50"
    line = text[: text.index(wanted)].count("\n") + 1
    with pytest.raises(PlanError, match=rf"line {line}, \[\[table\]\] on_time: level 2: `time_minutes`: must divide"):
        Plan.parse(text)


def test_a_level_that_does_not_fit_is_found_by_the_table_that_makes_it() -> None:
    text = opal_text().replace("epsilon = 1\n", 'epsilon = 1\nlevels = [{}, { name = "a", time_minutes = 20 }]\n', 1)
    line = text[: text.index('name = "on_time"')].count("\n") + 1
    with pytest.raises(PlanError, match=rf"line {line}, \[\[table\]\] on_time-a: time_minutes of a level"):
        Plan.parse(text)


def test_lines_are_found_however_toml_is_written() -> None:
    text = '# [no]\n"a b".c = 1\r\n[ x . "y.z" ] # section\nd = """\n[not]\ne = 1\n"""\nf = { g = 1 }\n'
    tomllib.loads(text)
    assert lines(text) == {
        ("a b",): 2,
        ("a b", "c"): 2,
        ("x", "y.z"): 3,
        ("x", "y.z", "d"): 4,
        ("x", "y.z", "f"): 8,
        ("x", "y.z", "f", "g"): 8,
    }


def test_a_problem_is_a_value_with_a_place_and_a_code() -> None:
    text = opal_text(
        **{'["tap_on_time"]': '["tap_on_until"]', 'mode = "mode"\n': 'mode = "mode"\ntap_on_until = "x"\n'}
    )
    with pytest.raises(pydantic.ValidationError) as caught:
        Plan.model_validate(tomllib.loads(text))
    (problem,) = problems(caught.value, Plan)
    assert (problem.section, problem.key, problem.code) == (("table", "on_time"), None, "reserved-until")
    with pytest.raises(PlanError, match="Column names ending in `_until` are reserved; rename `tap_on_until`"):
        Plan.parse(text)
