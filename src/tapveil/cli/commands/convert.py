"""`tapveil convert` writes a published folder as files that other programs open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tapveil.cli.options import Quiet, out


def convert(
    folder: Annotated[Path, Argument(metavar="DIR", help="A published folder.")],
    to: Annotated[
        list[str],
        Option(
            help="Form: flows (flowmap.blue, kepler.gl), gpkg (QGIS), xlsx, csv (Excel) or omx. Repeat for several."
        ),
    ],
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="Folder to write to.")],
    quiet: Quiet = False,
) -> None:
    """Write a published folder for maps, Excel or demand models.

    From published numbers alone: the same folder gives the same bytes.
    """
    from tapveil.published.conversion.convert import convert as convert_folder
    from tapveil.published.folder import open_folder

    opened = open_folder(folder)
    for form in to:
        for path in convert_folder(opened, form, output):
            if not quiet:
                out.print(str(path))
