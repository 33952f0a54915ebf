"""The mechanism and the weights for the next release, chosen from an earlier published folder and nothing else.

What is published may be looked at by anyone, as often as they like: whatever follows from it costs no privacy
(post-processing). So this reads the folder, guesses from it how large the cells of each table are, and looks for noise
that would have published more of the trips at the same promise. It cannot see a trip, a ledger or an exact count.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapveil.base.errors import FolderError
from tapveil.base.findings import Finding
from tapveil.base.numbers import percent
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.text_table import Grid
from tapveil.base.vocabulary import COUNT, TOTAL
from tapveil.privacy.accountant import over_time
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.distribution import Integers
from tapveil.privacy.loss import Loss, certified
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.describe.wording import UNIT_NAMES, loss_in_words
from tapveil.published.manifest import ERROR_CONFIDENCE, Manifest, TableClaim, number
from tapveil.tuning import every_cell, sizes
from tapveil.tuning.every_cell import TunedWorld
from tapveil.tuning.sizes import Sizes
from tapveil.tuning.weights import FARTHEST, STRIDES, Places, Weights, detailed, groups, start, weight_of, weights_at
from tapveil.verification import manifest as manifests
from tapveil.verification.reading import UnreadableError, json_of, open_inside

CANDIDATES = ("sbh", "laplace", "gaussian")
MOST_TRIES = 40
WORTH_IT, WORTH_A_STEP = 1e-3, 1e-4
"""A gain below this share of the trips is not worth another plan, or another step on the way to it."""
WIDER = 2
"""The 95 % error bound of no table may grow by more than this factor."""
FEW, MOST = 50, 0.9
"""A table is known if more than a few of its cells are published, or cells that hold most of its trips."""
MOST_ROWS = 10**9
ROWS_AT_ONCE = 1_000_000
CLOSELY, ROUGHLY = 0.02, 0.2
"""How well one table tells how many trips another has: closely where each trip is once in every table."""
CAUTION = (
    "Shares are estimates from one published folder; the next trips may differ. Tuning costs no privacy, because it "
    "reads only public data."
)
UNKNOWN = (
    "Some tables published too little to learn from, so the weights stay as they are. The next folder may tell more."
)


@dataclass(frozen=True)
class Outlook:
    """What one table is expected to be like under one mechanism."""

    share: float
    """Of its trips, those in published cells."""
    error: int
    """Noise is beyond it in at most 1 of 20 cells."""
    smallest: int
    """The least number that can be printed."""

    @staticmethod
    def of(guess: Sizes, mechanism: Mechanism) -> Outlook:
        error = mechanism.error_bound(1 - ERROR_CONFIDENCE)
        return Outlook(guess.published_share(mechanism), error, mechanism.smallest_published)


@dataclass(frozen=True)
class TunedTable:
    """One table: its weight in the next release, and what that changes."""

    name: str
    weight: Fraction
    before: Outlook
    after: Outlook
    known: bool
    """Whether enough of it was published to guess its shares."""

    def as_json(self) -> dict[str, Any]:
        both = {"before": self.before, "after": self.after}
        return {
            "name": self.name,
            "weight": number(self.weight),
            "expected_share": {when: outlook.share if self.known else None for when, outlook in both.items()},
            "error_95": {when: outlook.error for when, outlook in both.items()},
            "smallest_published": {when: outlook.smallest for when, outlook in both.items()},
        }


@dataclass(frozen=True)
class Tuned:
    """The mechanism and weights for the next release, at the promise of the folder that they were chosen from."""

    folder: Manifest = field(repr=False)
    """The manifest of the folder."""
    mechanism: str
    """The mechanism to use."""
    tables: tuple[TunedTable, ...]
    """Each table with its weight, before and after."""

    @property
    def loss(self) -> Loss:
        """The total (ε, δ), which stays as it is."""
        return self.folder.exact.loss

    @property
    def before(self) -> float:
        """The estimated share of trips that the folder published, as a mean over the tables with enough published."""
        return _mean([table.before for table in self._known])

    @property
    def after(self) -> float:
        """The expected share of trips that the next release publishes."""
        return _mean([table.after for table in self._known])

    @property
    def _known(self) -> list[TunedTable]:
        fine = [self.tables[place] for place in detailed([table.name for table in self.tables])]
        return [table for table in fine if table.known]

    @property
    def improves(self) -> bool:
        """Whether anything better than the folder's own mechanism was found."""
        return self.after > self.before + WORTH_IT

    def as_json(self) -> dict[str, Any]:
        """The choice as JSON values.

        Returns:
            What `tapveil tune --json` prints.

        Example:
            >>> import tapveil
            >>> tuned = tapveil.tune("published", keep_mechanism=True)
            >>> tuned.as_json()["mechanism"]
            {'before': 'gaussian', 'after': 'gaussian'}
        """
        return {
            "from": {"release": self.folder.release, "release_id": self.folder.release_id},
            "unit": self.folder.unit,
            "neighbours": self.folder.neighbours,
            "epsilon": number(self.loss.epsilon),
            "delta": number(self.loss.delta),
            "improves": self.improves,
            "mechanism": {"before": self.folder.mechanism, "after": self.mechanism},
            "expected_share": {"before": self.before, "after": self.after},
            "tables": [table.as_json() for table in self.tables],
            "caution": CAUTION,
        }

    def lines(self) -> Iterator[str]:
        """The choice in words, line by line.

        Returns:
            The lines.

        Example:
            >>> import tapveil
            >>> tuned = tapveil.tune("published", keep_mechanism=True)
            >>> next(tuned.lines()).split(" found ")[0]
            'No improvement over `gaussian`'
        """
        promise = f"{loss_in_words(self.loss)}, for {UNIT_NAMES[self.folder.unit]}"
        if not self.improves:
            yield f"No improvement over `{self.folder.mechanism}` found at the same {promise}: keep the plan."
            return
        changed = f" instead of `{self.folder.mechanism}`" if self.mechanism != self.folder.mechanism else ""
        yield f"For the next release use `{self.mechanism}`{changed}, with these weights, at the same {promise}:"
        yield ""
        yield from self._rows()
        yield ""
        yield f"Published trips, mean over the tables: {percent(self.before)} before, {percent(self.after)} after."
        if not all(table.known for table in self.tables):
            yield UNKNOWN
        yield CAUTION

    def _rows(self) -> Iterator[str]:
        """The tables, in aligned columns."""
        grid = Grid("table", "weight", "trips published", "95 % error bound", "smallest published")
        for table in self.tables:
            before, after = table.before, table.after
            shares = f"{percent(before.share)} → {percent(after.share):>7}" if table.known else "unknown"
            errors, smallest = f"± {before.error} → {after.error}", f"{before.smallest} → {after.smallest}"
            grid.add(table.name, str(table.weight), shares, errors, smallest)
        return grid.lines()


