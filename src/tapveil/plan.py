"""The plan: what to publish, and at which privacy. TOML, validated whole, then frozen.

A plan is public knowledge: it is written before the trips are looked at, and nothing in it may depend on them.
Numbers that state privacy are kept exactly as written (`0.1` is one tenth, `"1/8000000"` is a fraction).
"""

from __future__ import annotations

import hashlib
import json
import tomllib
import zoneinfo
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from tapveil import planfile
from tapveil.errors import PlanError, did_you_mean
from tapveil.privacy.accountant import Exposure, Neighbours
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.loss import Loss, certified, compose, in_other_notion
from tapveil.privacy.mechanisms import Mechanism

Kind = Literal["time", "date", "location", "label", "card"]

KINDS: dict[str, Kind] = {
    "card": "card",
    "mode": "label",
    "date": "date",
    "tap_on_time": "time",
    "tap_on_location": "location",
    "tap_off_time": "time",
    "tap_off_location": "location",
}
"""The columns tapveil knows by name; any other column is a label unless the plan says its kind."""

PRESETS = ("opal",)
COUNT = "count"
CARD = "card"
EVERY_MODE = "*"
MINUTES_PER_DAY = 1440
EARLIEST_YEAR, LATEST_YEAR = 1900, 2200


def read_exact(value: object) -> Fraction:
    """A number or a fraction, exactly as written.

    >>> read_exact("1/8000000"), read_exact(Decimal("0.1")), read_exact("1 %")
    (Fraction(1, 8000000), Fraction(1, 10), Fraction(1, 100))
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise ValueError('expected a number, or a fraction such as "1/8000000"')
    try:
        if isinstance(value, str) and value.rstrip().endswith("%"):
            return read_exact(value.rstrip().removesuffix("%").rstrip()) / 100
        written = repr(value) if isinstance(value, float) else value  # repr has the digits it was written with
        if isinstance(written, str) and "/" not in written:
            written = Decimal(written.strip())
        if isinstance(written, Decimal) and abs(written.adjusted()) > 1000:
            raise ValueError
        return Fraction(written)
    except (ValueError, OverflowError, ZeroDivisionError, InvalidOperation):
        raise ValueError(f'`{value}` is not a number, nor a fraction such as "1/8000000"') from None


Exact = Annotated[
    Fraction,
    BeforeValidator(read_exact),
    PlainSerializer(str),
    pydantic.InstanceOf[Fraction],
]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=64)]
Text = Annotated[str, Field(min_length=1, max_length=500)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Release(_Frozen):
    """What the published folder is called, and how it is laid out."""

    name: Name
    title: Text
    description: Text | None = None
    publisher: Text | None = None
    licence: Text | None = None
    partition: tuple[str, ...] = ("mode", "date")
    layout: Literal["tables", "opal"] = "tables"
    synthetic: bool = False


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class SourceColumn(_Frozen):
    """Where one of our columns comes from: a column of the files, or one value for every row."""

    column: Text | None = None
    value: Text | None = None
    kind: Kind | None = None
    missing: Annotated[tuple[Text, ...], BeforeValidator(_as_list)] = ()
    """Texts that mean that there is none: `0` as an exit time, `NA`."""

    @pydantic.model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.column is None) == (self.value is None):
            raise ValueError('give either `column = "…"` or `value = "…"`')
        if self.value is not None and self.missing:
            raise ValueError("`missing` is for a column of the files, not for one value")
        return self


def _source_column(value: object) -> object:
    return {"column": value} if isinstance(value, str) else value


def _known_zone(value: str) -> str:
    if value not in zoneinfo.available_timezones():
        raise ValueError(f"`{value}` is not a time zone{did_you_mean(value, zoneinfo.available_timezones())}")
    return value


def _separates(value: str) -> str:
    if len(value) != 1 or not value.isascii() or value.isalnum() or value in "\"'\r\n\\":
        raise ValueError('must be one character, such as ",", ";" or "\\t"')
    return value


Delimiter = Annotated[str, AfterValidator(_separates)]


class Source(_Frozen):
    """Where trips are, and which of their columns are read."""

    path: Annotated[tuple[Text, ...], BeforeValidator(_as_list), Field(min_length=1)]
    columns: dict[Name, Annotated[SourceColumn, BeforeValidator(_source_column)]]
    delimiter: Delimiter = ","
    dates: Literal["calendar", "labels"] = "calendar"
    timezone: Annotated[str, AfterValidator(_known_zone)] | None = None
    max_refused: Exact = Fraction(1, 100)
    first_day: date | None = None
    last_day: date | None = None
    modes: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None

    @pydantic.field_validator("max_refused")
    @classmethod
    def _a_share(cls, value: Fraction) -> Fraction:
        if not 0 <= value <= 1:
            raise ValueError('must be a share between 0 and 1, such as 0.01 or "1 %"')
        return value

    @property
    def card(self) -> str | None:
        """Their column of cards, if the plan names one."""
        return self.columns[CARD].column if CARD in self.columns else None

    def missing(self, name: str) -> frozenset[str]:
        """What else than nothing means that a column has no value."""
        return frozenset(text.strip() for text in self.columns[name].missing)

    def kind(self, name: str) -> Kind:
        """What sort of values a column holds."""
        return self.columns[name].kind or KINDS.get(name, "label")


class LedgerPlace(_Frozen):
    """Where it is written down what was spent, and of which data set."""

    path: Text = "ledger.sqlite"
    data_set: Name = "trips"


class Lookup(_Frozen):
    """A file that says which area each stop lies in."""

    lookup: Text
    from_: Annotated[Text, Field(alias="from")]
    to: Text
    delimiter: Delimiter = ","


def _divides_a_day(minutes: int) -> int:
    if minutes < 1 or MINUTES_PER_DAY % minutes:
        raise ValueError("must divide a day of 1440 minutes, such as 5, 10, 15, 30 or 60")
    return minutes


class Coarsen(_Frozen):
    """The detail given up before counting."""

    time_minutes: Annotated[int, AfterValidator(_divides_a_day)] = 15
    location: dict[str, Lookup] = {}


Unit = Literal["trip", "card-day", "card"]
PositiveInt = Annotated[int, Field(ge=1, le=10_000, strict=True)]


def _above_zero(value: Fraction) -> Fraction:
    if value <= 0:
        raise ValueError("must be above 0")
    return value


def _epsilon_can_be_meant(value: Fraction) -> Fraction:
    if value <= 0:
        raise ValueError("must be above 0: at 0 nothing could be published")
    return value


def _delta_can_be_meant(value: Fraction) -> Fraction:
    if value < 0:
        raise ValueError("must not be negative")
    if value >= 1:
        raise ValueError("must be below 1: at 1 nothing would be promised")
    return value


Epsilon = Annotated[Exact, AfterValidator(_epsilon_can_be_meant)]
Delta = Annotated[Exact, AfterValidator(_delta_can_be_meant)]
Weight = Annotated[Exact, AfterValidator(_above_zero)]


class Privacy(_Frozen):
    """The promise. None of it has a default: it is chosen, not inherited."""

    unit: Unit
    neighbours: Neighbours
    mechanism: Literal["sbh", "laplace", "gaussian", "dictionary"]
    epsilon: Epsilon | None = None
    delta: Delta | None = None
    trips_per_day: PositiveInt | None = None
    trips_per_card: PositiveInt | None = None
    without_card: Literal["refuse", "own-unit"] | None = None
    cut: PositiveInt | None = None

    @property
    def by_card(self) -> bool:
        """Whether trips are told apart by their card."""
        return self.unit != "trip"

    @property
    def trips_per_unit(self) -> int:
        """How many trips of one unit are counted, at most."""
        most = {"trip": 1, "card-day": self.trips_per_day, "card": self.trips_per_card}[self.unit]
        return most or 1


class Table(_Frozen):
    """One table of counts, and the share of the budget it gets."""

    name: Name
    columns: Annotated[tuple[str, ...], Field(min_length=1)]
    epsilon: Epsilon | None = None
    delta: Delta | None = None
    weight: Weight | None = None
    cells: Text | None = None


class Plan(_Frozen):
    """A whole plan. Make one with `Plan.read`, `Plan.parse` or `Plan.preset`."""

    release: Release
    source: Source
    coarsen: Coarsen = Coarsen()
    ledger: LedgerPlace = LedgerPlace()
    privacy: Privacy
    table: Annotated[tuple[Table, ...], Field(min_length=1)]

    _base: Path = pydantic.PrivateAttr(default=Path())

    @pydantic.model_validator(mode="after")
    def _parts_fit(self) -> Self:
        problems = list(_misfits(self))
        if problems:
            raise ValueError("\n".join(problems))
        return self

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """The plan in a TOML file; relative paths in it start from its folder."""
        path = Path(path)
        return cls.parse(planfile.read_text(path), where=path.name, base=path.parent)

    @classmethod
    def parse(cls, text: str, where: str = "plan", base: str | Path = ".") -> Plan:
        """The plan in a TOML text. Every mistake is named with its place."""
        try:
            data: dict[str, Any] = tomllib.loads(text, parse_float=Decimal)
        except tomllib.TOMLDecodeError as error:
            hint = " (in a path write / instead of \\, or put it in single quotes)" if "\\" in text else ""
            raise PlanError(f"{where} is not valid TOML: {error}{hint}") from None
        try:
            plan = cls.model_validate(data)
        except pydantic.ValidationError as error:
            raise PlanError(planfile.explain(error, cls, data, text, where)) from None
        plan._base = Path(base)
        return plan

    @classmethod
    def preset(cls, name: str) -> Plan:
        """A plan that ships with tapveil."""
        return cls.parse(preset_text(name), where=f"preset {name}")

    @property
    def base(self) -> Path:
        """The folder that relative paths in the plan start from."""
        return self._base

    @property
    def exposure(self) -> Exposure:
        """What one unit of protection can change: each of its trips is in one cell of every table."""
        return Exposure(self.privacy.neighbours, self.privacy.trips_per_unit)

    @property
    def total_is_given(self) -> bool:
        """Whether one total is shared by weight; else every table has its own (ε, δ)."""
        return self.privacy.epsilon is not None

    @cached_property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The mechanism of each table, by its name."""
        privacy, cut = self.privacy, self.privacy.cut or 1
        if privacy.epsilon is not None:
            weights = tuple(table.weight or Fraction(1) for table in self.table)
            delta = privacy.delta or Fraction(0)
            shared = calibrate(privacy.mechanism, weights, privacy.epsilon, delta, self.exposure, cut)
            return {table.name: mechanism for table, mechanism in zip(self.table, shared, strict=True)}
        return {table.name: self._own_mechanism(table) for table in self.table}

    def _own_mechanism(self, table: Table) -> Mechanism:
        epsilon, delta = table.epsilon or Fraction(0), table.delta or Fraction(0)
        one = (Fraction(1),)
        return calibrate(self.privacy.mechanism, one, epsilon, delta, self.exposure, self.privacy.cut or 1)[0]

    @property
    def loss(self) -> Loss:
        """The (ε, δ) of the whole release, as promised: the total, or the sum over the tables."""
        if self.privacy.epsilon is not None:
            return Loss(self.privacy.epsilon, self.privacy.delta or Fraction(0))
        return compose(Loss(table.epsilon or Fraction(0), table.delta or Fraction(0)) for table in self.table)

    def loss_for(self, neighbours: Neighbours) -> Loss:
        """The (ε, δ) of the whole release in either notion of neighbours."""
        if neighbours == self.privacy.neighbours:
            return self.loss
        return in_other_notion(list(self.mechanisms.values()), self.loss, Exposure(neighbours, self.exposure.cells))

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by their names, in the order of the plan."""
        return {table.name: table for table in self.table}

    def key_columns(self, table: Table) -> tuple[str, ...]:
        """The columns that tell the cells of a table apart: those of the partition, then its own."""
        return (*self.release.partition, *table.columns)

    @property
    def used_columns(self) -> tuple[str, ...]:
        """The columns that are read, and no others."""
        by_mode = ["mode"] if any(mode != EVERY_MODE for mode in self.coarsen.location) else []
        tables = (column for table in self.table for column in table.columns)
        by_day = ["date"] if self.privacy.trips_per_day or self.source.first_day else []
        some_modes = ["mode"] if self.source.modes else []
        return tuple(dict.fromkeys([*self.release.partition, *tables, *by_mode, *by_day, *some_modes]))

    @property
    def published_kinds(self) -> set[Kind]:
        """What sorts of columns the tables have."""
        return {self.source.kind(column) for table in self.table for column in self.key_columns(table)}

    def copies(self, column: str) -> bool:
        """Whether a column is published in the words of the trips; a time, and a calendar day, is written anew."""
        kind = self.source.kind(column)
        return kind in ("label", "location") or (kind == "date" and self.source.dates == "labels")

    @property
    def file_columns(self) -> dict[str, str]:
        """The columns that are read from the files: ours, theirs."""
        read = (*self.used_columns, *([CARD] if self.privacy.by_card else []))
        origins = {ours: self.source.columns[ours].column for ours in read}
        return {ours: theirs for ours, theirs in origins.items() if theirs is not None}

    @property
    def named_columns(self) -> dict[str, str]:
        """The columns that the files must have: those that are read, and the card, which the leak guard looks for."""
        return {**self.file_columns, **({CARD: self.source.card} if self.source.card else {})}

    @property
    def ledger_path(self) -> Path:
        """The file of the ledger."""
        return self.base / self.ledger.path

    @property
    def digest(self) -> str:
        """SHA-256 of the plan's meaning: the same for two spellings of one plan."""
        canonical = json.dumps(self.model_dump(mode="json", by_alias=True), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()


def preset_text(name: str) -> str:
    """The commented TOML of a preset."""
    if name not in PRESETS:
        raise PlanError(f"there is no preset `{name}`{did_you_mean(name, PRESETS)} (presets: {', '.join(PRESETS)})")
    return (resources.files("tapveil.presets") / f"{name}.toml").read_text(encoding="utf-8")


def _misfits(plan: Plan) -> Iterator[str]:
    """What is wrong between the parts of a plan, each of which is right by itself."""
    yield from _repeated("table name", (table.name for table in plan.table))
    yield from _repeated("set of columns in a table", (", ".join(sorted(table.columns)) for table in plan.table))
    yield from _repeated("partition column", plan.release.partition)
    for place, column in _named_columns(plan):
        if column not in plan.source.columns:
            hint = did_you_mean(column, plan.source.columns)
            yield f"{place}: unknown column `{column}`{hint or ' (it is not under [source.columns])'}"
        elif column == COUNT:
            yield f"{place}: `{COUNT}` is the name of the published counts: give your column another name of ours"
        elif plan.source.kind(column) == "card":
            yield f"{place}: `{column}` tells people apart and can never be published"
        elif (theirs := plan.source.columns[column].column) and theirs == plan.source.card:
            yield f"{place}: `{column}` is the column of the cards, `{theirs}`: it can never be published"
    for table in plan.table:
        yield from _table_misfits(plan, table)
    known = all(column in plan.source.columns for column in plan.used_columns)
    if known and not any(plan.source.columns[column].column for column in plan.used_columns):
        yield "[source.columns]: every column has a fixed value: at least one must come from the files"
    if "mode" in plan.source.columns and plan.source.kind("mode") != "label":
        yield "[source.columns] mode: must be a label, not another kind"
    yield from _coverage_misfits(plan)
    problems = [*_unit_misfits(plan), *_budget_misfits(plan)]
    yield from problems or _mechanism_misfits(plan)
    if "mode" not in plan.source.columns and any(mode != EVERY_MODE for mode in plan.coarsen.location):
        yield f'[coarsen.location]: there is no `mode` column; use [coarsen.location."{EVERY_MODE}"] for every row'
    if plan.release.layout == "opal":
        yield from _opal_misfits(plan)


def _named_columns(plan: Plan) -> Iterator[tuple[str, str]]:
    for column in plan.release.partition:
        yield "[release] partition", column
    for table in plan.table:
        for column in table.columns:
            yield f"[[table]] {table.name}", column


def _table_misfits(plan: Plan, table: Table) -> Iterator[str]:
    place = f"[[table]] {table.name}"
    yield from _repeated(f"column of {table.name}", table.columns)
    for column in set(table.columns) & set(plan.release.partition):
        yield f"{place}: `{column}` is already a partition column: leave it out of the table"


def _coverage_misfits(plan: Plan) -> Iterator[str]:
    """Whether the days and modes that a release is limited to can be told apart."""
    source = plan.source
    if (source.first_day is None) != (source.last_day is None):
        given, other = ("first_day", "last_day") if source.last_day is None else ("last_day", "first_day")
        yield f"[source] {given}: needs {other} as well"
    elif source.first_day and source.last_day:
        if source.first_day.year < EARLIEST_YEAR or source.last_day.year > LATEST_YEAR:
            yield f"[source] first_day: days must be between {EARLIEST_YEAR} and {LATEST_YEAR}"
        if source.first_day > source.last_day:
            yield "[source] last_day: must not be before first_day"
        if "date" not in source.columns or source.kind("date") != "date" or source.dates == "labels":
            yield '[source] first_day: needs a column `date` under [source.columns], and dates = "calendar"'
        elif source.columns["date"].column is None:
            yield "[source] first_day: needs a `date` that comes from the files, not one value for every row"
    if source.modes and ("mode" not in source.columns or source.columns["mode"].column is None):
        yield "[source] modes: needs a column `mode` that comes from the files"
    yield from _repeated("mode in [source] modes", source.modes or ())


def _unit_misfits(plan: Plan) -> Iterator[str]:
    """Whether the unit of protection can be told apart, and how many trips it has."""
    privacy = plan.privacy
    if not privacy.by_card:
        for_cards = {
            "trips_per_day": privacy.trips_per_day,
            "trips_per_card": privacy.trips_per_card,
            "without_card": privacy.without_card,
        }
        for key in (key for key, value in for_cards.items() if value is not None):
            yield f'[privacy] {key}: is for unit = "card-day" or "card"; a trip is one by itself'
        return
    if CARD not in plan.source.columns or plan.source.columns[CARD].column is None:
        yield f'[privacy] unit: "{privacy.unit}" needs a column `{CARD}` under [source.columns]'
    elif plan.source.kind(CARD) != "card":
        yield f"[source.columns] {CARD}: must be a card, not another kind"
    if privacy.without_card is None:
        yield '[privacy] unit: say under without_card what becomes of rows without a card: "refuse" or "own-unit"'
    if privacy.trips_per_day and "date" not in plan.source.columns:
        yield "[privacy] trips_per_day: needs a column `date` under [source.columns]"
    elif privacy.trips_per_day and plan.source.kind("date") != "date":
        yield "[source.columns] date: must be a date, not another kind"
    if privacy.trips_per_day and plan.source.dates == "labels":
        yield '[privacy] trips_per_day: needs dates = "calendar": by their labels, one day could be several'
    if privacy.unit == "card" and privacy.trips_per_card is None:
        yield '[privacy] unit: "card" needs trips_per_card, the most trips of one card that are counted'
    if privacy.unit == "card-day" and privacy.trips_per_day is None:
        yield '[privacy] unit: "card-day" needs trips_per_day, the most trips of one card and day that are counted'
    if privacy.unit == "card-day" and privacy.trips_per_card is not None:
        # The trips kept of one day would depend on those of other days, and a changed day would show in all of them.
        yield '[privacy] trips_per_card: does not go with unit = "card-day", whose days must not depend on each other'


def _budget_misfits(plan: Plan) -> Iterator[str]:
    """Whether there is one total with weights, or an (ε, δ) for every table; and δ where it is needed."""
    privacy, pure = plan.privacy, plan.privacy.mechanism == "dictionary"
    if privacy.cut is not None and not pure:
        yield '[privacy] cut: is for mechanism = "dictionary"; the others have a threshold that follows from delta'
    if plan.total_is_given:
        yield from _delta_misfits(
            "[privacy] epsilon" if privacy.delta is None else "[privacy] delta", privacy.delta, pure
        )
    elif privacy.delta is not None:
        yield "[privacy] delta: a total needs epsilon as well"
    for table in plan.table:
        place = f"[[table]] {table.name}"
        if (table.cells is not None) != pure:
            wanted = "needs `cells`, a file that lists every possible cell" if pure else "has no use for `cells`"
            yield f'{place}: mechanism = "{privacy.mechanism}" {wanted}'
        if plan.total_is_given:
            if table.epsilon is not None or table.delta is not None:
                yield f"{place}: [privacy] gives a total: give this table a weight instead of epsilon and delta"
        elif table.weight is not None:
            yield f"{place}: a weight shares a total: give epsilon and delta under [privacy], or none of the weights"
        elif table.epsilon is None:
            yield f"{place}: epsilon is missing (or give a total under [privacy] and a weight to each table)"
        else:
            yield from _delta_misfits(place, table.delta, pure)
    if sum(table.delta or 0 for table in plan.table) >= 1:
        yield "[[table]]: the deltas add up to 1 or more: nothing would be promised"


def _delta_misfits(place: str, delta: Fraction | None, pure: bool) -> Iterator[str]:
    if pure and delta:
        yield f'{place}: `delta`: mechanism = "dictionary" has none: leave it out'
    if not pure and delta is None:
        yield f"{place}: delta is missing"
    elif not pure and delta == 0:
        yield f"{place}: `delta`: must be above 0: the threshold would be infinite"


def _mechanism_misfits(plan: Plan) -> Iterator[str]:
    """Whether there is noise for the budget, and whether its integers keep the promise."""
    for table in () if plan.total_is_given else plan.table:
        try:
            plan._own_mechanism(table)
        except ValueError as error:
            yield f"[[table]] {table.name}: {error}"
            return
    try:
        mechanisms = list(plan.mechanisms.values())
    except ValueError as error:
        yield f"[privacy] epsilon: {error}"
        return
    if not certified(mechanisms, plan.loss, plan.exposure):
        place = "[privacy]" if plan.total_is_given else "[[table]]"
        yield f"{place}: the noise is too coarse for these parameters: use a smaller epsilon or a larger delta"


OPAL_SHAPES: dict[tuple[str, ...], tuple[str, str]] = {
    ("tap_on_time",): ("time", "on"),
    ("tap_off_time",): ("time", "off"),
    ("tap_on_location",): ("loc", "on"),
    ("tap_off_location",): ("loc", "off"),
    ("tap_on_time", "tap_on_location"): ("time-loc", "on"),
    ("tap_off_time", "tap_off_location"): ("time-loc", "off"),
}
"""Which file of the published Opal data a table goes to, and its `tap`."""


def _opal_misfits(plan: Plan) -> Iterator[str]:
    if plan.release.partition != ("mode", "date"):
        yield '[release] layout: "opal" needs partition = ["mode", "date"]'
    for table in plan.table:
        if table.columns not in OPAL_SHAPES:
            yield f'[[table]] {table.name}: layout "opal" has no file for the columns {", ".join(table.columns)}'


def _repeated(what: str, names: Iterator[str] | tuple[str, ...]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield f"{what} `{name}` is used twice"
        seen.add(name)
