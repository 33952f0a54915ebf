"""The plan: what to publish, and at which privacy. TOML, validated whole, then frozen.

A plan is public knowledge: it is written before the trips are looked at, and nothing in it may depend on them.
Numbers that state privacy are kept exactly as written (`0.1` is one tenth, `"1/8000000"` is a fraction).
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, Field

from tapveil.base.errors import PlanError, did_you_mean
from tapveil.base.types import Clock, Delta, Epsilon, Frozen, Name, Text, Weight
from tapveil.base.vocabulary import (
    CARD,
    EVERY_MODE,
    MINUTES_PER_DAY,
    MOST_LEVELS,
    TAP,
    End,
    Kind,
    columns_in_words,
    level_in_words,
)
from tapveil.plan import toml
from tapveil.plan.source import Delimiter, Source
from tapveil.privacy.accountant import Exposure, Neighbours, Unit, over_time
from tapveil.privacy.calibration import calibrate
from tapveil.privacy.loss import Loss, compose, in_other_notion
from tapveil.privacy.mechanisms import Mechanism

PRESETS = ("opal", "od")
TIMETABLE = "gtfs"
"""Instead of the name of a list of cells: those of the timetable."""


class Release(Frozen):
    """What the published folder is called, and how it is laid out."""

    name: Name
    """Its short name, for programs."""
    title: Text
    """What it is called, for people."""
    description: Text | None = None
    """What it is about, in a sentence or two."""
    publisher: Text | None = None
    """Who publishes it."""
    publisher_type: Literal["government", "industry", "nonprofit"] | None = None
    """What sort of body that is, for portals."""
    region: Text | None = None
    """Where the trips are, for portals."""
    licence: Text | None = None
    """What others may do with it: an SPDX name such as `CC-BY-4.0`, or an address."""
    partition: tuple[str, ...] = ("mode", "date")
    """The columns by which every table is split; `[]` for none."""
    layout: Literal["tables", "opal"] = "tables"
    """`tables`: one file per table; `opal`: `time`, `loc` and `time-loc`, as in the published Opal data."""
    synthetic: bool = False
    """Whether to write one row per published trip as well, as the paper did."""


class LedgerPlace(Frozen):
    """Where it is written down what was spent, and of which data set."""

    path: Text = "ledger.sqlite"
    """The file of the ledger."""
    data_set: Name = "trips"
    """The name of these trips in it. Plans of the same trips, or of some of them, must have the same."""


class Gtfs(Frozen):
    """The timetable beside the trips: names and places of stops, and when something could be boarded where."""

    path: Text
    """A zip file, a folder, or a file with the columns of `stops.txt`."""
    match: Literal["stop_id", "stop_code", "stop_name"] = "stop_id"
    """What the trips name a stop by."""
    minutes_before: Annotated[int, Field(ge=0, le=720, strict=True)] = 15
    """How much earlier than scheduled a tap is expected."""
    minutes_after: Annotated[int, Field(ge=0, le=720, strict=True)] = 30
    """How much later."""
    modes: dict[Annotated[str, Field(pattern=r"^[0-9]{1,4}$")], Text] = Field(default={})
    """What the trips call a route_type."""


class PlaceList(Frozen):
    """Where the published places lie, by a public list, for the map: all of it is published, whoever travels there."""

    path: Text
    """A CSV file of points (its delimiter is found), or a GeoJSON file (WGS 84) of points or areas."""
    name: Text = "name"
    """Its column, or property, with the names of places as they are published."""
    mode: Text = "mode"
    """Its column, or property, with the mode whose places are so called; where it has none, every mode's."""
    latitude: Text = "latitude"
    """With CSV: its column of latitudes, in degrees."""
    longitude: Text = "longitude"
    """With CSV: its column of longitudes."""


