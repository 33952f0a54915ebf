"""The closing words of a release: what was published, what it cost, what is left, what to do next. One screen.

All of it follows from the published folder, the plan and the ledger: this module cannot see an exact count. It is
confidential all the same, and not to be published: what remains of a budget shows whether an earlier release was paid
for and never appeared.
"""

from __future__ import annotations

import shlex
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from fractions import Fraction
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapveil.base.text_table import Grid
from tapveil.base.vocabulary import COUNT, EXPLORER, NOUNS, TOTAL, UNKNOWN
from tapveil.ledger import words as ledger_words
from tapveil.ledger.accounts import FAR_ENOUGH, accounts, most_more, other_days_fit
from tapveil.ledger.book import Ledger
from tapveil.ledger.coverage import names_no_days
from tapveil.ledger.entry import Entry, Spend
from tapveil.plan.model import Plan
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.metadata import DCAT
from tapveil.published.describe.wording import LOOKED, UNIT_NAMES, loss_in_words, rounded_up
from tapveil.published.folder import Folder, open_folder
from tapveil.published.frame import Estimate
from tapveil.published.sheets import distinct

WIDTH, LINES = 80, 23
"""Of a screen; a line is left for the prompt."""
LEAST_TABLES, MOST_MODES = 2, 6
LONGEST_NAME = 44
LOCATION = "loc"
"""What the Opal layout calls a place."""


def closing_lines(plan: Plan, published: Folder, plan_file: Path, *, in_ledger: bool = True) -> Iterator[str]:
    """What was published, what it cost, what is left, what to do next."""
    contents = _Contents.of(plan, published)
    opening = [f"Published: {published.path}", *_wrapped(f"{contents.in_words(plan)}.")]
    rest = ["", *_spent_lines(plan, published, in_ledger), "", *_next_lines(plan, published, plan_file, in_ledger)]
    yield from opening
    yield from _table_lines(plan, contents, LINES - len(opening) - len(rest) - 1)
    yield from rest


def _spent_lines(plan: Plan, published: Folder, in_ledger: bool) -> Iterator[str]:
    """The privacy cost, the δ that the noise really has at this ε, and what remains of the budget."""
    stated = next(each for each in published.privacy["guarantees"] if each["neighbours"] == plan.privacy.neighbours)
    exactly = rounded_up(Fraction(stated["delta_accounted"]))
    spent = f"{loss_in_words(plan.guarantee.loss)}, for {UNIT_NAMES[plan.privacy.unit]}"
    yield from _wrapped(f"Privacy cost: {spent} (exact accounting: delta {exactly}).")
    yield LOOKED[plan.privacy.looked_at_trips]
    if plan.privacy.looked_at_trips is None:
        yield "State it in the plan: looked_at_trips = true or false, under [privacy]."
    if in_ledger:
        with Ledger.open(plan.ledger_path) as book:
            for words in _left_in_words(plan, book.entries, str(published.privacy["release_id"])):
                yield from _wrapped(words)
    else:
        yield from _wrapped("Not recorded in a ledger: later releases of these trips will not account for it.")


def _wrapped(words: str) -> list[str]:
    """A paragraph that fits the screen; no word of it is broken, so that a path can be copied."""
    return textwrap.wrap(words, WIDTH, break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True)
