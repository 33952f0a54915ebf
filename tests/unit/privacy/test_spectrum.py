"""Products of spectra: convolutions of masses, which are never below the truth."""

from __future__ import annotations

import numpy as np
import pytest

from tapveil.privacy.spectrum import Spectrum, _with_itself


@pytest.mark.parametrize("size", [1, 511, 512, 513, 2047, 5000])
def test_masses_with_themselves_are_convolved_as_with_others(size: int) -> None:
    """Within the margin that a product adds."""
    masses = np.random.default_rng(size).random(size) * 10.0 ** -np.random.default_rng(1).integers(0, 30, size)
    found, known = _with_itself(masses), np.convolve(masses, masses)
    assert np.abs(found / known - 1).max() < (size + 8) * 2.0**-52


def test_a_product_with_itself_is_that_with_an_equal_one() -> None:
    masses = np.random.default_rng(7).random(3000)
    one, equal = (Spectrum(np.arange(3000) * 2**40, masses / masses.sum()) for _ in range(2))
    assert (one * one).delta(0.5) == pytest.approx((one * equal).delta(0.5), rel=1e-9)