class Area(Frozen):
    """What a stop is published as: by a list, by the timetable, by the polygon that it lies in, or by its H3 cell."""

    lookup: Text | None = None
    """A CSV file that says what each stop is published as; a stop that it does not have becomes `UNKNOWN`."""
    from_: Annotated[Text | None, Field(alias="from")] = None
    """With `lookup`: its column of stops, as the trips name them."""
    to: Text | None = None
    """With `lookup`: its column of names to publish."""
    delimiter: Delimiter | None = None
    """With `lookup`: what stands between its fields, if it is not a comma."""
    gtfs: Literal["stop_name", "station", "station_name", "zone_id"] | None = None
    """What the timetable says of the stop."""
    polygons: Text | None = None
    """A GeoJSON file: the stop is published as the polygon that it lies in."""
    name: Text | None = None
    """With `polygons`: the property that names an area."""
    h3: Annotated[int, Field(ge=0, le=15, strict=True)] | None = None
    """The stop is published as its H3 cell of this resolution."""

    @pydantic.model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = {"lookup": self.lookup, "gtfs": self.gtfs, "polygons": self.polygons, "h3": self.h3}
        given = [way for way, value in ways.items() if value is not None]
        if len(given) != 1:
            raise ValueError("give one of `lookup`, `gtfs`, `polygons` and `h3`")
        if (given == ["lookup"]) != (self.from_ is not None and self.to is not None):
            raise ValueError("`lookup` needs `from` and `to`, the others have no use for them")
        if (given == ["polygons"]) != (self.name is not None):
            raise ValueError("`polygons` needs `name`, the property that names an area, the others have no use for it")
        if self.delimiter is not None and given != ["lookup"]:
            raise ValueError("`delimiter` is for a `lookup`")
        return self

    @property
    def needs_coordinates(self) -> bool:
        """Whether it takes the place of a stop to know its area."""
        return self.polygons is not None or self.h3 is not None

    @property
    def in_words(self) -> str:
        """What a stop becomes: its …"""
        if self.lookup:
            return f"{self.to}, from {self.lookup}"
        if self.polygons:
            return f"{self.name}, from {self.polygons}"
        return f"H3 cell of resolution {self.h3}" if self.h3 is not None else f"{self.gtfs}, from the timetable"

    @property
    def label(self) -> str:
        """What the published names are."""
        return self.to or self.name or self.gtfs or f"H3 cell of resolution {self.h3}"


class WiderArea(Frozen):
    """What a published place lies in, by a list."""

    lookup: Text
    """A CSV file that says which wider area each published place lies in."""
    from_: Annotated[Text, Field(alias="from")]
    """Its column of published places: the postcodes, not the stops."""
    to: Text
    """Its column of wider areas."""
    delimiter: Delimiter | None = None
    """What stands between its fields, if it is not a comma."""

    @property
    def label(self) -> str:
        """What the published names are."""
        return self.to


def _divides_a_day(minutes: int) -> int:
    if minutes < 1 or MINUTES_PER_DAY % minutes:
        raise ValueError("must divide a day of 1440 minutes, such as 5, 10, 15, 30 or 60")
    return minutes


class Coarsen(Frozen):
    """The detail given up before counting."""

    time_minutes: Annotated[int, AfterValidator(_divides_a_day)] = 15
    """The length of a time bin; it must divide a day."""
    after_midnight: Literal["wrapped", "continued"] = "wrapped"
    """Whether the hours before a day starts are 00:15, or go on as 24:15."""
    location: dict[str, Area] = Field(default={})
    """What stops are published as, for each mode; `"*"` for every mode without an entry of its own."""
    wider: dict[Name, dict[str, WiderArea]] = Field(default={})
    """Larger areas, by their name and the mode: what the published places lie in."""


PositiveInt = Annotated[int, Field(ge=1, le=10_000, strict=True)]


def _is_release_id(value: str) -> str:
    if not re.fullmatch("[0-9a-f]{32}", value):
        raise ValueError("must be the release_id of a published folder, as its privacy.json has it: 32 digits and a-f")
    return value


class Privacy(Frozen):
    """The promise. None of it has a default: it is chosen, not inherited."""

    unit: Unit
    """What is protected as a whole: a single trip, all trips of a card on a day, or all trips of a card."""
    neighbours: Neighbours
    """`replace`: against being exchanged for any other; `add-remove`: against being there or not."""
    mechanism: Literal["sbh", "laplace", "gaussian", "dictionary"]
    """How noise is added, and which cells are published."""
    epsilon: Epsilon | None = None
    """The total of the release, shared over the tables by their `weight`; without it each table has its own."""
    delta: Delta | None = None
    """The total of the release, like `epsilon`; none for a dictionary."""
    trips_per_day: PositiveInt | None = None
    """Of each card and day at most so many trips are counted; needed for `card-day`, may be for `card`."""
    trips_per_card: PositiveInt | None = None
    """Of each card at most so many trips are counted in the whole release; needed for `card`."""
    without_card: Literal["refuse", "own-unit"] | None = None
    """Rows without a card, where cards are protected: refused, or each protected by itself."""
    cut: PositiveInt | None = None
    """With `dictionary`: numbers below this are left out; 1 if not given."""
    chosen_from: Annotated[str, AfterValidator(_is_release_id)] | None = None
    """The published release that this was chosen from: the ledger then adds up the losses of both."""
    looked_at_trips: bool | None = None
    """Whether bins, areas or tables were chosen by looking at the trips: not accounted for, and said in the folder."""

    @property
    def by_card(self) -> bool:
        """Whether trips are told apart by their card."""
        return self.unit != "trip"

    @property
    def trips_per_unit(self) -> int:
        """How many trips of one unit are counted, at most."""
        most = {"trip": 1, "card-day": self.trips_per_day, "card": self.trips_per_card}[self.unit]
        return most or 1


