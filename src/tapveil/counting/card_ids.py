"""Which texts are card IDs in the trips: everything published is compared with them first (`veil.leak_guard`).

Numbers in Parquet are read a second time, only that column. Texts would have to be parsed again, so the counting pass
records their lengths and letters, which rule out nearly every place name. Unusual cards are kept as they are: a single
one causes no extra work, which somebody might notice. In cases that remain open, the engine reads the cards again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tapveil.base.errors import TripDataError
from tapveil.trips.buffers import Positions
from tapveil.trips.files import DAMAGED, TripFiles
from tapveil.trips.parquet_reader import UNREADABLE, is_valid

LONGEST = 255
"""Longer cards count as this long."""
RARE = 10_000
"""Up to this many cards of one length are kept as they are; for more common lengths only the letters are recorded."""
_WHOLE = re.compile("0|-?[1-9][0-9]{0,19}")
_OF_A_FLOAT = re.compile(r"\A([0-9]+)\.0\Z")


def are_numbers(files: TripFiles, column: str) -> bool:
    """Whether all files are Parquet with cards as integers."""
    return all(group.format == "parquet" and group.type_of(column) == "integer" for group in files.groups)


def numbers_among(texts: Sequence[str], files: TripFiles, column: str) -> set[str]:
    """Which texts are cards, where cards are integers in Parquet.

    Reads only that column, and only row groups whose minimum and maximum leave room for a match.
    """
    wanted = sorted(int(text) for text in texts if _WHOLE.fullmatch(text))
    found: set[str] = set()
    try:
        for path in (path for group in files.groups for path in group.paths if wanted):
            with pq.ParquetFile(path) as file:
                index = file.schema_arrow.names.index(column)
                for number in range(file.num_row_groups):
                    if _may_hold(file.metadata.row_group(number).column(index).statistics, wanted):
                        for batch in file.iter_batches(row_groups=[number], columns=[column]):
                            cards = pc.unique(batch.column(0)).to_pylist()
                            found.update(str(card) for card in set(wanted).intersection(cards))
    except DAMAGED:
        raise TripDataError(UNREADABLE) from None
    return found


def _may_hold(statistics: pq.Statistics | None, wanted: Sequence[int]) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    first = bisect_left(wanted, int(statistics.min))
    return first < len(wanted) and wanted[first] <= int(statistics.max)


class CardShapes:
    """The lengths and letters of text cards; unusual cards are kept as they are."""

    def __init__(self) -> None:
        self._numbers = np.zeros(LONGEST + 1, dtype=np.int64)
        self._letters = (0xFF, 0x00)
        self._rare: set[str] = set()
        self._known = True

    def see(self, cards: pa.Array) -> None:
        """Record more cards. Texts that are not UTF-8 are left to the engine."""
        if not pa.types.is_string(cards.type) or not is_valid(cards):
            self._known = False
        if not self._known or not len(cards):
            return
        _, offsets, data = cards.buffers()
        ends = np.frombuffer(offsets, dtype=np.int32)[cards.offset : cards.offset + len(cards) + 1]
        if ends[0] == ends[-1]:
            return
        letters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
        lengths = np.minimum(np.diff(ends), LONGEST)
        self._numbers += np.bincount(lengths, minlength=LONGEST + 1)
        odd = (self._numbers <= RARE)[lengths]
        odd[np.searchsorted(ends - ends[0], _unusual(letters), side="right") - 1] = True
        # As they are, but without blanks and without the `.0` of one that passed through a float (`scan`).
        rare = (card.strip() for card in cards.filter(pa.array(odd)).to_pylist() if card)
        self._rare.update(_OF_A_FLOAT.sub(r"\1", card) for card in rare)
        if len(self._rare) > 4 * RARE:
            self._known, self._rare = False, set()
        if odd.any():
            letters = letters[~np.repeat(odd, np.diff(ends))]
        if len(letters):
            self._letters = min(int(letters.min()), self._letters[0]), max(int(letters.max()), self._letters[1])

    def settle(self, texts: Sequence[str]) -> tuple[set[str], list[str]]:
        """Which texts are cards, and which may be cards and must be looked up."""
        if not self._known:
            return set(), list(texts)
        low, high = self._letters

        def looks_usual(letters: bytes) -> bool:
            usual = self._numbers[min(len(letters), LONGEST)] > RARE
            return bool(usual) and all(low <= letter <= high for letter in letters)

        return self._rare.intersection(texts), [text for text in texts if looks_usual(text.encode())]


def _unusual(letters: npt.NDArray[np.uint8]) -> Positions:
    """Positions of letters that comparison may strip or change: blanks, dots and non-ASCII."""
    if letters.min() > ord(" ") and letters.max() < 0x7F and b"." not in letters.tobytes():
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero((letters <= ord(" ")) | (letters >= 0x7F) | (letters == ord(".")))
