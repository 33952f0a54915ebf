"""`dp-registry.yaml`: a record for the deployments registry of OpenDP. Much of it is as it was in version 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tapveil.published.describe import facts, registry_1
from tapveil.published.describe.facts import Document
from tapveil.published.describe.registry_1 import listed
from tapveil.published.describe.yaml import yaml_text

_NOT_STATED = "Not stated"
"""In fields that the registry requires and the plan does not say."""

_LOOKED: Mapping[bool | None, str] = {
    True: "The bins, areas and tables were chosen after looking at the trips. The privacy loss does not account for "
    "that.",
    False: "The bins, areas and tables were chosen without looking at the trips, by the publisher's statement.",
    None: "Whether the bins, areas and tables were chosen after looking at the trips is not stated. If they were, the "
    "privacy loss does not account for that.",
}


def registry_text(manifest: Document, package: Document) -> str:
    """`dp-registry.yaml`: valid by the registry's deployments-schema.yaml, tier 3.

    What only the publisher knows is left out rather than guessed, or "Not stated" where the schema requires it, and
    named at the top. So is the number of privacy units, which would be an exact count. What the schema has no field
    for is in the actors and in the notes.
    """
    publisher, region, gaussian = facts.publisher_of(package), manifest["region"], manifest["gaussian"]
    deployment = {
        "basic": {
            "name": manifest["title"],
            "data_curators": [publisher or _NOT_STATED],
            "description": package["description"],
            "intended_use": registry_1.INTENDED_USE,
            "data_product_type": "Summary statistics",
            "data_product_region": region or _NOT_STATED,
            "publication_date": manifest["created"],
        },
        "dp_variant": registry_1.variant(manifest),
        "privacy_loss": {
            "privacy_unit": manifest["unit"].capitalize(),
            "privacy_unit_details": listed(registry_1.unit_details(manifest)),
            "privacy_parameters": registry_1.parameters(manifest) | ({"rho": gaussian["rho"]} if gaussian else {}),
            "privacy_parameters_details": listed(_parameter_details(manifest)),
        },
        "deployment_model": {
            "model_name": "Central",
            "model_name_details": registry_1.MODEL,
            "actors": listed(
                [
                    "People who travelled: their trips are in the records of the publisher.",
                    "The publisher: holds the trips and makes the folder. It is trusted with the trips, and to have "
                    "drawn the noise that it states.",
                    "Anyone: reads the folder, and can check it without the trips. Readers are not trusted: the "
                    "promise holds whatever else they know or will ever know.",
                ]
            ),
            **registry_1.once(_ledger_in_words(manifest["ledger"])),
        },
        "accounting": {
            "post_processing": listed(registry_1.post_processing(package)),
            "composition": registry_1.composition(manifest),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": listed(_preprocessing(manifest)),
            "mechanisms": listed(registry_1.mechanisms(manifest)),
            "justification": registry_1.justification(manifest),
        },
        "administrative": {"notes": listed(_notes(manifest)), "registry_authors": [facts.software(manifest)]},
    }
    asked = {
        f'data_curators ("{_NOT_STATED}")': publisher,
        "whether the curator is Government, Industry or Nonprofit (in the notes)": manifest["publisher_type"],
        f'data_product_region ("{_NOT_STATED}")': region,
        "data_product_sector": None,
        "sources": None,
        "registry_authors, once a person answers for it": None,
    }
    record = {"url_slug": registry_1.slug(manifest), "status": "Draft", "tier": 3, "deployment": deployment}
    return registry_1.HEAD + registry_1.left_to_say(asked) + yaml_text(record)


def _parameter_details(manifest: Document) -> Iterator[str]:
    changed = {each["neighbours"]: f"{each['meaning']} ({each['neighbours']})" for each in manifest["guarantees"]}
    for each in manifest["guarantees"]:
        yield registry_1.guarantee_in_words(each, changed[each["neighbours"]])
    over, points = changed[manifest["curve"]["neighbours"]], registry_1.points(manifest)
    yield f"The curve, with {over}, by exact accounting: (epsilon, delta) = {points}."
    if part := manifest["gaussian"]:  # ρ, and what it is not: the (ε, δ) above do not rest on it
        yield (
            f"rho = {part['rho']} is that of the Gaussian noise by itself, with {changed[manifest['neighbours']]}: "
            f"half of the sum of 1/sigma² over all changed cells, which is exactly {part['exact']['mu_squared']}. With "
            "discrete Gaussian noise of these scales the release is delta-approximately rho-zCDP (Canonne, Kamath and "
            f"Steinke 2020; Bun and Steinke 2016) with delta = {part['delta_singletons']}: the probability, at most, "
            "that a cell appears in which nobody else was."
        )
        yield (
            f"Continuous Gaussian noise of the same scales would have mu = {part['mu']} (mu-GDP): for comparison, as "
            "the noise is discrete. The noise of each cell is drawn from a table of integers within 1e-13 of the "
            "discrete Gaussian, in total variation; epsilon, delta and the curve are computed from these integers."
        )
    yield from registry_1.shares(manifest)


def _ledger_in_words(entry: Document | None) -> str:
    if entry is None:
        return registry_1.NO_LEDGER
    return (
        f"Recorded in a ledger whose head is {entry['hash']}. The ledger adds up what all releases spend on these "
        "trips, and refuses what its budget does not cover."
    )


def _preprocessing(manifest: Document) -> Iterator[str]:
    yield from facts.coarsening(manifest)
    yield _LOOKED[manifest["looked_at_trips"]]
    if manifest["chosen_from"]:
        yield f"The plan was chosen from a published release, {manifest['chosen_from']}, which has a loss of its own."


def _notes(manifest: Document) -> Iterator[str]:
    """What the registry has no field for."""
    if manifest["publisher_type"]:
        yield f"The data curator is of type {manifest['publisher_type'].capitalize()}."
    yield from registry_1.utility(manifest)
    yield registry_1.further(manifest)
