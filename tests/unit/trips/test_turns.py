"""Rows of a card that take turns are taps; those of people who only board are not."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tapveil.trips.reading import Sample
from tapveil.trips.turns import Journeys, Turns

Row = tuple[str, str, str, str]


def turns(rows: Sequence[Row]) -> Turns:
    """Of rows of a card, a time, a place and something else."""
    card, time, place, other = (
        Sample(n, "text", list(c)) for n, c in zip("ctpo", zip(*rows, strict=True), strict=True)
    )
    return Journeys.of(card, time, None).turns([place], [other])


def at(day: int, minute: int) -> str:
    return f"2025-03-{day:02} {minute // 60:02}:{minute % 60:02}"


def there_and_back(cards: int = 200, missed: float = 0.0) -> list[Row]:
    """To work and home again, four taps a day, a few of them missed; in the order of time."""
    chance = random.Random(1)
    rows: list[Row] = []
    for card in range(cards):
        home, work = chance.sample("ABCDEFGH", 2)
        taps = [(480, home, "x"), (510, work, "y"), (1020, work, "x"), (1050, home, "y")]
        rows += [
            (f"{card}", at(1 + card % 5, minute + card % 7), place, label)
            for minute, place, label in taps
            if chance.random() >= missed
        ]
    return sorted(rows, key=lambda row: row[1])


def test_an_even_number_of_rows_places_handed_on_and_labels_in_turn_are_signs_of_taps() -> None:
    found = turns(there_and_back())
    assert len(found.signs) == 3
    assert found.label == "o"


def test_some_missed_taps_do_not_hide_them() -> None:
    assert turns(there_and_back(missed=0.02)).signs


def test_boardings_are_no_taps() -> None:
    """Some travel once a day, some three times; there and back they board at two places."""
    chance = random.Random(2)
    rows = [
        (f"{card}", at(1, 420 + 240 * number + card % 50), chance.choice("ABCDEFGH"), chance.choice("xy"))
        for card in range(300)
        for number in range(chance.choice([1, 1, 2, 2, 2, 2, 3]))
    ]
    assert turns(rows) == Turns()


def test_a_few_rows_tell_nothing() -> None:
    assert turns(there_and_back(cards=10)) == Turns()
