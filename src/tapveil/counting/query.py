"""The SQL that counts, written once.

    trips      the used columns of all files, raw
    spellings  every distinct spelling in the text columns           (one pass over the files)
    code_…     spelling → code, one table per text column
    counted    the packed key of each cell, and its count, for every maximal set of columns
                                                                     (one pass over the files)

Where the unit of protection is a card or a card's day, its trips are bounded before they are counted:

    rows       every row with its card, its day, its keys, and a lot drawn from its own values
                                                                     (instead of `counted`; one pass over the files)
    kept       the rows with the least lots of each card and day, and of each card
               each table then counts, for every cell, the units in it: a unit counts once

A key is a plain sum: of codes times strides, and of reasons to refuse the row, which make it negative. So the one pass
also counts refusals, and no row needs a decision. Smaller tables are summed from `counted`, not from the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tapveil.coarsen import TimeBins
from tapveil.counting.codes import Column, Reasons
from tapveil.counting.packing import Packing
from tapveil.notation import MINUTES_PER_DAY
from tapveil.plan import Plan
from tapveil.source import CARD, TAP
from tapveil.trips import FileGroup, TripFiles
from tapveil.values import BESIDE, LATEST_MINUTE, MISSING_TIME


def quoted(name: str) -> str:
    """An SQL identifier.

    >>> quoted('a "b"')
    '"a ""b\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string."""
    return "'" + text.replace("'", "''") + "'"


# --- reading ------------------------------------------------------------------------------------------------------


CARD_TEXT = quoted("#card")
"""The card as text, NULL where there is none. No column of the plan has a # in its name."""
IS_ON, MOMENT, TOGETHER = quoted("#on"), quoted("#moment"), quoted("#together")
"""Of a tap: whether it is on; when it was, as text; and what the taps of a trip have in common besides the card."""


LINE = quoted("#line")
"""Where a row stands, for the holder: its number in its file, after the number of the group and of the file."""


def trips_sql(
    plan: Plan, files: TripFiles, columns: Sequence[Column], reasons: Reasons, *, numbered: bool = False
) -> str:
    """All rows of all files, the used columns only, each as its spelling or, for typed times, as its code.

    Where a row is one tap, the rows that the plan's tables count: taps on, taps off, or both.
    """
    groups = enumerate(files.groups)
    return " UNION ALL ".join(_group_sql(plan, group, number, columns, reasons, numbered) for number, group in groups)


def _group_sql(
    plan: Plan, group: FileGroup, number: int, columns: Sequence[Column], reasons: Reasons, numbered: bool
) -> str:
    selected = [f"{_value_sql(plan, group, column)} AS {quoted(column.name)}" for column in columns]
    selected += [
        f"{_time_refusal_sql(_raw_value(plan, group, column.name), column, reasons)} AS {_refusal(column)}"
        for column in columns
        if column.arithmetic and column.refuses
    ]
    if plan.privacy.by_card:
        selected.append(f"{_card_sql(group, plan.file_columns[CARD], plan.source.missing(CARD))} AS {CARD_TEXT}")
    if "both" in plan.sides:
        selected += _of_a_tap_sql(plan, group)
    if numbered:
        file, line = (
            ("file_index", "file_row_number + 1") if group.format == "parquet" else ("field_file", "field_line")
        )
        selected.append(f"[{number}, {file}, {line}]::BIGINT[] AS {LINE}")
    return f"SELECT {', '.join(selected)} FROM {_scan_sql(group, number)}{_which_taps_sql(plan, group)}"


def _of_a_tap_sql(plan: Plan, group: FileGroup) -> list[str]:
    """What it takes to find the taps that belong together."""
    taps = plan.source.taps
    same = taps.same if taps else "card"
    together = "''" if same == "card" else f"trim(coalesce({_spelling_sql(plan, group, same)}, ''), {literal(BLANKS)})"
    day = [_spelling_sql(plan, group, "date")] if "date" in plan.source.columns else ["''"]
    moment = ", ".join([_spelling_sql(plan, group, "tap_on_time"), literal(BESIDE), "'0'", *day])
    is_on = _tap_is_sql(plan, group, taps.on if taps else ())
    return [f"{is_on} AS {IS_ON}", f"{together} AS {TOGETHER}", f"concat({moment}) AS {MOMENT}"]


