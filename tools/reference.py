"""The reference, written from the code: commands, the plan, the folder, the ledger.

    python -m tools.reference            # says which pages are not fresh
    python -m tools.reference --write    # writes them

What a key means stands in the code, as the docstring below it; what an option means is its help.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tapveil.ledger import entry
from tapveil.plan import model, source
from tapveil.published import manifest
from tools import commandline, folder
from tools.models import Model, json_table, plan_table

PAGES = Path(__file__).parents[1] / "docs" / "reference"

_WRITTEN = "<!-- Written by `python -m tools.reference --write` from the code. Change it there. -->"


PLAN: list[tuple[str, str, Model]] = [
    ("[release]", "What the folder is called, and how it is laid out.", model.Release),
    ("[source]", "Where the trips are. [Reading your export](../exports.md) explains it.", source.Source),
    (
        "[source.columns]",
        'For each of [our columns](../plan.md#columns) the name of one of yours: `mode = "vehicle_type"`; or, to '
        'say more, `mode = { value = "bus" }`, with these keys:',
        source.SourceColumn,
    ),
    ("[source.taps]", 'With `shape = "taps"`; see [taps](../exports.md#taps).', source.Taps),
    ("[source.counts]", 'With `shape = "counts"`; see [counts](../exports.md#counts).', source.Counts),
    ("[coarsen]", "The detail that is given up before counting.", model.Coarsen),
    (
        "[coarsen.location.MODE]",
        'What the stops of a mode, or of every other mode (`"*"`), are published as. One of `lookup`, `gtfs`, '
        "`polygons` and `h3`; see [areas](../exports.md#areas).",
        model.Area,
    ),
    (
        "[coarsen.wider.NAME.MODE]",
        "Larger areas, for a coarser level of a table; see [several resolutions](../resolutions.md).",
        model.WiderArea,
    ),
    ("[gtfs]", "A [timetable next to the trips](../exports.md#a-timetable-next-to-the-trips).", model.Gtfs),
    ("[places]", "Where published places lie, for the map: from a public list, never from the trips.", model.PlaceList),
    ("[ledger]", "Where it is written down what was spent; see [the ledger](../ledger.md).", model.LedgerPlace),
    (
        "[privacy]",
        "The promise. [Choose a unit](../guides/choose-a-unit.md) and "
        "[choose a mechanism](../guides/choose-a-mechanism.md) help.",
        model.Privacy,
    ),
    ("[[table]]", "One for each table.", model.Table),
    ("level", "Of a table: `level = { … }`; see [levels](../plan.md#levels).", model.Level),
    ("levels", "Of a table: `levels = [{ … }, { … }]`, from fine to coarse.", model.NamedLevel),
]
"""The sections of a plan."""


MANIFEST: list[tuple[str, Model]] = [
    ("guarantees", manifest.Guarantee),
    ("exact", manifest.ExactLoss),
    ("bounds", manifest.Bounds),
    ("curve", manifest.Curve),
    ("curve.points", manifest.Point),
    ("gaussian", manifest.GaussianPart),
    ("gaussian.exact", manifest.ExactGaussian),
    ("whole_cards", manifest.WholeCard),
    ("versions", manifest.Versions),
    ("tables", manifest.TableClaim),
    ("tables.level", manifest.LevelClaim),
    ("ledger", manifest.LedgerEntry),
    ("covers", manifest.Covers),
    ("day", manifest.Day),
    ("pairing", manifest.Pairing),
    ("software", manifest.Software),
]
"""The objects in `privacy.json`."""


def commands() -> str:
    """Every command, argument and option, and the exit codes."""
    return _page(
        "Commands: every option",
        "What each command takes. [Commands](../commands.md) says what they do, and why. Exit codes are the same for "
        "all.",
        "## Exit codes\n" + commandline.exit_codes(),
        *commandline.sections(),
    )


def plan_page() -> str:
    """Every key of a plan."""
    return _page(
        "The plan: every key",
        "What a plan may say. [The plan](../plan.md) says how to write one. Unknown keys are refused, and a mistake is "
        "named with its line. Paths start from the plan's own folder.",
        *(f"## `{header}`\n{words}\n\n{plan_table(model)}" for header, words, model in PLAN),
    )


def folder_page() -> str:
    """Every file of a folder, every column, every key of privacy.json."""
    return _page(
        "The published folder: every file, column and key",
        "What a folder holds. [What the numbers mean](../numbers.md) is for analysts, and "
        "[reading](../reading.md) shows how.",
        "## Files\n" + folder.files(),
        "## Columns\n" + folder.columns(),
        "## `privacy.json`\nThe promise, and every parameter that it rests on. All of it follows from the plan "
        "and from public files; `looked_at_trips` states whether the plan depends on the trips.\n\n"
        + json_table(manifest.Manifest),
        *(f"### `{key}`\n{json_table(model)}" for key, model in MANIFEST),
    )


def ledger_page() -> str:
    """Every kind of entry of a ledger."""
    kinds: list[Model] = [entry.Start, entry.Budget, entry.Spend, entry.Published, entry.Accepted]
    every = ("version", "on", "kind")
    return _page(
        "The ledger: every entry",
        "What is written in a ledger. [The ledger](../ledger.md) says how it is used, what adds up, and how the file "
        "is made. Each entry is JSON with sorted keys and no blanks. Nothing in it depends on the trips.",
        "## Every entry\nhas its `kind`, the headings below; `nonce`, 32 random digits and a-f, which keep the entry "
        "from being guessed from its hash; and\n\n"
        + json_table(entry.Budget, leave_out={"kind", *set(entry.Budget.model_fields) - set(every)}),
        *(
            f"## `{kind.model_fields['kind'].default}`\n{_first_line(kind)}\n\n{json_table(kind, leave_out=every)}"
            for kind in kinds
        ),
        f"### `tables` of a release\n{_first_line(entry.SpentTable)}\n\n{json_table(entry.SpentTable)}",
        f"## A budget\nε is above 0 and at most {entry.LARGEST_BUDGET:,}; δ from 0 to below 1. Both are kept exactly. "
        "There is one budget for each data set and unit; the latest holds, and those before it stay on record.",
    )


ALL: dict[str, Callable[[], str]] = {
    "commands": commands,
    "plan": plan_page,
    "folder": folder_page,
    "ledger": ledger_page,
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
