"""People: what a folder states of one release, and of as many like it as a year has, for all trips of a person.

Only these two are stated, from noise, bounds and days. How many releases a ledger has on record would tell of releases
that were stopped; it is shown to the data custodian alone (`tapveil ledger`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any, NamedTuple

from tapveil.privacy.meaning import Meaning
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.person import WORTHLESS, Person, PersonVerdict, Releases, people_of_a_year, verdict
from tapveil.privacy.rational import decimal_text
from tapveil.privacy.units import Neighbours
from tapveil.published.manifest import Apart, Manifest, Number, PersonClaim, number


def people_of(manifest: Manifest, mechanisms: Mapping[str, Mechanism]) -> list[Person] | None:
    """The people of whom a manifest speaks; None where it names no days."""
    first, last = manifest.covers.first_day, manifest.covers.last_day
    if not (first and last):
        return None
    tables = tuple(
        (mechanisms[table.name], "date" in {manifest.columns[key] for key in manifest.keys(table)})
        for table in manifest.tables
    )
    days = (last - first).days + 1
    return people_of_a_year(
        Releases(manifest.unit, tables, manifest.bounds.cells_per_table, days), manifest.exact.delta
    )


def claim_of(person: Person) -> PersonClaim:
    """What is stated of a person."""
    alone = replace(person, apart=True)
    apart = None if person.is_apart_anyway else Apart(epsilon=_shown(alone), delta=number(alone.delta, ROUND_CEILING))
    return PersonClaim(**facts_of(person), apart=apart)


def facts_of(person: Person) -> dict[str, Any]:
    """What releases mean for a person, as `privacy.json` names it; also for the commands that print JSON."""
    meaning = person.meaning
    return {
        "trips_per_week": person.trips_a_week,
        "releases": sum(each.number for each in person.releases),
        "trips": person.trips,
        "epsilon": _shown(person),
        "epsilon_replace": _shown(person, "replace"),
        "delta": number(person.delta, ROUND_CEILING),
        "believed": meaning.of_100 if meaning else None,
        "verdict": verdict(meaning),
    }


BEYOND = (f"under {decimal_text(100 - 100 * WORTHLESS, 6)}", f"over {decimal_text(100 * WORTHLESS, 6)}")
"""Of 100 publications, where nothing meaningful is promised."""


class Meant(NamedTuple):
    """What a claim means."""

    of_100: tuple[str, str] | None
    verdict: PersonVerdict


def meant(person: PersonClaim, *, given: bool) -> Meant:
    """What is promised to a person. Given exact totals, nobody can be there or not: only trips exchanged for others."""
    if not given:
        return Meant(person.believed, person.verdict)
    replaced = person.epsilon_replace
    found = None if replaced is None else Meaning(Fraction(str(replaced)), Fraction(str(person.delta)))
    return Meant(found.of_100 if found else None, verdict(found))


def _shown(person: Person, neighbours: Neighbours = "add-remove") -> Number | None:
    epsilon = person.shown_epsilon(neighbours)
    return None if epsilon is None else number(epsilon, ROUND_CEILING)
