"""What a program costs, with all the programs it starts: CPU time, wall time, most memory at once. Linux only.

A child's time is the kernel's to tell once somebody waits for the child. Spark starts a JVM and leaves it alone; so
whoever loses its parent is handed to us, and we wait for everyone. Spark's workers are waited for by nobody, as their
parent ignores their end; so we also add up what each process was last seen to have used. Both may miss something,
neither counts anything twice: the larger is taken.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

SET_CHILD_SUBREAPER = 36
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
SAMPLE_SECONDS = 0.2
LEFT_BEHIND_SECONDS = 10
"""What still runs so long after its program has ended is stopped."""


@dataclass(frozen=True)
class Limits:
    """Where a program is stopped."""

    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Cost:
    """What one run used."""

    cpu_seconds: float
    wall_seconds: float
    peak_mb: float


class StoppedError(Exception):
    """A run that came to nothing, and why, in words for a table."""


def run(command: list[str], folder: Path, log: Path, limits: Limits) -> Cost:
    """Run a command in a folder to its end, and wait for all that it has started."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started = time.perf_counter()
    with log.open("wb") as said:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
    watch = _Watch(limits)
    watch.start()
    cpu = 0.0
    with suppress(ChildProcessError):  # nobody is left
        while True:
            pid, status, used = os.wait4(-1, 0)
            cpu += used.ru_utime + used.ru_stime
            if pid == process.pid:
                wall = time.perf_counter() - started
                process.returncode = os.waitstatus_to_exitcode(status)
                watch.ended()
    watch.join()
    if watch.reason:
        raise StoppedError(watch.reason)
    if process.returncode:
        raise StoppedError(f"it ended with code {process.returncode}")
    return Cost(max(cpu, watch.cpu_seconds), wall, watch.peak_mb)


@dataclass
class _Watch:
    """Looks at all descendants now and then, and stops them beyond the limits."""

    limits: Limits
    peak_mb: float = 0.0
    reason: str = ""
    _over: threading.Event = field(default_factory=threading.Event)
    _used: dict[tuple[int, int], float] = field(default_factory=dict)

    def start(self) -> None:
        self._until = time.monotonic() + self.limits.seconds
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def ended(self) -> None:
        """The program itself; others may still end."""
        self._over.set()
        self._until = min(self._until, time.monotonic() + LEFT_BEHIND_SECONDS)

    def join(self) -> None:
        self._thread.join()

    @property
    def cpu_seconds(self) -> float:
        """What all of them were last seen to have used."""
        return sum(self._used.values())

    def _look(self) -> None:
        while there := _descendants():
            now = sum(each.memory_mb for each in there)
            self.peak_mb = max(self.peak_mb, now, *(_most_memory(each.pid) for each in there))
            self._used |= {(each.pid, each.started): each.cpu_seconds for each in there}
            if now > self.limits.megabytes:
                self._stop(there, f"it needs more than {self.limits.megabytes / 1024:.0f} GB of memory")
            elif time.monotonic() > self._until:
                self._stop(there, f"it needs more than {self.limits.seconds:.0f} s")
            time.sleep(SAMPLE_SECONDS)

    def _stop(self, there: list[_Process], reason: str) -> None:
        if not self._over.is_set():
            self.reason = self.reason or reason
        for each in there:
            with suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)


@dataclass(frozen=True)
class _Process:
    """What /proc says of one."""

    pid: int
    parent: int
    started: int
    """Tells it from another that later has its number."""
    cpu_seconds: float
    memory_mb: float


def _descendants() -> list[_Process]:
    """All processes below this one."""
    seen = [found for path in Path("/proc").iterdir() if path.name.isdigit() and (found := _process(path))]
    family = {os.getpid()}
    while more := {each.pid for each in seen if each.parent in family} - family:
        family |= more
    return [each for each in seen if each.pid in family and each.pid != os.getpid()]


def _process(path: Path) -> _Process | None:
    with suppress(OSError):  # it has ended in the meantime
        text = (path / "stat").read_text(encoding="utf-8", errors="replace")
        words = text.rpartition(")")[2].split()  # after its name, which may hold anything; see proc(5)
        cpu = (int(words[11]) + int(words[12])) / TICKS
        return _Process(int(path.name), int(words[1]), int(words[19]), cpu, int(words[21]) * PAGE / 1024**2)
    return None


def _most_memory(pid: int) -> float:
    """The kernel's own record, in MB, so that little is missed between two looks."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0
