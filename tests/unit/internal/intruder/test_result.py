"""What was found, as a file: read as written, and refused if it is anything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tapveil.base.errors import UsageError
from tapveil.internal.intruder.result import Findings, result
from tapveil.internal.intruder.words import at_most, percent, unprotected, verdict

WITHIN = result(("two taps", "as planned", "?"), 560, 1000, baseline=0.5, seed=1, bound=(0.6, 0.9))
BEYOND = result(("differencing", "as planned", "?"), 900, 1000, baseline=0.5, seed=1, bound=(0.6, 0.9))
OPEN = result(("home and work", "as planned", "?"), 900, 1000, baseline=0.1, seed=1, bound=(1.0, None))
OTHER = result(("two taps", "masked below 5", "?"), 80, 100, baseline=0.5, seed=1)


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
    unlucky = result(("two taps", "as planned", "?"), 640, 1000, baseline=0.5, seed=1, bound=(0.6, 0.9))
    assert unlucky.low > 0.6
    assert not unlucky.exceeds


def test_words_say_what_has_no_bound_and_what_exceeds_it() -> None:
    assert [at_most(each) for each in (WITHIN, OPEN, OTHER)] == ["60 %", "no bound", "no promise"]
    assert "home and work (90 % right)" in (unprotected(findings(OPEN)) or "")
    assert unprotected(findings(WITHIN)) is None
    assert "exceeds its bound: differencing" in verdict(findings(WITHIN, BEYOND))
    assert percent(0.0302) == "3 %"
