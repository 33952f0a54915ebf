"""A signed file is as it was signed, and by whom it must be."""

from __future__ import annotations

from pathlib import Path

import pytest

import tapveil
from tapveil.base.errors import UsageError
from tapveil.published.signature import read_key
from tapveil.verification.signed_file import signature_of, verify_signed
from tests.unit.published.test_signature import make_key, needs_openssh, openssh

pytestmark = needs_openssh


def signed(folder: Path, contents: bytes = b"a dossier") -> tuple[Path, Path]:
    """A file with a signature, and the file of its signers."""
    key, path = make_key(folder), folder / "dossier.docx"
    path.write_bytes(contents)
    signature_of(path).write_text(read_key(key).sign(contents))
    (folder / "signers").write_text(f"agency@city {key.with_suffix('.pub').read_text()}")
    return path, folder / "signers"


def test_a_signed_file_verifies_here_and_by_openssh(tmp_path: Path) -> None:
    path, signers = signed(tmp_path)
    checked = tapveil.verify(path, signers=signers)
    assert checked.ok
    assert "signed by agency@city" in checked.summary
    assert "signed with the key SHA256:" in tapveil.verify(path).summary
    by = ("-Y", "verify", "-f", signers, "-I", "agency@city", "-n", "tapveil", "-s", signature_of(path))
    assert openssh(*by, message=path.read_bytes()).returncode == 0


def test_a_changed_file_another_signer_and_no_signature_are_found(tmp_path: Path) -> None:
    path, signers = signed(tmp_path)
    path.write_bytes(b"another dossier")
    (finding,) = verify_signed(path).findings
    assert finding.code == "signature-invalid"
    assert "does not match dossier.docx" in finding.sentence
    path.write_bytes(b"a dossier")
    (tmp_path / "other").mkdir()
    other = make_key(tmp_path / "other")
    signers.write_text(f"stranger {other.with_suffix('.pub').read_text()}")
    assert [each.code for each in verify_signed(path, signers).findings] == ["signature-invalid"]
    signature_of(path).write_bytes(b"\xff" * 20_000)
    assert [each.code for each in verify_signed(path).findings] == ["signature-invalid"]
    signature_of(path).unlink()
    assert [each.code for each in verify_signed(path, signers).findings] == ["signature-missing"]
    with pytest.raises(UsageError, match="give --epsilon and --delta"):
        tapveil.verify(path)
