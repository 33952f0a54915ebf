"""The project: one folder with a plan, its trips, its ledger and what was published. It is all the state there is."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tapveil.base.atomic import OWNER_ONLY, OWNER_READS, rename, sync, why, write_new, write_whole
from tapveil.base.errors import PlanError, UsageError
from tapveil.plan.model import Plan
from tapveil.studio.edits import Edit, edited
from tapveil.studio.faults import ChangedError, ExistsError
from tapveil.studio.scratch import sweep_asides

PLAN = "plan.toml"
DATA = "data"
"""Where files go that are dropped on the page."""
LONGEST_NAME = 120
MOST_ENTRIES = 2000
_KINDS = {
    **dict.fromkeys((".csv", ".parquet", ".gz", ".xlsx", ".txt", ".tsv"), "trips"),
    **dict.fromkeys((".geojson", ".json"), "places"),
    ".zip": "timetable",
    ".toml": "plan",
}
_LISTS = (".csv", ".txt", ".tsv")


@dataclass
class Project:
    """A folder, and the plan in it that is worked on."""

    folder: Path
    plan_name: str = PLAN
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _seen: dict[str, object] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, folder: Path) -> Project:
        """The project of a folder; its plan is plan.toml, or the only plan there."""
        project = cls(folder.resolve())
        names = project.plans
        if PLAN not in names and len(names) == 1:
            project.plan_name = names[0]
        return project

    @property
    def plan_path(self) -> Path:
        return self.folder / self.plan_name

    @property
    def plans(self) -> list[str]:
        """The plans in the folder: TOML files with a [source] and [privacy]."""
        found = []
        for path in sorted(self.folder.glob("*.toml")):
            with contextlib.suppress(OSError, UnicodeDecodeError):
                lines = path.read_text(encoding="utf-8-sig").splitlines()
                if {"[source]", "[privacy]"} <= {line.partition("#")[0].strip() for line in lines}:
                    found.append(path.name)
        return found

    # --- the plan -----------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The plan as it is on the disk now."""
        from tapveil.plan import toml

        return toml.read_text(self.plan_path)

    @property
    def version(self) -> str | None:
        """By which a plan that somebody else changed is known; None where there is none."""
        try:
            return hashlib.sha256(self.plan_path.read_bytes()).hexdigest()
        except OSError:
            return None

    def plan(self, edits: Iterable[Edit] = ()) -> Plan:
        """The plan, with some edits; PlanError where it is wrong."""
        return self.parsed(edited(self.text, list(edits)))

    def parsed(self, text: str) -> Plan:
        return Plan.parse(text, where=self.plan_name, base=self.folder)

    def write(self, text: str, version: str | None) -> None:
        """Write the plan, if it is still the one that the page knows."""
        with self.lock:
            if self.version != version:
                raise ChangedError(f"{self.plan_name} was changed since it was read; look at it again")
            self._write(self.plan_path, text)

    def write_new_plan(self, name: str, text: str, *, replace: bool) -> None:
        """Write a plan under a name of the folder; one that is there is kept under another."""
        path = self.named(name, (".toml",))
        with self.lock:
            if path.exists():
                if not replace:
                    raise ExistsError(f"{name} already exists")
                path.rename(_free(path))
            self._write(path, text)
            self.plan_name = name

    @staticmethod
    def _write(path: Path, text: str) -> None:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        try:
            write_whole(path, lambda aside: write_new(aside, text, mode))
        except OSError as error:
            raise UsageError(f"{path.name} cannot be written: {why(error)}") from None

    # --- files --------------------------------------------------------------------------------------------------------

    def named(self, name: object, endings: tuple[str, ...] = ()) -> Path:
        """A file or folder right in the project folder, by its plain name."""
        if not isinstance(name, str) or not _is_plain(name):
            raise UsageError("give a plain name, without folders")
        if endings and not name.endswith(endings):
            raise UsageError(f"{name}: must end in {' or '.join(endings)}")
        return self.folder / name

    def path(self, typed: object) -> Path:
        """A path as its user typed it: on their own machine they may name any; it starts from the project folder."""
        if not isinstance(typed, str) or not typed.strip() or "\0" in typed:
            raise UsageError("name a file or a folder")
        if _readable(typed) != typed:
            raise UsageError(f"{_readable(typed)}: the name is not UTF-8, so no plan can have it; rename it")
        return self.folder / Path(typed.strip()).expanduser()

    def shown(self, path: Path) -> str:
        """A path as people see it: within the folder, from there."""
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)

    def entries(self, typed: object) -> dict[str, Any]:
        """What is in a folder."""
        folder = self.path(typed) if typed else self.folder
        try:
            names = sorted(folder.iterdir(), key=lambda path: (not path.is_dir(), path.name.lower()))
        except OSError as error:
            raise UsageError(f"{folder} cannot be read: {why(error)}") from None
        visible = [path for path in names if not path.name.startswith(".")][:MOST_ENTRIES]
        return {"folder": self.shown(folder), "entries": [self._entry(path) for path in visible]}

    def _entry(self, path: Path) -> dict[str, Any]:
        is_folder = path.is_dir()
        size = None
        with contextlib.suppress(OSError):
            size = None if is_folder else path.stat().st_size
        return {
            "name": _readable(path.name),
            "path": self.shown(path),
            "folder": is_folder,
            "size": size,
            "kind": "folder" if is_folder else kind_of(path),
        }

    @property
    def data(self) -> list[dict[str, Any]]:
        """The files of the data folder, and files of trips next to the plan."""
        found: list[dict[str, Any]] = []
        for folder in (self.folder, self.folder / DATA):
            if folder.is_dir():
                paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
                found += [self._entry(path) for path in paths if kind_of(path) in ("trips", "places", "timetable")]
        return found[:MOST_ENTRIES]

    def receive(self, name: str, pieces: Iterable[bytes], *, replace: bool) -> dict[str, Any]:
        """A file that was dropped on the page: into the data folder, readable for its owner alone, whole or not."""
        name = unquote(name)
        if not _is_plain(name):
            raise UsageError("this name cannot be used for a file: rename it")
        folder = self.folder / DATA
        folder.mkdir(mode=OWNER_ONLY, exist_ok=True)
        path = folder / name
        if os.path.lexists(path) and not replace:
            raise ExistsError(f"{DATA}/{name} already exists")
        aside = path.with_name(f".{secrets.token_hex(8)}.aside")  # two of one name may come at once
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(os.open(aside, flags, OWNER_READS), "wb") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # by which another studio knows that this one lives
                for piece in pieces:
                    file.write(piece)
                file.flush()
                sync(aside)
                with self.lock:  # another of this name may have come meanwhile
                    if os.path.lexists(path) and not replace:
                        raise ExistsError(f"{DATA}/{name} already exists")
                    rename(aside, path)
        except OSError as error:
            raise UsageError(f"{DATA}/{name} cannot be written: {why(error)}") from None
        finally:
            aside.unlink(missing_ok=True)
        return {"path": self.shown(path), "size": path.stat().st_size}

    def sweep(self) -> None:
        """Remove what a studio that was killed had received in part."""
        sweep_asides(self.folder / DATA)

    # --- what is there ------------------------------------------------------------------------------------------------

    @property
    def published(self) -> Iterator[Path]:
        """The published folders next to the plan."""
        for path in sorted(self.folder.iterdir()):
            if path.is_dir() and (path / "privacy.json").is_file():
                yield path

    def changes(self) -> list[str]:
        """What has changed on the disk since this was asked last."""
        ledger = self._ledger
        now: dict[str, object] = {
            "plan": self.version,
            # The head too: while somebody else reads the ledger, what is written stays in a file beside it.
            "ledger": [_stamp(ledger), _stamp(ledger.with_name(f"{ledger.name}.head"))],
            "folder": [path.name for path in self.published],
            "answers": [_stamp(path) for path in sorted(self.folder.glob("*.dossier.toml"))],
            "data": [(each["path"], each["size"]) for each in self.data],
        }
        changed = [what for what, stamp in now.items() if self._seen and self._seen.get(what) != stamp]
        self._seen = now
        return changed

    @property
    def _ledger(self) -> Path:
        try:
            return self.plan().ledger_path
        except PlanError:
            return self.folder / "ledger.sqlite"

    def as_json(self) -> Mapping[str, Any]:
        """The folder, for the page."""
        ledger = self._ledger
        return {
            "folder": str(self.folder),
            "plan": self.plan_name if self.plan_path.exists() else None,
            "plans": self.plans,
            "version": self.version,
            "ledger": {"path": self.shown(ledger), "exists": ledger.exists()},
            "data": self.data,
        }


def kind_of(path: Path) -> str:
    """What a file may be, by its name; whether a CSV file has trips or places, by its header."""
    kind = _KINDS.get(path.suffix.lower(), "other")
    return "places" if path.suffix.lower() in _LISTS and _lists_places(path, _stamp(path)) else kind


@lru_cache(maxsize=MOST_ENTRIES)
def _lists_places(path: Path, stamp: object) -> bool:
    """As the file is now, by its stamp."""
    from tapveil.internal.public_world import lists_places

    return lists_places(path)


def _readable(name: str) -> str:
    """A name for people, also where its bytes are no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


def _is_plain(name: str) -> bool:
    """Whether a text is the name of a file, and nothing else: no folder, no hidden file, nothing unprintable."""
    return (
        name.isprintable()
        and 0 < len(name.encode()) <= LONGEST_NAME
        and name == name.strip()
        and not name.startswith(".")
        and not set(name) & set('/\\:*?"<>|')
    )


def _free(path: Path) -> Path:
    """A name for a plan that another takes the place of."""
    numbers = (path.with_stem(f"{path.stem}-{number}") for number in range(1, 10_000))
    return next(each for each in numbers if not each.exists())


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
