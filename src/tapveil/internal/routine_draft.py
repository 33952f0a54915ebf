"""A routine to start from: a plan as one with gaps for the period, and the file that `tapveil run` reads.

As for the next plan, the text of a plan is changed key by key, so its comments stay.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import tomlkit

from tapveil.base.errors import PlanError
from tapveil.base.span import ONE_DAY, Every, Span
from tapveil.plan.model import Plan

_ROUTINE = """\
[run]
plan = "{plan}"
every = "{every}"
first_day = {first_day}              # where the first period begins
after = 0                           # days to wait after the end of a period
folder = "published/{{period}}"
ready = "{{period}}.complete"         # a period waits for this file: make it when its trips are complete
# sign = "agency_key"               # a private SSH key without a passphrase

# [run.push]                        # where each release is delivered; credentials are in the environment
# portal = "ckan"
# to = "https://data.example.org"
# owner = "transport-agency"
"""


def first_period(plan: Plan, every: Every, today: date) -> Span:
    """The period in which the days of a plan begin; that of today where it names none."""
    span = Span(every, plan.source.first_day or today)
    while not span.begins_there:
        span = Span(every, span.first_day - ONE_DAY)
    return span


def with_gaps(text: str, span: Span) -> str:
    """The text of a plan with gaps for the days, and for the period in its title and in the names of its files."""
    document: Any = tomlkit.parse(text)
    release, source = document["release"], document["source"]
    release["title"] = f"{release['title']}, {{period}}"
    if isinstance(path := source.get("path"), str):
        source["path"] = path.replace(span.name, "{period}")
    gaps = ("first_day", "last_day")
    columns = {key: source.pop(key) for key in [*source] if isinstance(source[key], dict)}  # new keys stand before them
    for gap in gaps:
        source[gap] = f"{{{gap}}}"
    for key, table in columns.items():
        source[key] = table
    written = tomlkit.dumps(document)
    for gap in gaps:
        written = written.replace(f'"{{{gap}}}"', f"{{{gap}}}")
    days = Plan.parse(span.filled(written, "the plan")).source
    if (days.first_day, days.last_day) != (span.first_day, span.last_day):
        raise PlanError("this plan cannot be rewritten automatically. Write the gaps into it by hand")
    return written


def routine_text(plan: str, span: Span) -> str:
    """The routine of a plan with gaps. It waits for a file, as only the agency knows when trips are complete."""
    return _ROUTINE.format(plan=plan, every=span.every, first_day=span.first_day)
