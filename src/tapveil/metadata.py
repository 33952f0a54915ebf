"""What data portals read of a published folder: a record for the deployments registry, Croissant, DCAT.

Each text follows from `privacy.json` and `datapackage.json` alone, so that anyone can write it again from the folder
and compare byte for byte: there is room in it for nothing else. Both are read as they are; where one of them is not
what a release writes, the error is a LookupError, a TypeError or a ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any
from urllib.parse import quote

from tapveil.notation import read_exact
from tapveil.statement import UNIT_NAMES, rounded_up

REGISTRY = "dp-registry.yaml"
CROISSANT = "croissant.json"
DCAT = "dcat.jsonld"

KEYWORDS = ("public transport", "trips", "smart card", "open data", "differential privacy")

_EVERY_MODE = "*"
"""How a manifest writes that an area is that of the stops of all modes."""

Document = Mapping[str, Any]
"""A file of the folder, as JSON reads it."""

_LICENCES = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-3.0": "https://creativecommons.org/licenses/by/3.0/",
    "CC-BY-3.0-AU": "https://creativecommons.org/licenses/by/3.0/au/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "ODbL-1.0": "https://opendatacommons.org/licenses/odbl/1-0/",
    "ODC-By-1.0": "https://opendatacommons.org/licenses/by/1-0/",
    "PDDL-1.0": "https://opendatacommons.org/licenses/pddl/1-0/",
    "OGL-UK-3.0": "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
    "etalab-2.0": "https://www.etalab.gouv.fr/licence-ouverte-open-licence/",
    "DL-DE-BY-2.0": "https://www.govdata.de/dl-de/by-2-0",
}
"""Where the licences are that open data usually has, by the names that SPDX gives them."""


# --- what all of them say -----------------------------------------------------------------------------------------


def _publisher(package: Document) -> str | None:
    who = (each["title"] for each in package.get("contributors", ()) if "publisher" in each["roles"])
    return next(who, None)


def _licence(package: Document) -> str | None:
    return next((each["name"] for each in package.get("licenses", ())), None)


def _licence_address(name: str) -> str | None:
    """Where a licence can be read, if its name tells: a well-known name, or an address itself."""
    address = re.fullmatch(r"https?://[\w.-]+(/[\w./~%?=&#+-]*)?", name, re.ASCII)
    return name if address else _LICENCES.get(name)


def _software(manifest: Document) -> str:
    return f"{manifest['software']['name']} {manifest['software']['version']}"


def _keywords(manifest: Document) -> list[str]:
    return [*KEYWORDS, *(manifest["covers"]["modes"] or ())]


def _loss(stated: Document) -> str:
    """(ε, δ) for a person, rounded up."""
    epsilon, delta = (rounded_up(read_exact(stated["exact"][name])) for name in ("epsilon", "delta"))
    return f"epsilon = {epsilon}, delta = {delta}"


def _promised(manifest: Document) -> Document:
    """The guarantee for the neighbours that the release is made for."""
    return next(each for each in manifest["guarantees"] if each["neighbours"] == manifest["neighbours"])


def _promise(manifest: Document) -> str:
    return (
        f"Counts of {manifest['counted']}, with noise: differentially private with {_loss(manifest)}, "
        f"for {_promised(manifest)['meaning']}. A cell that is not listed was absent or small: it is not zero."
    )


def _coarsening(manifest: Document) -> Iterator[str]:
    """What was given up before anything was counted."""
    day, kinds = manifest["day"], manifest["columns"].values()
    if "time" in kinds:
        zone = f", by the clock in {day['timezone']}" if day["timezone"] else ""
        yield f"Times are the starts of {manifest['time_minutes']}-minute bins{zone}. A day starts at {day['starts']}."
    for mode, label in manifest["areas"].items() if "location" in kinds else ():
        whose = "Stops" if mode == _EVERY_MODE else f"Stops of mode {_quoted(mode)}"
        yield f"{whose} are given by {_quoted(label)}."
    for table in manifest["tables"]:
        if table["level"]:
            yield f"Table {table['name']} is coarser: {_level(table['level'])}."
    yield "No column is published but those of the tables; the card is none of them."


def _level(level: Document) -> str:
    bins = f"{level['time_minutes']}-minute bins" if level["time_minutes"] else None
    parts = f"parts of the day that start at {', '.join(level['times'])}" if level["times"] else None
    areas = f"areas {_quoted(level['location'])}" if level["location"] else None
    return " and ".join(filter(None, (bins, parts, areas)))


def _period(manifest: Document) -> tuple[str, str] | None:
    covers = manifest["covers"]
    return (covers["first_day"], covers["last_day"]) if covers["first_day"] and covers["last_day"] else None


def _quoted(label: str) -> str:
    """A label of the publisher's within a sentence of ours: on one line, whatever it holds."""
    return json.dumps(" ".join(label.split()), ensure_ascii=False)


