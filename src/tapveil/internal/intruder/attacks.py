"""The attacks: somebody looks for a person in what is published, and says one of several things that may be true.

Against the release as planned the intruder knows all trips of everybody else, and decides by the likelihood of what is
published, which nobody can do better. Against what agencies do instead he knows how busy cells are on ordinary days
like these, and what the attack names; a hash or a mask falls to that. What else he has to guess between are trips of
other people, drawn like those of the person, so that without the publication each is equally likely.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tapveil.base.defaults import INTRUDER_PEOPLE, INTRUDER_TRIALS
from tapveil.base.errors import UsageError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.demo.population import Integers, Population, without
from tapveil.internal.intruder.best_attacker import Bound, Promise
from tapveil.internal.intruder.hashed_rows import HashedRows
from tapveil.internal.intruder.likelihood import Drawn, Floats
from tapveil.internal.intruder.result import Attack, Findings, Method, Repeated, Result, result
from tapveil.internal.intruder.tables import PAIRS, Counter, Counts, has_destinations
from tapveil.internal.intruder.treatment import EXACT, MASKED, ROUNDED_COUNTS, Treatment, log_likelihood
from tapveil.plan.model import Plan
from tapveil.privacy.binomial import Trials
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.noise import RandomBytes
from tapveil.privacy.rational import decimal_text

CHOICES = 10
"""Among how many an intruder has to find the right one, where there is more than yes and no."""
UNIT, TRIP, ALL = "unit", "trip", "all"
"""Slices of a person's trips: one unit of protection; one trip; all of them."""
_THERE = {"trip": "this trip", "card-day": "this person's day", "card": "this person"}
JITTER = 1e-9
"""Decides between what is equally likely, and between nothing else."""


def intrude(
    plan: Plan,
    residents: tuple[Population, Population],
    *,
    trials: int = INTRUDER_TRIALS,
    people: int = INTRUDER_PEOPLE,
    seed: int = 1,
    drawn: Mapping[str, Mechanism] | None = None,
    random_bytes: RandomBytes = os.urandom,
    progress: Reporter | None = None,
) -> Findings:
    """Attack a plan's release, and what agencies publish instead, on generated people.

    Args:
        plan: Its unit, bounds, bins, levels and mechanism are used; its trips are not read.
        residents: Trips of generated people on the plan's days, and on ordinary days like them.
        trials: Publications of the release as planned, for each attack.
        people: How many people are looked for, at most.
        seed: Who they are, and how an intruder guesses where he has to; noise never has a seed.
        drawn: The mechanisms that draw, by table; the plan's own, but for tests of this test.
        random_bytes: Where the noise is from.
        progress: Receives the stages of the work.
    """
    here, usual = residents
    with tempfile.TemporaryDirectory(prefix="tapveil-intruder-") as folder:
        game = _Game(plan, here, usual, _people(here, people, seed), Path(folder), seed, trials, drawn, random_bytes)
        results = tuple(game.results(progress or Silent()))
    loss = plan.guarantee.loss
    return Findings(
        plan.digest,
        plan.privacy.unit,
        decimal_text(loss.epsilon, 6),
        decimal_text(loss.delta, 6),
        plan.privacy.neighbours,
        len(here),
        len(game.people),
        seed,
        results,
    )


@dataclass(frozen=True, eq=False)
class _Person:
    """Somebody who is looked for."""

    card: int
    known: int
    """A trip that the intruder knows: its row."""
    other: int
    """A trip on another day; another trip, where there is but one day."""
    commutes: bool


