"""A CKAN in memory: the actions of its documented API that a delivery uses, and what they refuse.

package_show, package_create, package_patch, package_delete, resource_create, resource_delete; downloads of uploaded
files. As the documentation has it: errors have `success: false` and a type; 403 without the right to do it, 404 for
what is not there, 409 for what does not validate, 400 for an action that does not exist.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tests.support.portals.server import TOKEN, Asked, FakePortal, RefusedError

KNOWN = set("name title notes owner_org private author license_id extras id resources state".split())
ORGANISATION = "transport"


def _refused(status: int, kind: str, **what: object) -> RefusedError:
    return RefusedError(status, {"success": False, "error": {"__type": kind, **what}})


@dataclass
class FakeCkan(FakePortal):
    packages: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    expected: dict[str, bytes] = field(default_factory=dict)
    """What a visible release must have: its files."""
    made: int = 0

    def answer(self, asked: Asked) -> object:
        user = asked.headers.get("Authorization") == TOKEN
        if download := re.fullmatch(r"/dataset/([^/]+)/resource/([^/]+)/download", asked.path):
            return self._download(download[1], download[2], user)
        action = re.fullmatch(r"/api/3/action/(\w+)", asked.path)
        if not action:
            raise RefusedError(404, {"success": False})
        data = dict(asked.query if asked.method == "GET" else asked.json or asked.form)
        if action[1] == "package_show":
            return self._ok(self._show(data, user))
        doing = {
            "package_create": self._create,
            "package_patch": self._patch,
            "package_delete": self._delete,
            "resource_create": self._add,
            "resource_delete": self._remove,
        }
        if action[1] not in doing or asked.method != "POST":
            raise RefusedError(400, f"Bad request - Action name not known: {action[1]}")
        if not user:
            raise _refused(403, "Authorization Error", message="Access denied")
        return self._ok(doing[action[1]](data, asked))

    def look(self) -> None:
        for package in self.packages.values():
            if not package["private"] and package["state"] == "active" and self.expected:
                there = [(each["name"], self.files[each["id"]]) for each in package["resources"]]
                if sorted(there) != sorted(self.expected.items()):
                    self.broken.append(f"visible with {len(there)} files")

    def _ok(self, result: object) -> dict[str, object]:
        return {"help": f"{self.address}/api/3/action/help_show", "success": True, "result": result}

    def _show(self, data: dict[str, Any], user: bool) -> dict[str, Any]:
        package = self._package(data.get("id"))
        if not user and (package["private"] or package["state"] != "active"):
            raise _refused(403, "Authorization Error", message="Access denied")
        return package

    def _package(self, identity: object) -> dict[str, Any]:
        if not identity:
            raise _refused(409, "Validation Error", id=["Missing value"])
        for package in self.packages.values():
            if identity in (package["id"], package["name"]):
                return package
        raise _refused(404, "Not Found Error", message="Not found")

    def _create(self, data: dict[str, Any], _: Asked) -> dict[str, Any]:
        name = data.get("name", "")
        if not re.fullmatch(r"[a-z0-9_-]{2,100}", name):
            raise _refused(409, "Validation Error", name=["Must be purely lowercase alphanumeric (ascii) characters"])
        if any(package["name"] == name for package in self.packages.values()):
            raise _refused(409, "Validation Error", name=["That URL is already in use."])
        self._validate(data)
        self.made += 1
        package = {"state": "active", "private": False, "resources": [], "extras": [], **data, "id": f"p{self.made}"}
        self.packages[package["id"]] = package
        return package

    def _validate(self, data: dict[str, Any]) -> None:
        if data.get("owner_org") != ORGANISATION:
            raise _refused(409, "Validation Error", owner_org=["Organization does not exist"])
        if not isinstance(data.get("private", False), bool) or not data.keys() <= KNOWN:
            raise _refused(409, "Validation Error", message="not of the schema")
        keys = [each["key"] for each in data.get("extras", ())]
        if len(set(keys)) < len(keys):
            raise _refused(409, "Validation Error", extras=["Extras contain duplicate keys"])

    def _patch(self, data: dict[str, Any], _: Asked) -> dict[str, Any]:
        package = self._package(data.get("id"))
        changed = {**package, **{key: value for key, value in data.items() if key != "id"}}
        self._validate(changed)
        package.update(changed)
        return package

    def _delete(self, data: dict[str, Any], _: Asked) -> None:
        self._package(data.get("id"))["state"] = "deleted"

    def _add(self, data: dict[str, Any], asked: Asked) -> dict[str, Any]:
        package = self._package(data.get("package_id"))
        if asked.file is None or asked.file[0] != "upload":
            raise _refused(409, "Validation Error", url=["Missing value"])
        self.made += 1
        resource = {**data, "id": f"r{self.made}", "package_id": package["id"], "url_type": "upload"}
        self.files[resource["id"]] = asked.file[1]
        package["resources"].append(resource)
        return resource

    def _remove(self, data: dict[str, Any], _: Asked) -> None:
        for package in self.packages.values():
            for resource in package["resources"]:
                if resource["id"] == data.get("id"):
                    package["resources"].remove(resource)
                    return
        raise _refused(404, "Not Found Error", message="Not found: Resource was not found.")

    def _download(self, package: str, resource: str, user: bool) -> bytes:
        found = self._show({"id": package}, user)
        if resource not in {each["id"] for each in found["resources"]}:
            raise RefusedError(404, {"success": False})
        return self.files[resource]