def _which_taps_sql(plan: Plan, group: FileGroup) -> str:
    taps = plan.source.taps
    if taps is None:
        return ""
    wanted = {"on": taps.on, "off": taps.off, "both": (*taps.on, *taps.off)}
    return f" WHERE {_tap_is_sql(plan, group, [text for end in plan.sides for text in wanted[end]])}"


def _tap_is_sql(plan: Plan, group: FileGroup, values: Iterable[str]) -> str:
    listed = ", ".join(literal(text.strip()) for text in values)
    tap = f"trim(coalesce({_spelling_sql(plan, group, TAP)}, ''), {literal(BLANKS)})"
    return f"{tap} IN ({listed})" if listed else "false"


def other_taps_sql(plan: Plan, files: TripFiles) -> str:
    """How many rows are neither taps on nor taps off."""
    taps = plan.source.taps
    known = (*taps.on, *taps.off) if taps else ()
    counts = " UNION ALL ".join(
        f"SELECT count(*) AS n FROM {_scan_sql(group, number)} WHERE NOT ({_tap_is_sql(plan, group, known)})"
        for number, group in enumerate(files.groups)
    )
    return f"SELECT sum(n) FROM ({counts})"


def _refusal(column: Column) -> str:
    """A column of ours beside the plan's, whose names cannot hold a #."""
    return quoted(f"#{column.name}")


def _scan_sql(group: FileGroup, number: int) -> str:
    if group.format == "csv":
        return csv_view(number)
    paths = ", ".join(literal(_not_a_pattern(str(path))) for path in group.paths)
    return f"read_parquet([{paths}], binary_as_string = true, hive_partitioning = false, union_by_name = false)"


def refused_rows_sql(columns: Sequence[Column], card: Column | None, reasons: Reasons, few: int) -> str:
    """Where the first rows of each refusal stand."""
    refusal = f"0{refusals_of_row_sql(columns)}{card_refusal_sql(card, reasons) if card else ''}"
    return (
        f"SELECT refusal, place FROM (SELECT {refusal} AS refusal, {LINE} AS place FROM trips {joins_sql(columns)}) "
        f"WHERE refusal < 0 QUALIFY row_number() OVER (PARTITION BY refusal ORDER BY place) <= {few}"
    )


def copies_sql(plan: Plan, files: TripFiles) -> str:
    """How many rows say the same as another in every column that the plan names, the card among them."""
    rows = " UNION ALL ".join(
        "SELECT md5_number(concat_ws(chr(31), "
        + ", ".join(f"coalesce({_as_text(_stored(group, each), group.type_of(each))}, '')" for each in _named(plan))
        + f")) AS row FROM {_scan_sql(group, number)} "
        + f"WHERE {_card_sql(group, str(plan.source.card), plan.source.missing(CARD))} IS NOT NULL"
        for number, group in enumerate(files.groups)
    )
    return f"SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM ({rows}) GROUP BY row)"


def _named(plan: Plan) -> list[str]:
    return sorted(set(plan.named_columns.values()))


def _not_a_pattern(path: str) -> str:
    """A path that DuckDB takes as it is: it would expand `*`, `?` and `[` once more.

    >>> _not_a_pattern("a[1]*.parquet")
    'a[[]1][*].parquet'
    """
    return re.sub(r"([*?\[])", r"[\1]", path)


def csv_view(number: int) -> str:
    """Under which name the engine finds the CSV files of a group; their columns are `field_0`, `field_1`, …"""
    return f"csv_{number}"


def used_fields(plan: Plan, group: FileGroup) -> list[int]:
    """The positions of the columns of a CSV file that are read."""
    return sorted({group.names.index(theirs) for theirs in plan.file_columns.values()})


def _stored_value(plan: Plan, group: FileGroup, name: str) -> str:
    """A column as the file has it."""
    return _stored(group, plan.file_columns[name])


def _stored(group: FileGroup, theirs: str) -> str:
    return quoted(theirs) if group.format == "parquet" else f"field_{group.names.index(theirs)}"


def _raw_value(plan: Plan, group: FileGroup, name: str) -> str:
    """A column as the file has it; instants as the clock at the place shows them."""
    value = _stored_value(plan, group, name)
    if group.type_of(plan.file_columns[name]) == "instant" and plan.source.kind(name) in ("time", "date"):
        return f"TRY(timezone({literal(plan.source.timezone or '')}, {value}))"
    return value


