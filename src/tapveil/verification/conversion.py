"""Checks the files of `tapveil convert`: it makes them again from the published folder that they are of."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tapveil.base.errors import FolderError, ReaderError, UsageError
from tapveil.base.findings import Finding, Verification, shown
from tapveil.published.conversion.convert import FORMS, Choice, convert
from tapveil.published.conversion.statement import STATEMENT, CsvStyle, Made, Statement
from tapveil.published.folder import Folder
from tapveil.verification import reading
from tapveil.verification.reading import UnreadableError
from tapveil.verification.source import source_findings


def verify_conversion(path: str | Path, folder: Folder) -> Verification:
    """Whether the files that a folder was converted to are those that follow from it.

    The claims of the published folder are verified by `verify`.
    """
    place = Path(path)
    stated = Statement.read(place)
    if stated is None:
        raise FolderError(f"{place} has no files of `tapveil convert`: there is no {STATEMENT}")
    checked = Verification(list(source_findings(folder)))
    if not stated.same_source(Statement.of(folder)):
        sentence = f"is of another release than {folder.path.name}, or of a folder that was changed"
        checked.findings.append(Finding("other-release", STATEMENT, sentence))
        return checked
    try:
        checked.findings.extend(_findings(place, folder, stated))
    except UnreadableError as error:
        checked.findings.append(error.finding)
    checked.summary = f"{', '.join(stated.forms) or 'nothing'} of {folder.manifest.release}, made again and compared"
    checked.notes.append("the claims of the folder itself are checked by `tapveil verify FOLDER`")
    return checked


def _findings(place: Path, folder: Folder, stated: Statement) -> Iterator[Finding]:
    files, found = reading.files_in(place)
    yield from found
    for form, made in stated.forms.items():
        yield from _of_form(place, folder, form, made)
    if reading.text_of(place, STATEMENT) != stated.text:
        yield Finding("hidden-data", STATEMENT, reading.NOT_CANONICAL)
    known = {STATEMENT, *(name for made in stated.forms.values() for name in made.files)}
    for name in sorted(set(files) - known):
        yield Finding("file-unexpected", shown(name), f"is not named by {STATEMENT}")


def _of_form(place: Path, folder: Folder, form: str, made: Made) -> Iterator[Finding]:
    """What is wrong with the files of one form, which are made again aside."""
    if form not in FORMS or made.version != FORMS[form].version:
        yield Finding("conversion-version", shown(form), f"version {made.version} is not known: use a newer tapveil")
        return
    with tempfile.TemporaryDirectory() as aside:
        try:
            choice = Choice(made.style or CsvStyle(), made.tables)
            again = {path.name: path for path in convert(folder, form, Path(aside), choice)}
        except (ReaderError, UsageError) as error:
            yield Finding("check-failed", shown(form), f"cannot be made again: {error}")
            return
        if again.keys() != made.files.keys():
            yield Finding("derived-differs", shown(form), "has other files than follow from the folder")
        for name, path in again.items():
            if not (place / name).is_file() or (place / name).is_symlink():
                yield Finding("file-missing", name, "is missing")
            elif reading.sha256(place, name) != made.files.get(name):
                yield Finding("checksum-differs", name, f"is not the file that {STATEMENT} names")
            elif not FORMS[form].same(path, place / name):
                yield Finding("derived-differs", name, "does not follow from the folder")
