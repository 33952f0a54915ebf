"""A dossier for word processors says what the page says, in real headings and tables, and is one that programs open."""

from __future__ import annotations

import io
import re
import zipfile
from functools import cache
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tapveil.internal.dossier.document import Dossier
from tapveil.internal.dossier.docx import ROOM
from tapveil.internal.dossier.questions import Answer, Kept
from tests.support.commands import run
from tests.support.office import printed
from tests.unit.internal.dossier.test_document import HOSTILE, case_of
from tests.unit.internal.dossier.test_figures import golden, shown

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def parsed(xml: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(xml)  # noqa: S314  of our own making


@cache
def unpacked(name: str) -> dict[str, bytes]:
    return files_of(golden(name))


def files_of(dossier: Dossier) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(dossier.docx)) as archive:
        assert archive.testzip() is None
        return {each: archive.read(each) for each in archive.namelist()}


def body_of(files: dict[str, bytes]) -> ElementTree.Element:
    return parsed(files["word/document.xml"])


def text_of(element: ElementTree.Element) -> str:
    """A number and its unit are kept on one line, which is no other text."""
    return "".join(each.text or "" for each in element.iter(f"{W}t")).replace("\u00a0", " ")


def styled(body: ElementTree.Element, style: str) -> list[str]:
    paragraphs = [each for each in body.iter(f"{W}p") if each.find(f"{W}pPr/{W}pStyle[@{W}val='{style}']") is not None]
    return [text_of(each) for each in paragraphs]


