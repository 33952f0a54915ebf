"""The way in: catch every end, interruptions first, and only then load the rest."""

from __future__ import annotations

import atexit
import gc
import io
import os
import signal
import sys
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130
UNEXPECTED = 4

_BEFORE_WORK = "Interrupted. Nothing was charged and nothing was published."
_AT_WORK = (
    "Interrupted. No partial folder was published. If the budget was already charged, run the same command with "
    "--resume."
)

_signalled = False
_loading = False


def run() -> None:
    """The command as people start it: when all is done, end at once."""
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            with suppress(OSError):  # nobody reads any more: Python has its own words for that
                sys.stdout.flush()
                sys.stderr.flush()
                atexit._run_exitfuncs()
                # The system takes memory back faster than Python gives it piece by piece: 17 % of the CPU of `--help`,
                # 10 % of that of `check` on 10 000 trips.
                os._exit(end.code or 0)
        raise


def main() -> None:
    """Run the command line; turn every way it can end into a message and an exit code."""
    global _loading
    try:
        _loading = True
        _prepare()
        from tapveil.base.errors import TapveilError
        from tapveil.cli.app import app

        _loading = False
        app(prog_name="tapveil")
    except (KeyboardInterrupt, SystemExit, Exception) as error:
        # A signal can surface as almost any error, depending on whose code it met.
        if _signalled or isinstance(error, KeyboardInterrupt):
            _say(_how_far(error))
            # Everything has been cleaned up by now; Python's own way out may end in the signal's code instead of ours.
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        if isinstance(error, SystemExit):
            raise
        if isinstance(error, TapveilError):
            _fail(str(error), error.exit_code)
        if os.environ.get("TAPVEIL_DEBUG"):
            raise
        if isinstance(error, ModuleNotFoundError):
            to_read = " (to convert published folders: 'tapveil[read]')" if error.name == "typer" else ""
            install = f"pip install 'tapveil[publish]'{to_read}"
            _fail(f"this command needs {error.name}, which is not installed: {install}", UNEXPECTED)
        if isinstance(error, OSError) and error.filename is None:
            _fail(f"the output could not be written ({error.strerror})", UNEXPECTED)
        _fail(
            f"an unexpected error occurred ({type(error).__name__}). Details are not shown because they may contain "
            "private values. Set TAPVEIL_DEBUG=1 to see them yourself, and never post them",
            UNEXPECTED,
        )


def _prepare() -> None:
    gc.set_threshold(1_000_000)  # to look for unused objects more often takes 5 % of the CPU of `--help`
    # Memory that one batch of rows leaves serves the next: given back and fetched anew it costs more than the rows.
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "-1")
    # Vectors are short here: a second thread mostly waits, which takes 10 % of the CPU of `ledger plan`.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # other installed packages must not see plans and manifests
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show ± is no reason to stop


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _signalled
    _signalled = True
    if _loading:  # nothing has begun, and an exception that meets the import machinery may be lost there
        os.write(2, f"tapveil: {_BEFORE_WORK}\n".encode())
        os._exit(INTERRUPTED)
    raise KeyboardInterrupt


def _how_far(error: BaseException | None) -> str:
    """What was interrupted: a release says how far it had come, also where others caught that and raised their own."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return str(error) or "Interrupted."
        error = error.__cause__ or error.__context__
    return _AT_WORK  # a signal that met code in C, as some other error


def _fail(message: str, code: int) -> None:
    _say(message)
    sys.exit(code)


def _say(message: str) -> None:
    print(f"tapveil: {message}", file=sys.stderr)


if __name__ == "__main__":
    run()
