"""The plan as a file: read its text, and locate every mistake in it."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pydantic

from tapveil.base.errors import PlanError, closest, did_you_mean
from tapveil.plan.problem import Location, MisfitError, Problem, sentences


def read_text(path: Path) -> str:
    """The text of a plan file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        hint = "write one with `tapveil plan opal -o plan.toml`"
        raise PlanError(f"there is no plan {path}; {hint}") from None
    except IsADirectoryError:
        raise PlanError(f"{path} is a folder; name the plan file in it") from None
    except PermissionError:
        raise PlanError(f"no permission to read {path}") from None
    except UnicodeDecodeError:
        raise PlanError(f"{path} is not UTF-8 text; save it as UTF-8") from None


def explain(error: pydantic.ValidationError, model: type[pydantic.BaseModel], text: str, where: str) -> str:
    """All mistakes in a plan, one per line: file, line, section, what is wrong, what to do."""
    data, known = tomllib.loads(text), lines(text)
    found = [f"{_place(problem, data, known)}{problem.sentence}" for problem in problems(error, model)]
    if len(found) == 1:
        return f"{where}: {found[0]}"
    return f"{where} has {len(found)} mistakes:\n" + "\n".join(f"  {line}" for line in found)


# --- what is wrong ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Misread(Problem):
    """A mistake in a single key, by its type. The code is from pydantic."""

    @property
    def sentence(self) -> str:
        if self.code == "extra_forbidden":
            return f"unknown key `{self.key}`{self.message}"
        return f"`{self.key}` is missing" if self.code == "missing" else f"`{self.key}`: {self.message}"


def problems(error: pydantic.ValidationError, model: type[pydantic.BaseModel]) -> Iterator[Problem]:
    """Each mistake once: a misspelt key is not also missing, and a list with wrong entries is not also empty."""
    found = error.errors()
    misspelt = [each["loc"] for each in found if each["type"] == "extra_forbidden"]
    meant = {(*loc[:-1], closest(str(loc[-1]), _keys(_inside(model, loc[:-1])))) for loc in misspelt}
    inside = {each["loc"][:length] for each in found for length in range(len(each["loc"]))}
    echoes: dict[str, set[Any]] = {"missing": meant, "too_short": inside}
    for each in found:
        cause = each.get("ctx", {}).get("error")
        if isinstance(cause, MisfitError):
            yield from cause.problems
        elif each["loc"] not in echoes.get(each["type"], ()):
            yield _misread(each, model)


def _misread(error: Any, model: type[pydantic.BaseModel]) -> Problem:
    location: Location = tuple(part for part in error["loc"] if part != "[key]")
    while len(location) > 1 and isinstance(location[-1], int):  # an entry of a list is named by the list
        location = location[:-1]
    section, key = location[:-1], str(location[-1])
    code, cause = error["type"], error.get("ctx", {}).get("error")
    words = str(cause) if cause else str(error["msg"]).replace("Input should be", "must be")
    message = sentences()["types"].get(code, words)
    if code == "extra_forbidden":
        message = did_you_mean(key, _keys(_inside(model, section)))
    elif code == "literal_error":
        message += did_you_mean(str(error["input"]), _choices(_inside(model, location)))
    elif code == "model_type":
        part = "wider" if location[:2] == ("coarsen", "wider") else key
        message = sentences()["parts"].get(part, message)
    return _Misread(section, code, message, key)


# --- the model --------------------------------------------------------------------------------------------------------


def _inside(annotation: Any, location: Iterable[str | int]) -> Any:
    """The type at a location in the plan. Names of modes and numbers of entries lead into it."""
    for part in location:
        keys = _keys(annotation)
        annotation = keys[str(part)].annotation if part in keys else annotation
    return annotation


def _model(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    return next(filter(None, map(_model, get_args(annotation))), None)


def _keys(annotation: Any) -> dict[str, Any]:
    model = _model(annotation)
    return {field.alias or name: field for name, field in model.model_fields.items()} if model else {}


def _choices(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [str(each) for each in get_args(annotation)]
    return [choice for each in get_args(annotation) for choice in _choices(each)]


# --- the place --------------------------------------------------------------------------------------------------------


def _place(problem: Problem, data: Mapping[str, Any], known: Mapping[Location, int]) -> str:
    """The line of a key; if there is no such key, that of its section or of the name of its table."""
    section, key, shown = problem.section, problem.key, ""
    if section[:1] == ("table",) and len(section) > 1:
        tables, which = data["table"], section[1]
        if isinstance(which, str):
            which = max(number for number, table in enumerate(tables) if which in _made(table))
        named = tables[which].get("name") if isinstance(tables[which], dict) else None
        shown = f"[[table]] {section[1] if isinstance(section[1], str) else named or f'number {which + 1}'}: "
        if section[2:3] == ("levels",) and len(section) > 3:
            shown += f"level {int(section[3]) + 1}: "
        section = ("table", which, *section[2:])
    elif section:
        name = ".".join(map(str, section))
        shown = (f"[[{name}]]" if section == ("table",) else f"[{name}]") + (" " if key else ": ")
    title = [(*section, "name")] if section[:1] == ("table",) else []
    places: list[Location] = [(*section, key or ""), *title, section, section[:2]]
    line = next((known[place] for place in places if place in known), None)
    return f"line {line}, {shown}" if line else shown


def _made(table: Any) -> list[str]:
    """The names of the tables made from one [[table]] of the file."""
    levels = table.get("levels") or [{}]
    return [f"{table['name']}-{level['name']}" if "name" in level else table["name"] for level in levels]


def lines(text: str) -> dict[Location, int]:
    """The line on which each section and each key starts.

    TOML libraries do not report lines, so each statement is parsed separately: lines are joined until they parse,
    which is where a statement ends.

    >>> lines('[a]\\nb = [\\n]\\n[[t]]\\n[[t]]\\nc.d = 2')
    {('a',): 1, ('a', 'b'): 2, ('t', 0): 4, ('t', 1): 5, ('t', 1, 'c'): 6, ('t', 1, 'c', 'd'): 6}
    """
    found: dict[Location, int] = {}
    entries: Counter[Location] = Counter()
    section: Location = ()
    statement, start = "", 1
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        statement, start = (f"{statement}\n{line}", start) if statement else (line, number)
        try:
            said: Any = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        if statement.lstrip().startswith("["):
            section = ()
            while said:
                ((name, said),) = said.items()
                section = (*section, name)
                entries[section] += isinstance(said, list)
                section = (*section, entries[section] - 1) if entries[section] else section
                said = said[0] if isinstance(said, list) else said
            found[section] = start
        else:
            found.update(dict.fromkeys(_paths(said, section), start))
        statement = ""
    return found


def _paths(value: Any, location: Location) -> Iterator[Location]:
    within = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in within:
        yield (*location, name)
        yield from _paths(each, (*location, name))
