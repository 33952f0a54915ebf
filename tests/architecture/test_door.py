"""The public door: what `import tapveil` gives is documented, its examples run, and reading needs little."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tools import api, reference

import tapveil
from tapveil import privacy

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EVERY = [(module, name) for module in api.MODULES for name in module.__all__]
FUNCTIONS = [(module, name) for module, name in EVERY if api.kind_of(module, name) == "functions"]
BY_A_RELEASE = {
    "Ledger": {
        *(
            "accept",
            "appoint",
            "bind",
            "deliver",
            "findings",
            "has",
            "refuse",
            "refuse_correction",
            "schedule",
            "spend",
        ),
        "withdraw",
    },
    "Budget": {"allows_more_than"},
}
"""What `release` and the commands do with a ledger: a caller of the library has no spend to hand in."""
CLASSES: list[type] = [getattr(module, name) for module, name in EVERY if api.kind_of(module, name) == "classes"]
METHODS = [
    (cls, name) for cls in CLASSES for name in api.methods(cls) if name not in BY_A_RELEASE.get(cls.__name__, ())
]


def check_sections(function: Any) -> None:
    found, signature = api.parts(function), inspect.signature(function)
    assert found[""]
    parameters = {name for name in signature.parameters if name not in ("self", "cls")}
    documented = set(re.findall(r"^\**(\w+): ", found.get("Args", ""), re.MULTILINE))
    assert documented == parameters
    assert ("Returns" in found) == (signature.return_annotation != "None")
    assert ">>> " in found["Example"]


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=lambda each: getattr(each, "__name__", each))
def test_a_public_function_says_what_it_takes_gives_and_raises(module: ModuleType, name: str) -> None:
    function = getattr(module, name)
    check_sections(function)
    raises = module is tapveil or " raise " in inspect.getsource(function)
    assert not raises or "Raises" in api.parts(function)


@pytest.mark.parametrize(("cls", "name"), METHODS, ids=lambda each: getattr(each, "__name__", each))
def test_a_public_method_says_what_it_takes_gives_and_raises(cls: type, name: str) -> None:
    method = api.methods(cls)[name]
    check_sections(method)
    assert " raise " not in inspect.getsource(method) or "Raises" in api.parts(method)


def test_the_methods_of_the_library_are_looked_at() -> None:
    looked = {cls.__name__ for cls, _ in METHODS}
    assert looked > {"Folder", "Frame", "Plan", "Ledger", "Comparison", "Tuned", "Mechanism", "NoiseTable", "Interval"}
    known = {cls.__name__: set(api.methods(cls)) for cls in CLASSES}
    assert all(names <= known[name] for name, names in BY_A_RELEASE.items())


@pytest.mark.parametrize("module", api.MODULES, ids=lambda module: module.__name__)
def test_every_public_name_is_on_the_page_and_says_what_it_is(module: ModuleType) -> None:
    written = reference.ALL["api"]()
    for name in module.__all__:
        assert re.search(rf"^(### `{name}\b|.*[├└]── {name}\b|TapveilError$)", written, re.MULTILINE), name
        if inspect.isclass(getattr(module, name)):
            assert getattr(module, name).__doc__


def test_every_error_is_public() -> None:
    known = [tapveil.TapveilError]
    for kind in known:
        known += kind.__subclasses__()
    ours = {kind.__name__ for kind in known if kind.__module__ == "tapveil.base.errors"}
    assert ours == {name for name in tapveil.__all__ if name.endswith("Error")}


def test_the_page_of_the_privacy_library_runs() -> None:
    page = (ROOT / "docs" / "privacy-library.md").read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```pycon\n(.*?)```", page, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, "privacy-library.md", None, 0)
    assert len(test.examples) > 15
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    assert set(re.findall(r"`(\w+)`", page)) & set(privacy.__all__) > {"certified", "spread"}


# --- reading needs little ---------------------------------------------------------------------------------------------

READ = """
import sys
import tapveil
release = tapveil.open(sys.argv[1])
for name in release.tables:
    release.table(name).sum()
    release.table(name).rows()
if release.has_totals:
    print(release.total())
print(release, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", each)[0] for each in requirements}


@pytest.mark.parametrize("kind", ["gaussian", "levels", "paper-layout", "dictionary"])
def test_reading_loads_no_more_than_the_base_dependencies(kind: str) -> None:
    folder = ROOT / "tests" / "golden" / "3" / kind
    done = subprocess.run([sys.executable, "-c", READ, str(folder)], capture_output=True, text=True, check=True)
    publish = names(PROJECT["optional-dependencies"]["publish"])
    assert publish == {"cryptography", "duckdb", "jinja2", "pyarrow", "rich", "tomlkit", "typer"}
    assert names(PROJECT["dependencies"]) == {"numpy", "pydantic", "tzdata"}
    assert not set(done.stderr.split()) & publish


WITHOUT = """
import sys
for name in sys.argv.pop(1).split():
    sys.modules[name] = None
from tapveil.__main__ import main
main()
"""


def test_the_commands_of_readers_need_no_more_than_their_extra(tmp_path: Path) -> None:
    """A series as files needs pyarrow as well, which docs/series.md says."""
    read = names(PROJECT["optional-dependencies"]["read"])
    heavy = names(PROJECT["optional-dependencies"]["publish"]) - read
    assert read == {"rich", "typer"}

    def run(*words: str, more: frozenset[str] = frozenset()) -> str:
        command = [sys.executable, "-c", WITHOUT, " ".join(sorted(heavy - more)), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    folder = str(ROOT / "tests" / "golden" / "3" / "gaussian")
    run("convert", folder, "--to", "gpkg", "--to", "xlsx", "--to", "csv", "-o", "out")
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".gpkg", ".xlsx", ".csv", ".json"}
    assert "out verified" in run("convert", folder, "--verify", "out")
    assert "on_location" in run("series", folder)
    run("series", folder, "-o", "series", more=frozenset({"pyarrow"}))
    assert "series verified" in run("series", folder, "--verify", "series", more=frozenset({"pyarrow"}))


MISSING = """
import sys
sys.modules["typer"] = sys.modules["pyarrow"] = None
from tapveil.__main__ import main
main()
"""


def test_a_command_without_its_packages_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr == (
        "tapveil: this command needs typer, which is not installed: pip install 'tapveil[publish]' "
        "(to convert published folders: 'tapveil[read]')\n"
    )


def test_a_function_without_its_packages_says_what_to_install() -> None:
    code = MISSING.split("from")[0] + "import tapveil\ntapveil.verify"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("tapveil.verify needs pyarrow: pip install 'tapveil[publish]'\n")
