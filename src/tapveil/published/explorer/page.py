"""`explorer.html`: one file with everything in it, which asks nobody for anything.

Its head forbids the browser any request, and any script or style but the ones written here: whatever a stop is called,
nothing but this program runs. Plain canvas and SVG draw it, so there is no library to keep up with.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import pyarrow as pa

from tapveil.published.explorer import contents, contents_1
from tapveil.published.manifest import Manifest
from tapveil.published.places import FeatureCollection
from tapveil.published.sheets import DerivedSheet

SCRIPTS = (
    *("release", "words", "colours", "view", "heat", "profile", "ground", "map", "balance"),
    *("pairs", "flowmap", "matrix", "flows", "numbers", "main"),
)
"""The files of the program, in the order in which they build on each other."""
LEVEL = 6
DATA_OPENS, DATA_CLOSES = '<script id="release" type="application/octet-stream">', "</script>"
"""Where a page of any version has its data."""
_SLOT = re.compile(r"\{\{([a-z]+)\}\}")


def page(
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
    places: FeatureCollection | None,
) -> str:
    """The page of a release that is made now."""
    return Shell.titled(manifest.title).text(packed(data(manifest, package, tables, beside, places)))


def data(
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
    places: FeatureCollection | None,
) -> bytes:
    """What the page of a folder holds, by the version of its contents."""
    if manifest.versions.page == 1:
        return contents_1.contents(manifest, package, tables, beside, places).data
    return contents.contents(manifest, package, tables, beside, places).data


def packed(data: bytes) -> str:
    """The data of a page as they stand in it."""
    return base64.b64encode(zlib.compress(data, LEVEL)).decode()


@dataclass(frozen=True)
class Shell:
    """A page but for its data."""

    head: str
    tail: str

    @classmethod
    def titled(cls, title: str) -> Shell:
        style, script = _read("page.css"), "\n".join(_read(f"{name}.js") for name in SCRIPTS)
        policy = (  # no request to anyone; this script, this style, and what the page itself draws
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
            "base-uri 'none'; form-action 'none'"
        )
        words = {"policy": policy, "style": style, "script": script, "title": escape(title)}
        filled = (_SLOT.sub(lambda slot: words[slot[1]], part) for part in _read("page.html").split("{{data}}"))
        return cls(*filled)

    def text(self, data: str) -> str:
        return self.head + data + self.tail

    def program(self, title: str) -> str:
        """SHA-256 of all but the data and the title: by it a page is known, whichever version wrote it."""
        head = self.head
        for before, after in (("<title>", "</title>"), ("<h1>", "</h1>")):
            head = head.replace(f"{before}{escape(title)}{after}", before + after, 1)
        return hashlib.sha256(f"{head}\0{self.tail}".encode()).hexdigest()


def taken_apart(text: str) -> tuple[Shell, str]:
    """The program of a page, of any version, and its data: what lies in the first element made for them."""
    before, opening, behind = text.partition(DATA_OPENS)
    data, closing, tail = behind.partition(DATA_CLOSES)
    return Shell(before + opening, closing + tail), data


def unpacked(text: str, most: int) -> bytes | None:
    """The data of a page; None where they are not packed in the one way, or are more than `most` bytes."""
    try:
        packed = base64.b64decode(text, validate=True)
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(packed, most + 1)  # one more than it may have, and it is known
    except (ValueError, zlib.error):
        return None
    whole = unpacking.eof and not unpacking.unused_data and base64.b64encode(packed).decode() == text
    return data if whole else None


@cache
def _read(name: str) -> str:
    return (files("tapveil.published.explorer") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
