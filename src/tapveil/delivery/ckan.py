"""CKAN, by its Action API (version 3): a data set for each release, a resource for each file.

A data set is private from its first moment on, which CKAN allows only within an organisation. Each file is uploaded,
fetched back and compared. The data set becomes public by one request when all of them are there: what is public was
complete. https://docs.ckan.org/en/2.11/api/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tapveil.base.errors import DeliveryError, UsageError
from tapveil.delivery.file import File
from tapveil.delivery.notice import Notice
from tapveil.delivery.parcel import DIGEST, Parcel
from tapveil.delivery.portal import Portal
from tapveil.delivery.request import Conversation, PassingError, Request

LICENCES = {
    "CC-BY-4.0": "cc-by",
    "CC-BY-SA-4.0": "cc-by-sa",
    "CC0-1.0": "cc-zero",
    "ODbL-1.0": "odc-odbl",
    "ODC-By-1.0": "odc-by",
    "PDDL-1.0": "odc-pddl",
}
"""SPDX names of licences, and what CKAN's own list calls them; others are sent as they are."""


class Ckan(Portal):
    """A site that runs CKAN."""

    name, variable, header = "ckan", "TAPVEIL_CKAN_TOKEN", "Authorization"

    def push(self, parcel: Parcel, checked: set[str]) -> Conversation:
        """Look, and do what is missing."""
        answer = yield self._show(parcel)
        dataset = answer.data["result"] if answer.status != 404 else None
        if dataset is None:
            dataset = (yield self._create(parcel)).data["result"]
        self._refuse_another(parcel, dataset)
        public = not dataset["private"]
        for file in parcel.files:
            named = self._of(file, dataset)
            for copy in named[1:]:  # of requests whose answer was lost
                yield self._action("resource_delete", {"id": copy["id"]})
            there = named[0] if named else None
            if there is None:
                there = (yield self._upload(parcel, file)).data["result"]
            elif public and there.get("hash") == file.sha256:
                continue  # it was compared before it became public
            if there["id"] not in checked:
                arrived = yield self._fetch(dataset, there, file)
                if arrived.data != file.sha256:
                    yield self._action("resource_delete", {"id": there["id"]})
                    raise PassingError(f"{file.path} arrived incomplete")
                checked.add(there["id"])
        if not public:
            yield self._action("package_patch", {"id": parcel.name, "private": False})
        return self._address(parcel)

    def withdraw(self, parcel: Parcel, notice: Notice, *, hide: bool) -> Conversation:
        """Put the notice before the description; and hide the data set, if asked."""
        there = {"private": False, "notes": parcel.description, "extras": _extras(parcel)}
        answer = yield self._show(parcel, there)
        if answer.status == 404:
            raise DeliveryError(f"there is no data set {parcel.name} at {self.address}")
        dataset = answer.data["result"]
        self._refuse_another(parcel, dataset)
        notes = str(dataset.get("notes") or "")
        changes: dict[str, Any] = {} if notes.startswith(notice.heading) else {"notes": f"{notice.text}\n{notes}"}
        if hide and not dataset["private"]:
            changes["private"] = True
        if changes:
            yield self._action("package_patch", {"id": parcel.name, **changes})
        return self._address(parcel)

    def _address(self, parcel: Parcel) -> str:
        return f"{self.address}/dataset/{quote(parcel.name)}"

    @classmethod
    def found(cls, address: str) -> tuple[Portal, str]:
        """The site, and the name of the data set, of an address that a push ended with."""
        site, _, name = address.rpartition("/dataset/")
        return cls(site), name

    def _action(self, action: str, data: Mapping[str, Any], imagined: Any = None) -> Request:
        answered = {"success": True, "result": imagined or {}}
        return Request("POST", f"{self.address}/api/3/action/{action}", json=data, imagined=answered)

    def _show(self, parcel: Parcel, imagined: Mapping[str, Any] | None = None) -> Request:
        address = f"{self.address}/api/3/action/package_show?id={quote(parcel.name)}"
        answered = {"result": imagined} if imagined else None
        return Request("GET", address, allowed=(404,), imagined=answered)

    def _description(self, parcel: Parcel) -> dict[str, Any]:
        if not self.owner:
            raise UsageError("CKAN keeps a data set private only within an organisation: name yours with --owner")
        manifest = parcel.manifest
        optional = {"author": manifest.publisher, "license_id": LICENCES.get(manifest.licence or "", manifest.licence)}
        return {
            "name": parcel.name,
            "title": manifest.title,
            "notes": parcel.description,
            "owner_org": self.owner,
            "private": True,
            **{key: value for key, value in optional.items() if value},
            "extras": _extras(parcel),
        }

    def _create(self, parcel: Parcel) -> Request:
        described = self._description(parcel)
        return self._action("package_create", described, {**described, "id": parcel.name, "resources": []})

    def _upload(self, parcel: Parcel, file: File) -> Request:
        described = {
            "package_id": parcel.name,
            "name": file.path,
            "description": file.description,
            "format": file.format,
            "mimetype": file.media_type,
            "hash": file.sha256,
        }
        address = f"{self.address}/api/3/action/resource_create"
        answered = {"result": {**described, "id": f"{{id of {file.path}}}"}}
        return Request("POST", address, form=described, file=("upload", file), imagined=answered)

    def _fetch(self, dataset: Mapping[str, Any], resource: Mapping[str, Any], file: File) -> Request:
        address = f"{self.address}/dataset/{dataset['id']}/resource/{resource['id']}/download"
        return Request("GET", address, digests=True, largest=file.size, imagined=file.sha256)

    def _of(self, file: File, dataset: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        return [each for each in dataset.get("resources", ()) if each.get("name") == file.path]

    def _refuse_another(self, parcel: Parcel, dataset: Mapping[str, Any]) -> None:
        if dataset.get("state") == "deleted":
            raise DeliveryError(f"the data set {parcel.name} was deleted at {self.address}: restore it, or use --name")
        extras = {each["key"]: each["value"] for each in dataset.get("extras", ())}
        if extras.get(DIGEST) != parcel.digest:
            raise DeliveryError(
                f"{self.address} has a data set {parcel.name} that is not this release: choose another with --name"
            )


def _extras(parcel: Parcel) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in parcel.facts.items()]
