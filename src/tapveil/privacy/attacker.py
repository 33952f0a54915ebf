"""The best attacker: how often somebody who reads a release as well as anyone can is right about one unit.

He wonders which of two data sets was published, both being equally likely to him; they differ in one unit, and he knows
all the rest. The likelihood ratio decides best (Neyman and Pearson), and is right with probability (1 + V)/2. V is the
total variation distance of what the two publish, the hockey-stick divergence at ε = 0. The accountant has its maximum
over all data, from the integers of the noise.

So there are two figures. What is *promised* follows from (ε, δ) alone and holds for any noise that keeps it
(`Meaning`). What is *computed* bounds what anyone can do against this very noise: never more, and for Gaussian noise
less, as an (ε, δ) states the worst of its tails. It is attained where noise is on whole numbers and each of a unit's
trips is in a cell of its own; with `sbh`, whose cells are accounted for by halves, it is a little too high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapveil.privacy import accountant
from tapveil.privacy.accountant import ChangedCells, Exposure
from tapveil.privacy.loss import Loss, whole_card_epsilon
from tapveil.privacy.meaning import Meaning, Verdict, of_100
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.units import Neighbours


@dataclass(frozen=True)
class Attacker:
    """What the best attacker can do: as promised, and as computed from the noise."""

    neighbours: Neighbours
    """Whether he wonders which unit it was, or whether it was there."""
    promised: Meaning
    distance: float
    """The total variation distance between both data sets, from above."""

    @property
    def wrong(self) -> float:
        """How likely he is wrong, at least: the mean over both data sets."""
        return max((1 - self.distance) / 2, self.promised.wrong)

    @property
    def right(self) -> float:
        """How likely he is right, at most."""
        return 1 - self.wrong

    @property
    def of_100(self) -> tuple[str, str]:
        """How many of 100 publications would make him believe it: if it is not so, and if it is."""
        return of_100(self.wrong)

    @property
    def verdict(self) -> Verdict:
        """In a word: of what is promised."""
        return self.promised.verdict


def attacker(mechanisms: Sequence[Mechanism], loss: Loss, exposure: Exposure) -> Attacker:
    """The best attacker of tables of these mechanisms together, which promise a loss."""
    cells = [each.cells for each in mechanisms]
    return Attacker(exposure.neighbours, Meaning(loss.epsilon, loss.delta), _distance(cells, exposure))


def attacker_of_several(mechanisms: Sequence[Mechanism], promised: Loss, cells: int, units: int) -> Attacker | None:
    """The same where he wonders whether several units were there, all in different cells; None if nothing is promised.

    `promised` is the loss of one unit that is added or removed, which changes `cells` of each table. δ grows in
    proportion; ε at that δ is the accountant's, or the sum where noise is pure.
    """
    delta, every = promised.delta * units, units * cells
    epsilon = whole_card_epsilon(mechanisms, every, delta) if delta else promised.epsilon * units
    if epsilon is None or delta >= 1:
        return None
    rough = [each.cells.rough for each in mechanisms]
    return Attacker("add-remove", Meaning(epsilon, delta), _distance(rough, Exposure("add-remove", every)))


def _distance(cells: Sequence[ChangedCells], exposure: Exposure) -> float:
    """By (★★) of `accountant`: above that of its spectra by no more than the probability that a singleton appears."""
    return accountant.worst_delta(accountant.changes(cells, exposure), 0.0, blocks=0)
