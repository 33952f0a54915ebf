"""One file that holds a whole published folder, for portals where a data set is one file.

The same folder makes the same archive, byte by byte (with one version of zlib): times and owners are fixed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from tapveil.base.errors import DeliveryError
from tapveil.delivery.client import BLOCK
from tapveil.delivery.file import File
from tapveil.delivery.parcel import Parcel

_EARLIEST = (1980, 1, 1, 0, 0, 0)
_READABLE = 0o100644 << 16
_UNIX = 3


class Archive(File):
    """A file that a portal is to keep as it is, whatever its name says."""

    @property
    def media_type(self) -> str:
        return "application/octet-stream"


def archived(parcel: Parcel, folder: Path) -> Archive:
    """Every file of a parcel in one archive, written into this folder; what goes in is what was verified."""
    place = folder / f"tapveil-{parcel.manifest.release_id}.zip"
    with ZipFile(place, "w") as archive:
        for file in parcel.files:
            _add(archive, file)
    with place.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    return Archive(folder, place.name, digest)


def _add(archive: ZipFile, file: File) -> None:
    entry = ZipInfo(file.path, _EARLIEST)
    entry.compress_type, entry.external_attr, entry.create_system = ZIP_DEFLATED, _READABLE, _UNIX
    entry.file_size = file.size
    digest = hashlib.sha256()
    with file.place.open("rb") as opened, archive.open(entry, "w") as written:
        while block := opened.read(BLOCK):
            digest.update(block)
            written.write(block)
    if digest.hexdigest() != file.sha256:
        raise DeliveryError(f"{file.path} was changed while it was delivered: verify the folder")
