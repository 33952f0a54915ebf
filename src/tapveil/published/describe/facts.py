"""What a folder says of itself to every portal, from `privacy.json` and `datapackage.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tapveil.base.types import read_exact
from tapveil.base.vocabulary import EVERY_MODE
from tapveil.published.describe.wording.v1 import absent_in_words, rounded_up

KEYWORDS = ("public transport", "trips", "smart card", "open data", "differential privacy")

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


def publisher_of(package: Document) -> str | None:
    who = (each["title"] for each in package.get("contributors", ()) if "publisher" in each["roles"])
    return next(who, None)


def licence_of(package: Document) -> str | None:
    return next((each["name"] for each in package.get("licenses", ())), None)


def licence_address(name: str) -> str | None:
    """Where a licence can be read, if its name tells: a well-known name, or an address itself."""
    address = re.fullmatch(r"https?://[\w.-]+(/[\w./~%?=&#+-]*)?", name, re.ASCII)
    return name if address else _LICENCES.get(name)


def software(manifest: Document) -> str:
    return f"{manifest['software']['name']} {manifest['software']['version']}"


def keywords(manifest: Document) -> list[str]:
    return [*KEYWORDS, *(manifest["covers"]["modes"] or ())]


def loss(stated: Document) -> str:
    """(ε, δ) for a person, rounded up."""
    epsilon, delta = (rounded_up(read_exact(stated["exact"][name])) for name in ("epsilon", "delta"))
    return f"epsilon = {epsilon}, delta = {delta}"


def promised(manifest: Document) -> Document:
    """The guarantee for the neighbours that the release is made for."""
    return next(each for each in manifest["guarantees"] if each["neighbours"] == manifest["neighbours"])


def promise(manifest: Document) -> str:
    return (
        f"Counts of {manifest['counted']}, with noise: differentially private with {loss(manifest)}, "
        f"for {promised(manifest)['meaning']}. {absent_in_words(manifest['mechanism'])}"
    )


def coarsening(manifest: Document) -> Iterator[str]:
    """What was given up before anything was counted."""
    day, kinds = manifest["day"], manifest["columns"].values()
    if "time" in kinds:
        zone = f", by the clock in {day['timezone']}" if day["timezone"] else ""
        yield f"Times are the starts of {manifest['time_minutes']}-minute bins{zone}. A day starts at {day['starts']}."
    for mode, label in manifest["areas"].items() if "location" in kinds else ():
        whose = "Stops" if mode == EVERY_MODE else f"Stops of mode {quoted(mode)}"
        yield f"{whose} are given by {quoted(label)}."
    for table in manifest["tables"]:
        if table["level"]:
            yield f"Table {table['name']} is coarser: {level(table['level'])}."
    yield "No column is published but those of the tables; the card is none of them."


def level(level: Document) -> str:
    bins = f"{level['time_minutes']}-minute bins" if level["time_minutes"] else None
    parts = f"parts of the day that start at {', '.join(level['times'])}" if level["times"] else None
    areas = f"areas {quoted(level['location'])}" if level["location"] else None
    return " and ".join(filter(None, (bins, parts, areas)))


def period_of(manifest: Document) -> tuple[str, str] | None:
    covers = manifest["covers"]
    return (covers["first_day"], covers["last_day"]) if covers["first_day"] and covers["last_day"] else None


def quoted(label: str) -> str:
    """A label of the publisher's within a sentence of ours: on one line, whatever it holds."""
    return json.dumps(" ".join(label.split()), ensure_ascii=False)


def files(resource: Document) -> Iterator[Document]:
    """A table's file, and its copies in other formats."""
    yield resource
    yield from resource.get("alternates", ())


def sha256(file: Document) -> str:
    checksum: str = file["hash"]
    return checksum.removeprefix("sha256:")


def given(entries: Document) -> dict[str, Any]:
    """Without what is not known."""
    return {key: value for key, value in entries.items() if value is not None}
