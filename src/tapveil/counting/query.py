"""The SQL that counts, written once.

    trips      the used columns of all files, raw
    spellings  every distinct spelling in the text columns           (one pass over the files)
    code_…     spelling → code, one table per text column
    counted    the packed key of each cell, and its count, for every maximal set of columns
                                                                     (one pass over the files)

A refused row gets, instead of a key, a negative number that says why; so the one pass also counts refusals.
Smaller tables are summed from `counted`, not from the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tapveil.counting.codes import REFUSE_UNREADABLE, Code, Column
from tapveil.counting.packing import Packing
from tapveil.plan import MINUTES_PER_DAY, Plan
from tapveil.trips import LATEST_MINUTE, MISSING_TIME, FileGroup, TripFiles

REFUSAL = '"#refusal"'
"""A column of ours among those of the plan, whose names cannot hold a #."""


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


def trips_sql(plan: Plan, files: TripFiles, columns: Sequence[Column]) -> str:
    """All rows of all files, the used columns only, each as its spelling or, for typed times, as its code."""
    return " UNION ALL ".join(_group_sql(plan, group, number, columns) for number, group in enumerate(files.groups))


def _group_sql(plan: Plan, group: FileGroup, number: int, columns: Sequence[Column]) -> str:
    selected = ", ".join(f"{_value_sql(plan, group, column)} AS {quoted(column.name)}" for column in columns)
    return f"SELECT {selected} FROM {_scan_sql(group, number)}"


def _scan_sql(group: FileGroup, number: int) -> str:
    if group.format == "csv":
        return csv_view(number)
    paths = ", ".join(literal(_not_a_pattern(str(path))) for path in group.paths)
    return f"read_parquet([{paths}], binary_as_string = true, hive_partitioning = false, union_by_name = false)"


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


def _value_sql(plan: Plan, group: FileGroup, column: Column) -> str:
    source = plan.source.columns[column.name]
    if source.column is None:
        return literal(source.value or "")
    index = group.names.index(source.column)
    value = quoted(source.column) if group.format == "parquet" else f"field_{index}"
    raw = group.types[index]
    if raw == "instant" and column.kind in ("time", "date"):
        value = f"TRY(timezone({literal(plan.source.timezone or '')}, {value}))"
    if column.arithmetic:
        return _time_code_sql(value, column.raw, plan.coarsen.time_minutes)
    if column.kind == "date" and column.raw in ("date", "timestamp", "instant") and plan.source.dates == "calendar":
        return f"CAST({value} AS DATE)"
    if raw == "number":  # whole numbers that passed through a float: 3000.0 is stop 3000
        whole = f"TRY_CAST({value} AS BIGINT)"
        return f"CASE WHEN {whole} = {value} THEN CAST({whole} AS VARCHAR) ELSE CAST({value} AS VARCHAR) END"
    return f"CAST({value} AS VARCHAR)"


def _time_code_sql(value: str, raw: str, bin_minutes: int) -> str:
    """The same code that `TimeBins` gives, from a typed value."""
    bins = MINUTES_PER_DAY // bin_minutes
    if raw == "integer":
        bin_ = f"1 + ({value} // {bin_minutes}) % {bins}"
        return (
            f"CAST(CASE WHEN {value} IS NULL OR {value} = {MISSING_TIME} THEN 0 "
            f"WHEN {value} BETWEEN 0 AND {LATEST_MINUTE - 1} THEN {bin_} ELSE {REFUSE_UNREADABLE} END AS INTEGER)"
        )
    microsecond = f"epoch_us(TRY_CAST({value} AS TIME))"
    return f"CAST(COALESCE(1 + ({microsecond} // {bin_minutes * 60_000_000}) % {bins}, 0) AS INTEGER)"


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
    """The name of the table that codes a column's spellings: `spelling`, and `code_0`, `code_1`, … for its variants."""
    return quoted(f"code_{column.name}")


def coded_sql(codes: Sequence[Code]) -> str:
    """All rows, every column as its code."""
    modes = next((code for code in codes if code.column.name == "mode"), None)
    selected = ", ".join(f"{_code_sql(code, modes)} AS {quoted(code.column.name)}" for code in codes)
    joins = " ".join(_join_sql(code.column) for code in codes if not code.column.arithmetic)
    return f"SELECT {selected} FROM trips {joins}"


def _code_sql(code: Code, modes: Code | None) -> str:
    if code.column.arithmetic:
        return f"trips.{quoted(code.column.name)}"
    return f"COALESCE({_variant_sql(code.column, modes)}, {code.missing})"


def _variant_sql(column: Column, modes: Code | None) -> str:
    """The code of a row's spelling, by the variant that holds for the row's mode."""
    table = code_table(column)
    cases = [
        f"WHEN {modes.labels.index(mode)} THEN {table}.code_{variant}"
        for variant, (mode, _) in enumerate(column.for_mode, start=1)
        if modes and mode in modes.labels
    ]
    if not (modes and cases):
        return f"{table}.code_0"
    return f"CASE {code_table(modes.column)}.code_0 {' '.join(cases)} ELSE {table}.code_0 END"


def _join_sql(column: Column) -> str:
    table = code_table(column)
    return f"LEFT JOIN {table} ON trips.{quoted(column.name)} = {table}.spelling"


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


def counted_sql(codes: Sequence[Code], sets: Sequence[CellSet]) -> str:
    """The count of every cell of every maximal set, and of every reason to refuse."""
    names = {code.column.name: f"coded.{quoted(code.column.name)}" for code in codes}
    keys = ", ".join(
        f"CASE WHEN {REFUSAL} < 0 THEN {REFUSAL} ELSE {packed} END AS {word}"
        for cell_set in sets
        for word, packed in zip(cell_set.words, cell_set.packing.pack_sql(names), strict=True)
    )
    words = ", ".join(word for cell_set in sets for word in cell_set.words)
    groups = ", ".join(f"({', '.join(cell_set.words)})" for cell_set in sets)
    return (
        f"SELECT {words}, count(*) AS n FROM (SELECT {keys} FROM "
        f"(SELECT *, {refusal_sql(codes)} AS {REFUSAL} FROM ({coded_sql(codes)})) AS coded) "
        f"GROUP BY GROUPING SETS ({groups})"
    )


def refusal_sql(codes: Sequence[Code]) -> str:
    """0 for a row that is counted; else the first column's reason, moved so that each reason has its own number."""
    cases = " ".join(
        f"WHEN {quoted(code.column.name)} < 0 THEN {quoted(code.column.name)} - {2 * index}"
        for index, code in enumerate(codes)
        if code.column.refuses
    )
    return f"CAST(CASE {cases} ELSE 0 END AS INTEGER)" if cases else "0"


def refusals_sql(first: CellSet) -> str:
    """Rows refused, by the number of their reason."""
    return f"SELECT {first.words[0]} AS reason, n FROM counted WHERE {first.words[0]} < 0"


def table_sql(packing: Packing, source: CellSet) -> str:
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
