"""A studio as a user has it: started in a process of its own, and opened in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize

from tests.support.studio import PATIENCE, Studio, studio_of

STEPS = ("data", "publish", "promise", "budget", "check", "release")
NO_FAULT = re.compile(r"status of (409|422)|net::ERR_(ABORTED|CONNECTION|EMPTY_RESPONSE)")
# A click changes the address at once, and the step only when the browser comes to say so: what counts is what is drawn.
_THERE = """(step) => location.hash === `#${step}` && document.getElementById('content').dataset.step === step
  && !document.querySelector('#content .waiting') && !studio.busy"""

_FOCUS = "() => [document.activeElement?.id, document.activeElement?.name]"


@dataclass
class Opened:
    """A studio, its page, and what the page did that it should not."""

    studio: Studio
    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    leaving: bool = False

    def hear(self, text: str) -> None:
        """Keep what the browser complains of: what was refused, or lost and sent again, is no fault of the page."""
        if not NO_FAULT.search(text) and not (self.leaving and "status of 403" in text):
            self.complaints.append(text)

    def reload(self) -> None:
        """Load the page again: what the page before it still asks for is refused."""
        self.leaving = True
        self.page.reload()
        self.page.wait_for_function("() => performance.getEntriesByName('drawn').length > 0")
        self.leaving = False

    @classmethod
    @contextmanager
    def of(
        cls, browser: Browser, folder: Path, *, size: tuple[int, int] = (1280, 900), scheme: Any = "light"
    ) -> Iterator[Opened]:
        """Open the studio of a folder; the page asks nobody but the studio, and complains of nothing."""
        width, height = size
        with studio_of(folder) as studio:
            context = browser.new_context(viewport=ViewportSize(width=width, height=height), color_scheme=scheme)
            found = cls(studio, context.new_page())
            found.page.on("request", lambda request: found.requests.append(request.url))
            found.page.on("console", lambda message: found.hear(message.text))
            found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
            try:
                enter(studio, found.page)
                yield found
                assert [url for url in found.requests if not url.startswith((f"http://{studio.host}/", "file:"))] == []
                assert found.complaints == [], found.complaints
            finally:
                context.close()


@dataclass(frozen=True)
class Mouse:
    """Somebody with a mouse, who knows what they want by its name."""

    page: Page

    def press(self, wanted: str) -> None:
        self.page.locator(f"#{wanted}").click()

    def write(self, wanted: str, text: str) -> None:
        self.page.locator(f"#{wanted}").fill(text)

    def choose(self, name: str, value: str) -> None:
        """One of several that exclude each other."""
        self.page.locator(f"input[name='{name}'][value='{value}']").check()

    def give(self, export: Path) -> None:
        """Drop a file on the page."""
        self.page.locator("#upload").set_input_files(export)

    def go(self, step: str) -> None:
        go(self.page, step)


@dataclass(frozen=True)
class Keys(Mouse):
    """Somebody without one: what cannot be reached by Tab is not there for them."""

    def reach(self, wanted: str) -> None:
        for _ in range(300):
            if self.page.evaluate(_FOCUS).count(wanted):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{wanted} is not reached by Tab")

    def press(self, wanted: str) -> None:
        self.reach(wanted)
        self.page.keyboard.press("Enter")

    def write(self, wanted: str, text: str) -> None:
        self.reach(wanted)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, name: str, value: str) -> None:
        self.reach(name)
        for _ in range(20):
            if self.page.evaluate("() => document.activeElement.value") == value:
                return
            self.page.keyboard.press("ArrowDown")
            self.page.wait_for_function("() => !studio.busy")
        raise AssertionError(f"{value} is not reached by the arrows")

    def give(self, export: Path) -> None:
        """Type where it is: what a dialog for files can be worked with is up to the browser."""
        self.press("elsewhere")
        self.write("path", str(export))
        self.page.keyboard.press("Enter")

    def go(self, step: str) -> None:
        self.page.evaluate("() => document.activeElement?.blur()")
        self.press(f"to-{step}")
        drawn(self.page, step)


def enter(studio: Studio, page: Page) -> None:
    """Open the page through the file that the studio wrote, as the browser does that it starts."""
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(studio.entry.as_uri())
    page.wait_for_url("http://127.0.0.1:*/resume/*")
    page.wait_for_function("() => performance.getEntriesByName('drawn').length > 0")


def drawn(page: Page, step: str) -> None:
    """Wait until a step is there, and what it asked for has come."""
    page.wait_for_function(_THERE, arg=step)


def go(page: Page, step: str) -> None:
    """Follow the line to a step."""
    page.locator(f"#to-{step}").click()
    drawn(page, step)


def week_of_the_city(hand: Mouse, city: Path, key: Path) -> Iterator[tuple[str, str]]:
    """The tutorial: a week of the demo city on its way to a signed folder. Whenever there is something to see, its step
    and the part of the page where it is.
    """
    page = hand.page
    yield "data", "#choose"
    page.locator("#upload").set_input_files([city / "places.geojson", *sorted((city / "trips").glob("*.csv"))[:7]])
    page.wait_for_selector("#understood")
    drawn(page, "data")
    yield "data", "#columns"
    hand.press("take-proposed")
    page.wait_for_selector("#take-proposed", state="detached")
    hand.press("next")
    drawn(page, "publish")
    yield "publish", "#cover"
    hand.choose("bins", "120")
    drawn(page, "publish")
    hand.press("remove-destination_time")
    drawn(page, "publish")
    yield "publish", "#looking"
    hand.go("promise")
    yield "promise", "#strength"
    hand.go("budget")
    yield "budget", "#begin"
    hand.press("ledger-start")
    page.wait_for_selector("#accounts")
    hand.press("year-ask")
    page.wait_for_selector("#planned")
    yield "budget", "#step"
    hand.go("check")
    yield "check", "#run"
    hand.press("check-run")
    page.wait_for_selector("#found")
    yield "check", "#step"
    hand.press("dossier-make")
    page.wait_for_selector("#dossier iframe")
    yield "check", "#dossier"
    hand.go("release")
    yield "release", "#ready"
    hand.write("sign", str(key))
    hand.press("publish")
    page.wait_for_selector("#folder-published iframe", timeout=10 * PATIENCE * 1000)
    drawn(page, "release")
    yield "release", "#folder-published"
