"""Counting on DuckDB, embedded: bounded memory, spilling to a scratch folder that only the owner can enter."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from tapveil.coarsen import Areas, read_wider, relabelling
from tapveil.counting import codes, pairing, query, scan
from tapveil.counting.codes import Code, Column, Reasons, Recoding
from tapveil.counting.exact import ELSEWHERE, Counted, ExactTable, Refusals
from tapveil.counting.meter import Meter
from tapveil.counting.packing import Packing
from tapveil.csvlines import FEW, CsvReading
from tapveil.defaults import MEMORY
from tapveil.errors import EngineError, PlanError, TripDataError
from tapveil.plan import Plan, Table
from tapveil.progress import Reporter, Silent
from tapveil.source import TAP
from tapveil.trips import FileGroup, TripFiles

LEAST_MEMORY = 200 * 10**6
ROWS_AT_ONCE = 1_000_000
"""So many rows of cards are ranked and told apart at a time."""


def count(
    plan: Plan,
    files: TripFiles,
    areas: Areas,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter,
    locate: bool = False,
) -> Counted:
    """The exact tables of a plan, materialised, and what was refused; with `locate`, also where it stands."""
    parts, wider = [], read_wider(plan)
    for part in _by_end(plan):
        with _connection(memory, scratch) as connection:
            meter = Meter(files, partial(_share_done, connection))
            parts.append(_Counting(connection, part, files, areas, wider, progress, meter, locate).run())
    return parts[0] if len(parts) == 1 else _together(plan, parts)


def _by_end(plan: Plan) -> list[Plan]:
    """Where a row is one tap, the tables of each end of a trip are counted from the taps of that end."""
    return [plan.model_copy(update={"table": tables}) for tables in plan.sides.values()] or [plan]


def _together(plan: Plan, parts: Sequence[Counted]) -> Counted:
    """All tables, in the order of the plan; taps that were refused count once, however many ends they were read for."""
    tables = {name: table for part in parts for name, table in part.tables.items()}
    both = [part for end, part in zip(plan.sides, parts, strict=True) if end == "both"]
    refusals = [part.refusals for part in both or parts]
    lines = refusals[0].lines
    by_reason = sum((Counter(each.by_reason) - Counter(lines) for each in refusals), start=Counter[str](lines))
    rows = sum(each.rows - sum(lines.values()) for each in refusals) + sum(lines.values())
    located = {reason: where for each in reversed(refusals) for reason, where in each.located.items()}
    whole = Refusals(rows, by_reason, sum(each.elsewhere for each in refusals), lines, located)
    return Counted({name: tables[name] for name in plan.tables}, whole, sum(part.left_out for part in parts))


def other_taps(
    plan: Plan,
    files: TripFiles,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> int:
    """How many rows are neither taps on nor taps off: one pass over that column alone. Secret."""
    theirs = {plan.file_columns[TAP]}
    with _connection(memory, scratch) as connection, _only_pass(connection, files, theirs, "Reading taps", progress):
        return int(connection.execute(scan.other_taps_sql(plan, files)).fetchall()[0][0] or 0)


def copies(
    plan: Plan,
    files: TripFiles,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> int:
    """How many rows say the same as another, card and all: perhaps an export that was made twice. Secret."""
    named, stage = set(plan.named_columns.values()), "Looking for copies"
    with _connection(memory, scratch) as connection, _only_pass(connection, files, named, stage, progress):
        return int(connection.execute(scan.copies_sql(plan, files)).fetchall()[0][0])


@contextmanager
def _only_pass(
    connection: duckdb.DuckDBPyConnection, files: TripFiles, named: Set[str], stage: str, progress: Reporter | None
) -> Iterator[None]:
    """One pass over some columns of all files: a stage of its own."""
    readings = _register(connection, files, lambda group: sorted(group.names.index(each) for each in named))
    meter = Meter(files, partial(_share_done, connection))
    with meter.stage(progress or Silent(), stage), _unreadable_files(readings):
        meter.begin(readings)
        yield


def _share_done(connection: duckdb.DuckDBPyConnection) -> float:
    """How much of its query the engine has done, from 0 to 1; below 0 where it does not say."""
    return float(connection.query_progress()) / 100


def _register(
    connection: duckdb.DuckDBPyConnection,
    files: TripFiles,
    used: Callable[[FileGroup], list[int]],
    *,
    numbered: bool = False,
) -> list[CsvReading]:
    """One reading of the CSV files of each group, under the name by which the SQL knows it."""
    readings = []
    for number, group in enumerate(files.groups):
        if group.format == "csv":
            shape = (group.paths, group.delimiter, len(group.names), used(group))
            reading = CsvReading(*shape, encoding=files.encoding, numbered=numbered)
            connection.register(scan.csv_view(number), reading.reader())
            readings.append(reading)
    return readings


def cards_among(
    texts: Sequence[str],
    theirs: str,
    files: TripFiles,
    *,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter | None = None,
) -> set[str]:
    """Which of some texts are card ids in the trips: memory for the texts, not for the cards."""
    if not texts:
        return set()
    with _connection(memory, scratch) as connection:
        connection.register("texts", pa.table({"text": pa.array(texts, pa.string())}))
        with _only_pass(connection, files, {theirs}, "Looking for card numbers", progress):
            return {card for (card,) in connection.execute(scan.cards_among_sql(files, theirs)).fetchall()}


@contextmanager
def _unreadable_files(readings: Sequence[CsvReading]) -> Iterator[None]:
    """DuckDB says that a query failed; the reader knows which file it was, and why."""
    try:
        yield
    except duckdb.Error as error:
        for failure in (reading.failure for reading in readings if reading.failure):
            raise failure from None
        if isinstance(error, _ENGINE_FAULTS) or "No space left" in str(error):
            raise
        raise TripDataError("a trip file could not be read to its end; is one damaged, or being written?") from None


@contextmanager
def _connection(memory: str, scratch: Path | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A private database in memory; what spills goes to a folder that only the owner can enter, and is then gone."""
    if _bytes(memory) < LEAST_MEMORY:
        raise PlanError(f"--memory {memory} is too little: counting needs at least {LEAST_MEMORY // 10**6}MB")
    with _scratch_folder(scratch) as spill, _translated_errors():
        connection = duckdb.connect(
            config={
                "memory_limit": memory,
                "temp_directory": spill,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "preserve_insertion_order": False,
                # A CSV file has no known size: left to guess, DuckDB may build its hash table from the trips.
                "disabled_optimizers": "join_order,build_side_probe_side",
            }
        )
        try:
            connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
            connection.execute("SET TimeZone = 'UTC'")  # what a label says must not depend on the machine
            yield connection
        finally:
            connection.close()


