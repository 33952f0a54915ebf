"""Checks a published folder from the folder alone. Nothing in it is trusted, and nothing of it is believed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tapveil._version import __version__
from tapveil.base.errors import PlanError
from tapveil.base.findings import Finding, shown
from tapveil.base.pace import BYTES
from tapveil.base.progress import Reporter, Silent
from tapveil.base.vocabulary import EXPLORER, OPAL_SHAPES, PLACES, WIDER
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.derived import CONSISTENT, FINEST, DerivedSheet
from tapveil.published.describe.metadata import METADATA, texts
from tapveil.published.describe.wording import loss_in_words
from tapveil.published.folder import CHECKSUMS, SIGNATURE
from tapveil.published.identifiers import text_findings
from tapveil.published.manifest import Manifest
from tapveil.published.signature import SignatureError, read_signature, signer
from tapveil.veil.statement import LOOKED, MANIFEST_VERSION, json_text
from tapveil.verify import manifest as manifests
from tapveil.verify import reading
from tapveil.verify.derived import derived_sheets, published_tables, rounded_otherwise, sheet_findings, wider_findings
from tapveil.verify.page import is_another_program, page_findings, program_findings
from tapveil.verify.places import places_in
from tapveil.verify.reading import UnreadableError
from tapveil.verify.tables import SheetCheck, synthetic_findings
from tapveil.verify.totals import totals_findings

DESCRIPTIONS = ("README.md", "datapackage.json", "privacy.json", EXPLORER, *METADATA)


NOT_VERIFIABLE = (
    "no folder can show that the noise was drawn, that the right rows were counted, that the lists are public, or that "
    "the plan was made without looking at the trips: for these the publisher answers"
)


@dataclass
class Checked:
    """What came of a check."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is worth knowing, and no fault."""
    summary: str = ""


def verify_folder(path: str | Path, *, signers: Path | None = None, progress: Reporter | None = None) -> Checked:
    """Everything that can be checked without trusting anyone; `signers` says who may have signed it."""
    folder, progress = Path(path), progress or Silent()
    if not folder.is_dir():
        raise PlanError(f"there is no folder {folder}")
    checked = Checked()
    try:
        _Check(folder, checked, progress).run(signers)
    except UnreadableError as error:
        checked.findings.append(error.finding)
    except OSError as error:
        checked.findings.append(Finding("file-unreadable", ".", f"cannot be read: {error.strerror}"))
    except _STUMBLES as error:
        # A folder that someone made so that we stumble is not verified.
        words = f"could not be checked to its end ({type(error).__name__})"
        checked.findings.append(Finding("check-failed", ".", words))
    return checked


_STUMBLES = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError),
    pa.ArrowException,
)


