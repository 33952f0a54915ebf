"""What masks and rounding leave, and what somebody makes of it who knows how busy ordinary days are."""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np
import pytest

from tapveil.internal.intruder.treatment import EXACT, MASKED, ROUNDED_COUNTS, UNSEEN, Treatment, log_likelihood


@pytest.mark.parametrize(
    ("treatment", "ranges"),
    [
        (EXACT, {0: (0, 0), 3: (3, 3), 149: (149, 149)}),
        (MASKED, {0: (0, 0), 1: (1, 4), 4: (1, 4), 5: (5, 5)}),
        (ROUNDED_COUNTS, {0: (0, 49), 49: (0, 49), 50: (50, 149), 149: (50, 149), 150: (150, 249)}),
    ],
    ids=lambda each: each.name if isinstance(each, Treatment) else "",
)
def test_a_published_number_says_between_which_two_the_count_is(
    treatment: Treatment, ranges: dict[int, tuple[int, int]]
) -> None:
    low, high = treatment.ends(np.array(list(ranges)))
    assert dict(zip(ranges, zip(low.tolist(), high.tolist(), strict=True), strict=True)) == ranges


def test_the_likelihood_is_the_sum_over_all_that_fits() -> None:
    usual, low, high = np.array([0, 3, 120]), np.array([[0, 1, 50], [-1, 0, 49]]), np.array([[0, 4, 149], [-1, 3, 148]])

    def chance(number: int, seen: int) -> float:
        mean = seen + UNSEEN
        return exp(lgamma(number + mean) - lgamma(mean) - lgamma(number + 1) - (number + mean) * log(2))

    found = log_likelihood(usual, low, high)
    by_hand = [
        sum(
            log(max(1e-300, sum(chance(n, seen) for n in range(max(0, first), last + 1))))
            for seen, first, last in zip(usual.tolist(), *ends, strict=True)
        )
        for ends in zip(low.tolist(), high.tolist(), strict=True)
    ]
    assert found == pytest.approx(by_hand, rel=1e-9)


def test_what_cannot_be_is_hardly_likely() -> None:
    one = np.array([[5]])
    assert log_likelihood(np.array([5]), one + 1, one)[0] < -600
