"""The SQL that counts, written once.

    trips      the used columns of all files, raw
    raw_values every distinct raw value of the text columns          (one pass over the files)
    code_…     raw value → code, one table per text column
    counted    the packed key of each cell, and its count, for every maximal set of columns
                                                                     (one pass over the files)

Where the unit of protection is a card or a card's day, its trips are bounded before they are counted:

    rows       every row with its card, its day, its keys, and a pseudo-random rank from its own values
                                                                     (instead of `counted`; one pass over the files)
    kept       the rows with the least ranks of each card and day, and of each card
               each table then counts, for every cell, the units in it: a unit counts once

A key is a plain sum: of codes times strides, and of reasons to refuse the row, which make it negative. So the one pass
also counts refusals, and no row needs a decision. Smaller tables are summed from `counted`, not from the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tapveil.base.vocabulary import COUNT
from tapveil.counting import ranks
from tapveil.counting.coding import Column, Reasons, Recoding
from tapveil.counting.packing import Packing
from tapveil.counting.sql.scan import CARD_TEXT, LINE, UNSURE_CARD, literal, quoted, refusal_column
from tapveil.plan.model import Plan


def raw_values_sql(columns: Sequence[Column]) -> str:
    """Every distinct raw value of every text column, in one pass: a row has one value, in its own column."""
    texts = [quoted(column.name) for column in columns if not column.arithmetic]
    sets = ", ".join(f"({name})" for name in texts)
    return f"SELECT {', '.join(texts)} FROM trips GROUP BY GROUPING SETS ({sets})"


def raw_values_of_sql(column: Column) -> str:
    """The raw values of one column: unchanged for the engine, and as text for Python."""
    name = quoted(column.name)
    return f"SELECT {name} AS raw_value, CAST({name} AS VARCHAR) AS text FROM raw_values WHERE {name} IS NOT NULL"


def code_table(column: Column) -> str:
    """The table of a column's raw values: `raw_value`, `code`, and `refusal`, a reason to refuse the row or 0.

    Where cards are counted, also `number` (`ranks`). Where modes have their own lookups, `code_1`, … is the change of
    the code for the first of these modes, …, as is `number_1`; in the table of `mode`, `is_1`, … is 1 for that mode.
    """
    return f"code_{column.name}"


def code_sql(column: Column) -> str:
    if column.arithmetic:
        return f"trips.{quoted(column.name)}"
    return _by_mode_sql(column, "code")


def _by_mode_sql(column: Column, what: str) -> str:
    table = quoted(code_table(column))
    more = (f" + {quoted('code_mode')}.is_{n} * {table}.{what}_{n}" for n in range(1, len(column.for_mode) + 1))
    return f"({table}.{what}{''.join(more)})"


@dataclass(frozen=True)
class CellSet:
    """A set of columns whose cells are counted directly from the rows."""

    index: int
    packing: Packing

    @property
    def words(self) -> list[str]:
        """The columns of `counted` with the keys of this set."""
        return [quoted(f"key_{self.index}_{word}") for word in range(self.packing.words)]

    @property
    def is_cell(self) -> str:
        """A condition for rows of `counted` that are cells of this set: not of another set, and not refused."""
        return f"{self.words[0]} >= 0"


@dataclass(frozen=True)
class TableCells:
    """The cells of a table: their layout, the set of columns they are summed from, and the recoding of its columns."""

    packing: Packing
    source: CellSet
    recodings: Mapping[str, Recoding]
    labels: Mapping[str, tuple[str, ...]]

    @property
    def words(self) -> list[str]:
        return [f"word_{index}" for index in range(self.packing.words)]

    @property
    def selected(self) -> str:
        """SQL for the words of a cell, from those of its set."""
        codes = self.source.packing.unpack_sql(self.source.words)
        mode = codes.get("mode", "0")
        coarser = {column: recoding.sql(codes[column], mode) for column, recoding in self.recodings.items()}
        packed = self.packing.pack_sql(codes | coarser)
        return ", ".join(f"{expression} AS {word}" for expression, word in zip(packed, self.words, strict=True))


def maximal_sets(key_columns: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The sets of columns that no other set contains.

    >>> maximal_sets([("m", "t"), ("m", "l"), ("m", "t", "l")])
    [('m', 't', 'l')]
    """
    wanted = list(dict.fromkeys(key_columns))
    return [one for one in wanted if not any(set(one) < set(other) for other in wanted)]


