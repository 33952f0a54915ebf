"""Folders of single weeks, as a release would publish them: true numbers, the noise of a golden folder, its threshold.

They can be read, and not verified: only their manifest, their tables and their checksums are there.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden" / "3" / "gaussian"
FIRST = date(2025, 3, 3)
TABLES = ("on_location", "total")


def days_of(first: date, number: int = 7) -> list[str]:
    return [(first + timedelta(days=each)).isoformat() for each in range(number)]


def week_folder(
    path: Path,
    truth: Mapping[str, Sequence[int]],
    first: date = FIRST,
    seed: int = 0,
    scale: float = 1,
    **changes: Any,
) -> Path:
    """A folder of train trips from some places on some days; `changes` are those of its manifest."""
    random = np.random.default_rng(seed)
    manifest = json.loads((GOLDEN / "privacy.json").read_text(encoding="utf-8"))
    days = days_of(first, len(next(iter(truth.values()))))
    manifest["covers"] = {"first_day": days[0], "last_day": days[-1], "modes": None}
    manifest["release_id"] = hashlib.md5(f"{path.name}".encode(), usedforsecurity=False).hexdigest()
    tables = {table["name"]: table for table in manifest["tables"] if table["name"] in TABLES}
    manifest["tables"] = list(tables.values())
    for table in tables.values():
        table["scale_exact"] = str(round(float(table["scale"]) * scale)) if scale != 1 else table["scale_exact"]
        table["scale"] = table["scale"] * scale
    manifest |= changes
    path.mkdir(parents=True)
    (path / "data").mkdir()
    (path / "privacy.json").write_text(json.dumps(manifest), encoding="utf-8")
    totals = {day: sum(counts[at] for counts in truth.values()) for at, day in enumerate(days)}
    cells: dict[str, list[tuple[Any, ...]]] = {
        "on_location": [(day, place, counts[at]) for at, day in enumerate(days) for place, counts in truth.items()],
        "total": [(day, count) for day, count in totals.items()],
    }
    for name, rows in cells.items():
        table = tables[name]
        noisy = [(*row[:-1], round(row[-1] + random.normal(0, float(table["scale"])))) for row in rows]
        kept = sorted(("train", *row) for row in noisy if row[-1] >= table["smallest_published"])
        with (path / "data" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            keys = ["mode", "date", "tap_on_location"] if name == "on_location" else ["mode", "date"]
            csv.writer(file, lineterminator="\n").writerows([[*keys, "count"], *kept])
    names = sorted(each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file())
    sums = "".join(f"{hashlib.sha256((path / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    (path / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return path


WEEK = np.array([1.0, 1.05, 1.1, 1.05, 1.1, 0.6, 0.4])
"""How the days of a week differ."""


def trips(level: float, seed: int, weeks: int = 1, spread: float = 0.0) -> list[int]:
    """True numbers of some weeks: Poisson around a level, that differs by `spread` from day to day."""
    random = np.random.default_rng(seed)
    days = level * np.tile(WEEK, weeks)
    found: list[int] = random.poisson(days * np.exp(random.normal(0, spread, len(days)))).tolist()
    return found