def _value_sql(plan: Plan, group: FileGroup, column: Column) -> str:
    """A value as its spelling, with what stands beside it where that is needed; a typed time as its code."""
    if column.beside:
        beside = _first_sql(plan, group, column.beside)
        return f"concat({_spelling_sql(plan, group, column.name)}, {literal(BESIDE)}, {beside})"
    if column.arithmetic:
        return _time_code_sql(_raw_value(plan, group, column.name), column.raw, TimeBins.of(plan))
    typed = column.raw in ("date", "timestamp", "instant")
    if column.kind == "date" and typed and plan.source.calendar:
        return f"CAST({_raw_value(plan, group, column.name)} AS DATE)"
    return _spelling_sql(plan, group, column.name)


def _spelling_sql(plan: Plan, group: FileGroup, name: str) -> str:
    """A value as text."""
    if name not in plan.file_columns:
        return literal(plan.source.columns[name].value or "")
    if plan.source.kind(name) in ("time", "date"):
        return _as_text(_raw_value(plan, group, name), group.type_of(plan.file_columns[name]))
    return _text_sql(plan, group, name)


def _first_sql(plan: Plan, group: FileGroup, names: Sequence[str]) -> str:
    """The first of some columns that has a value, after its number: which one it is decides how it is read."""
    *others, last = range(len(names))
    found = f"concat('{last}', {_spelling_sql(plan, group, names[last])})"
    for index in reversed(others):
        text = _spelling_sql(plan, group, names[index])
        none = ", ".join(literal(word) for word in sorted({"", "-1", "-1.0", *plan.source.missing(names[index])}))
        there = f"trim(coalesce({text}, ''), {literal(BLANKS)}) NOT IN ({none})"
        found = f"CASE WHEN {there} THEN concat('{index}', {text}) ELSE {found} END"
    return found


BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""What Python's `strip` takes away, which reads all other columns."""
UNSURE_CARD = "\x00"
"""Stands for a card that cannot be told from others; no text of a file is this."""
LARGEST_EXACT_FLOAT = 2**53


def _card_sql(group: FileGroup, theirs: str, missing: frozenset[str] = frozenset()) -> str:
    """A card without blanks; one that passed through a float (`7.0`) is the same card; nothing is no card.

    Beyond 2^53 a float holds several whole numbers at once: such cards cannot be told apart.
    """
    stored, raw = _stored(group, theirs), group.type_of(theirs)
    card = f"trim({_as_text(stored, raw)}, {literal(BLANKS)})"
    whole = f"CASE WHEN {card} LIKE '%.0' THEN regexp_replace({card}, '^([0-9]+)\\.0$', '\\1') ELSE {card} END"
    if raw == "number":
        a_float = f"typeof({stored}) IN ('FLOAT', 'DOUBLE')"
        beyond = f"abs(TRY_CAST({stored} AS DOUBLE)) > {LARGEST_EXACT_FLOAT}"
        whole = f"CASE WHEN {a_float} AND {beyond} THEN {literal(UNSURE_CARD)} ELSE {whole} END"
    none = ", ".join(literal(text) for text in sorted({"", *missing}))
    return f"CASE WHEN {whole} NOT IN ({none}) THEN {whole} END"


def cards_among_sql(files: TripFiles, theirs: str) -> str:
    """Which of the texts in the table `texts` are cards: one pass over the card column alone."""
    cards = " UNION ALL ".join(
        f"SELECT {_card_sql(group, theirs)} AS card FROM {_scan_sql(group, number)}"
        for number, group in enumerate(files.groups)
        if theirs in group.names
    )
    return f"SELECT DISTINCT card FROM ({cards}) SEMI JOIN texts ON card = texts.text"


def _text_sql(plan: Plan, group: FileGroup, name: str) -> str:
    return _as_text(_stored_value(plan, group, name), group.type_of(plan.file_columns[name]))


def _as_text(value: str, raw: str) -> str:
    if raw == "number":  # whole numbers that passed through a float: 3000.0 is stop 3000
        whole = f"TRY_CAST({value} AS BIGINT)"
        text = f"NULLIF(CAST({value} AS VARCHAR), 'nan')"
        return f"CASE WHEN TRY({whole} = {value}) THEN CAST({whole} AS VARCHAR) ELSE {text} END"
    return f"CAST({value} AS VARCHAR)"


