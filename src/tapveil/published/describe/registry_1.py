"""`dp-registry.yaml` as metadata of version 1 have it: frozen, for folders that were made with it.

What has a public name here is the same, word for word, in later versions, and is frozen for them, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tapveil.base.types import read_exact
from tapveil.published.describe import facts
from tapveil.published.describe.facts import Document, quoted
from tapveil.published.describe.wording.v1 import UNIT_NAMES
from tapveil.published.describe.yaml import yaml_text

HEAD = "# A record for the Differential Privacy Deployments Registry of OpenDP, as far as this folder tells.\n"

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
    curator_type = manifest["publisher_type"] and manifest["publisher_type"].capitalize()
    deployment = {
        "basic": {
            "name": manifest["title"],
            "data_curators": [
                {
                    "data_curator_name": facts.publisher_of(package) or "Not stated",
                    **facts.given({"data_curator_type": curator_type}),
                }
            ],
            "description": package["description"],
            "intended_use": INTENDED_USE,
            "data_product_type": "Summary statistics",
            **facts.given({"data_product_region": manifest["region"]}),
            "publication_date": manifest["created"],
        },
        "dp_variant": variant(manifest),
        "privacy_loss": {
            "privacy_unit": manifest["unit"].capitalize(),
            "privacy_unit_details": listed(unit_details(manifest)),
            "privacy_parameters": parameters(manifest),
            "privacy_parameters_details": listed(_parameter_details(manifest)),
        },
        "deployment_model": {
            "model_name": "Central",
            "model_name_details": MODEL,
            "trust_assumptions": "The publisher is trusted with the trips, and to have drawn the noise that it states. "
            "Readers are not trusted: the promise holds whatever else they know or will ever know.",
            "actors": listed(
                [
                    "People who travelled: their trips are in the records of the publisher.",
                    "The publisher: holds the trips and makes the folder.",
                    "Anyone: reads the folder, and can check it without the trips.",
                ]
            ),
            **once(_ledger_in_words(manifest["ledger"])),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": listed(
                [
                    *facts.coarsening(manifest),
                    "None of it depends on the trips: the plan says it beforehand.",
                    "Whether the plan was chosen after looking at the trips is the publisher's to say; it is not "
                    "accounted for.",
                ]
            ),
            "mechanisms": listed(mechanisms(manifest)),
            "composition": composition(manifest),
            "post_processing": listed(post_processing(package)),
            "justification": justification(manifest),
            "utility": listed(utility(manifest)),
            "additional_information": further(manifest),
        },
        "administrative": {"status": "Draft", "registry_authors": [facts.software(manifest)], "tier": 3},
    }
    asked = {
        "data_curator_type (Government, Industry or Nonprofit)": manifest["publisher_type"],
        "data_product_region": manifest["region"],
        "data_product_sector": None,
        "registry_authors, once a person answers for it": None,
    }
    return HEAD + left_to_say(asked) + yaml_text({"url_slug": slug(manifest), "deployment": deployment})


def _parameter_details(manifest: Document) -> Iterator[str]:
    for each in manifest["guarantees"]:
        yield guarantee_in_words(each, f"{each['meaning']} ({each['neighbours']})")
    yield f"Also (epsilon, delta), by exact accounting ({manifest['curve']['neighbours']}): {points(manifest)}."
    yield from shares(manifest)


def _ledger_in_words(entry: Document | None) -> str:
    if entry is None:
        return NO_LEDGER
    return (
        f"Entry {entry['number']} of the ledger {entry['ledger']}, which adds up what all releases spend on these "
        "trips, and refuses what its budget does not cover."
    )


# --- the same in later versions -------------------------------------------------------------------------------------

INTENDED_USE = "Open data, for anyone: how much public transport was used, where and when."
MODEL = "The publisher holds the trips, counts them, and draws the noise once."
NO_LEDGER = "In no ledger: nothing tells what else was published of these trips."


def slug(manifest: Document) -> str:
    """The name of the record."""
    return f"{manifest['release']}-{manifest['created'][:4]}".replace("_", "-")


def left_to_say(asked: Mapping[str, Any]) -> str:
    """What the registry asks for and the plan did not say, for a person to add."""
    return f"# Left for the publisher: {'; '.join(name for name, said in asked.items() if not said)}.\n"


def _is_pure(manifest: Document) -> bool:
    return not read_exact(manifest["exact"]["delta"])


def variant(manifest: Document) -> dict[str, Any]:
    """Of differential privacy."""
    return {
        "variant_name": "Pure DP" if _is_pure(manifest) else "Approximate DP",
        "data_domain": f"Any set of public-transport {manifest['rows']}, a row for each, on the days and of the modes "
        "under unprotected_quantities.",
        "unprotected_quantities": listed(_unprotected(manifest)),
    }


def _unprotected(manifest: Document) -> Iterator[str]:
    modes, period = manifest["covers"]["modes"], facts.period_of(manifest)
    tables = [
        f"{table['name']} ({' × '.join(table['columns']) or 'one number for each part'})"
        for table in manifest["tables"]
    ]
    yield "Nothing computed from the trips is published without noise: no count, no total, no number of rows or cards."
    yield "What follows is what the plan says: it is public, and is not protected."
    yield f"Days covered: {' to '.join(period) if period else 'no limit was set'}."
    yield f"Modes covered: {', '.join(map(quoted, modes)) if modes else 'no limit was set'}."
    yield f"Tables: {', '.join(tables)}; layout `{manifest['layout']}`."
    yield f"Parts that each table is split into: {' × '.join(manifest['partition']) or 'none'}."
    yield from facts.coarsening(manifest)
    yield "The noise: its kind, scale and threshold for each table, and the smallest number that it can print."
    if manifest["mechanism"] == "dictionary":
        yield "The list of cells that are counted at all."
    if manifest["places"]:
        yield f"`{manifest['places']}`: all places that could be named, whether they are or not."
    if manifest["public_files_sha256"]:
        yield f"SHA-256 of public files that were used: {', '.join(map(quoted, manifest['public_files_sha256']))}."
    yield f"SHA-256 of the plan: {manifest['plan_sha256']}."


def parameters(manifest: Document) -> dict[str, Any]:
    """ε, and δ where there is one."""
    return {name: manifest[name] for name in (["epsilon"] if _is_pure(manifest) else ["epsilon", "delta"])}


def unit_details(manifest: Document) -> Iterator[str]:
    """What is protected, and how much of it is counted."""
    bounds = manifest["bounds"]
    yield f"Protected: {UNIT_NAMES[manifest['unit']]}. How many there are is not published."
    yield f"Adjacent ({manifest['neighbours']}): data sets that differ by {facts.promised(manifest)['meaning']}."
    yield f"Counted: {manifest['counted']}. Cells of a table that a unit is in, at most: {bounds['cells_per_table']}."
    for name, what in (("trips_per_day", "of a card and day"), ("trips_per_card", "of a card in all")):
        if bounds.get(name) is not None:
            yield f"At most {bounds[name]} trips {what} are counted; the rest is left out before counting."
    if bounds.get("without_card"):
        left_out = bounds["without_card"] == "refuse"
        yield f"A trip without a card {'is left out' if left_out else 'counts as a card of its own'}."


def guarantee_in_words(guarantee: Document, changed: str) -> str:
    """One promise, in one notion of neighbours."""
    exact = f"exactly {guarantee['exact']['epsilon']} and {guarantee['exact']['delta']}"
    return (
        f"With {changed}: {facts.loss(guarantee)} ({exact}); "
        f"at this epsilon, exact accounting finds delta = {guarantee['delta_accounted']}."
    )


def points(manifest: Document) -> str:
    """Of the curve."""
    return ", ".join(f"({each['epsilon']}, {each['delta']})" for each in manifest["curve"]["points"])


def shares(manifest: Document) -> Iterator[str]:
    """What each table takes of the promise, and what the promise is worth for a card."""
    for table in manifest["tables"]:
        share = facts.loss(table) if "exact" in table else f"weight {table['weight']} of the whole"
        yield f"{table['name']}: {share}."
    if whole := manifest.get("whole_cards"):
        cards = "; ".join(f"{each['trips']} trips ({each['epsilon']}, {each['delta']})" for each in whole["cards"])
        yield f"For {whole['meaning']} (epsilon, delta): {cards}; {whole['caution']}."


def once(release_details: str) -> dict[str, str]:
    """One release of trips that are all there, to which nobody puts questions."""
    return {
        "release_type": "One release",
        "release_type_details": release_details,
        "data_source_type": "Static",
        "data_source_type_details": "The trips of the days covered, as they were when they were counted.",
        "access_type": "Non-interactive",
        "access_type_details": "The folder is all there is; no queries are answered.",
    }


def mechanisms(manifest: Document) -> Iterator[str]:
    """The noise of each table, and how it is drawn."""
    for table in manifest["tables"]:
        keys = " × ".join([*manifest["partition"], *table["columns"]]) or "one number"
        yield (
            f"{table['name']} ({keys}): {table['noise']}; scale {table['scale']}, threshold {table['threshold']}, "
            f"smallest number printed {table['smallest_published']}."
        )
    yield (
        "Noise is picked from tables of integers by random bits of the operating system. No floating-point number lies "
        "between them and a published count, and the loss is computed from the integers themselves."
    )
    yield "Rows are sorted by their keys; times of files say midnight."
    yield f"Software: {facts.software(manifest)}. How the trips themselves are kept safe is the publisher's to say."


def composition(manifest: Document) -> str:
    """How losses are added up."""
    return (
        f"Accounting: {manifest['composition']}. The parts of a table are key columns of it: a unit that moves from "
        "one to another is accounted for."
    )


def post_processing(package: Document) -> Iterator[str]:
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


def justification(manifest: Document) -> str:
    """Why this mechanism."""
    return f"{_WHY[manifest['mechanism']]} Why this epsilon, these bins and these areas is the publisher's to say."


def utility(manifest: Document) -> Iterator[str]:
    """How much the numbers of each table are worth."""
    for table in manifest["tables"]:
        chances = ", ".join(f"{count}: {chance:.4g}" for count, chance in table["probability_published"].items())
        yield (
            f"{table['name']}: noise beyond {table['error_95']} in at most 1 of 20 cells; "
            f"how likely a true count is published: {chances}."
        )


def further(manifest: Document) -> str:
    """Where there is more."""
    return (
        f"Release {manifest['release_id']}. `privacy.json` has every parameter exactly, `datapackage.json` every "
        "column. `tapveil verify` checks the folder from the folder alone, and computes the promise anew."
    )


def listed(sentences: Iterable[str]) -> str:
    """As a list in Markdown, which the registry shows."""
    return "\n".join(f"- {sentence}" for sentence in sentences)
