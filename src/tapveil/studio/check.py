"""Check: everything that `check` says, the dossier, and its open questions. The fifth of six steps."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit

from tapveil.base.atomic import OWNER_READS, write_new, write_whole
from tapveil.base.errors import UsageError
from tapveil.base.progress import Reporter
from tapveil.internal.confidential import NOTICE
from tapveil.internal.dossier.questions import beside, catalogue, read_kept, write_kept
from tapveil.studio.budget import ledger
from tapveil.studio.studio import Found, Given, Studio
from tapveil.veil import statement

if TYPE_CHECKING:
    from tapveil.internal.dossier.document import Dossier

LONGEST_ANSWER = 20_000


def check(studio: Studio, given: Given) -> Found:
    """Validate the plan, show its cost, and estimate what would be published; as long work."""
    from tapveil.internal import outlook as checking

    plan_only, path = given.get("plan_only") is True, studio.project.plan_path
    plan = studio.project.plan()

    def work(progress: Reporter) -> Found:
        inputs = checking.read_public_files(plan)
        cost = statement.cost_in(checking.statement_of(inputs, progress))
        seen = None if plan_only else checking.outlook(plan, progress=progress)
        book = ledger(studio, {})
        if seen:
            studio.saw(plan)
        return {
            **({"confidential": NOTICE} if seen else {}),
            "cost": cost,
            "data": seen.as_json() if seen else None,
            "text": studio.screens.check(plan, path, inputs, cost, seen),
            "ledger": {key: book[key] for key in ("next", "refused", "repeats", "missing")},
            "stops": seen.stops if seen else None,
        }

    return studio.start("check", work)


# --- the dossier ------------------------------------------------------------------------------------------------------


def _about(studio: Studio, given: Given) -> Path:
    """What the dossier is about: the plan before a release, or a folder after it."""
    folder = given.get("folder")
    return studio.project.named(folder) if folder else studio.project.plan_path


def _dossier(studio: Studio, path: Path) -> tuple[Dossier, Path]:
    from tapveil.internal.dossier.case import read_case
    from tapveil.internal.dossier.document import Dossier

    case = read_case(path, ledger=None, audit=None, intruder=None, today=datetime.now(UTC).date())
    kept_in = beside(path, case.manifest)
    return Dossier(case, read_kept(kept_in), kept_in.name), kept_in


def dossier(studio: Studio, given: Given) -> Found:
    """The document for who decides, and its questions. It never reads a trip."""
    made, _ = _dossier(studio, _about(studio, given))
    shown = studio.show("text/html; charset=utf-8", made.html.encode())
    return {"address": shown, **_questions(made)}


def _questions(made: Dossier) -> dict[str, Any]:
    answers, asked = made.kept.answers, []
    for key in made.asked:
        said = answers.get(key)
        told = {"answer": said.answer, "by": said.by, "on": said.on} if said else {"answer": "", "by": "", "on": ""}
        asked.append({"key": key, "text": catalogue()[key], **told})
    return {
        **({"confidential": NOTICE_OF_LEDGER} if made.case.entries is not None else {}),
        "questions": asked,
        "asked": len(asked),
        "open": sum(not each["answer"] for each in asked),
        "changes": [
            {
                "key": key,
                "was": made.kept.last_figures[key],
                "now": made.figures[key].text if key in made.figures else "",
            }
            for key in made.changes
        ],
        "since": made.kept.last_on,
    }


NOTICE_OF_LEDGER = "It contains the ledger, so it is confidential. Do not publish it."


def answer(studio: Studio, given: Given) -> Found:
    """Answer an open question of the dossier; kept in the file next to the plan, for the next one as well."""
    path = _about(studio, given)
    made, kept_in = _dossier(studio, path)
    key, said, by = (str(given.get(each) or "").strip() for each in ("key", "answer", "by"))
    if key not in made.asked:
        raise UsageError(f"there is no question `{key}`")
    if len(said) > LONGEST_ANSWER or (said and not by):
        raise UsageError("say who answers" if said and not by else "the answer is too long")
    with studio.lock:
        document = tomlkit.parse(kept_in.read_text(encoding="utf-8")) if kept_in.exists() else tomlkit.document()
        answers: Any = document.setdefault("answers", tomlkit.table(is_super_table=True))
        entry = answers.get(key) or tomlkit.table()
        today = datetime.now(UTC).date().isoformat() if said else ""
        entry.update({"question": catalogue()[key], "answer": said, "by": by, "on": today})
        answers[key] = entry
        text = tomlkit.dumps(document)
        write_whole(kept_in, lambda aside: write_new(aside, text, OWNER_READS))
    return _questions(_dossier(studio, path)[0])


def write_dossier(studio: Studio, given: Given) -> Found:
    """Write the dossier to a new file that its owner alone may read."""
    from tapveil.internal.dossier.document import FORMATS

    path = _about(studio, given)
    output = studio.project.named(given.get("output") or "dossier.html", tuple(FORMATS))
    made, kept_in = _dossier(studio, path)
    write_new(output, FORMATS[output.suffix](made), OWNER_READS)
    write_kept(kept_in, made.case, made.figures)
    return {"path": studio.project.shown(output), **_questions(_dossier(studio, path)[0])}
