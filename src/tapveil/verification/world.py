"""The tables of a known world: every cell of its lists once, in order, as a whole number; nothing else, and no less."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.base.findings import Finding
from tapveil.base.vocabulary import COUNT, WORLD
from tapveil.published.calibrated import calibrated_faults
from tapveil.published.domain import Domain, Places, has_places, places_in_world
from tapveil.published.estimated import first_version, minutes, together, versions
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.published.places import name_findings
from tapveil.verification import reading
from tapveil.verification.known_versions import LARGEST_PLACES
from tapveil.verification.parquet_pages import open_parquet
from tapveil.verification.reading import NOT_CANONICAL, UnreadableError, open_inside
from tapveil.verification.tables import SheetCheck, csv_batches, is_written_otherwise, parquet_batches, pieces

LARGEST_NUMBER = 10**12
"""No city has more trips, and sums of smaller numbers stay exact."""


def domain_of(folder: Path, manifest: Manifest) -> Domain:
    """The lists of a folder; UnreadableError where they are not those of its tables."""
    places: Places = {}
    if has_places(manifest):
        try:
            places = places_in_world(manifest, reading.text_of(folder, WORLD, LARGEST_PLACES))
        except ValueError as error:
            raise UnreadableError("world-shape", WORLD, str(error)) from None
    domain = Domain(manifest, places)
    for table in manifest.tables:
        if table.cells != domain.number_of_cells(table):
            words = f"does not state as many cells of table {table.name} as its lists have"
            raise UnreadableError("world-shape", "privacy.json", words)
    return domain


def domain_findings(domain: Domain) -> Iterator[Finding]:
    """Whether estimates are stated where there are some, and the names of places contain what identifies people."""
    stated, first = domain.manifest.versions, first_version(domain)
    longer = minutes(domain, stated.estimates) if stated.estimates else None
    # Programs before wording 3 made no estimates of version 2.
    missing = stated.estimates is None and first == 2 and stated.wording < 3
    known = stated.estimates in versions(domain) and domain.manifest.estimated_minutes == longer
    if not missing and not known:
        yield Finding("manifest-version", "privacy.json", "states estimates that its tables do not give, or none")
    for fault in calibrated_faults(domain.manifest, domain.places, together(domain)):
        yield Finding("totals-differ", "privacy.json", f"states totals that estimates cannot add up to: {fault}")
    yield from name_findings(WORLD, {place for listed in domain.places.values() for place in listed})


@dataclass
class WorldCheck(SheetCheck):
    """One measured table, and what was learnt of it."""

    domain: Domain = field(kw_only=True)

    def run(self) -> None:
        """Check the Parquet file, and that the CSV file says the same where there is one."""
        has_csv, parquet, start = len(self.files) > 1, self.files[-1], 0
        expected = cells_of(self.domain, self.claim)
        try:
            twins = pieces(csv_batches(self.folder, self.csv, self.columns), self.csv) if has_csv else None
            for piece in pieces(parquet_batches(self.folder, parquet, self.columns), parquet):
                if twins is not None and not piece.equals(next(twins, None) or piece.slice(0, 0)):
                    self._find("parquet-differs", "the CSV and the Parquet file differ")
                    return
                self._check_cells(piece, expected.slice(start, len(piece)))
                if self.findings:
                    return
                start += len(piece)
                self.rows = start
            if start < len(expected):
                self._find("world-differs", f"has {start:,} cells, and its lists have {len(expected):,}")
            elif twins is not None and next(twins, None) is not None:
                self._find("parquet-differs", "the CSV and the Parquet file differ")
            elif has_csv and is_written_otherwise(self.folder, self.csv, self.columns):
                self._find("hidden-data", NOT_CANONICAL)
        except UnreadableError as error:
            self.findings.append(error.finding)

    def _check_cells(self, piece: pa.Table, expected: pa.Table) -> None:
        if len(expected) < len(piece):
            self._find("world-differs", f"has more cells than its lists, which have {self.claim.cells:,}")
            return
        other = np.zeros(len(piece), dtype=bool)
        for key in self.keys:
            same = pc.equal(piece.column(key), expected.column(key).cast(pa.string()))
            other |= ~np.asarray(same.combine_chunks().to_numpy(zero_copy_only=False))
        self._find("world-differs", "a cell is not the one that the lists have here", other)
        if self.findings:
            return
        counts = piece.column(COUNT).cast(pa.int64()).to_numpy()
        least = self.claim.smallest_published
        self._find("count-below-smallest", f"a count is below {least:,}, the least that noise can give", counts < least)
        self._find("count-unreadable", "a count is larger than any", counts >= LARGEST_NUMBER)
        self._add_up(self.name, piece, counts)


def cells_of(domain: Domain, table: TableClaim) -> pa.Table:
    """All cells of a table, its keys as codes of their labels; one row without columns where it has no keys."""
    columns = {
        key: pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels, pa.string()))
        for key, (labels, codes) in domain.cells(table).items()
    }
    return pa.table(columns) if columns else pa.table({"": pa.nulls(1)}).select([])


def measured_tables(folder: Path, domain: Domain) -> dict[str, pa.Table]:
    """The tables of a folder, which have been found to be sound, by their names: keys as codes, and the counts."""
    found = {}
    for table in domain.manifest.tables:
        name = domain.manifest.files(table)[-1]
        with os.fdopen(open_inside(folder, name), "rb") as file:
            counts = open_parquet(file, name).read([COUNT], use_threads=False).column(COUNT)
        found[table.name] = cells_of(domain, table).append_column(COUNT, counts)
    return found
