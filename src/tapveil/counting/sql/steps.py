"""Counting step by step, on whatever engine: trips become codes, codes become keys, keys are counted.

`scan`, `query` and `pairing` have the SQL of each step, in one dialect; the engine runs it (see `Database`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tapveil.base.errors import TripDataError
from tapveil.base.progress import Reporter
from tapveil.base.vocabulary import TAP
from tapveil.counting import coding as codes
from tapveil.counting.coding import Code, Column, Reasons, Recoding
from tapveil.counting.exact import Counted, ExactTable, Refusals
from tapveil.counting.packing import Packing
from tapveil.counting.sql import pairing, query, scan
from tapveil.counting.sql.database import Database
from tapveil.inputs.areas import Areas, relabelling
from tapveil.plan.model import Plan, Table
from tapveil.trips.csv_reader import FEW
from tapveil.trips.files import TripFiles


def count(
    plan: Plan,
    areas: Areas,
    wider: Mapping[str, Areas],
    database: Database,
    *,
    progress: Reporter,
    locate: bool = False,
) -> Counted:
    """The exact tables of a plan, materialised, and what was refused; with `locate`, also where it stands."""
    parts = []
    for part in _by_end(plan):
        database.clear()
        parts.append(_Counting(database, part, areas, wider, progress, locate).run())
    return parts[0] if len(parts) == 1 else _together(plan, parts)


def _by_end(plan: Plan) -> list[Plan]:
    """Where a row is one tap, the tables of each end of a trip are counted from the taps of that end."""
    return [plan.model_copy(update={"table": tables}) for tables in plan.columns.sides.values()] or [plan]


def _together(plan: Plan, parts: Sequence[Counted]) -> Counted:
    """All tables, in the order of the plan; taps that were refused count once, however many ends they were read for."""
    tables = {name: table for part in parts for name, table in part.tables.items()}
    both = [part for end, part in zip(plan.columns.sides, parts, strict=True) if end == "both"]
    refusals = [part.refusals for part in both or parts]
    lines = refusals[0].lines
    by_reason = sum((Counter(each.by_reason) - Counter(lines) for each in refusals), start=Counter[str](lines))
    rows = sum(each.rows - sum(lines.values()) for each in refusals) + sum(lines.values())
    located = {reason: where for each in reversed(refusals) for reason, where in each.located.items()}
    whole = Refusals(rows, by_reason, sum(each.elsewhere for each in refusals), lines, located)
    return Counted({name: tables[name] for name in plan.tables}, whole, sum(part.left_out for part in parts))


def other_taps(plan: Plan, database: Database, *, progress: Reporter) -> int:
    """How many rows are neither taps on nor taps off: one pass over that column alone. Secret."""
    with database.stage(progress, "Reading taps"):
        found, _ = database.look(scan.other_taps_sql(plan, database.files), {plan.columns.read[TAP]})
    return int(found.column(0)[0].as_py() or 0)


def copies(plan: Plan, database: Database, *, progress: Reporter) -> int:
    """How many rows say the same as another, card and all: perhaps an export that was made twice. Secret."""
    with database.stage(progress, "Looking for copies"):
        found, _ = database.look(scan.copies_sql(plan, database.files), set(plan.columns.named.values()))
    return int(found.column(0)[0].as_py())


def cards_among(texts: Sequence[str], theirs: str, database: Database) -> set[str]:
    """Which of some texts are card ids in the trips: memory for the texts, not for the cards."""
    database.upload("texts", pa.table({"text": pa.array(texts, pa.string())}))
    found, _ = database.look(scan.cards_among_sql(database.files, theirs), {theirs})
    return set(found.column(0).to_pylist())


def over_trips(trips: str, sql: str) -> str:
    """A query over the rows of all files."""
    return f"WITH trips AS NOT MATERIALIZED ({trips}) {sql}"


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

    database: Database
    plan: Plan
    areas: Areas
    wider: Mapping[str, Areas]
    progress: Reporter
    locate: bool = False

    @property
    def _files(self) -> TripFiles:
        return self.database.files

    def run(self) -> Counted:
        columns = codes.columns(self.plan, self._files, self.areas)
        card = codes.card_column(self.plan, self._files)
        reasons = codes.Reasons([*columns, *([card] if card else [])])
        trips = scan.trips_sql(self.plan, self._files, columns, reasons)
        with self.database.stage(self.progress, "Reading values"):
            coded = self._code(columns, reasons, trips)
        sets = self._sets(coded)
        if card:
            return self._count_units(_Coding(columns, coded, sets, card, reasons, trips))
        with self.database.stage(self.progress, "Counting trips"):
            lines = self._pass("counted", trips, query.counted_sql(columns, sets))
        self._refuse_strays(query.strays_sql(sets))
        tables = self._tables(coded, sets, query.table_sql)
        accepted = self._number(f"SELECT coalesce(sum(n), 0) FROM counted WHERE {sets[0].is_cell}")
        refusals = self._refusals(reasons, query.refusals_sql(sets[0]), accepted, lines)
        return Counted(tables, self._located(refusals, columns, card, reasons))

    def _count_units(self, coding: _Coding) -> Counted:
        """Cards or their days instead of trips: bounded first, then counted once per cell."""
        coded, sets, reasons = coding.coded, coding.sets, coding.reasons
        paired = self.plan.columns.pairs_taps
        with self.database.stage(self.progress, "Reading trips", passes=2 if paired else 1):
            lines = self._pair(coding) if paired else self._read_rows(coding)
        self._refuse_strays(query.row_strays_sql(sets))
        accepted = self._number(f"SELECT count(*) FROM rows WHERE {sets[0].is_cell}")
        sound = self._number(pairing.sound_taps_sql()) if paired else accepted
        refusals = self._refusals(reasons, query.row_refusals_sql(sets[0]), sound, lines)
        # A share of the cards at a time: all rows of a card are in one, so its counts add up, in bounded memory.
        at_once = self.database.rows_at_once
        shares, counted, kept = 1 + accepted // at_once if at_once else 1, 0, 0
        with self.progress.stage("Counting cards", lambda: counted / shares):
            cells = {table.name: self._cells(table, coded, sets) for table in self.plan.table}
            for number in range(shares):
                share = f"hash(card) % {shares} = {number}" if shares > 1 else "true"
                self.database.create("kept", query.kept_sql(self.plan, sets, share))
                kept += self._number("SELECT count(*) AS n FROM kept")
                for name, each in cells.items():
                    add = self.database.append if number else self.database.create
                    add(query.units_table(name), query.units_sql(self.plan, each))
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
        spelt: list[str] = self.database.fetch("SELECT spelling FROM spelt_moments").column("spelling").to_pylist()
        second = codes.reads_second(self.plan)
        moments = {"spelling": pa.array(spelt, pa.string()), "second": pa.array(map(second, spelt), pa.int64())}
        self.database.upload(pairing.MOMENTS, pa.table(moments))
        lines = self._pass("taps", coding.trips, pairing.taps_sql(coding.columns, coding.card, coding.reasons))
        rows = pairing.rows_of_taps_sql(self.plan, coding.coded, coding.sets)
        self.database.create("rows", rows)
        return lines

    def _cells(self, table: Table, coded: Sequence[Code], sets: Sequence[query.CellSet]) -> query.TableCells:
        """What a table's cells are summed from: a set that has all its columns, at the plan's own resolution."""
        keys = self.plan.columns.of(table)
        source = next(each for each in sets if set(keys) <= set(each.packing.columns))
        recodings = codes.recodings(relabelling(self.plan, table, self.wider), coded)
        return query.TableCells(_packing(keys, coded, recodings), source, recodings)

    def _refuse_strays(self, sql: str) -> None:
        if self._number(sql):
            raise TripDataError("a trip file changed while it was read; run again when it is complete")

    def _number(self, sql: str) -> int:
        return int(self.database.fetch(sql).column(0)[0].as_py())

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
        found = self.database.fetch(query.spellings_of_sql(column))
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
        self.database.upload(query.code_table(column), pa.table(coded))
        return code

    def _sets(self, coded: Sequence[Code]) -> list[query.CellSet]:
        keys = query.maximal_sets(self.plan.columns.of(table) for table in self.plan.table)
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
        *words, counts = self.database.cells(cells_sql(table.name, of_table), packing.words)
        labels = {code.column.name: code.labels for code in coded if code.column.name in packing.columns}
        labels |= {column: recoding.labels for column, recoding in of_table.recodings.items()}
        return ExactTable(table.name, packing, labels, tuple(words), counts)

    def _refusals(self, reasons: Reasons, sql: str, accepted: int, lines: Counter[str]) -> Refusals:
        by_key = Counter[int]()
        for refused in self.database.fetch(sql).to_pylist():  # one reason may come for several cells
            by_key[refused["refusal"]] += refused["n"]
        return Refusals.of(reasons.of, by_key, accepted, lines)

    def _located(
        self, refusals: Refusals, columns: Sequence[Column], card: Column | None, reasons: Reasons
    ) -> Refusals:
        """Where the first refused rows stand, if that was asked for: one more pass."""
        if not self.locate or not refusals.refused or not self.database.locates:
            return refusals
        trips = scan.trips_sql(self.plan, self._files, columns, reasons, numbered=True)
        sql = over_trips(trips, query.refused_rows_sql(columns, card, reasons, FEW))
        with self.database.stage(self.progress, "Finding refused rows"):
            found, lines = self.database.look(sql, self._used, numbered=True)
        located: dict[str, list[tuple[str, int]]] = {}
        for row in sorted(found.to_pylist(), key=lambda row: row["place"]):
            group, file, line = row["place"]
            path = self._files.groups[group].paths[file]
            located.setdefault(reasons.of(row["refusal"]), []).append((path.name, line))
        for reason, places in lines.items():
            located.setdefault(reason, []).extend(places)
        return replace(refusals, located={reason: where[:FEW] for reason, where in located.items() if where})

    @property
    def _used(self) -> set[str]:
        return set(self.plan.columns.read.values())

    def _pass(self, name: str, trips: str, sql: str) -> Counter[str]:
        """One pass over all files into a table; how many lines of CSV were left out, by reason."""
        return self.database.read(name, over_trips(trips, sql), self._used)


def _packing(columns: tuple[str, ...], coded: Sequence[Code], recodings: Mapping[str, Recoding]) -> Packing:
    sizes = {code.column.name: len(code.labels) for code in coded}
    sizes |= {column: len(recoding.labels) for column, recoding in recodings.items()}
    return Packing(columns, tuple(sizes[column] for column in columns))
