"""What a table of a release counts, and how precisely: what the releases of a series are compared by."""

from __future__ import annotations

from typing import Any

from tapveil.published.manifest import Manifest, TableClaim

COMPARABLE = frozenset({"mechanism", "mask", "lists"})
"""What can change while the numbers still count the same things."""


def definition(manifest: Manifest, claim: TableClaim) -> dict[str, str]:
    """What a table counts, and how precisely, in a few words each: what two releases are compared by."""
    bounds, level = manifest.bounds, claim.level
    limits = [f"{number} trip{'s' * (number != 1)} per {of}" for of, number in _limits(bounds) if number]
    kinds = {manifest.columns[column] for column in manifest.keys(claim)}
    times = manifest.times(claim)
    bins = f"{len(times.labels)} bins from {times.labels[0]}" if "time" in kinds else "no times"
    if level and level.time_minutes:
        bins = f"{level.time_minutes} minutes"
    elif "time" in kinds and not (level and level.times):
        bins = f"{manifest.time_minutes} minutes"
    service = "".join(f", {mode} {first}-{last}" for mode, (first, last) in (manifest.service or {}).items())
    areas = "; ".join(f"{mode}: {words}" for mode, words in manifest.areas.items()) or "as in the source"
    if level and level.location:
        areas = f"{level.location}: " + "; ".join(f"{k}: {v}" for k, v in manifest.wider[level.location].items())
    files = manifest.public_files_sha256
    made = [f"{name} {digest[:8]}" for name, digest in files.items() if name.startswith(("lookup", "polygons"))]
    lists = [f"{name} {digest[:8]}" for name, digest in files.items() if not name.startswith(("lookup", "polygons"))]
    day = f"from {manifest.day.starts // 60:02d}:{manifest.day.starts % 60:02d}, {manifest.day.after_midnight}"
    calendars = "".join(f"; {name}: {each.period or each.kinds or 'listed'}" for name, each in _calendars(manifest))
    return {
        "unit": ", ".join([manifest.unit, *limits]),
        "rows": manifest.rows,
        "columns": ", ".join(manifest.keys(claim)),
        "bins": bins + (service if "time" in kinds else ""),
        "areas": ", ".join([areas, *made]) if "location" in kinds else "no places",
        "day": f"{day}, {manifest.day.timezone or 'local time'}{calendars}",
        "mechanism": f"{claim.noise}, scale {claim.scale}",
        "mask": f"counts from {claim.smallest_published} on",
        "lists": ", ".join(lists) or "none",
    }


def counted(manifest: Manifest, claim: TableClaim) -> dict[str, str]:
    """What a table counts: where two tables differ in it, their numbers are not compared."""
    return {what: words for what, words in definition(manifest, claim).items() if what not in COMPARABLE}


def _limits(bounds: Any) -> list[tuple[str, int | None]]:
    return [("day", bounds.trips_per_day), ("card", bounds.trips_per_card)]


def _calendars(manifest: Manifest) -> list[tuple[str, Any]]:
    return sorted((manifest.calendars or {}).items())
