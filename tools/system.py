"""What tests need of the system, and Python packages cannot bring: it says what is missing and why, then installs it.

python -m tools.system [--no-install] browser postgres java r office
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLAYWRIGHT = [sys.executable, "-m", "playwright", "install", "chromium"]


@dataclass(frozen=True)
class Program:
    """A program of the system: how to ask for it, Debian's packages of it, and the tests that use it."""

    name: str
    ask: tuple[str, ...]
    package: str
    tests: str
    recommended: bool = True
    """Whether with what its packages recommend: of R's, that is a thousand others."""

    def is_there(self) -> bool:
        """Whether it starts."""
        if not shutil.which(self.ask[0]):
            return False
        return subprocess.run(self.ask, cwd=ROOT, capture_output=True, check=False).returncode == 0


def java() -> str:
    """The one of JAVA_HOME, or the one on the path, as Spark chooses it."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


PROGRAMS = {
    "browser": Program("Chromium", (sys.executable, "-m", "tests.browser"), "chromium", "the page, in a real browser"),
    "postgres": Program(
        "PostgreSQL",
        (sys.executable, "-m", "tests.support.postgres"),
        "postgresql",
        "counting in a database, in a server of their own",
    ),
    "r": Program(
        "R",
        ("Rscript", "-e", "for (name in c('jsonlite', 'readxl', 'sf')) loadNamespace(name)"),
        "r-cran-jsonlite r-cran-readxl r-cran-sf",
        "reading folders, workbooks and GeoPackages in R, with its packages jsonlite, readxl and sf",
        recommended=False,
    ),
    "office": Program(
        "LibreOffice",
        (sys.executable, "-m", "tests.support.office"),
        "libreoffice-calc-nogui libreoffice-writer-nogui",
        "formulas of spreadsheets on the published numbers, and the dossier for word processors",
    ),
    "java": Program(
        "Java", (java(), "-version"), "default-jre-headless", "counting on Spark, which needs Java 17 or newer"
    ),
}


def install(programs: Sequence[Program]) -> None:
    """By apt-get, with what it already knows of its packages, or else with the newest lists."""
    for recommended in (True, False):
        if packages := [name for each in programs if each.recommended is recommended for name in each.package.split()]:
            _install(packages if recommended else ["--no-install-recommends", *packages])


def _install(packages: Sequence[str]) -> None:
    command = [*([] if os.geteuid() == 0 else ["sudo"]), "apt-get"]
    if not all(map(shutil.which, command)):
        return
    get = [*command, "install", "-y", "-q", *packages]
    if subprocess.run(get, stdout=subprocess.DEVNULL, check=False).returncode:
        subprocess.run([*command, "update", "-q"], stdout=subprocess.DEVNULL, check=False)
        subprocess.run(get, stdout=subprocess.DEVNULL, check=False)


def provide(names: Sequence[str], *, installing: bool = True) -> list[Program]:
    """Those of the programs that are missing in the end; what is installed is named first."""
    missing = [PROGRAMS[name] for name in names if not PROGRAMS[name].is_there()]
    if missing and installing:
        print("Installing system packages with apt-get, for tests alone (`SYSTEM=no` installs none):")
        for each in missing:
            print(f"  {each.package:22} {each.name} is missing: the tests of {each.tests}", flush=True)
        install(missing)
        if PROGRAMS["browser"] in missing and not PROGRAMS["browser"].is_there():
            print("  no such package: Playwright's own Chromium instead", flush=True)
            subprocess.run(PLAYWRIGHT, stdout=subprocess.DEVNULL, check=False)
        missing = [each for each in missing if not each.is_there()]
    for each in missing:
        print(f"No {each.name}: install it (Debian: {each.package}). Skipped without it: tests of {each.tests}.")
    return missing


def main() -> None:
    parser = argparse.ArgumentParser("python -m tools.system", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="+", choices=PROGRAMS, help="what is needed")
    parser.add_argument("--no-install", action="store_true", help="only say what is missing")
    options = parser.parse_args()
    provide(options.names, installing=not options.no_install)


if __name__ == "__main__":
    main()
