"""README.md of a folder: for a person who opens it. From the manifest alone, so that `verify` writes it again."""

from __future__ import annotations

from fractions import Fraction

from tapveil.base.numbers import clock_text
from tapveil.base.vocabulary import MINUTES_PER_DAY, NOUNS, TOTAL, ends_of
from tapveil.privacy.concentrated import Concentrated
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.template import rendered
from tapveil.published.describe.wording import loss_in_words, rounded_up, wording
from tapveil.published.lattice import why_not
from tapveil.published.manifest import Manifest, TableClaim


def readme(manifest: Manifest, *, signed: bool) -> str:
    """README.md of the folder, in the words of its version."""
    version, part = manifest.versions.readme or 1, manifest.gaussian

    def spans(table: TableClaim) -> list[str]:
        return [f"{start}–{end}" for start, end in manifest.times(table).ends.items()]

    def figure(number: float | None) -> str:
        return "none" if number is None else rounded_up(Fraction(str(number)))

    people = manifest.people or ()
    return rendered(
        version,
        "readme.md",
        manifest=manifest,
        signed=signed,
        words=wording(version),
        losses={each.neighbours: each.exact.loss for each in manifest.guarantees},
        totals_loss=loss_in_words(
            next(each.exact.loss for each in manifest.guarantees if each.neighbours == "replace")
        ),
        gaussian=part and Concentrated(part.exact.mu_squared, Fraction(str(part.delta_singletons))),
        clock=clock_text,
        scale=lambda table: decimal_text(table.scale_exact, 4),
        spans=spans,
        figure=figure,
        year=max((each.releases for each in people), default=1),
        has_apart=any(each.apart for each in people),
        has_none=any(each.epsilon is None for each in people),
        kinds=set(manifest.columns.values()),
        shared=sorted(manifest.sheets) if manifest.arrangement.columns else [],
        latest=MINUTES_PER_DAY + manifest.day.starts - manifest.time_minutes,
        has_one_end={ends_of(manifest.keys(table)) for table in manifest.tables} != {"both"},
        has_total=TOTAL in {table.name for table in manifest.tables},
        has_levels=len({frozenset(table.columns) for table in manifest.tables}) < len(manifest.tables),
        noun="taps on" if manifest.rows == "taps" and not manifest.by_card else NOUNS[manifest.unit],
        adds_up=why_not(manifest) is None,
    )
