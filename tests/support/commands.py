"""The command line, run in this process: the real way in, without the second that it takes to start Python."""

from __future__ import annotations

import contextlib
import io
import math
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tapveil.__main__ import main as tapveil
from tapveil.base import progress


@dataclass(frozen=True)
class Said:
    """What a command said."""

    code: int
    out: str
    err: str


def command(folder: Path, arguments: Sequence[str], *, together: bool = False) -> Said:
    """What a command says in a folder, but for how long its steps took; `together`: as a terminal shows it."""
    out, code = io.StringIO(), 0
    err = out if together else io.StringIO()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    try:
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "argv", ["tapveil", *arguments]),
            mock.patch.object(progress, "A_WHILE", math.inf),  # what is long is up to the machine
        ):
            tapveil()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)
    return Said(code, out.getvalue(), "" if together else err.getvalue())


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The same, as `subprocess.run` tells it."""
    words = [str(each) for each in arguments]
    said = command(cwd or Path(), words)
    return subprocess.CompletedProcess(words, said.code, said.out, said.err)
