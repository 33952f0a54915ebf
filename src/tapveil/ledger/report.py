"""The ledger for a program: its entries, and every budget with what is spent where and what that means for a person."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any

from tapveil.ledger.accounts import Account, accounts
from tapveil.ledger.entry import Entry
from tapveil.ledger.people import so_far, why_none
from tapveil.privacy.rational import decimal_text
from tapveil.published.people import facts_of


def report(entries: Sequence[Entry]) -> dict[str, Any]:
    """All of it, for a program: entries as they are written, and every budget with what is spent where."""
    stated = {"data_set", "unit", "neighbours", "epsilon", "delta"}
    return {
        "entries": [entry.model_dump(mode="json") for entry in entries],
        "budgets": [
            {
                **one.budget.model_dump(mode="json", include=stated),
                "spent_epsilon": _shown(one.epsilon),
                "left_epsilon": _shown(one.left),
                "people": _people(one),
                "people_unknown": why_none(one),
                "places": [
                    {
                        "first_day": place.first_day and place.first_day.isoformat(),
                        "last_day": place.last_day and place.last_day.isoformat(),
                        "modes": place.modes,
                        "releases": [spend.id for spend in place.releases],
                        "spent_epsilon": _shown(place.epsilon),
                    }
                    for place in one.places
                ],
            }
            for one in accounts(entries)
        ],
    }


def _people(account: Account) -> dict[str, list[dict[str, Any]]] | None:
    """For all trips of a person, as `privacy.json` has it: of all releases, and of the newest for a year."""
    found = [facts_of(person) for person in so_far(account)]
    half = len(found) // 2
    return {"so_far": found[:half], "a_year": found[half:]} if found else None


def _shown(value: Fraction | None) -> str | None:
    return None if value is None else decimal_text(value, 9, ROUND_CEILING)
