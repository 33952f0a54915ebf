"""The SQL that counts, written once.

    trips      the used columns of all files, raw
    raw_values every distinct raw value of the text columns          (one pass over the files)
    code_…     raw value → code, one table per text column
    counted    the packed key of each cell, and its count, for every maximal set of columns
                                                                     (one pass over the files)

Where another pass over the trips costs little, and their raw values have few combinations, rows are grouped by these
first:

    groups_…   the rows of each combination of raw values, for every maximal set of columns
                                                                     (one pass over the trips for each)
    code_…, counted    as above, but from the groups

Where every query costs much, these groups are made for all sets in one pass, as the table `groups`, if they are no more
than the cells.

Where the unit of protection is a card or a card's day, its trips are bounded before they are counted:

    rows       every row with its card, its day, its keys, and a pseudo-random rank from its own values
                                                                     (one pass over the files)
    counted    the cells of every table, with the units in them: of each card and day, and of each card, the rows with
               the least ranks are kept, and a unit counts once

A key is a plain sum: of codes times strides, and of reasons to refuse the row, which make it negative. So the one pass
also counts refusals, and no row needs a decision. Smaller tables are summed from `counted`, not from the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from tapveil.base.vocabulary import COUNT
from tapveil.counting import ranks
from tapveil.counting.coding import Column, Reasons, Recoding
from tapveil.counting.packing import Packing
from tapveil.counting.sql.scan import CARD_HASH, CARD_TEXT, LINE, UNSURE_CARD, literal, quoted, refusal_column
from tapveil.plan.model import Plan


def raw_values_sql(columns: Sequence[Column], rows: str = "trips") -> str:
    """Every distinct raw value of every text column, in one pass: a row has one value, in its own column.

    Unchanged for the engine, and as text for Python.
    """
    names = [column.name for column in columns if not column.arithmetic]
    raw = ", ".join(map(quoted, names))
    texts = ", ".join(f"CAST({quoted(name)} AS VARCHAR) AS {quoted(text_of(name))}" for name in names)
    sets = ", ".join(f"({quoted(name)})" for name in names)
    return f"SELECT {raw}, {texts} FROM (SELECT {raw} FROM {rows} GROUP BY GROUPING SETS ({sets}))"


def text_of(name: str) -> str:
    """The column with the raw values of a column as text; names of the plan cannot contain a #."""
    return f"#text {name}"


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
    def packed(self) -> list[str]:
        """SQL for the words of a cell, from those of its set."""
        if self.packing.columns == self.source.packing.columns and not self.recodings:  # exactly the cells of the set
            return self.source.words
        codes = self.source.packing.unpack_sql(self.source.words)
        mode = codes.get("mode", "0")
        coarser = {column: recoding.sql(codes[column], mode) for column, recoding in self.recodings.items()}
        return self.packing.pack_sql(codes | coarser)

    @property
    def selected(self) -> str:
        """The same, with the names of the words."""
        return ", ".join(f"{expression} AS {word}" for expression, word in zip(self.packed, self.words, strict=True))


