"""What `make` promises: a demo that installs no more than it needs, and a full run that leaves no slow test out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tools import system

import tapveil

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([\w-]+):(?!=)", MAKEFILE, re.MULTILINE))
PARTS = re.findall(r"^FULL := (.+)$", MAKEFILE, re.MULTILINE)[0].split()
COUNTED = re.compile(r"^\w+ = int\(os\.environ\.get\(\"(TAPVEIL_\w+)\"", re.MULTILINE)
"""How many cases a test tries, where that can be asked for."""


def would_run(folder: Path, target: str) -> str:
    """What make would do in a fresh checkout."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "src/tapveil/_version.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    command = ["make", "-n", target]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_demo_installs_what_running_needs_and_no_more(tmp_path: Path) -> None:
    commands = would_run(tmp_path, "demo")
    assert " -e '.[publish]'" in commands
    assert "[dev]" not in commands
    assert "tools.system" not in commands
    assert "[dev]" in would_run(tmp_path, "test")


def slow_files() -> list[Path]:
    """Those with slow tests, and those that can be asked for more cases."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    return sorted(
        path for path, text in texts.items() if re.search(r"pytest\.mark\.slow", text) or COUNTED.search(text)
    )


@pytest.mark.parametrize("path", slow_files(), ids=lambda path: path.stem)
def test_every_slow_test_is_in_a_part_of_the_full_run(path: Path, tmp_path: Path) -> None:
    named = f"(?:{path.relative_to(ROOT)}|{path.parent.relative_to(ROOT)}$)"
    (part,) = (each for each in PARTS if re.search(rf"^{each}:.*\n.*{named}", MAKEFILE, re.MULTILINE))
    for variable in COUNTED.findall(path.read_text(encoding="utf-8")):
        assert f"{variable}=" in would_run(tmp_path, part)


def test_there_are_slow_tests() -> None:
    assert len(slow_files()) >= 8
    assert len(PARTS) >= 7


@pytest.mark.parametrize("file", [".ci/run", ".github/workflows/ci.yml", "CONTRIBUTING.md", "docs/releasing.md"])
def test_what_is_to_be_made_can_be_made(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^|run: )make ([a-z-]+)", text, re.MULTILINE))
    assert named
    assert named <= TARGETS


def test_every_part_is_run_every_night_and_the_tests_on_every_python() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["full"]["strategy"]["matrix"]["part"] == PARTS
    pythons = jobs["test"]["strategy"]["matrix"]["python"]
    assert pythons == sorted(pythons, key=lambda version: int(version.split(".")[1]))
    assert f'requires-python = ">={pythons[0]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


# --- what tests need of the system ------------------------------------------------------------------------------------


def test_what_is_missing_is_named_with_its_reason_and_not_installed_unless_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = system.Program("Abacus", ("abacus-that-nobody-has", "--version"), "abacus", "counting by hand")
    monkeypatch.setitem(system.PROGRAMS, "abacus", lacking)
    assert system.provide(["abacus"], installing=False) == [lacking]
    said = capsys.readouterr().out
    assert "Installing" not in said
    assert "install it (Debian: abacus). Skipped without it: tests of counting by hand" in said


ABACUS = """
from tools import system
system.PROGRAMS["abacus"] = system.Program("Abacus", ("abacus",), "abacus-package", "counting by hand")
assert system.provide(["abacus"]) == []
"""


def test_a_package_is_named_before_it_is_installed(tmp_path: Path) -> None:
    """By an apt-get of our own, which installs a program that does nothing."""
    program = tmp_path / "abacus"
    for name in ("apt-get", "sudo"):
        script = f'printf "#!/bin/sh\n" > {program}; chmod +x {program}; echo "apt-get $@" >&2'
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [sys.executable, "-c", ABACUS]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    )
    named, installed = done.stdout.splitlines()[-2:]
    assert named.split() == "abacus-package Abacus is missing: the tests of counting by hand".split()
    assert installed.endswith("install -y -q abacus-package")


def test_what_is_there_is_not_installed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(system.PROGRAMS, "shell", system.Program("sh", ("sh", "-c", "true"), "dash", "nothing"))
    assert system.provide(["shell"]) == []
    assert capsys.readouterr().out == ""


# --- the version ------------------------------------------------------------------------------------------------------


def test_the_version_is_the_same_wherever_it_is_stated() -> None:
    assert f"\nversion: {tapveil.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.findall(r"^## ([0-9][\w.]*) ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0]
    assert newest == tapveil.__version__
    assert (ROOT / "docs" / "release-notes" / f"{tapveil.__version__}.md").exists()
