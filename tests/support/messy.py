"""Messy exports, and what they mean, in plain Python: no engine, no codes, no sharing of code with what is tested.

A case is a plan's way to tell the time (zone, start of the day, what dates are) and rows of texts. `local_clock` lists,
minute by minute, what clocks in a time zone really showed, so skipped and repeated hours need no rule here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

NONE = ("", "-1", "NA")
"""Marks of a missing value: `NA` is named in the plan."""


@lru_cache(maxsize=512)
def local_clock(zone: str, day: date) -> frozenset[int]:
    """The minutes after midnight that a clock showed on a day."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=16)
    moments = ((start + timedelta(minutes=step)).astimezone(ZoneInfo(zone)) for step in range(56 * 60))
    return frozenset(60 * moment.hour + moment.minute for moment in moments if moment.date() == day)


@dataclass(frozen=True)
class Telling:
    """How a case tells the time."""

    zone: str | None
    starts: int
    service: bool
    continued: bool
    minutes: int

    def time(self, text: str, day: date | None) -> int | None:
        """Minutes after midnight, -1 for none, None for a time that cannot be or be read."""
        text = text.strip()
        if text in NONE:
            return -1
        if stamp := re.fullmatch(r"(\d{4}-\d\d-\d\d)[ T](\d\d):(\d\d):\d\d(Z|[+-]\d\d:\d\d)?", text):
            if stamp[4]:
                moment = self.there(text)
                return None if moment is None else 60 * moment.hour + moment.minute
            try:
                own = date.fromisoformat(stamp[1])
            except ValueError:
                return None
            minute = 60 * int(stamp[2]) + int(stamp[3])
            return minute if int(stamp[2]) < 24 and int(stamp[3]) < 60 and self.was(own, minute) else None
        if clock := re.fullmatch(r"(\d\d?):(\d\d)(?::(\d\d))?", text):
            minute = 60 * int(clock[1]) + int(clock[2]) if clock[2] < "60" and (clock[3] or "0") < "60" else 10**6
        elif re.fullmatch(r"0|[1-9]\d{0,3}", text):
            minute = int(text)
        else:
            return None
        if minute >= 2880:
            return None
        if day is None:
            return minute
        real = minute + 1440 if self.service and minute < self.starts else minute
        return minute if self.was(day + timedelta(days=real // 1440), real % 1440) else None

    def there(self, text: str) -> datetime | None:
        return datetime.fromisoformat(text).astimezone(ZoneInfo(self.zone)) if self.zone else None

    def was(self, day: date, minute: int) -> bool:
        return self.zone is None or minute in local_clock(self.zone, day)

    def read_date(self, text: str) -> date | None:
        text = text.strip()
        if re.fullmatch(r"\d{8}", text):
            text = f"{text[:4]}-{text[4:6]}-{text[6:]}"
        try:
            if re.search(r"T.*(Z|[+-]\d\d:\d\d)$", text):
                moment = self.there(text)
                return moment.date() if moment else None
            return date.fromisoformat(text[:10]) if re.fullmatch(r"\d{4}-\d\d-\d\d([ T].*)?", text) else None
        except ValueError:
            return None

    def day(self, day: date, minute: int) -> date:
        """The day that a trip belongs to, by the time at which it begins."""
        if self.service or minute == -1 or not self.starts:
            return day
        return day + timedelta(days=(minute - self.starts) // 1440)

    def label(self, minute: int) -> str:
        if minute == -1:
            return "-1"
        minute %= 1440
        if self.continued and minute < self.starts:
            minute += 1440
        minute -= minute % self.minutes
        return f"{minute // 60:02d}:{minute % 60:02d}"


Row = tuple[str, str, str, str, str, str]
"""Date, mode, time on, place on, time off, place off."""
Tap = tuple[str, str, str, str, str, str]
"""Card, date, mode, action, time, place."""
Tables = dict[str, Counter[tuple[str, ...]]]


def place(text: str) -> str:
    return "UNKNOWN" if text.strip() in NONE else text.strip()


def count_trips(telling: Telling, rows: Iterable[Row]) -> tuple[Tables, int]:
    """The tables on and off (time × place) and od (place × place), by mode and day; and how many were refused."""
    tables: Tables = {"on": Counter(), "off": Counter(), "od": Counter()}
    refused = 0
    for written, mode, on, start, off, end in rows:
        day = telling.read_date(written)
        times = [telling.time(text, day) for text in (on, off)]
        if day is None or not mode.strip() or None in times:
            refused += 1
            continue
        first, last = (minute for minute in times if minute is not None)
        key = (mode.strip(), telling.day(day, first if first >= 0 else last).isoformat())
        tables["on"][*key, telling.label(first), place(start)] += 1
        tables["off"][*key, telling.label(last), place(end)] += 1
        tables["od"][*key, place(start), place(end)] += 1
    return tables, refused


def count_taps(telling: Telling, taps: Sequence[Tap], within: int, same_day: bool) -> tuple[Tables, int]:
    """The same tables from taps, where every card counts once in a cell; taps of no action are left out."""
    tables: Tables = {"on": Counter(), "off": Counter(), "od": Counter()}
    seen: set[tuple[object, ...]] = set()
    sequences: dict[tuple[str, ...], list[tuple[datetime, bool, tuple[str, ...], str]]] = {}
    unit: tuple[str, ...]
    part: tuple[str, ...]
    refused = 0

    def add(table: str, unit: tuple[str, ...], cell: tuple[str, ...]) -> None:
        if (table, unit, cell) not in seen:
            seen.add((table, unit, cell))
            tables[table][cell] += 1

    for card, written, mode, action, clock, stop in taps:
        if action.strip() not in ("Enter", "Exit"):
            continue
        day, card, on = telling.read_date(written), card.strip(), action.strip() == "Enter"
        minute = telling.time(clock, day)
        if day is None or minute is None or not mode.strip() or card in ("", "NA"):
            refused += 1
            continue
        part = (mode.strip(), telling.day(day, minute).isoformat())
        unit = (card, part[1]) if same_day else (card,)
        add("on" if on else "off", unit, (*part, telling.label(minute), place(stop)))
        if minute == -1:
            add("od", unit, (*part, *((place(stop), "UNKNOWN") if on else ("UNKNOWN", place(stop)))))
            continue
        sequence = sequences.setdefault((card, part[0], *([part[1]] if same_day else [])), [])
        sequence.append((moment(telling, clock.strip(), day, minute), on, part, place(stop)))
    for key, sequence in sequences.items():
        unit = (key[0], key[2]) if same_day else (key[0],)
        sequence.sort()
        last: tuple[datetime, tuple[str, ...], str] | None = None
        for when, on, part, stop in sequence:
            if not on and last and when - last[0] <= timedelta(minutes=within):
                add("od", unit, (*last[1], last[2], stop))
                last = None
                continue
            if last:
                add("od", unit, (*last[1], last[2], "UNKNOWN"))
            last = (when, part, stop) if on else None
            if not on:
                add("od", unit, (*part, "UNKNOWN", stop))
        if last:
            add("od", unit, (*last[1], last[2], "UNKNOWN"))
    return tables, refused


def moment(telling: Telling, text: str, day: date, minute: int) -> datetime:
    """When a tap was, by the clock at the place."""
    if re.match(r"\d{4}-", text):
        shown = telling.there(text) if re.search(r"(Z|[+-]\d\d:\d\d)$", text) else datetime.fromisoformat(text)
        assert shown
        return shown.replace(tzinfo=None, microsecond=0)
    real = minute + 1440 if telling.service and minute < telling.starts else minute
    seconds = int(text.split(":")[2]) if text.count(":") == 2 else 0
    return datetime(day.year, day.month, day.day) + timedelta(minutes=real, seconds=seconds)
