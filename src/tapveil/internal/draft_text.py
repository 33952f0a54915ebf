"""The text of a first plan: every line says where it comes from, and a question stands where its answer belongs."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

from tapveil.base.defaults import Encoding
from tapveil.base.numbers import clock_text
from tapveil.internal.public_days import Days
from tapveil.internal.public_world import World
from tapveil.plan.model import Area
from tapveil.plan.questions import MARK
from tapveil.privacy.meaning import Meaning
from tapveil.privacy.units import Neighbours, Unit
from tapveil.trips.csv_reader import USUAL, Heading
from tapveil.trips.questions import OPEN, YES_OR_NO, Question
from tapveil.trips.recognised import Guess, Recognised
from tapveil.trips.sample import Found

EPSILON, DELTA = "2", "7.5e-7"
"""A moderate promise; and the δ of the Opal release."""
UNSEEN_WIDTH = 60
"""Bins where nobody looks."""
TRIPS_PER_DAY, TRIPS_PER_CARD = 4, 40

TABLES = {
    "on_time": ("tap_on_time",),
    "on_location": ("tap_on_location",),
    "off_time": ("tap_off_time",),
    "off_location": ("tap_off_location",),
    "on_time_location": ("tap_on_time", "tap_on_location"),
    "off_time_location": ("tap_off_time", "tap_off_location"),
    "od": ("tap_on_location", "tap_off_location"),
}
"""What may be published, each with what it needs; `od` where rows are counts of pairs."""
OF_A_WORLD = {
    "od": ("tap_on_location", "tap_off_location"),
    "origin_time": ("tap_on_time", "tap_on_location"),
    "destination_time": ("tap_on_time", "tap_off_location"),
}
"""The tables of the preset `journeys`."""


@dataclass(frozen=True)
class Timetable:
    """A timetable next to the trips, and by what they name its stops."""

    path: Path
    match: str
    why: str
    timezone: str | None


@dataclass(frozen=True)
class Choices:
    """What is in a plan besides columns."""

    zone: str | None
    days: Days | None
    unit: Unit
    epsilon: str
    width: int
    timetable: Timetable | None = None
    area: Area | None = None
    sheet: str | None = None
    heading: Heading = USUAL
    world: World | None = None
    """The public lists of which every cell is published."""
    tables: tuple[str, ...] | None = None
    """Those that are kept; all that the columns allow, where nobody looked."""
    by_day: bool = True
    """Whether every table is counted separately for each day."""
    looked: bool = False
    """Whether bins, areas and tables were chosen by counting the trips."""
    read: Literal["nothing", "columns", "trips"] = "columns"
    asked: tuple[Question, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    proposed: bool = False
    """Whether what was proposed was taken unseen."""

    @property
    def neighbours(self) -> Neighbours:
        """What the promise is against: every cell is there anyway, so whether somebody is in it is what shows."""
        return "replace" if self.world is None else "add-remove"

    @property
    def depends_on_trips(self) -> bool:
        """Whether anything but the way in which the files are written was taken from the trips."""
        return self.looked or bool(self.days and self.days.of_trips)


def plan_text(path: str, files: Found, plan_path: Path, found: Recognised, encoding: Encoding, choices: Choices) -> str:
    """The whole plan."""
    return _Writing(path, files, plan_path, found, encoding, choices).text()


@dataclass
class _Writing:
    path: str
    files: Found
    plan_path: Path
    found: Recognised
    encoding: Encoding
    choices: Choices

    def text(self) -> str:
        sections = [self._head(), self._release(), self._source(), self._columns(), self._coarsen(), self._privacy()]
        text = "\n".join([*sections, *self._tables(), _TOTAL + self._all_of_a_card()])
        return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)

    # --- questions ----------------------------------------------------------------------------------------------------

    def _is_open(self, key: str) -> bool:
        return any(each.key == key and each.must for each in self.choices.asked) and self.choices.answers[key] == OPEN

    def _about(self, key: str) -> list[str]:
        """The question above its answer; or, where what is proposed was taken, that it was."""
        question = next((each for each in self.choices.asked if each.key == key), None)
        if question is None:
            return []
        if self._is_open(key):
            proposal = f" Proposed: {question.proposal}." if question.proposal != OPEN else ""
            if question.choices == YES_OR_NO:  # the answer in a plan is a name
                proposal = " If so, as is proposed, write its name; if not, remove the line."
            return [f"{MARK}{line}" for line in textwrap.wrap(f"{question.text}{proposal}", 112)]
        if self.choices.proposed:
            text = f"Taken with --yes, not asked: {question.text}"
            return [f"# {line}" for line in textwrap.wrap(text, 114)]
        return []

    # --- sections -----------------------------------------------------------------------------------------------------

    def _head(self) -> str:
        like = f" It looks like {self.found.like}." if self.found.like else ""
        still = " Answer the questions in it: they begin with `# ?`." if self.choices.asked and self._any_open() else ""
        row = {"trips": "a trip", "taps": "one tap", "counts": "a number of trips"}[self.found.shape]
        return f"""\
