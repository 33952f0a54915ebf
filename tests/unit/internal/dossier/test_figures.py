"""Every number in a dossier has a name, and is what the accountant, the noise or the ledger says. None is unknown."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tapveil._version import __version__
from tapveil.internal.dossier import detail, hazards
from tapveil.internal.dossier.case import Audit, Case, Intruder, read_case
from tapveil.internal.dossier.document import Dossier
from tapveil.internal.dossier.index import Index
from tapveil.internal.dossier.questions import Kept, asked, catalogue
from tapveil.ledger.accounts import Account
from tapveil.ledger.book import Ledger
from tapveil.plan.model import Plan
from tapveil.privacy import Exposure, Loss, certified, stated
from tapveil.privacy.accountant import delta as accountant_delta
from tapveil.privacy.attacker import attacker
from tapveil.privacy.concentrated import concentrated
from tapveil.privacy.loss import whole_card_certified
from tapveil.privacy.meaning import Meaning
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.person import Person, people_of_a_year
from tapveil.privacy.person import Releases as Repeated
from tapveil.published.folder import Folder
from tapveil.veil.spend import spend_of
from tests.conftest import TODAY, levelled_plan, start_ledger

ROOT = Path(__file__).parents[4]
GOLDEN = ROOT / "tests" / "golden"
DOSSIERS = ROOT / "src" / "tapveil" / "internal" / "dossier"
FOLDERS = (
    "3f/calendar-totals",
    "3/paper",
    "3/cards",
    "3/dictionary",
    "3/gaussian",
    "3e/calendars",
    "3e/world-of-noise",
)
TEST = {"plan": "0" * 64, "software": "0.2.0"}
CHECKED = {"check": "a", "table": "wide", "observed": "0.1", "allowed": "0.2", "broken": False}
AUDIT = Audit.model_validate({**TEST, "trials": 20_000, "results": [CHECKED]})
HASHED = {"attack": "two taps", "method": "hashed card ids", "question": "which card?", "success": 0.93, "low": 0.9}
HASHED |= {"high": 0.95, "baseline": 4.2e-05, "bound": None, "trials": 400, "exceeds": False}
AS_PLANNED = {**HASHED, "method": "as planned", "success": 0.5, "low": 0.4567, "high": 0.5512, "bound": 0.73014}
UNBOUNDED = {**AS_PLANNED, "attack": "home and work", "bound": 1.0}
INTRUDER = Intruder.model_validate(
    {**TEST, "trips": 5000, "people": 40, "results": [HASHED, AS_PLANNED, UNBOUNDED]},
)


class Shown(HTMLParser):
    """The figures of a page, and the text that is neither a figure nor words of somebody."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: dict[str, set[str]] = {}
        self.facts: list[str] = []
        self.text: list[str] = []
        self._within: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self._within.append((tag, dict(attributes).get("data-figure") or ""))

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tags = [tag for tag, _ in self._within]
        if tags and tags[-1] == "data":
            self.figures.setdefault(self._within[-1][1], set()).add(data)
        elif "bdi" in tags:
            self.facts.append(data)
        elif not {"svg", "style", "title"} & set(tags):
            self.text.append(data)


def shown(dossier: Dossier) -> Shown:
    parser = Shown()
    parser.feed(dossier.html)
    return parser


@cache
def golden(name: str) -> Dossier:
    folder = Folder(GOLDEN / name)
    return Dossier(Case(folder.manifest, folder=folder, audit=AUDIT, intruder=INTRUDER, on=TODAY), Kept())


# --- each figure, computed again --------------------------------------------------------------------------------------


def tables(case: Case) -> list[Mechanism]:
    """From the numbers that are published, not from the dossier."""
    manifest = case.manifest
    return [
        stated(manifest.mechanism, each.scale_exact, each.threshold_exact, each.trips_per_cell or 1, cells(case))
        for each in manifest.tables
    ]


