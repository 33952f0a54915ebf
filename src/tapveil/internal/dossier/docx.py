"""A dossier for word processors (ECMA-376, "docx"): real headings, tables, pictures and page numbers, no macro.

A file of it is a zip archive of XML, written here by hand: a dozen elements are enough, and no library is needed.
Elements stand in the order of the standard's schema, which Word insists on.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.resources import files
from itertools import zip_longest
from xml.sax.saxutils import escape, quoteattr

from tapveil.internal.dossier.dots import Colour, dots_png
from tapveil.internal.dossier.markup import (
    Block,
    Figure,
    Heading,
    Items,
    Paragraph,
    Pictures,
    Quote,
    Span,
    Table,
    parsed,
    pieces,
    plain,
    spans,
)
from tapveil.published.describe.frequencies import Panel

ROOM = 10_092
"""Twentieths of a point between the margins of an A4 page."""
MARGIN, LETTER = 170, 100
"""Of a cell, and of a letter in it: about."""
NEW_PAGES = ("promise", "nist", "law", "questions")
"""Parts that begin on a page of their own, as in print from a browser."""
PICTURE = 610_000
"""How wide a square of dots is, in units of 1/360,000 cm."""
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_STYLES = {"code": "Code", "strong": "Strong", "em": "Emphasis", "link": "Hyperlink"}


def to_docx(
    text: str,
    title: str,
    on: date,
    figures: Mapping[str, Figure],
    pictures: Mapping[str, tuple[str, Sequence[Panel]]],
    classes: Mapping[str, str],
) -> bytes:
    """The whole file. `classes` are the styles of cells with just these words."""
    body = _Body(figures, pictures, classes)
    written = "\n".join(body.blocks(text))
    links = [("styles", "styles.xml"), ("numbering", "numbering.xml"), ("footer", "footer.xml")]
    links += [("image", f"media/dots{number}.png") for number in range(1, len(body.images) + 1)]
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _content_types(),
        "_rels/.rels": _links([("officeDocument", "word/document.xml")], core="docProps/core.xml"),
        "docProps/core.xml": _core(title, on),
        "word/document.xml": _document(written),
        "word/_rels/document.xml.rels": _links(links),
        "word/styles.xml": (files(__package__) / "word_styles.xml").read_text(encoding="utf-8"),
        "word/numbering.xml": _BULLETS,
        "word/footer.xml": _footer(title),
    }
    parts |= {f"word/media/dots{number}.png": image for number, image in enumerate(body.images, 1)}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return made.getvalue()


# --- the body ---------------------------------------------------------------------------------------------------------


@dataclass
class _Body:
    figures: Mapping[str, Figure]
    pictures: Mapping[str, tuple[str, Sequence[Panel]]]
    classes: Mapping[str, str]
    images: list[bytes] = field(default_factory=list)
    headings: int = 0

    def blocks(self, text: str) -> Iterator[str]:
        every = list(parsed(text))
        for block, following in zip_longest(every, every[1:]):
            yield from self._block(block, following)

    def _block(self, block: Block, following: Block | None) -> Iterator[str]:
        match block:
            case Heading():
                yield self._heading(block)
            case Pictures(names):
                yield self._drawn([self.pictures[name] for name in names])
            case Table():
                yield self._table(block)
            case Items(items):
                yield from (_paragraph(self._runs(each), "ListBullet") for each in items)
            case Quote(paragraphs):
                yield from (_paragraph(self._runs(each), "Quote") for each in paragraphs)
            case Paragraph(words):
                yield _paragraph(
                    self._runs(words), more="<w:keepNext/>" if isinstance(following, Table | Pictures) else ""
                )

    def _heading(self, heading: Heading) -> str:
        self.headings += 1
        if self.headings == 1:
            return _paragraph(self._runs(heading.words), "Title")
        runs = self._runs(heading.words)
        if heading.identity:
            name = _bookmark(heading.identity)
            start = f'<w:bookmarkStart w:id="{self.headings}" w:name="{name}"/>'
            runs = f'{start}{runs}<w:bookmarkEnd w:id="{self.headings}"/>'
        more = '<w:pageBreakBefore/><w:spacing w:before="0"/>' if heading.identity in NEW_PAGES else ""
        return _paragraph(runs, f"Heading{heading.level}", more)

    # --- tables ---

    def _table(self, table: Table) -> str:
        style = "CellSmall" if table.is_wide else "Cell"
        headed = any(table.head)
        rows = [self._row(table.head, "CellHead", "<w:cantSplit/><w:tblHeader/>")] if headed else []
        for row in table.rows:
            tall = "" if any(row) else '<w:trHeight w:val="700" w:hRule="atLeast"/>'  # to be filled in by hand
            rows.append(self._row(row, style, f"<w:cantSplit/>{tall}"))
        return _table(_widths(table, self.figures), rows, "Dossier", headed=headed)

    def _row(self, row: Sequence[str], style: str, properties: str) -> str:
        cells = "".join(f"<w:tc>{_paragraph(self._cell(cell), style)}</w:tc>" for cell in row)
        return f"<w:tr><w:trPr>{properties}</w:trPr>{cells}</w:tr>"

    def _cell(self, cell: str) -> str:
        kind = self.classes.get(plain(cell, self.figures))
        return _run(plain(cell, self.figures), kind) if kind else self._runs(cell)

    # --- words ---

    def _runs(self, text: str) -> str:
        return "".join(map(self._span, spans(text)))

    def _span(self, span: Span) -> str:
        style = _STYLES.get(span.kind, "")
        runs = "".join(
            _run(each.words.replace(" ", "\u00a0"), style or "Figure")  # a number and its unit stay on one line
            if each.kind == "figure"
            else _run(each.words, style)
            for each in pieces(span.words, self.figures)
            if each.words
        )
        return f'<w:hyperlink w:anchor="{_bookmark(span.target)}">{runs}</w:hyperlink>' if span.target else runs

    # --- pictures ---

    def _drawn(self, pictures: Sequence[tuple[str, Sequence[Panel]]]) -> str:
        """A table of squares of dots, all in one row: titles above, their numbers and what they are about below."""
        panels = [panel for _, each in pictures for panel in each]
        shown = [(panel.heading, number, panel) for panel in panels for number in panel.numbers]
        abouts = [about for panel in panels for about in panel.about]
        squares = [
            self._image(number, panel.colour, f"{heading}. {about}: {number} of 100.")
            for (heading, number, panel), about in zip(shown, abouts, strict=True)
        ]
        rows = [
            _plain_row([_run(title, "Strong") for title, _ in pictures], "Cell"),
            _plain_row([_run(panel.heading) for panel in panels], "CellHead"),
            _plain_row(squares, "Cell"),
            _plain_row([_run(number) for _, number, _ in shown], "CellNumber"),
            _plain_row([_run(each) for each in abouts], "CellSmall"),
        ]
        return _table([ROOM // len(shown)] * len(shown), rows)

    def _image(self, number: str, colour: str, said: str) -> str:
        self.images.append(dots_png(number, _rgb(colour), (0xDD, 0xDD, 0xDD)))
        identity = len(self.images)
        size = f'cx="{PICTURE}" cy="{PICTURE}"'
        named = f'id="{identity}" name="dots{identity}.png" descr={quoteattr(said)}'
        return (
            f'<w:r><w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0"><wp:extent {size}/>'
            f'<wp:docPr {named}/><a:graphic><a:graphicData uri="{_DRAWING}/picture"><pic:pic><pic:nvPicPr>'
            f'<pic:cNvPr {named}/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:embed="rId{3 + identity}"/>'
            f'<a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/>'
            f'<a:ext {size}/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr></pic:pic>'
            "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
        )


def _bookmark(identity: str) -> str:
    """A name that Word accepts: letters, digits and underscores."""
    return identity.replace("-", "_")


def _paragraph(runs: str, style: str = "", more: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    properties = f"<w:pPr>{named}{more}</w:pPr>" if named or more else ""
    return f"<w:p>{properties}{runs}</w:p>"


def _run(words: str, style: str | None = "") -> str:
    properties = f'<w:rPr><w:rStyle w:val="{style}"/></w:rPr>' if style else ""
    lines = re.split("\r\n|\r|\n", words)
    text = "<w:br/>".join(f'<w:t xml:space="preserve">{escape(line)}</w:t>' for line in lines)
    return f"<w:r>{properties}{text}</w:r>"


def _table(widths: Sequence[int], rows: Sequence[str], style: str = "TableNormal", *, headed: bool = False) -> str:
    """Followed by a small paragraph: without it, two tables in a row become one."""
    grid = "".join(f'<w:gridCol w:w="{width}"/>' for width in widths)
    look = f'<w:tblLook w:val="{"0020" if headed else "0000"}" w:firstRow="{int(headed)}"/>'
    properties = f'<w:tblStyle w:val="{style}"/><w:tblW w:w="{sum(widths)}" w:type="dxa"/>'
    filled = "".join(_with_widths(row, widths) for row in rows)
    after = '<w:p><w:pPr><w:spacing w:before="0" w:after="0" w:line="120" w:lineRule="exact"/></w:pPr></w:p>'
    fixed = '<w:tblLayout w:type="fixed"/>'
    return f"<w:tbl><w:tblPr>{properties}{fixed}{look}</w:tblPr><w:tblGrid>{grid}</w:tblGrid>{filled}</w:tbl>{after}"


def _with_widths(row: str, widths: Sequence[int]) -> str:
    """Cells of one width each; in a row of fewer cells, each is as wide as several columns."""
    start, *cells = row.split("<w:tc>")
    wide = len(widths) // len(cells)
    own = [sum(widths[place : place + wide]) for place in range(0, len(widths), wide)]
    spans = f'<w:gridSpan w:val="{wide}"/>' if wide > 1 else ""
    sized = (f'<w:tc><w:tcPr><w:tcW w:w="{width}" w:type="dxa"/>{spans}</w:tcPr>' for width in own)
    return start + "".join(size + cell for size, cell in zip(sized, cells, strict=True))


def _plain_row(cells: Sequence[str], style: str) -> str:
    inside = "".join(f"<w:tc>{_paragraph(cell, style, '<w:keepNext/>')}</w:tc>" for cell in cells)
    return f"<w:tr><w:trPr><w:cantSplit/></w:trPr>{inside}</w:tr>"


def _widths(table: Table, figures: Mapping[str, Figure]) -> list[int]:
    """Of each column: room for its longest word, and a share of the rest by how much is in it; together the page."""
    columns = list(zip(*([plain(cell, figures) for cell in row] for row in (table.head, *table.rows)), strict=True))
    least = [MARGIN + LETTER * max(_longest_word(column), 3) for column in columns]
    wanted = [min(max(map(len, column)), 60) + 1 for column in columns]
    rest = max(ROOM - sum(least), 0)
    widths = [low + rest * want // sum(wanted) for low, want in zip(least, wanted, strict=True)]
    return [width * ROOM // sum(widths) for width in widths]


def _longest_word(column: Sequence[str]) -> int:
    """Its letters; the names of files and tests are broken where they must be."""
    return max((min(len(word), 14) for cell in column for word in cell.split()), default=8)


def _rgb(colour: str) -> Colour:
    """From `#rrggbb`."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


