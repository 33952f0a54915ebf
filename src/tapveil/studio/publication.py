"""Release: publish a folder, look at it, verify it, and bring it to a portal. The last of six steps."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from tapveil.base.errors import TapveilError, UsageError
from tapveil.base.progress import Reporter, Stage
from tapveil.base.vocabulary import EXPLORER, SIGNATURE
from tapveil.delivery.portals import PORTALS, portal
from tapveil.delivery.request import rehearsed
from tapveil.ledger import words
from tapveil.ledger.approval import read_approval
from tapveil.ledger.book import Ledger
from tapveil.ledger.refusals import repeated
from tapveil.plan.model import Plan
from tapveil.published.folder import Folder
from tapveil.studio.approval import signing_key
from tapveil.studio.faults import NeedsConsentError
from tapveil.studio.studio import Found, Given, Studio
from tapveil.veil.release import release as release_folder
from tapveil.veil.spend import would_spend
from tapveil.veil.workspace import place_for

PAGES = {
    EXPLORER: "text/html; charset=utf-8",
    "rider.html": "text/html; charset=utf-8",
    "README.md": "text/plain; charset=utf-8",
    "privacy.json": "text/plain; charset=utf-8",
}
"""What of a folder can be looked at here."""
UNFINISHED = ".unfinished"


def state(studio: Studio) -> dict[str, Any]:
    """The folders that were published, and the releases that were not finished."""
    project = studio.project
    found = []
    for path in project.published:
        try:
            manifest = Folder(path).manifest
        except (TapveilError, ValueError, OSError):
            found.append({"name": path.name, "title": path.name, "damaged": True})
            continue
        days = [day.isoformat() if day else None for day in (manifest.covers.first_day, manifest.covers.last_day)]
        found.append(
            {
                "name": path.name,
                "title": manifest.title,
                "release_id": manifest.release_id,
                "days": days,
                "signed": (path / SIGNATURE).exists(),
                "pages": [page for page in PAGES if (path / page).is_file()],
                "damaged": False,
            }
        )
    places = (each.name for each in sorted(project.folder.glob(f".*{UNFINISHED}")) if each.is_dir())
    outputs = [name[1:].removesuffix(UNFINISHED) for name in places]
    return {"published": found, "unfinished": [{"output": name} for name in outputs]}


def release(studio: Studio, given: Given) -> Found:
    """Charge the budget and publish a folder, or finish one; as long work that goes on when the browser closes."""
    project, path = studio.project, studio.project.plan_path
    output = project.named(given.get("output") or "published")
    plan = project.plan()
    key = signing_key(studio, given["sign"], given.get("passphrase")) if given.get("sign") else None
    resume, again = given.get("resume") is True, given.get("again") is True
    if not resume:
        studio.said()
        _ask(plan, output, again=again, all_days=given.get("all_days") is True)

    def work(progress: Reporter) -> Found:
        approved = partial(release_folder, approval=read_approval(path), officers=studio.officers)
        published = approved(plan, output, resume=resume, again=again, key=key, progress=progress)
        with progress.stage(Stage.ADDING_UP_BUDGET):
            lines = list(studio.screens.closing(plan, published, path))
        return {"folder": output.name, "lines": lines}

    return studio.start("release", work, must_finish=True)


def _ask(plan: Plan, output: Path, *, again: bool, all_days: bool) -> None:
    """What a release would be refused for until somebody says that it is meant, each by its code."""
    if place_for(output).is_dir():
        raise NeedsConsentError("resumable", f"a release to {output.name} was begun and not finished; resume it")
    if output.exists():
        raise NeedsConsentError("exists", f"{output.name} already exists; choose another name")
    if plan.source.first_day is None and not all_days:
        raise NeedsConsentError(
            "no-days",
            "the plan names no days, so its cost counts for every day, for ever, and later releases of these trips "
            "would find the budget used up. Name the days, or release it for all days",
        )
    if not plan.ledger_path.exists():
        raise NeedsConsentError("no-ledger", "there is no ledger yet: start it, with a budget")
    with Ledger.open(plan.ledger_path) as book:
        earlier = repeated(book.entries, would_spend(plan))
    if earlier and not again:
        which = f"{words.release(earlier[-1])} of {earlier[-1].on}"
        raise NeedsConsentError(
            "again",
            f"some of these days and modes were released before ({which}). To release them again is charged again",
        )


def verify(studio: Studio, given: Given) -> Found:
    """Check that a folder is intact and its claims hold; as long work."""
    from tapveil.verification.verify import verify as verify_path

    folder = studio.project.named(given.get("folder") or "published")

    def work(progress: Reporter) -> Found:
        checked = verify_path(folder, progress=progress)
        return {
            "folder": folder.name,
            "verified": not checked.findings,
            "summary": checked.summary,
            "findings": [{"code": each.code, "where": each.place, "what": each.sentence} for each in checked.findings],
            "notes": list(checked.notes),
        }

    return studio.start("verify", work)


def show(studio: Studio, given: Given) -> Found:
    """A page of a published folder, for a frame that is cut off from the studio."""
    folder, page = studio.project.named(given.get("folder")), str(given.get("page") or EXPLORER)
    if page not in PAGES or not (folder / "privacy.json").is_file():
        raise UsageError(f"{folder.name} has no {page} to show")
    try:
        body = (folder / page).read_bytes()
    except OSError as error:
        raise UsageError(f"{folder.name}/{page} cannot be read: {error.strerror}") from None
    has_parts = page == EXPLORER and (folder / "explorer").is_dir()
    return {"address": studio.show(PAGES[page], body, folder if has_parts else None), "path": str(folder / page)}


def portals(studio: Studio, given: Given) -> Found:
    """The portals, and whether the environment has credentials for each; never what they are."""
    return {
        "portals": [
            {
                "name": name,
                "variable": kind.variable,
                "credentials": bool(os.environ.get(kind.variable)),
                "home": kind.home,
            }
            for name, kind in PORTALS.items()
        ]
    }


def push(studio: Studio, given: Given) -> Found:
    """Bring a folder to a portal, or show every request that would do it; as long work."""
    from tapveil.delivery.push import push as push_parcel
    from tapveil.delivery.push import verified

    folder = studio.project.named(given.get("folder") or "published")
    texts = {key: str(given[key]) for key in ("to", "owner", "name") if given.get(key)}
    there = portal(str(given.get("portal")), texts.get("to"), texts.get("owner"))
    dry, unsigned = given.get("dry_run", True) is not False, given.get("unsigned") is True
    book = studio.project.plan().ledger_path

    def work(progress: Reporter) -> Found:
        parcel = verified(folder, unsigned=unsigned, name=texts.get("name"), progress=progress)
        if dry:
            header = f"{there.header}: (from {there.variable})"
            requests = ["\n".join(each.lines(header)) for each in rehearsed(there.push(parcel, set()))]
            return {"dry_run": True, "requests": requests}
        return {"dry_run": False, "address": push_parcel(there, parcel, book, progress=progress)}

    return studio.start("push", work, must_finish=not dry)
