"""Pieces of a page: what is text is escaped, what is markup was made here. No other way leads onto the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapveil.internal.svg import escape


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Piece = str | Html
SHORT, LONG = 6, 16
"""Headings of so many letters stay in one line, and of more than so many have two words in each."""


def element(name: str, *inside: Piece, **attributes: str) -> Html:
    """An element, its texts and attributes escaped. An underscore at the end of an attribute is for Python's sake.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    said = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{said}>{joined(*inside)}</{name}>")


def joined(*pieces: Piece) -> Html:
    """Pieces one after another."""
    return Html("".join(piece if isinstance(piece, Html) else escape(piece) for piece in pieces))


def from_data(words: str) -> Html:
    """A text from the trips or from a file's name: whatever way it is written, it does not turn what is beside it."""
    return element("bdi", words)


def coded(words: str) -> Html:
    """A text in which code is between backticks.

    >>> coded("Write `a < b`.")
    'Write <code>a &lt; b</code>.'
    """
    parts = words.split("`")
    return joined(*(element("code", part) if place % 2 else part for place, part in enumerate(parts)))


@dataclass(frozen=True)
class Column:
    """A heading, and whether below it are numbers."""

    heading: str
    number: bool = True


def table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Piece]]) -> Html:
    """A table that says what it is; the first cell of a row names it."""
    head = joined(*(element("th", each.heading, scope="col", class_=_heading_kind(each)) for each in columns))
    body = [
        element(
            "tr",
            *(
                element("th", cell, scope="row", class_=_kind(column))
                if place == 0
                else element("td", cell, class_=_kind(column))
                for place, (cell, column) in enumerate(zip(row, columns, strict=True))
            ),
        )
        for row in rows
    ]
    inside = joined(element("caption", caption), element("thead", element("tr", head)), element("tbody", *body))
    # A wide table scrolls by itself; tabindex lets a keyboard do it.
    return element("div", element("table", inside), class_="wide", tabindex="0", role="region", aria_label=caption)


def _kind(column: Column) -> str:
    return "number" if column.number else "words"


def _heading_kind(column: Column) -> str:
    """A short heading stays in one line; a long one does not become a column of single words."""
    letters = len(column.heading)
    return f"{_kind(column)}{' short' if letters <= SHORT else ' long' if letters > LONG else ''}"


def figure(svg: str, caption: str = "") -> Html:
    """A plot across the page, with its name above it. On a narrow screen it stays readable, and scrolls by itself."""
    name = caption or "Plot"
    return _figure(caption, element("div", Html(svg), class_="plot", tabindex="0", role="region", aria_label=name))


def panel(svg: str, caption: str) -> Html:
    """A plot that has others beside it, and as much room on a narrow screen as it needs."""
    return _figure(caption, Html(svg))


def _figure(caption: str, plot: Html) -> Html:
    named = [element("figcaption", caption)] if caption else []
    return element("figure", *named, plot)


def panels(figures: Sequence[Html]) -> Html:
    """Plots beside each other, as many as there is room for."""
    return element("div", *figures, class_="panels")
