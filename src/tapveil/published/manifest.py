"""The manifest of a folder, `privacy.json`, as it is read back: what it claims, and no more than that.

Nothing here is believed: `verify` holds every claim against the noise and the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tapveil.base.time_bins import Times
from tapveil.base.types import Clock, Exact, Name, known_zone
from tapveil.base.vocabulary import COUNT, EVERY_MODE, NUMBERS, OPAL_SHAPES, Kind
from tapveil.privacy.accountant import Exposure, Neighbours, Unit
from tapveil.privacy.loss import Loss
from tapveil.published import manifest_1
from tapveil.published.sheets import OPAL_COLUMNS

MOST_TABLES = 64

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Identity = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Number = int | float
Label = Annotated[str, Field(max_length=100)]
MOST_LABELS = 200
Areas = Annotated[dict[Label, Annotated[str, Field(max_length=500)]], Field(max_length=MOST_LABELS)]


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False, defer_build=True
    )


class _ExactLoss(_Part):
    epsilon: Exact
    """As a fraction."""
    delta: Exact
    """As a fraction."""

    @property
    def loss(self) -> Loss:
        return Loss(self.epsilon, self.delta)


class Guarantee(_Part):
    """The promise in one notion of neighbours."""

    neighbours: Neighbours
    """In which notion."""
    epsilon: Number
    """ε, rounded up to 15 digits."""
    delta: Number
    """δ, rounded up to 15 digits."""
    exact: _ExactLoss
    """The same, exactly."""
    delta_accounted: float
    """What exact accounting finds at this ε, from above: never more than `delta`."""


class _Point(_Part):
    epsilon: Number
    """Another ε."""
    delta: Number
    """What is left of δ there."""


class _Curve(_Part):
    neighbours: Neighbours
    """In which notion."""
    points: Annotated[list[_Point], Field(min_length=1, max_length=20)]
    """δ at parts and multiples of ε, by exact accounting."""


class _ExactGaussian(_Part):
    mu_squared: Exact
    """Σ 1/σ² over all changed cells, as a fraction."""


class _Gaussian(_Part):
    mu: Number
    """√(2ρ), rounded up: the μ of continuous noise of the same scales. For comparison; `rho` is the claim."""
    rho: Number
    """ρ of zero-concentrated differential privacy, rounded up: half of Σ 1/σ² over all changed cells."""
    delta_singletons: Number
    """The probability, at most, that a cell in which only this unit is appears. It is outside of ρ."""
    exact: _ExactGaussian
    """What ρ and μ are computed from."""


class _Card(_Part):
    trips: Annotated[int, Field(ge=1, le=1000)]
    """So many trips."""
    epsilon: Number
    """What the promise is worth for all of them."""
    delta: Number
    """At this δ."""


class _Bounds(_Part):
    cells_per_table: Annotated[int, Field(ge=1, le=10_000)]
    """In how many cells of a table a unit counts, at most."""
    trips_per_day: int | None = None
    """As in the plan."""
    trips_per_card: int | None = None
    """As in the plan."""
    without_card: Literal["refuse", "own-unit"] | None = None
    """As in the plan."""


class LevelClaim(_Part):
    """How much coarser than the rest a table is."""

    time_minutes: Annotated[int, Field(ge=1, le=1440)] | None
    """The length of its bins."""
    times: Annotated[tuple[Clock, ...], Field(min_length=1, max_length=1440)] | None
    """Or: when the parts of its day start."""
    location: Name | None
    """The name of its wider areas."""


class TableClaim(_Part):
    """One table, as the manifest has it."""

    name: Name
    """As in the plan."""
    columns: Annotated[tuple[str, ...], Field(max_length=20)]
    """What is counted, besides the partition; none where it is the total of each part."""
    level: LevelClaim | None
    """How much coarser than the rest it is; null where it is not."""
    epsilon: Number | None = None
    """Its own ε, where the plan gives no total."""
    delta: Number | None = None
    """Its own δ, likewise."""
    exact: _ExactLoss | None = None
    """Both, exactly."""
    weight: Number | None = None
    """Or: its share of the total."""
    noise: Literal["laplace-rounded", "discrete-laplace", "discrete-gaussian", "discrete-laplace-listed"]
    """The distribution of the noise."""
    scale: Number
    """Its scale: b of Laplace, σ of Gaussian noise."""
    scale_exact: Exact
    """As a fraction."""
    threshold: Number
    """What a noisy count must reach to be published."""
    threshold_exact: Exact
    """As a fraction."""
    smallest_published: int
    """The smallest number that can be printed."""
    error_95: int
    """19 of 20 numbers are off by at most this: half the width of an interval."""
    absent_95: int
    """A cell that is not there has at most this, in 19 of 20 cells; with a dictionary, only if it is on its list."""
    mean_error: Number
    """How far a number is off, on average."""
    probability_published: dict[str, Number]
    """The chance that a cell is published, by its true count."""


class _Ledger(_Part):
    ledger: Identity
    """Which ledger."""
    hash: Digest
    """The hash of its entry there, and so of all before it; random bits in the entry keep it from being guessed."""


class _Covers(_Part):
    first_day: date | None
    """Only from this day on."""
    last_day: date | None
    """Only up to this day."""
    modes: Annotated[tuple[Label, ...], Field(max_length=MOST_LABELS)] | None
    """Only these modes."""


_PUBLIC_FILE = r"^(gtfs|places|(lookup|polygons) of .{1,100}|cells of [a-z][a-z0-9_-]{0,63})$"


class _Day(_Part):
    starts: Clock
    """When a day starts."""
    after_midnight: Literal["wrapped", "continued"]
    """How the hours before that are written."""
    timezone: Annotated[str, AfterValidator(known_zone)] | None
    """By whose clock."""

    @property
    def first_minute(self) -> int:
        """The first bin of a day starts here; hours before it are written as those after 24:00."""
        return self.starts if self.after_midnight == "continued" else 0


class _Software(_Part):
    name: Literal["tapveil"]
    """What made the folder."""
    version: Annotated[str, Field(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){1,3}((a|b|rc|\.dev|\.post)[0-9]{1,4})?$")]
    """Its version."""


class Versions(_Part):
    """By which methods the rest of the folder is made from its tables and its manifest."""

    derived: Literal[1, 2]
    """`consistent/` and `finest/`; in version 1 with totals that were guessed."""
    page: Literal[1]
    """What `explorer.html` holds."""
    metadata: Literal[1, 2]
    """`dp-registry.yaml`, `croissant.json`, `dcat.jsonld`."""
    wording: Literal[1]
    """The sentences in them."""


class Manifest(_Part):
    """`privacy.json`, version 2."""

    manifest_version: Literal[1, 2]
    """What this list is of."""
    versions: Versions
    """By which methods the rest of the folder is made."""
    release: Name
    """`name` in the plan."""
    release_id: Identity
    """Which release this is, in the ledger and for `chosen_from`."""
    ledger: _Ledger | None
    """The entry that paid for it; null without a ledger."""
    title: Annotated[str, Field(max_length=500)]
    """As in the plan."""
    publisher_type: Literal["government", "industry", "nonprofit"] | None
    """As in the plan."""
    region: Annotated[str, Field(max_length=500)] | None
    """As in the plan."""
    created: date
    """The day on which it was made."""
    chosen_from: Identity | None
    """The release that its plan was chosen from, if any."""
    looked_at_trips: bool | None
    """Whether the plan was made by looking at the trips themselves, which is not accounted for; null: not stated."""
    unit: Unit
    """What is protected as a whole."""
    bounds: _Bounds
    """How much of one unit is counted, at most."""
    neighbours: Neighbours
    """The notion in which the plan states ε and δ."""
    mechanism: Literal["sbh", "laplace", "gaussian", "dictionary"]
    """As in the plan."""
    epsilon: Number
    """ε, rounded up to 15 digits."""
    delta: Number
    """δ, rounded up to 15 digits."""
    exact: _ExactLoss
    """The same, exactly."""
    guarantees: Annotated[list[Guarantee], Field(min_length=2, max_length=2)]
    """The promise in both notions of neighbours."""
    curve: _Curve
    """The promise at other ε."""
    gaussian: _Gaussian | None
    """With Gaussian noise: its ρ and μ, for the plan's neighbours. Else null, as in folders of version 1."""
    whole_cards: Annotated[list[_Card], Field(max_length=10)] | None
    """For unit `trip`: what it is worth for all trips of a card, each in other cells than the others."""
    tables: Annotated[tuple[TableClaim, ...], Field(min_length=1, max_length=MOST_TABLES)]
    """Each table, with its noise."""
    covers: _Covers
    """Which days and modes were counted; null where there was no limit."""
    partition: Annotated[tuple[str, ...], Field(max_length=20)]
    """The columns by which every table is split."""
    columns: dict[Label, Kind]
    """What sort of values each key column has."""
    layout: Literal["tables", "opal"]
    """How the files of `data/` are laid out."""
    rows: Literal["trips", "taps"]
    """What a row of the source was."""
    time_minutes: Annotated[int, Field(ge=1, le=1440)]
    """The length of a time bin."""
    day: _Day
    """What a day is."""
    areas: Areas
    """What stops are published as, by mode."""
    wider: Annotated[dict[Name, Areas], Field(max_length=MOST_TABLES)]
    """The wider areas, by their name and the mode."""
    plan_sha256: Digest
    """SHA-256 of what the plan means: the same for two spellings of one plan."""
    public_files_sha256: Annotated[
        dict[Annotated[str, Field(pattern=_PUBLIC_FILE)], Digest], Field(max_length=4 * MOST_LABELS)
    ]
    """SHA-256 of the lists that the plan names."""
    places: Literal["areas.geojson"] | None
    """The file that says where the places lie, if there is one."""
    software: _Software
    """What made the folder."""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Manifest:
        """A manifest of any version, as one of this; ValueError (or pydantic's, which is one) if it is none."""
        first = isinstance(data, dict) and data.get("manifest_version") == 1
        return cls.model_validate(manifest_1.upgraded(data) if first else data)

    @property
    def as_json(self) -> dict[str, Any]:
        """The one way to write it: keys in this order, each value in its one form."""
        return self.model_dump(mode="json", exclude_unset=True)

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
