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
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, Field

from tapveil.base.errors import PlanError, did_you_mean
from tapveil.base.types import Clock, Delta, Epsilon, Frozen, Name, Text, Weight
from tapveil.base.vocabulary import MINUTES_PER_DAY, MOST_LEVELS, columns_in_words, level_in_words
from tapveil.plan import toml
from tapveil.plan.columns import Columns
from tapveil.plan.problem import MisfitError
from tapveil.plan.questions import explain, open_questions
from tapveil.plan.source import Delimiter, Source
from tapveil.privacy.units import Neighbours, Unit

if TYPE_CHECKING:
    from tapveil.plan.guarantee import Guarantee

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
    def lists_cells(self) -> bool:
        """Whether every cell of a list gets noise, so that no threshold and no δ is needed."""
        return self.mechanism == "dictionary"

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
    def is_finest(self) -> bool:
        """Whether it is as fine as the plan."""
        return not (self.time_minutes or self.times or self.location)

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

    _is_of_levels: bool = pydantic.PrivateAttr(default=False)

    @pydantic.model_validator(mode="after")
    def _level_or_levels(self) -> Self:
        if self.levels and not self.level.is_finest:
            raise ValueError("give `level` or `levels`, not both")
        return self

    @property
    def is_of_levels(self) -> bool:
        """Whether it was made from one of the `levels` of a table."""
        return self._is_of_levels

    @property
    def in_words(self) -> str:
        """What its cells are, besides the partition and its level."""
        return columns_in_words(self.columns)

    def at_each_level(self) -> Iterator[Table]:
        """This table; or, where it is asked for at several levels, one for each, with its share of the budget."""
        if not self.levels:
            yield self
            return
        whole = sum(level.weight or Fraction(1) for level in self.levels)
        for level in self.levels:
            share = (level.weight or Fraction(1)) / whole
            made = Table(
                name=f"{self.name}-{level.name}" if level.name else self.name,
                columns=self.columns,
                epsilon=None if self.epsilon is None else self.epsilon * share,
                delta=None if self.delta is None else self.delta * share,
                weight=(self.weight or Fraction(1)) * share if self.epsilon is None else self.weight,
                cells=self.cells,
                level=Level.model_construct(**{key: dict(level)[key] for key in Level.model_fields}),
            )
            made._is_of_levels = True
            yield made


class Plan(Frozen):
    """What to publish: where the trips are, the tables, the privacy guarantee. docs/reference/plan.md has every key.

    Make one with `Plan.read`, `Plan.parse` or `Plan.preset`.
    """

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
        from tapveil.plan.rules import problems  # which know all the parts of a plan

        if found := list(problems(self)):
            raise MisfitError(found)
        return self

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """Read a plan from a TOML file. Relative paths in it start from its folder.

        Args:
            path: The file.

        Returns:
            The plan, checked.

        Raises:
            PlanError: The file cannot be read, or the plan is wrong; the message names every mistake and its line.

        Example:
            >>> import tapveil
            >>> tapveil.Plan.read("plan.toml").release.title
            'Harbour ferries'
        """
        path = Path(path)
        return cls.parse(toml.read_text(path), where=path.name, base=path.parent)

    @classmethod
    def parse(cls, text: str, where: str = "plan", base: str | Path = ".") -> Plan:
        """Read a plan from TOML text.

        Args:
            text: The TOML text.
            where: What messages call the text.
            base: The folder that relative paths in the plan start from.

        Returns:
            The plan, checked.

        Raises:
            PlanError: The plan is wrong; the message names every mistake and its line.

        Example:
            >>> import tapveil
            >>> try:
            ...     tapveil.Plan.parse("[privacy]\\nunit = 'ticket'")
            ... except tapveil.PlanError as error:
            ...     print("unit" in str(error))
            True
        """
        try:
            data: dict[str, Any] = tomllib.loads(text, parse_float=Decimal)
        except tomllib.TOMLDecodeError as error:
            hint = " (in a path write / instead of \\, or put it in single quotes)" if "\\" in text else ""
            raise PlanError(f"{where} is not valid TOML: {error}{hint}") from None
        if asked := open_questions(data, text):
            raise PlanError(explain(asked, where))
        try:
            plan = cls.model_validate(data)
        except pydantic.ValidationError as error:
            raise PlanError(toml.explain(error, cls, text, where)) from None
        plan._base = Path(base)
        return plan

    @classmethod
    def preset(cls, name: str) -> Plan:
        """A plan that ships with tapveil.

        Args:
            name: `"opal"` or `"od"`.

        Returns:
            The plan.

        Raises:
            PlanError: There is no such preset.

        Example:
            >>> import tapveil
            >>> list(tapveil.Plan.preset("od").tables)[0]
            'od'
        """
        return cls.parse(preset_text(name), where=f"preset {name}")

    @property
    def base(self) -> Path:
        """The folder that relative paths in the plan start from."""
        return self._base

    @property
    def guarantee(self) -> Guarantee:
        """What it promises, and the noise that keeps it."""
        from tapveil.plan.guarantee import Guarantee  # the mathematics: who only reads a plan does without

        return Guarantee(self.privacy, self.table)

    @property
    def columns(self) -> Columns:
        """Which columns are read, and what the tables make of them."""
        return Columns(self)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by their names, in the order of the plan."""
        return {table.name: table for table in self.table}

    @property
    def detailed(self) -> tuple[Table, ...]:
        """The tables that may lose something: all but the totals, which hide next to nothing; else these."""
        return tuple(table for table in self.table if table.columns) or self.table

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
