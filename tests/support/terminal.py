"""A person at a terminal: a command in a real pseudo-terminal, and what is typed when it asks."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 300
"""Seconds to wait for the next words."""


def talk(arguments: Sequence[str], answers: Sequence[tuple[str, str]], folder: Path) -> tuple[int, str]:
    """Run a command, wait for each question, and type its answer; exit code, and all that was on the screen."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "120", "LINES": "50"}
    command = [sys.executable, "-m", "tapveil", *arguments]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment)
    os.close(theirs)
    screen, seen = "", 0
    try:
        for asked, reply in answers:
            while not (found := re.search(re.escape(asked), _plain(screen)[seen:])):
                if not (more := _read(ours)):
                    raise EOFError(f"it ended before it asked: {asked}\n{_plain(screen)}")
                screen += more
            seen += found.end()
            os.write(ours, f"{reply}\n".encode())
        while more := _read(ours):
            screen += more
        return process.wait(PATIENCE), _plain(screen)
    except TimeoutError:
        raise TimeoutError(f"nothing more is said after:\n{_plain(screen)}") from None
    finally:
        process.kill()
        process.wait(PATIENCE)
        os.close(ours)


def _read(terminal: int) -> str:
    if not select.select([terminal], [], [], PATIENCE)[0]:
        raise TimeoutError("the command says nothing more")
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError:  # it has ended
        return ""


def _plain(screen: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("\r", "")
