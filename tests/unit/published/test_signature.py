"""Signatures as OpenSSH makes and checks them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tapveil.base.errors import UsageError
from tapveil.published.signature import NAMESPACE, SignatureError, read_key, read_signature, signer

SSH_KEYGEN = shutil.which("ssh-keygen")
needs_openssh = pytest.mark.skipif(SSH_KEYGEN is None, reason="ssh-keygen is not on this machine")
MESSAGE = b"0" * 64 + b"  data/on_time.csv\n"


def openssh(*arguments: object, message: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [str(SSH_KEYGEN), *map(str, arguments)]
    return subprocess.run(command, input=message, capture_output=True, check=False, timeout=120)


def make_key(folder: Path, name: str = "key", passphrase: str = "", kind: str = "ed25519") -> Path:
    assert openssh("-q", "-t", kind, "-N", passphrase, "-C", "agency", "-f", folder / name).returncode == 0
    return folder / name


@needs_openssh
def test_openssh_accepts_what_we_sign(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    (tmp_path / "sig").write_text(read_key(key).sign(MESSAGE))
    (tmp_path / "signers").write_text("agency@city " + key.with_suffix(".pub").read_text())
    check = ("-Y", "verify", "-f", tmp_path / "signers", "-I", "agency@city", "-n", NAMESPACE, "-s", tmp_path / "sig")
    assert b"Good" in openssh(*check, message=MESSAGE).stdout
    assert openssh(*check, message=MESSAGE + b"x").returncode != 0


@needs_openssh
def test_we_accept_what_openssh_signs(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    (tmp_path / "sums").write_bytes(MESSAGE)
    assert openssh("-Y", "sign", "-f", key, "-n", NAMESPACE, tmp_path / "sums").returncode == 0
    armored = (tmp_path / "sums.sig").read_text()
    signature = read_signature(armored, MESSAGE)
    assert signature.fingerprint.encode() in openssh("-l", "-f", key).stdout
    assert openssh("-Y", "sign", "-f", key, "-n", "file", tmp_path / "sums").returncode in (0, 255)
    for changed in (MESSAGE + b" ", MESSAGE[1:]):
        with pytest.raises(SignatureError, match="does not match"):
            read_signature(armored, changed)


@needs_openssh
def test_a_signature_made_for_something_else_is_none(tmp_path: Path) -> None:
    key = make_key(tmp_path)
    (tmp_path / "mail").write_bytes(MESSAGE)
    assert openssh("-Y", "sign", "-f", key, "-n", "email", tmp_path / "mail").returncode == 0
    with pytest.raises(SignatureError, match="another namespace"):
        read_signature((tmp_path / "mail.sig").read_text(), MESSAGE)


@needs_openssh
@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("agency {key}", True),
        ("# agency {key}", False),
        ('agency namespaces="tapveil" {key}', True),
        ('agency namespaces="file,tap*" {key}', True),
        ('agency namespaces="file" {key}', False),
        ('agency valid-after="20200101",valid-before="20990101Z" {key}', True),
        ('agency valid-before="20200101" {key}', False),
        ('agency valid-after="20990101" {key}', False),
        ("agency cert-authority {key}", False),
        ('agency namespaces="!tapveil,*" {key}', False),
        ('agency namespaces="[t]apveil" {key}', False),
        ('agency namespaces="tapveil",#,valid-before="20200101" {key}', False),
        ('agency namespaces="tapveil",valid-before="20200101" {key}', False),
        ("!agency {key}", False),
        ("*,!agency {key}", False),
        ('"" {key}', False),
        ("# trusted:\ragency {key}", False),
        ("# trusted:\u2028agency {key}", False),
        ("other {other} comment\x0bagency {key}", False),
        ("agency namespaces=tapveil {key}", False),
        ('agency namespaces="tapveil",namespaces="tapveil" {key}', False),
        ('agency namespaces="tapveil", {key}', False),
        ("agency {other}", False),
        ("agency ssh-ed25519 AAAA", False),
        ("", False),
    ],
)
def test_allowed_signers(line: str, known: bool, tmp_path: Path) -> None:
    """Each line means what it means to OpenSSH."""
    keys = {name: make_key(tmp_path, name).with_suffix(".pub").read_text().strip() for name in ("key", "other")}
    signers = tmp_path / "signers"
    signers.write_text(line.format(**keys) + "\n")
    armored = read_key(tmp_path / "key").sign(MESSAGE)
    signature = read_signature(armored, MESSAGE)
    if known:
        assert signer(signature, signers) == "agency"
    else:
        with pytest.raises((SignatureError, UsageError), match=r"not among the allowed|has no line"):
            signer(signature, signers)
    (tmp_path / "sig").write_text(armored)
    check = ("-Y", "verify", "-f", signers, "-I", "agency", "-n", NAMESPACE, "-s", tmp_path / "sig")
    assert (openssh(*check, message=MESSAGE).returncode == 0) == known


@needs_openssh
def test_keys_that_cannot_sign(tmp_path: Path) -> None:
    locked = make_key(tmp_path, "locked", "open sesame")
    assert read_key(locked, lambda: "open sesame").sign(MESSAGE)
    with pytest.raises(UsageError, match="wrong passphrase"):
        read_key(locked, lambda: "open barley")
    with pytest.raises(UsageError, match="has a passphrase"):
        read_key(locked)
    with pytest.raises(UsageError, match="not an Ed25519 key"):
        read_key(make_key(tmp_path, "rsa", kind="rsa"))
    (tmp_path / "letter").write_text("Dear officer")
    with pytest.raises(UsageError, match="not a private key"):
        read_key(tmp_path / "letter")
    with pytest.raises(UsageError, match="cannot be read"):
        read_key(tmp_path / "nowhere")


@needs_openssh
def test_no_damaged_signature_passes(tmp_path: Path) -> None:
    armored = read_key(make_key(tmp_path)).sign(MESSAGE)
    for position in range(len(armored)):
        for letter in ("A", "b", "\n", ""):
            damaged = armored[:position] + letter + armored[position + 1 :]
            if "".join(damaged.split("\n")) != "".join(armored.split("\n")):
                with pytest.raises(SignatureError):
                    read_signature(damaged, MESSAGE)
