"""What is written in a ledger: versioned data that never changes its meaning.

An entry holds what accounting needs and nothing that depends on the trips. Fields are never renamed, given another
meaning or another default; what is new gets a new version, and a version that is not known is refused. Every version
that ever was is read for ever; the newest is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import pydantic
from pydantic import AfterValidator, Field

from tapveil._version import __version__
from tapveil.base.errors import LedgerError
from tapveil.base.public_total import MOST_TOTALS, PublicTotal
from tapveil.base.types import Delta, Epsilon, Exact, Frozen, Name, Text
from tapveil.privacy.loss import Loss
from tapveil.privacy.mechanisms import Mechanism, stated
from tapveil.privacy.units import Neighbours, Unit

ENTRY_VERSION: Literal[5] = 5
_NOT_IN_1 = {"nonce", "reason", "by"}
MOST_STATED = 1_000_000
_NONCE = re.compile(r"[0-9a-f]{32}")

Id = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


def _one_line(words: str) -> str:
    if not (words.strip() and words.isprintable()):
        raise ValueError("must be one line of text")
    return words


Words = Annotated[Text, AfterValidator(_one_line)]


class _Entry(Frozen):
    version: Literal[1, 2, 3, 4, 5] = ENTRY_VERSION
    """Of this list; a version that is not known is refused. Version 1 had no `nonce`, `reason`, `by` and `accepted`;
    version 2 no `trips_per_cell` and `schedule`; version 3 no `delivered`, `withdrawn` and `totals`; version 4 no
    `officers` and `approval`."""
    on: date
    """The day on which it was written."""

    def text(self, nonce: str) -> str:
        """The one way to write it: keys in order, no blanks.

        The nonce, 128 random bits, is no part of what the entry means: it keeps the entry, and all before it, from
        being guessed by the hash that is published.
        """
        data = {**self.model_dump(mode="json"), "nonce": nonce}
        return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Start(_Entry):
    """The first entry: which ledger this is."""

    kind: Literal["start"] = "start"
    """Which of these entries it is."""
    ledger: Id
    """The id of this ledger."""


LARGEST_BUDGET = 100_000


def _sensible(epsilon: Fraction) -> Fraction:
    if epsilon > LARGEST_BUDGET:
        raise ValueError(f"must be at most {LARGEST_BUDGET}; above it nothing is protected")
    return epsilon


class Budget(_Entry):
    """A privacy budget: how much may ever be spent on the units of a data set. A later one for the same replaces it.

    >>> from datetime import date
    >>> import tapveil
    >>> budget = tapveil.Budget(
    ...     on=date(2025, 3, 10), data_set="trips", unit="trip", neighbours="replace", epsilon="8", delta="1e-6"
    ... )
    >>> budget.epsilon
    Fraction(8, 1)
    """

    kind: Literal["budget"] = "budget"
    """Which of these entries it is."""
    data_set: Name
    """Whose trips."""
    unit: Unit
    """What is protected as a whole."""
    neighbours: Neighbours
    """In which notion."""
    epsilon: Annotated[Epsilon, AfterValidator(_sensible)]
    """All that may ever be spent."""
    delta: Delta
    """At this δ."""
    reason: Words | None = None
    """Why it was set; a budget that allows more than the one before must say it."""
    by: Words | None = None
    """Who decided it; likewise."""

    @property
    def loss(self) -> Loss:
        return Loss(self.epsilon, self.delta)

    def allows_more_than(self, before: Budget) -> bool:
        """Whether something may be released under it that the one before would refuse."""
        larger = self.epsilon > before.epsilon or self.delta > before.delta
        return larger or self.neighbours != before.neighbours


class SpentTable(Frozen):
    """One table of a release: its noise and its threshold."""

    name: Name
    """Its name in the plan."""
    mechanism: Literal["sbh", "laplace", "gaussian", "dictionary", "world"]
    """How noise was added."""
    scale: Exact
    """The scale of the noise."""
    threshold: Exact
    """What a noisy count had to reach."""
    trips_per_cell: Annotated[int, Field(ge=1)] = 1
    """How many trips of a unit counted in a cell, at most. Entries without it are of one."""

    def __hash__(self) -> int:
        """Computed once: releases by the thousand are sorted by their noise."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.mechanism, self.scale, self.threshold, self.trips_per_cell))