def tune(folder: str | Path, *, keep_mechanism: bool = False, progress: Reporter | None = None) -> Tuned | TunedWorld:
    """Choose mechanism and weights for the next release from a published folder alone. Costs no privacy.

    No table is expected to lose published trips, and no table's 95 % error bound more than doubles. For a dictionary
    only the weights are chosen: no other noise can replace its own. So it is for a known world, where weights are
    chosen by the expected error of estimates.

    Args:
        folder: A published folder. Nothing else is read.
        keep_mechanism: Choose the weights alone.
        progress: Receives the stages of the work; silent by default.

    Returns:
        The choice, and what it changes. `next_plan` writes it into the plan.

    Raises:
        FolderError: It is not a published folder, does not keep its promise, or shows too little to learn from.

    Example:
        >>> import tapveil
        >>> tuned = tapveil.tune("published", keep_mechanism=True)
        >>> tuned.mechanism, tuned.improves
        ('gaussian', False)
    """
    folder, progress = Path(folder), progress or Silent()
    with progress.stage(Stage.READING_FOLDER):
        manifest, made = _promise(folder)
        if manifest.is_world:
            every = every_cell.Search(manifest, made, every_cell.learnt(folder, manifest))
            return every.tuned()
        guesses = _guesses(manifest, made, [_seen(folder, manifest, table) for table in manifest.tables])
    search = _Search(manifest, made, guesses)
    names = CANDIDATES if manifest.mechanism in CANDIDATES and not keep_mechanism else (manifest.mechanism,)
    # It ends when nothing gets better, and nobody knows when that is: no total, and so no time that remains.
    with progress.stage(Stage.TRYING_WEIGHTS, lambda: len(search.tried), total=None, unit="tries"):
        return search.tuned(search.best(names))


