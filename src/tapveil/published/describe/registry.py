"""`dp-registry.yaml`: a record for the deployments registry of OpenDP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tapveil.base.types import read_exact
from tapveil.published.describe.facts import (
    Document,
    coarsening,
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
_NOT_STATED = "Not stated"
"""In fields that the registry requires and the plan does not say."""

_WHY: Mapping[str, str] = {
    "sbh": "Noise and a threshold on each cell that occurs: the stability-based histogram, as in the release of the "
    "Opal data (Asghar, Tyler and Kaafar 2017). No list of possible cells is needed.",
    "laplace": "Discrete Laplace noise and a threshold on each cell that occurs, as low as exact accounting allows.",
    "gaussian": "Discrete Gaussian noise and a threshold on each cell that occurs, as low as exact accounting allows.",
    "dictionary": "Noise on every cell of a list that was fixed beforehand: which cells are listed says nothing "
    "but through the noise.",
}


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
    record = {
        "url_slug": f"{manifest['release']}-{manifest['created'][:4]}".replace("_", "-"),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(manifest, package),
            "dp_variant": _variant(manifest),
            "privacy_loss": _privacy_loss(manifest),
            "deployment_model": _model(manifest),
            "accounting": _accounting(manifest, package),
            "implementation": _implementation(manifest),
            "administrative": {"notes": _listed(_notes(manifest)), "registry_authors": [software(manifest)]},
        },
    }
    return _HEAD + _left_to_say(manifest, package) + yaml_text(record)


def _left_to_say(manifest: Document, package: Document) -> str:
    """What the registry asks for and the plan did not say, for a person to add."""
    asked = {
        f'data_curators ("{_NOT_STATED}")': publisher_of(package),
        "whether the curator is Government, Industry or Nonprofit (in the notes)": manifest["publisher_type"],
        f'data_product_region ("{_NOT_STATED}")': manifest["region"],
        "data_product_sector": None,
        "sources": None,
        "registry_authors, once a person answers for it": None,
    }
    return f"# Left for the publisher: {'; '.join(name for name, said in asked.items() if not said)}.\n"


def _basic(manifest: Document, package: Document) -> dict[str, Any]:
    return {
        "name": manifest["title"],
        "data_curators": [publisher_of(package) or _NOT_STATED],
        "description": package["description"],
        "intended_use": "Open data, for anyone: how much public transport was used, where and when.",
        "data_product_type": "Summary statistics",
        "data_product_region": manifest["region"] or _NOT_STATED,
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
    return f"{table['name']} ({' × '.join(table['columns']) or 'one number for each part'})"


def _privacy_loss(manifest: Document) -> dict[str, Any]:
    pure = not read_exact(manifest["exact"]["delta"])
    parameters = {name: manifest[name] for name in (["epsilon"] if pure else ["epsilon", "delta"])}
    rho = {"rho": manifest["gaussian"]["rho"]} if manifest["gaussian"] else {}
    return {
        "privacy_unit": manifest["unit"].capitalize(),
        "privacy_unit_details": _listed(_unit_details(manifest)),
        "privacy_parameters": {**parameters, **rho},
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
    changed = {each["neighbours"]: f"{each['meaning']} ({each['neighbours']})" for each in manifest["guarantees"]}
    for each in manifest["guarantees"]:
        exact = f"exactly {each['exact']['epsilon']} and {each['exact']['delta']}"
        yield (
            f"With {changed[each['neighbours']]}: {loss(each)} ({exact}); "
            f"at this epsilon, exact accounting finds delta = {each['delta_accounted']}."
        )
    points = ", ".join(f"({each['epsilon']}, {each['delta']})" for each in manifest["curve"]["points"])
    over = changed[manifest["curve"]["neighbours"]]
    yield f"The curve, with {over}, by exact accounting: (epsilon, delta) = {points}."
    yield from _gaussian(manifest["gaussian"], changed[manifest["neighbours"]])
    yield from (f"{table['name']}: {_share(table)}." for table in manifest["tables"])
    if manifest.get("whole_cards"):
        whole = manifest["whole_cards"]
        cards = "; ".join(f"{each['trips']} trips ({each['epsilon']}, {each['delta']})" for each in whole["cards"])
        yield f"For {whole['meaning']} (epsilon, delta): {cards}; {whole['caution']}."


def _gaussian(part: Document | None, changed: str) -> Iterator[str]:
    """ρ, and what it is not: the (ε, δ) above do not rest on it."""
    if part is None:
        return
    yield (
        f"rho = {part['rho']} is that of the Gaussian noise by itself, with {changed}: half of the sum of 1/sigma² "
        f"over all changed cells, which is exactly {part['exact']['mu_squared']}. With discrete Gaussian noise of "
        "these scales the release is delta-approximately rho-zCDP (Canonne, Kamath and Steinke 2020; Bun and Steinke "
        f"2016) with delta = {part['delta_singletons']}: the probability, at most, that a cell appears in which nobody "
        "else was."
    )
    yield (
        f"Continuous Gaussian noise of the same scales would have mu = {part['mu']} (mu-GDP): for comparison, as the "
        "noise is discrete. The noise of each cell is drawn from a table of integers within 1e-13 of the discrete "
        "Gaussian, in total variation; epsilon, delta and the curve are computed from these integers."
    )


def _share(table: Document) -> str:
    return loss(table) if "exact" in table else f"weight {table['weight']} of the whole"


def _model(manifest: Document) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_details": "The publisher holds the trips, counts them, and draws the noise once.",
        "actors": _listed(
            [
                "People who travelled: their trips are in the records of the publisher.",
                "The publisher: holds the trips and makes the folder. It is trusted with the trips, and to have drawn "
                "the noise that it states.",
                "Anyone: reads the folder, and can check it without the trips. Readers are not trusted: the promise "
                "holds whatever else they know or will ever know.",
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
        f"Recorded in a ledger whose head is {entry['hash']}. The ledger adds up what all releases spend on these "
        "trips, and refuses what its budget does not cover."
    )


def _accounting(manifest: Document, package: Document) -> dict[str, Any]:
    return {
        "post_processing": _listed(_post_processing(package)),
        "composition": f"Accounting: {manifest['composition']}. The parts of a table are key columns of it: a unit "
        "that moves from one to another is accounted for.",
    }


def _implementation(manifest: Document) -> dict[str, Any]:
    return {
        "preprocessing_and_hyperparameter_tuning": _listed(_preprocessing(manifest)),
        "mechanisms": _listed(_mechanisms(manifest)),
        "justification": f"{_WHY[manifest['mechanism']]} Why this epsilon, these bins and these areas is the "
        "publisher's to say.",
    }


def _preprocessing(manifest: Document) -> Iterator[str]:
    yield from coarsening(manifest)
    yield _LOOKED[manifest["looked_at_trips"]]
    if manifest["chosen_from"]:
        yield f"The plan was chosen from a published release, {manifest['chosen_from']}, which has a loss of its own."


def _mechanisms(manifest: Document) -> Iterator[str]:
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


def _notes(manifest: Document) -> Iterator[str]:
    """What the registry has no field for."""
    if manifest["publisher_type"]:
        yield f"The data curator is of type {manifest['publisher_type'].capitalize()}."
    yield from _utility(manifest)
    yield (
        f"Release {manifest['release_id']}. `privacy.json` has every parameter exactly, `datapackage.json` every "
        "column. `tapveil verify` checks the folder from the folder alone, and computes the promise anew."
    )


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
