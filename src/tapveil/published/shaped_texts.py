"""The texts of a file of a shape: what its templates say of a row, from its labels, the calendar and public lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property

import numpy as np

from tapveil.base.calendar import WEEK
from tapveil.base.shape import DAYS, END, END_MOMENT, HOUR, MOMENT, OF_A_TIME, ShapeColumn, ShapeFile
from tapveil.base.template import OF_DAYS as DAY_LETTERS
from tapveil.base.template import OF_TIMES as TIMES
from tapveil.base.template import Part, Template, day_in, day_text, letters, moment_text, time_text
from tapveil.base.vocabulary import EVERY_MODE, MISSING, UNKNOWN, Kind
from tapveil.published.manifest import Manifest
from tapveil.published.place_facts import PlaceFacts
from tapveil.published.shaped_rows import Codes, Rows

_CLOCK, _DAY = "%H:%M", "%Y-%m-%d"
OF_DAYS: tuple[Kind, ...] = ("date", "calendar")
"""Kinds of keys that follow from the day."""


@dataclass(frozen=True)
class Texts:
    """What a file says of a row."""

    manifest: Manifest
    file: ShapeFile
    facts: PlaceFacts
    spans: Mapping[str, tuple[int, int]]
    """The minutes at which a bin starts and ends, by its label."""

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """What sort of values each key has."""
        return {self.file.key_of(column): kind for column, kind in self.manifest.columns.items()}

    @cached_property
    def _day_keys(self) -> Mapping[str, str]:
        """The columns of the calendar that keys are, by key."""
        known = {self.file.key_of(column): column for column in self.manifest.calendar}
        return {key: column for key, column in known.items() if self.kinds.get(key) in OF_DAYS}

    def days(self, labels: Mapping[str, str]) -> tuple[date, ...]:
        """The days behind a row: its own day, or those of the calendar that have its labels."""
        if self.manifest.has_days and (own := next((key for key in labels if self.kinds.get(key) == "date"), None)):
            return (date.fromisoformat(labels[own]),)
        wanted = tuple((column, labels[key]) for key, column in self._day_keys.items() if key in labels)
        if wanted not in self._days:
            columns = [(self.manifest.calendar[column], label) for column, label in wanted]
            every = enumerate(self.manifest.days)
            self._days[wanted] = tuple(
                day for at, day in every if all(listed[at] == label for listed, label in columns)
            )
        return self._days[wanted]

    @cached_property
    def _days(self) -> dict[tuple[tuple[str, str], ...], tuple[date, ...]]:
        return {}

    def said(self, template: Template, labels: Mapping[str, str]) -> str:
        """A template filled for a row: empty where a public list lacks what it asks for, -1 where there is no time."""
        found = {part: self.part(part, labels) for part in template.parts}
        if any(text is None for text in found.values()):
            return MISSING
        if any(part.fact and not text for part, text in found.items()):
            return ""
        return template.filled(lambda part: found[part] or "")

    def part(self, part: Part, labels: Mapping[str, str]) -> str | None:
        """What stands for one part of a template; None where there is no time."""
        if part.key == DAYS:
            return self._of_days(part, labels)
        label, kind = labels[part.key], self.kinds.get(part.key, "label")
        if kind == "time":
            return None if label == MISSING and (part.fact or part.format) else self._of_time(part, label, labels)
        if kind == "location" and part.fact:
            mode = labels.get("mode", EVERY_MODE)
            return "" if label == UNKNOWN else self.facts.of(mode, label, part.fact)
        return day_text(day_in(label), part.format) if part.format else label

    def fault(self, part: Part) -> str | None:
        """What is wrong with a part of a template, whatever the labels are."""
        if part.key in (DAYS, self.file.stack):
            return None
        kind, used = self.kinds.get(part.key), set(letters(part.format))
        if kind is None:
            return None  # an optional key, which no table has
        if part.fact and (part.fact in OF_A_TIME) != (kind == "time"):
            return f"`{part.key}` has no `{part.fact}`"
        if part.fact in (MOMENT, END_MOMENT):
            return None
        if part.fact and kind not in ("location", "time"):
            return f"`{part.key}` is not a place, so no list says its `{part.fact}`"
        if used and not used <= set({"time": TIMES, **dict.fromkeys(OF_DAYS, DAY_LETTERS)}.get(kind, "")):
            return f"`{part.format}` is not a format of `{part.key}`"
        if used and kind in OF_DAYS:
            try:
                _ = [day_in(label) for label in set(self._labels_of_days(part.key))]
            except ValueError:
                return f"`{part.key}` is not a day, a week, a month, a quarter or a year, so it has no format"
        return None

    def _labels_of_days(self, key: str) -> Sequence[str]:
        """The labels of a key that follows from the day; ValueError for days that are no calendar's."""
        if self.kinds[key] == "date":
            if not self.manifest.has_days:
                raise ValueError
            return ()
        return self.manifest.calendar[self._day_keys[key]]

    def _of_time(self, part: Part, label: str, labels: Mapping[str, str]) -> str:
        if not part.fact and not part.format:
            return label
        minutes = self.spans[label][1 if part.fact in (END, END_MOMENT) else 0]
        if part.fact not in (MOMENT, END_MOMENT):
            return time_text(minutes, part.format or _CLOCK)
        days = self.days(labels)
        if not days:
            return ""
        night = timedelta(days=int(self.spans[label][0] < self.manifest.day.starts))  # of the service day before
        moment = datetime.combine(days[0], time()) + timedelta(minutes=minutes) + night
        return moment_text(moment, part.format or f"{_DAY}T%H:%M:%S")

    def _of_days(self, part: Part, labels: Mapping[str, str]) -> str:
        days = self.days(labels)
        if part.fact == "number":
            return str(len(days))
        if part.fact in WEEK:
            return str(int(any(WEEK[day.weekday()] == part.fact for day in days)))
        if not days:
            return ""
        return day_text(days[0 if part.fact == "first" else -1], part.format or _DAY)

    def asked(self, template: Template, keys: Sequence[str]) -> list[str]:
        """The keys of a row that a text depends on."""
        wanted = set(template.keys) & set(keys)
        if any(part.key == DAYS or part.fact in (MOMENT, END_MOMENT) for part in template.parts):
            wanted |= set(self._day_keys) & set(keys)
        if any(part.fact and self.kinds.get(part.key) == "location" for part in template.parts):
            wanted |= {"mode"} & set(keys)
        return [key for key in keys if key in wanted]

    def column(self, column: ShapeColumn, rows: Rows) -> tuple[list[str], Codes]:
        """The texts of a column, each once, and which of them each row has."""
        template = column.template
        if template is None or any(key not in rows.keys and key != DAYS for key in template.keys):
            return [column.value or ""], np.zeros(len(rows), np.int32)
        keys = self.asked(template, list(rows.keys))
        combined = np.zeros(len(rows), np.int64)
        for key in keys:
            labels, codes = rows.keys[key]
            combined = np.unique(combined * len(labels) + codes, return_inverse=True)[1]
        _, firsts, places = np.unique(combined, return_index=True, return_inverse=True)
        texts = []
        for row in firsts:
            text = self.said(template, {key: rows.keys[key][0][rows.keys[key][1][row]] for key in keys})
            texts.append(text if column.format == HOUR and text != MISSING else column.words.get(text, text))
        return texts, places
