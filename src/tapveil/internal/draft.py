"""A first plan for an unknown export: what is sure is written, and what is not is asked.

Three ways to look at the trips. Usually some rows are read, to find out how the files are written (`recognise`): that
enters the plan, and a few odd rows decide nothing of it. Bins, areas and tables then follow from the kind of file and
from public files alone. With `look="trips"` they follow from counting the trips, which no ε accounts for, and the plan
says so. With `look="nothing"` no row is read: the first lines or schemas of the files and their names decide all of it.

A question is answered by whoever is asked: on a terminal a person; else it is left open in the plan, which then is
refused until somebody answers, or what is proposed is taken, which the plan says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Literal

from tapveil.base.defaults import MEMORY, Encoding
from tapveil.base.errors import PlanError, TapveilError, TripDataError
from tapveil.base.progress import Reporter, Stage
from tapveil.base.types import zone_names
from tapveil.base.vocabulary import EVERY_MODE
from tapveil.counting.counter import count
from tapveil.counting.exact import Counted
from tapveil.counting.refusals import refuse_too_many
from tapveil.inputs.gtfs import read_feed
from tapveil.inputs.public import PublicInputs
from tapveil.internal.draft_text import EPSILON, UNSEEN_WIDTH, Choices, Timetable, plan_text
from tapveil.internal.outlook import shares_by_width
from tapveil.internal.prospect import Prospect, prospect
from tapveil.internal.public_days import Days, days_in_names
from tapveil.internal.public_world import (
    World,
    cells,
    lists_places,
    modes_of_routes,
    not_listed,
    place_list,
    why_unsplit,
)
from tapveil.internal.public_world import world as world_of
from tapveil.plan.model import Area, Plan
from tapveil.plan.source import SourceColumn
from tapveil.privacy.meaning import Meaning
from tapveil.privacy.mechanisms import MECHANISMS
from tapveil.privacy.units import Unit
from tapveil.trips import files as sources
from tapveil.trips.csv_reader import USUAL, Heading
from tapveil.trips.encodings import LANGUAGES
from tapveil.trips.heading import common_heading
from tapveil.trips.questions import OPEN, YES_OR_NO, Question
from tapveil.trips.reading import Sample
from tapveil.trips.recognise import recognise
from tapveil.trips.recognised import Recognised
from tapveil.trips.sample import (
    MOST_LINES,
    Found,
    code_page,
    encoding_of,
    header_encoding,
    other_scripts,
    rows_of_cards,
    samples,
    sheets_of_trips,
    trip_files,
    unseen_columns,
    whole_files,
)

Look = Literal["nothing", "columns", "trips"]
Answer = Callable[[Question], str]
"""What is said to a question: one of its choices, or `OPEN`."""

WIDTHS = (15, 30, 60, 120, 180, 240, 360, 720)
"""Bins that are tried, in minutes."""
ENOUGH, TOO_FEW = 0.5, 0.1
"""A table of times should publish this share of the trips; one that publishes less than this is left out."""
A_PART_OF_A_DAY = 240
"""Longer bins, in minutes, tell so little that days are taken together before."""
ROWS_OF_A_TITLE = 40
"""Rows of a sheet that are looked at for one that names columns."""
MATCHED, NEARLY = 0.5, 0.01
"""This many of the stops in the trips must be in a timetable for it to be theirs; shares nearer than this are equal."""
_ENDS = {"tap_on_time", "tap_off_time", "tap_on_location", "tap_off_location", "tap_time", "tap_location"}


def leave_open(question: Question) -> str:
    """Nobody can be asked."""
    return OPEN


def take_proposal(question: Question) -> str:
    """What is proposed is taken: `--yes`."""
    return question.proposal


@dataclass
class Draft:
    """A plan, and what is to be said of how it came about."""

    text: str
    found: Recognised
    remarks: list[str] = field(default_factory=list)
    open: list[Question] = field(default_factory=list)
    """The questions that nobody answered."""
    choices: Choices | None = None
    prospect: Prospect | None = None
    """What may be expected of it, by the sizes of the files: confidential, and in no plan."""
    samples: Sequence[Sample] = field(default=(), repr=False)
    """The columns of the files, with the values that were looked at: confidential, and in no plan."""


def draft(
    path: str,
    plan_path: Path,
    *,
    gtfs: Path | None = None,
    places: Path | None = None,
    look: Look = "columns",
    answer: Answer = leave_open,
    memory: str = MEMORY,
    scratch: Path | None = None,
    progress: Reporter,
) -> Draft:
    """Look at an export, ask what it does not tell, and write a plan for it."""
    drafting = _Drafting(path, plan_path, look, answer)
    with progress.stage(Stage.LOOKING_AT_COLUMNS):
        looked_at = drafting.look_at_columns()
    found = drafting.recognise(looked_at)
    beside = gtfs or _beside(drafting.files.files[0].parent)
    timetable = _timetable(beside, found, looked_at, given=gtfs is not None) if beside else None
    drafting.choose(timetable)
    drafting.choose_world(places, looked_at, timetable_given=gtfs is not None)
    if look == "trips":
        drafting.choose_by_counting(memory, scratch, progress)
    return drafting.drafted()


class _Drafting:
    """One plan in the making."""

    def __init__(self, path: str, plan_path: Path, look: Look, answer: Answer) -> None:
        self._path, self._plan_path, self._look, self._answer = path, plan_path, look, answer
        self.files: Found = trip_files(path)
        self._answers: dict[str, str] = {}
        self._asked: dict[str, Question] = {}
        self._remarks: list[str] = []

    @property
    def _assumes(self) -> bool:
        """Whether nobody is asked, and what is proposed is taken."""
        return self._answer is take_proposal

    def look_at_columns(self) -> list[Sample]:
        """The columns, with some of their values, unless nothing is to be looked at."""
        paths = self.files.files
        if of_places := next((path.name for path in paths if path.suffix == ".csv" and lists_places(path)), None):
            raise TripDataError(
                f"{of_places} is a list of places, and not of trips: leave it out, and name it with --places"
            )
        found = encoding_of(paths) if self._look != "nothing" else header_encoding(paths)
        if found is None:
            found = self._choose_script()
        self._encoding: Encoding = self._choose_code_page() if found == "windows-1252" else found
        self._sheet = self._choose_sheet()
        self._heading = self._find_heading()
        self._shapes, damaged = whole_files(self.files, self._encoding, self._sheet, self._heading)
        for why in damaged:
            self._remarks.append(f"{why}. It was passed over here; a release stops until it is repaired or taken away.")
        if self.files.deeper:
            self._remarks.append("There are more files in folders further down: they are not read.")
        looks, shapes = self._look != "nothing", self._shapes
        self._looked_at = samples(shapes, self._encoding, self._heading) if looks else unseen_columns(shapes)
        return self._looked_at

    def _find_heading(self) -> Heading:
        """Where the column names stand; in the first line, where nobody looks further."""
        if self._look == "nothing":
            return USUAL
        heading = common_heading(self.files.names, self._encoding, self._sheet)
        if heading != USUAL:
            where = f"in line {heading.header}" if heading.header else "in the first line"
            trips = f", and the trips begin in line {heading.trips}" if heading.trips else ""
            self._remarks.append(f"The column names are {where}{trips}: other lines above the trips are passed over.")
        return heading

    def _choose_code_page(self) -> Encoding:
        """Of texts that are not UTF-8, the code page; asked for where that of Western Europe would mangle letters."""
        pages: tuple[Encoding, ...] = ("windows-1252", "windows-1250", "windows-1254")
        likely = code_page(self.files.files, MOST_LINES if self._look != "nothing" else 1)
        if likely is None:
            return "windows-1252"
        text = (
            "In which encoding are the files? They are not UTF-8, and have letters by which they may be in one of "
            "these: windows-1252 (Western Europe, Iceland), windows-1250 (Polish, Czech, Hungarian, Croatian), "
            "windows-1254 (Turkish). In the wrong one names of places are mangled."
        )
        answer = self._ask(Question("encoding", text, likely, pages))
        return next((page for page in pages if page == answer), likely)

    def _choose_script(self) -> Encoding:
        """Of texts that are neither UTF-8 nor Latin, the encoding; it is never taken without asking."""
        found, words = other_scripts(self.files.files, MOST_LINES if self._look != "nothing" else 1)
        choices = tuple(dict.fromkeys([*found, *LANGUAGES]))
        languages = ", ".join(f"{each} ({LANGUAGES[each]})" for each in choices)
        reads = f" Read as {found[0]}, the first line has {', '.join(words)}." if words else ""
        text = (
            f"In which encoding are the files? They are not UTF-8; it may be {languages}.{reads} In the wrong one "
            "names of places are mangled."
        )
        answer = self._ask(Question("encoding", text, found[0], choices))
        return next((each for each in choices if each == answer), found[0])

    def _choose_sheet(self) -> str | None:
        found = sheets_of_trips(self.files, 1 if self._look == "nothing" else ROWS_OF_A_TITLE)
        if len(found) < 2:
            return found[0] if found else None
        text = f"Which sheet has the trips? There are {', '.join(found)}."
        return self._ask(Question("sheet", text, found[0], tuple(found)))

    def recognise(self, looked_at: Sequence[Sample]) -> Recognised:
        """What the columns are, asking as long as there are questions."""
        of_cards = cache(lambda names, card: rows_of_cards(self._shapes, self._encoding, self._heading, names, card))
        more = None if self._look == "nothing" else lambda names, card: of_cards(tuple(names), card)
        found = recognise(looked_at, self._answers, more, assumed=self._assumes)
        while question := found.open(self._answers):
            self._ask(question)
            found = recognise(looked_at, self._answers, more, assumed=self._assumes)
        known = set(found.columns)
        if not (_ENDS & known or (found.is_counts and known & {"mode", "date"})):  # a plan needs something to count
            raise TripDataError(
                "no column was recognised as the time or the place of a trip: name them yourself in a plan, "
                "`tapveil plan opal -o plan.toml` writes one to start from. If the column names are not in the first "
                "line, set header_line in it"
            )
        found.offsets |= any(_has_instants(shape, found) for shape in self._shapes.values())
        found.zone = next(filter(None, map(_zone_of, self._shapes.values())), None)
        if "card" not in known and not found.is_counts:
            found.remarks.append(
                "No column was recognised as the card. If there is one, name it as `card`: it is never published, and "
                "lets tapveil make sure that none slips into the folder."
            )
        self._found = found
        return found

    def _ask(self, question: Question) -> str:
        """The answer to a question; what is proposed, where it is left open, or where the answer is none."""
        if not question.choices and (expected := _EXPECTED.get(question.key.partition(".")[0])):
            question = replace(question, like=expected[0], fits=expected[1])
        self._asked[question.key] = question
        answer = self._answer(question)
        if not question.choices and not question.fits(answer):
            answer = OPEN
        self._answers[question.key] = answer
        return question.proposal if answer == OPEN else answer

    # --- what is not in the columns -----------------------------------------------------------------------------------

    def choose(self, timetable: Timetable | None) -> None:
        """Time zone, days and promise."""
        found = self._found
        zone = (timetable.timezone if timetable else None) or found.zone
        if found.offsets and not zone:
            text = (
                "In which time zone are the trips, such as Australia/Sydney? Times carry an offset from UTC, or are "
                "counted from 1970: what the clocks showed, nobody can guess."
            )
            zone = self._ask(Question("timezone", text))
        days = self._days()
        unit = self._unit()
        epsilon = self._ask(Question("epsilon", _about_epsilon(), EPSILON, must=False))
        width = found.grain if found.grain in (30, 60) else UNSEEN_WIDTH
        self._choices = Choices(
            zone=zone,
            days=days,
            unit=unit,
            epsilon=epsilon,
            width=width,
            timetable=timetable,
            area=Area(gtfs="station_name") if timetable else None,
            sheet=self._sheet,
            heading=self._heading,
        )

    def choose_world(self, places: Path | None, looked_at: Sequence[Sample], *, timetable_given: bool) -> None:
        """Whether every cell is published: where there is a public list of the places, and somebody says that it is."""
        choices = self._choices
        theirs = {guess.column for ours, guess in self._found.columns.items() if ours.endswith("_location")}
        if lacking := self._lacks_for_a_world(theirs):
            if places:
                self._remarks.append(f"{places.name} is not used: every cell of journeys needs {lacking}.")
            return
        if places is None and not (choices.timetable and timetable_given):
            self._remarks.append(
                "With a public list of all places (--places stops.csv, or --gtfs), every cell could be published and "
                "none suppressed: docs/world.md."
            )
            return
        days = (choices.days.first, choices.days.last) if choices.days else None
        world = self._world(places, theirs, looked_at, days)
        if world is None:
            self._remarks.append(
                "There are too many places to publish every cell: larger areas would do (docs/world.md)."
            )
            return
        text = (
            f"Is {world.what} a public list, made without these trips? Then every cell of it can be published, with "
            "noise and no threshold (world). A list made from the trips would tell where somebody was: then, or if you "
            "do not know, take gaussian, which publishes only counts that are large enough."
        )
        answer = self._ask(Question("mechanism", text, "world", ("world", "gaussian")))
        if MECHANISMS[answer].publishes_every_cell:
            self._choices = replace(self._choices, world=world)

    def _lacks_for_a_world(self, places: Collection[str]) -> str:
        """What every cell of journeys needs, and the trips do not have; "" if they have it."""
        found = self._found
        if found.is_counts:
            return "rows that are trips, not numbers of trips"
        if "date" not in found.columns or found.labels:
            return "days, as dates"
        if not places:
            return "places"
        if found.is_taps and self._choices.unit == "trip":
            return 'cards, by which taps are paired (and unit = "card-day" or "card")'
        no_off = not found.off and not any(each.key == "off" for each in found.questions)
        return "words for taps off" if found.is_taps and no_off else ""

    def _world(
        self,
        places: Path | None,
        theirs: Collection[str],
        looked_at: Sequence[Sample],
        days: tuple[date, date] | None,
    ) -> World | None:
        choices = self._choices
        mode = self._found.columns.get("mode")
        seen = next((sample.frequent for sample in looked_at if mode and sample.name == mode.column), [])
        if places is None:
            return self._world_of_timetable(choices.timetable, mode.column if mode else None, seen, days)
        values = [[value.strip() for value in sample.filled] for sample in looked_at if sample.name in theirs]
        self._choices = replace(choices, timetable=None, area=None)
        listed = place_list(places, [each for each in values if each])
        self._remarks += not_listed(listed, values)
        world = world_of(listed, seen, days, choices.width)
        if mode and world and not world.modes:
            self._remarks.append(why_unsplit(listed, mode.column, seen))
        return world

    def _world_of_timetable(
        self, timetable: Timetable | None, mode: str | None, seen: Sequence[str], days: tuple[date, date] | None
    ) -> World | None:
        """The stations of a timetable, for each mode of its routes where the trips call them so and somebody agrees."""
        if timetable is None:
            return None
        feed, name = read_feed(timetable.path), timetable.path.name
        modes = modes_of_routes(feed.route_types, seen) if mode else ()
        if modes:
            text = (
                f"Are these all modes, as the trips write them: {', '.join(modes)}? The routes of {name} are of such "
                "types. Then tables are split by mode, and trips of another mode are left out."
            )
            modes = modes if self._ask(Question("modes", text, "yes", YES_OR_NO, must=False)) != "no" else ()
        elif mode:
            self._remarks.append(
                f"Every cell would be published for all modes together: the words of `{mode}` are not the types of the "
                f"routes of {name}. For tables split by mode list all modes as the trips write them, modes = […] "
                'under [source], and write partition = ["mode", "date"].'
            )
        stations = {stop.name for stop in feed.stops.values()}
        return cells(World(None, name, modes), len(stations), days, self._choices.width)

    def _days(self) -> Days | None:
        """The days that the release is of: by the names of the files, or asked; those of the rows, if told to look."""
        found = self._found
        if "date" not in found.columns or found.labels:
            return None
        seen = Days(*found.days, "trips") if found.days else None
        named = days_in_names(self._path, self.files.files)
        # A single day in the name of a single file may be that of its export: only the rows, or a person, can tell.
        if named and (named.hold(seen) if seen else named.first != named.last or len(self.files.files) > 1):
            return named
        if seen and self._look == "trips":
            return seen
        text = (
            "Which days does this release cover, from and to? Releases of different days do not add up, so a budget "
            "serves the next month as well; a release that names no days counts for every day."
        )
        if named and seen is None:
            text += " The day in the name of the file may be that of its export."
        self._ask(Question("days", text, str(seen) if seen else OPEN))
        answer = self._answers["days"]
        return Days.read(answer, seen) if answer != OPEN else None

    def _unit(self) -> Unit:
        columns = self._found.columns
        if self._found.is_counts or "card" not in columns:
            return "trip"
        with_days = "date" in columns and not self._found.labels
        units: tuple[Unit, ...] = ("card-day", "trip", "card") if with_days else ("trip", "card")
        answer = self._ask(Question("unit", _UNITS, units[0], units, must=False))
        return next((unit for unit in units if unit == answer), units[0])

    # --- by counting --------------------------------------------------------------------------------------------------

    def choose_by_counting(self, memory: str, scratch: Path | None, progress: Reporter) -> None:
        """Bins, areas and tables that follow from counting the trips."""
        if self._open() or self._found.is_counts or self._choices.world:
            why = "rows are counts, in bins of their own" if self._found.is_counts else "questions are open"
            why = "every cell is published" if self._choices.world else why
            self._remarks.append(f"Bins and tables were not chosen by counting: {why}.")
            return
        self._choices = replace(self._choices, width=WIDTHS[0], looked=True, area=None)
        plan = self._parsed(self._text())
        detailed = plan.model_copy(update={"table": plan.detailed})  # totals have neither bins nor areas to choose
        inputs = PublicInputs.of(detailed, scratch)
        counted = count(detailed, memory=memory, scratch=scratch, progress=progress, inputs=inputs)
        try:
            refuse_too_many(counted.refusals, plan)
        except TripDataError as error:
            self._remarks.append(f"A release would stop: {error}")
            return
        coarse = _coarse(plan, inputs, counted, by_day=True, timetable=bool(self._choices.timetable))
        if not coarse.is_enough and _has_several_days(plan):
            coarse = _coarse(plan, inputs, counted, by_day=False, timetable=bool(self._choices.timetable))
        self._choices = replace(
            self._choices, width=coarse.width, area=coarse.area, tables=coarse.kept, by_day=coarse.by_day
        )
        self._remarks += _about_tables(coarse)

    # --- the plan -----------------------------------------------------------------------------------------------------

    def _open(self) -> list[Question]:
        return [each for each in self._asked.values() if each.must and self._answers[each.key] == OPEN]

    @property
    def _all_choices(self) -> Choices:
        """With what was asked."""
        return replace(
            self._choices,
            asked=tuple(self._asked.values()),
            answers=self._answers,
            proposed=self._assumes,
            read=self._look,
        )

    def _text(self) -> str:
        return plan_text(self._path, self.files, self._plan_path, self._found, self._encoding, self._all_choices)

    def _parsed(self, text: str) -> Plan:
        return Plan.parse(text, where=self._plan_path.name, base=self._plan_path.parent)

    def drafted(self) -> Draft:
        """The plan as it is now."""
        text, still = self._text(), self._open()
        if not still:
            self._parsed(text)
        if self._look == "nothing":
            self._remarks += _not_known(self._choices, self._shapes)
        samples = self._looked_at
        return Draft(text, self._found, self._remarks, still, self._all_choices, self._prospect(text), samples)

    def _prospect(self, text: str) -> Prospect | None:
        """What may be expected of the plan; where trips were counted, that is known already."""
        if self._choices.looked:
            return None
        try:
            return prospect(text, self._found, self._choices, self._shapes, self._looked_at)
        except ValueError:  # there is no noise for such a promise: `check` says so
            return None


def _is_epsilon(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]+(\.[0-9]+)?", text)) and 0 < Fraction(text) <= 100  # as TOML writes numbers


def _is_format(text: str) -> bool:
    try:
        return text == "minutes" or bool(SourceColumn(column="any", format=text))
    except ValueError:
        return False


_EXPECTED: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "timezone": ("the name of a time zone, such as Europe/Berlin", lambda text: text in zone_names()),
    "days": ("two days, such as 2025-03-01 to 2025-03-31", lambda text: Days.read(text, None) is not None),
    "epsilon": ("a number above 0, up to 100", _is_epsilon),
    "format": ('a format such as "%H%M", hours, range, epoch or minutes, without quotes', _is_format),
}
"""What answers look like that are no choice among some: what does not is asked again."""


_UNITS = (
    "What is protected as a whole? card-day: all trips of a card on a day, of which 4 are counted. trip: any one trip, "
    "so that somebody's whole day is protected less the more trips it has; it publishes most. card: all trips of a "
    "card in the release; it publishes least."
)


def _about_epsilon() -> str:
    lines = []
    for epsilon in ("1", "2", "4", "8"):
        meaning = Meaning(Fraction(epsilon))
        wrong, right = meaning.of_100
        lines.append(f"{epsilon} is {meaning.verdict}: {wrong} and {right} of 100")
    return (
        "How strong is the promise (epsilon)? A suspicious neighbour looks at the folder and decides whether somebody "
        "travelled: this many of 100 publications would make him say yes of who did not, and of who did. "
        f"{'; '.join(lines)}."
    )


def _has_instants(shape: sources.Shape, found: Recognised) -> bool:
    """Whether a file has times with a time zone: one of many may."""
    theirs = {guess.column for ours, guess in found.columns.items() if ours.endswith("time") or ours == "date"}
    return any(raw == "instant" for name, raw in zip(shape[1], shape[2], strict=True) if name in theirs)


def _zone_of(shape: sources.Shape) -> str | None:
    """The time zone that a Parquet file names for its times, unless that is only UTC."""
    zones = re.findall(r"tz=([A-Za-z_]+/[A-Za-z_/]+)\]", shape[4])
    return next((zone for zone in zones if zone in zone_names() and not zone.startswith("Etc/")), None)


def _not_known(choices: Choices, shapes: Mapping[Path, sources.Shape]) -> Iterator[str]:
    """What only a look at the trips, or who knows them, could tell."""
    yield "No row of the trips was read: the plan depends on names and types of columns and on public files alone."
    if any(shape[0] == "csv" for shape in shapes.values()):
        yield (
            "Not known without looking, and for you to check: the encoding (UTF-8 is taken, unless the header is "
            "not), how times and days are written (`format`), and words for missing values (`missing`)."
        )
    yield (
        f"Bins of {UNSEEN_WIDTH} minutes and all tables are defaults. If you change the plan because of what "
        "`tapveil check` shows, set looked_at_trips = true: `check` reads the trips."
    )
    if choices.timetable:
        yield (
            f"The timetable {choices.timetable.path.name} is taken to be that of the trips, and their stops to be its "
            f"{choices.timetable.match}: a guess. Where that is wrong, stops become UNKNOWN."
        )


# --- the timetable beside them -------------------------------------------------------------------------------------


def _beside(folder: Path) -> Path | None:
    """A timetable that lies next to the trips: a zip file or a folder that has stops.txt."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() == ".zip" or (path.is_dir() and (path / "stops.txt").is_file()):
            try:
                read_feed(path)
            except TapveilError:
                continue
            return path
    return folder / "stops.txt" if (folder / "stops.txt").is_file() else None