def cells(case: Case) -> int:
    return case.manifest.bounds.cells_per_table


def loss(case: Case, neighbours: str) -> Loss:
    (found,) = (each.exact.loss for each in case.manifest.guarantees if each.neighbours == neighbours)
    return found


def exposure(case: Case, neighbours: str) -> Exposure:
    return Exposure("replace" if neighbours == "replace" else "add-remove", cells(case))


def number(text: str) -> Fraction:
    return Fraction(Decimal(text.replace(",", "").removesuffix(" %")))


def close_above(text: str, exact: Fraction | float) -> bool:
    """Rounded up, in the third digit."""
    return Fraction(exact) * (1 - Fraction(1, 10**9)) <= number(text) <= Fraction(exact) * Fraction(102, 100)


def promised(case: Case, text: str, neighbours: str, which: str) -> bool:
    found = loss(case, neighbours)
    assert certified(tables(case), found, exposure(case, neighbours))
    if which == "accounted":
        worst = accountant_delta(
            [each.cells for each in tables(case)], float(found.epsilon), exposure(case, neighbours)
        )
        return (not found.delta and text == "0") or close_above(text, worst)
    return close_above(text, getattr(found, which))


def gaussian(case: Case, text: str, which: str) -> bool:
    part = concentrated(tables(case), exposure(case, case.manifest.neighbours))
    return part is not None and close_above(text, getattr(part, which))


def of_100(case: Case, text: str, neighbours: str, which: str, side: str) -> bool:
    found = loss(case, neighbours)
    best = attacker(tables(case), found, exposure(case, neighbours))
    pair = Meaning(found.epsilon, found.delta).of_100 if which == "promised" else best.of_100
    assert 0 <= best.distance <= 1
    return text == pair[side == "right"]


def right(case: Case, text: str, neighbours: str) -> bool:
    """Never shown smaller than it is: that would promise more."""
    found = loss(case, neighbours)
    exact = 100 * (1 - float(1 - found.delta) / (1 + math.exp(found.epsilon)))
    return exact <= float(number(text)) <= min(100, exact + 1)


@cache
def people(case: Case) -> list[Person]:
    manifest = case.manifest
    dated = ["date" in {manifest.columns[key] for key in manifest.keys(table)} for table in manifest.tables]
    repeated = Repeated(manifest.unit, tuple(zip(tables(case), dated, strict=True)), cells(case), len(manifest.days))
    return people_of_a_year(repeated, manifest.exact.delta)


def of_person(person: Person, text: str, which: str, *, given: bool = False) -> bool:
    meaning = person.meaning
    if given:
        exchanged = person.shown_epsilon("replace")
        meaning = None if exchanged is None else Meaning(exchanged, person.delta)
    if which in ("wrong", "right"):
        if meaning and meaning.right > 0.9999:
            return text == ("over 99.99" if which == "right" else "under 0.01")
        return text == (meaning.of_100[which == "right"] if meaning else "none")
    if which in ("trips_a_week", "trips"):
        return number(text) == getattr(person, which)
    if which == "releases":
        return number(text) == sum(each.number for each in person.releases)
    if which == "delta":
        return close_above(text, person.delta)
    exact = person.epsilon("replace" if which == "replaced" else "add-remove")
    return text == "none" if exact is None else close_above(text, exact)


def a_person(case: Case, text: str, trips: str, releases: str, which: str) -> bool:
    found = [each for each in people(case) if each.trips_a_week == int(trips)]
    (person,) = (each for each in found if sum(one.number for one in each.releases) == int(releases))
    return of_person(person, text, which, given=bool(case.manifest.totals))


def a_card(case: Case, text: str, trips: str, which: str) -> bool:
    (card,) = (each for each in case.manifest.whole_cards or () if each.trips == int(trips))
    kept = Loss(Fraction(str(card.epsilon)), Fraction(str(card.delta)))
    assert kept.delta == 0 or whole_card_certified(tables(case), int(trips), kept)
    return number(text) == int(trips) if which == "trips" else close_above(text, getattr(kept, which))


