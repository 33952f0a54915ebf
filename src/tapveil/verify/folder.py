"""Checks a published folder from the folder alone. Nothing in it is trusted, and nothing of it is believed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from tapveil._version import __version__
from tapveil.base.errors import PlanError
from tapveil.base.findings import Finding, shown
from tapveil.base.pace import BYTES
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.vocabulary import (
    CHECKSUMS,
    CONSISTENT,
    EXPLORER,
    FINEST,
    MANIFEST,
    PACKAGE,
    PLACES,
    README,
    SIGNATURE,
    WIDER,
)
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published.describe.metadata import METADATA, texts
from tapveil.published.describe.readme import readme
from tapveil.published.describe.wording import LOOKED, loss_in_words
from tapveil.published.identifiers import text_findings
from tapveil.published.manifest import MANIFEST_VERSION, Manifest, json_text
from tapveil.published.sheets import DerivedSheet
from tapveil.published.signature import SignatureError, read_signature, signer
from tapveil.verify import manifest as manifests
from tapveil.verify import reading
from tapveil.verify.derived import derived_sheets, published_tables, rounded_otherwise, sheet_findings, wider_findings
from tapveil.verify.package import package_findings
from tapveil.verify.page import is_another_program, page_findings, program_findings
from tapveil.verify.places import places_in
from tapveil.verify.reading import UnreadableError
from tapveil.verify.tables import SheetCheck, synthetic_findings
from tapveil.verify.totals import totals_findings

LARGEST_README = 2**16
"""A release with 64 tables writes half of it."""
DESCRIPTIONS = (README, PACKAGE, MANIFEST, EXPLORER, *METADATA)


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


_ABSENT = {"file-missing", "table-missing", "package-path"}


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
        with self.progress.stage(Stage.COMPUTING_PROMISE):
            made, impossible = manifests.mechanisms(manifest)
            self._add(impossible)
            if not impossible:
                self._add(manifests.promise_findings(manifest, made))
        sheets = self._tables(files, manifest, made)
        with self.progress.stage(Stage.CHECKING_SUMS):
            lacking = {each.place for each in unexpected if each.code == "file-missing"}
            sound = not impossible and WIDER not in lacking and not any(sheet.findings for sheet in sheets)
            tables = published_tables(self.folder, manifest) if sound else {}
            beside = self._derived(files, manifest, made, tables) if sound else []
            faults = list(self._package(files, manifest, beside))
            self._add(faults)
            if sound and not faults and EXPLORER in files and (not manifest.places or manifest.places in files):
                package = reading.json_of(self.folder, PACKAGE)
                self._add(page_findings(self.folder, manifest, package, tables, beside, places))
            if not impossible:
                totals = {name: each for sheet in sheets for name, each in sheet.totals.items()}
                self._add(totals_findings(manifest, made, totals))
        self._summarise(manifest, sheets)

    def _add(self, findings: Sequence[Finding] | Iterator[Finding]) -> None:
        """Some more findings; that a file is missing is said once."""
        missing = {each.place for each in self.checked.findings if each.code in _ABSENT}
        self.checked.findings.extend(each for each in findings if each.code not in _ABSENT or each.place not in missing)

    def _check_files(self, files: dict[str, int]) -> None:
        size, read = sum(files.values()), list[int]()
        with self.progress.stage(Stage.CHECKING_FILES, lambda: sum(read), total=size, unit=BYTES):
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
        if MANIFEST not in files:
            self._add([Finding("manifest-missing", MANIFEST, "is missing: nothing is promised")])
            return None
        data = reading.json_of(self.folder, MANIFEST)
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
        for name in sorted({README, PACKAGE} & set(files)):
            text = reading.text_of(self.folder, name, LARGEST_README if name == README else reading.LARGEST_TEXT)
            said = {each.rstrip(".") for each in re.findall(r"epsilon ?=? ?([0-9][0-9.eE+-]*)", text)}
            if not said <= known:
                yield Finding("words-differ", name, "names another epsilon than the manifest")
            yield from text_findings(name, [text], digests)

    def _text(self, name: str) -> str:
        return reading.text_of(self.folder, name)

    def _tables(self, files: dict[str, int], manifest: Manifest, made: Mapping[str, Mechanism]) -> list[SheetCheck]:
        sheets = [SheetCheck(self.folder, name, keys, manifest, made) for name, keys in manifest.sheets.items()]
        read = 0
        with self.progress.stage(Stage.READING_TABLES, lambda: read, total=len(sheets), unit="tables"):
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
        """The Data Package and the README as they follow from the manifest and the files; and what portals read."""
        if PACKAGE not in files:
            yield Finding("package-missing", PACKAGE, "is missing: nothing describes the columns")
            return
        package, stated = (reading.json_of(self.folder, name) for name in (PACKAGE, MANIFEST))
        for name, data in ((PACKAGE, package), (MANIFEST, stated)):
            if self._text(name) != json_text(data):
                yield Finding("hidden-data", name, "is not written as it was: how it is could tell something")
        faults = list(package_findings(self.folder, files, manifest, package, beside))
        yield from faults
        if faults:
            return
        for name, text in texts(stated, package).items():
            if name in files and self._text(name) != text:
                yield Finding("metadata-differs", name, "is not what privacy.json and datapackage.json say")
        remade = readme(manifest, signed=SIGNATURE in files) if manifest.versions.readme else None
        if remade and README in files and self._text(README) != remade:
            yield Finding("readme-differs", README, "is not what privacy.json says")

    def _summarise(self, manifest: Manifest, sheets: list[SheetCheck]) -> None:
        cells, promise = sum(sheet.rows for sheet in sheets), loss_in_words(manifest.exact.loss)
        size = f"{cells:,} cell{'s' * (cells != 1)} in {len(sheets)} table{'s' * (len(sheets) != 1)}"
        self.checked.summary = f"intact; its noise, as stated, keeps {promise} ({size})"
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
