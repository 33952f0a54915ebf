"""The program of the explorer page, as `verification/known_versions.py` lists it: `python -m tools.programs`."""

from __future__ import annotations

from tapveil.published.explorer.page import Shell
from tapveil.published.manifest import VERSIONS


def line() -> str:
    """The line for the present program."""
    return f'"{Shell.titled("").program("")}": {VERSIONS.page},'


if __name__ == "__main__":
    print(line())
