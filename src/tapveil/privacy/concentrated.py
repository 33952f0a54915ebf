"""Zero-concentrated differential privacy of a release with Gaussian noise: ρ, and the δ that it does not cover.

A unit that changes B cells of tables with discrete Gaussian noise moves each by a: by one, but where several of its
trips count in one cell. The Rényi divergence of order α is then at most α·ρ with ρ = Σ a²/(2σ²) (Canonne, Kamath and
Steinke 2020, Theorem 4). Singletons that appear are outside of it, with probability at most 1 − ∏(1 − p): the release
is δ-approximately ρ-zCDP with that δ (Bun and Steinke 2016, Definition 8.1; docs/privacy/proofs.md, claim 18).

This holds for the discrete Gaussian. The noise is drawn from an integer table within 1e-13 of it, in total variation;
(ε, δ) and the curve are computed from that table and do not depend on ρ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from tapveil.privacy.accountant import Exposure
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.rational import power_below, sqrt_above


@dataclass(frozen=True)
class Concentrated:
    """δ-approximate ρ-zCDP."""

    mu_squared: Fraction
    """Σ a²/σ² over all changed cells, each by a."""
    delta_singletons: Fraction
    """An upper bound of P(some singleton of the unit appears)."""

    @property
    def rho(self) -> Fraction:
        return self.mu_squared / 2

    @property
    def mu(self) -> Fraction:
        """The μ of continuous Gaussian noise of the same scales, rounded up.

        Not a guarantee: the (ε, δ) of discrete Gaussian noise can be slightly above those of μ-GDP (NOTES §5).
        """
        return sqrt_above(self.mu_squared)


def concentrated(mechanisms: Sequence[Mechanism], exposure: Exposure) -> Concentrated | None:
    """The ρ of tables of these mechanisms together, for this exposure; None without Gaussian noise."""
    gaussian = [mechanism for mechanism in mechanisms if mechanism.is_gaussian]
    if not gaussian or len(gaussian) < len(mechanisms):
        return None
    mu_squared = sum(
        (exposure.changed * mechanism.square / mechanism.scale**2 for mechanism in gaussian), start=Fraction(0)
    )
    # On either data set only the cells of its own unit can be its singletons: a replacement has no more of them.
    absent = (power_below(1 - mechanism.cells.singleton, exposure.cells) for mechanism in gaussian)
    return Concentrated(mu_squared, 1 - prod(absent, start=Fraction(1)))
