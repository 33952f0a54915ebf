"""Long work, one piece at a time, in the main thread: there a signal stops it exactly as Ctrl-C stops a command.

What is reported goes to the page alone, never to a log.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal

from tapveil.base.progress import SHARE, Done, Reporter, Stage
from tapveil.studio.faults import as_json

State = Literal["waiting", "running", "done", "failed", "cancelled"]
Work = Callable[[Reporter], Mapping[str, Any]]
Tell = Callable[[Mapping[str, Any]], None]

CANCEL = signal.SIGUSR1
"""Stops the work that is under way, and nothing else; the terminal's Ctrl-C ends the studio as well."""
EVERY = 0.2
"""Seconds between two looks at how far the work is."""
KEPT = 50
"""Jobs of which results are kept."""


@dataclass
class _Open:
    stage: Stage
    by: str
    done: Done | None
    total: float | None


@dataclass(eq=False)
class Job:
    """One piece of long work."""

    id: int
    kind: str
    work: Work = field(repr=False)
    must_finish: bool = False
    """Whether it goes on when the browser has gone: a release may be paid for."""
    state: State = "waiting"
    stages: list[str] = field(default_factory=list)
    """The steps that are over, by name."""
    open: list[_Open] = field(default_factory=list, repr=False)
    result: Mapping[str, Any] | None = field(default=None, repr=False)
    error: Mapping[str, Any] | None = None
    is_cancelled: bool = False

    @contextmanager
    def stage(
        self, stage: Stage, done: Done | None = None, *, total: float | None = 1.0, unit: str = SHARE, by: str = ""
    ) -> Iterator[None]:
        """A step of the work, as `Reporter` has it."""
        step = _Open(stage, by, done, total)
        self.open.append(step)
        try:
            yield
        finally:
            self.open.remove(step)
            self.stages.append(stage.named(by))

    @property
    def share(self) -> float | None:
        """How much of the innermost step that tells is done."""
        for step in reversed(self.open[:]):
            if step.done and step.total:
                with suppress(Exception):  # an error of a bar must not stop the work
                    return min(1.0, max(0.0, step.done() / step.total))
        return None

    @property
    def as_json(self) -> dict[str, Any]:
        """What the page is told at every change."""
        steps = self.open[:]
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "stage": steps[-1].stage.named(steps[-1].by) if steps else "",
            "share": self.share,
            "stages": list(dict.fromkeys(self.stages)),
            "can_cancel": self.state in ("waiting", "running"),
            "error": self.error,
        }


class Jobs:
    """All long work of a studio."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._numbers = tell, itertools.count(1)
        self._waiting: queue.Queue[Job | None] = queue.Queue()
        self._all: dict[int, Job] = {}
        self._running: Job | None = None
        self._lock = threading.Lock()

    @property
    def all(self) -> list[Job]:
        with self._lock:
            return list(self._all.values())

    def get(self, number: object) -> Job | None:
        with self._lock:
            return self._all.get(number) if isinstance(number, int) else None

    def start(self, kind: str, work: Work, *, must_finish: bool = False) -> Job:
        """Do this next."""
        job = Job(next(self._numbers), kind, work, must_finish)
        with self._lock:
            self._all[job.id] = job
            for old in [each for each in self._all.values() if each.state not in ("waiting", "running")][:-KEPT]:
                del self._all[old.id]
        self._waiting.put(job)
        self._tell({"event": "job", "job": job.as_json})
        return job

    def cancel(self, job: Job) -> None:
        """Stop a job: what is under way is interrupted, as by Ctrl-C."""
        job.is_cancelled = True
        if job.state == "running":
            main = threading.main_thread().ident
            if main is not None:
                signal.pthread_kill(main, CANCEL)

    # --- in the main thread -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Do all work, until there is none to come. An interrupt that is no cancelled job ends it."""
        before = signal.signal(CANCEL, self._interrupt)
        try:
            while (job := self._waiting.get()) is not None:
                self._do(job)
        finally:
            signal.signal(CANCEL, before)

    def end(self) -> None:
        """Finish what must be finished, and do no more: nobody is there to see it."""
        for job in self.all:
            if job.state in ("waiting", "running") and not job.must_finish and not job.is_cancelled:
                self.cancel(job)
        self._waiting.put(None)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        running = self._running
        if running is not None and running.is_cancelled and running.state == "running":
            raise KeyboardInterrupt

    def _do(self, job: Job) -> None:
        if job.is_cancelled:
            job.state = "cancelled"
            self._tell({"event": "job", "job": job.as_json})
            return
        job.state, self._running = "running", job
        over = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(job, over), daemon=True)
        watcher.start()
        said = io.StringIO()
        try:
            # What a command would say on standard error is for the page: the terminal may be kept in a log.
            with contextlib.redirect_stderr(said):
                found = job.work(job)
            job.result, job.state = {**found, "said": said.getvalue().splitlines()}, "done"
        except KeyboardInterrupt as error:
            job.state, job.error = "cancelled", {"kind": "Cancelled", "message": str(error) or "Cancelled."}
            if not job.is_cancelled:
                raise
        except Exception as error:
            job.state, job.error = "failed", as_json(error)
        finally:
            self._running = None
            over.set()
            self._tell({"event": "job", "job": job.as_json})

    def _watch(self, job: Job, over: threading.Event) -> None:
        """Tell how far a job is, as often as people can read it."""
        told = None
        while not over.wait(EVERY):
            if (now := job.as_json) != told:
                told = now
                self._tell({"event": "job", "job": now})