def _files(resource: Document) -> Iterator[Document]:
    """A table's file, and its copies in other formats."""
    yield resource
    yield from resource.get("alternates", ())


def _sha256(file: Document) -> str:
    checksum: str = file["hash"]
    return checksum.removeprefix("sha256:")


def _given(entries: Document) -> dict[str, Any]:
    """Without what is not known."""
    return {key: value for key, value in entries.items() if value is not None}


# --- the deployments registry -------------------------------------------------------------------------------------

_REGISTRY_HEAD = """\
# A record for the Differential Privacy Deployments Registry of OpenDP, as far as this folder tells.
# Left for the publisher: data_curator_type (Government, Industry or Nonprofit), data_product_region,
# data_product_sector, and registry_authors, once a person answers for it.
"""

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
        "administrative": {"status": "Draft", "registry_authors": [_software(manifest)], "tier": 3},
    }
    slug = f"{manifest['release']}-{manifest['created'][:4]}".replace("_", "-")
    return _REGISTRY_HEAD + yaml_text({"url_slug": slug, "deployment": deployment})


def _basic(manifest: Document, package: Document) -> dict[str, Any]:
    return {
        "name": manifest["title"],
        "data_curators": [{"data_curator_name": _publisher(package) or "Not stated"}],
        "description": package["description"],
        "intended_use": "Open data, for anyone: how much public transport was used, where and when.",
        "data_product_type": "Summary statistics",
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
    covers, period = manifest["covers"], _period(manifest)
    yield "Nothing computed from the trips is published without noise: no count, no total, no number of rows or cards."
    yield "What follows was fixed without them, is public, and is not protected."
    yield f"Days covered: {' to '.join(period) if period else 'no limit was set'}."
    yield f"Modes covered: {', '.join(map(_quoted, covers['modes'])) if covers['modes'] else 'no limit was set'}."
    yield f"Tables: {', '.join(map(_table_in_words, manifest['tables']))}; layout `{manifest['layout']}`."
    yield f"Parts that each table is split into: {' × '.join(manifest['partition']) or 'none'}."
    yield from _coarsening(manifest)
    yield "The noise: its kind, scale and threshold for each table, and the smallest number that it can print."
    if manifest["mechanism"] == "dictionary":
        yield "The list of cells that are counted at all."
    if manifest["places"]:
        yield f"`{manifest['places']}`: all places that could be named, whether they are or not."
    if manifest["public_files_sha256"]:
        yield f"SHA-256 of public files that were used: {', '.join(map(_quoted, manifest['public_files_sha256']))}."
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
    yield f"Adjacent ({manifest['neighbours']}): data sets that differ by {_promised(manifest)['meaning']}."
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
            f"With {each['meaning']} ({each['neighbours']}): {_loss(each)} ({exact}); "
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
    return _loss(table) if "exact" in table else f"weight {table['weight']} of the whole"


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
    yield from _coarsening(manifest)
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
    yield f"Software: {_software(manifest)}. How the trips themselves are kept safe is the publisher's to say."


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


# --- Croissant ----------------------------------------------------------------------------------------------------

_CROISSANT_TYPES = {
    "string": "sc:Text",
    "date": "sc:Date",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
}

_CROISSANT_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{
        term: f"cr:{term}"
        for term in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet"),
            *("format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
            *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField"),
            "transform",
        )
    },
}
"""The context that the specification recommends, in full: readers look for it."""


