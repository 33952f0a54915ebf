"""`tapveil explain`: what one epsilon means, in frequencies. Reads no file."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from tapveil.base.errors import UsageError
from tapveil.cli.console.text import head, say, show_dots
from tapveil.cli.options import Json, err, out

if TYPE_CHECKING:
    from tapveil.privacy.attacker import Attacker

Unit = Literal["trip", "card-day", "card"]
Neighbours = Literal["add-remove", "replace"]
Noise = Literal["gaussian", "laplace", "sbh", "dictionary"]


def explain(
    epsilon: Annotated[str, Argument(metavar="EPSILON", help="A number or a fraction, such as 1 or 1/2.")],
    unit: Annotated[Unit, Option(help="What is protected.")] = "card",
    trips: Annotated[
        int | None, Option(min=1, max=10_000, help="Also for a person with this many trips, in cells of their own.")
    ] = None,
    delta: Annotated[str, Option(help="The delta; 0 is for the mechanism `dictionary`.")] = "1e-6",
    neighbours: Annotated[
        Neighbours, Option(help="Wondered about: whether somebody was there, or which trips they made.")
    ] = "add-remove",
    mechanism: Annotated[
        Noise | None, Option(help="The noise. Default: gaussian; with delta 0, dictionary.", show_default=False)
    ] = None,
    picture: Annotated[Path | None, Option("--picture", help="Also draw it: a new SVG file.")] = None,
    as_json: Json = False,
) -> None:
    """Explain what an epsilon means, in frequencies.

    Shows what is promised, and what the best attacker can do against the noise. Reads no file.
    """
    from tapveil.base.types import read_exact
    from tapveil.internal import explain as words
    from tapveil.privacy import Exposure, Loss, calibrate, in_other_notion
    from tapveil.privacy.attacker import attacker, attacker_of_several
    from tapveil.privacy.person import verdict

    try:
        promise = Loss(read_exact(epsilon), read_exact(delta))
        name = mechanism or ("gaussian" if promise.delta else "dictionary")
        tables = calibrate(name, (Fraction(1),), promise.epsilon, promise.delta, Exposure(neighbours))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if picture and (picture.suffix != ".svg" or picture.exists()):
        raise UsageError(f"{picture}: give a new file whose name ends in .svg")
    found = attacker(tables, promise, Exposure(neighbours))
    units = 1 if unit == "card" else trips or 1
    one = promise if neighbours == "add-remove" else in_other_notion(tables, promise, Exposure("add-remove"))
    several = attacker_of_several(tables, one, 1, units) if trips and units > 1 else None
    title = f"epsilon = {epsilon}, delta = {delta}: {found.verdict}"
    if as_json:
        person = several and _json(several) | {"verdict": verdict(several.promised)}
        typer.echo(json.dumps(_json(found) | ({"person": person} if trips else {}), indent=2))
    else:
        say(out, f"{words.sentence(found, unit)} This is a {found.verdict} promise.")
        say(out, f"{words.computed(found)} ({name}, one table)")
        head(out, f"Promised, of 100 publications: {' · '.join(words.headings(found, unit))}")
        show_dots(out, words.dots(found))
        if trips:
            _say_of_a_person(found, several, unit, trips)
    if picture:
        picture.write_text(words.picture(found, unit, title) + "\n", encoding="utf-8")
        err.print(f"Wrote {picture}.")


def _json(found: Attacker) -> dict[str, object]:
    promised = found.promised
    return {
        "neighbours": found.neighbours,
        "epsilon": float(promised.epsilon),
        "delta": float(promised.delta),
        "promised_of_100": promised.of_100,
        "computed_of_100": found.of_100,
        "verdict": found.verdict,
    }


def _say_of_a_person(one: Attacker, several: Attacker | None, unit: Unit, trips: int) -> None:
    """What it means for all trips of a person, of whom there are several units."""
    from tapveil.privacy.person import verdict
    from tapveil.published.describe.wording import rounded_up
    from tapveil.published.people import BEYOND

    head(out, f"For a person with {trips} trip{'s' * (trips != 1)}")
    if unit == "card":
        say(out, "A card is protected with all its trips that are counted: the same figures hold.")
        return
    if trips == 1:
        say(out, "One trip is one unit: the same figures hold.")
        return
    if several is None:
        say(out, "Nothing is promised.")
        return
    word = verdict(several.promised)
    wrong, right = BEYOND if word == "none" else several.promised.of_100
    at = f"epsilon {rounded_up(several.promised.epsilon)} at delta {rounded_up(several.promised.delta)}"
    each = "each on another day and " if unit == "card-day" else ""
    say(
        out,
        f"If they did not travel, {wrong} of 100 publications would make him believe that they did; if they did, "
        f"{right} of 100 ({at}, the trips being {each}in different cells). Computed from the noise: "
        f"{several.of_100[0]} and {several.of_100[1]}. "
        f"{'No meaningful promise is left.' if word == 'none' else f'This is a {word} promise.'}",
    )
