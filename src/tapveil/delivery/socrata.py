"""Socrata (Tyler Data & Insights), by its Publishing, Discovery and Metadata APIs: a file for each release.

Every release is one asset: an archive of the whole folder, which Socrata keeps as it is. It stays a draft, which the
public cannot see, until it was fetched back and compared; one request then publishes it: what is public was complete.
Socrata chooses the ids of assets itself, so a draft is found again by the portal's own search: by its tag, and by the
SHA-256 of `SHA256SUMS` in its description. https://dev.socrata.com/docs/other/publishing.html
"""

from __future__ import annotations

import base64
import re
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlsplit

from tapveil.base.errors import DeliveryError
from tapveil.delivery.archive import archived
from tapveil.delivery.client import credentials_from
from tapveil.delivery.file import File
from tapveil.delivery.notice import Notice
from tapveil.delivery.parcel import Parcel
from tapveil.delivery.portal import Portal
from tapveil.delivery.request import Answer, Conversation, PassingError, Request

_ASSET = re.compile(r"[a-z0-9]{4}-[a-z0-9]{4}")
Revision = Mapping[str, Any]
"""A change of an asset; the first one of a new asset is its draft."""


class Socrata(Portal):
    """A site of Socrata."""

    name, variable, header = "socrata", "TAPVEIL_SOCRATA_KEY_SECRET", "Authorization"
    identity = "TAPVEIL_SOCRATA_KEY_ID"
    """The environment variable with the other half of an API key."""

    def written(self, credentials: str) -> str:
        pair = f"{credentials_from(self.identity)}:{credentials}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"

    def push(self, parcel: Parcel, checked: set[str]) -> Conversation:
        """Look, and do what is missing."""
        seen = self._ours(parcel, (yield self._find(parcel)).data["results"])
        known = [parcel.name] if _ASSET.fullmatch(parcel.name) else []  # by the ledger
        draft: Revision | None = None
        for asset in dict.fromkeys([*known, *seen, *sorted(checked)]):
            for revision in (yield from self._revisions(asset)):
                if parcel.digest not in _described(revision):
                    continue
                if _is_applied(revision, self._page(asset)):
                    return self._page(asset)
                draft = draft or (None if revision.get("closed_at") else revision)
        if draft is None:
            draft = (yield self._create(parcel)).data["resource"]
        asset = str(draft["fourfour"])
        checked.add(asset)  # the search may not know it yet
        with TemporaryDirectory() as folder:
            yield from self._fill(draft, archived(parcel, Path(folder)))
        for other in self._ours(parcel, (yield self._find(parcel, published=True)).data["results"]):
            if other != asset:  # of a push whose answers were lost
                raise PassingError(f"{self._page(other)} is this release already")
        self._require_applied((yield self._apply(draft)).data, asset)
        return self._page(asset)

    def withdraw(self, parcel: Parcel, notice: Notice, *, hide: bool) -> Conversation:
        """Put the notice before the description; and make the file private, if asked."""
        asset = parcel.name
        address = f"{self.address}/api/views/metadata/v1/{quote(asset)}"
        described = {"description": self._description(parcel)}
        said = str((yield Request("GET", address, headers=self._host, imagined=described)).data["description"])
        if parcel.digest not in said:
            raise DeliveryError(f"{self._page(asset)} is not this release")
        if not said.startswith(notice.heading):
            changed = {"description": f"{notice.text}\n{said}"}
            yield Request("PATCH", address, headers=self._host, json=changed, imagined={})
        if hide:
            yield from self._hide(asset)
        return self._page(asset)

    @classmethod
    def found(cls, address: str) -> tuple[Portal, str]:
        """The site, and the id of the asset, of an address that a push ended with."""
        site, _, asset = address.rpartition("/d/")
        return cls(site), asset

    def _fill(self, draft: Revision, archive: File) -> Generator[Request, Answer, None]:
        """The archive into a draft, unless it is there; what would be published is fetched back and compared."""
        if draft.get("blob_id") is not None:
            arrived = yield self._fetch(draft, archive)
            if arrived.data == archive.sha256:
                return
        source = (yield self._source(draft, archive)).data["resource"]
        yield self._upload(source, archive)
        if (yield self._fetch(draft, archive)).data != archive.sha256:
            raise PassingError("the archive of the release arrived incomplete")

    def _hide(self, asset: str) -> Generator[Request, Answer, None]:
        last = next(iter((yield from self._revisions(asset))), None)
        if last and last["action"].get("permission") == "private":
            if _is_applied(last, self._page(asset)):
                return
            last = None if last.get("closed_at") else last
        else:
            last = None
        if last is None:
            changed = {"action": {"type": "update", "permission": "private"}}
            imagined = {"resource": {"fourfour": asset, "revision_seq": "{revision}"}}
            address = f"{self.address}/api/publishing/v1/revision/{quote(asset)}"
            last = (yield Request("POST", address, json=changed, imagined=imagined)).data["resource"]
        self._require_applied((yield self._apply(last)).data, asset)

    def _page(self, asset: str) -> str:
        return f"{self.address}/d/{quote(asset)}"

    @property
    def _host(self) -> dict[str, str]:
        """By which two of the APIs know whose user asks."""
        return {"X-Socrata-Host": urlsplit(self.address).hostname or ""}

    def _find(self, parcel: Parcel, *, published: bool = False) -> Request:
        """All assets of this release that the user may see; or the published ones alone."""
        host = quote(self._host["X-Socrata-Host"])
        address = f"{self.address}/api/catalog/v1?domains={host}&search_context={host}&tags={_tag(parcel)}"
        only = "&published=true" if published else ""
        return Request("GET", f"{address}{only}", headers=self._host, imagined={"results": []})

    def _ours(self, parcel: Parcel, found: Sequence[Mapping[str, Any]]) -> list[str]:
        """The ids of the assets of this release; a draft of an asset has the id of the asset, a colon and a number."""
        resources = [each["resource"] for each in found]
        ours = [each for each in resources if parcel.digest in str(each.get("description"))]
        if resources and not ours:
            raise DeliveryError(f"{self.address} has a file with the tag {_tag(parcel)} that is not this release")
        return sorted({str(each["id"]).partition(":")[0] for each in ours})

    def _revisions(self, asset: str) -> Generator[Request, Answer, list[Revision]]:
        """The newest first; none if the asset was deleted, which the search may not know yet."""
        address = f"{self.address}/api/publishing/v1/revision/{quote(asset)}"
        answer = yield Request("GET", address, allowed=(404,), imagined=[])
        return [] if answer.status == 404 else [each["resource"] for each in answer.data]

    def _description(self, parcel: Parcel) -> str:
        licence = parcel.manifest.licence
        parts = [
            parcel.description,
            f"The file is an archive (ZIP) of the whole release, {len(parcel.files)} files: unpack it, and begin with "
            "`README.md`; `tapveil verify` checks it.",
            f"Licence: {licence}" if licence else "",
        ]
        return "\n\n".join(filter(None, parts))

    def _create(self, parcel: Parcel) -> Request:
        publisher = parcel.manifest.publisher
        metadata = {
            "name": f"{parcel.manifest.title} ({parcel.manifest.release_id[:12]})",
            "description": self._description(parcel),
            "tags": [_tag(parcel)],
            **({"attribution": publisher} if publisher else {}),
        }
        described = {"metadata": metadata, "action": {"type": "update", "permission": "public"}}
        imagined = {"resource": {**described, "fourfour": "{id of the file}", "revision_seq": 0}}
        return Request("POST", f"{self.address}/api/publishing/v1/revision", json=described, imagined=imagined)

    def _source(self, draft: Revision, archive: File) -> Request:
        described = {
            "source_type": {"type": "upload", "filename": archive.path},
            "parse_options": {"parse_source": False},
        }
        imagined = {"resource": {"id": "{id of the upload}"}}
        return Request("POST", f"{self._api(draft)}/source", json=described, imagined=imagined)

    def _upload(self, source: Mapping[str, Any], archive: File) -> Request:
        address = f"{self.address}/api/publishing/v1/source/{quote(str(source['id']))}"
        return Request("POST", address, file=("", archive), imagined={})

    def _fetch(self, draft: Revision, archive: File) -> Request:
        """The active source of a draft: what it would publish."""
        address = f"{self._api(draft)}/source/download"
        return Request("GET", address, digests=True, largest=archive.size, allowed=(404,), imagined=archive.sha256)

    def _apply(self, revision: Revision) -> Request:
        applied = {"resource": {"id": revision["revision_seq"]}}
        imagined = {"resource": {"status": "successful"}}
        return Request("PUT", f"{self._api(revision)}/apply", json=applied, imagined=imagined)

    def _api(self, revision: Revision) -> str:
        asset, number = quote(str(revision["fourfour"])), quote(str(revision["revision_seq"]))
        return f"{self.address}/api/publishing/v1/revision/{asset}/{number}"

    def _require_applied(self, job: Mapping[str, Any], asset: str) -> None:
        if job.get("key") == "approval_submitted":  # instead of a job, at sites where someone approves what is new
            raise DeliveryError(f"{self._page(asset)} waits for approval at the portal: run it again afterwards")
        _is_done([job["resource"]], self._page(asset))


def _tag(parcel: Parcel) -> str:
    return f"tapveil-{parcel.manifest.release_id}"


def _described(revision: Revision) -> str:
    return str((revision.get("metadata") or {}).get("description"))


def _is_applied(revision: Revision, page: str) -> bool:
    return _is_done(revision.get("task_sets") or [], page)


def _is_done(jobs: Sequence[Mapping[str, Any]], page: str) -> bool:
    """Whether a revision was applied; PassingError if that is under way, DeliveryError if it failed."""
    states = [job["status"] for job in jobs]
    if "successful" in states:
        return True
    if set(states) - {"failure"}:
        raise PassingError(f"{page} is still being changed")
    if states:
        raise DeliveryError(f"the portal cannot publish {page}: look at it there, delete it, and run this again")
    return False
