"""`dp-registry.yaml` as metadata of version 1 have it: frozen, for folders that were made with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tapveil.base.types import read_exact
from tapveil.published.describe.facts import (
    Document,
    coarsening,
    given,
    loss,
    period_of,
    promised,
    publisher_of,
    quoted,
    software,
)
from tapveil.published.describe.wording.v1 import UNIT_NAMES
from tapveil.published.describe.yaml import yaml_text

_HEAD = "# A record for the Differential Privacy Deployments Registry of OpenDP, as far as this folder tells.\n"

_WHY: Mapping[str, str] = {
    "sbh": "Noise and a threshold on each cell that occurs: the stability-based histogram, as in the release of the "
    "Opal data (Asghar, Tyler and Kaafar 2017). No list of possible cells is needed.",
    "laplace": "Discrete Laplace noise and a threshold on each cell that occurs, as low as exact accounting allows.",
    "gaussian": "Discrete Gaussian noise and a threshold on each cell that occurs, as low as exact accounting allows.",
    "dictionary": "Noise on every cell of a list that was fixed beforehand: which cells are listed says nothing "
    "but through the noise.",
}


def registry_text(manifest: Document, package: Document) -> str:
    """`dp-registry.yaml`: schemas/deployments-schema.yaml of the registry's data, tier 3.

    What only the publisher knows is left out rather than guessed, and named at the top. So is the number of privacy
    units, which would be an exact count.
    """
    deployment = {
        "basic": _basic(manifest, package),
        "dp_variant": _variant(manifest),
        "privacy_loss": _privacy_loss(manifest),
        "deployment_model": _model(manifest),
        "implementation": _implementation(manifest, package),
        "administrative": {"status": "Draft", "registry_authors": [software(manifest)], "tier": 3},
    }
    slug = f"{manifest['release']}-{manifest['created'][:4]}".replace("_", "-")
    return _HEAD + _left_to_say(manifest) + yaml_text({"url_slug": slug, "deployment": deployment})


def _left_to_say(manifest: Document) -> str:
    """What the registry asks for and the plan did not say, for a person to add."""
    asked = {
        "data_curator_type (Government, Industry or Nonprofit)": manifest["publisher_type"],
        "data_product_region": manifest["region"],
        "data_product_sector": None,
        "registry_authors, once a person answers for it": None,
    }
    return f"# Left for the publisher: {'; '.join(name for name, said in asked.items() if not said)}.\n"


def _basic(manifest: Document, package: Document) -> dict[str, Any]:
    return {
        "name": manifest["title"],
        "data_curators": [
            {
                "data_curator_name": publisher_of(package) or "Not stated",
                **given({"data_curator_type": manifest["publisher_type"] and manifest["publisher_type"].capitalize()}),
            }
        ],
        "description": package["description"],
        "intended_use": "Open data, for anyone: how much public transport was used, where and when.",
        "data_product_type": "Summary statistics",
        **given({"data_product_region": manifest["region"]}),
        "publication_date": manifest["created"],
    }


def _variant(manifest: Document) -> dict[str, Any]:
    pure = not read_exact(manifest["exact"]["delta"])
    return {
        "variant_name": "Pure DP" if pure else "Approximate DP",
        "data_domain": f"Any set of public-transport {manifest['rows']}, a row for each, on the days and of the modes "
        "under unprotected_quantities.",
        "unprotected_quantities": _listed(_unprotected(manifest)),
    }


def _unprotected(manifest: Document) -> Iterator[str]:
    covers, period = manifest["covers"], period_of(manifest)
    yield "Nothing computed from the trips is published without noise: no count, no total, no number of rows or cards."
    yield "What follows is what the plan says: it is public, and is not protected."
    yield f"Days covered: {' to '.join(period) if period else 'no limit was set'}."
    yield f"Modes covered: {', '.join(map(quoted, covers['modes'])) if covers['modes'] else 'no limit was set'}."
    yield f"Tables: {', '.join(map(_table_in_words, manifest['tables']))}; layout `{manifest['layout']}`."
    yield f"Parts that each table is split into: {' × '.join(manifest['partition']) or 'none'}."
    yield from coarsening(manifest)
    yield "The noise: its kind, scale and threshold for each table, and the smallest number that it can print."
    if manifest["mechanism"] == "dictionary":
        yield "The list of cells that are counted at all."
    if manifest["places"]:
        yield f"`{manifest['places']}`: all places that could be named, whether they are or not."
    if manifest["public_files_sha256"]:
        yield f"SHA-256 of public files that were used: {', '.join(map(quoted, manifest['public_files_sha256']))}."
    yield f"SHA-256 of the plan: {manifest['plan_sha256']}."


def _table_in_words(table: Document) -> str:
    return f"{table['name']} ({' × '.join(table['columns'])})"


def _privacy_loss(manifest: Document) -> dict[str, Any]:
    pure = not read_exact(manifest["exact"]["delta"])
    return {
        "privacy_unit": manifest["unit"].capitalize(),
        "privacy_unit_details": _listed(_unit_details(manifest)),
        "privacy_parameters": {name: manifest[name] for name in (["epsilon"] if pure else ["epsilon", "delta"])},
        "privacy_parameters_details": _listed(_parameter_details(manifest)),
    }


def _unit_details(manifest: Document) -> Iterator[str]:
    bounds = manifest["bounds"]
    yield f"Protected: {UNIT_NAMES[manifest['unit']]}. How many there are is not published."
    yield f"Adjacent ({manifest['neighbours']}): data sets that differ by {promised(manifest)['meaning']}."
    yield f"Counted: {manifest['counted']}. Cells of a table that a unit is in, at most: {bounds['cells_per_table']}."
    for name, what in (("trips_per_day", "of a card and day"), ("trips_per_card", "of a card in all")):
        if bounds.get(name) is not None:
            yield f"At most {bounds[name]} trips {what} are counted; the rest is left out before counting."
    if bounds.get("without_card"):
        left_out = bounds["without_card"] == "refuse"
        yield f"A trip without a card {'is left out' if left_out else 'counts as a card of its own'}."


def _parameter_details(manifest: Document) -> Iterator[str]:
    for each in manifest["guarantees"]:
        exact = f"exactly {each['exact']['epsilon']} and {each['exact']['delta']}"
        yield (
            f"With {each['meaning']} ({each['neighbours']}): {loss(each)} ({exact}); "
            f"at this epsilon, exact accounting finds delta = {each['delta_accounted']}."
        )
    points = ", ".join(f"({each['epsilon']}, {each['delta']})" for each in manifest["curve"]["points"])
    yield f"Also (epsilon, delta), by exact accounting ({manifest['curve']['neighbours']}): {points}."
    yield from (f"{table['name']}: {_share(table)}." for table in manifest["tables"])
    if "whole_cards" in manifest:
        whole = manifest["whole_cards"]
        cards = "; ".join(f"{each['trips']} trips ({each['epsilon']}, {each['delta']})" for each in whole["cards"])
        yield f"For {whole['meaning']} (epsilon, delta): {cards}; {whole['caution']}."


def _share(table: Document) -> str:
    return loss(table) if "exact" in table else f"weight {table['weight']} of the whole"


def _model(manifest: Document) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_details": "The publisher holds the trips, counts them, and draws the noise once.",
        "trust_assumptions": "The publisher is trusted with the trips, and to have drawn the noise that it states. "
        "Readers are not trusted: the promise holds whatever else they know or will ever know.",
        "actors": _listed(
            [
                "People who travelled: their trips are in the records of the publisher.",
                "The publisher: holds the trips and makes the folder.",
                "Anyone: reads the folder, and can check it without the trips.",
            ]
        ),
        "release_type": "One release",
        "release_type_details": _ledger_in_words(manifest["ledger"]),
        "data_source_type": "Static",
        "data_source_type_details": "The trips of the days covered, as they were when they were counted.",
        "access_type": "Non-interactive",
        "access_type_details": "The folder is all there is; no queries are answered.",
    }


def _ledger_in_words(entry: Document | None) -> str:
    if entry is None:
        return "In no ledger: nothing tells what else was published of these trips."
    return (
        f"Entry {entry['number']} of the ledger {entry['ledger']}, which adds up what all releases spend on these "
        "trips, and refuses what its budget does not cover."
    )


def _implementation(manifest: Document, package: Document) -> dict[str, Any]:
    return {
        "preprocessing_and_hyperparameter_tuning": _listed(_preprocessing(manifest)),
        "mechanisms": _listed(_mechanisms(manifest)),
        "composition": f"Accounting: {manifest['composition']}. The parts of a table are key columns of it: a unit "
        "that moves from one to another is accounted for.",
        "post_processing": _listed(_post_processing(package)),
        "justification": f"{_WHY[manifest['mechanism']]} Why this epsilon, these bins and these areas is the "
        "publisher's to say.",
        "utility": _listed(_utility(manifest)),
        "additional_information": f"Release {manifest['release_id']}. `privacy.json` has every parameter exactly, "
        "`datapackage.json` every column. `tapveil verify` checks the folder from the folder alone, and computes the "
        "promise anew.",
    }


def _preprocessing(manifest: Document) -> Iterator[str]:
    yield from coarsening(manifest)
    yield "None of it depends on the trips: the plan says it beforehand."
    yield "Whether the plan was chosen after looking at the trips is the publisher's to say; it is not accounted for."


def _mechanisms(manifest: Document) -> Iterator[str]:
    for table in manifest["tables"]:
        keys = " × ".join([*manifest["partition"], *table["columns"]])
        yield (
            f"{table['name']} ({keys}): {table['noise']}; scale {table['scale']}, threshold {table['threshold']}, "
            f"smallest number printed {table['smallest_published']}."
        )
    yield (
        "Noise is picked from tables of integers by random bits of the operating system. No floating-point number lies "
        "between them and a published count, and the loss is computed from the integers themselves."
    )
    yield "Rows are sorted by their keys; times of files say midnight."
    yield f"Software: {software(manifest)}. How the trips themselves are kept safe is the publisher's to say."


def _post_processing(package: Document) -> Iterator[str]:
    """What was made of published counts; each folder but `data` is such a thing."""
    columns = {field["name"] for resource in package["resources"] for field in resource["schema"]["fields"]}
    folders = [resource["path"].partition("/")[0] for resource in package["resources"]]
    derived = [folder for folder in dict.fromkeys(folders) if folder != "data"]
    if {"low", "high"} <= columns:
        yield "Intervals (`low`, `high`) follow from a published count and the noise."
    if derived:
        names = ", ".join(f"`{folder}/`" for folder in derived)
        yield f"Computed from published counts and public parameters, without the trips: {names}."
    if not derived and not {"low", "high"} <= columns:
        yield "None: the counts are written as the mechanism gave them."


def _utility(manifest: Document) -> Iterator[str]:
    for table in manifest["tables"]:
        chances = ", ".join(f"{count}: {chance:.4g}" for count, chance in table["probability_published"].items())
        yield (
            f"{table['name']}: noise beyond {table['error_95']} in at most 1 of 20 cells; "
            f"how likely a true count is published: {chances}."
        )


def _listed(sentences: Iterable[str]) -> str:
    """As a list in Markdown, which the registry shows."""
    return "\n".join(f"- {sentence}" for sentence in sentences)
