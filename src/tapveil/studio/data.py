"""Data: files in, what they are, and a plan for them. The first of six steps."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapveil.base.errors import UsageError
from tapveil.base.progress import Reporter, Silent
from tapveil.internal.confidential import NOTICE
from tapveil.privacy.meaning import Meaning
from tapveil.studio.publish import plan_as_json
from tapveil.studio.request import Request
from tapveil.studio.studio import Found, Given, Studio
from tapveil.trips.questions import OPEN, Question
from tapveil.trips.reading import MOST, Sample
from tapveil.trips.recognised import Guess
from tapveil.trips.sample import trip_files

if TYPE_CHECKING:
    from tapveil.internal.draft import Draft, Look

MOST_BARS, MOST_LABELS, MOST_DAYS = 20, 12, 62
MANY_KINDS = 0.5
"""With more than this share of different values, a column names something, such as a card: it is not drawn."""
_LOOKS: Mapping[str, Look] = {"nothing": "nothing", "columns": "columns", "trips": "trips"}


def files(studio: Studio, given: Given) -> Found:
    """What is in a folder."""
    return studio.project.entries(given.get("folder"))


def upload(studio: Studio, request: Request) -> Found:
    """A file that was dropped on the page."""
    replace = request.headers.get("x-replace") == "yes"
    return studio.project.receive(request.headers.get("x-name", ""), request.pieces(), replace=replace)


def look(studio: Studio, given: Given) -> Found:
    """What `init` understands of some files; as long work where it counts the trips."""
    if given.get("look") == "trips":
        return studio.start("look", lambda progress: _seen(studio, given, progress))
    return _seen(studio, given, Silent())


def write(studio: Studio, given: Given) -> Found:
    """Write the plan that a look came to."""
    name = given.get("plan") or studio.project.plan_name
    studio.project.named(name, (".toml",))
    drafted = _drafted(studio, given, Silent(), str(name))
    text = studio.honest(drafted.text, str(name))
    studio.project.write_new_plan(str(name), text, replace=given.get("replace") is True)
    return {**plan_as_json(studio), "noted": text != drafted.text}


def _drafted(studio: Studio, given: Given, progress: Reporter, name: str) -> Draft:
    from tapveil.internal.draft import draft

    project, answers = studio.project, given.get("answers") or {}
    if not isinstance(answers, Mapping):
        raise UsageError("answers are given by the key of their question")

    def answer(question: Question) -> str:
        said = answers.get(question.key)
        if not isinstance(said, str) or not said.strip():
            return OPEN
        parts = [part.strip() for part in said.split(",")]
        fits = set(parts) <= set(question.choices) if question.choices else question.fits(said.strip())
        return said.strip() if fits else OPEN

    def optional(key: str) -> Path | None:
        return project.path(given[key]) if given.get(key) else None

    return draft(
        str(project.path(given.get("trips"))),
        project.folder / name,
        gtfs=optional("gtfs"),
        places=optional("places"),
        look=_LOOKS.get(str(given.get("look")), "columns"),
        answer=answer,
        progress=progress,
    )


def _seen(studio: Studio, given: Given, progress: Reporter) -> Found:
    drafted = _drafted(studio, given, progress, studio.project.plan_name)
    if given.get("look") == "trips":
        studio.counted(drafted.text)
    found, choices = drafted.found, drafted.choices
    paths = trip_files(str(studio.project.path(given.get("trips")))).files
    roles = {sample.name: _roles(sample.name, found.columns) for sample in drafted.samples}
    columns = []
    for sample in drafted.samples:
        ours = next(iter(roles[sample.name]), None)
        guess = found.columns[ours] if ours else None
        columns.append(
            {
                "name": sample.name,
                "role": ours,
                "roles": roles[sample.name],
                "sureness": guess.sureness if guess else None,
                "why": guess.why if guess else "",
                "format": guess.format if guess and guess.format != OPEN else None,
                "missing": list(guess.missing) if guess else [],
                "distribution": distribution(sample, ours),
            }
        )
    asked, answers = (choices.asked, choices.answers) if choices else ((), {})
    return {
        "confidential": NOTICE,
        "trips": given.get("trips"),
        "files": len(paths),
        "bytes": sum(path.stat().st_size for path in paths),
        "like": found.like,
        "shape": found.shape,
        "why": found.why,
        "columns": columns,
        "sentences": [*_taps(drafted), *_covered(drafted)],
        "remarks": [*found.remarks, *drafted.remarks],
        "questions": [_question(each, answers) for each in asked],
        "promise": _promise(drafted),
        "tables": [{"name": each["name"], "columns": each["columns"]} for each in _tables(drafted)],
        "prospect": drafted.prospect.sentences or None if drafted.prospect else None,
        "text": drafted.text,
        "open": [question.key for question in drafted.open],
    }


def _tables(drafted: Draft) -> list[dict[str, Any]]:
    """The tables of a plan that may have open questions yet."""
    return list(tomllib.loads(drafted.text)["table"])


def _roles(column: str, guesses: Mapping[str, Guess]) -> list[str]:
    """What a column is: it may be the day of a trip and its time; the time comes first."""
    return sorted((ours for ours, guess in guesses.items() if guess.column == column), key=lambda ours: ours == "date")


def _taps(drafted: Draft) -> list[str]:
    found = drafted.found
    if found.is_taps and found.on and OPEN not in found.on:
        return [f"On is {' or '.join(found.on)}; off is {' or '.join(found.off) or 'not there'}."]
    return []


def _covered(drafted: Draft) -> list[str]:
    """Which days are published, where that was not asked."""
    days = drafted.choices.days if drafted.choices else None
    return [f"It covers {days.first} to {days.last}, by {days.source}."] if days and days.by == "names" else []


def _question(question: Question, answers: Mapping[str, str]) -> dict[str, Any]:
    answer = answers.get(question.key, OPEN)
    return {
        "key": question.key,
        "text": question.text,
        "proposal": "" if question.proposal == OPEN else question.proposal,
        "choices": list(question.choices),
        "must": question.must,
        "like": question.like,
        "answer": None if answer == OPEN else answer,
    }


def _promise(drafted: Draft) -> dict[str, Any] | None:
    choices = drafted.choices
    if choices is None:
        return None
    meaning = Meaning(Fraction(choices.epsilon))
    return {
        "unit": choices.unit,
        "epsilon": choices.epsilon,
        "sentence": meaning.sentence(choices.unit, choices.neighbours),
        "verdict": meaning.verdict,
        "days": str(choices.days) if choices.days else None,
    }


# --- distributions ----------------------------------------------------------------------------------------------------


def distribution(sample: Sample, role: str | None) -> dict[str, Any]:
    """The values of a column that were looked at, as bars. CONFIDENTIAL; of what may be a card there is none."""
    if sample.values is None:
        return {"kind": "unread", "looked_at": 0, "filled": None, "kinds": None, "bars": []}
    filled = sample.filled
    kind, bars = _bars(sample, role) if filled else ("empty", [])
    return {
        "kind": kind,
        "looked_at": len(sample.values),
        "filled": len(filled) / len(sample.values) if sample.values else 0.0,
        "kinds": sample.kinds,
        "bars": bars,
    }


def _bars(sample: Sample, role: str | None) -> tuple[str, list[dict[str, Any]]]:
    if role in ("card", "vehicle"):
        return "identifier", []
    named = role or ""
    if named.endswith("time") or (not named and sample.time.share >= MOST and sample.has_clock):
        hours = Counter(f"{minute // 60 % 24:02d}:00" for _, minute in sample.moments if minute is not None)
        return "time", _shares({f"{hour:02d}:00": hours[f"{hour:02d}:00"] for hour in range(24)})
    if named == "date" or (not named and sample.date.share >= MOST and "day" in sample.says):
        return "date", _shares(_days(day for day in sample.days if day))
    if named == "count" or (not named and sample.whole >= MOST and sample.kinds > MOST_BARS and _measures(sample)):
        return "number", _shares(_numbers([float(value) for value in sample.filled if _is_number(value)]))
    if not named.endswith("location") and sample.kinds > MANY_KINDS * len(sample.filled):
        return "identifier", []
    often = Counter(value.strip() for value in sample.filled).most_common(MOST_LABELS)
    others = len(sample.filled) - sum(rows for _, rows in often)
    return "category", _shares({**dict(often), **({"others": others} if others else {})})


def _measures(sample: Sample) -> bool:
    """Whether numbers are amounts, and not names of something: then most occur several times."""
    return sample.kinds <= MANY_KINDS * len(sample.filled)


def _is_number(value: str) -> bool:
    return value.strip().replace(".", "", 1).isdecimal()


def _shares(rows: Mapping[str, int]) -> list[dict[str, Any]]:
    whole = sum(rows.values()) or 1
    return [{"label": label, "share": number / whole} for label, number in rows.items()]


def _days(days: Iterator[str]) -> dict[str, int]:
    found = Counter(days)
    if len(found) > MOST_DAYS:
        months: Counter[str] = Counter()
        for day, rows in found.items():
            months[day[:7]] += rows
        found = months
    return {day: found[day] for day in sorted(found)[:MOST_DAYS]}


def _numbers(values: Sequence[float]) -> dict[str, int]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    width = max(1.0, (high - low) / MOST_BARS)
    found = Counter(min(int((value - low) / width), MOST_BARS - 1) for value in values)
    return {f"{low + width * at:g}": found[at] for at in range(min(MOST_BARS, int((high - low) / width) + 1))}
