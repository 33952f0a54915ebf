"""A first plan for an unknown export: written so that it can be checked, and released, without being edited.

Columns, formats and words come from `recognition`; bins come from counting the trips, so that the tables would not be
empty. That looks at the trips, which no ε accounts for, and the plan says so. No value of a trip gets into the plan.

Or nobody looks: then the first lines or schemas of the files, their names, and public files decide all of it, and what
they do not tell is left to the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tapveil.base.defaults import MEMORY
from tapveil.base.errors import PlanError, TapveilError, TripDataError
from tapveil.base.progress import Reporter, Stage
from tapveil.base.types import clock_text, zone_names
from tapveil.base.vocabulary import EVERY_MODE
from tapveil.counting.counter import count
from tapveil.counting.exact import Counted
from tapveil.counting.refusals import refuse_too_many
from tapveil.inputs.gtfs import read_feed
from tapveil.inputs.public import PublicInputs
from tapveil.internal.outlook import shares_by_width
from tapveil.plan.model import Area, Plan
from tapveil.trips import files as sources
from tapveil.trips.csv_reader import Encoding
from tapveil.trips.recognise import NEARLY, Recognised, Sample, recognise
from tapveil.trips.sample import encoding_of, header_encoding, samples, trip_files, unseen_columns

WIDTHS = (15, 30, 60, 120, 180, 240, 360, 720)
"""Bins that are tried, in minutes."""
UNSEEN_WIDTH = 60
"""Bins where nobody looks."""
ENOUGH, TOO_FEW = 0.5, 0.1
"""A table of times should publish this share of the trips; one that publishes less than this is left out."""
MATCHED = 0.5
"""So many of the stops in the trips must be in a timetable for it to be theirs."""
_YOUR_ZONE = "Your/City"
_ENDS = {"tap_on_time", "tap_off_time", "tap_on_location", "tap_off_location", "tap_time", "tap_location"}
EPSILON, DELTA = "8", "7.5e-7"
"""What the Opal release spent."""


@dataclass
class Draft:
    """A plan, and what is to be said of how it came about."""

    text: str
    found: Recognised
    remarks: list[str] = field(default_factory=list)


def draft(
    path: str,
    plan_path: Path,
    *,
    gtfs: Path | None = None,
    look: bool = True,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter,
) -> Draft:
    """Look at the trips, and write a plan for them; without `look`, read no row of them."""
    files = trip_files(path)
    with progress.stage(Stage.LOOKING_AT_COLUMNS):
        encoding = encoding_of(files) if look else header_encoding(files)
        looked_at = samples(files, encoding) if look else unseen_columns(files, encoding)
        found = recognise(looked_at)
        if not _ENDS & set(found.columns):  # a plan needs something to count
            raise TripDataError(
                "no column was recognised as the time or the place of a trip: name them yourself in a plan, "
                "`tapveil plan opal -o plan.toml` writes one to start from"
            )
        shapes = [sources.inspect(each, encoding) for each in files]
        found.offsets |= any(_has_instants(shape, found) for shape in shapes)
        found.zone = next(filter(None, map(_zone_of, shapes)), None)
        beside = gtfs or _beside(files[0].parent)
        timetable = _Timetable.of(beside, found, looked_at, given=gtfs is not None) if beside else None
    if "card" not in found.columns:
        found.remarks.append(
            "No column was recognised as the card. If there is one, name it as `card`: it is never published, and lets "
            "tapveil make sure that none slips into the folder."
        )
    writing = _Writing(path, files, plan_path, found, encoding, timetable, looked=look)
    if look:
        return _seen(writing, memory, scratch, progress)
    writing.area = Area(gtfs="station_name") if timetable else None
    text = writing.text(UNSEEN_WIDTH, None)
    if not found.unclear:
        writing.parsed(text)
    return Draft(text, found, [*writing.remarks, *writing.not_known()])


def _seen(writing: _Writing, memory: str, scratch: Path | None, progress: Reporter) -> Draft:
    """A plan whose bins, areas and tables follow from counting the trips."""
    found, first = writing.found, writing.text(WIDTHS[0], None)
    remarks = list(writing.remarks)
    if found.unclear:
        return Draft(first, found, remarks)
    plan = writing.parsed(first)
    detailed = plan.model_copy(update={"table": plan.detailed})  # totals have neither bins nor areas to choose
    inputs = PublicInputs.of(detailed, scratch)
    counted = count(detailed, memory=memory, scratch=scratch, progress=progress, inputs=inputs)
    try:
        refuse_too_many(counted.refusals, plan)
    except TripDataError as error:
        remarks.append(f"A release would stop: {error}")
        return Draft(first, found, remarks)
    writing.area, areas = _area(plan, inputs, counted) if writing.timetable else (None, None)
    shares = {name: shares_by_width(plan, counted, name, WIDTHS, areas) for name in detailed.tables}
    width = _width(shares)
    fullest = max(shares, key=lambda name: shares[name][width])
    kept = [name for name in shares if shares[name][width] >= TOO_FEW] or [fullest]
    text = writing.text(width, kept)
    writing.parsed(text)
    remarks += _about_tables(width, kept, shares, areas is not None)
    return Draft(text, found, remarks)


def _has_instants(shape: sources.Shape, found: Recognised) -> bool:
    """Whether a file has times with a time zone: one of many may."""
    theirs = {guess.column for ours, guess in found.columns.items() if ours.endswith("time") or ours == "date"}
    return any(raw == "instant" for name, raw in zip(shape[1], shape[2], strict=True) if name in theirs)


def _zone_of(shape: sources.Shape) -> str | None:
    """The time zone that a Parquet file names for its times, unless that is only UTC."""
    zones = re.findall(r"tz=([A-Za-z_]+/[A-Za-z_/]+)\]", shape[4])
    return next((zone for zone in zones if zone in zone_names() and not zone.startswith("Etc/")), None)


# --- the timetable beside them -------------------------------------------------------------------------------------


def _beside(folder: Path) -> Path | None:
    """A timetable that lies beside the trips: a zip file or a folder that has stops.txt."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() == ".zip" or (path.is_dir() and (path / "stops.txt").is_file()):
            try:
                read_feed(path)
            except TapveilError:
                continue
            return path
    return folder / "stops.txt" if (folder / "stops.txt").is_file() else None


