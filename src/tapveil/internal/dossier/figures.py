"""The figures of a dossier: each has a name, and nothing else in a dossier is a computed number.

All come from the manifest, the accountant and the ledger. What is shown is rounded against us; `value` has what it was
rounded from. `tests/unit/internal/dossier/test_figures.py` computes every one of them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import ceil, floor, nextafter

from tapveil.internal.dossier.case import Case, Tried
from tapveil.internal.dossier.markup import Figure
from tapveil.ledger.accounts import Account
from tapveil.ledger.entry import Spend
from tapveil.ledger.people import so_far
from tapveil.privacy.loss import Loss, accounted_delta
from tapveil.privacy.meaning import RIGHT_AT_MOST
from tapveil.privacy.person import WORTHLESS, Person
from tapveil.privacy.rational import decimal_text, exp_above, power_below
from tapveil.published.describe.wording import rounded_up
from tapveil.published.manifest import TableClaim
from tapveil.published.people import BEYOND, Meant

BELIEFS = (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 2))
"""What somebody believed before."""
TOGETHER = (2, 5, 10, 20)
"""Units of one person in one cell."""
SIZES = (10, 100, 1_000, 10_000)
"""True counts of a cell."""
LIKELY = Fraction(1, 100)
"""Below this, a cell is as good as never published."""
OFTEN = Fraction(95, 100)
"""Below this, the error bound of all noise is not that of what is published: what reaches the threshold is high."""

Named = Iterator[tuple[str, Figure]]


def figures(case: Case) -> dict[str, Figure]:
    """Every figure of a dossier, by its name."""
    made = (_promise, _frequencies, _people, _tables, _singling_out, _beliefs, _ledger, _sizes, _detail, _tests)
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
    for each in case.guarantees:
        name, exposure = f"promise.{each.neighbours}", case.exposure(each.neighbours)
        yield f"{name}.epsilon", _up(each.exact.epsilon)
        yield f"{name}.delta", _up(each.exact.delta)
        yield f"{name}.accounted", _up(accounted_delta(tables, each.exact.epsilon, exposure))
    if part := case.gaussian:
        yield "gaussian.rho", _up(Fraction(str(part.rho)))
        yield "gaussian.mu", _up(Fraction(str(part.mu)))
        yield "gaussian.delta_singletons", _up(Fraction(str(part.delta_singletons)))
    bounds = manifest.bounds.model_dump(include={"trips_per_day", "trips_per_card", "cells_per_table"})
    yield from ((f"bound.{key}", _number(most)) for key, most in bounds.items() if most)
    if case.plan and case.plan.source.most_per_row:
        yield "bound.most", _number(case.plan.source.most_per_row)
    for place, total in enumerate(manifest.totals or ()):
        yield f"total.{place}", _number(total.trips)
    yield "total.count", _number(len(manifest.totals or ()))
    for word, most in RIGHT_AT_MOST.items():
        yield f"verdict.{word}", _number(int(100 * most))
    yield "verdict.none", Figure(decimal_text(100 * Fraction(str(WORTHLESS)), 6), str(WORTHLESS))
    if "time" in manifest.columns.values():
        yield "bins.minutes", _number(manifest.time_minutes)
    if manifest.days:
        yield "days", _number(len(manifest.days))


def _frequencies(case: Case) -> Named:
    for neighbours, found in case.attackers.items():
        yield from _of_100(f"of_100.{neighbours}.promised", found.promised.of_100)
        yield from _of_100(f"of_100.{neighbours}.computed", found.of_100)
        yield f"right.{neighbours}", _up(Fraction(min(1.0, nextafter(found.promised.right, 2))) * 100)


def _people(case: Case) -> Named:
    for each in case.people:
        name = f"person.{each.trips_per_week}.{each.releases}"
        yield f"{name}.trips_a_week", _number(each.trips_per_week)
        yield f"{name}.releases", _number(each.releases)
        yield f"{name}.trips", _number(each.trips)
        yield f"{name}.epsilon", _up(each.epsilon if each.epsilon is None else Fraction(str(each.epsilon)))
        yield f"{name}.replaced", _up(None if each.epsilon_replace is None else Fraction(str(each.epsilon_replace)))
        yield f"{name}.delta", _up(Fraction(str(each.delta)))
        yield from _of_100(name, _of_a_person(case.meant(each)))
    for card in case.whole_cards:
        yield f"card.{card.trips}.trips", _number(card.trips)
        yield f"card.{card.trips}.epsilon", _up(Fraction(str(card.epsilon)))
        yield f"card.{card.trips}.delta", _up(Fraction(str(card.delta)))


def _of_a_person(found: Meant) -> tuple[str, str] | None:
    """More digits than those at which nothing is promised would say nothing, and 100 would say certainty."""
    return BEYOND if found.of_100 and found.verdict == "none" else found.of_100


def _tables(case: Case) -> Named:
    for table in case.manifest.tables:
        name = f"table.{table.name}"
        yield f"{name}.scale", Figure(decimal_text(table.scale_exact, 4), table.scale_exact)
        yield f"{name}.error_95", _number(table.error_95)
        if table.trips_per_cell:
            yield f"{name}.per_cell", _number(table.trips_per_cell)
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
    alone = [each for each in case.mechanisms.values() if not each.visits_empty_cells]
    absent, cells = Fraction(1), case.manifest.bounds.cells_per_table
    for each in alone:
        absent *= power_below(1 - each.publish_probability(1), cells)
    yield "alone.cell", _up(max((each.publish_probability(1) for each in alone), default=Fraction(0)))
    yield "alone.unit", _up(1 - absent if alone else Fraction(0))
    for number in together(case):
        yield f"together.{number}", _number(number)
        shown = max(case.mechanisms[table.name].publish_probability(number) for table in shared(case))
        yield f"together.{number}.published", Figure(_percent(shown), shown)


def shared(case: Case) -> Sequence[TableClaim]:
    """The tables of which a cell can count several units of one person: a card is one, and its day where cells have."""
    manifest = case.manifest
    if manifest.unit == "trip":
        return manifest.tables
    undated = [each for each in manifest.tables if "date" not in {manifest.columns[key] for key in manifest.keys(each)}]
    return undated if manifest.unit == "card-day" else []


def together(case: Case) -> tuple[int, ...]:
    """Of how many units of one person in a cell it is said how likely that is published: where cells can be missing."""
    if case.manifest.is_world or not shared(case):
        return ()
    return (0, 1, *TOGETHER) if case.manifest.from_a_list else TOGETHER


def believed(before: Fraction, loss: Loss) -> Fraction:
    """A belief after the release, at most: its odds grow by e^ε; with a δ by 2e^ε, except with probability 2δ (§22)."""
    if loss.epsilon > 60:
        return Fraction(1)
    odds = exp_above(loss.epsilon) * before / (1 - before) * (2 if loss.delta else 1)
    return odds / (1 + odds)


def _beliefs(case: Case) -> Named:
    for before in BELIEFS:
        name = f"belief.{decimal_text(100 * before, 3)}"
        yield f"{name}.before", Figure(f"{decimal_text(100 * before, 3)} %", before)
        for each in case.guarantees:
            after = believed(before, each.exact.loss)
            yield f"{name}.{each.neighbours}", Figure(_percent(after), after)
    for each in case.guarantees:
        yield f"belief.beyond.{each.neighbours}", _up(2 * each.exact.delta)


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
    for number, account in case.accounts_with.items():
        yield f"account.{number}.with", _spent(account)
        yield f"account.{number}.left_then", _left(account)


def _spent(account: Account) -> Figure:
    spent = account.epsilon
    return Figure("no bound", "none") if spent is None else Figure(decimal_text(spent, 5, ROUND_CEILING), spent)


def _left(account: Account) -> Figure:
    return Figure(decimal_text(account.left, 5, ROUND_FLOOR), account.left)


def _account(name: str, account: Account) -> Named:
    yield f"{name}.budget.epsilon", _up(account.budget.epsilon)
    yield f"{name}.budget.delta", _up(account.budget.delta)
    yield f"{name}.releases", _number(len(account.spends))
    yield f"{name}.spent", _spent(account)
    yield f"{name}.left", _left(account)
    for which, person in people_of_account(account).items():
        yield from _person(f"{name}.{which}", person)


def people_of_account(account: Account) -> dict[str, Person]:
    """People of all releases so far, and of the newest carried on for a year, by names such as `year.10`."""
    found = so_far(account)
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


def _sizes(case: Case) -> Named:
    """What noise and threshold do to a cell, by its true count."""
    yield "size.often", Figure(_at_least(OFTEN), OFTEN)
    for size in SIZES:
        yield f"size.{size}", _number(size)
        for table in case.manifest.tables:
            name, mechanism = f"size.{table.name}.{size}", case.mechanisms[table.name]
            if not case.manifest.is_world:
                chance = mechanism.publish_probability(size)
                yield f"{name}.published", Figure(_at_least(chance), float(chance))
                if chance < OFTEN:
                    continue
            yield f"{name}.error", _error(Fraction(table.error_95, size))


def _at_least(chance: Fraction) -> str:
    """In whole per cent, rounded down."""
    return f"{floor(100 * chance)} %" if chance >= LIKELY else "under 1 %"


def _error(share: Fraction | None) -> Figure:
    if share is None:
        return Figure("more than the count", "none")
    percent = f"{ceil(100 * share):,}" if share >= 1 else decimal_text(100 * share, 2, ROUND_CEILING)
    return Figure(f"{percent} %", share)


def _detail(case: Case) -> Named:
    for each in case.detail:
        for number, group in enumerate(each.groups):
            name = f"lost.{each.by}.{number}"
            yield f"{name}.cells", _number(group.cells)
            yield f"{name}.clear", _number(group.clear)
            yield f"{name}.share", _rounded(group.share)
            yield f"{name}.error", _error(group.error) if group.cells else Figure("nothing published", "none")
            yield f"{name}.places", _number(group.places)
            yield f"{name}.shown", _number(group.shown)
            for end, value in zip(("low", "high"), group.values or (), strict=False):
                yield f"{name}.{end}", Figure(decimal_text(value, 6), value)
    if case.index and case.folder:
        yield "index.unlisted", _number(len(case.places - set(case.index.values)))
        yield "index.elsewhere", _number(len(set(case.index.values) - case.places))


def _rounded(share: Fraction | None) -> Figure:
    return Figure("not known", "none") if share is None else Figure(f"{round(100 * share)} %", share)


# --- tests that were run ----------------------------------------------------------------------------------------------


def _tests(case: Case) -> Named:
    if case.audit:
        yield "audit.checks", _number(len(case.audit.results))
        yield "audit.broken", _number(case.audit.broken)
        yield "audit.trials", _number(case.audit.trials)
    if case.intruder:
        yield "intruder.trips", _number(case.intruder.trips)
        yield "intruder.people", _number(case.intruder.people)
    for number, tried in enumerate(case.intruder.results if case.intruder else ()):
        name = f"intruder.{number}"
        yield f"{name}.success", _share(tried.success)
        yield f"{name}.low", _share(tried.low, ROUND_FLOOR)
        yield f"{name}.high", _share(tried.high, ROUND_CEILING)
        yield f"{name}.baseline", _share(tried.baseline)
        yield f"{name}.bound", _bound(tried)
        yield f"{name}.trials", _number(tried.trials)


def _share(share: float, rounding: str = ROUND_HALF_EVEN) -> Figure:
    """In tenths of a per cent; a small one in two digits."""
    percent = 100 * Decimal(str(share))
    tenths = percent.quantize(Decimal("0.1"), rounding)
    small = 0 < percent < 1 and rounding == ROUND_HALF_EVEN
    return Figure(f"{decimal_text(Fraction(percent), 2) if small else tenths} %", str(share))


def _bound(tried: Tried) -> Figure:
    if tried.bound is None:
        return Figure("no promise", "none")
    return Figure("no bound", "1") if tried.bound >= 1 else _share(tried.bound, ROUND_CEILING)