def _bytes(amount: str) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([MGT])(i?)B", amount, re.IGNORECASE)
    if not match:
        raise PlanError(f"--memory {amount} is not an amount such as 1GB or 800MB")
    thousand = 1024 if match[3] else 1000
    return float(match[1]) * float(thousand ** (" MGT".index(match[2].upper()) + 1))


@contextmanager
def _scratch_folder(parent: Path | None) -> Iterator[str]:
    try:
        folder = tempfile.TemporaryDirectory(prefix="tapveil-", dir=parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise EngineError(
            f"no scratch folder can be made ({error.strerror}); point --scratch to a writable disk"
        ) from None
    with folder as name:
        yield name


@contextmanager
def _translated_errors() -> Iterator[None]:
    """DuckDB's messages quote rows: say what happened in our own words, and drop theirs."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise EngineError(
            "not enough memory (or scratch space) to count; raise --memory, or give --scratch a larger disk"
        ) from None
    except duckdb.Error as error:
        if "No space left" in str(error):
            raise EngineError("the scratch disk is full; point --scratch to a larger one") from None
        raise EngineError(f"DuckDB could not count the trips ({type(error).__name__})") from None
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise


_ENGINE_FAULTS = (
    duckdb.OutOfMemoryException,
    duckdb.InterruptException,
    duckdb.InternalException,
    duckdb.FatalException,
)


@dataclass(frozen=True)
class _Coding:
    """How the rows of cards are read, and what their values have become."""

    columns: Sequence[Column]
    coded: Sequence[Code]
    sets: Sequence[query.CellSet]
    card: Column
    reasons: Reasons
    trips: str


@dataclass(frozen=True)
class _Counting:
    """One count, from files to exact tables; `query` has the SQL of each step."""

    connection: duckdb.DuckDBPyConnection
    plan: Plan
    files: TripFiles
    areas: Areas
    wider: Mapping[str, Areas]
    progress: Reporter
    meter: Meter
    locate: bool = False

    def run(self) -> Counted:
        columns = codes.columns(self.plan, self.files, self.areas)
        card = codes.card_column(self.plan, self.files)
        reasons = codes.Reasons([*columns, *([card] if card else [])])
        trips = scan.trips_sql(self.plan, self.files, columns, reasons)
        with self.meter.stage(self.progress, "Reading values"):
            coded = self._code(columns, reasons, trips)
        sets = self._sets(coded)
        if card:
            return self._count_units(_Coding(columns, coded, sets, card, reasons, trips))
        with self.meter.stage(self.progress, "Counting trips"):
            lines = self._pass("counted", trips, query.counted_sql(columns, sets))
        self._refuse_strays(query.strays_sql(sets))
        tables = self._tables(coded, sets, query.table_sql)
        accepted = self._number(f"SELECT coalesce(sum(n), 0) FROM counted WHERE {sets[0].is_cell}")
        refusals = self._refusals(reasons, query.refusals_sql(sets[0]), accepted, lines)
        return Counted(tables, self._located(refusals, columns, card, reasons))

    def _count_units(self, coding: _Coding) -> Counted:
        """Cards or their days instead of trips: bounded first, then counted once per cell."""
        coded, sets, reasons = coding.coded, coding.sets, coding.reasons
        paired = "both" in self.plan.sides
        with self.meter.stage(self.progress, "Reading trips", passes=2 if paired else 1):
            lines = self._pair(coding) if paired else self._read_rows(coding)
        self._refuse_strays(query.row_strays_sql(sets))
        accepted = self._number(f"SELECT count(*) FROM rows WHERE {sets[0].is_cell}")
        sound = self._number(pairing.sound_taps_sql()) if paired else accepted
        refusals = self._refusals(reasons, query.row_refusals_sql(sets[0]), sound, lines)
        # A share of the cards at a time: all rows of a card are in one, so its counts add up, in bounded memory.
        shares, counted, kept = 1 + accepted // ROWS_AT_ONCE, 0, 0
        with self.progress.stage("Counting cards", lambda: counted / shares):
            cells = {table.name: self._cells(table, coded, sets) for table in self.plan.table}
            for name, each in cells.items():
                self._execute(query.new_units_sql(name, each))
            for number in range(shares):
                share = f"hash(card) % {shares} = {number}" if shares > 1 else "true"
                self._execute(f"CREATE OR REPLACE TEMP TABLE kept AS {query.kept_sql(self.plan, sets, share)}")
                kept += self._number("SELECT count(*) FROM kept")
                for name, each in cells.items():
                    self._execute(query.add_units_sql(name, query.units_sql(self.plan, each)))
                counted += 1
        tables = self._tables(coded, sets, query.all_units_sql)
        return Counted(tables, self._located(refusals, coding.columns, coding.card, reasons), accepted - kept)

    def _read_rows(self, coding: _Coding) -> Counter[str]:
        """Every row, kept by itself; how many lines of CSV were left out, by reason."""
        rows = query.rows_sql(coding.columns, coding.sets, coding.card, coding.reasons)
        return self._pass("rows", coding.trips, rows)

    def _pair(self, coding: _Coding) -> Counter[str]:
        """The trips that taps make up, as rows; how many lines of CSV were left out, by reason."""
        self._pass("spelt_moments", coding.trips, pairing.moments_sql())
        spelt: list[str] = self.connection.table("spelt_moments").to_arrow_table().column("spelling").to_pylist()
        second = codes.reads_second(self.plan)
        moments = {"spelling": pa.array(spelt, pa.string()), "second": pa.array(map(second, spelt), pa.int64())}
        self.connection.register(pairing.MOMENTS, pa.table(moments))
        lines = self._pass("taps", coding.trips, pairing.taps_sql(coding.columns, coding.card, coding.reasons))
        rows = pairing.rows_of_taps_sql(self.plan, coding.coded, coding.sets)
        self._execute(f"CREATE TEMP TABLE rows AS {rows}")
        return lines

    def _cells(self, table: Table, coded: Sequence[Code], sets: Sequence[query.CellSet]) -> query.TableCells:
        """What a table's cells are summed from: a set that has all its columns, at the plan's own resolution."""
        keys = self.plan.key_columns(table)
        source = next(each for each in sets if set(keys) <= set(each.packing.columns))
        recodings = codes.recodings(relabelling(self.plan, table, self.wider), coded)
        return query.TableCells(_packing(keys, coded, recodings), source, recodings)

    def _refuse_strays(self, sql: str) -> None:
        if self._number(sql):
            raise TripDataError("a trip file changed while it was read; run again when it is complete")

    def _number(self, sql: str) -> int:
        return int(self._execute(sql).fetchall()[0][0])

    def _execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        return self.connection.execute(sql)

    def _code(self, columns: Sequence[Column], reasons: Reasons, trips: str) -> list[Code]:
        if not all(column.arithmetic for column in columns):
            self._pass("spellings", trips, query.spellings_sql(columns))
        looked_up = next((column.for_mode for column in columns if column.for_mode), ())
        return [
            Code(column, column.fixed_labels)
            if column.arithmetic
            else self._code_spellings(column, reasons, [mode for mode, _ in looked_up] if column.name == "mode" else [])
            for column in columns
        ]

    def _code_spellings(self, column: Column, reasons: Reasons, looked_up: Sequence[str]) -> Code:
        found: pa.Table = self.connection.sql(query.spellings_of_sql(column)).to_arrow_table()
        texts: list[str] = found.column("text").to_pylist()
        code, spellings = codes.assign(column, texts, reasons)
        none = pa.nulls(1, found.schema.field("spelling").type)
        coded = {
            "spelling": pa.chunked_array([*found.column("spelling").chunks, none]),
            "code": pa.array([spelling.codes[0] for spelling in spellings], pa.int64()),
            "refusal": pa.array([spelling.refusal for spelling in spellings], pa.int64()),
        }
        if self.plan.privacy.by_card:
            coded["meaning"] = pa.array([spelling.meaning for spelling in spellings], pa.string())
        for number in range(1, len(column.variants)):
            coded[f"more_{number}"] = pa.array([each.codes[number] - each.codes[0] for each in spellings], pa.int64())
        for number, mode in enumerate(looked_up, start=1):
            coded[f"is_{number}"] = pa.array([*(int(text.strip() == mode) for text in texts), 0], pa.int64())
        self.connection.register("coded_spellings", pa.table(coded))
        self._execute(f"CREATE TEMP TABLE {query.code_table(column)} AS SELECT * FROM coded_spellings")
        self.connection.unregister("coded_spellings")
        return code

    def _sets(self, coded: Sequence[Code]) -> list[query.CellSet]:
        keys = query.maximal_sets(self.plan.key_columns(table) for table in self.plan.table)
        return [query.CellSet(index, _packing(key, coded, {})) for index, key in enumerate(keys)]

    def _tables(
        self,
        coded: Sequence[Code],
        sets: Sequence[query.CellSet],
        cells_sql: Callable[[str, query.TableCells], str],
    ) -> dict[str, ExactTable]:
        """Every table of the plan, from the sets that were counted."""
        tables: dict[str, ExactTable] = {}
        whole = len(self.plan.table)
        with self.progress.stage("Adding up tables", lambda: len(tables), total=whole, unit="tables"):
            for table in self.plan.table:
                tables[table.name] = self._table(table, coded, sets, cells_sql)
        return tables

    def _table(
        self,
        table: Table,
        coded: Sequence[Code],
        sets: Sequence[query.CellSet],
        cells_sql: Callable[[str, query.TableCells], str],
    ) -> ExactTable:
        of_table = self._cells(table, coded, sets)
        packing = of_table.packing
        cells = self.connection.sql(cells_sql(table.name, of_table)).to_arrow_table()
        words = tuple(_integers(cells, index) for index in range(packing.words))
        labels = {code.column.name: code.labels for code in coded if code.column.name in packing.columns}
        labels |= {column: recoding.labels for column, recoding in of_table.recodings.items()}
        return ExactTable(table.name, packing, labels, words, _integers(cells, packing.words))

    def _refusals(self, reasons: Reasons, sql: str, accepted: int, lines: Counter[str]) -> Refusals:
        by_reason = Counter({reason: n for reason, n in lines.items() if n})
        for key, n in self._execute(sql).fetchall():
            by_reason[reasons.of(key)] += n
        elsewhere = by_reason.pop(ELSEWHERE, 0)
        return Refusals(accepted + by_reason.total(), by_reason, elsewhere, {r: n for r, n in lines.items() if n})

    def _located(
        self, refusals: Refusals, columns: Sequence[Column], card: Column | None, reasons: Reasons
    ) -> Refusals:
        """Where the first refused rows stand, if that was asked for: one more pass."""
        if not self.locate or not refusals.refused:
            return refusals
        trips = scan.trips_sql(self.plan, self.files, columns, reasons, numbered=True)
        readings = _register(self.connection, self.files, self._used_fields, numbered=True)
        sql = query.refused_rows_sql(columns, card, reasons, FEW)
        with self.meter.stage(self.progress, "Finding refused rows"), _unreadable_files(readings):
            self.meter.begin(readings)
            found = self._execute(f"WITH trips AS NOT MATERIALIZED ({trips}) {sql}").fetchall()
        located: dict[str, list[tuple[str, int]]] = {}
        for key, (group, file, line) in sorted(found, key=lambda row: row[1]):
            path = self.files.groups[group].paths[file]
            located.setdefault(reasons.of(key), []).append((path.name, line))
        for reading in readings:
            for reason, places in reading.located.items():
                located.setdefault(reason, []).extend((path.name, line) for path, line in places)
        return replace(refusals, located={reason: where[:FEW] for reason, where in located.items() if where})

    def _used_fields(self, group: FileGroup) -> list[int]:
        return scan.used_fields(self.plan, group)

    def _pass(self, name: str, trips: str, sql: str) -> Counter[str]:
        """One pass over all files into a table; how many lines of CSV were left out, by reason."""
        readings = _register(self.connection, self.files, self._used_fields)
        self.meter.begin(readings)
        with _unreadable_files(readings):
            self._execute(f"CREATE TEMP TABLE {name} AS WITH trips AS NOT MATERIALIZED ({trips}) {sql}")
        self.meter.end()
        return sum((reading.refused for reading in readings), start=Counter[str]())


def _packing(columns: tuple[str, ...], coded: Sequence[Code], recodings: Mapping[str, Recoding]) -> Packing:
    sizes = {code.column.name: len(code.labels) for code in coded}
    sizes |= {column: len(recoding.labels) for column, recoding in recodings.items()}
    return Packing(columns, tuple(sizes[column] for column in columns))


def _integers(cells: pa.Table, index: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    values: np.ndarray[tuple[int], np.dtype[np.int64]] = cells.column(index).to_numpy().astype(np.int64, copy=False)
    return values
