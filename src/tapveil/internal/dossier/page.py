"""A dossier as a page: HTML that has no script and loads nothing, which a browser shows and prints."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files

from tapveil.internal.dossier.markup import (
    Block,
    Figure,
    Heading,
    Items,
    Paragraph,
    Pictures,
    Piece,
    Quote,
    Span,
    Table,
    parsed,
    pieces,
    plain,
    spans,
)

SHORT = 9
"""Rows of a table that stay on one printed page."""


def to_html(
    text: str, title: str, figures: Mapping[str, Figure], pictures: Mapping[str, str], classes: Mapping[str, str]
) -> str:
    """The whole page: a section for each part. `classes` are of cells with just these words."""
    style = (files(__package__) / "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body = "\n".join(_Body(figures, pictures, classes).sections(text))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style></head>\n<body><main>\n"
        f"{body}\n</main></body></html>\n"
    )


class _Body:
    def __init__(self, figures: Mapping[str, Figure], pictures: Mapping[str, str], classes: Mapping[str, str]) -> None:
        self._figures, self._pictures, self._classes = figures, pictures, classes
        self._heading, self._tables = "", 0

    def sections(self, text: str) -> Iterator[str]:
        opened = False
        for block in parsed(text):
            if isinstance(block, Heading) and block.level == 1:
                yield "</section>" if opened else ""
                yield "<section>"
                opened = True
            yield self._block(block)
        yield "</section>"

    def _block(self, block: Block) -> str:
        match block:
            case Heading(level, words, identity):
                self._heading = plain(words, self._figures)
                named = f' id="{identity}"' if identity else ""
                return f"<h{level}{named}>{self._inline(words)}</h{level}>"
            case Pictures(names):
                return f"<figure>{''.join(self._pictures[name] for name in names)}</figure>"
            case Table():
                return self._table(block)
            case Items(items):
                return f"<ul>{''.join(f'<li>{self._inline(each)}</li>' for each in items)}</ul>"
            case Quote(paragraphs):
                inside = "".join(f"<p>{self._inline(each)}</p>" for each in paragraphs)
                return f"<blockquote>{inside}</blockquote>"
            case Paragraph(words):
                return f"<p>{self._inline(words)}</p>"

    def _table(self, table: Table) -> str:
        self._tables += 1
        label = escape(f"Table {self._tables}: {self._heading}", quote=True)
        top = "".join(f'<th scope="col">{self._inline(cell)}</th>' for cell in table.head)
        lines = "".join(f"<tr>{''.join(self._row(row))}</tr>" for row in table.rows)
        head_row = f"<thead><tr>{top}</tr></thead>" if any(table.head) else ""
        many = " many" if table.is_wide else ""
        short = " short" if len(table.rows) <= SHORT else ""
        return (
            f'<div class="wide{short}" tabindex="0" role="region" aria-label="{label}">'
            f'<table class="columns-{len(table.head)}{many}">{head_row}<tbody>{lines}</tbody></table></div>'
        )

    def _row(self, row: list[str]) -> Iterator[str]:
        first, *others = row
        yield f'<th scope="row">{self._inline(first)}</th>' if first else "<td></td>"
        for cell in others:
            kind = self._classes.get(plain(cell, self._figures), "")
            yield f'<td class="{kind}">{self._inline(cell)}</td>' if kind else f"<td>{self._inline(cell)}</td>"

    def _inline(self, text: str) -> str:
        return "".join(map(self._span, spans(text)))

    def _span(self, span: Span) -> str:
        inside = "".join(map(self._piece, pieces(span.words, self._figures)))
        match span.kind:
            case "plain":
                return inside
            case "link":
                return f'<a href="#{span.target}">{inside}</a>'
        return f"<{span.kind}>{inside}</{span.kind}>"

    def _piece(self, piece: Piece) -> str:
        words = escape(piece.words, quote=False)
        match piece.kind:
            case "fact":
                return f"<bdi>{words}</bdi>"
            case "figure":
                value = escape(str(self._figures[piece.key].value), quote=True)
                return f'<data data-figure="{escape(piece.key, quote=True)}" value="{value}">{words}</data>'
        return words
