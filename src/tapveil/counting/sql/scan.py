"""The rows of all files, as SQL: each value as text, whatever type and format a file has.

Taps are distinguished here by their end. The meaning of raw values is decided in `coding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tapveil.base.time_bins import TimeBins
from tapveil.base.vocabulary import CARD, MINUTES_PER_DAY, MISSING_TIME, TAP
from tapveil.counting.coding import Column, Reasons
from tapveil.inputs.values import LATEST_MINUTE, UNIT_SEPARATOR
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
"""The card as text, NULL where it is missing. No column of the plan has a # in its name."""
CARD_HASH = quoted("#md5")
"""The MD5 of the card, for the ranks of its trips."""
IS_ON, MOMENT, TOGETHER = quoted("#on"), quoted("#moment"), quoted("#together")
"""Of a tap: whether it is a tap on; its time, as text; and what the taps of a trip share in addition to the card."""
LINE = quoted("#line")
"""The position of a row, for the data custodian: the numbers of its group, its file and its line."""


def trips_sql(
    plan: Plan, files: TripFiles, columns: Sequence[Column], reasons: Reasons, *, numbered: bool = False
) -> str:
    """All rows of all files, the used columns only, each as its raw value or, for typed times, as its code.

    Where a row is one tap, only the taps that the tables count: taps on, taps off, or both.
    """
    queries = []
    for number, group in enumerate(files.groups):
        selected = [f"{_value_sql(plan, group, column)} AS {quoted(column.name)}" for column in columns]
        for column in columns:
            if column.arithmetic and column.refuses:
                refusal = _time_refusal_sql(_raw_value(plan, group, column.name), column, reasons)
                selected.append(f"{refusal} AS {refusal_column(column)}")
        if plan.privacy.by_card:
            card = _card_sql(group, plan.columns.read[CARD], plan.source.missing(CARD))
            selected.append(f"{card} AS {CARD_TEXT}")
        if plan.columns.pairs_taps:
            selected += _of_a_tap_sql(plan, group)
        if numbered:
            selected.append(f"[{number}, field_file, field_line]::BIGINT[] AS {LINE}")
        # Taps counted without a partition and without columns have nothing to select.
        which = f" WHERE {_tap_is_sql(plan, group, plan.columns.counted_taps)}" if plan.source.taps else ""
        queries.append(f"SELECT {', '.join(selected) or '1'} FROM {_scan_sql(group, number)}{which}")
    return " UNION ALL ".join(queries)


def _of_a_tap_sql(plan: Plan, group: FileGroup) -> list[str]:
    """The columns needed to pair taps."""
    taps = plan.source.taps
    same = taps.same if taps and taps.same in plan.source.columns else "card"
    together = "''" if same == "card" else _stripped_sql(f"coalesce({_text_sql(plan, group, same)}, '')")
    day = [_text_sql(plan, group, "date")] if "date" in plan.source.columns else ["''"]
    moment = ", ".join([_text_sql(plan, group, "tap_on_time"), literal(UNIT_SEPARATOR), "'0'", *day])
    is_on = _tap_is_sql(plan, group, taps.on if taps else ())
    return [f"{is_on} AS {IS_ON}", f"{together} AS {TOGETHER}", f"concat({moment}) AS {MOMENT}"]


def _tap_is_sql(plan: Plan, group: FileGroup, values: Iterable[str]) -> str:
    listed = ", ".join(literal(text.strip()) for text in values)
    tap = _stripped_sql(f"coalesce({_text_sql(plan, group, TAP)}, '')")
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
    """An additional column; names of the plan cannot contain a #."""
    return quoted(f"#{column.name}")


def _scan_sql(group: FileGroup, number: int) -> str:
    return group.relation or view_of(number)


def copies_sql(plan: Plan, files: TripFiles) -> str:
    """How many rows equal another row in every column that the plan names, including the card."""
    named, card = sorted(set(plan.columns.named.values())), str(plan.source.card)
    none = ", ".join(literal(text) for text in sorted({"", *plan.source.missing(CARD)}))
    # 64 bits of a hash: among a billion different rows the chance that two share one is 3 %. DuckDB's own is quicker.
    rows = " UNION ALL ".join(
        f"SELECT {'md5_number' if group.relation else 'hash'}(concat_ws(chr(31), "
        + ", ".join(f"coalesce({_as_text(_stored(group, each), group.type_of(each))}, '')" for each in named)
        + f")) AS row FROM {_scan_sql(group, number)} "
        + f"WHERE {_as_text(_stored(group, card), group.type_of(card))} NOT IN ({none})"
        for number, group in enumerate(files.groups)
    )
    return f"SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM ({rows}) GROUP BY row)"


def excerpt_sql(group: FileGroup, number: int, named: Sequence[str], card: str | None, one_in: int) -> str:
    """The rows of one card in a number of them, as they are; where there is no card, of one row in that number."""
    selected = ", ".join(f"{field_of(group, each)} AS {quoted(each)}" for each in named)
    by = field_of(group, card) if card else ", ".join(field_of(group, each) for each in named)
    return f"SELECT {selected} FROM {view_of(number)} WHERE hash({by}) % {one_in} = 0"