class Level(Frozen):
    """A resolution of a table, coarser than the plan's own bins and areas in what is given."""

    time_minutes: Annotated[int, AfterValidator(_divides_a_day)] | None = None
    """Longer bins: several of the plan's, such as 60, or 1440 for the whole day."""
    times: Annotated[tuple[Clock, ...], Field(min_length=1)] | None = None
    """Or: when the parts of a day start; a first part runs from the start of the day."""
    location: Name | None = None
    """One of the wider areas."""

    @pydantic.model_validator(mode="after")
    def _one_way_to_bin(self) -> Self:
        if self.time_minutes and self.times:
            raise ValueError("give `time_minutes` or `times`, not both")
        if self.times and list(self.times) != sorted(set(self.times)):
            raise ValueError("`times` must be in their order, none twice")
        return self

    @property
    def in_words(self) -> str:
        """What a cell of it is, in a few words."""
        return level_in_words(self.time_minutes, self.times, self.location)


class NamedLevel(Level):
    """One of several levels of a table: the first may go by the table's own name."""

    name: Name | None = None
    """The table of this level is called `TABLE-NAME`; one level may go without, and has the table's own name."""
    weight: Weight | None = None
    """Its share of the table's `weight`, or of its `epsilon` and `delta`; 1 if not given."""


class Table(Frozen):
    """One table of counts, and the share of the budget it gets."""

    name: Name
    """The name of its files; `total` is for the table with `columns = []`, and no other."""
    columns: tuple[str, ...]
    """What is counted, besides the partition; `[]` for the total of each part."""
    epsilon: Epsilon | None = None
    """Its own budget, where there is no total; from 1/100 to 100. The release costs the sum."""
    delta: Delta | None = None
    """Its own budget, like `epsilon`; from 1e-15 to below 1, none for a dictionary."""
    weight: Weight | None = None
    """Its share of the total under `[privacy]`; 1 if not given."""
    cells: Text | None = None
    """With `dictionary`: a CSV file of every possible cell, or `gtfs` for those of the timetable."""
    level: Level = Level()
    """How much coarser it is than the plan's own bins and areas."""
    levels: Annotated[tuple[NamedLevel, ...], Field(max_length=MOST_LEVELS)] = ()
    """Or: the resolutions at which it is published, from fine to coarse."""

    @pydantic.model_validator(mode="after")
    def _level_or_levels(self) -> Self:
        if self.levels and self.level != Level():
            raise ValueError("give `level` or `levels`, not both")
        return self

    @property
    def in_words(self) -> str:
        """What its cells are, besides the partition and its level."""
        return columns_in_words(self.columns)

    def at_each_level(self) -> Iterator[Table]:
        """This table; or, where it is asked for at several levels, one for each, with its share of the budget."""
        if not self.levels:
            yield self
            return
        weights = [level.weight or Fraction(1) for level in self.levels]
        for level, weight in zip(self.levels, weights, strict=True):
            share = weight / sum(weights)
            yield Table(
                name=f"{self.name}-{level.name}" if level.name else self.name,
                columns=self.columns,
                epsilon=None if self.epsilon is None else self.epsilon * share,
                delta=None if self.delta is None else self.delta * share,
                weight=(self.weight or Fraction(1)) * share if self.epsilon is None else self.weight,
                cells=self.cells,
                level=Level.model_construct(
                    time_minutes=level.time_minutes, times=level.times, location=level.location
                ),
            )


