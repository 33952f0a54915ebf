"""Signatures with an SSH key: who stands behind a folder. The format is OpenSSH's, so anyone can check one without us:

    ssh-keygen -Y verify -f allowed_signers -I NAME -n tapveil -s SHA256SUMS.sig < SHA256SUMS

Only Ed25519 keys: short, the same everywhere, no parameters to get wrong (OpenSSH's PROTOCOL.sshsig has the format).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key

from tapveil.base.errors import UsageError
from tapveil.base.vocabulary import CHECKSUMS
from tapveil.published import ssh_agent

NAMESPACE = "tapveil"
"""What the signature is for: one made for e-mail or for a commit is not one of a release."""
APPROVAL = "tapveil-approval"
"""Of an officer's decisions: whoever signs a folder has not approved it, and the other way round."""
_MAGIC = b"SSHSIG"
_HEAD = _MAGIC + (1).to_bytes(4, "big")
"""Of an armored signature: what it is, and the version of its format."""
_KIND = b"ssh-ed25519"
_HASHES = {b"sha256": hashlib.sha256, b"sha512": hashlib.sha512}
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_LINE = 70
LARGEST_SIGNATURE = 10_000


class SignatureError(ValueError):
    """Not a valid signature; the message is a sentence."""


@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 key that anyone may know."""

    public: bytes

    @property
    def blob(self) -> bytes:
        """As SSH sends it."""
        return _string(_KIND) + _string(self.public)

    @property
    def line(self) -> str:
        """As a line of a .pub file has it, without the comment."""
        return f"{_KIND.decode()} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        """As OpenSSH shows a key."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    @classmethod
    def of(cls, line: str) -> PublicKey:
        """A key from a line of a .pub file; ValueError if it is not an Ed25519 key."""
        kind, key = [*line.split(), "", ""][:2]
        if kind != _KIND.decode():
            raise SignatureError("it is not an Ed25519 key")
        return cls(_ed25519(base64.b64decode(key, validate=True), 32))


def read_public_keys(path: Path) -> list[PublicKey]:
    """The keys of a .pub file, one a line, as `ssh-keygen -t ed25519` writes them."""
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
        return [PublicKey.of(line) for line in lines if line.strip() and not line.startswith("#")]
    except OSError as error:
        raise UsageError(f"the key {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UsageError(
            f"{path} is not a public Ed25519 key; `ssh-keygen -t ed25519` writes one to NAME.pub"
        ) from None


@dataclass(frozen=True, repr=False)
class SigningKey:
    """A private key that is ready to sign; it may be in the agent, which does not give it away."""

    private: Ed25519PrivateKey | PublicKey

    @property
    def public(self) -> PublicKey:
        """Its public part."""
        if isinstance(self.private, PublicKey):
            return self.private
        return PublicKey(self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, message: bytes, namespace: str = NAMESPACE) -> str:
        """An armored signature of a message."""
        purpose, algorithm = namespace.encode(), b"sha512"
        sign = partial(ssh_agent.sign, self.public.blob) if isinstance(self.private, PublicKey) else self._signed
        signature = sign(_to_be_signed(purpose, algorithm, message))
        parts = (self.public.blob, purpose, b"", algorithm, signature)
        return _armored(_HEAD + b"".join(map(_string, parts)))

    def _signed(self, data: bytes) -> bytes:
        if isinstance(self.private, PublicKey):
            raise AssertionError("the agent has it")
        return _string(_KIND) + _string(self.private.sign(data))


