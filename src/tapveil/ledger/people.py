"""People: what the releases of a ledger so far, and the newest carried on for a year, mean for all trips of a person.

For the data custodian alone: how many releases there were is on record here, and in no folder.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date

from tapveil.ledger.accounts import Account
from tapveil.ledger.entry import Spend
from tapveil.ledger.words import release
from tapveil.privacy.person import Person, Releases, people

Kind = tuple[object, ...]


def so_far(account: Account) -> list[Person]:
    """People, of all releases so far, then of the newest carried on for a year; none where nothing can be said."""
    spends = account.spends
    if not spends or why_none(account):
        return []
    newest = _releases([spends[-1]])[0].in_a_year()
    return [*people(_releases(spends), account.budget.delta), *people([newest], account.budget.delta)]


def why_none(account: Account) -> str | None:
    """Why there is no bound for a person; None where there is, or no release yet."""
    undated = next((spend for spend in account.spends if not (spend.first_day and spend.last_day)), None)
    if undated:
        why = f"the release {release(undated)} names no days, so it may have any number of trips of a person"
    elif account.generations > 1:
        why = "noise was chosen from what other releases showed (chosen_from): the budget alone adds those up"
    else:
        return None
    return f"What the releases mean for one person: no bound, since {why}."


def _releases(spends: Sequence[Spend]) -> list[Releases]:
    """Equal releases together. Those of the same days again are apart: a trip is in each of them."""
    number, starts = Counter[Kind](), defaultdict[Kind, set[tuple[int, int]]](set)
    again, first = Counter[Kind](), dict[Kind, Spend]()
    for spend in spends:
        begin, end = _days(spend)
        noise: Kind = (spend.tables, spend.cells, spend.unit, (end - begin).days + 1)
        kind: Kind = (*noise, again[noise, begin])
        again[noise, begin] += 1
        number[kind] += 1
        starts[kind].add(begin.isocalendar()[:2])
        first.setdefault(kind, spend)
    made = []
    for kind, spend in first.items():
        begin, end = _days(spend)
        days = (end - begin).days + 1
        # Entries do not say whether cells are of one day. It matters for card-days alone: there, not to be is worse.
        tables = tuple((mechanism, False) for mechanism in spend.mechanisms)
        # Of single days, those of one week share its trips; of a few days, each may have all trips of a week.
        weeks = len(starts[kind]) if days == 1 else number[kind]
        made.append(Releases(spend.unit, tables, spend.cells, days, number[kind], weeks))
    return made


def _days(spend: Spend) -> tuple[date, date]:
    if spend.first_day is None or spend.last_day is None:
        raise ValueError("names no days")
    return spend.first_day, spend.last_day
