"""Counting step by step, on any engine: trips become codes, codes become keys, keys are counted.

`scan`, `query` and `pairing` have the SQL of each step, in one dialect; the engine runs it (see `Database`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tapveil.base.errors import TripDataError
from tapveil.base.progress import Reporter, Silent, Stage
from tapveil.base.vocabulary import CARD, COUNT, TAP
from tapveil.counting import coding as codes
from tapveil.counting import ranks
from tapveil.counting.coding import Code, Column
from tapveil.counting.exact import Counted, ExactTable
from tapveil.counting.packing import Packing
from tapveil.counting.refusals import Refusals
from tapveil.counting.sql import in_order, pairing, query, scan
from tapveil.counting.sql.database import Database, Located
from tapveil.inputs.areas import Areas
from tapveil.plan.model import Plan, Table
from tapveil.trips.csv_reader import FEW
from tapveil.trips.excerpt import MOST, Excerpt
from tapveil.trips.files import told_apart
from tapveil.trips.reasons import Reason

SAMPLE, FEW_GROUPS = 65_536, 1_000
"""Rows are grouped where the first of them have few combinations of raw values, or fewer than half of their number."""


def count(
    plan: Plan,
    areas: Areas,
    wider: Mapping[str, Areas],
    database: Database,
    *,
    progress: Reporter,
    locate: bool = False,
    excerpt: Excerpt | None = None,
) -> Counted:
    """The exact tables of a plan, and the refused rows; with `locate`, also their positions."""
    parts = []
    for part in by_end(plan):
        database.clear()
        parts.append(_Counting(database, part, areas, wider, progress, locate).run())
    counted = parts[0] if len(parts) == 1 else together(plan, parts)
    if excerpt:
        _fill(excerpt, plan, counted.refusals, database)
    return counted


def located(plan: Plan, areas: Areas, database: Database) -> Located:
    """Where the first refused rows stand; of plans that read a row once."""
    return _Counting(database, plan, areas, {}, Silent(), True).look_for_refused()


def _fill(excerpt: Excerpt, plan: Plan, refusals: Refusals, database: Database) -> None:
    """Keep some of the rows, where there are too many to keep all; an engine with tables of its own looks at all."""
    excerpt.forget()
    rows = refusals.rows + refusals.elsewhere
    named = excerpt.columns
    if rows <= MOST or any(group.relation for group in database.files.groups):
        return
    one_in = -(-rows // MOST)
    for number, group in enumerate(database.files.groups):
        found, _ = database.look(scan.excerpt_sql(group, number, named, plan.source.card, one_in), set(named))
        excerpt.put(found, one_in)


def by_end(plan: Plan) -> list[Plan]:
    """Where a row is one tap, the tables of each end of a trip are counted from the taps of that end."""
    return [plan.model_copy(update={"table": tables}) for tables in plan.columns.sides.values()] or [plan]


def together(plan: Plan, parts: Sequence[Counted]) -> Counted:
    """All tables, in the order of the plan; a refused tap counts once, even if it was read for both ends."""
    tables = {name: table for part in parts for name, table in part.tables.items()}
    # Where taps are paired, that pass reads every tap; otherwise each is read for its own end.
    paired = [part.refusals for of_end, part in zip(by_end(plan), parts, strict=True) if of_end.columns.pairs_taps]
    refusals = paired or [part.refusals for part in parts]
    lines = refusals[0].lines
    by_reason = sum((Counter(each.by_reason) - Counter(lines) for each in refusals), start=Counter[Reason](lines))
    rows = sum(each.rows - sum(lines.values()) for each in refusals) + sum(lines.values())
    located = {reason: where for each in reversed(refusals) for reason, where in each.located.items()}
    whole = Refusals(rows, by_reason, sum(each.elsewhere for each in refusals), lines, located)
    return Counted({name: tables[name] for name in plan.tables}, whole, sum(part.left_out for part in parts))


def other_taps(plan: Plan, database: Database, *, progress: Reporter) -> int:
    """How many rows are neither taps on nor taps off: one pass over that column alone. Secret."""
    with database.stage(progress, Stage.READING_TAPS):
        found, _ = database.look(scan.other_taps_sql(plan, database.files), {plan.columns.read[TAP]})
    return int(found.column(0)[0].as_py() or 0)


def copies(plan: Plan, database: Database, *, progress: Reporter) -> int:
    """How many rows equal another row, including the card: perhaps an export was made twice. Secret."""
    with database.stage(progress, Stage.LOOKING_FOR_COPIES):
        found, _ = database.look(scan.copies_sql(plan, database.files), set(plan.columns.named.values()))
    return int(found.column(0)[0].as_py())


@dataclass(frozen=True, repr=False)
class CommonestCards:
    """The cards with the most rows. Secret."""

    number: int
    """All cards."""
    commonest: Mapping[str, int]
    """The rows of each, of those that have the most."""


def commonest_cards(plan: Plan, database: Database) -> CommonestCards:
    """How many cards there are, and the rows of those with the most. Secret."""
    sql = scan.commonest_cards_sql(plan, database.files, FEW)
    found = database.look(sql, {plan.columns.read[CARD]})[0].to_pylist()
    return CommonestCards(
        int(found[0]["cards"]) if found else 0, {each["card"]: int(each["number_of_rows"]) for each in found}
    )


def cards_among(texts: Sequence[str], theirs: str, database: Database) -> set[str]:
    """Which texts are card IDs in the trips. Memory is needed for the texts, not for the cards."""
    some = [text for text in texts if text]  # the empty text is no card
    database.upload("texts", pa.table({"text": pa.array(some, pa.string())}))
    found, _ = database.look(scan.cards_among_sql(database.files, theirs, some), {theirs})
    return set(found.column(0).to_pylist())


def over_trips(trips: str, sql: str) -> str:
    """A query over the rows of all files; it may begin with more such parts, after a comma."""
    return f"WITH trips AS NOT MATERIALIZED ({trips}) {sql}"


@dataclass(frozen=True)
class Groups:
    """The rows grouped by raw values, for a set of columns: what they are grouped by, and where they are."""

    columns: Sequence[Column]
    table: str


class _Counting:
    """One count, from files to exact tables; `query` has the SQL of each step."""

    def __init__(
        self, database: Database, plan: Plan, areas: Areas, wider: Mapping[str, Areas], progress: Reporter, locate: bool
    ) -> None:
        self._database, self._plan, self._wider, self._progress = database, plan, wider, progress
        self._areas = areas
        self._locate = locate and database.locates
        self._columns = codes.columns(plan, database.files, areas)
        self._card = codes.card_column(plan, database.files)
        self._reasons = codes.Reasons([*self._columns, *([self._card] if self._card else [])])
        self._trips = scan.trips_sql(plan, database.files, self._columns, self._reasons)
        self._used = set(plan.columns.read.values())
        self._keys = query.maximal_sets(plan.columns.of(table) for table in plan.table)
        self._groups: list[Groups] = []
        self._store = database
        self._refusing: set[str] = set()

    def run(self) -> Counted:
        """Learn the codes of all columns, then count by them."""
        with self._database.stage(self._progress, Stage.READING_VALUES):
            self._group()
            coded = self._code()
        sizes = {code.column.name: len(code.labels) for code in coded}
        packings = [Packing(key, tuple(sizes[column] for column in key)) for key in self._keys]
        sets = [query.CellSet(index, packing) for index, packing in enumerate(packings)]
        return self._count_units(coded, sets, self._card) if self._card else self._count_trips(coded, sets)

    def look_for_refused(self) -> dict[Reason, list[tuple[str, int]]]:
        """Where the first refused rows stand, without counting."""
        self._code()
        return self._located()

    def _count_trips(self, coded: Sequence[Code], sets: Sequence[query.CellSet]) -> Counted:
        with self._database.stage(self._progress, Stage.COUNTING_TRIPS):
            if self._groups_tell_refusals():
                tables = [groups.table for groups in self._groups]
                self._store.create("counted", query.counted_groups_sql(self._columns, sets, tables))
                lines = Counter[Reason]()
            else:
                lines = self._pass("counted", query.counted_sql(self._columns, sets))
        states = self._states(query.states_sql(sets))
        exact = self._tables(coded, sets, query.table_sql)
        return Counted(exact, self._refusals(states, states.pop(0, 0), lines))

    def _count_units(self, coded: Sequence[Code], sets: Sequence[query.CellSet], card: Column) -> Counted:
        """Count cards or card-days instead of trips: bounded first, then at most so often per cell."""
        paired, at_once = self._plan.columns.pairs_taps, self._database.rows_at_once
        cells = [self._cells(table, coded, sets) for table in self._plan.table]
        of_columns = query.rows_sql(self._columns, sets, card, self._reasons)
        units_sql = in_order.units_sql if self._database.keeps_order else query.units_sql
        with self._database.stage(self._progress, Stage.READING_TRIPS, passes=2 if paired else 1):
            if paired:
                lines = self._pair(coded, sets, card)
            elif at_once:
                lines = self._pass("rows", of_columns)
            else:
                units = units_sql(self._plan, sets, cells)
                lines = self._pass("counted", f", rows AS NOT MATERIALIZED ({of_columns}) {units}")
        # A share of the cards at a time, in bounded memory: all rows of a card are in one share, so counts add up.
        shares = 1 + self._number("SELECT count(*) FROM rows") // at_once if at_once else 1
        counted = 0
        with self._progress.stage(Stage.COUNTING_CARDS, lambda: counted / shares):
            for number in range(shares if paired or at_once else 0):
                share = f"coalesce(hash(card), 0) % {shares} = {number}" if shares > 1 else "true"
                add = self._database.append if number else self._database.create
                add("counted", units_sql(self._plan, sets, cells, share))
                counted += 1
        states = self._states(query.states_of_units_sql())
        kept, left_out = states.pop(0, 0), states.pop(query.BEYOND, 0)
        if self._database.keeps_order:
            rows = "rows" if paired or at_once else f"({self._trips}) AS trips"
            left_out = self._number(f"SELECT count(*) FROM {rows}") - kept - states.total()
        sound = self._number(pairing.SOUND_TAPS) if paired else kept + left_out
        tables = self._tables(coded, sets, query.units_of_table_sql)
        return Counted(tables, self._refusals(states, sound, lines), left_out)

    def _pair(self, coded: Sequence[Code], sets: Sequence[query.CellSet], card: Column) -> Counter[Reason]:
        """Pair taps into trips, as rows; return the number of skipped lines, by reason."""
        self._pass("raw_moments", pairing.RAW_MOMENTS)
        raw: list[str] = self._database.fetch("SELECT raw_value FROM raw_moments").column("raw_value").to_pylist()
        second = codes.reads_second(self._plan)
        moments = {"raw_value": pa.array(raw, pa.string()), "second": pa.array(map(second, raw), pa.int64())}
        self._database.upload(pairing.MOMENTS, pa.table(moments))
        lines = self._pass("taps", pairing.taps_sql(self._columns, card, self._reasons))
        self._database.create("rows", pairing.rows_of_taps_sql(self._plan, coded, sets))
        return lines

    def _group(self) -> None:
        """Group the rows by raw values, where that pays: values and counts then follow from groups, not from rows."""
        groups = [query.grouped_columns(self._columns, key) for key in self._keys]
        if self._card or any(all(column not in group for group in groups) for column in self._columns):
            return  # its values, and what it refuses, would not be known
        if self._database.groups_at_once:
            self._group_at_once(groups)
        elif self._database.rereads:
            self._group_one_by_one(groups)

    def _group_at_once(self, groups: Sequence[Sequence[Column]]) -> None:
        """Group the rows for all sets in one pass, where the plan tells that groups are few, and what refuses rows."""
        texts = [column for column in self._columns if column.refuses and not column.arithmetic]
        refuse_alike = all(column in group for column in texts for group in groups)
        if not (refuse_alike and all(codes.as_fine_as_labels(each, self._plan, self._areas) for each in self._columns)):
            return
        sql = query.all_groups_sql(self._plan, self._columns, self._keys, self._trips)
        self._database.read(query.ALL_GROUPS, sql, self._used)
        self._store = self._database.holding(query.ALL_GROUPS)
        for index, columns in enumerate(groups):
            self._groups.append(Groups(columns, query.groups_of_sql(self._columns, self._keys, index)))

    def _group_one_by_one(self, groups: Sequence[Sequence[Column]]) -> None:
        """Group the rows for each set, where the first rows have few groups."""
        sample = query.number_of_groups_sql(self._columns, self._keys, self._trips, SAMPLE)
        (numbers,) = self._database.look(sample, self._used)[0].to_pylist()
        rows = numbers.pop("row_count")
        if max(numbers.values()) > max(FEW_GROUPS, rows // 2):
            return
        for index, key in enumerate(self._keys):
            groups_of = query.groups_sql(self._columns, key, self._trips)
            self._database.read(query.group_table(index), groups_of, self._used)
            self._groups.append(Groups(groups[index], query.group_table(index)))

    def _groups_tell_refusals(self) -> bool:
        """Whether the groups of each set have all texts that refuse a row."""
        of_texts = [column for column in self._columns if column.name in self._refusing]
        return bool(self._groups) and all(column in group.columns for column in of_texts for group in self._groups)

    def _code(self) -> list[Code]:
        """Every column with its labels; the codes of raw values are uploaded as tables to join."""
        found = self._raw_values()
        return [
            Code(column, column.fixed_labels)
            if column.arithmetic
            else self._code_raw_values(column, *found[column.name])
            for column in self._columns
        ]

    def _raw_values(self) -> dict[str, tuple[pa.ChunkedArray, pa.ChunkedArray]]:
        """The distinct raw values of each text column, unchanged and as texts."""
        found = dict[str, tuple[pa.ChunkedArray, pa.ChunkedArray]]()
        passes = [[column] for column in self._columns] if self._database.rereads else [self._columns]
        for groups in self._groups or [Groups(columns, "") for columns in passes]:
            texts = [column for column in groups.columns if not column.arithmetic and column.name not in found]
            if not texts:
                continue
            if groups.table:
                values = self._store.fetch(query.raw_values_sql(texts, groups.table))
            else:
                values, _ = self._database.look(over_trips(self._trips, query.raw_values_sql(texts)), self._used)
            found |= {each.name: (values.column(each.name), values.column(query.text_of(each.name))) for each in texts}
        return found

    def _code_raw_values(self, column: Column, raw_values: pa.ChunkedArray, as_texts: pa.ChunkedArray) -> Code:
        known = raw_values.is_valid()
        texts: list[str] = as_texts.filter(known).to_pylist()
        code, values = codes.assign(column, texts, self._reasons)
        if any(value.refusal for value in values):
            self._refusing.add(column.name)
        coded = {
            "raw_value": pa.chunked_array([*raw_values.filter(known).chunks, pa.nulls(1, raw_values.type)]),
            "code": pa.array([value.codes[0] for value in values], pa.int64()),
            "refusal": pa.array([value.refusal for value in values], pa.int64()),
        }
        if column.name == COUNT:
            numbers = [int(value.labels[0]) if value.labels else 0 for value in values]
            coded["trips_of_row"] = pa.array(numbers, pa.int64())
        if self._plan.privacy.by_card:
            of_code = [*ranks.numbers(code).tolist(), 0]  # the last where a row is refused, and there is no code
            coded["number"] = pa.array([of_code[value.codes[0]] for value in values], pa.int64())
        for variant in range(1, len(column.variants)):
            both = [(value.codes[variant], value.codes[0]) for value in values]
            coded[f"code_{variant}"] = pa.array([one - other for one, other in both], pa.int64())
            if self._plan.privacy.by_card:
                coded[f"number_{variant}"] = pa.array(
                    [of_code[one] - of_code[other] for one, other in both], pa.int64()
                )
        looked_up = next((each.for_mode for each in self._columns if each.for_mode and column.name == "mode"), ())
        for number, (mode, _) in enumerate(looked_up, start=1):
            coded[f"is_{number}"] = pa.array([*(int(text.strip() == mode) for text in texts), 0], pa.int64())
        self._store.upload(query.code_table(column), pa.table(coded))
        return code

    def _cells(self, table: Table, coded: Sequence[Code], sets: Sequence[query.CellSet]) -> query.TableCells:
        """The source of a table's cells: a set with all its columns, at the plan's own resolution."""
        recodings, labels, packing = codes.at_level(self._plan, table, coded, self._wider)
        source = next(each for each in sets if set(packing.columns) <= set(each.packing.columns))
        return query.TableCells(packing, source, recodings, labels)

    def _tables(
        self, coded: Sequence[Code], sets: Sequence[query.CellSet], cells_sql: Callable[[int, query.TableCells], str]
    ) -> dict[str, ExactTable]:
        tables: dict[str, ExactTable] = {}
        with self._progress.stage(
            Stage.ADDING_UP_TABLES, lambda: len(tables), total=len(self._plan.table), unit="tables"
        ):
            for number, table in enumerate(self._plan.table):
                cells = self._cells(table, coded, sets)
                *words, counts = self._store.cells(cells_sql(number, cells), cells.packing.words)
                tables[table.name] = ExactTable(table.name, cells.packing, cells.labels, tuple(words), counts)
        return tables

    def _states(self, sql: str) -> Counter[int]:
        """How many rows count, and how many do not, by key."""
        states = Counter({found["refusal"]: found["n"] for found in self._store.fetch(sql).to_pylist()})
        if states[query.STRAY]:
            raise TripDataError("a trip file changed while it was read; run the command again when it is complete")
        return states

    def _refusals(self, refused: Counter[int], accepted: int, lines: Counter[Reason]) -> Refusals:
        """The refused rows. Finding the positions of the first ones takes one more pass."""
        refusals = Refusals.of(self._reasons.of, refused, accepted, lines)
        return replace(refusals, located=self._located()) if self._locate and refusals.refused else refusals

    def _located(self) -> dict[Reason, list[tuple[str, int]]]:
        files = self._database.files
        trips = scan.trips_sql(self._plan, files, self._columns, self._reasons, numbered=True)
        sql = over_trips(trips, query.refused_rows_sql(self._columns, self._card, self._reasons, FEW))
        # Without its own stage: others may read a log, and it must not reveal whether a row was refused.
        found, lines = self._database.look(sql, self._used, numbered=True)
        located: dict[Reason, list[tuple[str, int]]] = {}
        called = told_apart([path for group in files.groups for path in group.paths])
        for row in sorted(found.to_pylist(), key=lambda row: row["place"]):
            group, file, line = row["place"]
            path = files.groups[group].paths[file]
            located.setdefault(self._reasons.of(row["refusal"]), []).append((called[path], line))
        for reason, places in lines.items():
            located.setdefault(reason, []).extend(places)
        return {reason: where[:FEW] for reason, where in located.items() if where}

    def _pass(self, name: str, sql: str) -> Counter[Reason]:
        """One pass over all files into a table; return the number of skipped lines, by reason."""
        return self._database.read(name, over_trips(self._trips, sql), self._used)

    def _number(self, sql: str) -> int:
        return int(self._database.fetch(sql).column(0)[0].as_py())
