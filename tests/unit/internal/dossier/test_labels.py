"""What changed since the last dossier is said in words, each figure in its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tapveil.internal.dossier.case import Case
from tapveil.internal.dossier.document import Dossier
from tapveil.internal.dossier.labels import label
from tapveil.internal.dossier.questions import Kept, compared
from tests.support.dossiers import card_day, paper, year_of_weeks
from tests.unit.internal.dossier.test_figures import FOLDERS, golden


def check(dossier: Dossier) -> None:
    said = {key: label(key) for key in compared(dossier.figures)}
    raw = [key for key, text in said.items() if text == key.replace(".", ", ").replace("_", " ") and key != "days"]
    assert not raw
    assert not [text for text in said.values() if "_" in text and "able " not in text], "but for names of tables"
    assert len(set(said.values())) == len(said)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_figure_of_a_folder_has_words_of_its_own(name: str) -> None:
    check(golden(name))


@pytest.mark.parametrize("case", [paper, card_day, year_of_weeks])
def test_every_figure_of_a_plan_has_words_of_its_own(case: Callable[[Path], Case], tmp_path: Path) -> None:
    check(Dossier(case(tmp_path)))


def test_the_next_dossier_says_them_and_keeps_names_that_it_does_not_know() -> None:
    case, before = golden("3/paper").case, {"promise.replace.epsilon": "9", "gone.with_it": "1"}
    text = Dossier(case, Kept(last_on="2025-01-01", last_figures=before)).markdown
    assert "| ε (which it was) | 9 | 8 |" in text
    assert "| gone, with it | 1 | no longer there |" in text
