"""What the figures of a dossier are called where they are compared with those of the dossier before."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


def label(key: str) -> str:
    """A figure in words; one that only an earlier program had, by its name.

    >>> label("belief.0.1.add-remove")
    'What a belief of 0.1 % can become (whether it was there)'
    """
    for each in _texts()["label"]:
        if found := re.fullmatch(each["key"], key):
            return str(each["text"].format(**{name: _said(name, text) for name, text in found.groupdict().items()}))
    return key.replace(".", ", ").replace("_", " ")


def _said(name: str, text: str) -> str:
    if name == "place":
        return str(int(text) + 1)
    return str(_texts()["words"].get(name, {}).get(text, text))


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("labels.toml").read_text(encoding="utf-8"))
