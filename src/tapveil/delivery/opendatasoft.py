"""Opendatasoft, by its Automation API (version 1.0): a data set for each table of a release.

A data set there is one table, so the other files of a folder have no place. Each data set is published with restricted
access, the number of its records is compared, and when all of them are there access is opened to everyone.
https://help.opendatasoft.com/apis/ods-automation-v1/
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tapveil.base.errors import DeliveryError
from tapveil.delivery.file import File
from tapveil.delivery.notice import Notice
from tapveil.delivery.parcel import Parcel
from tapveil.delivery.portal import Portal
from tapveil.delivery.request import Conversation, PassingError, Request

_BUSY = {"queued", "processing", "publishing", "updating", "limit_reached"}
_BROKEN = {"error"}


class Opendatasoft(Portal):
    """A portal of Opendatasoft."""

    name, variable, header = "opendatasoft", "TAPVEIL_OPENDATASOFT_KEY", "Authorization"

    def written(self, credentials: str) -> str:
        return f"Apikey {credentials}"

    def push(self, parcel: Parcel, checked: set[str]) -> Conversation:
        """Look, and do what is missing, for each table; open access to all of them at the end."""
        hidden = []
        for file in _tables(parcel):
            dataset = self._ours(parcel, file, (yield self._find(parcel, file)).data["results"])
            if dataset is None:
                dataset = (yield self._create(parcel, file)).data
            if dataset["is_published"] and not dataset["is_restricted"]:
                continue
            uid, title = dataset["uid"], f"{Path(file.path).name} {file.sha256[:16]}"
            listed = (yield self._get(uid, "/resources/", {"results": []})).data["results"]
            for extra in [each for each in listed if each["title"] != title] + _same(listed, title)[1:]:
                yield Request("DELETE", self._api(uid, f"/resources/{extra['uid']}/"), allowed=(404,), imagined={})
            if not _same(listed, title):
                sent = (yield self._upload(uid, file)).data
                yield self._resource(uid, title, sent["uid"])
                yield Request("POST", self._api(uid, "/publish/"), json={}, imagined={})
            elif not dataset["is_published"]:
                yield Request("POST", self._api(uid, "/publish/"), json={}, imagined={})
            status = (yield self._get(uid, "/status/", {"status": "idle"})).data["status"]
            if status in _BROKEN:
                raise DeliveryError(f"{self.address} cannot process {file.path}: look at the data set there")
            if status in _BUSY:
                raise PassingError(f"{self.address} is still processing {file.path}")
            if (yield self._count(parcel, file)).data["total_count"] != _rows(file):
                for each in (yield self._get(uid, "/resources/", {"results": []})).data["results"]:
                    yield Request("DELETE", self._api(uid, f"/resources/{each['uid']}/"), allowed=(404,), imagined={})
                raise PassingError(f"{file.path} arrived incomplete")
            checked.add(uid)
            hidden.append(uid)
        for uid in hidden:
            yield Request("PUT", self._api(uid, "/"), json={"is_restricted": False}, imagined={})
        return f"{self.address}/explore/?q={quote(parcel.name)}"

    def withdraw(self, parcel: Parcel, notice: Notice, *, hide: bool) -> Conversation:
        """Put the notice before the description of each table; and restrict access, if asked."""
        for file in _tables(parcel):
            found = {"uid": f"{{uid of {file.path}}}", "is_restricted": False, **self._described(parcel, file)}
            dataset = self._ours(parcel, file, (yield self._find(parcel, file, found)).data["results"])
            if dataset is None:
                continue
            said = str(dataset["metadata"]["default"]["description"]["value"])
            if not said.startswith(notice.heading):
                address = self._api(dataset["uid"], "/metadata/default/description/")
                yield Request("PUT", address, json={"value": f"{notice.text}\n{said}"}, imagined={})
            if hide and not dataset["is_restricted"]:
                yield Request("PUT", self._api(dataset["uid"], "/"), json={"is_restricted": True}, imagined={})
        return f"{self.address}/explore/?q={quote(parcel.name)}"

    @classmethod
    def found(cls, address: str) -> tuple[Portal, str]:
        """The portal, and the beginning of the names of the data sets, of an address that a push ended with."""
        site, _, name = address.rpartition("/explore/?q=")
        return cls(site), name

    def _api(self, uid: str, path: str) -> str:
        return f"{self.address}/api/automation/v1.0/datasets/{quote(uid)}{path}"

    def _get(self, uid: str, path: str, imagined: Mapping[str, Any]) -> Request:
        return Request("GET", self._api(uid, path), imagined=imagined)

    def _find(self, parcel: Parcel, file: File, there: Mapping[str, Any] | None = None) -> Request:
        address = f"{self.address}/api/automation/v1.0/datasets/?dataset_id={_identity(parcel, file)}"
        return Request("GET", address, imagined={"results": [there] if there else []})

    def _ours(self, parcel: Parcel, file: File, found: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        for dataset in found:
            if parcel.digest not in str(dataset["metadata"]["default"]["description"]["value"]):
                raise DeliveryError(
                    f"{self.address} has a data set {_identity(parcel, file)} that is not of this release: choose "
                    "another name with --name"
                )
        return found[0] if found else None

    def _described(self, parcel: Parcel, file: File) -> dict[str, Any]:
        manifest = parcel.manifest
        words = {
            "title": f"{manifest.title}: {file.title}",
            "description": f"{parcel.description}\n\n{file.description}",
            "license": manifest.licence,
            "publisher": manifest.publisher,
        }
        return {"metadata": {"default": {key: {"value": value} for key, value in words.items() if value}}}

    def _create(self, parcel: Parcel, file: File) -> Request:
        identity = _identity(parcel, file)
        described = {"dataset_id": identity, "is_restricted": True, **self._described(parcel, file)}
        imagined = {**described, "uid": f"{{uid of {identity}}}", "is_published": False}
        address = f"{self.address}/api/automation/v1.0/datasets/"
        return Request("POST", address, json=described, imagined=imagined)

    def _upload(self, uid: str, file: File) -> Request:
        imagined = {"uid": f"{{uid of {file.path}}}"}
        return Request("POST", self._api(uid, "/resources/files/"), file=("file", file), imagined=imagined)

    def _resource(self, uid: str, title: str, file: str) -> Request:
        described = {
            "type": "csvfile",
            "title": title,
            "params": {"doublequote": True, "encoding": "utf-8", "headers_first_row": True, "separator": ","},
            "datasource": {"type": "uploaded_file", "file": {"uid": file}},
        }
        return Request("POST", self._api(uid, "/resources/"), json=described, imagined={})

    def _count(self, parcel: Parcel, file: File) -> Request:
        address = f"{self.address}/api/explore/v2.1/catalog/datasets/{_identity(parcel, file)}/records?limit=0"
        return Request("GET", address, imagined={"total_count": _rows(file)})


def _tables(parcel: Parcel) -> list[File]:
    """The tables as they were published, and those in the columns that readers know."""
    folders = (f"{parcel.manifest.arrangement.folder}/", "shapes/")
    return [file for file in parcel.files if file.columns and file.format == "csv" and file.path.startswith(folders)]


def _same(resources: list[Mapping[str, Any]], title: str) -> list[Mapping[str, Any]]:
    return [each for each in resources if each["title"] == title]


def _identity(parcel: Parcel, file: File) -> str:
    """By its whole path: a table and a file of a shape may have the same name."""
    return re.sub("[^a-z0-9-]+", "-", f"{parcel.name}-{file.path.removesuffix('.csv')}".lower())


def _rows(file: File) -> int:
    with file.place.open(encoding="utf-8", newline="") as opened:
        return sum(1 for _ in csv.reader(opened)) - 1
