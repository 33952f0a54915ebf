"""Edits of a plan: a key and its value. Comments, order and everything else in the file stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import tomlkit
from tomlkit.exceptions import TOMLKitError

from tapveil.base.errors import PlanError, UsageError


class Edit(TypedDict):
    """A place in the plan, and what is to be there; None for nothing. A table is named: `["table", "on_time"]`."""

    at: list[str]
    value: Any


def read_edits(given: object) -> list[Edit]:
    """What the page sends; UsageError where it is no list of edits."""
    found: list[Edit] = []
    for each in given if isinstance(given, list) else [given] if given else []:
        match each:
            case {"at": [str(), *_] as at, **more} if all(isinstance(part, str) for part in at):
                found.append({"at": at, "value": more.get("value")})
            case _:
                raise UsageError("an edit needs `at`, the place in the plan, and `value`")
    return found


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text of a plan after some edits.

    >>> print(edited('[privacy]\\nepsilon = 1  # strong\\n', [{"at": ["privacy", "epsilon"], "value": 2}]), end="")
    [privacy]
    epsilon = 2  # strong
    """
    if not edits:
        return text
    try:
        document: Any = tomlkit.parse(text)
        for edit in edits:
            _apply(document, edit["at"], edit["value"])
        return str(document.as_string())
    except TOMLKitError as error:
        raise PlanError(f"the plan is not valid TOML, so it cannot be edited here: {error}") from None


def _apply(document: Any, at: Sequence[str], value: Any) -> None:
    if at[0] == "table" and len(at) > 1:
        _apply_to_table(document, at[1:], value)
        return
    *sections, key = at
    within = document
    for name in sections:
        if name not in within:
            if value is None:
                return
            within[name] = tomlkit.table()
        within = within[name]
        if not isinstance(within, Mapping):
            raise UsageError(f"{'.'.join(at)} is no place in this plan")
    _set(within, key, value)


def _apply_to_table(document: Any, at: Sequence[str], value: Any) -> None:
    name, *inside = at
    tables = document.get("table")
    if tables is None:
        document["table"] = tables = tomlkit.aot()
    place = next((number for number, each in enumerate(tables) if each.get("name") == name), None)
    if inside:
        if place is None:
            raise UsageError(f"the plan has no table `{name}`")
        if len(inside) > 1:
            raise UsageError(f"table.{'.'.join(at)} is no place in this plan")
        _set(tables[place], inside[0], value)
    elif value is None:
        if place is not None:
            del tables[place]
    else:
        made = tomlkit.table()
        made.update({"name": name, **{key: each for key, each in dict(value).items() if key != "name"}})
        if place is None:
            tables.append(made)
        else:
            tables[place] = made


def _set(section: Any, key: str, value: Any) -> None:
    if value is None:
        if key in section:
            del section[key]
    elif key in section and section[key] == value:
        return  # written another way, it means the same
    else:
        section[key] = value
