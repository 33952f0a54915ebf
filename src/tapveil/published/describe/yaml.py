"""JSON and YAML that no title can break out of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite

from tapveil.published.describe.facts import Document

_ESCAPED = re.compile("[<>&\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
"""What a web page, YAML or a reader's eye would take for something else, were it not escaped.

A portal puts such a text into its page as it is: no title may end the script it lies in, nor turn the line around.
"""
_YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
"""What YAML would not read as text."""


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_text(document: Document) -> str:
    return _escaped(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def yaml_text(document: Document) -> str:
    """YAML of plain values, every text in double quotes: read alike by YAML 1.1 and 1.2, whatever the texts hold.

    >>> print(yaml_text({"name": "a: b", "delta": 1e-7, "tables": [{"lines": "one\\ntwo"}]}), end="")
    name: "a: b"
    delta: 1.0e-07
    tables:
      -
        lines: "\\
          one\\n\\
          two"
    """
    return _yaml(document, "").removeprefix("\n") + "\n"


def _yaml(value: object, margin: str) -> str:
    """A value after its key or dash: on the same line, or on further ones."""
    deeper = margin + "  "
    if isinstance(value, Mapping) and value:
        return "".join(f"\n{margin}{_yaml_key(key)}:{_yaml(item, deeper)}" for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(f"\n{margin}-{_yaml(item, deeper)}" for item in value)
    if isinstance(value, str):
        return " " + _yaml_string(value, margin)
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError("a number that is not finite has no place in a record")
        return " " + re.sub(r"^(-?\d+)e", r"\1.0e", repr(value))  # YAML 1.1 asks for a point
    return " " + json.dumps(value)


def _yaml_key(key: str) -> str:
    plain = re.fullmatch("[a-z_]+", key) and key not in _YAML_WORDS
    return key if plain else _json_string(key)


def _yaml_string(text: str, margin: str) -> str:
    """In double quotes, as JSON has it; with a line for each line, of which YAML leaves out margin and backslash."""
    lines = [_json_string(line)[1:-1] for line in text.split("\n")]
    if len(lines) == 1:
        return f'"{lines[0]}"'
    indented = (margin + (f"\\{line}" if line.startswith(" ") else line) for line in lines)
    return '"\\\n' + "\\n\\\n".join(indented) + '"'


def _json_string(text: str) -> str:
    return _escaped(json.dumps(text, ensure_ascii=False))
