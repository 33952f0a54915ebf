"""The exact totals that a folder declares, as what its estimates add up to. From its manifest and `world.csv` alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from tapveil.base.public_total import Calendars, Lists, faults
from tapveil.published.manifest import Manifest

Places = Mapping[str, tuple[str, ...]]
"""By mode, or `*`."""


def calendars_of(manifest: Manifest) -> Calendars:
    """The label of each day that was counted, by column."""
    return {name: claim.labels(manifest.days) for name, claim in (manifest.calendars or {}).items()}


def lists_of(manifest: Manifest, places: Places, together: Sequence[frozenset[date]]) -> Lists:
    """What is public of a folder, with the days that its estimates do not distinguish."""
    return Lists(
        days=manifest.days,
        calendars=calendars_of(manifest),
        periods={name: claim.period for name, claim in (manifest.calendars or {}).items() if claim.period},
        modes=manifest.covers.modes or () if "mode" in manifest.partition else (),
        places=places,
        columns=[column for column, kind in manifest.columns.items() if kind == "location"],
        together=together,
    )


def calibrated_faults(manifest: Manifest, places: Places, together: Sequence[frozenset[date]]) -> Iterator[str]:
    """Why estimates cannot add up to the totals that they are said to."""
    asked = [total for total in manifest.totals or () if total.calibrated]
    yield from faults(asked, lists_of(manifest, places, together)) if asked else ()
