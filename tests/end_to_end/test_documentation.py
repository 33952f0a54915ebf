"""What the pages tell a reader to do works: their blocks are run, in their order, in a scratch folder."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tools import folder

from tapveil.base.vocabulary import SIGNATURE
from tests.support.commands import command
from tests.support.documentation import (
    ROOT,
    RUN,
    SHOWN,
    Block,
    Reader,
    WrongError,
    alike,
    blocks,
    check_command,
    commands,
)
from tests.support.r import r_with

TRIPS = 400_000
"""Of the city in these tests: the least from which the next release can be tuned."""
STARTS = ["docs/publish.md", "docs/approve.md", "docs/analyse.md"]
"""Where each kind of reader begins, after the tutorial."""
FOLLOWED = [
    "README.md",
    "docs/tutorial.md",
    "docs/tutorial-studio.md",
    *STARTS,
    *sorted(f"docs/guides/{path.name}" for path in (ROOT / "docs" / "guides").glob("*.md")),
]
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
START = "tapveil-demo"
"""Guides start next to this city, as the first step of the tutorial makes it."""


def page(name: str) -> list[Block]:
    return list(blocks((ROOT / name).read_text(encoding="utf-8"), name))


@pytest.fixture(scope="session")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documentation")
    code, said = Reader(folder).run(f"tapveil demo {START} --trips {TRIPS}")
    assert code == 0, said
    return folder / START


def lay_out(name: str, city: Path, folder: Path) -> None:
    """What a reader of the page has before its first command."""
    if name == "README.md":
        shutil.copytree(city, folder / "build" / "demo")
        shutil.copy(next((city / "trips").iterdir()), folder / "trips-2025-03.csv")
    if name in STARTS or name.startswith("docs/guides/"):
        shutil.copytree(city, folder / START)


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_reader_can_follow_the_page(name: str, city: Path, tmp_path: Path) -> None:
    lay_out(name, city, tmp_path)
    reader = Reader(tmp_path)
    for block in page(name):
        if block.language in RUN:
            reader.follow(block)


@pytest.mark.parametrize("name", FOLLOWED)
def test_every_block_is_run_or_says_why_not(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert 2 * len(page(name)) == sum(line.startswith("```") for line in text.splitlines()), "a block is overlooked"
    for block in page(name):
        assert block.language in (*RUN, *SHOWN), f"{block.where}: what language is it?"
        assert "not run" not in block.marks or len(block.marks["not run"]) > 10, block.where


@pytest.mark.parametrize("name", PAGES)
def test_every_command_on_a_page_exists_with_its_options(name: str) -> None:
    for block in page(name):
        for line, _ in commands(block) if block.language == "console" else ():
            for part in line.split(" && "):
                if part.startswith(("tapveil ", ".venv/bin/tapveil ")) and "…" not in part:
                    check_command(part)


@pytest.mark.parametrize("name", ["analyse-with-pandas", "analyse-with-r"])
def test_a_notebook_runs_on_the_demo_folder(
    name: str, city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cell by cell: Python here, R by Rscript, which both print what a notebook would show."""
    book = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(book)
    cells = [cell.source for cell in book.cells if cell.cell_type == "code"]
    assert len(cells) > 6
    assert not any(cell.outputs for cell in book.cells if cell.cell_type == "code"), "numbers of somebody's machine"
    monkeypatch.chdir(tmp_path)
    (tmp_path / START).symlink_to(city)
    if book.metadata.kernelspec.language == "R":
        (tmp_path / "cells.R").write_text("\n".join(cells), encoding="utf-8")
        done = subprocess.run([r_with("jsonlite"), "cells.R"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        for said in ("epsilon = 8", "listed_low", "noise_high", "real"):
            assert said in done.stdout
        assert (tmp_path / "Rplots.pdf").stat().st_size > 2000
        return
    names: dict[str, Any] = {}
    for cell in cells:
        exec(cell, names)  # noqa: S102 (our own notebook)
    assert len(names["means"]) > 10
    assert len(names["changes"]) > 10
    assert (tmp_path / "take-away" / "converted.json").is_file()


def a_block(text: str, language: str = "console", **marks: str) -> Block:
    return Block("page", 1, language, text, marks)


@pytest.mark.parametrize(
    "block",
    [
        a_block("$ tapveil plan opalx\n"),
        a_block("$ tapveil nothing\n"),
        a_block("$ false\n"),
        a_block("$ echo one\ntwo\n"),
        a_block("$ echo one two\none 2\n"),
        a_block("$ echo 1\n2\n", output="exact"),
        a_block("$ true\n", exit="5"),
        a_block("false\ntrue\n", "sh"),
        a_block(">>> 'a'\n'b'\n", "pycon"),
        a_block("[privacy]\nepsilonn = 3\n", "toml"),
        a_block('[release]\nname = "x"\n[source]\n[privacy]\n[[table]]\n', "toml"),
        a_block("$ true\n", nonsense="yes"),
    ],
)
def test_a_page_that_is_wrong_is_found(block: Block, tmp_path: Path) -> None:
    with pytest.raises(WrongError):
        Reader(tmp_path).follow(block)


def test_wrong_python_is_found(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        Reader(tmp_path).follow(a_block("1 / 0\n", "python"))


@pytest.mark.parametrize("line", ["tapveil chek plan.toml", "tapveil check plan.toml --nothing", "tapveil check"])
def test_a_command_that_is_not_there_is_found(line: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|missing|unexpected"):
        check_command(line)


def test_lines_are_alike_but_for_numbers_and_what_is_left_out() -> None:
    assert alike(["on_time  3,308  974,901", "...", "end"], ["on_time     12       9", "more", "more", "end"])
    assert not alike(["on_time  3,308"], ["on_time 12", "more"])
    assert not alike(["a", "b"], ["b", "a"])


def test_marks_stand_above_their_block() -> None:
    text = "words\n\n<!-- exit: 5 -->\n<!-- output: exact -->\n```console\n$ true\n```\n\n```toml\n```\n"
    first, second = blocks(text, "page")
    assert (first.line, first.language, first.marks) == (5, "console", {"exit": "5", "output": "exact"})
    assert second.marks == {}


def pattern_of(file: str) -> str:
    return (
        re.escape(file)
        .replace("TABLE", r"[\w-]+")
        .replace("FINE", r"[\w-]+")
        .replace("COARSE", r"[\w-]+")
        .replace("NAME/FILE", r"[\w-]+/[\w.-]+")
    )


def test_the_reference_lists_every_file_of_a_folder(tmp_path: Path) -> None:
    """A folder with all that a plan of trips can ask for, but a signature."""
    assert command(tmp_path, ["demo", "city", "--trips", "3000"]).code == 0
    city = tmp_path / "city"
    plan = (city / "plan.toml").read_text(encoding="utf-8").replace("# synthetic", "synthetic")
    levels = 'columns = ["tap_on_location"]\nlevels = [{}, { name = "all", location = "all" }]'
    wider = '[coarsen.wider.all."*"]\nlookup = "wider.csv"\nfrom = "place"\nto = "area"\n\n[privacy]\n'
    plan = plan.replace('columns = ["tap_on_location"]', levels, 1).replace("[privacy]\n", wider, 1)
    days = 'month = "month"\n\n[privacy]\n'
    plan = plan.replace("[privacy]\n", f"[coarsen.date]\n{days}", 1).replace(
        "[release]\n", '[release]\nshapes = ["own.toml"]\n'
    )
    month = '\n[[table]]\nname = "month"\ncolumns = ["month"]\nepsilon = 1\ndelta = 1e-7\n'
    keys = ", ".join(f'{{ name = "{key}", key = "{key}" }}' for key in ("mode", "date", "month"))
    column = f'column = [{keys}, {{ name = "n", count = "m" }}]\n'
    file = f'[[file]]\nname = "m.csv"\ntables = {{ m = ["month"] }}\n{column}'
    where = '{ name = "p", key = "tap_on_location" }, { name = "x", text = "{tap_on_location.longitude}" }'
    column = column.replace('{ name = "month", key = "month" }', where)
    file += f'[[file]]\nname = "p.csv"\ntables = {{ m = ["tap_on_location"] }}\n{column}'
    (city / "own.toml").write_text(f'title = "Months"\n{file}', encoding="utf-8")
    plan += month
    (city / "wider.csv").write_text("place,area\n2000,x\n", encoding="utf-8")
    (city / "all.toml").write_text(plan, encoding="utf-8")
    said = command(city, ["release", "all.toml", "-o", "all", "--no-ledger"])
    assert said.code == 0, said.err
    found = {path.relative_to(city / "all").as_posix() for path in (city / "all").rglob("*") if path.is_file()}
    patterns = [pattern_of(file) for file in folder.FILES]
    assert not {file for file in found if not any(re.fullmatch(pattern, file) for pattern in patterns)}
    unseen = {file for file in folder.FILES if not any(re.fullmatch(pattern_of(file), each) for each in found)}
    assert unseen == {SIGNATURE}
