"""The public names of the library as a page, from their docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType
from typing import Any

import tapveil
from tapveil import privacy
from tapveil.base import errors
from tools.models import docstrings

MODULES: tuple[ModuleType, ...] = (tapveil, privacy)
SECTIONS = ("Args", "Returns", "Raises", "Example")
_SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):$", re.MULTILINE)
_CONSTANTS = {
    "MISS": "The probability of a miss of the intervals in a folder: 1/20.",
    "__version__": "The version of tapveil.",
    "RandomBytes": "A source of randomness: from a number to that number of random bytes, such as `os.urandom`.",
    "Neighbours": 'A notion of neighbours: `"add-remove"` or `"replace"`.',
    "Unit": 'A unit of protection: `"trip"`, `"card-day"` or `"card"`.',
}
"""Values and types cannot have a docstring: what they are."""


def page() -> Iterator[str]:
    """The sections of the page."""
    for module in MODULES:
        groups = {"functions": list[str](), "classes": list[str](), "values": list[str](), "errors": list[str]()}
        for name in module.__all__:
            groups[kind_of(module, name)].append(name)
        for kind, names in groups.items():
            if kind == "errors" and names:
                tree = (errors.__doc__ or "").split("\n\n")[1]
                yield f"## `{module.__name__}`: errors\n```text\n{textwrap.dedent(tree)}\n```"
            elif names:
                yield "\n\n".join([f"## `{module.__name__}`: {kind}", *(_entry(module, name) for name in names)])


def kind_of(module: ModuleType, name: str) -> str:
    """To which group of the page a name belongs."""
    value = getattr(module, name)
    if name in _CONSTANTS:
        return "values"
    if not inspect.isclass(value):
        return "functions"
    return "errors" if issubclass(value, Exception) else "classes"


def methods(cls: type) -> dict[str, Any]:
    """The public methods that a class has itself, without properties."""
    found = {
        name: getattr(value, "__func__", value) for name, value in dict(vars(cls)).items() if not name.startswith("_")
    }
    ours = (each for each in found.items() if inspect.isfunction(each[1]))
    return {name: value for name, value in ours if value.__module__.startswith("tapveil.")}


def parts(function: Any) -> dict[str, str]:
    """A docstring by its sections; the words before them are under no name."""
    first, *rest = _SECTION.split(inspect.getdoc(function) or "")
    return {"": first.strip()} | {
        name: textwrap.dedent(text).strip("\n") for name, text in zip(rest[::2], rest[1::2], strict=True)
    }


def _entry(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    if name in _CONSTANTS:
        return f"### `{name}`\n{_CONSTANTS[name]}"
    if not inspect.isclass(value):
        return _function(f"### `{name}", value)
    lines = [f"### `{name}`\n{_words(parts(value)[''])}"]
    if fields := _fields(value):
        lines.append("\n".join(f"- `{field}`: {words}" for field, words in fields.items()))
    lines += [_function(f"#### `{name}.{method}", function) for method, function in methods(value).items()]
    return "\n\n".join(lines)


def _fields(cls: type) -> dict[str, str]:
    """The attributes and properties of a class that say what they are."""
    said = {name: words for name, words in docstrings(cls).items() if not name.startswith("_")}
    for name, value in dict(vars(cls)).items():
        getter = value.func if isinstance(value, cached_property) else getattr(value, "fget", None)
        if getter is not None and not name.startswith("_") and getter.__doc__:
            said[name] = inspect.cleandoc(getter.__doc__)
    return {name: " ".join(words.split()) for name, words in said.items()}


def _function(heading: str, function: Any) -> str:
    found = parts(function)
    blocks = [f"{heading}{_signature(function)}`\n{_words(found[''])}"]
    for name in ("Args", "Raises"):
        if name in found:
            items = re.split(r"\n(?=\S)", found[name])
            named = (item.partition(": ") for item in items)
            blocks.append(
                f"{'Arguments' if name == 'Args' else name}:\n\n"
                + "\n".join(f"- `{word}`: {' '.join(words.split())}" for word, _, words in named)
            )
        if name == "Args" and "Returns" in found:
            blocks.append(f"Returns: {' '.join(found['Returns'].split())}")
    if "Args" not in found and "Returns" in found:
        blocks.insert(1, f"Returns: {' '.join(found['Returns'].split())}")
    if "Example" in found:
        blocks.append(f"```pycon\n{found['Example']}\n```")
    return "\n\n".join(blocks)


def _signature(function: Any) -> str:
    """The parameters without types, for the eye."""
    arguments = inspect.signature(function).parameters.values()
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in arguments if each.name not in ("self", "cls")]
    return str(inspect.Signature(plain))


def _words(text: str) -> str:
    """Prose, with examples in it as code."""
    blocks = [
        f"```pycon\n{block}\n```" if block.lstrip().startswith(">>>") else " ".join(block.split())
        for block in text.split("\n\n")
    ]
    return "\n\n".join(blocks)