def _time_code_sql(value: str, raw: str, bins: TimeBins) -> str:
    """The same code that `TimeBins` gives, from a typed value; 0 where there is none."""
    late = MINUTES_PER_DAY - bins.starts
    if raw == "integer":
        bin_ = f"({value} % {MINUTES_PER_DAY} + {late}) % {MINUTES_PER_DAY} // {bins.minutes}"
        readable = f"{value} BETWEEN 0 AND {LATEST_MINUTE - 1}"
        return f"CASE WHEN {readable} THEN 1 + {bin_} ELSE 0 END"
    minute = f"epoch_us(TRY_CAST({value} AS TIME)) // 60_000_000"
    return f"COALESCE(1 + (({minute} + {late}) % {MINUTES_PER_DAY}) // {bins.minutes}, 0)"


def _time_refusal_sql(value: str, column: Column, reasons: Reasons) -> str:
    """A number that is neither a minute nor the mark of a missing one refuses its row, and so does a skipped hour."""
    known = f"{value} IS NULL OR {value} BETWEEN {MISSING_TIME} AND {LATEST_MINUTE - 1}"
    if column.raw != "integer":
        moment, zone = f"TRY_CAST({value} AS TIMESTAMP)", literal(column.zone or "UTC")
        known = f"TRY(timezone({zone}, timezone({zone}, {moment}))) IS NOT DISTINCT FROM {moment}"
    return f"CASE WHEN {known} THEN 0 ELSE CAST({reasons.unreadable(column)} AS BIGINT) END"


# --- coding -------------------------------------------------------------------------------------------------------


def spellings_sql(columns: Sequence[Column]) -> str:
    """Every distinct spelling of every text column, in one pass: a row has one spelling, in its own column."""
    texts = [quoted(column.name) for column in columns if not column.arithmetic]
    sets = ", ".join(f"({name})" for name in texts)
    return f"SELECT {', '.join(texts)} FROM trips GROUP BY GROUPING SETS ({sets})"


def spellings_of_sql(column: Column) -> str:
    """The spellings of one column: as they are, for the engine, and as texts, for us."""
    name = quoted(column.name)
    return f"SELECT {name} AS spelling, CAST({name} AS VARCHAR) AS text FROM spellings WHERE {name} IS NOT NULL"


def code_table(column: Column) -> str:
    """The table of a column's spellings: `spelling`, `code`, and `refusal`, a reason to refuse the row or 0.

    Where modes have a lookup of their own: `more_1`, … is how much the code changes for the first of them, …, and in
    the table of `mode`, `is_1`, … is 1 for that mode.
    """
    return quoted(f"code_{column.name}")


def code_sql(column: Column) -> str:
    if column.arithmetic:
        return f"trips.{quoted(column.name)}"
    table = code_table(column)
    more = (f" + {quoted('code_mode')}.is_{n} * {table}.more_{n}" for n in range(1, len(column.for_mode) + 1))
    return f"({table}.code{''.join(more)})"


def _refusal_sql(column: Column) -> str:
    return f"trips.{_refusal(column)}" if column.arithmetic else f"{code_table(column)}.refusal"


def _join_sql(column: Column) -> str:
    """Every spelling has its row, and so has none: a row of trips that finds nothing was not there before."""
    table = code_table(column)
    return f"LEFT JOIN {table} ON trips.{quoted(column.name)} IS NOT DISTINCT FROM {table}.spelling"


# --- counting -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CellSet:
    """A set of columns whose cells are counted from the rows."""

    index: int
    packing: Packing

    @property
    def words(self) -> list[str]:
        """The columns of `counted` that hold this set's keys."""
        return [quoted(f"key_{self.index}_{word}") for word in range(self.packing.words)]

    @property
    def is_cell(self) -> str:
        """The rows of `counted` that are cells of this set: neither another set's, nor refused."""
        return f"{self.words[0]} >= 0"


