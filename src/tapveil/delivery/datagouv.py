"""data.gouv.fr, and other sites that run udata, by its API (version 1): a data set for each release.

A data set is private until all files are there. udata states the SHA-1 of every file as it arrived, and it is compared.
A data set is found by its tag, which has the id of the release: udata chooses ids and addresses of data sets itself.
https://guides.data.gouv.fr (API reference: datasets)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from tapveil.base.errors import DeliveryError, UsageError
from tapveil.delivery.file import File
from tapveil.delivery.notice import Notice
from tapveil.delivery.parcel import DIGEST, Parcel
from tapveil.delivery.portal import Portal
from tapveil.delivery.request import Conversation, PassingError, Request

LICENCES = {"CC-BY-4.0": "cc-by", "CC-BY-SA-4.0": "cc-by-sa", "CC0-1.0": "cc-zero", "ODbL-1.0": "odc-odbl"}
LICENCES |= {"ODC-By-1.0": "odc-by", "PDDL-1.0": "odc-pddl", "etalab-2.0": "lov2"}
"""SPDX names of licences, and what udata's list calls them; others are left out, because udata would refuse them."""


class Datagouv(Portal):
    """data.gouv.fr, or another site that runs udata."""

    name, variable, header = "datagouv", "TAPVEIL_DATAGOUV_KEY", "X-API-KEY"
    home = "https://www.data.gouv.fr"

    def push(self, parcel: Parcel, checked: set[str]) -> Conversation:
        """Look, and do what is missing."""
        dataset = self._ours(parcel, (yield self._find(parcel)).data["data"])
        if dataset is None:
            dataset = (yield self._create(parcel)).data
        public = not dataset["private"]
        there = list(dataset["resources"])
        kept: list[str] = []
        for file in parcel.files:
            resource = _of(file, [each for each in there if each["id"] not in kept])
            if resource is None:
                resource = (yield self._upload(dataset, file)).data
                if _sha1(resource) != file.sha1:
                    yield self._delete(dataset, resource)
                    raise PassingError(f"{file.path} arrived incomplete")
            if (resource.get("title"), resource.get("description")) != (file.path, file.description):
                yield self._describe(dataset, resource, file)
            kept.append(resource["id"])
            checked.add(resource["id"])
        for other in there if not public else ():  # of requests whose answer was lost
            if other["id"] not in kept:
                yield self._delete(dataset, other)
        if not public:
            yield self._change(dataset, {"private": False})
        return f"{self.address}/datasets/{dataset['id']}"

    def withdraw(self, parcel: Parcel, notice: Notice, *, hide: bool) -> Conversation:
        """Put the notice before the description; and make the data set private, if asked."""
        address = f"{self.address}/api/1/datasets/{quote(parcel.name)}/"
        described = {**self._description(parcel), "private": False, "id": parcel.name}
        dataset = (yield Request("GET", address, imagined=described)).data
        if (dataset.get("extras") or {}).get(DIGEST) != parcel.digest:
            raise DeliveryError(f"{self.address}/datasets/{parcel.name} is not this release")
        said = str(dataset["description"])
        changes: dict[str, Any] = {} if said.startswith(notice.heading) else {"description": f"{notice.text}\n{said}"}
        if hide and not dataset["private"]:
            changes["private"] = True
        if changes:
            yield self._change(dataset, changes)
        return f"{self.address}/datasets/{parcel.name}"

    @classmethod
    def found(cls, address: str) -> tuple[Portal, str]:
        """The site, and the id of the data set, of an address that a push ended with."""
        site, _, identity = address.rpartition("/datasets/")
        return cls(site), identity

    def _find(self, parcel: Parcel) -> Request:
        address = f"{self.address}/api/1/datasets/?tag={_tag(parcel)}&page_size=20"
        return Request("GET", address, imagined={"data": []})

    def _ours(self, parcel: Parcel, found: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """The data set of this release; if an answer was lost there may be two, and the public or the first counts."""
        ours = [each for each in found if (each.get("extras") or {}).get(DIGEST) == parcel.digest]
        if found and not ours:
            raise DeliveryError(f"{self.address} has a data set with the tag {_tag(parcel)} that is not this release")
        return min(ours, key=lambda each: (each["private"], each["created_at"], each["id"]), default=None)

    def _description(self, parcel: Parcel) -> dict[str, Any]:
        licence = LICENCES.get(parcel.manifest.licence or "")
        days = {"start": f"{parcel.days[0]}", "end": f"{parcel.days[1]}"} if parcel.days else None
        return {
            "title": parcel.manifest.title,
            "description": parcel.description,
            "tags": [_tag(parcel)],
            "private": True,
            "extras": parcel.facts,
            **({"license": licence} if licence else {}),
            **({"temporal_coverage": days} if days else {}),
        }

    def _create(self, parcel: Parcel) -> Request:
        if not self.owner:
            raise UsageError("name the organisation that publishes on data.gouv.fr by its ID: --owner")
        described = self._description(parcel) | {"organization": {"class": "Organization", "id": self.owner}}
        imagined = {**described, "id": "{id of the data set}", "resources": []}
        return Request("POST", f"{self.address}/api/1/datasets/", json=described, imagined=imagined)

    def _upload(self, dataset: Mapping[str, Any], file: File) -> Request:
        imagined = {"id": f"{{id of {file.path}}}", "checksum": {"type": "sha1", "value": file.sha1}}
        return Request("POST", f"{self._api(dataset)}/upload/", file=("file", file), imagined=imagined)

    def _describe(self, dataset: Mapping[str, Any], resource: Mapping[str, Any], file: File) -> Request:
        described = {
            "title": file.path,
            "description": file.description,
            "type": "main" if file.columns else "documentation",
            "filetype": "file",
            "format": file.format,
            "mime": file.media_type,
        }
        address = f"{self._api(dataset)}/resources/{resource['id']}/"
        return Request("PUT", address, json=described, imagined={})

    def _delete(self, dataset: Mapping[str, Any], resource: Mapping[str, Any]) -> Request:
        return Request("DELETE", f"{self._api(dataset)}/resources/{resource['id']}/", allowed=(404,), imagined={})

    def _change(self, dataset: Mapping[str, Any], changes: Mapping[str, Any]) -> Request:
        """What a data set must have is sent along: udata asks for it in every change."""
        required = {key: dataset[key] for key in ("title", "description")}
        return Request("PUT", f"{self._api(dataset)}/", json={**required, **changes}, imagined={})

    def _api(self, dataset: Mapping[str, Any]) -> str:
        return f"{self.address}/api/1/datasets/{quote(str(dataset['id']))}"


def _tag(parcel: Parcel) -> str:
    return f"tapveil-{parcel.manifest.release_id}"


def _of(file: File, resources: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The resource of a file: of its contents, and of its title if several have them."""
    same = [each for each in resources if _sha1(each) == file.sha1]
    return next((each for each in same if each.get("title") == file.path), next(iter(same), None))


def _sha1(resource: Mapping[str, Any]) -> str | None:
    """What udata says of a file as it arrived."""
    checksum = resource.get("checksum") or {}
    return str(checksum["value"]) if checksum.get("type") == "sha1" else None
