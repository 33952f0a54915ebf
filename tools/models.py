"""A pydantic model as a table: each key, what may be written for it, and what the docstring below it says."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tapveil.base import types
from tapveil.base.numbers import clock_text

Model = type[BaseModel]

_NAMED = (
    (types.Name, "a name: a-z, then a-z, 0-9, `_`, `-`"),
    (types.Texts, "a text, or a list of texts"),
    (types.Text, "a text"),
    (types.Clock, 'a clock time such as `"04:00"`'),
    (types.Hours, 'hours such as `"05:00-24:00"`'),
    (types.Epsilon, "a number above 0, or a fraction in quotes"),
    (types.Delta, "a number from 0 to below 1, or a fraction in quotes"),
    (types.Weight, "a number above 0, or a fraction in quotes"),
    (types.Exact, "a number, or a fraction in quotes"),
    (types.Delimiter, "one character"),
)
"""What our own types are called; one that is made from another stands before it."""
_RULES = {
    "_divides_a_day": "a whole number that divides 1440",
    "known_zone": "the name of a time zone",
    "_is_release_id": "32 digits and a-f",
}
"""What a rule makes of a type."""
_PATTERNS = {"^[0-9a-f]{64}$": "64 digits and a-f", "^[0-9a-f]{32}$": "32 digits and a-f"}
_PLAIN = {
    bool: "`true` or `false`",
    int: "a whole number",
    float: "a number",
    str: "a text",
    date: "a day",
    Any: "a value",
}


def plan_table(model: Model) -> str:
    """A part of a plan, as a Markdown table."""
    lines = ["| key | takes | default | meaning |", "|---|---|---|---|"]
    for key, hint, field, said in keys(model):
        lines.append(row(f"`{key}`", takes(hint), _default(hint, field), said))
    return "\n".join(lines)


def json_table(model: Model, leave_out: Collection[str] = ()) -> str:
    """A JSON object that is read back, as a Markdown table."""
    lines = ["| key | holds | meaning |", "|---|---|---|"]
    for key, hint, field, said in keys(model):
        if key not in leave_out:
            lines.append(row(f"`{key}`", _holds(hint, field), said))
    return "\n".join(lines)


def row(*cells: str) -> str:
    """A row of a Markdown table."""
    safe = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(safe)} |"


def keys(model: Model) -> Iterator[tuple[str, Any, FieldInfo, str]]:
    """Each key: its name, its type, its field, and what it means."""
    hints, said = get_type_hints(model, include_extras=True), docstrings(model)
    for name, field in model.model_fields.items():
        if name not in said:
            raise ValueError(f"{model.__name__}.{name} has no docstring: write below it what it means")
        yield field.alias or name, hints[name], field, said[name]


def inside(model: Model) -> set[Model]:
    """The models that stand in a model, at any depth."""
    found: set[Model] = set()
    waiting: list[Any] = list(get_type_hints(model, include_extras=True).values())
    while waiting:
        hint = waiting.pop()
        waiting += get_args(hint)
        if inspect.isclass(hint) and issubclass(hint, BaseModel) and hint not in found:
            found.add(hint)
            waiting += get_type_hints(hint, include_extras=True).values()
    return found


def docstrings(model: type) -> dict[str, str]:
    """What stands below each field, those of the classes it comes from included."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if each is not BaseModel and (issubclass(each, BaseModel) or each.__module__.startswith("tapveil.")):
            body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
            found |= _below_fields(body.body if isinstance(body, ast.ClassDef) else [])
    return found


def _below_fields(body: Sequence[ast.stmt]) -> dict[str, str]:
    return {
        field.target.id: " ".join(str(below.value.value).split())
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }


def takes(hint: Any) -> str:
    """What may be written for a type, in words."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(hint)
    if origin in (Union, UnionType):
        kinds = [each for each in parts if each is not type(None)]
        return "a number" if set(kinds) == {int, float} else " or ".join(map(takes, kinds))
    if origin is Literal:
        return ", ".join(f"`{json.dumps(each)}`" for each in parts)
    if origin in (tuple, list):
        return f"a list of {_many(takes(parts[0]))}"
    if origin is dict:
        words = takes(parts[1]).removesuffix(" for each")
        return f"{'one of ' if get_origin(parts[1]) is Literal else ''}{words} for each"
    if inspect.isclass(hint) and issubclass(hint, BaseModel):
        return "a section"
    return _PLAIN[hint]


def _annotated(hint: Any) -> str:
    kind, *said = get_args(hint)
    for named, words in _NAMED:
        own, *rules = get_args(named)
        if kind == own and said[: len(rules)] == rules:
            return words
    for rule in said:
        if (name := getattr(getattr(rule, "func", None), "__name__", "")) in _RULES:
            return _RULES[name]
    bounds = {key: value for rule in said if isinstance(rule, FieldInfo) for key, value in _bounds(rule)}
    if bounds.get("pattern") in _PATTERNS:
        return _PATTERNS[bounds["pattern"]]
    if kind is int and bounds:
        return f"a whole number from {bounds.get('ge', 0)}" + (f" to {bounds['le']}" if "le" in bounds else "")
    return takes(kind)


def _bounds(rule: FieldInfo) -> Iterator[tuple[str, Any]]:
    for each in rule.metadata:
        for key in ("ge", "le", "pattern"):
            if (value := getattr(each, key, None)) is not None:
                yield key, value


def _many(words: str) -> str:
    first, _, rest = words.partition(",")
    if words in ("a text", "a section", "a whole number"):
        return f"{words.removeprefix('a ')}s"
    return words.replace("a clock time", "clock times") if not rest else f"{first},{rest}"


def _holds(hint: Any, field: FieldInfo) -> str:
    words = takes(hint).replace("a section", "an object").replace("a list of sections", "a list of objects")
    words = re.sub(r"a number.*, or a fraction in quotes", "a fraction, as a text", words)
    kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    if type(None) not in get_args(kind):
        return words
    return f"{words}; may be left out" if field.default is None else f"{words}, or `null`"


def _default(hint: Any, field: FieldInfo) -> str:
    value = field.default
    if value is PydanticUndefined:
        return "**needed**"
    if value in (None, {}, ()) or isinstance(value, BaseModel):
        return ""
    if isinstance(value, Fraction):
        return f'`"{value * 100} %"`'
    if hint == types.Clock:
        return f'`"{clock_text(value)}"`'
    return f"`{json.dumps(value)}`"
