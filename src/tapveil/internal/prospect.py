"""What a first plan would publish, roughly: by the sizes of the files, and by the rows that were looked at anyway.

It depends on the trips. So it is for the terminal of who holds them alone, and nothing of it enters a plan: `check`
counts, and says it exactly.
"""

from __future__ import annotations

import tomllib
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

import pyarrow.parquet as pq

from tapveil.base.vocabulary import COUNT, ENDS, MINUTES_PER_DAY
from tapveil.internal.draft_text import Choices
from tapveil.plan.guarantee import Guarantee
from tapveil.plan.model import Privacy, Table
from tapveil.trips import files as sources
from tapveil.trips.csv_reader import is_gzip
from tapveil.trips.reading import WHOLE, Sample
from tapveil.trips.recognised import Recognised
from tapveil.trips.workbook import is_workbook

BYTES_OF_A_FIELD, BYTES_OF_A_CELL = 12, 40
"""In a CSV file, and in a sheet of a workbook, where no row was read."""
BUSY, FEW_PLACES = 0.5, 10
"""In about this share of a day's bins most trips are made; and most networks have more places than these."""


@dataclass(frozen=True)
class Prospect:
    """What may be expected of a plan. CONFIDENTIAL: it depends on the trips."""

    trips: float
    typical: Mapping[str, float]
    """By table: how many trips are in the cell of a typical trip; at most, where no row was read."""
    least: Mapping[str, float]
    """By table: from how many on a cell is published, as a rule."""

    @property
    def mostly_empty(self) -> list[str]:
        """The tables of which most trips would not be published: the cell of a typical one is too small."""
        return [name for name, trips in self.typical.items() if trips < self.least[name]]

    @property
    def sentences(self) -> str:
        """What is said of it; nothing where no table is mostly empty."""
        few = self.mostly_empty
        if not few:
            return ""
        worst = min(few, key=lambda name: self.typical[name] / self.least[name])
        every = "all tables" if len(few) == len(self.typical) else ", ".join(few)
        return (
            f"Confidential, by the sizes of the files: there are about {_about(self.trips)} trips, which are few for "
            f"this plan. Expect {every} to be mostly empty: in {worst} a typical trip is in a cell of about "
            f"{_about(self.typical[worst])}, and cells are published from about {_about(self.least[worst])} on."
        )


def prospect(
    text: str, found: Recognised, choices: Choices, shapes: Mapping[Path, sources.Shape], looked_at: Sequence[Sample]
) -> Prospect | None:
    """What a plan as it is written would publish; None where every cell is published, or too little is known."""
    data = tomllib.loads(text, parse_float=Decimal)  # a plan with open questions is none yet, but its noise is known
    if choices.world:
        return None
    tables = tuple(Table.model_validate(each) for each in data["table"])
    mechanisms = Guarantee(Privacy.model_validate(data["privacy"]), tables).mechanisms
    rows = sum(_rows(path, shape, looked_at) for path, shape in shapes.items())
    by_table = {table.name: [*data["release"]["partition"], *table.columns] for table in tables}
    cells = _Cells(found, choices, {sample.name: sample for sample in looked_at}, rows)
    typical = {name: cells.typical(columns) for name, columns in by_table.items()}
    known = {name: trips for name, trips in typical.items() if trips is not None}
    least = {name: float(mechanisms[name].threshold) for name in known}
    return Prospect(cells.trips, known, least) if known else None


