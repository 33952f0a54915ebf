"""MD5 of many texts at once is MD5."""

from __future__ import annotations

from hashlib import md5

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapveil.counting.direct.md5 import digests


def hexadecimal(texts: pa.Array) -> list[str]:
    first, second = digests(texts)
    return [f"{one:016x}{other:016x}" for one, other in zip(first.tolist(), second.tolist(), strict=True)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_every_length_has_its_digest(kind: pa.DataType) -> None:
    texts = ["x" * length for length in range(130)]
    assert hexadecimal(pa.array(texts, kind)) == [
        md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts
    ]


@given(texts=st.lists(st.text(max_size=80), max_size=30), start=st.integers(0, 5))
def test_any_texts_have_their_digests(texts: list[str], start: int) -> None:
    assert hexadecimal(pa.array(texts, pa.string())[start:]) == [
        md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts[start:]
    ]


def test_more_texts_than_are_digested_at_once() -> None:
    texts = [str(number) for number in range(40_000)]
    assert hexadecimal(pa.array(texts)) == [md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts]
