"""`datapackage.json`, version 1: every file and column of a folder, as a Frictionless Data Package (version 2).

From the manifest, the names of what follows from the tables, and sizes and checksums of files: so `verify` writes it
again. Frozen: other words are another version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tapveil.base.vocabulary import COUNT, HIGH, LOW, ROW, TABLE, UNTIL
from tapveil.published.derived import kind
from tapveil.published.describe.wording import v1 as words
from tapveil.published.manifest import Manifest
from tapveil.published.sheets import DerivedSheet, Sheet, sheets
from tapveil.published.table import Field

_MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class FileFacts:
    """How large a file is, and its checksum."""

    size: int
    sha256: str


Facts = Callable[[str], FileFacts]
"""Of the file at a path of the folder."""


def datapackage(manifest: Manifest, beside: Iterable[DerivedSheet], facts: Facts) -> dict[str, Any]:
    """A resource per CSV file, with its Parquet copy as an alternate; what follows from tables is CSV alone."""
    losses = {each.neighbours: each.exact.loss for each in manifest.guarantees}
    promise = words.promise(manifest.unit, manifest.neighbours, losses)
    package: dict[str, Any] = {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": manifest.release,
        "title": manifest.title,
        "description": manifest.description or promise,
        "created": f"{manifest.created.isoformat()}T00:00:00Z",
        "resources": [
            *(_resource(manifest, sheet, facts) for sheet in sheets(manifest)),
            *(_synthetic_resource(manifest, sheet, facts) for sheet in sheets(manifest) if manifest.synthetic),
            *(_derived_resource(manifest, sheet, facts) for sheet in beside),
        ],
    }
    if manifest.publisher:
        package["contributors"] = [{"title": manifest.publisher, "roles": ["publisher"]}]
    if manifest.licence:
        package["licenses"] = [{"name": manifest.licence}]
    return package


def _resource(manifest: Manifest, sheet: Sheet, facts: Facts) -> dict[str, Any]:
    fields = [key_field(manifest, field) for field in sheet.fields]
    fields += [number_field(manifest, name, sheet.smallest) for name in sheet.numbers]
    table = _table(sheet.name, sheet.title, f"data/{sheet.name}.csv", fields, sheet.keys, facts)
    return table | {"alternates": [_file(f"data/{sheet.name}.parquet", facts)]}


def _synthetic_resource(manifest: Manifest, sheet: Sheet, facts: Facts) -> dict[str, Any]:
    name, title, path = f"synthetic-{sheet.name}", f"{sheet.title} (synthetic rows)", f"synthetic/{sheet.name}"
    fields = [key_field(manifest, field) for field in sheet.fields]
    table = _table(name, title, f"{path}.csv", fields, (), facts)
    return table | {"alternates": [_file(f"{path}.parquet", facts)]}


def _derived_resource(manifest: Manifest, sheet: DerivedSheet, facts: Facts) -> dict[str, Any]:
    own = {ROW: ROW_FIELD, TABLE: TABLE_FIELD}
    fields = [own.get(key) or key_field(manifest, Field(key, kind(manifest, key))) for key in sheet.keys]
    fields += [derived_field(manifest, name) for name in sheet.numbers]
    title = f"{sheet.title} ({sheet.folder})"
    return _table(f"{sheet.folder}-{sheet.name}", title, sheet.path, fields, sheet.keys, facts)


def _table(
    name: str, title: str, path: str, fields: list[dict[str, Any]], keys: Sequence[str], facts: Facts
) -> dict[str, Any]:
    """A CSV file; without a primary key where all is one row, as the standard has no empty key."""
    key = {"primaryKey": list(keys)} if keys else {}
    return {
        "name": name,
        "type": "table",
        "title": title,
        **_file(path, facts),
        "encoding": "utf-8",
        "schema": {"fields": fields, "missingValues": [], **key},
    }


def _file(path: str, facts: Facts) -> dict[str, Any]:
    known, ending = facts(path), path.rpartition(".")[2]
    return {
        "path": path,
        "format": ending,
        "mediatype": _MEDIA_TYPES[ending],
        "bytes": known.size,
        "hash": f"sha256:{known.sha256}",
    }


# --- the data dictionary --------------------------------------------------------------------------------------------


def key_field(manifest: Manifest, field: Field) -> dict[str, Any]:
    """A key column."""
    described: dict[str, Any] = {"name": field.name, "type": "string", "description": _DESCRIPTIONS[field.kind]}
    if field.kind == "date":
        described |= {"type": "date", "format": "default"}
    if field.kind == "time":
        ends = field.name.endswith(UNTIL)
        hours = r"[0-4]\d" if manifest.day.after_midnight == "continued" or ends else r"([01]\d|2[0-3])"
        described["constraints"] = {"pattern": rf"-1|{hours}:[0-5]\d", "required": True}
        if ends:
            described["description"] = "End of the time bin, HH:MM; -1 where there was no tap."
    else:
        described["constraints"] = {"required": True}
    return described


_DESCRIPTIONS = {
    "time": "Start of the time bin, HH:MM on a 24-hour clock; -1 where there was no tap.",
    "date": "Day on which the trip began, YYYY-MM-DD: a tap off after midnight is listed under it.",
    "location": "Stop, or the area it lies in; UNKNOWN where there was no tap or the stop is not known.",
    "label": "As in the source.",
}

ROW_FIELD: dict[str, Any] = {
    "name": "row",
    "type": "string",
    "description": "cell: a cell that was published; rest: what the finer cells leave of a coarser one; around: a "
    "coarser cell, of which finer ones are listed, too.",
    "constraints": {"required": True, "enum": ["cell", "rest", "around"]},
}
"""What sort of row it is."""
TABLE_FIELD: dict[str, Any] = {
    "name": "table",
    "type": "string",
    "description": "The table of data/ that the cell is of, and so its resolution.",
    "constraints": {"required": True},
}
"""Which table a row is of."""


def number_field(manifest: Manifest, name: str, smallest: int) -> dict[str, Any]:
    """A column of numbers."""
    what = words.COUNTED[manifest.unit].capitalize()
    cells = "cells of the list" if manifest.from_a_list else "cells"
    said = {
        COUNT: f"{what}, with noise. {words.absent_in_words(manifest.mechanism)} Never below {smallest}.",
        LOW: f"The true number is at least this, and at most `{HIGH}`, in 19 of 20 {cells}, published or not.",
        HIGH: f"The true number is at most this: see `{LOW}`.",
    }
    return _whole_number(name, said[name], {COUNT: smallest, LOW: 0, HIGH: 1}[name])


def derived_field(manifest: Manifest, name: str) -> dict[str, Any]:
    """A column of numbers that follows from published ones."""
    what = words.COUNTED[manifest.unit].capitalize()
    said = {
        COUNT: f"{what}, from the published counts: whole numbers that add up.",
        LOW: f"The true number is about between this and `{HIGH}`.",
        HIGH: f"The true number is about between `{LOW}` and this.",
        "total": f"{what} of the coarser cell: `listed` and `other` together.",
        "listed": "Of these, in finer cells that are listed.",
        "other": "Of these, in finer cells that are not listed, because each was too small.",
        "other_low": "`other` is about between this and `other_high`.",
        "other_high": "`other` is about between `other_low` and this.",
    }
    return _whole_number(name, said[name], 0)


def _whole_number(name: str, description: str, least: int) -> dict[str, Any]:
    return {
        "name": name,
        "type": "integer",
        "description": description,
        "constraints": {"required": True, "minimum": least},
    }
