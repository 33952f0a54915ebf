"""The plan as a file: reading its text, and naming the place of every mistake in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import pydantic

from tapveil.base.errors import PlanError, did_you_mean

Location = tuple[str | int, ...]


def read_text(path: Path) -> str:
    """The text of a plan file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        hint = "`tapveil plan opal -o plan.toml` writes one to start from"
        raise PlanError(f"there is no plan {path}; {hint}") from None
    except IsADirectoryError:
        raise PlanError(f"{path} is a folder; name the plan file in it") from None
    except PermissionError:
        raise PlanError(f"no permission to read {path}") from None
    except UnicodeDecodeError:
        raise PlanError(f"{path} is not UTF-8 text; save it as UTF-8") from None


def explain(
    error: pydantic.ValidationError,
    model: type[pydantic.BaseModel],
    data: dict[str, Any],
    text: str,
    where: str,
) -> str:
    """All mistakes of a plan, a line each: file, line, place, what is wrong, what to do."""
    problems = list(_without_echoes(error.errors(), model))
    lines = [line for problem in problems for line in _explain_one(problem, model, data, text)]
    if len(lines) == 1:
        return f"{where}: {lines[0]}"
    return f"{where} has {len(lines)} mistakes:\n" + "\n".join(f"  {line}" for line in lines)


def _without_echoes(problems: list[Any], model: type[pydantic.BaseModel]) -> Iterator[Any]:
    """A misspelt key is one mistake: leave out that the right spelling is missing."""
    misspelt = [problem["loc"] for problem in problems if problem["type"] == "extra_forbidden"]
    meant = {(*loc[:-1], _suggestion(str(loc[-1]), model, loc[:-1])) for loc in misspelt}
    inside = {problem["loc"][:length] for problem in problems for length in range(len(problem["loc"]))}
    for problem in problems:
        emptied = problem["type"] == "too_short" and problem["loc"] in inside  # a wrong table is not counted as one
        if not emptied and (problem["type"] != "missing" or problem["loc"] not in meant):
            yield problem


def _suggestion(key: str, model: type[pydantic.BaseModel], location: Location) -> str:
    return did_you_mean(key, _keys_of(model, location)).removeprefix(": did you mean `").removesuffix("`?")


_PLAINER = {
    "tuple_type": 'must be a list, such as ["a", "b"]',
    "dict_type": "must be a section of its own",
    "model_type": "must be a text, or a section of its own",
    "string_type": "must be a text, in quotes",
    "too_short": "must not be empty",
    "too_long": "has too many entries",
    "string_too_short": "must not be empty",
    "string_too_long": "is too long",
    "string_pattern_mismatch": "must start with a letter a-z, then only a-z, 0-9, _ and -",
}
"""What pydantic's types of mistake are called here, where its own words are a programmer's."""


_HOW = {
    "level": "must be written as { time_minutes = 60 }, or the like",
    "levels": 'must be a list of { name = "hour", time_minutes = 60 }, or the like',
    "wider": 'belongs into a section for a mode, such as [coarsen.wider.region.bus], or ….region."*" for every mode',
}
"""How parts of a plan are written that are easily written in another way."""


def _explain_one(problem: Any, model: type[pydantic.BaseModel], data: dict[str, Any], text: str) -> Iterator[str]:
    location: Location = tuple(part for part in problem["loc"] if part != "[key]")
    if not location:  # found between the parts: the message carries its own places
        for line in str(problem["msg"]).removeprefix("Value error, ").splitlines():
            yield f"{_line_named(line, text)}{line}"
        return
    named = location
    while len(named) > 1 and isinstance(named[-1], int):  # an entry of a list is named by the list
        named = named[:-1]
    key = str(named[-1])
    sentence = _sentence(problem, key, _keys_of(model, named[:-1]))
    if problem["type"] == "model_type" and key in _HOW:
        sentence = f"`{key}`: {_HOW[key]}"
    if problem["type"] == "model_type" and named[:2] == ("coarsen", "wider"):
        sentence = f"`{key}`: {_HOW['wider']}"
    yield f"{_place(named[:-1], data, text, key)}{sentence}"


def _sentence(problem: Any, key: str, keys: list[str]) -> str:
    if problem["type"] == "extra_forbidden":
        return f"unknown key `{key}`{did_you_mean(key, keys)}"
    if problem["type"] == "missing":
        return f"`{key}` is missing"
    words = str(problem["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    hint = ""
    if problem["type"] == "literal_error":
        hint = did_you_mean(str(problem["input"]), re.findall(r"'([^']+)'", problem["ctx"]["expected"]))
    return f"`{key}`: {_PLAINER.get(problem['type'], words)}{hint}"


def _keys_of(model: Any, location: Iterable[str | int]) -> list[str]:
    """The keys that may stand at a place in the plan."""
    for part in location:
        model = model.model_fields[part].annotation if isinstance(part, str) and _has(model, part) else model
        model = _inner_model(model)
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _has(model: Any, field: str) -> bool:
    return isinstance(model, type) and issubclass(model, pydantic.BaseModel) and field in model.model_fields


def _inner_model(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    inner = (_inner_model(argument) for argument in get_args(annotation))
    return next((model for model in inner if model is not None), None)


def _place(location: Location, data: dict[str, Any], text: str, key: str) -> str:
    line = _line_of(location, key, text)
    at = f"line {line}, " if line else ""
    if not location:
        return f"{at}" if line else ""
    if location[0] == "table" and len(location) > 1:
        name = _table_name(data, int(location[1]))
        level = f"level {int(location[3]) + 1}: " if location[2:3] == ("levels",) and len(location) > 3 else ""
        where = f"[[table]] {name}: "
        return f"{at or _line_named(where, text)}{where}{level}"
    return f"{at}[{'.'.join(str(part) for part in location)}] "


def _table_name(data: dict[str, Any], index: int) -> str:
    name = data["table"][index].get("name") if isinstance(data["table"][index], dict) else None
    return str(name) if name else f"number {index + 1}"


def _line_named(message: str, text: str) -> str:
    """The line of the table, or of the key of a section, that a message starts with."""
    if key := re.match(r"\[(\w+)\] (\w+):", message):
        line = _line_of((key[1],), key[2], text)
        return f"line {line}, " if line else ""
    table = re.match(r"\[\[table\]\] ([^:]+):", message)
    if not table:
        return ""
    pattern = rf"\s*name\s*=\s*[\"']{re.escape(table[1])}[\"']"
    lines = [number for number, line in enumerate(text.splitlines(), start=1) if re.match(pattern, line)]
    return f"line {lines[-1]}, " if lines else ""


def _line_of(location: Location, key: str, text: str) -> int | None:
    """The line of a key, found by reading the section headers; None where the file spells it another way."""
    section: tuple[str, ...] = ()
    tables, wanted = -1, tuple(str(part) for part in location)
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*(\[\[?)\s*([^\]]+?)\s*\]", line)
        if header:
            names = tuple(part.strip().strip("\"'") for part in header[2].split("."))
            tables += header[1] == "[["
            section = (*names, str(tables)) if header[1] == "[[" else names
            if section == (*wanted, key):
                return number
        elif section == wanted and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return None
