"""Lines of Markdown that break at sentences, so that a changed sentence is one changed line of a diff.

`python -m tools.sentences` names the pages whose lines break elsewhere; `--write` breaks them anew. Paragraphs and list
items have one sentence per line. Everything else stays as it is: headings, tables, code, comments, and what a program
writes (pages that begin with "<!-- Written by", sections between "measured" marks, docs/reference). A line may also end
in a colon, before what it announces, or in " ·", within a list of links.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGES = "## Unreleased\n"
"""The section of CHANGELOG.md that is still being written."""

_ITEM = re.compile(r"( *)([-*]|\d+\.) +(?=\S)")
_LEFT_ALONE = re.compile(r" *(\||#|>|<|!\[|-{3,}$| {4})")
_MEASURED = re.compile(r"<!-- measured(: begin)? -->")
_MEASURED_END = re.compile(r"<!-- (measured: end|/measured) -->")
_END = re.compile(r"(?<=[.!?])([)\]*_\"”’]*)[ \n]+(?=\S)")
_NO_END = re.compile(r"(\b(e\.g|i\.e|cf|vs|approx|resp|No|Nos|St|Thm|Prop|Sec|Fig|et al)|\.\.)\.$")
_LEAD = re.compile(r"(\*+)[^*]+\1$")
"""Words at the start of a paragraph that name it, as in "**Claim.** Every ...": what follows stays on their line."""
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_KEPT = re.compile(r"(?<=[:·])\n")


def pages() -> list[Path]:
    """The pages that people write."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    return [*top, *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "reference")]


def broken(text: str) -> str:
    """A page with its lines broken at sentences."""
    if text.startswith("<!-- Written by"):
        return text
    if CHANGES in text:
        before, changes, after = re.split(rf"(?<={CHANGES})(.*?)(?=\n## |\Z)", text, maxsplit=1, flags=re.DOTALL)
        return before + "\n".join(_lines(changes)) + after
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    paragraph: list[str] = []
    until: re.Pattern[str] | None = None
    for line in text.split("\n"):
        if until is None:
            until = _opened(line)
            own = (
                until is not None
                or not line.strip()
                or (_LEFT_ALONE.match(line) and not (paragraph and _is_text(line)))
            )
        else:
            own = True
            until = None if until.search(line) else until
        if paragraph and (own or _ITEM.match(line)):
            yield from _sentences(paragraph)
            paragraph = []
        if own:
            yield line
        else:
            paragraph.append(line)
    yield from _sentences(paragraph)


def _opened(line: str) -> re.Pattern[str] | None:
    """What closes a part that this line opens and that stays as it is."""
    if fence := re.match(r" *(`{3,})", line):
        return re.compile(rf"^ *{fence[1]}$")
    if _MEASURED.match(line):
        return _MEASURED_END
    return re.compile("-->") if line.lstrip().startswith("<!--") and "-->" not in line else None


def _is_text(line: str) -> bool:
    """In a paragraph, an indented line goes on with it."""
    return line.startswith("    ") and not re.match(r" *(\||#|>|<|!\[)", line)


def _sentences(paragraph: list[str]) -> Iterator[str]:
    if not paragraph:
        return
    item = _ITEM.match(paragraph[0])
    first = item[0] if item else re.match(" *", paragraph[0])[0]  # type: ignore[index]
    later = " " * len(first)
    text = "\n".join(line.strip() for line in [paragraph[0][len(first) :], *paragraph[1:]])
    for index, sentence in enumerate(each for part in _KEPT.split(text) for each in _split(part)):
        yield (later if index else first) + sentence


def _split(text: str) -> Iterator[str]:
    code = [found.span() for found in _CODE.finditer(text)]
    start = 0
    for found in _END.finditer(text):
        inside = any(begin < found.start() < end for begin, end in code)
        if inside or _NO_END.search(text[start : found.start()]) or _LEAD.match(text[start : found.end(1)]):
            continue
        yield text[start : found.end(1)].replace("\n", " ")
        start = found.end()
    yield text[start:].replace("\n", " ")


def main() -> int:
    """Break the lines of every page, or say where they break elsewhere."""
    parser = argparse.ArgumentParser(description="Lines of Markdown that break at sentences.")
    parser.add_argument("--write", action="store_true", help="break them anew")
    write, wrong = parser.parse_args().write, 0
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if broken(text) != text:
            wrong += not write
            print(f"{'wrote' if write else 'lines do not break at sentences:'} {path.relative_to(ROOT)}")
            if write:
                path.write_text(broken(text), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
