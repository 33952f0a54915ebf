"""What a studio writes for a moment."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tapveil.studio.scratch import PREFIX, scratch, sweep_asides


def test_all_temporary_files_are_in_one_folder_that_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    other = tmp_path / "tapveil-of-a-count"
    other.mkdir()
    with scratch() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert Path(tempfile.mkdtemp()).parent == folder
        with scratch() as inner:
            assert inner.parent == folder
        assert folder.exists()
    assert tempfile.gettempdir() == str(tmp_path)
    assert list(tmp_path.iterdir()) == [other]


def test_a_link_is_not_followed_and_a_living_folder_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(outside)
    (tmp_path / f"{PREFIX}dead").mkdir()
    with scratch() as living:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with scratch():
            assert living.exists()
    assert (outside / "kept").exists()
    assert not (tmp_path / f"{PREFIX}dead").exists()


def test_a_pipe_of_such_a_name_stops_no_start(tmp_path: Path) -> None:
    """An archive may have brought it: to open it for reading would wait for a writer."""
    os.mkfifo(tmp_path / ".0123456789abcdef.aside")
    sweep_asides(tmp_path)
    assert not list(tmp_path.iterdir())
