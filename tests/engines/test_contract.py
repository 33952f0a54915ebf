"""Every engine is a folder of the same three files, with the same names in them: who knows one knows the others."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from tapveil.counting import counter, engines
from tapveil.counting.sql.database import Database
from tapveil.plan.model import Plan
from tapveil.plan.source import Engine

CLASSES = {"duckdb": "DuckDB", "spark": "Spark", "postgresql": "PostgreSQL"}
OPENED_BY = {"duckdb": "duckdb", "spark": "spark", "adbc": "postgresql"}
VERBS = [name for name, member in vars(Database).items() if inspect.isfunction(member) and name[0] != "_"]


def module(engine: str, name: str) -> ModuleType:
    if engine != "duckdb":
        pytest.importorskip("sqlglot")
    return importlib.import_module(f"tapveil.counting.engines.{engine}.{name}")


def parameters(function: object) -> list[str]:
    assert callable(function)
    return list(inspect.signature(function).parameters)


def test_the_folders_are_the_engines() -> None:
    home = Path(next(iter(engines.__path__)))
    folders = {path.parent.name for path in home.glob("*/session.py")}
    assert folders == set(CLASSES) == set(OPENED_BY.values())
    for folder in folders:
        assert {"session.py", "dialect.py", "views.py"} <= {path.name for path in (home / folder).iterdir()}


@pytest.mark.parametrize("name", get_args(Engine))
def test_the_plan_says_which_engine_is_opened(name: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan.preset("opal")
    plan = plan.model_copy(update={"source": plan.source.model_copy(update={"engine": name})})
    monkeypatch.setattr(module(OPENED_BY[name], "session"), "open_session", lambda *given: given)
    assert counter._database(plan, "1GB", None) == (plan, "1GB", None)


@pytest.mark.parametrize("engine", CLASSES)
def test_the_three_files_have_the_same_names(engine: str) -> None:
    assert parameters(module(engine, "session").open_session) == ["plan", "memory", "scratch"]
    assert parameters(module(engine, "views").find_trips) == ["session", "plan"]
    assert parameters(module(engine, "dialect").translated)[0] == "sql"
    assert isinstance(module(engine, "dialect").translated("SELECT count(*) FROM trips"), str)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("engine", CLASSES)
def test_an_engine_does_what_counting_asks_of_it(engine: str, verb: str) -> None:
    made = getattr(module(engine, "session"), CLASSES[engine])
    assert inspect.signature(getattr(made, verb)) == inspect.signature(getattr(Database, verb))


@pytest.mark.parametrize("engine", CLASSES)
def test_an_engine_is_made_from_a_session_and_the_trips(engine: str) -> None:
    made = getattr(module(engine, "session"), CLASSES[engine])
    assert parameters(made)[:2] == ["session", "files"]