def _timetable(path: Path, found: Recognised, looked_at: Sequence[Sample], *, given: bool) -> Timetable | None:
    """The timetable, if the trips name its stops; if nobody looked at them, the one that is there."""
    feed = read_feed(path)
    named = {sample.name: sample for sample in looked_at}
    theirs = [guess.column for ours, guess in found.columns.items() if ours.endswith("_location")]
    places = [named[column] for column in theirs if column in named]
    if not places:
        return None
    if places[0].values is None:
        by_name = next((f"stop_{word}" for word in ("name", "code") if word in places[0].words), "stop_id")
        return Timetable(path, by_name, "a guess: by the name of the column", feed.timezone)
    stops = feed.stops.values()
    ways = {
        "stop_id": {stop.id for stop in stops},
        "stop_code": {stop.code for stop in stops} - {""},
        "stop_name": {stop.name for stop in stops} - {""},
    }
    written = [[value.strip() for value in place.filled] for place in places]
    shares = [(_share_in(known, values), way) for values in written for way, known in ways.items()]
    best = max(share for share, _ in shares)
    if best < MATCHED:
        bare = {way: {name.lstrip("0") for name in known} for way, known in ways.items()}
        way = next((way for way in ways if any(_share_in(bare[way], values) >= MATCHED for values in written)), None)
        if way:
            found.remarks.append(
                f"the stops of the trips are the {way} of {path.name} without the zeros in front, as a spreadsheet "
                "writes them: export them as text, and run this again."
            )
        elif given:
            found.remarks.append(f"few stops of the trips are in {path.name}: is it the right timetable?")
        return None
    match = max(way for share, way in shares if share >= best - NEARLY)
    return Timetable(path, match, "most of the values looked at are such", feed.timezone)


