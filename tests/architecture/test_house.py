"""The rules of the house, held by reading the source: the secret side and the published side never mix."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import tapveil
from tapveil.base.vocabulary import CONSISTENT, EXPLORER, FINEST
from tapveil.published.describe.metadata import METADATA

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tapveil"
PURE_STDLIB = set("abc bisect collections dataclasses decimal fractions functools heapq itertools math typing".split())


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def source_of(name: str) -> str:
    return MODULES[name].read_text(encoding="utf-8")


def imports(source: str) -> set[str]:
    """Everything that a module imports by name, and the packages around it: they are run as well."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import hides where it leads"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    # names of the public door stand for the modules behind it
    found |= {f"tapveil.{home}" for name, home in tapveil._MODULE_OF.items() if f"tapveil.{name}" in found}
    return {".".join(parts) for name in found for parts in accumulate([[part] for part in name.split(".")])}


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}
GRAPH = {
    name: {other for other in imports(source_of(name)) if other in MODULES} - {"tapveil", name} for name in MODULES
}


def test_help_waits_for_no_engine() -> None:
    """Start-up is what is imported: the command line alone loads nothing that computes."""
    heavy = "{'duckdb', 'numpy', 'pyarrow', 'pydantic', 'cryptography'}"
    script = f"import sys, tapveil.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- what is read, made and called ------------------------------------------------------------------------------------


def uses(source: str, attribute: str) -> bool:
    """Whether an attribute of this name is read, also by a pattern of `match`."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr == attribute)
        or (isinstance(node, ast.MatchClass) and attribute in node.kwd_attrs)
        for node in ast.walk(ast.parse(source))
    )


def calls(source: str, name: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id == name:
            return True
        if isinstance(called, ast.Attribute) and called.attr == name:
            return True
    return False


def users(attribute: str) -> set[str]:
    return {name for name in MODULES if uses(source_of(name), attribute)}


def callers(function: str) -> set[str]:
    return {name for name in MODULES if calls(source_of(name), function)}


def test_exact_counts_are_read_by_the_veil_and_by_what_is_for_the_custodian_alone() -> None:
    """The audit, the intruder and the demo read those of generated trips; a forecast is the custodian's, like `check`.

    The digest, by which a release that goes on knows its counts again, never leaves the unfinished release.
    """
    assert {name for name in MODULES if "tapveil.counting.reveal" in GRAPH[name]} == {
        "tapveil.veil.crossing",
        "tapveil.veil.expectation",
        "tapveil.counting.digest",
        "tapveil.internal.outlook",
        "tapveil.internal.accuracy",
        "tapveil.internal.look",
        "tapveil.internal.preview",
        "tapveil.internal.warnings",
        "tapveil.internal.thin_tables",
        "tapveil.internal.comparison.forecast",
        "tapveil.internal.report.model.cells",
        "tapveil.internal.audit.attack",
        "tapveil.internal.intruder.tables",
        "tapveil.demo.comparison",
    }
    assert users("_exact_counts") == {"tapveil.counting.reveal"}, "there is no other way to read them"
    assert callers("counts_hmac") == {"tapveil.veil.release"}


def test_what_the_report_calls_true_is_read_by_the_report_alone() -> None:
    """There the exact counts have another name, and all of it is the holder's."""
    assert "tapveil.internal.report.model.cells" in users("true")
    assert not {name for name in users("true") if not name.startswith("tapveil.internal.report.model.")}


@pytest.mark.parametrize("template", sorted((SOURCE / "internal").rglob("*.j2")), ids=lambda path: path.name)
def test_no_template_reads_an_exact_count_of_a_cell(template: Path) -> None:
    """A template reaches attributes where no import shows it: it may ask the model, and never the cells."""
    assert not re.search(r"[.\"'](true|counts)\b", template.read_text(encoding="utf-8"))


def test_only_the_veil_makes_a_published_table() -> None:
    """An unfinished release reads back what the veil made."""
    assert callers("PublishedTable") == {"tapveil.veil.crossing", "tapveil.veil.workspace"}


@pytest.mark.parametrize("reading", ["read_areas", "read_wider", "read_places", "read_dictionaries"])
def test_public_lists_are_read_in_one_place(reading: str) -> None:
    """From a snapshot, which is also what is hashed."""
    assert callers(reading) == {"tapveil.inputs.public"}


