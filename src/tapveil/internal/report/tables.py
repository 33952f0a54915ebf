"""The sections on what is published: what is suppressed where, how far numbers are off, how dense the tables are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tapveil.base.numbers import percent
from tapveil.internal.report import figures
from tapveil.internal.report.accuracy import QUANTILES, Accuracy
from tapveil.internal.report.density import AT, WANTED
from tapveil.internal.report.findings import Findings, TableFindings
from tapveil.internal.report.markup import Column, Html, Piece, element, from_data, panel, panels, table
from tapveil.internal.report.suppression import Group
from tapveil.internal.report.words import (
    NOTHING,
    are,
    before_counting,
    key,
    lead,
    left_out,
    most_lost,
    not_all,
    noun_of,
    number,
    pale,
    share,
)

MUCH = f"{100 * WANTED:.0f} %"


# --- 3: what is suppressed where ------------------------------------------------------------------------------------


def suppressed(found: Findings) -> Iterator[Html]:
    noun = noun_of(found)
    worst = max(found.tables, key=lambda each: each.suppression.whole.lost)
    gone = worst.suppression.whole
    if not gone.lost:
        yield lead(
            f"Nothing is suppressed: all {noun} {are(found)} in cells that are published.{before_counting(found)}"
        )
    else:
        yield lead(
            f"{worst.name} loses most: {_why_lost(gone, found)}. {_worst_part(worst)}{before_counting(found)}".strip()
        )
    shown = most_lost(found)
    strips = [
        panel(figures.strip(each.suppression.parts, each.name), each.name) for each in shown if each.suppression.parts
    ]
    if strips:
        run = max(each.suppression.parts.run for each in shown if each.suppression.parts)
        runs = f" Each column is {run} days." if run > 1 else ""
        yield element("h3", f"By {' and '.join(found.plan.release.partition)}")
        yield pale(
            f"The deeper the colour, the more {noun} are lost: how many in a hundred, where there is room.{runs}"
        )
        yield panels(strips)
    hours = [
        panel(figures.hours(each.suppression.hours, each.name, noun), each.name)
        for each in shown
        if each.suppression.hours
    ]
    if hours:
        yield element("h3", "By hour of the day")
        yield key(("kept", f"{noun} published"), ("lost", f"{noun} lost"), ("", "“none”: without a time"))
        yield panels(hours)
    yield from not_all(found)
    yield _lost_table(found)
    yield from _worst_places(found, shown)


def _why_lost(gone: Group, found: Findings) -> str:
    """What is not on a list, and what is too small, each in its words."""
    unlisted = f"{percent(gone.unlisted_share)} of its {noun_of(found)} are in cells that are not on its public list"
    small = f"{percent(gone.small_share)} of its {noun_of(found)} {are(found)} in cells too small to be published"
    reasons = [*([unlisted] if gone.unlisted else []), *([small] if gone.small else [])]
    return ", and ".join(reasons if gone.is_mostly_unlisted else reversed(reasons))


def _worst_part(found: TableFindings) -> str:
    part = found.suppression.worst_part
    return (
        f"The part that loses most of them is {part.label}, with {percent(part.share)}." if part and part.lost else ""
    )


def _lost_table(found: Findings) -> Html:
    noun, lists = noun_of(found), any(each.table.cells for each in found.tables)
    columns = [
        Column("table", number=False),
        Column(noun),
        Column("lost"),
        *([Column("of these, not on its list"), Column("too small")] if lists else []),
        Column("share lost"),
        Column("part that loses most", number=False),
        Column("of it"),
    ]
    rows = []
    for each in found.tables:
        whole, part = each.suppression.whole, each.suppression.worst_part
        named: list[Piece] = [from_data(part.label), percent(part.share)] if part and part.lost else [NOTHING, NOTHING]
        why = [f"{whole.unlisted:,.0f}", f"{whole.small:,.0f}"] if lists else []
        rows.append([each.name, f"{whole.trips:,.0f}", f"{whole.lost:,.0f}", *why, percent(whole.share), *named])
    return table(f"{noun.capitalize()} in cells that are not published", columns, rows)


def _worst_places(found: Findings, shown: Sequence[TableFindings]) -> Iterator[Html]:
    noun = noun_of(found)
    tables = [
        table(
            f"{each.name}, by {places.column}: {len(places.worst)} of {places.of:,} places",
            [
                Column("place", number=False),
                Column(noun),
                Column("lost"),
                *([Column("not on its list")] if each.table.cells else []),
                Column("share"),
            ],
            [_group_row(group, listed=bool(each.table.cells)) for group in places.worst],
        )
        for each in shown
        for places in each.suppression.places
        if places.worst
    ]
    if tables:
        yield element("h3", f"Places that lose most {noun}")
        yield panels(tables)


def _group_row(group: Group, *, listed: bool) -> list[Piece]:
    why = [f"{group.unlisted:,.0f}"] if listed else []
    return [from_data(group.label), f"{group.trips:,.0f}", f"{group.lost:,.0f}", *why, percent(group.share)]


# --- 4: errors ------------------------------------------------------------------------------------------------------


def errors(found: Findings) -> Iterator[Html]:
    best = [(each, each.accuracy.best_known) for each in found.tables]
    with_numbers = [(each, known) for each, known in best if known.errors.any]
    if not with_numbers:
        yield lead("Next to nothing is published, so there is no error to speak of.")
        return
    widest, known = max(with_numbers, key=lambda pair: pair[1].errors.mean or 0.0)
    held = min((each.held_in_all for _, each in with_numbers if each.held_in_all is not None), default=1.0)
    is_off = "is off" if found.folder else "will be off"
    elsewhere = ", and by no more in the others" if len(with_numbers) > 1 else ""
    yield lead(
        f"A published number of {widest.name} {is_off} by {number(known.errors.mean)} on average from what was "
        f"counted{elsewhere}; the 95 % intervals hold what was counted in {percent(held)} of {_cells(found)}, or more."
        f"{_nothing_of_the_rest(found)}"
    )
    shown = [each for each in most_lost(found) if each.accuracy.best_known.errors.any]
    if found.folder:
        yield key(("kept", "numbers of the folder"), ("law", "as the law of the noise has it"))
    else:
        yield key(("law", "how many numbers will be off by how much, by the law of the noise"))
    yield panels([panel(figures.errors(each.accuracy, each.name), each.name) for each in shown])
    yield from not_all(found)
    yield _errors_table(found)
    yield pale(
        "Too high: the mean error with its sign. Small cells are printed only when noise raises them, so printed "
        "numbers lean up a little, and totals added up from them are too low by what is missing. 95 % intervals are "
        "promised for all cells, printed or not, and not for the printed ones alone."
    )


def _cells(found: Findings) -> str:
    return "listed cells" if any(each.table.cells for each in found.tables) else "cells"


def _nothing_of_the_rest(found: Findings) -> str:
    """Numbers and intervals are about what was counted, and silent about what was cut before."""
    return (
        f" All of this is about what was counted, and not about the {left_out(found)} that the bounds of a card leave "
        "out before."
        if found.left_out
        else ""
    )


def _errors_table(found: Findings) -> Html:
    versions = found.folder is not None
    columns = [
        Column("table", number=False),
        *([Column("version", number=False)] if versions else []),
        Column("numbers"),
        Column("too high by"),
        Column("off by, mean"),
        *(Column(f"{100 * quantile:g} % within") for quantile in QUANTILES),
        Column("95 % intervals right, all cells"),
        Column("of printed"),
        Column("a part’s total off by"),
    ]
    rows: list[list[Piece]] = []
    for each in found.tables:
        for name, known in _versions(each):
            rows.append([each.name, *([name] if versions else []), *_accuracy_row(known)])
    what = "measured against what was counted" if versions else "as the law of the noise has it"
    return table(f"Errors, {what}", columns, rows)


def _versions(found: TableFindings) -> Iterator[tuple[str, Accuracy]]:
    known = found.accuracy
    if known.published:
        yield "published", known.published
    if known.consistent:
        yield "consistent", known.consistent
    yield "expected", known.expected


def _accuracy_row(known: Accuracy) -> Iterator[str]:
    errors = known.errors
    yield f"{errors.numbers:,.0f}"
    yield number(errors.bias, signed=True)
    yield number(errors.mean)
    for quantile in QUANTILES:
        within = errors.within(quantile)
        yield NOTHING if within is None else f"± {within:,}"
    yield share(known.held_in_all)
    yield share(known.held)
    yield share(known.total_off)


# --- 5: density -----------------------------------------------------------------------------------------------------


def dense(found: Findings) -> Iterator[Html]:
    noun = noun_of(found)
    yield lead(_how_dense(found))
    yield pale(
        f"A curve that is still high where it meets the dashed line publishes much. Wider bins or areas move it to the "
        f"right: twice as wide bins make cells of about twice as many {noun}."
    )
    yield panels([panel(figures.density(each.density, each.name, noun), each.name) for each in most_lost(found)])
    yield from not_all(found)
    columns = [
        Column("table", number=False),
        *(Column(f"≥ {size}") for size in AT),
        Column("threshold"),
        Column("≥ threshold"),
        Column(f"half of {noun} in cells ≥"),
        Column(f"larger cells for {MUCH}"),
    ]
    rows = []
    for each in found.tables:
        known = each.density
        half, times_ = known.reached(0.5), known.times_larger
        rows.append(
            [
                each.name,
                *(percent(known.share(size)) for size in AT),
                f"{known.threshold:,}",
                percent(known.share(known.threshold)),
                NOTHING if half is None else f"{half:,}",
                NOTHING if times_ is None else "as they are" if times_ == 1 else f"{times_:,} times",
            ]
        )
    listed = ", and on the list of the table" if any(each.table.cells for each in found.tables) else ""
    yield table(f"The share of {noun} that are in cells of at least so many{listed}", columns, rows)


def _how_dense(found: Findings) -> str:
    """What larger cells would do; where a list lacks too much, they would do nothing."""
    noun = noun_of(found)
    short = [each for each in found.tables if each.trips and each.density.times_larger is None]
    worst, times = max(((each, each.density.times_larger or 1) for each in found.tables), key=lambda pair: pair[1])
    sentences = []
    if short:
        least = max(short, key=lambda each: each.suppression.whole.unlisted_share)
        sentences.append(
            f"No size of cells is enough for {least.name}: {percent(least.suppression.whole.unlisted_share)} of its "
            f"{noun} are in cells that are not on its list."
        )
    if times > 1:
        sentences.append(
            f"{worst.name} is the sparsest: its cells would have to be about {times:,} times as large for {MUCH} of "
            f"its {noun} to be published."
        )
    dense_enough = f"Every table is dense enough: at least {MUCH} of its {noun} are in cells above the threshold."
    return " ".join(sentences) or dense_enough
