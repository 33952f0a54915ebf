"""`explorer.html`: one file with everything in it, which asks nobody for anything.

Its head forbids the browser any request, and any script or style but the ones written here: whatever a stop is called,
nothing but this program runs. Plain canvas and SVG draw it, so there is no library to keep up with.

A large release has files next to its page, `explorer/part-0001.js` and so on, and its page may load scripts from where
it lies itself. Each is one call that hands over data, since a browser lets a page on a disk read no other files.
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

from tapveil.base.vocabulary import EXPLORER
from tapveil.published.explorer import contents, contents_1, contents_2
from tapveil.published.manifest import Manifest
from tapveil.published.places import FeatureCollection
from tapveil.published.sheets import DerivedSheet

SCRIPTS = (
    *("release", "words", "periods", "variation", "colours", "view", "heat", "profile", "ground", "map", "balance"),
    *("days", "pairs", "flowmap", "matrix", "flows", "numbers", "main"),
)
"""The files of the program, in the order in which they build on each other."""
LEVEL = 6
DATA_OPENS, DATA_CLOSES = '<script id="release" type="application/octet-stream">', "</script>"
"""Where a page of any version has its data."""
TITLES = (("<title>", "</title>"), ("<h1>", "</h1>"))
"""Between what a page of any version has its title."""
PART = re.compile(r'tapveilPart\(([1-9][0-9]{0,3}),"([A-Za-z0-9+/=]*)"\);\n')
"""A file next to the page: nothing but a number and data."""
_SLOT = re.compile(r"\{\{([a-z]+)\}\}")


@dataclass(frozen=True)
class Held:
    """What a page holds, and what the files next to it do."""

    data: bytes
    parts: Sequence[bytes] = ()


def page_files(
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
    places: FeatureCollection | None,
) -> dict[str, str]:
    """The page of a release that is made now, and the files next to it if it is large, by their paths."""
    held = data(manifest, package, tables, beside, places)
    shell = Shell.titled(manifest.title, has_parts=bool(held.parts))
    texts = {EXPLORER: shell.text(packed(held.data))}
    return texts | {path_of(number): part(number, each) for number, each in enumerate(held.parts, 1)}


def data(
    manifest: Manifest,
    package: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    beside: Sequence[DerivedSheet],
    places: FeatureCollection | None,
) -> Held:
    """What the page of a folder holds, by the version of its contents."""
    if manifest.versions.page == 1:
        return Held(contents_1.contents(manifest, package, tables, beside, places).data)
    if manifest.versions.page == 2:
        return Held(contents_2.contents(manifest, package, tables, beside, places).data)
    made = contents.contents(manifest, package, tables, beside, places)
    return Held(made.data, made.parts)


def path_of(number: int) -> str:
    """Where a file next to the page is."""
    return f"explorer/part-{number:04}.js"


def part(number: int, data: bytes) -> str:
    """A file next to the page."""
    return f'tapveilPart({number},"{packed(data)}");\n'


def packed(data: bytes) -> str:
    """The data of a page as they stand in it."""
    return base64.b64encode(zlib.compress(data, LEVEL)).decode()


@dataclass(frozen=True)
class Shell:
    """A page but for its data."""

    head: str
    tail: str

    @classmethod
    def titled(cls, title: str, *, has_parts: bool = False) -> Shell:
        script = "\n".join(read_static(f"{name}.js") for name in SCRIPTS)
        return cls.around(read_static("page.html"), read_static("page.css"), script, title, has_parts=has_parts)

    @classmethod
    def around(cls, template: str, style: str, script: str, title: str, *, has_parts: bool) -> Shell:
        """A page that may run this script, draw with this style, and load the files next to it if there are some."""
        near = " 'self' file:" if has_parts else ""  # on a disk, where a page lies has no name but that of all files
        policy = (  # no request to anyone; this script, this style, and what the page itself draws
            f"default-src 'none'; script-src '{_hash(script)}'{near}; style-src '{_hash(style)}'; img-src data: blob:; "
            "base-uri 'none'; form-action 'none'"
        )
        words = {"policy": policy, "style": style, "script": script, "title": escape(title)}
        filled = (_SLOT.sub(lambda slot: words[slot[1]], part) for part in template.split("{{data}}"))
        return cls(*filled)

    def text(self, data: str) -> str:
        return self.head + data + self.tail

    def program(self, title: str, titles: Sequence[tuple[str, str]] = TITLES) -> str:
        """SHA-256 of all but the data and the title: by it a page is known, whichever version wrote it."""
        head = self.head
        for before, after in titles:
            head = head.replace(f"{before}{escape(title)}{after}", before + after, 1)
        return hashlib.sha256(f"{head}\0{self.tail}".encode()).hexdigest()


def taken_apart(text: str, opens: str = DATA_OPENS) -> tuple[Shell, str]:
    """The program of a page, of any version, and its data: what lies in the first element made for them."""
    before, opening, behind = text.partition(opens)
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
def read_static(name: str) -> str:
    """A file that the page is made of."""
    return (files("tapveil.published.explorer") / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