def _keys_sql(columns: Sequence[Column], sets: Sequence[CellSet], more_refusals: str = "") -> str:
    """The key of a row in every set: its packed codes, plus its reasons to be refused."""
    codes = {column.name: code_sql(column) for column in columns}
    refusals = refusals_of_row_sql(columns) + more_refusals
    return ", ".join(
        f"{packed}{refusals if number == 0 else ''} AS {word}"
        for cell_set in sets
        for number, (word, packed) in enumerate(zip(cell_set.words, cell_set.packing.pack_sql(codes), strict=True))
    )


def refusals_of_row_sql(columns: Sequence[Column]) -> str:
    """The refusals that the values of a row add to its key."""
    refusals = (
        f"trips.{refusal_column(column)}" if column.arithmetic else f"{quoted(code_table(column))}.refusal"
        for column in columns
        if column.refuses
    )
    return "".join(f" + {refusal}" for refusal in refusals)


def joins_sql(columns: Sequence[Column]) -> str:
    """The codes of all raw values, joined to the row.

    Every raw value has a row, and so has NULL: a trip without a match was not there in the first pass.
    """
    names = {quoted(column.name): quoted(code_table(column)) for column in columns if not column.arithmetic}
    same = "IS NOT DISTINCT FROM"
    return " ".join(f"LEFT JOIN {table} ON trips.{name} {same} {table}.raw_value" for name, table in names.items())


def refused_rows_sql(columns: Sequence[Column], card: Column | None, reasons: Reasons, few: int) -> str:
    """The positions of the first rows of each refusal.

    No file has a number below 0. This condition makes the engine read the files even if no column can refuse a row, so
    that the reader locates the lines that are not rows.
    """
    refusal = f"0{refusals_of_row_sql(columns)}{card_refusal_sql(card, reasons) if card else ''}"
    return (
        f"SELECT refusal, place FROM (SELECT {refusal} AS refusal, {LINE} AS place FROM trips {joins_sql(columns)}) "
        f"WHERE refusal < 0 OR place[2] < 0 QUALIFY row_number() OVER (PARTITION BY refusal ORDER BY place) <= {few}"
    )


def counted_sql(columns: Sequence[Column], sets: Sequence[CellSet]) -> str:
    """The trips of every cell of every maximal set, and its rows; and the rows of every reason to refuse.

    A row is one trip, or as many as its number says: `trips_of_row`, in the table of codes of that column.
    """
    words = ", ".join(word for cell_set in sets for word in cell_set.words)
    groups = ", ".join(f"({', '.join(cell_set.words)})" for cell_set in sets)
    number = next((f"{quoted(code_table(column))}.trips_of_row" for column in columns if column.name == COUNT), "1")
    rows = f"SELECT {_keys_sql(columns, sets)}, {number} AS trips_of_row FROM trips {joins_sql(columns)}"
    trips = "count(*)" if number == "1" else "CAST(sum(trips_of_row) AS BIGINT)"
    return f"SELECT {words}, {trips} AS n, count(*) AS row_count FROM ({rows}) GROUP BY GROUPING SETS ({groups})"


def rows_sql(columns: Sequence[Column], sets: Sequence[CellSet], card: Column, reasons: Reasons) -> str:
    """Every row: its card, its day, its keys, and its pseudo-random rank, which decides whether it is kept if its card
    has too many.

    What the rank is made of: see `ranks`.
    """
    keys = _keys_sql(columns, sets, card_refusal_sql(card, reasons))
    day = next((code_sql(column) for column in columns if column.name == "date"), "0")
    rank = ranks.rank_sql(f"trips.{CARD_TEXT}", [number_sql(column) for column in columns])
    return f"SELECT trips.{CARD_TEXT} AS card, {day} AS day, {rank} AS rank, {keys} FROM trips {joins_sql(columns)}"


def number_sql(column: Column) -> str:
    """The number of a row's label, for its rank."""
    if column.fixed_labels:
        return f"(CAST({code_sql(column)} AS BIGINT) + 1) * {ranks.step(column)}"
    return _by_mode_sql(column, "number")


