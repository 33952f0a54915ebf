"""What to publish: the plan as cards, edits of it, and what each choice would publish. The second of six steps."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tapveil.base.errors import InputFileError, PlanError, UsageError
from tapveil.base.progress import Reporter
from tapveil.base.vocabulary import EVERY_MODE, TOTAL
from tapveil.inputs.public import PublicInputs
from tapveil.inputs.shapes import built_in
from tapveil.internal.confidential import NOTICE
from tapveil.internal.draft_text import OF_A_WORLD, TABLES, TRIPS_PER_CARD, TRIPS_PER_DAY
from tapveil.internal.plan_in_words import in_words
from tapveil.plan.model import PRESETS, Area, Plan, Table, preset_text
from tapveil.plan.rules import SHAPES, problems
from tapveil.privacy.mechanisms import Mechanism
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import UNIT_NAMES, rounded_up
from tapveil.studio.edits import Edit, edited, read_edits
from tapveil.studio.lookups import lookups
from tapveil.studio.project import Project
from tapveil.studio.promise import table_accuracy
from tapveil.studio.studio import Found, Given, Studio, sentence_of

if TYPE_CHECKING:
    from tapveil.internal.preview import Bar, Held

WIDTHS = (5, 10, 15, 30, 60, 120, 180, 240, 360, 720)
HEXAGONS = {9: "about 350 m", 8: "about 900 m", 7: "about 2.4 km", 6: "about 6.5 km", 5: "about 17 km"}
"""H3 cells: resolution, and the width of one."""
MOST_PLACES = 3000


# --- the plan ---------------------------------------------------------------------------------------------------------


def show_plan(studio: Studio, given: Given) -> Found:
    """The plan as it is on the disk."""
    return plan_as_json(studio)


def edit(studio: Studio, given: Given) -> Found:
    """Change the plan, or show what a change would make of it."""
    project = studio.project
    before, version = project.text, given.get("version")
    asked = edited(before, read_edits(given.get("edits")))
    text = studio.honest(asked)
    if given.get("write", True) is True:
        if project.version == version and _read(studio, before)[0]:
            studio.parsed(text)  # PlanError: a choice never makes a mistake of a plan that has none
        project.write(text, version)
    return {**plan_as_json(studio, text), "noted": text != asked}


def write_text(studio: Studio, given: Given) -> Found:
    """The plan as somebody wrote it by hand, right or wrong."""
    text = given.get("text")
    if not isinstance(text, str):
        raise UsageError("give the text of the plan")
    honest = studio.honest(text)
    studio.project.write(honest, given.get("version"))
    return {**plan_as_json(studio, honest), "noted": honest != text}


def use(studio: Studio, given: Given) -> Found:
    """Work on another plan of the folder."""
    path = studio.project.named(given.get("plan"), (".toml",))
    if not path.is_file():
        raise UsageError(f"there is no plan {path.name}")
    studio.project.plan_name = path.name
    studio.held = None
    return plan_as_json(studio)


def presets(studio: Studio, given: Given) -> Found:
    """The plans to start from."""
    return {
        "presets": [
            {"name": name, "about": Plan.preset(name).release.title, "text": preset_text(name)} for name in PRESETS
        ]
    }


def start(studio: Studio, given: Given) -> Found:
    """Begin with a preset."""
    name = str(given.get("plan") or studio.project.plan_name)
    text = preset_text(str(given.get("preset")))
    honest = studio.honest(text, name)
    studio.project.write_new_plan(name, honest, replace=given.get("replace") is True)
    return {**plan_as_json(studio), "noted": honest != text}


def plan_as_json(studio: Studio, text: str | None = None) -> dict[str, Any]:
    """The plan for the page: its text, whether it is valid, and what is in it."""
    project = studio.project
    text = project.text if text is None else text
    plan, mistakes = _read(studio, text)
    return {
        "plan": project.plan_name,
        "version": project.version,
        "text": text,
        "valid": plan is not None,
        "problems": mistakes,
        "model": _model(plan) if plan else None,
        "words": _words(plan) if plan else [],
        "shown": plan is not None and studio.looking.has_seen(plan),
        "noted": False,
    }


def _read(studio: Studio, text: str) -> tuple[Plan | None, list[dict[str, Any]]]:
    try:
        plan = studio.project.parsed(text)
        _ = plan.guarantee.mechanisms
    except PlanError as error:
        return None, _problems(error)
    except ValueError as error:  # no noise gives this promise
        return None, [{"message": sentence_of(error)}]
    return plan, []


def _problems(error: PlanError) -> list[dict[str, Any]]:
    """The mistakes of a plan, one by one."""
    first, *more = str(error).splitlines()
    return [{"message": line.strip()} for line in more or [first]]


def _words(plan: Plan) -> list[str]:
    try:
        return list(in_words(plan))
    except ValueError as error:
        return [sentence_of(error)]


def _model(plan: Plan) -> dict[str, Any]:
    privacy, source, release = plan.privacy, plan.source, plan.release
    return {
        "title": release.title,
        "name": release.name,
        "description": release.description,
        "publisher": release.publisher,
        "licence": release.licence,
        "unit": privacy.unit,
        "neighbours": privacy.neighbours,
        "epsilon": None if privacy.epsilon is None else decimal_text(privacy.epsilon, 6),
        "delta": None if privacy.delta is None else rounded_up(privacy.delta),
        "mechanism": privacy.mechanism,
        "every_cell": privacy.is_world,
        "trips_per_day": privacy.trips_per_day,
        "trips_per_card": privacy.trips_per_card,
        "looked_at_trips": privacy.looked_at_trips,
        "shape": source.shape,
        "trips": list(source.path),
        "columns": {ours: each.column or each.value for ours, each in source.columns.items()},
        "first_day": source.first_day and source.first_day.isoformat(),
        "last_day": source.last_day and source.last_day.isoformat(),
        "can_name_days": source.can_name_days,
        "time_minutes": plan.coarsen.time_minutes,
        "day_starts": source.day_starts,
        "location": {mode: area.in_words for mode, area in plan.coarsen.location.items()},
        "partition": list(release.partition),
        "tables": [
            {
                "name": table.name,
                "columns": list(table.columns),
                "weight": decimal_text(plan.guarantee.weights[table.name], 6) if plan.guarantee.is_shared else None,
                "epsilon": None if table.epsilon is None else decimal_text(table.epsilon, 6),
                "in_words": table.in_words,
                "level": "" if table.level.is_finest else table.level.in_words,
            }
            for table in plan.table
        ],
        "shapes": list(release.shapes),
        "places": plan.places is not None or plan.gtfs is not None,
        "timetable": plan.gtfs.path if plan.gtfs else None,
        "ledger": plan.ledger.path,
        "data_set": plan.ledger.data_set,
    }


# --- what may be chosen -----------------------------------------------------------------------------------------------


def options(studio: Studio, given: Given) -> Found:
    """What may be chosen for the plan, each with the edits that choose it."""
    text = edited(studio.project.text, read_edits(given.get("edits")))
    beside = repr([(each["path"], each["size"]) for each in studio.project.data])
    found: Found = studio.remembered(("options", text, beside), partial(_options, studio, text))
    return found


def _options(studio: Studio, text: str) -> Found:
    plan = studio.parsed(text)

    def suits(edits: Sequence[Edit]) -> str | None:
        """Why a choice does not suit the plan; None where it does."""
        try:
            changed = studio.parsed(edited(text, edits))
            _ = PublicInputs.of(changed).shapes if changed.release.shapes != plan.release.shapes else ()
        except (PlanError, InputFileError) as error:
            return str(error).splitlines()[-1].strip()
        return None

    return {
        "time_minutes": [width for width in WIDTHS if not plan.source.day_starts % width],
        "locations": [each for each in _locations(studio.project, plan) if suits(each["edits"]) is None],
        "tables": [*_tables(plan)],
        "partition": [
            {"column": column, "chosen": column in plan.release.partition, "edits": _partition(plan, column)}
            for column in _parts(plan)
        ],
        "mechanisms": [{**each, "why_not": _why_not(plan, each["edits"])} for each in _mechanisms(plan)],
        "units": [{**each, "why_not": _why_not(plan, each["edits"])} for each in _units(plan)],
        "shapes": [{**each, "why_not": None if each["chosen"] else suits(each["edits"])} for each in _shapes(plan)],
    }


def _why_not(plan: Plan, edits: Sequence[Edit]) -> str | None:
    """Why another [privacy] does not suit the plan; None where it does. Its noise is calibrated when it is chosen."""
    privacy = plan.privacy.model_copy(update={edit["at"][-1]: edit["value"] for edit in edits})
    found = next(problems(plan.model_copy(update={"privacy": privacy}), noise=False), None)
    return found.sentence if found else None


def _locations(project: Project, plan: Plan) -> Iterator[dict[str, Any]]:
    """What stops may be published as."""
    chosen = plan.coarsen.location.get(EVERY_MODE)
    at = ["coarsen", "location"]

    def way(name: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
        area = Area.model_validate(value) if value else None
        edits: list[Edit] = [{"at": at, "value": {EVERY_MODE: dict(value)} if value else None}]
        return {"name": name, "chosen": chosen == area and len(plan.coarsen.location) <= 1, "edits": edits}

    yield way("Places as the trips name them", None)
    for value in lookups(project, plan):
        yield way(f"{value['to']}, by {value['lookup']}", value)
    if plan.gtfs is None:
        return
    for field, name in (
        ("stop_name", "Stops of the timetable"),
        ("station_name", "Stations of the timetable"),
        ("zone_id", "Fare zones of the timetable"),
    ):
        yield way(name, {"gtfs": field})
    for resolution, wide in HEXAGONS.items():
        yield way(f"Hexagons, {wide} wide", {"h3": resolution})


def _parts(plan: Plan) -> list[str]:
    """The columns that may split every table."""
    known = [name for name in ("mode", "date") if name in plan.source.columns]
    return [*dict.fromkeys([*plan.release.partition, *known])]


def _partition(plan: Plan, column: str) -> list[Edit]:
    now = plan.release.partition
    new = [each for each in now if each != column] if column in now else [*now, column]
    return [{"at": ["release", "partition"], "value": new}]


def _candidates(plan: Plan) -> Iterator[Table]:
    """Tables that the columns allow."""
    both = {"tap_time": ("tap_on_time", "tap_off_time"), "tap_location": ("tap_on_location", "tap_off_location")}
    known = {end for ours in plan.source.columns for end in both.get(ours, (ours,))}
    if plan.source.taps and not plan.source.taps.off:
        known = {ours for ours in known if not ours.startswith("tap_off_")}
    for name, columns in {**TABLES, **OF_A_WORLD, TOTAL: ()}.items():
        if set(columns) <= known:
            yield Table(name=name, columns=columns)


def _tables(plan: Plan) -> Iterator[dict[str, Any]]:
    """Tables of the plan, and tables that it might have."""
    there = {table.columns for table in plan.table}
    for table in plan.table:
        remove: list[Edit] = [{"at": ["table", table.name], "value": None}]
        weigh = ["table", table.name, "weight"] if not table.is_of_levels and plan.guarantee.is_shared else None
        yield {
            "name": table.name,
            "columns": list(table.columns),
            "about": _about(plan, table),
            "chosen": True,
            "edits": remove if not table.is_of_levels and len(plan.table) > 1 else [],
            "weight_at": weigh,
        }
    for table in _candidates(plan):
        if table.columns not in there and table.name not in plan.tables:
            there.add(table.columns)
            value: dict[str, Any] = {"columns": list(table.columns)}
            if plan.guarantee.is_shared and not plan.privacy.is_world:
                value["weight"] = max(1, len(table.columns)) if table.columns else "1/4"
            yield {
                "name": table.name,
                "columns": list(table.columns),
                "about": _about(plan, table),
                "chosen": False,
                "edits": [{"at": ["table", table.name], "value": value}] if plan.guarantee.is_shared else [],
                "weight_at": None,
            }


_COLUMN_WORDS = {
    "tap_on_time": "time of the start",
    "tap_off_time": "time of the end",
    "tap_on_location": "place of the start",
    "tap_off_location": "place of the end",
    "mode": "mode",
    "date": "day",
    "duration": "duration",
}


def _about(plan: Plan, table: Table) -> str:
    columns = [_COLUMN_WORDS.get(column, column) for column in table.columns]
    parts = [_COLUMN_WORDS.get(column, column) for column in plan.release.partition]
    by = f"by {' and '.join(columns)}" if columns else "in total"
    each = f", for each {' and '.join(parts)}" if parts else ""
    return f"Trips {by}{each}"


def _units(plan: Plan) -> Iterator[dict[str, Any]]:
    privacy = plan.privacy
    bounds: dict[str, dict[str, Any]] = {
        "trip": {"trips_per_day": None, "trips_per_card": None, "without_card": None},
        "card-day": {
            "trips_per_day": privacy.trips_per_day or TRIPS_PER_DAY,
            "trips_per_card": None,
            "without_card": privacy.without_card or "refuse",
        },
        "card": {
            "trips_per_day": privacy.trips_per_day if privacy.unit == "card" else None,
            "trips_per_card": privacy.trips_per_card or TRIPS_PER_CARD,
            "without_card": privacy.without_card or "refuse",
        },
    }
    for unit, more in bounds.items():
        edits = [{"at": ["privacy", key], "value": value} for key, value in {"unit": unit, **more}.items()]
        about = dict(UNIT_NAMES)[unit]  # type: ignore[index]
        yield {"name": unit, "about": about, "chosen": privacy.unit == unit, "edits": edits}


def _mechanisms(plan: Plan) -> Iterator[dict[str, Any]]:
    about = {
        "gaussian": "Noise and a threshold: publishes most at one promise",
        "laplace": "Noise and a threshold, simpler to explain",
        "world": "Every cell of public lists, with noise: nothing is suppressed",
    }
    for name, words in about.items():
        edits: list[Edit] = [{"at": ["privacy", "mechanism"], "value": name}]
        yield {"name": name, "about": words, "chosen": plan.privacy.mechanism == name, "edits": edits}


def _shapes(plan: Plan) -> Iterator[dict[str, Any]]:
    chosen = plan.release.shapes
    for name in SHAPES:
        new = [each for each in chosen if each != name] if name in chosen else [*chosen, name]
        edits: list[Edit] = [{"at": ["release", "shapes"], "value": new or None}]
        yield {"name": name, "about": tomllib.loads(built_in(name))["title"], "chosen": name in chosen, "edits": edits}


# --- counts that are held ---------------------------------------------------------------------------------------------


def count(studio: Studio, given: Given) -> Found:
    """Count the trips, and hold the counts."""
    from tapveil.internal.preview import Held

    edits = read_edits(given.get("edits"))
    plan = studio.project.plan(edits)

    def work(progress: Reporter) -> Found:
        more = () if plan.privacy.lists_cells or plan.privacy.is_world else tuple(_candidates(plan))
        held = Held.count(plan, more, progress=progress)
        with studio.lock:
            studio.held = held
        studio.saw(plan)
        return _counted(held)

    return studio.start("count", work)


def _counted(held: Held) -> dict[str, Any]:
    refusals = held.counted.refusals
    labels: dict[str, Sequence[str]] = {}
    for table in held.counted.tables.values():
        labels = {**labels, **dict(table.labels)}
    days = list(labels.get("date", ()))
    return {
        "confidential": NOTICE,
        "rows": refusals.rows,
        "refused": [
            {
                "reason": str(reason),
                "rows": number,
                "at": [list(place) for place in refusals.located.get(reason, ())],
            }
            for reason, number in sorted(refusals.by_reason.items(), key=lambda item: -item[1])
        ],
        "elsewhere": refusals.elsewhere,
        "left_out": held.counted.left_out,
        "stops": held.stops,
        "days": [days[0], days[-1], len(days)] if days else None,
        "modes": list(labels.get("mode", ())),
    }


def preview(studio: Studio, given: Given) -> Found:
    """What the plan would publish, or how accurate it would be, with some edits. Nothing is written."""
    try:
        plan = studio.plan(read_edits(given.get("edits")))
        mechanisms, is_exact = studio.ahead.mechanisms(plan)
    except PlanError as error:
        return {
            "valid": False,
            "problems": _problems(error),
            "held": studio.held is not None,
            "recount": False,
            "tables": [],
        }
    with studio.lock:
        held = studio.held
        known = held is not None and held.knows(plan)
        tables = [
            {**table_accuracy(plan, name, noise), **(_seen(held, plan, name, noise) if held and known else {})}
            for name, noise in mechanisms.items()
        ]
    if known:
        studio.saw(plan)
    return {
        **({"confidential": NOTICE} if known else {}),
        "valid": True,
        "problems": [],
        "held": held is not None,
        "recount": held is not None and not known,
        "about": not is_exact,
        "tables": tables,
    }


def _seen(held: Held, plan: Plan, name: str, noise: Mechanism) -> dict[str, Any]:
    found, table = held.table(plan, name, noise), plan.tables[name]
    column = next((each for each in table.columns if plan.source.kind(each) == "time"), None)
    column = column or next(iter(table.columns), None) or next(iter(plan.release.partition), None)
    bars = held.bars(plan, name, noise, column) if column else []
    return {
        "cells": found.cells,
        "expected_cells": found.expected_cells,
        "trips": found.trips,
        "expected_trips": found.expected_trips,
        "share": found.share,
        "within10": found.within,
        "advice": found.advice,
        "sample": {
            "column": column,
            "bars": [{"label": bar.label, "trips": bar.trips, "published": bar.share} for bar in bars],
        },
    }


def on_map(studio: Studio, given: Given) -> Found:
    """The places of a table, with what would be published of each where counts are held."""
    plan = studio.plan(read_edits(given.get("edits")))
    name = str(given.get("table") or next((each.name for each in plan.table if _placed(plan, each)), ""))
    if name not in plan.tables:
        return {"places": [], "areas": [], "table": None}
    features = (PublicInputs.of(plan).places or {}).get("features", [])
    noise = studio.ahead.mechanisms(plan)[0][name]
    with studio.lock:
        held = studio.held if studio.held and studio.held.knows(plan) else None
        seen = _by_place(held.by_place(plan, name, noise)) if held else {}
    if held:
        studio.saw(plan)
    error = table_accuracy(plan, name, noise)["error"]
    places, areas = [], []
    for feature in features[:MOST_PLACES]:
        named, geometry = feature["properties"], feature["geometry"]
        bar = seen.get((named.get("mode", EVERY_MODE), named["name"])) or seen.get(("", named["name"]))
        facts = {"name": named.get("title") or named["name"], "mode": named.get("mode", ""), "error": error}
        facts |= {"trips": bar[0], "published": bar[1] / bar[0] if bar[0] else 0.0} if bar else {}
        if geometry["type"] == "Point":
            places.append({**facts, "lon": geometry["coordinates"][0], "lat": geometry["coordinates"][1]})
        else:
            areas.append({**facts, "rings": _rings(geometry)})
    return {**({"confidential": NOTICE} if held else {}), "table": name, "places": places, "areas": areas}


def _by_place(found: Iterable[tuple[str, str, Bar]]) -> dict[tuple[str, str], tuple[int, float]]:
    """The trips of each place, and how many of them are expected to be published; of a place of every mode, of all."""
    seen: dict[tuple[str, str], tuple[int, float]] = {}
    for mode, place, bar in found:
        for key in {(mode, place), (EVERY_MODE, place)}:
            trips, published = seen.get(key, (0, 0.0))
            seen[key] = trips + bar.trips, published + bar.trips * bar.share
    return seen


def _rings(geometry: Mapping[str, Any]) -> list[Any]:
    """The outlines of an area, and of what is cut out of it."""
    polygons = geometry["coordinates"] if geometry["type"] == "MultiPolygon" else [geometry["coordinates"]]
    return [[point[:2] for point in ring] for polygon in polygons for ring in polygon]


def _placed(plan: Plan, table: Table) -> bool:
    return any(plan.source.kind(column) == "location" for column in table.columns)
