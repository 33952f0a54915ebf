"""Consent: what a ledger does only when it is told so in words. Days released again, a budget that allows more.

Neither is wrong. But both are easily done by mistake, and the ledger is to tell later that they were meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tapveil.base.errors import BudgetError
from tapveil.ledger.account import in_words
from tapveil.ledger.entry import Budget, Entry, Published, Spend


def refuse_repeated(entries: Sequence[Entry], spend: Spend) -> None:
    """BudgetError for a release of days and modes that were released before."""
    earlier = repeated(entries, spend)
    if earlier is None:
        return
    appeared = any(isinstance(entry, Published) and entry.id == earlier.id for entry in entries)
    then = f"published on {earlier.on}" if appeared else f"paid for on {earlier.on} and not finished (see --resume)"
    raise BudgetError(
        f"refused: the release {earlier.release} {earlier.id[:8]}, {then}, covers some of the same days and modes. To "
        "release them again, at the cost of both releases, add --again. To release other days, give the plan its "
        "first_day and last_day: without them it covers all days. Nothing was spent"
    )


def repeated(entries: Iterable[Entry], spend: Spend) -> Spend | None:
    """The last release, if any, of some of the same days and modes."""
    earlier = [entry for entry in entries if isinstance(entry, Spend) and entry.repeats(spend)]
    return earlier[-1] if earlier else None


def refuse_unexplained(entries: Iterable[Entry], budget: Budget) -> None:
    """BudgetError for a budget that allows more than the one in force, unless it says why, and who decided."""
    same = (budget.data_set, budget.unit)
    before = [entry for entry in entries if isinstance(entry, Budget) and (entry.data_set, entry.unit) == same]
    if before and budget.allows_more_than(before[-1]) and not (budget.reason and budget.by):
        raise BudgetError(
            f"refused: {in_words(before[-1])}, neighbours {before[-1].neighbours}; the new one allows more. Say why, "
            "and who decided it: --reason … --by …. Both are kept in the ledger. Nothing was written"
        )