# A first plan.{like}{still} Read it through.
# A row is {row}: {self.found.why}.
# Then:  tapveil check THIS-FILE      (what it costs, what would survive; publishes nothing)
#        tapveil ledger start THIS-FILE --epsilon {self.choices.epsilon} --delta 1e-6     (once: all that may be spent)
#        tapveil release THIS-FILE -o published
"""

    def _any_open(self) -> bool:
        return any(self._is_open(each.key) for each in self.choices.asked)

    def _release(self) -> str:
        partition = [name for name in ("mode", "date") if name in self.found.columns]
        if self.choices.world and not self.choices.world.modes:
            partition = partition[-1:] if "date" in partition else []
        why = "every table is counted separately for each of these"
        if not self.choices.by_day:
            partition.remove("date")
            why = "days are not kept apart, so that the tables are not empty: this looked at the trips"
        name = re.sub(r"[^a-z0-9]+", "-", Path(self.path.removesuffix(".gz")).stem.lower()).strip("-")
        name = name if re.match(r"[a-z]", name) else f"trips-{name}".strip("-")
        return f"""\
[release]
name = {_toml(name[:64].rstrip("-"))}
title = "Trips by {" and ".join(partition) or "time and place"}"
partition = {_toml(partition)}          # {why}
"""

    def _source(self) -> str:
        found, choices = self.found, self.choices
        lines = ["[source]", f"path = {_toml(self._patterns())}"]
        if choices.sheet:
            lines += [*self._about("sheet"), f"sheet = {_toml(OPEN if self._is_open('sheet') else choices.sheet)}"]
        if heading := choices.heading.header:
            lines.append(f"header_line = {heading:<23} # the column names: what stands above them is passed over")
        if trips := choices.heading.trips:
            lines.append(f"first_trip_line = {trips:<19} # what stands between is a second header, or units")
        lines += self._shape()
        lines += self._written()
        lines += self._zone()
        lines += self._days()
        if self.choices.world and self.choices.world.modes:
            whose = "all of the public list" if self.choices.world.places else "those of the timetable's routes"
            lines += [*self._about("modes"), f"modes = {_toml(self.choices.world.modes)}    # {whose}"]
        lines.append('max_refused = "1 %"                   # stop if more rows than this cannot be read')
        if found.is_taps:
            lines += ["", "[source.taps]                         # which rows are taps; all others are left out"]
            for end, listed in (("on", found.on), ("off", found.off)):
                lines += [*self._about(end), f"{end} = {_toml([OPEN] if self._is_open(end) else list(listed))}"]
            if self.choices.world and "mode" not in found.columns:
                lines.append('same = "card"                         # both taps of a trip are of the same card')
        if found.is_counts:
            lines += [
                "",
                "[source.counts]",
                "most = 1000000                        # a larger number counts as this one",
            ]
        return "\n".join(lines) + "\n"

    def _shape(self) -> list[str]:
        if self._is_open("shape"):
            return [*self._about("shape"), f'shape = "{OPEN}"']
        if self.found.shape == "trips":
            return self._about("shape")
        what = {"taps": "a row is one tap, not one trip", "counts": "a row is a number of trips"}[self.found.shape]
        shape = f'shape = "{self.found.shape}"'
        return [*self._about("shape"), f"{shape:37} # {what}"]

    def _written(self) -> Iterator[str]:
        if self.encoding != "utf-8":
            what = (
                "most lines that are not plain ASCII are not" if self.choices.read != "nothing" else "the header is not"
            )
            yield from self._about("encoding")
            if self._is_open("encoding"):
                yield f'encoding = "{OPEN}"'
            else:
                yield f'encoding = "{self.encoding}"             # {what} UTF-8'
        elif self.choices.read == "nothing" and self._has_text:
            yield '# encoding = "windows-1252"           # if the files are not UTF-8: nobody looked'
        if self.found.labels:
            yield 'dates = "labels"                      # days are names, not dates'
        if self._is_open("dates"):
            yield from self._about("dates")
            yield f'dates = "{OPEN}"'
            yield '# day_starts = "04:00"                # if service: earlier times are of the night after their date'
        elif self.found.service:
            yield from self._about("dates")
            clock = f'day_starts = "{clock_text(_day_starts(self.choices.width))}"'
            yield 'dates = "service"                     # dates are those of service days: times after midnight say so'
            yield f"{clock:37} # earlier times are of the night after their date"

    def _zone(self) -> list[str]:
        if self._is_open("timezone"):
            return [*self._about("timezone"), f'timezone = "{OPEN}"']
        if self.choices.zone:
            timetable = self.choices.timetable
            from_feed = timetable is not None and timetable.timezone == self.choices.zone
            why = (
                "from the timetable"
                if from_feed
                else "that of the times in the files"
                if self.found.zone
                else "so you said"
            )
            return [f"timezone = {_toml(self.choices.zone)}    # {why}; hours that daylight saving skips are refused"]
        return ['# timezone = "Australia/Sydney"       # then hours that daylight saving skips are refused']

    def _days(self) -> list[str]:
        if "date" not in self.found.columns or self.found.labels:
            return []
        days = self.choices.days
        if days is None:
            last = f"{MARK}And the last of these days?"
            return [*self._about("days"), f'first_day = "{OPEN}"', last, f'last_day = "{OPEN}"']
        # A trip may tap on on one day and off on the next (docs/ledger.md, Taps).
        apart = "of taps add up all the same, for trips" if self.found.is_taps else "of other days do not add up"
        first = f"first_day = {days.first}"
        return [
            *self._about("days"),
            f"{first:37} # by {days.source}; releases {apart}",
            f"last_day = {days.last}",
        ]

    def _columns(self) -> str:
        lines = ["[source.columns]                      # ours on the left, yours on the right; no other is ever read"]
        for ours in (ours for ours in _ORDER if ours in self.found.columns):
            guess = self.found.columns[ours]
            lines += self._about(ours)
            if self._is_open(ours):
                lines.append(f'{ours} = "{OPEN}"')
                continue
            lines += [*self._about(f"format.{ours}"), *self._about(f"missing.{ours}")]
            lines.append(f"{ours} = {self._column(guess)}  # {guess.sureness}: {guess.why}")
        return "\n".join(lines) + "\n"

    def _column(self, guess: Guess) -> str:
        if not (guess.format or guess.missing):
            return _toml(guess.column)
        parts = {"column": guess.column, "format": guess.format, "missing": guess.missing}
        return "{ " + ", ".join(f"{key} = {_toml(value)}" for key, value in parts.items() if value) + " }"

    def _coarsen(self) -> str:
        width, area, timetable = self.choices.width, self.choices.area, self.choices.timetable
        why = "a default, whatever the trips are"
        if self.choices.looked:
            why = "chosen so that the tables are not empty: this looked at the trips"
        elif width == self.found.grain:
            why = f"the times are given in steps of {width} minutes"
        text = f"[coarsen]\ntime_minutes = {width}                     # {why}\n"
        if self.found.service and _day_starts(width) and not self._is_open("dates"):
            text += 'after_midnight = "continued"          # the hours after midnight are 24:00, 25:00, ...\n'
        if self.choices.world and (places := self.choices.world.places):
            own = places.model_dump(include=set(_OF_PLACES), exclude_defaults=True)
            written = {key: f"{key} = {_toml(own[key])}" for key in _OF_PLACES if key in own}
            named = "".join(f"{line:37} # {_OF_PLACES[key]}\n" for key, line in written.items())
            about = "[places]                              # all places; those not listed are counted as UNKNOWN"
            text += f"\n{about}\npath = {_toml(self._relative(places.path))}\n{named}"
        if not timetable:
            return text
        named = ""
        if area:
            way = f'gtfs = "{area.gtfs}"' if area.gtfs else f"h3 = {area.h3}"
            if self.choices.looked:
                why = "the finest for which the tables of places are not empty: this looked at the trips"
            named = f'\n[coarsen.location."*"]\n{way}                 # {why}\n'
        return f"""\
{text}{named}
[gtfs]                                # names and places of stops
path = {_toml(self._relative(str(timetable.path)))}
match = {_toml(timetable.match)}                   # {timetable.why}
"""

    def _tables(self) -> Iterator[str]:
        both = {"tap_time": ("tap_on_time", "tap_off_time"), "tap_location": ("tap_on_location", "tap_off_location")}
        known = {end for ours in self.found.columns for end in both.get(ours, (ours,))}
        if self.found.is_taps and not self.found.off and not self._is_open("off"):
            known = {ours for ours in known if not ours.startswith("tap_off_")}
        world = self.choices.world
        for name, keys in (OF_A_WORLD if world else TABLES).items():
            if name == "od" and not (world.pairs if world else self.found.is_counts):
                continue
            if set(keys) <= known and (self.choices.tables is None or name in self.choices.tables):
                weight = 1 if world else len(keys)
                yield f"[[table]]\nname = {_toml(name)}\ncolumns = {_toml(keys)}\nweight = {weight}\n"

    def _privacy(self) -> str:
        meaning = Meaning(Fraction(self.choices.epsilon))
        sentence = meaning.sentence(self.choices.unit, self.choices.neighbours)
        said = "\n".join(f"# {line}" for line in textwrap.wrap(sentence, 116))
        unit = f'unit = "{self.choices.unit}"'
        epsilon = f"epsilon = {self.choices.epsilon}"
        return f"""\
