"""Manifests of version 1, which version 0.1.0 wrote, as manifests of today: what they say in sentences becomes codes.

Frozen. Each sentence must be the one that version 1 has for the codes next to it; no other is accepted.
`written` is the way back, so that `verify` can compare a manifest with the one form that version 1 gave it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tapveil.published.describe.wording import wording

_WORDS = wording(1)
_NOISE = {sentence: code for code, sentence in _WORDS.noise.items()}
_VERSIONS = {"derived": 1, "page": 1, "metadata": 1, "wording": 1}
MOST_ENTRIES = 10**6
"""Of a ledger: no number of an entry is larger."""
_KEYS = (
    *("manifest_version", "release", "release_id", "ledger", "title", "publisher_type", "region", "created"),
    *("chosen_from", "unit", "counted", "bounds", "neighbours", "mechanism", "epsilon", "delta", "exact"),
    *("composition", "guarantees", "curve", "whole_cards", "tables", "covers", "partition", "columns", "layout"),
    *("rows", "time_minutes", "day", "areas", "wider", "derived_version", "plan_sha256", "public_files_sha256"),
    *("places", "software"),
)


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same in the words of version 2; ValueError where it is not a manifest of version 1."""
    try:
        return _upgraded(dict(data))
    except (KeyError, TypeError, AttributeError):
        raise ValueError("it is not a manifest of version 1") from None


def _upgraded(data: dict[str, Any]) -> dict[str, Any]:
    unit = data["unit"]
    if data.keys() & {"versions", "looked_at_trips", "gaussian"} or data.pop("derived_version") != 1:
        raise ValueError("it has keys that version 1 does not have")
    _refuse_other(data.pop("counted"), _WORDS.counted[unit])
    _refuse_other(data.pop("composition"), _WORDS.say("composition"))
    guarantees = [dict(each) for each in data["guarantees"]]
    for each in guarantees:
        _refuse_other(each.pop("meaning"), _WORDS.change(unit, each["neighbours"]))
    return {
        **data,
        "versions": _VERSIONS,
        "ledger": _without_number(data["ledger"]),
        "looked_at_trips": None,
        "gaussian": None,
        "guarantees": guarantees,
        "tables": [{**table, "noise": _NOISE[table["noise"]]} for table in data["tables"]],
        "whole_cards": _cards(data.get("whole_cards")),
    }


def written(stated: Mapping[str, Any], number: int | None) -> dict[str, Any]:
    """The inverse: what version 1 wrote for a manifest of today, as JSON, and the number of its entry in the ledger."""
    unit, cards, entry = stated["unit"], stated["whole_cards"], stated["ledger"]
    first = {
        **stated,
        "ledger": entry and {"ledger": entry["ledger"], "number": number, "hash": entry["hash"]},
        "counted": _WORDS.counted[unit],
        "composition": _WORDS.say("composition"),
        "guarantees": [
            {"neighbours": each["neighbours"], "meaning": _WORDS.change(unit, each["neighbours"]), **each}
            for each in stated["guarantees"]
        ],
        "whole_cards": {**_ABOUT_CARDS, "cards": cards},
        "tables": [{**table, "noise": _WORDS.noise[table["noise"]]} for table in stated["tables"]],
        "derived_version": 1,
        "public_files_sha256": _in_order(stated),
    }
    return {key: first[key] for key in _KEYS if key != "whole_cards" or cards is not None}


def _in_order(stated: Mapping[str, Any]) -> dict[str, str]:
    """Its public files as version 1 went through a plan; lists of wider areas, which it names all, stay as they are."""
    wider = ""
    order = [
        *(f"lookup of {mode}" for mode in stated["areas"]),
        wider,
        *(f"polygons of {mode}" for mode in stated["areas"]),
        *(f"cells of {table['name']}" for table in stated["tables"]),
        *("gtfs", "places"),
    ]
    place = {role: number for number, role in enumerate(order)}
    files = stated["public_files_sha256"]
    return {role: files[role] for role in sorted(files, key=lambda role: place.get(role, place[wider]))}


def _without_number(entry: Mapping[str, Any] | None) -> Any:
    """Version 1 says which entry of the ledger it is: that tells of releases that were stopped."""
    if entry is None:
        return None
    rest = dict(entry)
    number = rest.pop("number")
    if type(number) is not int or not 1 <= number <= MOST_ENTRIES:
        raise ValueError("the number of the ledger's entry is none")
    return rest


def _cards(whole: Mapping[str, Any] | None) -> Any:
    if whole is None:
        return None
    _refuse_other({name: whole[name] for name in whole if name != "cards"}, _ABOUT_CARDS)
    return whole["cards"]


_ABOUT_CARDS = {"meaning": _WORDS.say("whole_cards"), "caution": _WORDS.say("caution")}


def _refuse_other(found: object, expected: object) -> None:
    if found != expected:
        raise ValueError("a sentence is not the one that version 1 has")
