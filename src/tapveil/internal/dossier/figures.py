"""The figures of a dossier: each has a name, and nothing else in a dossier is a computed number.

All come from the manifest, the accountant and the ledger. What is shown is rounded against us; `value` has what it was
rounded from. `tests/unit/internal/dossier/test_figures.py` computes every one of them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from math import ceil

from tapveil.base.vocabulary import COUNT
from tapveil.internal.dossier.case import Case
from tapveil.ledger.accounts import Account
from tapveil.ledger.entry import Spend
from tapveil.ledger.people import so_far
from tapveil.privacy.loss import accounted_delta
from tapveil.privacy.meaning import RIGHT_AT_MOST
from tapveil.privacy.person import Person
from tapveil.privacy.rational import decimal_text, exp_above, power_below
from tapveil.published.describe.wording import rounded_up
from tapveil.published.manifest import TableClaim

BELIEFS = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 2))
"""What somebody believed before."""
Value = Fraction | float | int | str


@dataclass(frozen=True)
class Figure:
    """A number as it is shown, and what it was rounded from."""

    text: str
    value: Value


Named = Iterator[tuple[str, Figure]]


def figures(case: Case) -> dict[str, Figure]:
    """Every figure of a dossier, by its name."""
    made = (_promise, _frequencies, _people, _tables, _singling_out, _beliefs, _ledger, _detail, _tests)
    return dict(pair for part in made for pair in part(case))


def _up(value: Fraction | float | None) -> Figure:
    """Three digits, never less than the number."""
    if value is None:
        return Figure("none", "none")
    exact = Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    return Figure(rounded_up(exact), exact)


def _number(value: int) -> Figure:
    return Figure(f"{value:,}", value)


def _of_100(name: str, pair: tuple[str, str] | None) -> Named:
    wrong, right = pair or ("none", "none")
    yield f"{name}.wrong", Figure(wrong, wrong)
    yield f"{name}.right", Figure(right, right)


def _promise(case: Case) -> Named:
    manifest, tables = case.manifest, list(case.mechanisms.values())
    for each in manifest.guarantees:
        name, exposure = f"promise.{each.neighbours}", case.exposure(each.neighbours)
        yield f"{name}.epsilon", _up(each.exact.epsilon)
        yield f"{name}.delta", _up(each.exact.delta)
        yield f"{name}.accounted", _up(accounted_delta(tables, each.exact.epsilon, exposure))
    if part := manifest.gaussian:
        yield "gaussian.rho", _up(Fraction(str(part.rho)))
        yield "gaussian.mu", _up(Fraction(str(part.mu)))
        yield "gaussian.delta_singletons", _up(Fraction(str(part.delta_singletons)))
    bounds = manifest.bounds.model_dump(include={"trips_per_day", "trips_per_card", "cells_per_table"})
    yield from ((f"bound.{key}", _number(most)) for key, most in bounds.items() if most)
    for place, total in enumerate(manifest.totals or ()):
        yield f"total.{place}", _number(total.trips)
    yield "total.count", _number(len(manifest.totals or ()))
    for word, most in RIGHT_AT_MOST.items():
        yield f"verdict.{word}", _number(int(100 * most))
    if "time" in manifest.columns.values():
        yield "bins.minutes", _number(manifest.time_minutes)
    if manifest.days:
        yield "days", _number(len(manifest.days))


def _frequencies(case: Case) -> Named:
    for neighbours, found in case.attackers.items():
        yield from _of_100(f"of_100.{neighbours}.promised", found.promised.of_100)
        yield from _of_100(f"of_100.{neighbours}.computed", found.of_100)


def _people(case: Case) -> Named:
    for each in case.people:
        name = f"person.{each.trips_per_week}.{each.releases}"
        yield f"{name}.trips_a_week", _number(each.trips_per_week)
        yield f"{name}.releases", _number(each.releases)
        yield f"{name}.trips", _number(each.trips)
        yield f"{name}.epsilon", _up(each.epsilon if each.epsilon is None else Fraction(str(each.epsilon)))
        yield f"{name}.replaced", _up(None if each.epsilon_replace is None else Fraction(str(each.epsilon_replace)))
        yield f"{name}.delta", _up(Fraction(str(each.delta)))
        yield from _of_100(name, each.believed)
    for card in case.manifest.whole_cards or ():
        yield f"card.{card.trips}.trips", _number(card.trips)
        yield f"card.{card.trips}.epsilon", _up(Fraction(str(card.epsilon)))
        yield f"card.{card.trips}.delta", _up(Fraction(str(card.delta)))


def _tables(case: Case) -> Named:
    for table in case.manifest.tables:
        name = f"table.{table.name}"
        yield f"{name}.scale", Figure(decimal_text(table.scale_exact, 4), table.scale_exact)
        yield f"{name}.error_95", _number(table.error_95)
        if not case.manifest.is_world:
            yield f"{name}.smallest", _number(table.smallest_published)
            yield f"{name}.half", _number(half_published(case, table))
        elif table.cells:
            yield f"{name}.cells", _number(table.cells)


def half_published(case: Case, table: TableClaim) -> int:
    """From which true count on a cell is more likely published than not: the threshold, rounded up."""
    return ceil(case.mechanisms[table.name].threshold)


def _singling_out(case: Case) -> Named:
    """P(a cell appears that somebody is alone in): of one cell, and of all that a unit can be in."""
    alone = [each.publish_probability(1) for each in case.mechanisms.values() if not each.visits_empty_cells]
    absent, cells = Fraction(1), case.manifest.bounds.cells_per_table
    for chance in alone:
        absent *= power_below(1 - chance, cells)
    yield "alone.cell", _up(max(alone, default=Fraction(0)))
    yield "alone.unit", _up(1 - absent if alone else Fraction(0))


def believed(before: Fraction, epsilon: Fraction) -> Fraction:
    """A belief after the release, at most: its odds grow by e^ε."""
    if epsilon > 60:
        return Fraction(1)
    odds = exp_above(epsilon) * before / (1 - before)
    return odds / (1 + odds)


def _beliefs(case: Case) -> Named:
    for before in BELIEFS:
        name = f"belief.{decimal_text(100 * before, 3)}"
        yield f"{name}.before", Figure(f"{decimal_text(100 * before, 3)} %", before)
        for each in case.manifest.guarantees:
            after = believed(before, each.exact.epsilon)
            yield f"{name}.{each.neighbours}", Figure(_percent(after), after)


def _percent(share: Fraction) -> str:
    """Three digits, rounded up; more where it would look like certainty."""
    digits = 3
    while (text := decimal_text(100 * share, digits, ROUND_CEILING)) == "100" and share < 1 and digits < 12:
        digits += 1
    return f"{text} %"


def _ledger(case: Case) -> Named:
    if case.entries is None:
        return
    spends = [entry for entry in case.entries if isinstance(entry, Spend)]
    yield "ledger.entries", _number(len(case.entries))
    yield "ledger.releases", _number(len(spends))
    yield "ledger.unfinished", _number(len(case.unfinished))
    for number, account in enumerate(case.accounts):
        yield from _account(f"account.{number}", account)


def _account(name: str, account: Account) -> Named:
    yield f"{name}.budget.epsilon", _up(account.budget.epsilon)
    yield f"{name}.budget.delta", _up(account.budget.delta)
    yield f"{name}.releases", _number(len(account.spends))
    spent, left = account.epsilon, account.left
    shown = "no bound" if spent is None else decimal_text(spent, 5, ROUND_CEILING)
    yield f"{name}.spent", Figure(shown, "none" if spent is None else spent)
    yield f"{name}.left", Figure(decimal_text(left, 5, ROUND_FLOOR), left)
    for which, person in people_of_account(account).items():
        yield from _person(f"{name}.{which}", person)


def people_of_account(account: Account) -> dict[str, Person]:
    """People of all releases so far, and of the newest carried on for a year, by names such as `year.10`."""
    found = so_far(account)
    if not isinstance(found, list):
        return {}
    half = len(found) // 2
    when = [*["so_far"] * half, *["year"] * half]
    return {f"{which}.{person.trips_a_week}": person for which, person in zip(when, found, strict=True)}


def _person(name: str, person: Person) -> Named:
    yield f"{name}.trips_a_week", _number(person.trips_a_week)
    yield f"{name}.releases", _number(sum(each.number for each in person.releases))
    yield f"{name}.trips", _number(person.trips)
    yield f"{name}.epsilon", _up(person.shown_epsilon())
    yield f"{name}.delta", _up(person.delta)


# --- who loses detail -------------------------------------------------------------------------------------------------


def detail(case: Case) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Of each table and mode of a folder: its published cells, and what they count together. Public numbers."""
    folder = case.folder
    if folder is None or case.manifest.is_world or "mode" not in case.manifest.partition:
        return {}
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for name in folder.tables:
        columns = folder.table(name).cells
        for mode, count in zip(columns["mode"].tolist(), columns[COUNT].tolist(), strict=True):
            cells, counted = found.get((name, mode), (0, 0))
            found[name, mode] = cells + 1, counted + int(count)
    return found


def _detail(case: Case) -> Named:
    by_mode = detail(case)
    modes = sorted({mode for _, mode in by_mode})
    for table in case.manifest.tables if by_mode else ():
        for place, mode in enumerate(modes):
            cells, counted = by_mode.get((table.name, mode), (0, 0))
            most = max((by_mode.get((each.name, mode), (0, 0))[1] for each in case.manifest.tables), default=0)
            share = Fraction(counted, most) if most > 0 else Fraction(0)
            yield f"detail.{table.name}.{place}.cells", _number(cells)
            yield f"detail.{table.name}.{place}.share", Figure(f"{float(100 * share):.0f} %", share)


# --- tests that were run ----------------------------------------------------------------------------------------------


def _tests(case: Case) -> Named:
    if case.audit is not None:
        yield "audit.checks", _number(len(case.audit))
        yield "audit.broken", _number(sum(each.broken for each in case.audit))
    for number, tried in enumerate(case.intruder or ()):
        shares = {"success": tried.success, "low": tried.low, "high": tried.high, "bound": tried.bound}
        for key, share in shares.items():
            yield f"intruder.{number}.{key}", Figure("none" if share is None else f"{100 * share:.1f} %", str(share))
        yield f"intruder.{number}.trials", _number(tried.trials)