def view_of(number: int) -> str:
    """The name of the view of a group of files; its columns are `field_0`, `field_1`, …"""
    return f"files_{number}"


def _stored(group: FileGroup, theirs: str) -> str:
    return quoted(theirs) if group.relation else field_of(group, theirs)


def field_of(group: FileGroup, theirs: str) -> str:
    """The name of a column of a file in the view of its group."""
    return f"field_{group.names.index(theirs)}"


def _raw_value(plan: Plan, group: FileGroup, name: str) -> str:
    """A column as stored in the file; instants as text with their offset, which `values` converts to local time.

    The engine only uses UTC, so that there is no second calendar.
    """
    theirs = plan.columns.read[name]
    value = _stored(group, theirs)
    instant = group.type_of(theirs) == "instant"
    return f"(CAST(TRY(timezone('UTC', {value})) AS VARCHAR) || '+00:00')" if instant else value


def _value_sql(plan: Plan, group: FileGroup, column: Column) -> str:
    """A raw value, with its context where needed; a typed time as its code."""
    if column.context:
        context = _first_sql(plan, group, column.context)
        return f"concat({_text_sql(plan, group, column.name)}, {literal(UNIT_SEPARATOR)}, {context})"
    if column.arithmetic:
        return _time_code_sql(_raw_value(plan, group, column.name), column.raw, plan.columns.times())
    if column.kind in ("date", "calendar") and column.raw in ("date", "timestamp") and plan.source.calendar:
        return f"CAST({_raw_value(plan, group, column.name)} AS DATE)"
    return _text_sql(plan, group, column.name)


def _text_sql(plan: Plan, group: FileGroup, name: str) -> str:
    if name not in plan.columns.read:
        return literal(plan.source.columns[name].value or "")
    return _as_text(_raw_value(plan, group, name), group.type_of(plan.columns.read[name]))


def _first_sql(plan: Plan, group: FileGroup, names: Sequence[str]) -> str:
    """The first of some columns with a value, after its number, which decides how it is parsed."""
    *others, last = range(len(names))
    found = f"concat('{last}', {_text_sql(plan, group, names[last])})"
    for index in reversed(others):
        text = _text_sql(plan, group, names[index])
        none = ", ".join(literal(word) for word in sorted({"", "-1", "-1.0", *plan.source.missing(names[index])}))
        there = f"trim(coalesce({text}, ''), {literal(BLANKS)}) NOT IN ({none})"
        found = f"CASE WHEN {there} THEN concat('{index}', {text}) ELSE {found} END"
    return found


BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""The characters that `str.strip` removes, as in all other columns."""


def _stripped_sql(text: str) -> str:
    """A text without blanks at its ends. To look for all blanks is slow: most texts begin and end with other ASCII."""
    return f"CASE WHEN {_is_plain_sql(text)} THEN {text} ELSE trim({text}, {literal(BLANKS)}) END"


def _is_plain_sql(text: str) -> str:
    return f"{_is_plain_letter_sql(text)} AND {_is_plain_letter_sql(f'right({text}, 1)')}"


def _is_plain_letter_sql(text: str) -> str:
    """Whether a text begins with a letter of ASCII that is no blank."""
    return f"(ascii({text}) BETWEEN 33 AND 127)"


UNSURE_CARD = " "
"""Stands for a card that cannot be distinguished from others; no card equals it, since cards are stripped."""
LARGEST_EXACT_FLOAT = 2**53


def _card_sql(group: FileGroup, theirs: str, missing: frozenset[str] = frozenset()) -> str:
    """A card, stripped; `7.0`, which passed through a float, is the card `7`; an empty text is no card.

    Beyond 2^53 several integers are the same float: such cards cannot be distinguished.
    """
    stored, raw = _stored(group, theirs), group.type_of(theirs)
    card = _stripped_sql(_as_text(stored, raw))
    whole = f"CASE WHEN {card} LIKE '%.0' THEN regexp_replace({card}, '^([0-9]+)\\.0$', '\\1') ELSE {card} END"
    if raw == "number":
        a_float = f"typeof({stored}) IN ('FLOAT', 'DOUBLE')"
        beyond = f"abs(TRY_CAST({stored} AS DOUBLE)) > {LARGEST_EXACT_FLOAT} AND {card} IS NOT NULL"  # NaN is no card
        whole = f"CASE WHEN {a_float} AND {beyond} THEN {literal(UNSURE_CARD)} ELSE {whole} END"
    none = ", ".join(literal(text) for text in sorted({"", *missing}))
    other = f"CASE WHEN {whole} NOT IN ({none}) THEN {whole} END"
    if raw == "number":
        return other
    text = _as_text(stored, raw)
    return f"CASE WHEN {_is_plain_card_sql(text, none)} THEN {text} ELSE {other} END"


ODD_LETTER = "[^!-~]"
"""Only at the ends of a card it can matter: blanks there are removed."""


def _is_plain_card_sql(text: str, none: str) -> str:
    """Whether a card is its text as it is; nearly all are, and what is looked for elsewhere is slow in each row."""
    return f"NOT regexp_matches({text}, '{ODD_LETTER}') AND {text} NOT LIKE '%.0' AND {text} NOT IN ({none})"


def commonest_cards_sql(plan: Plan, files: TripFiles, most: int) -> str:
    """The cards with the most rows, with their rows and the number of all cards: one pass over the card column."""
    theirs, missing = plan.columns.read[CARD], plan.source.missing(CARD)
    cards = " UNION ALL ".join(
        f"SELECT {_card_sql(group, theirs, missing)} AS card FROM {_scan_sql(group, number)}"
        for number, group in enumerate(files.groups)
    )
    by_card = f"SELECT card, count(*) AS number_of_rows FROM ({cards}) AS every WHERE card IS NOT NULL GROUP BY card"
    counted = f"SELECT card, number_of_rows, count(*) OVER () AS cards FROM ({by_card}) AS counted"
    return f"{counted} ORDER BY number_of_rows DESC, card LIMIT {most}"


def cards_among_sql(files: TripFiles, theirs: str, texts: Iterable[str]) -> str:
    """Those of some texts, in the table `texts`, that are cards: one pass over only the card column."""
    first = sorted({ord(text[0]) for text in texts if text})
    cards = " UNION ALL ".join(
        f"SELECT {_card_sql(group, theirs)} AS card FROM {_may_be_among_sql(group, number, theirs, first)}"
        for number, group in enumerate(files.groups)
        if theirs in group.names
    )
    return f"SELECT DISTINCT card FROM ({cards}) JOIN texts ON coalesce(card, '') = texts.text"


def _may_be_among_sql(group: FileGroup, number: int, theirs: str, first: Sequence[int]) -> str:
    """The rows without plain cards that are none of the texts, and each other card once: what is computed for it is
    much, also to compile, and there is mostly none.

    Where the first letter is plain, it is that of the card as well: most cards begin otherwise than all of the texts.
    """
    trips, stored = _scan_sql(group, number), _stored(group, theirs)
    if group.type_of(theirs) == "number":
        return trips
    text = _as_text(stored, group.type_of(theirs))
    begins = f"ascii({text}) IN ({', '.join(map(str, first)) or '0'})"
    may_be = f"{text} IN (SELECT text FROM texts) OR NOT ({_is_plain_card_sql(text, literal(''))})"
    among = f"CASE WHEN {begins} OR NOT {_is_plain_letter_sql(text)} THEN {may_be} ELSE false END"
    return f"(SELECT DISTINCT {stored} FROM {trips} WHERE {among}) AS few"


def _as_text(value: str, raw: str) -> str:
    if raw == "number":  # integers that passed through a float: 3000.0 is stop 3000
        whole, text = f"TRY_CAST({value} AS BIGINT)", f"NULLIF(CAST({value} AS VARCHAR), 'nan')"
        return f"CASE WHEN TRY({whole} = {value}) THEN CAST({whole} AS VARCHAR) ELSE {text} END"
    if raw == "binary":  # text, if it is UTF-8, or else hexadecimal digits
        return f"coalesce(TRY(decode({value})), hex({value}))"
    if raw == "timestamp":  # DuckDB fails for the very first timestamps
        known = f"CASE WHEN TRY_CAST({value} AS TIMESTAMP) >= {_FIRST_MOMENT} THEN {value} END"
        none = f"CASE WHEN {value} IS NOT NULL THEN {literal(NO_MOMENT)} END"
        return f"coalesce(CAST({known} AS VARCHAR), {none})"
    return f"CAST({value} AS VARCHAR)"


def _time_code_sql(value: str, raw: str, bins: TimeBins) -> str:
    """The code of `TimeBins` from a typed value; 0 where it is missing."""
    late = MINUTES_PER_DAY - bins.first
    if raw == "integer":
        bin_ = f"({value} % {MINUTES_PER_DAY} + {late}) % {MINUTES_PER_DAY} // {bins.minutes}"
        return f"CASE WHEN {value} BETWEEN 0 AND {LATEST_MINUTE - 1} THEN 1 + {bin_} ELSE 0 END"
    minute = f"epoch_us(TRY_CAST({value} AS TIME)) // 60_000_000"
    return f"COALESCE(1 + (({minute} + {late}) % {MINUTES_PER_DAY}) // {bins.minutes}, 0)"


def _time_refusal_sql(value: str, column: Column, reasons: Reasons) -> str:
    """Numbers that are not minutes, and years without four digits, refuse their row, as their texts would."""
    known = {
        "integer": f"{value} IS NULL OR {value} BETWEEN {MISSING_TIME} AND {LATEST_MINUTE - 1}",
        "timestamp": f"{value} IS NULL OR TRY_CAST({value} AS TIMESTAMP) BETWEEN {_FIRST_MOMENT} AND {_LAST_MOMENT}",
    }.get(column.raw, "true")
    return f"CASE WHEN {known} THEN 0 ELSE CAST({reasons.unreadable(column)} AS BIGINT) END"


NO_MOMENT = "a time before the calendar"
"""A text that is neither a date nor a time."""
_FIRST_MOMENT, _LAST_MOMENT = "TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31 23:59:59.999999'"
