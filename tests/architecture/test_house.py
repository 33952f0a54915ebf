"""The rules of the house, held by reading the source: the secret side and the published side never mix."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tapveil

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tapveil"
SECRET = {
    f"tapveil.{name}"
    for name in (
        *("trips", "csvlines", "values", "coarsen", "timetable", "counting", "veil", "publication"),
        *("check", "remarks", "coupling", "dictionary", "audit", "draft", "recognition", "sampling"),
        *("comparison", "report"),
    )
}
PUBLISHED = [
    "published",
    "layout",
    "statement",
    "unfinished",
    "bundle",
    "guard",
    "signature",
    "ledger.book",
    "verify.folder",
    *("resolution", "manifest", "lattice", "consistent", "derived", "reader", "metadata", "verify.derived"),
    *("explorer.page", "verify.page", "closing"),
    *("tuning.tune", "tuning.nextplan", "tuning.sizes"),
]
PURE_STDLIB = set("abc bisect collections dataclasses decimal fractions functools heapq itertools math typing".split())


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it leads"
            found |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
    # names of the public door stand for the modules behind it
    return found | {f"tapveil.{home}" for name, home in tapveil._HOME.items() if f"tapveil.{name}" in found}


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}
GRAPH = {name: {other for other in imports(path) if other in MODULES} - {"tapveil"} for name, path in MODULES.items()}


def reachable(name: str) -> set[str]:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for other in GRAPH[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_side_cannot_reach_the_secret_side(name: str) -> None:
    reached = reachable(f"tapveil.{name}")
    assert reached, "the module imports nothing of ours: is the name still right?"
    assert not {other for other in reached if any(other.startswith(secret) for secret in SECRET)}


def test_this_test_would_see_a_leak() -> None:
    assert "tapveil.counting.exact" in reachable("tapveil.veil")
    assert "tapveil.counting.exact" in reachable("tapveil.publication")


def test_help_waits_for_no_engine() -> None:
    """Start-up is what is imported: the command line alone loads nothing that computes."""
    heavy = "{'duckdb', 'numpy', 'pyarrow', 'pydantic', 'cryptography'}"
    script = f"import sys, tapveil.cli; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def uses(path: Path, attribute: str) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.Attribute) and node.attr == attribute for node in ast.walk(tree))


def calls(path: Path, name: str) -> bool:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id == name:
            return True
        if isinstance(called, ast.Attribute) and called.attr == name:
            return True
    return False


def test_exact_counts_are_read_by_the_veil_and_the_holders_report_alone() -> None:
    """The audit reads those of trips that it made up itself; a forecast is for the holder, like the rest of `check`."""
    readers = {name for name, path in MODULES.items() if uses(path, "counts")}
    report = {"tapveil.check", "tapveil.remarks", "tapveil.comparison.forecast", "tapveil.report.cells"}
    assert readers == {"tapveil.veil", *report, "tapveil.audit.attack"}


def test_only_the_veil_makes_a_published_table() -> None:
    """An unfinished release reads back what the veil made."""
    makers = {name for name, path in MODULES.items() if calls(path, "PublishedTable")}
    assert makers == {"tapveil.veil", "tapveil.unfinished"}


def test_only_the_release_draws() -> None:
    assert {name for name in MODULES if "tapveil.veil" in GRAPH[name]} == {"tapveil.publication"}
    assert {name for name, path in MODULES.items() if calls(path, "sample")} == {"tapveil.privacy.mechanisms"}
    drawing = {name for name, path in MODULES.items() if calls(path, "draw")}
    assert drawing == {"tapveil.publication", "tapveil.veil", "tapveil.audit.attack"}  # the audit, with prepared words


def test_nothing_goes_around_the_names_that_these_tests_look_for() -> None:
    for name, path in MODULES.items():
        indirect = {word for word in ("getattr", "vars", "eval", "exec", "globals") if calls(path, word)}
        allowed = {"tapveil": {"getattr", "globals"}, "tapveil.check": {"vars"}}
        assert indirect <= allowed.get(name, set()), (name, indirect)
        assert "__dict__" not in path.read_text(encoding="utf-8"), name


def test_the_mathematics_is_pure() -> None:
    """No files, no clock, no logging, no engine, no randomness of its own."""
    for name, path in MODULES.items():
        if name.startswith("tapveil.privacy"):
            outside = (
                {other.split(".")[0] for other in imports(path)} - PURE_STDLIB - {"__future__", "numpy", "tapveil"}
            )
            assert not outside, (name, outside)
            assert all(other.startswith("tapveil.privacy") for other in GRAPH[name]), name


def test_no_pseudo_random_number_reaches_a_release() -> None:
    """Only made-up cities are seeded; noise comes from the operating system."""
    users = {
        name for name, path in MODULES.items() if re.search(r"default_rng|import random|np\.random", path.read_text())
    }
    assert users == {"tapveil.demo", "tapveil.ridership"}
    drawn = re.findall(r"veil\.draw\([^)]*\)", MODULES["tapveil.publication"].read_text(encoding="utf-8"))
    assert drawn
    assert all(call.endswith(", os.urandom)") for call in drawn)


def test_the_public_door() -> None:
    for name in tapveil.__all__:
        assert getattr(tapveil, name) is not None
    with pytest.raises(AttributeError):
        _ = tapveil.nothing  # type: ignore[attr-defined]


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.splitlines()]


def test_no_file_names_a_registry_or_a_machines_own_path() -> None:
    forbidden = re.compile(r"(pypi\.org|pythonhosted|registry\.npmjs|/simple/|/root/|/home/\w)")
    for path in tracked():
        if path.suffix in {".py", ".toml", ".md", ".txt", ".yml", ""} and path != Path(__file__):
            assert not forbidden.search(path.read_text(encoding="utf-8", errors="replace")), path


def test_every_command_is_explained_and_every_option_is_listed() -> None:
    """By hand what it is for, in commands.md; from the code what it takes, in the reference."""
    from typer.main import get_command

    explained, listed = (
        (ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("commands.md", "reference/commands.md")
    )
    commands = dict(get_command(tapveil_app()).commands)  # type: ignore[attr-defined]
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
    source = "\n".join(path.read_text() for name, path in MODULES.items() if re.search(r"\.(verify|ledger)", name))
    found = set(re.findall(r"""(?:Finding|UnreadableError|_find|_wrong)\(\s*"([a-z-]+)\"""", source))
    found |= set(re.findall(r'"(identifier-[a-z-]+)"', source)) | set(re.findall(r'_lines\["([a-z-]+)"\]', source))
    assert len(found) > 40
    assert not {code for code in found if f"`{code}`" not in page}


def tapveil_app() -> object:
    from tapveil.cli import app

    return app
