"""The page of the studio where something goes wrong: it is loaded again, its studio is gone, an answer is lost."""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import threading
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Browser, Route

from tapveil.plan.model import Plan
from tapveil.published.explorer import contents
from tests.browser.studio import Opened, drawn, go
from tests.browser.test_parts import STILL
from tests.browser.test_world import DAY, view
from tests.support.commands import command
from tests.support.example import PLAN, WHARVES, prepare
from tests.support.tampering import redraw


@pytest.fixture
def harbour(tmp_path: Path) -> Path:
    """A project with trips, a plan and a ledger."""
    folder = tmp_path / "harbour"
    folder.mkdir()
    prepare(folder)
    return folder


def test_numbers_that_were_shown_are_remembered_when_the_page_is_loaded_again(browser: Browser, harbour: Path) -> None:
    with Opened.of(browser, harbour) as found:
        page = found.page
        go(page, "publish")
        page.get_by_label("What would be published of your trips").check()
        page.wait_for_function("() => !studio.counting && !studio.busy")
        page.reload()
        page.wait_for_function("() => performance.getEntriesByName('drawn').length > 0")
        drawn(page, "publish")
        assert page.locator("#content .secret").count() == 0
        page.get_by_label("What would be published of your trips").check()
        drawn(page, "publish")
        assert page.locator("#content .secret").count() > 0, "the counts are there without being counted again"
        page.get_by_label("How accurate it would be").check()
        drawn(page, "publish")
        assert page.locator("#noted").is_hidden()
        page.get_by_label("4 hours", exact=True).check()
        drawn(page, "publish")
        assert Plan.read(harbour / "plan.toml").privacy.looked_at_trips is True
        assert "looked_at_trips = true" in page.inner_text("#noted")


def test_the_slider_says_at_once_what_is_about_right_and_then_what_is_exact(browser: Browser, harbour: Path) -> None:
    days = "[source]\nfirst_day = 2025-03-03\nlast_day = 2025-03-09\n"
    (harbour / "plan.toml").write_text(PLAN.replace("[source]\n", days), encoding="utf-8")
    with Opened.of(browser, harbour) as found:
        page = found.page
        go(page, "promise")
        persons = page.inner_text("#people table")
        page.locator("#epsilon").evaluate("(range) => { range.value = 0; range.dispatchEvent(new Event('input')); }")
        page.wait_for_function("() => studio.step.moved && !studio.step.accuracy.classList.contains('stale')")
        assert page.evaluate("() => studio.step.people.classList.contains('stale')"), (
            "a person is computed when it stops"
        )
        page.wait_for_function("() => !studio.step.moved.about")
        page.locator("#epsilon").evaluate("(range) => range.dispatchEvent(new Event('change'))")
        page.wait_for_function("() => !studio.busy && !studio.step.moved")
        drawn(page, "promise")
        assert page.inner_text("#people table") != persons
        assert Plan.read(harbour / "plan.toml").privacy.epsilon == Fraction(1, 10)


def test_who_listens_where_a_studio_was_receives_nothing(browser: Browser, harbour: Path) -> None:
    with Opened.of(browser, harbour) as found:
        page = found.page
        received: list[bytes] = []
        go(page, "release")
        page.locator("#sign-pass").fill("a passphrase")
        found.studio.end()
        page.wait_for_selector("#trouble:not([hidden])")
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", found.studio.port))
            other.listen()
            other.settimeout(60)

            def listen() -> None:
                with suppress(OSError):
                    while True:
                        connection, _ = other.accept()
                        received.append(connection.recv(65536))
                        connection.close()

            threading.Thread(target=listen, daemon=True).start()
            assert page.evaluate("() => ['content', 'turn', 'drawer'].every((id) => document.getElementById(id).inert)")
            page.evaluate("() => document.querySelector('#ready form').requestSubmit()")
            asked = "(call) => studio.wire[call[0]](...call.slice(1)).catch((error) => error.kind)"
            for call in (["call", "approve", {"passphrase": "x"}], ["call", "project"], ["call", "bye"]):
                assert page.evaluate(asked, call) == "Ended"
            assert (
                page.evaluate("() => studio.wire.upload(new File(['trips'], 't.csv')).catch((e) => e.kind)") == "Ended"
            )
            page.goto("about:blank")  # as a tab that is closed: it says goodbye to nobody
            with socket.create_connection(("127.0.0.1", found.studio.port)) as probe:
                probe.sendall(b"somebody else")
                assert probe.recv(1) == b""
            other.shutdown(socket.SHUT_RDWR)
        assert received == [b"somebody else"]
        found.complaints.clear()  # the browser says that nobody answered


