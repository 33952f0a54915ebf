"""What earlier programs wrote: the versions that were used together, and the programs of their pages.

A folder outlives the program that made it. Nothing is ever taken out of these lists, nor changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from tapveil.published.manifest import Versions

VERSIONS_OF: Mapping[int, list[Versions]] = {
    1: [Versions(derived=1, page=1, metadata=1, wording=1)],
    2: [Versions(derived=2, page=1, metadata=2, wording=1)],
    3: [
        Versions(derived=2, page=1, metadata=2, wording=1, readme=1, package=1),
        Versions(derived=2, page=1, metadata=2, wording=2, readme=2, package=2),
        Versions(derived=2, page=1, metadata=2, wording=2, readme=2, package=2, estimates=1),
    ],
}
"""By the version of the manifest: the versions of the methods that made such folders."""

PROGRAMS: Mapping[str, int] = {
    "377408ce281913ee488c42a6aab3a461581f54f8cd3b1db27f25208552355fd7": 1,
    "1f0c80df3c234b8b60ed5534731521727279ab00c686ae10e09ed192b83dd4ba": 1,
    "c09a6eb5ffaee406ae51f9ce7ff934ed8b7202d51b50174a67d0f6778f875fdc": 1,
}
"""SHA-256 of every page program that was ever published, and the version of the data that it shows.

`python -m tools.programs` prints the line for the present one: it belongs here before a folder with it is published.
"""

ROW_GROUPS = (2**20, 1_000_000)
"""Rows of each row group of a Parquet file but the last: of tables, and of synthetic rows."""

LARGEST_PLACES = 64 * 2**20
"""Places and wider areas of version 1 could be so large; a release writes half of it at most."""
