"""`read.R`: a folder's reader for R, with the verbs of `tapveil.open`. Its text is the same in every folder."""

from __future__ import annotations

from importlib.resources import files

READER_VERSION = 2


def read_script(version: int) -> str:
    """The script of a version, which is frozen once a folder has it."""
    return (files("tapveil.published") / "scripts" / f"read_{version}.R").read_text(encoding="utf-8")
