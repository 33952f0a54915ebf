"""Exact (Clopper–Pearson) bounds of a probability from a number of trials, and of ε and δ from two of them.

With X successes in n trials, the lower bound at level α is the p at which X or more successes have probability α, and
the upper bound the p at which X or fewer do. There is no approximation; the bounds hold for every n.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, lgamma, log, log1p


@dataclass(frozen=True)
class Trials:
    """The number of successes in a number of trials."""

    hits: int
    number: int

    @property
    def share(self) -> float:
        return self.hits / self.number

    def at_least(self, alpha: float) -> float:
        """A lower bound of the probability, at level α.

        >>> round(Trials(5, 100).at_least(0.025), 9), Trials(0, 100).at_least(0.025)
        (0.016431879, 0.0)
        """
        if self.hits == 0:
            return 0.0
        low, high = 0.0, 1.0
        for _ in range(100):
            p = (low + high) / 2
            low, high = (p, high) if beta_below(p, self.hits, self.number - self.hits + 1) < alpha else (low, p)
        return low

    def at_most(self, alpha: float) -> float:
        """An upper bound of the probability, at level α.

        >>> round(Trials(5, 100).at_most(0.025), 9), Trials(100, 100).at_most(0.025)
        (0.112834911, 1.0)
        """
        return 1 - Trials(self.number - self.hits, self.number).at_least(alpha)

    def unlikely(self, p: float) -> float:
        """The two-sided p-value of the number of hits at this probability: the smaller tail, doubled.

        >>> round(Trials(5, 100).unlikely(0.05), 3), Trials(1, 100).unlikely(0.0)
        (1.0, 0.0)
        """
        more = beta_below(p, self.hits, self.number - self.hits + 1) if self.hits else 1.0
        fewer = beta_below(1 - p, self.number - self.hits, self.hits + 1) if self.hits < self.number else 1.0
        return min(1.0, 2 * more, 2 * fewer)


def delta_lower_bound(here: Trials, there: Trials, epsilon: float, alpha: float) -> float:
    """A lower bound of δ at ε, from the same event on two neighbouring data sets."""
    return here.at_least(alpha / 2) - exp(epsilon) * there.at_most(alpha / 2)


def epsilon_lower_bound(here: Trials, there: Trials, delta: float, alpha: float) -> float:
    """A lower bound of ε at δ, from the same event on two neighbouring data sets."""
    more, less = here.at_least(alpha / 2) - delta, there.at_most(alpha / 2)
    return log(more / less) if more > 0 and less > 0 else (inf if more > 0 else 0.0)


def beta_below(x: float, a: float, b: float) -> float:
    """P(Beta(a, b) ≤ x): the regularised incomplete beta function, by its continued fraction (Lentz).

    >>> round(beta_below(0.3, 2, 5), 12)
    0.579825
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_below(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _not_zero(1 + factor * d)
            c = _not_zero(1 + factor / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * value


def _not_zero(x: float) -> float:
    return x if abs(x) > 1e-300 else 1e-300