def test_only_the_release_draws() -> None:
    assert {name for name in MODULES if "tapveil.veil.crossing" in GRAPH[name]} == {"tapveil.veil.release"}
    assert callers("sample") == {"tapveil.privacy.mechanisms"}
    drawing = {
        "tapveil.veil.release",
        "tapveil.veil.crossing",
        "tapveil.internal.audit.attack",
        "tapveil.internal.intruder.likelihood",
    }  # the audit, with prepared words; the intruder, for generated people
    assert callers("draw") == drawing


# --- nothing goes around the names that these tests look for ----------------------------------------------------------

BY_NAME = set(
    "getattr vars eval exec globals locals attrgetter methodcaller import_module __import__ "
    "__getattribute__ __dict__ __globals__ __builtins__ __loader__ __spec__ asdict astuple".split()
)
"""What reads an attribute, or loads a module, by a name that no test here can see; or reads all at once."""
LOADED = {"sys.modules", "sys._getframe"}
"""What hands out modules, or what is in them, that nobody imported."""
OPENERS = set("builtins ctypes gc importlib inspect operator pickle pkgutil runpy".split())
"""Modules that can do the same in more ways; of `importlib` the files and the versions of packages are harmless."""
HARMLESS = {"importlib.resources", "importlib.metadata", "importlib.import_module"}
"""`import_module` is a hole by its own name."""
ALLOWED = {
    "tapveil.__main__": {"import gc"},  # how often it looks for what is unused; never what there is
    "tapveil": {"import_module", "getattr", "globals"},  # the public door: to the modules of _MODULE_OF
    "tapveil.published.frame": {"import_module"},  # libraries for tables: see below
    "tapveil.internal.outlook": {"vars"},
    "tapveil.cli.commands.verify": {"asdict"},  # of findings
    "tapveil.internal.comparison.compare": {"asdict"},  # of what a plan is worth
    "tapveil.internal.intruder.result": {"asdict"},  # of what was found among generated people
    "tapveil.veil.release": {"asdict"},  # of the ledger's entry
    "tapveil.veil.workspace": {"asdict"},  # of the journal
}
LIBRARIES = {"pandas", "polars", "duckdb", "pyarrow"}


def holes(source: str) -> set[str]:
    """What in a source leads to where the imports and attributes of a text do not show it.

    They guard against a shortcut that somebody takes in good faith, not against somebody who hides one.
    """
    return {hole for node in ast.walk(ast.parse(source)) for hole in _holes(node)}


