"""Counting again, in plain Python, for tests to compare with: no engine, no codes, no sharing of code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

AREAS = {"1001": "2000", "1002": "2000", "1003": "2010"}
KEYS = {
    "on_time": (0,),
    "on_location": (1,),
    "off_time": (2,),
    "off_location": (3,),
    "on_time_location": (0, 1),
    "off_time_location": (2, 3),
    "total": (),
}


def count(rows: Iterable[tuple[str, ...]]) -> tuple[dict[str, Counter[tuple[str, ...]]], int]:
    """The tables of the opal plan, with totals, and how many rows were refused. Rows: date, mode, on, from, off, to."""
    tables: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in KEYS}
    refused = 0
    for day, mode, on, start, off, end in (tuple(value.strip() for value in row) for row in rows):
        when = re.fullmatch(r"(\d{4})-?(\d\d)-?(\d\d)", day)
        cell = (time(on), place(mode, start), time(off), place(mode, end))
        if not when or int(when[2]) not in range(1, 13) or int(when[3]) not in range(1, 31) or not mode or None in cell:
            refused += 1
            continue
        for name, key in KEYS.items():
            tables[name][mode, "-".join(when.groups()), *(str(cell[index]) for index in key)] += 1
    return tables, refused


def time(text: str) -> str | None:
    if text in ("", "-1"):
        return "-1"
    clock = re.fullmatch(r"(\d\d?):(\d\d)(:\d\d)?", text)
    minute = 60 * int(clock[1]) + int(clock[2]) if clock and clock[2] < "60" else int(text) if text.isdigit() else 9999
    return f"{minute % 1440 // 60:02d}:{minute % 60 // 15 * 15:02d}" if minute < 2880 else None


def place(mode: str, stop: str) -> str:
    return AREAS.get(stop, "UNKNOWN") if mode == "bus" else "UNKNOWN" if stop in ("", "-1") else stop
