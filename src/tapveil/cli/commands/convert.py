"""`tapveil convert` writes a published folder as files that other programs open, and checks such files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from tapveil.base.errors import UsageError
from tapveil.base.findings import shown
from tapveil.cli.commands.verify import show
from tapveil.cli.options import Json, Quiet, err, out


def convert(
    folder: Annotated[str, Argument(metavar="DIR", help="A published folder, or its address.")],
    to: Annotated[
        list[str] | None,
        Option(help="Form: flows, gpkg, geoparquet, xlsx, csv or omx. Repeat for several."),
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", metavar="DIR", help="Folder to write to.")] = None,
    table: Annotated[
        list[str] | None,
        Option(help="Table for xlsx, csv and gpkg. Repeat for several; all of them by default."),
    ] = None,
    bom: Annotated[bool, Option(help="Begin CSV files with a byte-order mark, as Excel needs it.")] = True,
    delimiter: Annotated[str, Option(help="Between columns of CSV files: , or ; or tab.")] = ",",
    verify: Annotated[
        Path | None, Option(metavar="DIR", help="Check that these files follow from the folder: make them again.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a published folder for maps, Excel or demand models.

    From published numbers alone. converted.json says what files are made
    from; --verify makes them again and compares.
    """
    from tapveil.published.conversion.convert import Choice, like_formulas
    from tapveil.published.conversion.convert import convert as write
    from tapveil.published.conversion.statement import csv_style
    from tapveil.published.folder import open_folder

    opened = open_folder(folder)
    if verify:
        if output or to:
            raise UsageError("give --to and -o to write files, or --verify to check them, not both")
        from tapveil.verification.conversion import verify_conversion

        checked = verify_conversion(verify, opened)
        show(checked.findings, f"{verify} verified: {checked.summary}", as_json, checked.notes, quiet=quiet)
        return
    if not output or not to:
        raise UsageError("say which form with --to, and where to with -o; or --verify DIR")
    choice = Choice(csv_style(bom, "\t" if delimiter == "tab" else delimiter), tuple(table) if table else None)
    failed = list[str]()
    for form in to:
        try:
            written = write(opened, form, output, choice)
        except UsageError as error:
            failed.append(f"{form}: {error}" if len(to) > 1 else str(error))
        else:
            for path in written if not quiet and not as_json else ():
                out.print(str(path))
    if failed:
        raise UsageError("; ".join(failed))
    if "csv" in to and (found := like_formulas(opened, choice)):
        err.print(f"Note: Excel takes {shown(found[0])} for a formula: open the workbook (--to xlsx) instead.")
    if as_json:
        from tapveil.published.conversion.statement import STATEMENT

        print((output / STATEMENT).read_text(encoding="utf-8"), end="")