class Plan(Frozen):
    """A whole plan. Make one with `Plan.read`, `Plan.parse` or `Plan.preset`."""

    release: Release
    source: Source
    coarsen: Coarsen = Coarsen()
    gtfs: Gtfs | None = None
    places: PlaceList | None = None
    ledger: LedgerPlace = LedgerPlace()
    privacy: Privacy
    table: Annotated[tuple[Table, ...], Field(min_length=1)]

    _base: Path = pydantic.PrivateAttr(default=Path())

    @pydantic.field_validator("table")
    @classmethod
    def _at_each_level(cls, tables: tuple[Table, ...]) -> tuple[Table, ...]:
        return tuple(each for table in tables for each in table.at_each_level())

    @pydantic.model_validator(mode="after")
    def _parts_fit(self) -> Self:
        from tapveil.plan.rules import misfits  # which knows all the parts of a plan

        problems = list(misfits(self))
        if problems:
            raise ValueError("\n".join(problems))
        return self

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """The plan in a TOML file; relative paths in it start from its folder."""
        path = Path(path)
        return cls.parse(toml.read_text(path), where=path.name, base=path.parent)

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
            raise PlanError(toml.explain(error, cls, data, text, where)) from None
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
    def exposure_over_time(self) -> Exposure:
        """The same where releases of other days follow: what is exchanged may leave this one and enter another."""
        return over_time(self.exposure, self.privacy.unit)

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
            shared = calibrate(privacy.mechanism, weights, privacy.epsilon, delta, self.exposure_over_time, cut)
            return {table.name: mechanism for table, mechanism in zip(self.table, shared, strict=True)}
        return {table.name: self.own_mechanism(table) for table in self.table}

    def own_mechanism(self, table: Table) -> Mechanism:
        """The mechanism of a table that has an (ε, δ) of its own."""
        epsilon, delta = table.epsilon or Fraction(0), table.delta or Fraction(0)
        one = (Fraction(1),)
        return calibrate(self.privacy.mechanism, one, epsilon, delta, self.exposure_over_time, self.privacy.cut or 1)[0]

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

    @property
    def detailed(self) -> tuple[Table, ...]:
        """The tables that may lose something: all but the totals, which hide next to nothing; else these."""
        return tuple(table for table in self.table if table.columns) or self.table

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
        used = dict.fromkeys([*self.release.partition, *tables, *by_mode, *by_day, *some_modes])
        times = self.source.deciding if "date" in used and self.source.day_follows_time else ()
        order = ("tap_on_time",) if "both" in self.sides else ()  # a tap that has none cannot be put in order
        return tuple(dict.fromkeys([*used, *times, *order]))

    def ends(self, table: Table) -> End | Literal["both"]:
        """Which end of a trip a table is about; one that is about neither counts trips where they begin."""
        keys = self.key_columns(table)
        on, off = (any(key.startswith(end) for key in keys) for end in ("tap_on_", "tap_off_"))
        return "both" if on and off else "off" if off else "on"

    @property
    def sides(self) -> dict[End | Literal["both"], tuple[Table, ...]]:
        """Where a row is one tap: the tables that count taps on, taps off, and the trips that they make up."""
        if not self.source.taps:
            return {}
        found: dict[End | Literal["both"], list[Table]] = {}
        for table in self.table:
            found.setdefault(self.ends(table), []).append(table)
        return {end: tuple(tables) for end, tables in found.items()}

    @property
    def published_kinds(self) -> set[Kind]:
        """What sorts of columns the tables have."""
        return {self.source.kind(column) for table in self.table for column in self.key_columns(table)}

    def copies(self, column: str) -> bool:
        """Whether a column is published in the words of the trips; a time, and a calendar day, is written anew."""
        kind = self.source.kind(column)
        return kind in ("label", "location") or (kind == "date" and not self.source.calendar)

    @property
    def file_columns(self) -> dict[str, str]:
        """The columns that are read from the files: ours, theirs."""
        for_days = ["date"] if self.source.timezone and "date" in self.source.columns else []
        card = [CARD] if self.privacy.by_card else []
        read = dict.fromkeys([*self.used_columns, *card, *for_days, *self._tap_columns])
        origins = {ours: self.source.columns[ours].column for ours in read}
        return {ours: theirs for ours, theirs in origins.items() if theirs is not None}

    @property
    def _tap_columns(self) -> list[str]:
        """What it takes to tell taps on from taps off, and which of them belong together."""
        taps = self.source.taps
        if taps is None:
            return []
        together = [name for name in ("date", taps.same) if name in self.source.columns]
        return [TAP, *(together if "both" in self.sides else [])]

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
    return (resources.files("tapveil.plan.presets") / f"{name}.toml").read_text(encoding="utf-8")
