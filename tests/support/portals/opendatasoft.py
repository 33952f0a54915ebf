"""An Opendatasoft in memory: the parts of its two APIs that a delivery uses, and what they refuse."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tests.support.portals.server import TOKEN, Asked, FakePortal, RefusedError


@dataclass
class FakeOpendatasoft(FakePortal):
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    resources: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    expected: dict[str, bytes] = field(default_factory=dict)
    """What a visible data set must have, by its id."""
    busy: int = 0
    """How often it says that it is still at work."""

    def answer(self, asked: Asked) -> object:
        if asked.headers.get("Authorization") != f"Apikey {TOKEN}":
            raise RefusedError(401, {"message": "Unauthorized"})
        if counted := re.fullmatch(r"/api/explore/v2.1/catalog/datasets/([^/]+)/records", asked.path):
            return {"total_count": self._records(counted[1]), "results": []}
        path = asked.path.removeprefix("/api/automation/v1.0/datasets/")
        if not path:
            return self._list(asked) if asked.method == "GET" else self._create(asked.json)
        uid, _, rest = path.partition("/")
        if uid not in self.datasets:
            raise RefusedError(404, {"message": "Unknown dataset"})
        return self._of(uid, rest, asked)

    def look(self) -> None:
        visible = [each for each in self.datasets.values() if each["is_published"] and not each["is_restricted"]]
        for dataset in visible:
            there = [self.uploads[each["datasource"]["file"]["uid"]] for each in self.resources[dataset["uid"]]]
            if there != [self.expected[dataset["dataset_id"]]]:
                self.broken.append(f"{dataset['dataset_id']} is visible and incomplete")

    def _records(self, identity: str) -> int:
        dataset = next((each for each in self.datasets.values() if each["dataset_id"] == identity), None)
        if dataset is None or not dataset["is_published"]:
            raise RefusedError(404, {"message": "Unknown dataset"})
        files = (self.uploads[each["datasource"]["file"]["uid"]] for each in self.resources[dataset["uid"]])
        return sum(len(file.decode(errors="replace").splitlines()) - 1 for file in files)

    def _list(self, asked: Asked) -> dict[str, Any]:
        found = [each for each in self.datasets.values() if each["dataset_id"] == asked.query.get("dataset_id")]
        return {"total_count": len(found), "results": found}

    def _create(self, data: dict[str, Any]) -> dict[str, Any]:
        taken = any(each["dataset_id"] == data["dataset_id"] for each in self.datasets.values())
        if taken or not re.fullmatch("[a-z0-9_-]+", data["dataset_id"]):
            raise RefusedError(400, {"message": "This identifier is already used, or invalid"})
        uid = f"da_{len(self.datasets)}"
        self.datasets[uid] = {**data, "uid": uid, "is_published": False}
        self.resources[uid] = []
        return self.datasets[uid]

    def _of(self, uid: str, rest: str, asked: Asked) -> object:
        dataset, resources = self.datasets[uid], self.resources[uid]
        match asked.method, rest:
            case "PUT", "":
                dataset.update(asked.json)
            case "PUT", "metadata/default/description/":
                dataset["metadata"]["default"]["description"] = asked.json
            case "GET", "resources/":
                return {"total_count": len(resources), "results": resources}
            case "POST", "resources/files/":
                assert asked.file is not None
                self.uploads[f"f{len(self.uploads)}"] = asked.file[1]
                return {"uid": f"f{len(self.uploads) - 1}"}
            case "POST", "resources/":
                if asked.json["datasource"]["file"]["uid"] not in self.uploads:
                    raise RefusedError(400, {"message": "Unknown file"})
                resources.append({**asked.json, "uid": f"re_{len(self.uploads)}"})
            case "POST", "publish/":
                dataset["is_published"] = True
            case "GET", "status/":
                self.busy -= 1
                return {"status": "processing" if self.busy >= 0 else "idle"}
            case "DELETE", _:
                resources[:] = [each for each in resources if each["uid"] != rest.split("/")[1]]
                return None
            case _:
                raise RefusedError(404, {"message": "no such thing"})
        return dataset
