"""What earlier programs wrote: the versions that were used together, and the programs of their pages.

A folder outlives the program that made it. Nothing is ever taken out of these lists, nor changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from tapveil.published.manifest import VERSIONS, Versions

VERSIONS_OF: Mapping[int, list[Versions]] = {
    1: [Versions(derived=1, page=1, metadata=1, wording=1)],
    2: [Versions(derived=2, page=1, metadata=2, wording=1)],
    3: [
        Versions(derived=2, page=1, metadata=2, wording=1, readme=1, package=1),
        Versions(derived=2, page=1, metadata=2, wording=2, readme=2, package=2),
        Versions(derived=2, page=2, metadata=2, wording=3, readme=3, package=3),
    ],
}
"""By the version of the manifest: the versions of the methods that made such folders, but for `PARTS_OF`."""

PARTS_OF: Mapping[int, Mapping[str, tuple[int, ...]]] = {
    2: {"estimates": (1,)},
    3: {"estimates": (1, 2, 3, 4), "reader": (1,), "rider": (1,), "shapes": (1, 2), "totals": (1,), "trips": (1,)},
}
"""By the wording: the parts that its folders may have, each by itself, and the versions of their methods."""

PROGRAMS: Mapping[str, int] = {
    "377408ce281913ee488c42a6aab3a461581f54f8cd3b1db27f25208552355fd7": 1,
    "1f0c80df3c234b8b60ed5534731521727279ab00c686ae10e09ed192b83dd4ba": 1,
    "c09a6eb5ffaee406ae51f9ce7ff934ed8b7202d51b50174a67d0f6778f875fdc": 1,
    "d85614705340ccd8ce6b65ecd7b3e893653b4cf8bf86a347c6b7f73c40386b20": 2,
}
"""SHA-256 of every page program that was ever published, and the version of the data that it shows.

`python -m tools.programs` prints the line for the present one: it belongs here before a folder with it is published.
"""


def were_used_together(form: int, versions: Versions) -> bool:
    """Whether a program wrote folders of this format with these versions."""
    parts = PARTS_OF.get(versions.wording, {})
    known = all(version in (None, *parts.get(part, ())) for part, version in versions.parts.items())
    return known and versions.without_parts in [VERSIONS, *VERSIONS_OF[form]]


ROW_GROUPS = (2**20, 1_000_000)
"""Rows of each row group of a Parquet file but the last: of tables, and of synthetic rows."""

LARGEST_PLACES = 64 * 2**20
"""Places and wider areas of version 1 could be so large; a release writes half of it at most."""