def maximal_sets(key_columns: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The sets of columns that no other set contains.

    >>> maximal_sets([("m", "t"), ("m", "l"), ("m", "t", "l")])
    [('m', 't', 'l')]
    """
    wanted = list(dict.fromkeys(key_columns))
    return [one for one in wanted if not any(set(one) < set(other) for other in wanted)]


def _keys_sql(columns: Sequence[Column], sets: Sequence[CellSet], refusals: str, refused: Sequence[CellSet]) -> str:
    """The key of a row in every set: its packed codes; in some sets, plus its reasons to be refused."""
    codes = {column.name: code_sql(column) for column in columns}
    return ", ".join(
        f"{packed}{refusals if number == 0 and cell_set in refused else ''} AS {word}"
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
    """The trips of every cell of every maximal set, and its rows; and the rows of every reason to refuse."""
    words = ", ".join(word for cell_set in sets for word in cell_set.words)
    groups = ", ".join(f"({', '.join(cell_set.words)})" for cell_set in sets)
    number = _trips_of_row(columns)
    keys = _keys_sql(columns, sets, refusals_of_row_sql(columns), sets)
    rows = f"SELECT {keys}, {number} AS trips_of_row FROM trips {joins_sql(columns)}"
    trips = "count(*)" if number == "1" else "CAST(sum(trips_of_row) AS BIGINT)"
    return f"SELECT {words}, {trips} AS n, count(*) AS row_count FROM ({rows}) GROUP BY GROUPING SETS ({groups})"


def grouped_columns(columns: Sequence[Column], key: Collection[str]) -> list[Column]:
    """What rows are grouped by for a set of columns: these, what decides their meaning, and the number of trips."""
    lookups = any(column.for_mode for column in columns if column.name in key)
    return [each for each in columns if each.name in key or each.name == COUNT or (lookups and each.name == "mode")]


def _group(columns: Sequence[Column], key: Collection[str]) -> list[str]:
    return [quoted(column.name) for column in grouped_columns(columns, key)]


def groups_sql(columns: Sequence[Column], key: Collection[str], trips: str) -> str:
    """The rows of every combination of raw values of a set: one pass, in which hardly anything is computed."""
    group = ", ".join([*_group(columns, key), "refused"])
    typed = refusals_of_row_sql([column for column in columns if column.arithmetic])
    rows = (
        f"SELECT {', '.join([*_group(columns, key), f'CAST(0{typed} AS BIGINT) AS refused'])} FROM ({trips}) AS trips"
    )
    return f"SELECT {group}, count(*) AS row_count FROM ({rows}) GROUP BY {group}"


def number_of_groups_sql(columns: Sequence[Column], keys: Sequence[Collection[str]], trips: str, most: int) -> str:
    """How many of these combinations each set has, among as many rows."""
    texts = (", ".join([f"CAST({each} AS VARCHAR)" for each in _group(columns, key)] or ["''"]) for key in keys)
    numbers = ", ".join(f"count(DISTINCT concat_ws('|', {each})) AS groups_{n}" for n, each in enumerate(texts))
    return f"SELECT count(*) AS row_count, {numbers} FROM (SELECT * FROM ({trips}) AS trips LIMIT {most}) AS first_rows"


def group_table(index: int) -> str:
    """The table of the groups of a set."""
    return f"groups_{index}"


ALL_GROUPS = "groups"
"""The groups of all sets in one table. Of `absent`, a bit is 1 for each column that is not in the set of a group."""


def all_groups_sql(plan: Plan, columns: Sequence[Column], keys: Sequence[Collection[str]], trips: str) -> str:
    """The rows of every combination of raw values of every set: one pass for all of them."""
    typed = refusals_of_row_sql([column for column in columns if column.arithmetic])
    values = [f"{_within_days_sql(plan, column)} AS {quoted(column.name)}" for column in columns]
    rows = f"SELECT {', '.join([*values, f'CAST(0{typed} AS BIGINT) AS refused'])} FROM ({trips}) AS trips"
    sets = ", ".join(f"({', '.join(['refused', *_group(columns, key)])})" for key in keys)
    names = ", ".join(_of_any_group(columns, keys))
    counted = f"SELECT {names}, grouping_id({names}) AS absent, count(*) AS row_count"
    return f"{counted} FROM ({rows}) GROUP BY GROUPING SETS ({sets})"


def groups_of_sql(columns: Sequence[Column], keys: Sequence[Collection[str]], index: int) -> str:
    """The groups of a set, among all of them."""
    inside = ["refused", *_group(columns, keys[index])]
    names = reversed(_of_any_group(columns, keys))
    absent = sum(1 << place for place, name in enumerate(names) if name not in inside)
    return f"(SELECT {', '.join(inside)}, row_count FROM {ALL_GROUPS} WHERE absent = {absent})"


def _of_any_group(columns: Sequence[Column], keys: Sequence[Collection[str]]) -> list[str]:
    """In the order in which the sets name them, as Spark wants it."""
    return list(dict.fromkeys(["refused", *(name for key in keys for name in _group(columns, key))]))


def _within_days_sql(plan: Plan, column: Column) -> str:
    """A raw value; all days before those that the plan covers are one, and so are all days after them."""
    value, first, last = f"trips.{quoted(column.name)}", plan.source.first_day, plan.source.last_day
    if column.kind != "date" or not column.covers or not first or not last or first == date.min or last == date.max:
        return value
    before, after = first - timedelta(days=1), last + timedelta(days=1)
    return (
        f"CASE WHEN {value} BETWEEN DATE '{date.min}' AND DATE '{before}' THEN DATE '{before}' "
        f"WHEN {value} BETWEEN DATE '{after}' AND DATE '{date.max}' THEN DATE '{after}' ELSE {value} END"
    )


def counted_groups_sql(columns: Sequence[Column], sets: Sequence[CellSet], tables: Sequence[str]) -> str:
    """The same as `counted_sql`, from groups of rows. Only for columns that refuse no row of another set's groups."""
    parts = []
    for cell_set in sets:
        inside = grouped_columns(columns, cell_set.packing.columns)
        texts = [column for column in inside if not column.arithmetic]
        keys = _keys_sql(inside, [cell_set], f" + trips.refused{refusals_of_row_sql(texts)}", [cell_set])
        groups = f"SELECT {keys}, {_trips_of_row(inside)} * row_count AS n, row_count "
        groups += f"FROM {tables[cell_set.index]} AS trips {joins_sql(texts)}"
        words = ", ".join(
            f"{word if each is cell_set else 'CAST(NULL AS BIGINT)'} AS {word}" for each in sets for word in each.words
        )
        sums = ", ".join(f"CAST(sum({each}) AS BIGINT) AS {each}" for each in ("n", "row_count"))
        parts.append(f"SELECT {words}, {sums} FROM ({groups}) GROUP BY {', '.join(cell_set.words)}")
    return " UNION ALL ".join(parts)


def _trips_of_row(columns: Sequence[Column]) -> str:
    """A row is one trip, or as many as its number says."""
    return next((f"{quoted(code_table(column))}.trips_of_row" for column in columns if column.name == COUNT), "1")


def rows_sql(columns: Sequence[Column], sets: Sequence[CellSet], card: Column, reasons: Reasons) -> str:
    """Every row: its card, its day, its keys, and its pseudo-random rank, which decides whether it is kept if its card
    has too many.

    What the rank is made of: see `ranks`.
    """
    # Whether a row counts is seen in its first key (`bounded_sql`).
    refusals = refusals_of_row_sql(columns) + card_refusal_sql(card, reasons)
    keys = _keys_sql(columns, sets, refusals, sets[:1])
    day = next((code_sql(column) for column in columns if column.name == "date"), "0")
    rank = ranks.rank_sql(f"trips.{CARD_HASH}", [number_sql(column) for column in columns])
    trips = f"(SELECT *, md5({CARD_TEXT}) AS {CARD_HASH} FROM trips) AS trips"
    return f"SELECT trips.{CARD_TEXT} AS card, {day} AS day, {rank} AS rank, {keys} FROM {trips} {joins_sql(columns)}"


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


STRAY, BEYOND = -(2**62), -(2**61)
"""Instead of a key: of a row with a value that the first pass did not see, and of one beyond the bound of its unit."""
ALONE = "who LIKE ' %'"
"""Rows without a card, and refused ones, are nobody's. No card begins with a blank, since cards are stripped."""


def units_sql(plan: Plan, sets: Sequence[CellSet], tables: Sequence[TableCells], share: str = "true") -> str:
    """The cells of all tables (`table_number`) with the trips that units have there: `n`, of `row_count` rows.

    For each card and day no more rows than the plan allows are kept, and each unit counts `most_per_cell` times at
    most. A row without a card is its own unit. Every row goes through it once, is sent to its card once, and stays
    there: then a cluster need not sort again. So those that are refused or left out go on as well, in the first table
    and with a negative word. `share` is a condition on cards: all rows of a card satisfy it, or none.
    """
    number = "CASE table_number" + "".join(f" WHEN {index} THEN {{{index}}}" for index in range(len(tables))) + " END"
    most = most_per_cell(plan)
    placed = ", ".join(
        f"CASE WHEN state < 0 THEN {'state' if word == 0 else '0'} ELSE {number.format(*each)} END AS word_{word}"
        for word, each in enumerate(zip(*_padded([table.packed for table in tables]), strict=True))
    )
    words = ", ".join(f"word_{word}" for word in range(max(table.packing.words for table in tables)))
    unit = unit_of(plan)
    numbers = ", ".join(map(str, range(len(tables))))
    listed = f"unnest(CASE WHEN state = 0 THEN [{numbers}] ELSE [0] END)"
    every = f"SELECT *, {listed} AS table_number FROM ({bounded_sql(plan, sets, share)})"
    every = f"SELECT {unit}, table_number, {placed} FROM ({every})"
    cells = f"table_number, {words}"
    units = f"SELECT {unit}, {cells}, count(*) AS row_count FROM ({every}) GROUP BY {unit}, {cells}"
    at_most = most[0] if len(set(most)) == 1 else number.format(*most)
    counts = f"CASE WHEN {ALONE} THEN row_count ELSE least(row_count, {at_most}) END"
    return (
        f"SELECT {cells}, CAST(sum({counts}) AS BIGINT) AS n, CAST(sum(row_count) AS BIGINT) AS row_count "
        f"FROM ({units}) GROUP BY {cells}"
    )


def unit_of(plan: Plan) -> str:
    """The columns by which units are distinguished."""
    return "who, day" if plan.privacy.unit == "card-day" else "who"


def most_per_cell(plan: Plan) -> list[str]:
    """How often a unit counts in a cell at most, for each table."""
    return [str(plan.tables[table.name].most_per_cell) for table in plan.table]


def _padded(words: Sequence[Sequence[str]]) -> list[list[str]]:
    """As many words for each table."""
    most = max(map(len, words))
    return [[*each, *["CAST(0 AS BIGINT)"] * (most - len(each))] for each in words]


def bounded_sql(plan: Plan, sets: Sequence[CellSet], share: str) -> str:
    """Every row with its card (`who`), its day, its keys, and its `state`: 0 if it counts, or why it does not."""
    all_words = [word for cell_set in sets for word in cell_set.words]
    words, first = ", ".join(all_words), all_words[0]
    own = f"CASE WHEN {sets[0].is_cell} AND card IS NOT NULL THEN card ELSE concat(' ', CAST({first} AS VARCHAR)) END"
    bounded, beyond = f"SELECT {own} AS who, day, rank, {words} FROM rows WHERE {share}", "false"
    for most, unit in ((plan.privacy.trips_per_day, "who, day"), (plan.privacy.trips_per_card, "who")):
        if most is not None:
            among = unit if beyond == "false" else f"{unit}, beyond"
            position = f"row_number() OVER (PARTITION BY {among} ORDER BY rank, {words})"
            ranked = f"SELECT who, day, rank, {words}, {beyond} AS beyond, {position} AS position FROM ({bounded})"
            more = f"beyond OR (position > {most} AND NOT {ALONE})"
            bounded, beyond = f"SELECT who, day, rank, {words}, {more} AS beyond FROM ({ranked})", "beyond"
    lost = " OR ".join(f"{word} IS NULL" for word in all_words)  # every row has every key
    state = f"CASE WHEN {lost} THEN {STRAY} WHEN {first} < 0 THEN {first} WHEN {beyond} THEN {BEYOND} ELSE 0 END"
    return f"SELECT who, day, {words}, CAST({state} AS BIGINT) AS state FROM ({bounded})"


def states_of_units_sql() -> str:
    """How many rows were refused, by key, or left out; those that count have the key 0."""
    key = "CASE WHEN word_0 < 0 THEN word_0 ELSE 0 END"
    rows = "SELECT word_0, row_count FROM counted WHERE table_number = 0"
    return f"SELECT {key} AS refusal, CAST(sum(row_count) AS BIGINT) AS n FROM ({rows}) GROUP BY {key}"


def units_of_table_sql(number: int, cells: TableCells) -> str:
    """The cells of a table, of all shares of cards together."""
    words = ", ".join(cells.words)
    which = f"table_number = {number} AND word_0 >= 0"
    return f"SELECT {words}, CAST(sum(n) AS BIGINT) AS n FROM counted WHERE {which} GROUP BY {words}"


def states_sql(sets: Sequence[CellSet]) -> str:
    """How many rows were refused, by key; those that count have the key 0, and `STRAY` those whose key is missing."""
    nowhere = " AND ".join(f"{word} IS NULL" for cell_set in sets for word in cell_set.words)
    partly = (f" OR ({cell_set.words[0]} IS NULL) <> ({word} IS NULL)" for cell_set in sets for word in cell_set.words)
    lost, first = f"({nowhere}){''.join(partly)}", sets[0].words[0]
    state = f"CASE WHEN {lost} THEN {STRAY} WHEN {first} < 0 THEN {first} ELSE 0 END"
    states = f"SELECT {state} AS refusal, row_count FROM counted WHERE {lost} OR {first} IS NOT NULL"
    return f"SELECT refusal, CAST(sum(row_count) AS BIGINT) AS n FROM ({states}) GROUP BY refusal"


def table_sql(number: int, cells: TableCells) -> str:
    """The cells of a table, summed from a maximal set that has all its columns."""
    words, source = ", ".join(cells.words), cells.source
    if cells.packed == source.words:
        return f"SELECT {cells.selected}, n FROM counted WHERE {source.is_cell} AND n > 0"
    return (
        f"SELECT {words}, CAST(sum(n) AS BIGINT) AS n "
        f"FROM (SELECT {cells.selected}, n FROM counted WHERE {source.is_cell} AND n > 0) GROUP BY {words}"
    )
