"""What a program costs, with all the programs it starts: CPU time, wall time, most memory at once. Linux only.

A child's time is the kernel's to tell once somebody waits for the child. Spark starts a JVM and leaves it alone; so
whoever loses its parent is handed to us, and we wait for everyone.
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
    watch = _Watch(process.pid, limits)
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
    return Cost(cpu, wall, watch.peak_mb)


@dataclass
class _Watch:
    """Looks at all descendants now and then, and stops them beyond the limits."""

    pid: int
    limits: Limits
    peak_mb: float = 0.0
    reason: str = ""
    _over: threading.Event = field(default_factory=threading.Event)

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

    def _look(self) -> None:
        while there := _descendants():
            now = sum(memory.now_mb for memory in there.values())
            self.peak_mb = max(self.peak_mb, now, *(memory.most_mb for memory in there.values()))
            if now > self.limits.megabytes:
                self._stop(there, f"it needs more than {self.limits.megabytes / 1024:.0f} GB of memory")
            elif time.monotonic() > self._until:
                self._stop(there, f"it needs more than {self.limits.seconds:.0f} s")
            time.sleep(SAMPLE_SECONDS)

    def _stop(self, there: dict[int, _Memory], reason: str) -> None:
        if not self._over.is_set():
            self.reason = self.reason or reason
        for pid in there:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@dataclass(frozen=True)
class _Memory:
    """Of one process; the most is the kernel's own record, so that nothing is missed between two looks."""

    now_mb: float
    most_mb: float


def _descendants() -> dict[int, _Memory]:
    """All processes below this one."""
    seen = {int(path.name): _status(path / "status") for path in Path("/proc").iterdir() if path.name.isdigit()}
    family = {os.getpid()}
    while more := {pid for pid, status in seen.items() if status.get("PPid") in family} - family:
        family |= more
    return {
        pid: _Memory(seen[pid].get("VmRSS", 0) / 1024, seen[pid].get("VmHWM", 0) / 1024)
        for pid in family - {os.getpid()}
    }


def _status(path: Path) -> dict[str, int]:
    wanted = ("PPid", "VmRSS", "VmHWM")
    with suppress(OSError):  # it has ended in the meantime
        lines = (line.split() for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
        return {words[0][:-1]: int(words[1]) for words in lines if words and words[0][:-1] in wanted}
    return {}
