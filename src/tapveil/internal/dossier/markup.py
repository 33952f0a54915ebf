"""A dossier in a small Markdown, with its figures and facts as marks: made into HTML, or into Markdown for anyone.

What is computed or given by people never mixes with what is written here: a mark holds it, encoded, until the very
end. So a title cannot become markup, and every number of a dossier can be found by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape

from tapveil.internal.dossier.figures import Figure
from tapveil.internal.svg import printable


class Source(str):
    """Text of this small Markdown, as against words that are only to be shown."""

    __slots__ = ()


_FIGURE, _FACT, _END = "\ue000", "\ue001", "\ue002"
_MARK = re.compile(f"([{_FIGURE}{_FACT}])([^{_END}]*){_END}")
_HEADING = re.compile(r"(#{1,3}) (.*?)(?: \[#([\w-]+)\])?")
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(#([\w-]+)\)")


def figure_mark(key: str) -> Source:
    """Stands for a figure."""
    return Source(f"{_FIGURE}{key}{_END}")


def fact_mark(words: str) -> Source:
    """Stands for words that are only to be shown."""
    return Source(f"{_FACT}{printable(words).encode().hex()}{_END}")


def _fact(encoded: str) -> str:
    return bytes.fromhex(encoded).decode()


def blocks(text: str) -> Iterator[list[str]]:
    """Paragraphs, lists, tables, quotations and headings: lines that belong together."""
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


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]


# --- HTML -------------------------------------------------------------------------------------------------------------


def to_html(text: str, figures: Mapping[str, Figure], pictures: Mapping[str, str], classes: Mapping[str, str]) -> str:
    """The body of a page: a section for each part. `classes` are of cells with just these words."""
    return "\n".join(_Html(figures, pictures, classes).sections(text))


class _Html:
    def __init__(self, figures: Mapping[str, Figure], pictures: Mapping[str, str], classes: Mapping[str, str]) -> None:
        self._figures, self._pictures, self._classes = figures, pictures, classes
        self._heading, self._tables = "", 0

    def sections(self, text: str) -> Iterator[str]:
        opened = False
        for block in blocks(text):
            if block[0].startswith("# "):
                yield "</section>" if opened else ""
                yield "<section>"
                opened = True
            yield self._block(block)
        yield "</section>"

    def _block(self, block: list[str]) -> str:
        first = block[0]
        if found := _HEADING.fullmatch(first):
            level, words, identity = len(found[1]), found[2], found[3]
            self._heading = _plain(words, self._figures)
            named = f' id="{identity}"' if identity else ""
            return f"<h{level}{named}>{self.inline(words)}</h{level}>"
        if first.startswith("!"):
            return f"<figure>{self._pictures[first[1:]]}</figure>"
        match _kind(first):
            case "|":
                return self._table([_cells(row) for row in block])
            case "-":
                items = "".join(f"<li>{self.inline(line[2:])}</li>" for line in block)
                return f"<ul>{items}</ul>"
            case ">":
                inside = "\n".join(line[1:].strip() for line in block).split("\n\n")
                return f"<blockquote>{''.join(f'<p>{self.inline(each)}</p>' for each in inside)}</blockquote>"
        return f"<p>{self.inline(' '.join(block))}</p>"

    def _table(self, rows: list[list[str]]) -> str:
        head, _, *body = rows
        self._tables += 1
        label = escape(f"Table {self._tables}: {self._heading}", quote=True)
        top = "".join(f'<th scope="col">{self.inline(cell)}</th>' for cell in head)
        lines = "".join(f"<tr>{''.join(self._row(row))}</tr>" for row in body)
        head_row = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
        many = " many" if len(head) > 6 else ""
        return (
            f'<div class="wide" tabindex="0" role="region" aria-label="{label}">'
            f'<table class="columns-{len(head)}{many}">{head_row}<tbody>{lines}</tbody></table></div>'
        )

    def _row(self, row: list[str]) -> Iterator[str]:
        first, *others = row
        yield f'<th scope="row">{self.inline(first)}</th>' if first else "<td></td>"
        for cell in others:
            kind = self._classes.get(_plain(cell, self._figures), "")
            yield f'<td class="{kind}">{self.inline(cell)}</td>' if kind else f"<td>{self.inline(cell)}</td>"

    def inline(self, text: str) -> str:
        made = _INLINE.sub(_tagged, escape(text, quote=False))
        return _MARK.sub(self._shown, made)

    def _shown(self, mark: re.Match[str]) -> str:
        if mark[1] == _FACT:
            return f"<bdi>{escape(_fact(mark[2]))}</bdi>"
        figure = self._figures[mark[2]]
        value = escape(str(figure.value), quote=True)
        return f'<data data-figure="{escape(mark[2], quote=True)}" value="{value}">{escape(figure.text)}</data>'


def _tagged(found: re.Match[str]) -> str:
    code, bold, slanted, link, target = found.groups()
    if code:
        return f"<code>{code}</code>"
    if link:
        return f'<a href="#{target}">{link}</a>'
    return f"<strong>{bold}</strong>" if bold else f"<em>{slanted}</em>"


def _plain(text: str, figures: Mapping[str, Figure]) -> str:
    """Without any markup."""
    words = _INLINE.sub(lambda found: next(filter(None, found.groups())), text)
    return _filled(words, figures, lambda fact: fact)


def _filled(text: str, figures: Mapping[str, Figure], shown: Callable[[str], str]) -> str:
    return _MARK.sub(lambda mark: shown(_fact(mark[2])) if mark[1] == _FACT else figures[mark[2]].text, text)


# --- Markdown ---------------------------------------------------------------------------------------------------------


def to_markdown(text: str, figures: Mapping[str, Figure]) -> str:
    """For any reader of Markdown: without pictures and anchors, with everything that people wrote escaped."""
    return "\n\n".join("\n".join(_lines(block, figures)) for block in _written(blocks(text))) + "\n"


def _written(every: Iterable[list[str]]) -> Iterator[list[str]]:
    return (block for block in every if not block[0].startswith("!"))


def _lines(block: list[str], figures: Mapping[str, Figure]) -> Iterator[str]:
    for line in block:
        found = _HEADING.fullmatch(line)
        words = f"{found[1]} {found[2]}" if found else line
        words = re.sub(r"\[([^\]]+)\]\(#[\w-]+\)", r"\1", words)
        code = re.sub(r"`([^`]+)`", lambda span: _filled(span[0], figures, lambda fact: fact.replace("`", "'")), words)
        yield _filled(code, figures, _escaped)


def _escaped(words: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", re.sub(r"\s+", " ", words))