def a_table(case: Case, text: str, name: str, which: str) -> bool:
    place = [each.name for each in case.manifest.tables].index(name)
    mechanism = tables(case)[place]
    match which:
        case "scale":
            return abs(number(text) / mechanism.scale - 1) < Fraction(1, 1000)
        case "per_cell":
            return number(text) == mechanism.per_cell > 1
        case "error_95":
            return number(text) == mechanism.error_bound(Fraction(1, 20))
        case "smallest":
            return number(text) == mechanism.smallest_published
        case "half":
            count = int(number(text))
            half = Fraction(1, 2)
            return mechanism.publish_probability(count) >= half > mechanism.publish_probability(count - 1)
    return number(text) == case.manifest.tables[place].cells


def alone(case: Case, text: str, which: str) -> bool:
    chances = [float(each.publish_probability(1)) for each in tables(case) if not each.visits_empty_cells]
    if not chances:
        return text == "0"
    every = -math.expm1(sum(cells(case) * math.log1p(-each) for each in chances))
    return math.isclose(float(number(text)), max(chances) if which == "cell" else every, rel_tol=0.02)


def several(case: Case, text: str, number_of: str, which: str | None) -> bool:
    """Never below the chance of any table that can count so many of a person, nor far above."""
    if which is None:
        return number(text) == int(number_of)
    manifest = case.manifest
    dated = ["date" in [manifest.columns[key] for key in manifest.keys(table)] for table in manifest.tables]
    can = [manifest.unit == "trip" or (manifest.unit == "card-day" and not each) for each in dated]
    law = [each.distribution(int(number_of)) for each, shares in zip(tables(case), can, strict=True) if shares]
    exact = 100 * max(sum(each.values(), Fraction(0)) for each in law)
    if not int(number_of) and not case.manifest.from_a_list:
        return False
    least = exact * (1 - Fraction(1, 10**9))  # infinite noise is listed as far as its table goes
    return least <= number(text) <= min(Fraction(100), exact * Fraction(102, 100)) and (text != "100 %" or exact > 99)


def belief(case: Case, text: str, before: str, which: str) -> bool:
    prior = float(before) / 100
    if which == "before":
        return float(number(text)) == pytest.approx(100 * prior)
    factor = 2 if loss(case, which).delta else 1
    odds = factor * math.exp(loss(case, which).epsilon) * prior / (1 - prior)
    exact = 100 * odds / (1 + odds)
    return exact * (1 - 1e-9) <= float(number(text)) <= min(100.0, exact * 1.01) and (text != "100 %" or odds > 1e9)


def a_bound(case: Case, text: str, which: str) -> bool:
    return number(text) == getattr(case.manifest.bounds, which)


def spent(case: Case, text: str, place: str, which: str) -> bool:
    account = case.accounts[int(place)]
    if which in ("with", "left_then"):
        assert case.plan
        account = Account(account.budget, (*account.spends, spend_of(case.plan, "f" * 32, TODAY)))
        which = "spent" if which == "with" else "left"
    match which:
        case "budget.epsilon" | "budget.delta":
            return close_above(text, getattr(account.budget, which.partition(".")[2]))
        case "releases":
            return number(text) == len(account.spends)
        case "spent":
            return account.epsilon is not None and close_above(text, account.epsilon)
    return account.epsilon is not None and number(text) <= max(Fraction(0), account.budget.epsilon - account.epsilon)


def of_account(case: Case, text: str, place: str, when: str, trips: str, which: str) -> bool:
    """The releases of a test are alike: those so far, and as many as 365 days have room for."""
    spend, *others = case.accounts[int(place)].spends
    days, number = ((spend.last_day or TODAY) - (spend.first_day or TODAY)).days + 1, 1 + len(others)
    noise = tuple((each, False) for each in spend.mechanisms)
    released = Repeated(spend.unit, noise, spend.cells, days, number, number)
    number_of = {"so_far": released, "year": released.in_a_year()}
    return of_person(Person(int(trips), (number_of[when],), case.accounts[int(place)].budget.delta), text, which)