def _share_in(known: Set[str], values: Sequence[str]) -> float:
    return sum(value in known for value in values) / max(1, len(values))


# --- bins and tables, by counting ----------------------------------------------------------------------------------

_AREAS = (Area(gtfs="station_name"), Area(gtfs="zone_id"), *(Area(h3=resolution) for resolution in (8, 7, 6, 5)))
"""What a stop may be published as, from fine to coarse."""


@dataclass(frozen=True)
class _Coarse:
    """Bins, areas and days as they would be, and what each table would publish of its trips."""

    width: int
    area: Area | None
    by_day: bool
    shares: Mapping[str, float]

    @property
    def kept(self) -> tuple[str, ...]:
        """The tables that are worth it: the fullest, if none is."""
        fullest = max(self.shares, key=self.shares.__getitem__)
        return tuple(name for name, share in self.shares.items() if share >= TOO_FEW) or (fullest,)

    @property
    def is_enough(self) -> bool:
        """Whether a table with parts of a day, or with places, publishes enough."""
        timed = [share for name, share in self.shares.items() if name in _TIMED and self.width <= A_PART_OF_A_DAY]
        return any(share >= ENOUGH for share in (*timed, *(self.shares.get(name, 0) for name in _PLACED)))


_TIMED, _PLACED = ("on_time", "off_time"), ("on_location", "off_location")


