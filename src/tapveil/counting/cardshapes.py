"""What the cards of the trips look like: enough to tell that a text is none of them, without a second look.

Before anything is published, its texts are compared with the cards (`guard`). Most texts are shorter than any card, or
smaller numbers: for those it is enough to know how long cards are, or from where to where they go. Where that does not
settle it, the cards themselves are read again.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa

LONGEST = 255
"""Cards of this length or more count as this long."""
_WHOLE = re.compile("-?[0-9]+")


class CardShapes:
    """How long the cards are that were seen, and from which letter to which; or numbers, from which to which."""

    def __init__(self) -> None:
        self._lengths: npt.NDArray[np.bool_] = np.zeros(LONGEST + 1, dtype=np.bool_)
        self._letters = (0xFF, 0x00)
        self._numbers: tuple[int, int] | None = None
        self._known = True

    def see(self, cards: pa.Array) -> None:
        """Look at some more cards."""
        if not len(cards):
            return
        if pa.types.is_integer(cards.type):
            self._see_numbers(cards)
        elif pa.types.is_string(cards.type):
            self._see_texts(cards)
        else:
            self._known = False

    def may_have(self, text: str) -> bool:
        """Whether a text may be one of the cards."""
        letters, (low, high) = text.encode(), self._letters
        as_text = self._lengths[min(len(letters), LONGEST)] and all(low <= letter <= high for letter in letters)
        as_number = self._numbers and _WHOLE.fullmatch(text) and self._numbers[0] <= int(text) <= self._numbers[1]
        return not self._known or bool(as_text or as_number)

    def _see_numbers(self, cards: pa.Array) -> None:
        sign = "u" if pa.types.is_unsigned_integer(cards.type) else "i"
        stored = np.frombuffer(cards.buffers()[1], dtype=f"{sign}{cards.type.bit_width // 8}")
        numbers = stored[cards.offset : cards.offset + len(cards)]  # where there is none, anything: more may be a card
        low, high = int(numbers.min()), int(numbers.max())
        before = self._numbers or (low, high)
        self._numbers = min(low, before[0]), max(high, before[1])

    def _see_texts(self, cards: pa.Array) -> None:
        _, offsets, data = cards.buffers()
        ends = np.frombuffer(offsets, dtype=np.int32)[cards.offset : cards.offset + len(cards) + 1]
        if ends[0] == ends[-1]:
            return
        letters = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
        low, high = int(letters.min()), int(letters.max())
        self._letters = min(low, self._letters[0]), max(high, self._letters[1])
        # Blanks around a card, and the `.0` of one that passed through a float, do not belong to it (`scan`).
        if low <= ord(" ") or high >= 0x7F or b"." in letters.tobytes():
            self._known = False
        self._lengths[np.minimum(np.diff(ends), LONGEST)] = True
