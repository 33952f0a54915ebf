"""`dcat.jsonld`: DCAT, for catalogues of open data."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tapveil.published.describe import facts
from tapveil.published.describe.facts import Document
from tapveil.published.describe.template import json_text

_EUROPE = "http://publications.europa.eu/resource/authority/"
"""Where DCAT-AP has its lists of themes, rights and formats."""
_FILE_TYPES = {form: f"{_EUROPE}file-type/{form.upper()}" for form in ("csv", "parquet", "txt", "xlsx")}

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
    publisher, name, period = facts.publisher_of(package), facts.licence_of(package), facts.period_of(manifest)
    licence = temporal = None
    if name is not None:
        licence = facts.given({"@id": facts.licence_address(name), "@type": "dct:LicenseDocument", "rdfs:label": name})
    if period is not None:
        first, last = (_typed("xsd:date", day) for day in period)
        temporal = {"@type": "dct:PeriodOfTime", "dcat:startDate": first, "dcat:endDate": last}
    origin = " ".join([facts.promise(manifest), *facts.coarsening(manifest)])
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
        "dct:temporal": temporal,
        "dcat:keyword": facts.keywords(manifest),
        "dcat:theme": _concept("skos:Concept", f"{_EUROPE}data-theme/TRAN"),
        "foaf:page": [_concept("foaf:Document", name) for name in ("README.md", "privacy.json")],
        "dct:provenance": {"@type": "dct:ProvenanceStatement", "rdfs:label": origin},
        "dpv:hasTechnicalOrganisationalMeasure": {"@id": "dpv:DifferentialPrivacy"},
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "prov:wasAssociatedWith": {"@type": "prov:SoftwareAgent", "foaf:name": facts.software(manifest)},
        },
        "dcat:distribution": [
            _distribution(resource, file, licence)
            for resource in package["resources"]
            for file in facts.files(resource)
        ],
    }
    return json_text(facts.given(dataset))


def _distribution(resource: Document, file: Document, licence: dict[str, Any] | None) -> dict[str, Any]:
    """One file. DCAT-AP asks for an address of access, which is that of the file where nothing lies between."""
    address = {"@id": quote(file["path"])}
    checksum = {
        "@type": "spdx:Checksum",
        "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
        "spdx:checksumValue": _typed("xsd:hexBinary", facts.sha256(file)),
    }
    media_type = f"https://www.iana.org/assignments/media-types/{file['mediatype']}"
    return facts.given(
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