def of_ledger(case: Case, text: str, which: str) -> bool:
    kinds = [entry.kind for entry in case.entries or ()]
    released, appeared = kinds.count("release"), kinds.count("published")
    return number(text) == {"entries": len(kinds), "releases": released, "unfinished": released - appeared}[which]


def beyond(mechanism: Mechanism, count: int, bound: int) -> float:
    """How often what is published of a count is off by more."""
    published = mechanism.publish_probability(count)
    within = mechanism.publish_tail(count, count - bound) - mechanism.publish_tail(count, count + bound + 1)
    return float(1 - within / published)


def of_a_size(case: Case, text: str, name: str, size: str, which: str) -> bool:
    mechanism = tables(case)[[each.name for each in case.manifest.tables].index(name)]
    chance = 100 * mechanism.publish_probability(int(size))
    if which == "error":
        bound = mechanism.error_bound(Fraction(1, 20))
        misses = beyond(mechanism, int(size), bound)
        exact = 100 * Fraction(bound, int(size))
        return misses <= 5 / 95 and exact <= number(text) <= exact * Fraction(11, 10)
    return chance < 1 if text == "under 1 %" else 0 <= chance - number(text) < 1


def finest_and_coarsest(folder: Folder, by: str) -> tuple[str, list[str], list[str]]:
    """The column, and the names of the tables that have it, from the finest to the coarsest."""
    manifest = folder.manifest
    kind = {"hour": "time", "area": "location", "index": "location"}.get(by)
    plain = [each for each in manifest.tables if each.level is None or kind is None]
    had = [name for each in plain for name in each.columns]
    column = next((name for name, of in manifest.columns.items() if of == kind and name in had), "mode")
    have = [each for each in plain if kind is None or column in each.columns]
    finest = sorted(have, key=lambda each: (-len(each.columns), each.level is not None))
    return column, [each.name for each in finest], [each.name for each in sorted(have, key=lambda x: len(x.columns))]