def _holes(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in BY_NAME:
            yield name
        case ast.Attribute(value=ast.Name(id=module), attr=name) if f"{module}.{name}" in LOADED:
            yield f"{module}.{name}"
        case ast.Import(names=names):
            yield from (f"import {each.name}" for each in names if each.name.split(".")[0] in {"tapveil", *OPENERS})
        case ast.ImportFrom(module=str(module), names=names):
            yield from _imported_holes(module, [each.name for each in names])


def _imported_holes(module: str, names: list[str]) -> Iterator[str]:
    yield from BY_NAME & set(names)
    yield from LOADED & {f"{module}.{name}" for name in names}
    if "*" in names:
        yield f"from {module} import *"
    opened = module.split(".")[0] in OPENERS
    harmless = module in HARMLESS or {f"{module}.{name}" for name in names} <= HARMLESS
    if opened and not harmless:
        yield f"from {module}"


PLANTED = {
    "a module by its name": 'import importlib\nimportlib.import_module("tapveil.veil.release").count(plan)',
    "the same, from its home": "from importlib import import_module as load\nload(name)",
    "a loader of importlib": "from importlib.util import find_spec",
    "as Python itself does": '__import__("tapveil.veil.crossing")',
    "from what is loaded": 'import sys\nsys.modules["tapveil.veil.release"]',
    "the same, imported": "from sys import modules as m\nm[name]",
    "the frame that called": "import sys\nsys._getframe(1)",
    "the whole package": "import tapveil\ntapveil.check",
    "a module of it": "import tapveil.statement\ntapveil.check",
    "the package, renamed": "import tapveil as ours",
    "all of the door": "from tapveil import *",
    "a getter": 'from operator import attrgetter\nattrgetter("counts")(table)',
    "a getter of operator": "import operator\noperator.attrgetter(name)(table)",
    "a method by its name": "from operator import methodcaller",
    "getattr": 'getattr(table, "counts")',
    "getattr with a name that is made": 'getattr(table, "cou" + "nts")',
    "getattr, renamed": "read = getattr",
    "a method of every object": 'table.__getattribute__("counts")',
    "the same, of object": "object.__getattribute__(table, name)",
    "all attributes": "table.__dict__[name]",
    "all of them, by vars": "vars(table)",
    "all fields": "from dataclasses import asdict\nasdict(table)",
    "all fields, from their module": "import dataclasses\ndataclasses.asdict(table)",
    "all fields, without names": "from dataclasses import astuple as t\nt(table)",
    "the names of a function": "count.__globals__",
    "the built-in ones": "import builtins",
    "an object as bytes": "import pickle\npickle.dumps(table)",
    "a text as a program": 'eval("table.counts")',
}


@pytest.mark.parametrize("hole", PLANTED)
def test_a_planted_hole_is_seen(hole: str) -> None:
    assert holes(PLANTED[hole])


def test_a_planted_reading_is_seen() -> None:
    assert uses("table.true.sum()", "true")
    assert uses("match table:\n    case Cells(true=numbers):\n        pass", "true")
    assert not uses("true = 1\ncells.truth", "true")


@pytest.mark.parametrize(
    ("source", "reached"),
    [
        ("from tapveil.internal import outlook", "tapveil.internal.outlook"),
        ("from tapveil import release", "tapveil.veil.release"),
        ("from tapveil.counting.exact import Counted", "tapveil.counting"),  # a package is run with its modules
        ("def later():\n    from tapveil.veil.crossing import draw", "tapveil.veil.crossing"),
    ],
)
def test_a_planted_import_is_seen(source: str, reached: str) -> None:
    assert reached in imports(source)


def test_what_is_harmless_is_no_hole() -> None:
    harmless = (
        "import sys\nfrom importlib import resources\nfrom importlib.resources import files\n"
        "from tapveil import disk, statement\nfrom tapveil.plan import Plan\n"
        'print(sys.argv, re.compile("x"), plan.tables, setattr)'
    )
    assert not holes(harmless)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_nothing_goes_around_the_names_that_these_tests_look_for(name: str) -> None:
    assert holes(source_of(name)) == ALLOWED.get(name, set())
    assert "__dict__" not in source_of(name)


def test_the_page_on_the_house_says_what_is_held_here() -> None:
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    rules = page.split("## Rules that tests enforce")[1].split("\n## ")[0]
    for name in ("counting/reveal.py", ".true", "import_module", "getattr", "vars", "sys.modules"):
        assert f"`{name}`" in rules


def test_what_is_loaded_by_its_name_is_a_library_for_tables() -> None:
    """The reader's users choose what they want a table as."""
    sources = [source_of(f"tapveil.published.{name}") for name in ("frame", "folder")]
    assert re.findall(r"import_module\(.*", "".join(sources)) == ["import_module(module)"]
    loaded = [
        str(node.args[0].value) if isinstance(node.args[0], ast.Constant) else ""
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "load_optional"
    ]
    assert {name.partition(".")[0] for name in loaded} == LIBRARIES
    mentions = sum(text.count("load_optional") for text in map(source_of, MODULES))
    assert mentions == len(loaded) + 2, "it is defined, imported once, and called"


def test_the_mathematics_is_pure() -> None:
    """No files, no clock, no logging, no engine, no randomness of its own."""
    for name in MODULES:
        if name.startswith("tapveil.privacy"):
            whole = {other.split(".")[0] for other in imports(source_of(name))}
            outside = whole - PURE_STDLIB - {"__future__", "numpy", "tapveil"}
            assert not outside, (name, outside)
            assert all(other.startswith("tapveil.privacy") for other in GRAPH[name]), name


def test_no_pseudo_random_number_reaches_a_release() -> None:
    """Only generated cities, and who is looked for in them, are seeded; noise comes from the operating system."""
    users = {
        name for name, path in MODULES.items() if re.search(r"default_rng|import random|np\.random", path.read_text())
    }
    generated = {f"tapveil.demo.{name}" for name in ("city", "people", "residents", "ridership", "stops")}
    assert users == generated | {f"tapveil.internal.intruder.{name}" for name in ("attacks", "hashed_rows")}
    drawn = re.findall(r"crossing\.draw\([^)]*\)", MODULES["tapveil.veil.release"].read_text(encoding="utf-8"))
    assert drawn
    assert all(call.endswith(", os.urandom)") for call in drawn)


def test_the_public_door() -> None:
    for name in tapveil.__all__:
        assert getattr(tapveil, name) is not None
    with pytest.raises(AttributeError):
        _ = tapveil.nothing


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for path in map(ROOT.joinpath, listed.stdout.splitlines()) if path.exists()]


