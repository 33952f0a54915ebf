"""The ledger as processes use it: spending at once, damaged files, rolled back, refused."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.feather as feather
import pytest

import tapveil
from tapveil.base.errors import BudgetError, EngineError, LedgerError, PlanError, TripDataError, UsageError
from tapveil.counting import counter
from tapveil.ledger import book
from tapveil.ledger.entry import ENTRY_VERSION, Budget, Spend, SpentTable
from tapveil.plan.model import Plan
from tapveil.privacy.accountant import Exposure
from tapveil.privacy.loss import Loss, certified
from tapveil.privacy.mechanisms import stated
from tapveil.published import writer
from tapveil.published.table import PublishedTable
from tapveil.veil import crossing, workspace
from tests.conftest import TODAY, declare, with_mounts, write_csv
from tests.end_to_end.test_crashes import PLAN, source  # noqa: F401 (a fixture)
from tests.support.commands import run

SCALE, THRESHOLD = Fraction(20), Fraction(600)
BUDGET = Loss(Fraction(2), Fraction(1, 10**6))


def spend(identity: str) -> Spend:
    table = SpentTable(name="on_time", mechanism="laplace", scale=SCALE, threshold=THRESHOLD)
    return Spend(
        on=TODAY,
        id=identity,
        data_set="trips",
        release="weekly",
        plan_sha256="0" * 64,
        unit="trip",
        neighbours="replace",
        cells=1,
        tables=(table,),
        first_day=None,
        last_day=None,
        days_by=None,
        modes=None,
        modes_by=None,
        cards_by=None,
    )


DECLARED = Budget(
    on=TODAY, data_set="trips", unit="trip", neighbours="replace", epsilon=BUDGET.epsilon, delta=BUDGET.delta
)


def spend_many(path: Path, ids: list[str]) -> int:
    granted = 0
    for identity in ids:
        try:
            with book.Ledger.open(path) as ledger:
                ledger.spend(spend(identity), again=True)
            granted += 1
        except BudgetError:
            pass
    return granted


def held_by_the_budget() -> int:
    """How often the release fits, by the accountant alone."""
    mechanism = stated("laplace", SCALE, THRESHOLD)
    return next(n for n in range(500) if not certified([mechanism] * (n + 1), BUDGET, Exposure("replace")))


def test_8_processes_spend_500_times_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    book.Ledger.start(path, TODAY)
    with book.Ledger.open(path) as ledger:
        ledger.declare(DECLARED)
    ids = [f"{number:032x}" for number in range(500)]
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        granted = pool.starmap(spend_many, [(path, ids[start::8]) for start in range(8)])
    expected = held_by_the_budget()
    assert 20 < expected < 200, "the budget must matter"
    assert sum(granted) == expected
    with book.Ledger.open(path) as ledger:
        assert not list(ledger.findings())
        written = [entry.id for entry in ledger.entries if isinstance(entry, Spend)]
    assert len(written) == len(set(written)) == expected


def test_the_same_release_is_paid_for_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    book.Ledger.start(path, TODAY)
    with book.Ledger.open(path) as ledger:
        ledger.declare(
            Budget(
                on=TODAY, data_set="trips", unit="trip", neighbours="replace", epsilon=Fraction(2), delta=Fraction(0)
            )
        )
        with pytest.raises(BudgetError):  # Laplace noise of a finite table has a delta
            ledger.spend(spend("a" * 32))
        ledger.declare(
            Budget(
                on=TODAY,
                data_set="trips",
                unit="trip",
                neighbours="replace",
                epsilon=Fraction(2),
                delta=BUDGET.delta,
                reason="a finite table",
                by="the test",
            )
        )
        heads = {ledger.spend(spend("a" * 32)) for _ in range(3)}
        assert len(heads) == 1
        with pytest.raises(LedgerError, match="to another plan"):
            ledger.spend(spend("a" * 32).model_copy(update={"release": "other"}))


def wait_and_spend(path: Path, wait: float, result: multiprocessing.Queue[str]) -> None:
    try:
        with book.Ledger.open(path, wait=wait) as ledger:
            ledger.spend(spend("b" * 32))
        result.put("spent")
    except LedgerError as error:
        result.put(str(error))


@pytest.mark.parametrize(("wait", "ending"), [(30.0, "spent"), (0.2, "another process is using the ledger")])
def test_a_second_process_waits_or_is_refused_cleanly(tmp_path: Path, wait: float, ending: str) -> None:
    path = tmp_path / "ledger.sqlite"
    book.Ledger.start(path, TODAY)
    with book.Ledger.open(path) as ledger:
        ledger.declare(DECLARED)
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[str] = context.Queue()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    other = context.Process(target=wait_and_spend, args=(path, wait, results))
    other.start()
    if wait < 1:
        assert ending in results.get(timeout=120)
    else:
        other.join(3)
        assert other.is_alive(), "it waits"
    holder.execute("ROLLBACK")
    if wait >= 1:
        assert results.get(timeout=120) == ending
    other.join()


# --- what stops a release before noise -------------------------------------------------------------------------------


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def corrupted(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:] = bytes(255 - byte for byte in data[100:])
    path.write_bytes(data)


def changed(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER entries_stay")
        connection.execute('UPDATE entries SET body = replace(body, \'"epsilon":"4"\', \'"epsilon":"9"\')')
    connection.close()


def last_removed(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER entries_last")
        connection.execute("DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)")
    connection.close()


def first_removed(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER entries_last")
        connection.execute("DELETE FROM entries WHERE number = 1")
    connection.close()


def of_a_newer_version(path: Path) -> None:
    with book.Ledger.open(path) as ledger:
        rows = ledger._rows()
        body = json.dumps({"version": ENTRY_VERSION + 1, "kind": "promise"})
        digest = book._chained(len(rows) + 1, rows[-1][2], body)
        ledger._connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (len(rows) + 1, body, digest))


FAULTS = {
    "missing": (Path.unlink, "there is no ledger"),
    "head missing": (lambda path: book._head_path(path).unlink(), "head file is missing"),
    "empty": (lambda path: path.write_bytes(b""), "is not a ledger"),
    "another file": (lambda path: path.write_text("ledger\n" * 1000), "not a ledger"),
    "truncated": (truncated, "damaged"),
    "corrupt": (corrupted, "damaged|is not a ledger|cannot be used"),
    "changed": (changed, "entry 2 of the ledger was changed"),
    "last removed": (last_removed, "rolled back"),
    "first removed": (first_removed, "entry 1 of the ledger is missing"),
    "newer": (of_a_newer_version, f"has version {ENTRY_VERSION + 1}"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_ledger_that_cannot_be_trusted_stops_the_release_before_noise(
    fault: str,
    source: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan.read(source / "plan.toml")
    damage, words = FAULTS[fault]
    damage(plan.ledger_path)
    monkeypatch.setattr(crossing, "draw", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(LedgerError, match=words):
        tapveil.release(plan, source / "published")
    assert not (source / "published").exists()
    assert not list(source.glob(".published*"))


def test_a_full_or_read_only_disk_of_the_ledger_stops_the_release(source: Path) -> None:  # noqa: F811
    """A real file system of 64 kB in a mount namespace of its own: filled up, then read-only, then well again."""
    release = f"{sys.executable} -m tapveil release --all-days plan.toml -o"
    script = f"""
        mount -t tmpfs -o size=64k tmpfs disk && {{
            cp ledger.sqlite ledger.sqlite.head disk/
            cat /dev/zero > disk/fill 2>/dev/null
            {release} full; echo "code $?"
            rm disk/fill; mount -o remount,ro disk
            {release} fixed; echo "code $?"
            mount -o remount,rw,size=1m disk; rm -rf .full.unfinished
            {release} well > /dev/null; echo "code $?"; ls
        }}"""
    (source / "disk").mkdir()
    (source / "plan.toml").write_text(PLAN + '[ledger]\npath = "disk/ledger.sqlite"\n')
    done = with_mounts(script, source)
    shown = done.stdout.splitlines()
    assert [line for line in shown if "code" in line] == ["code 5", "code 5", "code 0"], done.stdout + done.stderr
    assert not {"full", "fixed"} & set(shown)
    assert "well" in shown
    full, fixed = [line for line in done.stderr.splitlines() if line.startswith("tapveil: ")]
    assert "full" in full
    assert "read-only" in fixed or "cannot be opened" in fixed


def test_a_ledger_restored_with_its_head_is_known_by_what_was_published(source: Path) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    declare(plan, "8", "2e-6")
    for name in ("ledger.sqlite", "ledger.sqlite.head"):
        shutil.copy(source / name, source / f"old-{name}")
    tapveil.release(plan, source / "published")
    for name in ("ledger.sqlite", "ledger.sqlite.head"):
        shutil.copy(source / f"old-{name}", source / name)
    with pytest.raises(LedgerError, match="published names an entry that the ledger does not contain"):
        tapveil.release(plan, source / "again")
    for asked in (["published"], []):
        done = run("ledger", "verify", *asked, cwd=source)
        assert done.returncode == 1
        assert "ledger-rolled-back" in done.stdout
    shutil.rmtree(source / "published")
    assert run("ledger", "verify", cwd=source).returncode == 0, "alone, it cannot know"


# --- spending --------------------------------------------------------------------------------------------------------


def test_a_release_that_would_overspend_is_refused_and_leaves_nothing(source: Path) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    tapveil.release(plan, source / "published")
    done = run("release", "--all-days", "plan.toml", "-o", "again", cwd=source)
    assert done.returncode == 5
    assert "refused: the budget of `trips` (unit trip) is epsilon 4" in done.stderr
    assert not list(source.glob("*again*"))
    shown = run("ledger", "--json", cwd=source)
    report = json.loads(shown.stdout)
    assert [entry["kind"] for entry in report["entries"]] == ["start", "budget", "release", "published"]
    manifest = json.loads((source / "published" / "privacy.json").read_text())
    assert manifest["release_id"] == report["entries"][2]["id"]
    assert manifest["ledger"].keys() == {"ledger", "hash"}
    [budget] = report["budgets"]
    assert 3.5 < float(budget["spent_epsilon"]) <= 4


def test_other_days_do_not_add_up(source: Path) -> None:  # noqa: F811
    for number, days in enumerate(("2016-08-08", "2016-08-09", "2016-08-08")):
        text = PLAN.replace("[source.columns]", f"first_day = {days}\nlast_day = {days}\n[source.columns]")
        plan = Plan.parse(text.replace("[privacy]", "[privacy]\n"), base=source)
        if number == 1:  # a day that has no trips in the file
            with pytest.raises(TripDataError, match="no trips on the days"):
                tapveil.release(plan, source / f"out-{number}")
        elif number == 0:
            tapveil.release(plan, source / f"out-{number}")
        else:
            with pytest.raises(BudgetError):
                tapveil.release(plan, source / f"out-{number}")


def test_without_a_ledger_it_is_said_so(source: Path) -> None:  # noqa: F811
    (source / "ledger.sqlite").unlink()
    done = run("release", "--all-days", "plan.toml", "-o", "published", cwd=source)
    assert done.returncode == 5
    assert "tapveil ledger start PLAN --epsilon" in done.stderr
    assert run("release", "plan.toml", "-o", "published", "--no-ledger", cwd=source).returncode == 0
    assert "not recorded in a ledger" in run("verify", "published", cwd=source).stdout


def test_from_start_to_verify_on_the_command_line(source: Path) -> None:  # noqa: F811
    for name in ("ledger.sqlite", "ledger.sqlite.head"):
        (source / name).unlink()
    started = run("ledger", "start", "plan.toml", "--epsilon", "8", "--delta", "1/500000", cwd=source)
    assert started.returncode == 0, started.stderr
    assert run("ledger", "start", "plan.toml", "--epsilon", "8", "--delta", "0", cwd=source).returncode == 5
    assert run("ledger", "budget", "plan.toml", "--epsilon", "much", "--delta", "0", cwd=source).returncode == 2
    for name, asked in {"one": [], "two": ["--again"]}.items():
        done = run("release", "--all-days", "plan.toml", "-o", name, *asked, cwd=source)
        assert done.returncode == 0, done.stderr
    assert "Ledger ledger.sqlite: budget epsilon = 8" in done.stdout
    shown = run("ledger", cwd=source)
    assert "release crash" in shown.stdout
    assert "Remaining: epsilon" in shown.stdout
    whole = run("ledger", "verify", "one", "two", "--json", cwd=source)
    assert (whole.returncode, json.loads(whole.stdout)["findings"]) == (0, [])


# --- resuming --------------------------------------------------------------------------------------------------------


def cut_short(source: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:  # noqa: F811
    """A release that is paid for, with its first table sealed and its second not."""
    plan = Plan.read(source / "plan.toml")
    real, calls = crossing.draw, []

    def once(*args: Any) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(crossing, "draw", once)
    with pytest.raises(KeyboardInterrupt):
        tapveil.release(plan, source / "published")
    monkeypatch.undo()
    return plan


def test_a_release_cut_short_must_be_finished_as_it_was_begun(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    plan = cut_short(source, monkeypatch)
    assert (source / ".published.unfinished").stat().st_mode & 0o777 == 0o700
    with pytest.raises(UsageError, match="Finish it with --resume"):
        tapveil.release(plan, source / "published")
    other = Plan.parse(PLAN.replace('title = "Crash"', 'title = "Other"'), base=source)
    with pytest.raises(PlanError, match="restore the original, then resume"):
        tapveil.release(other, source / "published", resume=True)
    status = (source / "trips.csv").stat()
    os.utime(source / "trips.csv", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(TripDataError, match="have changed since the unfinished"):
        tapveil.release(plan, source / "published", resume=True)
    os.utime(source / "trips.csv", ns=(status.st_atime_ns, status.st_mtime_ns))
    done = run("release", "--all-days", "plan.toml", "-o", "published", "--resume", cwd=source)
    assert done.returncode == 0, done.stderr
    assert run("verify", "published", cwd=source).returncode == 0
    assert not list(source.glob(".published*"))


def test_what_is_sealed_is_not_counted_again(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    monkeypatch.setattr(writer, "write", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        tapveil.release(plan, source / "published")
    monkeypatch.undo()
    monkeypatch.setattr(counter, "count", lambda *_, **__: pytest.fail("counted again"))
    tapveil.release(plan, source / "published", resume=True)


def test_nothing_to_resume(source: Path) -> None:  # noqa: F811
    done = run("release", "--all-days", "plan.toml", "-o", "published", "--resume", cwd=source)
    assert done.returncode == 2
    assert "there is no unfinished release" in done.stderr


def test_only_one_process_works_on_an_unfinished_release(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    plan = cut_short(source, monkeypatch)
    with workspace.find(source / "published"):
        done = run("release", "--all-days", "plan.toml", "-o", "published", "--resume", cwd=source)
    assert done.returncode == 4
    assert "another process is releasing to this folder right now" in done.stderr
    with workspace.find(source / "published"):
        done = run("release", "--all-days", "plan.toml", "-o", "published", cwd=source)
    assert "another process is releasing to this folder right now" in done.stderr
    assert (
        "there is an unfinished release"
        in run("release", "--all-days", "plan.toml", "-o", "published", cwd=source).stderr
    )
    assert tapveil.release(plan, source / "published", resume=True).path.exists()


def test_the_day_of_an_entry_is_the_day_of_the_folder(source: Path) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    tapveil.release(plan, source / "published")
    with book.Ledger.open(plan.ledger_path) as ledger:
        entry = ledger.entries[-1]
    created = json.loads((source / "published" / "privacy.json").read_text())["created"]
    assert entry.on == date.fromisoformat(created)


# --- what an attacker, or a hurry, would try ----------------------------------------------------------------


def test_what_is_paid_for_once_appears_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """A copy of the unfinished release would draw the tables that are missing anew: two folders for one spend."""
    plan = cut_short(source, monkeypatch)
    shutil.copytree(source / ".published.unfinished", source / ".second.unfinished")
    tapveil.release(plan, source / "published", resume=True)
    with pytest.raises(LedgerError, match="can appear only once"):
        tapveil.release(plan, source / "second", resume=True)
    assert not (source / "second").exists()
    done = run("ledger", "verify", "published", cwd=source)
    assert "records the release of published" in done.stdout


def sealed_again(work: Path) -> None:
    """Another draw of the same table, well formed."""
    cells = feather.read_table(str(work / "on_time.sealed"))
    numbers = pc.add(cells.column("count"), 1)
    feather.write_feather(cells.set_column(cells.num_columns - 1, "count", numbers), str(work / "on_time.sealed"))


MEDDLED: dict[str, Callable[[Path], object]] = {
    "deleted": lambda work: (work / "on_time.sealed").unlink(),
    "drawn again": sealed_again,
    "cut off": lambda work: os.truncate(work / "on_time.sealed", 100),
    "emptied": lambda work: (work / "on_time.sealed").write_bytes(b""),
    "one that was not drawn": lambda work: shutil.copy(work / "on_time.sealed", work / "on_location.sealed"),
    "put aside, and another": lambda work: (
        shutil.copy(work / "on_time.sealed", work / ".on_time.sealed.aside"),
        sealed_again(work),
    ),
}


@pytest.mark.parametrize("meddle", MEDDLED.values(), ids=MEDDLED.keys())
def test_a_table_is_drawn_once(meddle: Callable[[Path], object], source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Who does not like a draw cannot have another for the same spend: `--resume` stops before anything is counted."""
    plan = cut_short(source, monkeypatch)
    work, kept = source / ".published.unfinished", source / "kept"
    shutil.copytree(work, kept)
    meddle(work)
    monkeypatch.setattr(counter, "count", lambda *_, **__: pytest.fail("counted"))
    with pytest.raises(EngineError, match="a table is drawn only once"):
        tapveil.release(plan, source / "published", resume=True)
    monkeypatch.undo()
    shutil.rmtree(work)
    kept.rename(work)
    before = feather.read_table(str(work / "on_time.sealed"))
    published = tapveil.release(plan, source / "published", resume=True).sheet("on_time")
    assert published.column("count").equals(before.column("count"))


