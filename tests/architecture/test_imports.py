"""Who imports whom: the contracts of `pyproject.toml`, and what they cannot say."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tapveil
from tapveil.base.layouts import LAYOUTS
from tapveil.privacy.mechanisms import MECHANISMS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tapveil"
LINTER = Path(sys.executable).parent / "lint-imports"
GOLDEN = ROOT / "tests" / "golden"

SECRET = {"plan", "inputs", "trips", "counting"}
PUBLISHED = {"published", "verification", "tuning", "ledger", "delivery"}
BELOW = {"base", "privacy", "_version"}
ON_BOTH = {"veil", "internal", "demo", "studio", "cli", "__init__", "__main__"}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINTER), "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    return subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)


def test_the_contracts_are_kept() -> None:
    done = lint(SOURCE.parent)
    assert done.returncode == 0, done.stdout


PLANTED = {
    "a published file counts": ("published/csv.py", "import tapveil.counting.exact"),
    "inside of a function": ("verification/reading.py", "def later():\n    from tapveil.plan.rules import misfits"),
    "for types alone": (
        "ledger/refusals.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tapveil.trips.files import Trips",
    ),
    "through what both stand on": ("base/numbers.py", "from tapveil.inputs.public import PublicInputs"),
    "the other way": ("counting/packing.py", "from tapveil.published.table import PublishedTable"),
    "a dossier that could read a trip": ("internal/dossier/figures.py", "from tapveil.trips import files"),
    "upwards": ("plan/rules.py", "from tapveil.counting import exact"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_import_breaks_a_contract(planted: str, tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "tapveil", ignore=shutil.ignore_patterns("__pycache__"))
    file, line = PLANTED[planted]
    path = tmp_path / "tapveil" / file
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    done = lint(tmp_path)
    assert done.returncode == 1
    assert f"tapveil.{file.removesuffix('.py').replace('/', '.')} ->" in done.stdout


def test_every_module_is_on_exactly_one_side() -> None:
    sides = (SECRET, PUBLISHED, BELOW, ON_BOTH)
    packages = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    assert packages == set().union(*sides)
    assert sum(map(len, sides)) == len(packages)


def test_the_contracts_name_both_sides_whole() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = {each["id"]: each for each in tomllib.load(file)["tool"]["importlinter"]["contracts"]}
    roof = ON_BOTH - {"__init__", "__main__"}
    for name, side, other in (
        ("behind-the-veil", PUBLISHED, SECRET | roof),
        ("before-the-veil", SECRET, PUBLISHED | roof),
        ("pure", BELOW - {"_version"}, SECRET | PUBLISHED | roof),
    ):
        assert set(contracts[name]["source_modules"]) == {f"tapveil.{each}" for each in side}
        assert set(contracts[name]["forbidden_modules"]) == {f"tapveil.{each}" for each in other}


# --- what is loaded ---------------------------------------------------------------------------------------------------


def loaded_first(body: Iterable[ast.stmt]) -> Iterator[str]:
    """What a module imports when it is loaded: not in functions, and not for types alone."""
    for node in body:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from loaded_first(node.orelse)
            case ast.ImportFrom(module=str(module)):
                named = [f"{module}.{each.name}" for each in node.names]
                yield from (name if name in MODULES else module for name in named)
            case ast.Import():
                yield from (each.name for each in node.names)
            case ast.If() | ast.Try() | ast.With():
                yield from loaded_first(each for each in ast.walk(node) if isinstance(each, ast.stmt) and each != node)


def loaded_by(name: str) -> set[str]:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    return {each for each in loaded_first(tree.body) if each in MODULES} - {name, "tapveil"}


def longest_chain() -> list[str]:
    """Of imports that happen on loading; there are no cycles: `static_order` would refuse them."""
    graph = {name: loaded_by(name) for name in MODULES}
    chains: dict[str, list[str]] = {}
    for name in TopologicalSorter(graph).static_order():
        chains[name] = [*max((chains[other] for other in graph[name]), key=len, default=[]), name]
    return max(chains.values(), key=len)


LONGEST = 15
"""Modules in a row: whoever reads the last may have to know them all."""


def test_no_chain_of_imports_is_too_long() -> None:
    chain = longest_chain()
    assert len(chain) > 5
    assert len(chain) <= LONGEST, " <- ".join(chain)


def test_nothing_inside_comes_in_by_the_public_door() -> None:
    """It loads by name, so that no contract would see where it leads."""
    doors = {f"tapveil.{name}" for name in tapveil.__all__}
    for name, path in MODULES.items():
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        froms = {
            f"{node.module}.{each.name}" for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names
        }
        assert not doors & froms, name


LOADED = """
import sys
from contextlib import suppress
from tapveil.cli.app import app
with suppress(SystemExit):
    app(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
"""
ENGINES = {"duckdb", "pyspark", "sqlglot", "adbc_driver_manager", "adbc_driver_postgresql"}
COMMANDS = {
    "tune": ["tune", "--from", str(GOLDEN / "2" / "gaussian")],
    "verify": ["verify", str(GOLDEN / "2" / "laplace")],
    "ledger": ["ledger", "--ledger", "ledger.sqlite"],
    "ledger verify": ["ledger", "verify", "--ledger", "ledger.sqlite"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_looks_at_published_folders_loads_neither_an_engine_nor_the_counting(command: str, tmp_path: Path) -> None:
    for part in ("ledger.sqlite", "ledger.sqlite.head"):
        shutil.copy(GOLDEN / "ledger-1" / part, tmp_path)
    run = [sys.executable, "-c", LOADED, *COMMANDS[command]]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "tapveil.published.manifest" in loaded or "tapveil.ledger.book" in loaded, "the command did its work"
    assert not loaded & ENGINES
    assert not {name for name in loaded if name.startswith(("tapveil.counting", "tapveil.trips"))}


# --- sentences are for people -----------------------------------------------------------------------------------------

TAKEN_APART = set(
    "startswith endswith split rsplit partition rpartition removeprefix removesuffix find index count replace".split()
)


def sentences_compared(source: str) -> Iterator[str]:
    """Texts of several words that a program looks for: whoever rewords one would change what happens."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=left, comparators=others):
                found = [left, *others]
            case ast.Call(func=ast.Attribute(attr=method), args=arguments) if method in TAKEN_APART:
                found = arguments
            case ast.MatchValue(value=value):
                found = [value]
            case _:
                continue
        for part in found:
            inside = part.elts if isinstance(part, ast.Tuple | ast.List | ast.Set) else [part]
            texts = (each.value for each in inside if isinstance(each, ast.Constant))
            yield from (text for text in texts if isinstance(text, str) and _is_worded(text))


def _is_worded(text: str) -> bool:
    return " " in text and any(letter.isalpha() for letter in text)


OTHERS_WORDS = {
    "base.atomic": {"No space left"},  # of the system
    "counting.engines.duckdb.session": {"No space left"},
    "counting.engines.spark.session": {"No space left"},
    "cli.commands.ledger": {"Value error, "},  # of pydantic
    "internal.routine": {"Value error, "},
    "plan.toml": {"Input should be", "must be"},
    "verification.manifest": {" of "},  # a role, such as "lookup of bus": a code of the manifest
}


def test_no_code_compares_an_english_sentence() -> None:
    for name, path in MODULES.items():
        short = name.removeprefix("tapveil.")
        found = set(sentences_compared(path.read_text(encoding="utf-8")))
        assert not found - OTHERS_WORDS.get(short, set()), name


@pytest.mark.parametrize(
    "source",
    [
        'if "card is missing" in reason: pass',
        'reason == "a guess"',
        'reason in {"a guess", "b"}',
        'text.startswith(("Warning: ", "x"))',
        'text.split(" such as ")',
        'match reason:\n    case "a guess": pass',
    ],
)
def test_a_planted_sentence_is_seen(source: str) -> None:
    assert list(sentences_compared(source))
    assert not list(sentences_compared('text.split(" "), text.startswith("x"), a == "code-1", print("a b")'))


# --- what a mechanism or a layout is like is asked of it --------------------------------------------------------------

FAR_REACHING = {"opal", "dictionary", "world"}
"""Which cells get noise, and which files there are: every part of a release is concerned."""


def names_compared(source: str) -> Iterator[str]:
    """Names on which a program decides: whoever adds a mechanism or a layout would have to find them all."""
    for node in ast.walk(ast.parse(source)):
        found = []
        if isinstance(node, ast.Compare):
            found = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            found = [node.value]
        for part in found:
            inside = part.elts if isinstance(part, ast.Tuple | ast.List | ast.Set) else [part]
            yield from (each.value for each in inside if isinstance(each, ast.Constant) and each.value in FAR_REACHING)


def test_no_code_decides_on_the_name_of_a_mechanism_or_a_layout_that_reaches_far() -> None:
    """It asks `privacy/mechanisms.py` and `base/layouts.py`, where each says what it is like."""
    assert not {name for name, path in MODULES.items() if set(names_compared(path.read_text(encoding="utf-8")))}
    known = {*MECHANISMS, *LAYOUTS}
    assert known >= FAR_REACHING, "names that are no longer known would be looked for in vain"


@pytest.mark.parametrize(
    "source", ['if plan.layout == "opal": pass', 'x in ("sbh", "world")', 'match x:\n    case "dictionary": pass']
)
def test_a_planted_decision_on_a_name_is_seen(source: str) -> None:
    assert list(names_compared(source))
    assert not list(names_compared('LAYOUTS["opal"], a == "total", Literal["world"]'))
