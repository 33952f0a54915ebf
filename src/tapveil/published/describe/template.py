"""Texts of a folder from templates, which read like what they write. Those of old versions stay as they were.

In a template each sentence may have lines of its own: lines of a paragraph are joined, a blank line ends it, and what
begins with `- ` or `|` begins a line. What a publisher wrote is not looked at: it comes out as it went in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from math import isfinite

from jinja2 import Environment, FunctionLoader, StrictUndefined, UndefinedError

from tapveil.published.describe.facts import quoted
from tapveil.published.describe.wording import template

_BREAK = "\ud800"
"""Ends of lines that are not the template's: half a character, which no file of a folder can have."""
_ESCAPED = re.compile("[<>&\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
"""What a web page, YAML or a reader's eye would take for something else, were it not escaped.

A portal puts such a text into its page as it is: no title may end the script it lies in, nor turn the line around.
"""


def rendered(version: int, name: str, **known: object) -> str:
    """A text of a wording; LookupError where something is missing that it speaks of."""
    try:
        text = _environment().get_template(f"{version}/{name}.j2").render(known)
    except UndefinedError as error:
        raise LookupError(str(error)) from None
    return text.replace(_BREAK, "\n")


def json_text(document: object) -> str:
    """JSON that no title can break out of."""
    return escaped(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _environment() -> Environment:
    loader = FunctionLoader(lambda path: template(int(path.partition("/")[0]), path.partition("/")[2]))
    made = Environment(  # noqa: S701  what it writes is Markdown and YAML; texts of YAML are quoted by a filter
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: value.replace("\n", _BREAK) if isinstance(value, str) else value,
    )
    made.filters |= {"paragraphs": _paragraphs, "lines": _lines, "quoted": quoted}
    made.filters |= {"ticked": _ticked, "yaml": yaml_string, "number": yaml_number}
    return made


def _paragraphs(text: str) -> str:
    return "\n\n".join(map(_lines, re.split(r"\n{2,}", text.strip("\n")))) + "\n"


def _lines(text: str) -> str:
    return re.sub(r"\n(?!- |\|)", " ", text.strip("\n"))


def _ticked(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]


def yaml_string(text: str, margin: int = 0) -> str:
    """A text in YAML, read alike by YAML 1.1 and 1.2, whatever it holds: in double quotes, as JSON has it.

    With a line for each line, of which YAML leaves out margin and backslash.

    >>> print(yaml_string("one", 2), yaml_string("one\\n two", 2))
    "one" "\\
      one\\n\\
      \\ two"
    """
    lines = [escaped(json.dumps(line, ensure_ascii=False))[1:-1] for line in text.replace(_BREAK, "\n").split("\n")]
    if len(lines) == 1:
        return f'"{lines[0]}"'
    indented = (" " * margin + (f"\\{line}" if line.startswith(" ") else line) for line in lines)
    return '"\\\n' + "\\n\\\n".join(indented) + '"'


def yaml_number(value: float) -> str:
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("a number that is not finite has no place in a record")
    return re.sub(r"^(-?\d+)e", r"\1.0e", json.dumps(value))  # YAML 1.1 asks for a point