@dataclass(frozen=True)
class _Check:
    folder: Path
    checked: Checked
    progress: Reporter

    def run(self, signers: Path | None) -> None:
        files, findings = reading.files_in(self.folder)
        self._add(findings)
        self._check_files(files)
        self._check_signature(files, signers)
        manifest = self._manifest(files)
        if EXPLORER in files:
            self._check_program(manifest)
        if manifest is None:
            return
        unexpected = list(_unexpected(files, manifest))
        self._add(unexpected)
        if any(each.code == "table-missing" for each in unexpected):
            return  # no release: nothing is computed for it
        self._add(self._texts(files, manifest))
        places = None
        if manifest.places in files:
            places, faults = places_in(self.folder, PLACES)
            self._add(faults)
        with self.progress.stage("Computing the promise"):
            made, impossible = manifests.mechanisms(manifest)
            self._add(impossible)
            if not impossible:
                self._add(manifests.promise_findings(manifest, made))
        sheets = self._tables(files, manifest, made)
        with self.progress.stage("Adding up the numbers again"):
            lacking = {each.place for each in unexpected if each.code == "file-missing"}
            sound = not impossible and WIDER not in lacking and not any(sheet.findings for sheet in sheets)
            tables = published_tables(self.folder, manifest) if sound else {}
            beside = self._derived(files, manifest, made, tables) if sound else []
            faults = list(self._package(files, manifest, beside))
            self._add(faults)
            if sound and not faults and EXPLORER in files and (not manifest.places or manifest.places in files):
                package = reading.json_of(self.folder, "datapackage.json")
                self._add(page_findings(self.folder, manifest, package, tables, beside, places))
            if not impossible:
                totals = {name: each for sheet in sheets for name, each in sheet.totals.items()}
                self._add(totals_findings(manifest, made, totals))
        self._summarise(manifest, sheets)

    def _add(self, findings: Sequence[Finding] | Iterator[Finding]) -> None:
        self.checked.findings.extend(findings)

    def _check_files(self, files: dict[str, int]) -> None:
        size, read = sum(files.values()), list[int]()
        with self.progress.stage("Checking the files", lambda: sum(read), total=size, unit=BYTES):
            self._add(self._whole(files, read))

    def _whole(self, files: dict[str, int], read: list[int]) -> Iterator[Finding]:
        """Every file as it was when the checksums were written; each listed, none that is not there."""
        if CHECKSUMS not in files:
            yield Finding("checksums-missing", CHECKSUMS, "is missing: nothing tells whether the files are whole")
            return
        lines = list(reading.listed(reading.text_of(self.folder, CHECKSUMS)))
        expected = dict(line for line in lines if line)
        if None in lines or len(expected) < len(lines) or list(expected) != sorted(expected):
            yield Finding("checksums-damaged", CHECKSUMS, "is not a list of checksums as it was written")
        for name in sorted({*expected, *files} - {CHECKSUMS, SIGNATURE}):
            if name not in files:
                yield Finding("file-missing", shown(name), "is listed and not there")
            elif name not in expected:
                yield Finding("file-unlisted", shown(name), "is there and not listed")
            elif files[name] > reading.LARGEST_FILE:
                yield Finding("too-large", shown(name), "is larger than any file of a release")
            elif (found := reading.sha256(self.folder, name)) != expected[name]:
                other = next((each for each, checksum in expected.items() if checksum == found), None)
                words = f"is what {shown(other)} should be" if other else "was changed after the checksums were written"
                yield Finding("file-swapped" if other else "checksum-differs", shown(name), words)
            read.append(files.get(name, 0))

    def _check_signature(self, files: dict[str, int], signers: Path | None) -> None:
        if SIGNATURE not in files:
            if signers:
                self._add([Finding("signature-missing", SIGNATURE, "the folder is not signed")])
            else:
                self.checked.notes.append("not signed: nothing tells who made it")
            return
        try:
            message = reading.text_of(self.folder, CHECKSUMS).encode() if CHECKSUMS in files else b""
            signature = read_signature(reading.text_of(self.folder, SIGNATURE, 10_000), message)
            if signers is None:
                key = signature.fingerprint
                self.checked.notes.append(f"signed with the key {key}; whose it is, --signers tells")
            else:
                self.checked.notes.append(f"signed by {signer(signature, signers)}")
        except SignatureError as error:
            self._add([Finding("signature-invalid", SIGNATURE, str(error))])

    def _manifest(self, files: dict[str, int]) -> Manifest | None:
        if "privacy.json" not in files:
            self._add([Finding("manifest-missing", "privacy.json", "is missing: nothing is promised")])
            return None
        data = reading.json_of(self.folder, "privacy.json")
        manifest, findings = manifests.read(data)
        self._add(findings)
        if manifest:
            self._add(manifests.form_findings(manifest, data))
            self._note_versions(manifest)
        if manifest and manifest.ledger is None:
            self.checked.notes.append("in no ledger: nothing tells what else was published of these trips")
        if manifest and manifest.manifest_version > 1:  # the first manifests had no word for it
            sentence = LOOKED[manifest.looked_at_trips]
            self.checked.notes.append(sentence[0].lower() + sentence[1:].removesuffix("."))
        return manifest

    def _note_versions(self, manifest: Manifest) -> None:
        made, form = manifest.software.version, manifest.manifest_version
        if (made, form) != (__version__, MANIFEST_VERSION):
            note = f"made by tapveil {made}, in folder format {form}; checked by the rules of that format"
            self.checked.notes.append(note)

    def _check_program(self, manifest: Manifest | None) -> None:
        findings = list(program_findings(self.folder, manifest))
        self._add(findings)
        if manifest and not findings and is_another_program(self.folder, manifest):
            self.checked.notes.append("its page was written by another known version of tapveil")

    def _texts(self, files: dict[str, int], manifest: Manifest) -> Iterator[Finding]:
        """What the texts of a folder say of ε must be what the manifest says."""
        known = manifests.stated_epsilons(manifest)
        digests = {manifest.release_id, manifest.plan_sha256, *re.findall("[0-9a-f]{64}", self._text(CHECKSUMS))}
        for name in sorted({"README.md", "datapackage.json"} & set(files)):
            text = self._text(name)
            said = {each.rstrip(".") for each in re.findall(r"epsilon ?=? ?([0-9][0-9.eE+-]*)", text)}
            if not said <= known:
                yield Finding("words-differ", name, "names another epsilon than the manifest")
            yield from text_findings(name, [text], digests)

    def _text(self, name: str) -> str:
        return reading.text_of(self.folder, name)

    def _tables(self, files: dict[str, int], manifest: Manifest, made: Mapping[str, Mechanism]) -> list[SheetCheck]:
        sheets = [SheetCheck(self.folder, name, keys, manifest, made) for name, keys in manifest.sheets.items()]
        read = 0
        with self.progress.stage("Reading the tables", lambda: read, total=len(sheets), unit="tables"):
            for sheet in sheets:
                if {sheet.csv, f"data/{sheet.name}.parquet"} <= set(files):
                    self._check_sheet(files, sheet)
                read += 1
        return sheets

    def _check_sheet(self, files: dict[str, int], sheet: SheetCheck) -> None:
        sheet.run()
        self._add(sheet.findings)
        synthetic = {f"synthetic/{sheet.name}.{kind}" for kind in ("csv", "parquet")} <= set(files)
        if synthetic and not sheet.findings:
            self._add(synthetic_findings(self.folder, sheet.name, sheet.columns, sheet.keys))

    def _derived(
        self,
        files: dict[str, int],
        manifest: Manifest,
        made: Mapping[str, Mechanism],
        tables: Mapping[str, pa.Table],
    ) -> list[DerivedSheet]:
        """What follows from the tables: each file there, and as it follows."""
        if WIDER in files:
            self._add(wider_findings(self.folder, manifest))
        beside = derived_sheets(self.folder, manifest, made, tables)
        paths = {sheet.path: sheet for sheet in beside}
        for name in sorted({name for name in files if _is_derived(name)} - set(paths)):
            self._add([Finding("file-unexpected", shown(name), "is not a file of a release")])
        found = list(self._derived_findings(files, beside))
        if any(each.code == "derived-differs" for each in found) and set(paths) <= set(files):
            theirs = rounded_otherwise(self.folder, manifest, made, tables, beside)
            if theirs and not list(self._derived_findings(files, theirs)):
                note = "numbers of the consistent version are rounded otherwise, by at most one; their sums are exact"
                self.checked.notes.append(note)
                return theirs
        self._add(found)
        return beside

    def _derived_findings(self, files: dict[str, int], sheets: Sequence[DerivedSheet]) -> Iterator[Finding]:
        for sheet in sheets:
            if sheet.path in files:
                yield from sheet_findings(self.folder, sheet)
            else:
                yield Finding("table-missing", sheet.path, "is not there")

    def _package(self, files: dict[str, int], manifest: Manifest, beside: Sequence[DerivedSheet]) -> Iterator[Finding]:
        """The Data Package: one resource for each table, described as it is; and what portals read."""
        if "datapackage.json" not in files:
            yield Finding("package-missing", "datapackage.json", "is missing: nothing describes the columns")
            return
        package, stated = (reading.json_of(self.folder, name) for name in ("datapackage.json", "privacy.json"))
        for name, data in (("datapackage.json", package), ("privacy.json", stated)):
            if self._text(name) != json_text(data):
                yield Finding("hidden-data", name, "is not written as it was: how it is could tell something")
        columns = {sheet.path: (list(sheet.keys), list(sheet.numbers)) for sheet in beside}
        faults = list(_package_findings(package, files, manifest, self.folder, columns))
        yield from faults
        if faults:
            return
        for name, text in texts(stated, package).items():
            if name in files and self._text(name) != text:
                yield Finding("metadata-differs", name, "is not what privacy.json and datapackage.json say")

    def _summarise(self, manifest: Manifest, sheets: list[SheetCheck]) -> None:
        cells = sum(sheet.rows for sheet in sheets)
        promise = loss_in_words(manifest.exact.loss)
        self.checked.summary = (
            f"intact; its noise, as stated, keeps {promise} ({cells:,} cells in {len(sheets)} tables)"
        )
        self.checked.notes.append(NOT_VERIFIABLE)


