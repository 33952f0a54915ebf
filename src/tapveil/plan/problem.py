"""What is wrong with a plan, as values: where, which rule, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """One mistake. A table is located by its name, or by its number in the file: `("table", "on_time")`."""

    section: Location
    """Where it is: the section's name and those within it; nothing for the plan as a whole."""
    code: str
    message: str
    key: str | None = None
    """The key of that section, where it is about one."""

    @property
    def sentence(self) -> str:
        """What is said of it, after its section; after the name of a table a key is marked as one."""
        key = f"`{self.key}`" if self.section[:1] == ("table",) else self.key
        return f"{key}: {self.message}" if self.key else self.message


class MisfitError(ValueError):
    """The parts of a plan are right by themselves, and do not fit together."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = tuple(problems)
