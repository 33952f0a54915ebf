"""The manifest of a folder, `privacy.json`, as it is read back: what it claims, and no more than that.

Nothing here is believed: `verify` holds every claim against the noise and the tables.
"""

from __future__ import annotations

from datetime import date
from decimal import ROUND_CEILING
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tapveil.layout import OPAL_COLUMNS
from tapveil.notation import Clock, Exact, Name
from tapveil.plan import COUNT, EVERY_MODE, NUMBERS, OPAL_SHAPES, Unit
from tapveil.privacy.accountant import Exposure, Neighbours
from tapveil.privacy.loss import Loss
from tapveil.resolution import Times
from tapveil.source import Kind, known_zone
from tapveil.statement import number

MOST_TABLES = 64

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Identity = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Number = int | float


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)


class _ExactLoss(_Part):
    epsilon: Exact
    delta: Exact

    @property
    def loss(self) -> Loss:
        return Loss(self.epsilon, self.delta)


class Stated(_Part):
    """(ε, δ) in numbers, and exactly."""

    epsilon: Number
    delta: Number
    exact: _ExactLoss

    @property
    def agrees(self) -> bool:
        return (self.epsilon, self.delta) == tuple(
            number(value, ROUND_CEILING) for value in (self.exact.epsilon, self.exact.delta)
        )


class _Guarantee(Stated):
    neighbours: Neighbours
    meaning: str
    delta_accounted: float


class _Point(_Part):
    epsilon: Number
    delta: Number


class _Curve(_Part):
    neighbours: Neighbours
    points: Annotated[list[_Point], Field(min_length=1, max_length=20)]


class _Card(_Part):
    trips: Annotated[int, Field(ge=1, le=1000)]
    epsilon: Number
    delta: Number


class _WholeCards(_Part):
    meaning: str
    caution: str
    cards: Annotated[list[_Card], Field(max_length=10)]


class _Bounds(_Part):
    cells_per_table: Annotated[int, Field(ge=1, le=10_000)]
    trips_per_day: int | None = None
    trips_per_card: int | None = None
    without_card: Literal["refuse", "own-unit"] | None = None


class LevelClaim(_Part):
    """How much coarser than the rest a table is."""

    time_minutes: Annotated[int, Field(ge=1, le=1440)] | None
    times: Annotated[tuple[Clock, ...], Field(min_length=1, max_length=1440)] | None
    location: Name | None


class TableClaim(_Part):
    """One table, as the manifest has it."""

    name: Name
    columns: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    level: LevelClaim | None
    epsilon: Number | None = None
    delta: Number | None = None
    exact: _ExactLoss | None = None
    weight: Number | None = None
    noise: str
    scale: Number
    scale_exact: Exact
    threshold: Number
    threshold_exact: Exact
    smallest_published: int
    error_95: int
    absent_95: int
    mean_error: Number
    probability_published: dict[str, Number]


class _Ledger(_Part):
    ledger: Identity
    number: Annotated[int, Field(ge=1)]
    hash: Digest


class _Covers(_Part):
    first_day: date | None
    last_day: date | None
    modes: tuple[str, ...] | None


_PUBLIC_FILE = r"^(gtfs|(lookup|polygons) of .{1,100}|cells of [a-z][a-z0-9_-]{0,63})$"


class _Day(_Part):
    starts: Clock
    after_midnight: Literal["wrapped", "continued"]
    timezone: Annotated[str, AfterValidator(known_zone)] | None

    @property
    def first_minute(self) -> int:
        """The first bin of a day starts here; hours before it are written as those after 24:00."""
        return self.starts if self.after_midnight == "continued" else 0


class _Software(_Part):
    name: Literal["tapveil"]
    version: str


class Manifest(Stated):
    """`privacy.json`, version 1."""

    manifest_version: Literal[1]
    release: Name
    title: str
    publisher_type: Literal["government", "industry", "nonprofit"] | None
    region: Annotated[str, Field(max_length=500)] | None
    release_id: Identity
    ledger: _Ledger | None
    created: date
    chosen_from: Identity | None
    unit: Unit
    counted: str
    bounds: _Bounds
    neighbours: Neighbours
    mechanism: Literal["sbh", "laplace", "gaussian", "dictionary"]
    composition: str
    guarantees: Annotated[list[_Guarantee], Field(min_length=2, max_length=2)]
    curve: _Curve
    whole_cards: _WholeCards | None = None
    tables: Annotated[tuple[TableClaim, ...], Field(min_length=1, max_length=MOST_TABLES)]
    covers: _Covers
    partition: Annotated[tuple[str, ...], Field(max_length=20)]
    columns: dict[Annotated[str, Field(max_length=100)], Kind]
    """What sort of values each key column has."""
    layout: Literal["tables", "opal"]
    rows: Literal["trips", "taps"]
    time_minutes: Annotated[int, Field(ge=1, le=1440)]
    day: _Day
    areas: dict[Annotated[str, Field(max_length=100)], Annotated[str, Field(max_length=500)]]
    wider: dict[Name, dict[Annotated[str, Field(max_length=100)], Annotated[str, Field(max_length=500)]]]
    derived_version: Literal[1]
    plan_sha256: Digest
    public_files_sha256: dict[Annotated[str, Field(pattern=_PUBLIC_FILE)], Digest]
    places: Literal["areas.geojson"] | None
    software: _Software

    @property
    def exposure(self) -> Exposure:
        return Exposure(self.neighbours, self.bounds.cells_per_table)

    def times(self, table: TableClaim) -> Times:
        """The bins of a table's times."""
        level, first = table.level, self.day.first_minute
        if level and level.times:
            return Times.parts(level.times, first)
        return Times.every((level and level.time_minutes) or self.time_minutes, first)

    def has_wider(self, name: str, mode: str) -> bool:
        """Whether places of a mode have wider areas of this name; else each is its own."""
        return mode in self.wider[name] or EVERY_MODE in self.wider[name]

    @property
    def sheets(self) -> dict[str, tuple[str, ...]]:
        """The files of counts that the folder must have, and their keys."""
        if self.layout == "tables":
            return {table.name: (*self.partition, *table.columns) for table in self.tables}
        used = {OPAL_SHAPES[table.columns][0] for table in self.tables}
        keys = {"time": ("time",), "loc": ("loc",), "time-loc": ("time", "loc")}
        return {sheet: (*OPAL_COLUMNS[:3], *keys[sheet]) for sheet in keys if sheet in used}

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of these files that are no keys."""
        return NUMBERS if self.layout == "tables" else (COUNT,)
