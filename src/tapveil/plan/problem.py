"""Mistakes in a plan, as values: where they are, which rule they break, and how to fix them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """One mistake. A table is located by its name, or by its number in the file: `("table", "on_time")`."""

    section: Location
    """Where it is: the section's name and those within it; empty for the whole plan."""
    code: str
    message: str
    key: str | None = None
    """The key of that section, where the mistake is in one."""

    @property
    def sentence(self) -> str:
        """The message, to follow the section; after the name of a table a key is in backticks."""
        key = f"`{self.key}`" if self.section[:1] == ("table",) else self.key
        return f"{key}: {self.message}" if self.key else self.message


@cache
def sentences() -> Mapping[str, Mapping[str, str]]:
    """What is said of mistakes, by their codes: `rules` between the parts of a plan, `types` and `parts` of keys."""
    return tomllib.loads((resources.files("tapveil.plan") / "problems.toml").read_text(encoding="utf-8"))


def problem(section: Location, code: str, key: str | None = None, **facts: object) -> Problem:
    """The mistake with this code: its words are in `problems.toml`, with places for the facts."""
    return Problem(section, code, sentences()["rules"][code].format(**facts), key)


class MisfitError(ValueError):
    """Each part of a plan is valid, but the parts do not fit together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = tuple(problems)
