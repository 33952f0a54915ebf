"""Trips from taps: the SQL that pairs the taps of a card.

A tap on and the tap off that directly follows it, on the same card and mode (or vehicle) and soon enough, are one trip;
any other tap is a trip whose other end is not known. So every tap is in exactly one trip, which follows from the taps
of its card alone. The unit of protection is the card, or its day; with card-days, taps of two days are never paired.

    taps     every tap on and off: its card, its moment, its codes, its refusals     (one pass over the files)
    rows     the trips, with keys, as `query.rows_sql` has them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tapveil.counting import ranks
from tapveil.counting.coding import Code, Column, Reasons
from tapveil.counting.sql import query
from tapveil.counting.sql.query import CellSet
from tapveil.counting.sql.scan import CARD_TEXT, IS_ON, MOMENT, TOGETHER, quoted
from tapveil.plan.model import Plan

MOMENTS = "moments"
"""The table of moments: `raw_value`, and `second`, NULL where it cannot be read."""
RAW_MOMENTS = f"SELECT DISTINCT {MOMENT} AS raw_value FROM trips WHERE {MOMENT} IS NOT NULL"
"""Every distinct raw value of a moment."""
SOUND_TAPS = "SELECT count(*) FROM taps WHERE coalesce(refusal, 0) >= 0"
"""The number of taps that were not refused."""


def taps_sql(columns: Sequence[Column], card: Column, reasons: Reasons) -> str:
    """Every tap on and tap off, with the code of each column."""
    codes = ", ".join(f"{query.code_sql(column)} AS {_code(column.name)}" for column in columns)
    refusal = f"0{query.refusals_of_row_sql(columns)}{query.card_refusal_sql(card, reasons)}"
    numbers = ", ".join(f"{_sum(columns, end)} AS {_numbers(end)}" for end in _ENDS)
    return (
        f"SELECT trips.{CARD_TEXT} AS card, trips.{IS_ON} AS is_on, trips.{TOGETHER} AS together, second, "
        f"{numbers}, {refusal} AS refusal, {codes} FROM trips {query.joins_sql(columns)} "
        f"LEFT JOIN {MOMENTS} ON trips.{MOMENT} = {MOMENTS}.raw_value"
    )


def rows_of_taps_sql(plan: Plan, coded: Sequence[Code], sets: Sequence[CellSet]) -> str:
    """The trips made of taps, with card, day, rank and keys; and every refused tap, with its reasons."""
    missing = {code.column.name: _missing_code(code) for code in coded}
    day = _code("date") if "date" in missing else "0"
    # Taps are only paired within such a group.
    among = ["card", "together", *([day] if plan.privacy.unit == "card-day" and "date" in missing else [])]
    refused = ", ".join(f"refusal AS {word}" for cell_set in sets for word in cell_set.words)
    # Taps of one end and second are put in the order of their labels: those that are equal are equal in all cells.
    order = ", ".join(["second", "is_on", *map(_code, missing)])
    return (
        f"WITH seen AS (SELECT *, {_paired_sql(plan, missing)} FROM taps WHERE coalesce(refusal, 0) >= 0 "
        f"WINDOW following AS (PARTITION BY {', '.join(among)} ORDER BY {order})) "
        f"SELECT card, {day} AS day, {_rank_sql(coded, missing)} AS rank, "
        f"{_keys(missing, sets)} FROM seen WHERE NOT ends "
        f"UNION ALL SELECT card, 0, NULL, {refused} FROM taps WHERE refusal < 0"
    )


_ENDS = ("tap_on_", "tap_off_", "")
"""What the names of columns begin with: those of either end, and those of the whole trip."""


def _end(name: str) -> str:
    return next(end for end in _ENDS if name.startswith(end))


def _numbers(end: str) -> str:
    return quoted(f"numbers {end}")


def _sum(columns: Sequence[Column], end: str) -> str:
    """The sum of the numbers of a tap's labels in the columns of one end, or of the whole trip."""
    return " + ".join(query.number_sql(column) for column in columns if _end(column.name) == end) or "0"


def _rank_sql(coded: Sequence[Code], missing: Mapping[str, int]) -> str:
    """The rank of a trip (`ranks`): each label from its own tap, or that of a missing value."""
    on, off, whole = map(_numbers, _ENDS)
    none = {"tap_on_": 0, "tap_off_": 0}
    for code in (code for code in coded if _end(code.column.name) in none):
        none[_end(code.column.name)] += int(ranks.numbers(code)[missing[code.column.name]])
    begins = f"CASE WHEN is_on THEN {on} ELSE {none['tap_on_']} END"
    ends = f"CASE WHEN begins THEN next_off WHEN is_on THEN {none['tap_off_']} ELSE {off} END"
    return ranks.rank_sql("md5(card)", [whole, begins, ends])


def _code(name: str) -> str:
    return quoted(f"code {name}")


def _next(name: str) -> str:
    return quoted(f"next {name}")


def _missing_code(code: Code) -> int:
    """The code of a missing value. Columns of the other end need a label for it."""
    if code.column.missing is not None:
        return code.labels.index(code.column.missing)
    if code.column.name.startswith(("tap_on_", "tap_off_")):
        raise AssertionError(f"{code.column.name} has no label for an end that is not known")
    return 0


def _paired_sql(plan: Plan, columns: Mapping[str, int]) -> str:
    """Whether a tap begins a trip with the next tap, or ends one with the previous; and the codes of the next tap."""
    within = 60 * plan.source.taps.within_minutes if plan.source.taps else 0
    known = "card IS NOT NULL"
    begins = f"is_on AND NOT lead(is_on) OVER following AND lead(second) OVER following - second <= {within}"
    ends = f"NOT is_on AND lag(is_on) OVER following AND second - lag(second) OVER following <= {within}"
    codes = [f"lead({_code(name)}) OVER following AS {_next(name)}" for name in columns if name.startswith("tap_off_")]
    flags = [f"coalesce({known} AND {begins}, false) AS begins", f"coalesce({known} AND {ends}, false) AS ends"]
    return ", ".join([*flags, f"lead({_numbers('tap_off_')}) OVER following AS next_off", *codes])


def _keys(columns: Mapping[str, int], sets: Sequence[CellSet]) -> str:
    """The keys of a trip: each end from its own tap, or a missing value; other columns from its first tap."""
    codes = {name: _code(name) for name in columns}
    for name, missing in columns.items():
        if name.startswith("tap_off_"):
            codes[name] = f"CASE WHEN begins THEN {_next(name)} WHEN is_on THEN {missing} ELSE {_code(name)} END"
        elif name.startswith("tap_on_"):
            codes[name] = f"CASE WHEN is_on THEN {_code(name)} ELSE {missing} END"
    return ", ".join(
        f"{packed} AS {word}"
        for cell_set in sets
        for word, packed in zip(cell_set.words, cell_set.packing.pack_sql(codes), strict=True)
    )
