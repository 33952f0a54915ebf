"""A published folder, as it is read: `tapveil.open(folder)`. For the analyst, who has the folder and nothing else.

Nothing is believed that `verify` would not find.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tapveil.base.errors import FolderError, UsageError, did_you_mean
from tapveil.base.vocabulary import CONSISTENT, COUNT, FINEST, HIGH, LOW, MANIFEST, MISSING, NOUNS, NUMBERS, TOTAL
from tapveil.privacy.mechanisms import Mechanism, stated
from tapveil.published.describe.wording import loss_in_words
from tapveil.published.frame import Estimate, Frame
from tapveil.published.lattice import why_not
from tapveil.published.manifest import Manifest, TableClaim
from tapveil.published.sheets import raw_tables, with_interval

Version = Literal["published", "consistent", "finest"]
LARGEST_MANIFEST = 4 * 2**20
ROWS_AT_ONCE = 1_000_000


def open(path: str | Path) -> Folder:
    """A published folder, to be read; FolderError if it is none.

    >>> release = open("published")                                          # doctest: +SKIP
    >>> release.table("on_time").where(mode="train", date="2025-03-03")      # doctest: +SKIP
    """
    folder = Folder(Path(path))
    _ = folder.manifest
    return folder


def distinct(parquet: Path, column: str) -> set[str]:
    """The texts of a column of a table in a folder, each once: by the lists that Parquet keeps of them."""
    found = set[str]()
    with pq.ParquetFile(parquet, read_dictionary=[column]) as file:
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=[column], use_threads=False):
            found.update(pc.unique(batch.column(0)).cast(pa.string()).to_pylist())
    return found


def folders_in(place: Path) -> Iterator[Folder]:
    """The published folders that lie in a folder; what only looks like one is passed over."""
    for path in sorted(place.iterdir()) if place.is_dir() else ():
        manifest = path / MANIFEST
        with suppress(OSError):  # a folder of someone else's
            if not path.name.startswith(".") and manifest.is_file() and manifest.stat().st_size <= LARGEST_MANIFEST:
                yield Folder(path)


@dataclass(frozen=True, eq=False)
class Folder:
    """A published folder: its tables, its totals, and what is promised. Each is read when it is asked for."""

    path: Path

    @cached_property
    def manifest(self) -> Manifest:
        """What is promised, and with which parameters."""
        try:
            return Manifest.read(self.privacy)
        except FileNotFoundError:
            raise FolderError(f"{self.path} is not a published folder: it has no {MANIFEST}") from None
        except NotADirectoryError:
            raise FolderError(f"{self.path} is a file: name the folder that holds {MANIFEST}") from None
        except OSError as error:
            raise FolderError(f"{self.path} cannot be read: {error.strerror}") from None
        except (ValueError, RecursionError):
            words = f"its {MANIFEST} is damaged, or of another version"
            raise FolderError(f"{self.path} is not a published folder that this tapveil can read: {words}") from None

    @property
    def privacy(self) -> dict[str, Any]:
        """The manifest as it is written."""
        manifest: dict[str, Any] = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        return manifest

    def __repr__(self) -> str:
        tables = "\n".join(f"  {each.name}: {each.in_words}" for each in self.manifest.tables)
        parts = ", ".join(self.manifest.partition) or "nothing"
        return (
            f"{self.manifest.title}\ncounts of {NOUNS[self.manifest.unit]}, "
            f"{loss_in_words(self.manifest.exact.loss)}; tables, each split by {parts}:\n{tables}"
        )

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return [table.name for table in self.manifest.tables]

    @property
    def sheets(self) -> list[str]:
        """The names of the files of `data/`: those of the tables, unless it is laid out as the Opal data."""
        return list(self.manifest.sheets)

    def sheet(self, name: str) -> pa.Table:
        """One file of `data/`, as Arrow."""
        if name not in self.sheets:
            raise UsageError(f"there is no table `{name}` in {self.path} (tables: {', '.join(self.sheets)})")
        with pq.ParquetFile(self.path / "data" / f"{name}.parquet") as file:
            return file.read()

    @cached_property
    def _raw(self) -> dict[str, pa.Table]:
        try:
            return raw_tables(self.manifest, {name: self.sheet(name) for name in self.sheets})
        except (OSError, pa.ArrowException, KeyError):
            raise FolderError(f"{self.path} is damaged: `tapveil verify` says where") from None

    def mechanism(self, name: str) -> Mechanism:
        """What a table went through."""
        claim = self._claim(name)
        try:
            return stated(self.manifest.mechanism, claim.scale_exact, claim.threshold_exact)
        except ValueError as error:
            raise FolderError(f"{self.path}: table {name}: {error}") from None

    def _claim(self, name: str) -> TableClaim:
        for claim in self.manifest.tables:
            if claim.name == name:
                return claim
        hint = did_you_mean(name, self.tables) or f" (tables: {', '.join(self.tables)})"
        raise UsageError(f"there is no table `{name}` in {self.path}{hint}")

    @cached_property
    def _parts(self) -> dict[str, frozenset[str]]:
        """Which days and modes, or other parts, are published at all."""
        return {
            column: frozenset(label for table in self._raw.values() for label in pc.unique(table[column]).to_pylist())
            for column in self.manifest.partition
        }

    def table(self, name: str, version: Version = "published") -> Frame:
        """One table: as it was published, in the consistent version, or at the finest level that survived."""
        if version in (CONSISTENT, FINEST):
            return self._derived(version, name)
        if version != "published":
            raise UsageError(f"there is no version `{version}`: published, consistent or finest")
        mechanism, claim = self.mechanism(name), self._claim(name)
        timed = [column for column in claim.columns if self.manifest.columns[column] == "time"]
        known = self._parts | dict.fromkeys(timed, frozenset(self.manifest.times(claim).labels))
        return Frame(with_interval(self._raw[name], mechanism), self.manifest.keys(claim), mechanism, known)

    @property
    def has_totals(self) -> bool:
        """Whether the totals of parts are published; in folders of version 1 they were guessed, where they could be."""
        return TOTAL in self.tables or (self.path / CONSISTENT / f"{TOTAL}.csv").is_file()

    @property
    def totals(self) -> Frame:
        """The trips of each part, in all: as they were published."""
        if TOTAL in self.tables:
            return self.table(TOTAL)
        if not self.has_totals:
            raise FolderError(f"{self.path} has no totals: its plan has no table `{TOTAL}`, with columns = []")
        return self._derived(CONSISTENT, TOTAL)

    def rest(self, fine: str, coarse: str) -> Frame:
        """For each cell of a coarser table: how much lies in cells that the finer one does not list."""
        self._claim(fine)
        if coarse != TOTAL or not self.has_totals:
            self._claim(coarse)
        return self._derived(CONSISTENT, f"{fine}.by.{coarse}")

    def _derived(self, folder: str, name: str) -> Frame:
        path = self.path / folder / f"{name}.csv"
        if folder == CONSISTENT and (why := why_not(self.manifest)):
            raise FolderError(f"{self.path} has no consistent version: {why}")
        if not path.is_file():
            if ".by." not in name:
                self._claim(name)
            raise FolderError(f"{self.path} has no {folder} version of `{name}`")
        numbers = (*NUMBERS, "total", "listed", "other", "other_low", "other_high")
        with path.open("rb") as file:
            names = file.readline().decode("utf-8").rstrip("\r\n").split(",")
        types = {each: pa.int64() if each in numbers else pa.string() for each in names}
        cells = pa_csv.read_csv(
            path,
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),  # a name may have one
            convert_options=pa_csv.ConvertOptions(column_types=types, null_values=[]),
        )
        return Frame(cells, tuple(each for each in names if each not in numbers), known=self._parts)

    def total(self, **where: str) -> Estimate:
        """The trips of some parts, in all: `total(mode="train")`. Cards count once in each part."""
        totals = self.totals
        if totals.mechanism is not None and set(where) == set(totals.keys):
            return totals.cell(**where)
        parts = totals.where(**where)
        if not len(parts):
            raise FolderError("nothing is published of that: how many trips it has, the folder does not say")
        row = parts.sum().cells.to_pylist()[0]
        return Estimate(row[COUNT], row[LOW], row[HIGH])

    def profile(self, column: str, **where: str) -> Frame:
        """How the trips are spread over the values of a column: `profile("tap_on_time", mode="train", date="…")`.

        Of times, all bins are there: where nothing was published, without a number, and with what that means.
        """
        wanted = {column, *(key for key in where if key not in self.manifest.partition)}
        fits = [claim for claim in self.manifest.tables if set(claim.columns) == wanted]
        if not fits:
            tables = "; ".join(f"{each.name}: {', '.join(each.columns)}" for each in self.manifest.tables)
            raise UsageError(f"no table has just the columns {', '.join(sorted(wanted))} ({tables})")
        left = set(self.manifest.partition) - set(where)
        if left:
            raise UsageError(f"say which {' and '.join(sorted(left))}: a profile is that of one part")
        frame = self.table(fits[0].name).where(**where)
        if self.manifest.columns[column] != "time":
            return frame
        return frame.filled(column, [label for label in self.manifest.times(fits[0]).labels if label != MISSING])
