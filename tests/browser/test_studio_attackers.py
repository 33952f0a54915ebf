"""Whoever else is on the machine of a studio, as attackers are: none gets a byte, and nothing is left behind.

Each of them knows more than it could: the port, and all secrets of the page that are not used up.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from playwright.sync_api import Browser, Error, Page, Response

from tests.browser import launch_with
from tests.browser.studio import Opened, enter
from tests.support import other_user
from tests.support.example import make, prepare
from tests.support.studio import PATIENCE, Studio, studio_of
from tests.support.studio import Page as PageWithoutBrowser

REBOUND = "rebound.example.org"
TITLE = "Harbour ferries"


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """A studio of a project with a release, and its page: after each attack, it is as it was."""
    folder = tmp_path_factory.mktemp("project")
    make(folder)
    with Opened.of(browser, folder) as found:
        yield found


def secrets(page: Page) -> dict[str, Any]:
    """What the page of a studio has, and nobody else; of addresses that are good once, as many as there are attacks."""
    had: dict[str, Any] = page.evaluate("""async () => {
      const addresses = [];
      while (addresses.length < 12) addresses.push((await studio.wire.call("show", {folder: "published"})).address);
      return {key: studio.wire.key, resume: location.pathname.split("/").at(-1), addresses};
    }""")
    assert all(had.values())
    return had


def goes_on(page: Page) -> bool:
    """Whether the page of the user is as it was."""
    page.wait_for_function("() => !studio.busy")
    project: dict[str, Any] = page.evaluate("() => studio.wire.call('project')")
    return project["plan"] == "plan.toml" and page.locator("#trouble").is_hidden()


@contextmanager
def served(html: str) -> Iterator[str]:
    """A page on another port of this machine, as any program of it may serve one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


class Heard:
    """All that the studio answers to a page, by the browser's own account."""

    def __init__(self, page: Page, studio: Studio) -> None:
        self.answers: list[tuple[int, str | None]] = []
        self._studio = studio
        page.context.on("response", self._hear)

    def _hear(self, response: Response) -> None:
        if f":{self._studio.port}/" in response.url:
            self.answers.append((response.status, response.headers.get("content-length")))

    def nothing(self, page: Page, number: int | None = None) -> bool:
        """Whether they were refusals, and empty: one at least, or so many. The browser tells of them when it will."""
        end = time.monotonic() + PATIENCE
        while len(self.answers) < (number or 1) and time.monotonic() < end:
            page.wait_for_timeout(20)
        assert number in (None, len(self.answers)), self.answers
        return set(self.answers) == {(403, "0")}


ATTACK = """
async ({at, key, resume, addresses}) => {
  const got = {read: [], blind: []}, paths = ["/", `/resume/${resume}`, "/show/", "/api/project", "/static/main.js"];
  const where = (path) => at + (path === "/show/" ? addresses.pop() : path);
  const make = (tag, more) => Object.assign(document.createElement(tag), more);
  const add = (tag, more, parent = document.body) => parent.appendChild(make(tag, more));
  const heard = (element, over) => { element.onload = () => over("load"); element.onerror = () => over("error"); };
  const text = (of) => { try { return of()?.documentElement.outerHTML ?? null; } catch (error) { return null; } };
  const ask = async (path, more) => {
    try {
      const answer = await fetch(where(path), more), said = await answer.text();
      if (answer.type !== "opaque" || said) got.read.push([path, answer.type, said]);
      got.blind.push(answer.type);
    } catch (error) { got.blind.push(error.name); }
  };
  for (const path of paths) {
    for (const mode of ["cors", "no-cors"])
      for (const method of ["GET", "POST"]) await ask(path, {mode, method, credentials: "include"});
    for (const tag of ["script", "img"]) {
      const said = await new Promise((over) => heard(add(tag, {src: where(path)}), over));
      (said === "load" ? got.read : got.blind).push(said);
    }
    const sheet = await new Promise((over) => heard(add("link", {rel: "stylesheet", href: where(path)}), over));
    (sheet === "load" ? got.read : got.blind).push(sheet);
    const frame = add("iframe", {});
    await new Promise((over) => { heard(frame, over); frame.src = where(path); });
    const other = window.open(where(path));
    for (const to of [frame.contentWindow, other])
      for (const told of [{event: "resume", token: "x"}, "bye"]) to.postMessage(told, "*");
    for (const said of [text(() => frame.contentDocument), text(() => other.document)])
      if (said && said !== "<html><head></head><body></body></html>") got.read.push(said);
    other.close();
  }
  const headers = {Authorization: `Bearer ${key}`, "Content-Type": "application/json"};
  for (const path of ["/api/project", "/api/events"]) await ask(path, {method: "POST", headers, body: "{}"});
  for (const [path, name, value] of [["/enter", "token", key], ["/enter", "token", resume], ["/api/x", "key", key]]) {
    const frame = add("iframe", {name: "posted"});
    const form = add("form", {method: "post", action: at + path, target: "posted"});
    add("input", {name, value}, form);
    await new Promise((over) => { heard(frame, over); form.submit(); });
    frame.remove();
  }
  const source = new EventSource(`${at}/api/events`);
  source.onmessage = (event) => got.read.push(event.data);
  await new Promise((over) => { source.onerror = over; });
  source.close();
  return got;
}
"""
"""Everything that a page can do to another on the same machine."""


