"""ε in frequencies: the same numbers in words, in dots and in the picture, and which of them is the promise."""

from __future__ import annotations

import io
import json
import re
from fractions import Fraction
from html import unescape
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser
from rich.console import Console

from tapveil.cli.console.text import show_dots
from tapveil.internal import explain
from tapveil.privacy import Exposure, Loss, calibrate
from tapveil.privacy.attacker import Attacker, attacker
from tapveil.privacy.meaning import Meaning
from tapveil.privacy.units import Neighbours, Unit
from tapveil.published.describe import frequencies
from tests.conftest import levelled_plan
from tests.support.commands import run


def found(epsilon: str, neighbours: Neighbours = "add-remove") -> Attacker:
    loss, exposure = Loss(Fraction(epsilon), Fraction(1, 10**6)), Exposure(neighbours)
    return attacker(calibrate("gaussian", (Fraction(1),), *vars(loss).values(), exposure), loss, exposure)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("unit", ["trip", "card-day", "card"])
def test_the_sentence_says_both_numbers_of_what_is_promised(unit: Unit, neighbours: Neighbours) -> None:
    best = found("1", neighbours)
    words = explain.sentence(best, unit)
    assert re.findall(r"(\d+) of 100", words) == list(best.promised.of_100)
    assert ("another" in words or "others" in words) == (neighbours == "replace")


def test_dots_are_as_many_as_the_numbers_say_and_no_small_chance_is_shown_as_none() -> None:
    for epsilon, full in (("1", (27, 73)), ("8", (1, 99))):
        rows = [line.split("     ") for line in explain.dots(found(epsilon))]
        assert tuple(sum(row[side].count("●") for row in rows) for side in (0, 1)) == full
        assert all(len(side.split()) == 10 for row in rows for side in row)


def test_compact_dots_are_the_same_in_half_the_lines() -> None:
    for best in map(found, ("1", "8")):
        large, small = list(explain.dots(best)), list(explain.dots(best, compact=True))
        assert (len(large), len(small)) == (10, 5)
        for side in (0, 1):
            every = ["".join(line.split("     ")[side].replace(" ", "") for line in lines) for lines in (large, small)]
            assert every[0] == every[1]
        assert max(map(len, small)) <= 80


def test_a_terminal_without_dots_has_other_marks() -> None:
    """A question mark for each would draw nothing."""
    shown = {}
    for encoding in ("utf-8", "cp1252"):
        written = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        show_dots(Console(file=written), explain.dots(found("1"), compact=True))
        written.flush()
        shown[encoding] = written.buffer.getvalue().decode(encoding)
    assert shown["utf-8"].count("●") == 100
    assert shown["cp1252"] == shown["utf-8"].translate(str.maketrans("●○", "#."))


def test_check_draws_what_it_says(tmp_path: Path) -> None:
    """Given exact totals, of what is exchanged: whether somebody was there is not promised."""
    plan = levelled_plan(tmp_path)
    total = '\n[[public.total]]\ntrips = 12345\nof = { mode = "bus" }\nsource = "Annual report"\ncalibrate = false\n'
    for text in ("", total):
        with (tmp_path / "plan.toml").open("a", encoding="utf-8") as file:
            file.write(text)
        said = run("check", "plan.toml", "--plan-only", cwd=tmp_path).stdout
        drawn = [line.split("     ") for line in said.splitlines() if set(line.strip()) & set("●○")]
        full = [sum(row[side].count("●") for row in drawn) for side in (0, 1)]
        loss = plan.guarantee.loss_for("replace" if text else plan.privacy.neighbours)
        assert full == [frequencies.filled(number) for number in Meaning(loss.epsilon, loss.delta).of_100]


def test_the_picture_has_both_pairs_and_says_which_is_the_promise() -> None:
    best = found("1")
    drawn = explain.picture(best, "card", "ε = 1 < 2")
    texts = [unescape(words) for words in re.findall("<text [^>]*>([^<]*)</text>", drawn)]
    assert "ε = 1 < 2" in texts
    promised, computed = texts.index(explain.PROMISED), texts.index(explain.COMPUTED)
    assert [text for text in texts[promised:computed] if text.isdigit()] == list(best.promised.of_100)
    assert [text for text in texts[computed:] if text.isdigit()] == list(best.of_100)