class Spend(_Entry):
    """One release: whom it protects, with which noise, and the days and modes that it covers (None: all)."""

    kind: Literal["release"] = "release"
    """Which of these entries it is."""
    id: Id
    """The `release_id` of the folder."""
    data_set: Name
    """Whose trips."""
    release: Name
    """`name` in the plan."""
    plan_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of what the plan means."""
    unit: Unit
    """What is protected as a whole."""
    neighbours: Neighbours
    """In which notion."""
    cells: Annotated[int, Field(ge=1)]
    """In how many cells of a table a unit counts, at most."""
    tables: Annotated[tuple[SpentTable, ...], Field(min_length=1)]
    """Each table, with its noise."""
    first_day: date | None
    """Only from this day on."""
    last_day: date | None
    """Only up to this day."""
    days_by: str | None
    """How the day of a row is read: releases of other days are apart only if they mean the same by a day."""
    cards_by: str | None
    """How the card of a row is read, where the unit is a card or its day."""
    modes: Annotated[tuple[str, ...] | None, AfterValidator(lambda modes: modes and tuple(sorted(modes)))]
    """Only these modes."""
    modes_by: str | None
    """How the mode of a row is read."""
    rows: Literal["trips", "taps"] = "trips"
    """What a row is: a trip has two taps, and they may be on two days. Entries without it are of trips."""
    chosen_from: Id | None = None
    """The release from whose output its noise was chosen. Entries without it were planned by themselves."""
    totals: Annotated[tuple[PublicTotal, ...], Field(max_length=MOST_TOTALS)] = ()
    """Exact totals of its trips that were published elsewhere, without noise. They cost no ε, and none covers them."""
    approval: Id | None = None
    """The approval that it was made under, an earlier entry; none where none was required."""

    @property
    def mechanisms(self) -> Sequence[Mechanism]:
        return _mechanisms(self.tables, self.cells)

    def repeats(self, other: Spend) -> bool:
        """Whether both may show the same trips: of one data set, and of some day and mode in common."""
        other_days = other_modes = False
        # Days, and modes, can be compared only where they are read in the same way.
        if self.first_day and self.last_day and other.first_day and other.last_day and self.days_by == other.days_by:
            other_days = self.last_day < other.first_day or other.last_day < self.first_day
        if self.modes is not None and other.modes is not None and self.modes_by == other.modes_by:
            other_modes = set(self.modes).isdisjoint(other.modes)
        return self.data_set == other.data_set and not (other_days or other_modes)


MOST_RELEASES = 5000
"""Of a schedule."""


class Scheduled(_Entry):
    """Equal releases that are to come: nothing may be released that would leave no room for them.

    A later one for the same data set and unit replaces it.
    """

    kind: Literal["schedule"] = "schedule"
    """Which of these entries it is."""
    data_set: Name
    """Whose trips."""
    unit: Unit
    """What is protected as a whole."""
    releases: Annotated[int, Field(ge=1, le=MOST_RELEASES)]
    """How many there are to be, from this entry on."""
    days: Annotated[int, Field(ge=1, le=366)]
    """The length of each."""
    cells: Annotated[int, Field(ge=1)]
    """In how many cells of a table a unit counts, at most."""
    tables: Annotated[tuple[SpentTable, ...], Field(min_length=1)]
    """Each table, with its noise."""
    chosen_from: Id | None = None
    """The release from whose output its noise was chosen."""

    def is_of(self, spend: Spend) -> bool:
        """Whether a release is one of it: with this noise, and no other, chosen in the same way."""
        return (spend.data_set, spend.unit, spend.cells, spend.tables, spend.chosen_from) == (
            self.data_set,
            self.unit,
            self.cells,
            self.tables,
            self.chosen_from,
        )


class Published(_Entry):
    """A paid release is about to appear as this folder, known by its checksums: it may appear as no other."""

    kind: Literal["published"] = "published"
    """Which of these entries it is."""
    id: Id
    """The release."""
    checksums_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the folder's `SHA256SUMS`."""


class Accepted(_Entry):
    """Another ledger, whose folders may lie next to those of this one: it is of other trips, or was taken over."""

    kind: Literal["accepted"] = "accepted"
    """Which of these entries it is."""
    ledger: Id
    """The id of the other ledger."""
    reason: Words
    """Why there are two."""
    by: Words
    """Who decided it."""


class Delivered(_Entry):
    """A release is at a portal, complete. It costs nothing: the folder was public before."""

    kind: Literal["delivered"] = "delivered"
    """Which of these entries it is."""
    id: Id
    """The release."""
    checksums_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the folder's `SHA256SUMS`."""
    portal: Name
    """Which sort of portal."""
    address: Words
    """Where people find it."""


class Withdrawn(_Entry):
    """A release that is not to be used any more. What it spent stays spent."""

    kind: Literal["withdrawn"] = "withdrawn"
    """Which of these entries it is."""
    id: Id
    """The release."""
    reason: Words
    """Why, as the notice for readers says it."""
    by: Words
    """Who decided it."""