def read_key(path: Path, ask_passphrase: Callable[[], str] | None = None) -> SigningKey:
    """An Ed25519 key in OpenSSH's format, such as `ssh-keygen -t ed25519` makes.

    Of a public key, the private part must be in the SSH agent.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"the key {path} cannot be read: {error.strerror}") from None
    if data.startswith(_KIND + b" "):
        return SigningKey(read_public_keys(path)[0])
    key: object
    try:
        key = load_ssh_private_key(data, None)
    except TypeError:  # it is locked
        if ask_passphrase is None:
            raise UsageError(f"the key {path} has a passphrase, and there is no terminal to ask for it") from None
        try:
            key = load_ssh_private_key(data, ask_passphrase().encode())
        except (ValueError, UnsupportedAlgorithm):
            raise UsageError(f"the key {path} cannot be unlocked: wrong passphrase?") from None
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(f"{path} is not a private key of OpenSSH; `ssh-keygen -t ed25519` makes one") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"{path} is not an Ed25519 key; `ssh-keygen -t ed25519` makes one")
    return SigningKey(key)


class Signature(PublicKey):
    """A valid signature of a message, made with this key, whoever owns it."""


def read_signature(armored: str, message: bytes, purpose: str = NAMESPACE, name: str = CHECKSUMS) -> Signature:
    """The signature of a message, which has a name; SignatureError unless it is one, for this purpose and message."""
    blob = _unarmored(armored)
    if not blob.startswith(_HEAD):
        raise SignatureError("it is not an SSH signature of version 1")
    key, namespace, reserved, algorithm, signature = _strings(blob.removeprefix(_HEAD), 5)
    if reserved:
        raise SignatureError("its reserved field is not empty")
    if namespace != purpose.encode():
        raise SignatureError(f"it was made for another namespace than `{purpose}`")
    if algorithm not in _HASHES:
        raise SignatureError("it uses an unknown hash algorithm")
    public = _ed25519(key, 32)
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(
            _ed25519(signature, 64), _to_be_signed(namespace, algorithm, message)
        )
    except (InvalidSignature, ValueError):
        what = name if purpose == NAMESPACE else "what it signs"
        raise SignatureError(f"it does not match {what}: one of them was changed") from None
    return Signature(public)


def signer(signature: Signature, allowed_signers: Path, at: datetime | None = None) -> str:
    """The name under which a file of allowed signers knows a key; SignatureError if it does not."""
    try:
        lines = allowed_signers.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"the file of allowed signers {allowed_signers} cannot be read") from None
    found = []
    for line in filter(None, map(_ALLOWED.fullmatch, lines)):  # lines that do not match completely are skipped
        with suppress(binascii.Error, SignatureError):
            found.append((line, _ed25519(base64.b64decode(line["key"], validate=True), 32)))
    if not found:
        raise UsageError(
            f"{allowed_signers} has no line `NAME ssh-ed25519 KEY`, so it is not a file of allowed signers"
        )
    for line, public in found:
        if public == signature.public and _options_allow(line["options"] or "", at or datetime.now(UTC)):
            return line["names"]
    raise SignatureError(f"its key {signature.fingerprint} is not among the allowed signers")


_ALLOWED = re.compile(
    r"""
    [ \t]* (?P<names> [^\s"\#!,*?]+ (?:,[^\s"!,*?]+)* )               # names, not patterns
    [ \t]+ (?: (?P<options> \S (?: [^\s"] | "[^"]*" )* ) [ \t]+ )?    # option[="…"],…
    ssh-ed25519 [ \t]+ (?P<key> [A-Za-z0-9+/=]+ )
    (?: [ \t] .* )?                                                   # a comment
    """,
    re.VERBOSE,
)
"""One line of allowed signers."""
_OPTION = re.compile(r'([a-z-]+)(?:="([^"]*)")?(?:,(?=.)|$)')


def _options_allow(options: str, at: datetime) -> bool:
    """Whether a key may be used for this purpose at this time. An option that is not known is not one that allows."""
    given: dict[str, str] = {}
    position = 0
    while position < len(options):
        option = _OPTION.match(options, position)
        if not option or option[2] is None or option[1] in given:
            return False
        given[option[1]] = option[2]
        position = option.end()
    if not given.keys() <= {"namespaces", "valid-after", "valid-before"}:
        return False
    return (
        _matches(NAMESPACE, given.get("namespaces", "*"))
        and ("valid-after" not in given or _moment(given["valid-after"]) <= at)
        and ("valid-before" not in given or at < _moment(given["valid-before"]))
    )


def _matches(text: str, patterns: str) -> bool:
    """A list of patterns as OpenSSH has them: * and ?, and ! for what must not match.

    >>> _matches("tapveil", "file,tap*"), _matches("tapveil", "*,!tapveil"), _matches("tapveil", "[t]apveil")
    (True, False, False)
    """
    found = set[bool]()
    for pattern in patterns.split(","):
        wanted = re.escape(pattern.removeprefix("!")).replace(r"\*", ".*").replace(r"\?", ".")
        if re.fullmatch(wanted, text):
            found.add(not pattern.startswith("!"))
    return found == {True}


def _moment(text: str) -> datetime:
    """YYYYMMDD[HHMM[SS]][Z]; without the Z it is the local time, as OpenSSH has it."""
    digits = text.removesuffix("Z")
    formats = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
    try:
        moment = datetime.strptime(digits, formats[len(digits)])
    except (KeyError, ValueError):
        raise UsageError("a time in the file of allowed signers cannot be read") from None
    return moment.replace(tzinfo=UTC) if text.endswith("Z") else moment.astimezone()


# --- the format -----------------------------------------------------------------------------------------------------


def _to_be_signed(namespace: bytes, algorithm: bytes, message: bytes) -> bytes:
    digest = _HASHES[algorithm](message).digest()
    return _MAGIC + b"".join(map(_string, (namespace, b"", algorithm, digest)))


def _string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _armored(blob: bytes) -> str:
    text = base64.b64encode(blob).decode()
    lines = (text[start : start + _LINE] for start in range(0, len(text), _LINE))
    return "\n".join([_BEGIN, *lines, _END]) + "\n"


def _unarmored(text: str) -> bytes:
    lines = text.split("\n")
    if len(text) > LARGEST_SIGNATURE or len(lines) < 4 or (lines[0], lines[-2], lines[-1]) != (_BEGIN, _END, ""):
        raise SignatureError("it is not an SSH signature")
    try:
        blob = base64.b64decode("".join(lines[1:-2]), validate=True)
    except binascii.Error:
        raise SignatureError("it is not an SSH signature") from None
    if _armored(blob) != text:  # as OpenSSH writes it, too: lengths of lines could be a message
        raise SignatureError("it is not in canonical form; the difference could hide data")
    return blob


def _strings(data: bytes, number: int) -> list[bytes]:
    """As many parts as these bytes must have, each behind its length, and nothing else."""
    found = []
    for _ in range(number):
        end = 4 + int.from_bytes(data[:4], "big")
        if len(data) < end:
            raise SignatureError("it is truncated")
        found.append(data[4:end])
        data = data[end:]
    if data:
        raise SignatureError("it has data after its end")
    return found


def _ed25519(blob: bytes, size: int) -> bytes:
    """The bytes of an Ed25519 key or signature, out of their wrapping."""
    kind, data = _strings(blob, 2)
    if kind != _KIND or len(data) != size:
        raise SignatureError("it was not made with an Ed25519 key")
    return data
