"""Examples in docstrings run in a folder of their own, with a small harbour in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trips, plan, ledger and published folder, made once."""
    from tests.support import example

    folder = tmp_path_factory.mktemp("harbour")
    example.make(folder)
    return folder


@pytest.fixture(autouse=True)
def _in_the_harbour(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whoever imports tapveil in an example finds the files there; what it writes is its own."""
    if not (isinstance(request.node, pytest.DoctestItem) and "import tapveil" in (request.node.dtest.docstring or "")):
        yield
        return
    folder, before = request.getfixturevalue("tmp_path"), Path.cwd()
    shutil.copytree(request.getfixturevalue("harbour"), folder, dirs_exist_ok=True)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
