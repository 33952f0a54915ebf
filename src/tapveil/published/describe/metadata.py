"""What data portals read of a published folder: a record for the deployments registry, Croissant, DCAT.

Each text follows from `privacy.json` and `datapackage.json` alone, so that anyone can write it again from the folder
and compare byte for byte: there is room in it for nothing else. Both are read as they are; where one of them is not
what a release writes, the error is a LookupError, a TypeError or a ValueError. The writers of a version are frozen: a
folder is held against those that it was made with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tapveil.published.describe import registry, registry_1
from tapveil.published.describe.croissant import croissant_text
from tapveil.published.describe.dcat import dcat_text
from tapveil.published.describe.facts import Document
from tapveil.published.describe.wording import WORDINGS

REGISTRY = "dp-registry.yaml"
CROISSANT = "croissant.json"
DCAT = "dcat.jsonld"
METADATA = (REGISTRY, CROISSANT, DCAT)

Writer = Callable[[Document, Document], str]
_SHARED: Mapping[str, Writer] = {CROISSANT: croissant_text, DCAT: dcat_text}
_WRITERS: Mapping[int, Mapping[str, Writer]] = {
    1: {REGISTRY: registry_1.registry_text, **_SHARED},
    2: {REGISTRY: registry.registry_text, **_SHARED},
}


def texts(manifest: Document, package: Document) -> dict[str, str]:
    """What each of these files says, by the writers that the folder was made with."""
    versions = manifest.get("versions", {"metadata": 1})
    return {name: write(worded(manifest), package) for name, write in _WRITERS[versions["metadata"]].items()}


def worded(manifest: Document) -> Document:
    """A manifest with its codes in words; one of version 1 has them already."""
    if manifest["manifest_version"] == 1:
        return manifest
    words, unit, cards = WORDINGS[manifest["versions"]["wording"]], manifest["unit"], manifest.get("whole_cards")
    whole = {"meaning": words.WHOLE_CARDS, "caution": words.CAUTION, "cards": cards}
    return {
        **{name: value for name, value in manifest.items() if name != "whole_cards"},
        "counted": words.COUNTED[unit],
        "composition": words.COMPOSITION,
        "guarantees": [{**each, "meaning": words.change(unit, each["neighbours"])} for each in manifest["guarantees"]],
        "tables": [{**table, "noise": words.NOISE[table["noise"]]} for table in manifest["tables"]],
        **({} if cards is None else {"whole_cards": whole}),
    }
