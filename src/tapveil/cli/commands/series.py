"""`tapveil series` writes many published folders as one series, and checks one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tapveil.base.errors import UsageError
from tapveil.cli.commands.verify import show
from tapveil.cli.options import Json, Quiet, out


def series(
    folders: Annotated[
        list[str], Argument(metavar="FOLDERS", help="Published folders or their addresses, one for each release.")
    ],
    output: Annotated[Path | None, Option("--output", "-o", metavar="DIR", help="Folder to write.")] = None,
    verify: Annotated[
        Path | None, Option(metavar="DIR", help="Check that this series follows from the folders.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read published folders as one series; write Parquet and a page.

    Without -o and --verify it shows the releases, breaks of definition and gaps.
    Of folders with estimates, a series has the measurements.
    """
    from tapveil.base.vocabulary import DOSSIER_ANSWERS
    from tapveil.published.series.reading import open as open_path

    if output and verify:
        raise UsageError("give -o to write a series, or --verify to check one, not both")
    # A dossier keeps its answers next to the folder, so `published/*` names them as well.
    opened = open_path([each for each in folders if not each.endswith(DOSSIER_ANSWERS)])
    if verify:
        from tapveil.verification.series import verify_series

        checked = verify_series(verify, opened)
        show(checked.findings, f"{verify} verified: {checked.summary}", as_json, checked.notes, quiet=quiet)
        return
    if output:
        opened.write(output)
    if as_json:
        from tapveil.published.manifest import json_text
        from tapveil.published.series.writer import as_json as contents

        print(json_text(contents(opened)), end="")
        return
    out.print(str(opened))
    if output:
        out.print(f"Written to {output}; open {output / 'series.html'}.")
