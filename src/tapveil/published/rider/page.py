"""The page for riders: one file with everything in it, from the manifest alone, so that `verify` makes it again.

A version is a folder: its shell, style, script and texts in all languages, which stay as they are once a folder has
them. All languages are in one file; without scripts it shows the first of them, for one unit.
"""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from tapveil.privacy.meaning import Meaning
from tapveil.privacy.units import Neighbours
from tapveil.published.describe.template import json_text
from tapveil.published.manifest import Manifest, PersonClaim
from tapveil.published.people import meant

RIDER_VERSION = 2
_SLOT = re.compile(r"\{\{([a-z]+)\}\}")


def rider_page(manifest: Manifest, version: int) -> str:
    """The page of a folder, by a version."""
    style, script = _read(version, "rider.css"), _read(version, "rider.js")
    policy = (  # no request to anyone; this script and this style
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    first = languages(version)["en"]
    notion: Neighbours = "replace" if manifest.totals else "add-remove"
    loss = {each.neighbours: each.exact.loss for each in manifest.guarantees}[notion]
    meaning = Meaning(loss.epsilon, loss.delta)
    wrong, right = meaning.of_100
    plain = f"{first['intro']} {first['unit'][manifest.unit]}".format(title=manifest.title)
    unscripted = first["frequencies"].format(wrong=wrong, right=right)
    words = {
        "policy": policy,
        "style": style,
        "script": script,
        "title": escape(f"{first['heading']} {manifest.title}"),
        "heading": escape(first["heading"]),
        "plain": escape(plain),
        "given": escape(first["given"]) if manifest.totals else "",
        "unscripted": escape(f"{first['one_unit'][manifest.unit]} {unscripted}"),
        "data": json_text(_data(manifest, version, {"wrong": wrong, "right": right, "verdict": meaning.verdict})),
    }
    return _SLOT.sub(lambda slot: words[slot[1]], _read(version, "rider.html"))


def _data(manifest: Manifest, version: int, unit: dict[str, str]) -> dict[str, Any]:
    """What the script shows: facts of this folder, and the texts of every language."""
    rows = [_row(each, given=bool(manifest.totals)) for each in manifest.people or ()]
    texts = {
        code: {key: value[manifest.unit] if key in ("unit", "one_unit") else value for key, value in each.items()}
        for code, each in languages(version).items()
    }
    return {"title": manifest.title, "given": bool(manifest.totals), "unit": unit, "people": rows, "texts": texts}


def _row(person: PersonClaim, *, given: bool) -> dict[str, Any]:
    of_100, word = meant(person, given=given)
    return {"trips": person.trips_per_week, "releases": person.releases, "of_100": of_100, "verdict": word}


@cache
def languages(version: int) -> dict[str, Any]:
    """The texts of each language, the first being the one that is shown without scripts."""
    return tomllib.loads(_read(version, "texts.toml"))


@cache
def _read(version: int, name: str) -> str:
    return (files("tapveil.published.rider") / str(version) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
