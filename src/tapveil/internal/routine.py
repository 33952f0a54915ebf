"""Releases by routine: one plan with gaps for the period, and one release, verified and delivered, for each period.

What is done is known by what is there: the folder, the unfinished release next to it, and the ledger. Nothing else is
remembered, so whatever was cut short is taken up where it stands, and what is done is not done again.
"""

from __future__ import annotations

import fcntl
import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pydantic
from pydantic import Field

from tapveil.base import atomic
from tapveil.base.defaults import MEMORY
from tapveil.base.errors import FolderError, PlanError
from tapveil.base.progress import Reporter
from tapveil.base.span import ONE_DAY, Every, Span
from tapveil.base.types import Frozen, Text
from tapveil.ledger.approval import read_approval
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Delivered, Withdrawn
from tapveil.plan import toml
from tapveil.plan.model import Plan
from tapveil.published.folder import Folder
from tapveil.trips import files
from tapveil.veil import workspace
from tapveil.veil.release import release

if TYPE_CHECKING:
    from tapveil.published.signature import SigningKey


class To(Frozen):
    """Where each release is delivered."""

    portal: Text
    """Which sort of portal."""
    to: Text | None = None
    """Its address."""
    owner: Text | None = None
    """The organisation, as the portal knows it."""
    name: Text | None = None
    """The name of the data set in addresses, with gaps."""
    unsigned: bool = False
    """Whether folders that are not signed are delivered."""


class Routine(Frozen):
    """What is released, how often, and where it goes."""

    plan: Text
    """The plan of a period: a plan with gaps."""
    every: Every
    """How long a period is."""
    first_day: date
    """Where the first period begins."""
    after: Annotated[int, Field(ge=0, le=366)] = 0
    """How many days to wait after the end of a period."""
    folder: Text = "published/{period}"
    """The folder of a period, with gaps."""
    ready: Text | None = None
    """A file, with gaps, that is there when the trips of a period are complete."""
    sign: Text | None = None
    """The private SSH key to sign with."""
    push: To | None = None
    """Where each release is delivered."""


Deliver = Callable[[Path, Path, "str | None"], str]
"""Delivers a folder, with the ledger that paid for it and a name of the data set; gives its address."""
Verify = Callable[[Path], None]
"""Raises unless a folder is verified."""


@dataclass(frozen=True)
class Run:
    """One run of a routine. Relative paths start from the folder of its file."""

    path: Path
    routine: Routine
    verify: Verify
    deliver: Deliver | None = None
    key: SigningKey | None = None
    memory: str = MEMORY
    progress: Reporter | None = None
    officers: tuple[str, ...] = ()
    """Public keys, one of which must have approved each release, also where the ledger does not require it."""

    def due(self, today: date) -> Iterator[Span]:
        """The periods that are over, oldest first."""
        span = Span(self.routine.every, self.routine.first_day)
        while span.last_day + self.routine.after * ONE_DAY < today:
            yield span
            span = span.next

    def all_due(self, today: date, say: Callable[[str], None]) -> bool:
        """Do what is left to do for every period that is over; False if trips of one are not there yet."""
        due = list(self.due(today))
        return all([self.bring(span, say, newest=span is due[-1]) for span in due])

    def bring(self, span: Span, say: Callable[[str], None], *, newest: bool = True) -> bool:
        """Do what is left to do for a period; False if its trips are not there yet.

        Delivery is recorded, and verification is not: where nothing is delivered, the newest folder is verified again.
        """
        folder = self.path.parent / span.filled(self.routine.folder, "folder")
        workspace.sweep(folder)
        begun = workspace.place_for(folder).exists()
        if folder.exists() and not begun:
            _refuse_another(folder, span)
        if not begun and folder.exists() and (self._is_done(folder, span) if self.deliver else not newest):
            return True
        if begun or not folder.exists():
            plan = self._plan(span, keep=begun)
            if not begun and not self._is_ready(span, plan):
                say(f"{span.name}: waiting for its trips")
                return False
            self._release(plan, folder, span, resume=begun)
            say(f"{span.name}: published {folder}")
        self.verify(folder)
        if self.deliver:
            name = self.routine.push and self.routine.push.name
            address = self.deliver(folder, self._ledger(span), span.filled(name, "name") if name else None)
            say(f"{span.name}: delivered {address}")
        return True

    def _release(self, plan: Plan, folder: Path, span: Span, *, resume: bool) -> None:
        """A release of a period; an approval of its own plan comes before that of the routine."""
        approval = read_approval(self._plan_path(span)) or read_approval(self.path)
        settled = partial(release, plan, folder, resume=resume, key=self.key, memory=self.memory)
        settled(approval=approval, officers=self.officers, progress=self.progress)

    def _plan_path(self, span: Span) -> Path:
        template = self.path.parent / self.routine.plan
        return template.with_name(f"{template.stem}-{span.name}.toml")

    def _plan(self, span: Span, *, keep: bool) -> Plan:
        """The plan of a period, which is written next to the routine; a release that has begun keeps its own."""
        template, path = self.path.parent / self.routine.plan, self._plan_path(span)
        if not (keep and path.exists()):
            text = span.filled(toml.read_text(template), template.name)
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                atomic.write_whole(path, lambda aside: aside.write_text(text, encoding="utf-8"))
        plan = Plan.read(path)
        if (plan.source.first_day, plan.source.last_day) != (span.first_day, span.last_day):
            raise PlanError(
                f"{path.name} must cover {span.first_day} to {span.last_day}: write first_day = {{first_day}} and "
                f"last_day = {{last_day}} under [source] in {template.name}"
            )
        return plan

    def _is_ready(self, span: Span, plan: Plan) -> bool:
        ready = self.routine.ready
        return files.are_there(plan) and (ready is None or (self.path.parent / span.filled(ready, "ready")).exists())

    def _is_done(self, folder: Path, span: Span) -> bool:
        """Whether a folder was delivered, or is not to be."""
        identity = Folder(folder).manifest.release_id
        with Ledger.open(self._ledger(span)) as book:
            return any(isinstance(each, Delivered | Withdrawn) and each.id == identity for each in book.entries)

    def _ledger(self, span: Span) -> Path:
        return self._plan(span, keep=True).ledger_path


def _refuse_another(folder: Path, span: Span) -> None:
    """FolderError if a folder is not of a period: else the period would be taken to be published."""
    covers = Folder(folder).manifest.covers
    if (covers.first_day, covers.last_day) != (span.first_day, span.last_day):
        raise FolderError(
            f"{folder} is of {covers.first_day} to {covers.last_day}, and not of {span.name}: every period needs a "
            'folder of its own, such as "published/{period}"'
        )


def read_routine(path: Path) -> Routine:
    """A routine from its TOML file; PlanError if something is wrong with it."""
    try:
        data = tomllib.loads(toml.read_text(path))
        routine = Routine.model_validate(data.get("run", data))
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{path.name} is not valid TOML: {error}") from None
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "[run]"
        raise PlanError(f"{path.name}: {where}: {first['msg']}") from None
    span = Span(routine.every, routine.first_day)
    if not span.begins_there:
        raise PlanError(f"{path.name}: first_day: no {routine.every} begins on {routine.first_day}")
    if span.filled(routine.folder, "folder") == span.next.filled(routine.folder, "folder"):
        raise PlanError(f'{path.name}: folder: every period needs its own, such as "published/{{period}}"')
    return routine


@contextmanager
def only_run(path: Path) -> Iterator[bool]:
    """Whether no other run of a routine is under way; the system ends the lock with the process."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise FolderError(f"{path} cannot be read: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(descriptor)