REGISTRY = re.compile(
    r"index[-_]url|find[-_]links|trusted[-_]host|\bregistry\s*=\s*[\"']?https?:|\"resolved\":\s*\"https?:"
    r"|https?://(?:registry|files|packages|index|mirrors?)\.|https?://[^\s\"'<>]+(?:/simple\b|\.whl\b|\.tar\.gz\b|\.tgz\b)",
    re.IGNORECASE,
)
"""Where packages come from is for the machine to say: settings, addresses of lists and of packages, of any host."""
OWN_PATH = re.compile(r"/root/|/home/\w")


def test_no_file_names_a_registry_or_a_machines_own_path() -> None:
    written = {".py", ".toml", ".md", ".txt", ".yml", ".yaml", ".json", ".lock", ".cfg", ".ini", ""}
    for path in tracked():
        if path.suffix in written and path != Path(__file__):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not REGISTRY.search(text), path
            assert not OWN_PATH.search(text), path


HOST = "https" + "://files.a.example"
LIST_OF = "index" + "-url"
"""Of nobody: put together here, so that this file names none either."""


@pytest.mark.parametrize(
    "text",
    [
        f"pip install --{LIST_OF} {HOST}/simple tapveil",
        f"extra_index_url = {HOST}/api",
        f'url = "{HOST}/team/simple/"',
        f'"resolved": "{HOST}/left-pad/-/left-pad-1.0.0.tgz"',
        f"registry={HOST}/",
        f"{HOST}/packages/ab/cd",
        f"{HOST}/tapveil-1.0-py3-none-any.whl#sha256=0",
    ],
)
def test_a_registry_is_known_whatever_its_host(text: str) -> None:
    assert REGISTRY.search(text)
    assert not REGISTRY.search("https://www.example.org/data/opal.html and https://doi.org/10.1000/182")


def test_every_command_is_explained_and_every_option_is_listed() -> None:
    """By hand what it is for, in commands.md; from the code what it takes, in the reference."""
    from typer.main import get_command

    from tapveil.cli.app import app

    explained, listed = (
        (ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("commands.md", "reference/commands.md")
    )
    top: Any = get_command(app)
    commands = dict(top.commands)
    commands |= {f"ledger {name}": command for name, command in commands["ledger"].commands.items()}
    for name, command in commands.items():
        assert f"tapveil {name}" in explained, name
        assert f"## `tapveil {name}" in listed, f"{name}: run make reference"
        for option in command.params:
            for spelling in option.opts:
                if spelling.startswith("--") and spelling != "--help":
                    assert spelling in listed, f"{name} {spelling}: run make reference"


def test_every_code_of_a_finding_is_documented() -> None:
    page = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")
    checking = (path for name, path in MODULES.items() if re.search(r"\.(verification|ledger)", name))
    source = "\n".join(path.read_text() for path in checking)
    found = set(re.findall(r"""(?:Finding|UnreadableError|_find|_wrong)\(\s*"([a-z-]+)\"""", source))
    found |= set(re.findall(r'"(identifier-[a-z-]+)"', source)) | set(re.findall(r'_lines\["([a-z-]+)"\]', source))
    assert len(found) > 40
    assert not {code for code in found if f"`{code}`" not in page}


PROOFS = (ROOT / "docs" / "privacy" / "proofs.md").read_text(encoding="utf-8")
PIN = re.compile(r"`([a-z_/]+(?:\.py|/))`")
"""A file of the source, a folder of it, or a test: as a proof names them."""


def test_what_a_proof_names_is_there() -> None:
    pinned = [pin for part in PROOFS.split("**In the code:**")[1:] for pin in PIN.findall(part.split("\n## ")[0])]
    assert len(pinned) > 40
    assert not {pin for pin in pinned if not ((ROOT if pin.startswith("tests/") else SOURCE) / pin).exists()}


def test_all_that_is_made_from_published_tables_is_claimed_and_computed_again() -> None:
    """The proof that it costs nothing, and the page that says what `verify` computes."""
    claim = PROOFS.split("## 17. ")[1]
    computed = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8").split("**Computed again**")[1].split("\n\n")[0]
    for name in (f"{CONSISTENT}/", f"{FINEST}/", EXPLORER):
        assert f"`{name}`" in claim
        assert f"`{name}`" in computed
    pins = set(PIN.findall(claim))
    assert {"verification/derived.py", "verification/page.py", "published/explorer/contents.py"} <= pins
    assert not {name for name in METADATA if f"`{name}`" not in computed}
