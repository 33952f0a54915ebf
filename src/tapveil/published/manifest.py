"""The manifest of a folder, `privacy.json`: the promise, and every parameter that it rests on. Written and read.

A release states it, and all else that a folder says of itself is made from it. Who reads one believes nothing: `verify`
holds every claim against the noise and the tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import ROUND_HALF_EVEN
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tapveil.base.calendar import DayName, Period, days_from, days_of_spans, kind_of, period_of
from tapveil.base.domain import MOST_CELLS
from tapveil.base.layouts import LAYOUTS, Layout
from tapveil.base.public_total import MOST_TOTALS, PublicTotal
from tapveil.base.shape import Shape
from tapveil.base.time_bins import TimeBins
from tapveil.base.types import Clock, Exact, Hours, Name, Text, known_zone
from tapveil.base.vocabulary import EVERY_MODE, Kind, columns_in_words, level_in_words
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.loss import Loss
from tapveil.privacy.mechanisms import MECHANISMS, Mechanism, stated
from tapveil.privacy.rational import decimal_text
from tapveil.privacy.units import Neighbours, Unit
from tapveil.published import manifest_1

MANIFEST_VERSION: Literal[3] = 3
"""Of the folders that are made now."""
EXAMPLE_COUNTS = (1, 2, 5, 10, 20, 50)
ERROR_CONFIDENCE = Fraction(95, 100)
EXAMPLE_CARDS = (2, 10, 28, 40)
CURVE = tuple(Fraction(part, 4) for part in (2, 3, 4, 5, 6, 8))
"""At which parts and multiples of ε the folder states δ."""
MOST_TABLES = 64

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Identity = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Number = int | float
LONGEST_FRACTION = 10**40
"""Above and below the line of a stated (ε, δ)."""


def _is_short(value: Fraction) -> Fraction:
    if max(abs(value.numerator), value.denominator) > LONGEST_FRACTION:
        raise ValueError("has more digits than any epsilon or delta needs")
    return value


ShortExact = Annotated[Exact, AfterValidator(_is_short)]
Label = Annotated[str, Field(max_length=100)]
MOST_LABELS = 200
Areas = Annotated[dict[Label, Annotated[str, Field(max_length=500)]], Field(max_length=MOST_LABELS)]


def number(x: Fraction, rounding: str = ROUND_HALF_EVEN, digits: int = 15) -> int | float:
    """A fraction as a JSON number, to 15 digits; `exact` fields carry what this may round."""
    text = decimal_text(x, digits, rounding)
    return int(text) if text.lstrip("-").isdigit() else float(text)


def json_text(data: Mapping[str, Any]) -> str:
    """A JSON file of the folder: the one way to write it, so that there is room for nothing else."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False, defer_build=True
    )


class ExactLoss(_Part):
    """(ε, δ) as fractions."""

    epsilon: ShortExact
    """As a fraction."""
    delta: ShortExact
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
    exact: ExactLoss
    """The same, exactly."""
    delta_accounted: float
    """What exact accounting finds at this ε, from above: never more than `delta`."""


class Point(_Part):
    """One point of the curve."""

    epsilon: Number
    """Another ε."""
    delta: Number
    """What is left of δ there."""


class Curve(_Part):
    """The promise at other ε."""

    neighbours: Neighbours
    """In which notion."""
    points: Annotated[list[Point], Field(min_length=1, max_length=20)]
    """δ at parts and multiples of ε, by exact accounting."""


class ExactGaussian(_Part):
    """What ρ and μ are computed from."""

    mu_squared: Exact
    """Σ a²/σ² over all changed cells, each by a (mostly 1), as a fraction."""


class GaussianPart(_Part):
    """Gaussian noise by its ρ and μ."""

    mu: Number
    """√(2ρ), rounded up: the μ of continuous noise of the same scales. For comparison; `rho` is the claim."""
    rho: Number
    """ρ of zero-concentrated differential privacy, rounded up: half of Σ a²/σ² over all changed cells, each by a."""
    delta_singletons: Number
    """The probability, at most, that a cell in which only this unit is appears. It is outside of ρ."""
    exact: ExactGaussian
    """What ρ and μ are computed from."""