# --- the other parts of the archive -----------------------------------------------------------------------------------


def _document(body: str) -> str:
    names = {"w": _MAIN, "r": _OFFICE, "a": f"{_DRAWING}/main", "pic": f"{_DRAWING}/picture"}
    names["wp"] = f"{_DRAWING}/wordprocessingDrawing"
    spaces = " ".join(f'xmlns:{name}="{space}"' for name, space in names.items())
    page = (
        '<w:sectPr><w:footerReference w:type="default" r:id="rId3"/><w:pgSz w:w="11906" w:h="16838"/>'
        '<w:pgMar w:top="794" w:right="907" w:bottom="907" w:left="907" w:header="397" w:footer="397" w:gutter="0"/>'
        "</w:sectPr>"
    )
    return f"{_HEAD}<w:document {spaces}><w:body>\n{body}\n{page}</w:body></w:document>"


def _footer(title: str) -> str:
    def number(which: str) -> str:
        return f'<w:fldSimple w:instr="{which}"><w:r><w:t>1</w:t></w:r></w:fldSimple>'

    shown = title if len(title) <= 90 else title[:89] + "…"
    runs = f"{_run(shown)}<w:r><w:tab/></w:r>{_run('Page ')}{number('PAGE')}{_run(' of ')}{number('NUMPAGES')}"
    return f'{_HEAD}<w:ftr xmlns:w="{_MAIN}">{_paragraph(runs, "Footer")}</w:ftr>'


