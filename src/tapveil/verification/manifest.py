"""The manifest of a folder, read with suspicion: its shape, and whether its promise follows from its noise.

Nothing that it claims is believed: mechanisms are made from the scales and thresholds, and every (ε, δ) is computed
anew by the accountant. A claim may be larger than what is found, never smaller.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any

import pydantic

from tapveil.base.domain import MOST_CELLS
from tapveil.base.findings import Finding
from tapveil.base.vocabulary import TOTAL, UNKNOWN
from tapveil.privacy import loss as losses
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.concentrated import concentrated
from tapveil.privacy.distribution import mean_error
from tapveil.privacy.effort import too_much
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.meaning import Meaning
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.person import DIGITS as PERSON_DIGITS
from tapveil.privacy.person import verdict
from tapveil.privacy.rational import decimal_text
from tapveil.published import calendar, manifest_1, shaped
from tapveil.published.describe.wording import rounded_up
from tapveil.published.identifiers import text_findings
from tapveil.published.manifest import (
    CURVE,
    ERROR_CONFIDENCE,
    EXAMPLE_CARDS,
    EXAMPLE_COUNTS,
    MANIFEST_VERSION,
    Guarantee,
    Manifest,
    TableClaim,
    number,
)
from tapveil.published.people import claim_of, people_of
from tapveil.verification.known_versions import were_used_together
from tapveil.verification.reading import NOT_CANONICAL

PLACE = "privacy.json"
CLOSE, ROOM, TINY = Fraction(1, 10**6), Fraction(1, 20), 1e-30
"""Figures that went through floats may be so much smaller than ours, in proportion, and so much larger."""
ACCOUNTED_DIGITS, CARD_BITS = 6, 12
"""A release writes this many of such figures: digits of δ, and bits of the ε of a card, which is found by halving."""
WEIGHT_ROUNDED = Fraction(1, 10**14)
"""Weights are written to 15 digits."""
MEAN_ERROR_ROUNDED = 0.00051
LONGEST_TEXTS = 20_000
"""The most characters of free text in a manifest."""


def read(data: dict[str, Any]) -> tuple[Manifest | None, list[Finding]]:
    """The manifest, or what is wrong with its shape."""
    version = data.get("manifest_version")
    if version not in range(1, MANIFEST_VERSION + 1):
        words = f"has version {version!r:.20}, which this tapveil does not know; use a newer one"
        return None, [Finding("manifest-version", PLACE, words)]
    try:
        manifest = Manifest.read(data)
    except pydantic.ValidationError as error:
        places = (".".join(str(part)[:40] for part in problem["loc"]) for problem in error.errors()[:5])
        return None, [Finding("manifest-shape", PLACE, f"is not a valid manifest; see the fields {', '.join(places)}")]
    except ValueError as error:
        return None, [Finding("words-differ", PLACE, str(error))]
    wrong = next(_misshapen(manifest), None)
    return (None, [Finding("manifest-shape", PLACE, wrong)]) if wrong else (manifest, [])


def _misshapen(manifest: Manifest) -> Iterator[str]:
    tables = manifest.tables
    if not all(manifest.arrangement.has_file_for(table.columns) for table in tables):
        yield f"has a table for which the {manifest.layout} layout has no file"
    used = {column for table in tables for column in (*manifest.partition, *table.columns)}
    levels = {table.level.location for table in tables if table.level and table.level.location}
    if set(manifest.columns) != used or set(manifest.wider) != levels:
        yield "does not list exactly the columns and wider areas that its tables use"
    yield from calendar.faults(manifest)
    try:
        shaped.shaped_files(manifest)
    except ValueError as error:
        yield f"has a shape that its tables do not fit: {error}"
    if manifest.is_world and manifest.shapes and not manifest.versions.estimates:
        yield "has shapes, but no estimates that they could be made from"
    if manifest.is_world:
        yield from _misshapen_world(manifest)
    if len({table.name for table in tables}) < len(tables):
        yield "has two tables with the same name"
    # The table of totals has a name of its own, and no level; in version 1 of what is derived there is none.
    several = (len(tables) > 1 or bool(manifest.partition)) and manifest.versions.derived > 1
    totals = [table for table in tables if not table.columns or table.name == TOTAL]
    if not all(several and not table.columns and table.name == TOTAL and table.level is None for table in totals):
        yield f"has an invalid table of totals, or uses the name `{TOTAL}` for another table"


_LISTED = ("date", "time", "location", "duration", "calendar")
"""Kinds of columns that have a public list."""


def _misshapen_world(manifest: Manifest) -> Iterator[str]:
    """Every key of a known world has a public list: days, times, modes and places."""
    kinds, covers = manifest.columns, manifest.covers
    lists = manifest.lists or {}
    listed = all(key == "mode" or key in lists or kind in _LISTED for key, kind in kinds.items())
    if any(UNKNOWN not in each or list(each) != sorted(set(each)) or not all(each) for each in lists.values()):
        yield f"does not list each label once, in order, with one entry {UNKNOWN} for all others"
    ordered = "mode" not in kinds or manifest.partition[:1] == ("mode",)
    if (
        not listed
        or not ordered
        or ("mode" in kinds and not covers.modes)
        or ("date" in kinds and not covers.first_day)
    ):
        yield "has a column of which every value would have to be listed, and is not"
    if manifest.layout != "tables" or manifest.synthetic or manifest.wider or not manifest.has_days:
        yield "has files or areas that a release of every cell does not have"
    if sum(table.cells or 0 for table in manifest.tables) > MOST_CELLS:
        yield f"has more than {MOST_CELLS:,} cells"


def mechanisms(manifest: Manifest) -> tuple[Mapping[str, Mechanism], list[Finding]]:
    """The mechanism of each table, from its scale and threshold alone; none where they take too long to account for."""
    made: dict[str, Mechanism] = {}
    findings = []
    for table in manifest.tables:
        try:
            made[table.name] = manifest.mechanism_of(table)
        except ValueError as error:
            findings.append(Finding("mechanism-impossible", f"{PLACE}, table {table.name}", str(error)))
    if words := too_much(made.values()):
        return {}, [*findings, Finding("mechanism-impossible", PLACE, words)]
    return made, findings


def promise_findings(manifest: Manifest, made: Mapping[str, Mechanism]) -> Iterator[Finding]:
    """Whether the noise keeps what the manifest promises, and whether every figure is the one that follows."""
    every, bounds = list(made.values()), manifest.bounds
    # In how many cells a unit counts is a promise about counting: it must be the one for its unit.
    day, card = bounds.trips_per_day, bounds.trips_per_card
    needed = {"trip": (1, None, None), "card-day": (day, day, None), "card": (card, day, card)}[manifest.unit]
    if (bounds.cells_per_table, day, card) != needed or (bounds.without_card is None) != (manifest.unit == "trip"):
        yield Finding("bounds", PLACE, f"the bounds do not match the unit {manifest.unit}")
    if not losses.certified(every, manifest.exact.loss, manifest.exposure):
        yield _understated("in total", "the noise scales and thresholds do not satisfy the stated epsilon and delta")
    yield from _total_findings(manifest)
    yield from _guarantee_findings(manifest, every)
    yield from _curve_findings(manifest, every)
    yield from _gaussian_findings(manifest, every)
    yield from _card_findings(manifest, every)
    yield from _people_findings(manifest, made)
    for table in manifest.tables:
        if table.exact and not losses.certified([made[table.name]], table.exact.loss, manifest.exposure):
            yield _understated(
                f"table {table.name}", "its noise scale and threshold do not satisfy its epsilon and delta"
            )
        yield from _figure_findings(table, made[table.name])


def _understated(where: str, sentence: str) -> Finding:
    return Finding("epsilon-understated", f"{PLACE}, {where}", sentence)


def _differs(where: str | None, sentence: str) -> Finding:
    return Finding("figure-differs", f"{PLACE}, {where}" if where else PLACE, sentence)


def _same(one: object, other: object) -> bool:
    """The same value in the same form: 8 is not 8.0 here, and an order is part of a form."""
    return repr(one) == repr(other)


def _guarantee_findings(manifest: Manifest, every: list[Mechanism]) -> Iterator[Finding]:
    """Both notions of neighbours: the one of the plan, and what follows for the other."""
    if [each.neighbours for each in manifest.guarantees] != ["replace", "add-remove"]:
        yield _differs("guarantees", "do not cover both notions of neighbours")
    for each in manifest.guarantees:
        exposure, where = Exposure(each.neighbours, manifest.exposure.cells), f"guarantee for {each.neighbours}"
        loss = each.exact.loss
        if not losses.certified(every, loss, exposure):
            yield _understated(where, "the noise scales and thresholds do not satisfy it")
            continue
        delta = losses.accounted_delta(every, loss.epsilon, exposure)
        yield from _delta_findings(manifest, each.delta_accounted, delta, where)
        if each.neighbours != manifest.neighbours:
            follows = losses.in_other_notion(every, manifest.exact.loss, exposure)
            own = loss.epsilon == follows.epsilon or (loss.epsilon * 1000).denominator == 1
            own &= loss.delta == manifest.exact.delta or loss.delta == Fraction(float(loss.delta))
            if not (own and _close(loss.epsilon, follows.epsilon) and _close(loss.delta, follows.delta)):
                yield _differs(where, "does not follow from the guarantee for the other notion of neighbours")


def _close(claimed: Fraction, follows: Fraction) -> bool:
    """Whether a figure that went through floats is the one that follows: it may be a little larger, not smaller."""
    return follows * (1 - CLOSE) <= claimed <= follows * (1 + ROOM) + Fraction(1, 500) * (follows > 1)


def _delta_findings(manifest: Manifest, claimed: float, found: float, where: str) -> Iterator[Finding]:
    if manifest.manifest_version > 1 and claimed != number(Fraction(claimed), digits=ACCOUNTED_DIGITS):
        yield _differs(where, f"delta has more than {ACCOUNTED_DIGITS} digits; the remaining digits could hide data")
    if claimed < found * (1 - CLOSE):
        yield _understated(where, "delta is below the accounted value")
    elif claimed > found * (1 + ROOM) + TINY:
        yield _differs(where, "delta is not the accounted value")


def _curve_findings(manifest: Manifest, every: list[Mechanism]) -> Iterator[Finding]:
    points, epsilons = manifest.curve.points, [manifest.exact.epsilon * part for part in CURVE]
    if manifest.curve.neighbours != manifest.neighbours:
        yield _differs("curve", "uses another notion of neighbours than the guarantee")
    if not _same([each.epsilon for each in points], [number(each, ROUND_CEILING) for each in epsilons]):
        yield _differs("curve", "is not given at the expected values of epsilon")
        return
    least = 1.0
    for point, epsilon in zip(points, epsilons, strict=True):
        least = min(least, losses.accounted_delta(every, epsilon, manifest.exposure))
        yield from _delta_findings(manifest, point.delta, least, f"curve at {point.epsilon:g}")


def _card_findings(manifest: Manifest, every: list[Mechanism]) -> Iterator[Finding]:
    cards, delta = manifest.whole_cards, manifest.exact.delta
    found = None if cards is None else [(card.trips, card.delta) for card in cards]
    expected = [(n, number(delta * n, ROUND_CEILING)) for n in EXAMPLE_CARDS] if manifest.unit == "trip" else None
    if not _same(found, expected):
        yield _differs("whole_cards", "does not match the unit and delta")
        return
    pure = next(each.exact.epsilon for each in manifest.guarantees if each.neighbours == "add-remove")
    for card in cards or ():
        epsilon, where = Fraction(card.epsilon), f"a card of {card.trips} trips"
        halved = epsilon.numerator.bit_length() <= CARD_BITS
        # By composition, where accounting finds none: (nε, nδ) for n trips in cells of their own.
        composed = _same(card.epsilon, number(pure * card.trips, ROUND_CEILING))
        if not halved and not composed:
            yield _differs(where, "epsilon has more digits than a release writes; the remaining digits could hide data")
        stated = losses.Loss(epsilon, Fraction(card.delta))
        if not composed and not losses.whole_card_certified(every, card.trips, stated):
            yield _understated(where, "the noise scales and thresholds do not satisfy it")
            continue
        largest = losses.whole_card_epsilon(every, card.trips, delta * card.trips) or pure * card.trips
        if epsilon > largest * (1 + ROOM):
            yield _differs(where, "epsilon is larger than the accounted value")


def _people_findings(manifest: Manifest, made: Mapping[str, Mechanism]) -> Iterator[Finding]:
    """What is stated of people follows from noise, bounds and days; before wording 3 nothing is."""
    if "people" not in manifest.model_fields_set:
        return
    people = people_of(manifest, made)
    if (people and len(people)) != (manifest.people and len(manifest.people)):
        yield _differs("people", "does not match the days that are covered")
        return
    for person, claimed in zip(people or (), manifest.people or (), strict=True):
        where, apart = f"a person with {claimed.trips_per_week} trips a week", claimed.apart or claimed
        alone = replace(person, apart=True) if claimed.apart else person
        sound = (
            _is_loss_of_a_person(person.epsilon("add-remove"), person.delta, claimed.epsilon, claimed.delta)
            and _is_loss_of_a_person(person.epsilon("replace"), person.delta, claimed.epsilon_replace, claimed.delta)
            and _is_loss_of_a_person(alone.epsilon("add-remove"), alone.delta, apart.epsilon, apart.delta)
        )
        if not sound:
            yield _understated(where, "an epsilon or delta is not the accounted value")
        meaning = None if claimed.epsilon is None else Meaning(_written(claimed.epsilon), _written(claimed.delta))
        figures = claimed.model_dump(include={"epsilon", "epsilon_replace", "delta"})
        said = {"believed": meaning.of_100 if meaning else None, "verdict": verdict(meaning)}
        follow = {**figures, **said, "apart": claimed.apart}
        same = _same(claim_of(person).model_copy(update=follow), claimed)
        if not same or (claimed.apart is None) != person.is_apart_anyway:
            yield _differs(where, "does not follow from its trips, or from its epsilon and delta")


def _is_loss_of_a_person(epsilon: Fraction | None, delta: Fraction, claimed: float | None, at: float) -> bool:
    """Whether a claim has few digits, is not below what is accounted for, and not far above."""
    if not (_few_digits(at) and _close(_written(at), delta)):
        return False
    if epsilon is None or claimed is None:
        return epsilon == claimed
    return _few_digits(claimed) and epsilon <= _written(claimed) <= epsilon * (1 + ROOM)


def _few_digits(claimed: float) -> bool:
    return _same(claimed, number(Fraction(decimal_text(_written(claimed), PERSON_DIGITS))))


def _written(figure: float) -> Fraction:
    return Fraction(str(figure))


def _gaussian_findings(manifest: Manifest, every: list[Mechanism]) -> Iterator[Finding]:
    """ρ and μ must be just what follows from the scales; folders of version 1 do not state them."""
    stated, true = manifest.gaussian, concentrated(every, manifest.exposure)
    claimed = stated and (stated.exact.mu_squared, stated.mu, stated.rho, stated.delta_singletons)
    rounded = [number(each, ROUND_CEILING) for each in (true.mu, true.rho, true.delta_singletons)] if true else []
    figures = true and (true.mu_squared, *rounded)
    if manifest.manifest_version > 1 and not _same(claimed, figures):
        yield _differs("gaussian", "does not follow from the noise scales and thresholds")


def _figure_findings(table: TableClaim, mechanism: Mechanism) -> Iterator[Finding]:
    """Figures that follow from scale and threshold, and must be just what follows."""
    chances = {str(count): number(mechanism.publish_probability(count)) for count in EXAMPLE_COUNTS}
    follow: dict[str, tuple[object, object]] = {
        "scale": (table.scale, number(mechanism.scale)),
        "threshold": (table.threshold, number(mechanism.threshold)),
        "smallest_published": (table.smallest_published, mechanism.smallest_published),
        "noise": (table.noise, mechanism.noise_code),
        "error_95": (table.error_95, mechanism.error_bound(1 - ERROR_CONFIDENCE)),
        "absent_95": (table.absent_95, interval(mechanism, MISS).absent),
        "probability_published": (table.probability_published, chances),
    }
    wrong = [name for name, (claimed, true) in follow.items() if not _same(claimed, true)]
    error = table.mean_error
    if abs(error - mean_error(mechanism)) > MEAN_ERROR_ROUNDED or round(error, 3) != error:
        wrong.append("mean_error")
    for name in wrong:
        yield _differs(f"table {table.name}, {name}", "does not follow from the noise scale and threshold")


def stated_epsilons(manifest: Manifest) -> set[str]:
    """Every ε that words about this release may name."""
    exact = [manifest.exact, *(each.exact for each in manifest.guarantees)]
    return {rounded_up(each.epsilon) for each in exact}


def _rounded_up(loss: losses.Loss) -> list[int | float]:
    return [number(each, ROUND_CEILING) for each in (loss.epsilon, loss.delta)]


def _total_findings(manifest: Manifest) -> Iterator[Finding]:
    """The several places that state the same thing must agree."""
    claims: list[Manifest | Guarantee] = [manifest, *manifest.guarantees]
    if not all(_same([each.epsilon, each.delta], _rounded_up(each.exact.loss)) for each in claims):
        yield _differs(None, "an epsilon or delta does not match its exact value")
    if not all(0 <= each.exact.delta < 1 for each in claims):
        yield _differs(None, "a delta is not between 0 and 1, so nothing would be guaranteed")
    stated_twice = [each for each in manifest.guarantees if each.neighbours == manifest.neighbours]
    if [each.exact for each in stated_twice] != [manifest.exact]:
        yield _differs(None, "the guarantee for the plan's neighbours does not match the total epsilon and delta")
    own = [table.exact.loss for table in manifest.tables if table.exact]
    for table in manifest.tables:
        agrees = _same([table.epsilon, table.delta], _rounded_up(table.exact.loss) if table.exact else [None, None])
        if not agrees or (table.weight is None) == (table.exact is None):
            yield _differs(f"table {table.name}", "an epsilon or delta does not match its exact value")
    if own and (len(own) < len(manifest.tables) or losses.compose(own) != manifest.exact.loss):
        yield _differs(None, "the epsilons and deltas of the tables do not add up to the total")
    weighted = [(table, Fraction(table.weight)) for table in manifest.tables if table.weight is not None]
    widths = [table.scale_exact * weight for table, weight in weighted]
    if widths and max(widths) - min(widths) > WEIGHT_ROUNDED * max(widths):
        yield _differs(None, "the weights of the tables do not match their noise")
    if not all(_same(table.weight, number(weight)) for table, weight in weighted):
        yield _differs(None, "a weight has more digits than a release writes; the remaining digits could hide data")


def form_findings(manifest: Manifest, data: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether it is in canonical form, and every name in it is explained by other fields."""
    first = manifest.manifest_version == 1
    entry = (data.get("ledger") or {}).get("number") if first else None
    written = manifest_1.written(manifest.as_json, entry) if first else manifest.as_json
    if json.dumps(data) != json.dumps(written):
        yield Finding("hidden-data", PLACE, NOT_CANONICAL)
    if not were_used_together(manifest.manifest_version, manifest.versions):
        yield Finding("manifest-version", PLACE, "lists versions that were never used together")
    holidays = [day.isoformat() for day in manifest.holidays or ()]
    sorted_since: list[Collection[str]] = [
        manifest.covers.modes or (),
        holidays,
        manifest.wider,
        manifest.service or (),
        manifest.calendars or (),
        manifest.shapes or (),
    ]
    if not first:  # which has areas and files in the order of the plan
        sorted_since += [manifest.areas, manifest.public_files_sha256, *manifest.wider.values()]
    used = dict.fromkeys(column for table in manifest.tables for column in (*manifest.partition, *table.columns))
    if any(list(each) != sorted(set(each)) for each in sorted_since) or list(manifest.columns) != list(used):
        yield Finding("hidden-data", PLACE, "has a list that is not in canonical order; the order could hide data")
    yield from _public_file_findings(manifest)
    yield from free_text_findings(manifest)


