"""The roles of the columns of an export, and what a row is: by what is seen in them, and by what is answered.

A column that has a role has no other. What the evidence does not settle is a question, with a proposal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tapveil.base.errors import TripDataError
from tapveil.base.vocabulary import COUNT
from tapveil.plan.source import has_a_day
from tapveil.trips import words
from tapveil.trips.evidence import AGREE, FEW_LABELS, ORDERED, Evidence, RowsOfCards, listed
from tapveil.trips.questions import OPEN, YES_OR_NO, Asking
from tapveil.trips.reading import MOST, TRAVELLED, Reading, Sample, odd_rows, share
from tapveil.trips.recognised import Guess, Recognised, Shape, Sureness

NIGHT_ENDS = 240
"""Service days end some time before this, in minutes after midnight."""
TURNED = 0.5
"""Below this share of rows in which the start is earlier, names and rows disagree."""


class Roles:
    """Gives each column its role, step by step."""

    def __init__(self, samples: Sequence[Sample], asking: Asking, rows_of_cards: RowsOfCards | None = None) -> None:
        self._asking = asking
        self._seen = Evidence(samples, asking, rows_of_cards)
        self._found = Recognised(questions=asking.questions)
        self._asked_formats: set[str] = set()

    def recognised(self) -> Recognised:
        """The roles of all columns, and what a row is."""
        found = self._found
        self._seen.refuse_wide()
        self._refuse_serials()
        self._decide_shape()
        if card := self._seen.card:
            self._take("card", card, "its name says so" if "card" in card.says else _LIKE_A_CARD, asked="card")
            self._ask_about_no_cards(card)
        if mode := self._seen.mode:
            self._take("mode", mode, "its name says so")
        if found.shape == "counts" and self._seen.count:
            self._take("count", self._seen.count, "its name and its values say so")
        if found.shape == "taps":
            self._take_tap()
        else:
            self._take_ends()
        self._refuse_sums()
        self._take_day()
        self._refuse_other_calendars()
        self._ask_about_unread()
        found.grain = self._grain()
        self._ask_about_formats()
        if not any(ours.endswith("location") for ours in found.columns):
            found.remarks.append("No column was recognised as a place: no table has any.")
        if not any(ours.endswith("time") for ours in found.columns):
            found.remarks.append("No column was recognised as a time: no table has any.")
        if "date" not in found.columns:
            found.remarks.append("No column was recognised as a day: every table is over the whole period.")
        return found

    def _take(self, ours: str, sample: Sample, why: str, reading: Reading | None = None, asked: str = "") -> None:
        """Give a column its role; `asked` is the key of the question that it may have been."""
        sureness = self._sureness(asked)
        if not self._seen.looked and sureness == "sure":
            sureness, why = "likely", self._by_name_alone(ours, sample)
        missing = sample.missing if ours != COUNT else ()  # a number that is missing or masked stops a release
        if ours == "tap_off_time" and _zeros_mean_none(sample):
            missing = (*missing, "0")
        written = reading.format if reading else None
        self._found.columns[ours] = Guess(sample.name, sureness, why, written, missing)

    def _sureness(self, asked: str) -> Sureness:
        """How sure an answer to a question is; what was not asked is sure."""
        if all(question.key != asked for question in self._asking.questions):
            return "sure"
        return "question" if self._asking.is_open(asked) else "assumed" if self._asking.assumed else "sure"

    def _by_name_alone(self, ours: str, sample: Sample) -> str:
        """What a name says that no value supports, and what is left to be said by who knows them."""
        if sample.raw in ("date", "time", "timestamp", "instant"):
            return "its name and its type say so"
        ask = "its values were not looked at"
        if ours.endswith("time"):
            ask = "add `format` unless it is written like 07:31 or 2016-08-08 07:31"
        elif ours == "date":
            labels = self._found.labels
            ask = "taken for names of days, not dates" if labels else "add `format` unless it is like 2016-08-08"
        return f"its name says so; {ask}"

    def _choose(
        self, ours: str, among: Sequence[Sample], text: str, proposal: Sample, why: str, *others: str
    ) -> Sample | None:
        """One of several columns, by asking; none, where the answer is another."""
        names = [*(sample.name for sample in among), *others]
        chosen = self._asking.ask(ours, text, proposal.name, names)
        sample = self._seen.by_name.get(chosen)
        if sample:
            answered = not self._asking.is_open(ours)
            self._take(ours, sample, self._asking.why if answered else why, self._reading_for(ours, sample), asked=ours)
        return sample

    def _reading_for(self, ours: str, sample: Sample) -> Reading | None:
        return sample.time if ours.endswith("time") else sample.date if ours == "date" else None

    def _ask_about_formats(self) -> None:
        """Day and month that could be the other way round, and numbers that could be something else."""
        for ours, guess in list(self._found.columns.items()):
            sample = self._seen.by_name.get(guess.column)
            reading = self._reading_for(ours, sample) if sample else None
            if (
                sample is None
                or reading is None
                or guess.column in self._asked_formats
                or (ours == "date" and self._found.labels)
            ):
                continue
            if reading.other:
                text = f"How is `{sample.name}` written? Day and month could be the other way round."
                chosen = self._asking.ask(
                    f"format.{ours}", text, str(reading.format), (str(reading.format), reading.other)
                )
            elif reading.doubt:
                text = (
                    f"How is `{sample.name}` written? In the rows looked at {reading.doubt}. Name its format, "
                    'such as "hours" or "%H%M"; for minutes after midnight, none (on a terminal: minutes).'
                )
                chosen = self._asking.ask(f"format.{ours}", text, str(reading.format or OPEN))
            elif sample.values and reading.share < MOST:
                as_such = f" as {reading.format}" if reading.format else ""
                text = (
                    f"How is `{sample.name}` written? In the rows looked at {round(100 * (1 - reading.share))} of 100 "
                    f"values cannot be read{as_such}. Name its format; or, if they are words for a missing value, "
                    "remove `format` and list them: missing = […]."
                )
                chosen = self._asking.ask(f"format.{ours}", text)
            else:
                continue
            self._asked_formats.add(guess.column)
            is_open = self._asking.is_open(f"format.{ours}")
            for each, known in list(self._found.columns.items()):
                if known.column == guess.column:
                    written = OPEN if is_open else chosen
                    sureness = self._sureness(f"format.{ours}") if self._asking.assumed else known.sureness
                    format = written if written != "minutes" else None
                    self._found.columns[each] = replace(known, format=format, sureness=sureness)

    def _ask_about_unread(self) -> None:
        """Columns that are called times, and have values that begin with a digit, in no format that is known."""
        for sample in list(self._free()):
            ends = "tap_time" if self._found.is_taps else "tap_off_time" if "end" in sample.says else "tap_on_time"
            if ends in self._found.columns or not _is_unread(sample):
                continue
            text = (
                f"How is `{sample.name}` written? It is called a time, but its values are in no format that is known, "
                'or in one that cannot be read (a. m., the name of a time zone). Name it, such as "%d/%m/%Y %H:%M"; or '
                "write the column otherwise."
            )
            chosen = self._asking.ask(f"format.{ends}", text)
            known = chosen != OPEN
            why = self._asking.why if known else "its name says so, but its values cannot be read"
            written = None if chosen == "minutes" else chosen
            guess = Guess(sample.name, self._sureness(f"format.{ends}"), why, written, sample.missing)
            self._found.columns[ends] = guess
            self._asked_formats.add(sample.name)
            if written and known and has_a_day(written) and "date" not in self._found.columns:
                self._found.columns["date"] = replace(guess, why=f"the day of {ends}, which holds dates as well")

    def _ask_about_no_cards(self, card: Sample) -> None:
        """Values that are far too frequent for a card, and may stand for none: `0`, or `PAPER` for a ticket."""
        far = card.far_too_frequent
        if not far:
            return
        rows = share(value.strip() in far for value in card.filled)
        often = f"in about {max(1, round(100 * rows))} of 100 of the rows looked at that have one"
        told = [value for value in far if _A_PLACEHOLDER.fullmatch(value)]
        if len(told) < len(far):
            self._found.remarks.append(
                f"Some values of `{card.name}`, {often}, are far more frequent than others: a card that many share? If "
                "one stands for no card, list it there: missing = […]."
            )
        if not told:
            return
        said = " and ".join(f"`{value}`" for value in told)
        text = (
            f"Does {said} in `{card.name}` mean that there is no card? It is {often}; as a card, all its trips of a "
            "day would be those of one person, of which only a few are counted."
        )
        answer = self._asking.ask("missing.card", text, "yes", YES_OR_NO, must=False)
        if answer == "no":
            return
        guess = self._found.columns["card"]
        why = f"{guess.why}; {said} is no card ({self._asking.why_of('missing.card')})"
        sureness: Sureness = "assumed" if self._asking.assumed else guess.sureness
        missing = (*guess.missing, *told)
        self._found.columns["card"] = replace(guess, why=why, missing=missing, sureness=sureness)

    def _refuse_serials(self) -> None:
        for sample in self._seen.samples:
            dated = sample.says & {"time", "day", "hour", "start", "end"} and not sample.says & {"other", "settled"}
            if dated and not sample.says & {"place", "card", "count", "identifier"} and sample.is_serial:
                raise TripDataError(
                    f"`{sample.name}` has days or times as numbers of Excel (such as 45719.3): show the column as date "
                    "and time there, and export it again"
                )

    def _refuse_other_calendars(self) -> None:
        """Years of which nobody has trips: 2568 in Thailand, 1403 in Iran and 114 in Taiwan are 2025."""
        guess = self._found.columns.get("date")
        sample = self._seen.by_name.get(guess.column) if guess else None
        if sample is None or not sample.values:
            return
        years = [int(day[:4]) for day in sample.days if day]
        elsewhere = share(year not in TRAVELLED for year in years) >= 0.5 if years else False
        minguo = self._found.labels and share(bool(_MINGUO.fullmatch(value.strip())) for value in sample.some) >= MOST
        if minguo or (elsewhere and not self._found.labels):
            raise TripDataError(
                f"the years in `{sample.name}` are of another calendar, or wrong (in 2025, Thailand writes 2568, Iran "
                "1404 or 1403, Taiwan 114): write days such as 2025-03-31, then try again"
            )

    def _free(self) -> Iterator[Sample]:
        """The columns that have no role yet."""
        taken = {guess.column for guess in self._found.columns.values()}
        return (sample for sample in self._seen.samples if sample.name not in taken)

    def _decide_shape(self) -> None:
        """Trips, taps or counts: the first evidence that holds."""
        found = self._found
        ends = {end: [s for s in (*self._seen.times, *self._seen.places) if end in s.says] for end in ("start", "end")}
        both, count = bool(ends["start"] and ends["end"]), None if self._seen.card else self._seen.count
        label, unknown = self._seen.label, self._seen.unknown_label
        if count and label and self._seen.has_both_ends:
            raise TripDataError(
                f"rows of taps on and rows of taps off, by `{label.name}`, are both counts (`{count.name}`): added up, "
                "each trip would be in twice. Make a file of each kind, and a plan for each"
            )
        if count and self._seen.is_a_counter:
            raise TripDataError(
                f"`{count.name}` seems to be the reading of a counter, which grows a little from row to row, and not "
                "the number of trips of a row: make a file of the differences first"
            )
        if not self._seen.card and (masked := self._seen.masked):
            self._say_masked(*masked, counted=count is masked[0])
        if not self._seen.card and (separated := self._seen.separated):
            raise TripDataError(
                f"some numbers of trips in `{separated.name}` are written with separators, such as 1.234 or 1,234, and "
                "cannot be counted: export them without"
            )
        average = next((each for each in self._seen.averages if not self._seen.card and not self._seen.count), None)
        if average and not (both and self._seen.finest < 15):
            raise TripDataError(
                f"`{average.name}` is called a number of trips, but its values are not whole: averages and shares "
                "cannot be counted, nor numbers with separators. Take a file of whole numbers; or, if a row is one "
                "trip, rename the column"
            )
        if count and "count" in count.says and unknown:
            self._ask_shape(
                f"Is a trip in several rows, by `{unknown.name}` (one for its start, one for its end)? Then it would "
                "be counted in each: make a file of each kind first.",
                "counts",
                ("counts",),
            )
        elif count and (
            ("count" in count.says and self._seen.two_times and self._seen.finest < 15)
            or (count.raw == "text" and not self._seen.looked)
        ):
            self._ask_shape(f"Is a row one trip, or as many as `{count.name}` says?", "counts", ("trips", "counts"))
        elif count and "count" in count.says:
            found.shape, found.why = (
                "counts",
                f"`{count.name}` says how many trips a row stands for, and no card is there",
            )
        elif count:
            self._ask_shape(
                f"Is a row one trip, or as many as `{count.name}` says? No two rows are alike in all other columns.",
                "counts",
                ("trips", "counts"),
            )
        elif label and not count and not (both and self._seen.two_times):
            found.shape, found.why = "taps", f"the values of `{label.name}` mean on and off"
        elif both or self._seen.two_times:
            found.why = "both ends of a trip are in a row"
        elif unknown and (self._seen.card or not self._seen.looked):
            found.shape, found.why = (
                "taps",
                f"`{unknown.name}` has few different values, and a row has one end of a trip",
            )
        elif signs := self._seen.turns.signs:
            self._ask_shape(
                f"Is a row a trip, or one tap (on or off)? It seems to be a tap: {'; '.join(signs)}. {_TWICE}",
                "taps",
                ("trips", "taps"),
            )
        elif ends["start"]:
            found.why = f"`{ends['start'][0].name}` is where a trip begins, and no column is where it ends"
        elif not self._seen.times and not self._seen.places:
            found.why = "no column says otherwise"
        else:
            self._ask_shape(
                "Is a row a trip, or one tap (on or off)? It has one time or place, and no column that says on or off. "
                f"{_TWICE}",
                "trips",
                ("trips", "taps"),
                proposes=self._seen.looked or self._seen.card is None,
            )

    def _refuse_sums(self) -> None:
        """Rows that are the sum of others would count every trip twice."""
        places = [guess.column for ours, guess in self._found.columns.items() if ours.endswith("location")]
        for name in places if self._found.shape == "counts" else ():
            sample = self._seen.by_name.get(name)
            if sample and any(words.said(value) in words.values("sum") for value in set(sample.filled)):
                raise TripDataError(
                    f"`{name}` has rows that are called a total, the sum of others: every trip would be counted twice. "
                    "Take them out of the file first"
                )

    def _say_masked(self, sample: Sample, written: Sequence[str], *, counted: bool) -> None:
        """Numbers that are masked: named, with what to do; if most are, there is nothing to count."""
        text = (
            f"Some numbers of trips in `{sample.name}` are masked ({', '.join(written)}): a release stops at them, "
            "because one trip more may turn a masked number into another by several. Ask who made the file for the "
            "numbers as they are: tapveil protects small ones itself"
        )
        if not counted:
            raise TripDataError(f"{text[0].lower()}{text[1:]}")
        self._found.remarks.append(f"{text}.")

    def _ask_shape(self, text: str, proposal: Shape, choices: tuple[Shape, ...], *, proposes: bool = True) -> None:
        answer = self._asking.ask("shape", text, proposal if proposes else OPEN, choices)
        shapes: dict[str, Shape] = {each: each for each in choices}
        self._found.shape = shapes.get(answer, proposal)
        self._found.why = self._asking.why if not self._asking.is_open("shape") else "a question is open"

    def _take_tap(self) -> None:
        """The columns of a tap: what says on or off, its time, and its place."""
        found, label = self._found, self._seen.label or self._seen.unknown_label
        if label:
            self._take("tap", label, "its values mean on and off" if self._seen.label else found.why)
            self._take_words(label)
        else:
            text = "Which column says whether a tap is on or off? Without one taps cannot be counted."
            free = [sample for sample in self._free() if 2 <= sample.kinds <= FEW_LABELS]
            in_turn = self._seen.turns.label or OPEN
            self._asking.ask("tap", text, in_turn, choices=[sample.name for sample in free])
            chosen = self._seen.by_name.get(self._asking.answers.get("tap", OPEN))
            if chosen:
                self._take("tap", chosen, self._asking.why, asked="tap")
                self._take_words(chosen)
            else:
                found.columns["tap"] = Guess(OPEN, "question", "no column was recognised")
                found.on = (OPEN,)
        times = [sample for sample in self._seen.times if sample is not label]
        self._take_one("tap_time", times, "Which column is the time of the tap?", lambda s: "time" in s.says)
        places = [sample for sample in self._seen.places if sample is not label]
        on, off = ([s for s in places if end in s.says] for end in ("start", "end"))
        if on and off and self._asking.is_open("tap_location"):
            text = (
                f"Which column is the place of the tap? {listed(on[:1] + off[:1])} seem to be those of its trip: a row "
                "of a tap on needs the place of the tap on, and one of a tap off that of the tap off, in one column."
            )
            self._asking.ask("tap_location", text, choices=[sample.name for sample in places])
            found.columns["tap_location"] = Guess(OPEN, "question", "no column is that of both kinds of rows")
            return
        self._take_one("tap_location", self._seen.best_places(places), "Which column is the place of the tap?", None)

    def _take_words(self, label: Sample) -> None:
        """The values that mean on, and off."""
        found = self._found
        values = sorted(label.frequent)
        found.on = tuple(value for value in values if words.said(value) in words.values("on"))
        found.off = tuple(value for value in values if words.said(value) in words.values("off"))
        if found.on:
            return
        if not values and not self._seen.looked:
            self._asking.ask("on", f"Which values of `{label.name}` mean a tap on? Its values were not looked at.")
            self._asking.ask("off", f"Which values of `{label.name}` mean a tap off? None: leave the list empty.")
        else:
            first = self._first_of_two(label, values)
            text = f"Which values of `{label.name}` mean a tap on? Its commonest values are {', '.join(values)}."
            self._asking.ask("on", text, first or OPEN, values)
            text = f"Which values of `{label.name}` mean a tap off? Empty, if there are none."
            self._asking.ask("off", text, next((v for v in values if v != first), "") if first else OPEN, values)
        for end in ("on", "off"):
            answer = self._asking.answers.get(end, OPEN)
            listed = tuple(part.strip() for part in answer.split(",") if part.strip())
            found.on, found.off = (listed, found.off) if end == "on" else (found.on, listed)

    def _first_of_two(self, label: Sample, values: Sequence[str]) -> str | None:
        """Of two values, the one that comes first on a card and day: a trip begins before it ends."""
        card, times = self._seen.card, [sample for sample in self._seen.times if sample.date.share >= MOST]
        if card is None or not times or len(values) != 2:
            return None
        taps: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for who, (day, minute), value in zip(card.rows, times[0].moments, label.rows, strict=False):
            if minute is not None and value.strip() in values:
                taps.setdefault((who, day), []).append((minute, value.strip()))
        firsts = Counter(min(each)[1] for each in taps.values() if len({value for _, value in each}) == 2)
        best = max(firsts, key=firsts.__getitem__, default=None)
        return best if best and firsts[best] >= max(20, 0.9 * firsts.total()) else None

    def _take_one(
        self, ours: str, among: Sequence[Sample], text: str, likelier: Callable[[Sample], bool] | None
    ) -> None:
        """The only column that can be it; or else a question."""
        named = [sample for sample in among if likelier and likelier(sample)] or list(among)
        distinct = self._seen.distinct(named) if ours.endswith("time") else named
        if len(distinct) == 1:
            self._take(ours, distinct[0], "its name and its values say so", self._reading_for(ours, distinct[0]))
        elif distinct:
            self._choose(ours, distinct, f"{text} {listed(distinct)} could be.", distinct[0], "the first that could be")

    def _take_ends(self) -> None:
        """The times and places of both ends of a trip, or of one."""
        self._take_times()
        if self._found.shape == "counts" and "tap_on_time" not in self._found.columns:
            off = self._found.columns.pop("tap_off_time", None)  # the only time of a count is that of its trips
            if off:
                self._found.columns["tap_on_time"] = off
        places = {
            end: self._seen.best_places([s for s in self._seen.places if end in s.says]) for end in ("start", "end")
        }
        plain = self._seen.best_places([s for s in self._seen.places if not s.says & {"start", "end"}])
        for end, ours in (("start", "tap_on_location"), ("end", "tap_off_location")):
            if len(places[end]) == 1:
                self._take(ours, places[end][0], "its name and its values say so")
            elif places[end]:
                text = f"Where does a trip {'begin' if end == 'start' else 'end'}? {listed(places[end])} could be it."
                self._choose(ours, places[end], text, places[end][0], "the first that could be")
        if len(plain) == 1 and "tap_off_time" in self._found.columns and bool(places["start"]) != bool(places["end"]):
            ours, other = ("tap_off_location", "end") if places["start"] else ("tap_on_location", "begin")
            text = f"Does a trip {other} at `{plain[0].name}`? It is a place, and its name does not say which."
            self._choose(ours, plain, text, plain[0], "the only other place", "no")
        if not places["start"] and not places["end"] and plain:
            if len(plain) == 1:
                self._take("tap_on_location", plain[0], "it is the only place in a row")
            elif not self._take_places_of_times(plain):
                text = f"Where does a trip begin? {listed(plain)} are places."
                self._choose("tap_on_location", plain, text, plain[0], "the first that could be")
        self._say_what_is_missing()

    def _take_places_of_times(self, plain: Sequence[Sample]) -> bool:
        """Places whose names do not say which end they are of, by their times: `Halt 2` goes with `Zeit 2`."""
        on, off = (self._found.columns.get(f"tap_{end}_time") for end in ("on", "off"))
        if not on or not off or on.column == off.column:
            return False
        first, second = words.words_of(on.column), words.words_of(off.column)
        starts, ends = ([place for place in plain if place.words & own] for own in (first - second, second - first))
        if len(starts) == 1 and len(ends) == 1 and starts != ends:
            for end, place, time in (("on", starts[0], on), ("off", ends[0], off)):
                self._take(f"tap_{end}_location", place, f"by its name it is the place of `{time.column}`")
        elif len(plain) == 2:
            self._ask_by_order(plain, on.column, off.column)
        return len(plain) == 2 or "tap_off_location" in self._found.columns

    def _ask_by_order(self, places: Sequence[Sample], on: str, off: str) -> None:
        """Where no name says it, the first of two places is most likely that of the first of two times."""
        position = [sample.name for sample in self._seen.samples].index
        likely = sorted(places, key=lambda sample: position(sample.name), reverse=position(on) > position(off))
        text = (
            f"Where does a trip begin? {listed(places)} are places; by their order `{likely[0].name}` is that of "
            f"`{on}`."
        )
        chosen = self._choose("tap_on_location", likely, text, likely[0], "by the order of the columns")
        other = likely[1] if chosen is likely[0] else likely[0]
        text = f"Does a trip end at `{other.name}`? It is a place, and its name does not say which."
        self._choose("tap_off_location", [other], text, other, "the other of the two places", "no")

    def _say_what_is_missing(self) -> None:
        """One end found, and the other missed."""
        columns = self._found.columns
        for kind in ("time", "location"):
            on, off = f"tap_on_{kind}" in columns, f"tap_off_{kind}" in columns
            what = "time" if kind == "time" else "place"
            if on != off and self._found.shape == "trips":
                ours = f"tap_{'off' if on else 'on'}_{kind}"
                self._found.remarks.append(
                    f"No column was recognised as the {what} where a trip {'ends' if on else 'begins'}. If there is "
                    f"one, name it as {ours}."
                )

    def _take_times(self) -> None:
        named = {end: self._seen.distinct([s for s in self._seen.times if end in s.says]) for end in ("start", "end")}
        plain = self._seen.distinct([s for s in self._seen.times if not s.says & {"start", "end"}])
        for end, ours in (("start", "tap_on_time"), ("end", "tap_off_time")):
            if len(named[end]) > 1:
                text = f"When does a trip {'begin' if end == 'start' else 'end'}? {listed(named[end])} differ."
                self._choose(ours, named[end], text, named[end][0], "the first that could be")
            elif named[end]:
                self._take(ours, named[end][0], "its name and its values say so", named[end][0].time)
        on, off = named["start"], named["end"]
        if len(on) == 1 and len(off) == 1:
            self._ask_if_turned(on[0], off[0])
        elif on and not off:
            self._take_later(on[0], plain)
        elif off and not on:
            self._take_earlier(off[0], plain)
        elif not on and not off:
            self._take_plain_times(plain)

    def _ask_if_turned(self, on: Sample, off: Sample) -> None:
        order = self._seen.order(on, off)
        if order and not order.same and order.earlier < TURNED:
            text = (
                f"When does a trip begin, at `{on.name}` or at `{off.name}`? By their names the first, but in most "
                "rows it is the later of the two."
            )
            chosen = self._asking.ask("tap_on_time", text, off.name, (on.name, off.name))
            first, last = (on, off) if chosen == on.name else (off, on)
            why = "in most rows it is the earlier of the two" if chosen == off.name else self._asking.why
            self._take("tap_on_time", first, why, first.time, asked="tap_on_time")
            self._take("tap_off_time", last, "the other of the two", last.time, asked="tap_on_time")

    def _take_later(self, on: Sample, plain: Sequence[Sample]) -> None:
        later = [s for s in plain if (o := self._seen.order(on, s)) and not o.same and o.earlier >= ORDERED]
        if not self._seen.looked:
            later = [sample for sample in plain if "stop" in sample.words]
        if later and self._found.shape == "trips":
            why = f"it is later than `{on.name}` in nearly every row" if self._seen.looked else "its name says so"
            self._take("tap_off_time", later[0], why, later[0].time)

    def _take_earlier(self, off: Sample, plain: Sequence[Sample]) -> None:
        earlier = [s for s in plain if (o := self._seen.order(s, off)) and not o.same and o.earlier >= ORDERED]
        if earlier:
            why = f"it is earlier than `{off.name}` in nearly every row"
            self._take("tap_on_time", earlier[0], why, earlier[0].time)

    def _take_plain_times(self, plain: Sequence[Sample]) -> None:
        """Times whose names do not say which end they are of: the rows' own time does."""
        if len(plain) == 1:
            self._take("tap_on_time", plain[0], "it is the only time in a row", plain[0].time)
            return
        orders = [(one, two, self._seen.order(one, two)) for one in plain for two in plain if one is not two]
        clear = [(one, two) for one, two, order in orders if order and order.earlier >= ORDERED and not order.same]
        if len(plain) == 2 and clear:
            (on, off), why = clear[0], "in nearly every row it is the {} of the two"
            self._take("tap_on_time", on, why.format("earlier"), on.time)
            self._take("tap_off_time", off, why.format("later"), off.time)
        elif plain:
            text = f"When does a trip begin? {listed(plain)} are times."
            self._choose("tap_on_time", plain, text, plain[0], "the first that could be")

    def _take_day(self) -> None:
        """The day: a column of dates that agrees with the times, or the day of the time at which a trip begins."""
        columns = self._found.columns
        free = {sample.name for sample in self._free()}
        days = [sample for sample in self._seen.days if sample.name in free and "settled" not in sample.says]
        start = next((columns[each] for each in ("tap_on_time", "tap_time", "tap_off_time") if each in columns), None)
        time = self._seen.by_name.get(start.column) if start else None
        if time and start and time.date.share >= 0.5:
            self._take_day_beside(days, time, start)
            return
        if not days:
            self._take_doubtful_day(free)
            return
        if any("start" in sample.says for sample in days):
            days = [sample for sample in days if "end" not in sample.says]
        distinct = [s for n, s in enumerate(days) if not any(self._seen.same_days(s, each) for each in days[:n])]
        if len(distinct) > 1 and self._seen.looked:
            text = f"Which is the day of a trip? {listed(distinct)} differ."
            self._choose("date", distinct, text, distinct[0], "the first that could be")
        else:
            self._take("date", days[0], "its name and its values say so", days[0].date)
        beyond = [s for s in self._seen.times if s.raw == "text" and _often(s, lambda minute: minute >= 1440)]
        beyond += [
            s for s in self._seen.times if s.raw == "integer" and not s.time.format and _often(s, lambda m: m >= 1440)
        ]
        self._found.service = bool(beyond) or self._is_of_service()

    def _is_of_service(self) -> bool:
        """Whether times after midnight are of the night after their date: asked, where the name of the day says so."""
        day = self._seen.by_name.get(self._found.columns["date"].column) if "date" in self._found.columns else None
        night = [s for s in self._seen.times if _often(s, lambda minute: minute < NIGHT_ENDS)]
        if day is None or "service" not in day.says or not night:
            return False
        text = (
            f"Are the dates of `{day.name}` those of service days? By its name they are, and `{night[0].name}` has "
            "times after midnight, such as 00:30: on a service day (service) they are of the night after its date, on "
            "a day of the calendar (calendar) of the night before."
        )
        return self._asking.ask("dates", text, "service", ("service", "calendar")) != "calendar"

    def _take_day_beside(self, days: Sequence[Sample], time: Sample, start: Guess) -> None:
        """Where times have dates of their own: a column of dates is the day only if it agrees with them."""
        for sample in days:
            agree, night = self._seen.agreement(sample, time)
            if not self._seen.looked or agree + night >= AGREE:
                self._take("date", sample, "its name and its values say so", sample.date)
                self._found.service = night > 0.001 and "period" not in sample.says
                return
            self._found.remarks.append(
                f"`{sample.name}` is not taken for the day of a trip: in {round(100 * (1 - agree))} of 100 rows it is "
                f"another day than that of `{time.name}`."
            )
        ours = next(each for each, guess in self._found.columns.items() if guess is start)
        why = f"the day of {ours}, which holds dates as well"
        self._found.columns["date"] = replace(start, why=why, missing=start.missing)

    def _take_doubtful_day(self, free: set[str]) -> None:
        """Names of days and months; or a date that may be that of the books."""
        periods = [s for s in self._seen.samples if s.name in free and s.says & {"period", "day"} and s.in_use]
        few = [s for s in periods if (s.values is None or 0 < s.kinds <= 400) and not s.says & {"settled"}]
        booked = [s for s in self._seen.days if s.name in free]
        few = [s for s in few if not s.says & {"time", "hour"} or "day" in s.says]
        if few:
            self._found.labels = True
            best = min(few, key=lambda s: ("period" not in s.says, s.kinds == 1, "tap" in s.says))
            if "period" not in best.says and best.values and share(map(_is_dated, best.some)) >= MOST:
                self._ask_if_labels(best)
            else:
                self._take("date", best, "its name says so; its values are names of days or months, not dates")
            self._say_periods(best, [s for s in few if s is not best and "period" in s.says])
        elif booked:
            text = f"Is `{booked[0].name}` the day of a trip? By its name it may be a day of the books."
            if self._asking.ask("date", text, booked[0].name, (booked[0].name, "no")) != "no":
                self._take("date", booked[0], "the only column of dates", booked[0].date, asked="date")

    def _ask_if_labels(self, sample: Sample) -> None:
        """Dates that cannot be read, or names that have numbers: neither is proposed."""
        if share(any(map(str.isalpha, value)) for value in sample.some) >= MOST:
            seem = (
                "They seem to be dates with words in them, such as `4 de marzo de 2025` or `Mo, 04.03.2025`, and only "
                "English names of months can be read: if so, write days such as 2025-03-04 in the files, and run this "
                "again."
            )
        else:
            seem = (
                "They seem to be dates, in no format that is known: if so, write its format, such as "
                '{ column = "…", format = "%d/%m/%Y" }, and take out dates = "labels".'
            )
        text = f"Are the values of `{sample.name}` names, to be published as they are? {seem}"
        self._asking.ask("date", text, choices=(sample.name,))
        self._take("date", sample, "its name says so; its values are in no format that is known", asked="date")

    def _say_periods(self, taken: Sample, others: Sequence[Sample]) -> None:
        """A file by month and kind of day: what it is, and what to do, where two columns say it."""
        if not others:
            return
        also = listed(others)
        if all(other.values is not None and other.kinds == 1 for other in others):
            said = f"{also} is the same in all rows and is not read: name the release after it."
        else:
            said = (
                f"{also} is not read, so numbers are added up over it. To keep them apart, put both into one column "
                "(such as `2025-03 WEEKDAY`) and name that as `date`; or make one file, and one release, of each."
            )
        self._found.remarks.append(
            f"Rows are of `{taken.name}` and {also}, months and kinds of days, and not of single days: a budget cannot "
            f"be used again for other days. {said}"
        )

    def _grain(self) -> int:
        """The bins that times are given in, where all of them start at such."""
        theirs = {guess.column for ours, guess in self._found.columns.items() if ours.endswith("time")}
        return min((self._seen.by_name[name].grain for name in theirs if name in self._seen.by_name), default=1)