def card_refusal_sql(card: Column, reasons: Reasons) -> str:
    """Refusals for the card: it is missing, or a number that a float cannot hold exactly."""
    unsure = f" + CASE WHEN trips.{CARD_TEXT} = {literal(UNSURE_CARD)} THEN {reasons.unreadable(card)} ELSE 0 END"
    if card.missing is not None:
        return unsure
    return f" + CASE WHEN trips.{CARD_TEXT} IS NULL THEN {reasons.missing(card)} ELSE 0 END{unsure}"


def kept_sql(plan: Plan, sets: Sequence[CellSet], share: str) -> str:
    """The rows that are counted: for each card and day, no more than the plan allows.

    A row without a card is its own unit. `share` is a condition on cards: all rows of a card satisfy it, or none.
    """
    words = ", ".join(word for cell_set in sets for word in cell_set.words)
    rows = f"FROM rows WHERE {sets[0].is_cell} AND {share}"
    kept = f"SELECT card, day, rank, {words} {rows} AND card IS NOT NULL"
    for most, unit in ((plan.privacy.trips_per_day, "card, day"), (plan.privacy.trips_per_card, "card")):
        if most is not None:
            order = f"PARTITION BY {unit} ORDER BY rank, {words}"
            ranked = f"SELECT *, row_number() OVER ({order}) AS position FROM ({kept})"
            kept = f"SELECT card, day, rank, {words} FROM ({ranked}) WHERE position <= {most}"
    alone = f"SELECT card, day, rank, {words} {rows} AND card IS NULL"
    return f"SELECT card, day, {words} FROM ({kept} UNION ALL {alone})"


def units_sql(plan: Plan, cells: TableCells, most: int = 1) -> str:
    """The cells of a table with the trips that units have there; each unit counts `most` times at most."""
    unit = "card, day" if plan.privacy.unit == "card-day" else "card"
    key = ", ".join(cells.words)
    return (
        f"WITH placed AS (SELECT card, day, {cells.selected} FROM kept), "
        f"bounded AS ({_bounded_sql(unit, key, most)}), "
        f"every AS (SELECT {key}, n FROM bounded UNION ALL SELECT {key}, 1 AS n FROM placed WHERE card IS NULL) "
        f"SELECT {key}, CAST(sum(n) AS BIGINT) AS n FROM every GROUP BY {key}"
    )


def _bounded_sql(unit: str, key: str, most: int) -> str:
    """Every unit in every cell that it is in, with the number of its trips there that count."""
    placed = "FROM placed WHERE card IS NOT NULL"
    if most == 1:
        return f"SELECT DISTINCT {unit}, {key}, 1 AS n {placed}"
    return f"SELECT {unit}, {key}, least(count(*), {most}) AS n {placed} GROUP BY {unit}, {key}"


def units_table(name: str) -> str:
    """The name of the table with the cells of a table of the plan, for all shares of cards."""
    return f"units_{name}"


def all_units_sql(name: str, cells: TableCells) -> str:
    """The cells of all shares together."""
    words = ", ".join(cells.words)
    return f"SELECT {words}, CAST(sum(n) AS BIGINT) AS n FROM {quoted(units_table(name))} GROUP BY {words}"


def strays_sql(sets: Sequence[CellSet]) -> str:
    """Rows with a raw value that the first pass did not see: their key is missing, or a part of it."""
    nowhere = " AND ".join(f"{word} IS NULL" for cell_set in sets for word in cell_set.words)
    partly = (f" OR ({cell_set.words[0]} IS NULL) <> ({word} IS NULL)" for cell_set in sets for word in cell_set.words)
    return f"SELECT count(*) FROM counted WHERE ({nowhere}){''.join(partly)}"


def table_sql(name: str, cells: TableCells) -> str:
    """The cells of a table, summed from a maximal set that has all its columns."""
    words, source = ", ".join(cells.words), cells.source
    if cells.packing.columns == source.packing.columns and not cells.recodings:  # exactly the cells of the set
        selected = ", ".join(f"{theirs} AS {ours}" for theirs, ours in zip(source.words, cells.words, strict=True))
        return f"SELECT {selected}, n FROM counted WHERE {source.is_cell} AND n > 0"
    return (
        f"SELECT {words}, CAST(sum(n) AS BIGINT) AS n "
        f"FROM (SELECT {cells.selected}, n FROM counted WHERE {source.is_cell} AND n > 0) GROUP BY {words}"
    )
