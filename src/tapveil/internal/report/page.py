"""The report as one page: HTML that has no script and loads nothing. Seven sections: a sentence, a plot, a table."""

from __future__ import annotations

from tapveil._version import __version__
from tapveil.internal.confidential import NOTICE
from tapveil.internal.report.choices import changes, epsilon
from tapveil.internal.report.findings import Findings
from tapveil.internal.report.markup import Html, element, joined
from tapveil.internal.report.opening import glance, refused
from tapveil.internal.report.style import POLICY, STYLE
from tapveil.internal.report.tables import dense, errors, suppressed

SECTIONS = (
    ("glance", "At a glance", glance),
    ("refused", "What was refused, and why", refused),
    ("suppressed", "What is suppressed where", suppressed),
    ("errors", "How far numbers are from the truth", errors),
    ("density", "How dense the tables are", dense),
    ("changes", "Which change would pay most", changes),
    ("epsilon", "Published trips against ε", epsilon),
)


def html(found: Findings) -> str:
    """The whole page."""
    sections = [
        element("section", element("h2", f"{number}. {title}"), *body(found), id=name)
        for number, (name, title, body) in enumerate(SECTIONS, start=1)
    ]
    head = joined(
        Html('<meta charset="utf-8">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="robots" content="noindex">'),
        element("title", f"CONFIDENTIAL: {found.plan.release.title}"),
        Html(f"<style>{STYLE}</style>"),
    )
    alarm = f"{NOTICE} Do not publish it, do not send it on."
    body = joined(
        element("aside", alarm, class_="alarm", aria_label="Internal"),
        _header(found),
        element("main", *sections),
        _footer(found),
    )
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _header(found: Findings) -> Html:
    links = [element("a", title, href=f"#{name}") for name, title, _ in SECTIONS]
    which = (
        f"What the folder “{found.folder.path.name}” has of these trips, and what the next release could have."
        if found.folder
        else "What a release of this plan is expected to have of these trips. Nothing was drawn, nothing is spent."
    )
    return element(
        "header",
        element("h1", found.plan.release.title),
        element("p", which, class_="pale"),
        element("nav", *links, aria_label="Sections"),
    )


def _footer(found: Findings) -> Html:
    folder = f", release {found.folder.manifest.release_id[:12]}" if found.folder else ""
    words = f"Made by tapveil {__version__} from the plan {found.plan.digest[:12]}{folder}. {NOTICE}"
    return element("footer", element("p", words))