@dataclass(frozen=True)
class _Timetable:
    path: Path
    match: str
    why: str
    timezone: str | None

    @classmethod
    def of(cls, path: Path, found: Recognised, looked_at: Sequence[Sample], *, given: bool) -> _Timetable | None:
        """The timetable, if the trips name its stops; if nobody looked at them, the one that is there."""
        feed = read_feed(path)
        named = {sample.name: sample for sample in looked_at}
        places = [named[guess.column] for ours, guess in found.columns.items() if ours.endswith("_location")]
        if not places:
            return None
        if places[0].values is None:
            by_name = next((f"stop_{word}" for word in ("name", "code") if word in places[0].words), "stop_id")
            return cls(path, by_name, "a guess: by the name of the column", feed.timezone)
        stops = feed.stops.values()
        ways = {
            "stop_id": {stop.id for stop in stops},
            "stop_code": {stop.code for stop in stops} - {""},
            "stop_name": {stop.name for stop in stops} - {""},
        }
        shares = []
        for values in ([value.strip() for value in place.filled] for place in places):
            for way, known in ways.items():
                shares.append((sum(value in known for value in values) / max(1, len(values)), way))
        best = max(share for share, _ in shares)
        if best < MATCHED:
            if given:
                found.remarks.append(f"few stops of the trips are in {path.name}: is it the right timetable?")
            return None
        match = max(way for share, way in shares if share >= best - NEARLY)
        return cls(path, match, "most of the values looked at are such", feed.timezone)


# --- bins and tables -----------------------------------------------------------------------------------------------

_TABLES = {
    "on_time": ("tap_on_time",),
    "on_location": ("tap_on_location",),
    "off_time": ("tap_off_time",),
    "off_location": ("tap_off_location",),
    "on_time_location": ("tap_on_time", "tap_on_location"),
    "off_time_location": ("tap_off_time", "tap_off_location"),
}
_AREAS = (Area(gtfs="station_name"), Area(gtfs="zone_id"), *(Area(h3=resolution) for resolution in (8, 7, 6, 5)))
"""What a stop may be published as, from fine to coarse."""
_TOTAL = """\
[[table]]                             # all trips of each part: little of the budget is enough for a large number
name = "total"
columns = []
weight = "1/4"
"""


