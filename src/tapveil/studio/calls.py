"""Everything that the page can ask for, by name: each is a library call that the command line has as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tapveil.base.errors import PlanError, UsageError
from tapveil.studio.server import Call
from tapveil.studio.studio import Found, Given, Studio

Step = Callable[[Studio, Given], Found]


def project(studio: Studio, given: Given) -> Found:
    """The folder: what is there, and how far each step is. Cheap; no trip is read."""
    from tapveil.studio import publication

    state = publication.state(studio)
    return {
        **studio.project.as_json(),
        **state,
        "steps": _steps(studio, state),
        "approval": _approval(studio),
    }


def _approval(studio: Studio) -> dict[str, bool]:
    from tapveil.studio import approval

    try:
        return {"required": approval.is_required(studio, studio.project.plan())}
    except PlanError:
        return {"required": False}


def _steps(studio: Studio, state: Found) -> dict[str, str]:
    """How far each step is: done, or to do."""
    try:
        plan = studio.project.plan()
    except PlanError:
        there = studio.project.plan_path.exists()
        return {
            "data": "open" if there else "todo",
            **dict.fromkeys(("publish", "promise", "budget", "check", "release"), "todo"),
        }
    has_ledger = plan.ledger_path.exists()
    return {
        "data": "done",
        "publish": "done",
        "promise": "done",
        "budget": "done" if has_ledger else "todo",
        "check": "done" if state["published"] else "todo",
        "release": "open" if state["unfinished"] else "done" if state["published"] else "todo",
    }


def job(studio: Studio, given: Given) -> Found:
    """A piece of long work, with its result."""
    found = studio.server.jobs.get(given.get("job"))
    if found is None:
        raise UsageError("there is no such job")
    return {**found.as_json, "result": found.result}


def cancel(studio: Studio, given: Given) -> Found:
    """Stop a piece of long work, as Ctrl-C does."""
    found = studio.server.jobs.get(given.get("job"))
    if found is None:
        raise UsageError("there is no such job")
    studio.server.jobs.cancel(found)
    return found.as_json


def goodbye(studio: Studio, given: Given) -> Found:
    """The page goes."""
    studio.server.door.goodbye()
    return {}


def steps() -> Mapping[str, Step]:
    """All calls. What they need is loaded when a studio starts, and not by who only reads this."""
    from tapveil.studio import approval, budget, check, data, promise, publication, publish

    return {
        "project": project,
        "job": job,
        "cancel": cancel,
        "bye": goodbye,
        "files": data.files,
        "look": data.look,
        "look/write": data.write,
        "plan": publish.show_plan,
        "plan/edit": publish.edit,
        "plan/text": publish.write_text,
        "plan/use": publish.use,
        "plan/start": publish.start,
        "presets": publish.presets,
        "options": publish.options,
        "count": publish.count,
        "preview": publish.preview,
        "map": publish.on_map,
        "promise": promise.promise,
        "need": promise.need,
        "ledger": budget.ledger,
        "ledger/start": budget.start,
        "ledger/budget": budget.declare,
        "ledger/plan": budget.planner,
        "ledger/keep": budget.keep,
        "check": check.check,
        "dossier": check.dossier,
        "dossier/answer": check.answer,
        "dossier/write": check.write_dossier,
        "approval": approval.approval,
        "approval/require": approval.require,
        "approve": approval.approve,
        "release": publication.release,
        "verify": publication.verify,
        "show": publication.show,
        "portals": publication.portals,
        "push": publication.push,
    }


def attach(studio: Studio) -> None:
    """Let the server answer for a studio."""
    from tapveil.studio import data

    server = studio.server
    calls: dict[str, Call] = {name: partial(step, studio) for name, step in steps().items()}
    server.calls, server.upload = calls, partial(data.upload, studio)
    server.changes = studio.project.changes