def test_the_page_of_a_large_folder_reads_the_files_next_to_it(
    browser: Browser, harbour: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(world, harbour / "published")
    monkeypatch.setattr(contents, "IN_PAGE_OF_A_WORLD", 1_000)
    monkeypatch.setattr(contents, "IN_A_FILE", 1_500)
    redraw(harbour / "published")
    with Opened.of(browser, harbour) as found:
        page = found.page
        go(page, "release")
        page.locator("#look-published").click()
        frame = page.frame_locator("#shown-published iframe")
        frame.locator("h1").scroll_into_view_if_needed()  # a browser draws no frame that nobody sees
        shown = next(each for each in page.frames if "/show/" in each.url)
        shown.wait_for_function("() => performance.getEntriesByName('drawn').length > 0")
        shown.evaluate("(view) => { location.hash = view; }", view(table="origin_time", **DAY))
        shown.wait_for_function("() => tapveil.view.hash === location.hash")
        shown.wait_for_function(STILL)
        assert frame.locator("#trouble").is_hidden()
        parts = [url for url in found.requests if "/explorer/part-" in url]
        assert parts
        assert not any(url.startswith(f"http://{found.studio.host}/explorer/") for url in parts)
        page.set_viewport_size({"width": 700, "height": 900})
        page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
        page.wait_for_function("() => !studio.busy")
        assert page.locator("#shown-published iframe").count() == 1, "what is looked at stays in a window that changes"


def test_one_lost_request_does_not_end_the_page(browser: Browser, harbour: Path) -> None:
    with Opened.of(browser, harbour) as found:
        page = found.page
        lost: list[str] = []

        def lose(route: Route) -> None:
            if not lost:
                lost.append(route.request.url)
                route.abort()
            else:
                route.continue_()

        page.route("**/api/promise", lose)
        go(page, "promise")
        assert lost
        assert page.locator("#epsilon").is_visible()
        assert page.locator("#trouble").is_hidden()
        page.unroute("**/api/promise")
        page.route("**/api/plan/edit", lambda route: route.abort())
        page.locator("#epsilon").press("ArrowLeft")
        page.wait_for_selector("#trouble:not([hidden])")
        assert "has ended" in page.inner_text("#trouble"), "what changes something is never sent twice"
        found.complaints.clear()


def test_an_answer_that_an_edit_overtook_is_asked_for_again(browser: Browser, harbour: Path) -> None:
    with Opened.of(browser, harbour) as found:
        page = found.page
        held: list[tuple[Route, APIResponse]] = []

        def hold(route: Route) -> None:
            if held:
                route.continue_()
            else:
                held.append((route, route.fetch()))

        go(page, "promise")
        page.route("**/api/plan", hold)
        page.evaluate("() => { window.reading = studio.project.read(); }")  # as when something changes on the disk
        while not held:
            page.wait_for_timeout(10)
        page.locator("#epsilon").press("ArrowLeft")
        page.wait_for_function("() => !studio.busy")
        ((route, answer),) = held
        route.fulfill(response=answer)
        known = page.evaluate("async () => { await window.reading; return studio.project.plan.version; }")
        assert known == hashlib.sha256((harbour / "plan.toml").read_bytes()).hexdigest()


def test_a_window_that_gets_narrower_while_something_is_under_way_is_drawn_again(
    browser: Browser, harbour: Path
) -> None:
    with Opened.of(browser, harbour) as found:
        page = found.page
        go(page, "promise")
        page.evaluate("() => { studio.attempt(() => new Promise((over) => { window.over = over; })); }")
        page.set_viewport_size({"width": 390, "height": 844})
        page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
        page.evaluate("() => window.over()")
        page.wait_for_function("() => document.querySelector('#accurate svg.plot').viewBox.baseVal.width < 390")


def test_a_budget_that_a_command_changes_is_shown_and_what_was_opened_stays_open(
    browser: Browser, harbour: Path
) -> None:
    with Opened.of(browser, harbour) as found:
        page = found.page
        go(page, "budget")
        page.locator("#accounts summary").click()
        raise_budget(harbour, "11")
        page.wait_for_function("() => document.getElementById('accounts').textContent.includes('ε 11')")
        assert page.locator("#raise-reason").is_visible()


def raise_budget(folder: Path, epsilon: str) -> None:
    more = ["--epsilon", epsilon, "--delta", "1e-5", "--reason", "more days", "--by", "A. Officer"]
    assert command(folder, ["ledger", "budget", "plan.toml", *more]).code == 0


def test_what_the_ledger_was_is_not_shown_where_a_command_overtook_the_answer(browser: Browser, harbour: Path) -> None:
    with Opened.of(browser, harbour) as found:
        page = found.page
        held: list[tuple[Route, APIResponse]] = []
        page.route("**/api/ledger", lambda route: held.append((route, route.fetch())), times=1)
        page.locator("#to-budget").click()
        while not held:
            page.wait_for_timeout(10)
        before = page.evaluate("() => studio.project.forgotten")
        raise_budget(harbour, "12")
        page.wait_for_function("(before) => studio.project.forgotten > before", arg=before)
        ((route, answer),) = held
        route.fulfill(response=answer)
        drawn(page, "budget")
        assert "ε 12" in page.inner_text("#accounts")


def test_an_answer_that_is_given_up_half_way_is_no_fault(browser: Browser, harbour: Path) -> None:
    """A drawing that another one overtook was said to have failed, and stayed in the place of the last."""
    with Opened.of(browser, harbour) as found:
        name: str = found.page.evaluate(
            """() => {
              const given_up = {ok: true, json: () => Promise.reject(new DOMException("", "AbortError"))};
              return studio.wire.read(given_up).catch((error) => error.name);
            }"""
        )
        assert name == "AbortError"


def test_of_two_drawings_at_once_the_last_is_kept_in_whatever_order_they_are_answered(
    browser: Browser, harbour: Path
) -> None:
    with Opened.of(browser, harbour) as found:
        page, held = found.page, list[Route]()
        go(page, "publish")
        page.route("**/api/options", lambda route: route.continue_() if held else held.append(route))
        page.evaluate("() => { studio.project.options = null; studio.draw(); }")
        page.wait_for_function("() => studio.busy")
        page.evaluate("() => { studio.last = studio.draw(); }")
        page.evaluate("() => studio.last")
        held[0].continue_()
        drawn(page, "publish")
        assert page.locator("#content .card").count() > 2


LONG = ("Nadaprabhu Kempegowda Station, Majestic", "人民广场地铁站一号口人民广场地铁站一号口", "W" * 40)


def test_long_names_stay_within_their_picture(browser: Browser, harbour: Path) -> None:
    with Opened.of(browser, harbour) as found:
        left: list[float] = found.page.evaluate(
            """(names) => {
              const bars = names.map((label) => ({label, share: 1 / names.length}));
              const picture = distribution("place", {kind: "category", bars, filled: 1, kinds: names.length});
              document.body.append(picture);
              return [...picture.querySelectorAll("text")].map((text) => text.getBBox().x);
            }""",
            LONG,
        )
        assert len(left) == 2 * len(LONG)
        assert min(left) >= 0


def test_a_plan_that_changes_while_it_is_checked_is_not_said_to_be_checked(browser: Browser, harbour: Path) -> None:
    with Opened.of(browser, harbour) as found:
        page = found.page
        held: list[Route] = []
        go(page, "check")
        page.route("**/api/job", lambda route: held.append(route), times=1)
        page.locator("#check-run").click()
        while not held:
            page.wait_for_timeout(10)
        known = page.evaluate("() => studio.project.plan.version")
        (harbour / "plan.toml").write_text(PLAN.replace("epsilon = 1", "epsilon = 2"), encoding="utf-8")
        page.wait_for_function("(known) => studio.project.plan.version !== known", arg=known)
        held[0].continue_()
        page.wait_for_selector("#trouble:not([hidden])")
        drawn(page, "check")
        assert page.locator("#found").count() == 0


def test_a_click_is_not_lost_where_the_page_is_drawn_again_while_the_button_is_down(
    browser: Browser, harbour: Path
) -> None:
    with Opened.of(browser, harbour) as found:
        page = found.page
        go(page, "publish")
        page.get_by_label("4 hours", exact=True).hover(force=True)
        page.mouse.down()
        with page.expect_response("**/api/preview"):
            page.evaluate("() => { window.drawing = studio.draw(); }")
        page.evaluate("() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")
        page.mouse.up()
        page.evaluate("() => window.drawing")
        drawn(page, "publish")
        assert Plan.read(harbour / "plan.toml").coarsen.time_minutes == 240


def test_a_table_in_a_sentence_of_a_command_has_the_name_that_the_studio_gives_it(
    browser: Browser, harbour: Path
) -> None:
    said = "Expect on_time, total to be mostly empty: tap_on_time × tap_on_location would publish 2 % of trips"
    with Opened.of(browser, harbour) as found:
        titled = found.page.evaluate(
            """(said) => titled(said, [
              { name: "on_time", columns: ["tap_on_time"] },
              { name: "on_time_location", columns: ["tap_on_time", "tap_on_location"] },
              { name: "total", columns: [] },
            ])""",
            said,
        )
    assert titled == (
        "Expect “Time of start”, total to be mostly empty: “Time of start × place of start” would publish 2 % of trips"
    )


def test_every_release_has_its_name_and_epsilon_on_the_line_of_a_phone(browser: Browser, harbour: Path) -> None:
    with Opened.of(browser, harbour, size=(390, 844)) as found:
        words: list[tuple[str, bool]] = found.page.evaluate(
            """(title) => {
              const weeks = [["2025-03-03", "2025-03-09"], ["2025-03-10", "2025-03-16"], ["2025-03-17", "2025-03-23"]];
              const picture = timeline(weeks.map(([first_day, last_day]) =>
                ({ first_day, last_day, title, epsilon: "1.25" })), "");
              at("content").append(picture);
              return [...picture.querySelectorAll("text")].slice(2).map((text) => {
                const box = text.getBBox();
                return [text.textContent, box.x >= 0 && box.x + box.width <= picture.viewBox.baseVal.width];
              });
            }""",
            "a-release-with-quite-a-long-name 8fd12229",
        )
        assert len(words) == 3
        for text, within in words:
            assert text.startswith("a-rel")
            assert text.endswith(", ε 1.25")
            assert within, text


def test_areas_are_drawn_on_the_map(browser: Browser, harbour: Path) -> None:
    features = [
        {
            "type": "Feature",
            "properties": {"name": name},
            "geometry": {"type": "Polygon", "coordinates": [[[n, 0], [n + 1, 0], [n + 1, 1], [n, 0]]]},
        }
        for n, name in enumerate(WHARVES)
    ]
    (harbour / "places.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    (harbour / "plan.toml").write_text(f'{PLAN}\n[places]\npath = "places.geojson"\n', encoding="utf-8")
    with Opened.of(browser, harbour) as found:
        page = found.page
        go(page, "publish")
        areas = page.locator(".map path")
        assert sorted(areas.locator("title").all_text_contents()) == sorted(WHARVES)
        page.get_by_label("What would be published of your trips").check()
        page.wait_for_function("() => !studio.counting && !studio.busy")
        titles = areas.locator("title").all_text_contents()
        assert {title.partition(":")[0] for title in titles if "trips" in title} == {*WHARVES} - {"Manly"}
        page.locator("#places-table").click()
        assert "Garden Island" in page.inner_text(".map + details")
