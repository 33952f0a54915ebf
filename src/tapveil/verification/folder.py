"""Checks a published folder from the folder alone. Nothing in it is trusted, and nothing of it is believed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from tapveil._version import __version__
from tapveil.base.errors import FolderError
from tapveil.base.findings import Finding, Verification, shown
from tapveil.base.progress import BYTES, Reporter, Silent, Stage
from tapveil.base.vocabulary import (
    CALENDAR,
    CHECKSUMS,
    CONSISTENT,
    ESTIMATES,
    EXPLORER,
    FINEST,
    MANIFEST,
    PACKAGE,
    PLACES,
    READER,
    README,
    RIDER,
    SIGNATURE,
    TRIPS,
    WIDER,
    WORLD,
)
from tapveil.privacy.mechanisms import Mechanism
from tapveil.published import place_facts, shaped
from tapveil.published.calendar import calendar_text
from tapveil.published.derived import estimated_from
from tapveil.published.describe.metadata import METADATA, texts
from tapveil.published.describe.readme import readme
from tapveil.published.describe.wording import LOOKED, loss_in_words
from tapveil.published.domain import Domain, has_places
from tapveil.published.estimated import Estimated
from tapveil.published.identifiers import text_findings
from tapveil.published.manifest import MANIFEST_VERSION, Manifest, json_text
from tapveil.published.places import FeatureCollection, places_findings, places_text
from tapveil.published.reader import read_script
from tapveil.published.rider.page import rider_page
from tapveil.published.sheets import DerivedSheet
from tapveil.published.signature import SignatureError, read_signature, signer
from tapveil.published.synthetic_trips import SyntheticTrips
from tapveil.verification import manifest as manifests
from tapveil.verification import reading
from tapveil.verification.derived import (
    derived_sheets,
    published_tables,
    rounded_otherwise,
    sheet_findings,
    trips_findings,
    wider_findings,
)
from tapveil.verification.known_versions import LARGEST_PLACES
from tapveil.verification.package import package_findings
from tapveil.verification.page import page_findings, parts_in, program_in
from tapveil.verification.reading import UnreadableError
from tapveil.verification.tables import SheetCheck, synthetic_findings
from tapveil.verification.totals import totals_findings
from tapveil.verification.world import WorldCheck, domain_findings, domain_of, measured_tables

LARGEST_README = 2**16
"""A release with 64 tables writes half of it."""
LARGEST_RIDER = 2**17
"""The page for riders is a third of it."""
DESCRIPTIONS = (README, PACKAGE, MANIFEST, EXPLORER, *METADATA)
NOT_VERIFIABLE = (
    "only the publisher can confirm that the noise was random, the right rows were counted, the lists are public, and "
    "the plan was made without looking at the trips"
)


def verify_folder(path: str | Path, *, signers: Path | None = None, progress: Reporter | None = None) -> Verification:
    """Everything that can be checked without trusting anyone; `signers` says who may have signed it."""
    folder, progress = Path(path), progress or Silent()
    if not folder.is_dir():
        raise FolderError(f"there is no folder {folder}")
    checked = Verification()
    try:
        files, checked.findings = reading.files_in(folder)
        _Check(folder, files, checked, progress).run(signers)
    except UnreadableError as error:
        checked.findings.append(error.finding)
    except OSError as error:
        checked.findings.append(Finding("file-unreadable", ".", f"cannot be read: {error.strerror}"))
    except _STUMBLES as error:
        # A folder that someone made so that we stumble is not verified.
        words = f"could not be checked completely ({type(error).__name__})"
        checked.findings.append(Finding("check-failed", ".", words))
    return checked


_STUMBLES = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError),
    pa.ArrowException,
)


def _of_trips(name: str) -> bool:
    return name.startswith(f"{TRIPS}/")


_ABSENT = {"file-missing", "table-missing", "package-path"}


@dataclass(frozen=True)
class _Check:
    folder: Path
    files: Mapping[str, int]
    """With their sizes."""
    checked: Verification
    progress: Reporter

    def run(self, signers: Path | None) -> None:
        self._add(self._whole())
        self._check_signature(signers)
        manifest = self._manifest()
        if EXPLORER in self.files:
            faults, is_another = program_in(self.folder, manifest, parts_in(self.files))
            self._add(faults)
            if is_another:
                self.checked.notes.append("the page was written by another known version of tapveil")
        if manifest is None:
            return
        unexpected = list(self._unexpected(manifest))
        self._add(unexpected)
        if any(each.code == "table-missing" for each in unexpected):
            return  # no release: nothing is computed for it
        self._add(self._texts(manifest))
        if CALENDAR in self.files and manifest.calendars and self._text(CALENDAR) != calendar_text(manifest):
            self._add([Finding("calendar-differs", CALENDAR, "does not match privacy.json")])
        if (
            READER in self.files
            and (version := manifest.versions.reader)
            and self._text(READER) != read_script(version)
        ):
            self._add([Finding("reader-differs", READER, "is not the script that tapveil publishes")])
        if RIDER in self.files and (version := manifest.versions.rider):
            page = reading.text_of(self.folder, RIDER, LARGEST_RIDER)
            if page != rider_page(manifest, version):
                self._add([Finding("rider-differs", RIDER, "is not the page that tapveil writes for such a folder")])
        places = self._places() if manifest.places in self.files else None
        with self.progress.stage(Stage.COMPUTING_PROMISE):
            made, impossible = manifests.mechanisms(manifest)
            self._add(impossible)
            if not impossible:
                self._add(manifests.promise_findings(manifest, made))
        domain = domain_of(self.folder, manifest) if manifest.is_world else None
        unmade = list(domain_findings(domain)) if domain else []  # estimates of more places than fit would fill memory
        self._add(unmade)
        sheets = self._tables(manifest, made, domain)
        with self.progress.stage(Stage.CHECKING_SUMS):
            lacking = {each.place for each in unexpected if each.code == "file-missing"}
            sound = not (impossible or unmade) and WIDER not in lacking and not any(sheet.findings for sheet in sheets)
            tables = self._published(manifest, domain) if sound else {}
            estimated = estimated_from(domain, tables) if domain and sound else None
            beside = self._derived(manifest, made, tables, estimated) if sound else None
            trips = SyntheticTrips(estimated) if estimated and manifest.versions.trips else None
            if sound and manifest.shapes:
                self._add(self._shapes(shaped.Published(manifest, made, tables, estimated)))
            if beside is not None:
                self._add(self._trips(manifest, trips))
            faults = list(self._package(manifest, beside, trips))
            self._add(faults)
            drawn = not manifest.places or manifest.places in self.files
            if beside is not None and drawn and not faults and EXPLORER in self.files:
                package = reading.json_of(self.folder, PACKAGE)
                self._add(page_findings(self.folder, manifest, package, tables, beside, places, parts_in(self.files)))
            if not impossible:
                totals = {name: each for sheet in sheets for name, each in sheet.totals.items()}
                self._add(totals_findings(manifest, made, totals))
        cells, promise = sum(sheet.rows for sheet in sheets), loss_in_words(manifest.exact.loss)
        size = f"{cells:,} cell{'s' * (cells != 1)} in {len(sheets)} table{'s' * (len(sheets) != 1)}"
        self.checked.summary = f"intact; the stated noise satisfies {promise} ({size})"
        self.checked.notes.append(NOT_VERIFIABLE)

    def _add(self, findings: Iterable[Finding]) -> None:
        """Some more findings; that a file is missing is said once."""
        missing = {each.place for each in self.checked.findings if each.code in _ABSENT}
        self.checked.findings.extend(each for each in findings if each.code not in _ABSENT or each.place not in missing)

    def _whole(self) -> Iterator[Finding]:
        """Every file as it was when the checksums were written; each listed, none that is not there."""
        files, read = self.files, 0
        with self.progress.stage(Stage.CHECKING_FILES, lambda: read, total=sum(files.values()), unit=BYTES):
            if CHECKSUMS not in files:
                yield Finding(
                    "checksums-missing", CHECKSUMS, "is missing, so it cannot be checked whether the files are intact"
                )
                return
            lines = list(reading.listed(self._text(CHECKSUMS)))
            expected = dict(line for line in lines if line)
            if None in lines or len(expected) < len(lines) or list(expected) != sorted(expected):
                yield Finding("checksums-damaged", CHECKSUMS, "is not a valid list of checksums")
            for name in sorted({*expected, *files} - {CHECKSUMS, SIGNATURE}):
                if name not in files:
                    yield Finding("file-missing", shown(name), "is listed in SHA256SUMS but missing")
                elif name not in expected:
                    yield Finding("file-unlisted", shown(name), "is not listed in SHA256SUMS")
                elif files[name] > reading.LARGEST_FILE:
                    yield Finding("too-large", shown(name), "is larger than any file of a release")
                elif (found := reading.sha256(self.folder, name)) != expected[name]:
                    other = next((each for each, checksum in expected.items() if checksum == found), None)
                    words = (
                        f"has the contents of {shown(other)}"
                        if other
                        else "was changed after the checksums were written"
                    )
                    yield Finding("file-swapped" if other else "checksum-differs", shown(name), words)
                read += files.get(name, 0)

    def _check_signature(self, signers: Path | None) -> None:
        if SIGNATURE not in self.files:
            if signers:
                self._add([Finding("signature-missing", SIGNATURE, "is missing: the folder is not signed")])
            else:
                self.checked.notes.append("unsigned: the publisher cannot be verified")
            return
        try:
            message = self._text(CHECKSUMS).encode() if CHECKSUMS in self.files else b""
            signature = read_signature(reading.text_of(self.folder, SIGNATURE, 10_000), message)
            if signers is None:
                key = signature.fingerprint
                self.checked.notes.append(f"signed with the key {key}; use --signers to check whose key it is")
            else:
                self.checked.notes.append(f"signed by {signer(signature, signers)}")
        except SignatureError as error:
            self._add([Finding("signature-invalid", SIGNATURE, str(error))])

    def _manifest(self) -> Manifest | None:
        if MANIFEST not in self.files:
            self._add([Finding("manifest-missing", MANIFEST, "is missing, so no privacy guarantee is stated")])
            return None
        data = reading.json_of(self.folder, MANIFEST)
        manifest, findings = manifests.read(data)
        self._add(findings)
        if manifest is None:
            return None
        self._add(manifests.form_findings(manifest, data))
        made, form, notes = manifest.software.version, manifest.manifest_version, self.checked.notes
        if (made, form) != (__version__, MANIFEST_VERSION):
            notes.append(f"made by tapveil {made}, in folder format {form}; checked by the rules of that format")
        if manifest.ledger is None:
            notes.append("not recorded in a ledger: other releases of these trips are not accounted for")
        if manifest.corrects:
            notes.append(f"corrects the release {manifest.corrects}, which was withdrawn")
        if form > 1:  # the first manifests had no word for it
            sentence = LOOKED[manifest.looked_at_trips]
            notes.append(sentence[0].lower() + sentence[1:].removesuffix("."))
        return manifest

    def _unexpected(self, manifest: Manifest) -> Iterator[Finding]:
        """Files that a release does not have, whoever listed them; and those that it must have."""
        files, kinds = set(self.files), ("csv", "parquet")
        needed = {file for table in manifest.tables for file in manifest.files(table)} | {*DESCRIPTIONS}
        needed |= {WORLD} if has_places(manifest) else set()
        needed |= {each.path for each in shaped.shaped_files(manifest)}
        needed |= {place_facts.PATH} if shaped.fields_of_places(manifest) else set()
        needed |= {CALENDAR} if manifest.calendars else set()
        needed |= {RIDER} if manifest.versions.rider else set()
        needed |= {READER} if manifest.versions.reader else set()
        needed |= {manifest.places} if manifest.places else set()
        needed |= {WIDER} if manifest.wider else set()
        synthetic = {f"synthetic/{sheet}.{kind}" for sheet in manifest.sheets for kind in kinds}
        follow = self._derived_files | {name for name in files if _of_trips(name)}
        follow |= {*parts_in(files)} if manifest.versions.page >= 3 else set()  # compared with the page itself
        for name in sorted(files - needed - synthetic - follow - {CHECKSUMS, SIGNATURE}):
            yield Finding("file-unexpected", shown(name), "does not belong to a release")
        needed |= synthetic if any(name.startswith("synthetic/") for name in files) else set()
        for name in sorted(needed - files):
            yield Finding("table-missing" if "/" in name else "file-missing", name, "is missing")

    @property
    def _derived_files(self) -> set[str]:
        return {name for name in self.files if name.startswith((f"{CONSISTENT}/", f"{FINEST}/", f"{ESTIMATES}/"))}

    def _texts(self, manifest: Manifest) -> Iterator[Finding]:
        """What the texts of a folder say of ε must be what the manifest says."""
        known = manifests.stated_epsilons(manifest)
        digests = {*filter(None, (manifest.release_id, manifest.corrects, manifest.plan_sha256))}
        digests |= {*re.findall("[0-9a-f]{64}", self._text(CHECKSUMS))}
        for name in sorted({README, PACKAGE} & set(self.files)):
            text = reading.text_of(self.folder, name, LARGEST_README if name == README else reading.LARGEST_TEXT)
            said = {each.rstrip(".") for each in re.findall(r"epsilon ?=? ?([0-9][0-9.eE+-]*)", text)}
            if not said <= known:
                yield Finding("words-differ", name, "states an epsilon that is not in privacy.json")
            yield from text_findings(name, [text], digests)

    def _places(self) -> FeatureCollection:
        """The places: named shapes to draw, and nothing else."""
        text = reading.text_of(self.folder, PLACES, LARGEST_PLACES)
        places: FeatureCollection = reading.json_in(text, PLACES)
        found = list(places_findings(places, PLACES))
        if not any(each.code == "places-shape" for each in found) and text != places_text(places):
            found.append(Finding("hidden-data", PLACES, reading.NOT_CANONICAL))
        self._add(found)
        return places

    def _text(self, name: str) -> str:
        return reading.text_of(self.folder, name)

    def _published(self, manifest: Manifest, domain: Domain | None) -> Mapping[str, pa.Table]:
        return measured_tables(self.folder, domain) if domain else published_tables(self.folder, manifest)

    def _tables(self, manifest: Manifest, made: Mapping[str, Mechanism], domain: Domain | None) -> Sequence[SheetCheck]:
        sheets = [
            WorldCheck(self.folder, name, keys, manifest, made, domain=domain)
            if domain
            else SheetCheck(self.folder, name, keys, manifest, made)
            for name, keys in manifest.sheets.items()
        ]
        read = 0
        with self.progress.stage(Stage.READING_TABLES, lambda: read, total=len(sheets), unit="tables"):
            for sheet in sheets:
                if set(sheet.files) <= set(self.files):
                    sheet.run()
                    self._add(sheet.findings)
                    synthetic = {f"synthetic/{sheet.name}.{kind}" for kind in ("csv", "parquet")}
                    if synthetic <= set(self.files) and not sheet.findings:
                        self._add(synthetic_findings(self.folder, sheet.name, sheet.columns, sheet.keys))
                read += 1
        return sheets

    def _trips(self, manifest: Manifest, trips: SyntheticTrips | None) -> Iterator[Finding]:
        """The synthetic trips of a known world, where it has some: each file there, and as it follows."""
        needed, there = set(trips.paths) if trips else set(), {name for name in self.files if _of_trips(name)}
        for name in sorted(there - needed):
            yield Finding("file-unexpected", shown(name), "does not belong to a release")
        for name in sorted(needed - there):
            yield Finding("table-missing", name, "is missing")
        if trips and needed <= there:
            yield from trips_findings(self.folder, manifest, trips)

    def _shapes(self, published: shaped.Published) -> Iterator[Finding]:
        """The files of shapes, made again; and what they say of places, which only the publisher can know."""
        if fields := tuple(shaped.fields_of_places(published.manifest)):
            if place_facts.PATH not in self.files:
                return
            try:
                text = reading.text_of(self.folder, place_facts.PATH, place_facts.LARGEST)
                published = replace(published, facts=place_facts.read(text, fields))
            except ValueError as error:
                yield Finding("shape-differs", place_facts.PATH, str(error))
                return
            yield from published.facts.findings()
        for name, pieces in published.files():
            if name in self.files and not reading.is_made_of(self.folder, name, pieces):
                yield Finding("shape-differs", name, "does not follow from the tables")

    def _derived(
        self,
        manifest: Manifest,
        made: Mapping[str, Mechanism],
        tables: Mapping[str, pa.Table],
        estimated: Estimated | None,
    ) -> list[DerivedSheet]:
        """What follows from the tables: each file there, and as it follows."""
        if WIDER in self.files:
            self._add(wider_findings(self.folder, manifest, tables))
        beside = derived_sheets(self.folder, manifest, made, tables, estimated)
        paths = {sheet.path for sheet in beside}
        for name in sorted(self._derived_files - paths):
            self._add([Finding("file-unexpected", shown(name), "does not belong to a release")])
        found = list(self._derived_findings(beside))
        if not manifest.is_world and any(each.code == "derived-differs" for each in found) and paths <= set(self.files):
            theirs = rounded_otherwise(self.folder, manifest, made, tables, beside)
            if theirs and not list(self._derived_findings(theirs)):
                note = "counts in consistent/ are rounded differently, by at most one; their sums are exact"
                self.checked.notes.append(note)
                return theirs
        self._add(found)
        return beside

    def _derived_findings(self, sheets: Sequence[DerivedSheet]) -> Iterator[Finding]:
        for sheet in sheets:
            if sheet.path in self.files:
                yield from sheet_findings(self.folder, sheet)
            else:
                yield Finding("table-missing", sheet.path, "is missing")

    def _package(
        self, manifest: Manifest, beside: Sequence[DerivedSheet] | None, trips: SyntheticTrips | None
    ) -> Iterator[Finding]:
        """The Data Package and the README as they follow from the manifest and the files; and what portals read."""
        if PACKAGE not in self.files:
            yield Finding("package-missing", PACKAGE, "is missing, so the columns are not described")
            return
        package, stated = (reading.json_of(self.folder, name) for name in (PACKAGE, MANIFEST))
        for name, data in ((PACKAGE, package), (MANIFEST, stated)):
            if self._text(name) != json_text(data):
                yield Finding("hidden-data", name, reading.NOT_CANONICAL)
        faults = list(package_findings(self.folder, self.files, manifest, package, beside, trips))
        yield from faults
        if faults:
            return
        for name, text in texts(stated, package).items():
            if name in self.files and self._text(name) != text:
                yield Finding("metadata-differs", name, "does not match privacy.json and datapackage.json")
        if manifest.versions.readme and README in self.files:
            text, signed = self._text(README), readme(manifest, signed=True)
            if text not in (signed, readme(manifest, signed=False)):
                yield Finding("readme-differs", README, "does not match privacy.json")
            elif text == signed and SIGNATURE not in self.files:
                yield Finding("signature-missing", README, "mentions a signature, but SHA256SUMS.sig is missing")