def _unexpected(files: dict[str, int], manifest: Manifest) -> Iterator[Finding]:
    """Files that a release does not have, whoever listed them; and those that it must have."""
    needed = {f"data/{sheet}.{kind}" for sheet in manifest.sheets for kind in ("csv", "parquet")} | {*DESCRIPTIONS}
    synthetic = {f"synthetic/{sheet}.{kind}" for sheet in manifest.sheets for kind in ("csv", "parquet")}
    some_synthetic = {name for name in files if name.startswith("synthetic/")}
    needed |= {manifest.places} if manifest.places else set()
    needed |= {WIDER} if any(table.level and table.level.location for table in manifest.tables) else set()
    follows = {name for name in files if _is_derived(name)}
    for name in sorted(set(files) - needed - synthetic - follows - {CHECKSUMS, SIGNATURE}):
        yield Finding("file-unexpected", shown(name), "is not a file of a release")
    for name in sorted((needed | (synthetic if some_synthetic else set())) - set(files)):
        yield Finding("table-missing" if "/" in name else "file-missing", name, "is not there")


def _is_derived(name: str) -> bool:
    return name.startswith((f"{CONSISTENT}/", f"{FINEST}/"))


Columns = Mapping[str, tuple[list[str], list[str]]]
"""The keys and the numbers of files that follow from others, by their paths."""


