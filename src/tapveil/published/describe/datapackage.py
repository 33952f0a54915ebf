"""`datapackage.json`: every file and column of a folder, as a Frictionless Data Package (version 2).

From the manifest, the names of what follows from the tables, and sizes and checksums of files: so `verify` writes it
again, in the words of its version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tapveil.base.shape import HOUR
from tapveil.base.vocabulary import COUNT, HIGH, LOW, NUMBERS, ROW, TABLE, UNTIL
from tapveil.published.derived import AROUND, CELL, REST, kind
from tapveil.published.describe.wording import Wording, wording
from tapveil.published.manifest import Manifest
from tapveil.published.shaped import Head, ShapedFile, shaped_files
from tapveil.published.sheets import DerivedSheet, Sheet, sheets
from tapveil.published.synthetic_trips import NAME, SyntheticTrips, note
from tapveil.published.table import Field

_MEDIA_TYPES = {
    "csv": "text/csv",
    "txt": "text/plain",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@dataclass(frozen=True)
class FileFacts:
    """How large a file is, and its checksum."""

    size: int
    sha256: str


Facts = Callable[[str], FileFacts]
"""Of the file at a path of the folder."""


def datapackage(
    manifest: Manifest, beside: Iterable[DerivedSheet], facts: Facts, trips: SyntheticTrips | None = None
) -> dict[str, Any]:
    """A resource per CSV file, with its Parquet copy as an alternate; what follows from tables is CSV alone."""
    words = words_of(manifest)
    losses = {each.neighbours: each.exact.loss for each in manifest.guarantees}
    given = [words.say("totals.portals", number=len(manifest.totals))] if manifest.totals else []
    promise = " ".join([words.promise(manifest.unit, manifest.neighbours, losses), *given])
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
            *(_shaped_resource(manifest, each, facts) for each in shaped_files(manifest) if not each.file.sheet),
            *(_workbook(path, title, facts) for path, title in _workbooks(manifest).items()),
            *([_trips_resource(manifest, trips, facts)] if trips else []),
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
    first, *others = sheet.files
    table = _table(sheet.name, sheet.title, first, fields, sheet.keys, facts)
    return table | ({"alternates": [_file(each, facts) for each in others]} if others else {})


def _synthetic_resource(manifest: Manifest, sheet: Sheet, facts: Facts) -> dict[str, Any]:
    name, title, path = (
        f"synthetic-{sheet.name}",
        words_of(manifest).say("package.synthetic", title=sheet.title),
        f"synthetic/{sheet.name}",
    )
    fields = [key_field(manifest, field) for field in sheet.fields]
    table = _table(name, title, f"{path}.csv", fields, (), facts)
    return table | {"alternates": [_file(f"{path}.parquet", facts)]}


def _derived_resource(manifest: Manifest, sheet: DerivedSheet, facts: Facts) -> dict[str, Any]:
    fields = [derived_key_field(manifest, key) for key in sheet.keys]
    fields += [derived_field(manifest, name) for name in sheet.numbers]
    title = f"{sheet.title} ({sheet.folder})"
    return _table(f"{sheet.folder}-{sheet.name}", title, sheet.path, fields, sheet.keys, facts)


def _shaped_resource(manifest: Manifest, shaped: ShapedFile, facts: Facts) -> dict[str, Any]:
    """A file of a shape: what its columns are in the tables, and how it is written."""
    file = shaped.file
    fields = [_shaped_field(manifest, shaped, head) for head in shaped.heads(manifest)]
    name = f"shape-{shaped.shape}-{shaped.path.rpartition('/')[2].rpartition('.')[0]}".lower()
    table = _table(name, f"{shaped.title}: {shaped.path.rpartition('/')[2]}", shaped.path, fields, (), facts)
    table["schema"]["missingValues"] = [file.missing]
    rows = {"headerRows": [len(file.above) + 1]} if file.above and file.header else {}
    return {**table, "dialect": {"header": file.header, "delimiter": file.delimiter, **rows}}


def _workbooks(manifest: Manifest) -> dict[str, str]:
    """The workbooks of shapes, and whose they are: sheets of one workbook are several files of a shape."""
    return {each.path: each.title for each in shaped_files(manifest) if each.file.sheet}


def _workbook(path: str, title: str, facts: Facts) -> dict[str, Any]:
    """A workbook, which is no table: its sheets may differ."""
    _, shape, name = path.split("/")
    return {"name": f"shape-{shape}-{name}".lower(), "title": f"{title}: {name}", **_file(path, facts)}


def _shaped_field(manifest: Manifest, shaped: ShapedFile, head: Head) -> dict[str, Any]:
    say, column = words_of(manifest).say, head.column
    sort = "string"
    if column.number:
        called, kind = column.number[1], column.number[0]
        tables = shaped.tables.values() if called == shaped.file.stack else [shaped.tables[called]]
        sentence = "package.shape_estimate" if manifest.is_world else "package.shape_number"
        said = say(sentence, number="count" if kind == "share" else kind, table=", ".join(tables))
        more = {"per": column.per == "day", "share": kind == "share", "sum": isinstance(head.at, tuple)}
        said = " ".join([said, *(say(f"package.shape_{name}") for name, is_so in more.items() if is_so)])
        sort = "integer" if column.decimals is None else "number"
    elif column.key:
        said = say("package.shape_key", key=column.key)
        sort = "integer" if column.format == HOUR else "string"
    elif column.template:
        said = say("package.shape_text", text=column.text)
    else:
        said = say("package.shape_value")
    comma = {"decimalChar": ","} if sort == "number" and shaped.file.decimal == "," else {}
    return {"name": head.name, "type": sort, "description": said, **comma}


def _trips_resource(manifest: Manifest, trips: SyntheticTrips, facts: Facts) -> dict[str, Any]:
    first, *others = trips.paths
    kinds = {column: "time" if column.endswith("_time") else kind(manifest, column) for column in trips.columns}
    fields = [key_field(manifest, Field(column, sort)) for column, sort in kinds.items()]
    table = _table(NAME, words_of(manifest).say("package.trips_title"), first, fields, (), facts)
    said = {"description": note(manifest)} | ({"alternates": [_file(each, facts) for each in others]} if others else {})
    return table | said


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
        **({"encoding": "utf-8"} if path.endswith(".csv") else {}),
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


def words_of(manifest: Manifest) -> Wording:
    """The words that its package is in."""
    return wording(manifest.versions.package or 1)


def key_field(manifest: Manifest, field: Field) -> dict[str, Any]:
    """A key column."""
    ends = field.kind == "time" and field.name.endswith(UNTIL)
    sort = "until" if ends else "time_of_service" if field.kind == "time" and manifest.service else field.kind
    said = words_of(manifest).say(f"package.{sort}")
    described: dict[str, Any] = {"name": field.name, "type": "string", "description": said}
    if field.kind == "date":
        described |= {"type": "date", "format": "default"}
    if field.kind == "time":
        hours = r"[0-4]\d" if manifest.day.after_midnight == "continued" or ends else r"([01]\d|2[0-3])"
        described["constraints"] = {"pattern": rf"-1|{hours}:[0-5]\d", "required": True}
    else:
        described["constraints"] = {"required": True}
    return described


def derived_key_field(manifest: Manifest, name: str) -> dict[str, Any]:
    """A key column of what follows from the tables: as theirs; or what sort of row it is, or of which table."""
    if name not in (ROW, TABLE):
        return key_field(manifest, Field(name, kind(manifest, name)))
    sorts = {"enum": [CELL, REST, AROUND]} if name == ROW else {}
    said = words_of(manifest).say(f"package.{name}")
    return {"name": name, "type": "string", "description": said, "constraints": {"required": True, **sorts}}


def number_field(manifest: Manifest, name: str, smallest: int) -> dict[str, Any]:
    """A column of numbers."""
    words, listed = words_of(manifest), manifest.from_a_list
    if manifest.is_world:
        said = words.say("package.count_measured", counted=words.counted[manifest.unit].capitalize())
        return _whole_number(name, said, smallest)
    counted, absent = words.counted[manifest.unit].capitalize(), words.absent(from_a_list=listed)
    key = f"package.{name}_from_a_list" if name == LOW and listed else f"package.{name}"
    said = words.say(key, counted=counted, absent=absent, smallest=smallest)
    return _whole_number(name, said, {COUNT: smallest, LOW: 0, HIGH: 1}[name])


def derived_field(manifest: Manifest, name: str) -> dict[str, Any]:
    """A column of numbers that follows from published ones."""
    words = words_of(manifest)
    key = f"package.derived_{name}" if name in NUMBERS else f"package.{name}"
    return _whole_number(name, words.say(key, counted=words.counted[manifest.unit].capitalize()), 0)


def _whole_number(name: str, description: str, least: int) -> dict[str, Any]:
    return {
        "name": name,
        "type": "integer",
        "description": description,
        "constraints": {"required": True, "minimum": least},
    }
