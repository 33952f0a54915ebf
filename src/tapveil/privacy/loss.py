"""The (ε, δ) of a release, and whether its mechanisms satisfy it.

It is stated in exact numbers: one total, or the sum over the tables (basic composition, Theorem 2 of the paper). It
must be `certified`: the accountant, from the integers of the noise tables, finds no greater loss for any data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, inf, isinf

from tapveil.privacy import accountant
from tapveil.privacy.accountant import ChangedCells, Exposure
from tapveil.privacy.mechanisms import Dictionary, Mechanism
from tapveil.privacy.rational import float_below


@dataclass(frozen=True)
class Loss:
    """A privacy loss (ε, δ) in exact numbers."""

    epsilon: Fraction
    """ε."""
    delta: Fraction
    """δ."""

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.epsilon + other.epsilon, self.delta + other.delta)


NONE = Loss(Fraction(0), Fraction(0))


def compose(losses: Iterable[Loss]) -> Loss:
    """Sequential composition: the sums of ε and of δ (Theorem 2 of the Opal paper).

    Args:
        losses: The losses to add up.

    Returns:
        Their sum.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Loss, compose
        >>> compose([Loss(Fraction(1), Fraction(1, 10**6)), Loss(Fraction(1, 2), Fraction(0))])
        Loss(epsilon=Fraction(3, 2), delta=Fraction(1, 1000000))
    """
    return sum(losses, start=NONE)


@dataclass(frozen=True)
class Change:
    """One way in which data sets may differ: the number of cells left and entered, by mechanism."""

    left: Mapping[Mechanism, int]
    entered: Mapping[Mechanism, int]
    reactive: bool = False
    """Whether the cells are in several releases: later trips may depend on what an earlier release showed."""

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The sum of the maximum losses of all changed cells; None if some noise is finite, and so needs a δ."""
        both = [*self.left.items(), *self.entered.items()]
        if not all(isinstance(mechanism, Dictionary) for mechanism, _ in both):
            return None
        return sum((number / mechanism.scale for mechanism, number in both), start=Fraction(0))

    @property
    def cells(self) -> accountant.Change:
        """The same change for the accountant."""
        sides = (Counter[ChangedCells](), Counter[ChangedCells]())
        for side, changed in zip(sides, (self.left, self.entered), strict=True):
            for mechanism, number in changed.items():
                side[mechanism.cells] += number
        return accountant.Change(*sides, self.reactive)

    def keeps(self, loss: Loss) -> bool:
        """Whether this change satisfies (ε, δ).

        Args:
            loss: The (ε, δ).

        Returns:
            Whether it does.

        Example:
            >>> from fractions import Fraction
            >>> from tapveil.privacy import Exposure, Laplace, Loss, changes
            >>> (change,) = changes([Laplace(Fraction(1), 18)] * 2, Exposure("replace"))
            >>> [change.keeps(Loss(Fraction(total), Fraction(1, 10**6))) for total in (4, 1)]
            [True, False]
        """
        pure = self.pure_epsilon
        if pure is not None:
            return pure <= loss.epsilon
        return not accountant.any_exceeds([self.cells], float_below(loss.epsilon), float_below(loss.delta))


def changes(mechanisms: Sequence[Mechanism], exposure: Exposure) -> list[Change]:
    """What one unit can change in tables of these mechanisms: a replacement leaves cells and enters others.

    Args:
        mechanisms: One for each table.
        exposure: What one unit of protection can change.

    Returns:
        Every possible change.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Exposure, Laplace, changes
        >>> len(changes([Laplace(Fraction(1), 18)], Exposure("replace")))
        1
        >>> len(changes([Laplace(Fraction(1), 18)], Exposure("add-remove")))
        2
    """
    cells = {mechanism: times * exposure.cells for mechanism, times in Counter(mechanisms).items()}
    if exposure.neighbours == "replace":
        return [Change(cells, cells, exposure.across)]
    return [Change(cells, {}), Change({}, cells)]


def certified(mechanisms: Sequence[Mechanism], loss: Loss, exposure: Exposure) -> bool:
    """Whether tables of these mechanisms together keep (ε, δ), by exact accounting.

    Args:
        mechanisms: One for each table.
        loss: The (ε, δ) to keep.
        exposure: What one unit of protection can change.

    Returns:
        True only if it is proven.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Exposure, Laplace, Loss, certified
        >>> table, trip = Laplace(Fraction(1), 18), Exposure("replace")
        >>> [certified([table], Loss(Fraction(epsilon), Fraction(1, 10**6)), trip) for epsilon in (2, 1)]
        [True, False]
    """
    return _certified(tuple(mechanisms), loss, exposure)


