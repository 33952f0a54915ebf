"""The trips in Spark: a table, or Parquet files, as views with the types of DuckDB.

We inspect local Parquet files: files with the same columns form one view, and Spark is given the types. It would refuse
some types (nanoseconds), and guess others from the names of folders.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tapveil.base.errors import PlanError, TripDataError
from tapveil.counting.engines.spark.dialect import quoted, refused
from tapveil.plan.model import Plan
from tapveil.trips import files as sources
from tapveil.trips.files import FileGroup, RawType, TripFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def find_trips(session: SparkSession, plan: Plan) -> TripFiles:
    """The trips of a plan, each group of them as a temporary view."""
    source, prefix = plan.source, f"tapveil_{secrets.token_hex(8)}_trips_"
    if source.table:
        return _of_frame(plan, session.table(source.table), source.table, prefix)
    if sources.is_elsewhere(plan):
        _refuse_csv(Path(path).name for path in source.path if re.search(r"\.(csv|txt|tsv)(\.gz)?$", path.lower()))
        frame = session.read.options(**_READING).parquet(*source.path)
        return _of_frame(plan, frame, source.path[0], prefix)
    files = sources.find(plan)
    _refuse_csv(path.name for group in files.groups if group.format == "csv" for path in group.paths)
    groups = [_of_files(session, plan, group, f"{prefix}{number}") for number, group in enumerate(files.groups)]
    return replace(files, groups=tuple(groups))


_READING = {
    "mergeSchema": "false",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}


def _refuse_csv(names: Iterator[str]) -> None:
    for name in names:
        raise PlanError(
            f'{name} is CSV, but engine = "spark" only reads Parquet. '
            "Convert the trips to Parquet with Spark; or remove `engine` to use the built-in engine"
        )


def _of_frame(plan: Plan, frame: DataFrame, called: str, prefix: str) -> TripFiles:
    """One view with the columns that the plan names."""
    held = {field.name: field.dataType.simpleString() for field in frame.schema}
    view, known = f"{prefix}0", [name for name in _named(plan) if name in held]
    values = {name: _value(name, quoted(name), held[name], _text_matters(plan, name)) for name in known}
    _select(frame, values, view)
    raw: dict[str, RawType] = {name: values[name][0] if name in values else "text" for name in held}
    return sources.table(plan, called, raw, view)


def _of_files(session: SparkSession, plan: Plan, group: FileGroup, view: str) -> FileGroup:
    """The files of a group as one view, with the types stated in the files."""
    stored = {name: each for name, each in _stored(group.paths[0]).items() if name in _named(plan)}
    for name, each in stored.items():
        if not each.read_as:
            raise _unknown(name, each.called)
    values = {
        name: _value(name, each.sql.format(quoted(name)), each.held, _text_matters(plan, name))
        for name, each in stored.items()
    }
    schema = ", ".join(f"{quoted(name)} {each.read_as}" for name, each in stored.items())
    reader = session.read.schema(schema).options(**_READING, recursiveFileLookup="true")
    _select(reader.parquet(*map(_local, group.paths)), values, view)
    return replace(group, names=tuple(values), types=tuple(raw for raw, _ in values.values()), relation=view)


def _named(plan: Plan) -> list[str]:
    return sorted(set(plan.columns.named.values()))


def _select(frame: DataFrame, columns: Mapping[str, tuple[RawType, str]], view: str) -> None:
    frame.selectExpr(*(f"{sql} AS {quoted(name)}" for name, (_, sql) in columns.items())).createOrReplaceTempView(view)


def _local(path: Path) -> str:
    """The URI of a file for Spark, which expands patterns and silently skips some names."""
    if path.name.startswith(("_", ".")) or ":" in path.name:
        raise TripDataError(
            f"Spark ignores {path.name}; rename it so that it does not start with `_` or `.` and has no `:`"
        )
    pattern = re.sub(r"([*?\[\]{}\\,])", r"\\\1", str(path.resolve()))
    return f"file://{pattern}"


def _text_matters(plan: Plan, theirs: str) -> bool:
    """Whether the exact text of a column matters: it is published, compared, or parsed with a format of the plan."""
    source = plan.source
    for name, column in source.columns.items():
        understood = source.kind(name) in ("time", "duration", "calendar")
        understood |= source.kind(name) == "date" and source.calendar
        if column.column == theirs and (not understood or column.missing or column.format):
            return True
    return False


def _value(name: str, sql: str, held: str, text_matters: bool) -> tuple[RawType, str]:
    """The type of a Spark column, and an expression whose text equals DuckDB's, or that fails the query."""
    kind, text = held.partition("(")[0].partition(" ")[0], f"CAST({sql} AS STRING)"
    if kind in ("string", "char", "varchar"):
        return "text", f"collate({sql}, 'UTF8_BINARY')" if "collate" in held else sql
    if kind in ("tinyint", "smallint", "int", "bigint"):
        return "integer", sql
    if kind == "decimal":  # whole numbers without their zeros, as floats have them
        whole = f"regexp_replace({text}, '^(-?[0-9]+)[.]0+$', '$1')"
        return "text", f"CASE WHEN try_cast({sql} AS BIGINT) IS NULL THEN {text} ELSE {whole} END"
    if kind == "time" and not text_matters:
        return "text", f"substring({text}, 1, 8)"
    if kind == "clock":
        return "text", _clock_text(sql, int(held[6:-1]), text_matters)
    if kind == "unsigned" and not text_matters:  # larger numbers are not minutes either
        return "integer", f"CAST(least({sql}, 1000000BD) AS BIGINT)"
    if kind in ("boolean", "void", "time", "unsigned"):
        return "text", text
    raw = _RAW.get(kind)
    if raw is None:
        raise _unknown(name, held)
    if text_matters and raw in _FIRST_AND_LAST:  # engines write years without four digits differently
        first, last = _FIRST_AND_LAST[raw]
        sql = f"CASE WHEN {sql} IS NULL OR {sql} BETWEEN {first} AND {last} THEN {sql} ELSE {refused(name)} END"
    return raw, sql


