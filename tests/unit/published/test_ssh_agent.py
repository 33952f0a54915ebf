"""The agent of OpenSSH signs for us, and what does not sign is said."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapveil.base.errors import UsageError
from tapveil.published.signature import APPROVAL, read_key, read_public_keys, read_signature
from tests.unit.published.test_signature import MESSAGE, make_key, needs_openssh


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not (program := shutil.which("ssh-agent")):
        pytest.skip("ssh-agent is not on this machine")
    said = subprocess.run([program, "-s"], capture_output=True, text=True, check=True).stdout
    where, process = re.findall(r"SSH_AUTH_SOCK=(.*?);|SSH_AGENT_PID=(\d+);", said)
    monkeypatch.setenv("SSH_AUTH_SOCK", where[0])
    yield
    os.kill(int(process[1]), signal.SIGTERM)


@needs_openssh
def test_a_key_that_the_agent_has_signs_by_its_public_part(tmp_path: Path, agent: None) -> None:
    key = make_key(tmp_path, "locked")
    public = tmp_path / "locked.pub"
    with pytest.raises(UsageError, match="ssh-add"):
        read_key(public).sign(MESSAGE)
    subprocess.run(["ssh-add", "-q", str(key)], check=True, capture_output=True)
    key.unlink()
    for purpose in (APPROVAL, "tapveil"):
        found = read_signature(read_key(public).sign(MESSAGE, purpose), MESSAGE, purpose)
        assert found.fingerprint == read_public_keys(public)[0].fingerprint


@needs_openssh
def test_an_agent_that_is_not_there_or_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_key(tmp_path)
    key = read_key(tmp_path / "key.pub")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(UsageError, match="no SSH agent"):
        key.sign(MESSAGE)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="does not answer"):
        key.sign(MESSAGE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSH_AUTH_SOCK", "agent")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("agent")
        server.listen()

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(1)
            connection.sendall(b"\0\0\1")
            connection.close()

        other = threading.Thread(target=hang_up)
        other.start()
        with pytest.raises(UsageError, match="does not answer"):
            key.sign(MESSAGE)
        other.join()


def test_files_that_are_no_public_keys(tmp_path: Path) -> None:
    for text in ("ssh-rsa AAAA", "ssh-ed25519 AAAA", "ssh-ed25519", "ssh-ed25519 !"):
        (tmp_path / "key.pub").write_text(text)
        with pytest.raises(UsageError, match="not a public Ed25519 key"):
            read_public_keys(tmp_path / "key.pub")
    with pytest.raises(UsageError, match="cannot be read"):
        read_public_keys(tmp_path / "nowhere.pub")
