"""The notice of a withdrawal: what readers of a portal are told. Public facts, and the reason as it was given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tapveil.published.manifest import Manifest


@dataclass(frozen=True)
class Notice:
    """That a release is withdrawn."""

    manifest: Manifest
    on: date
    reason: str

    @property
    def heading(self) -> str:
        """By which a notice is known to be there."""
        return f"**Withdrawn: release {self.manifest.release_id}.**"

    @property
    def text(self) -> str:
        """As Markdown."""
        first, last = self.manifest.covers.first_day, self.manifest.covers.last_day
        days = f", {first} to {last}" if first and last else ""
        return (
            f"{self.heading}\n\n"
            f"{self.manifest.title}{days}, was withdrawn by its publisher on {self.on}. Reason: {self.reason}\n\n"
            "Do not use its counts any more. A correction, if there is one, names this release under `corrects` in its "
            "`privacy.json`. The privacy that the release has cost stays accounted for.\n"
        )