MOST_OFFICERS = 10
Key = Annotated[str, Field(pattern=r"^ssh-ed25519 [A-Za-z0-9+/]{68}$")]
"""A public key as a line of a .pub file has it, without its comment."""
Armored = Annotated[str, Field(max_length=1000)]
"""A signature as OpenSSH writes it."""


class Officers(_Entry):
    """From here on, every release needs an approval that one of these keys signed; without keys, none does.

    The first such entry is free. Whatever changes it is signed by a key of the one before, so that nobody else ends it.
    """

    kind: Literal["officers"] = "officers"
    """Which of these entries it is."""
    keys: Annotated[tuple[Key, ...], Field(max_length=MOST_OFFICERS)]
    """The public SSH keys, any of which approves. None: approvals are no longer required."""
    replaces: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """The hash of the entry that it replaces."""
    reason: Words | None = None
    """Why it was changed."""
    by: Words | None = None
    """Who decided it."""
    signature: Armored | None = None
    """By a key of the entry that it replaces, over this entry without its signature, as `signed` has it."""

    def signed(self, ledger: str) -> bytes:
        """What a key of the entry before signs: these officers, in this ledger, in place of that entry."""
        said = self.model_dump(mode="json", include={"kind", "on", "keys", "replaces", "reason", "by"})
        data = {**said, "ledger": ledger}
        return json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False).encode() + b"\n"


class Approved(_Entry):
    """An officer's approval, as it was signed, written when the first release is made under it."""

    kind: Literal["approval"] = "approval"
    """Which of these entries it is."""
    statement: Annotated[str, Field(max_length=MOST_STATED)]
    """What is approved: a text in JSON whose keys are listed below."""
    signature: Armored
    """The officer's signature of it."""


Entry = Start | Budget | Spend | Scheduled | Published | Accepted | Delivered | Withdrawn | Officers | Approved
_ENTRY: pydantic.TypeAdapter[Entry] = pydantic.TypeAdapter(Annotated[Entry, Field(discriminator="kind")])
_TABLES = pydantic.TypeAdapter(tuple[SpentTable, ...])


def read(number: int, text: str) -> Entry:
    """An entry from its text; a version that is not known, or data that is not an entry, is refused."""
    try:
        return _read(text)
    except _UnknownVersionError as error:
        raise LedgerError(
            f"entry {number} of the ledger has version {error}, which tapveil {__version__} does not know: "
            "use the tapveil that wrote it, or a newer one"
        ) from None
    except (ValueError, RecursionError):
        raise LedgerError(
            f"entry {number} of the ledger is invalid, so the ledger is damaged: restore it from its backup"
        ) from None


class _UnknownVersionError(Exception):
    """Of an entry of a later program."""


@lru_cache(maxsize=2**15)
def _read(text: str) -> Entry:
    """The same text is the same entry: a release asks for all entries several times."""
    data: Any = json.loads(text)
    version = data.get("version") if isinstance(data, dict) else None
    if version is None or version not in range(1, ENTRY_VERSION + 1):
        raise _UnknownVersionError(repr(version))
    if version == 1:
        if data.keys() & _NOT_IN_1 or data.get("kind") == "accepted":
            raise ValueError("version 1 had none of these")
    elif not (isinstance(nonce := data.pop("nonce", None), str) and _NONCE.fullmatch(nonce)):
        raise ValueError("it has no nonce")
    several = any("trips_per_cell" in table for table in data.get("tables", ()))
    if version < 3 and (several or data.get("kind") == "schedule"):
        raise ValueError("version 2 had neither")
    if version < 4 and data.get("kind") in ("delivered", "withdrawn"):
        raise ValueError("version 3 had neither")
    if version < 4 and "totals" in data:
        raise ValueError("version 3 had none")
    if version < 5 and ("approval" in data or data.get("kind") in ("officers", "approval")):
        raise ValueError("version 4 had neither")
    if "tables" in data:
        data["tables"] = _tables(json.dumps(data["tables"]))
    entry: Entry = _ENTRY.validate_python(data)
    if isinstance(entry, Spend):
        _ = entry.mechanisms
    return entry


@lru_cache(maxsize=2**12)
def _tables(text: str) -> tuple[SpentTable, ...]:
    """Releases of one plan have the same tables: they are read once, and are one object."""
    return _TABLES.validate_python(json.loads(text))


@lru_cache(maxsize=2**12)
def _mechanisms(tables: tuple[SpentTable, ...], cells: int) -> tuple[Mechanism, ...]:
    return tuple(stated(table.mechanism, table.scale, table.threshold, table.trips_per_cell, cells) for table in tables)