class WholeCard(_Part):
    """What a promise for single trips is worth for a card with several."""

    trips: Annotated[int, Field(ge=1, le=1000)]
    """Number of trips."""
    epsilon: Number
    """What the promise is worth for all of them."""
    delta: Number
    """At this δ."""


class Apart(_Part):
    """What a promise is worth for a person whose trips are all in different cells."""

    epsilon: Number | None
    """For a person who is added or removed; null where none up to 700 is enough."""
    delta: Number
    """At this δ."""


class PersonClaim(_Part):
    """What this release, or as many like it as a year has, is worth for one person.

    It follows from the noise, the bounds and the number of days alone: neither from the trips, nor from what else was
    released. Of several rows, those of one release come first.
    """

    trips_per_week: Annotated[int, Field(ge=1, le=1000)]
    """The trips of the person in a week."""
    releases: Annotated[int, Field(ge=1, le=365)]
    """1: this release alone. More: this release, repeated for other days, for a year."""
    trips: Annotated[int, Field(ge=1)]
    """The trips of the person in all of them, at most."""
    epsilon: Number | None
    """For a person who is added or removed, whatever the trips are; null where none up to 700 is enough."""
    epsilon_replace: Number | None
    """For a person whose trips are all replaced by others."""
    delta: Number
    """At this δ: the promised one, or twice the probability that a cell appears in which only this person is."""
    believed: tuple[str, str] | None
    """Of 100 such publications, how many would make a suspicious reader believe that the person travelled: if that is
    not so, and if it is. Null where there is no ε."""
    verdict: Literal["strong", "moderate", "weak", "none"]
    """In a word; `none`: no meaningful promise for a person."""
    apart: Apart | None
    """If no two of the trips are in the same cell of a table; null where that makes no difference."""


class Bounds(_Part):
    """How much of one unit is counted, at most."""

    cells_per_table: Annotated[int, Field(ge=1, le=10_000)]
    """In how many cells of a table a unit counts, at most."""
    trips_per_day: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """As in the plan."""
    trips_per_card: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """As in the plan."""
    without_card: Literal["refuse", "own-unit"] | None = None
    """As in the plan."""


class LevelClaim(_Part):
    """How much coarser than the plan's resolution a table is."""

    time_minutes: Annotated[int, Field(ge=1, le=1440)] | None
    """The length of its bins."""
    times: Annotated[tuple[Clock, ...], Field(min_length=1, max_length=1440)] | None
    """Or: when the parts of its day start."""
    location: Name | None
    """The name of its wider areas."""

    @property
    def in_words(self) -> str:
        """What a cell of it is, in a few words."""
        return level_in_words(self.time_minutes, self.times, self.location)


NoiseCode = Literal[
    "laplace-rounded", "discrete-laplace", "discrete-gaussian", "discrete-laplace-listed", "discrete-gaussian-world"
]


class TableClaim(_Part):
    """One table, as the manifest has it."""

    name: Name
    """As in the plan."""
    columns: Annotated[tuple[str, ...], Field(max_length=20)]
    """What is counted, besides the partition; none where it is the total of each part."""
    cells: Annotated[int, Field(ge=1, le=MOST_CELLS)] | None = None
    """Of a known world: how many cells it has, all of them published. Only tables of such a folder state it."""
    trips_per_cell: Annotated[int, Field(ge=2, le=10_000)] | None = None
    """Of a known world: how many trips of a unit count in a cell, at most; stated only where it is more than one."""
    level: LevelClaim | None
    """How much coarser than the plan's resolution it is; null where it is not."""
    epsilon: Number | None = None
    """Its own ε, where the plan gives no total."""
    delta: Number | None = None
    """Its own δ, likewise."""
    exact: ExactLoss | None = None
    """Both, exactly."""
    weight: Annotated[Number, Field(gt=0, le=10**6)] | None = None
    """Or: its share of the total."""
    noise: NoiseCode
    """The distribution of the noise."""
    scale: Number
    """Its scale: b of Laplace, σ of Gaussian noise."""
    scale_exact: Exact
    """As a fraction."""
    threshold: Number
    """What a noisy count must reach to be published; 0 in a known world, where every count is."""
    threshold_exact: Exact
    """As a fraction."""
    smallest_published: int
    """The smallest count that can be published."""
    error_95: int
    """95 % error bound: half the width of an interval."""
    absent_95: int
    """Upper bound for a missing cell, for 19 of 20 cells; with a dictionary, only if it is on its list."""
    mean_error: Number
    """The mean absolute error of a count."""
    probability_published: dict[str, Number]
    """The probability that a cell is published, by its true count."""

    @property
    def in_words(self) -> str:
        """What its cells are, besides the partition."""
        return columns_in_words(self.columns) + (f" ({self.level.in_words})" if self.level else "")


