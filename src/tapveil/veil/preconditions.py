"""Conditions that must hold before the budget is charged."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from tapveil.base.errors import EngineError, InputFileError, PlanError, TripDataError
from tapveil.base.vocabulary import PLACES, UNKNOWN, WIDER, WORLD
from tapveil.counting.exact import CELLS_AT_ONCE, Counted, ExactTable
from tapveil.inputs.public import PublicInputs
from tapveil.plan.model import Plan
from tapveil.published import estimated, shaped
from tapveil.published import places as published_places
from tapveil.published.calibrated import calibrated_faults
from tapveil.published.domain import Domain
from tapveil.published.estimates import NEWEST
from tapveil.published.manifest import Manifest, TotalClaim
from tapveil.published.place_facts import PlaceFacts
from tapveil.trips import files
from tapveil.veil import statement
from tapveil.verification.manifest import free_text_findings

LEAST_DISK, MOST_DISK = 100 * 10**6, 5 * 10**9
"""Free bytes that a release asks for: half of what the trip files take, within these."""


def sound_statement(inputs: PublicInputs, created: date) -> Manifest:
    """The manifest of the folder, as readers will see it: what they cannot read must not be paid for.

    PlanError or InputFileError for what cannot be published so. It follows from the plan and its public files alone.
    """
    domain = stated_domain(inputs, created, drawn=sound_places(inputs) is not None)
    stated = domain.manifest
    if stated.is_world and (version := estimated.version(domain)):
        parts = {"estimates": version, **({"trips": 1} if inputs.plan.world.trips else {})}
        versions = stated.versions.model_copy(update=parts)
        longer = {"estimated_minutes": found} if (found := estimated.minutes(domain, version)) else {}
        stated = stated.model_copy(update={"versions": versions, **longer, **_calibrated(inputs, stated)})
        _refuse_unmet(replace(domain, manifest=stated))
    _refuse_shapes(inputs, domain, stated)
    for finding in free_text_findings(stated):
        raise PlanError(f"a name, title or description in the plan cannot be published: it {finding.sentence}")
    return stated


def stated_domain(inputs: PublicInputs, created: date, *, drawn: bool) -> Domain:
    """The manifest without its estimates, and the public lists; PlanError if names are too long for it.

    `drawn`: whether the places are on a map.
    """
    try:
        stated = statement.manifest(
            inputs.plan,
            created,
            inputs.sha256,
            places=drawn,
            cells=_cells(inputs),
            calendars=inputs.calendars,
            shapes=inputs.shapes,
            totals=inputs.totals,
            holidays=inputs.holidays,
        )
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise PlanError(f"the plan has too many entries, or too long names, for a manifest ({place})") from None
    return Domain(stated, inputs.world if stated.is_world else {})  # others have no lists


def said_of_places(inputs: PublicInputs, stated: Manifest) -> PlaceFacts:
    """What the files of shapes say of places."""
    fields = shaped.fields_of_places(stated)
    said = PlaceFacts(tuple(fields), inputs.place_facts(fields))
    return said.of_every_mode() if shaped.lack_a_mode(stated) else said


def _cells(inputs: PublicInputs) -> dict[str, int] | None:
    """How many cells each table of a known world has: public, as the lists are."""
    listed = inputs.dictionaries.items() if inputs.plan.privacy.is_world else ()
    return {name: len(cells) for name, cells in listed if cells is not None} or None


def _calibrated(inputs: PublicInputs, stated: Manifest) -> dict[str, tuple[TotalClaim, ...]]:
    """The exact totals, with those named that estimates add up to."""
    asked = [total.calibrate for total in inputs.totals]
    pairs = zip(stated.totals or (), asked, strict=True)
    made = tuple(claim.model_copy(update={"calibrated": calibrate}) for claim, calibrate in pairs)
    return {"totals": made} if made else {}


def _refuse_unmet(domain: Domain) -> None:
    """PlanError if estimates could not add up to the exact totals."""
    if fault := next(calibrated_faults(domain.manifest, domain.places, estimated.together(domain)), None):
        raise PlanError(f"[public] the total of {fault}. Set calibrate = false, and estimates do not add up to it")


def _refuse_shapes(inputs: PublicInputs, domain: Domain, stated: Manifest) -> None:
    """PlanError or InputFileError where files of shapes cannot be made."""
    if stated.shapes and stated.is_world and (why := estimated.why_not(domain, NEWEST)):
        raise PlanError(f"[release] shapes: they are made from estimates, and there are none: {why}")
    try:
        for finding in said_of_places(inputs, stated).findings():
            raise InputFileError(f"the list of places cannot be published: {finding.place} {finding.sentence}")
    except ValueError as error:
        raise PlanError(f"[release] shapes: {error}") from None


def sound_places(inputs: PublicInputs) -> dict[str, Any] | None:
    """The places to publish; TripDataError for those that `verify` would not accept, before the budget is charged."""
    places = inputs.places
    wider = {area for areas in inputs.wider.values() for listed in areas.lookups.values() for area in listed.values()}
    listed = inputs.world.values() if inputs.plan.privacy.is_world else ()
    world = {place for places in listed for place in places}
    for finding in (
        *(published_places.places_findings(places, PLACES) if places else ()),
        *published_places.name_findings(WIDER, wider),
        *published_places.name_findings(WORLD, world),
    ):
        raise InputFileError(f"the lists of places cannot be published: {finding.place} {finding.sentence}")
    if places and (size := len(published_places.places_text(places).encode())) > published_places.LARGEST:
        raise InputFileError(
            f"the shapes of the areas need {size / 2**20:.0f} MB; the maximum is {published_places.LARGEST >> 20} MB. "
            "Simplify their borders"
        )
    return places


def refuse_foreign_places(plan: Plan, counted: Counted) -> None:
    """TripDataError, before anything is paid for, where no trip has a place of the lists of a known world.

    Every table would say UNKNOWN and nothing else. Like a release without trips, it stops only where that is so of all.
    """
    for column in plan.source.columns if plan.privacy.is_world else ():
        tables = [counted.tables[table.name] for table in plan.table if column in table.columns]
        is_place = plan.source.kind(column) == "location"
        if (
            is_place
            and any(len(table.words[0]) for table in tables)
            and all(_is_nowhere(each, column) for each in tables)
        ):
            raise TripDataError(
                f"no trip has a {column} of the public lists, so that all would be {UNKNOWN}: write places in "
                "[places] or [coarsen.location] as the trips name them, and check the column under [source.columns]"
            )


def _is_nowhere(table: ExactTable, column: str) -> bool:
    """Whether every cell that occurs has an unknown place; mostly the first ones tell."""
    labels, cells = table.labels[column], len(table.words[0])
    unknown = labels.index(UNKNOWN) if UNKNOWN in labels else -1
    pieces = (np.arange(start, min(start + CELLS_AT_ONCE, cells)) for start in range(0, cells, CELLS_AT_ONCE))
    return all(bool((table.label_codes(piece)[column] == unknown).all()) for piece in pieces)


def refuse_full_disk(plan: Plan, out: Path) -> None:
    """EngineError, before anything is paid for, where the folder might not fit on its disk.

    How much is asked for follows from the sizes of the files, not from what they hold: a folder is smaller than that.
    """
    there = next(each for each in out.absolute().parents if each.exists())
    needed = min(max(LEAST_DISK, files.size(plan) // 2), MOST_DISK)
    if (free := shutil.disk_usage(there).free) < needed:
        raise EngineError(
            f"only {free / 10**6:,.0f} MB are free for {out}, and a release may need {needed / 10**6:,.0f} MB: "
            "free some space or choose another disk. Nothing was spent"
        )
