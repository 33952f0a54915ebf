"""A udata in memory: the parts of its documented API that a delivery uses, and what they refuse.

401 without a key, 403 for an organisation of others, 404 for what is not there, 400 for what does not validate. A
resource that is uploaded has the name of its file as title, and the SHA-1 of what has arrived.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

from tests.support.portals.server import TOKEN, Asked, FakePortal, RefusedError

ORGANISATION = "5bbb6d6cff66bd4dc17bfd5a"
FIELDS = set("title description tags private extras license temporal_coverage organization".split())
LICENCES = {"cc-by", "cc-by-sa", "cc-zero", "odc-odbl", "odc-by", "odc-pddl", "lov2"}


@dataclass
class FakeDatagouv(FakePortal):
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    expected: dict[str, bytes] = field(default_factory=dict)
    made: int = 0

    def answer(self, asked: Asked) -> object:
        user = asked.headers.get("X-API-KEY") == TOKEN
        if asked.method != "GET" and not user:
            raise RefusedError(401, {"message": "Unauthorized"})
        path = asked.path.removeprefix("/api/1/datasets/")
        if not path:
            return self._list(asked, user) if asked.method == "GET" else self._create(asked.json)
        parts = re.fullmatch(r"([^/]+)/(?:(upload)/|resources/([^/]+)/)?", path)
        if not parts or parts[1] not in self.datasets:
            raise RefusedError(404, {"message": "Dataset not found"})
        dataset = self.datasets[parts[1]]
        if parts[2]:
            return self._upload(dataset, asked)
        if parts[3]:
            return self._resource(dataset, parts[3], asked)
        if asked.method == "GET":
            if dataset["private"] and not user:
                raise RefusedError(404, {"message": "Dataset not found"})
            return dataset
        self._validate(asked.json)
        dataset.update(asked.json)
        return dataset

    def look(self) -> None:
        for dataset in self.datasets.values():
            there = {each["title"]: self.files[each["id"]] for each in dataset["resources"]}
            if not dataset["private"] and (there != self.expected or len(there) != len(dataset["resources"])):
                self.broken.append(f"visible with {len(there)} files")

    def _list(self, asked: Asked, user: bool) -> dict[str, Any]:
        tagged = [each for each in self.datasets.values() if asked.query.get("tag") in each["tags"]]
        return {"data": [each for each in tagged if user or not each["private"]], "page": 1}

    def _validate(self, data: dict[str, Any]) -> None:
        wrong = [name for name in ("title", "description") if not data.get(name)]
        wrong += sorted(data.keys() - FIELDS)
        wrong += ["license"] if data.get("license", "lov2") not in LICENCES else []
        wrong += [tag for tag in data.get("tags", ()) if not 3 <= len(tag) <= 96]
        if wrong:
            raise RefusedError(400, {"errors": {name: ["invalid"] for name in wrong}})

    def _create(self, data: dict[str, Any]) -> dict[str, Any]:
        self._validate(data)
        if data.get("organization", {}).get("id") != ORGANISATION:
            raise RefusedError(400, {"errors": {"organization": ["Permission denied for this organization"]}})
        self.made += 1
        made = {"private": False, "tags": [], **data, "id": f"d{self.made}", "resources": []}
        self.datasets[f"d{self.made}"] = made | {"created_at": f"2025-01-01T00:00:{self.made:02d}"}
        return self.datasets[f"d{self.made}"]

    def _upload(self, dataset: dict[str, Any], asked: Asked) -> dict[str, Any]:
        if asked.file is None or asked.file[0] != "file":
            raise RefusedError(400, {"message": "no file"})
        self.made += 1
        checksum = hashlib.sha1(asked.file[1], usedforsecurity=False).hexdigest()
        resource = {"id": f"r{self.made}", "title": "file", "checksum": {"type": "sha1", "value": checksum}}
        self.files[resource["id"]] = asked.file[1]  # type: ignore[index]
        dataset["resources"].insert(0, resource)
        return resource

    def _resource(self, dataset: dict[str, Any], identity: str, asked: Asked) -> object:
        resource = next((each for each in dataset["resources"] if each["id"] == identity), None)
        if resource is None:
            raise RefusedError(404, {"message": "Resource does not exists"})
        if asked.method == "DELETE":
            dataset["resources"].remove(resource)
            return None
        if not asked.json.get("title") or asked.json.get("type") not in ("main", "documentation"):
            raise RefusedError(400, {"errors": {"title": ["required"]}})
        resource.update(asked.json)
        return resource