_RAW: dict[str, RawType] = {
    "float": "number",
    "double": "number",
    "date": "date",
    "timestamp_ntz": "timestamp",
    "timestamp": "instant",
    "binary": "binary",
}
_FIRST_AND_LAST = {
    "date": ("DATE '0001-01-01'", "DATE '9999-12-31'"),
    "timestamp": ("TIMESTAMP_NTZ '0001-01-01'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"),
    "instant": ("TIMESTAMP '0001-01-01 00:00:00Z'", "TIMESTAMP '9999-12-31 23:59:59.999999Z'"),
}


def _clock_text(sql: str, per_second: int, exact: bool) -> str:
    """A time of day, stored as a number of parts of a second."""
    second = f"({sql} DIV {per_second})"
    parts = [f"{second} DIV 3600", f"{second} DIV 60 % 60", f"{second} % 60"]
    text = ", ':', ".join(f"lpad(CAST({part} AS STRING), 2, '0')" for part in parts)
    if not exact:
        return f"concat({text})"
    fraction = f"rtrim('0', lpad(CAST({sql} % {per_second} AS STRING), {len(str(per_second)) - 1}, '0'))"
    return f"concat({text}, CASE WHEN {sql} % {per_second} = 0 THEN '' ELSE concat('.', {fraction}) END)"


def _unknown(name: str, held: str) -> TripDataError:
    return TripDataError(
        f"the column `{name}` holds {held}, which cannot be counted; convert it to text, numbers or times"
    )


@dataclass(frozen=True)
class _Stored:
    """The type as which Spark reads a column of a file; the type it then holds, and the expression for it."""

    read_as: str
    held: str = ""
    sql: str = "{}"
    called: str = ""


def _stored(path: Path) -> dict[str, _Stored]:
    """The columns of a file, by its schema."""
    with pq.ParquetFile(path) as file:
        schema, inside = file.schema_arrow, file.schema
        columns = {inside.column(index).path: inside.column(index) for index in range(len(inside))}
    return {field.name: _of_arrow(field.type, columns.get(field.name)) for field in schema}


def _of_arrow(arrow: pa.DataType, column: Any) -> _Stored:
    if pa.types.is_dictionary(arrow):
        return _of_arrow(arrow.value_type, column)
    if pa.types.is_time(arrow):
        parts = 1_000 if column.physical_type == "INT32" else 10**9 if _unit(column) == "nanoseconds" else 10**6
        return _Stored("int" if parts == 1_000 else "bigint", f"clock({parts})")
    if pa.types.is_timestamp(arrow):
        held = "timestamp" if arrow.tz else "timestamp_ntz"
        if column.physical_type == "INT96":  # of old: a clock's time, which Spark takes for one in the session's zone
            return _Stored("timestamp", held, "CAST({} AS " + held + ")")
        if _unit(column) == "nanoseconds":
            micros = "timestamp_micros({0} DIV 1000 - CASE WHEN {0} % 1000 < 0 THEN 1 ELSE 0 END)"
            return _Stored("bigint", held, f"CAST({micros} AS {held})")
        return _Stored(held, held)
    if pa.types.is_decimal(arrow):
        name = f"decimal({arrow.precision},{arrow.scale})"
        return _Stored(name if arrow.precision <= 38 else "", name, called=str(arrow))
    name = next((name for name, is_so in _ARROW.items() if is_so(arrow)), "")
    if pa.types.is_null(arrow):
        return _Stored(name, "string", "CAST({} AS STRING)", str(arrow))
    return _Stored(name, "unsigned" if name == "decimal(20,0)" else name, called=str(arrow))


def _unit(column: Any) -> str:
    return str(json.loads(column.logical_type.to_json()).get("timeUnit", ""))


_ARROW = {
    "tinyint": pa.types.is_int8,
    "smallint": lambda arrow: pa.types.is_int16(arrow) or pa.types.is_uint8(arrow),
    "int": lambda arrow: pa.types.is_int32(arrow) or pa.types.is_uint16(arrow) or pa.types.is_null(arrow),
    "bigint": lambda arrow: pa.types.is_int64(arrow) or pa.types.is_uint32(arrow) or pa.types.is_duration(arrow),
    "decimal(20,0)": pa.types.is_uint64,
    "float": pa.types.is_float32,
    "double": pa.types.is_float64,
    "boolean": pa.types.is_boolean,
    "date": pa.types.is_date,
    "string": lambda arrow: pa.types.is_string(arrow) or pa.types.is_large_string(arrow),
    "binary": lambda arrow: any(
        is_so(arrow) for is_so in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    ),
}
