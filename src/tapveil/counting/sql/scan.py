"""The rows of all files, as SQL: each value as text, whatever type and format a file has.

Rows that are one tap are distinguished here by their end. What a raw value means is for `coding` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import CARD, MINUTES_PER_DAY, MISSING_TIME, TAP
from tapveil.counting.coding import Column, Reasons
from tapveil.inputs.areas import time_bins
from tapveil.inputs.values import BESIDE, LATEST_MINUTE
from tapveil.plan.model import Plan
from tapveil.trips.files import FileGroup, TripFiles


def quoted(name: str) -> str:
    """An SQL identifier.

    >>> quoted('a "b"')
    '"a ""b\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string."""
    return "'" + text.replace("'", "''") + "'"


CARD_TEXT = quoted("#card")
"""The card as text, NULL where there is none. No column of the plan has a # in its name."""
IS_ON, MOMENT, TOGETHER = quoted("#on"), quoted("#moment"), quoted("#together")
"""Of a tap: whether it is on; when it was, as text; and what the taps of a trip have in common besides the card."""
LINE = quoted("#line")
"""Where a row stands, for the data custodian: its number in its file, after the number of the group and of the file."""


def trips_sql(
    plan: Plan, files: TripFiles, columns: Sequence[Column], reasons: Reasons, *, numbered: bool = False
) -> str:
    """All rows of all files, the used columns only, each as its raw value or, for typed times, as its code.

    Where a row is one tap, the rows that the plan's tables count: taps on, taps off, or both.
    """
    queries = []
    for number, group in enumerate(files.groups):
        selected = [f"{_value_sql(plan, group, column)} AS {quoted(column.name)}" for column in columns]
        for column in columns:
            if column.arithmetic and column.refuses:
                refusal = _time_refusal_sql(_raw_value(plan, group, column.name), column, reasons)
                selected.append(f"{refusal} AS {refusal_column(column)}")
        if plan.privacy.by_card:
            selected.append(f"{_card_sql(group, plan.columns.read[CARD], plan.source.missing(CARD))} AS {CARD_TEXT}")
        if plan.columns.pairs_taps:
            selected += _of_a_tap_sql(plan, group)
        if numbered:
            selected.append(f"[{number}, field_file, field_line]::BIGINT[] AS {LINE}")
        # Taps that are only counted, without a partition, have no column that says more than that they are there.
        which = f" WHERE {_tap_is_sql(plan, group, plan.columns.counted_taps)}" if plan.source.taps else ""
        queries.append(f"SELECT {', '.join(selected) or '1'} FROM {_scan_sql(group, number)}{which}")
    return " UNION ALL ".join(queries)


def _of_a_tap_sql(plan: Plan, group: FileGroup) -> list[str]:
    """What it takes to find the taps that belong together."""
    taps = plan.source.taps
    same = taps.same if taps and taps.same in plan.source.columns else "card"
    together = "''" if same == "card" else f"trim(coalesce({_text_sql(plan, group, same)}, ''), {literal(BLANKS)})"
    day = [_text_sql(plan, group, "date")] if "date" in plan.source.columns else ["''"]
    moment = ", ".join([_text_sql(plan, group, "tap_on_time"), literal(BESIDE), "'0'", *day])
    is_on = _tap_is_sql(plan, group, taps.on if taps else ())
    return [f"{is_on} AS {IS_ON}", f"{together} AS {TOGETHER}", f"concat({moment}) AS {MOMENT}"]


def _tap_is_sql(plan: Plan, group: FileGroup, values: Iterable[str]) -> str:
    listed = ", ".join(literal(text.strip()) for text in values)
    tap = f"trim(coalesce({_text_sql(plan, group, TAP)}, ''), {literal(BLANKS)})"
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


def refusal_column(column: Column) -> str:
    """A column of ours beside the plan's, whose names cannot hold a #."""
    return quoted(f"#{column.name}")


def _scan_sql(group: FileGroup, number: int) -> str:
    return group.relation or view_of(number)


def copies_sql(plan: Plan, files: TripFiles) -> str:
    """How many rows say the same as another in every column that the plan names, the card among them."""
    named = sorted(set(plan.columns.named.values()))
    rows = " UNION ALL ".join(
        "SELECT md5_number(concat_ws(chr(31), "
        + ", ".join(f"coalesce({_as_text(_stored(group, each), group.type_of(each))}, '')" for each in named)
        + f")) AS row FROM {_scan_sql(group, number)} "
        + f"WHERE {_card_sql(group, str(plan.source.card), plan.source.missing(CARD))} IS NOT NULL"
        for number, group in enumerate(files.groups)
    )
    return f"SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM ({rows}) GROUP BY row)"


def view_of(number: int) -> str:
    """Under which name the engine finds the files of a group; their columns are `field_0`, `field_1`, …"""
    return f"files_{number}"


def _stored(group: FileGroup, theirs: str) -> str:
    return quoted(theirs) if group.relation else field_of(group, theirs)


def field_of(group: FileGroup, theirs: str) -> str:
    """What a column of a file is called in the view of its group."""
    return f"field_{group.names.index(theirs)}"


