"""The reference, written from the code: commands, the plan, the folder, the ledger, the library.

    python -m tools.reference            # says which pages are not fresh
    python -m tools.reference --write    # writes them

What a key means stands in the code, as the docstring below it; what an option means is its help.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tapveil.base import shape
from tapveil.ledger import entry
from tapveil.ledger.approval import Statement
from tapveil.plan import calendar, model, source
from tapveil.published import manifest
from tools import api, commandline, folder
from tools.models import Model, json_table, plan_table

PAGES = Path(__file__).parents[1] / "docs" / "reference"

_WRITTEN = "<!-- Written by `python -m tools.reference --write` from the code. Change it there. -->"


PLAN: list[tuple[str, str, Model]] = [
    ("[release]", "Name, description and layout of the published folder.", model.Release),
    ("[source]", "Where the trips are. [Reading your export](../exports.md) explains it.", source.Source),
    (
        "[source.columns]",
        'Your column for each of [the columns of a plan](../plan.md#columns): `mode = "vehicle_type"`; or a table, '
        'such as `mode = { value = "bus" }`, with these keys:',
        source.SourceColumn,
    ),
    ("[source.taps]", 'With `shape = "taps"`; see [taps](../exports.md#taps).', source.Taps),
    ("[source.counts]", 'With `shape = "counts"`; see [counts](../exports.md#counts).', source.Counts),
    ("[coarsen]", "Time bins and areas: the detail removed before counting.", model.Coarsen),
    (
        "[coarsen.location.MODE]",
        'How the stops of a mode, or of every other mode (`"*"`), are published. One of `lookup`, `gtfs`, '
        "`polygons` and `h3`; see [areas](../exports.md#areas).",
        model.Area,
    ),
    (
        "[coarsen.wider.NAME.MODE]",
        "Larger areas, for a coarser level of a table; see [several resolutions](../resolutions.md).",
        model.WiderArea,
    ),
    (
        "[coarsen.date]",
        'Columns that follow from the day: `month = "month"`, `day_type = "weekday-weekend"`; or a table, such as '
        '`day_type = { days = "weekday-weekend", holidays = [2016-12-26] }`, with these keys; see '
        "[calendars](../guides/calendars.md).",
        calendar.CalendarColumn,
    ),
    ("[gtfs]", "A [timetable next to the trips](../exports.md#a-timetable-next-to-the-trips).", model.Gtfs),
    (
        "[places]",
        "Coordinates of published places, for the map: from a public list, never from the trips.",
        model.PlaceList,
    ),
    ("[world]", 'Public facts for [estimates](../world.md#estimates), with `mechanism = "world"`.', model.WorldFacts),
    (
        "[public]",
        "What was published about these trips without noise, elsewhere: [exact totals](../guides/exact-totals.md).",
        model.Public,
    ),
    ("[[public.total]]", "Each of them: from a publication, never from the trips.", model.GivenTotal),
    ("[ledger]", "Where spending is recorded; see [the ledger](../ledger.md).", model.LedgerPlace),
    (
        "[privacy]",
        "The guarantee. See [choose a unit](../guides/choose-a-unit.md) and "
        "[choose a mechanism](../guides/choose-a-mechanism.md).",
        model.Privacy,
    ),
    ("[[table]]", "One section for each table.", model.Table),
    ("level", "Of a table: `level = { … }`; see [levels](../plan.md#levels).", model.Level),
    ("levels", "Of a table: `levels = [{ … }, { … }]`, from fine to coarse.", model.NamedLevel),
]
"""The sections of a plan."""


SHAPE: list[tuple[str, str, Model]] = [
    ("agency.toml", "A [shape](../guides/shapes.md) of your own, in a file of its own.", shape.Shape),
    ("[[file]]", "Each file of a shape.", shape.ShapeFile),
    ("column", "Of a file: `column = [{ … }, { … }]`, in their order.", shape.ShapeColumn),
    ("rest", "Of a file: `rest = { key = …, word = … }`.", shape.Rest),
]
"""The sections of a shape."""


MANIFEST: list[tuple[str, Model]] = [
    ("guarantees", manifest.Guarantee),
    ("exact", manifest.ExactLoss),
    ("bounds", manifest.Bounds),
    ("curve", manifest.Curve),
    ("curve.points", manifest.Point),
    ("gaussian", manifest.GaussianPart),
    ("gaussian.exact", manifest.ExactGaussian),
    ("whole_cards", manifest.WholeCard),
    ("people", manifest.PersonClaim),
    ("people.apart", manifest.Apart),
    ("versions", manifest.Versions),
    ("tables", manifest.TableClaim),
    ("tables.level", manifest.LevelClaim),
    ("ledger", manifest.LedgerEntry),
    ("covers", manifest.Covers),
    ("day", manifest.Day),
    ("calendars", manifest.CalendarClaim),
    ("totals", manifest.TotalClaim),
    ("shapes", shape.Shape),
    ("shapes.file", shape.ShapeFile),
    ("shapes.file.column", shape.ShapeColumn),
    ("shapes.file.rest", shape.Rest),
    ("pairing", manifest.Pairing),
    ("software", manifest.Software),
]
"""The objects in `privacy.json`."""


def commands() -> str:
    """Every command, argument and option, and the exit codes."""
    return _page(
        "Commands: every option",
        "Arguments and options of each command. [Commands](../commands.md) explains what they do. Exit codes are the "
        "same for all commands.",
        "## Exit codes\n" + commandline.exit_codes(),
        *commandline.sections(),
    )


def plan_page() -> str:
    """Every key of a plan."""
    return _page(
        "The plan: every key",
        "Every key of a plan. [The plan](../plan.md) explains how to write one. Unknown keys are refused, and a "
        "mistake is reported with its line. Paths are relative to the plan's folder.",
        *(f"## `{header}`\n{words}\n\n{plan_table(model)}" for header, words, model in [*PLAN, *SHAPE]),
    )


def folder_page() -> str:
    """Every file of a folder, every column, every key of privacy.json."""
    return _page(
        "The published folder: every file, column and key",
        "Contents of a published folder. [What the numbers mean](../numbers.md) explains the counts, and "
        "[reading a folder](../reading.md) shows how to load them.",
        "## Files\n" + folder.files(),
        "## Columns\n" + folder.columns(),
        "## `privacy.json`\nThe guarantee, and every parameter that it depends on. All of it follows from the plan "
        "and from public files; `looked_at_trips` states whether the plan depends on the trips.\n\n"
        + json_table(manifest.Manifest),
        *(f"### `{key}`\n{json_table(model)}" for key, model in MANIFEST),
    )


def ledger_page() -> str:
    """Every kind of entry of a ledger."""
    kinds: list[Model] = [entry.Start, entry.Budget, entry.Spend, entry.Scheduled]
    kinds += [entry.Published, entry.Accepted, entry.Delivered, entry.Withdrawn, entry.Officers, entry.Approved]
    every = ("version", "on", "kind")
    return _page(
        "The ledger: every entry",
        "Entries of a ledger. [The ledger](../ledger.md) explains how it is used, what adds up, and the format of the "
        "file. Each entry is JSON with sorted keys and no blanks. Nothing in it depends on the trips.",
        "## Every entry\nEvery entry has a `kind` (the headings below), a `nonce` (32 random hexadecimal digits, so "
        "that the entry cannot be guessed from its hash), and\n\n"
        + json_table(entry.Budget, leave_out={"kind", *set(entry.Budget.model_fields) - set(every)}),
        *(
            f"## `{kind.model_fields['kind'].default}`\n{_first_line(kind)}\n\n{json_table(kind, leave_out=every)}"
            for kind in kinds
        ),
        f"### `tables` of a release\n{_first_line(entry.SpentTable)}\n\n{json_table(entry.SpentTable)}",
        f"### `statement` of an approval\n{_first_line(Statement)}\n\n{json_table(Statement)}",
        f"## A budget\nε is above 0 and at most {entry.LARGEST_BUDGET:,}; δ from 0 to below 1. Both are kept exactly. "
        "There is one budget for each data set and unit; the latest is valid, and earlier ones stay on record.",
    )


def api_page() -> str:
    """Every public name of the library."""
    return _page(
        "The library: every public name",
        "What `import tapveil` gives. [Reading a folder](../reading.md) is a tour for analysts, and "
        "[the privacy library](../privacy-library.md) one of `tapveil.privacy`. `pip install tapveil` is enough for "
        "`open`, what it returns, and `tapveil.privacy`; all else needs `pip install 'tapveil[publish]'`. The examples "
        "run in a folder with `trips.csv`, `plan.toml`, `ledger.sqlite` and a release, `published`.",
        *api.page(),
    )


ALL: dict[str, Callable[[], str]] = {
    "commands": commands,
    "plan": plan_page,
    "folder": folder_page,
    "ledger": ledger_page,
    "api": api_page,
}


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([_WRITTEN, f"# {title}", *parts]) + "\n"


def _first_line(model: Model) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]


def main() -> int:
    """Write the pages, or say which are not fresh."""
    parser = argparse.ArgumentParser(description="The reference, written from the code.")
    parser.add_argument("--write", action="store_true", help="write the pages to docs/reference")
    write, stale = parser.parse_args().write, 0
    for name, page in ALL.items():
        path = PAGES / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != page():
            stale += not write
            print(f"{'wrote' if write else 'not fresh:'} {path}")
            if write:
                path.write_text(page(), encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
