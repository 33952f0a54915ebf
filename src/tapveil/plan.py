"""The plan: what to publish, and at which privacy. TOML, validated whole, then frozen.

A plan is public knowledge: it is written before the trips are looked at, and nothing in it may depend on them.
Numbers that state privacy are kept exactly as written (`0.1` is one tenth, `"1/8000000"` is a fraction).
"""

from __future__ import annotations

import hashlib
import json
import tomllib
import zoneinfo
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from tapveil import planfile
from tapveil.errors import PlanError, did_you_mean
from tapveil.privacy.accountant import Neighbours
from tapveil.privacy.loss import BOTH_NEIGHBOURS, Loss, compose, table_loss
from tapveil.privacy.mechanisms import StabilityHistogram

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
EVERY_MODE = "*"
MINUTES_PER_DAY = 1440


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


class SourceColumn(_Frozen):
    """Where one of our columns comes from: a column of the files, or one value for every row."""

    column: Text | None = None
    value: Text | None = None
    kind: Kind | None = None

    @pydantic.model_validator(mode="after")
    def _one_origin(self) -> Self:
        if (self.column is None) == (self.value is None):
            raise ValueError('give either `column = "…"` or `value = "…"`')
        return self


def _source_column(value: object) -> object:
    return {"column": value} if isinstance(value, str) else value


def _known_zone(value: str) -> str:
    if value not in zoneinfo.available_timezones():
        raise ValueError(f"`{value}` is not a time zone{did_you_mean(value, zoneinfo.available_timezones())}")
    return value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


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

    @pydantic.field_validator("max_refused")
    @classmethod
    def _a_share(cls, value: Fraction) -> Fraction:
        if not 0 <= value <= 1:
            raise ValueError('must be a share between 0 and 1, such as 0.01 or "1 %"')
        return value

    def kind(self, name: str) -> Kind:
        """What sort of values a column holds."""
        return self.columns[name].kind or KINDS.get(name, "label")


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


class Privacy(_Frozen):
    """The promise. None of it has a default: it is chosen, not inherited."""

    unit: Literal["trip"]
    neighbours: Literal["replace"]
    mechanism: Literal["sbh"]


class Table(_Frozen):
    """One table of counts, and the share of the budget it gets."""

    name: Name
    columns: Annotated[tuple[str, ...], Field(min_length=1)]
    epsilon: Exact
    delta: Exact

    @pydantic.field_validator("epsilon")
    @classmethod
    def _epsilon_can_be_meant(cls, value: Fraction) -> Fraction:
        if value <= 0:
            raise ValueError("must be above 0: at 0 nothing could be published")
        return value

    @pydantic.field_validator("delta")
    @classmethod
    def _delta_can_be_meant(cls, value: Fraction) -> Fraction:
        if value <= 0:
            raise ValueError("must be above 0: the threshold of `sbh` would be infinite")
        if value >= 1:
            raise ValueError("must be below 1: at 1 nothing would be promised")
        return value

    @property
    def mechanism(self) -> StabilityHistogram:
        """The mechanism at this table's (ε, δ)."""
        return _mechanism(self.epsilon, self.delta)


_mechanism = lru_cache(StabilityHistogram)  # building a noise table takes a moment


class Plan(_Frozen):
    """A whole plan. Make one with `Plan.read`, `Plan.parse` or `Plan.preset`."""

    release: Release
    source: Source
    coarsen: Coarsen = Coarsen()
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
    def loss(self) -> Loss:
        """The (ε, δ) of the whole release, in the plan's own notion of neighbours."""
        return self.loss_for(self.privacy.neighbours)

    def loss_for(self, neighbours: Neighbours) -> Loss:
        """The (ε, δ) of the whole release: the sum over its tables."""
        return compose(table_loss(table.mechanism, neighbours) for table in self.table)

    def key_columns(self, table: Table) -> tuple[str, ...]:
        """The columns that tell the cells of a table apart: those of the partition, then its own."""
        return (*self.release.partition, *table.columns)

    @property
    def used_columns(self) -> tuple[str, ...]:
        """The columns that are read, and no others."""
        by_mode = ["mode"] if any(mode != EVERY_MODE for mode in self.coarsen.location) else []
        tables = (column for table in self.table for column in table.columns)
        return tuple(dict.fromkeys([*self.release.partition, *tables, *by_mode]))

    @property
    def published_kinds(self) -> set[Kind]:
        """What sorts of columns the tables have."""
        return {self.source.kind(column) for table in self.table for column in self.key_columns(table)}

    @property
    def file_columns(self) -> dict[str, str]:
        """The columns that are read from the files: ours, theirs."""
        origins = {ours: self.source.columns[ours].column for ours in self.used_columns}
        return {ours: theirs for ours, theirs in origins.items() if theirs is not None}

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
    for table in plan.table:
        yield from _table_misfits(plan, table)
    if all(column in plan.source.columns for column in plan.used_columns) and not plan.file_columns:
        yield "[source.columns]: every column has a fixed value: at least one must come from the files"
    if "mode" in plan.source.columns and plan.source.kind("mode") != "label":
        yield "[source.columns] mode: must be a label, not another kind"
    if sum(table.delta for table in plan.table) >= 1:
        yield "[[table]]: the deltas add up to 1 or more: nothing would be promised"
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
    try:
        for neighbours in BOTH_NEIGHBOURS:
            table_loss(table.mechanism, neighbours)
    except ValueError as error:
        yield f"{place}: {error}"


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