def _core(title: str, on: date) -> str:
    moment = f'<dcterms:{{}} xsi:type="dcterms:W3CDTF">{on.isoformat()}T00:00:00Z</dcterms:{{}}>'
    return (
        f'{_HEAD}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<dc:title>{escape(title)}</dc:title><dc:creator>tapveil</dc:creator><dc:language>en-GB</dc:language>"
        f"{moment.format('created', 'created')}{moment.format('modified', 'modified')}</cp:coreProperties>"
    )


def _content_types() -> str:
    named = {"document": "document.main", "styles": "styles", "numbering": "numbering", "footer": "footer"}
    parts = "".join(
        f'<Override PartName="/word/{name}.xml" ContentType="{_TYPES}.{kind}+xml"/>' for name, kind in named.items()
    )
    core = "application/vnd.openxmlformats-package.core-properties+xml"
    return (
        f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/>'
        f'{parts}<Override PartName="/docProps/core.xml" ContentType="{core}"/></Types>'
    )


def _links(targets: Sequence[tuple[str, str]], core: str = "") -> str:
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    if core:
        kind = f"{_PACKAGE}/relationships/metadata/core-properties"
        links += f'<Relationship Id="core" Type="{kind}" Target="{core}"/>'
    return f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'


_BULLETS = (
    f'{_HEAD}<w:numbering xmlns:w="{_MAIN}"><w:abstractNum w:abstractNumId="0"><w:multiLevelType '
    'w:val="singleLevel"/><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/>'
    '<w:lvlJc w:val="left"/><w:pPr><w:ind w:left="284" w:hanging="284"/></w:pPr></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
)
