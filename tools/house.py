"""Draws docs/house.svg: the packages of the source, and who imports whom, as the imports say.

`python -m tools.house --write` renews it. Arrows lead from a package to what it imports. Those that follow from others
are left out, so that the eye can follow the rest; an import against the rule of the house is drawn red and dashed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grimp

PICTURE = Path(__file__).parents[1] / "docs" / "house.svg"
ROOF = ("cli", "studio", "internal", "demo", "veil")
SECRET = ("counting", "trips", "inputs", "plan")
PUBLISHED = ("delivery", "tuning", "verification", "ledger", "published")
BELOW = ("privacy", "base")
DOWNWARDS = (*ROOF, *SECRET, *PUBLISHED, *BELOW)
"""Each may import those after it, but for the secret side, which may not import the published one."""
WHITE, GREY, INK, RED = "#ffffff", "#f3f3f3", "#26323f", "#c0392b"

Edge = tuple[str, str]


@dataclass(frozen=True)
class Box:
    """A package on the picture."""

    x: int
    y: int
    width: int
    height: int
    words: str
    fill: str = WHITE

    @property
    def centre(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2

    def towards(self, x: float, y: float) -> tuple[float, float]:
        """Where a line from the centre to a point leaves the box."""
        right, down = x - self.centre[0], y - self.centre[1]
        share = min(
            self.width / 2 / abs(right) if right else float("inf"),
            self.height / 2 / abs(down) if down else float("inf"),
        )
        return self.centre[0] + right * share, self.centre[1] + down * share


BOXES = {
    "cli": Box(380, 20, 200, 54, "the command line"),
    "studio": Box(700, 104, 200, 54, "the same in a browser"),
    "demo": Box(60, 104, 200, 54, "a generated city"),
    "internal": Box(380, 104, 200, 54, "for the custodian alone"),
    "counting": Box(60, 226, 200, 58, "exact counts of cells"),
    "trips": Box(60, 318, 200, 58, "files of trips"),
    "inputs": Box(60, 410, 200, 58, "public lists, read once"),
    "plan": Box(60, 502, 200, 58, "what to publish"),
    "veil": Box(400, 226, 160, 334, "the one crossing: spend, draw, write", INK),
    "tuning": Box(700, 226, 95, 58, "the next plan"),
    "delivery": Box(805, 226, 95, 58, "to portals"),
    "verification": Box(700, 318, 200, 58, "any folder, by anyone"),
    "ledger": Box(700, 410, 200, 58, "what was spent"),
    "published": Box(700, 502, 200, 58, "tables, manifest, folder"),
    "privacy": Box(150, 650, 320, 54, "noise, and what it costs: pure mathematics", GREY),
    "base": Box(490, 650, 320, 54, "errors, names, files, progress", GREY),
}


def imports() -> set[Edge]:
    """Which package imports which."""
    graph = grimp.build_graph("tapveil", cache_dir=None)
    found = {
        (importer.split(".")[1], imported.split(".")[1])
        for importer in graph.modules - {"tapveil"}
        for imported in graph.find_modules_directly_imported_by(importer) - {"tapveil"}
    }
    return {(one, other) for one, other in found if one != other and {one, other} <= set(BOXES)}


def is_downwards(edge: Edge) -> bool:
    """Whether the rule of the house allows it."""
    columns = edge[0] in SECRET and edge[1] in PUBLISHED
    return DOWNWARDS.index(edge[0]) < DOWNWARDS.index(edge[1]) and not columns


def without_implied(edges: set[Edge]) -> set[Edge]:
    """The edges that no chain of others replaces.

    >>> sorted(without_implied({("a", "b"), ("b", "c"), ("a", "c")}))
    [('a', 'b'), ('b', 'c')]
    """

    def reached(start: str, left_out: Edge) -> set[str]:
        seen, waiting = set[str](), [start]
        while waiting:
            here = waiting.pop()
            found = {other for one, other in edges - {left_out} if one == here} - seen
            seen |= found
            waiting += found
        return seen

    return {edge for edge in edges if edge[1] not in reached(edge[0], edge)}


def picture(edges: set[Edge]) -> str:
    """The house, as SVG."""
    allowed = without_implied({edge for edge in edges if is_downwards(edge)})
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 750" font-family="system-ui, sans-serif" '
        'font-size="14" role="img" aria-label="Two columns of packages, the secret side and the published side, with '
        'the veil between them; both stand on privacy and base, and arrows show which package imports which.">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="context-stroke"/></marker></defs>',
        f'<rect width="960" height="750" fill="{WHITE}"/>',
        '<rect x="30" y="182" width="260" height="398" rx="12" fill="#fdf1ec" stroke="#d9a48f"/>',
        '<text x="60" y="208" font-weight="600" fill="#8a3b1e">secret: never leaves</text>',
        '<rect x="670" y="182" width="260" height="398" rx="12" fill="#eaf4f1" stroke="#8fbfb0"/>',
        '<text x="900" y="208" text-anchor="end" font-weight="600" fill="#1d5c4a">published: for everyone</text>',
        *(_arrow(BOXES[one], BOXES[other], "#5a6672", "") for one, other in sorted(allowed)),
        *(
            _arrow(BOXES[one], BOXES[other], RED, ' stroke-dasharray="5 4"')
            for one, other in sorted(edges)
            if not is_downwards((one, other))
        ),
        *(line for name, box in BOXES.items() for line in _box(name, box)),
        '<text x="480" y="734" text-anchor="middle" font-size="12" fill="#5a6672">An arrow leads to what is imported; '
        f"what follows from other arrows is left out.{_against(edges)}</text>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _against(edges: set[Edge]) -> str:
    return "" if all(map(is_downwards, edges)) else " Red and dashed: against the rule, still to be removed."


def _box(name: str, box: Box) -> Iterator[str]:
    x, y = box.centre
    ink = WHITE if box.fill == INK else INK
    yield (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="8" fill="{box.fill}" '
        'stroke="#8a8a8a"/>'
    )
    yield f'<text x="{x:g}" y="{y - 4:g}" text-anchor="middle" font-weight="600" fill="{ink}">{name}/</text>'
    parts = box.words.split(": ") if box.fill == INK else [box.words]
    for number, words in enumerate(parts):
        yield (
            f'<text x="{x:g}" y="{y + 15 + 17 * number:g}" text-anchor="middle" font-size="12" fill="{ink}">'
            f"{words}</text>"
        )


def _arrow(one: Box, other: Box, colour: str, more: str) -> str:
    """From border to border: straight, or around the boxes between two that stand above each other."""
    if one.x == other.x and any(one.y < each.y < other.y and each.x == one.x for each in BOXES.values()):
        side, out = (one.x, -16) if one.x < BOXES["veil"].x else (one.x + one.width, 16)
        path = f"M{side} {one.centre[1]:g} h{out} V{other.centre[1]:g} H{side + out // 16}"
    else:
        path = "M{:.0f} {:.0f} L{:.0f} {:.0f}".format(*_border(one, other), *_border(other, one))
    return f'<path d="{path}" stroke="{colour}" stroke-width="1.6" fill="none" marker-end="url(#tip)"{more}/>'


def _border(one: Box, other: Box) -> tuple[float, float]:
    """Where an arrow between two boxes meets the first: upright or level where they face each other."""
    left, right = max(one.x, other.x), min(one.x + one.width, other.x + other.width)
    top, bottom = max(one.y, other.y), min(one.y + one.height, other.y + other.height)
    if left < right:
        return (left + right) / 2, one.y + one.height if one.y < other.y else one.y
    if top < bottom:
        return one.x + one.width if one.x < other.x else one.x, (top + bottom) / 2
    return one.towards(*other.centre)


if __name__ == "__main__":
    drawn = picture(imports())
    if "--write" in sys.argv:
        PICTURE.write_text(drawn, encoding="utf-8")
    else:
        print(drawn, end="")
