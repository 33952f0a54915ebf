"""A file with a detached signature next to it, such as a dossier: is it as it was signed, and by whom.

The file itself is not judged: what a dossier says is made by the custodian, from files that others may not have.
"""

from __future__ import annotations

from pathlib import Path

from tapveil.base.errors import UsageError
from tapveil.base.findings import Finding, Verification
from tapveil.published.signature import LARGEST_SIGNATURE, SignatureError, read_signature, signer

LARGEST = 1 << 28
"""Bytes of a signed file, at most."""


def signature_of(path: Path) -> Path:
    """Where the signature of a file is."""
    return path.with_name(f"{path.name}.sig")


def verify_signed(path: Path, signers: Path | None = None) -> Verification:
    """Check the signature of one file; `signers` as for a folder.

    Raises:
        UsageError: The file cannot be read, or is too large.
    """
    beside = signature_of(path)
    if not beside.is_file():
        return Verification([Finding("signature-missing", beside.name, "is missing: the file is not signed")])
    try:
        with path.open("rb") as file, beside.open("rb") as signed:
            message, armored = file.read(LARGEST + 1), signed.read(LARGEST_SIGNATURE + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if len(message) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST:,} bytes")
    try:
        signature = read_signature(armored.decode("ascii", "replace"), message, name=path.name)
        key = signature.fingerprint
        who = f"signed by {signer(signature, signers)}" if signers else f"signed with the key {key}"
    except SignatureError as error:
        return Verification([Finding("signature-invalid", beside.name, str(error))])
    notes = [] if signers else ["use --signers to check whose key it is"]
    return Verification(notes=[*notes, "only the signature was checked"], summary=f"as it was signed; {who}")
