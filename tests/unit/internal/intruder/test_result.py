"""What was found, as a file: read as written, and refused if it is anything else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tapveil.base.errors import UsageError
from tapveil.internal.intruder.result import UNSURE, Findings, Repeated, result
from tapveil.internal.intruder.words import at_most, percent, unprotected, verdict
from tapveil.privacy.binomial import Trials

WITHIN = result(("two taps", "as planned", "?"), Trials(560, 1000), baseline=0.5, seed=1, bound=(0.6, 0.9))
BEYOND = result(("differencing", "as planned", "?"), Trials(900, 1000), baseline=0.5, seed=1, bound=(0.6, 0.9))
OPEN = result(("home and work", "as planned", "?"), Trials(900, 1000), baseline=0.1, seed=1, bound=(1.0, None))
OTHER = result(("two taps", "masked below 5", "?"), Trials(80, 100), baseline=0.5, seed=1)


def findings(*results: object) -> Findings:
    return Findings("0" * 64, "trip", "8", "7.5e-7", "replace", 1000, 100, 1, tuple(results))  # type: ignore[arg-type]


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = findings(WITHIN, OPEN, OTHER)
    (tmp_path / "intruder.json").write_text(json.dumps(found.as_json()), encoding="utf-8")
    assert Findings.read(tmp_path / "intruder.json") == found


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2}', '{"version": 1}', '{"version": 1, "results": [{}]}'])
def test_anything_else_is_refused_with_a_way_on(tmp_path: Path, text: str) -> None:
    (tmp_path / "intruder.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="tapveil intruder"):
        Findings.read(tmp_path / "intruder.json")


def test_a_bound_is_exceeded_only_beyond_all_chance() -> None:
    assert not WITHIN.exceeds
    assert BEYOND.exceeds
    unlucky = result(("two taps", "as planned", "?"), Trials(640, 1000), baseline=0.5, seed=1, bound=(0.6, 0.9))
    assert unlucky.low > 0.6
    assert not unlucky.exceeds


def test_words_say_what_has_no_bound_and_what_exceeds_it() -> None:
    assert [at_most(each) for each in (WITHIN, OPEN, OTHER)] == ["60 %", "no bound", "no promise"]
    assert "home and work (90 % right)" in (unprotected(findings(OPEN)) or "")
    assert unprotected(findings(WITHIN)) is None
    assert "exceeds its bound: differencing" in verdict(findings(WITHIN, BEYOND))
    assert percent(0.0302) == "3 %"


def test_where_nobody_or_everybody_is_found_people_are_counted_and_not_attempts() -> None:
    nobody, everybody = Repeated((0,) * 4, 5000, 40), Repeated((5000,) * 4, 5000, 40)
    assert nobody.limits == (0, pytest.approx(1 - (UNSURE / 2) ** (1 / 40)))
    assert everybody.limits == (pytest.approx((UNSURE / 2) ** (1 / 40)), 1)
    assert Repeated((3,), 10, 10).limits == (0, 1), "one group says nothing of others"
    assert Trials(0, 20_000).at_most(UNSURE / 2) < nobody.limits[1] / 100


def test_groups_that_came_out_alike_leave_room() -> None:
    low, high = Repeated((1, 1, 1), 4, 12).limits
    assert low < 0.1 < 0.25 < 0.5 < high


@pytest.mark.parametrize(("people", "spread"), [(12, 2.0), (60, 2.0), (60, 40.0)])
def test_limits_hold_in_19_of_20_samples_of_people_who_differ(people: int, spread: float) -> None:
    """Each is found with a chance of her own, from a Beta law with mean 0.3. Limits by attempts would not hold."""
    random, samples, each = np.random.default_rng(5), 400, 100
    chances = random.beta(0.3 * spread, 0.7 * spread, (samples, people))
    found = [Repeated(tuple(row), each, people) for row in random.binomial(each, chances).tolist()]
    held = sum(low <= 0.3 <= high for low, high in (sample.limits for sample in found))
    assert held >= 0.92 * samples
    by_attempts = ((e.trials.at_least(UNSURE / 2), e.trials.at_most(UNSURE / 2)) for e in found)
    assert sum(low <= 0.3 <= high for low, high in by_attempts) < 0.8 * samples


def test_what_people_have_in_common_does_not_move_whether_a_bound_is_exceeded() -> None:
    """The bound is for each person, so chances that differ among people make an excess by chance no likelier."""
    lucky = Repeated((100,) * 30 + (20,) * 30, 100, 60)
    found = result(("two taps", "as planned", "?"), lucky, baseline=0.5, seed=1, bound=(0.5, 0.9))
    assert found.exceeds
    assert found.low < 0.5 < found.success
