"""The Data Package of a folder, made again from the manifest and the files: the same, and nothing else.

What only the publisher can have said (a description, who publishes, under which licence) stands in the manifest since
version 3. Of older folders it is taken from the package itself, bounded, and searched for what identifies people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tapveil.base.findings import Finding
from tapveil.base.vocabulary import PACKAGE
from tapveil.published.describe.datapackage import FileFacts, datapackage
from tapveil.published.manifest import Manifest
from tapveil.published.sheets import DerivedSheet
from tapveil.published.synthetic_trips import SyntheticTrips
from tapveil.verification import reading

LONGEST = 500
"""Letters of a text of the publisher's."""


def package_findings(
    folder: Path,
    files: Mapping[str, int],
    manifest: Manifest,
    package: Mapping[str, Any],
    beside: Sequence[DerivedSheet] | None,
    trips: SyntheticTrips | None = None,
) -> Iterator[Finding]:
    """Whether the Data Package describes each table once, as it is, and nothing else.

    Where tables are not sound nothing follows from them (`beside` is None), and what it says of that is passed over.
    """
    stated = manifest if manifest.manifest_version >= 3 else _with_own_words(manifest, package, files)
    if stated is None:
        yield Finding("package-shape", PACKAGE, "is not the Data Package of this release")
        return
    lacking: list[str] = []

    def facts(name: str) -> FileFacts:
        if name not in files:
            lacking.append(name)
            return FileFacts(0, "")
        return FileFacts(files[name], reading.sha256(folder, name))

    expected = datapackage(stated, beside or (), facts, trips)
    yield from (Finding("package-path", name, f"is missing; {PACKAGE} must describe it") for name in lacking)
    if lacking:
        return
    for key in sorted({*expected, *package} - {"resources"}):
        if package.get(key) != expected.get(key):
            yield Finding("package-differs", PACKAGE, f"`{key:.40}` does not match privacy.json")
    resources = package.get("resources")
    theirs = resources if isinstance(resources, list) else []
    for ours in expected["resources"]:
        if ours not in theirs:
            yield Finding("package-differs", f"{PACKAGE}, {ours['path']}", "is described wrongly")
    if beside is not None and resources != expected["resources"]:
        yield Finding("package-resources", PACKAGE, "does not describe every table exactly once and in order")


def _with_own_words(manifest: Manifest, package: Mapping[str, Any], files: Mapping[str, int]) -> Manifest | None:
    """A manifest before version 3 with what only its package says; None where that is no text, or too long."""
    publisher = _only(package.get("contributors", []), "title")
    licence = _only(package.get("licenses", []), "name")
    description = package.get("description")
    said = (description, publisher or "", licence or "")
    if not all(isinstance(text, str) and len(text) <= LONGEST for text in said):
        return None
    # The description of a plan that has none is the promise, which may be longer.
    days = [
        field.get("type") == "date"
        for resource in package.get("resources", [])
        if str(resource.get("path")).startswith("data/")
        for field in resource["schema"]["fields"]
        if field.get("name") == "date"
    ]
    own = {"description": description, "publisher": publisher, "licence": licence}
    synthetic = any(name.startswith("synthetic/") for name in files)
    day = manifest.day.model_copy(update={"calendar": all(days)})
    return manifest.model_copy(update={**own, "synthetic": synthetic, "day": day})


def _only(listed: Any, key: str) -> Any:
    """The one text of a list of at most one; what is no such list is no text."""
    match listed:
        case []:
            return None
        case [{**each}]:
            return each.get(key, 0)
    return 0
