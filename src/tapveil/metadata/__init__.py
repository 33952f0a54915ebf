"""What data portals read of a published folder: a record for the deployments registry, Croissant, DCAT.

Each text follows from `privacy.json` and `datapackage.json` alone, so that anyone can write it again from the folder
and compare byte for byte: there is room in it for nothing else. Both are read as they are; where one of them is not
what a release writes, the error is a LookupError, a TypeError or a ValueError.
"""

from __future__ import annotations

from tapveil.metadata.croissant import croissant_text
from tapveil.metadata.dcat import dcat_text
from tapveil.metadata.registry import registry_text

REGISTRY = "dp-registry.yaml"
CROISSANT = "croissant.json"
DCAT = "dcat.jsonld"
METADATA = {REGISTRY: registry_text, CROISSANT: croissant_text, DCAT: dcat_text}
"""What each of these files says, from `privacy.json` and `datapackage.json`."""
