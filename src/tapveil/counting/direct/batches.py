"""Trips in batches of columns, straight from their files, for counting in one pass.

Texts are dictionary-encoded: a list of distinct texts, and an index for each row. The next batch is read while the
last one is counted.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from tapveil.trips.csv_reader import CsvReading
from tapveil.trips.excerpt import Excerpt
from tapveil.trips.files import DAMAGED, FileGroup, TripFiles
from tapveil.trips.parquet_reader import ParquetReading
from tapveil.trips.reasons import Reason

TOGETHER = 16
AHEAD = 3
_KNOWN = (types.is_string, types.is_large_string, types.is_integer, types.is_date32, types.is_time, types.is_timestamp)


class NeedsEngineError(Exception):
    """The data is too large, or of too unusual a type, to be counted without an engine."""


class Batches:
    """One pass over all files."""

    def __init__(
        self, files: TripFiles, columns: Collection[str], card: str | None = None, excerpt: Excerpt | None = None
    ) -> None:
        """The card is not dictionary-encoded: it has nearly as many distinct values as rows."""
        # A plan may name columns that it does not publish, and that a file need not have.
        also = [name for name in (excerpt.columns if excerpt else ()) if all(name in g.names for g in files.groups)]
        self._files, self._columns = files, sorted({*columns, *([card] if card else []), *also})
        self._excerpt = excerpt
        self._used = frozenset(columns)
        self._listed = self._used - {card}
        self.bytes = sum(path.stat().st_size for group in files.groups for path in group.paths)
        self.rows = sum(map(_rows, files.groups))
        """The minimum number of rows, as far as the files state it."""
        self.bytes_read = 0.0
        """The approximate number of bytes read."""
        self.refused: Counter[Reason] = Counter()
        """The number of lines that are not rows, by reason."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Batches, read ahead in a separate thread."""
        read = {"csv": self._csv, "parquet": self._parquet}
        batches = (batch for group in self._files.groups for batch in read[group.format](group))
        with ThreadPoolExecutor(1) as worker:
            made = deque(worker.submit(next, batches, None) for _ in range(AHEAD))
            try:
                while (batch := made.popleft().result()) is not None:
                    made.append(worker.submit(next, batches, None))
                    if self._excerpt:
                        self._excerpt.see(batch)
                    yield batch
            finally:
                worker.shutdown(cancel_futures=True)

    def _csv(self, group: FileGroup) -> Iterator[pa.RecordBatch]:
        used, before = [group.names.index(name) for name in self._columns], self.bytes_read
        shape = (group.paths, group.delimiter, len(group.names), used)
        listed = [index for name, index in zip(self._columns, used, strict=True) if name in self._listed]
        encoding = self._files.encoding_of(group)
        reading = CsvReading(*shape, encoding=encoding, listed=listed, sheet=group.sheet, heading=group.heading)
        batches = iter(reading.reader())
        while some := list(islice(batches, TOGETHER)):
            self.bytes_read = before + reading.bytes_read
            # One list of texts for several batches: what they mean is then looked up less often.
            whole = pa.Table.from_batches(some).unify_dictionaries()
            yield from whole.rename_columns(self._columns).to_batches()
        self.refused += reading.refused

    def _parquet(self, group: FileGroup) -> Iterator[pa.RecordBatch]:
        schema = pq.read_schema(group.paths[0])  # files of a group have the same types
        for name in self._used:
            kind = schema.field(name).type
            kind = kind.value_type if types.is_dictionary(kind) else kind
            # Types that only an engine can write as text; and parts of a second that engines round.
            in_ns = (types.is_timestamp(kind) or types.is_time64(kind)) and kind.unit == "ns"
            if in_ns or not any(is_known(kind) for is_known in _KNOWN):
                raise NeedsEngineError
        before, texts = self.bytes_read, [name for name in self._listed if group.type_of(name) == "text"]
        unchecked = [name for name in self._columns if name not in self._used]
        reading = ParquetReading(group.paths, self._columns, listed=texts, unchecked=unchecked)
        for batch in reading.batches():
            self.bytes_read = before + reading.bytes_read
            yield batch
        self.refused += reading.refused


def _rows(group: FileGroup) -> int:
    try:
        return sum(pq.read_metadata(path).num_rows for path in group.paths) if group.format == "parquet" else 0
    except DAMAGED:
        return 0  # reading it will say more
