"""Tables of a known world in which noise hides most trips: these are in cells that are smaller than its error bound.

Every cell is published, so that nothing is missing; but a single cell of a single day says little. Where each trip, or
each day of a card, counts by itself, days of a kind can be counted together: cells are larger, and noise is as wide.
CONFIDENTIAL: it follows from exact counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

import numpy as np

from tapveil.base.calendar import KINDS_OF_DAY, kind_of
from tapveil.base.numbers import percent
from tapveil.base.vocabulary import NOUNS
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.reveal import exact_counts
from tapveil.inputs.public import PublicInputs
from tapveil.internal.merged import merged
from tapveil.plan.model import Plan
from tapveil.privacy.distribution import Integers
from tapveil.published.manifest import ERROR_CONFIDENCE

MOST = 0.5
KINDS = "weekday-saturday-sunday"


def thin_tables(plan: Plan, counted: Counted) -> dict[str, float]:
    """Of each table in which noise hides most trips: their share."""
    if not plan.privacy.is_world:
        return {}
    shares = {table.name: _hidden(plan, table.name, _counts(counted, table.name)) for table in plan.detailed}
    return {name: share for name, share in shares.items() if share > MOST}


def advice(inputs: PublicInputs, counted: Counted) -> Iterator[str]:
    """One sentence for all such tables: how thin they are, and what helps."""
    plan = inputs.plan
    if not (thin := thin_tables(plan, counted)):
        return
    noun, wider = NOUNS[plan.privacy.unit], "larger areas or wider bins"
    yield (
        f"most cells are smaller than their noise; {noun} in cells with fewer than the 95 % error bound: "
        f"{_listed(thin)}. Single estimates then say what is typical, and may be left out. "
        f"{_by_kind(inputs, counted, thin) or f'Use {wider}'}"
    )


def _by_kind(inputs: PublicInputs, counted: Counted, thin: Mapping[str, float]) -> str | None:
    """What counting the days of a kind together would bring; of a card, a single trip would count there."""
    plan, holidays = inputs.plan, sorted(inputs.holidays)
    dated = [name for name in thin if "date" in counted.tables[name].packing.columns]
    together = {name: _hidden(plan, name, _of_kinds(counted.tables[name], holidays)) for name in dated}
    if plan.privacy.unit == "card" or not any(share < thin[name] for name, share in together.items()):
        return None
    partition = ", ".join(f'"{"day_type" if each == "date" else each}"' for each in plan.release.partition)
    instead = f"partition = [{partition}]" if "date" in plan.release.partition else '"day_type" instead of "date"'
    free = f", holidays = [{', '.join(map(str, holidays))}]" if holidays else ""
    return (
        f"With the days of a kind counted together, under noise as wide: {_listed(together)}. For that, write "
        f'{instead}, and under [coarsen.date] day_type = {{ days = "{KINDS}"{free} }} '
        "(docs/guides/calendars.md). Or use larger areas or wider bins"
    )


def _hidden(plan: Plan, name: str, counts: Integers) -> float:
    """The share of trips in cells with fewer than the error bound of the noise."""
    bound = plan.guarantee.mechanisms[name].error_bound(1 - ERROR_CONFIDENCE)
    return float(counts[counts < bound].sum() / max(int(counts.sum()), 1))


def _counts(counted: Counted, name: str) -> Integers:
    return exact_counts(counted.tables[name])


def _of_kinds(exact: ExactTable, holidays: Sequence[date]) -> Integers:
    """The counts of a table if the days of a kind were one."""
    codes = dict(exact.packing.unpack(exact.words))
    kinds = [kind_of(date.fromisoformat(day), KINDS_OF_DAY[KINDS], set(holidays)) for day in exact.labels["date"]]
    codes["date"] = np.unique(kinds, return_inverse=True)[1][codes["date"]]
    return merged(codes, exact_counts(exact))[1]


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {percent(share, digits=0)}" for name, share in shares.items())
