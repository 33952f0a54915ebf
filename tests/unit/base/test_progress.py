"""Progress: honest about the rest, one line for each step in a log, a clean screen whatever happens."""

from __future__ import annotations

import gzip
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from tapveil.base.progress import BYTES, SHARE, Bars, Lines, Reporter, Silent, Stage, for_console
from tapveil.counting.counter import count
from tapveil.counting.direct import counter
from tapveil.counting.engines.duckdb.meter import Meter
from tapveil.plan.model import Plan
from tapveil.trips.files import find
from tapveil.veil.release import release
from tests.conftest import opal_plan, write_csv

TRIPS = [("1", "2016-08-08", "train", "08:00", "A", "08:20", "B")] * 90


# --- a log ------------------------------------------------------------------------------------------------------------


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def interrupted(work: Callable[[], None], error: type[BaseException]) -> None:
    work()
    raise error


def a_log(clock: Callable[[], float], shortest: float = 0.0) -> tuple[io.StringIO, Lines]:
    text = io.StringIO()
    return text, Lines(Console(file=text, highlight=False, soft_wrap=True), shortest=shortest, clock=clock)


def test_a_log_has_one_line_for_each_step() -> None:
    clock = Clock()
    text, lines = a_log(clock)
    with lines.stage(Stage.COMPARING, lambda: 123_456.0, total=30_000_000, unit="rows"):
        clock.now += 12.34
        with lines.stage(Stage.READING_VALUES, by="card"):
            clock.now += 75
    assert text.getvalue() == "Reading values, by card: 1 min 15 s\nComparing: 1 min 27 s\n"


def test_a_log_passes_over_what_was_short_unless_it_is_to_have_all() -> None:
    clock = Clock()
    text, lines = a_log(clock, shortest=1.0)
    with lines.stage(Stage.ACCOUNTING):
        clock.now += 0.9
    with lines.stage(Stage.DRAWING_NOISE):
        clock.now += 1.1
    assert text.getvalue() == "Drawing noise: 1.1 s\n"


def test_a_step_that_fails_has_its_line_too() -> None:
    clock = Clock()
    text, lines = a_log(clock)
    with pytest.raises(KeyboardInterrupt), lines.stage(Stage.COUNTING_TRIPS):
        interrupted(lambda: setattr(clock, "now", 2.0), KeyboardInterrupt)
    assert text.getvalue() == "Counting trips: stopped after 2.0 s\n"


def test_a_log_that_nobody_reads_any_more_stops_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        for _ in range(2):
            with Lines(Console(file=closed), shortest=0.0).stage(Stage.COUNTING_TRIPS):
                pass
        with pytest.raises(BrokenPipeError):  # what was not written is still waiting: the pipe is broken indeed
            closed.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), closed.fileno())


def test_the_log_of_a_release_has_the_same_lines_whatever_the_trips_and_no_count(tmp_path: Path) -> None:
    logs = []
    for number, rows in enumerate((TRIPS, TRIPS * 37)):
        write_csv(tmp_path / "trips.csv", rows)
        text, lines = a_log(Clock())
        release(opal_plan(tmp_path), tmp_path / f"out{number}", in_ledger=False, progress=lines)
        logs.append(text.getvalue())
    assert logs[0] == logs[1]
    assert all(re.fullmatch(r"[A-Z][a-z ]+: 0\.0 s", line) for line in logs[0].splitlines())
    steps = ["Counting trips", "Drawing noise", "Making numbers consistent", "Writing the tables"]
    assert [line.split(":")[0] for line in logs[0].splitlines() if line.split(":")[0] in steps] == steps


def test_what_is_no_terminal_gets_lines_and_what_is_quiet_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # a log that is said to be a terminal is still a log
    console = Console(file=io.StringIO())
    assert console.is_terminal
    assert isinstance(for_console(console), Lines)
    assert isinstance(for_console(console, quiet=True), Silent)


# --- how far the reading has come -------------------------------------------------------------------------------------


class Watching:
    """Notes how far each stage had come when it ended, and of how much."""

    def __init__(self) -> None:
        self.seen: dict[Stage, tuple[float, float | None, str]] = {}

    def stage(
        self, stage: Stage, done: Callable[[], float] | None = None, *, total: float | None = 1.0, unit: str = SHARE
    ) -> Reporter:
        self.ended = (stage, done, total, unit)
        return self  # type: ignore[return-value]

    def __enter__(self) -> None:
        self._open = [*getattr(self, "_open", []), self.ended]

    def __exit__(self, *_: object) -> None:
        stage, done, total, unit = self._open.pop()
        self.seen[stage] = (done() if done else -1, total, unit)


