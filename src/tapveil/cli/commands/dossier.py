"""`tapveil dossier`: the document that a privacy officer and a lawyer decide by. It never reads a trip."""

from __future__ import annotations

import getpass
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tapveil.base.errors import UsageError
from tapveil.cli.options import Quiet, err


def dossier(
    path: Annotated[Path, Argument(metavar="PLAN|DIR", help="A plan before its release, or a published folder.")],
    output: Annotated[
        Path, Option("--output", "-o", help="New file; its ending says which: .html, .md or .docx.")
    ] = Path("dossier.html"),
    ledger: Annotated[
        Path | None, Option(help="The ledger; the dossier is then confidential. Default: the plan's.")
    ] = None,
    audit: Annotated[Path | None, Option(help="What `tapveil audit PLAN -o` wrote.")] = None,
    intruder: Annotated[Path | None, Option(help="What `tapveil intruder PLAN -o` wrote.")] = None,
    index: Annotated[
        Path | None, Option(help="For a folder: a public index of its areas, CSV with `place` and `value`.")
    ] = None,
    answers: Annotated[
        Path | None, Option(help="File of answers to open questions. Default: next to the plan or folder.")
    ] = None,
    sign: Annotated[Path | None, Option(help="Sign the dossier with this private SSH key (Ed25519).")] = None,
    quiet: Quiet = False,
) -> None:
    """Write the document for a privacy officer and a lawyer.

    From the plan before a release, from the folder after it. Does not read the trips.
    """
    from tapveil.base.atomic import OWNER_READS, write_new
    from tapveil.internal.dossier.case import read_case
    from tapveil.internal.dossier.document import FORMATS, Dossier
    from tapveil.internal.dossier.questions import beside, read_kept, write_kept
    from tapveil.verification.signed_file import signature_of

    if output.suffix not in FORMATS:
        raise UsageError(f"{output}: the name of a dossier must end in one of {', '.join(FORMATS)}")
    for each in (output, *([signature_of(output)] if sign else [])):
        if each.exists():
            raise UsageError(f"{each} already exists; choose another name")
    if any((above / "privacy.json").exists() for above in output.resolve().parents):
        raise UsageError(f"{output} is inside a published folder; write the dossier elsewhere")
    if not path.exists():
        raise UsageError(f"there is no {path}: name a plan or a published folder")
    today = datetime.now(UTC).date()
    case = read_case(path, ledger=ledger, audit=audit, intruder=intruder, index=index, today=today)
    kept_in = answers or beside(path, case.manifest)
    made = Dossier(case, read_kept(kept_in), kept_in.name)
    contents = FORMATS[output.suffix](made)
    signature = _signed(sign, contents, case.key) if sign else None
    write_new(output, contents, OWNER_READS)
    if signature:
        write_new(signature_of(output), signature, OWNER_READS)
    write_kept(kept_in, case, made.figures)
    if not quiet:
        questions = (
            f"{made.figures['questions.open'].text} of {made.figures['questions.asked'].text} questions are open"
        )
        err.print(f"Wrote {output}. {questions}: answer them in {kept_in}.")
        if case.entries is not None:
            err.print("It contains the ledger, so it is confidential. Do not publish it.")


def _signed(path: Path, message: bytes, key_of_folder: str | None) -> str:
    """A detached signature, as folders have; by the key of the folder, if that is signed."""
    from tapveil.published.signature import read_key, read_signature

    ask = partial(getpass.getpass, "Passphrase of the key: ") if sys.stdin.isatty() else None
    signature = read_key(path, ask).sign(message)
    if key_of_folder and read_signature(signature, message).fingerprint != key_of_folder:
        raise UsageError(f"{path} is another key than the one that signed the folder ({key_of_folder})")
    return signature
