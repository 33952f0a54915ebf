"""Refused rows: how many, why, and when there are too many to continue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tapveil.base.errors import TripDataError
from tapveil.base.vocabulary import CARD, COUNT, TAP
from tapveil.inputs.values import READABLE
from tapveil.plan.model import Plan
from tapveil.trips.reasons import MALFORMED, NOT_COVERED, NOT_UTF8, Reason


@dataclass(frozen=True, repr=False)
class Refusals:
    """The number of rows read and refused, by reason. Secret: for the data custodian alone."""

    rows: int
    by_reason: Mapping[Reason, int]

    elsewhere: int = 0
    """The number of further rows on days or modes that the plan does not cover."""

    lines: Mapping[Reason, int] = field(default_factory=dict)
    """Refused lines that are not rows at all."""

    located: Mapping[Reason, Sequence[tuple[str, int]]] = field(default_factory=dict)
    """The first refused rows of each reason: a file, and a line or, in Parquet, a row. Only with `locate`."""

    @classmethod
    def of(
        cls, reason: Callable[[int], Reason], by_key: Mapping[int, int], accepted: int, lines: Mapping[Reason, int]
    ) -> Refusals:
        """Refusals from the keys of refused rows, which encode the reason, and from lines that are not rows."""
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
    """Raise TripDataError if too many rows are unreadable, before anything is spent or written."""
    if not refusals.rows and not refusals.elsewhere and plan.source.taps:
        raise TripDataError(
            "no row is a tap on or a tap off; list the values of the column "
            f"`{plan.columns.read[TAP]}` under [source.taps]"
        )
    if refusals.refused == refusals.rows and (refusals.elsewhere or not refusals.rows):
        where = (
            " on the days and modes of the plan; check first_day, last_day and modes under [source]"
            if refusals.elsewhere
            else ""
        )
        held = f"`{plan.source.table}` has" if plan.source.table else "the files have a header but"
        raise TripDataError(f"{held} no trips{where}")
    if plan.source.most_per_row and any(each.column in (None, COUNT) for each in refusals.by_reason):
        raise TripDataError(
            f"a number of trips (column `{plan.columns.read[COUNT]}`) is missing, masked or not a whole number, or a "
            "line does not match the header. One trip more may be the reason (999 and 1,000; <100 and 100), and then a "
            "cell would change by all the trips of a row. Write every number in digits alone, and 0 where there are "
            "none; numbers that are masked cannot be protected"
        )
    # Of a row without a day nobody knows whether the plan covers it: it is one among all.
    if refusals.refused > plan.source.max_refused * (refusals.rows + refusals.elsewhere):
        by_frequency = sorted(refusals.by_reason, key=lambda reason: -refusals.by_reason[reason])
        share = f"{float(100 * plan.source.max_refused):g} %"
        raise TripDataError(
            f"more than {share} of the rows cannot be read ([source] max_refused). Main reasons: "
            f"{'; '.join(map(str, by_frequency[:3]))}.{_hint(by_frequency[0], plan)}"
        )


def _hint(reason: Reason, plan: Plan) -> str:
    """How to fix a reason, by its code and column."""
    if reason == NOT_UTF8:
        return ' For files written on Windows, set encoding = "windows-1252" under [source].'
    if reason == MALFORMED:
        return " Look for separators outside quotes, unclosed quotes, and quoted texts over several lines."
    if reason == Reason("missing", CARD) and not plan.columns.pairs_taps:
        return ' To count each as its own unit, set without_card = "own-unit"; otherwise raise max_refused.'
    column = plan.source.columns.get(reason.column or "")
    if reason.code != "unreadable" or reason.column is None or column is None:
        return ""
    if column.format:
        return f' Only format = "{column.format}" is accepted; check that all values are written so.'
    kind = plan.source.kind(reason.column).replace("duration", "time")  # of which it is made
    return f" Accepted as a {kind}: {READABLE[kind]}" if kind in READABLE else ""
