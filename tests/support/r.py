"""R with some of its packages, where a machine has it; required where `TAPVEIL_R` says so."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache

import pytest


def r_with(*packages: str) -> str:
    """The path of Rscript, or a skip."""
    found = shutil.which("Rscript")
    if found and not (lacks := _missing(found, packages)):
        return found
    wanted = " ".join(f"r-cran-{name.lower()}" for name in (lacks if found else packages))
    if os.environ.get("TAPVEIL_R") == "required":
        pytest.fail(f"R is required here (Debian: r-base-core {wanted})")
    pytest.skip(f"no R with {', '.join(packages)} on this machine")


@cache
def _missing(rscript: str, packages: tuple[str, ...]) -> list[str]:
    listed = "', '".join(packages)
    script = f"cat(setdiff(c('{listed}'), rownames(installed.packages())))"
    done = subprocess.run([rscript, "-e", script], capture_output=True, text=True, check=True)
    return done.stdout.split()