def _package_findings(
    package: dict[str, Any], files: dict[str, int], manifest: Manifest, folder: Path, beside: Columns
) -> Iterator[Finding]:
    place = "datapackage.json"
    if set(package) - _PACKAGE_KEYS:
        yield Finding("hidden-data", place, "has keys that no release has")
    resources = package.get("resources")
    if package.get("name") != manifest.release or not isinstance(resources, list) or len(resources) > 1000:
        yield Finding("package-shape", place, "is not the Data Package of this release")
        return
    described: set[str] = set()
    for resource in resources:
        path = resource.get("path") if isinstance(resource, dict) else None
        if not isinstance(path, str) or not reading.stays_inside(path) or path not in files:
            yield Finding("package-path", place, "describes something that is not a file of the folder")
            continue
        described.add(path)
        if path in beside:
            yield from _derived_resource_findings(resource, path, files, folder, beside[path])
        elif not _is_derived(path):
            yield from _resource_findings(resource, path, files, manifest, folder)
    tables = {f"data/{sheet}.csv" for sheet in manifest.sheets}
    tables |= {name for name in files if name.startswith("synthetic/") and name.endswith(".csv")}
    tables |= {name for name in files if _is_derived(name)}
    if described != tables:
        yield Finding("package-resources", place, "does not describe each table once, and nothing else")