def _people(here: Population, number: int, seed: int) -> list[_Person]:
    """Whoever travels once cannot be recognised by another trip, so these travel more often; most of them work."""
    random, cards = np.random.default_rng([seed, 2]), here.regulars()
    chosen = random.choice(cards, min(number, len(cards) // 2), replace=False).tolist()
    if sum(card < here.commuters for card in chosen) <= CHOICES:
        raise UsageError("too few generated people for an intruder test; use more --trips, or more --people")
    found = []
    for card in chosen:
        rows = here.trips_of(card)
        known = int(random.choice(rows))
        others = rows[here.day[rows] != here.day[known]] if len(here.days) > 1 else rows[rows != known]
        found.append(_Person(card, known, int(random.choice(others)), card < here.commuters))
    return found


@dataclass(frozen=True, eq=False)
class _Game:
    plan: Plan
    here: Population
    usual: Population
    people: list[_Person]
    folder: Path
    seed: int
    trials: int
    drawn: Mapping[str, Mechanism] | None
    random_bytes: RandomBytes

    def results(self, progress: Reporter) -> Iterator[Result]:
        done = 0
        attacks = (self._two_taps, self._co_traveller, self._differencing, self._home_and_work)
        with progress.stage(Stage.COUNTING_PEOPLE):
            _ = self._bounded, self._unbounded
        with progress.stage(Stage.ATTACKING, lambda: done, total=len(attacks), unit="attacks"):
            for attack in attacks:
                yield from attack(np.random.default_rng([self.seed, 3, done]))
                done += 1

    # --- what is published ------------------------------------------------------------------------------------------

    @cached_property
    def _bounded(self) -> dict[str, Counts]:
        return self._counted(bounded=True)

    @cached_property
    def _unbounded(self) -> dict[str, Counts]:
        return self._counted(bounded=False)

    def _counted(self, *, bounded: bool) -> dict[str, Counts]:
        cards = np.array([person.card for person in self.people])
        slices, whose = {}, {}
        for name in (UNIT, TRIP, ALL):
            rows = [self._rows(name, person) for person in self.people]
            slices[name] = self.here.take(np.concatenate(rows))
            whose[name] = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
        base, usual = without(self.here, cards), without(self.usual, cards)
        return Counter(self.plan, self.folder, bounded).tables(slices, whose, base, usual)

    def _rows(self, which: str, person: _Person) -> Integers:
        rows = self.here.trips_of(person.card)
        unit = self.plan.privacy.unit
        if which == TRIP or (which == UNIT and unit == "trip"):
            return np.array([person.other])
        return rows[self.here.day[rows] == self.here.day[person.other]] if (which, unit) == (UNIT, "card-day") else rows

    @cached_property
    def _rows_with_ids(self) -> HashedRows:
        return HashedRows(self.here)

    @cached_property
    def _mechanisms(self) -> dict[str, Drawn]:
        return {name: Drawn(each) for name, each in (self.drawn or self.plan.guarantee.mechanisms).items()}

    @cached_property
    def _promise(self) -> Promise:
        return Promise(self.plan)

    def _treated(self) -> Iterator[tuple[Method, Treatment, list[Counts]]]:
        """What agencies do instead, and with which tables."""
        exact = [counts for name, counts in self._unbounded.items() if name == PAIRS]
        others = [counts for name, counts in self._unbounded.items() if name != PAIRS]
        if exact:
            yield "exact origin-destination table" if has_destinations(self.plan) else "exact table", EXACT, exact
        yield "masked below 5", MASKED, others
        yield "rounded to 100", ROUNDED_COUNTS, others

    # --- the attacks ------------------------------------------------------------------------------------------------

    def _two_taps(self, random: np.random.Generator) -> Iterator[Result]:
        """A person known by two taps: which id is hers; is her trip in the data at all?"""
        attack: Attack = "two taps"
        hits = 0
        for person in self.people:
            taps = self.here.taps[self.here.trips_of(person.card)].ravel()
            hits += self._rows_with_ids.picked(random, *random.choice(taps, 2, replace=False)) == person.card
        cards = len(np.unique(self.here.card))
        yield self._of(attack, "hashed card ids", "which card id is this person's?", hits, 1 / cards)
        question = "is this trip in the data?"
        for method, treatment, tables in self._treated():
            hits = sum(
                self._guess(self._treated_once(treatment, tables, [me, None], truth), random) == truth
                for me, truth in zip(range(len(self.people)), random.integers(0, 2, len(self.people)), strict=True)
            )
            yield self._of(attack, method, question, hits, 1 / 2)
        question = f"is {_THERE[self.plan.privacy.unit]} in the data?"
        options = [[me, None] for me in self._everybody]
        yield self._planned(attack, question, UNIT, options, self._promise.unit_is_there(), random)

    def _co_traveller(self, random: np.random.Generator) -> Iterator[Result]:
        """Somebody who shared one trip, and so knows it: where did the person go on another day?"""
        attack: Attack = "co-traveller"
        question = f"which of {CHOICES} trips did this person make on another day?"
        hits = 0
        for person in self.people:
            right = self._rows_with_ids.picked(random, *self.here.taps[person.known]) == person.card
            hits += right or random.integers(CHOICES) == 0
        yield self._of(attack, "hashed card ids", question, int(hits), 1 / CHOICES)
        yield from self._which_trips(attack, question, TRIP, self._everybody, random)
        options = self._groups(self._everybody, random)
        yield self._planned(attack, question, TRIP, options, self._promise.which_unit(CHOICES), random)

    def _differencing(self, random: np.random.Generator) -> Iterator[Result]:
        """Two publications, the second without one of two people: who is it? Nothing else needs to be known."""
        attack: Attack = "differencing"
        question = f"of {_THERE[self.plan.privacy.unit]} and another, which one is missing in the second publication?"
        pairs = [self._with_others(me, self._everybody, random, 2) for me in self._everybody]
        hits = 0
        for me, other in pairs:
            rows = (self._rows(UNIT, self.people[each]) for each in (me, other))
            mine, theirs = (np.sort(self.here.taps[each], axis=None) for each in rows)
            hits += not np.array_equal(mine, theirs) or random.integers(2) == 0
        yield self._of(attack, "hashed card ids", question, int(hits), 1 / 2)
        for method, treatment, tables in self._treated():
            found = (self._treated_twice(treatment, tables, *pair) for pair in pairs)
            hits = sum(self._guess(each, random) == 0 for each in found)
            yield self._of(attack, method, question, hits, 1 / 2)
        # Who is missing decides who is there. The first publication has both: to who knows all else it says nothing.
        two = self._groups(self._everybody, random, 2)
        yield self._planned(attack, question, UNIT, two, self._promise.which_unit(2), random)
        twice = f"is {_THERE[self.plan.privacy.unit]} in the data, published twice?"
        options = [[me, None] for me in self._everybody]
        bound = self._promise.unit_is_there(times=2)
        yield self._planned(attack, twice, UNIT, options, bound, random, times=2)

    def _home_and_work(self, random: np.random.Generator) -> Iterator[Result]:
        """Where a commuter lives and works, from all trips of the days; against who guesses from everybody else's."""
        attack: Attack = "home and work"
        commuters = [me for me in self._everybody if self.people[me].commutes]
        rows = self._rows_with_ids
        truth = {me: rows.home_and_work(self.people[me].card) for me in commuters}
        hits = 0
        for me in commuters:
            found = rows.picked(random, *self.here.taps[self.people[me].known])
            hits += found is not None and rows.home_and_work(found) == truth[me]
        common = Tally(truth.values()).most_common(1)[0][1] / len(commuters)
        yield self._of(attack, "hashed card ids", "where does this person live and work?", hits, common, len(commuters))
        question = f"which of {CHOICES} commuters' homes and places of work are this person's?"
        yield from self._which_trips(attack, question, ALL, commuters, random)
        most = max(len(self._rows(ALL, self.people[me])) for me in commuters)
        bound = self._promise.which_person(CHOICES, most, len(self.here.days))
        options = self._groups(commuters, random)
        yield self._planned(attack, question, ALL, options, bound, random)

    # --- how they decide --------------------------------------------------------------------------------------------

    @property
    def _everybody(self) -> list[int]:
        return list(range(len(self.people)))

    def _with_others(
        self, me: int, among: Sequence[int], random: np.random.Generator, size: int = CHOICES
    ) -> list[int]:
        """The right answer first, then others."""
        others = random.choice([each for each in among if each != me], size - 1, replace=False)
        return [me, *others.tolist()]

    def _groups(self, among: Sequence[int], random: np.random.Generator, size: int = CHOICES) -> list[list[int]]:
        """People divided at random, nobody in two groups, so that what one group shows says nothing of another."""
        mixed = random.permutation(among)[: len(among) // size * size]
        groups: list[list[int]] = mixed.reshape(-1, size).tolist()
        return groups

    def _which_trips(
        self, attack: Attack, question: str, which: str, among: Sequence[int], random: np.random.Generator
    ) -> Iterator[Result]:
        """Who of several, from tables as agencies publish them."""
        for method, treatment, tables in self._treated():
            hits = 0
            for me in among:
                options = self._with_others(me, among, random)
                hits += self._guess(self._treated_once(treatment, tables, options, 0, which), random) == 0
            yield self._of(attack, method, question, hits, 1 / CHOICES, len(among))

    def _treated_once(
        self,
        treatment: Treatment,
        tables: Sequence[Counts],
        options: Sequence[int | None],
        truth: int,
        which: str = TRIP,
    ) -> Floats:
        """The log-likelihood of each option, after one publication in which the option `truth` is there."""
        found = np.zeros(len(options))
        for table in tables:
            cells, counts = table.between(which, options)
            low, high = treatment.ends(counts[truth])
            added = counts - table.base[cells]
            found += log_likelihood(table.usual[cells], low - added, high - added)
        return found

    def _treated_twice(self, treatment: Treatment, tables: Sequence[Counts], me: int, other: int) -> Floats:
        """The log-likelihood that I am missing in the second publication, or another, where it is me."""
        found = np.zeros(2)
        for table in tables:
            cells, stay = table.between(UNIT, [other, me])
            base = table.base[cells]
            both = stay.sum(axis=0) - base
            (low, high), (low_after, high_after) = treatment.ends(both), treatment.ends(stay[0])
            first = [each - (both - base) for each in (low, high)]
            second = [each - (stay - base) for each in (low_after, high_after)]
            found += log_likelihood(
                table.usual[cells], np.maximum(first[0], second[0]), np.minimum(first[1], second[1])
            )
        return found

    def _planned(
        self,
        attack: Attack,
        question: str,
        which: str,
        options: Sequence[Sequence[int | None]],
        bound: Bound,
        random: np.random.Generator,
        *,
        times: int = 1,
    ) -> Result:
        """By the likelihood of what is drawn. Each option is the truth equally often, as the bound assumes."""
        draws = max(1, -(-self.trials // sum(map(len, options))))
        hits = []
        for each in options:
            truths = np.repeat(np.arange(len(each)), draws)
            found = JITTER * random.random((len(truths), len(each)))
            for name, table in self._bounded.items():
                counts = table.between(which, each)[1]
                for _ in range(times):
                    found += self._mechanisms[name].judge(counts[truths], counts, self.random_bytes)
            hits.append(int((found.argmax(axis=1) == truths).sum()))
        method: Method = "as planned" if times == 1 else "as planned, published twice"
        most = (bound.exact, bound.promised)
        people = sum(person is not None for each in options for person in each)
        seen = Repeated(tuple(hits), draws * len(options[0]), people)
        return result((attack, method, question), seen, baseline=1 / len(options[0]), seed=self.seed, bound=most)

    def _guess(self, found: Floats, random: np.random.Generator) -> int:
        return int((found + JITTER * random.random(len(found))).argmax())

    def _of(
        self, attack: Attack, method: Method, question: str, hits: int, baseline: float, trials: int | None = None
    ) -> Result:
        number = len(self.people) if trials is None else trials
        seen = Trials(int(hits), number)
        return result((attack, method, question), seen, baseline=baseline, seed=self.seed)
