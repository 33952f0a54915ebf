"""A dossier in a small Markdown, with its figures and facts as marks: the one document that every format is made from.

What is computed or given by people never mixes with what is written here: a mark holds it, encoded, until the very
end. So a title cannot become markup, and every number of a dossier can be found by its name. `parsed` gives the
document to a format, block by block; Markdown for any reader is made here, line by line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from tapveil.base.svg import printable
from tapveil.published.describe.frequencies import Panel, dots


@dataclass(frozen=True)
class Figure:
    """A number as it is shown, and what it was rounded from."""

    text: str
    value: Fraction | float | int | str


class Source(str):
    """Text of this small Markdown, as against words that are only to be shown."""

    __slots__ = ()


_FIGURE, _FACT, _END = "\ue000", "\ue001", "\ue002"
_MARK = re.compile(f"([{_FIGURE}{_FACT}])([^{_END}]*){_END}")
_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of what follows: words of others must not rearrange ours."""
_HEADING = re.compile(r"(#{1,3}) (.*?)(?: \[#([\w-]+)\])?")
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(#([\w-]+)\)")


def figure_mark(key: str) -> Source:
    """Stands for a figure."""
    return Source(f"{_FIGURE}{key}{_END}")


def fact_mark(words: str) -> Source:
    """Stands for words that are only to be shown."""
    return Source(f"{_FACT}{_DIRECTION.sub('�', printable(words)).encode().hex()}{_END}")


def _fact(encoded: str) -> str:
    return bytes.fromhex(encoded).decode()


# --- blocks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heading:
    """Of a part, a section or a question."""

    level: int
    words: str
    identity: str
    """What links to it name; empty if none does."""


@dataclass(frozen=True)
class Pictures:
    """Those that are drawn by these names, next to each other."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Rows of cells below a head, which may be empty."""

    head: list[str]
    rows: list[list[str]]

    @property
    def is_wide(self) -> bool:
        """Whether it is set smaller, to fit a page."""
        return len(self.head) > 6


@dataclass(frozen=True)
class Items:
    """A list."""

    items: list[str]


@dataclass(frozen=True)
class Quote:
    """What stands out: a warning, or an answer; paragraphs."""

    paragraphs: list[str]


@dataclass(frozen=True)
class Paragraph:
    """Ordinary words."""

    words: str


Block = Heading | Pictures | Table | Items | Quote | Paragraph


def parsed(text: str) -> Iterator[Block]:
    """The document, block by block."""
    return (_block(lines) for lines in _blocks(text))


def _blocks(text: str) -> Iterator[list[str]]:
    """Lines that belong together."""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        alone = line.startswith(("#", "!"))
        if block and (not line.strip() or alone or _kind(line) != _kind(block[0])):
            yield block
            block = []
        if alone:
            yield [line]
        elif line.strip():
            block.append(line)


def _kind(line: str) -> str:
    return line[0] if line[0] in "|>" else "-" if line.startswith("- ") else ""


def _block(lines: list[str]) -> Block:
    first = lines[0]
    if found := _HEADING.fullmatch(first):
        return Heading(len(found[1]), found[2], found[3] or "")
    if first.startswith("!"):
        return Pictures(tuple(first[1:].split()))
    match _kind(first):
        case "|":
            head, _, *body = map(_cells, lines)
            return Table(head, body)
        case "-":
            return Items([line[2:] for line in lines])
        case ">":
            return Quote("\n".join(line[1:].strip() for line in lines).split("\n\n"))
    return Paragraph(" ".join(lines))


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]


# --- within a line ----------------------------------------------------------------------------------------------------


class Span(NamedTuple):
    """Words that look alike, or lead somewhere."""

    kind: Literal["plain", "code", "strong", "em", "link"]
    words: str
    target: str = ""


def spans(text: str) -> Iterator[Span]:
    """A line, taken apart."""
    end = 0
    for found in _INLINE.finditer(text):
        yield Span("plain", text[end : found.start()])
        end = found.end()
        code, bold, slanted, link, target = found.groups()
        if code:
            yield Span("code", code)
        elif link:
            yield Span("link", link, target)
        else:
            yield Span("strong", bold) if bold else Span("em", slanted)
    yield Span("plain", text[end:])


class Piece(NamedTuple):
    """Words of a span: written here, a fact, or a figure, which has its name."""

    words: str
    kind: Literal["words", "fact", "figure"] = "words"
    key: str = ""


def pieces(words: str, figures: Mapping[str, Figure]) -> Iterator[Piece]:
    """A span, with its marks as what they stand for."""
    end = 0
    for mark in _MARK.finditer(words):
        yield Piece(words[end : mark.start()])
        end = mark.end()
        fact = mark[1] == _FACT
        yield Piece(_fact(mark[2]), "fact") if fact else Piece(figures[mark[2]].text, "figure", mark[2])
    yield Piece(words[end:])


def plain(text: str, figures: Mapping[str, Figure]) -> str:
    """A line without any markup."""
    return "".join(piece.words for span in spans(text) for piece in pieces(span.words, figures))


# --- Markdown ---------------------------------------------------------------------------------------------------------


Drawn = Mapping[str, tuple[str, Sequence[Panel]]]
"""Pictures by their names: a title, and pairs of numbers."""


def to_markdown(text: str, figures: Mapping[str, Figure], pictures: Drawn) -> str:
    """For any reader of Markdown: pictures as text, no anchors, and everything that people wrote escaped."""
    written = (_lines(block, figures, pictures) for block in _blocks(text))
    return "\n\n".join("\n".join(lines) for lines in written) + "\n"


def _lines(block: list[str], figures: Mapping[str, Figure], pictures: Drawn) -> Iterator[str]:
    if block[0].startswith("!"):
        for name in block[0][1:].split():
            yield from _text_picture(*pictures[name])
        return
    for line in block:
        found = _HEADING.fullmatch(line)
        words = f"{found[1]} {found[2]}" if found else line
        words = re.sub(r"\[([^\]]+)\]\(#[\w-]+\)", r"\1", words)
        code = re.sub(r"`([^`]+)`", lambda span: _filled(span[0], figures, lambda fact: fact.replace("`", "'")), words)
        yield _filled(code, figures, _escaped)


def _text_picture(title: str, panels: Sequence[Panel]) -> Iterator[str]:
    """Squares of dots as a block of code, each pair below its heading."""
    yield from ("```text", title)
    for panel in panels:
        yield from ("", f"{panel.heading} ({' and '.join(panel.numbers)} of 100)", *dots(panel.numbers))
    yield from ("```", "")


def _filled(text: str, figures: Mapping[str, Figure], shown: Callable[[str], str]) -> str:
    return "".join(shown(each.words) if each.kind == "fact" else each.words for each in pieces(text, figures))


def _escaped(words: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", re.sub(r"\s+", " ", words))
