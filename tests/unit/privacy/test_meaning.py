"""What epsilon means in frequencies: the best that a reader can do, and never better than the promise."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tapveil.privacy.meaning import Meaning


@pytest.mark.parametrize("epsilon", ["1/100", "1/2", "1", "3", "8", "40"])
@pytest.mark.parametrize("delta", ["0", "1/1000000", "1/10"])
def test_the_two_frequencies_are_the_extreme_that_the_promise_allows(epsilon: str, delta: str) -> None:
    meaning = Meaning(Fraction(epsilon), Fraction(delta))
    limit = math.exp(min(700, float(Fraction(epsilon)))) * meaning.wrong + float(Fraction(delta))
    assert meaning.right == pytest.approx(min(1, limit), rel=1e-9)
    assert 0 <= meaning.wrong <= 0.5 <= meaning.right <= 1


def test_randomised_response_reaches_them() -> None:
    """Who answers truly with probability e^ε / (1 + e^ε) keeps ε, and tells a reader exactly so much."""
    answers_truly = math.exp(1) / (1 + math.exp(1))
    assert Meaning(Fraction(1)).right == pytest.approx(answers_truly)


def test_the_verdict_falls_as_epsilon_grows() -> None:
    verdicts = [Meaning(Fraction(n, 10)).verdict for n in range(1, 120)]
    assert verdicts == sorted(verdicts, key=["strong", "moderate", "weak"].index)
    assert Meaning(Fraction(8)).verdict == "weak"
    assert Meaning(Fraction(1), Fraction(1, 2)).verdict == "moderate", "a large delta counts as well"


def test_the_numbers_shown_add_up_to_100_and_never_hide_a_chance() -> None:
    for n in range(1, 180):
        wrong, right = Meaning(Fraction(n, 10)).of_100
        assert float(wrong) + float(right) == pytest.approx(100)
        assert float(wrong) > 0
    assert Meaning(Fraction(5000)).of_100 == ("0", "100")


def test_the_sentence_is_about_what_the_promise_is_against() -> None:
    """An ε that is kept where trips are exchanged says another number of whether they were made at all."""
    words = {each: Meaning(Fraction(8)).sentence("trip", each) for each in ("add-remove", "replace")}
    assert all("0.03 of 100" in each for each in words.values())
    assert "did not make a trip" in words["add-remove"]
    assert "made another trip" in words["replace"]
