"""The plan: what to publish, and at which privacy. A TOML file, validated completely, then frozen.

A plan is public knowledge: it is written before the trips are looked at, and nothing in it may depend on them.
Numbers that state privacy are kept exactly as written (`0.1` is one tenth, `"1/8000000"` is a fraction).
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from tapveil.base.errors import PlanError, did_you_mean
from tapveil.base.public_total import MOST_TOTALS, PublicTotal
from tapveil.base.types import Clock, Delimiter, Delta, Epsilon, Frozen, Hours, Name, Text, Weight
from tapveil.base.vocabulary import DURATION, EVERY_MODE, MINUTES_PER_DAY, MOST_LEVELS, columns_in_words, level_in_words
from tapveil.plan import toml
from tapveil.plan.calendar import CalendarColumn, from_its_name, with_calendar_columns
from tapveil.plan.columns import Columns
from tapveil.plan.problem import MisfitError
from tapveil.plan.questions import explain, open_questions
from tapveil.plan.source import Source
from tapveil.privacy.units import Neighbours, Unit

if TYPE_CHECKING:
    from tapveil.plan.guarantee import Guarantee
    from tapveil.privacy.mechanisms import Mechanism

AGENCIES = ("gtfs-ride", "idfm", "lta", "mta", "numbat", "queensland", "tides")
"""Presets that are called like the shapes of their files."""
PRESETS = ("opal", "od", "journeys", "station-hour", *AGENCIES)
TIMETABLE = "gtfs"
"""The value of `cells` that takes the cells of the timetable instead of a file."""


def _is_release_id(value: str) -> str:
    if not re.fullmatch("[0-9a-f]{32}", value):
        raise ValueError("must be the release_id in the privacy.json of a published folder: 32 hexadecimal digits")
    return value


class Release(Frozen):
    """Name, description and layout of the published folder."""

    name: Name
    """Short name of the release, for programs."""
    title: Text
    """Title of the release, for people."""
    description: Text | None = None
    """Description in one or two sentences."""
    publisher: Text | None = None
    """Name of the publisher."""
    publisher_type: Literal["government", "industry", "nonprofit"] | None = None
    """Type of organisation, for data portals."""
    region: Text | None = None
    """Region of the trips, for data portals."""
    licence: Text | None = None
    """Licence: an SPDX identifier such as `CC-BY-4.0`, or a URL."""
    partition: tuple[str, ...] = ("mode", "date")
    """Columns that split every table; `[]` for none."""
    layout: Literal["tables", "opal"] = "tables"
    """`tables`: one file per table; `opal`: `time`, `loc` and `time-loc`, as in the published Opal data."""
    shapes: tuple[Text, ...] = ()
    """Files to write as well, in the columns that readers know: `lta`, `mta`, `tides` and others, or TOML files of your
    own."""
    synthetic: bool = False
    """Whether to write one row per published trip as well, as in the Opal paper."""
    corrects: Annotated[str, AfterValidator(_is_release_id)] | None = None
    """The `release_id` of a withdrawn release that this one corrects."""


class LedgerPlace(Frozen):
    """The ledger that records the privacy budget, and the name of the data set in it."""

    path: Text = "ledger.sqlite"
    """Path of the ledger file."""
    data_set: Name = "trips"
    """Name of the data set in the ledger. Plans for the same trips, or for some of them, must use the same name."""


class Gtfs(Frozen):
    """The public timetable: names and places of stops, and when they can be boarded."""

    path: Text
    """A zip file, a folder, or a file with the columns of `stops.txt`."""
    match: Literal["stop_id", "stop_code", "stop_name"] = "stop_id"
    """The GTFS field that identifies a stop in the trips."""
    minutes_before: Annotated[int, Field(ge=0, le=720, strict=True)] = 15
    """How many minutes before the scheduled time taps are expected."""
    minutes_after: Annotated[int, Field(ge=0, le=720, strict=True)] = 30
    """How many minutes after the scheduled time taps are expected."""
    modes: dict[Annotated[str, Field(pattern=r"^[0-9]{1,4}$")], Text] = Field(default={})
    """Names of modes in the trips, by route_type."""


class PlaceList(Frozen):
    """A public list of where places lie, for the map. All of it is published, whether or not trips use a place."""

    path: Text
    """A CSV file of points (its delimiter is detected), or a GeoJSON file (WGS 84) of points or areas."""
    name: Text = "name"
    """Column or property with the names of places, as published."""
    mode: Text = "mode"
    """Column or property with the mode of a place; a place without a mode belongs to every mode."""
    latitude: Text = "latitude"
    """With CSV: column of latitudes, in degrees."""
    longitude: Text = "longitude"
    """With CSV: column of longitudes, in degrees."""
    title: Text | None = None
    """Column or property with the names of places for people, where `name` is a code."""


class Area(Frozen):
    """How stops become published areas: by a lookup, by the timetable, by polygons or by H3 cells."""

    lookup: Text | None = None
    """CSV file with the area of each stop; a stop that is not listed becomes `UNKNOWN`."""
    from_: Annotated[Text | None, Field(alias="from")] = None
    """With `lookup`: column of stops, as named in the trips."""
    to: Text | None = None
    """With `lookup`: column of names to publish."""
    delimiter: Delimiter | None = None
    """With `lookup`: the field separator, if it is not a comma."""
    gtfs: Literal["stop_name", "station", "station_name", "zone_id"] | None = None
    """The property of the stop in the timetable that is published."""
    polygons: Text | None = None
    """GeoJSON file; a stop is published as the polygon that contains it."""
    name: Text | None = None
    """With `polygons`: the property with the name of an area."""
    h3: Annotated[int, Field(ge=0, le=15, strict=True)] | None = None
    """H3 resolution; a stop is published as its H3 cell."""

    @pydantic.model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = {"lookup": self.lookup, "gtfs": self.gtfs, "polygons": self.polygons, "h3": self.h3}
        given = [way for way, value in ways.items() if value is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of `lookup`, `gtfs`, `polygons` and `h3`")
        if (given == ["lookup"]) != (self.from_ is not None and self.to is not None):
            raise ValueError("`lookup` needs `from` and `to`; `gtfs`, `polygons` and `h3` do not use them")
        if (given == ["polygons"]) != (self.name is not None):
            raise ValueError("`polygons` needs `name`, the property with the name of an area; the others do not use it")
        if self.delimiter is not None and given != ["lookup"]:
            raise ValueError("`delimiter` is only used with `lookup`")
        return self

    @property
    def in_words(self) -> str:
        """The area of a stop in a few words, to follow "its"."""
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
    """A larger area that contains published places, by a lookup."""

    lookup: Text
    """CSV file with the wider area of each published place."""
    from_: Annotated[Text, Field(alias="from")]
    """Column of published places: the postcodes, not the stops."""
    to: Text
    """Column of wider areas."""
    delimiter: Delimiter | None = None
    """The field separator, if it is not a comma."""

    @property
    def label(self) -> str:
        """What the published names are."""
        return self.to


def _divides_a_day(minutes: int) -> int:
    if minutes < 1 or MINUTES_PER_DAY % minutes:
        raise ValueError("must divide a day of 1440 minutes, such as 5, 10, 15, 30 or 60")
    return minutes


class Coarsen(Frozen):
    """Detail that is removed before counting."""

    time_minutes: Annotated[int, AfterValidator(_divides_a_day)] = 15
    """Length of a time bin in minutes; it must divide a day."""
    after_midnight: Literal["wrapped", "continued"] = "wrapped"
    """How times between midnight and the start of a day are written: `wrapped` as 00:15, `continued` as 24:15."""
    location: dict[str, Area] = Field(default={})
    """Published areas of stops, by mode; `"*"` for every mode without its own entry."""
    wider: dict[Name, dict[str, WiderArea]] = Field(default={})
    """Larger areas that contain the published places, by name and mode."""
    date: dict[Name, Annotated[CalendarColumn, BeforeValidator(from_its_name)]] = Field(default={})
    """Columns that follow from the day, such as the month and the kind of day, by name."""


PositiveInt = Annotated[int, Field(ge=1, le=10_000, strict=True)]


def _for_every_mode(value: object) -> object:
    return {EVERY_MODE: value} if isinstance(value, str) else value


class WorldFacts(Frozen):
    """What is public about the days of a known world."""

    holidays: tuple[date, ...] = ()
    """Days on which people travel as on a Sunday: estimates take weekdays, Saturdays and Sundays each to be alike."""
    holiday_list: Text | None = None
    """CSV file of more such days, in a column `date`: the public calendar of a country, for many years."""
    timetable: bool = False
    """Whether they are also the days on which the timetable runs as on a Sunday ([gtfs])."""
    service: Annotated[dict[str, Hours], BeforeValidator(_for_every_mode)] = Field(default={})
    """Hours in which there are trips, such as `"05:00-24:00"`; or by mode. Other times count as `-1`, like no tap."""
    durations: tuple[Clock, ...] = ()
    """Classes of durations, by where each begins, such as `["00:00", "00:10", "00:30"]`: tables may have `duration`."""
    lists: dict[str, Annotated[tuple[Text, ...], Field(min_length=1, max_length=1_000)]] = Field(default={})
    """All labels of another column, such as a fare class, by its name: tables may have it. Others are `UNKNOWN`."""
    trips: bool = True
    """Whether the folder has synthetic trips, one row each, whose sums are the estimates."""


class GivenTotal(PublicTotal):
    """An exact total of these trips that is public anyway. It must come from a publication, never from the trips."""

    calibrate: bool = True
    """Whether estimates add up to it. Without, it is only stated: the guarantee holds given the total either way."""


class Public(Frozen):
    """What was published about these trips without noise, elsewhere."""

    total: Annotated[tuple[GivenTotal, ...], Field(max_length=MOST_TOTALS)] = ()
    """The totals, each under `[[public.total]]`."""
    totals: Text | None = None
    """Or: CSV file with one in each row: `trips`, `source`, and as needed `first_day`, `last_day` and columns."""

    @property
    def has_totals(self) -> bool:
        """Whether any are declared."""
        return bool(self.total or self.totals)


class Privacy(Frozen):
    """The privacy guarantee. Its main settings have no default, so that they are chosen."""

    unit: Unit
    """Unit of protection: a single trip, all trips of a card on a day, or all trips of a card."""
    neighbours: Neighbours
    """`replace`: a unit is exchanged for any other; `add-remove`: a unit is present or absent."""
    mechanism: Literal["sbh", "laplace", "gaussian", "dictionary", "world"]
    """Mechanism: how noise is added, and which cells are published."""
    epsilon: Epsilon | None = None
    """Total ε of the release, shared among the tables by `weight`; without it, each table has its own."""
    delta: Delta | None = None
    """Total δ of the release, like `epsilon`; not used with `dictionary`."""
    trips_per_day: PositiveInt | None = None
    """Maximum number of trips counted per card and day; required for `card-day`, optional for `card`."""
    trips_per_card: PositiveInt | None = None
    """Maximum number of trips counted per card in the release; required for `card`."""
    without_card: Literal["refuse", "own-unit"] | None = None
    """Rows without a card, where cards are protected: `refuse` them, or protect each as its own unit."""
    cut: PositiveInt | None = None
    """With `dictionary`: noisy counts below this are not published; 1 by default."""
    chosen_from: Annotated[str, AfterValidator(_is_release_id)] | None = None
    """ID of the published release that this plan was chosen from. The ledger adds the losses of both."""
    looked_at_trips: bool | None = None
    """Whether bins, areas or tables were chosen by looking at the trips. Stated in the folder, not accounted for."""

    @property
    def kind(self) -> type[Mechanism]:
        """The mechanism, without its noise."""
        from tapveil.privacy.mechanisms import MECHANISMS

        return MECHANISMS[self.mechanism]

    @property
    def lists_cells(self) -> bool:
        """Whether every cell of a list gets noise, so that no threshold and no δ is needed."""
        return self.kind.from_a_list

    @property
    def is_world(self) -> bool:
        """Whether every cell of a public world is measured, and published as it is."""
        return self.kind.publishes_every_cell

    @property
    def by_card(self) -> bool:
        """Whether the card of a trip matters for protection."""
        return self.unit != "trip"

    @property
    def trips_per_unit(self) -> int:
        """Maximum number of trips of one unit that are counted."""
        most = {"trip": 1, "card-day": self.trips_per_day, "card": self.trips_per_card}[self.unit]
        return most or 1


class Level(Frozen):
    """A resolution of a table, coarser than the plan's own bins or areas."""

    time_minutes: Annotated[int, AfterValidator(_divides_a_day)] | None = None
    """Length of longer bins in minutes: a multiple of the plan's, such as 60, or 1440 for the whole day."""
    times: Annotated[tuple[Clock, ...], Field(min_length=1)] | None = None
    """Or: start times of the parts of a day; the first part begins with the day."""
    location: Name | None = None
    """Name of wider areas."""

    @pydantic.model_validator(mode="after")
    def _one_way_to_bin(self) -> Self:
        if self.time_minutes and self.times:
            raise ValueError("give `time_minutes` or `times`, not both")
        if self.times and list(self.times) != sorted(set(self.times)):
            raise ValueError("`times` must be in ascending order, without duplicates")
        return self

    @property
    def is_finest(self) -> bool:
        """Whether it has the plan's own bins and areas."""
        return not (self.time_minutes or self.times or self.location)

    @property
    def in_words(self) -> str:
        """A cell of this level in a few words."""
        return level_in_words(self.time_minutes, self.times, self.location)


