"""A digest of exact counts, to check that two counts of the same trips agree without keeping either.

It depends on cells and counts alone, not on their order or codes, so every engine gives the same digest. With the
digest and its key, anyone can test a guess at the counts: both are as confidential as the counts.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from tapveil.counting.exact import ExactTable
from tapveil.counting.reveal import exact_counts

CELLS_AT_ONCE = 1 << 16
Hashes = npt.NDArray[np.uint64]


def counts_hmac(tables: Mapping[str, ExactTable], key: bytes) -> str:
    """HMAC of tables. The key, 32 random bytes, makes equal counts of two releases look different."""
    said = [[name, len(exact_counts(table)), *_sum_of_cells(table, key)] for name, table in sorted(tables.items())]
    return hmac.digest(key, json.dumps(said).encode(), "sha256").hex()


def _sum_of_cells(table: ExactTable, key: bytes) -> list[int]:
    """Sum of 128 bits of each cell and its count: independent of their order, in bounded memory."""
    total, counts = np.zeros(2, dtype=np.uint64), exact_counts(table)
    labels: dict[str, Hashes] = {}
    for name, texts in sorted(table.labels.items()):
        own = blake2b(name.encode(), key=key, digest_size=32).digest()
        joined = b"".join(blake2b(label.encode(), key=own, digest_size=16).digest() for label in texts)
        labels[name] = np.frombuffer(joined, dtype="<u8").reshape(-1, 2).astype(np.uint64)
    for start in range(0, len(counts), CELLS_AT_ONCE):
        cells = np.arange(start, min(start + CELLS_AT_ONCE, len(counts)))
        codes = table.label_codes(cells)
        hashes = np.zeros((len(cells), 2), dtype=np.uint64)
        for name, of_label in labels.items():
            hashes = _mixed(hashes ^ of_label[codes[name]])
        numbers = counts[cells].astype(np.uint64)
        total += _mixed(hashes ^ numbers[:, np.newaxis]).sum(axis=0, dtype=np.uint64)
    return [int(each) for each in total]


def _mixed(numbers: Hashes) -> Hashes:
    """The bijective final mix of MurmurHash3: each bit affects all others."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        numbers = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(33))
