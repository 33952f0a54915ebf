"""Progress on long work: bars on a terminal, silence elsewhere. What it shows is for the holder at the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

Fraction = Callable[[], float]
"""How far a stage has come, from 0 to 1; below 0 where that is not known."""


class Reporter(Protocol):
    """Something that can be told which stage of the work is under way."""

    def stage(self, name: str, done: Fraction | None = None) -> AbstractContextManager[None]:
        """A stage lasts as long as this context."""


class Silent:
    """Says nothing."""

    def stage(self, name: str, done: Fraction | None = None) -> AbstractContextManager[None]:
        return nullcontext()


class Bars:
    """One bar per stage, on standard error."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def stage(self, name: str, done: Fraction | None = None) -> Iterator[None]:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console, transient=True) as bars:
            task = bars.add_task(name, total=None)
            stop = threading.Event()
            watcher = threading.Thread(target=_watch, args=(bars, task, done, stop), daemon=True)
            watcher.start()
            try:
                yield
            finally:
                stop.set()
                watcher.join()


def _watch(bars: Progress, task: TaskID, done: Fraction | None, stop: threading.Event) -> None:
    while done is not None and not stop.wait(0.2):
        fraction = done()
        if 0 <= fraction <= 1:
            bars.update(task, total=1.0, completed=fraction)


def for_console(console: Console) -> Reporter:
    """Bars where a person watches, silence where not."""
    return Bars(console) if console.is_terminal else Silent()
