"""Random broken files: each is read, or refused in our words. Nothing else happens, and no word of a trip is said.

A failure names the number of its case: `python -m tests.support.fuzz NUMBER FOLDER` makes it again.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from rich.console import Console

from tapveil.base.atomic import write_new
from tapveil.base.errors import PlanError, TapveilError
from tapveil.base.progress import Silent
from tapveil.cli.console import check as outlook_screen
from tapveil.cli.console import draft as screen
from tapveil.internal.draft import draft, take_proposal
from tapveil.internal.outlook import Outlook, outlook, read_public_files
from tapveil.plan.model import Plan
from tests.support.fuzz import FAMILIES, PLANS, Case, case, sound_case

CASES = int(os.environ.get("TAPVEIL_FUZZ", "160"))
"""How many broken files: `make test-full` asks for 20,000."""
SHARES = 16
"""Tests among which they are divided, so that all cores have some."""
SECONDS = 60
"""Nothing so small may take so long, of the processor's time; other programs may have most of the clock's."""

UNSEEN = ("odd lookup", "odd areas")
"""Families that `tapveil init` cannot tell from sound ones: it does not look at these files."""


class TooLong(BaseException):
    """The time is up: no `except Exception` may catch it."""


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    return {name: Plan.parse(text) for name, text in PLANS.items()}


@pytest.mark.parametrize("share", range(SHARES))
def test_a_broken_file_is_read_or_refused_in_our_words(
    share: int, plans: dict[str, Plan], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What is left in the folder after a crash is the case that crashed."""
    faults = []
    for number in range(share * CASES // SHARES, (share + 1) * CASES // SHARES):
        folder = tmp_path / f"case {number}"
        folder.mkdir()
        each = case(number)
        each.write(folder)
        for fault in _faults(each, plans[each.plan], folder, capfd):
            faults.append(f"case {number} ({each.family}, plan `{each.plan}`): {fault}")
        shutil.rmtree(folder)
    assert not faults, "\n".join([f"{len(faults)} faults", *faults])


@pytest.mark.parametrize(
    "number",
    [262, 986, 1676, 3853, 3962, 4269, 4394, 4681, 9018, 10154, 11420, 12409, 15916, 16629, 17156, 17178, 17449],
)
def test_what_once_was_a_fault_is_none(
    number: int, plans: dict[str, Plan], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A zip file with an entry before its beginning, bytes that are no text, values that their types cannot hold."""
    each = case(number)
    each.write(tmp_path)
    assert not list(_faults(each, plans[each.plan], tmp_path, capfd))


def _faults(each: Case, plan: Plan, folder: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[str]:
    plan._base = folder  # a plan takes long to make, and is the same wherever its files are
    ways: dict[str, Callable[[], str]] = {"check": lambda: _check(plan)}
    if each.family not in UNSEEN:
        ways["init"] = lambda: _init(folder / each.trips, folder / "plan.toml")
    for way, do in ways.items():
        said, beside = "", list[str]()
        try:
            with _time_limit(), _what_python_says(beside):
                said = do()
        except TapveilError as error:
            said = str(error)
            if error.__cause__ is not None or not said:
                yield f"{way}: {type(error).__name__} is chained or says nothing"
            if way == "init" and isinstance(error, PlanError):
                yield f"{way}: blamed a plan that nobody wrote: {said[:200]}"
        except (TooLong, KeyboardInterrupt, Exception) as error:  # DuckDB makes of any signal an interruption
            yield f"{way}: {type(error).__name__} {_where(error)}"
        shown = capfd.readouterr()
        for words in filter(None, (shown.out, shown.err, *beside)):
            yield f"{way}: something was printed: {words[:200]!r}"
        if leak := each.private.search(said):
            yield f"{way}: said what only a trip can have said: …{said[max(0, leak.start() - 60) : leak.end() + 20]}…"


def _check(plan: Plan) -> str:
    """What `tapveil check` does; of what it shows, all but names that the holder must know."""
    read_public_files(plan)
    found = outlook(plan)
    _shown(lambda console: outlook_screen.show_outlook(console, plan, found))
    json.dumps(found.as_json())
    return "\n".join(_words(found))


def _words(found: Outlook) -> Iterator[str]:
    yield found.stops or ""
    yield from found.refused
    yield from (note for note in found.notes if not NAMING.search(note))
    yield from found.alarms


NAMING = re.compile(r"^coupled places|not in the public lists|that the plan does not cover|^one card, ")
"""Notes that name places, modes, days, or a card that is nobody's: the holder must know which."""


def _init(trips: Path, plan_path: Path) -> str:
    """What `tapveil init` does: all that it shows, and the plan that it writes, which can be read once filled in."""
    drafted = draft(str(trips), plan_path, answer=take_proposal, progress=Silent())
    write_new(plan_path, drafted.text)
    if drafted.open:
        with pytest.raises(PlanError, match="open question"):
            Plan.parse(drafted.text, base=plan_path.parent)
    said = drafted.text + _shown(lambda console: screen.show_draft(console, drafted))
    # The days that a release covers are published; where they were taken from the rows, the plan says that it looked.
    looked = "looked_at_trips = true" in drafted.text
    return _DAYS.sub("", said) if looked else said


_DAYS = re.compile(r"(first_day = |last_day = |Days: |#.*by the rows).*")


def _shown(show: Callable[[Console], None]) -> str:
    screen_text = io.StringIO()
    show(Console(file=screen_text, highlight=False, markup=False, soft_wrap=True))
    return screen_text.getvalue()


def _where(error: BaseException) -> str:
    """The last of our own lines that an error went through."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "/src/tapveil/" in frame.filename]
    return f"in {Path(ours[-1].filename).name}, {ours[-1].name}: {ours[-1].line}" if ours else "outside"


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, SECONDS), signal.SIGALRM: (signal.ITIMER_REAL, 30 * SECONDS)}
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


@contextmanager
def _what_python_says(beside: list[str]) -> Iterator[None]:
    """Warnings, and errors that nobody could catch: Python prints them, pytest hides them."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda found: beside.append(f"{found.exc_type.__name__} in {found.object!r}"[:60])
    try:
        with warnings.catch_warnings(record=True) as warned:
            yield
        beside += [str(each.message) for each in warned if not issubclass(each.category, DeprecationWarning)]
    finally:
        sys.unraisablehook = hook


@pytest.mark.parametrize("name", PLANS)
def test_what_is_not_broken_is_read(name: str, plans: dict[str, Plan], tmp_path: Path) -> None:
    """Else broken files would not be read far enough to find anything."""
    sound_case(name).write(tmp_path)
    plans[name]._base = tmp_path
    found = outlook(plans[name])
    assert found.stops is None
    assert sum(found.refused.values()) < found.rows
    assert any(table.trips for table in found.tables)


def test_a_case_is_the_same_every_time() -> None:
    for number in range(2 * len(FAMILIES)):
        assert case(number) == case(number)


def test_every_family_meets_every_plan_that_fits() -> None:
    rounds = len(FAMILIES) * len(PLANS)
    assert {case(number).family for number in range(len(FAMILIES))} == set(FAMILIES)
    assert {case(number).plan for number in range(rounds)} == set(PLANS)
