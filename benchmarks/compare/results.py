"""What was measured: one run of the benchmark, kept as JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.compare.contenders import BASE

SLOW_SECONDS = 100
"""What takes longer is run once: beside it, the noise of a machine is small."""


@dataclass(frozen=True)
class Run:
    """One contender on one file, once. A run that did not finish has a reason and no figures."""

    contender: str
    trips: int
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_mb: float = 0.0
    cells: int = 0
    """How many were published."""
    reason: str = ""


@dataclass(frozen=True)
class Machine:
    """Where it ran."""

    processor: str
    cores: int
    memory_gb: float
    system: str

    @staticmethod
    def this() -> Machine:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
        name = models[0] if models else platform.machine()
        return Machine(name, os.cpu_count() or 1, round(memory, 1), platform.system())


@dataclass
class Results:
    """All of it."""

    date: str
    machine: Machine
    limit_seconds: float
    limit_gb: float
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    cells: dict[int, int] = field(default_factory=dict)
    """By the number of trips: the cells that occur in all six tables."""
    runs: list[Run] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        return sorted({run.trips for run in self.runs})

    @property
    def contenders(self) -> list[str]:
        """In the order in which they ran."""
        return list(dict.fromkeys(run.contender for run in self.runs))

    def median(self, contender: str, trips: int, figure: str) -> float | None:
        """Of one figure over the runs that finished; None if one did not, or none was made."""
        runs = [run for run in self.runs if (run.contender, run.trips) == (contender, trips)]
        if not runs or any(run.reason for run in runs):
            return None
        figures: list[float] = [getattr(run, figure) for run in runs]
        return statistics.median(figures)

    def ratio(self, contender: str, trips: int, figure: str = "cpu_seconds") -> float | None:
        """How many times what the base needed for the same trips."""
        own, base = self.median(contender, trips, figure), self.median(BASE, trips, figure)
        return own / base if own and base else None

    def reason(self, contender: str) -> tuple[int, str] | None:
        """Where it did not finish, and why."""
        return next(((run.trips, run.reason) for run in self.runs if run.contender == contender and run.reason), None)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @staticmethod
    def read(path: Path) -> Results:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Results(
            **stored
            | {
                "machine": Machine(**stored["machine"]),
                "cells": {int(trips): cells for trips, cells in stored["cells"].items()},
                "runs": [Run(**run) for run in stored["runs"]],
            }
        )
