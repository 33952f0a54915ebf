"""What a folder says of itself to every portal, from `privacy.json` and `datapackage.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tapveil.base.types import read_exact
from tapveil.base.vocabulary import EVERY_MODE
from tapveil.privacy.loss import Loss
from tapveil.privacy.mechanisms import MECHANISMS
from tapveil.published.describe.wording import loss_in_words, wording

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


def versions(manifest: Document) -> Document:
    """By which methods the folder is made; manifests of version 1 do not say."""
    found: Document = manifest.get("versions", {"metadata": 1, "wording": 1})
    return found


def loss(stated: Document) -> str:
    """(ε, δ) for a person, rounded up."""
    return loss_in_words(Loss(*(read_exact(stated["exact"][name]) for name in ("epsilon", "delta"))))


def promise(manifest: Document) -> str:
    words = wording(versions(manifest)["wording"])
    meaning = next(each["meaning"] for each in manifest["guarantees"] if each["neighbours"] == manifest["neighbours"])
    facts = {"counted": manifest["counted"], "loss": loss(manifest), "change": meaning}
    mechanism = MECHANISMS[manifest["mechanism"]]
    given = [words.say("totals.portals", number=len(totals))] if (totals := manifest.get("totals")) else []
    if mechanism.publishes_every_cell:
        return " ".join([words.say("portals.promise_measured", **facts), *given])
    absent = words.absent(from_a_list=mechanism.from_a_list)
    return " ".join([words.say("portals.promise", **facts, absent=absent), *given])


def limitations(manifest: Document) -> str:
    """What whoever uses the counts must know."""
    measured = "_measured" if MECHANISMS[manifest["mechanism"]].publishes_every_cell else ""
    return wording(versions(manifest)["wording"]).say(f"portals.limitations{measured}")


def coarsening(manifest: Document) -> Iterator[str]:
    """What was given up before anything was counted."""
    day, kinds, say = manifest["day"], manifest["columns"].values(), wording(versions(manifest)["wording"]).say
    if "time" in kinds:
        name = "portals.bins_in_zone" if day["timezone"] else "portals.bins"
        yield say(name, minutes=manifest["time_minutes"], zone=day["timezone"], starts=day["starts"])
    for mode, label in manifest["areas"].items() if "location" in kinds else ():
        name = "portals.stops" if mode == EVERY_MODE else "portals.stops_of_mode"
        yield say(name, mode=quoted(mode), label=quoted(label))
    for name, claim in manifest.get("calendars", {}).items():
        labels = ", ".join(f"{label} ({days})" for label, days in claim["days"].items())
        yield say("portals.calendar", column=quoted(name), labels=quoted(labels))
    for table in manifest["tables"]:
        if level := table["level"]:
            bins = level["time_minutes"] and say("portals.level_minutes", minutes=level["time_minutes"])
            parts = level["times"] and say("portals.level_parts", starts=", ".join(level["times"]))
            areas = level["location"] and say("portals.level_areas", label=quoted(level["location"]))
            yield say("portals.coarser", table=table["name"], level=" and ".join(filter(None, (bins, parts, areas))))
    yield say("portals.columns")


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