def words(html: str) -> str:
    """All words of a page, without its pictures."""
    body = re.sub(r"<(svg|style|title)\b.*?</\1>", " ", html.partition("<body>")[2], flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", "", re.sub(r"</(p|h\d|li|td|th)>", " ", body)))


@pytest.mark.parametrize("name", ["3/paper", "3e/world-of-noise"])
def test_it_says_what_the_page_says_in_the_same_order(name: str) -> None:
    body = body_of(unpacked(name))
    drawn = [table for table in body.iter(f"{W}tbl") if table.find(f".//{W}drawing") is not None]
    beside = {id(each) for table in drawn for each in table.iter(f"{W}p")}
    titles = [title for title, _ in golden(name).pictures.values()]
    texts = [text_of(each) for each in body.iter(f"{W}p") if id(each) not in beside]
    (pictures,) = drawn
    assert [text_of(each) for each in pictures.findall(f"{W}tr[1]/{W}tc")] == titles
    said = [word for text in texts for word in text.split()]
    assert said == words(golden(name).html).split()


def test_every_figure_of_the_page_is_there_and_stands_out() -> None:
    body = body_of(unpacked("3/cards"))
    runs = {text_of(run) for run in body.iter(f"{W}r") if run.find(f"{W}rPr/{W}rStyle") is not None}
    for key, (text,) in shown(golden("3/cards")).figures.items():
        assert text in runs, key


def test_headings_are_headings_and_the_questions_and_signatures_are_there() -> None:
    dossier, body = golden("3/paper"), body_of(unpacked("3/paper"))
    assert styled(body, "Title") == [dossier.case.manifest.title]
    assert [each[:2] for each in styled(body, "Heading1")] == [f"{number}." for number in range(1, 8)]
    assert styled(body, "Quote").count("Open.") == len(dossier.asked)
    heights = body.findall(f".//{W}trHeight")
    assert len(heights) == 2, "two rows to sign in"
    styles = parsed(unpacked("3/paper")["word/styles.xml"])
    defined = {each.get(f"{W}styleId") for each in styles.iter(f"{W}style")}
    named = {each.get(f"{W}val") for tag in ("pStyle", "rStyle", "tblStyle") for each in body.iter(f"{W}{tag}")}
    assert named <= defined


def test_pages_are_numbered_pictures_said_and_all_parts_named() -> None:
    files = unpacked("3/paper")
    assert re.findall(rb'w:instr="(\w+)"', files["word/footer.xml"]) == [b"PAGE", b"NUMPAGES"]
    links = {each.get("Id"): each.get("Target") for each in parsed(files["word/_rels/document.xml.rels"])}
    body = body_of(files)
    used = {value for each in body.iter() for key, value in each.attrib.items() if key.startswith(LINK)}
    assert used <= set(links)
    assert all(f"word/{target}" in files for target in links.values())
    pictures = [name for name in files if name.endswith(".png")]
    said = re.findall(rb'<wp:docPr [^>]*descr="([^"]+)"', files["word/document.xml"])
    assert len(pictures) == len(said) == 8
    assert all(files[name].startswith(b"\x89PNG") for name in pictures)
    assert b"99.97 of 100" in b"".join(said)
    kinds = files["[Content_Types].xml"].decode()
    for name in files:
        assert f'PartName="/{name}"' in kinds or f'Extension="{name.rpartition(".")[2]}"' in kinds
    assert not [name for name in files if "vba" in name.lower()]


def test_every_link_leads_to_a_place_in_it() -> None:
    body = body_of(unpacked("3/paper"))
    there = {each.get(f"{W}name") for each in body.iter(f"{W}bookmarkStart")}
    linked = {each.get(f"{W}anchor") for each in body.iter(f"{W}hyperlink")}
    assert linked
    assert linked <= there
    assert all(re.fullmatch(r"[a-z]\w{0,39}", str(each)) for each in there)


def columns_of(row: ElementTree.Element) -> int:
    """A cell may be as wide as several."""
    spans = [cell.find(f"{W}tcPr/{W}gridSpan") for cell in row.findall(f"{W}tc")]
    return sum(1 if span is None else int(span.get(f"{W}val", "")) for span in spans)


def test_what_stands_before_a_table_is_on_its_page() -> None:
    """A heading, a paragraph, or the table that it goes on from."""
    body = body_of(unpacked("3/paper")).find(f"{W}body")
    assert body is not None
    before = [each for each, after in zip(body, list(body)[1:], strict=False) if after.tag == f"{W}tbl"]
    introduced = [each for each in before if text_of(each)]
    assert len(introduced) > 8
    heads = {f"Heading{level}" for level in (1, 2, 3)}
    for each in introduced:
        style = each.find(f"{W}pPr/{W}pStyle")
        kept = each.find(f"{W}pPr/{W}keepNext") is not None or (style is not None and style.get(f"{W}val") in heads)
        assert kept, text_of(each)


def test_tables_fit_the_page_and_repeat_their_heads() -> None:
    body = body_of(unpacked("3/paper"))
    tables = list(body.iter(f"{W}tbl"))
    for table in tables:
        widths = [int(each.get(f"{W}w", "")) for each in table.findall(f"{W}tblGrid/{W}gridCol")]
        assert 0.99 * ROOM < sum(widths) <= ROOM
        assert min(widths) > 0.03 * ROOM
        assert all(columns_of(row) == len(widths) for row in table.findall(f"{W}tr"))
    assert len(body.findall(f".//{W}tblHeader")) >= 8


def test_titles_and_answers_are_never_markup_and_lines_stay_lines() -> None:
    said = Answer(f"First.\nSecond {HOSTILE}", "A. <b>", "2026")
    dossier = Dossier(case_of("3/paper", title=HOSTILE), Kept({"harms": said}))
    files = files_of(dossier)
    body = body_of(files)
    assert styled(body, "Title")[0].startswith("</title><script>")
    (answer,) = (each for each in body.iter(f"{W}p") if text_of(each).startswith("First."))
    assert len(answer.findall(f".//{W}br")) == 1
    parsed(files["word/footer.xml"])
    parsed(files["docProps/core.xml"])


def test_the_command_writes_one_by_its_ending(tmp_path: Path) -> None:
    folder = Path(__file__).parents[3] / "golden" / "3" / "paper"
    made = run("dossier", folder, "-o", "one.docx", "--answers", "answers.toml", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert zipfile.is_zipfile(tmp_path / "one.docx")
    assert (tmp_path / "one.docx").stat().st_mode & 0o077 == 0


def test_libreoffice_opens_and_prints_it(tmp_path: Path) -> None:
    (tmp_path / "one.docx").write_bytes(golden("3/cards").docx)
    assert printed(tmp_path / "one.docx").startswith(b"%PDF")
