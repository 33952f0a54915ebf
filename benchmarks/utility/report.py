"""What was measured, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

from .measure import DELTA, EPSILONS, MECHANISMS, UNITS, Cities, City, Claim, Result, Tables


def markdown(cities: Cities) -> str:
    """Everything: the claim on every city, then the cities, the largest in full view."""
    return "\n\n".join(_parts(sorted(cities, key=attrgetter("trips"), reverse=True))) + "\n"


def put_into(page: Path, text: str, name: str = "measured") -> None:
    """Replace what stands between the two marks of a page."""
    begin, end = (f"<!-- {name}: {which} -->" for which in ("begin", "end"))
    before, rest = page.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{text}{end}{after}", encoding="utf-8")


def _parts(cities: Cities) -> Iterator[str]:
    yield f"Time × location cells published, unit `trip`, `replace`, total (8, {DELTA}):"
    yield "\n".join(f"- {city.trips:,} trips: {Claim.on(city)}" for city in cities)
    yield "**Smallest number printed in a time × location table, and the width of its noise** (b or σ)"
    yield _pivot(cities[0], lambda result: f"{result.smallest:,} ({result.width:.3g})")
    for number, city in enumerate(cities):
        body = "\n\n".join(_city(city))
        if number:
            yield f"<details>\n<summary>The same at {city.trips:,} trips</summary>\n\n{body}\n\n</details>"
        else:
            yield body


def _city(city: City) -> Iterator[str]:
    yield f"### {city.trips:,} trips"
    yield f"{city.counted:,} trips could be read; they lie in {city.occurring:,} time × location cells."
    missing = " and ".join(f"{_percent(1 - city.bounded[unit])} (unit `{unit}`)" for unit in UNITS if unit != "trip")
    yield f"Bounding the trips of a card, and counting it once per cell, leaves out {missing} before any noise."
    yield from _group(city, "Time × location", attrgetter("fine"))
    yield from _group(city, "One column", attrgetter("coarse"))


def _group(city: City, title: str, of: Callable[[Result], Tables]) -> Iterator[str]:
    yield f"**{title}: cells published, and the trips they cover**"
    yield _pivot(city, lambda result: _covered(of(result)))
    yield f"**{title}: mean error of a published number** (for cards, in brackets: against all trips of the cell)"
    yield _pivot(city, lambda result: _error(of(result), result.unit))
    yield f"**{title}: mean error of a total per mode and day, summed from published cells**"
    yield _pivot(city, lambda result: _percent(of(result).total_error))


def _pivot(city: City, entry: Callable[[Result], str]) -> str:
    """One row for each unit and ε, the mechanisms side by side."""
    rows = [["unit", "ε", *(f"`{name}`" for name in MECHANISMS)], ["---", *["--:"] * (1 + len(MECHANISMS))]]
    for unit in UNITS:
        for epsilon in EPSILONS:
            rows.append([unit, epsilon, *(entry(city.result(unit, name, epsilon)) for name in MECHANISMS)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _covered(tables: Tables) -> str:
    return f"{tables.cells:,.0f} ({_percent(tables.share)})"


def _error(tables: Tables, unit: str) -> str:
    if tables.error is None or tables.trip_error is None:
        return "–"
    return _digits(tables.error) + (f" ({_digits(tables.trip_error)})" if unit != "trip" else "")


def _digits(error: float) -> str:
    """Three digits, without an exponent."""
    return f"{error:.2f}" if error < 10 else f"{error:.1f}" if error < 100 else f"{error:.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share > 0.01 else f"{100 * share:.2f} %"