def _has_several_days(plan: Plan) -> bool:
    source = plan.source
    return "date" in plan.release.partition and source.calendar and source.first_day != source.last_day


def _coarse(plan: Plan, inputs: PublicInputs, counted: Counted, *, by_day: bool, timetable: bool) -> _Coarse:
    """The finest areas and bins of which tables publish enough."""
    area, areas = _area(plan, inputs, counted, by_day=by_day) if timetable else (None, None)
    names = [table.name for table in plan.detailed]
    shares = {name: shares_by_width(plan, counted, name, WIDTHS, areas, by_day=by_day) for name in names}
    width = _width(shares)
    return _Coarse(width, area, by_day, {name: shares[name][width] for name in names})


def _area(
    plan: Plan, inputs: PublicInputs, counted: Counted, *, by_day: bool
) -> tuple[Area | None, Mapping[str, str] | None]:
    """The finest areas of which tables of places publish enough; the largest where none does."""
    places = [name for name in _PLACED if name in plan.tables]
    chosen: tuple[Area | None, Mapping[str, str] | None] = (None, None)
    for area in _AREAS:
        coarsen = plan.coarsen.model_copy(update={"location": {EVERY_MODE: area}})
        try:
            areas = inputs.seen_by(inputs.plan.model_copy(update={"coarsen": coarsen})).areas.lookups[EVERY_MODE]
        except PlanError:  # H3 is not installed
            continue
        if len(set(areas.values())) > 1:
            chosen = (area, areas)
            finest = WIDTHS[:1]
            found = [shares_by_width(plan, counted, each, finest, areas, by_day=by_day)[finest[0]] for each in places]
            if all(share >= ENOUGH for share in found):
                break
    return chosen


def _width(shares: Mapping[str, Mapping[int, float]]) -> int:
    """The finest bins of which tables of times publish enough; the widest where none does."""
    timed = [name for name in _TIMED if name in shares]
    for width in WIDTHS:
        if all(shares[name][width] >= ENOUGH for name in timed):
            return width
    return max(WIDTHS, key=lambda width: sum(shares[name][width] for name in timed))


def _about_tables(coarse: _Coarse) -> Iterator[str]:
    areas, days = " and areas" * bool(coarse.area), " All days are taken together." * (not coarse.by_day)
    yield (
        f"Bins of {coarse.width} minutes{areas} were chosen by counting your trips.{days} Such tuning looks at the "
        "data, which no epsilon accounts for: better, choose bins and areas from common sense or from an earlier "
        "period."
    )
    left = [name for name in coarse.shares if name not in coarse.kept]
    if left:
        ways = "Larger areas, or all days together (a partition without `date`)," if coarse.by_day else "Larger areas"
        yield f"Left out, because they would be nearly empty: {', '.join(left)}. {ways} would bring them back."
    if max(coarse.shares.values()) < TOO_FEW:
        yield "Even so, nearly nothing would be published: these are few trips for this promise."