class LedgerEntry(_Part):
    """The entry of a ledger that paid for a release."""

    ledger: Identity
    """Which ledger."""
    hash: Digest
    """The hash of its entry there, and so of all before it; random bits in the entry keep it from being guessed."""


class Covers(_Part):
    """Which days and modes were counted."""

    first_day: date | None
    """Only from this day on."""
    last_day: date | None
    """Only up to this day."""
    modes: Annotated[tuple[Label, ...], Field(min_length=1, max_length=MOST_LABELS)] | None
    """Only these modes."""

    @model_validator(mode="after")
    def _both_ends(self) -> Self:
        if (self.first_day is None) != (self.last_day is None):
            raise ValueError("one end of the days without the other")
        if self.first_day and self.last_day and self.first_day > self.last_day:
            raise ValueError("the last day is before the first")
        return self


_PUBLIC_FILE = (
    r"^(gtfs|holidays|places|totals|(lookup|polygons) of .{1,100}|(cells|calendar) of [a-z][a-z0-9_-]{0,63})$"
)
MOST_DAYS = 4_000
"""Of a release with calendars: eleven years."""
Span = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(/[0-9]{4}-[0-9]{2}-[0-9]{2})?$")]


class CalendarClaim(_Part):
    """How a column follows from the day: by one of `period`, `kinds` and `listed`; the others are not there."""

    period: Period | None = None
    """By the period that contains the day."""
    kinds: Annotated[dict[Label, tuple[DayName, ...]], Field(min_length=1, max_length=8)] | None = None
    """By the kind of day: the days of the week of each kind, and `holiday`."""
    holidays: Annotated[tuple[date, ...], Field(max_length=MOST_DAYS)] | None = None
    """With `kinds`: the holidays, as far as they are of another kind than their day of the week. They are of the kind
    of `holiday`, or of `sunday` where no kind has `holiday`."""
    listed: Annotated[dict[Label, tuple[Span, ...]], Field(min_length=1, max_length=MOST_LABELS)] | None = None
    """By a public list: the days of each label, from the first day of a span to its last."""
    days: Annotated[dict[Label, int], Field(min_length=1, max_length=MOST_DAYS)]
    """How many of the days counted have each label."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = {name for name, value in self if name != "days" and value is not None}
        if given not in ({"period"}, {"kinds", "holidays"}, {"listed"}) or given != self.model_fields_set - {"days"}:
            raise ValueError("a calendar has one of a period, kinds of day with holidays, and a list")
        return self

    def labels(self, days: Sequence[date]) -> dict[date, str]:
        """The label of each day; ValueError or KeyError where it has none."""
        if self.listed is not None:
            found = {day: label for label, spans in self.listed.items() for day in days_of_spans(spans)}
            return {day: found[day] for day in days}
        if self.period is not None:
            return {day: period_of(day, self.period) for day in days}
        holidays = frozenset(self.holidays or ())
        return {day: kind_of(day, self.kinds or {}, holidays) for day in days}


class TotalClaim(PublicTotal):
    """A number of trips that was published without noise, elsewhere. The guarantee holds given that it is known."""

    calibrated: bool
    """Whether `estimates/` add up to it."""


class Day(_Part):
    """What a day is."""

    starts: Clock
    """When a day starts."""
    after_midnight: Literal["wrapped", "continued"]
    """How the hours before that are written."""
    timezone: Annotated[str, AfterValidator(known_zone)] | None
    """By whose clock."""
    calendar: bool | None = None
    """Whether days are those of a calendar, or labels in the words of the source."""

    @property
    def first_minute(self) -> int:
        """The first bin of a day starts here; hours before it are written as those after 24:00."""
        return self.starts if self.after_midnight == "continued" else 0


class Software(_Part):
    """The program that made the folder."""

    name: Literal["tapveil"]
    """What made the folder."""
    version: Annotated[str, Field(pattern=r"^[0-9]{1,4}(\.[0-9]{1,4}){1,3}((a|b|rc|\.dev|\.post)[0-9]{1,4})?$")]
    """Its version."""


class Pairing(_Part):
    """Which taps make up a trip."""

    same: Name
    """What a tap on and its tap off have in common, besides the day: `card`, or another column."""
    within_minutes: Annotated[int, Field(ge=1, le=1440)]
    """How long a trip takes, at most."""


class Versions(_Part):
    """Versions of the methods by which all other files are made from the tables and the manifest."""

    derived: Literal[1, 2]
    """`consistent/` and `finest/`; in version 1 with totals that were guessed."""
    page: Literal[1, 2, 3]
    """What `explorer.html` holds; since version 3 the files next to it as well."""
    metadata: Literal[1, 2]
    """`dp-registry.yaml`, `croissant.json`, `dcat.jsonld`."""
    wording: Literal[1, 2, 3]
    """The sentences in them."""
    readme: Literal[1, 2, 3] | None = None
    """`README.md`; before version 3 it could not be made again."""
    package: Literal[1, 2, 3] | None = None
    """`datapackage.json`, likewise."""
    estimates: Literal[1, 2, 3, 4, 5, 6, 7] | None = None
    """`estimates/`, in folders of a known world that have them; others do not state it. Version 2 is for tables that
    are not split by the date, taps, and more places than bins of the plan leave room for; version 3 for all. Since
    version 4, thin tables list fewer cells, since version 5 by another rule, since version 6 also where no measurement
    tells them, since version 7 also where noise says which cells become one; and since version 5, cells that follow
    from exact totals have no interval."""
    reader: Literal[1, 2, 3] | None = None
    """`read.R`, in folders that have it; others do not state it."""
    rider: Literal[1, 2] | None = None
    """`rider.html`, in folders that have it; others do not state it."""
    shapes: Literal[1, 2] | None = None
    """`shapes/`, in folders that have such files; others do not state it. In version 2 shapes say more."""
    totals: Literal[1] | None = None
    """How estimates add up to exact totals, in folders whose plan declares some; others do not state it."""
    trips: Literal[1] | None = None
    """`trips/`, in folders of estimates that have synthetic trips; others do not state it."""

    @property
    def parts(self) -> Mapping[str, int | None]:
        """What some folders have and others do not: each states its version only where it is there."""
        return {
            "estimates": self.estimates,
            "reader": self.reader,
            "rider": self.rider,
            "shapes": self.shapes,
            "totals": self.totals,
            "trips": self.trips,
        }

    @property
    def without_parts(self) -> Versions:
        """Of the methods that every folder has."""
        return self.model_copy(update=dict.fromkeys(self.parts))


VERSIONS = Versions(derived=2, page=3, metadata=2, wording=3, readme=3, package=3)
"""Versions of new folders: `verify` recomputes the other files by them."""


class Manifest(_Part):
    """`privacy.json`, version 3."""

    manifest_version: Literal[1, 2, 3]
    """What this list is of."""
    versions: Versions
    """Versions of the methods by which the other files are made."""
    release: Name
    """`name` in the plan."""
    release_id: Identity
    """Which release this is, in the ledger and for `chosen_from`."""
    ledger: LedgerEntry | None
    """The entry that paid for it; null without a ledger."""
    title: Annotated[str, Field(max_length=500)]
    """As in the plan."""
    description: Text | None = None
    """As in the plan. This and the other fields with a default are new in version 3, and are always there in it."""
    publisher: Text | None = None
    """As in the plan."""
    publisher_type: Literal["government", "industry", "nonprofit"] | None
    """As in the plan."""
    licence: Text | None = None
    """As in the plan."""
    region: Annotated[str, Field(max_length=500)] | None
    """As in the plan."""
    created: date
    """The day on which it was made."""
    chosen_from: Identity | None
    """The release that its plan was chosen from, if any."""
    corrects: Identity | None = None
    """The withdrawn release that this one corrects; only corrections state it."""
    looked_at_trips: bool | None
    """Whether the plan was made by looking at the trips themselves, which is not accounted for; null: not stated."""
    unit: Unit
    """What is protected as a whole."""
    bounds: Bounds
    """How much of one unit is counted, at most."""
    neighbours: Neighbours
    """The notion in which the plan states ε and δ."""
    mechanism: Literal["sbh", "laplace", "gaussian", "dictionary", "world"]
    """As in the plan."""
    epsilon: Number
    """ε, rounded up to 15 digits."""
    delta: Number
    """δ, rounded up to 15 digits."""
    exact: ExactLoss
    """The same, exactly."""
    guarantees: Annotated[list[Guarantee], Field(min_length=2, max_length=2)]
    """The promise in both notions of neighbours."""
    curve: Curve
    """The promise at other ε."""
    gaussian: GaussianPart | None
    """With Gaussian noise: its ρ and μ, for the plan's neighbours. Else null, as in folders of version 1."""
    whole_cards: Annotated[list[WholeCard], Field(max_length=10)] | None
    """For unit `trip`: what it is worth for all trips of a card, each in other cells than the others."""
    people: Annotated[tuple[PersonClaim, ...], Field(max_length=20)] | None = None
    """What it is worth for a person, and for a year; null where no days are named. New in wording 3, always there."""
    tables: Annotated[tuple[TableClaim, ...], Field(min_length=1, max_length=MOST_TABLES)]
    """Each table, with its noise."""
    covers: Covers
    """Which days and modes were counted; null where there was no limit."""
    partition: Annotated[tuple[str, ...], Field(max_length=20)]
    """The columns by which every table is split."""
    columns: dict[Label, Kind]
    """What sort of values each key column has."""
    layout: Literal["tables", "opal"]
    """How the files of `data/` are laid out; of a known world, `measurements/` has one file for each table."""
    synthetic: bool | None = None
    """Whether there are synthetic rows, too."""
    rows: Literal["trips", "taps"]
    """What a row of the source was."""
    pairing: Pairing | None = None
    """Where tables have both ends of trips that were taps: which taps make up a trip."""
    time_minutes: Annotated[int, Field(ge=1, le=1440)]
    """The length of a time bin."""
    day: Day
    """What a day is."""
    areas: Areas
    """What stops are published as, by mode."""
    holidays: Annotated[tuple[date, ...], Field(max_length=MOST_LABELS)] | None = None
    """Of a known world: days that are taken to be like Sundays in `estimates/`. Only such folders state it."""
    service: Annotated[dict[Label, Hours], Field(min_length=1, max_length=MOST_LABELS)] | None = None
    """Of a known world: the hours that its tables have, by mode; other times count as `-1`. Stated where given."""
    estimated_minutes: Annotated[int, Field(ge=1, le=1440)] | None = None
    """The length of the bins of `estimates/`, stated only where it is longer than `time_minutes`: there are too many
    places for whole trips by shorter ones."""
    durations: Annotated[tuple[Clock, ...], Field(min_length=1, max_length=1440)] | None = None
    """Of a known world: where the classes of durations begin, in folders whose tables have durations."""
    lists: Annotated[dict[Label, Annotated[tuple[Label, ...], Field(min_length=2)]], Field(min_length=1)] | None = None
    """Of a known world: all labels of other columns, such as a fare class, in folders whose tables have some."""
    shapes: Annotated[dict[Name, Shape], Field(min_length=1, max_length=20)] | None = None
    """The shapes of the files in `shapes/`, in folders that have some: columns, and the tables they are from."""
    totals: Annotated[tuple[TotalClaim, ...], Field(min_length=1, max_length=MOST_TOTALS)] | None = None
    """Exact totals of these trips that are public anyway, in folders whose plan declares some: published by others,
    without noise. Of two sets of trips, the guarantee compares those that both agree with all of them."""
    calendars: Annotated[dict[Name, CalendarClaim], Field(min_length=1, max_length=20)] | None = None
    """The columns that follow from the day, in folders whose tables have some."""
    wider: Annotated[dict[Name, Areas], Field(max_length=MOST_TABLES)]
    """The wider areas, by their name and the mode."""
    plan_sha256: Digest
    """SHA-256 of what the plan means: the same for two texts of one plan."""
    public_files_sha256: Annotated[
        dict[Annotated[str, Field(pattern=_PUBLIC_FILE)], Digest], Field(max_length=4 * MOST_LABELS)
    ]
    """SHA-256 of the lists that the plan names."""
    places: Literal["areas.geojson"] | None
    """The file that says where the places lie, if there is one."""
    software: Software
    """What made the folder."""

    @model_validator(mode="after")
    def _has_the_fields_of_its_version(self) -> Self:
        for part, new in ((self, _NEW), (self.day, {"calendar"}), (self.versions, {"readme", "package"})):
            if part.model_fields_set & new != (new if self.manifest_version >= 3 else set()):
                raise ValueError("it has other fields than its version")
        if ("people" in self.model_fields_set) != (self.versions.wording >= 3):
            raise ValueError("it has other fields than its wording")
        world = self.is_world and self.manifest_version >= 3
        own = [("cells" in table.model_fields_set) == world for table in self.tables]
        own += [("holidays" in self.model_fields_set) == world, world or not self.service]
        given = {"service": self.service, "durations": self.durations, "lists": self.lists}
        listed = {name for name, kind in self.columns.items() if kind == "label" and name != "mode" and world}
        own += [set(self.lists or ()) == listed]
        own += [(name in self.model_fields_set) == bool(value) for name, value in given.items()]
        own += [("duration" in self.columns.values()) == bool(self.durations)]
        made = {name for name, kind in self.columns.items() if kind == "calendar"}
        own += [("calendars" in self.model_fields_set) == bool(made), set(self.calendars or ()) == made]
        own += [not made or (self.covers.first_day is not None and len(self.days) <= MOST_DAYS)]
        for name, version in self.versions.parts.items():
            own += [(name in self.versions.model_fields_set) == bool(version)]
            of = {"estimates": world, "shapes": not world or (version or 0) > 1, "trips": world}
            own += [of.get(name, True) or not version]
        own += [("shapes" in self.model_fields_set) == bool(self.versions.shapes) == bool(self.shapes)]
        own += [("corrects" in self.model_fields_set) == bool(self.corrects), self.corrects != self.release_id]
        own += [self.versions.wording >= 3 or not self.corrects]  # older ones have no words for it
        own += [bool(self.versions.estimates) or not self.versions.trips]
        own += [("totals" in self.model_fields_set) == bool(self.versions.totals) == bool(self.totals)]
        own += [bool(self.versions.estimates) or not total.calibrated for total in self.totals or ()]
        own += [total.model_fields_set == set(TotalClaim.model_fields) for total in self.totals or ()]
        own += ["estimated_minutes" not in self.model_fields_set or (self.versions.estimates or 0) > 1]
        several = [table for table in self.tables if "trips_per_cell" in table.model_fields_set]
        own += [world and self.unit != "trip" for _ in several]
        if self.is_world > world or not all(own):
            raise ValueError("it has other fields than its mechanism")
        return self

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Manifest:
        """A manifest of any version, as one of this; ValueError (pydantic's is one) if it is invalid."""
        first = isinstance(data, dict) and data.get("manifest_version") == 1
        return cls.model_validate(manifest_1.upgraded(data) if first else data)

    @property
    def as_json(self) -> dict[str, Any]:
        """The one way to write it: keys in this order, each value in its one form."""
        return self.model_dump(mode="json", exclude_unset=True)

    @property
    def exposure(self) -> Exposure:
        return Exposure(self.neighbours, self.bounds.cells_per_table)

    @property
    def mechanisms(self) -> Mapping[str, Mechanism]:
        """The mechanism of each table, from its scale and threshold alone; ValueError where there is none such."""
        return {each.name: self.mechanism_of(each) for each in self.tables}

    def mechanism_of(self, table: TableClaim) -> Mechanism:
        """The mechanism of a table; ValueError where there is none such."""
        several = (table.trips_per_cell or 1, self.bounds.cells_per_table)
        return stated(self.mechanism, table.scale_exact, table.threshold_exact, *several)

    @property
    def has_days(self) -> bool:
        """Whether its dates are published as those of a calendar; before version 3 a folder does not say."""
        return self.day.calendar is not False and not self.arrangement.columns

    @property
    def from_a_list(self) -> bool:
        """Whether the cells of a public list are counted, and no others."""
        return MECHANISMS[self.mechanism].from_a_list

    @property
    def is_world(self) -> bool:
        """Whether every cell of public lists was measured and is published: none is absent, none suppressed."""
        return MECHANISMS[self.mechanism].publishes_every_cell

    @property
    def by_card(self) -> bool:
        """Whether cards are protected, and counted."""
        return self.unit != "trip"

    def keys(self, table: TableClaim) -> tuple[str, ...]:
        """The columns that distinguish the cells of a table: those of the partition, then its own."""
        return (*self.partition, *table.columns)

    def times(self, table: TableClaim) -> TimeBins:
        """The bins of a table's times."""
        level, first = table.level, self.day.first_minute
        if level and level.times:
            return TimeBins.parts(level.times, first)
        return TimeBins.every((level and level.time_minutes) or self.time_minutes, first)

    @property
    def days(self) -> list[date]:
        """The days that were counted; none where it does not say."""
        first, last = self.covers.first_day, self.covers.last_day
        return days_from(first, last) if first and last else []

    @cached_property
    def calendar(self) -> dict[str, tuple[str, ...]]:
        """The days that were counted, and of each the label in every column that follows from it."""
        written = {name: claim.labels(self.days) for name, claim in (self.calendars or {}).items()}
        days = {"date": tuple(day.isoformat() for day in self.days)} if self.days else {}
        return days | {name: tuple(labels[day] for day in self.days) for name, labels in written.items()}

    def hours(self, mode: str) -> tuple[int, int] | None:
        """The hours of service of a mode, if its tables have no others."""
        stated = self.service or {}
        return stated.get(mode, stated.get(EVERY_MODE))

    def listed_times(self, table: TableClaim) -> tuple[str, ...]:
        """The labels of the times that a table has, of any mode."""
        modes = (self.covers.modes or ()) if "mode" in self.partition else ()
        listed = {
            label for mode in modes or (EVERY_MODE,) for label in self.times(table).within_hours(self.hours(mode))
        }
        return tuple(label for label in self.times(table).labels if label in listed)

    def has_wider(self, name: str, mode: str) -> bool:
        """Whether places of a mode have wider areas of this name; else each is its own."""
        return mode in self.wider[name] or EVERY_MODE in self.wider[name]

    @property
    def arrangement(self) -> Layout:
        """How its tables become files."""
        return LAYOUTS["world" if self.is_world else self.layout]

    def files(self, table: TableClaim) -> tuple[str, ...]:
        """The files that a table is in, the first of which the data dictionary describes."""
        layout = self.arrangement
        name, _ = layout.file_of(table)
        return tuple(f"{layout.folder}/{name}.{form}" for form in layout.formats(table.cells))

    @property
    def sheets(self) -> dict[str, tuple[str, ...]]:
        """The files of counts that the folder must have, and their keys."""
        return self.arrangement.files(self.tables, self.partition)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of these files that are no keys."""
        return self.arrangement.numbers


_NEW = {"description", "publisher", "licence", "synthetic", "pairing"}
