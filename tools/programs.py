"""The programs of the pages, as `verification/known_versions.py` lists them: `python -m tools.programs`."""

from __future__ import annotations

from tapveil.published.explorer.page import Shell
from tapveil.published.manifest import VERSIONS
from tapveil.published.series import page, written


def lines() -> list[str]:
    """The lines for the present explorer page: of a page alone, and of one with files next to it."""
    shells = (Shell.titled("", has_parts=has_parts) for has_parts in (False, True))
    return [f'"{shell.program("")}": {VERSIONS.page},' for shell in shells]


def lines_of_series() -> list[str]:
    """Likewise, for the page of a series."""
    shells = (page.shell("", has_parts=has_parts) for has_parts in (False, True))
    return [f'"{shell.program("", page.TITLES)}": {written.VERSION},' for shell in shells]


if __name__ == "__main__":
    print("PROGRAMS", *lines(), "SERIES_PROGRAMS", *lines_of_series(), sep="\n")