@lru_cache
def _certified(mechanisms: tuple[Mechanism, ...], loss: Loss, exposure: Exposure) -> bool:
    """Remembered: a plan is often read again with nothing changed but its columns, files or words."""
    return all(change.keeps(loss) for change in changes(mechanisms, exposure))


def epsilon_upper_bound(possible: Sequence[Change], delta: Fraction, precision: float = 1e-12) -> Fraction | None:
    """The ε that all changes keep at this δ, from above.

    Args:
        possible: The changes, as `changes` lists them.
        delta: The δ.
        precision: How far above the smallest ε the result may be.

    Returns:
        ε, or None where no ε is enough.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Exposure, Laplace, changes, epsilon_upper_bound
        >>> possible = changes([Laplace(Fraction(1), 18)], Exposure("replace"))
        >>> round(float(epsilon_upper_bound(possible, Fraction(1, 10**6))), 3)
        2.0
    """
    pure = [change.pure_epsilon or Fraction(0) for change in possible if change.pure_epsilon is not None]
    noisy = [change.cells for change in possible if change.pure_epsilon is None]
    bound = accountant.epsilon_upper_bound(noisy, float_below(delta), precision) if noisy else 0.0
    return None if isinf(bound) else max([Fraction(bound), *pure])


def whole_card_epsilon(mechanisms: Sequence[Mechanism], trips: int, delta: Fraction) -> Fraction | None:
    """The ε at this δ of a card with this many trips, each in different cells; None if there is none.

    A certified bound, slightly above the least one: a closer one would take most of the time of a small release.
    """
    changed = _rough_changes(mechanisms, trips)
    bound = accountant.epsilon_upper_bound(changed, float_below(delta), precision=1e-3, blocks=0) if delta else inf
    return None if isinf(bound) else Fraction(bound)


def whole_card_certified(mechanisms: Sequence[Mechanism], trips: int, loss: Loss) -> bool:
    """Whether all trips of such a card satisfy (ε, δ): by the same bound, or by the close one."""
    target = float_below(loss.epsilon), float_below(loss.delta)
    if not accountant.any_exceeds(_rough_changes(mechanisms, trips), *target, blocks=0):
        return True
    return certified(mechanisms, loss, Exposure("add-remove", trips))


def _rough_changes(mechanisms: Sequence[Mechanism], trips: int) -> list[accountant.Change]:
    return accountant.changes([mechanism.cells.rough for mechanism in mechanisms], Exposure("add-remove", trips))


def accounted_delta(mechanisms: Sequence[Mechanism], epsilon: Fraction, exposure: Exposure) -> float:
    """The δ at ε by exact accounting, rounded up; 0 where the noise is pure.

    Args:
        mechanisms: One for each table.
        epsilon: The ε.
        exposure: What one unit of protection can change.

    Returns:
        δ, from above.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Exposure, Laplace, accounted_delta
        >>> accounted_delta([Laplace(Fraction(1), 18)], Fraction(2), Exposure("replace")) < 1e-7
        True
    """
    if certified(mechanisms, Loss(epsilon, Fraction(0)), exposure):
        return 0.0
    return accountant.delta([mechanism.cells for mechanism in mechanisms], float_below(epsilon), exposure)


def in_other_notion(mechanisms: Sequence[Mechanism], loss: Loss, exposure: Exposure) -> Loss:
    """The (ε, δ) for the other notion of neighbours: at the same δ, half or twice the ε.

    A replacement is one removal and one addition, so noise with a bounded loss per cell loses half or twice as much.
    Gaussian noise does not scale like this: its ε comes from the accountant, rounded up to thousandths.

    Args:
        mechanisms: One for each table.
        loss: The promise.
        exposure: What one unit can change, in the other notion.

    Returns:
        The promise in the other notion.

    Example:
        >>> from fractions import Fraction
        >>> from tapveil.privacy import Exposure, Laplace, Loss, in_other_notion
        >>> table, promise = Laplace(Fraction(1), 18), Loss(Fraction(2), Fraction(1, 10**6))
        >>> in_other_notion([table], promise, Exposure("add-remove")).epsilon
        Fraction(1, 1)
    """
    factor = Fraction(2) if exposure.neighbours == "replace" else Fraction(1, 2)
    scaled = Loss(loss.epsilon * factor, loss.delta)
    gaussian = any(mechanism.is_gaussian for mechanism in mechanisms)
    if not gaussian and certified(mechanisms, scaled, exposure):
        return scaled
    epsilon = accountant.epsilon([mechanism.cells for mechanism in mechanisms], float_below(loss.delta), exposure)
    if isinf(epsilon):  # no ε is enough for this δ: take the δ at the scaled ε
        return Loss(scaled.epsilon, Fraction(accounted_delta(mechanisms, scaled.epsilon, exposure)))
    return Loss(Fraction(ceil(epsilon * 1000), 1000), loss.delta)