[privacy]                             # the promise: what is proposed here is for you to decide
{unit:37} # what is protected: {_PROTECTED[self.choices.unit]}
{self._bounds()}{self._mechanism()}
{epsilon:37} # a {meaning.verdict} promise; 1 is strong, 8 is weak
delta = {DELTA}
{said}
{self._statement()}"""

    def _all_of_a_card(self) -> str:
        """In a known world, a total counts all trips of a card on a day, and not one of them.

        Also while that is an open question: without it, estimates would be of fewer trips, and nothing would say so.
        """
        if self.choices.world is None or self.choices.unit == "trip":
            return ""
        unless = "; not with gaussian" if self._is_open("mechanism") else ""
        return f"trips_per_cell = {TRIPS_PER_DAY}                    # all trips of a card on a day, not one{unless}\n"

    def _mechanism(self) -> str:
        if self.choices.world is None:
            return (
                'neighbours = "replace"                # ... against being exchanged for any other\n'
                'mechanism = "gaussian"                # the noise that publishes most at this promise'
            )
        asked, is_open = self._about("mechanism"), self._is_open("mechanism")
        mechanism = f'mechanism = "{OPEN if is_open else "world"}"'
        why = "every cell of public lists, with noise; no threshold"
        return "\n".join(
            [
                'neighbours = "add-remove"             # ... against being there or not',
                *asked,
                f"{mechanism:37} # {why}",
            ]
        )

    def _bounds(self) -> str:
        if self.choices.unit == "trip":
            return ""
        by_day = f"trips_per_day = {TRIPS_PER_DAY}"
        bound = f"{by_day:37} # of each card and day this many are counted: most cards make no more\n"
        if self.choices.unit == "card":
            by_card = f"trips_per_card = {TRIPS_PER_CARD}"
            bound = f"{by_card:37} # of each card this many are counted in the whole release\n"
        without = 'without_card = "refuse"'
        why = 'rows without a card are left out; "own-unit" protects each by itself'
        if self.found.is_taps and self.choices.world:
            why = "rows without a card are left out: taps are paired by card"
        elif self.found.without_card:
            without, why = 'without_card = "own-unit"', "rows without a card are protected each by itself"
        return f"{bound}{without:37} # {why}\n"

    def _statement(self) -> str:
        """What of the plan depends on the trips."""
        if self.choices.read == "nothing":
            return _NOT_READ
        if not self.choices.depends_on_trips:
            return _READ
        together = "" if self.choices.by_day else ", and that days are taken together"
        what = f"bins, areas, and which tables there are{together}" if self.choices.looked else ""
        days = "first_day and last_day" if self.choices.days and self.choices.days.of_trips else ""
        chosen = " and ".join(filter(None, (days, what)))
        lines = textwrap.wrap(
            f"`tapveil init` took from the trips: {chosen}. No epsilon accounts for that; the folder will say so.", 116
        )
        return "\n".join([*(f"# {line}" for line in lines), "looked_at_trips = true", ""])

    @property
    def _has_text(self) -> bool:
        """Whether a file is one of texts, whose encoding and formats are not declared."""
        return any(path.suffix.lower() not in {".parquet", ".pq", ".xlsx"} for path in self.files.files)

    def _patterns(self) -> str | list[str]:
        """The trips as the plan names them: of a folder, the files by their endings, so that others may lie there."""
        whole = Path(self.path)
        if not whole.is_dir():
            return self._relative(self.path)
        endings = {"".join(path.suffixes[-2 if path.suffix == ".gz" else -1 :]) for path in self.files.files}
        folders = "*/" * self.files.depth
        patterns = [self._relative(str(whole / f"{folders}*{ending}")) for ending in sorted(endings)]
        return patterns if len(patterns) > 1 else patterns[0]

    def _relative(self, path: str) -> str:
        """A path as the plan writes it: from its own folder, where it is below it."""
        try:
            return Path(path).resolve().relative_to(self.plan_path.resolve().parent).as_posix()
        except ValueError:
            return Path(path).resolve().as_posix()


_ORDER = (
    "card mode date tap_on_time tap_on_location tap_off_time tap_off_location tap tap_time tap_location vehicle count"
).split()
_OF_PLACES = {
    "name": "the column that names places as the trips do",
    "title": "their names for people, as the page shows them",
    "mode": "the mode of a place",
    "latitude": "in degrees",
    "longitude": "in degrees",
}
"""What the columns of a list of places have, where they have names of their own."""
_PROTECTED: dict[Unit, str] = {
    "trip": "any one trip",
    "card-day": "all trips of a card on a day (`trip` publishes more, `card` protects more)",
    "card": "all trips of a card",
}
_TOTAL = """\
[[table]]                             # all trips of each part: little of the budget is enough for a large number
name = "total"
columns = []
weight = "1/4"
"""
_READ = """\
# `tapveil init` read some rows to see how the files are written: columns, formats, words. Bins, areas and tables do not
# depend on the trips. Set true if you change them after you looked, or because of what `tapveil check` shows.
looked_at_trips = false
"""
_NOT_READ = """\
# `tapveil init --no-look` read no row of the trips. The folder will say so: set true if you change the plan after you
# looked at them, or because of what `tapveil check` shows.
looked_at_trips = false
"""


def _day_starts(width: int) -> int:
    """When a service day may start, in minutes: where a bin does."""
    return next(minute for minute in (240, 180, 360, 0) if minute % width == 0)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""What TOML has nowhere: in values it is escaped, so only names in comments may still have it."""


def _toml(value: str | Sequence[str]) -> str:
    """As TOML writes it: like JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
