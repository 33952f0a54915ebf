"""The cards of a batch, as MD5: the same cards as in `scan`, where SQL reads them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.counting.direct import md5
from tapveil.counting.ranks import Words
from tapveil.counting.sql.scan import BLANKS
from tapveil.trips.buffers import Flags, present


@dataclass(frozen=True, eq=False)
class Cards:
    """The cards of some rows: their MD5, in two halves, and which rows have none."""

    first: Words
    second: Words
    none: Flags


def read(column: pa.Array, missing: Collection[str]) -> Cards:
    """The cards of a column of texts or integers; `missing` are further texts that are no card."""
    texts = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    texts = pc.cast(texts, pa.string()) if pa.types.is_integer(texts.type) else texts
    if len(odd := np.flatnonzero(_is_odd(texts))):
        flags = np.zeros(len(texts), dtype=np.bool_)
        flags[odd] = True
        texts = pc.replace_with_mask(texts, pa.array(flags), _cleaned(texts.take(pa.array(odd))))
    none = ~present(texts) | (pc.fill_null(pc.binary_length(texts), 0).to_numpy() == 0)
    if missing:
        none |= pc.is_in(texts, pa.array(sorted(missing), texts.type)).to_numpy(zero_copy_only=False)
    return Cards(*md5.digests(texts), none)


def _is_odd(texts: pa.Array) -> Flags:
    """Which texts may have a blank at either end, or end with the `.0` of a float; nearly all have neither."""
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=width)[texts.offset : texts.offset + len(texts) + 1]
    if not len(texts) or ends[0] == ends[-1]:
        return np.zeros(len(texts), dtype=np.bool_)
    letters = np.frombuffer(data, dtype=np.uint8)
    first, last = letters[np.minimum(ends[:-1], len(letters) - 1)], letters[np.maximum(ends[1:] - 1, 0)]
    # Blanks are at most a space, or beyond ASCII. Of an empty text these are letters of others: it stays empty.
    odd: Flags = (first <= ord(" ")) | (first >= 0x80) | (last <= ord(" ")) | (last >= 0x80)
    odd |= (last == ord("0")) & (letters[np.maximum(ends[1:] - 2, 0)] == ord("."))
    return odd


def _cleaned(texts: pa.Array) -> pa.Array:
    """Without blanks; `7.0`, which passed through a float, is the card `7`."""
    stripped = pc.utf8_trim(texts, characters=BLANKS)
    return pc.replace_substring_regex(stripped, pattern=r"^([0-9]+)\.0$", replacement=r"\1")
