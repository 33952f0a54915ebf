"""Whoever changes a module can guess which tests to run: unit tests lie where the module does."""

from __future__ import annotations

from pathlib import Path

import pytest

UNIT = Path(__file__).parents[1] / "unit"
SOURCE = UNIT.parents[1] / "src" / "tapveil"


@pytest.mark.parametrize("test", sorted(UNIT.rglob("test_*.py")), ids=lambda path: str(path.relative_to(UNIT)))
def test_a_unit_test_is_named_after_what_it_tests(test: Path) -> None:
    module = SOURCE / test.parent.relative_to(UNIT) / test.stem.removeprefix("test_")
    assert module.with_suffix(".py").exists() or module.is_dir()
