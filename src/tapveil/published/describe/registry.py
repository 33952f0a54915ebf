"""`dp-registry.yaml`: a record for the deployments registry of OpenDP, valid by its deployments-schema.yaml, tier 3.

What only the publisher knows is left out rather than guessed, or "Not stated" where the schema requires it, and named
at the top. So is the number of privacy units, which would be an exact count. What the schema has no field for is in
the actors and in the notes. Metadata of version 1 differ in their fields; the sentences are those of the wording.
"""

from __future__ import annotations

from tapveil.base.types import read_exact
from tapveil.base.vocabulary import MEASUREMENTS
from tapveil.published.describe import facts
from tapveil.published.describe.facts import Document
from tapveil.published.describe.template import rendered
from tapveil.published.describe.wording import wording


def registry_text(manifest: Document, package: Document) -> str:
    """The record of a folder, from its manifest in words and its Data Package."""
    versions = facts.versions(manifest)
    schemas = [resource["schema"] for resource in package["resources"] if "schema" in resource]
    fields = {field["name"] for schema in schemas for field in schema["fields"]}
    folders = dict.fromkeys(resource["path"].partition("/")[0] for resource in package["resources"])
    publisher, region = facts.publisher_of(package), manifest["region"]
    if versions["metadata"] == 1:
        asked = {
            "data_curator_type (Government, Industry or Nonprofit)": manifest["publisher_type"],
            "data_product_region": region,
            "data_product_sector": None,
        }
    else:
        asked = {
            'data_curators ("Not stated")': publisher,
            "whether the curator is Government, Industry or Nonprofit (in the notes)": manifest["publisher_type"],
            'data_product_region ("Not stated")': region,
            "data_product_sector": None,
            "sources": None,
        }
    by_neighbours = {each["neighbours"]: each for each in manifest["guarantees"]}
    return rendered(
        versions["wording"],
        "registry.yaml",
        manifest=manifest,
        package=package,
        metadata=versions["metadata"],
        words=wording(versions["wording"]),
        left=[*(name for name, said in asked.items() if not said), "registry_authors, once a person answers for it"],
        slug=f"{manifest['release']}-{manifest['created'][:4]}".replace("_", "-"),
        publisher=publisher,
        is_pure=not read_exact(manifest["exact"]["delta"]),
        period=facts.period_of(manifest),
        coarsening=list(facts.coarsening(manifest)),
        loss=facts.loss,
        promised=by_neighbours[manifest["neighbours"]],
        curve=by_neighbours[manifest["curve"]["neighbours"]],
        has_intervals={"low", "high"} <= fields,
        derived=[folder for folder in folders if folder not in ("data", MEASUREMENTS)],
        software=facts.software(manifest),
    )
