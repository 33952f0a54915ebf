"""Open questions of a plan: where it says "?", only who knows the export can say more.

`tapveil init` leaves them where nobody could be asked, with the question as a comment above: `# ? …`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tapveil.plan import toml
from tapveil.plan.problem import Location

OPEN = "?"
MARK = "# ? "
"""Before each line of a question."""


@dataclass(frozen=True)
class OpenQuestion:
    """A key that has no answer yet."""

    line: int
    place: str
    """Section and key."""
    text: str

    def __str__(self) -> str:
        return f"line {self.line}, {self.place}: {self.text}"


def open_questions(data: Mapping[str, Any], text: str) -> list[OpenQuestion]:
    """The questions of a plan, in its order.

    >>> plan = '[source]\\n# ? Is a row a trip?\\n# ? Or a tap?\\nshape = "?"\\n'
    >>> [str(each) for each in open_questions({"source": {"shape": "?"}}, plan)]
    ['line 4, [source] shape: Is a row a trip? Or a tap?']
    """
    places = list(_open(data, ()))
    if not places:
        return []
    known, written = toml.lines(text), text.replace("\r\n", "\n").split("\n")
    found = []
    for location in places:
        line = next(known[location[:end]] for end in range(len(location), 0, -1) if location[:end] in known)
        named = [str(part) for part in location if isinstance(part, str)]
        place = f"[{'.'.join(named[:-1])}] {named[-1]}" if len(named) > 1 else named[0]
        found.append(OpenQuestion(line, place, _above(written, line) or 'write the answer instead of "?"'))
    return sorted(found, key=lambda question: question.line)


def _open(value: Any, location: Location) -> Iterator[Location]:
    """Where a plan says "?"; as a word for a missing value it is no question."""
    if value == OPEN:
        yield location
    elif isinstance(value, dict):
        for name, each in value.items():
            if name != "missing":
                yield from _open(each, (*location, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _open(each, location if each == OPEN else (*location, number))


def _above(written: list[str], line: int) -> str:
    """The question in the lines directly above one."""
    first = line - 1
    while first > 0 and written[first - 1].startswith(MARK):
        first -= 1
    return " ".join(each.removeprefix(MARK).strip() for each in written[first : line - 1])


def explain(questions: list[OpenQuestion], where: str) -> str:
    """All of them, a line each, and what to do."""
    several = "an open question" if len(questions) == 1 else f"{len(questions)} open questions"
    listed = "\n".join(f"  {question}" for question in questions)
    return f'{where} has {several}: answer in place of "?", then run this again.\n{listed}'
