"""What cards look like rules out most texts, and never one that is a card."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapveil.counting import card_ids
from tapveil.counting.card_ids import CardShapes, are_numbers, numbers_among
from tapveil.trips.files import FileGroup, TripFiles

USUAL = [f"30850000{number:08d}" for number in range(card_ids.RARE + 1)]


def shapes(*seen: pa.Array) -> CardShapes:
    found = CardShapes()
    for each in seen:
        found.see(each)
    return found


def test_places_are_no_cards_by_their_length_or_their_letters() -> None:
    seen = shapes(pa.array([*USUAL, None]))
    assert seen.settle(["200049", "Ashhaven Station", "3085000099999999"]) == (set(), ["3085000099999999"])


def test_cards_unlike_the_rest_are_known_as_they_are_and_change_nothing_else() -> None:
    seen = shapes(pa.array([*USUAL, "stop1", " 17 ", "21.0", "Žižkov"]))
    texts = ["stop1", "17", "21", "Žižkov", "stop2", "Ashhaven Station", "200049"]
    assert seen.settle(texts) == ({"stop1", "17", "21", "Žižkov"}, [])


def test_where_cards_are_of_all_kinds_any_text_may_be_one() -> None:
    assert shapes(pa.array([f"{n} " for n in range(5 * card_ids.RARE)])).settle(["x"]) == (set(), ["x"])


@given(st.lists(st.none() | st.text(max_size=300), min_size=1), st.integers(0, 3), st.integers(0, 400))
def test_a_card_is_never_ruled_out(some: list[str | None], start: int, plain: int) -> None:
    seen = shapes(pa.array([*some, "9" * plain], pa.string())[start:])
    for card in [*some, "9" * plain][start:]:
        if card and card.strip():
            found, in_question = seen.settle([card.strip()])
            assert found or in_question


@pytest.mark.parametrize("kind", [pa.large_string(), pa.binary(), pa.float64(), pa.date32()])
def test_a_kind_that_is_not_known_rules_nothing_out(kind: pa.DataType) -> None:
    assert shapes(pa.nulls(2, kind)).settle(["anything"]) == (set(), ["anything"])


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint8", "uint16", "uint64"])
def test_numbers_are_found_among_numbers(tmp_path: Path, kind: str) -> None:
    typed = getattr(pa, kind)()
    largest = 2 ** (typed.bit_width - (kind[0] != "u")) - 1
    pq.write_table(pa.table({"card": pa.array([7, None, 100, largest], typed)}), tmp_path / "trips.parquet")
    files = TripFiles((FileGroup("parquet", ("card",), ("integer",), "", (tmp_path / "trips.parquet",)),))
    assert are_numbers(files, "card")
    texts = ["7", "07", "0", "-7", " 7", "100", "101", str(largest), str(largest + 1), "9" * 5000, "Central", "-1"]
    assert numbers_among(texts, files, "card") == {"7", "100", str(largest)}
    assert numbers_among([], files, "card") == set()
