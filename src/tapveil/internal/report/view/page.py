"""The report as one page: HTML that has no script and loads nothing. Seven sections: a sentence, a plot, a table."""

from __future__ import annotations

import base64
import hashlib
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from tapveil._version import __version__
from tapveil.base.numbers import percent, three_digits
from tapveil.base.svg import printable
from tapveil.base.vocabulary import MINUTES_PER_DAY, NOUNS
from tapveil.internal.comparison.compare import ALL
from tapveil.internal.comparison.screen import refusals
from tapveil.internal.confidential import NOTICE
from tapveil.internal.plan_in_words import warnings
from tapveil.internal.report.model.accuracy import QUANTILES
from tapveil.internal.report.model.advice import actions
from tapveil.internal.report.model.density import AT, WANTED
from tapveil.internal.report.view import figures
from tapveil.plan.model import TIMETABLE
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import COUNTED, UNIT_NAMES, change

if TYPE_CHECKING:
    from tapveil.internal.report.model.findings import Findings

SECTIONS = (
    ("glance", "At a glance"),
    ("refused", "Refused rows"),
    ("suppressed", "What is suppressed, and where"),
    ("errors", "Accuracy of the counts"),
    ("density", "Density of the tables"),
    ("changes", "Which plan changes would help most"),
    ("epsilon", "Published trips by ε"),
)
"""Each is a template."""
MOST_PANELS = 12
"""Of one sort: the tables that lose most have one."""
NOTHING = "–"
KNOWN = {
    **{"SECTIONS": SECTIONS, "NOTICE": NOTICE, "NOTHING": NOTHING, "MOST_PANELS": MOST_PANELS, "ALL": ALL},
    **{"AT": AT, "WANTED": WANTED, "QUANTILES": QUANTILES, "TIMETABLE": TIMETABLE},
    **{"COUNTED": COUNTED, "UNIT_NAMES": UNIT_NAMES, "version": __version__, "figures": figures},
    **{"actions": actions, "change": change, "plan_warnings": warnings, "refusals": refusals},
}
"""What every template may ask for."""


def html(found: Findings) -> str:
    """The whole page."""
    most_lost = found.by_loss[:MOST_PANELS]
    style = _resource("style.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = _environment().get_template("page.html.j2")
    return page.render(
        KNOWN,
        found=found,
        noun=NOUNS[found.plan.privacy.unit],
        are="are" if found.folder else "are expected to be",
        shown=[each for each in found.tables if each in most_lost],
        style=Markup(style),  # noqa: S704  our own file
        # What a browser may do with the page: show it, in this style, and nothing else.
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
    )


@lru_cache
def _environment() -> Environment:
    """Everything that a template prints is escaped, and nothing that it asks for may be missing."""
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        loader=FunctionLoader(lambda name: _resource(f"templates/{name}")),
    )
    made.filters |= {
        "whole": lambda value: f"{value:,.0f}",
        "percent": lambda share: NOTHING if share is None else percent(share),
        "decimal": lambda value: decimal_text(value, 4),
        "number": _number,
        "small": _small,
        "minutes": _minutes,
        "coded": _coded,
    }
    return made


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _number(value: float | None, signed: bool = False) -> str:
    if value is None:
        return NOTHING
    words = three_digits(abs(value))
    if not signed or float(words.replace(",", "")) == 0:
        return words
    return f"+{words}" if value > 0 else f"−{words}"


def _small(value: Fraction) -> str:
    """A number below one as people write it.

    >>> _small(Fraction(3, 4_000_000)), _small(Fraction(1, 50))
    ('7.5 · 10⁻⁷', '0.02')
    """
    digits, _, power = f"{float(value):.3g}".partition("e")
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(each)] if each.isdigit() else "⁻" for each in str(int(power or 0)))
    return f"{digits} · 10{raised}" if power else digits


def _minutes(width: int) -> str:
    if width == MINUTES_PER_DAY:
        return "whole day"
    return f"{width} min" if width < 60 else f"{width // 60} h"


def _coded(words: str) -> Markup:
    """A text in which code is between backticks.

    >>> _coded("Write `a < b`.")
    Markup('Write <code>a &lt; b</code>.')
    """
    code = Markup("<code>{}</code>")
    parts = [printable(part) for part in words.split("`")]
    return Markup("").join(code.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))
