"""`shapes/places.csv`: what public lists say of places, as far as the files of shapes write it.

Names, coordinates and other columns of a public list. It holds nothing of a trip, and is there so that files with such
columns can be made again from the folder alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tapveil.base.findings import Finding
from tapveil.base.vocabulary import EVERY_MODE, SHAPES
from tapveil.published.identifiers import text_findings

PATH = f"{SHAPES}/places.csv"
LARGEST = 32 * 2**20
LONGEST = 200
"""Letters of what is said of a place."""
TITLE, LATITUDE, LONGITUDE = "title", "latitude", "longitude"
FROM_THE_MAP = (TITLE, LATITUDE, LONGITUDE)
_PLACE = ("mode", "name")


@dataclass(frozen=True)
class PlaceFacts:
    """What is said of each place."""

    fields: tuple[str, ...]
    """What is said, in alphabetical order."""
    rows: Mapping[tuple[str, str], tuple[str, ...]]
    """By mode (or `*`) and name."""

    def of(self, mode: str, name: str, field: str) -> str:
        """One fact of a place; empty where nobody says it. A place without a title is called by its name."""
        found = self.rows.get((mode, name)) or self.rows.get((EVERY_MODE, name))
        said = found[self.fields.index(field)] if found and field in self.fields else ""
        return said or (name if field == TITLE else "")

    def of_every_mode(self) -> PlaceFacts:
        """The same, and what all modes of a place agree on: for files whose rows have no mode."""
        by_name: dict[str, list[tuple[str, ...]]] = {}
        for (_, name), facts in self.rows.items():
            by_name.setdefault(name, []).append(facts)
        agreed = {
            (EVERY_MODE, name): tuple(said[0] if len(set(said)) == 1 else "" for said in zip(*facts, strict=True))
            for name, facts in by_name.items()
        }
        return PlaceFacts(self.fields, agreed | dict(self.rows))

    def text(self) -> str:
        """The file: a row for each place, in alphabetical order."""
        written = io.StringIO(newline="")
        rows = ((*place, *facts) for place, facts in sorted(self.rows.items()))
        csv.writer(written, lineterminator="\n").writerows([(*_PLACE, *self.fields), *rows])
        return written.getvalue()

    def findings(self) -> Iterator[Finding]:
        """Whether what is said is short and holds nothing that identifies a person."""
        every = {text for place, facts in self.rows.items() for text in (*place, *facts)}
        if any(len(text) > LONGEST for text in every):
            yield Finding("too-large", PATH, f"has a text of more than {LONGEST} characters")
        if len(self.text().encode()) > LARGEST:
            yield Finding("too-large", PATH, f"is larger than {LARGEST >> 20} MB")
        yield from text_findings(PATH, every)


NONE = PlaceFacts((), {})


def read(text: str, fields: tuple[str, ...]) -> PlaceFacts:
    """The facts of a folder; ValueError where they are not these, or not written in the one way."""
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        facts = PlaceFacts(fields, {(mode, name): tuple(said) for mode, name, *said in rows})
    except csv.Error as error:
        raise ValueError("is not a list of places") from error
    whole = all(len(said) == len(fields) for said in facts.rows.values())
    if tuple(header) != (*_PLACE, *fields) or not whole or facts.text() != text:
        raise ValueError("is not written as a release writes it")
    return facts
