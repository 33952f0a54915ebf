"""A command that is killed, or waits, at a moment that is sure to come: when it opens a file, or a file has come to be.

    python -m tests.support.moment kill|wait opens|has PATTERN tapveil's arguments ...

Python tells what its main thread is about to do with files, and there it ends, or sleeps until a signal comes, once.
Nothing of tapveil is changed. To kill it from outside, as soon as something is seen, is to be late on a quick machine.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from fnmatch import fnmatch
from pathlib import Path

TOUCHES = {"open", "os.mkdir", "os.remove", "os.rename", "os.utime", "sqlite3.connect"}


def at_moment(what: str, when: str, pattern: str) -> None:
    """From now on, do `what` at the first such moment."""
    over = False

    def hook(event: str, args: tuple[object, ...]) -> None:
        nonlocal over
        if over or event not in TOUCHES or threading.current_thread() is not threading.main_thread():
            return
        if fnmatch(Path(str(args[0])).name, pattern) if when == "opens" else any(Path().glob(pattern)):
            over = True
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            Path("waits").touch()
            time.sleep(3600)

    sys.addaudithook(hook)


if __name__ == "__main__":
    what, when, pattern, *arguments = sys.argv[1:]
    sys.argv = ["tapveil", *arguments]
    from tapveil.__main__ import main

    at_moment(what, when, pattern)
    main()