def test_the_picture_is_accessible_and_stays_within_its_frame(browser: Browser) -> None:
    """Also where what it is about takes two lines; and nothing is asked of anybody."""
    context, asked = browser.new_context(viewport={"width": 700, "height": 400}), list[str]()
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    drawn = explain.picture(found("1", "replace"), "card-day", "epsilon = 1: strong")
    page.set_content(f'<html lang="en"><title>One</title><main><h1>One</h1>{drawn}</main></html>')
    assert Axe().run(page).response["violations"] == []
    inside = """() => { const frame = document.querySelector("svg").getBoundingClientRect();
        const boxes = [...document.querySelectorAll("text")].filter((each) => each.textContent)
            .map((each) => each.getBoundingClientRect());
        const over = (a, b) => a.bottom <= b.top + 4 || b.bottom <= a.top + 4;
        const apart = (a, b) => a.right <= b.left || b.right <= a.left || over(a, b);
        return boxes.every((box) => box.right <= frame.right && box.bottom <= frame.bottom) &&
            boxes.every((a, i) => boxes.slice(i + 1).every((b) => apart(a, b))); }"""
    assert page.evaluate(inside)
    assert asked == []
    context.close()


def test_the_command_says_draws_and_writes_the_same_numbers(tmp_path: Path) -> None:
    said = run("explain", "1", "--unit", "trip", "--trips", "10", "--picture", "one.svg", cwd=tmp_path)
    stated = json.loads(run("explain", "1", "--unit", "trip", "--trips", "10", "--json", cwd=tmp_path).stdout)
    assert "27 of 100" in said.stdout
    assert "73 of 100. This is a strong promise." in said.stdout
    assert stated["promised_of_100"] == ["27", "73"]
    assert f"it is {' and '.join(stated['computed_of_100'])} of 100" in said.stdout
    assert stated["person"]["verdict"] in ("moderate", "weak")
    assert (tmp_path / "one.svg").read_text(encoding="utf-8").startswith("<svg ")
    again = run("explain", "1", "--picture", "one.svg", cwd=tmp_path)
    assert again.returncode == 2
    assert "give a new file" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x"], "is not a number"),
        (["0"], "at least 1/100"),
        (["1", "--delta", "2"], "below 1"),
        (["1", "--mechanism", "gaussian", "--delta", "0"], "delta must be at least"),
    ],
)
def test_what_cannot_be_explained_is_refused_with_a_reason(arguments: list[str], words: str) -> None:
    said = run("explain", *arguments)
    assert said.returncode == 2
    assert words in said.stderr


def test_without_a_delta_the_noise_is_pure_and_a_card_is_one_unit() -> None:
    said = run("explain", "1/2", "--delta", "0", "--trips", "40").stdout
    assert "dictionary" in said
    assert "the same figures hold" in said


def test_nothing_meaningful_is_called_so_and_never_said_as_certainty(tmp_path: Path) -> None:
    """As in the dossier: no "weak promise" with which he is right in all of 100."""
    asked = ("explain", "8", "--unit", "trip", "--trips", "10")
    said = " ".join(run(*asked, cwd=tmp_path).stdout.split())
    assert "under 0.01 of 100" in said
    assert "over 99.99 of 100" in said
    assert said.endswith("No meaningful promise is left.")
    assert json.loads(run(*asked, "--json", cwd=tmp_path).stdout)["person"]["verdict"] == "none"


def test_check_says_the_sentence_of_the_dossier(tmp_path: Path) -> None:
    """Of the notion that the plan promises in: with trips exchanged for others, not of whether one was made."""
    plan = levelled_plan(tmp_path)
    said = " ".join(run("check", "plan.toml", "--plan-only", cwd=tmp_path).stdout.split())
    loss, exposure = plan.guarantee.loss_for(plan.privacy.neighbours), Exposure(plan.privacy.neighbours)
    best = attacker(list(plan.guarantee.mechanisms.values()), loss, exposure)
    assert f"What that means: {explain.sentence(best, plan.privacy.unit)}" in said
    assert ("made another trip" in said) == (plan.privacy.neighbours == "replace")
