"""What data portals read of a published folder: a record for the deployments registry, Croissant, DCAT.

Each text follows from `privacy.json` and `datapackage.json` alone, so that anyone can write it again from the folder
and compare byte for byte: there is room in it for nothing else. Both are read as they are; where one of them is not
what a release writes, the error is a LookupError, a TypeError or a ValueError. The writers of a version are frozen: a
folder is held against those that it was made with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tapveil.published.describe.croissant import croissant_text
from tapveil.published.describe.dcat import dcat_text
from tapveil.published.describe.facts import Document
from tapveil.published.describe.registry import registry_text
from tapveil.published.describe.wording import wording

REGISTRY = "dp-registry.yaml"
CROISSANT = "croissant.json"
DCAT = "dcat.jsonld"
METADATA = (REGISTRY, CROISSANT, DCAT)

Writer = Callable[[Document, Document], str]
_WRITERS: Mapping[str, Writer] = {REGISTRY: registry_text, CROISSANT: croissant_text, DCAT: dcat_text}


def texts(manifest: Document, package: Document) -> dict[str, str]:
    """What each of these files says, in the fields and the words that the folder was made with."""
    return {name: write(worded(manifest), package) for name, write in _WRITERS.items()}


def worded(manifest: Document) -> Document:
    """A manifest with its codes in words; one of version 1 has them already."""
    if manifest["manifest_version"] == 1:
        return manifest
    words, unit, cards = wording(manifest["versions"]["wording"]), manifest["unit"], manifest.get("whole_cards")
    whole = {"meaning": words.say("whole_cards"), "caution": words.say("caution"), "cards": cards}
    return {
        **{name: value for name, value in manifest.items() if name != "whole_cards"},
        "counted": words.counted[unit],
        "composition": words.say("composition"),
        "guarantees": [{**each, "meaning": words.change(unit, each["neighbours"])} for each in manifest["guarantees"]],
        "tables": [{**table, "noise": words.noise[table["noise"]]} for table in manifest["tables"]],
        **({} if cards is None else {"whole_cards": whole}),
    }