def test_a_hostile_page_in_the_same_browser_gets_nothing(opened: Opened) -> None:
    had = secrets(opened.page)
    context = opened.page.context
    with served("<!DOCTYPE html><title>Win a bicycle</title><body>") as address:
        hostile = context.new_page()
        hostile.goto(address)
        heard = Heard(hostile, opened.studio)
        got = hostile.evaluate(ATTACK, {"at": f"http://{opened.studio.host}", **had})
        assert heard.nothing(hostile)
        hostile.close()
    assert got["read"] == []
    assert len(got["blind"]) == 5 * 7 + 2
    assert goes_on(opened.page)


@pytest.fixture
def rebound(browser: Browser) -> Iterator[Page]:
    """A browser for which a name is that of this machine; and which does not keep pages from it, as the newest do."""
    flags = (f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1", "--disable-features=LocalNetworkAccessChecks")
    with launch_with(browser.browser_type, "--no-proxy-server", *flags) as started:
        yield started.new_page()


def test_a_name_that_is_pointed_at_this_machine_gets_nothing(opened: Opened, rebound: Page) -> None:
    """DNS rebinding: the page came from the attacker's server, on our port; then its name is that of this machine."""
    had = secrets(opened.page)
    at = f"http://{REBOUND}:{opened.studio.port}"
    rebound.route(f"{at}/start", lambda route: route.fulfill(body="<!DOCTYPE html><body>", content_type="text/html"))
    rebound.goto(f"{at}/start")
    heard = Heard(rebound, opened.studio)
    asked = """async ({key, resume, addresses}) => {
      const headers = {Authorization: `Bearer ${key}`, "Content-Type": "application/json"}, got = [];
      const ask = async (path, more) => {
        const answer = await fetch(path, {headers, ...more});
        got.push([answer.status, await answer.text()]);
      };
      for (const path of ["/api/project", "/api/events", "/enter"]) await ask(path, {method: "POST", body: "{}"});
      for (const path of ["/", `/resume/${resume}`, addresses[0]]) await ask(path, {});
      return got;
    }"""
    assert rebound.evaluate(asked, had) == 6 * [[403, ""]], "it may read what it gets: there is nothing to read"
    assert heard.nothing(rebound, 6)
    assert goes_on(opened.page)


def test_a_second_browser_gets_nothing_from_a_copied_address_or_file(
    browser: Browser, opened: Opened, tmp_path: Path
) -> None:
    copied = opened.page.url
    entry = tmp_path / "enter.html"
    form = f'<form method="post" action="http://{opened.studio.host}/enter"><input name="token" value="{{}}"></form>'
    entry.write_text(f"{form.format(opened.studio.token)}<script>document.forms[0].submit()</script>")
    context = browser.new_context()
    other = context.new_page()
    heard = Heard(other, opened.studio)
    for address in (copied, entry.as_uri(), f"http://{opened.studio.host}/"):
        # An answer that is empty and refuses is no page: that is an error, at once or later.
        with other.expect_response(f"http://{opened.studio.host}/**"), contextlib.suppress(Error):
            other.goto(address)
    assert heard.nothing(other, 3)
    context.close()
    opened.page.wait_for_function("(copied) => location.href !== copied", arg=copied)
    assert goes_on(opened.page), "and has another address, as the one that was copied is used up"
    opened.page.reload()
    assert goes_on(opened.page)


@pytest.mark.slow
def test_a_browser_that_crashes_ends_the_studio_and_leaves_nothing_behind(browser: Browser, tmp_path: Path) -> None:
    folder, temporary = tmp_path / "project", tmp_path / "temporary"
    for each in (folder, temporary):
        each.mkdir()
    prepare(folder)
    before = {path.name for path in folder.iterdir()}
    with studio_of(folder, TMPDIR=str(temporary)) as studio, launch_with(browser.browser_type) as other:
        page = other.new_page()
        enter(studio, page)
        page.evaluate("() => studio.count()")
        with contextlib.suppress(Error):
            other.new_browser_cdp_session().send("Browser.crash")
        assert studio.wait() == 0
        assert TITLE not in studio.said
    assert not list(temporary.iterdir())
    assert {path.name for path in folder.iterdir()} == before


# --- another user of the machine --------------------------------------------------------------------------------------


def as_nobody(studio: Studio, *paths: Path) -> dict[str, Any]:
    """What another user of this machine comes to, who knows where everything is."""
    command = [sys.executable, other_user.__file__, str(studio.process.pid), str(studio.port), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_of_the_machine_gets_nothing() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # as most home folders once were
        prepare(folder)
        with studio_of(folder) as studio:
            before = as_nobody(studio, studio.entry, folder / "plan.toml")
            assert before["files"] == {str(studio.entry): "PermissionError", str(folder / "plan.toml"): ANY}
            assert TITLE in before["files"][str(folder / "plan.toml")], "they can come as far as the folder"
            page = PageWithoutBrowser.entered(studio)
            trips = folder / page.upload("more.csv", b"mode,day\nferry,2025-03-03\n")["path"]
            after = as_nobody(studio, studio.entry, trips)
            assert not studio.entry.exists()
            assert after["files"] == {str(studio.entry): ANY, str(trips): "PermissionError"}
            assert after["files"][str(studio.entry)] in ("PermissionError", "FileNotFoundError")
            assert after["folders"][str(trips)] == "PermissionError"
            for seen in (before, after):
                assert seen["folders"][str(studio.entry)] in ("PermissionError", "FileNotFoundError")
                assert seen["process"] == ["PermissionError", "PermissionError"]
                assert seen["killed"] == "PermissionError"
                assert seen["answers"] == 3 * ["(403, b'')"]
            assert page.call("project")["plan"] == "plan.toml"
            page.close()
