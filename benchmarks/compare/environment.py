"""Where a peer runs: a virtual environment of its own, made once from its pinned requirements."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.compare.contenders import ROOT, Contender
from benchmarks.compare.process import StoppedError

ENVIRONMENTS = ROOT / "build" / "bench" / "environments"
REQUIREMENTS = ROOT / "benchmarks" / "peers" / "requirements"

VERSIONS = """
import json, platform, sys
from importlib.metadata import version
print(json.dumps({"python": platform.python_version(), **{each: version(each) for each in sys.argv[1:]}}))
"""


def python_for(contender: Contender) -> Path:
    """Its interpreter; its environment is made anew when its requirements have changed."""
    for program in contender.programs:
        if not shutil.which(program):
            raise StoppedError(f"it needs {program}, which is not installed")
    if not contender.environment:
        return Path(sys.executable)
    folder, needed = ENVIRONMENTS / contender.environment, REQUIREMENTS / f"{contender.environment}.txt"
    installed = folder / "installed.txt"
    if not installed.exists() or installed.read_text() != needed.read_text():
        _make(folder, needed)
        installed.write_text(needed.read_text())
    return folder / "bin" / "python"


def _make(folder: Path, needed: Path) -> None:
    print(f"Installing {needed.stem} ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "-r", str(needed)]
    with folder.with_suffix(".log").open("wb") as log:
        for command in ([sys.executable, "-m", "venv", str(folder)], install):
            if subprocess.run(command, stdout=log, stderr=log, check=False).returncode:
                raise StoppedError("it could not be installed")


def versions(contender: Contender, python: Path) -> dict[str, str]:
    """Of Python and of the packages that matter."""
    said = subprocess.run(
        [str(python), "-c", VERSIONS, *contender.packages], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, str] = json.loads(said)
    return found
