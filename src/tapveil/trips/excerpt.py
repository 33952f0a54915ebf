"""An excerpt of the trips: all rows of some cards, a bounded number of them, kept while the trips go by.

For questions that a sample answers as well as all rows do: whether columns contradict each other, whether rows come
twice. Cards and not rows are drawn, so that what belongs together stays together: two copies of a trip, the taps of a
journey. Where there is no card, some rows. Which cards are drawn depends on nothing but their names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.trips.buffers import Flags, integers, present

MOST = 1 << 16
"""Rows that are kept. Where there are no more, the excerpt is all of them, and the files themselves serve as well."""
FEWEST = 1 << 20
"""One card in this many is drawn, at least: there are no more bits to decide by."""
LETTERS = 8
"""As many of the last bytes of a card decide whether it is drawn."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples are spread well (2^64 divided by the golden ratio)."""


class Excerpt:
    """Rows of one card in a number of them: 1, 2, 4, … as more rows come than are kept."""

    def __init__(self, columns: Collection[str], card: str | None, most: int = MOST) -> None:
        self.columns, self.one_in = sorted({*columns, *([card] if card else [])}), 1
        self._card, self._most = card, most
        self._kept: list[tuple[pa.RecordBatch, npt.NDArray[np.uint64]]] = []
        self._rows = self._seen = 0

    def forget(self) -> None:
        """Start again."""
        self._kept, self._rows, self._seen, self.one_in = [], 0, 0, 1

    def see(self, batch: pa.RecordBatch) -> None:
        """Keep the rows of the cards that are drawn; draw fewer where they become too many."""
        draws = self._draws(batch)
        self._keep(batch.select([name for name in self.columns if name in batch.schema.names]), draws)
        while self._rows > self._most and self.one_in < FEWEST:
            self.one_in *= 2
            kept, self._kept, self._rows = self._kept, [], 0
            for some, their_draws in kept:
                self._keep(some, their_draws)

    def put(self, table: pa.Table, one_in: int) -> None:
        """Keep rows that an engine has drawn."""
        self.one_in = one_in
        self._kept += [(batch, np.empty(0, dtype=np.uint64)) for batch in table.select(self.columns).to_batches()]

    @property
    def batches(self) -> list[pa.RecordBatch]:
        """The rows."""
        return [batch for batch, _ in self._kept]

    @contextmanager
    def files(self, scratch: Path | None) -> Iterator[list[Path]]:
        """The rows as Parquet files in a folder that only the owner can enter, until they are not needed any more.

        None where all rows were kept.
        """
        if self.one_in == 1:
            yield []
            return
        with tempfile.TemporaryDirectory(prefix="tapveil-", dir=scratch, ignore_cleanup_errors=True) as folder:
            by_schema: dict[str, list[pa.RecordBatch]] = {}
            for batch in self.batches:
                by_schema.setdefault(str(batch.schema), []).append(batch)
            paths = [Path(folder) / f"{number}.parquet" for number in range(len(by_schema))]
            for path, batches in zip(paths, by_schema.values(), strict=True):
                pq.write_table(pa.Table.from_batches(batches), path, compression="none")
            yield paths

    def _keep(self, batch: pa.RecordBatch, draws: npt.NDArray[np.uint64]) -> None:
        drawn = np.flatnonzero(_drawn(draws, self.one_in))
        if len(drawn):
            columns = [_plain(column.take(pa.array(drawn))) for column in batch.columns]
            self._kept.append((pa.record_batch(columns, names=batch.schema.names), draws[drawn]))
            self._rows += len(drawn)

    def _draws(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        """A number for each row, the same for all rows of a card, from which it follows whether it is drawn."""
        of_rows = np.arange(self._seen, self._seen + batch.num_rows, dtype=np.uint64) * _MIX
        self._seen += batch.num_rows
        if self._card is None or self._card not in batch.schema.names:
            return of_rows
        cards = _of_cards(_plain(batch.column(batch.schema.get_field_index(self._card))))
        cards = np.where(cards, cards, of_rows)  # rows without a card are nobody's: each is drawn by itself
        for _ in range(2):  # every bit of a card moves those that decide
            cards ^= cards >> np.uint64(32)
            cards *= _MIX
        return cards


def _drawn(draws: npt.NDArray[np.uint64], one_in: int) -> Flags:
    found: Flags = draws & np.uint64(one_in - 1 << 40) == 0
    return found


def _of_cards(cards: pa.Array) -> npt.NDArray[np.uint64]:
    """Numbers of cards: they themselves, or made of their last letters; of other types, of their texts."""
    kind = cards.type
    if pa.types.is_integer(kind) or (
        (pa.types.is_float64(kind) or pa.types.is_temporal(kind)) and kind.bit_width <= 64
    ):
        numbers = cards if pa.types.is_integer(kind) else cards.view(pa.int64() if kind.bit_width == 64 else pa.int32())
        return np.where(present(numbers), integers(numbers), 0).astype(np.uint64)
    large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    if pa.types.is_fixed_size_binary(kind):
        cards = cards.cast(pa.binary())
    elif not (large or pa.types.is_string(kind) or pa.types.is_binary(kind)):
        cards = pa.array([str(card).encode() for card in cards.to_pylist()], pa.binary())
    found = np.zeros(len(cards), dtype=np.uint64)
    _, offsets, data = cards.buffers()
    if offsets is None or data is None or not data.size or not len(cards):
        return found
    ends = np.frombuffer(offsets, dtype=np.int64 if large else np.int32)[cards.offset : cards.offset + len(cards) + 1]
    letters, lengths = np.frombuffer(data, dtype=np.uint8), np.diff(ends)
    if LETTERS <= lengths.min() == lengths.max():  # cards that are all of one length are a square of letters
        square = letters[ends[0] : ends[-1]].reshape(len(cards), -1)
        return square[:, -LETTERS:].copy().view("<u8").ravel()
    for back in range(1, LETTERS + 1):
        there = lengths >= back
        letter = np.where(there, letters[np.where(there, ends[1:] - back, 0)], 0).astype(np.uint64)
        found |= letter << np.uint64(8 * (LETTERS - back))
    return found


def _plain(column: pa.Array) -> pa.Array:
    """Without a list of its values; in a damaged file a column that is not counted may point beyond its list."""
    if not pa.types.is_dictionary(column.type):
        return column
    try:
        return column.dictionary_decode()
    except pa.ArrowIndexError:
        return pa.nulls(len(column), column.type.value_type)