def croissant_text(manifest: Document, package: Document) -> str:
    """`croissant.json`: Croissant 1.0, which readers of 1.1 know too, with its vocabulary for responsible AI."""
    publisher, licence, period = _publisher(package), _licence(package), _period(manifest)
    organisation = {"@type": "sc:Organization", "name": publisher} if publisher else None
    dataset = {
        "@context": _CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": manifest["title"],
        "description": package["description"],
        "url": "./",
        "license": licence and (_licence_address(licence) or licence),
        "creator": organisation,
        "publisher": organisation,
        "datePublished": manifest["created"],
        "version": "1.0.0",
        "citeAs": _citation(manifest, publisher),
        "keywords": _keywords(manifest),
        "temporalCoverage": "/".join(period) if period else None,
        "isLiveDataset": False,
        "rai:personalSensitiveInformation": _promise(manifest),
        "rai:dataPreprocessingProtocol": list(_coarsening(manifest)),
        "rai:dataLimitations": "Every count has noise, and small cells are missing, so sums of a fine table come out "
        "low. Tables are noised separately.",
        "distribution": [_file_object(resource) for resource in package["resources"]],
        "recordSet": [_record_set(resource) for resource in package["resources"]],
    }
    return _json_text(_given(dataset))


def _citation(manifest: Document, publisher: str | None) -> str:
    who = f"{publisher} ({manifest['created'][:4]}): " if publisher else ""
    return f"{who}{manifest['title']}. Release {manifest['release_id']}, {manifest['created']}."


def _file_object(resource: Document) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": quote(resource["path"]),
        "name": resource["path"],
        "description": resource["title"],
        "contentUrl": quote(resource["path"]),
        "contentSize": f"{resource['bytes']} B",
        "encodingFormat": resource["mediatype"],
        "sha256": _sha256(resource),
    }


def _record_set(resource: Document) -> dict[str, Any]:
    name, keys = resource["name"], resource["schema"].get("primaryKey")
    return _given(
        {
            "@type": "cr:RecordSet",
            "@id": name,
            "name": name,
            "description": resource["title"],
            "key": keys and [{"@id": f"{name}/{key}"} for key in keys],
            "field": [_field(resource, field) for field in resource["schema"]["fields"]],
        }
    )


def _field(resource: Document, field: Document) -> dict[str, Any]:
    return _given(
        {
            "@type": "cr:Field",
            "@id": f"{resource['name']}/{field['name']}",
            "name": field["name"],
            "description": field.get("description"),
            "dataType": _CROISSANT_TYPES[field["type"]],
            "source": {"fileObject": {"@id": quote(resource["path"])}, "extract": {"column": field["name"]}},
        }
    )


# --- DCAT ---------------------------------------------------------------------------------------------------------

_EUROPE = "http://publications.europa.eu/resource/authority/"
"""Where DCAT-AP has its lists of themes, rights and formats."""
_FILE_TYPES = {"csv": f"{_EUROPE}file-type/CSV", "parquet": f"{_EUROPE}file-type/PARQUET"}

_DCAT_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "dpv": "https://w3id.org/dpv#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "prov": "http://www.w3.org/ns/prov#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def dcat_text(manifest: Document, package: Document) -> str:
    """`dcat.jsonld`: a data set of DCAT 3 with what DCAT-AP asks for; addresses are relative to the folder."""
    publisher, licence = _publisher(package), _licence_document(package)
    dataset = {
        "@context": _DCAT_CONTEXT,
        "@id": "./",
        "@type": "dcat:Dataset",
        "dct:identifier": manifest["release_id"],
        "dct:title": manifest["title"],
        "dct:description": package["description"],
        "dct:issued": _typed("xsd:date", manifest["created"]),
        "dct:publisher": {"@type": "foaf:Agent", "foaf:name": publisher} if publisher else None,
        "dct:license": licence,
        "dct:accessRights": _concept("dct:RightsStatement", f"{_EUROPE}access-right/PUBLIC"),
        "dct:temporal": _temporal(manifest),
        "dcat:keyword": _keywords(manifest),
        "dcat:theme": _concept("skos:Concept", f"{_EUROPE}data-theme/TRAN"),
        "foaf:page": [_concept("foaf:Document", name) for name in ("README.md", "privacy.json")],
        "dct:provenance": _provenance(manifest),
        "dpv:hasTechnicalOrganisationalMeasure": {"@id": "dpv:DifferentialPrivacy"},
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "prov:wasAssociatedWith": {"@type": "prov:SoftwareAgent", "foaf:name": _software(manifest)},
        },
        "dcat:distribution": [
            _distribution(resource, file, licence) for resource in package["resources"] for file in _files(resource)
        ],
    }
    return _json_text(_given(dataset))


def _licence_document(package: Document) -> dict[str, Any] | None:
    name = _licence(package)
    if name is None:
        return None
    return _given({"@id": _licence_address(name), "@type": "dct:LicenseDocument", "rdfs:label": name})


