"""Faults on purpose: a process that is killed, or whose writes fail, at any step that touches disk or ledger.

A child process runs with the primitives that touch the disk wrapped. Each call is a point with a name; at the chosen
one the child is killed (before or after the call), or the call fails with an errno. Nothing of tapveil is changed.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow.feather
import pyarrow.parquet

How = Literal["kill before", "kill after"] | int
"""How a point fails: the process dies, or the call raises this errno."""


class Points:
    """Counts the calls of wrapped primitives; at the chosen one, fails."""

    def __init__(self, at: int | None, how: How = "kill before") -> None:
        self.names: list[str] = []
        self._at, self._how = at, how

    def wrap(self, name: str, real: Callable[..., Any], failure: Callable[[int], Exception]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            label = f"{name} {_what(args)}".strip()
            self.names.append(label)
            chosen = len(self.names) - 1 == self._at
            if chosen and self._how == "kill before":
                os.kill(os.getpid(), signal.SIGKILL)
            if chosen and isinstance(self._how, int):
                raise failure(self._how)
            try:
                return real(*args, **kwargs)
            finally:
                if chosen and self._how == "kill after":
                    os.kill(os.getpid(), signal.SIGKILL)

        return wrapped


def _what(args: tuple[Any, ...]) -> str:
    """A name for a point that is the same in every run: no numbers that are drawn."""
    for value in args:
        if isinstance(value, int):
            value = Path(f"/proc/self/fd/{value}").readlink()
        if isinstance(value, str | Path):
            name = Path(value).name
            return name if len(name) < 60 and not any(len(part) >= 8 for part in _hex_parts(name)) else "aside"
    return ""


def _hex_parts(name: str) -> list[str]:
    return [part for part in name.replace("-", ".").split(".") if part and set(part) <= set("0123456789abcdef")]


def _os_error(number: int) -> Exception:
    return OSError(number, os.strerror(number))


def _sqlite_error(number: int) -> Exception:
    names = {errno.ENOSPC: "SQLITE_FULL", errno.EIO: "SQLITE_IOERR_WRITE", errno.EACCES: "SQLITE_READONLY"}
    error = sqlite3.OperationalError("injected")
    error.sqlite_errorname = names[number]
    return error


class _Connection(sqlite3.Connection):
    """A real connection to SQLite whose writing statements are points."""

    points: Points

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql.split()[0] in ("BEGIN", "INSERT", "COMMIT"):
            call = self.points.wrap(f"ledger {sql.split()[0]}", super().execute, _sqlite_error)
            return call(sql, *args)
        return super().execute(sql, *args)


def _writer(points: Points) -> type[pyarrow.parquet.ParquetWriter]:
    """A real writer of Parquet files some rows at a time, whose opening, rows and closing are points."""

    class Writer(pyarrow.parquet.ParquetWriter):  # type: ignore[misc]
        def __init__(self, where: Any, *args: Any, **kwargs: Any) -> None:
            self.path = where
            points.wrap("write", super().__init__, _os_error)(where, *args, **kwargs)

        def write_table(self, table: Any, *args: Any, **kwargs: Any) -> None:
            write = super().write_table
            points.wrap("rows", lambda _: write(table, *args, **kwargs), _os_error)(self.path)

        def close(self) -> None:
            close = super().close
            if self.is_open:
                points.wrap("close", lambda _: close(), _os_error)(self.path)

    return Writer


def install(points: Points) -> None:
    """Wrap the primitives, in this process only."""
    for name in ("mkdir", "rename", "replace", "fsync", "utime", "unlink", "rmdir"):
        setattr(os, name, points.wrap(name, getattr(os, name), _os_error))
    real_open = io.open

    def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if any(letter in mode for letter in "wax+"):
            return points.wrap("write", real_open, _os_error)(file, mode, *args, **kwargs)
        return real_open(file, mode, *args, **kwargs)

    io.open = opened
    for module, function in ((pyarrow.feather, "write_feather"), (pyarrow.parquet, "write_table")):
        real = getattr(module, function)

        def with_path_first(table: Any, where: Any, *args: Any, real: Any = real, **kwargs: Any) -> Any:
            call = points.wrap("write", lambda _, *rest, **more: real(table, where, *rest, **more), _os_error)
            return call(where, *args, **kwargs)

        setattr(module, function, with_path_first)
    pyarrow.parquet.ParquetWriter = _writer(points)
    real_connect, _Connection.points = sqlite3.connect, points
    sqlite3.connect = lambda *args, **kwargs: real_connect(*args, factory=_Connection, **kwargs)  # type: ignore
    real_duckdb = duckdb.DuckDBPyRelation.write_csv
    duckdb.DuckDBPyRelation.write_csv = lambda self, path, **more: points.wrap(  # type: ignore
        "write", lambda name: real_duckdb(self, name, **more), _os_error
    )(path)


def in_child(work: Callable[[], object], points: Points | None = None, kill_after: float | None = None) -> int:
    """Run in a forked child; the way it ended: 0, an exit code, or minus the signal."""
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # a child that hangs must not hang the test
        code = 99
        try:
            if points:
                install(points)
            work()
            code = 0
        except BaseException as error:
            code = getattr(error, "exit_code", 98)
            if code == 98:
                traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