@pytest.mark.parametrize("name", ["trips.csv", "trips.csv.gz"])
def test_every_byte_of_the_files_goes_by(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = write_csv(tmp_path / "plain", TRIPS * 500)
    packed = gzip.compress(plain.read_bytes()) if name.endswith("gz") else plain.read_bytes()
    (tmp_path / name).write_bytes(packed)
    watching = Watching()
    for direct in (True, False):  # straight from the files; and by an engine, which reads them twice
        if not direct:
            monkeypatch.setattr(counter, "suits", lambda *_: False)
        count(opal_plan(tmp_path, name), memory="1GB", scratch=None, progress=watching)  # type: ignore[arg-type]
        assert watching.seen[Stage.COUNTING_TRIPS] == (len(packed), len(packed), BYTES)
    for stage in (Stage.READING_VALUES, Stage.COUNTING_TRIPS):
        assert watching.seen[stage] == (len(packed), len(packed), BYTES)


def test_of_parquet_the_engine_says_which_share_is_done(tmp_path: Path) -> None:
    columns = ("card_id", "trip_date", "mode", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location")
    pq.write_table(
        pa.table(dict(zip(columns, map(list, zip(*TRIPS, strict=True)), strict=True))), tmp_path / "t.parquet"
    )
    files, size = find(opal_plan(tmp_path, "t.parquet")), (tmp_path / "t.parquet").stat().st_size
    share = -1.0
    meter = Meter(files, lambda: share)
    assert meter.done() == 0
    meter.begin([])
    assert meter.done() == 0, "the engine does not say: nothing is known to be done"
    share = 0.5
    assert meter.done() == size / 2
    meter.end()
    meter.begin([])
    assert meter.done() == 1.5 * size, "a second pass goes on where the first ended"


# --- a terminal -------------------------------------------------------------------------------------------------------


LONG = 120.0
"""Seconds after which nothing will come any more, however busy the machine."""


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def a_screen(width: int = 80) -> tuple[Screen, Console]:
    text = Screen()
    return text, Console(file=text, force_terminal=True, width=width, color_system=None, legacy_windows=False)


def is_clean(text: str) -> bool:
    """Whether the cursor is shown again, and nothing is left of what was drawn."""
    lines, row = [""], 0
    for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", text):
        if piece == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif piece == "\x1b[1A":
            row -= 1
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif piece[0] not in "\x1b\r":
            lines[row] += piece
    return not any(lines) and text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l")


def wait_for(text: Screen, pattern: str) -> None:
    end = time.monotonic() + LONG
    while not re.search(pattern, text.getvalue()) and time.monotonic() < end:
        time.sleep(0.02)
    assert re.search(pattern, text.getvalue()), text.getvalue()[-300:]


def test_a_bar_shows_how_far_how_fast_and_how_long_still() -> None:
    text, console = a_screen()
    clock = Clock()
    with Bars(console, clock=clock).stage(Stage.READING_TRIPS, lambda: 1e8 * clock.now, total=1.2e9, unit=BYTES):
        clock.now = 2.0
        wait_for(text, r"Reading trips .*17 %  0:00:02")
        clock.now = 4.0
        wait_for(text, r"Reading trips .*33 %  100 MB/s  0:00:04  0:00:08 left")
    assert is_clean(text.getvalue())


def test_nothing_is_said_of_the_rest_before_there_is_evidence_and_what_falls_back_is_no_news() -> None:
    text, console = a_screen()
    clock, done = Clock(), 0.0
    with Bars(console, clock=clock).stage(Stage.DRAWING_NOISE, lambda: done, total=6.0, unit="tables"):
        for clock.now, done in ((1.0, 1.0), (2.0, 2.0)):
            wait_for(text, f"{round(100 * done / 6)} %.*  0:00:0{done:.0f}")
        assert "left" not in text.getvalue()
        clock.now, done = 3.0, 3.0
        wait_for(text, r"50 %  1 tables/s  0:00:03  0:00:03 left")
        clock.now, done = 4.0, -1.0
        wait_for(text, r"50 %  1 tables/s  0:00:04")
        clock.now, done = 7.0, 1e9
        wait_for(text, r"100 %.*  0:00:07")


def test_stages_within_one_another_share_the_screen() -> None:
    text, console = a_screen()
    bars = Bars(console)
    with bars.stage(Stage.LOOKING_AT_TRIPS), bars.stage(Stage.COUNTING_TRIPS, lambda: 0.5):
        wait_for(text, r"Inspecting trips[^\n]*\n[^\n]*Counting trips[^\n]*50 %")
    assert is_clean(text.getvalue())
    with bars.stage(Stage.DRAWING_NOISE):
        wait_for(text, "Drawing noise")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_stage_that_fails_leaves_the_screen_clean(error: type[BaseException]) -> None:
    text, console = a_screen()
    bars = Bars(console)
    with pytest.raises(error), bars.stage(Stage.LOOKING_AT_TRIPS), bars.stage(Stage.COUNTING_TRIPS):
        interrupted(lambda: wait_for(text, "Counting trips"), error)
    assert is_clean(text.getvalue())


def test_a_bar_that_stumbles_does_not_stop_the_work() -> None:
    text, console = a_screen()

    asked = threading.Semaphore(0)

    def broken() -> float:
        asked.release()
        raise RuntimeError

    with Bars(console).stage(Stage.READING_TRIPS, broken):
        assert all(asked.acquire(timeout=LONG) for _ in range(2)), "it is asked again"
    assert is_clean(text.getvalue())


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_a_bar_keeps_to_one_line_with_room_for_an_echo(width: int) -> None:
    text, console = a_screen(width)
    clock = Clock()
    with Bars(console, clock=clock).stage(Stage.LOOKING_FOR_CARDS, lambda: 1e8 * clock.now, total=1e12, unit=BYTES):
        clock.now = 4.0
        wait_for(text, "0 %")
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", text.getvalue())
    assert max(map(len, re.split(r"[\r\n]", drawn))) <= width - 3


def test_what_is_printed_meanwhile_goes_where_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """A result that is sent to a file must not end on the screen because a bar is drawn there."""
    text, console = a_screen()
    with Bars(console).stage(Stage.ACCOUNTING):
        wait_for(text, "Accounting")
        print("a result")
    assert capsys.readouterr().out == "a result\n"
    assert "a result" not in text.getvalue()


# --- a real terminal --------------------------------------------------------------------------------------------------


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    """A program that reads, with our bars on standard error, until it is told that this is enough."""
    script = tmp_path / "busy.py"
    script.write_text(
        "import signal, sys, time\n"
        "from rich.console import Console\n"
        "from tapveil.base.progress import Stage, for_console\n"
        # Who was started with Ctrl-C ignored, as in a background job, would ignore it too.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "start = time.monotonic()\n"
        "done = lambda: 2.1e6 * (time.monotonic() - start)\n"
        "reporter = for_console(Console(stderr=True), every_step=True)\n"
        "with reporter.stage(Stage.READING_TRIPS, done, total=3e12, unit='rows'):\n"
        "    sys.stdin.readline()\n"
        "print('result')\n"
    )
    return script


def on_a_terminal(script: Path, ci: str = "") -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", "CI": ci}
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.communicate()
        os.close(ours)


def ended(process: subprocess.Popen[bytes], terminal: int) -> str:
    """What it writes from here on, told that it is enough."""
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    return read_until(terminal, "result")


def read_until(terminal: int, pattern: str) -> str:
    """What is on the terminal, as soon as the pattern is: escape sequences do not count."""
    text, end = "", time.monotonic() + LONG
    while time.monotonic() < end and not re.search(pattern, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)):
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                text += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
    return text


def test_on_a_real_terminal_rate_and_remaining_time_appear_and_vanish(busy: Path) -> None:
    facts = r"Reading trips ━.*0 %  2(\.\d+)? M rows/s  0:00:\d\d  \d+ days, \d+:\d\d:\d\d left"
    for process, terminal in on_a_terminal(busy):
        said = read_until(terminal, facts)
        assert re.search(facts, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said)), said[-500:]
        said = ended(process, terminal)
        assert said.rfind("\x1b[?25h") > said.rfind("Reading"), "the cursor is back"