def _resource_findings(
    resource: dict[str, Any], path: str, files: dict[str, int], manifest: Manifest, folder: Path
) -> Iterator[Finding]:
    place = f"datapackage.json, {path}"
    if set(resource) - _RESOURCE_KEYS:
        yield Finding("hidden-data", place, "has keys that no release has")
    found = manifest.sheets.get(Path(path).stem)
    schema = resource.get("schema")
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if (
        found is None
        or not isinstance(schema, dict)
        or not isinstance(fields, list)
        or not all(isinstance(each, dict) for each in fields)
    ):
        yield Finding("package-shape", place, "has no schema, or is of no table")
        return
    keys = list(found)
    synthetic = path.startswith("synthetic/")
    names = [each.get("name") for each in fields]
    if names != (keys if synthetic else [*keys, *manifest.numbers]):
        yield Finding("schema-differs", place, "its columns are not those of the table")
        return
    if not synthetic:
        types = [each.get("type") for each in fields]
        least = min(_smallest_of(manifest, Path(path).stem))
        constraints = fields[len(keys)].get("constraints")
        minimum = constraints.get("minimum") if isinstance(constraints, dict) else None
        if schema.get("primaryKey", []) != keys or set(types[len(keys) :]) != {"integer"} or minimum != least:
            yield Finding("schema-differs", place, "its key, or its smallest count, is not that of the table")
        if not set(types[: len(keys)]) <= {"string", "date"}:
            yield Finding("schema-differs", place, "a column has a type that no key has")
    alternates = resource.get("alternates")
    twin = f"{path.removesuffix('.csv')}.parquet"
    if not (isinstance(alternates, list) and len(alternates) == 1 and isinstance(alternates[0], dict)):
        yield Finding("package-shape", place, "does not name its Parquet copy")
        return
    for described, name in ((resource, path), (alternates[0], twin)):
        if described.get("path") != name or name not in files or described.get("bytes") != files[name]:
            yield Finding("package-file", place, "a file is not as large as described, or not the one described")
        elif described.get("hash") != f"sha256:{reading.sha256(folder, name)}":
            yield Finding("package-file", place, "a file has another checksum than described")


def _derived_resource_findings(
    resource: dict[str, Any], path: str, files: dict[str, int], folder: Path, columns: tuple[list[str], list[str]]
) -> Iterator[Finding]:
    """A resource that follows from others: CSV alone."""
    place, (keys, numbers) = f"datapackage.json, {path}", columns
    if set(resource) - (_RESOURCE_KEYS - {"alternates"}):
        yield Finding("hidden-data", place, "has keys that no release has")
    schema = resource.get("schema")
    fields = schema.get("fields") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(fields, list) or not all(isinstance(f, dict) for f in fields):
        yield Finding("package-shape", place, "has no schema")
    elif [each.get("name") for each in fields] != [*keys, *numbers] or schema.get("primaryKey", []) != keys:
        yield Finding("schema-differs", place, "its columns, or its key, are not those of the file")
    if resource.get("bytes") != files[path] or resource.get("hash") != f"sha256:{reading.sha256(folder, path)}":
        yield Finding("package-file", place, "a file is not as large as described, or has another checksum")


_PACKAGE_KEYS = {"$schema", "name", "title", "description", "created", "resources", "contributors", "licenses"}
_RESOURCE_KEYS = {
    *("name", "type", "title", "path", "format", "mediatype", "bytes", "hash", "encoding", "schema", "alternates")
}


def _smallest_of(manifest: Manifest, sheet: str) -> Iterator[int]:
    for table in manifest.tables:
        if sheet == (table.name if manifest.layout == "tables" else OPAL_SHAPES[table.columns][0]):
            yield table.smallest_published
