"""An archive holds what was verified, and is the same each time."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tapveil.base.errors import DeliveryError
from tapveil.delivery.archive import archived
from tapveil.delivery.parcel import Parcel

GOLDEN = Path(__file__).parents[2] / "golden" / "3"


def test_an_archive_is_the_whole_folder_and_the_same_each_time(tmp_path: Path) -> None:
    parcel = Parcel.of(GOLDEN / "gaussian")
    first, second = (tmp_path / name for name in ("a", "b"))
    first.mkdir()
    second.mkdir()
    archive = archived(parcel, first)
    assert archive.place.read_bytes() == archived(parcel, second).place.read_bytes()
    with zipfile.ZipFile(archive.place) as opened:
        assert {name: opened.read(name) for name in opened.namelist()} == {
            path.relative_to(parcel.folder).as_posix(): path.read_bytes()
            for path in parcel.folder.rglob("*")
            if path.is_file()
        }


def test_a_file_that_was_changed_is_not_archived(tmp_path: Path) -> None:
    parcel = Parcel.of(GOLDEN / "gaussian")
    changed = replace(parcel.files[0], sha256="0" * 64)
    with pytest.raises(DeliveryError, match="was changed while it was delivered"):
        archived(replace(parcel, files=(changed,)), tmp_path)
