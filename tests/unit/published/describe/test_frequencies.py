"""The one picture of frequencies: as many full dots as the numbers say, whoever draws it."""

from __future__ import annotations

import re

import pytest

from tapveil.base.svg import ON_PAPER
from tapveil.published.describe.frequencies import Halves, Panel, filled, picture


def dots(drawn: str, colour: str) -> int:
    return sum(path.count("M") for path in re.findall(f'<path d="([^"]*)" stroke="{colour}"', drawn))


@pytest.mark.parametrize("pairs", [[("27", "73")], [("0.03", "99.97"), ("14", "86")]])
def test_every_square_has_a_hundred_dots_of_which_as_many_are_full_as_it_says(pairs: list[tuple[str, str]]) -> None:
    colours = ("#d55e00", "#0072b2")
    about = Halves("If your trips of a day were others", "If they were these")
    panels = [Panel("Promised", pair, about, colour) for pair, colour in zip(pairs, colours, strict=False)]
    drawn = picture(panels, "A <b> title", "below", "said & done", ON_PAPER)
    for pair, colour in zip(pairs, colours, strict=False):
        assert dots(drawn, colour) == sum(map(filled, pair))
    assert dots(drawn, ON_PAPER.grid) == sum(100 - filled(number) for pair in pairs for number in pair)
    assert 'aria-label="said &amp; done"' in drawn
    assert "A &lt;b&gt; title" in drawn
    width = int(re.search(r'viewBox="0 0 (\d+)', drawn)[1])  # type: ignore[index]
    for x, words in re.findall(r'<text x="([\d.]+)"[^>]*font-size="11"[^>]*>([^<]*)<', drawn):
        assert float(x) + 6.4 * len(words) <= width, "words stay inside"
