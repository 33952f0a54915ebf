"""What differs between two plans, by what they mean: keys, not lines of text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tapveil.ledger.approval import Statement

What = Literal["plan", "file", "program", "promise", "period"]


@dataclass(frozen=True)
class Difference:
    """One key, or one public file, that is not what it was."""

    what: What
    name: str
    """The key in the plan, such as `privacy.epsilon`; or the role of the file."""
    before: str | None
    """As JSON; of a file, its SHA-256. None: it was not there."""
    after: str | None
    """None: it is no longer there."""


def of_plans(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """Which keys of a plan differ. Tables are compared by their names; if nothing else differs, their order does."""
    found = list(_of(dict(_keys(before)), dict(_keys(after)), "plan"))
    yield from found
    if not found and before != after:
        yield Difference(
            "plan", "table", *(_text([table["name"] for table in each["table"]]) for each in (before, after))
        )


def of_files(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    """Which public files differ."""
    yield from _of(_paths(before), _paths(after), "file")


def of_statements(before: Statement, after: Statement) -> Iterator[Difference]:
    """What an officer would approve that was not approved before."""
    yield from _of(_promise(before), _promise(after), "promise")
    yield from of_plans(before.plan, after.plan)
    yield from of_files(before.files, after.files)
    periods = [_paths({"every": each.every or "", "template": each.template or ""}) for each in (before, after)]
    yield from _of(periods[0], periods[1], "period")
    yield from _of(_paths({"tapveil": before.tapveil}), _paths({"tapveil": after.tapveil}), "program")


Keys = Mapping[tuple[str, ...], str]


def _promise(of: Statement) -> Keys:
    return _paths({"unit": of.unit, "neighbours": of.neighbours, "epsilon": str(of.epsilon), "delta": str(of.delta)})


def _paths(flat: Mapping[str, str]) -> Keys:
    return {(key,): value for key, value in flat.items() if value}


def _of(before: Keys, after: Keys, what: What) -> Iterator[Difference]:
    for path in dict.fromkeys([*before, *after]):
        if before.get(path) != after.get(path):
            name = _name(path) if what == "plan" else path[0]
            yield Difference(what, name, before.get(path), after.get(path))


def _name(path: tuple[str, ...]) -> str:
    """A key as TOML has it: what is not a plain word is in quotes, so that no key looks like another."""
    return ".".join(key if re.fullmatch(r"[\w-]+", key) else _text(key) for key in path)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _keys(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every key below a value, with its value as JSON; what has a name is known by it, not by its place."""
    inside = value if isinstance(value, dict) else _by_name(value)
    if not inside:
        yield path, _text(value)
        return
    for key, each in inside.items():
        yield from _keys(each, (*path, str(key)))


def _by_name(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, list) or not all(isinstance(each, dict) and "name" in each for each in value):
        return None
    named = {str(each["name"]): each for each in value}
    return named if len(named) == len(value) else None
