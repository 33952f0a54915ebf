"""README.md of a folder, version 1: for a person who opens it.

From the manifest alone, so that `verify` writes it again. Frozen: other words are another version.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tapveil.base import vocabulary
from tapveil.base.types import clock_text
from tapveil.base.vocabulary import EVERY_MODE, HIGH, LOW, PLACES, TOTAL
from tapveil.privacy.concentrated import Concentrated
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import v1 as words
from tapveil.published.manifest import Manifest


def readme(manifest: Manifest, *, signed: bool) -> str:
    """README.md of the folder: for a person who opens it."""
    return "\n\n".join(_readme_parts(manifest, signed)) + "\n"


def _readme_parts(manifest: Manifest, signed: bool) -> Iterator[str]:
    yield f"# {manifest.title}"
    if manifest.description:
        yield manifest.description
    publisher = f"Published by {manifest.publisher}. " if manifest.publisher else ""
    licence = f" Licence: {manifest.licence}." if manifest.licence else ""
    yield f"{publisher}Made on {manifest.created.isoformat()} with tapveil {manifest.software.version}.{licence}"
    yield "## What it is"
    yield " ".join(_what_it_is(manifest))
    yield " ".join(_what_is_where(manifest))
    check = "`tapveil verify` checks all of it from this folder alone, and computes the promise below anew."
    yield f"{check} {_SIGNED}" if signed else check
    yield "## How to read a number"
    yield _intervals_in_words(manifest)
    yield "\n".join(_noise_of_tables(manifest))
    yield "\n".join(_how_to_read(manifest))
    yield "## Numbers that add up"
    yield " ".join(_what_adds_up(manifest))
    yield "## What it protects"
    losses = {each.neighbours: each.exact.loss for each in manifest.guarantees}
    promise = words.promise(manifest.unit, manifest.neighbours, losses)
    yield f"{promise} This holds whatever else anyone knows or will ever know. {words.NOT_PROTECTED[manifest.unit]}"
    if part := manifest.gaussian:
        known = Concentrated(part.exact.mu_squared, Fraction(str(part.delta_singletons)))
        yield words.gaussian_in_words(manifest.unit, manifest.neighbours, known)
    yield words.LOOKED[manifest.looked_at_trips] + _PLANNED[manifest.looked_at_trips]


_SIGNED = (
    "`SHA256SUMS.sig` is the publisher's signature: with a line `NAME ssh-ed25519 ...` (the publisher's public key) in "
    "a file `allowed_signers` outside this folder, `ssh-keygen -Y verify -f ../allowed_signers -I NAME -n tapveil "
    "-s SHA256SUMS.sig < SHA256SUMS` checks it."
)
_PLANNED = {
    True: " Its choices, such as bins, areas and which tables there are, may tell something about them.",
    False: "",
    None: " If it was, epsilon does not account for that.",
}
"""What the promise does not cover: which plan it was made for."""


def _what_it_is(manifest: Manifest) -> Iterator[str]:
    kinds = set(manifest.columns.values())
    parts = " and ".join(f"`{name}`" for name in manifest.partition)
    what = "public-transport trips" if manifest.unit == "trip" else "public-transport " + words.COUNTED[manifest.unit]
    yield f"Counts of {what}" + (f", each table split by {parts}." if parts else ".")
    covers, covered = manifest.covers, ""
    if covers.first_day and covers.last_day:
        covered += f" from {covers.first_day.isoformat()} to {covers.last_day.isoformat()}"
    if covers.modes:
        covered += " of mode " + ", ".join(f"`{mode}`" for mode in covers.modes)
    if covered:
        yield f"Only trips{covered} are counted."
    if manifest.from_a_list:
        yield "Only cells of a list that was fixed beforehand are counted; trips elsewhere are left out."
    if manifest.bounds.trips_per_day:
        yield f"Of each card and day at most {manifest.bounds.trips_per_day} trips are counted."
    if manifest.bounds.trips_per_card:
        yield f"Of each card at most {manifest.bounds.trips_per_card} trips are counted in all."
    if manifest.bounds.without_card:
        yield {"refuse": "Trips without a card are left out.", "own-unit": "A trip without a card counts as a card."}[
            manifest.bounds.without_card
        ]
    if "time" in kinds:
        yield f"Times are the starts of {manifest.time_minutes}-minute bins; `-1` means there was no tap."
    for table in manifest.tables:
        if table.level and table.level.times:
            parts = ", ".join(f"{start}–{end}" for start, end in manifest.times(table).ends.items())
            yield f"In `{table.name}` they are those of parts of the day: {parts}."
    if manifest.day.starts:
        yield from _days_in_words(manifest)
    if manifest.day.timezone and "time" in kinds:
        yield (
            f"Times are those of the clock in {manifest.day.timezone}: where daylight saving repeats an hour, both are "
            "in the same bins."
        )
    yield from _taps_in_words(manifest)
    for mode, label in manifest.areas.items() if "location" in kinds else ():
        whose = "Stops" if mode == EVERY_MODE else f"Stops of mode `{mode}`"
        yield f"{whose} are given by their `{label}`."
    if "location" in kinds:
        yield "`UNKNOWN` means there was no tap, or the stop is not known."


def _taps_in_words(manifest: Manifest) -> Iterator[str]:
    """Where a row was one tap: what was counted."""
    if manifest.rows != "taps":
        return
    ends = {vocabulary.ends_of(manifest.keys(table)) for table in manifest.tables}
    if ends != {"both"}:
        yield "Taps on are counted in the tables of tap-ons, taps off in those of tap-offs, each on its own day."
    if pairing := manifest.pairing:
        day = " and day" if manifest.unit == "card-day" else ""
        common = "" if pairing.same == vocabulary.CARD else f" and {pairing.same}"
        yield (
            f"Where a table has both ends, a tap on and the tap off right after it, of one card{day}{common}, within "
            f"{pairing.within_minutes} minutes, are a trip; any other tap is one whose other end is not known."
        )


def _days_in_words(manifest: Manifest) -> Iterator[str]:
    starts, late = clock_text(manifest.day.starts), manifest.day.starts - manifest.time_minutes
    if "date" in manifest.columns or manifest.bounds.trips_per_day or manifest.covers.first_day:
        yield f"A day runs from {starts} to {starts} of the next morning."
    if manifest.day.after_midnight == "continued":
        yield f"Its hours after midnight go on, to {clock_text(vocabulary.MINUTES_PER_DAY + late)}."
    else:
        yield f"So times before {starts} are those of the morning after."


def _what_is_where(manifest: Manifest) -> Iterator[str]:
    shared = sorted(manifest.sheets) if manifest.arrangement.columns else []
    files = " and ".join(f"`{name}`" for name in shared) or "one file per table"
    yield f"Open `{vocabulary.EXPLORER}` in a browser to look at it: it needs no network."
    yield f"`data/` holds {files}, as CSV and Parquet;"
    if manifest.synthetic:
        yield "`synthetic/` the same as rows, as many for each cell as its count says (not trips that took place);"
    if manifest.places:
        yield f"`{PLACES}` says where all places lie that could be named, whether they are or not;"
    if manifest.wider:
        yield f"`{vocabulary.WIDER}` says which wider area each published place lies in;"
    yield "`datapackage.json` describes every column; `privacy.json` states the privacy parameters;"
    yield "`dp-registry.yaml`, `croissant.json` and `dcat.jsonld` say the same to portals;"
    yield "`SHA256SUMS` lets you check that the files are whole (`sha256sum -c SHA256SUMS`)."


def _noise_of_tables(manifest: Manifest) -> Iterator[str]:
    absent = "a cell of the list that is not there" if manifest.from_a_list else "a cell that is not listed"
    columns = (
        *("table", "columns", "noise scale", "a number is off by, on average", "19 of 20 are off by at most"),
        *("smallest number printed", f"{absent} has at most"),
    )
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for table in manifest.tables:
        scale, mean = decimal_text(table.scale_exact, 4), f"{table.mean_error:.1f}"
        cells = (table.name, table.in_words, scale, mean, table.error_95, table.smallest_published, table.absent_95)
        yield f"| {' | '.join(map(str, cells))} |"


def _intervals_in_words(manifest: Manifest) -> str:
    where = f"Beside it, `{LOW}` and `{HIGH}` say" if LOW in manifest.numbers else "The table below says"
    cells = "cells of the list" if manifest.from_a_list else "cells"
    absent = "A cell that is not listed lies between 0 and the number in the last column."
    if manifest.from_a_list:
        absent = (
            "A cell that is not there had at most the number in the last column if it is on the list of cells that was "
            f"fixed beforehand; {words.NOT_ON_THE_LIST}."
        )
    return (
        "Each count is the true count plus random noise. Small counts are left out altogether. "
        f"{where} between which numbers the true one lies: in at least 19 of 20 {cells}, published or not, whatever "
        f"their true numbers are. {absent}"
    )


def _what_adds_up(manifest: Manifest) -> Iterator[str]:
    """The consistent version, and the finest: what they are, how they lean."""
    adds_up = not manifest.by_card and not manifest.from_a_list and manifest.rows == "trips"
    if manifest.unit != "trip":
        yield "There is no consistent version: a card counts once in each cell, so cells of cards do not add up."
    elif manifest.from_a_list:
        yield "There is no consistent version: lists of two tables need not be of the same trips."
    elif manifest.rows == "taps":
        yield "There is no consistent version: taps on and taps off are counted apart."
    else:
        yield (
            "`data/` has the numbers as the noise left them. Use them for statistics of your own: single numbers lean "
            "a little high where they are near the smallest, sums over a fine table lean low. `consistent/` has the "
            "same cells with numbers that add up, made from `data/` alone: moved as little as the noise explains, and "
            "whole. Use them for shares and maps. `consistent/FINE.by.COARSE.csv` says for each cell of a coarser "
            "table how much of its `total` is `listed` in the finer one, and how much is `other`: in cells too small "
            "to be listed."
        )
    if TOTAL in {table.name for table in manifest.tables}:
        what = "taps on" if manifest.rows == "taps" and not manifest.by_card else vocabulary.NOUNS[manifest.unit]
        each = f" for each {' and '.join(manifest.partition)}" if manifest.partition else ""
        yield f"The table `{TOTAL}` has one number{each}: all {what}, with an interval like any other."
    else:
        yield "There are no totals: what a table lists is less than there is, by what it hides."
    if len({frozenset(table.columns) for table in manifest.tables}) < len(manifest.tables):
        yield (
            "`finest/` has, for each table that is published at several resolutions, what shows, as finely as it does. "
            "A row `cell` is a cell of some resolution, from its time until `…_until`;"
        )
        yield (
            "a row `rest` is what the finer cells leave of a coarser one, so that every trip that shows is in one row."
            if adds_up
            else "a row `around` is a coarser cell of which finer ones are listed, too: do not add them up."
        )


def _how_to_read(manifest: Manifest) -> Iterator[str]:
    if manifest.from_a_list:
        yield "- **A number may be noise alone.** Cells that nobody used get noise like all others; some are printed."
        yield (
            "- **A cell that is not there is not zero.** If it is on the list, it was absent, or too small to print: "
            "see the last column. If it is not, it was not counted, and may have any number."
        )
    else:
        yield "- **A cell that is not listed is not zero.** It was absent, or too small to print: see the last column."
    yield (
        "- Tables are noised separately, so their totals do not agree exactly. Sums over a fine table come out low, "
        "because its small cells are missing."
    )
    if manifest.by_card:
        yield (
            "- **A sum of cells is not a number of people.** A card counts once in each cell that it was in, so it may "
            "be in several; and trips beyond the limit for a card are missing, so busy cells come out low."
        )
    yield (
        "- **A number just above the smallest says little about how small the true count was**: noise may have raised "
        "it. In a table that lists few cells, most may be such; then take a coarser one."
    )