def _area(plan: Plan, inputs: PublicInputs, counted: Counted) -> tuple[Area | None, Mapping[str, str] | None]:
    """The finest areas of which tables of places publish enough; the largest where none does."""
    places = [name for name in ("on_location", "off_location") if name in plan.tables]
    chosen: tuple[Area | None, Mapping[str, str] | None] = (None, None)
    for area in _AREAS:
        coarsen = plan.coarsen.model_copy(update={"location": {EVERY_MODE: area}})
        try:
            areas = inputs.seen_by(inputs.plan.model_copy(update={"coarsen": coarsen})).areas.lookups[EVERY_MODE]
        except PlanError:  # H3 is not installed
            continue
        if len(set(areas.values())) > 1:
            chosen = (area, areas)
            found = [shares_by_width(plan, counted, name, WIDTHS[:1], areas)[WIDTHS[0]] for name in places]
            if all(share >= ENOUGH for share in found):
                break
    return chosen


def _width(shares: Mapping[str, Mapping[int, float]]) -> int:
    """The finest bins of which tables of times publish enough; the widest where none does."""
    timed = [name for name in ("on_time", "off_time") if name in shares]
    for width in WIDTHS:
        if all(shares[name][width] >= ENOUGH for name in timed):
            return width
    return max(WIDTHS, key=lambda width: sum(shares[name][width] for name in timed))


def _about_tables(
    width: int, kept: Sequence[str], shares: Mapping[str, Mapping[int, float]], areas: bool
) -> Iterator[str]:
    chosen = f"Bins of {width} minutes{' and areas' if areas else ''} were chosen by counting your trips."
    yield (
        f"{chosen} Such tuning looks at the data, which no epsilon accounts for: better, choose bins and areas from "
        "common sense or from an earlier period."
    )
    left = [name for name in shares if name not in kept]
    if left:
        yield f"Left out, because they would be nearly empty: {', '.join(left)}. Larger areas would bring them back."
    if max(shares[name][width] for name in kept) < TOO_FEW:
        yield "Even so, nearly nothing would be published: these are few trips for this promise."


# --- the plan ------------------------------------------------------------------------------------------------------