def _temporal(manifest: Document) -> dict[str, Any] | None:
    period = _period(manifest)
    if period is None:
        return None
    first, last = (_typed("xsd:date", day) for day in period)
    return {"@type": "dct:PeriodOfTime", "dcat:startDate": first, "dcat:endDate": last}


def _provenance(manifest: Document) -> dict[str, Any]:
    words = " ".join([_promise(manifest), *_coarsening(manifest)])
    return {"@type": "dct:ProvenanceStatement", "rdfs:label": words}


def _distribution(resource: Document, file: Document, licence: dict[str, Any] | None) -> dict[str, Any]:
    """One file. DCAT-AP asks for an address of access, which is that of the file where nothing lies between."""
    address = {"@id": quote(file["path"])}
    checksum = {
        "@type": "spdx:Checksum",
        "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
        "spdx:checksumValue": _typed("xsd:hexBinary", _sha256(file)),
    }
    media_type = f"https://www.iana.org/assignments/media-types/{file['mediatype']}"
    return _given(
        {
            "@type": "dcat:Distribution",
            "dct:title": f"{resource['title']} ({file['format'].upper()})",
            "dcat:accessURL": address,
            "dcat:downloadURL": address,
            "dcat:mediaType": _concept("dct:MediaType", media_type),
            "dct:format": _concept("dct:MediaTypeOrExtent", _FILE_TYPES[file["format"]]),
            "dcat:byteSize": _typed("xsd:nonNegativeInteger", str(file["bytes"])),
            "spdx:checksum": checksum,
            "dct:license": licence,
        }
    )


def _typed(kind: str, value: str) -> dict[str, str]:
    return {"@type": kind, "@value": value}


def _concept(kind: str, address: str) -> dict[str, str]:
    return {"@id": address, "@type": kind}


# --- writing ------------------------------------------------------------------------------------------------------

_ESCAPED = re.compile("[<>&\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
"""What a web page, YAML or a reader's eye would take for something else, were it not escaped.

A portal puts such a text into its page as it is: no title may end the script it lies in, nor turn the line around.
"""
_YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
"""What YAML would not read as text."""


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _json_text(document: Document) -> str:
    return _escaped(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def yaml_text(document: Document) -> str:
    """YAML of plain values, every text in double quotes: read alike by YAML 1.1 and 1.2, whatever the texts hold.

    >>> print(yaml_text({"name": "a: b", "delta": 1e-7, "tables": [{"lines": "one\\ntwo"}]}), end="")
    name: "a: b"
    delta: 1.0e-07
    tables:
      -
        lines: "\\
          one\\n\\
          two"
    """
    return _yaml(document, "").removeprefix("\n") + "\n"


def _yaml(value: object, margin: str) -> str:
    """A value after its key or dash: on the same line, or on further ones."""
    deeper = margin + "  "
    if isinstance(value, Mapping) and value:
        return "".join(f"\n{margin}{_yaml_key(key)}:{_yaml(item, deeper)}" for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(f"\n{margin}-{_yaml(item, deeper)}" for item in value)
    return " " + (_yaml_string(value, margin) if isinstance(value, str) else _yaml_plain(value))


def _yaml_key(key: str) -> str:
    plain = re.fullmatch("[a-z_]+", key) and key not in _YAML_WORDS
    return key if plain else _json_string(key)


def _yaml_string(text: str, margin: str) -> str:
    """In double quotes, as JSON has it; with a line for each line, of which YAML leaves out margin and backslash."""
    lines = [_json_string(line)[1:-1] for line in text.split("\n")]
    if len(lines) == 1:
        return f'"{lines[0]}"'
    indented = (margin + (f"\\{line}" if line.startswith(" ") else line) for line in lines)
    return '"\\\n' + "\\n\\\n".join(indented) + '"'


def _json_string(text: str) -> str:
    return _escaped(json.dumps(text, ensure_ascii=False))


def _yaml_plain(value: object) -> str:
    """A number, a truth value, nothing, or an empty list: as JSON has it, but for a point that YAML 1.1 asks for."""
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError("a number that is not finite has no place in a record")
        return re.sub(r"^(-?\d+)e", r"\1.0e", repr(value))
    return json.dumps(value)


METADATA = {REGISTRY: registry_text, CROISSANT: croissant_text, DCAT: dcat_text}
"""What each of these files says, from `privacy.json` and `datapackage.json`."""
