"""Two people: no release without the officer's signature over exactly this plan, and no way around it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from unittest import mock

import pytest

import tapveil
from tapveil import ApprovalError, LedgerError
from tapveil.internal.approval import appoint, request_of, standing_of
from tapveil.ledger.approval import Approval, read_approval
from tapveil.ledger.book import Ledger, _chained
from tapveil.ledger.entry import Approved, Officers, Spend
from tapveil.plan.model import Plan
from tapveil.published.folder import Folder
from tapveil.published.signature import APPROVAL
from tapveil.veil import workspace
from tests.conftest import declare, start_ledger
from tests.support.commands import command
from tests.support.officer import Office


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def release(office: Office, name: str = "published", **more: object) -> Folder:
    plan = Plan.read(office.path)
    return tapveil.release(plan, office.folder / name, approval=read_approval(office.path), **more)  # type: ignore[arg-type]


def refused(office: Office, code: str, **more: object) -> str:
    """That a release is refused, and leaves nothing: no entry, no folder, no unfinished release."""
    with pytest.raises(ApprovalError) as error:
        release(office, "refused", **more)
    with Ledger.open(office.ledger) as ledger:
        entries = ledger.entries
    assert (error.value.code, error.value.exit_code) == (code, 5)
    assert sorted(each.name for each in office.folder.iterdir() if "refused" in each.name) == []
    assert not [each for each in entries if isinstance(each, Spend) and each.approval is None]
    return str(error.value)


def test_an_approved_release_is_on_record_with_the_statement_that_was_signed(office: Office) -> None:
    approval = office.approve()
    folder = release(office)
    with Ledger.open(office.ledger) as ledger:
        entries, history = ledger.entries, ledger.history
        assert not list(ledger.findings())
    kinds = [entry.kind for entry in entries]
    assert kinds == ["start", "budget", "officers", "approval", "release", "published"]
    assert isinstance(entries[3], Approved)
    assert (entries[3].statement, entries[3].signature) == (approval.text, approval.signature)
    # The hash in privacy.json is of the release, and with it of the approval before it.
    assert folder.privacy["ledger"]["hash"] == history.hashes[4]
    assert not list(history.not_by([office.officer.public.line]))
    assert [each.code for each in history.not_by([office.agency.public.line])] == ["officers-other", "not-approved"]


def test_without_an_approval_nothing_is_spent(office: Office) -> None:
    said = refused(office, "approval-missing")
    assert "tapveil approve" in said
    assert office.officer.public.fingerprint in said
    plan = Plan.read(office.path)
    with pytest.raises(ApprovalError, match="no-ledger"):
        tapveil.release(plan, office.folder / "refused", in_ledger=False)


EDITS: dict[str, tuple[str, Callable[[Office], None]]] = {
    "a smaller noise": ("approval-other-plan", lambda office: office.edit("epsilon = 1", "epsilon = 2")),
    "another title": ("approval-other-plan", lambda office: office.edit("Harbour ferries", "Ferries")),
    "other days": ("approval-other-plan", lambda office: office.edit("2025-01-31", "2025-01-30")),
    "another data set": ("approval-other-plan", lambda office: office.edit("[privacy]", _LEDGER + "[privacy]")),
    "another lookup": ("approval-other-files", lambda office: office.lookup("quay,Quay\nheads,Heads\n")),
}
_LEDGER = '[ledger]\ndata_set = "ferries"\n'


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_changed_after_the_approval_is_refused(office: Office, edit: str) -> None:
    office.approve()
    code, change = EDITS[edit]
    change(office)
    if edit == "another data set":  # the publisher gives it a budget
        declare(Plan.read(office.path), "8", "1e-5")
    refused(office, code)


def test_how_a_plan_is_written_is_no_change(office: Office) -> None:
    office.approve()
    office.path.write_text("# a comment\n" + office.path.read_text(), encoding="utf-8")
    assert standing_of(Plan.read(office.path), office.path).refused is None


def test_whoever_has_another_key_approves_nothing(office: Office) -> None:
    approval = office.approve(key=office.agency)
    assert office.agency.public.fingerprint in refused(office, "approval-other-key")
    genuine = office.approve()
    for forged in (approval.signature, genuine.signature.replace("A", "B", 1), "", "signed, the officer"):
        (office.folder / "plan.approval.sig").write_text(forged)
        refused(office, "approval-signature")


def test_a_signature_of_a_folder_approves_nothing(office: Office) -> None:
    """The officer may sign dossiers with the same key: for another purpose."""
    approval = office.approve()
    (office.folder / "plan.approval.sig").write_text(office.officer.sign(approval.text.encode()))
    refused(office, "approval-signature")


def test_a_statement_that_was_edited_is_refused(office: Office) -> None:
    approval = office.approve()
    for old, new in (('"releases": 1', '"releases": 5000'), ('"again": false', '"again": true'), ("\n", "\n\n")):
        (office.folder / "plan.approval").write_text(approval.text.replace(old, new, 1))
        refused(office, "approval-signature" if old != "\n" else "approval-invalid")


def test_an_approval_is_for_one_release(office: Office) -> None:
    office.approve()
    release(office)
    refused(office, "approval-used", again=True)
    office.approve()
    refused(office, "approval-again", again=True)
    office.approve(again=True)
    release(office, "second", again=True)
    with Ledger.open(office.ledger) as ledger:
        assert not list(ledger.findings())
        assert len({entry.approval for entry in ledger.entries if isinstance(entry, Spend)}) == 2


def test_two_approvals_given_at_once_do_not_publish_the_same_days_twice(office: Office) -> None:
    """The officer saw neither release when they approved the other."""
    first = office.approve()
    office.edit("Harbour ferries", "Ferries")
    office.approve()
    release(office)
    office.edit("Ferries", "Harbour ferries")
    put(office, first)
    refused(office, "approval-again", again=True)


def put(office: Office, approval: Approval) -> None:
    (office.folder / "plan.approval").write_text(approval.text)
    (office.folder / "plan.approval.sig").write_text(approval.signature)


def test_days_and_the_ledger_are_those_of_the_approval(office: Office) -> None:
    office.approve(today=date(2024, 1, 1), until=date(2024, 2, 1))
    refused(office, "approval-expired")
    office.approve(today=date(2999, 1, 1))
    refused(office, "approval-early")
    approval = office.approve()
    lose_ledger(office)
    appoint(start_ledger(Plan.read(office.path), "8", "1e-5"), [office.officer.public.line])
    put(office, approval)
    refused(office, "approval-other-ledger")


def lose_ledger(office: Office) -> None:
    for file in office.folder.glob("ledger.sqlite*"):
        file.unlink()


def test_a_ledger_that_was_rolled_back_does_not_revive_an_approval(office: Office) -> None:
    for file in ("ledger.sqlite", "ledger.sqlite.head"):
        shutil.copy(office.folder / file, office.folder / f"old.{file}")
    declare(Plan.read(office.path), "7", "1e-5")
    office.approve()
    lose_ledger(office)
    for file in ("ledger.sqlite", "ledger.sqlite.head"):
        shutil.move(office.folder / f"old.{file}", office.folder / file)
    refused(office, "approval-other-history")


def test_the_officers_key_does_not_sign_the_folder(office: Office) -> None:
    office.approve()
    refused(office, "approval-same-key", key=office.officer)
    assert release(office, key=office.agency).path.exists()


def test_another_version_of_the_program_needs_another_approval(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.approve()
    monkeypatch.setattr("tapveil.veil.approval.__version__", "99.0.0")
    refused(office, "approval-other-version")


def test_the_command_may_require_what_the_ledger_does_not(tmp_path: Path) -> None:
    office = Office(tmp_path, required=False)
    officers = [office.officer.public.line]
    with pytest.raises(ApprovalError, match="next to the plan"):
        release(office, officers=officers)
    office.approve(key=office.agency)
    refused(office, "approval-other-key", officers=officers)
    office.approve()
    release(office, officers=officers)
    with Ledger.open(office.ledger) as ledger:
        assert not list(ledger.findings())
        assert [entry.kind for entry in ledger.entries][2:] == ["approval", "release", "published"]


class Killed(BaseException):
    pass


def killed(office: Office, at: str) -> None:
    """A release that ends before the ledger does this."""

    def stop(*_: object, **__: object) -> None:
        raise Killed

    with mock.patch.object(Ledger, at, stop), suppress(Killed):
        release(office)
    assert workspace.place_for(office.folder / "published").exists()


@pytest.mark.parametrize("before", ["spend", "bind"])
def test_a_release_that_began_with_an_approval_is_finished_without_asking_again(office: Office, before: str) -> None:
    office.approve()
    killed(office, before)
    for file in office.folder.glob("plan.approval*"):
        file.unlink()
    release(office, resume=True)
    with Ledger.open(office.ledger) as ledger:
        assert not list(ledger.findings())
        assert [entry.kind for entry in ledger.entries].count("release") == 1


def test_an_unfinished_release_with_another_approval_is_not_finished(office: Office) -> None:
    """Whoever edits the journal gets no further than whoever edits the files."""
    approval = office.approve()
    killed(office, "spend")
    journal = workspace.place_for(office.folder / "published") / workspace.JOURNAL
    data, own = json.loads(journal.read_text()), office.agency.sign(approval.text.encode(), APPROVAL)
    for edited in ({"approval": "", "approval_signature": ""}, {"approval_signature": own}):
        journal.write_text(json.dumps(data | edited))
        with pytest.raises(ApprovalError):
            release(office, resume=True)
    with Ledger.open(office.ledger) as ledger:
        assert "release" not in [entry.kind for entry in ledger.entries]


def test_of_two_releases_that_began_under_one_approval_one_is_made(office: Office) -> None:
    office.approve()
    killed(office, "spend")
    release(office, "other")
    with pytest.raises(ApprovalError, match=r"used up: 1 of 1.*was not charged.*remove") as error:
        release(office, resume=True)
    assert error.value.code == "approval-used"
    with Ledger.open(office.ledger) as ledger:
        assert [entry.kind for entry in ledger.entries].count("release") == 1


# --- who changes the officer ------------------------------------------------------------------------------------------


def test_only_the_officer_replaces_or_ends_it(office: Office) -> None:
    for keys in ([office.agency.public.line], []):
        for key in (None, office.agency):
            with pytest.raises(ApprovalError, match="only that key"):
                appoint(office.ledger, keys, key=key, reason="a new officer", by="the agency")
    appoint(office.ledger, [office.agency.public.line], key=office.officer, reason="handed over", by="A. Officer")
    office.approve()
    refused(office, "approval-other-key")
    appoint(office.ledger, [], key=office.agency, reason="no longer", by="B. Officer")
    release(office)
    with Ledger.open(office.ledger) as ledger:
        assert not list(ledger.findings())


def rewritten(path: Path, body: str) -> None:
    """Append an entry as a publisher could who knows SQLite and the format: hash and head are right."""
    with sqlite3.connect(path) as connection:
        number, before = connection.execute("SELECT number, hash FROM entries ORDER BY number DESC").fetchone()
        digest = _chained(number + 1, before, body)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (number + 1, body, digest))
    connection.close()
    path.with_name("ledger.sqlite.head").write_text(f"{number + 1} {digest}\n")


def test_an_entry_that_ends_it_without_a_signature_stops_every_release(office: Office) -> None:
    with Ledger.open(office.ledger) as ledger:
        history = ledger.history
    assert history.officers is not None
    end = Officers(on=date(2026, 1, 1), keys=(), replaces=history.officers[1], reason="none", by="nobody")
    rewritten(office.ledger, end.text("0" * 32))
    with pytest.raises(LedgerError, match="not signed by the officer"):
        release(office)
    with Ledger.open(office.ledger) as ledger:
        assert [each.code for each in ledger.findings()] == ["officers-changed"]


def test_a_signed_change_cannot_be_used_again(office: Office) -> None:
    """The officer ended it, and it was required again: the old signature is of the old entry."""
    appoint(office.ledger, [], key=office.officer, reason="a pause", by="A. Officer")
    with Ledger.open(office.ledger) as ledger:
        end = ledger.entries[-1]
    appoint(office.ledger, [office.officer.public.line])
    assert isinstance(end, Officers)
    with Ledger.open(office.ledger) as ledger, pytest.raises(ApprovalError):
        ledger.appoint(end)


def test_a_release_that_was_slipped_into_the_ledger_is_found(office: Office) -> None:
    office.approve()
    release(office)
    with Ledger.open(office.ledger) as ledger:
        spend = next(entry for entry in ledger.entries if isinstance(entry, Spend))
    for number, approval in enumerate((None, spend.approval, "f" * 32)):
        more = spend.model_copy(update={"id": f"{number:032x}", "approval": approval})
        rewritten(office.ledger, more.text("0" * 32))
    with Ledger.open(office.ledger) as ledger:
        found = list(ledger.findings())
    assert [each.code for each in found] == ["not-approved"] * 3
    assert any("Warning: entry 7" in line for line in command(office.folder, ["approve", "plan.toml"]).out.split("\n"))


def test_a_genuine_approval_that_was_copied_is_found(office: Office) -> None:
    """Its signature is valid wherever it is: so what it says of the ledger and of days is checked there as well."""
    first = office.approve()
    release(office)
    with Ledger.open(office.ledger) as ledger:
        spend, head = next(each for each in ledger.entries if isinstance(each, Spend)), ledger.history.hashes[-1]

    def slip_in(identity: str, approval: Approval) -> list[str]:
        """Codes of the releases that were not approved, with one more."""
        more = {"id": identity, "approval": approval.statement.id}
        written = Approved(on=spend.on, statement=approval.text, signature=approval.signature)
        for entry in (written, spend.model_copy(update=more)):
            rewritten(office.ledger, entry.text("0" * 32))
        with Ledger.open(office.ledger) as ledger:
            assert [each.code for each in ledger.findings()].count("not-approved")
            return [refused.reason for _, _, refused in ledger.history.unapproved()]

    def changed(**more: object) -> Approval:
        text = first.statement.model_copy(update=more).text
        return Approval(text, office.officer.sign(text.encode(), APPROVAL))

    codes = slip_in("8" * 32, changed(id="8" * 32, head=head))
    assert codes == ["approval-again"]
    codes = slip_in("9" * 32, changed(id="9" * 32, head="9" * 64, again=True))
    assert codes == ["approval-again", "approval-other-history"]
    lose_ledger(office)
    appoint(start_ledger(Plan.read(office.path), "8", "1e-5"), [office.officer.public.line])
    assert slip_in("7" * 32, first) == ["approval-other-ledger"]


# --- routines ---------------------------------------------------------------------------------------------------------


def test_a_routine_is_approved_ahead_for_some_releases(office: Office) -> None:
    routine = office.routine()
    for month in (1, 2, 3):
        office.trips(f"trips-2025-{month:02d}.csv", month)
    run = ["run", "routine.toml", "--today", "2025-04-01"]
    said = command(office.folder, run)
    assert (said.code, "needs the approval" in said.err) == (5, True)
    office.approve(routine, releases=2)
    said = command(office.folder, run)
    assert said.code == 5
    assert "2 of 2 releases" in said.err
    assert sorted(each.name for each in (office.folder / "published").iterdir()) == ["2025-01", "2025-02"]
    with Ledger.open(office.ledger) as ledger:
        assert [entry.kind for entry in ledger.entries].count("approval") == 1, "once, for both"
        assert not list(ledger.findings())
    office.approve(routine, releases=1)
    (office.folder / "month.toml").write_text((office.folder / "month.toml").read_text().replace("= 1\n", "= 2\n"))
    said = command(office.folder, run)
    assert (said.code, "not that of a period" in said.err) == (5, True)


def test_what_a_gap_could_hide_is_not_approved(office: Office) -> None:
    """An epsilon that grows with the months would be approved as that of January."""
    routine = office.routine()
    template = office.folder / "month.toml"
    honest = template.read_text()
    for old, new in (("epsilon = 1", "epsilon = 1.{month_number}"), ('"areas.csv"', '"areas-{month}.csv"')):
        shutil.copy(office.folder / "areas.csv", office.folder / "areas-2025-01.csv")
        template.write_text(honest.replace(old, new))
        with pytest.raises(tapveil.PlanError, match="cannot be approved ahead"):
            request_of(routine)


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_command_shows_what_changed_and_asks(office: Office) -> None:
    said = command(office.folder, ["approve", "plan.toml"])
    assert said.code == 0
    assert "This is the first approval" in said.out
    assert "Nothing was signed" in said.out
    said = command(office.folder, ["approve", "plan.toml", "--key", "officer"])
    assert (said.code, "--yes" in said.err) == (2, True)
    assert not (office.folder / "plan.approval").exists()
    said = command(office.folder, ["approve", "plan.toml", "--key", "agency", "--yes"])
    assert (said.code, (office.folder / "plan.approval").exists()) == (5, False)
    said = command(office.folder, ["check", "plan.toml", "--plan-only"])
    assert "needs an approval" in said.out
    said = command(office.folder, ["approve", "plan.toml", "--key", "officer", "--by", "A. Officer", "--yes"])
    assert said.code == 0
    assert "Approved on" in command(office.folder, ["check", "plan.toml", "--plan-only"]).out
    office.edit("epsilon = 1", "epsilon = 2")
    office.edit('title = "Harbour ferries"', 'title = "Harbour\\u001b[2K \\u202eferries"')
    office.lookup("quay,Quay\nheads,Heads\n")
    out = command(office.folder, ["approve", "plan.toml"]).out
    assert 'release.title is "Harbour\\u001b[2K \\u202eferries"' in out, "what a terminal would act upon is shown"
    assert 'the plan: privacy.epsilon is "2"; it was "1"' in out
    assert "public file: lookup of ferry is " in out
    assert "given on" in out


def test_a_program_reads_from_check_whether_a_plan_is_approved(office: Office) -> None:
    def said() -> dict[str, object]:
        found = command(office.folder, ["check", "plan.toml", "--plan-only", "--json"])
        return dict(json.loads(found.out)["approval"])

    assert (said()["required"], said()["approved"], said()["code"]) == (True, False, "approval-missing")
    office.approve()
    assert (said()["approved"], said()["code"], said()["by"]) == (True, None, "A. Officer")
    office.ledger.write_bytes(b"no ledger")
    assert (said()["approved"], said()["code"]) == (False, "ledger")


def test_the_ledger_says_who_must_approve(tmp_path: Path) -> None:
    office = Office(tmp_path, required=False)
    lose_ledger(office)
    start = ["ledger", "start", "plan.toml", "--epsilon", "8", "--delta", "1e-5", "--approval", "officer.pub"]
    assert "every release needs an approval" in command(tmp_path, start).err
    assert office.officer.public.fingerprint in command(tmp_path, ["ledger"]).out
    assert command(tmp_path, ["ledger", "verify", "--approval", "officer.pub"]).code == 0
    assert command(tmp_path, ["ledger", "verify", "--approval", "agency.pub"]).code == 1
    change = ["ledger", "approval", "agency.pub"]
    assert command(tmp_path, change).code == 2
    said = command(tmp_path, [*change, "--key", "officer", "--reason", "a new officer", "--by", "A. Officer"])
    assert said.code == 0
    assert "by A. Officer: a new officer" in command(tmp_path, ["ledger"]).out
