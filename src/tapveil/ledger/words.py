"""Messages of the ledger: budgets, releases, and why something is refused, with possible solutions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from pathlib import Path

from tapveil.ledger.accounts import Account
from tapveil.ledger.approval import Reason, Refused, fingerprint
from tapveil.ledger.coverage import Everywhere
from tapveil.ledger.entry import Budget, Scheduled, Spend
from tapveil.ledger.reading import Reading
from tapveil.ledger.refusals import Across, Clash, Code, Refusal
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import change, loss_in_words, rounded_up

MOST_NAMED = 3
RAISE = "tapveil ledger budget PLAN --epsilon … --delta … --reason … --by …"
NAMES_NO_DAYS = (
    "This plan names no days, so in the ledger it counts for every day, for ever. Set first_day and last_day so that "
    "later releases fit."
)
HAS_NO_DAYS = (
    "These trips have no calendar dates by which the ledger could distinguish releases, so this one counts for "
    "every day, for ever: every later release of such trips adds up with it."
)
AT_MOST = (
    "For releases of several days that protect days of cards, that is an upper bound: the ledger does not know whether "
    "each cell is of one day. Where it is, privacy.json of the folder has less."
)
EVERYWHERE = {
    Everywhere.CARD: "a card may travel on every day",
    Everywhere.TAPS: (
        'shape = "taps": a trip may tap on on one day and off on the next. Under a budget for trips, such a release '
        "counts for every day and mode"
    ),
    Everywhere.NO_DAYS: "no days are named, which means all days",
    Everywhere.CARDLESS: (
        'no days are named, or taps without a card are kept (without_card = "own-unit"), which count for every day'
    ),
    Everywhere.OTHER_READING: "its days are read differently than in the first release, so it counts for every day",
}
"""Why a release counts for every day."""


def budget(one: Budget) -> str:
    """A budget, for a message."""
    limit = f"epsilon {decimal_text(one.epsilon, 6)}, delta {rounded_up(one.delta)}"
    return f"the budget of `{one.data_set}` (unit {one.unit}) is {limit}"


def limit(one: Budget) -> str:
    """What may be spent on whom."""
    return f"{loss_in_words(one.loss)} in total for `{one.data_set}`, {change(one.unit, one.neighbours)}"


def left(account: Account) -> str:
    """What is left of a budget: of ε at its δ, and of δ at its ε. A release may be refused for either."""
    epsilon = f"epsilon {decimal_text(account.left, 5, ROUND_FLOOR)} at this delta"
    if account.delta is None:
        shared = ", divided among the plans that were chosen from others" if account.generations > 1 else ""
        return f"{epsilon}{shared}"
    delta = max(Fraction(0), account.budget.delta - account.delta)
    return f"{epsilon}, or delta {rounded_up(Fraction(decimal_text(delta, 3, ROUND_FLOOR)))} at this epsilon"


def spent(epsilon: Fraction | None) -> str:
    """An ε that was accounted for, from above."""
    return "no bound on epsilon" if epsilon is None else f"epsilon {decimal_text(epsilon, 5, ROUND_CEILING)}"


def days(first: date | None, last: date | None) -> str:
    """From one day to another."""
    if first is None and last is None:
        return "all days"
    if first and last:
        return f"{first} to {last}" if first != last else str(first)
    return f"from {first}" if first else f"until {last}"


def release(one: Spend) -> str:
    """Which release: its name and the beginning of its id."""
    return f"{one.release} {one.id[:8]}"


def missing(path: Path, folders: Sequence[str] = ()) -> str:
    """That a ledger is not there; folders that were published say that there was one."""
    lost = "restore the ledger from its backup. If it was moved, name it: [ledger] path in the plan, or --ledger"
    if folders:
        more = f" and {len(folders) - MOST_NAMED} more" if len(folders) > MOST_NAMED else ""
        here = f"published folders next to it were recorded in one ({', '.join(folders[:MOST_NAMED])}{more})"
        return f"There is no ledger {path}, but {here}. If they are of these trips, {lost}."
    return (
        f"there is no ledger {path}, so the privacy budget spent is unknown. If these trips were published before, "
        f"{lost}. If nothing was ever published, start one: tapveil ledger start PLAN --epsilon … --delta …"
    )


def not_held(release_id: str, ledger: str | None, asked: str | None) -> str:
    """That a folder was not published from the ledger that was asked, and from which."""
    if not release_id:
        return "is not a published folder, or cannot be read"
    if ledger is None:
        return "was published with --no-ledger, so no ledger records it"
    return (
        f"was published from another ledger, {ledger}; this one is {asked}. Check it with that ledger: --ledger FILE. "
        "If that ledger is lost, restore its backup. To accept another ledger does not copy its entries"
    )


APPROVE = "tapveil approve PLAN --key KEY"
NOT_APPROVED = {
    Reason.MISSING: "this release needs the approval of the privacy officer ({0}), and there is none next to the plan",
    Reason.INVALID: "the approval next to the plan cannot be read, or was changed after it was signed",
    Reason.SIGNATURE: "the approval next to the plan has no valid signature: it, or the approval, was changed",
    Reason.OTHER_KEY: "the approval is signed with the key {0}, which is not the privacy officer's ({1})",
    Reason.SAME_KEY: "the folder would be signed with the key of the privacy officer ({0}). Sign it with another key",
    Reason.NO_LEDGER: "releases of this ledger need an approval, which the ledger records. Leave out --no-ledger",
    Reason.OTHER_LEDGER: "the approval is for another ledger",
    Reason.OTHER_HISTORY: "the ledger does not have the entry that was its last when the approval was given, so it was "
    "rolled back or replaced: restore its newest backup",
    Reason.OTHER_VERSION: "the approval was given with tapveil {0}, and this is tapveil {1}",
    Reason.OTHER_PLAN: "the plan is not the plan that was approved{changed}",
    Reason.OTHER_FILES: "public files are not those that were approved{changed}",
    Reason.OTHER_PERIOD: "the plan is not that of a period of the routine that was approved",
    Reason.EARLY: "the approval was given on {0}, which is after today: check the clock of this machine",
    Reason.EXPIRED: "the approval was valid until {0}",
    Reason.USED: "the approval is used up: {0} of {1} releases were made under it",
    Reason.AGAIN: "the approval does not cover publishing days again that were published before (approve --again)",
}
_OTHERWISE = {Reason.SAME_KEY, Reason.NO_LEDGER, Reason.OTHER_HISTORY, Reason.EARLY}
"""Where another approval would not help."""


def not_approved(refused: Refused) -> str:
    """Why a release is not approved, and what to do."""
    facts = refused.facts or ("?",)
    more = f" and {len(facts) - MOST_NAMED} more" if len(facts) > MOST_NAMED else ""
    changed = f": {', '.join(facts[:MOST_NAMED])}{more} changed" if refused.facts else ""
    if refused.reason in (Reason.MISSING, Reason.OTHER_KEY):
        first, *others = facts
        facts = (" or ".join(facts),) if refused.reason is Reason.MISSING else (first, " or ".join(others))
    said = NOT_APPROVED[refused.reason].format(*facts, changed=changed)
    ask = "" if refused.reason in _OTHERWISE else f" The officer approves it with: {APPROVE}."
    return f"{said}.{ask} Nothing was spent"


def not_theirs_to_change(keys: Sequence[str]) -> str:
    """That officers can be changed by themselves alone."""
    if not keys:
        return "the ledger has no officers to replace, or was changed meanwhile: run the command again"
    whose = " or ".join(map(fingerprint, keys))
    return f"this ledger needs the approval of {whose}, and only that key can change it: --key KEY"


def refusal(one: Refusal) -> str:
    """What is refused, why, and what can be done."""
    return "refused: " + " ".join(_sentences(one))


def _sentences(one: Refusal) -> Iterator[str]:
    match one:
        case Refusal(code=Code.NO_BUDGET, newest=Spend(unit=unit, data_set=data_set)):
            yield f"the ledger has no budget for unit {unit} of the data set `{data_set}`."
            yield "Set one: tapveil ledger budget PLAN --epsilon … --delta …"
        case Refusal(Code.SMALLER_UNIT, Budget(unit=unit) as held, Spend(), Spend(unit=smaller)):
            yield f"{budget(held)}. This release protects only a {smaller}, so it may reveal any amount about a {unit}:"
            yield f"this budget cannot cover it. Another budget for unit {smaller} would not change that."
            yield f'Set unit = "{unit}" in the plan. Nothing was spent'
        case Refusal(Code.SMALLER_UNIT, Budget(unit=unit, data_set=data_set), None, Spend(unit=smaller) as culprit):
            yield f"the release {release(culprit)} of {culprit.on} protects only a {smaller}, so it may reveal any"
            yield f"amount about a {unit}. No budget for unit {unit} can cover it any more: set a budget for unit"
            yield f"{smaller} of `{data_set}`. Nothing was written"
        case Refusal(Code.OTHER_UNITS, Budget() as held, culprit=Spend() as culprit):
            yield f"{budget(held)}. The release {release(culprit)} of {culprit.on} reads `card` or `date` from another"
            yield "column, in another time zone or with another `day_starts` than the first release."
            yield "So its units are not the units of this budget: one of them may be many of the others."
            yield "Read `card` and `date` as the first release did"
            yield "([source] and [source.columns]). Nothing was written"
        case Refusal(code=Code.SCHEDULE_COMPLETE, schedule=Scheduled() as schedule):
            yield f"the schedule of {schedule.on} for `{schedule.data_set}` (unit {schedule.unit}) has"
            yield f"{schedule.releases} releases, and all of them were made. For more, plan a new schedule:"
            yield "`tapveil ledger plan PLAN --every … --for … --epsilon … --delta … --keep`. Nothing was spent"
        case Refusal(Code.BREAKS_SCHEDULE, Budget() as held, schedule=Scheduled() as schedule):
            each = f"{schedule.days} day{'s' if schedule.days > 1 else ''} each"
            yield f"{budget(held)}, and the schedule of {schedule.on} has {schedule.releases} releases of {each}."
            yield "They would not all fit any more. Release with the noise of the schedule, or plan a new one"
            yield "(`tapveil ledger plan`). Nothing was written"
        case Refusal(Code.UNEXPLAINED, Budget() as held):
            yield f"{budget(held)}, neighbours {held.neighbours}; the new one allows more. State why, and"
            yield "who decided it: --reason … --by …. Both are kept in the ledger. Nothing was written"
        case Refusal(budget=Budget() as held, newest=Spend() as newest):
            yield from _too_much(one, held, newest)
        case Refusal(code=Code.REPEATED, newest=Spend() as newest, clashes=[*others, last]):
            day = last.earlier.on
            then = f"published on {day}" if last.finished else f"charged on {day} and not finished"
            more = f" (and {_named(others)})" if others else ""
            yield f"the release {release(last.earlier)}, {then}, covers some of the same days and modes{more}:"
            yield from _why_together(one, newest)
            yield "To publish them again, at the cost of both releases, add --again."
            yield from (f"Otherwise: {way}." for way in _apart(one, newest))
            yield "Nothing was spent"


def _too_much(one: Refusal, held: Budget, newest: Spend) -> Iterator[str]:
    which = {Code.TOO_MUCH: "this release alone would cost", Code.OVERDRAWN: "without this release, the total is"}
    spent = which.get(one.code, "with this release, the total would be")
    if one.epsilon is not None:
        yield f"{budget(held)}; {spent} epsilon {decimal_text(one.epsilon, 6, ROUND_CEILING)} at this delta."
    else:
        delta = f" ({spent} delta {rounded_up(one.delta)} at this epsilon)" if one.delta else ""
        yield f"{budget(held)}; delta is used up{delta}, so no epsilon is enough: a larger delta is needed."
    if one.code is Code.TOO_MUCH:
        yield "Nothing was spent. Possible solutions: a smaller epsilon or delta in the plan, or a larger budget:"
        yield f"`{RAISE}`"
    elif one.code is Code.OVERDRAWN:
        yield f"Nothing was spent. Nothing more fits unless the budget is raised: `{RAISE}`"
    else:
        yield f"Nothing was spent. Its privacy loss adds up with {_named(one.clashes)}:"
        yield from _why_together(one, newest)
        yield f"Possible solutions: {'; '.join(_ways_out(one, newest))}. `tapveil ledger` shows the budget spent"


def _named(clashes: Sequence[Clash]) -> str:
    """Some releases, the newest first."""
    shown = [
        f"{release(each.earlier)} ({days(each.earlier.first_day, each.earlier.last_day)}"
        f"{'' if each.finished else ', not finished'})"
        for each in reversed(clashes[-MOST_NAMED:])
    ]
    more = len(clashes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _why_together(one: Refusal, newest: Spend) -> Iterator[str]:
    """Why one unit may be in the newest release and in the earlier ones, and which of these can be finished."""
    yield f"{'; '.join(_across(one, newest) if one.clashes[-1].across else _places(one, newest))}."
    if unfinished := [each for each in one.clashes if not each.finished]:
        yield f"{release(unfinished[-1].earlier)} was charged but not finished. To finish it at no further cost, run"
        yield "`tapveil release PLAN -o FOLDER --resume` with its plan and its folder."


def _across(one: Refusal, newest: Spend) -> Iterator[str]:
    if one.clashes[-1].across is Across.CHOSEN and newest.chosen_from:
        known = any(each.earlier.id == newest.chosen_from for each in one.clashes)
        whose = release(one.clashes[-1].earlier) if known else f"the release {newest.chosen_from[:8]}"
        yield f"its noise was chosen from the output of {whose} (chosen_from), so their losses are added"
    elif one.clashes[-1].across is Across.CHOSEN:
        yield "their noise was chosen from the output of an earlier release (chosen_from), so the losses are added"
    yield f"a {newest.unit} may be replaced by one of other days, which changes both releases"


def _places(one: Refusal, newest: Spend) -> Iterator[str]:
    if one.everywhere is Everywhere.CARD:
        yield "a card may travel on every day, so all releases add up"
        return
    if one.everywhere:
        yield _why("this plan", one, newest, one.everywhere)
    for why in dict.fromkeys(each.everywhere for each in one.clashes if each.everywhere):
        *more, last = [each.earlier for each in one.clashes if each.everywhere is why]
        yield _why(f"the plan of {release(last)}{f' (and of {len(more)} more)' if more else ''}", one, last, why)
    apart = [each.earlier for each in one.clashes if not each.everywhere]
    if apart and not one.everywhere:
        yield f"this release and {release(apart[-1])} both cover {_in_common(apart[-1], newest)}"
    if newest.chosen_from and any(each.earlier.chosen_from is None for each in one.clashes):
        yield "chosen_from is set, so the losses are added, each with its share of delta"


def _why(whose: str, one: Refusal, spend: Spend, why: Everywhere) -> str:
    if why is not Everywhere.OTHER_READING:
        return f"{whose}: {EVERYWHERE[why]}"
    keys = ", ".join(f"{key}: {ours} instead of {theirs}" for key, ours, theirs in _differences(one, spend))
    return f"{whose} reads the day differently than the first release ({keys}), so it counts for every day"


def _differences(one: Refusal, spend: Spend) -> Iterator[tuple[str, str, str]]:
    """In which keys a release reads the day in another way than the first one."""
    return Reading.of(spend.days_by or "").differences(Reading.of(one.clashes[-1].days_by or ""))


def _in_common(one: Spend, other: Spend) -> str:
    firsts = [day for day in (one.first_day, other.first_day) if day]
    lasts = [day for day in (one.last_day, other.last_day) if day]
    both = set(one.modes or other.modes or ()) & set(other.modes or one.modes or ())
    modes = f", {', '.join(sorted(both))}" if both else ""
    return days(max(firsts, default=None), min(lasts, default=None)) + modes


def _apart(one: Refusal, newest: Spend) -> Iterator[str]:
    """What makes days distinct, where anything does: what an earlier release counts for cannot be taken back."""
    if one.everywhere in (Everywhere.CARD, Everywhere.TAPS):
        return
    if stuck := [each.earlier for each in one.clashes if each.everywhere]:
        yield f"{release(stuck[-1])} counts for every day, so no choice of days avoids it"
    elif one.everywhere is Everywhere.OTHER_READING:
        keys = " and ".join(key for key, *_ in _differences(one, newest))
        yield f"read the day as before: set {keys} under [source] as it was (convert the files if they have changed)"
    elif one.everywhere:
        yield "set first_day and last_day under [source] to other days"
    else:
        yield "publish other days or modes"


def _ways_out(one: Refusal, newest: Spend) -> Iterator[str]:
    if not one.clashes[-1].across:
        yield from _apart(one, newest)
    if newest.chosen_from:
        yield "release with the plan as it was before tuning, without chosen_from"
    if one.everywhere is Everywhere.TAPS:
        yield 'if nothing has been published yet: unit = "card-day", for which days of taps are distinct'
    yield "a smaller epsilon or delta in the plan"
    yield f"a larger budget: `{RAISE}`"
