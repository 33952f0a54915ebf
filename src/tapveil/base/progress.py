"""Progress on long work: bars where a person watches, a line for each step in a log, silence for a library.

Bars are for the holder at the screen, and say how fast the files go by. A log may be kept, and read by others. So a
line in it holds the name of a step and how long it took: never a number of rows, trips, cells or bytes, all of which
follow from trips that no noise has touched. How long a step took follows from them, too, but only roughly, and the
system that runs a job writes that down anyway. Systems that run jobs set CI, and some of them give a job a terminal:
what is drawn there is kept, so it is a log.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from enum import Enum
from math import inf
from typing import Protocol

from rich import filesize
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column, Table
from rich.text import Text

Done = Callable[[], float]
"""How much of a stage is done, of its total; below 0 where that is not known. Asked from another thread."""
Clock = Callable[[], float]

BYTES = "B"
SHARE = ""
"""The unit of work that is known only as a share of the whole."""
EVIDENCE = 3.0
"""Seconds before anything is said of the time that remains: an estimate that nobody can trust is worse than none."""
LOOKS_PER_SECOND = 5
WIDEST = 100
ROOM_FOR_AN_ECHO = 3
"""The terminal writes ^C behind a bar: on a full line that would begin another, and the bar would be left standing."""
USUAL, ROOM_FOR_FACTS = 80, 45
"""On a screen of the usual width, what stands beside a bar has its place from the start: the bar does not jump."""
A_WHILE = 1.0
"""Seconds. What took less is not worth a line, unless a log is to have all steps."""


class Stage(Enum):
    """A step of the work, and what it is called where someone reads of it."""

    READING_PLAN = "Reading the plan"
    LOOKING_AT_COLUMNS = "Looking at the columns"
    LOOKING_AT_TRIPS = "Looking at the trips"
    COUNTING_TRIPS = "Counting trips"
    READING_VALUES = "Reading values"
    READING_TAPS = "Reading taps"
    READING_TRIPS = "Reading trips"
    COUNTING_CARDS = "Counting cards"
    ADDING_UP_TABLES = "Adding up tables"
    LOOKING_FOR_CARDS = "Looking for card numbers"
    LOOKING_FOR_COPIES = "Looking for copies"
    LOOKING_UP_STOPS = "Looking up stops"
    LOOKING_FOR_COUPLED = "Looking for coupled places"
    LOOKING_AT_TABLES = "Looking at the tables"
    LOOKING_FOR_CHANGES = "Looking for changes that would help"
    FINDING_NOISE = "Finding the noise"
    COMPARING = "Comparing"
    COMPUTING_PROMISE = "Computing the promise"
    ACCOUNTING = "Accounting"
    ASKING_LEDGER = "Asking the ledger"
    WRITING_LEDGER = "Writing it into the ledger"
    ADDING_UP_BUDGET = "Adding up what is left"
    DRAWING_NOISE = "Drawing noise"
    MAKING_CONSISTENT = "Making the numbers add up"
    WRITING_TABLES = "Writing the tables"
    DRAWING_PAGE = "Drawing the page"
    SEALING_FOLDER = "Sealing the folder"
    READING_FOLDER = "Reading the folder"
    READING_FILE = "Reading the file"
    READING_TABLES = "Reading the tables"
    CHECKING_FILES = "Checking the files"
    CHECKING_SUMS = "Adding up the numbers again"
    TRYING_WEIGHTS = "Trying mechanisms and weights"
    RELEASING = "Releasing generated trips"
    RELEASING_AGAIN = "Releasing them again"
    RELEASING_BUSY_CARDS = "Releasing busy cards"
    BUILDING_CITY = "Building Port Vesper"
    RIDING = "Riding on the timetable"

    def named(self, by: str) -> str:
        """Its words; `by` tells it apart from others like it."""
        return f"{self.value}, by {by}" if by else str(self.value)


class Reporter(Protocol):
    """Something that can be told which stage of the work is under way."""

    def stage(
        self, stage: Stage, done: Done | None = None, *, total: float | None = 1.0, unit: str = SHARE, by: str = ""
    ) -> AbstractContextManager[None]:
        """A stage lasts as long as this context.

        `done` says how much of `total` there is by now, in the unit: "B" for bytes, a noun in the plural, or none for a
        share of 1. Without a total nothing is said of the time that remains. Where there are several such stages, `by`
        tells them apart. Stages may lie within one another.
        """


class Silent:
    """Says nothing."""

    def stage(
        self, stage: Stage, done: Done | None = None, *, total: float | None = 1.0, unit: str = SHARE, by: str = ""
    ) -> AbstractContextManager[None]:
        return nullcontext()


class Lines:
    """One line for each stage, when it has ended. It asks nobody how far they are, so it has no number to let slip."""

    def __init__(self, console: Console, *, shortest: float = A_WHILE, clock: Clock = time.monotonic) -> None:
        self._console, self._shortest, self._clock = console, shortest, clock

    @contextmanager
    def stage(
        self, stage: Stage, done: Done | None = None, *, total: float | None = 1.0, unit: str = SHARE, by: str = ""
    ) -> Iterator[None]:
        start, name = self._clock(), stage.named(by)
        try:
            yield
        except BaseException:
            self._say(f"{name}: stopped after", self._clock() - start)
            raise
        self._say(f"{name}:", self._clock() - start)

    def _say(self, what: str, took: float) -> None:
        if took >= self._shortest:
            # A log that cannot be written is no reason to stop a release, and a console would exit on a closed pipe.
            with suppress(OSError, ValueError):
                self._console.file.write(f"{what} {duration(took)}\n")
                self._console.file.flush()


class Bars:
    """One bar for each stage under way, with its pace; when the last has ended, the screen is as it was before."""

    def __init__(self, console: Console, *, clock: Clock = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._open: Progress | None = None

    @contextmanager
    def stage(
        self, stage: Stage, done: Done | None = None, *, total: float | None = 1.0, unit: str = SHARE, by: str = ""
    ) -> Iterator[None]:
        with self._display() as display:
            task = display.add_task(stage.named(by), total=None, done=done, whole=total, unit=unit)
            try:
                yield
            finally:
                display.remove_task(task)

    @contextmanager
    def _display(self) -> Iterator[Progress]:
        """The display of the stage around this one, or a new one."""
        if self._open:
            yield self._open
            return
        display, ended = _Display(self._console, self._clock), threading.Event()

        def watch() -> None:
            while not ended.wait(1 / LOOKS_PER_SECOND):
                with suppress(Exception):  # whatever a bar stumbles over, the work goes on
                    for task in display.tasks:
                        display.look(task)
                    display.refresh()

        watcher = threading.Thread(target=watch, daemon=True)
        try:
            with suppress(OSError):  # a terminal that is gone is no reason to stop, either
                display.start()
            watcher.start()
            self._open = display
            yield display
        finally:
            self._open = None
            try:
                ended.set()
                if watcher.ident:
                    watcher.join()
            finally:  # also after a second Ctrl-C: the cursor must come back
                with suppress(OSError):
                    display.stop()


class _Display(Progress):
    """Bars that take what room is left on a line, but for a little.

    Only the watcher draws, and what others print goes where they print it.
    """

    def __init__(self, console: Console, clock: Clock) -> None:
        self._screen = console
        facts = ROOM_FOR_FACTS if console.width >= USUAL else None
        super().__init__(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(None),
            _Facts(Column(no_wrap=True, min_width=facts)),
            console=console,
            get_time=clock,
            transient=True,
            auto_refresh=False,
            expand=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def look(self, task: Task) -> None:
        """How far is it? Until that is known the bar only shows that something is going on."""
        done, total = task.fields["done"], task.fields["whole"]
        if done and (completed := max(task.completed, min(done(), total or inf))) > 0:
            self.update(task.id, total=total, completed=completed)

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        table = super().make_tasks_table(tasks)
        table.width = min(self._screen.width, WIDEST) - ROOM_FOR_AN_ECHO
        return table


class _Facts(ProgressColumn):
    """How far, how fast, since when, and how long still: what stands next to a bar."""

    def render(self, task: Task) -> Text:
        unit, elapsed, left = task.fields["unit"], task.elapsed or 0.0, task.time_remaining
        facts = [f"{task.percentage:.0f} %"] if task.total else []
        if unit and task.speed:
            size, prefix = filesize.pick_unit_and_suffix(int(task.speed), ["", "k", "M", "G", "T"], 1000)
            per_second = f"{prefix}{unit}" if unit == BYTES else f"{prefix} {unit}".strip()
            facts.append(f"{task.speed / size:.3g} {per_second}/s")
        facts.append(str(timedelta(seconds=int(elapsed))))
        if left and elapsed >= EVIDENCE:
            facts.append(f"{timedelta(seconds=int(left))} left")
        return Text("  ".join(facts))


def duration(seconds: float) -> str:
    """A time as a log has it.

    >>> duration(0.04), duration(12.34), duration(3675)
    ('0.0 s', '12.3 s', '61 min 15 s')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def for_console(console: Console, *, quiet: bool = False, every_step: bool = False) -> Reporter:
    """Bars where a person watches, lines elsewhere (of every step, or of long ones alone), nothing where it is quiet.

    A stream that is said to be a terminal (FORCE_COLOR) and is none is a log, and so is a terminal that nobody watches.
    """
    if quiet:
        return Silent()
    if console.is_interactive and console.file.isatty() and not os.environ.get("CI"):
        return Bars(console)
    return Lines(console, shortest=0.0 if every_step else A_WHILE)
