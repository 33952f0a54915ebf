"""The published folder, as Markdown: its files and its columns."""

from __future__ import annotations

from datetime import date

from tapveil.base import vocabulary
from tapveil.base.vocabulary import CHECKSUMS, NUMBERS, ROW, SIGNATURE, TABLE, Kind
from tapveil.plan.model import Plan
from tapveil.published.describe import datapackage
from tapveil.published.describe.metadata import CROISSANT, DCAT, REGISTRY
from tapveil.published.lattice import WIDER_COLUMNS
from tapveil.published.table import Field
from tapveil.veil import statement
from tools.models import row

FILES = {
    "data/TABLE.csv": "Each table as published; `total` has one count for each part. "
    'With `layout = "opal"`: `time`, `loc`, `time-loc`.',
    "data/TABLE.parquet": "The same.",
    "consistent/TABLE.csv": "The same cells, with counts that add up. For trips, and not for a dictionary.",
    "consistent/FINE.by.COARSE.csv": "For each coarser cell: the trips listed in the finer table, and the remainder.",
    "finest/TABLE.csv": "A table at several resolutions: every visible trip, at its finest visible level.",
    "synthetic/TABLE.csv": "With `synthetic = true`: a row for each published trip.",
    "synthetic/TABLE.parquet": "The same.",
    vocabulary.EXPLORER: "The explorer page, for any browser, without a network.",
    "README.md": "A description for readers.",
    "privacy.json": "ε, δ, noise and thresholds, exactly: see below.",
    "datapackage.json": "Every file and every column, as a Frictionless Data Package (version 2).",
    REGISTRY: "A draft for the registry of deployments.",
    CROISSANT: "Croissant, for machine learning.",
    DCAT: "DCAT, for open-data catalogues.",
    vocabulary.PLACES: "With `[gtfs]` or `[places]`: coordinates of all places that could be published.",
    f"{vocabulary.SHAPES}/NAME/FILE": "With `shapes`: the published counts in the columns that readers know.",
    vocabulary.RIDER: "A page for riders: what the folder says about somebody who travels.",
    f"{vocabulary.SHAPES}/places.csv": "What public lists say of places, as far as those files write it.",
    vocabulary.READER: 'Functions that read the folder in R; not with `layout = "opal"`.',
    vocabulary.CALENDAR: "With `[coarsen.date]`: every day that was counted, with its labels.",
    vocabulary.WIDER: "With wider areas: the wider area of each published place.",
    CHECKSUMS: "SHA-256 of every other file.",
    SIGNATURE: "With `--sign`: the publisher's signature of the checksums.",
}
"""Every file that a folder can have; TABLE, FINE and COARSE stand for names of tables."""

_KEYS = ("tap_on_time", "tap_on_time_until", "date", "tap_on_location", "mode")
_KINDS: tuple[Kind, ...] = ("time", "time", "date", "location", "label")
_DERIVED = ("total", "listed", "other", "other_low", "other_high")


def files() -> str:
    """Every file, and what it holds."""
    return "\n".join(["| file | contents |", "|---|---|", *(row(f"`{name}`", words) for name, words in FILES.items())])


def columns() -> str:
    """Every column, by the kind of its values."""
    manifest = statement.manifest(Plan.preset("opal"), date(2026, 1, 1), {})
    smallest = min(table.smallest_published for table in manifest.tables)
    described = [
        *(
            ("keys", datapackage.key_field(manifest, Field(name, kind)))
            for name, kind in zip(_KEYS, _KINDS, strict=True)
        ),
        *(("data/", datapackage.number_field(manifest, name, smallest)) for name in NUMBERS),
        *(("consistent/, finest/", datapackage.derived_field(manifest, name)) for name in NUMBERS),
        *(("FINE.by.COARSE", datapackage.derived_field(manifest, name)) for name in _DERIVED),
        *(("finest/", datapackage.derived_key_field(manifest, name)) for name in (ROW, TABLE)),
    ]
    lines = [row(f"`{_like(field['name'])}`", where, field["type"], field["description"]) for where, field in described]
    wider = ", ".join(f"`{name}`" for name in WIDER_COLUMNS)
    return "\n".join(
        [
            "A table has the columns of the partition, then its own, then counts. Descriptions that depend on the plan "
            "are those of the opal plan:\n",
            "| column | where | type | contents |",
            "|---|---|---|---|",
            *lines,
            f'\n`{vocabulary.WIDER}` has {wider}; `synthetic/` the keys alone; `layout = "opal"` `mode`, `date` '
            "(as `20160808`), `tap` (`on`, `off`), `time`, `loc` and `count`.",
        ]
    )


def _like(name: str) -> str:
    """Of columns that come in several kinds, one stands for all."""
    return {
        "tap_on_time": "tap_…_time",
        "tap_on_time_until": "tap_…_time_until",
        "tap_on_location": "tap_…_location",
    }.get(name, name)