def _raw_value(plan: Plan, group: FileGroup, name: str) -> str:
    """A column as the file has it; instants as texts with their offset, for `values` to say what the clock showed.

    The engine knows no time zone but UTC, or its calendar would be a second opinion.
    """
    theirs = plan.columns.read[name]
    value = _stored(group, theirs)
    instant = group.type_of(theirs) == "instant"
    return f"(CAST(TRY(timezone('UTC', {value})) AS VARCHAR) || '+00:00')" if instant else value


def _value_sql(plan: Plan, group: FileGroup, column: Column) -> str:
    """A raw value, with the one next to it where that is needed; a typed time as its code."""
    if column.beside:
        beside = _first_sql(plan, group, column.beside)
        return f"concat({_text_sql(plan, group, column.name)}, {literal(BESIDE)}, {beside})"
    if column.arithmetic:
        return _time_code_sql(_raw_value(plan, group, column.name), column.raw, time_bins(plan))
    if column.kind == "date" and column.raw in ("date", "timestamp") and plan.source.calendar:
        return f"CAST({_raw_value(plan, group, column.name)} AS DATE)"
    return _text_sql(plan, group, column.name)


def _text_sql(plan: Plan, group: FileGroup, name: str) -> str:
    if name not in plan.columns.read:
        return literal(plan.source.columns[name].value or "")
    return _as_text(_raw_value(plan, group, name), group.type_of(plan.columns.read[name]))


def _first_sql(plan: Plan, group: FileGroup, names: Sequence[str]) -> str:
    """The first of some columns that has a value, after its number: which one it is decides how it is read."""
    *others, last = range(len(names))
    found = f"concat('{last}', {_text_sql(plan, group, names[last])})"
    for index in reversed(others):
        text = _text_sql(plan, group, names[index])
        none = ", ".join(literal(word) for word in sorted({"", "-1", "-1.0", *plan.source.missing(names[index])}))
        there = f"trim(coalesce({text}, ''), {literal(BLANKS)}) NOT IN ({none})"
        found = f"CASE WHEN {there} THEN concat('{index}', {text}) ELSE {found} END"
    return found


BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""What Python's `strip` takes away, which reads all other columns."""
UNSURE_CARD = " "
"""Stands for a card that cannot be told from others; no card is this, since blanks around it are taken away."""
LARGEST_EXACT_FLOAT = 2**53


def _card_sql(group: FileGroup, theirs: str, missing: frozenset[str] = frozenset()) -> str:
    """A card without blanks; one that passed through a float (`7.0`) is the same card; nothing is no card.

    Beyond 2^53 a float holds several whole numbers at once: such cards cannot be distinguished.
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


def _as_text(value: str, raw: str) -> str:
    if raw == "number":  # whole numbers that passed through a float: 3000.0 is stop 3000
        whole, text = f"TRY_CAST({value} AS BIGINT)", f"NULLIF(CAST({value} AS VARCHAR), 'nan')"
        return f"CASE WHEN TRY({whole} = {value}) THEN CAST({whole} AS VARCHAR) ELSE {text} END"
    if raw == "binary":  # text without a note that it is, or else a hash, by its digits
        return f"coalesce(TRY(decode({value})), hex({value}))"
    if raw == "timestamp":  # DuckDB breaks down over the very first that there can be
        known = f"CASE WHEN TRY_CAST({value} AS TIMESTAMP) >= {_FIRST_MOMENT} THEN {value} END"
        none = f"CASE WHEN {value} IS NOT NULL THEN {literal(NO_MOMENT)} END"
        return f"coalesce(CAST({known} AS VARCHAR), {none})"
    return f"CAST({value} AS VARCHAR)"


def _time_code_sql(value: str, raw: str, bins: TimeBins) -> str:
    """The same code that `TimeBins` gives, from a typed value; 0 where there is none."""
    late = MINUTES_PER_DAY - bins.first
    if raw == "integer":
        bin_ = f"({value} % {MINUTES_PER_DAY} + {late}) % {MINUTES_PER_DAY} // {bins.minutes}"
        return f"CASE WHEN {value} BETWEEN 0 AND {LATEST_MINUTE - 1} THEN 1 + {bin_} ELSE 0 END"
    minute = f"epoch_us(TRY_CAST({value} AS TIME)) // 60_000_000"
    return f"COALESCE(1 + (({minute} + {late}) % {MINUTES_PER_DAY}) // {bins.minutes}, 0)"


def _time_refusal_sql(value: str, column: Column, reasons: Reasons) -> str:
    """A number that is no minute refuses its row, and so does a year that has not four digits: as their texts would."""
    known = {
        "integer": f"{value} IS NULL OR {value} BETWEEN {MISSING_TIME} AND {LATEST_MINUTE - 1}",
        "timestamp": f"{value} IS NULL OR TRY_CAST({value} AS TIMESTAMP) BETWEEN {_FIRST_MOMENT} AND {_LAST_MOMENT}",
    }.get(column.raw, "true")
    return f"CASE WHEN {known} THEN 0 ELSE CAST({reasons.unreadable(column)} AS BIGINT) END"


NO_MOMENT = "a time before the calendar"
"""Stands for what neither a date nor a time is read from."""
_FIRST_MOMENT, _LAST_MOMENT = "TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"
