"""Refused rows: how many, why, and when they are too many to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tapveil.base.errors import TripDataError
from tapveil.base.vocabulary import CARD, TAP
from tapveil.inputs.values import READABLE
from tapveil.plan.model import Plan
from tapveil.trips.reasons import MALFORMED, NOT_COVERED, NOT_UTF8, Reason


@dataclass(frozen=True, repr=False)
class Refusals:
    """How many rows were read, and how many refused, by reason. Secret: for the data custodian alone."""

    rows: int
    by_reason: Mapping[Reason, int]

    elsewhere: int = 0
    """How many more rows were of days or modes that the plan does not cover."""

    lines: Mapping[Reason, int] = field(default_factory=dict)
    """Of those refused, the lines that are no rows at all."""

    located: Mapping[Reason, Sequence[tuple[str, int]]] = field(default_factory=dict)
    """Where the first of each reason stand: a file, and a line or, in Parquet, a row. Only if asked for."""

    @classmethod
    def of(
        cls, reason: Callable[[int], Reason], by_key: Mapping[int, int], accepted: int, lines: Mapping[Reason, int]
    ) -> Refusals:
        """From the keys of the refused rows, which say why, and the lines that were no rows."""
        lines = {why: n for why, n in lines.items() if n}
        by_reason = Counter(lines)
        for key, n in by_key.items():
            by_reason[reason(key)] += n
        elsewhere = by_reason.pop(NOT_COVERED, 0)
        return cls(accepted + by_reason.total(), by_reason, elsewhere, lines)

    def __repr__(self) -> str:
        return "Refusals(secret)"

    @property
    def refused(self) -> int:
        return sum(self.by_reason.values())


def refuse_too_many(refusals: Refusals, plan: Plan) -> None:
    """Stop, before anything is spent or written, if too many rows could not be read."""
    if not refusals.rows and not refusals.elsewhere and plan.source.taps:
        raise TripDataError(
            "no row is a tap on or off by [source.taps]: name the words that the column "
            f"`{plan.columns.read[TAP]}` has for them"
        )
    if refusals.refused == refusals.rows and (refusals.elsewhere or not refusals.rows):
        where = " on the days and of the modes that the plan covers" if refusals.elsewhere else ""
        held = f"`{plan.source.table}` has" if plan.source.table else "the files have a header but"
        raise TripDataError(f"{held} no trips{where}")
    # Of a row without a day nobody knows whether the plan covers it: it is one among all.
    if refusals.refused > plan.source.max_refused * (refusals.rows + refusals.elsewhere):
        by_frequency = sorted(refusals.by_reason, key=lambda reason: -refusals.by_reason[reason])
        share = f"{float(100 * plan.source.max_refused):g} %"
        raise TripDataError(
            f"more than {share} of the rows cannot be read ([source] max_refused). Most often: "
            f"{'; '.join(map(str, by_frequency[:3]))}.{_hint(by_frequency[0], plan)}"
        )


def _hint(reason: Reason, plan: Plan) -> str:
    """What would help against a reason, by its code and column."""
    if reason == NOT_UTF8:
        return ' If they were written on Windows: [source] encoding = "windows-1252".'
    if reason == MALFORMED:
        return " Is a separator in a text without quotes, a quote not closed, or a text in quotes over several lines?"
    if reason == Reason("missing", CARD) and not plan.columns.pairs_taps:
        return ' To keep them, each as a card of its own: without_card = "own-unit"; else raise max_refused.'
    column = plan.source.columns.get(reason.column or "")
    if reason.code != "unreadable" or reason.column is None or column is None:
        return ""
    if column.format:
        return (
            f' With format = "{column.format}" no other way to write it is read: is that how all of them are written?'
        )
    kind = plan.source.kind(reason.column)
    return f" What can be read as a {kind}: {READABLE[kind]}" if kind in READABLE else ""
