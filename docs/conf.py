"""The documentation as a site: `make docs`. The pages are plain Markdown; what only a site needs is added here."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from tapveil._version import __version__

project = "tapveil"
author = "The tapveil authors"
version = release = __version__
extensions = ["myst_parser"]
myst_heading_anchors = 4  # a heading is linked to as it is on a code host
suppress_warnings = ["misc.highlighting_failure"]  # what a terminal shows is not a language

html_theme = "furo"
html_title = f"tapveil {__version__}"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b4f80", "color-brand-content": "#0b5c99"},
    "dark_css_variables": {"color-brand-primary": "#8cc2ee", "color-brand-content": "#7ab8ec"},
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False

DECISIONS = [f"decisions/{path.stem}" for path in sorted((Path(__file__).parent / "decisions").glob("0*.md"))]
NAVIGATION = {
    "Start": ["tutorial", "tutorial-studio", "glossary"],
    "Publish": [
        *(
            "publish",
            "exports",
            "plan",
            "guides/choose-a-unit",
            "guides/bins-and-areas",
            "guides/calendars",
            "guides/exact-totals",
            "guides/choose-a-mechanism",
            "world",
        ),
        *(
            "resolutions",
            "ledger",
            "guides/studio",
            "guides/every-week",
            "guides/run-on-a-schedule",
            "tuning",
            "guides/shapes",
            "guides/publish-on-a-portal",
            "portals",
        ),
        *("report", "commands", "guides/spark", "guides/database"),
    ],
    "Compliance": [
        *(
            "approve",
            "guides/approve-a-release",
            "guides/dossier",
            "intruder",
            "guides/for-the-privacy-officer",
            "guides/approve-every-cell",
        ),
        "privacy/README",
        *("privacy/promise", "privacy/a-year", "privacy/weeks", "privacy/limits", "privacy/proofs"),
        *("privacy/the-paper", "privacy/criticism", "verify"),
    ],
    "Analyse": [
        "analyse",
        "page",
        "rider",
        "numbers",
        "reading",
        "series",
        "ten-questions",
        "guides/work-with-estimates",
        "consistency",
    ],
    "Reference": [
        *("reference/commands", "reference/plan", "reference/folder", "reference/ledger", "reference/api"),
        *(
            "privacy-library",
            "bad-input",
            "compatibility",
            "release-notes/0.2.0",
            "utility",
            "estimates-measured",
            "benchmarks",
            "benchmarks-history",
            "scale",
        ),
    ],
    "Contribute": ["how-it-works", "decisions/README", *DECISIONS, "releasing"],
}
"""The pages, in the order of the site's navigation. One that is missing here, or here alone, fails the build."""


def _navigation() -> str:
    return "".join(
        "\n".join(["\n```{toctree}", ":hidden:", f":caption: {caption}\n", *pages, "```\n"])
        for caption, pages in NAVIGATION.items()
    )


def _add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """The front page gets it when the site is built: on a code host it would only be clutter."""
    if page == "index":
        source[0] += _navigation()


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_navigation)
