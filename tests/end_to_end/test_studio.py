"""The studio as a process: who gets a byte of it, how it ends, and that it does what the commands do."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tapveil.plan.model import Plan
from tapveil.published.folder import Folder
from tapveil.verification.folder import verify_folder
from tests.support.example import PLAN, TRIPS, WHARVES, prepare
from tests.support.studio import PATIENCE, Page, RefusedError, Studio, environment_of, program, studio_of

NOTHING = (403, b"")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Studio, Page]]:
    """One studio for all who only knock."""
    folder = tmp_path_factory.mktemp("studio")
    prepare(folder)
    (folder.parent / "secret.txt").write_text("outside")
    with studio_of(folder) as studio:
        assert studio.entry.stat().st_mode & 0o777 == 0o600
        assert studio.entry.parent.stat().st_mode & 0o777 == 0o700
        page = Page.entered(studio)
        assert not studio.entry.parent.exists(), "the entry file is removed when it was used"
        yield studio, page


def answer(studio: Studio, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    status, found, got = studio.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    assert found["cache-control"] == "no-store"
    return status, got


# --- who gets a byte --------------------------------------------------------------------------------------------------


def test_without_the_key_there_is_nothing(shared: tuple[Studio, Page]) -> None:
    studio, page = shared
    for path in ("/", "/index.html", "/static/main.js", "/favicon.ico", "/enter", "/api/project", "/resume/", "/show/"):
        for method in ("GET", "POST"):
            assert answer(studio, method, path) == NOTHING
    for name in ("project", "plan", "preview", "events", "upload", "release", "unknown"):
        assert answer(studio, "POST", f"/api/{name}", b"{}", Content_Type="application/json") == NOTHING
        wrong = {**page.headers, "Authorization": f"Bearer {'x' * len(page.key)}"}
        assert studio.request("POST", f"/api/{name}", b"{}", wrong)[::2] == NOTHING
        in_address = {key: value for key, value in page.headers.items() if key != "Authorization"}
        assert studio.request("POST", f"/api/{name}?key={page.key}", b"{}", in_address)[::2] == NOTHING
        cookie = {**in_address, "Cookie": f"key={page.key}"}
        assert studio.request("POST", f"/api/{name}", b"{}", cookie)[::2] == NOTHING


@pytest.mark.parametrize(
    "changes",
    [
        {"Origin": "https://attacker.example.org", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://attacker.example.org"},
        {"Origin": "null"},
        {"Origin": "http://localhost:8000", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "localhost:{port}"},
        {"Host": "rebound.example.org:{port}", "Origin": "http://rebound.example.org:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": ""},
    ],
)
def test_even_with_the_key_nothing_comes_from_elsewhere(shared: tuple[Studio, Page], changes: dict[str, str]) -> None:
    studio, page = shared
    headers = {**page.headers, **{name: text.format(port=studio.port) for name, text in changes.items()}}
    assert studio.request("POST", "/api/project", b"{}", headers)[::2] == NOTHING
    assert page.call("project")["plan"] == "plan.toml"


def test_a_used_token_opens_nothing(shared: tuple[Studio, Page]) -> None:
    studio, _ = shared
    assert studio.enter()[::2] == NOTHING
    assert studio.enter("")[::2] == NOTHING
    assert studio.enter("x" * 100_000)[::2] == NOTHING
    assert studio.enter("a&token=b")[::2] == NOTHING
    assert studio.enter(studio.token, Origin="https://attacker.example.org")[::2] == NOTHING


def test_a_copied_address_opens_nothing_in_a_second_browser(shared: tuple[Studio, Page]) -> None:
    studio, page = shared
    assert answer(studio, "GET", f"/resume/{page.resume}", Sec_Fetch_Site="none") == NOTHING
    assert answer(studio, "GET", f"/resume/{page.resume}", Sec_Fetch_Site="none") == NOTHING
    assert page.call("project")["plan"] == "plan.toml", "the first browser goes on"
    wait_for(lambda: any(event["event"] == "resume" for event in page.events))


def test_no_request_is_answered_with_what_it_said(shared: tuple[Studio, Page]) -> None:
    studio, _ = shared
    for sent in (b"GET /<script> HTTP/1.1\r\nHost: x\r\n\r\n", b"\x00\x01\r\n\r\n", b"A" * 40_000):
        got = studio.raw(sent)
        assert not got or got.startswith(b"HTTP/1.1 403 Forbidden\r\n")
        assert got.endswith(b"\r\n\r\n") or not got
        assert b"script" not in got


def test_paths_lead_nowhere(shared: tuple[Studio, Page]) -> None:
    studio, page = shared
    for path in ("/api/../secret.txt", "/show/../../secret.txt", "/%2e%2e/secret.txt", "//secret.txt"):
        assert answer(studio, "GET", path) == NOTHING
    for given in ({"folder": "../"}, {"folder": "..", "page": "secret.txt"}, {"folder": "published/../.."}, {}):
        with pytest.raises(RefusedError) as refused:
            page.call("show", **given)
        assert b"outside" not in refused.value.body
    for name in ("../secret.txt", "%2e%2e%2fsecret.txt", "a%2fb", ".ssh", "%00"):
        with pytest.raises(RefusedError):
            page.upload(name, b"overwritten")
    for call in (("look/write", {"plan": "../p.toml", "trips": "trips.csv"}), ("plan/use", {"plan": "../x.toml"})):
        with pytest.raises(RefusedError):
            page.call(call[0], **call[1])
    with pytest.raises(RefusedError):
        page.call("dossier/write", output="../d.html")
    with pytest.raises(RefusedError):
        page.call("release", output="../published")


def test_many_slow_connections_do_not_lock_the_page_out(shared: tuple[Studio, Page]) -> None:
    studio, page = shared
    slow = [socket.create_connection(("127.0.0.1", studio.port)) for _ in range(40)]
    try:
        for each in slow:
            each.sendall(b"POST /api/project HTTP/1.1\r\nHost: ")
        assert page.call("project")["plan"] == "plan.toml"
    finally:
        for each in slow:
            each.close()


def test_it_listens_on_the_loopback_address_alone(shared: tuple[Studio, Page]) -> None:
    studio, _ = shared
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("this system does not tell")
    rows = [line.split() for path in (table, Path("/proc/net/tcp6")) for line in path.read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and row[1].endswith(f":{studio.port:04X}")]
    assert listening == [f"0100007F:{studio.port:04X}"]


def test_no_refusal_depends_on_the_trips(shared: tuple[Studio, Page]) -> None:
    studio, page = shared

    def refusals() -> list[bytes]:
        asked = ("GET /", "GET /show/x", "GET /resume/x", "POST /enter", "POST /api/preview", "POST /api/project")
        lines = f"HTTP/1.1\r\nHost: {studio.host}\r\nContent-Length: 0\r\n\r\n"
        return [studio.raw(f"{each} {lines}".encode()) for each in asked]

    before = refusals()
    assert page.done("count")["rows"] == TRIPS
    assert page.call("preview", edits=[])["confidential"]
    assert refusals() == before
    assert len(set(before)) == 1
    assert b"\r\nContent-Length: 0\r\n" in before[0]


def command_lines() -> bytes:
    """Those of all processes that may be seen."""
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found += path.read_bytes() + b"\n"
    return found


def test_no_secret_is_on_a_command_line(tmp_path: Path) -> None:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("this system does not tell")
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    browser.write_text(f"#!{sys.executable}\nimport sys\nopen({str(seen)!r}, 'w').write('\\n'.join(sys.argv[1:]))\n")
    browser.chmod(0o700)
    command = [*program(), "studio", str(tmp_path)]
    environment = {**os.environ, "BROWSER": f"{browser} %s", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            said = process.stderr.readline()
            lines = command_lines()
            (address,) = seen.read_text().splitlines()
            entry = Path(unquote(urlsplit(address).path))
            token = re.search(r'value="([^"]+)"', entry.read_text())
            assert token
            assert f"tapveil\0studio\0{tmp_path}".encode() in lines
            for told in (address, said, lines.decode(errors="replace")):
                assert token[1] not in told
            assert "Open this file" not in said, "the browser has it"
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    assert not entry.parent.exists()


def test_a_document_is_shown_once_and_cannot_reach_the_studio(shared: tuple[Studio, Page]) -> None:
    studio, page = shared
    address = page.call("dossier")["address"]
    status, headers, body = studio.request("GET", address, b"", {"Sec-Fetch-Site": "same-origin"})
    assert status == 200
    assert body.startswith(b"<!DOCTYPE html>")
    assert headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert studio.request("GET", address, b"", {"Sec-Fetch-Site": "same-origin"})[::2] == NOTHING


# --- how it ends ------------------------------------------------------------------------------------------------------


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it never comes"
        time.sleep(0.01)


def test_a_reload_comes_back_and_a_killed_browser_ends_it(tmp_path: Path) -> None:
    prepare(tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    with studio_of(tmp_path, TMPDIR=str(tmp_path)) as studio:
        first = Page.entered(studio)
        first.call("bye")
        status, _, html = studio.request("GET", f"/resume/{first.resume}", b"", {"Sec-Fetch-Site": "same-origin"})
        assert status == 200
        second = Page(studio, html)
        assert second.call("project")["plan"] == "plan.toml"
        with pytest.raises(RefusedError):
            first.call("project")
        first.close()
        second.done("count")
        second.close()
        assert studio.wait() == 0
        said = studio.said
    assert not re.search(r"\d", said), "no number of the trips in its log"
    assert {path.name for path in tmp_path.iterdir()} == before, "nothing is left behind"


def test_ctrl_c_ends_it_and_removes_the_entry_file(tmp_path: Path) -> None:
    with studio_of(tmp_path, TMPDIR=str(tmp_path)) as studio:
        assert studio.end() == 130
    assert not list(tmp_path.iterdir())


# --- the same as by commands ------------------------------------------------------------------------------------------


def tapveil(folder: Path, *arguments: str, moment: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command, environment = [*program(moment), *arguments], environment_of(moment)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def export(folder: Path) -> bytes:
    rows = ["card,start time,start station,end time,end station"]
    for n in range(TRIPS):
        day, hour, minute = f"2025-03-0{3 + n % 2}", 7 + n % 10, f"{n % 60:02d}"
        start, end = WHARVES[n * n % 7 % 5], WHARVES[(n * n + 1) % 7 % 5]
        rows.append(f"C{n % 500:05d},{day} {hour:02d}:{minute},{start},{day} {hour + 1:02d}:{minute},{end}")
    return "\n".join(rows).encode() + b"\n"


def test_the_whole_way_and_back_to_the_shell(tmp_path: Path) -> None:
    with studio_of(tmp_path) as studio:
        page = Page.entered(studio)
        assert page.call("project")["plan"] is None
        trips = page.upload("ferries 2025.csv", export(tmp_path))["path"]
        seen = page.call("look", trips=trips)
        assert seen["confidential"].startswith("CONFIDENTIAL")
        roles = {column["name"]: column for column in seen["columns"]}
        assert roles["card"]["distribution"]["bars"] == [], "no card is drawn"
        assert "C00001" not in json.dumps(seen)
        answers = {each["key"]: each["proposal"] for each in seen["questions"]} | {
            "days": "2025-03-03 to 2025-03-04",
            "unit": "trip",
            "epsilon": "2",
        }
        written = page.call("look/write", trips=trips, answers=answers)
        assert written["valid"], written["problems"]
        by_command = tapveil(tmp_path, "init", trips, "--yes", "-o", "other.toml")
        assert by_command.returncode == 0, by_command.stderr
        assert page.call("project")["plans"] == ["other.toml", "plan.toml"]

        # what is decided is in the plan, and comments stay
        edits = [
            {"at": ["coarsen", "time_minutes"], "value": 120},
            {"at": ["privacy", "looked_at_trips"], "value": True},
        ]
        page.call("plan/edit", version=written["version"], edits=edits)
        text = (tmp_path / "plan.toml").read_text()
        assert "time_minutes = 120" in text
        assert text.count("#") == written["text"].count("#")

        # by hand, in between
        (tmp_path / "plan.toml").write_text(text.replace('title = "', 'title = "By hand: '))
        with pytest.raises(RefusedError) as refused:
            page.call("plan/edit", version=written["version"], edits=edits)
        assert refused.value.status == 409
        assert page.call("plan")["model"]["title"].startswith("By hand: ")

        # previews are the counts of check, and are written nowhere
        counted = page.done("count")
        assert counted["rows"] == TRIPS
        preview = page.call("preview", edits=[])
        checked = page.done("check")
        for table, other in zip(preview["tables"], checked["data"]["tables"], strict=True):
            assert table["expected_trips"] == pytest.approx(other["expected_trips"])
        assert "Expected to be published" in checked["text"]
        wider = page.call("preview", edits=[{"at": ["coarsen", "time_minutes"], "value": 720}])
        assert not wider["recount"]
        assert page.call("preview", edits=[{"at": ["privacy", "unit"], "value": "x"}])["valid"] is False

        # say the accuracy, get the epsilon
        needed = page.done("need", need="on_time within 10 % where at least 200")
        promised = page.call("promise", edits=needed["edits"])
        assert promised["epsilon"] == needed["epsilon"]
        accuracy = next(each for each in promised["tables"] if each["name"] == "on_time")
        assert accuracy["error"] <= 20
        with pytest.raises(RefusedError):
            page.call("need", need="on_time accurately")

        # the ledger is the same for both
        with pytest.raises(RefusedError) as refused:
            page.call("release", output="published")
        assert refused.value.error["code"] == "no-ledger"
        assert page.call("ledger/start", epsilon="8", delta="1e-6")["next"] == "release"
        assert page.done("release", output="published")["folder"] == "published"
        assert page.done("verify", folder="published")["verified"]
        with pytest.raises(RefusedError) as refused:
            page.call("release", output="second")
        assert refused.value.error["code"] == "again"
        known = page.call("ledger")
        assert known["repeats"]
        (spent,) = [entry["epsilon"] for entry in known["entries"] if entry["kind"] == "release"]
        assert float(known["accounts"][0]["spent"]) == pytest.approx(float(spent), abs=0.01), "it is the only one"
        page.close()

    again = tapveil(tmp_path, "release", "plan.toml", "-o", "again", "--again")
    assert again.returncode == 0, again.stderr
    one, other = Folder(tmp_path / "published").manifest, Folder(tmp_path / "again").manifest
    same = {"tables", "guarantees", "unit", "partition", "bounds", "covers", "title", "people"}
    stated = [{key: each.as_json[key] for key in same & set(each.as_json)} for each in (one, other)]
    assert stated[0] == stated[1]
    with Ledger.open(tmp_path / "ledger.sqlite") as book:
        assert len([entry for entry in book.entries if isinstance(entry, Spend)]) == 2
    left = {path.name for path in tmp_path.iterdir()} - {"data", "plan.toml", "other.toml", "published", "again"}
    assert all(name.startswith("ledger.sqlite") for name in left), left


def test_with_an_officer_nothing_is_released_without_their_signature(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "ledger.sqlite").unlink()
    for each in tmp_path.glob("ledger.sqlite*"):
        each.unlink()
    officer = tmp_path.parent / "officer"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(officer)]
    subprocess.run(command, check=True)
    with studio_of(tmp_path) as studio:
        page = Page.entered(studio)
        started = page.call("ledger/start", epsilon="4", delta="1e-5", approval=f"{officer}.pub")
        assert started["next"] == "release"
        assert page.call("project")["approval"] == {"required": True}
        before = page.call("approval")
        assert (before["approved"], before["since"], before["changes"]) == (False, None, [])
        refused = page.finish(page.start("release", output="published", all_days=True))
        assert refused["error"]["kind"] == "Approval"
        assert refused["error"]["code"] == before["code"]
        assert not spends(tmp_path)
        signing = {"key": str(officer), "by": "A. Officer", "comment": "Looked at it."}
        approved = page.call("approve", **signing, seen=before["seen"])
        assert approved["approved"]
        assert approved["by"] == "A. Officer"
        page.call("plan/edit", version=page.call("plan")["version"], edits=[{"at": ["privacy", "epsilon"], "value": 2}])
        changed = page.call("approval")
        assert not changed["approved"]
        assert any("epsilon" in each for each in changed["changes"])
        for seen in (before["seen"], None):
            with pytest.raises(RefusedError, match="409"):
                page.call("approve", **signing, seen=seen)
        assert not page.call("approval")["approved"], "what took the place of what they saw is not signed"
        page.call("approve", **signing, seen=changed["seen"])
        page.done("release", output="published", all_days=True)
        page.close()
    assert len(spends(tmp_path)) == 1


def test_a_studio_can_require_the_signature_that_the_ledger_does_not(tmp_path: Path) -> None:
    prepare(tmp_path)
    officer = tmp_path.parent / "deputy"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(officer)], check=True)
    with studio_of(tmp_path, "--approval", f"{officer}.pub") as studio:
        page = Page.entered(studio)
        assert page.call("project")["approval"] == {"required": True}
        refused = page.finish(page.start("release", output="published", all_days=True))
        assert refused["error"]["code"] == "approval-missing"
        assert not spends(tmp_path)
        assert page.call("approve", key=str(officer), seen=page.call("approval")["seen"])["approved"]
        page.done("release", output="published", all_days=True)
        page.close()
    assert [spend.approval is None for spend in spends(tmp_path)] == [False]


# --- killed -----------------------------------------------------------------------------------------------------------

UNFINISHED = ".published.unfinished"
MOMENTS = {
    "begun": ("opens", "trips.csv"),
    "in its workspace": ("has", UNFINISHED),
    "a table drawn": ("has", f"{UNFINISHED}/*.sealed"),
    "the folder begun": ("has", f"{UNFINISHED}/folder"),
    "published": ("has", "published"),
}
PAID = {"begun": 0, "a table drawn": 1, "the folder begun": 1, "published": 1}


def from_either(moment: str) -> Iterator[Any]:
    """Begun in one and finished in one; from shell to shell is tested as far as it goes elsewhere."""
    for begin, finish in (("studio", "studio"), ("studio", "shell"), ("shell", "studio")):
        yield pytest.param(moment, begin, finish, marks=[] if moment == "a table drawn" else pytest.mark.slow)


@pytest.mark.parametrize(("moment", "begin", "finish"), [each for moment in MOMENTS for each in from_either(moment)])
def test_killed_in_a_release_it_is_finished_from_either_at_no_further_cost(
    moment: str, begin: str, finish: str, tmp_path: Path
) -> None:
    prepare(tmp_path)
    (tmp_path / "plan.toml").write_text(
        PLAN.replace("[source]\n", "[source]\nfirst_day = 2025-03-03\nlast_day = 2025-03-04\n")
    )
    if begin == "studio":
        studio = Studio(tmp_path, moment=("kill", *MOMENTS[moment]))
        page = Page.entered(studio)
        with suppress(OSError, HTTPException, ValueError):
            page.start("release", output="published")
        ended = studio.wait()
        page.close()
    else:
        ended = tapveil(
            tmp_path, "release", "plan.toml", "-o", "published", moment=("kill", *MOMENTS[moment])
        ).returncode
    is_there, is_unfinished = (tmp_path / "published").exists(), (tmp_path / UNFINISHED).exists()
    assert ended == -signal.SIGKILL, "the moment came, and was the end of it"
    assert (is_there, is_unfinished) == (moment == "published", moment != "begun")
    assert len(spends(tmp_path)) == PAID.get(moment, len(spends(tmp_path)))
    if is_there:
        assert not verify_folder(tmp_path / "published").findings

    if finish == "shell":
        resumed = tapveil(tmp_path, "release", "plan.toml", "-o", "published", *["--resume"] * is_unfinished)
        assert resumed.returncode == 0, resumed.stderr
    else:
        with studio_of(tmp_path) as other:
            page = Page.entered(other)
            assert [each["output"] for each in page.call("project")["unfinished"]] == ["published"] * is_unfinished
            page.done("release", output="published", resume=is_unfinished)
            page.close()
    assert not verify_folder(tmp_path / "published").findings
    assert len(spends(tmp_path)) == 1
    assert not (tmp_path / UNFINISHED).exists()


def spends(folder: Path) -> list[Spend]:
    with Ledger.open(Plan.read(folder / "plan.toml").ledger_path) as book:
        return [entry for entry in book.entries if isinstance(entry, Spend)]


def test_a_closed_browser_stops_a_count_and_lets_a_release_finish(tmp_path: Path) -> None:
    prepare(tmp_path)
    studio = Studio(tmp_path, moment=("wait", "opens", "trips.csv"))
    page = Page.entered(studio)
    page.start("count")
    wait_for(lambda: (tmp_path / "waits").exists())
    page.start("release", output="published", all_days=True)
    assert page.call("job", job=1)["state"] == "running", "it would go on for an hour"
    page.close()
    assert studio.wait() == 0
    assert not verify_folder(tmp_path / "published").findings
    assert len(spends(tmp_path)) == 1
