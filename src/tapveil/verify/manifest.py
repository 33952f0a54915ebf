"""The manifest of a folder, read with suspicion: its shape, and whether its promise follows from its noise.

Nothing that it claims is believed: mechanisms are made from the scales and thresholds, and every (ε, δ) is computed
anew by the accountant. A claim may be larger than what is found, never smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any

import pydantic

from tapveil.manifest import Manifest, Stated, TableClaim
from tapveil.plan import OPAL_SHAPES
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.effort import too_much
from tapveil.privacy.intervals import MISS, interval, mean_error
from tapveil.privacy.loss import Loss, accounted_delta, certified, compose, whole_card_certified
from tapveil.privacy.mechanisms import Mechanism, stated
from tapveil.statement import (
    COMPOSITION,
    COUNTED,
    ERROR_CONFIDENCE,
    MANIFEST_VERSION,
    WHOLE_CARDS,
    change,
    number,
    rounded_up,
)
from tapveil.verify.finding import Finding

PLACE = "privacy.json"


def read(data: dict[str, Any]) -> tuple[Manifest | None, list[Finding]]:
    """The manifest, or what is wrong with its shape."""
    version = data.get("manifest_version")
    if version != MANIFEST_VERSION:
        return None, [
            Finding("manifest-version", PLACE, f"has version {version!r:.20}, which this tapveil does not know")
        ]
    try:
        manifest = Manifest.model_validate(data)
    except pydantic.ValidationError as error:
        places = (".".join(str(part)[:40] for part in problem["loc"]) for problem in error.errors()[:5])
        return None, [Finding("manifest-shape", PLACE, f"is not a manifest as it should be, at: {', '.join(places)}")]
    if manifest.layout == "opal" and any(table.columns not in OPAL_SHAPES for table in manifest.tables):
        return None, [Finding("manifest-shape", PLACE, "has a table that the opal layout has no file for")]
    used = {column for table in manifest.tables for column in (*manifest.partition, *table.columns)}
    levels = {table.level.location for table in manifest.tables if table.level and table.level.location}
    if set(manifest.columns) != used or set(manifest.wider) != levels:
        return None, [Finding("manifest-shape", PLACE, "names columns or wider areas that no table has, or lacks one")]
    if len({table.name for table in manifest.tables}) < len(manifest.tables):
        return None, [Finding("manifest-shape", PLACE, "has two tables of one name")]
    return manifest, []


def mechanisms(manifest: Manifest) -> tuple[Mapping[str, Mechanism], list[Finding]]:
    """The mechanism of each table, from its scale and threshold alone; none where they take too long to account for."""
    made: dict[str, Mechanism] = {}
    findings = []
    for table in manifest.tables:
        try:
            made[table.name] = stated(manifest.mechanism, table.scale_exact, table.threshold_exact)
        except ValueError as error:
            findings.append(Finding("mechanism-impossible", f"{PLACE}, table {table.name}", str(error)))
    if words := too_much(made.values()):
        return {}, [*findings, Finding("mechanism-impossible", PLACE, words)]
    return made, findings


def promise_findings(manifest: Manifest, made: Mapping[str, Mechanism]) -> Iterator[Finding]:
    """Whether the noise keeps what the manifest promises."""
    yield from _bounds_findings(manifest)
    every = list(made.values())
    total = manifest.exact.loss
    if not certified(every, total, manifest.exposure):
        yield _understated("in total", "the scales and thresholds do not keep the epsilon and delta that are stated")
    for guarantee in manifest.guarantees:
        exposure = Exposure(guarantee.neighbours, manifest.exposure.cells)
        where = f"guarantee for {guarantee.neighbours}"
        if not certified(every, guarantee.exact.loss, exposure):
            yield _understated(where, "the scales and thresholds do not keep it")
        elif guarantee.delta_accounted < accounted_delta(every, guarantee.exact.epsilon, exposure) * (1 - 1e-6):
            yield _understated(where, "delta_accounted is below what the accountant finds")
    yield from _curve_findings(manifest, every)
    for card in manifest.whole_cards.cards if manifest.whole_cards else ():
        loss = Loss(Fraction(card.epsilon), Fraction(card.delta))
        if not whole_card_certified(every, card.trips, loss):
            yield _understated(f"a card of {card.trips} trips", "the scales and thresholds do not keep it")
    for table in manifest.tables:
        if table.exact and not certified([made[table.name]], table.exact.loss, manifest.exposure):
            yield _understated(f"table {table.name}", "its scale and threshold do not keep its epsilon and delta")
        yield from _figure_findings(table, made[table.name])
    yield from _total_findings(manifest)
    yield from _word_findings(manifest)


def _understated(where: str, sentence: str) -> Finding:
    return Finding("epsilon-understated", f"{PLACE}, {where}", sentence)


def _bounds_findings(manifest: Manifest) -> Iterator[Finding]:
    """In how many cells a unit counts is a promise about counting: it must at least be the one for its unit."""
    bounds = manifest.bounds
    cells = {"trip": 1, "card-day": bounds.trips_per_day, "card": bounds.trips_per_card}[manifest.unit]
    if bounds.cells_per_table != cells:
        yield Finding("bounds", PLACE, f"cells_per_table does not follow from the unit, which is a {manifest.unit}")


def _curve_findings(manifest: Manifest, every: list[Mechanism]) -> Iterator[Finding]:
    if manifest.curve.neighbours != manifest.neighbours:
        yield Finding("figure-differs", f"{PLACE}, curve", "is for other neighbours than the promise")
    for point in manifest.curve.points:
        loss = Loss(Fraction(point.epsilon), Fraction(point.delta))
        if not certified(every, loss, manifest.exposure):
            found = accounted_delta(every, loss.epsilon, manifest.exposure)
            if point.delta < found * (1 - 1e-6):  # the accountant stops its search where it is close enough
                yield _understated(f"curve at {point.epsilon:g}", "delta is below what the accountant finds")


def _figure_findings(table: TableClaim, mechanism: Mechanism) -> Iterator[Finding]:
    """Figures that follow from scale and threshold, and must be just what follows."""
    follow: dict[str, tuple[object, object]] = {
        "scale": (table.scale, number(mechanism.scale)),
        "threshold": (table.threshold, number(mechanism.threshold)),
        "smallest_published": (table.smallest_published, mechanism.smallest_published),
        "noise": (table.noise, mechanism.noise_name),
        "error_95": (table.error_95, mechanism.error_bound(1 - ERROR_CONFIDENCE)),
        "absent_95": (table.absent_95, interval(mechanism, MISS).absent),
        "mean_error": (table.mean_error, round(mean_error(mechanism), 3)),
    }
    for count, claimed in table.probability_published.items():
        true = number(mechanism.publish_probability(int(count))) if count.isdecimal() and len(count) < 9 else None
        follow[f"probability_published of {count:.9}"] = (claimed, true)
    for name, (stated_figure, true_figure) in follow.items():
        if stated_figure != true_figure:
            sentence = "does not follow from the scale and the threshold"
            yield Finding("figure-differs", f"{PLACE}, table {table.name}, {name}", sentence)


def _word_findings(manifest: Manifest) -> Iterator[Finding]:
    """What is promised in words must be what is promised in numbers."""
    meanings = [each.meaning for each in manifest.guarantees]
    expected = [change(manifest.unit, each.neighbours) for each in manifest.guarantees]
    if (manifest.counted, manifest.composition, meanings) != (COUNTED[manifest.unit], COMPOSITION, expected):
        yield Finding("words-differ", PLACE, "says in words something else than in numbers")
    cards = manifest.whole_cards
    if (cards is None) != (manifest.unit != "trip") or (cards and cards.meaning != WHOLE_CARDS):
        yield Finding("words-differ", f"{PLACE}, whole_cards", "is not what it should be for this unit")


def stated_epsilons(manifest: Manifest) -> set[str]:
    """Every ε that words about this release may name."""
    losses = [manifest.exact, *(each.exact for each in manifest.guarantees)]
    return {rounded_up(each.epsilon) for each in losses}


def _total_findings(manifest: Manifest) -> Iterator[Finding]:
    """The several places that state the same thing must agree."""
    losses: list[Stated] = [manifest, *manifest.guarantees]
    if not all(each.agrees for each in losses):
        yield Finding("figure-differs", PLACE, "an epsilon or delta is not what its exact form says")
    stated_twice = [each for each in manifest.guarantees if each.neighbours == manifest.neighbours]
    if [each.exact for each in stated_twice] != [manifest.exact]:
        yield Finding("figure-differs", PLACE, "the guarantee for the plan's neighbours is not the total")
    own = [table.exact for table in manifest.tables]
    each_own = [Loss(exact.epsilon, exact.delta) for exact in own if exact]
    for table in manifest.tables:
        agrees = (table.epsilon, table.delta) == (None, None)
        if table.exact:
            exact = (table.exact.epsilon, table.exact.delta)
            agrees = (table.epsilon, table.delta) == tuple(number(each, ROUND_CEILING) for each in exact)
        if not agrees or (table.weight is None) == (table.exact is None):
            sentence = "an epsilon or delta is not what its exact form says"
            yield Finding("figure-differs", f"{PLACE}, table {table.name}", sentence)
    if not all(0 <= each.exact.delta < 1 for each in losses):
        yield Finding("figure-differs", PLACE, "a delta is not between 0 and 1: nothing would be promised")
    if any(own) and (len(each_own) < len(own) or compose(each_own) != manifest.exact.loss):
        yield Finding("figure-differs", PLACE, "the tables' epsilons and deltas do not add up to the total")
