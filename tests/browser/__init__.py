"""The page in a real browser. `python -m tests.browser` says which Chromium is used, and fails where there is none."""

from __future__ import annotations

import os
import shutil

from playwright.sync_api import Browser, BrowserType, Playwright

FLAGS = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]


def chromium() -> str | None:
    """The browser on this machine: named in TAPVEIL_CHROMIUM, on the path, or one that Playwright brought."""
    named = os.environ.get("TAPVEIL_CHROMIUM")
    candidates = [named] if named else ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    return next((found for each in candidates if (found := shutil.which(each))), None)


def launch(playwright: Playwright) -> Browser:
    """A browser without a window."""
    return launch_with(playwright.chromium)


def launch_with(kind: BrowserType, *flags: str) -> Browser:
    """The same, with some flags more."""
    sandbox = os.geteuid() != 0  # Chromium refuses its sandbox to root
    return kind.launch(executable_path=chromium(), args=[*FLAGS, *flags], chromium_sandbox=sandbox)
