"""`series.html`: all weeks on one page, which asks nobody for anything.

The days of many places are in files next to it, as they are for the page of a folder: each is a script that hands over
its data, and is read when one of its places is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from tapveil.published.explorer.page import Held, Shell, packed, part, read_static
from tapveil.published.series import lines, lines_1
from tapveil.published.series.reading import Series
from tapveil.published.series.written import VERSION

MOST_IN_PAGE = 250_000
"""Numbers of places in the page itself, and in each file, where there are more. Another number is another version."""
NUMBERS_OF_A_LINE = ("count", "below", "above", "noise", "missing")
PAGE = "series.html"
DATA_OPENS = '<script id="data" type="application/octet-stream">'
"""Where a page of any version has its data."""
TITLES = (("<title>", ": all weeks</title>"),)


def page_files(series: Series, contents: Mapping[str, Any]) -> dict[str, str]:
    """The page, and the files next to it if places and days are many, by their paths."""
    held = data(series, contents, VERSION)
    texts = {PAGE: shell(str(contents["title"]), has_parts=bool(held.parts)).text(packed(held.data))}
    return texts | {path_of(number): part(number, each) for number, each in enumerate(held.parts, 1)}


def shell(title: str, *, has_parts: bool) -> Shell:
    """The page but for its data; its statistics are those of the page of a folder."""
    script = f"{_read('series.js')}\n{read_static('variation.js')}"
    return Shell.around(_read("series.html"), _read("series.css"), script, title, has_parts=has_parts)


def data(series: Series, contents: Mapping[str, Any], version: int) -> Held:
    """What the page of a series and the files next to it hold, by the version of the series."""
    made = (lines_1 if version == 1 else lines).data(series, contents)
    parts = _apart([line for line in made["lines"] if line["kind"] == "place"], len(made["days"]))
    return Held(_json(made), [_json(each) for each in parts])


def path_of(number: int) -> str:
    """Where a file next to the page is; no table has a name with a dot."""
    return f"series.files/part-{number:04}.js"


def _apart(lines: Sequence[dict[str, Any]], days: int) -> list[list[dict[str, Any]]]:
    """The numbers of lines that are too many for the page, file by file; each line keeps where they are."""
    room = max(1, MOST_IN_PAGE // max(1, days))
    if len(lines) <= room:
        return []
    files = [lines[start : start + room] for start in range(0, len(lines), room)]
    found = []
    for number, some in enumerate(files, 1):
        found.append([{name: line.pop(name) for name in NUMBERS_OF_A_LINE if name in line} for line in some])
        for place, line in enumerate(some):
            line |= {"file": number, "at": place}
    return found


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


@cache
def _read(name: str) -> str:
    return files("tapveil.published.series").joinpath("static", name).read_text(encoding="utf-8")