def free_text_findings(manifest: Manifest) -> Iterator[Finding]:
    """Whether free texts of the publisher are short and contain no identifiers."""
    said = (manifest.title, manifest.description, manifest.publisher, manifest.licence, manifest.region)
    texts = [*filter(None, (*said, *(manifest.covers.modes or ()))), *manifest.columns, *manifest.public_files_sha256]
    for areas in (manifest.areas, *manifest.wider.values()):
        texts += [*areas.keys(), *areas.values()]
    texts += [label for claim in (manifest.calendars or {}).values() for label in claim.days]
    texts += [label for labels in (manifest.lists or {}).values() for label in labels]
    texts += {text for total in manifest.totals or () for text in (total.source, *total.of, *total.of.values())}
    texts += [text for shape in (manifest.shapes or {}).values() for text in _texts(shape.model_dump())]
    if sum(map(len, texts)) > LONGEST_TEXTS:
        yield Finding(
            "too-large", PLACE, f"has more than {LONGEST_TEXTS:,} characters of free text in names and titles"
        )
    yield from text_findings(PLACE, texts)


def _texts(value: Any) -> Iterator[str]:
    """All texts in lists and sections, and the names in them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for each in value.items() for text in _texts(each))
    elif isinstance(value, tuple | list):
        yield from (text for each in value for text in _texts(each))


def _public_file_findings(manifest: Manifest) -> Iterator[Finding]:
    """Whether the public files are just those that areas, wider areas and tables of the manifest need."""
    files, areas = set(manifest.public_files_sha256), manifest.areas
    wider = {f"lookup of {name} of {mode}" for name, of in manifest.wider.items() for mode in of}
    cells = {f"cells of {table.name}" for table in manifest.tables if manifest.from_a_list}
    listed = {f"calendar of {name}" for name, claim in (manifest.calendars or {}).items() if claim.listed}
    needed = {f"{kind} of {mode}" for kind in ("lookup", "polygons") for mode in areas} | wider | cells | listed
    also = [*(["totals"] if manifest.totals else []), *(["holidays"] if manifest.is_world else [])]
    more = files - needed - {"gtfs", "places", *also}
    if manifest.manifest_version == 1:  # which names all lists of wider areas, also those that no table has
        unused = {role for role in more if _WIDER.fullmatch(role)}
        more -= unused if len(unused) <= MOST_UNUSED else set()
    if more:
        yield Finding("public-file", PLACE, f"lists {len(more)} public files that no area or table needs")
    if any({f"lookup of {mode}", f"polygons of {mode}"} <= files for mode in areas):
        yield Finding("public-file", PLACE, "has two sources for the same areas: a lookup and polygons")
    if manifest.manifest_version == 1:
        return
    own = {mode for mode in areas if {f"lookup of {mode}", f"polygons of {mode}"} & files}
    by_timetable = {mode for mode, label in areas.items() if mode not in own and _BY_TIMETABLE.fullmatch(label)}
    timetable = by_timetable or {mode for mode in areas if f"polygons of {mode}" in files} or cells - files
    if set(areas) - own - by_timetable or (wider | listed) - files or (timetable and "gtfs" not in files):
        yield Finding("public-file", PLACE, "has no SHA-256 for a public file that an area or a table needs")


_WIDER = re.compile(r"lookup of [a-z][a-z0-9_-]{0,63} of .+")
_BY_TIMETABLE = re.compile(r"stop_name|station|station_name|zone_id|H3 cell of resolution ([0-9]|1[0-5])")
"""What areas are called that have no file of their own."""
MOST_UNUSED = 32
"""Lists of wider areas that no table of a version 1 folder has."""
