"""A studio: the project, the counts that are held for it, the server, and what the command line says of things."""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tapveil.base.errors import PlanError, TapveilError
from tapveil.plan.model import Plan
from tapveil.studio.ahead import Ahead, read_epsilon, with_epsilon
from tapveil.studio.edits import Edit, edited
from tapveil.studio.jobs import Work
from tapveil.studio.looking import Looking, trips_at
from tapveil.studio.project import Project
from tapveil.studio.server import Server

if TYPE_CHECKING:  # each step loads what it needs
    from tapveil.inputs.public import PublicInputs
    from tapveil.internal.approval import Request
    from tapveil.internal.outlook import Outlook
    from tapveil.internal.preview import Held
    from tapveil.ledger.approval import Statement
    from tapveil.published.folder import Folder

Given = Mapping[str, Any]
"""What the page gives with a call."""
KEPT = 64
"""Plans, and what follows from them, that are remembered."""
Found = Mapping[str, Any]
"""What it gets."""


class Screens(Protocol):
    """What commands print: the studio says the same, in the same words."""

    def check(self, plan: Plan, path: Path, inputs: PublicInputs, cost: Mapping[str, Any], seen: Outlook | None) -> str:
        """What `tapveil check` shows."""

    def approval(self, request: Request, statement: Statement) -> tuple[Sequence[str], Sequence[str]]:
        """What changed since the last approval, and what is signed."""

    def closing(self, plan: Plan, published: Folder, path: Path) -> Sequence[str]:
        """The closing words of a release."""


@dataclass
class Studio:
    """One studio, as its steps see it."""

    project: Project
    server: Server
    screens: Screens
    officers: tuple[str, ...] = ()
    """Public keys, one of which must approve a release, also where the ledger does not require it."""
    held: Held | None = field(default=None, repr=False)
    """The counts, while somebody chooses: secret, in memory alone."""
    looking: Looking = field(default_factory=Looking, repr=False)
    """Of which trips exact numbers were shown."""
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _remembered: dict[tuple[str, ...], Any] = field(default_factory=dict, repr=False)

    @cached_property
    def ahead(self) -> Ahead:
        """Noise, calibrated ahead."""
        return Ahead(lambda epsilon: self.server.tell({"event": "calibrated", "epsilon": epsilon}))

    def plan(self, edits: Sequence[Edit] = ()) -> Plan:
        """The plan with some edits. Another ε alone needs no noise to be calibrated: it is not asked for here."""
        others = [edit for edit in edits if edit["at"] != ["privacy", "epsilon"]]
        chosen = [read_epsilon(edit["value"]) for edit in edits if edit not in others]
        if len(chosen) == 1 and chosen[0] is not None:
            plan = self.parsed(edited(self.project.text, others))
            if plan.guarantee.is_shared:
                return with_epsilon(plan, chosen[0])
        return self.parsed(edited(self.project.text, edits))

    def parsed(self, text: str) -> Plan:
        """The plan of a text."""
        found: Plan = self.remembered(("plan", text), lambda: self.project.parsed(text))
        return found

    def remembered(self, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """What follows from the text of a plan; of that, the newest is remembered."""
        full = (self.project.plan_name, *key)
        with self.lock:
            if full in self._remembered:
                return self._remembered[full]
        made = make()
        with self.lock:
            self._remembered = dict([*self._remembered.items()][-KEPT:])
            self._remembered[full] = made
        return made

    def saw(self, plan: Plan) -> None:
        """Exact numbers of the trips of a plan are about to be shown."""
        written = self._if_valid(lambda: self.project.text)
        with self.lock:
            self.looking.saw(self.project.plan_name, plan, written)

    def counted(self, text: str) -> None:
        """A plan that follows from counting its trips is about to be shown; questions of it may be open."""
        source = tomllib.loads(text)["source"]["path"]
        with self.lock:
            self.looking.counted(trips_at(self.project.folder, [source] if isinstance(source, str) else source))

    def honest(self, text: str, name: str | None = None) -> str:
        """A plan that is to be written; where it is chosen after numbers of the trips were shown, it says so."""
        plan = self._if_valid(lambda: text)
        if plan is None:
            return text  # it is looked at again when its mistakes are gone
        was = self._if_valid(lambda: self.project.text)
        with self.lock:
            must_say = self.looking.must_say(name or self.project.plan_name, was, plan)
        return edited(text, [{"at": ["privacy", "looked_at_trips"], "value": True}]) if must_say else text

    def said(self) -> None:
        """PlanError where a plan that was changed elsewhere does not say that numbers of its trips were shown here."""
        text = self.project.text
        if self.honest(text) != text:
            raise PlanError(
                f"{self.project.plan_name} was changed after exact numbers of its trips were shown, and does not say "
                "so: set looked_at_trips = true under [privacy]"
            )

    def _if_valid(self, text: Callable[[], str]) -> Plan | None:
        try:
            return self.parsed(text())
        except PlanError:
            return None

    def start(self, kind: str, work: Work, *, must_finish: bool = False) -> Found:
        """Begin long work; the page follows it by its number."""
        return {"job": self.server.jobs.start(kind, work, must_finish=must_finish).id}

    def show(self, kind: str, body: bytes, folder: Path | None = None) -> str:
        """An address at which a frame of the page can load a document, once; and, of a folder, files next to it."""
        from tapveil.studio.door import Document

        return self.server.door.show(Document(kind, body, folder))


def sentence_of(error: TapveilError | ValueError) -> str:
    """An error as a sentence."""
    text = str(error)
    return text if text.endswith((".", "!", "?")) else f"{text}."
