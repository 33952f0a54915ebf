"""The spend of a plan: the one place where a plan becomes an entry of the ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date

from tapveil.base.numbers import clock_text
from tapveil.base.public_total import PublicTotal
from tapveil.ledger.entry import Spend, SpentTable
from tapveil.ledger.reading import Reading
from tapveil.plan.model import Plan
from tapveil.plan.source import Source


def spend_of(plan: Plan, identity: str, today: date, totals: Sequence[PublicTotal] = ()) -> Spend:
    """The ledger entry of a release of this plan, given exact totals that are public anyway."""
    source = plan.source
    # A trip without a card may have its taps on two days, so releases of either day include it.
    runs_on = source.taps is not None and plan.privacy.without_card == "own-unit"
    return Spend(
        on=today,
        id=identity,
        data_set=plan.ledger.data_set,
        release=plan.release.name,
        plan_sha256=plan.digest,
        unit=plan.privacy.unit,
        neighbours=plan.privacy.neighbours,
        cells=plan.guarantee.exposure.cells,
        tables=tuple(
            SpentTable(
                name=name,
                mechanism=plan.privacy.mechanism,
                scale=each.scale,
                threshold=each.threshold,
                trips_per_cell=plan.tables[name].most_per_cell,
            )
            for name, each in plan.guarantee.mechanisms.items()
        ),
        first_day=None if runs_on else source.first_day,
        last_day=None if runs_on else source.last_day,
        days_by=_reading(source, "date") if source.first_day or plan.privacy.unit == "card-day" else None,
        cards_by=_reading(source, "card") if plan.privacy.by_card else None,
        modes=source.modes,
        modes_by=_reading(source, "mode") if source.modes else None,
        rows="taps" if source.taps else "trips",
        chosen_from=plan.privacy.chosen_from,
        totals=tuple(PublicTotal(**total.model_dump(exclude={"calibrate"})) for total in totals),
    )


def would_spend(plan: Plan) -> Spend:
    """The entry that a release of this plan would make today; never written."""
    return spend_of(plan, "0" * 32, date.today())


def _reading(source: Source, name: str) -> str:
    encoding = source.encoding if source.encoding != "utf-8" else ""
    if source.kind(name) != "date":
        return Reading(_column(source, name), encoding).text
    times = ", ".join(_column(source, time) for time in source.deciding)
    return Reading(
        _column(source, name),
        encoding,
        timezone=source.timezone or "",
        shape="taps" if source.taps else "",
        day_starts=f"{clock_text(source.day_starts)} by {times}" if source.day_follows_time else "",
    ).text


def _column(source: Source, name: str) -> str:
    """A column, or its fixed value, with its other settings in the plan."""
    said = source.columns[name].model_dump(exclude_defaults=True)
    theirs = said.pop("column", None)
    more = [f"{key} {json.dumps(value, ensure_ascii=False)}" for key, value in sorted(said.items())]
    return " ".join([*([f"column {theirs}"] if theirs else []), *more])
