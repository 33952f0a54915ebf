"""Progress of long work: bars on a terminal, a line for each step in a log, silence in a library.

Bars are for the data custodian at the screen, and show how fast files are read. A log may be kept and read by others.
So a line in it has the name of a step and its duration, never a number of rows, trips, cells or bytes, all of which
follow from trips without noise. The duration follows from them, too, but only roughly, and systems that run jobs record
it anyway. Such systems set CI, and some of them give a job a terminal: what is drawn there is kept, so it is a log.
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
"""How much of the total of a stage is done; negative if unknown. Called from another thread."""
Clock = Callable[[], float]

BYTES = "B"
SHARE = ""
"""The unit of work of which only the share done is known."""
EVIDENCE = 3.0
"""Seconds before a remaining time is shown: an unreliable estimate is worse than none."""
LOOKS_PER_SECOND = 5
WIDEST = 100
ROOM_FOR_AN_ECHO = 3
"""The terminal writes ^C after a bar; on a full line that would wrap, and the bar would not be erased."""
USUAL, ROOM_FOR_FACTS = 80, 45
"""On a screen of the usual width, room for the text next to a bar is reserved, so that the bar does not jump."""
A_WHILE = 1.0
"""Seconds. Shorter steps get no line, unless a log has all steps."""


class Stage(Enum):
    """A step of the work, with its name for people."""

    READING_PLAN = "Reading the plan"
    LOOKING_AT_COLUMNS = "Inspecting columns"
    LOOKING_AT_TRIPS = "Inspecting trips"
    COUNTING_TRIPS = "Counting trips"
    READING_VALUES = "Reading values"
    READING_TAPS = "Reading taps"
    READING_TRIPS = "Reading trips"
    COUNTING_CARDS = "Counting cards"
    ADDING_UP_TABLES = "Adding up tables"
    LOOKING_FOR_CARDS = "Checking for card IDs"
    LOOKING_FOR_COPIES = "Checking for duplicate rows"
    LOOKING_UP_STOPS = "Looking up stops"
    LOOKING_AT_TABLES = "Inspecting tables"
    LOOKING_FOR_CHANGES = "Searching for helpful changes"
    FINDING_NOISE = "Calibrating noise"
    COMPARING = "Comparing"
    COMPUTING_PROMISE = "Computing the privacy guarantee"
    ACCOUNTING = "Accounting"
    ASKING_LEDGER = "Checking the ledger"
    WRITING_LEDGER = "Recording in the ledger"
    ADDING_UP_BUDGET = "Computing the remaining budget"
    DRAWING_NOISE = "Drawing noise"
    MAKING_CONSISTENT = "Making numbers consistent"
    WRITING_TABLES = "Writing the tables"
    WRITING_TRIPS = "Writing synthetic trips"
    DRAWING_PAGE = "Writing the explorer page"
    SEALING_FOLDER = "Finishing the folder"
    READING_FOLDER = "Reading the folder"
    READING_FILE = "Reading the file"
    READING_TABLES = "Reading the tables"
    CHECKING_FILES = "Checking the files"
    CHECKING_SUMS = "Checking sums"
    DELIVERING = "Delivering to the portal"
    TRYING_WEIGHTS = "Trying mechanisms and weights"
    RELEASING = "Releasing generated trips"
    RELEASING_AGAIN = "Releasing them again"
    RELEASING_BUSY_CARDS = "Releasing busy cards"
    BUILDING_CITY = "Building Port Vesper"
    RIDING = "Simulating trips"
    GENERATING_PEOPLE = "Generating people"
    COUNTING_PEOPLE = "Counting their trips"
    ATTACKING = "Attacking"

    def named(self, by: str) -> str:
        """Its name; `by` distinguishes it from others like it."""
        return f"{self.value}, by {by}" if by else str(self.value)


class Reporter(Protocol):
    """Receives the stages of the work."""

    def stage(
        self, stage: Stage, done: Done | None = None, *, total: float | None = 1.0, unit: str = SHARE, by: str = ""
    ) -> AbstractContextManager[None]:
        """A stage lasts as long as this context. Stages may be nested.

        Args:
            done: returns how much of `total` is done.
            total: without it, no remaining time is shown.
            unit: "B" for bytes, a plural noun, or empty for a share of 1.
            by: distinguishes several stages of the same kind.
        """


class Silent:
    """Reports nothing."""

    def stage(
        self, stage: Stage, done: Done | None = None, *, total: float | None = 1.0, unit: str = SHARE, by: str = ""
    ) -> AbstractContextManager[None]:
        return nullcontext()


class Lines:
    """One line for each stage when it ends. It never calls `done`, so it has no number to reveal."""

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
            # A log that cannot be written must not stop a release; a console would exit on a closed pipe.
            with suppress(OSError, ValueError):
                self._console.file.write(f"{what} {duration(took)}\n")
                self._console.file.flush()


class Bars:
    """One bar for each open stage; when the last one ends, the screen is as before."""

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
                with suppress(Exception):  # an error in a bar must not stop the work
                    for task in display.tasks:
                        display.look(task)
                    display.refresh()

        watcher = threading.Thread(target=watch, daemon=True)
        try:
            with suppress(OSError):  # nor must a terminal that is gone
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
            finally:  # even after a second Ctrl-C: the cursor must be restored
                with suppress(OSError):
                    display.stop()


class _Display(Progress):
    """Bars as wide as the line, except for a little.

    Only the watcher draws, and the output of others is not redirected.
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
        """Update a bar. Until progress is known it only shows activity."""
        done, total = task.fields["done"], task.fields["whole"]
        if done and (completed := max(task.completed, min(done(), total or inf))) > 0:
            self.update(task.id, total=total, completed=completed)

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        table = super().make_tasks_table(tasks)
        table.width = min(self._screen.width, WIDEST) - ROOM_FOR_AN_ECHO
        return table


class _Facts(ProgressColumn):
    """The text next to a bar: share done, speed, time taken, time left."""

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
    """A duration for a log.

    >>> duration(0.04), duration(12.34), duration(3675)
    ('0.0 s', '12.3 s', '61 min 15 s')
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, remainder = divmod(round(seconds), 60)
    return f"{minutes} min {remainder:02d} s"


def for_console(console: Console, *, quiet: bool = False, every_step: bool = False) -> Reporter:
    """Bars on a terminal, lines elsewhere (for every step, or for long ones only), nothing with `quiet`.

    A stream that only claims to be a terminal (FORCE_COLOR) is a log, and so is the terminal of a CI job.
    """
    if quiet:
        return Silent()
    if console.is_interactive and console.file.isatty() and not os.environ.get("CI"):
        return Bars(console)
    return Lines(console, shortest=0.0 if every_step else A_WHILE)
