"""`croissant.json`: Croissant, for those who load data into models."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tapveil.published.describe import facts
from tapveil.published.describe.facts import Document
from tapveil.published.describe.template import json_text

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
    publisher, licence, period = facts.publisher_of(package), facts.licence_of(package), facts.period_of(manifest)
    organisation = {"@type": "sc:Organization", "name": publisher} if publisher else None
    who = f"{publisher} ({manifest['created'][:4]}): " if publisher else ""
    dataset = {
        "@context": _CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": manifest["title"],
        "description": package["description"],
        "url": "./",
        "license": licence and (facts.licence_address(licence) or licence),
        "creator": organisation,
        "publisher": organisation,
        "datePublished": manifest["created"],
        "version": "1.0.0",
        "citeAs": f"{who}{manifest['title']}. Release {manifest['release_id']}, {manifest['created']}.",
        "keywords": facts.keywords(manifest),
        "temporalCoverage": "/".join(period) if period else None,
        "isLiveDataset": False,
        "rai:personalSensitiveInformation": facts.promise(manifest),
        "rai:dataPreprocessingProtocol": list(facts.coarsening(manifest)),
        "rai:dataLimitations": facts.limitations(manifest),
        "distribution": [_file_object(resource) for resource in package["resources"]],
        "recordSet": [_record_set(resource) for resource in package["resources"] if "schema" in resource],
    }
    return json_text(facts.given(dataset))


def _file_object(resource: Document) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": quote(resource["path"]),
        "name": resource["path"],
        "description": resource["title"],
        "contentUrl": quote(resource["path"]),
        "contentSize": f"{resource['bytes']} B",
        "encodingFormat": resource["mediatype"],
        "sha256": facts.sha256(resource),
    }


def _record_set(resource: Document) -> dict[str, Any]:
    name, keys = resource["name"], resource["schema"].get("primaryKey")
    return facts.given(
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
    return facts.given(
        {
            "@type": "cr:Field",
            "@id": f"{resource['name']}/{field['name']}",
            "name": field["name"],
            "description": field.get("description"),
            "dataType": _CROISSANT_TYPES[field["type"]],
            "source": {"fileObject": {"@id": quote(resource["path"])}, "extract": {"column": field["name"]}},
        }
    )