# --- reading the folder -----------------------------------------------------------------------------------------------


def _promise(folder: Path) -> tuple[Manifest, list[Mechanism]]:
    """The manifest, and the mechanism of each table; a folder that cannot be verified is nothing to start from."""
    if not folder.is_dir():
        raise FolderError(f"there is no folder {folder}")
    try:
        manifest, findings = manifests.read(json_of(folder, manifests.PLACE))
    except UnreadableError as error:
        manifest, findings = None, [error.finding]
    made, findings = manifests.mechanisms(manifest) if manifest else ({}, findings)
    if manifest is None or findings:
        raise FolderError(_no_release(folder, findings[0]))
    every = [made[table.name] for table in manifest.tables]
    try:
        kept = min(map(weight_of, manifest.tables)) > 0 and certified(every, manifest.exact.loss, manifest.exposure)
    except (ArithmeticError, ValueError):  # numbers that no release has
        kept = False
    if not kept:
        raise FolderError(f"{folder} does not satisfy its stated privacy guarantee: run tapveil verify for details")
    return manifest, every


def _no_release(folder: Path, finding: Finding) -> str:
    return f"{folder} is not a usable published folder: {finding.place} {finding.sentence}"


def _seen(folder: Path, manifest: Manifest, table: TableClaim) -> Integers:
    """The published counts of one table, by their size."""
    sheet, tap = manifest.arrangement.file_of(table)
    name = f"data/{sheet}.parquet"
    try:
        with os.fdopen(open_inside(folder, name), "rb") as file:
            parquet = pq.ParquetFile(file)
            if parquet.metadata.num_rows > MOST_ROWS or parquet.schema_arrow.field(COUNT).type != pa.int64():
                raise ValueError
            wanted, seen = [COUNT, "tap"] if tap else [COUNT], np.zeros_like(sizes.CLASSES[1:])
            for batch in parquet.iter_batches(ROWS_AT_ONCE, columns=wanted, use_threads=False):
                own = batch.filter(pc.equal(batch.column("tap"), tap)) if tap else batch
                counts = own.column(COUNT).to_numpy()  # an ArrowException where one is missing
                if len(counts) and not table.smallest_published <= counts.min() <= counts.max() < sizes.LARGEST:
                    raise ValueError
                seen += sizes.histogram(counts)
            return seen
    except UnreadableError as error:
        raise FolderError(_no_release(folder, error.finding)) from None
    except (pa.ArrowException, OSError, KeyError, ValueError, MemoryError):
        raise FolderError(f"the counts of table {table.name} in {folder} cannot be read: {name}") from None


def _guesses(manifest: Manifest, made: Sequence[Mechanism], seen: Sequence[Integers]) -> list[Sizes]:
    """How large the cells of each table are; one that shows nearly all trips says how many the others hide."""
    guesses = [sizes.guess(each, mechanism) for each, mechanism in zip(seen, made, strict=True)]
    names = [table.name for table in manifest.tables]
    if not manifest.from_a_list:  # where each list leaves out other trips
        shown = [float(each @ sizes.CLASSES[:-1]) for each in seen]
        if TOTAL in names:
            trips = shown[names.index(TOTAL)]
        else:  # as the table has them that seems to hide least, of those that show about as many as any
            shares = map(Sizes.published_share, guesses, made)
            wide = zip(shares, guesses, shown, strict=True)
            trips = max((share, guess.trips) for share, guess, all_shown in wide if all_shown >= MOST * max(shown))[1]
        trust = CLOSELY if manifest.unit == "trip" and manifest.rows == "trips" else ROUGHLY
        guesses = [sizes.guess(each, mechanism, trips, trust) for each, mechanism in zip(seen, made, strict=True)]
    known = [
        guess if each.sum() > FEW or guess.published_share(mechanism) > MOST else sizes.NOTHING
        for guess, each, mechanism in zip(guesses, seen, made, strict=True)
    ]
    if not any(known[place].trips for place in detailed(names)):
        raise FolderError(
            "too little was published in this folder to learn from; larger areas or longer time bins publish more"
        )
    return known


