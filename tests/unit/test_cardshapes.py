"""What cards look like rules out most texts, and never one that is a card."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapveil.counting.cardshapes import CardShapes


def shapes(*cards: pa.Array) -> CardShapes:
    found = CardShapes()
    for each in cards:
        found.see(each)
    return found


def test_places_are_no_cards_by_their_length_or_their_letters() -> None:
    seen = shapes(pa.array(["3085000000017169", "3085000000049761", None]))
    assert not seen.may_have("200049")
    assert not seen.may_have("Ashhaven Station")  # as long as a card
    assert seen.may_have("3085000000017160")


def test_numbers_are_told_by_their_range() -> None:
    seen = shapes(pa.array([3085000000000097, 3085000161666505]), pa.array([7, 3], pa.uint8()))
    assert [seen.may_have(text) for text in ("2", "3", "200049", "3085000161666506", "Central")] == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_where_cards_are_of_an_unknown_kind_any_text_may_be_one() -> None:
    assert shapes(pa.array([1.5])).may_have("x")
    assert shapes(pa.array([" 17"])).may_have("17")
    assert shapes(pa.array(["17.0"])).may_have("17")
    assert not shapes().may_have("17")


@given(st.lists(st.none() | st.text(max_size=300), min_size=1), st.integers(0, 3), st.integers(0, 400))
def test_a_card_is_never_ruled_out(cards: list[str | None], start: int, plain: int) -> None:
    seen = shapes(pa.array([*cards, "9" * plain], pa.string())[start:])
    for card in [*cards, "9" * plain][start:]:
        assert card is None or not card.strip() or seen.may_have(card.strip())


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_a_number_is_never_ruled_out(cards: list[int | None]) -> None:
    seen = shapes(pa.array(cards, pa.int64()))
    assert all(seen.may_have(str(card)) for card in cards if card is not None)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.binary(), pa.float64(), pa.date32()])
def test_a_kind_that_is_not_known_rules_nothing_out(kind: pa.DataType) -> None:
    assert shapes(pa.nulls(2, kind)).may_have("anything")
