"""What `verify` found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from tapveil.base.findings import Finding
from tapveil.cli.console.text import MOST_OF_A_KIND, say


def show_findings(console: Console, findings: Sequence[Finding], all_well: str, notes: Sequence[str]) -> None:
    """What was found, a line each: a code, a place, a sentence."""
    shown = Counter[str]()
    for finding in findings:
        shown[finding.code] += 1
        if shown[finding.code] <= MOST_OF_A_KIND or not console.is_terminal:
            console.print(f"{finding.code}: {finding.place}: {finding.sentence}")
    for code, number in shown.items():
        if number > MOST_OF_A_KIND and console.is_terminal:
            console.print(f"{code}: {number - MOST_OF_A_KIND:,} more like these; all of them: | cat, or --json")
    for note in notes:
        say(console, f"Note: {note}.")
    if findings:
        many = f"{len(findings)} findings" if len(findings) > 1 else "1 finding"
        console.print(f"{many}: do not rely on it.")
    else:
        say(console, f"{all_well}.")