class NamedLevel(Level):
    """One of several levels of a table."""

    name: Name | None = None
    """The table of this level is called `TABLE-NAME`; one level may have no name and uses the name of the table."""
    weight: Weight | None = None
    """Share of the table's `weight`, or of its `epsilon` and `delta`; 1 by default."""


class Table(Frozen):
    """One table of counts, with its share of the budget."""

    name: Name
    """Name of the table and its files; `total` is reserved for the table with `columns = []`."""
    columns: tuple[str, ...]
    """Columns of the table, in addition to the partition; `[]` for the total of each part."""
    epsilon: Epsilon | None = None
    """ε of this table, where there is no total; from 1/100 to 100. The release costs the sum."""
    delta: Delta | None = None
    """δ of this table, like `epsilon`; at least 1e-15 and below 1; not used with `dictionary`."""
    weight: Weight | None = None
    """Share of the total under `[privacy]`; 1 by default. With `world`, if no table has one: by a public rule."""
    trips_per_cell: PositiveInt | None = None
    """With `world` and cards: maximum number of trips of a unit that are counted in one cell; 1 by default."""
    cells: Text | None = None
    """With `dictionary`: CSV file of every possible cell, or `gtfs` for the cells of the timetable."""
    level: Level = Level()
    """Coarser bins or areas than the plan's own."""
    levels: Annotated[tuple[NamedLevel, ...], Field(max_length=MOST_LEVELS)] = ()
    """Or: several resolutions, from finest to coarsest."""

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
    def most_per_cell(self) -> int:
        """How many trips of one unit are counted in a cell, at most."""
        return self.trips_per_cell or 1

    @property
    def in_words(self) -> str:
        """Its columns in words, without the partition."""
        return columns_in_words(self.columns)

    def at_each_level(self) -> Iterator[Table]:
        """This table; or one table per level, each with its share of the budget."""
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
                trips_per_cell=self.trips_per_cell,
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
    world: WorldFacts = WorldFacts()
    public: Public = Public()
    ledger: LedgerPlace = LedgerPlace()
    privacy: Privacy
    table: Annotated[tuple[Table, ...], Field(min_length=1)]

    _base: Path = pydantic.PrivateAttr(default=Path())

    @pydantic.field_validator("table")
    @classmethod
    def _at_each_level(cls, tables: tuple[Table, ...]) -> tuple[Table, ...]:
        return tuple(each for table in tables for each in table.at_each_level())

    @pydantic.model_validator(mode="before")
    @classmethod
    def _with_durations(cls, data: Any) -> Any:
        """Where the plan has classes of durations, a trip has one: it is read from the tap off, and from the tap on."""
        match data:
            case {"world": {"durations": [_, *_]}, "source": {"columns": dict(columns)} as source}:
                trips = source.get("shape") != "taps" and {"tap_on_time", "tap_off_time"} <= set(columns)
                if trips and DURATION not in columns:
                    off = columns["tap_off_time"]
                    made = {**(off if isinstance(off, dict) else {"column": off}), "kind": "duration"}
                    return {**data, "source": {**source, "columns": {**columns, DURATION: made}}}
        return data

    @pydantic.model_validator(mode="before")
    @classmethod
    def _with_calendars(cls, data: Any) -> Any:
        return with_calendar_columns(data)

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
            name: Such as `"opal"`, `"od"` or `"journeys"`; `tapveil plan` lists all.

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
        """The privacy guarantee, and the noise that achieves it."""
        from tapveil.plan.guarantee import Guarantee  # the mathematics: who only reads a plan does without

        return Guarantee(self.privacy, self.table)

    @property
    def columns(self) -> Columns:
        """Which columns are read, and how the tables use them."""
        return Columns(self)

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by their names, in the order of the plan."""
        return {table.name: table for table in self.table}

    @property
    def detailed(self) -> tuple[Table, ...]:
        """The tables that may lose cells: all but the totals; or the totals, if there are no others."""
        return tuple(table for table in self.table if table.columns) or self.table

    @property
    def ledger_path(self) -> Path:
        """Path of the ledger file."""
        return self.base / self.ledger.path

    @property
    def digest(self) -> str:
        """SHA-256 of the plan's meaning: the same however the plan is written."""
        canonical = json.dumps(self.model_dump(mode="json", by_alias=True), sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()


def preset_text(name: str) -> str:
    """The commented TOML of a preset."""
    if name not in PRESETS:
        raise PlanError(f"there is no preset `{name}`{did_you_mean(name, PRESETS)} (presets: {', '.join(PRESETS)})")
    return (resources.files("tapveil.plan.presets") / f"{name}.toml").read_text(encoding="utf-8")
