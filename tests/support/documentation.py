"""The documentation, run: the blocks of a page in their order, in a scratch folder, as a reader would.

What a block is for stands above it, where a page does not show it:

    <!-- not run: why -->            it is not run, and why
    <!-- run as: command -->         this command is run instead of the one that is shown, such as a smaller city
    <!-- exit: 5 -->                 its last command ends with this code
    <!-- output: exact -->           what is shown is what is said, word for word
    <!-- output: an example -->      what is said is not compared
    <!-- file: plan.toml -->         it is the content of this file, which later commands use

Otherwise every shown line must be said, in this order, but for its numbers: noise is never the same twice. A line
`...` stands for any others.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

from typer.main import get_command

from tapveil.cli.app import app
from tapveil.plan.model import PRESETS, Plan, preset_text
from tests.support.commands import command as tapveil

ROOT = Path(__file__).parents[2]
RUN = ("console", "sh", "python", "pycon", "toml")
SHOWN = ("text", "ini", "json", "sql")
"""Languages of blocks that are for reading."""
MARKS = ("not run", "run as", "exit", "output", "file")
ANY = "..."

_BLOCK = re.compile(
    r"^(?P<marks>(?:<!-- [^\n]+ -->\n+)*)```(?P<language>[a-z]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_NUMBER = re.compile(r"\b[0-9a-f]{8,64}\b|\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
_PROGRESS = re.compile(r"[A-Z].*: (stopped after )?\d+(\.\d+)? s")
"""What long work says when it is done: on a fast machine, nothing."""
_WITH_CARDS = {"source": {"columns": {"card": "card_id"}}}
_SHELL = set("|<>&;$`*?(){}")


class WrongError(AssertionError):
    """A page says what is not so."""


@dataclass(frozen=True)
class Block:
    """A block of a page, and what stands above it."""

    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str]

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    def wrong(self, why: str) -> WrongError:
        return WrongError(f"{self.where}: {why}")


def blocks(text: str, page: str) -> Iterator[Block]:
    """The blocks of a page, in their order."""
    for found in _BLOCK.finditer(text):
        marks = dict(re.findall(r"<!-- ([a-z ]+): (.+?) -->", found["marks"]))
        line = text.count("\n", 0, found.start("language")) + 1
        yield Block(page, line, found["language"], found["text"], marks)


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console, each with what is shown of its output."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, *shown = part.splitlines()
        yield line, shown


@dataclass
class Reader:
    """Somebody who types in what a page says."""

    folder: Path
    names: dict[str, Any] = field(default_factory=dict)

    def follow(self, block: Block) -> None:
        """Do what a block says; WrongError where it does not come true."""
        if unknown := set(block.marks) - set(MARKS):
            raise block.wrong(f"no such mark: {unknown}")
        if "file" in block.marks:
            (self.folder / block.marks["file"]).write_text(block.text, encoding="utf-8")
        if "not run" in block.marks:
            return
        {
            "console": self._type,
            "sh": self._script,
            "python": self._python,
            "pycon": self._dialogue,
            "toml": self._plan,
        }[block.language](block)

    def _type(self, block: Block) -> None:
        typed = list(commands(block))
        for index, (line, shown) in enumerate(typed):
            last = index == len(typed) - 1
            code, said = self.run(block.marks.get("run as", line) if last else line)
            if code != (int(block.marks.get("exit", 0)) if last else 0):
                raise block.wrong(f"`{line}` ended with {code}:\n{said}")
            self._compare(block, line, shown, said)

    def run(self, line: str) -> tuple[int, str]:
        """The exit code of a command, and what it says."""
        words = shlex.split(line, comments=True)
        if words[0] == "cd":
            self.folder = self.folder / words[1]
            return (0, "") if self.folder.is_dir() else (1, f"no folder {words[1]}")
        if words[0] == "tapveil" and not _SHELL & set(line.partition(" #")[0]):
            with mock.patch.object(os, "_exit", side_effect=RuntimeError("the summary could not be shown")):
                said = tapveil(self.folder, words[1:], together=True)  # without the second that it takes to start
            return said.code, said.out
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout

    def _compare(self, block: Block, line: str, shown: Sequence[str], said: str) -> None:
        mode = block.marks.get("output", "alike")
        lines = [each for each in said.splitlines() if not _PROGRESS.fullmatch(each)]
        if shown and mode != "an example" and not alike(shown, lines, exact=mode == "exact"):
            raise block.wrong(f"`{line}` says something else:\n{said}")

    def _script(self, block: Block) -> None:
        if "file" not in block.marks:
            code, said = self.run(f"set -e\n{block.text}")
            if code != int(block.marks.get("exit", 0)):
                raise block.wrong(f"it ended with {code}:\n{said}")

    def _python(self, block: Block) -> None:
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(block.text, block.where, "exec"), self.names)  # noqa: S102  our own pages

    def _dialogue(self, block: Block) -> None:
        for example in doctest.DocTestParser().get_examples(block.text):
            out = io.StringIO()
            with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
                exec(compile(example.source, block.where, "single"), self.names)  # noqa: S102  our own pages
            self._compare(block, example.source.strip(), example.want.splitlines(), out.getvalue())

    def _plan(self, block: Block) -> None:
        try:
            check_plan(block.text)
        except ValueError as error:
            raise block.wrong(str(error)) from None


def alike(shown: Sequence[str], said: Sequence[str], *, exact: bool = False) -> bool:
    """Whether the lines that are shown are those that are said: all of them, but for `...`, and but for numbers."""
    want, have = ([_plain(line, exact) for line in lines] for lines in (shown, said))
    pattern = "".join(r"(?:.*\n)*?" if line == ANY else re.escape(f"{line}\n") for line in want)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in have)) is not None


def _plain(line: str, exact: bool) -> str:
    if exact:
        return line.rstrip()
    return re.sub(r"\s+", " ", _NUMBER.sub("#", line)).strip()


def check_plan(text: str) -> None:
    """ValueError unless this is a plan, or a part that fits into one that ships with tapveil."""
    part = tomllib.loads(text, parse_float=Decimal)
    if {"release", "source", "privacy", "table"} <= set(part):
        Plan.model_validate(part)
        return
    problems = []
    for preset in PRESETS:
        whole = _merged(tomllib.loads(preset_text(preset), parse_float=Decimal), _WITH_CARDS)
        whole = _merged(whole, part)
        try:
            Plan.model_validate(whole)
            return
        except ValueError as error:
            problems.append(f"in the plan {preset}: {error}")
    raise ValueError("\n".join(problems))


def _merged(whole: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    both = {
        key: _merged(whole[key], value) if isinstance(value, dict) and isinstance(whole.get(key), dict) else value
        for key, value in part.items()
    }
    return {**whole, **both}


def check_command(line: str) -> None:
    """An error unless tapveil knows this command and its options. Nothing is run."""
    command, words = get_command(app), shlex.split(line, comments=True)[1:]
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]  # type: ignore[attr-defined]
    if hasattr(command, "commands") and words and not words[0].startswith("-"):
        raise ValueError(f"no such command: {line}")
    command.make_context(command.name, list(words), resilient_parsing=bool({"--help", "--version"} & set(words)))
