"""What commands share: both screens, and the options that mean the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from typer import Argument, Option

from tapveil.base.progress import Reporter, Stage, for_console

if TYPE_CHECKING:
    from tapveil.plan.model import Plan

out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)

PlanFile = Annotated[Path, Argument(metavar="PLAN", help="The plan, a TOML file.", readable=False)]
Memory = Annotated[str, Option(help="Memory limit for counting; larger data spills to disk.")]
Scratch = Annotated[Path | None, Option(help="Folder for temporary files. Default: that of the system.")]
Json = Annotated[bool, Option("--json", help="Output JSON.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Show the result without progress.")]
Silent = Annotated[bool, Option("--quiet", "-q", help="Show nothing unless something is wrong.")]


def read_plan(path: Path, progress: Reporter | None = None) -> Plan:
    """The plan that a command is about."""
    from tapveil.plan.model import Plan

    with (progress or for_console(err)).stage(Stage.READING_PLAN):
        plan = Plan.read(path)
        if plan.source.engine == "duckdb":
            _leave_pandas_out()
        return plan


def _leave_pandas_out() -> None:
    """PyArrow loads pandas, where there is one, to see whether a list is a pandas one: 13 % of the CPU of a `check`.

    It looks for it once, and then knows. Only a command does this: who uses tapveil from Python may want pandas.
    """
    import sys

    import pyarrow as pa

    class NoPandas:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "pandas":
                raise ModuleNotFoundError(name=name)

    finder = NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
