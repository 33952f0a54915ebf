"""The ledger as a witness: what a folder gives away of it, what it notices, and what must be said to it in words."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tapveil
from tapveil.base.errors import BudgetError, LedgerError, TripDataError
from tapveil.counting import counter
from tapveil.ledger import book
from tapveil.ledger.entry import ENTRY_VERSION, Budget, Entry, Published, Spend, SpentTable, Start
from tapveil.ledger.witness import folder_of
from tapveil.ledger.words import NAMES_NO_DAYS
from tapveil.plan.model import Plan
from tapveil.published.manifest import Manifest
from tapveil.veil import release as releasing
from tapveil.verification.folder import verify_folder
from tests.conftest import TODAY, declare, start_ledger, write_csv
from tests.end_to_end.test_crashes import PLAN, source  # noqa: F401 (a fixture)
from tests.end_to_end.test_ledger import cut_short
from tests.end_to_end.test_ledger import spend as a_spend
from tests.property.test_units import listed_plan
from tests.support.commands import command
from tests.support.tampering import resum

GOLDEN = Path(__file__).parents[1] / "golden" / "ledger-1"
DAYS = [date(2026, 11, 16) + timedelta(days=number) for number in range(3)]
EPSILONS = [Fraction(number, 2) for number in range(2, 40)]
DELTAS = [Fraction(number, 10**7) for number in (1, 5, 10, 15, 20)]


def manifest_of(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "privacy.json").read_text(encoding="utf-8"))
    return manifest


# --- what a folder gives away -----------------------------------------------------------------------------------------


def body(entry: Entry, nonce: str | None) -> str:
    """An entry as it is written: with a nonce; or without one, as version 1 had it."""
    if nonce is not None:
        return entry.text(nonce)
    data = entry.model_dump(mode="json", exclude={"reason", "by", "totals", "approval"}) | {"version": 1}
    for table in data.get("tables", ()):
        del table["trips_per_cell"]
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def spend_by(manifest: dict[str, Any]) -> Spend:
    """The entry of a folder, of which only a few words are not in the folder: how a day is read, the data set."""
    shared = ("release", "plan_sha256", "unit", "neighbours", "chosen_from", "rows")
    return Spend(
        on=manifest["created"],
        id=manifest["release_id"],
        data_set="trips",
        cells=manifest["bounds"]["cells_per_table"],
        tables=tuple(
            SpentTable(
                name=table["name"],
                mechanism=manifest["mechanism"],
                scale=table["scale_exact"],
                threshold=table["threshold_exact"],
            )
            for table in manifest["tables"]
        ),
        **manifest["covers"],
        days_by="column trip_date" if manifest["covers"]["first_day"] else None,
        cards_by=None,
        modes_by=None,
        **{name: manifest[name] for name in shared},
    )


def budgets_found(
    manifest: dict[str, Any], nonces: Sequence[str | None], words: dict[str, Any] | None = None
) -> Iterator[Budget]:
    """Every likely budget, tried against the published hash: a ledger that was started, and then paid this release."""
    last = body(spend_by(manifest), nonces[2])
    for day, epsilon, delta in product(DAYS, EPSILONS, DELTAS):
        budget = Budget(
            on=day,
            data_set="trips",
            unit=manifest["unit"],
            neighbours=manifest["neighbours"],
            epsilon=epsilon,
            delta=delta,
            **words or {},
        )
        start = Start(on=day, ledger=manifest["ledger"]["ledger"])
        digest = book.NOTHING_BEFORE
        for number, text in enumerate((body(start, nonces[0]), body(budget, nonces[1]), last), 1):
            digest = book._chained(number, digest, text)
        if digest == manifest["ledger"]["hash"]:
            yield budget


def test_a_budget_is_found_by_trying_in_a_folder_of_format_1() -> None:
    """So that the next test means something."""
    [found] = budgets_found(manifest_of(GOLDEN / "first"), [None] * 3)
    assert (found.epsilon, found.delta) == (16, Fraction(3, 2_000_000))


def test_a_budget_cannot_be_found_by_trying(source: Path) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    manifest = manifest_of(tapveil.release(plan, source / "published").path)
    words = {"reason": "a test needs it", "by": "the test"}
    guesses: list[Sequence[str | None]] = [[None] * 3, ["0" * 32] * 3]
    for nonces in guesses:
        assert not list(budgets_found(manifest, nonces, words))
    with book.Ledger.open(plan.ledger_path) as ledger:
        secret = [json.loads(text)["nonce"] for _, text, _ in ledger._rows()[:3]]
    [found] = budgets_found(manifest, secret, words)  # nothing else is missing
    assert found.epsilon == 4


def test_what_was_written_without_random_bits_is_covered_by_the_next_entry(tmp_path: Path) -> None:
    """An old ledger: its budget could be found from an old folder, and cannot from a new one."""
    ledger = copied_golden(tmp_path)
    with book.Ledger.open(ledger) as opened:
        head = opened.spend(next_week(opened), again=True)
        *old, (number, text, digest) = opened._rows()
    assert head.hash == digest
    guessed = re.sub(r'"nonce":"[0-9a-f]{32}",', "", text)
    assert guessed != text
    assert book._chained(number, old[-1][2], guessed) != digest, "all but the nonce is known"


def test_every_entry_has_its_own_random_bits(source: Path) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    tapveil.release(plan, source / "published")
    with book.Ledger.open(plan.ledger_path) as ledger:
        nonces = [json.loads(text)["nonce"] for _, text, _ in ledger._rows()]
    assert len(set(nonces)) == len(nonces) == 4
    assert all(re.fullmatch(r"[0-9a-f]{32}", nonce) for nonce in nonces)


@pytest.fixture
def told(source: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:  # noqa: F811
    """What folders say of which the ledger has none, one and three releases that were stopped once they were paid."""
    plan, told = Plan.read(source / "plan.toml"), []
    for stopped in (0, 1, 3):
        for name in ("ledger.sqlite", "ledger.sqlite.head"):
            (source / name).unlink()
        start_ledger(plan, "100", "1e-3")
        with monkeypatch.context() as guard:
            guard.setattr(releasing, "refuse_leaks", stop)
            for number in range(stopped):
                with pytest.raises(TripDataError):
                    tapveil.release(plan, source / f"stopped-{number}", again=True)
        folder = tapveil.release(plan, source / "published", again=True).path
        told.append([(folder / name).read_text("utf-8") for name in ("privacy.json", "dp-registry.yaml", "README.md")])
        for path in (folder, *source.glob(".stopped-*")):
            shutil.rmtree(path)
    return told


def test_a_folder_does_not_tell_how_many_releases_were_stopped(told: list[list[str]]) -> None:
    """One trip may make the leak guard stop a release: but for random ids and hashes the same is said without it."""
    none, *some = [[re.sub(r"\b[0-9a-f]{32,64}\b", "#", text) for text in texts] for texts in told]
    assert all(texts == none for texts in some)


def stop(*_: object, **__: object) -> None:
    raise TripDataError("as the leak guard does")


def test_a_folder_that_has_the_number_of_its_entry_is_not_as_it_should_be(source: Path) -> None:  # noqa: F811
    published = tapveil.release(Plan.read(source / "plan.toml"), source / "published").path
    manifest = manifest_of(published)
    for number in (3, None):
        manifest["ledger"]["number"] = number
        (published / "privacy.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        resum(published)
        findings = verify_folder(published).findings
        assert [each.sentence for each in findings if each.code == "manifest-shape"] == [
            "is not a valid manifest; see the fields ledger.number"
        ]


def test_folders_of_version_1_have_it() -> None:
    manifest = manifest_of(GOLDEN / "first")
    read = Manifest.read(manifest).ledger
    assert read
    assert read.hash == manifest["ledger"]["hash"]
    for number in (0, "3", None, True):
        manifest["ledger"]["number"] = number
        with pytest.raises(ValueError, match="number"):
            Manifest.read(manifest)


# --- a ledger of format 1 ---------------------------------------------------------------------------------------------


def copied_golden(folder: Path) -> Path:
    for file in GOLDEN.glob("ledger.*"):
        (folder / file.name).write_bytes(file.read_bytes())
    return folder / "ledger.sqlite"


def next_week(ledger: book.Ledger) -> Spend:
    last = [entry for entry in ledger.entries if isinstance(entry, Spend)][-1]
    days = {"first_day": date(2025, 3, 10), "last_day": date(2025, 3, 16)}
    return last.model_copy(update={"id": "a" * 32, "version": 2, **days})


def test_a_ledger_of_format_1_is_read_and_accounted_for(tmp_path: Path) -> None:
    ledger = copied_golden(tmp_path)
    folders = [folder_of(tapveil.Folder(GOLDEN / name)) for name in ("first", "second")]
    with book.Ledger.open(ledger) as opened:
        assert [entry.version for entry in opened.entries] == [1] * 6
        assert not list(opened.findings(folders))
    report = json.loads(command(tmp_path, ["ledger", "--json"]).out)
    [budget] = report["budgets"]
    spent = {(place["first_day"], place["last_day"]): float(place["spent_epsilon"]) for place in budget["places"]}
    assert spent.keys() == {(day, day) for day in ("2025-03-03", "2025-03-04")}
    assert 14 < spent["2025-03-03", "2025-03-03"] <= 16, "both releases"
    assert 7.9 < spent["2025-03-04", "2025-03-04"] <= 8, "the second"


def test_a_ledger_of_format_1_goes_on(tmp_path: Path) -> None:
    ledger = copied_golden(tmp_path)
    with book.Ledger.open(ledger) as opened:
        paid = next_week(opened)
        head = opened.spend(paid)
        assert opened.spend(paid) == head, "paid for once"
        opened.bind(Published(on=TODAY, id=paid.id, checksums_sha256="0" * 64))
        before = next(entry for entry in opened.entries if isinstance(entry, Spend))
        assert opened.spend(before.model_copy(update={"version": 2})).hash == opened._rows()[2][2]
        with pytest.raises(BudgetError, match="allows more"):
            opened.declare(Budget(**{**dict(opened.entries[1]), "version": 2, "epsilon": Fraction(20)}))
        assert [entry.version for entry in opened.entries] == [1] * 6 + [ENTRY_VERSION] * 2
        assert not list(opened.findings([book.Witness("week", head, paid.id, "0" * 64)]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version":1', '"nonce":"00000000000000000000000000000000","version":1'),
        ('"version":1', '"version":2'),
        ('"version":1', '"nonce":"0","version":2'),
        ('"version":1', '"reason":"why","version":1'),
    ],
)
def test_an_entry_must_be_as_its_version_has_it(old: str, new: str, tmp_path: Path) -> None:
    ledger = copied_golden(tmp_path)
    with book.Ledger.open(ledger) as opened:
        [(_, text, _)] = opened._rows()[1:2]
        assert old in text
        rows = opened._rows()
        changed = book._chained(len(rows) + 1, rows[-1][2], text.replace(old, new))
        opened._connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (7, text.replace(old, new), changed))
        with pytest.raises(LedgerError, match="entry 7 of the ledger is invalid"):
            _ = opened.entries


# --- a ledger that was replaced ---------------------------------------------------------------------------------------


def replaced(folder: Path) -> str:
    """A release from one ledger, and another ledger started in its place; what is said then."""
    published = tapveil.release(Plan.read(folder / "plan.toml"), folder / "published").path
    for name in ("ledger.sqlite", "ledger.sqlite.head"):
        (folder / name).unlink()
    said = command(folder, ["ledger", "start", "plan.toml", "--epsilon", "4", "--delta", "1e-6"])
    assert said.code == 0
    other: str = manifest_of(published)["ledger"]["ledger"]
    assert f"published was published from another ledger, {other}" in said.err
    return other


def test_a_ledger_that_was_replaced_is_noticed(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    replaced(source)
    monkeypatch.setattr(counter, "count", lambda *_, **__: pytest.fail("trips were read"))
    (source / "elsewhere").mkdir()
    for out in ("second", "elsewhere/second"):
        said = command(source, ["release", "--all-days", "plan.toml", "-o", out])
        assert said.code == 5
        assert "published was published from another ledger" in said.err
        assert said.err.rstrip().endswith("Nothing was spent")
    checked = command(source, ["ledger", "verify"])
    assert checked.code == 1
    assert checked.out.startswith("ledger-replaced: published: ")


def test_another_ledger_is_accepted_in_words_that_stay(source: Path) -> None:  # noqa: F811
    other = replaced(source)
    assert command(source, ["ledger", "accept", other, "--reason", "burnt"]).code == 2
    for wrong, why in {
        ("no-id", "x"): "LEDGER_ID: must be the 32 digits of a ledger ID",
        ("00000000", "x"): "LEDGER_ID: must be the 32 digits of a ledger ID",
        (other[:7], "x"): "LEDGER_ID: must be the 32 digits of a ledger ID",
        (other, " "): "--reason: must be one line of text",
        (other, ""): "--reason: must not be empty",
    }.items():
        said = command(source, ["ledger", "accept", wrong[0], "--reason", wrong[1], "--by", "y"])
        assert (said.code, why in said.err) == (2, True)
    words = ["--reason", "The disk burnt; 4 of 8 are taken off.", "--by", "A. Officer"]
    said = command(source, ["ledger", "accept", other[:8], *words])
    assert (said.code, f"folders of the ledger {other} are accepted" in said.err) == (0, True)
    assert command(source, ["release", "--all-days", "plan.toml", "-o", "second"]).code == 0
    assert command(source, ["ledger", "verify"]).code == 0
    shown = command(source, ["ledger"]).out
    assert f"accepted ledger {other[:8]}" in shown
    assert "Entry 3, by A. Officer: The disk burnt; 4 of 8 are taken off." in shown
    asked = command(source, ["ledger", "verify", "published"])
    assert "folder-not-in-ledger" in asked.out, "accepted is not held"
    with book.Ledger.open(source / "ledger.sqlite") as ledger:
        assert f"was published from another ledger, {other}; this one is {ledger.id}" in asked.out
    assert "--ledger FILE" in asked.out


def test_verify_says_which_folders_it_looked_at(source: Path) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    alone = "ledger.sqlite is intact; published folders next to it that were checked: "
    assert command(source, ["ledger", "verify"]).out == f"{alone}none.\n"
    tapveil.release(plan, source / "published")
    tapveil.release(plan, source / "unpaid", in_ledger=False)
    assert command(source, ["ledger", "verify"]).out == f"{alone}published.\n"
    asked = command(source, ["ledger", "verify", "published", "unpaid", "nowhere"]).out
    assert "folder-not-in-ledger: unpaid: was published with --no-ledger" in asked
    assert "folder-not-in-ledger: nowhere: is not a published folder" in asked


def test_a_ledger_that_is_gone_is_missed_by_the_folders_next_to_it(source: Path) -> None:  # noqa: F811
    tapveil.release(Plan.read(source / "plan.toml"), source / "published")
    (source / "ledger.sqlite").unlink()
    checked = command(source, ["check", "plan.toml"]).out
    assert "but published folders next to it were recorded in one (published)" in checked
    assert (
        "restore the ledger from its backup. If it was moved, name it: [ledger] path in the plan, or --ledger"
        in checked
    )
    assert "ledger start" not in checked
    refused = command(source, ["release", "--all-days", "plan.toml", "-o", "second"]).err
    assert "If these trips were published before, restore the ledger from its backup" in refused


def test_check_looks_at_the_folders_next_to_the_ledger_as_a_release_does(source: Path) -> None:  # noqa: F811
    replaced(source)
    checked = command(source, ["check", "plan.toml", "--plan-only"]).out
    assert "would say: published was published from another ledger" in checked


def test_what_is_paid_for_is_finished_whatever_lies_beside_it(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    plan = cut_short(source, monkeypatch)
    other = source / "downloaded"
    other.mkdir()
    for name in ("privacy.json", "SHA256SUMS"):
        (other / name).write_bytes((GOLDEN / "first" / name).read_bytes())
    assert tapveil.release(plan, source / "published", resume=True).path.exists()
    with pytest.raises(LedgerError, match="downloaded was published from another ledger"):
        tapveil.release(plan, source / "second", again=True)


def test_folders_in_no_ledger_are_no_witnesses(source: Path) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    tapveil.release(plan, source / "unpaid", in_ledger=False)
    assert tapveil.release(plan, source / "published").path.exists()
    assert command(source, ["ledger", "verify"]).code == 0


def test_what_a_stranger_wrote_for_the_id_of_a_ledger_is_not_repeated(source: Path) -> None:  # noqa: F811
    """It would stand in a command that people are told to type."""
    other = source / "downloaded"
    other.mkdir()
    manifest = manifest_of(GOLDEN / "first")
    manifest["ledger"]["ledger"] = "x; rm -rf ~"
    (other / "privacy.json").write_text(json.dumps(manifest), encoding="utf-8")
    (other / "SHA256SUMS").write_text("", encoding="utf-8")
    assert folder_of(tapveil.Folder(other)).head is None
    assert "rm -rf" not in command(source, ["ledger", "verify", "downloaded"]).out


# --- a budget that is raised ------------------------------------------------------------------------------------------


def set_budget(folder: Path, epsilon: str, delta: str, *words: str, plan: str = "plan.toml") -> tuple[int, str]:
    said = command(folder, ["ledger", "budget", plan, "--epsilon", epsilon, "--delta", delta, *words])
    return said.code, said.err


@pytest.mark.parametrize(("epsilon", "delta"), [("4.5", "1e-6"), ("4", "2e-6"), ("3", "2e-6")])
def test_a_budget_is_raised_in_words_that_stay(epsilon: str, delta: str, source: Path) -> None:  # noqa: F811
    code, said = set_budget(source, epsilon, delta)
    assert code == 5
    assert "is epsilon 4, delta 1e-6, neighbours replace; the new one allows more" in said
    assert set_budget(source, epsilon, delta, "--reason", "more days")[0] == 2
    assert set_budget(source, epsilon, delta, "--reason", "more\ndays", "--by", "A. Officer")[0] == 2
    assert len(budgets(source)) == 1, "nothing was written"
    assert set_budget(source, epsilon, delta, "--reason", "Council of 3 May", "--by", "A. Officer")[0] == 0
    assert (budgets(source)[-1].reason, budgets(source)[-1].by) == ("Council of 3 May", "A. Officer")
    assert "Entry 3, by A. Officer: Council of 3 May" in command(source, ["ledger"]).out


def test_a_budget_is_lowered_or_set_for_the_first_time_without_a_word(source: Path) -> None:  # noqa: F811
    assert set_budget(source, "3", "1e-6")[0] == 0
    assert set_budget(source, "3", "1e-7")[0] == 0
    assert set_budget(source, "4", "1e-6")[0] == 5, "the one in force counts, not the largest ever"
    (source / "other.toml").write_text(PLAN + '[ledger]\ndata_set = "other"\n', encoding="utf-8")
    assert set_budget(source, "9", "1e-5", plan="other.toml")[0] == 0


def test_another_notion_of_neighbours_needs_words(source: Path) -> None:  # noqa: F811
    (source / "other.toml").write_text(PLAN.replace('"replace"', '"add-remove"'), encoding="utf-8")
    assert set_budget(source, "4", "1e-6", plan="other.toml")[0] == 5


def budgets(folder: Path) -> list[Budget]:
    with book.Ledger.open(folder / "ledger.sqlite") as ledger:
        return [entry for entry in ledger.entries if isinstance(entry, Budget)]


# --- days that were released before -----------------------------------------------------------------------------------


def covering(days: tuple[int, int] | None = None, modes: Iterable[str] | None = None, **more: str) -> Spend:
    first, last = (TODAY + timedelta(days=number) for number in days) if days else (None, None)
    update = {
        **{"first_day": first, "last_day": last, "days_by": "column day" if days else None},
        **{"modes": modes and tuple(modes), "modes_by": "column mode" if modes else None, **more},
    }
    return a_spend("a" * 32).model_copy(update=update)


@pytest.mark.parametrize(
    ("one", "two", "repeats"),
    [
        (covering(), covering(), True),
        (covering((0, 6)), covering(), True),
        (covering((0, 6)), covering((7, 13)), False),
        (covering((0, 6)), covering((6, 12)), True),
        (covering((0, 6)), covering((2, 3)), True),
        (covering((0, 6)), covering((7, 13), days_by="column other"), True),
        (covering(modes=["bus"]), covering(modes=["ferry"]), False),
        (covering(modes=["bus"]), covering(modes=["ferry", "bus"]), True),
        (covering(modes=["bus"]), covering(), True),
        (covering(modes=["bus"]), covering(modes=["ferry"], modes_by="column other"), True),
        (covering((0, 6), ["bus"]), covering((0, 6), ["ferry"]), False),
        (covering((0, 6), ["bus"]), covering((7, 13), ["bus"]), False),
        (covering(), covering(data_set="other"), False),
        (covering((0, 6)), covering((7, 13), chosen_from="b" * 32), False),
        (covering((0, 6), unit="card"), covering((7, 13), unit="card"), False),
    ],
)
def test_a_release_repeats_another_of_some_of_its_days_and_modes(one: Spend, two: Spend, repeats: bool) -> None:
    assert one.repeats(two) == two.repeats(one) == repeats


def test_days_that_were_released_before_take_again(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    plan = Plan.read(source / "plan.toml")
    declare(plan, "100", "1e-4")
    tapveil.release(plan, source / "published")
    with monkeypatch.context() as counting:
        counting.setattr(counter, "count", lambda *_, **__: pytest.fail("trips were read"))
        with pytest.raises(BudgetError) as refused:
            tapveil.release(plan, source / "second")
    release = manifest_of(source / "published")
    assert f"the release crash {release['release_id'][:8]}, published on {release['created']}," in str(refused.value)
    assert "add --again" in str(refused.value)
    assert len(spends(source)) == 1
    checked = command(source, ["check", "plan.toml"]).out
    assert "were released before (crash" in checked
    assert checked.rstrip().endswith("Next: tapveil release plan.toml -o published --all-days --again")
    assert command(source, ["release", "--all-days", "plan.toml", "-o", "second", "--again"]).code == 0
    assert len(spends(source)) == 2


def test_a_release_that_was_given_up_is_named_as_such(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    plan = cut_short(source, monkeypatch)
    declare(plan, "100", "1e-4")
    said = command(source, ["release", "--all-days", "plan.toml", "-o", "second"])
    assert said.code == 5
    assert "and not finished, covers some of the same days" in said.err
    assert "--resume` with its plan and its folder" in said.err
    assert tapveil.release(plan, source / "published", resume=True).path.exists(), "what is resumed asks nothing"


def test_the_ledger_itself_refuses_what_repeats(source: Path) -> None:  # noqa: F811
    """Two processes that ask at the same time: the second to pay is refused."""
    declare(Plan.read(source / "plan.toml"), "100", "1e-4")
    with book.Ledger.open(source / "ledger.sqlite") as ledger:
        ledger.refuse(a_spend("b" * 32))
        ledger.spend(a_spend("a" * 32))
        with pytest.raises(BudgetError, match="add --again"):
            ledger.spend(a_spend("b" * 32))
        ledger.spend(a_spend("b" * 32), again=True)


def spends(folder: Path) -> list[Spend]:
    with book.Ledger.open(folder / "ledger.sqlite") as ledger:
        return [entry for entry in ledger.entries if isinstance(entry, Spend)]


# --- tables that will be empty ----------------------------------------------------------------------------------------

SPARSE = PLAN.replace('mode = "mode"', 'mode = "mode"\ntap_off_location = "tap_off_location"') + (
    '[[table]]\nname = "sparse"\ncolumns = ["tap_on_time", "tap_off_location"]\n'
)


def with_a_sparse_table(folder: Path) -> Plan:
    """300 trips to 300 places: one of the tables has nothing but ones."""
    rows = [("c", "2016-08-08", "bus", "08:00", "stop", "09:00", f"place {number}") for number in range(300)]
    write_csv(folder / "trips.csv", rows)
    return Plan.parse(SPARSE, base=folder)


def test_empty_tables_are_named_before_the_spend(
    source: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan, real, heard = with_a_sparse_table(source), book.Ledger.spend, []

    def spend(ledger: book.Ledger, entry: Spend, **more: Any) -> book.Head:
        heard.append(capsys.readouterr().err)
        return real(ledger, entry, **more)

    monkeypatch.setattr(book.Ledger, "spend", spend)
    published = tapveil.release(plan, source / "published")
    assert heard == [f"tapveil: {releasing.EMPTY_TABLES.format('sparse')}\n"]
    assert published.sheet("on_time").num_rows == 1


def test_a_release_goes_on_when_nobody_hears_of_empty_tables(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    with (source / "closed").open("w") as closed:
        pass
    monkeypatch.setattr(sys, "stderr", closed)
    assert tapveil.release(with_a_sparse_table(source), source / "published").path.exists()


def test_tables_that_will_have_cells_are_not_named(
    source: Path,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also not a dictionary of which the trips have next to nothing: noise fills it."""
    tapveil.release(Plan.read(source / "plan.toml"), source / "published")
    folder = tmp_path / "listed"
    folder.mkdir()
    tapveil.release(listed_plan(folder), folder / "published", in_ledger=False)
    assert capsys.readouterr().err == ""


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_the_ledger_is_shown_by_what_its_columns_are(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    plan = cut_short(source, monkeypatch)
    shown = command(source, ["ledger"]).out.splitlines()
    assert shown[0].split()[-2:] == ["covers", "status"]
    assert shown[3].endswith("all days, all modes  not finished")
    tapveil.release(plan, source / "published", resume=True)
    shown = command(source, ["ledger"]).out.splitlines()
    assert shown[3].endswith("all days, all modes  published")
    assert any(line.startswith("Most spent on any day and mode: epsilon ") for line in shown)
    assert re.search(
        r"Remaining: epsilon [0-9.]+ at this delta, or delta [1-9][0-9.]*e-\d+ at this epsilon[.]", "\n".join(shown)
    )
    assert any(line.endswith(" (no days are named, which means all days).") for line in shown)


def shown_for(folder: Path, *spends: Spend) -> str:
    """What is shown of a ledger with these releases."""
    declare(Plan.read(folder / "plan.toml"), "100", "1e-4")
    with book.Ledger.open(folder / "ledger.sqlite") as ledger:
        for number, each in enumerate(spends):
            ledger.spend(each.model_copy(update={"id": f"{number:032x}"}), again=True)
    return command(folder, ["ledger"]).out


def test_what_no_row_has_is_explained(source: Path) -> None:  # noqa: F811
    """A trip of one week that is exchanged for one of another costs more than either week."""
    noise = {"tables": (SpentTable(name="t", mechanism="gaussian", scale=Fraction(2), threshold=Fraction(20)),)}
    weeks = covering((0, 6)).model_copy(update=noise), covering((7, 13), chosen_from="0" * 32).model_copy(update=noise)
    shown = shown_for(source, *weeks)
    most = re.search(r"Most spent: epsilon ([0-9.]+) ", shown)
    rows = re.findall(r"(?m)^20.* all +1 +([0-9.]+)$", shown)
    assert most
    assert rows, "both weeks, in one row or two"
    assert float(most[1]) > max(map(float, rows))
    assert "No row below has all of it: any one trip replaced by any other may change two rows" in shown
    assert "Losses are added where noise was chosen from another release (chosen_from)." in shown
    assert "Remaining: epsilon " in shown
    assert ", or delta" not in shown, "it is divided among generations"


def test_taps_that_count_for_every_day_are_explained(source: Path) -> None:  # noqa: F811
    shown = shown_for(source, covering((0, 6), rows="taps"))
    assert 'Counts for every day: weekly 00000000 (shape = "taps": a trip may tap on on one day and off' in shown


def test_a_plan_that_names_no_days_is_told_what_that_means(source: Path) -> None:  # noqa: F811
    """Where it is checked, where the ledger is started, and where it is released; and not where it names them."""
    for name in ("ledger.sqlite", "ledger.sqlite.head"):
        (source / name).unlink()
    days = PLAN.replace("[source.columns]", "first_day = 2016-08-08\nlast_day = 2016-08-08\n[source.columns]")
    (source / "days.toml").write_text(days, encoding="utf-8")
    start = ["--epsilon", "100", "--delta", "1e-4"]
    for plan, told in {"days.toml": False, "plan.toml": True}.items():
        (source / plan).write_text(f'{(source / plan).read_text()}[ledger]\npath = "{plan}.sqlite"\n', encoding="utf-8")
        checked = command(source, ["check", plan]).out.partition("Summary")[2]
        assert (NAMES_NO_DAYS in checked) == told
        assert (NAMES_NO_DAYS in command(source, ["ledger", "start", plan, *start]).err) == told
        (source / plan[:4]).mkdir()
        released = command(source, ["release", "--all-days", plan, "-o", f"{plan[:4]}/published"])
        assert released.code == 0, released.err
        assert (NAMES_NO_DAYS in " ".join(released.out.split())) == told
        shutil.rmtree(source / plan[:4])
