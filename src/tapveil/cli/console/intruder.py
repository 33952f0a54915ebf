"""The result of an intruder test on a screen."""

from __future__ import annotations

from rich.console import Console

from tapveil.base.text_table import Grid
from tapveil.cli.console.text import say
from tapveil.internal.intruder.result import Findings, grouped
from tapveil.internal.intruder.words import GENERATED, HEADINGS, KNOWS, STRENGTH, row, unprotected, verdict


def show(console: Console, findings: Findings) -> None:
    """Each attack with what was asked, then whether the bounds hold."""
    grid = Grid(*HEADINGS)
    for results in grouped(findings.results).values():
        for each in results:
            grid.add(*row(each))
    grid.show(console, left=True)
    for attack, results in grouped(findings.results).items():
        say(console, f"\n{attack}: {KNOWS[attack]}")
        for question in dict.fromkeys(each.question for each in results):
            methods = [each.method for each in results if each.question == question]
            say(console, f"- {question} ({'; '.join(methods)})")
    for line in (STRENGTH, unprotected(findings), verdict(findings), GENERATED):
        if line:
            say(console, f"\n{line}")