@dataclass
class _Writing:
    """The text of the plan, which can be read again."""

    path: str
    files: Sequence[Path]
    plan_path: Path
    found: Recognised
    encoding: Encoding
    timetable: _Timetable | None
    looked: bool
    area: Area | None = None
    remarks: list[str] = field(default_factory=list)

    def text(self, width: int, kept: Sequence[str] | None) -> str:
        self.remarks = []
        sections = [self._head(), self._release(), self._source(width), self._columns(), self._coarsen(width)]
        return "\n".join([*sections, self._privacy(), *self._tables(kept), _TOTAL])

    def parsed(self, text: str) -> Plan:
        return Plan.parse(text.replace(_YOUR_ZONE, "UTC"), where=self.plan_path.name, base=self.plan_path.parent)

    def _head(self) -> str:
        like = f"It looks like {self.found.like}. " if self.found.like else ""
        source = "columns of the trips" if self.looked else "names and types of the columns alone"
        return f"""\
# A first plan, guessed from the {source}. {like}Read it through: each guess says how sure it is.
# Then:  tapveil check THIS-FILE      (what it costs, what would survive; publishes nothing)
#        tapveil ledger start THIS-FILE --epsilon {EPSILON} --delta 1e-6     (once: all that may ever be spent)
#        tapveil release THIS-FILE -o published
"""

    def _release(self) -> str:
        partition = [name for name in ("mode", "date") if name in self.found.columns]
        name = re.sub(r"[^a-z0-9]+", "-", Path(self.path).stem.lower()).strip("-")
        name = name if re.match(r"[a-z]", name) else f"trips-{name}".strip("-")
        return f"""\
[release]
name = {_toml(name[:64])}
title = "Trips by {" and ".join(partition) or "time and place"}"
partition = {_toml(partition)}          # every table is counted separately for each of these
"""

    def _source(self, width: int) -> str:
        lines = ["[source]", f"path = {_toml(self._patterns())}"]
        if self.found.is_taps:
            lines.append('shape = "taps"                        # a row is one tap, not one trip')
        if self.encoding != "utf-8":
            what = "most lines that are not plain ASCII are not" if self.looked else "the header is not"
            lines.append(f'encoding = "windows-1252"             # {what} UTF-8')
        elif not self.looked and self._has_text:
            lines.append('# encoding = "windows-1252"           # if the files are not UTF-8: nobody looked')
        if self.found.labels:
            lines.append('dates = "labels"                      # days are names, not dates')
        if self.found.service:
            lines.append('dates = "service"                     # dates are those of service days')
            clock = f'day_starts = "{clock_text(_day_starts(width))}"'
            lines.append(f"{clock}                  # a guess: earlier times are of the night after their date")
            self.remarks.append("Dates are taken to be those of service days, which start at 04:00 or so: a guess.")
        lines += self._zone()
        # A trip may tap on on one day and off on the next (docs/ledger.md, Taps).
        apart = "of taps add up all the same, for trips" if self.found.is_taps else "of other days do not add up"
        lines.append(f"# first_day = 2016-08-08              # count these days only; releases {apart}")
        lines.append("# last_day = 2016-08-14")
        lines.append('max_refused = "1 %"                   # stop if more rows than this cannot be read')
        if self.found.is_taps:
            lines += ["", "[source.taps]                         # which rows are taps; all others are left out"]
            fill = "   # fill in the words for it" if self.found.unclear else ""
            lines += [f"on = {_toml(list(self.found.on))}{fill}", f"off = {_toml(list(self.found.off))}{fill}"]
        return "\n".join(lines) + "\n"

    def _zone(self) -> list[str]:
        zone = self.timetable.timezone if self.timetable else None
        if zone:
            return [f"timezone = {_toml(zone)}    # from the timetable; hours that daylight saving skips are refused"]
        if self.found.zone:
            return [f"timezone = {_toml(self.found.zone)}    # that of the times in the files"]
        if self.found.offsets:
            self.remarks.append(
                "Times carry an offset from UTC: set [source] timezone to that of your city, such as "
                '"Australia/Sydney". Nobody can guess it, and without it nothing can be checked.'
            )
            return [f'timezone = "{_YOUR_ZONE}"             # set your own: times carry an offset from UTC']
        return ['# timezone = "Australia/Sydney"       # then hours that daylight saving skips are refused']

    def _columns(self) -> str:
        lines = ["[source.columns]                      # ours on the left, yours on the right; no other is ever read"]
        for ours in (ours for ours in _ORDER if ours in self.found.columns):
            guess = self.found.columns[ours]
            named = _toml(guess.column)
            if guess.format or guess.missing:
                parts = {"column": guess.column, "format": guess.format, "missing": guess.missing}
                named = "{ " + ", ".join(f"{key} = {_toml(value)}" for key, value in parts.items() if value) + " }"
            lines.append(f"{ours} = {named}  # {guess.how_sure}: {guess.why}")
        return "\n".join(lines) + "\n"

    def _coarsen(self, width: int) -> str:
        why = "chosen so that the tables are not empty: this looked at the trips" if self.looked else _ORDINARY
        text = f"[coarsen]\ntime_minutes = {width}                     # {why}\n"
        if self.found.service and _day_starts(width):
            text += 'after_midnight = "continued"          # the hours after midnight are 24:00, 25:00, ...\n'
        if not self.timetable:
            return text
        named = ""
        if self.area:
            way = f'gtfs = "{self.area.gtfs}"' if self.area.gtfs else f"h3 = {self.area.h3}"
            if self.looked:
                why = "the finest for which the tables of places are not empty: this looked at the trips"
            named = f'\n[coarsen.location."*"]\n{way}                 # {why}\n'
        return f"""\
{text}{named}
[gtfs]                                # names and places of stops
path = {_toml(self._relative(str(self.timetable.path)))}
match = {_toml(self.timetable.match)}                   # {self.timetable.why}
"""

    def _tables(self, kept: Sequence[str] | None) -> Iterator[str]:
        both = {"tap_time": ("tap_on_time", "tap_off_time"), "tap_location": ("tap_on_location", "tap_off_location")}
        known = {end for ours in self.found.columns for end in both.get(ours, (ours,))}
        if self.found.is_taps and not self.found.off and not self.found.unclear:
            known = {ours for ours in known if not ours.startswith("tap_off_")}
        for name, keys in _TABLES.items():
            if set(keys) <= known and (kept is None or name in kept):
                yield f"[[table]]\nname = {_toml(name)}\ncolumns = {_toml(keys)}\nweight = {len(keys)}\n"

    def _privacy(self) -> str:
        return f"""\
[privacy]                             # the promise: nothing here is a default, all of it is for you to decide
unit = "trip"                         # what is protected: any one trip (or "card-day", "card": see docs/plan.md)
neighbours = "replace"                # ... against being exchanged for any other trip
mechanism = "gaussian"                # the noise that publishes most at this promise
epsilon = {EPSILON}                           # what the Opal release spent; 1 or less is a strong promise
delta = {DELTA}
{_LOOKED if self.looked else _NOT_LOOKED}"""

    def not_known(self) -> Iterator[str]:
        """What only a look at the trips, or who knows them, could tell."""
        yield "No row of the trips was read: the plan depends on names and types of columns and on public files alone."
        if self._has_text:
            yield (
                "Not known without looking, and for you to check: the encoding (UTF-8 is taken, unless the header is "
                "not), how times and days are written (`format`), and words for missing values (`missing`)."
            )
        yield (
            f"Bins of {UNSEEN_WIDTH} minutes and all tables are defaults. If you change the plan because of what "
            "`tapveil check` shows, set looked_at_trips = true: `check` reads the trips."
        )
        if self.timetable:
            yield (
                f"The timetable {self.timetable.path.name} is taken to be that of the trips, and their stops to be its "
                f"{self.timetable.match}: a guess. Where that is wrong, stops become UNKNOWN."
            )

    @property
    def _has_text(self) -> bool:
        """Whether a file is one of texts, whose encoding and formats are not declared."""
        return any(path.suffix.lower() not in {".parquet", ".pq"} for path in self.files)

    def _patterns(self) -> str | list[str]:
        """The trips as the plan names them: of a folder, the files by their endings, so that others may lie there."""
        whole = Path(self.path)
        if not whole.is_dir():
            return self._relative(self.path)
        endings = {"".join(path.suffixes[-2 if path.suffix == ".gz" else -1 :]) for path in self.files}
        patterns = [self._relative(str(whole / f"*{ending}")) for ending in sorted(endings)]
        return patterns if len(patterns) > 1 else patterns[0]

    def _relative(self, path: str) -> str:
        """A path as the plan writes it: from its own folder, where it is below it."""
        try:
            return Path(path).resolve().relative_to(self.plan_path.resolve().parent).as_posix()
        except ValueError:
            return Path(path).resolve().as_posix()


_ORDER = (
    "card mode date tap_on_time tap_on_location tap_off_time tap_off_location tap tap_time tap_location vehicle".split()
)
_ORDINARY = "a default: nobody looked at the trips"
_LOOKED = """\
# By looking at the trips, `tapveil init` chose: encoding, columns, formats, words for missing values and taps, what a
# day is, the timetable, bins, areas, and which tables there are. No epsilon accounts for that; the folder will say so.
looked_at_trips = true
"""
_NOT_LOOKED = """\
# `tapveil init --no-look` read no row of the trips. The folder will say so: set true if you change the plan after you
# looked at them, or because of what `tapveil check` shows.
looked_at_trips = false
"""


def _day_starts(width: int) -> int:
    """When a service day may start, in minutes: where a bin does."""
    return next(minute for minute in (240, 180, 360, 0) if minute % width == 0)


def _toml(value: str | Sequence[str]) -> str:
    """As TOML writes it: like JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
