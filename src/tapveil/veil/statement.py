"""The manifest of a release, from the plan alone, never from the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any, cast

from tapveil._version import __version__
from tapveil.base.calendar import DAYS, days_by_label, kind_of, spans_by_label
from tapveil.base.layouts import LAYOUTS
from tapveil.base.public_total import PublicTotal
from tapveil.base.shape import Shape
from tapveil.base.vocabulary import PLACES, UNKNOWN
from tapveil.inputs.calendars import Calendars
from tapveil.plan.model import Level, Plan, Table
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.concentrated import Concentrated, concentrated
from tapveil.privacy.distribution import mean_error
from tapveil.privacy.intervals import MISS, interval
from tapveil.privacy.loss import Loss, accounted_delta, whole_card_epsilon
from tapveil.privacy.person import Person, Releases, people_of_a_year
from tapveil.privacy.units import Neighbours
from tapveil.published import manifest as claims
from tapveil.published import shaped
from tapveil.published.people import claim_of
from tapveil.published.reader import READER_VERSION
from tapveil.published.rider.page import RIDER_VERSION

NOT_YET = "0" * 32
"""Stands for the release ID until the budget is charged."""
COST = {
    *"chosen_from looked_at_trips unit bounds neighbours mechanism epsilon delta exact guarantees".split(),
    *"curve gaussian whole_cards tables".split(),
}
"""The fields of a manifest that are the guarantee and the cost."""


def manifest(
    plan: Plan,
    created: date,
    public_files: Mapping[str, str],
    *,
    places: bool = False,
    cells: Mapping[str, int] | None = None,
    calendars: Calendars | None = None,
    shapes: Mapping[str, Shape] | None = None,
    totals: Sequence[PublicTotal] = (),
    holidays: Sequence[date] = (),
) -> claims.Manifest:
    """The contents of `privacy.json`; ValueError if names are too long. `cells`: of each table of a known world;
    `calendars`: the label of each day; `holidays`: the days that are like Sundays, of a known world.

    The release ID and the ledger entry are added when the budget is charged.
    """
    release, source = plan.release, plan.source
    taps = source.taps if plan.columns.pairs_taps else None
    world: dict[str, Any] = {"holidays": tuple(holidays)} if plan.privacy.is_world else {}
    facts = plan.world.model_dump(mode="json")
    world |= {"service": dict(sorted(facts["service"].items()))} if facts["service"] else {}
    world |= {"durations": facts["durations"]} if "duration" in plan.columns.kinds else {}
    lists = {name: tuple(sorted({UNKNOWN, *labels})) for name, labels in sorted(plan.world.lists.items())}
    world |= {"lists": lists} if lists else {}
    files: dict[str, Any] = {"shapes": shapes} if shapes else {}
    corrects: dict[str, Any] = {"corrects": release.corrects} if release.corrects else {}
    files |= {"totals": tuple(map(_total, totals))} if totals else {}
    levels = sorted({table.level.location for table in plan.table if table.level.location})
    stated = claims.Manifest(
        manifest_version=claims.MANIFEST_VERSION,
        versions=claims.VERSIONS.model_copy(update=_parts(plan, shapes, totals)),
        release=release.name,
        release_id=NOT_YET,
        ledger=None,
        title=release.title,
        description=release.description,
        publisher=release.publisher,
        publisher_type=release.publisher_type,
        licence=release.licence,
        region=release.region,
        created=created,
        **_cost(plan, cells),
        **corrects,
        **world,
        **_calendars(plan, calendars or {}),
        **files,
        covers=claims.Covers(first_day=source.first_day, last_day=source.last_day, modes=_modes(plan)),
        partition=release.partition,
        columns={name: source.kind(name) for table in plan.table for name in plan.columns.of(table)},
        layout=release.layout,
        synthetic=release.synthetic,
        rows="taps" if source.taps else "trips",
        pairing=claims.Pairing(same=taps.same, within_minutes=taps.within_minutes) if taps else None,
        time_minutes=plan.coarsen.time_minutes,
        day=claims.Day.model_construct(
            starts=source.day_starts,
            after_midnight=plan.coarsen.after_midnight,
            timezone=source.timezone,
            calendar=source.calendar,
        ),
        areas={mode: area.label for mode, area in sorted(plan.coarsen.location.items())},
        wider={name: {mode: area.label for mode, area in sorted(plan.coarsen.wider[name].items())} for name in levels},
        plan_sha256=plan.digest,
        public_files_sha256=dict(sorted(public_files.items())),
        places=PLACES if places else None,
        software=claims.Software(name="tapveil", version=__version__),
        people=None,
    )
    stated_people = people(plan)
    return stated.model_copy(update={"people": stated_people and tuple(map(claim_of, stated_people))})


def _parts(plan: Plan, shapes: Mapping[str, Shape] | None, totals: Sequence[PublicTotal]) -> dict[str, int]:
    """Versions of what this folder has and others may not."""
    parts = {"reader": READER_VERSION} if LAYOUTS[plan.release.layout].has_reader else {}
    parts |= {"rider": RIDER_VERSION}
    parts |= {"totals": 1} if totals else {}
    return parts | ({"shapes": shaped.VERSION} if shapes else {})


def _total(total: PublicTotal) -> claims.TotalClaim:
    """As declared; whether estimates add up to it is stated once it is known that there are some."""
    given = total.model_dump(include={"trips", "first_day", "last_day", "source"})
    return claims.TotalClaim(**given, of=dict(sorted(total.of.items())), calibrated=False)


def _calendars(plan: Plan, calendars: Calendars) -> dict[str, Any]:
    """How columns follow from the day, with the days that a public list says it of."""
    found = {}
    for name, column in sorted(plan.columns.calendars.items()):
        labels = {date.fromisoformat(day): label for day, label in calendars[name].items()}
        stated: dict[str, Any] = {"days": days_by_label(labels.values())}
        if column.period:
            stated |= {"period": column.period}
        elif column.days:
            holidays = tuple(day for day, kind in labels.items() if kind != kind_of(day, column.days))
            kinds = {kind: tuple(sorted(column.days[kind], key=DAYS.index)) for kind in sorted(column.days)}
            stated |= {"kinds": kinds, "holidays": holidays}
        else:
            stated |= {"listed": spans_by_label(labels)}
        found[name] = claims.CalendarClaim(**stated)
    return {"calendars": found} if found else {}


def people(plan: Plan) -> list[Person] | None:
    """What a release of a plan, and as many as a year has, mean for people; None where it names no days."""
    first, last = plan.source.first_day, plan.source.last_day
    if not (first and last):
        return None
    return people_of_a_year(released(plan, (last - first).days + 1), plan.guarantee.loss.delta)


def released(plan: Plan, days: int) -> Releases:
    """A release of a plan, of this many days."""
    tables = tuple(
        (plan.guarantee.mechanisms[table.name], "date" in map(plan.source.kind, plan.columns.of(table)))
        for table in plan.table
    )
    return Releases(plan.privacy.unit, tables, plan.guarantee.exposure.cells, days)


def _modes(plan: Plan) -> tuple[str, ...] | None:
    """The modes that are counted; of a known world all are named, also where the source has but one."""
    modes, mode = plan.source.modes, plan.source.columns.get("mode")
    only = (mode.value,) if mode and mode.value and plan.privacy.is_world else None
    return tuple(sorted(modes)) if modes else only


def cost(plan: Plan) -> dict[str, Any]:
    """The privacy guarantee and cost of a plan, in total and per table, as in the manifest."""
    return claims.Manifest.model_construct(**_cost(plan)).model_dump(mode="json", exclude_unset=True)


def cost_in(stated: claims.Manifest) -> dict[str, Any]:
    """The same, of a manifest that is there already: it takes time to compute."""
    return stated.model_dump(mode="json", include=COST, exclude_unset=True)


def _cost(plan: Plan, cells: Mapping[str, int] | None = None) -> dict[str, Any]:
    privacy = plan.privacy
    given = privacy.model_dump(include={"trips_per_day", "trips_per_card", "without_card"}, exclude_none=True)
    return {
        "chosen_from": privacy.chosen_from,
        "looked_at_trips": privacy.looked_at_trips,
        "unit": privacy.unit,
        # Each trip of a unit that is counted changes one cell of a table by one; several may share a cell.
        "bounds": claims.Bounds(cells_per_table=plan.guarantee.exposure.cells, **given),
        "neighbours": privacy.neighbours,
        "mechanism": privacy.mechanism,
        **_loss(plan.guarantee.loss),
        "guarantees": [_guarantee(plan, "replace"), _guarantee(plan, "add-remove")],
        "curve": claims.Curve(neighbours=privacy.neighbours, points=_curve(plan)),
        "gaussian": gaussian(gaussian_part(plan)),
        "whole_cards": None if privacy.by_card else [_whole_card(plan, trips) for trips in claims.EXAMPLE_CARDS],
        "tables": tuple(_table(plan, table, cells) for table in plan.table),
    }


def _loss(loss: Loss) -> dict[str, Any]:
    """(ε, δ) as numbers, rounded up, and exactly."""
    return {
        "epsilon": claims.number(loss.epsilon, ROUND_CEILING),
        "delta": claims.number(loss.delta, ROUND_CEILING),
        "exact": claims.ExactLoss(epsilon=loss.epsilon, delta=loss.delta),
    }


def _few_digits(delta: float) -> int | float:
    """A δ of the accountant, rounded up: its last digits depend on the machine."""
    return claims.number(Fraction(delta), ROUND_CEILING, digits=6)


def _curve(plan: Plan) -> list[claims.Point]:
    """The δ at other ε, by exact accounting; a bound at a smaller ε also holds at a larger one."""
    points, least = [], 1.0
    for part in claims.CURVE:
        epsilon = plan.guarantee.loss.epsilon * part
        least = min(least, accounted_delta(list(plan.guarantee.mechanisms.values()), epsilon, plan.guarantee.exposure))
        points.append(claims.Point(epsilon=claims.number(epsilon, ROUND_CEILING), delta=_few_digits(least)))
    return points


def gaussian_part(plan: Plan) -> Concentrated | None:
    """ρ and μ of the Gaussian noise of a plan; None for other noise."""
    return concentrated(list(plan.guarantee.mechanisms.values()), plan.guarantee.exposure)


def gaussian(part: Concentrated | None) -> claims.GaussianPart | None:
    """ρ and μ for the manifest, rounded up, and the probability that they do not cover; None for other noise."""
    if part is None:
        return None
    return claims.GaussianPart(
        mu=claims.number(part.mu, ROUND_CEILING),
        rho=claims.number(part.rho, ROUND_CEILING),
        delta_singletons=claims.number(part.delta_singletons, ROUND_CEILING),
        exact=claims.ExactGaussian(mu_squared=part.mu_squared),
    )


def _whole_card(plan: Plan, trips: int) -> claims.WholeCard:
    """The loss of a card with this many trips, each in different cells, where single trips are protected.

    δ grows with the number of trips, as each of them may be alone in its cells; ε follows from it.
    """
    delta = plan.guarantee.loss.delta * trips
    bound = whole_card_epsilon(list(plan.guarantee.mechanisms.values()), trips, delta)
    pure = plan.guarantee.loss_for("add-remove").epsilon * trips
    epsilon = claims.number(pure if bound is None else bound, ROUND_CEILING)
    return claims.WholeCard(trips=trips, epsilon=epsilon, delta=claims.number(delta, ROUND_CEILING))


def _guarantee(plan: Plan, neighbours: Neighbours) -> claims.Guarantee:
    loss, exposure = plan.guarantee.loss_for(neighbours), Exposure(neighbours, plan.guarantee.exposure.cells)
    accounted = accounted_delta(list(plan.guarantee.mechanisms.values()), loss.epsilon, exposure)
    return claims.Guarantee(neighbours=neighbours, **_loss(loss), delta_accounted=_few_digits(accounted))


def _table(plan: Plan, table: Table, cells: Mapping[str, int] | None) -> claims.TableClaim:
    mechanism, level = plan.guarantee.mechanisms[table.name], table.level
    every: dict[str, Any] = {"cells": cells[table.name]} if cells else {}
    every |= {"trips_per_cell": table.most_per_cell} if table.most_per_cell > 1 else {}
    if table.epsilon is None:
        share: dict[str, Any] = {"weight": claims.number(plan.guarantee.weights[table.name])}
    else:
        share = _loss(Loss(table.epsilon, table.delta or Fraction(0)))
    return claims.TableClaim(
        name=table.name,
        columns=table.columns,
        **every,
        level=None if level == Level() else claims.LevelClaim.model_construct(**dict(level)),
        **share,
        noise=cast(claims.NoiseCode, mechanism.noise_code),
        scale=claims.number(mechanism.scale),
        scale_exact=mechanism.scale,
        threshold=claims.number(mechanism.threshold),
        threshold_exact=mechanism.threshold,
        smallest_published=mechanism.smallest_published,
        error_95=mechanism.error_bound(1 - claims.ERROR_CONFIDENCE),
        absent_95=interval(mechanism, MISS).absent,
        mean_error=round(mean_error(mechanism), 3),
        probability_published={
            str(count): claims.number(mechanism.publish_probability(count)) for count in claims.EXAMPLE_COUNTS
        },
    )
