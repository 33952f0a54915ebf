"""The page: one document with its scripts and styles in it, so that nothing is ever served on its own."""

from __future__ import annotations

import re
import secrets
from functools import cache
from html import escape
from importlib.resources import files

_LINKED = re.compile(r'<link rel="stylesheet" href="([a-z0-9-]+\.css)">|<script src="([a-z0-9-]+\.js)"></script>')


@cache
def _file(name: str) -> str:
    return (files("tapveil.studio") / "static" / name).read_text(encoding="utf-8")


def page(key: str, resume: str, folder: str) -> tuple[str, str]:
    """The page for one browser, and the content-security policy that goes with it.

    Args:
        key: what the page proves itself with, in every request.
        resume: what it may come back with, once.
        folder: the name of the project folder, for people.
    """
    nonce = secrets.token_urlsafe(16)

    def inlined(found: re.Match[str]) -> str:
        style, script = found.groups()
        if style:
            return f'<style nonce="{nonce}">{_file(style)}</style>'
        return f'<script nonce="{nonce}">{_file(script)}</script>'

    html = _file("page.html")
    for name, value in (("KEY", key), ("RESUME", resume), ("FOLDER", folder)):
        html = html.replace(f"{{{{{name}}}}}", escape(value))
    return _LINKED.sub(inlined, html), policy(nonce)


def policy(nonce: str) -> str:
    """What the page may do: run and style itself, speak to us, and frame what we show. Nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'nonce-{nonce}'",
            f"style-src 'nonce-{nonce}'",
            "connect-src 'self'",
            "img-src data: blob:",
            "frame-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'none'",
            "base-uri 'none'",
        ]
    )


def shown_policy(near: str = "") -> str:
    """For documents in a frame: an origin of their own, so that none can reach the studio; and nothing is loaded, but
    for scripts with numbers that lie `near` a published page."""
    scripts = f"'unsafe-inline' {near}".strip()
    return (
        f"sandbox allow-scripts allow-downloads; default-src 'none'; script-src {scripts}; "
        "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self'"
    )