_TWICE = (
    "If rows are taps on and off, counting them as trips counts each trip twice and protects half of it: then leave "
    "one kind out of the files, or add a column that distinguishes them."
)
_MINGUO = re.compile(r"1[0-4][0-9]([-/.年]?)(0?[1-9]|1[0-2])([-/.月]?)(0?[1-9]|[12][0-9]|3[01])日?")
_A_PLACEHOLDER = re.compile(r"(?=.{1,24}$)[^\W\d_]+([ _-][^\W\d_]+)*|(\d)\2*|\d{1,4}")
"""A word, one digit alone, or a short number: what may be shown, being no number of a card."""
_LIKE_A_CARD = "its values look like numbers of cards"


def _zeros_mean_none(sample: Sample) -> bool:
    zeros = [value.strip() in ("0", "0.0") for value in sample.filled]
    return share(zeros) > 0.01 and sum(zeros) > odd_rows(len(zeros)) and sample.time.format is None


def _is_dated(value: str) -> bool:
    """Whether there are a day and a year in it, as numbers."""
    return len(re.findall("[0-9]+", value)) > 1 or bool(re.fullmatch("[0-9]{6,8}", value.strip()))


def _is_unread(sample: Sample) -> bool:
    if sample.raw != "text" or not sample.in_use or not sample.values:
        return False
    if not (sample.says & {"time", "hour"} or sample.has_clock):
        return False
    if sample.says & {"settled", "other", "area", "card", "count", "mode", "place", "period", "identifier"}:
        return False
    return sample.time.share < 0.5 and share(value.strip()[:1].isdigit() for value in sample.some) >= MOST


def _often(sample: Sample, holds: Callable[[int], bool]) -> bool:
    minutes = [minute for _, minute in sample.moments if minute is not None]
    return sum(map(holds, minutes)) > odd_rows(len(minutes))