# --- looking for something better -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Try:
    """One mechanism with weights, and what it would do to each table."""

    name: str
    weights: Weights
    outlooks: tuple[Outlook, ...]
    worth: tuple[bool, float]
    """Whether it is allowed, and the share of the trips, as a mean over the tables."""

    def beats(self, other: _Try, by: float) -> bool:
        allowed, share = other.worth
        return self.worth > (allowed, share + by)


class _Search:
    """A walk over weights from those of the folder, one group of tables at a time, while it gets better."""

    def __init__(self, manifest: Manifest, made: Sequence[Mechanism], guesses: Sequence[Sizes]) -> None:
        self._manifest, self._guesses = manifest, guesses
        self._cut = int(made[0].threshold) if manifest.from_a_list else 1
        self._now = tuple(Outlook.of(guess, mechanism) for guess, mechanism in zip(guesses, made, strict=True))
        self._known = [bool(guess.trips) for guess in guesses]
        self._groups = groups(manifest.tables)
        self._detailed = detailed([table.name for table in manifest.tables])
        self._start = start([weight_of(table) for table in manifest.tables], self._groups)
        self.tried: dict[tuple[str, Weights], _Try | None] = {}

    def best(self, names: Sequence[str]) -> _Try | None:
        """The best that was found; None where there is no noise for this promise at all."""
        places = self._start
        first = [found for name in names if (found := self._try(name, places))]
        if not first:
            return None
        best = max(first, key=lambda each: each.worth)
        for stride in STRIDES if all(self._known) else ():
            while better := self._step(best, places, stride):
                best, places = better
        return best

    def _step(self, best: _Try, places: Places, stride: int) -> tuple[_Try, Places] | None:
        """The step that makes it better by most; None where none does."""
        steps = []
        # The share of the totals stays as it is: they are not there to publish more.
        movable = [number for number, group in enumerate(self._groups) if group[0] in self._detailed]
        for group, way in product(movable, (stride, -stride)):
            moved = (*places[:group], places[group] + way, *places[group + 1 :])
            near = abs(moved[group] - self._start[group]) <= FARTHEST
            if near and (found := self._try(best.name, moved)) and found.beats(best, by=WORTH_A_STEP):
                steps.append((found, moved))
        return max(steps, key=lambda step: step[0].worth, default=None)

    def _try(self, name: str, places: Places) -> _Try | None:
        key = (name, weights_at(places, self._groups))
        if key not in self.tried and len(self.tried) < MOST_TRIES:
            self.tried[key] = self._outcome(*key)
        return self.tried.get(key)

    def _outcome(self, name: str, weights: Weights) -> _Try | None:
        loss, exposure = self._manifest.exact.loss, self._manifest.exposure
        try:
            over = over_time(exposure, self._manifest.unit)  # as the plan will have it
            made = calibrate(name, weights, loss.epsilon, loss.delta, over, self._cut)
        except ValueError:  # there is no such noise
            return None
        after = tuple(Outlook.of(guess, mechanism) for guess, mechanism in zip(self._guesses, made, strict=True))
        detailed = [(after[index], self._now[index]) for index in self._detailed]
        less = any(new.share < old.share - 1e-9 or new.smallest > old.smallest for new, old in detailed)
        wider = any(new.error > WIDER * old.error for new, old in zip(after, self._now, strict=True))
        return self._tried(name, weights, after, not less and not wider and certified(made, loss, exposure))

    def _tried(self, name: str, weights: Weights, outlooks: tuple[Outlook, ...], allowed: bool) -> _Try:
        return _Try(name, weights, outlooks, (allowed, _mean([outlooks[index] for index in self._detailed])))

    def tuned(self, best: _Try | None) -> Tuned:
        """The outcome; where nothing better was found, what the folder itself was made with."""
        tables = self._manifest.tables
        present = self._tried(self._manifest.mechanism, tuple(map(weight_of, tables)), self._now, allowed=True)
        chosen = best if best and best.beats(present, by=WORTH_IT) else present
        names = (table.name for table in tables)
        every = map(TunedTable, names, chosen.weights, self._now, chosen.outlooks, self._known)
        return Tuned(self._manifest, chosen.name, tuple(every))


def _mean(outlooks: Sequence[Outlook]) -> float:
    return sum(outlook.share for outlook in outlooks) / len(outlooks)