def groups_of(case: Case, by: str, column: str, coarse: str) -> Callable[[dict[str, Any]], str]:
    """What a row belongs to, for somebody who has the folder and plain Python."""
    assert case.folder is not None
    rows, manifest = case.folder.table(coarse).rows(), case.manifest
    if by == "hour":
        whole = manifest.time_minutes >= 60
        return lambda row: "no tap" if row[column] == "-1" else row[column] if whole else row[column][:2] + ":00"
    if by == "mode":
        return lambda row: row["mode"]
    values: dict[str, Any] = dict(case.index.values) if by == "index" and case.index else {}
    for row in rows if by == "area" else ():
        values[row[column]] = values.get(row[column], 0) + row["count"]
    ordered = sorted(value for place, value in values.items() if place in case.places)
    names = (detail.BUSY if by == "area" else detail.VALUES) if ordered else ()

    def group(row: dict[str, Any]) -> str:
        if row[column] == "UNKNOWN":
            return detail.NO_PLACE
        missing = detail.NOTHING if by == "area" else detail.NOT_IN_INDEX
        found = values.get(row[column])
        return missing if found is None else names[5 * ordered.index(found) // len(ordered)]

    return group


def lost(case: Case, text: str, by: str, place: str, which: str) -> bool:
    """Straight from the rows of the folder, whatever the dossier made of it."""
    assert case.folder is not None
    column, (fine, *_), (coarse, *_) = finest_and_coarsest(case.folder, by)
    (found,) = (each for each in case.detail if each.by == by)
    label, group = found.groups[int(place)].label, groups_of(case, by, column, coarse)
    own = [row for row in case.folder.table(fine).rows() if group(row) == label]
    counts = [row["count"] for row in own]
    bound = tables(case)[[each.name for each in case.manifest.tables].index(fine)].error_bound(Fraction(1, 20))
    match which:
        case "cells":
            return number(text) == len(own)
        case "clear":
            return number(text) == sum(count > bound for count in counts)
        case "shown":
            return number(text) == len({row[column] for row in own})
        case "places":
            return number(text) == sum(group({column: each}) == label for each in case.places)
        case "error":
            median = statistics.median(counts) if counts else 0
            if median <= 0:
                return text == ("more than the count" if counts else "nothing published")
            return 100 * bound / median <= float(number(text)) <= 100 * bound / median * 1.1 + 1
        case "share":
            whole = sum(row["count"] for row in case.folder.table(coarse).rows() if group(row) == label)
            return text == "not known" if whole <= 0 else abs(float(number(text)) - 100 * sum(counts) / whole) <= 0.5
    assert case.index is not None
    values = [
        value for each, value in case.index.values.items() if each in case.places and group({column: each}) == label
    ]
    return number(text) == (min(values) if which == "low" else max(values))


def attacked(case: Case, text: str, place: str, which: str) -> bool:
    """A bound and the upper limit are never shown smaller than they are, nor the lower limit larger."""
    assert case.intruder
    value = getattr(case.intruder.results[int(place)], which)
    if which == "trials":
        return number(text) == value
    if value is None or (which, value) == ("bound", 1):
        return text == ("no bound" if value else "no promise")
    least, most = {"low": (-0.1, 0), "high": (0, 0.1), "bound": (0, 0.1)}.get(which, (-0.05, 0.05))
    off = float(number(text)) - 100 * value
    return least - 1e-9 <= off <= most + 1e-9 and (which != "baseline" or value > 0.01 or abs(off) < value)


Check = Callable[..., bool]
NOTION = "(replace|add-remove)"
KNOWN: dict[str, Check] = {
    rf"promise\.{NOTION}\.(epsilon|delta|accounted)": promised,
    r"gaussian\.(rho|mu|delta_singletons)": gaussian,
    rf"of_100\.{NOTION}\.(promised|computed)\.(wrong|right)": of_100,
    rf"right\.{NOTION}": right,
    r"person\.(\d+)\.(\d+)\.(\w+)": a_person,
    r"card\.(\d+)\.(trips|epsilon|delta)": a_card,
    r"table\.([\w-]+)\.(scale|error_95|smallest|half|cells|per_cell)": a_table,
    r"alone\.(cell|unit)": alone,
    r"together\.(\d+)(\.published)?": several,
    rf"belief\.beyond\.{NOTION}": lambda case, text, notion: close_above(text, 2 * loss(case, notion).delta),
    rf"belief\.([\d.]+)\.(before|{NOTION[1:-1]})": belief,
    r"bound\.most": lambda case, text: number(text) == case.plan.source.counts.most,
    r"bound\.(\w+)": a_bound,
    r"bins\.minutes": lambda case, text: number(text) == case.manifest.time_minutes,
    r"total\.count": lambda case, text: number(text) == len(case.manifest.totals or ()),
    r"total\.(\d+)": lambda case, text, place: number(text) == case.manifest.totals[int(place)].trips,
    r"days": lambda case, text: number(text) == len(case.manifest.days),
    r"verdict\.(strong|moderate|none)": lambda _, text, word: (
        text == {"strong": "75", "moderate": "95", "none": "99.99"}[word]
    ),
    r"account\.(\d+)\.(budget\.\w+|releases|spent|left|with|left_then)": spent,
    r"account\.(\d+)\.(so_far|year)\.(\d+)\.(\w+)": of_account,
    r"ledger\.(entries|releases|unfinished)": of_ledger,
    r"size\.often": lambda _, text: text == "95 %",
    r"size\.(\d+)": lambda _, text, size: number(text) == int(size),
    r"size\.([\w-]+)\.(\d+)\.(published|error)": of_a_size,
    r"lost\.(mode|hour|area|index)\.(\d+)\.(\w+)": lost,
    r"index\.unlisted": lambda case, text: number(text) == len([e for e in case.places if e not in case.index.values]),
    r"index\.elsewhere": lambda case, text: number(text) == len([e for e in case.index.values if e not in case.places]),
    r"audit\.checks": lambda case, text: number(text) == len(case.audit.results),
    r"audit\.broken": lambda case, text: number(text) == sum(each.broken for each in case.audit.results),
    r"audit\.trials": lambda case, text: number(text) == case.audit.trials,
    r"intruder\.(trips|people)": lambda case, text, which: number(text) == getattr(case.intruder, which),
    r"intruder\.(\d+)\.(success|low|high|baseline|bound|trials)": attacked,
    r"questions\.asked": lambda case, text: number(text) == len(asked(case)),
    r"nist\.(met|note|yours)": lambda case, text, word: (
        number(text) == [hazards_word(each) for each in hazards.states(case).values()].count(word)
    ),
}


def hazards_word(state: hazards.State) -> str:
    return {hazards.MET: "met", hazards.NOTE: "note", hazards.YOURS: "yours"}[state]


def check_every_figure(dossier: Dossier, known: dict[str, Check]) -> set[str]:
    used = set()
    for key, texts in shown(dossier).figures.items():
        (text,) = texts  # wherever it is shown, it is shown alike
        found = [(pattern, match) for pattern in known if (match := re.fullmatch(pattern, key))]
        assert found, f"no test computes the figure {key} = {text}"
        (pattern, match) = found[0]
        assert known[pattern](dossier.case, text, *match.groups()), f"{key} = {text}"
        used.add(pattern)
    return used


@pytest.mark.parametrize("name", FOLDERS)
def test_every_figure_is_what_the_accountant_says(name: str) -> None:
    dossier = golden(name)
    opened = {r"questions\.open": lambda _, text: number(text) == len(dossier.asked)}
    used = check_every_figure(dossier, KNOWN | opened)
    assert len(used) > 8


def test_every_figure_by_a_public_index_is_known() -> None:
    folder = Folder(GOLDEN / "3" / "levels")
    places = sorted(Case(folder.manifest, folder=folder).places)
    values = {place: Fraction(3 * number % 17, 4) for number, place in enumerate(places[1:])}
    index = Index("deprivation.csv", "0" * 64, values | {"Nowhere": Fraction(1)})
    dossier = Dossier(Case(folder.manifest, folder=folder, on=TODAY, index=index))
    opened = {r"questions\.open": lambda _, text: number(text) == len(dossier.asked)}
    assert r"index\.elsewhere" in check_every_figure(dossier, KNOWN | opened)
    assert {each.by for each in dossier.case.detail} == {"mode", "hour", "area", "index"}
    assert any(group.share for each in dossier.case.detail for group in each.groups)


@pytest.fixture
def planned(tmp_path: Path) -> Plan:
    total = '[[public.total]]\ntrips = 1_200_000\nsource = "Annual report, page 3"\n[[table]]\nname = "total"'
    plan = levelled_plan(tmp_path, **{'[[table]]\nname = "total"': total})
    start_ledger(plan, "16", "1e-5")
    with Ledger.open(plan.ledger_path) as book:
        book.spend(spend_of(plan, "5" * 32, TODAY))
    return plan


def test_every_figure_of_a_plan_and_its_ledger_is_known(planned: Plan) -> None:
    case = read_case(planned.base / "plan.toml", today=date(2026, 11, 18))
    opened = {r"questions\.open": lambda _, text: number(text) == len(asked(case))}
    used = check_every_figure(Dossier(case), KNOWN | opened)
    assert {each.partition("\\")[0] for each in used} >= {"account", "ledger", "total"}


NUMBERS = """
[release]
name = "numbers"
title = "Trips by day and stop"
partition = ["date"]
[source]
path = "trips.csv"
shape = "counts"
counts = { most = 70 }
first_day = 2025-01-06
last_day = 2025-01-12
[source.columns]
count = "number"
date = "date"
tap_on_location = "stop"
[privacy]
unit = "trip"
neighbours = "replace"
mechanism = "gaussian"
epsilon = 1
delta = "1e-7"
[[table]]
name = "stops"
columns = ["tap_on_location"]
"""


def test_where_rows_are_numbers_of_trips_it_says_how_many_of_a_row_are_counted(tmp_path: Path) -> None:
    """Hazard 12 is met without a bound on units; of a row the others are dropped."""
    (tmp_path / "plan.toml").write_text(NUMBERS, encoding="utf-8")
    dossier = Dossier(read_case(tmp_path / "plan.toml", today=TODAY))
    opened = {r"questions\.open": lambda _, text: number(text) == len(dossier.asked)}
    assert r"bound\.most" in check_every_figure(dossier, KNOWN | opened)
    assert "Of a row that is a number of trips, 70 are counted at most." in dossier.markdown
    assert "number of trips, " not in golden("3/cards").markdown


def test_a_figure_that_nobody_computes_again_is_noticed() -> None:
    with pytest.raises(AssertionError, match=r"no test computes the figure questions\.open"):
        check_every_figure(golden("3/paper"), KNOWN)


def test_an_error_bound_is_stated_only_of_cells_that_are_published() -> None:
    """Of a cell below the threshold, what is published is further off than any noise is in 95 of 100 cases."""
    case = golden("3/paper").case
    low, mechanism = 10, tables(case)[-1]
    bound = mechanism.error_bound(Fraction(1, 20))
    assert beyond(mechanism, low, bound) == 1
    name = case.manifest.tables[-1].name
    assert f"size.{name}.{low}.error" not in golden("3/paper").figures
    assert not of_a_size(case, "30 %", name, str(low), "error")


def test_a_wrong_figure_is_noticed() -> None:
    dossier = golden("3/paper")
    assert not promised(dossier.case, "7.9", "replace", "epsilon")
    assert not a_table(dossier.case, "3", "on_time", "error_95")


# --- and there is no other number -------------------------------------------------------------------------------------


def fixed_numbers() -> set[str]:
    """Those in the sentences themselves: sections, years, titles of standards."""
    texts = [path.read_text(encoding="utf-8") for path in (*DOSSIERS.rglob("*.j2"), *DOSSIERS.glob("*.toml"))]
    plain = (re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", text, flags=re.DOTALL) for text in texts)
    return {each for text in plain for each in re.findall(r"\d+", text)}


def loose(page: Shown) -> Iterator[str]:
    yield from (each for text in page.text for each in re.findall(r"\d+", text) if each not in fixed_numbers())
    sections = {text for hazard in hazards.hazards() for text in (hazard.number, hazard.section)}
    yield from (
        fact
        for fact in page.facts
        if re.fullmatch(r"[\d.,]+(e-?\d+)?( %)?", fact) and fact not in sections | {__version__}
    )


@pytest.mark.parametrize("name", FOLDERS)
def test_no_number_stands_outside_of_a_figure(name: str) -> None:
    page = shown(golden(name))
    assert page.figures
    assert not list(loose(page))


def test_a_number_that_is_printed_without_a_name_is_refused() -> None:
    from tapveil.internal.dossier.document import _environment

    with pytest.raises(TypeError, match="each with its name"):
        _environment().from_string("{{ 3.5 }}").render()


def test_markdown_has_the_same_figures() -> None:
    dossier = golden("3/cards")
    text = unescape(dossier.markdown)
    for key, (shown_as, *_) in ((key, sorted(texts)) for key, texts in shown(dossier).figures.items()):
        assert shown_as in text, key
    assert all(" ".join(catalogue()[key].split()[:4]) in text for key in dossier.asked)