@dataclass(frozen=True)
class _Cells:
    """The cells of a plan, as far as some rows show them."""

    found: Recognised
    choices: Choices
    samples: Mapping[str, Sample]
    rows: float

    @property
    def trips(self) -> float:
        """How many there are in all."""
        return sum(self._weights(None)) / self._share if self._seen else self.rows / (2 if self.found.is_taps else 1)

    def typical(self, columns: Sequence[str]) -> float | None:
        """The mean, over trips, of the number of trips in their cell.

        Of a cell with n trips in all, m of them among those that were looked at, each with the chance f: E[m(m−1)/f²]
        = n(n−1). So pairs of rows in one cell tell how many there are, though no cell is seen whole.
        """
        if not self._seen:  # where rows are numbers of trips, their number says nothing
            return None if self.found.is_counts else self._at_most(columns)
        weights = self._weights(next((each for each in columns if each.startswith("tap_o")), None))
        sums = defaultdict[tuple[object, ...], float](float)
        for weight, *cell in zip(weights, *self._codes(columns), strict=False):
            sums[tuple(cell)] += weight
        squares = sum(weight**2 for weight in weights)
        pairs = sum(each**2 for each in sums.values()) - squares
        return (pairs / self._share + squares) / max(sum(weights), 1)

    @cached_property
    def _seen(self) -> int:
        """How many rows were looked at."""
        return min((len(self._theirs(ours).rows) for ours in self.found.columns if self._is_known(ours)), default=0)

    @property
    def _share(self) -> float:
        return min(1.0, self._seen / max(self.rows, 1))

    def _is_known(self, ours: str) -> bool:
        return self.found.columns[ours].column in self.samples

    def _theirs(self, ours: str) -> Sample:
        return self.samples[self.found.columns[ours].column]

    def _weights(self, column: str | None) -> list[float]:
        """How many trips each row stands for; of taps, those of one end."""
        if self.found.is_counts and COUNT in self.found.columns:
            numbers = (WHOLE.fullmatch(value.strip()) for value in self._theirs(COUNT).rows[: self._seen])
            return [float(number[1]) if number else 0.0 for number in numbers]
        if self.found.is_taps and self.found.on and self._is_known("tap"):
            words = self.found.off if column and column.startswith("tap_off") else self.found.on
            return [float(value.strip() in words) for value in self._theirs("tap").rows[: self._seen]]
        return [0.5 if self.found.is_taps else 1.0] * self._seen

    def _codes(self, columns: Sequence[str]) -> list[Sequence[object]]:
        """The cell of each row, column by column; of what was not recognised, one for all."""
        either = {end: ours for ours, both in ENDS.items() for end in both} if self.found.is_taps else {}
        named = [either.get(each, each) for each in columns]
        return [self._code(ours) for ours in named if ours in self.found.columns and self._is_known(ours)]

    def _code(self, ours: str) -> Sequence[object]:
        sample = self._theirs(ours)
        if ours.endswith("time"):
            return [minute is not None and minute // self.choices.width for _, minute in sample.moments]
        if ours == "date" and not self.found.labels:
            return sample.days
        return [value.strip() for value in sample.rows]

    def _at_most(self, columns: Sequence[str]) -> float | None:
        """The same where no row was read: spread evenly over days, bins and a few places."""
        days = self.choices.days
        if "date" in columns and days is None:
            return None
        parts = (days.last - days.first).days + 1 if days and "date" in columns else 1
        bins = BUSY * MINUTES_PER_DAY / self.choices.width if any(each.endswith("time") for each in columns) else 1
        places = len([each for each in columns if each.endswith("location")])
        return self.trips / (parts * max(1.0, bins) * float(FEW_PLACES) ** places)


def _rows(path: Path, shape: sources.Shape, looked_at: Sequence[Sample]) -> float:
    """About how many rows a file has."""
    if shape[0] == "parquet":
        return float(pq.read_metadata(path).num_rows)
    if is_workbook(path):
        with zipfile.ZipFile(path) as book:
            size = sum(member.file_size for member in book.infolist() if member.filename.startswith("xl/worksheets/"))
        return size / (BYTES_OF_A_CELL * len(shape[1]))
    read = sum(sum(len(value.encode()) + 1 for value in each.rows) / len(each.rows) for each in looked_at if each.rows)
    return _unpacked(path) / (read or BYTES_OF_A_FIELD * len(shape[1]))


def _unpacked(path: Path) -> int:
    """The size of a file; of a gzip file, as its last four bytes have it (RFC 1952)."""
    size = path.stat().st_size
    if not is_gzip(path) or size < 4:
        return size
    with path.open("rb") as file:
        file.seek(-4, 2)
        return max(size, int.from_bytes(file.read(4), "little"))


def _about(number: float) -> str:
    """A number to its first digit: more is not known.

    >>> [_about(number) for number in (18_734, 4.2, 0.3)]
    ['20,000', '4', '1']
    """
    digits = len(str(int(number))) - 1
    return f"{max(1, round(number / 10**digits) * 10**digits):,}"