def test_a_table_that_is_recorded_and_still_aside_is_not_drawn_again(
    source: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after a crash between the record and the rename."""
    plan = cut_short(source, monkeypatch)
    work = source / ".published.unfinished"
    (work / "on_time.sealed").rename(work / ".on_time.sealed.aside")
    before = feather.read_table(str(work / ".on_time.sealed.aside"))
    published = tapveil.release(plan, source / "published", resume=True).sheet("on_time")
    assert published.column("count").equals(before.column("count"))


def test_what_changes_after_it_was_drawn_is_not_published(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    real = workspace.Unfinished.seal

    def seal(self: workspace.Unfinished, table: PublishedTable) -> None:
        real(self, table)
        if table.name == "on_time":
            sealed_again(self.path)

    monkeypatch.setattr(workspace.Unfinished, "seal", seal)
    with pytest.raises(EngineError, match="a table is drawn only once"):
        tapveil.release(Plan.read(source / "plan.toml"), source / "published")


def test_trips_that_changed_under_the_same_name_size_and_time_are_found(
    source: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = cut_short(source, monkeypatch)
    trips, status = source / "trips.csv", (source / "trips.csv").stat()
    old = trips.read_bytes()
    trips.write_bytes(old.replace(b"stop 3", b"stop 2", 1))
    os.utime(trips, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(TripDataError, match="their counts differ"):
        tapveil.release(plan, source / "published", resume=True)
    trips.write_bytes(old)
    os.utime(trips, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert tapveil.release(plan, source / "published", resume=True).path.exists()


def test_the_journal_is_its_owners_and_of_one_version(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    cut_short(source, monkeypatch)
    journal = source / ".published.unfinished" / "journal.json"
    assert journal.stat().st_mode & 0o777 == 0o600
    data = json.loads(journal.read_text())
    assert (data["version"], list(data["sealed"])) == (2, ["on_time"])
    for version, whose in ((1, "tapveil 0.1.0"), (3, "a newer tapveil")):
        journal.write_text(json.dumps({**data, "version": version}))
        done = run("release", "--all-days", "plan.toml", "-o", "published", "--resume", cwd=source)
        assert (done.returncode, f"begun by {whose}; finish it with that version" in done.stderr) == (2, True)


def test_an_unfinished_release_is_paid_from_its_own_ledger(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    cut_short(source, monkeypatch)
    done = run("release", "--all-days", "plan.toml", "-o", "published", "--resume", "--no-ledger", cwd=source)
    assert done.returncode == 5
    assert "another ledger, or none" in done.stderr


def test_ledger_verify_knows_its_own_folders_only(source: Path) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    tapveil.release(plan, source / "published")
    tapveil.release(plan, source / "unpaid", in_ledger=False)
    for name, code in {"unpaid": "folder-not-in-ledger", "nowhere": "folder-not-in-ledger"}.items():
        done = run("ledger", "verify", name, cwd=source)
        assert (done.returncode, code in done.stdout) == (1, True), done.stdout
    (source / "published" / "SHA256SUMS").write_text("")
    assert "folder-differs" in run("ledger", "verify", "published", cwd=source).stdout
    (source / "ledger.sqlite").write_text("garbage")
    assert run("ledger", "verify", cwd=source).returncode == 1


def test_a_budget_that_can_never_hold_is_not_declared(source: Path) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    tapveil.release(plan, source / "published")
    card = PLAN.replace('unit = "trip"', 'unit = "card"\ntrips_per_card = 2\nwithout_card = "refuse"')
    (source / "card.toml").write_text(card)
    done = run("ledger", "budget", "card.toml", "--epsilon", "20", "--delta", "1e-4", cwd=source)
    assert done.returncode == 5
    assert "the release crash " in done.stderr
    too_much = run("ledger", "budget", "plan.toml", "--epsilon", "1e400", "--delta", "0", cwd=source)
    assert too_much.returncode == 2


def test_a_ledger_that_was_never_finished_can_be_started(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    (tmp_path / "ledger.sqlite.head").write_text(f"1 {'0' * 64}\n")
    book.Ledger.start(path, TODAY)
    path.unlink()
    (tmp_path / "ledger.sqlite.head").write_text(f"7 {'0' * 64}\n")
    with pytest.raises(LedgerError, match="is missing, but had 7 entries"):
        book.Ledger.start(path, TODAY)


def test_ordinary_surroundings_do_not_matter(source: Path) -> None:  # noqa: F811
    (source / "other").mkdir()
    (source / "other" / "privacy.json").write_text("[]")
    (source / "loop").symlink_to("loop")
    assert run("release", "--all-days", "plan.toml", "-o", "new/folder/published", cwd=source).returncode == 0
    assert run("verify", "new/folder/published", cwd=source).returncode == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('tap_on_location = "tap_on_location"', 'tap_on_location = "card_id"', "the column of card IDs"),
        ("[source.columns]", "first_day = 2016-08-08\n[source.columns]", "needs last_day"),
        (
            "[source.columns]",
            "first_day = 2016-08-08\nlast_day = 9999-12-31\n[source.columns]",
            "between 1900 and 2200",
        ),
        ("[source.columns]", "first_day = 2016-08-09\nlast_day = 2016-08-08\n[source.columns]", "before first_day"),
        (
            'mode = "mode"',
            'mode = { value = "bus" }',
            None,
        ),
    ],
)
def test_plans_that_cannot_be_meant(old: str, new: str, words: str | None, tmp_path: Path) -> None:
    text = PLAN.replace(old, new)
    if words is None:
        Plan.parse(text)
        text, words = text.replace("[source.columns]", 'modes = ["bus"]\n[source.columns]'), "is read from the files"
    with pytest.raises(UsageError, match=words):
        Plan.parse(text, base=tmp_path)


def test_a_card_column_that_is_not_there_is_an_error(source: Path) -> None:  # noqa: F811
    plan = Plan.parse(PLAN.replace('card = "card_id"', 'card = "cardnumber"'), base=source)
    with pytest.raises(TripDataError, match="no column `cardnumber`"):
        tapveil.release(plan, source / "published")


def test_rows_without_a_day_do_not_stop_a_week(source: Path) -> None:  # noqa: F811
    """Of many weeks in one folder one is released: what is broken in the others is a share of all."""
    rows = [("c", f"2016-08-{day:02d}", "bus", "08:00", "stop", "", "") for day in range(8, 22) for _ in range(500)]
    rows += [("c", "sometime", "bus", "08:00", "stop", "", "")] * 40
    write_csv(source / "trips.csv", rows)
    week = 'first_day = 2016-08-08\nlast_day = 2016-08-08\nmodes = ["bus"]\n[source.columns]'
    plan = Plan.parse(PLAN.replace("[source.columns]", week), base=source)
    release = tapveil.release(plan, source / "published")
    [total] = [sum(release.sheet("on_time").column("count").to_pylist())]
    assert abs(total - 500) < 60
    assert set(map(str, release.sheet("on_time").column("date").to_pylist())) == {"2016-08-08"}
    assert "2016-08-08 to 2016-08-08" in (release.path / "README.md").read_text()


def test_a_growing_ledger_is_not_taken_for_one_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    book.Ledger.start(path, TODAY)
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=declare_often, args=(path, 60))
    writer.start()
    looks = 0
    while writer.is_alive():
        with book.Ledger.open(path) as ledger:
            assert not list(ledger.findings())
        looks += 1
    assert looks > 10
    assert writer.exitcode == 0


def declare_often(path: Path, times: int) -> None:
    budget = Budget(
        on=TODAY, data_set="trips", unit="trip", neighbours="replace", epsilon=Fraction(2), delta=Fraction(0)
    )
    for _ in range(times):
        with book.Ledger.open(path) as ledger:
            ledger.declare(budget)


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (changed, "entry-changed"),
        (last_removed, "ledger-rolled-back"),
        (first_removed, "entry-missing"),
        (of_a_newer_version, "entry-unreadable"),
        (lambda path: book._head_path(path).unlink(), "head-missing"),
        (corrupted, "file-damaged"),
    ],
)
def test_each_damage_has_its_own_code(damage: Callable[[Path], None], code: str, source: Path) -> None:  # noqa: F811
    damage(source / "ledger.sqlite")
    done = run("ledger", "verify", "--json", cwd=source)
    assert done.returncode == 1
    assert code in {each["code"] for each in json.loads(done.stdout)["findings"]}, done.stdout


def test_a_ledger_without_its_rules_is_found(source: Path) -> None:  # noqa: F811
    with sqlite3.connect(source / "ledger.sqlite") as connection:
        connection.execute("DROP TRIGGER entries_stay")
    connection.close()
    assert "rules-changed" in run("ledger", "verify", cwd=source).stdout


@pytest.mark.parametrize(
    "sql", ["UPDATE entries SET body = '{}'", "DELETE FROM entries", "INSERT INTO entries VALUES (9, '', '')"]
)
def test_entries_are_only_ever_added(sql: str, source: Path) -> None:  # noqa: F811
    connection = sqlite3.connect(source / "ledger.sqlite")
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(sql)
    connection.close()
