"""A Socrata in memory: the parts of its three documented APIs that a delivery uses, and what they refuse.

A revision for a new asset makes a draft, which has the id of its asset, a colon and a number in search results. The
active source of a revision is the last one that is not parsed and has bytes. Applying a revision takes `slow` looks.
"""

from __future__ import annotations

import base64
import io
import re
import zipfile
from dataclasses import dataclass, field
from typing import Any

from tests.support.portals.server import TOKEN, Asked, FakePortal, RefusedError

KEY = "key-id"
BASIC = base64.b64encode(f"{KEY}:{TOKEN}".encode()).decode()
METADATA = {"name", "description", "tags", "attribution"}


@dataclass
class FakeSocrata(FakePortal):
    revisions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """By asset, the oldest first."""
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What is published, by asset: its metadata, its file, and whether it is public."""
    sources: list[dict[str, Any]] = field(default_factory=list)
    expected: dict[str, bytes] = field(default_factory=dict)
    """What a public release must have: its files."""
    blind: bool = False
    """Whether its search shows no drafts."""
    stale: int = 0
    """How many searches know nothing of what was published."""
    slow: int = 0
    """How often it says that a revision is still being applied."""
    approval: bool = False
    """Whether someone must approve what is to be published."""

    @property
    def public(self) -> list[str]:
        return [asset for asset, view in self.views.items() if view["permission"] == "public"]

    def answer(self, asked: Asked) -> object:
        if asked.headers.get("Authorization") != f"Basic {BASIC}":
            raise RefusedError(401, {"message": f"no user for {asked.headers.get('Authorization')}"})
        if asked.path == "/api/catalog/v1":
            return self._search(asked)
        if described := re.fullmatch(r"/api/views/metadata/v1/([^/]+)", asked.path):
            return self._metadata(described[1], asked)
        if upload := re.fullmatch(r"/api/publishing/v1/source/(\d+)", asked.path):
            return self._upload(int(upload[1]), asked)
        path = re.fullmatch(r"/api/publishing/v1/revision(?:/([^/]+)(?:/(\d+)(?:/(.+))?)?)?", asked.path)
        if not path:
            raise RefusedError(404, {"message": "not found"})
        return self._revision(asked, path[1], path[2], path[3])

    def look(self) -> None:
        for asset in self.public:
            with zipfile.ZipFile(io.BytesIO(self.views[asset]["file"])) as archive:
                if {name: archive.read(name) for name in archive.namelist()} != self.expected:
                    self.broken.append(f"{asset} is public and incomplete")

    def _search(self, asked: Asked) -> dict[str, Any]:
        host, query = asked.headers.get("X-Socrata-Host"), asked.query
        if not host or {query.get("domains"), query.get("search_context")} != {host}:
            raise RefusedError(403, {"error": "which domain?"})
        self.stale -= 1
        views = {} if self.stale >= 0 else self.views
        found = [{"id": asset, **view["metadata"]} for asset, view in views.items()]
        if not self.blind and query.get("published") != "true":
            found += [
                {"id": f"{asset}:{each['revision_seq']}", **each["metadata"]}
                for asset, revisions in self.revisions.items()
                for each in revisions
                if not each["closed_at"]
            ]
        return {"results": [{"resource": each} for each in found if query["tags"] in each["tags"]]}

    def _metadata(self, asset: str, asked: Asked) -> dict[str, Any]:
        if asset not in self.views or not asked.headers.get("X-Socrata-Host"):
            raise RefusedError(404, {"message": "no such asset"})
        if asked.method == "PATCH":
            self.views[asset]["metadata"].update(asked.json)
        return {"id": asset, **self.views[asset]["metadata"]}

    def _revision(self, asked: Asked, asset: str | None, number: str | None, rest: str | None) -> object:
        if asset is None:
            asset = f"abcd-{len(self.revisions):04}"
            self.revisions[asset] = []
            return self._open(asset, asked.json)
        if asset not in self.revisions:
            raise RefusedError(404, {"message": "no such asset"})
        if number is None:
            if asked.method == "POST":
                metadata = dict(self.views[asset]["metadata"])
                return self._open(asset, {"metadata": metadata, **asked.json})
            self._advance(asset)
            return [{"resource": each} for each in reversed(self.revisions[asset])]
        revision = self.revisions[asset][int(number)]
        match asked.method, rest:
            case "POST", "source":
                assert asked.json["parse_options"] == {"parse_source": False}
                assert asked.json["source_type"].keys() == {"type", "filename"}
                self.sources.append({"id": len(self.sources), "of": revision, "bytes": None})
                return {"resource": {"id": len(self.sources) - 1}}
            case "GET", "source/download" if revision["blob_id"] is not None:
                return self.sources[revision["blob_id"]]["bytes"]
            case "PUT", "apply" if not revision["closed_at"]:
                return self._apply(asset, revision)
        raise RefusedError(404, {"message": "not found"})

    def _open(self, asset: str, data: dict[str, Any]) -> dict[str, Any]:
        if not data["metadata"].keys() <= METADATA or data["action"].get("permission") not in ("public", "private"):
            raise RefusedError(400, {"message": "not of the schema"})
        number = len(self.revisions[asset])
        revision = {**data, "fourfour": asset, "revision_seq": number, "closed_at": None, "blob_id": None}
        self.revisions[asset].append(revision | {"task_sets": []})
        return {"resource": self.revisions[asset][-1]}

    def _upload(self, source: int, asked: Asked) -> dict[str, Any]:
        if asked.file is None or asked.headers["Content-Type"] != "application/octet-stream":
            raise RefusedError(400, {"message": "no bytes"})
        self.sources[source]["bytes"] = asked.file[1]
        self.sources[source]["of"]["blob_id"] = source
        return {"resource": {"id": source}}

    def _apply(self, asset: str, revision: dict[str, Any]) -> dict[str, Any]:
        if self.approval:
            return {"key": "approval_submitted"}
        revision["task_sets"].append({"status": "upserting"})
        self._advance(asset)
        return {"resource": revision["task_sets"][-1]}

    def _advance(self, asset: str) -> None:
        """What is being applied: done, unless this portal is slow."""
        for revision in self.revisions[asset]:
            if not revision["task_sets"] or revision["closed_at"]:
                continue
            self.slow -= 1
            if self.slow < 0:
                revision["task_sets"][-1]["status"], revision["closed_at"] = "successful", "2025-01-01T00:00:00"
                before = self.views.get(asset, {})
                blob = revision["blob_id"]
                file = before.get("file") if blob is None else self.sources[blob]["bytes"]
                permission = revision["action"]["permission"]
                self.views[asset] = {"metadata": revision["metadata"], "file": file, "permission": permission}
