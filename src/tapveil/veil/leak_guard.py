"""The leak guard: the last check of a folder before it is published. It finds mistakes in a plan, not in the noise.

There must be no column that the plan does not publish, and no text that is a card ID in the trips. If columns were
mixed up, card IDs would get noisy counts like any label, and the IDs themselves would be published.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.base.errors import LeakError
from tapveil.base.layouts import LAYOUTS
from tapveil.base.vocabulary import DURATION, RESERVED, SHAPES, TRIPS, UNTIL, WEIGHT
from tapveil.plan.model import Plan
from tapveil.published import domain
from tapveil.published.identifiers import MOST, SOME, ColumnLook
from tapveil.published.lattice import WIDER_COLUMNS
from tapveil.published.sheets import distinct

CardsAmong = Callable[[list[str]], Set[str]]
"""Which of some texts are card IDs."""

SHORT = 6
"""Shorter numbers, and words, may be card IDs by chance: they only count if most values of a column are."""
_TOKENS = (re.compile(r"[^\W_]+"), re.compile(r"\w+"), re.compile(r"\w+(?:[-./:]\w+)+"), re.compile(r"\S+"))
"""Possible IDs within a longer name: letters and digits, perhaps with punctuation between them."""
_DIGIT = re.compile(r"\d")

Place = tuple[str, str]
"""A file of the folder, and a column of it."""


def refuse_mixed_up(labels: Mapping[str, Iterable[str]], cards: Set[str]) -> None:
    """Raise LeakError, before a spend, if most labels of a column identify people: no single trip decides it."""
    for column, values in labels.items():
        if found := _what_it_holds(column, set(values), cards, most=True):
            raise LeakError(f"column `{column}`: {found}. {_ADVICE}. No budget was spent")


def refuse_leaks(folder: Path, plan: Plan, cards_among: CardsAmong) -> None:
    """Raise LeakError if a table has a column that the plan does not publish, or one that identifies people."""
    keys = {column for table in plan.table for column in plan.columns.of(table)}
    ends = {f"{column}{UNTIL}" for column in keys if plan.source.kind(column) == "time"}
    layout = LAYOUTS[plan.release.layout]
    days = {"date"} if plan.columns.calendars else set()
    known = keys | ends | days | RESERVED | {*WIDER_COLUMNS, *layout.columns}
    copied = layout.copied({key for key in keys if plan.columns.copies(key)})
    if plan.privacy.is_world:  # what is copied there are public lists, whatever the trips say
        known |= {*domain.COLUMNS, WEIGHT, *(["tap_off_time"] if DURATION in keys else [])}  # which durations tell
    for file, column in _columns(folder):
        if column not in known:
            raise LeakError(f"{file} has the column `{column}`, which the plan does not publish. {_STOPPED}")
    # Everything that is not copied from the trips follows from the plan.
    texts = {
        (file, column): distinct(folder / file, column)
        for file, column in _columns(folder)
        # Synthetic trips have no text that the measurements do not have.
        if column in copied and file.endswith(".parquet") and not file.startswith(f"{TRIPS}/")
    }
    cards = cards_among(words(value for values in texts.values() for value in values))
    for (file, column), values in texts.items():
        if found := _what_it_holds(column, values, cards, most=False):
            raise LeakError(f"{file}, column `{column}`: {found}. {_ADVICE}. {_STOPPED}")


def words(values: Iterable[str]) -> list[str]:
    """All texts that could be card IDs."""
    return sorted({word for value in values for word in _words(value)})


def _what_it_holds(column: str, values: set[str], cards: Set[str], *, most: bool) -> str:
    """The reason why a column must not be published, or an empty text."""
    one = not most and any(_is_telling(word) and word in cards for value in values for word in _words(value))
    if one or 2 * sum(value.strip() in cards for value in values) > len(values):
        return "contains values that are card IDs in the source data"
    look = ColumnLook(column)
    look.add(pa.chunked_array([pa.array(sorted(values), pa.string())]))
    found = look.findings("", MOST if most else SOME)
    return next((each.sentence for each in found if each.code in _ALIKE), "")


_ALIKE = ("identifier-hash", "identifier-card", "identifier-email")
_ADVICE = (
    "If columns were mixed up, correct [source.columns]; if stops have numbers like cards, rename them with a lookup"
)
_STOPPED = "Nothing was published. The budget stays spent, and --resume would fail again; remove the unfinished release"


def _columns(folder: Path) -> Iterator[Place]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.startswith(f"{SHAPES}/"):  # the cells of the tables, in columns that the plan names otherwise
            continue
        if path.suffix == ".parquet":
            yield from ((name, column) for column in pq.read_schema(path).names)
        elif path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                yield from ((name, column) for column in next(csv.reader(file), []))


def _words(value: str) -> Iterator[str]:
    """A text, and the words in it that could be IDs."""
    yield value.strip()
    yield from (word for pattern in _TOKENS for word in pattern.findall(value) if _is_telling(word))


def _is_telling(word: str) -> bool:
    return len(word) >= SHORT and bool(_DIGIT.search(word))