@pytest.mark.parametrize("ci", ["1", "true"])
def test_a_terminal_that_a_job_was_given_is_a_log(busy: Path, ci: str) -> None:
    for process, terminal in on_a_terminal(busy, ci):
        said = ended(process, terminal)
        assert re.fullmatch(r"Reading trips: \d+\.\d s\r\nresult\s*", said), said


def test_ctrl_c_on_a_real_terminal_takes_the_bar_away(busy: Path) -> None:
    for process, terminal in on_a_terminal(busy):
        read_until(terminal, "Reading")
        process.send_signal(signal.SIGINT)
        said = read_until(terminal, "KeyboardInterrupt")
        assert "\x1b[?25h" in said
        assert process.wait(LONG) != 0


def test_without_a_terminal_the_same_program_writes_one_line(busy: Path) -> None:
    done = subprocess.run([sys.executable, str(busy)], input="\n", capture_output=True, text=True, check=True)
    assert re.fullmatch(r"Reading trips: \d+\.\d s\n", done.stderr)
    assert done.stdout == "result\n"


@pytest.mark.parametrize("direct", [True, False])
def test_a_plan_of_cards_tells_its_stages_too(direct: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(tmp_path / "trips.csv", TRIPS)
    plan = opal_plan(tmp_path)
    by_card = plan.privacy.model_copy(update={"unit": "card", "trips_per_card": 2, "without_card": "refuse"})
    card = plan.source.model_copy(
        update={"columns": {**plan.source.columns, "card": type(plan.source.columns["mode"])(column="card_id")}}
    )
    watching = Watching()
    cards: Plan = plan.model_copy(update={"privacy": by_card, "source": card})
    if not direct:
        monkeypatch.setattr(counter, "suits", lambda *_: False)
    count(cards, memory="1GB", scratch=None, progress=watching)  # type: ignore[arg-type]
    assert watching.seen[Stage.COUNTING_CARDS] == (1.0, 1.0, SHARE)
    if direct:
        size = (tmp_path / "trips.csv").stat().st_size
        assert watching.seen[Stage.READING_TRIPS] == (size, size, BYTES)
    else:
        assert watching.seen[Stage.ADDING_UP_TABLES] == (6, 6, "tables")
