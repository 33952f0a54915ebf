"""Which trips of a card are kept: one rule, by NumPy and by SQL, that favours no cell."""

from __future__ import annotations

from collections import Counter
from hashlib import md5

import duckdb
import numpy as np

from tapveil.counting import ranks
from tapveil.counting.coding import Code, Column


def halves(cards: list[str]) -> ranks.Words:
    return np.array(
        [int(md5(card.encode(), usedforsecurity=False).hexdigest()[:16], 16) for card in cards], dtype=np.uint64
    )


def test_numpy_and_sql_give_the_same_ranks() -> None:
    chance = np.random.default_rng(1)
    cards = [f"card {number}" for number in range(2000)]
    labels = chance.integers(0, 12 * ranks.PRIME, len(cards))
    labels[:3] = 0, ranks.PRIME - 1, ranks.PRIME
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (card VARCHAR, n BIGINT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(zip(cards, labels.tolist(), strict=True)))
        by_sql = connection.execute(f"SELECT {ranks.rank_sql('md5(card)', ['n', '0'])} FROM t").fetchnumpy()
    assert ranks.ranks(halves(cards), labels).tolist() == next(iter(by_sql.values())).tolist()


def test_no_trip_of_a_card_is_favoured() -> None:
    """Two ways at five hours: each of ten trips is the first of a card as often as any other."""
    hours = ranks.numbers(
        Code(Column("tap_on_time", "text", "time", "", str, fixed_labels=tuple("abcde")), tuple("abcde"))
    )
    ways = ranks.numbers(Code(Column("way", "text", "label", "", str), ("from home", "from work")))
    trips = np.add.outer(hours, ways).reshape(-1)
    cards = halves([str(number) for number in range(20_000)])
    every = np.stack([ranks.ranks(cards, np.full(len(cards), trip)) for trip in trips])
    first = Counter(every.argmin(axis=0).tolist())
    assert all(abs(first[trip] - 2000) < 5 * 2000**0.5 for trip in range(10))


def test_the_number_of_a_label_follows_from_it_alone() -> None:
    column = Column("line", "text", "label", "", str)
    few, many = (
        dict(zip(each, ranks.numbers(Code(column, each)).tolist(), strict=True)) for each in (("b",), ("a", "b"))
    )
    assert few["b"] == many["b"] != many["a"]
