"""Drawing in SVG, by hand: texts, lines, marks, scales and ticks, in colours that colour-blind people can distinguish.

A picture that is a file of its own has fixed colours; one on a page has those of the page, in light and in dark.
Everything that is written is escaped: whatever a stop is called, it is text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

Place = tuple[float, float]


class Colours(NamedTuple):
    """What a picture is drawn with."""

    paper: str
    ink: str
    pale: str
    grid: str
    alarm: str
    blue: str
    orange: str
    green: str


# From the palette of Okabe and Ito; what differs in colour differs in its mark, its place or its label as well.
ON_PAPER = Colours("#ffffff", "#222222", "#555555", "#dddddd", "#b00020", "#0072b2", "#d55e00", "#007a5a")
"""For a file of its own: other programs than browsers know no variables."""
ON_PAGE = Colours(*(f"var(--{name})" for name in Colours._fields))
"""For a page: its style sheet says what they are."""

NOT_PRINTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff￾￿]")
LETTER = 0.58
"""How wide a letter is, as a share of its height: about."""


def escape(words: str) -> str:
    """Any text as text of a page or picture, also between quotes.

    >>> escape('<b a="1">\\x07&')
    '&lt;b a=&quot;1&quot;&gt;�&amp;'
    """
    return html.escape(printable(words), quote=True)


def printable(words: str) -> str:
    """A text without what a page or picture must not hold: control characters, and halves of characters."""
    return NOT_PRINTED.sub("�", words)


def shortened(words: str, room: float, size: float = 13) -> str:
    """A text as far as it fits.

    >>> shortened("Vesper Quay, No. 3 Wharf", 80)
    'Vesper Qu…'
    """
    letters = max(1, int(room / (size * LETTER)))
    return words if len(words) <= letters else words[: letters - 1].rstrip() + "…"


def picture(width: float, height: float, said: str, body: Iterable[str]) -> str:
    """A whole picture, and what it says to who cannot see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="system-ui, sans-serif" font-size="13" role="img" '
        f'aria-label="{escape(said)}">'
    )
    return "\n".join([head, *body, "</svg>"])


def text(
    x: float,
    y: float,
    words: str,
    size: float = 13,
    *,
    colour: str,
    bold: bool = False,
    anchor: str = "start",
    kind: str = "",
) -> str:
    """Words; `kind` is for a style sheet."""
    more = f' class="{kind}"' if kind else ""
    more += ' font-weight="600"' if bold else ""
    more += f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'  <text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{more} fill="{colour}">{escape(words)}</text>'


def line(places: Sequence[Place], colour: str, width: float = 1, *, dashes: str = "") -> str:
    """A line through some places."""
    through = " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'  <path d="M{through}" fill="none" stroke="{colour}" stroke-width="{width:g}"{style}/>'


def box(x: float, y: float, width: float, height: float, colour: str, *, opacity: float = 1, rounded: float = 0) -> str:
    """A filled rectangle."""
    more = f' fill-opacity="{opacity:.3g}"' if opacity < 1 else ""
    more += f' rx="{rounded:g}"' if rounded else ""
    return (
        f'  <rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" '
        f'fill="{colour}"{more}/>'
    )


def area(places: Sequence[Place], colour: str, opacity: float) -> str:
    """A filled shape."""
    around = " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return f'  <path d="M{around} z" fill="{colour}" fill-opacity="{opacity:g}"/>'


SHAPES: Mapping[str, str] = {
    "square": "m{-0.875} {-0.875} h{1.75} v{1.75} h{-1.75} z",
    "circle": "m{-1} 0 a{1} {1} 0 1 0 {2} 0 a{1} {1} 0 1 0 {-2} 0 z",
    "triangle": "m{-1.2} {0.85} h{2.4} l{-1.2} {-2.05} z",
    "diamond": "m0 {-1.25} l{1.25} {1.25} l{-1.25} {1.25} l{-1.25} {-1.25} z",
}
"""Marks of size 1 around a place: the numbers in braces grow with the size."""


def marks(places: Sequence[Place], shape: str, colour: str, size: float = 4) -> str:
    """The same mark at some places."""
    outline = re.sub(r"{(.*?)}", lambda number: f"{float(number[1]) * size:g}", SHAPES[shape])
    return f'  <path d="{" ".join(f"M{x:.1f} {y:.1f} {outline}" for x, y in places)}" fill="{colour}"/>'


def ring(x: float, y: float, colours: Colours) -> str:
    """Around a mark that is to be found."""
    return f'  <circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="{colours.paper}" stroke="{colours.ink}" stroke-width="2"/>'


def cross(x: float, y: float, colour: str) -> str:
    """Something that is not possible."""
    return f'  <path d="M{x - 3.5:.1f} {y - 3.5:.1f} l7 7 m0 -7 l-7 7" stroke="{colour}" stroke-width="1.6"/>'


QUARTERS = [(part / 4, f"{25 * part} %") for part in range(5)]
"""Ticks for a share."""


def plain(x: float) -> str:
    """A number on an axis.

    >>> plain(0.25), plain(1000), plain(2_000_000)
    ('0.25', '1,000', '2 million')
    """
    if x >= 1e6:
        return f"{x / 1e6:g} million"
    return f"{x:,.0f}" if x >= 1 else f"{x:g}"


def decades(least: float, most: float) -> tuple[int, int]:
    """The powers of ten around some numbers above 0, at least one apart."""
    low = floor(log10(least))
    return low, max(ceil(log10(most)), low + 1)


def round_steps(most: float, steps: int = 4) -> list[float]:
    """From 0 to about a number, in round steps.

    >>> round_steps(870)
    [0.0, 200.0, 400.0, 600.0, 800.0]
    """
    if most <= 0:
        return [0.0]
    power = 10.0 ** floor(log10(most / steps))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor * steps >= most * 0.85)
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


def apart(heights: Mapping[str, float], top: float, bottom: float, gap: float = 15) -> dict[str, float]:
    """Heights of labels: near where they belong, not on top of each other, and inside the panel."""
    order = sorted(heights, key=lambda name: heights[name])
    found = [heights[name] for name in order]
    for _ in range(100):
        found = [min(max(height, top), bottom) for height in found]
        for above in range(len(found) - 1):
            short = gap - (found[above + 1] - found[above])
            if short > 0:
                found[above] -= short / 2
                found[above + 1] += short / 2
    return dict(zip(order, found, strict=True))
