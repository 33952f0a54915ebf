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
        Versions(derived=2, page=3, metadata=2, wording=3, readme=3, package=3),
    ],
}
"""By the version of the manifest: the versions of the methods that made such folders, but for `PARTS_OF`."""

PARTS_OF: Mapping[int, Mapping[str, tuple[int, ...]]] = {
    2: {"estimates": (1,)},
    3: {
        "estimates": (1, 2, 3, 4, 5, 6, 7),
        "reader": (1, 2),
        "rider": (1, 2),
        "shapes": (1, 2),
        "totals": (1,),
        "trips": (1,),
    },
}
"""By the wording: the parts that its folders may have, each by itself, and the versions of their methods."""

PROGRAMS: Mapping[str, int] = {
    "377408ce281913ee488c42a6aab3a461581f54f8cd3b1db27f25208552355fd7": 1,
    "1f0c80df3c234b8b60ed5534731521727279ab00c686ae10e09ed192b83dd4ba": 1,
    "c09a6eb5ffaee406ae51f9ce7ff934ed8b7202d51b50174a67d0f6778f875fdc": 1,
    "d85614705340ccd8ce6b65ecd7b3e893653b4cf8bf86a347c6b7f73c40386b20": 2,
    "96ffd5e332fe70a80b46d17c6d47ef6636b2bcb0d6d05c54d60cf37c24fe146e": 3,
    "98ac3bed95a47b685bb6891b382aee4663d8f1ffdff3cbc83aba466318882aad": 3,
    "14b4f11feaf2b836a8a600bfb679e6053901020b998f7caeabcecee01832117f": 3,
    "9b10027a7dcc47c59761b0cd213c226490356d0b0618a6bffde45aec3486bb68": 3,
    "44b7d3ee5b0be0529a86f71380317dcfc576bacd9ebebc1ee0ff71d9f0b7296b": 3,
    "acf907a111c2bc0c86ad6c262fda119a548aeaec8969e9aa1f05ac4c2a9151cc": 3,
    "49b9af4c7a21031c8f5309cd9314418d691cea93c98d619c639e3e8c9a2d4053": 3,
    "f1fbf60650b36eaad609d207b62505c4a65416d5fd3a5105d3e64bf496f502a1": 3,
    "af7c45a4632896bdced5dd8165a0eeac2b1f04e764c586fb128109d4741112b2": 3,
    "2c278e6e7a9aefa495a8b26ec1f153b4947c69c458f8610340af1ead3eecbe0f": 3,
    "2f59b1fbb324297e37d5b0b509600fbac6495fc406e79fe9931c49e30a34ebd4": 3,
    "e81a9afb515cd42d71f8ed1aafc040eb67efb61286a8ed4f71be50c7f1bc780b": 3,
}
"""SHA-256 of every page program that was ever published, and the version of the data that it shows.

`python -m tools.programs` prints the line for the present one: it belongs here before a folder with it is published.
"""


SERIES_PROGRAMS: Mapping[str, int] = {
    "0951aa804f1e318baedbd5c0775df034c4c12b948cfd66c1729ee39f6d875938": 1,
    "2c5b518eddaf0a2a122d433f7d67dd39cdd2007f83f2f769c3d8532a69ad9c60": 1,
    "d2525828ad555c957e51711a2e66af888f521b1f467663b430fac249e1fc9745": 2,
    "2bb3aba2f5ccd47e380817ba758fb82e90398bfde1e6779882c18a2ef778b976": 2,
    "4ce140213329f00bdcc5e83d9633bac6bb2dab51f0855989d96f05529dd2eb2f": 2,
    "1b0e5f86f111b4e0bd6e880c9c593550c19be3aa79c4c1a526fc7cd6d664c96c": 2,
    "0a8ec1dd3a2e04add0c520ea9f4f1c93e4ba06390dd040033dda21237b885e13": 2,
    "2add900b05a20e0b9f06616c9b0022673ffc6e7765316a0153ec92228376d1e4": 2,
    "f450c7f21cfffec5e962cfe20c1c6312dc6ff5d54164c5080a136c635a291b06": 2,
    "c09f46e3f62034c232594c94dc1f839a4f7b9c60cf1f3110631c63269cc691fe": 2,
}
"""Likewise, of the pages of series."""


def were_used_together(form: int, versions: Versions) -> bool:
    """Whether a program wrote folders of this format with these versions."""
    parts = PARTS_OF.get(versions.wording, {})
    known = all(version in (None, *parts.get(part, ())) for part, version in versions.parts.items())
    return known and versions.without_parts in [VERSIONS, *VERSIONS_OF[form]]


ROW_GROUPS = (2**20, 1_000_000)
"""Rows of each row group of a Parquet file but the last: of tables, and of synthetic rows."""

LARGEST_PLACES = 64 * 2**20
"""Places and wider areas of version 1 could be so large; a release writes half of it at most."""
