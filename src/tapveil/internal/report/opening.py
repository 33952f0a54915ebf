"""The first two sections of the report: at a glance, and what was refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tapveil.internal.comparison.screen import percent
from tapveil.internal.outlook import warnings
from tapveil.internal.report import figures
from tapveil.internal.report.advice import actions
from tapveil.internal.report.figures import Bar
from tapveil.internal.report.findings import Findings, TableFindings
from tapveil.internal.report.markup import Column, Html, Piece, coded, element, figure, from_data, joined, table
from tapveil.internal.report.words import NOTHING, are, before_counting, key, lead, noun_of, small
from tapveil.internal.svg import ON_PAGE
from tapveil.plan.model import Level
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import COUNTED, UNIT_NAMES

# --- 1: at a glance -------------------------------------------------------------------------------------------------


def glance(found: Findings) -> Iterator[Html]:
    noun = noun_of(found)
    least = min(found.tables, key=lambda each: each.share)
    yield lead(
        f"{percent(found.share)} of what the tables count {are(found)} published; least of all in {least.name}, with "
        f"{percent(least.share)}.{before_counting(found)}"
    )
    yield element("div", *_tiles(found), class_="tiles")
    todo = [element("li", coded(words)) for words in actions(found)]
    yield element("div", element("h3", "What to do"), element("ol", *todo), class_="actions")
    yield from _notes(found)
    rows = [
        Bar(each.name, each.share, percent(each.share), each.expected_share if found.folder else None)
        for each in found.tables
    ]
    what = "published" if found.folder else "expected to be published"
    yield figure(figures.bars(rows, f"Share of {noun} {what}, for each table"), f"Share of {noun} {what}")
    if found.folder:
        yield key(("kept", "in the folder"), ("tick", "expected by the law of the noise"))
    yield _shares_table(found)


def _tiles(found: Findings) -> Iterator[Html]:
    plan, outlook = found.plan, found.outlook
    what = "taps" if plan.source.taps else "trips"
    yield _tile(f"{found.accepted:,}", f"{what} accepted")
    share = f"rows refused, {percent(found.refused / outlook.rows)}" if found.refused else "rows refused"
    yield _tile(f"{found.refused:,}", share)
    if found.left_out:
        least = "" if found.left_out.is_exact else "at least "
        words = f"trips beyond what the plan counts of one card, {least}{percent(found.left_out.share)}"
        yield _tile(f"{found.left_out.trips:,}", words)
    if outlook.elsewhere:
        yield _tile(f"{outlook.elsewhere:,}", "rows of other days or modes")
    yield _tile(percent(found.share), f"of what is counted {are(found).removesuffix(' to be')} published")
    delta = f"δ = {small(float(plan.guarantee.loss.delta))}" if plan.guarantee.loss.delta else "δ = 0"
    yield _tile(f"ε = {decimal_text(plan.guarantee.loss.epsilon, 4)}", f"{delta}, for {UNIT_NAMES[plan.privacy.unit]}")


def _tile(number: str, words: str) -> Html:
    return element("div", element("b", number), element("span", words), class_="tile")


def _notes(found: Findings) -> Iterator[Html]:
    notes = [*(words.removeprefix("Warning: ") for words in warnings(found.plan)), *found.outlook.notes]
    if notes:
        yield element("h3", "Also worth a look")
        yield element("ul", *(element("li", note) for note in notes))
    yield element(
        "p",
        "A plan that is chosen by looking at the trips it publishes leaks a little, and no ε counts it: take this "
        "report of an earlier period, or change what you would have changed anyway.",
        class_="caution",
    )


def _shares_table(found: Findings) -> Html:
    noun = noun_of(found)
    columns = [
        Column("table", number=False),
        Column("columns", number=False),
        Column(noun),
        Column("published"),
        *([Column("expected")] if found.folder else []),
        Column("cells"),
        Column("cells published"),
        Column("least number printed"),
    ]
    rows = [
        [
            each.name,
            _columns_in_words(each),
            f"{each.trips:,}",
            percent(each.share),
            *([percent(each.expected_share)] if found.folder else []),
            f"{each.cells:,}",
            f"{each.expected_cells:,.0f}" if each.printed is None else f"{each.printed:,}",
            f"{each.density.threshold:,}",
        ]
        for each in found.tables
    ]
    return table(f"Each table. Counted are {COUNTED[found.plan.privacy.unit]}.", columns, rows)


def _columns_in_words(found: TableFindings) -> str:
    level = "" if found.table.level == Level() else f" ({found.table.level.in_words})"
    return found.table.in_words + level


# --- 2: what was refused --------------------------------------------------------------------------------------------


def refused(found: Findings) -> Iterator[Html]:
    outlook = found.outlook
    if outlook.stops:
        yield element("p", f"A release would stop: {outlook.stops}", class_="caution")
    if not found.refused:
        yield lead(f"Every one of the {outlook.rows:,} rows could be read: nothing is lost here.")
        return
    reasons = sorted(outlook.refused.items(), key=lambda item: -item[1])
    most = reasons[0]
    rows_ = "row was" if found.refused == 1 else "rows were"
    yield lead(
        f"{found.refused:,} {rows_} refused ({percent(found.refused / outlook.rows)} of all), most often because "
        f"“{most[0]}”: they are counted nowhere."
    )
    bars = [Bar(reason, number / most[1], f"{number:,}") for reason, number in reasons]
    yield figure(figures.bars(bars, "Refused rows by reason", colour=ON_PAGE.orange, shares=False), "Refused rows")
    columns = [Column("reason", number=False), Column("rows"), Column("of all"), Column("first at", number=False)]
    rows = [
        [reason, f"{number:,}", percent(number / outlook.rows), _where(outlook.refused_at.get(reason, ()))]
        for reason, number in reasons
    ]
    yield table("Refused rows, and where the first of them stand: file, and line (in Parquet, row)", columns, rows)


def _where(places: Sequence[tuple[str, int]]) -> Html:
    if not places:
        return joined(NOTHING)
    pieces: list[Piece] = []
    for file, row in places:
        pieces += [from_data(file), f" {row:,}", "; "]
    return joined(*pieces[:-1])
