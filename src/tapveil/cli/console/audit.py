"""What the audit found."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from tapveil.base.defaults import AUDIT_TRIALS
from tapveil.base.text_table import Grid
from tapveil.internal.audit.finding import MISTAKEN, Finding


def show_audit(console: Console, findings: Sequence[Finding], trials: int) -> None:
    """What was tried, what came of it, and what is allowed."""
    grid = Grid("tried", "table", "observed", "allowed", "")
    for finding in findings:
        grid.add(finding.check, finding.table, finding.observed, finding.allowed, "BROKEN" if finding.broken else "ok")
    grid.show(console)
    broken = sum(finding.broken for finding in findings)
    console.print("\n(wide, narrow: the plan's tables with the widest and the narrowest noise.)")
    if trials < AUDIT_TRIALS:
        console.print(f"With fewer than {AUDIT_TRIALS:,} trials only gross faults show.")
    if broken:
        console.print(f"\n{broken} of {len(findings)} bounds are broken: do not publish with this program.")
    else:
        console.print(
            f"\nAll {len(findings)} bounds hold (a sound program fails this once in {1 / MISTAKEN:,.0f} audits)."
        )