def maximal_sets(key_columns: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The sets of columns that no other set contains.

    >>> maximal_sets([("m", "t"), ("m", "l"), ("m", "t", "l")])
    [('m', 't', 'l')]
    """
    wanted = list(key_columns)
    return [one for one in wanted if not any(set(one) < set(other) for other in wanted)]


def _keys_sql(columns: Sequence[Column], sets: Sequence[CellSet], more_refusals: str = "") -> str:
    """The key of a row in every set: its codes in their places, plus its reasons to be refused."""
    codes = {column.name: code_sql(column) for column in columns}
    refusals = refusals_of_row_sql(columns) + more_refusals
    return ", ".join(
        f"{packed}{refusals if number == 0 else ''} AS {word}"
        for cell_set in sets
        for number, (word, packed) in enumerate(zip(cell_set.words, cell_set.packing.pack_sql(codes), strict=True))
    )


def refusals_of_row_sql(columns: Sequence[Column]) -> str:
    """What a row's values add to its key to refuse it."""
    return "".join(f" + {_refusal_sql(column)}" for column in columns if column.refuses)


def joins_sql(columns: Sequence[Column]) -> str:
    """The codes of all spellings, beside the row."""
    return " ".join(_join_sql(column) for column in columns if not column.arithmetic)


def counted_sql(columns: Sequence[Column], sets: Sequence[CellSet]) -> str:
    """The count of every cell of every maximal set, and of every reason to refuse."""
    keys = _keys_sql(columns, sets)
    words = ", ".join(word for cell_set in sets for word in cell_set.words)
    groups = ", ".join(f"({', '.join(cell_set.words)})" for cell_set in sets)
    rows = f"SELECT {keys} FROM trips {joins_sql(columns)}"
    return f"SELECT {words}, count(*) AS n FROM ({rows}) GROUP BY GROUPING SETS ({groups})"


def rows_sql(columns: Sequence[Column], sets: Sequence[CellSet], card: Column, reasons: Reasons) -> str:
    """Every row: its card, its day, its keys, and its lot."""
    keys = _keys_sql(columns, sets, card_refusal_sql(card, reasons))
    day = next((code_sql(column) for column in columns if column.name == "date"), "0")
    return (
        f"SELECT trips.{CARD_TEXT} AS card, {day} AS day, {lot_sql(columns)} AS lot, {keys} "
        f"FROM trips {joins_sql(columns)}"
    )


def lot_sql(columns: Sequence[Column]) -> str:
    """The lot of a row, which decides whether it is kept where its card has too many.

    It is drawn from the card and from what the row's own values mean, so that which of a card's trips are kept
    follows from that card's rows alone. Codes would not do: they move when any other row brings a new label. Nor would
    spellings: a column of a file has another type, and other spellings, once a single row of it is missing.
    """
    # Each with its length before it: values run together would let two different rows have the same lot.
    texts = [f"coalesce(trips.{CARD_TEXT}, '')", *(_meaning_sql(column) for column in columns)]
    values = ", ".join(f"length({text}), ':', {text}" for text in texts)
    return f"md5_number(concat({values}))"


def _meaning_sql(column: Column) -> str:
    """What a row's value was understood as. Codes of labels that the plan alone decides do not move."""
    if column.fixed_labels:
        return f"CAST(coalesce({code_sql(column)}, -1) AS VARCHAR)"
    return f"coalesce({code_table(column)}.meaning, '')"


def card_refusal_sql(card: Column, reasons: Reasons) -> str:
    """Refusals for the card: there is none, or it was a number that a float cannot hold."""
    missing = (
        f"CASE WHEN trips.{CARD_TEXT} IS NULL THEN {reasons.missing(card)} ELSE 0 END" if card.missing is None else "0"
    )
    unsure = f"CASE WHEN trips.{CARD_TEXT} = {literal(UNSURE_CARD)} THEN {reasons.unreadable(card)} ELSE 0 END"
    return f" + {missing} + {unsure}"


def kept_sql(plan: Plan, sets: Sequence[CellSet], share: str) -> str:
    """The rows that are counted: of each card, and of each of its days, no more than the plan says.

    A row without a card is a unit by itself. `share` says which cards are looked at, all rows of a card or none.
    """
    words = ", ".join(word for cell_set in sets for word in cell_set.words)
    rows = f"FROM rows WHERE {sets[0].is_cell} AND {share}"
    kept = f"SELECT card, day, lot, {words} {rows} AND card IS NOT NULL"
    for most, unit in ((plan.privacy.trips_per_day, "card, day"), (plan.privacy.trips_per_card, "card")):
        if most is not None:
            kept = f"SELECT * FROM ({kept}) QUALIFY row_number() OVER (PARTITION BY {unit} ORDER BY lot) <= {most}"
    alone = f"SELECT card, day, lot, {words} {rows} AND card IS NULL"
    return f"SELECT card, day, {words} FROM ({kept} UNION ALL {alone})"


def units_sql(plan: Plan, packing: Packing, source: CellSet) -> str:
    """The cells of a table, and in each the number of units that have a trip there: each unit once."""
    words = [f"word_{index}" for index in range(packing.words)]
    packed = packing.pack_sql(source.packing.unpack_sql(source.words))
    selected = ", ".join(f"{expression} AS {word}" for expression, word in zip(packed, words, strict=True))
    unit = "card, day" if plan.privacy.unit == "card-day" else "card"
    key = ", ".join(words)
    return (
        f"WITH placed AS (SELECT card, day, {selected} FROM kept), "
        f"once AS (SELECT DISTINCT {unit}, {key} FROM placed WHERE card IS NOT NULL), "
        f"every AS (SELECT {key} FROM once UNION ALL SELECT {key} FROM placed WHERE card IS NULL) "
        f"SELECT {key}, count(*) AS n FROM every GROUP BY {key}"
    )


def _units_table(name: str) -> str:
    return quoted(f"units_{name}")


def new_units_sql(name: str, packing: Packing) -> str:
    """A table for the cells of a table of the plan, as they are counted share by share."""
    words = ", ".join(f"word_{index} BIGINT" for index in range(packing.words))
    return f"CREATE TEMP TABLE {_units_table(name)} ({words}, n BIGINT)"


def add_units_sql(name: str, cells: str) -> str:
    """The cells of one more share."""
    return f"INSERT INTO {_units_table(name)} {cells}"


def all_units_sql(name: str, packing: Packing, source: CellSet) -> str:
    """The cells of all shares together."""
    words = ", ".join(f"word_{index}" for index in range(packing.words))
    return f"SELECT {words}, CAST(sum(n) AS BIGINT) AS n FROM {_units_table(name)} GROUP BY {words}"


def row_refusals_sql(first: CellSet) -> str:
    """Rows refused, by key, where rows are kept one by one."""
    return f"SELECT {first.words[0]}, count(*) FROM rows WHERE {first.words[0]} < 0 GROUP BY {first.words[0]}"


def row_strays_sql(sets: Sequence[CellSet]) -> str:
    """As `strays_sql`, where rows are kept one by one: every set has its key in every row."""
    return f"SELECT count(*) FROM rows WHERE {' OR '.join(f'{w} IS NULL' for each in sets for w in each.words)}"


def refusals_sql(first: CellSet) -> str:
    """Rows refused, by key; see `Reasons`."""
    return f"SELECT {first.words[0]}, n FROM counted WHERE {first.words[0]} < 0"


def strays_sql(sets: Sequence[CellSet]) -> str:
    """Rows that had a spelling which the first pass did not see: no key at all, or one with a part missing."""
    nowhere = " AND ".join(f"{word} IS NULL" for cell_set in sets for word in cell_set.words)
    partly = (f" OR ({cell_set.words[0]} IS NULL) <> ({word} IS NULL)" for cell_set in sets for word in cell_set.words)
    return f"SELECT count(*) FROM counted WHERE ({nowhere}){''.join(partly)}"


def table_sql(name: str, packing: Packing, source: CellSet) -> str:
    """The cells of a table, summed from a maximal set that has all its columns."""
    words = [f"word_{index}" for index in range(packing.words)]
    if packing.columns == source.packing.columns:
        selected = ", ".join(f"{theirs} AS {ours}" for theirs, ours in zip(source.words, words, strict=True))
        return f"SELECT {selected}, n FROM counted WHERE {source.is_cell}"
    packed = packing.pack_sql(source.packing.unpack_sql(source.words))
    selected = ", ".join(f"{expression} AS {word}" for expression, word in zip(packed, words, strict=True))
    return (
        f"SELECT {', '.join(words)}, CAST(sum(n) AS BIGINT) AS n "
        f"FROM (SELECT {selected}, n FROM counted WHERE {source.is_cell}) GROUP BY {', '.join(words)}"
    )
