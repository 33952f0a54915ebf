"""Verify what someone published: a folder, one CSV file of counts, or a file with a signature next to it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from tapveil.base.errors import UsageError
from tapveil.base.findings import Verification
from tapveil.base.progress import Reporter
from tapveil.base.vocabulary import MANIFEST
from tapveil.published.conversion.statement import STATEMENT
from tapveil.published.series.written import CONTENTS
from tapveil.verification.file import verify_file
from tapveil.verification.folder import verify_folder
from tapveil.verification.signed_file import signature_of, verify_signed

_MADE_FROM_FOLDERS = {STATEMENT: "tapveil convert FOLDER --verify", CONTENTS: "tapveil series FOLDERS --verify"}


def verify(
    path: str | Path,
    *,
    signers: str | Path | None = None,
    epsilon: str | Fraction | None = None,
    delta: str | Fraction | None = None,
    progress: Reporter | None = None,
) -> Verification:
    """Check that a published folder is intact and that its privacy claims hold. Needs only the folder.

    Nothing in the folder is trusted: checksums, manifest, tables, derived tables, texts and the page are checked or
    computed again.

    Args:
        path: A published folder; one CSV file in the layout of the published Opal data; or any file with a signature
            next to it, such as a dossier, of which the signature alone is checked.
        signers: A file of allowed signers (`ssh-keygen`): the folder or file must be signed by one of them.
        epsilon: For a CSV file: the ε that its table is said to have, such as `"8"`.
        delta: For a CSV file: the δ that its table is said to have, such as `"7.5e-7"`.
        progress: Receives the stages of the work; silent by default.

    Returns:
        What was found. `ok` is true if nothing is wrong.

    Raises:
        FolderError: There is no such folder.
        UsageError: There is no such file, or arguments of files and folders are mixed.

    Example:
        >>> import tapveil
        >>> checked = tapveil.verify("published")
        >>> checked.ok, checked.findings
        (True, [])
    """
    path = Path(path)
    if path.is_dir():
        if epsilon is not None or delta is not None:
            raise UsageError("--epsilon and --delta are for a single CSV file; a folder states its own")
        for name, command in _MADE_FROM_FOLDERS.items():
            if (path / name).is_file() and not (path / MANIFEST).exists():
                raise UsageError(f"{path} was made from published folders: check it with `{command} {path}`")
        return verify_folder(path, signers=None if signers is None else Path(signers), progress=progress)
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    if epsilon is None and delta is None and (signers is not None or signature_of(path).exists()):
        return verify_signed(path, None if signers is None else Path(signers))
    if signers is not None or epsilon is None or delta is None:
        raise UsageError(f"{path} is not a folder; for one CSV file give --epsilon and --delta, and no --signers")
    return verify_file(path, epsilon, delta, progress=progress)
