"""ε in frequencies, for a person: of 100 publications, how many would make a suspicious neighbour believe it.

One component for the terminal, the report and the dossier: sentences, dots on a screen, and a picture. There are two
pairs of numbers, and each says which it is: the one that is promised, and the one computed from the noise, than which
nobody can do better (`privacy.attacker`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tapveil.base.svg import ON_PAPER, Colours
from tapveil.privacy.attacker import Attacker
from tapveil.privacy.meaning import CASES
from tapveil.privacy.units import Unit
from tapveil.published.describe import frequencies
from tapveil.published.describe.frequencies import Halves, Panel

PROMISED = "Promised: the worst case"
COMPUTED = "Computed from the noise"
HOW_MANY = "How many of 100 publications would make a suspicious neighbour believe it"


def sentence(found: Attacker, unit: Unit) -> str:
    """Of 100 publications, in words; of what is promised."""
    return found.promised.sentence(unit, found.neighbours)


def computed(found: Attacker) -> str:
    """The other pair, after the first."""
    wrong, right = found.of_100
    return f"Computed from the noise itself, it is {wrong} and {right} of 100: nobody can do better."


def headings(found: Attacker, unit: Unit) -> Halves:
    """Of both halves of a picture."""
    case = CASES[found.neighbours][unit]
    return Halves(f"If {case.other}", f"If {case.so}")


# --- on a terminal ----------------------------------------------------------------------------------------------------


def dots(found: Attacker, *, compact: bool = False) -> Iterator[str]:
    """The promise as two squares of a hundred: a full one stands for a publication that makes him believe it."""
    return frequencies.dots(found.promised.of_100, compact=compact)


# --- as a picture -----------------------------------------------------------------------------------------------------


def panels(found: Attacker, unit: Unit, colours: Colours = ON_PAPER) -> tuple[Panel, Panel]:
    """What a picture shows: the promise, and what was computed."""
    about = headings(found, unit)
    promised = Panel(PROMISED, found.promised.of_100, about, colours.orange)
    return promised, Panel(COMPUTED, found.of_100, about, colours.blue)


def picture(found: Attacker, unit: Unit, title: str, colours: Colours = ON_PAPER) -> str:
    """Both pairs, each as two squares of a hundred dots, with their numbers."""
    said = f"{title}. {sentence(found, unit)} {computed(found)}"
    return frequencies.picture(panels(found, unit, colours), title, HOW_MANY, said, colours)
