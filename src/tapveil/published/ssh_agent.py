"""The SSH agent: a program that holds private keys and signs with them, so that nobody else reads them.

The protocol is OpenSSH's (draft-miller-ssh-agent): a message is its length, a byte that says what it is, and its parts.
"""

from __future__ import annotations

import os
import socket

from tapveil.base.errors import UsageError

_SIGN, _SIGNED = 13, 14
_LARGEST = 10_000
WAIT_SECONDS = 120
"""The agent may ask its owner first."""


def sign(key: bytes, data: bytes) -> bytes:
    """The signature of data by the private part of a key, as SSH sends it; UsageError if the agent does not sign."""
    where = os.environ.get("SSH_AUTH_SOCK")
    if not where:
        raise UsageError("this is a public key, and no SSH agent is running: give the private key, or start the agent")
    asked = bytes([_SIGN]) + _string(key) + _string(data) + bytes(4)
    try:
        with socket.socket(socket.AF_UNIX) as agent:
            agent.settimeout(WAIT_SECONDS)
            agent.connect(where)
            agent.sendall(_string(asked))
            length = int.from_bytes(_received(agent, 4), "big")
            answer = _received(agent, min(length, _LARGEST))
    except (OSError, EOFError):
        raise UsageError("the SSH agent (SSH_AUTH_SOCK) does not answer") from None
    if answer[:1] != bytes([_SIGNED]) or len(answer) < 5:
        raise UsageError("the SSH agent does not sign with this key: add it with `ssh-add KEY`, or allow it to sign")
    return answer[5 : 5 + int.from_bytes(answer[1:5], "big")]


def _received(agent: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = agent.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def _string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data