class _Contents:
    """What there is in a folder."""

    tables: dict[str, tuple[int, int]]
    """Of each table: how many cells, and the sum of their counts."""
    days: Sequence[str]
    modes: Sequence[str]
    places: int
    total: Estimate | None
    """How many trips there are in all, where that is published. Cards may be in several parts: they are not added."""

    @classmethod
    def of(cls, plan: Plan, published: Folder) -> _Contents:
        tables: dict[str, tuple[int, int]] = {}
        labels: dict[str, set[str]] = defaultdict(set)
        for name in published.sheets:
            path = published.path / published.manifest.arrangement.folder / f"{name}.parquet"
            with pq.ParquetFile(path) as file:
                tables[name] = (file.metadata.num_rows, int(pc.sum(file.read([COUNT]).column(COUNT)).as_py() or 0))
                columns = file.schema_arrow.names
            table = plan.tables.get(name)
            wider = table is not None and table.level.location is not None  # wider areas are no places of their own
            for column in columns:
                kind = plan.source.kind(column) if column in plan.source.columns else None
                if column in ("date", "mode"):
                    labels[column].update(distinct(path, column))
                elif not wider and (kind == "location" or column == LOCATION):
                    labels["place"].update(distinct(path, column))
        labels["place"].discard(UNKNOWN)
        opened = open_folder(published.path)
        total = opened.total() if tables.get(TOTAL, (0, 0))[0] and not plan.privacy.by_card else None
        return cls(tables, sorted(labels["date"]), sorted(labels["mode"]), len(labels["place"]), total)

    def in_words(self, plan: Plan) -> str:
        cells = sum(cells for cells, _ in self.tables.values())
        parts = [_several(len(self.tables), "table"), _several(cells, "cell")]
        if self.days:
            span = f"{self.days[0]} to {self.days[-1]}" if len(self.days) > 1 else self.days[0]
            parts.append(f"{_several(len(self.days), 'day')} ({span})")
        if self.modes:
            more = ", …" if len(self.modes) > MOST_MODES else ""
            parts.append(f"{_several(len(self.modes), 'mode')} ({', '.join(self.modes[:MOST_MODES])}{more})")
        if self.places:
            parts.append(_several(self.places, "place"))
        if self.total is not None:
            total, noun = self.total, "taps on" if plan.source.taps else "trips"
            parts.append(f"about {total.count:,} {noun} in total (between {total.low:,} and {total.high:,})")
        return ", ".join(parts)


def _several(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _table_lines(plan: Plan, contents: _Contents, room: int) -> Iterator[str]:
    """The tables, as many as a screen has room for; totals come first, unless they are said already."""
    grid = Grid("table", "cells", f"published {NOUNS[plan.privacy.unit]}")
    rows = [(name, numbers) for name, numbers in contents.tables.items() if name != TOTAL or contents.total is None]
    rows.sort(key=lambda row: row[0] != TOTAL)
    most = max(room, LEAST_TABLES)
    shown = rows if len(rows) <= most else rows[: most - 1]
    for name, (cells, counted) in shown:
        short = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        grid.add(short, f"{cells:,}", f"{counted:,}")
    if others := rows[len(shown) :]:
        # Every table counts the same trips: over several of them only cells can be added up.
        grid.add(f"{len(others)} others", f"{sum(cells for _, (cells, _) in others):,}")
    if rows:
        yield from grid.lines()


def _left_in_words(plan: Plan, entries: Sequence[Entry], release: str) -> Iterator[str]:
    """What is left of each budget of the data set, and for how much that is enough."""
    spend = next((each for each in entries if isinstance(each, Spend) and each.id == release), None)
    for account in accounts(entries):
        if account.budget.data_set == plan.ledger.data_set:
            budget = account.budget
            same = (budget.unit, budget.neighbours) == (plan.privacy.unit, plan.privacy.neighbours)
            whole = f"{loss_in_words(budget.loss)} for `{budget.data_set}`"
            limit = whole if same else ledger_words.limit(budget)  # whom it protects need not be said twice
            left = f"remaining: epsilon {decimal_text(account.left, 5, ROUND_FLOOR)}"
            room = ""
            if spend:
                more = most_more(account, spend)
                number = f"{more} or more" if more == FAR_ENOUGH else f"{more or 'no'} more"
                others = "; releases of other days fit as well" if other_days_fit(account, spend) else ""
                room = f" Room for {number} release{'' if more == 1 else 's'} like this one{others}."
                if not more:
                    new = "; new days have their own" if others else ""
                    room = f" For these days the budget is used up{new}."
            yield f"Ledger {plan.ledger_path}: budget {limit}; {left}.{room}"
    if spend and names_no_days(spend):
        yield ledger_words.NAMES_NO_DAYS if plan.source.can_name_days else ledger_words.HAS_NO_DAYS


def _next_lines(plan: Plan, published: Folder, plan_file: Path, in_ledger: bool) -> Iterator[str]:
    """Paths and commands are never broken: they are to be copied."""
    folder, page = published.path, published.path / EXPLORER
    page = page if page.exists() else folder / "README.md"
    yield f"Next  look at it  open {page} in a browser"
    yield f"      verify it   tapveil verify {shlex.quote(str(folder))}"
    yield f"      publish it  copy the whole folder unchanged; portals read {DCAT}"
    if in_ledger:
        yield f"      keep        {plan.ledger_path}, and a backup on another disk"
    yield f"      review it   tapveil check {shlex.quote(str(plan_file))} (confidential)"
