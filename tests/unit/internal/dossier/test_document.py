"""The dossier as a file: answers survive, changes are said first, nothing in it runs, and it never claims a law."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

import tapveil
from tapveil._version import __version__
from tapveil.internal.dossier.case import Case, read_case
from tapveil.internal.dossier.document import Dossier
from tapveil.internal.dossier.questions import beside, read_kept, write_kept
from tapveil.plan.model import Plan, preset_text
from tapveil.published.folder import Folder
from tapveil.published.manifest import TotalClaim
from tapveil.published.signature import read_signature
from tests.conftest import TODAY, levelled_plan, start_ledger, write_csv
from tests.support.commands import run
from tests.support.officer import Office
from tests.unit.internal.dossier.test_figures import AUDIT, CHECKED, HASHED, INTRUDER, TEST, UNBOUNDED
from tests.unit.published.test_signature import make_key, needs_openssh

GOLDEN = Path(__file__).parents[3] / "golden"
PARTS = ["The promise", "NIST SP 800-226", "The law", "The intruder test", "The ledger", "Choices", "Open questions"]
A4_WIDE = 672
"""Pixels between the margins of a printed page."""


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan with a ledger, and no trips at all: whatever reads one fails."""
    folder = tmp_path_factory.mktemp("dossier")
    start_ledger(levelled_plan(folder), "16", "1e-5")
    (folder / "trips.csv").unlink()
    return folder


def case_of(name: str, **changes: object) -> Case:
    folder = Folder(GOLDEN / name)
    return Case(folder.manifest.model_copy(update=changes), folder=folder, on=TODAY)


def test_a_dossier_of_a_plan_is_written_where_there_are_no_trips(planned: Path) -> None:
    said = run("dossier", "plan.toml", "-o", "one.html", cwd=planned)
    assert said.returncode == 0, said.stderr
    text = (planned / "one.html").read_text(encoding="utf-8")
    assert re.findall(r"<h1[^>]*>\d\. (.+?)</h1>", text) == PARTS
    assert "before the release" in text
    assert "confidential" in said.stderr
    assert "<strong>Confidential.</strong>" in text
    assert (planned / "one.html").stat().st_mode & 0o077 == 0
    assert "not been run" in text


def test_a_promise_given_exact_totals_says_so_before_and_after_a_release(tmp_path: Path) -> None:
    levelled_plan(tmp_path)
    plan = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    total = '\n[[public.total]]\ntrips = 12345\nof = { mode = "bus" }\nsource = "Annual report"\ncalibrate = false\n'
    (tmp_path / "plan.toml").write_text(plan + total, encoding="utf-8")
    before = Dossier(read_case(tmp_path / "plan.toml", today=TODAY))
    claim = TotalClaim(trips=12345, of={"mode": "bus"}, source="Annual report", calibrated=False)
    after = Dossier(case_of("3/paper", totals=(claim,)))
    for made in (before, after):
        assert "The guarantee holds given that they are known" in made.markdown
        assert "Annual report" in made.markdown
        assert "nothing is promised about a trip that such a total counts" in made.markdown
    assert "Given exact totals" not in Dossier(case_of("3/paper")).markdown


def test_given_exact_totals_nothing_is_said_of_what_is_added_or_removed() -> None:
    """The word, the verdicts of people, beliefs, pictures: all of what is exchanged. The folder has estimates."""
    dossier = Dossier(case_of("3f/calendar-totals"))
    plain = Dossier(case_of("3f/calendar-totals", totals=None))
    assert list(dossier.pictures) == ["replace"]
    assert list(plain.pictures) == ["replace", "add-remove"]
    shown = {key for key in dossier.figures if "add-remove" in key}
    assert not shown
    assert dossier.figures["promise.replace.epsilon"].text == plain.figures["promise.replace.epsilon"].text
    text = dossier.markdown
    assert "whether it was there" not in text.replace('("whether it was there")', "")
    assert "there or not" not in text
    assert text.count("published counts, public lists and public totals alone") == 2
    assert "if it is added or removed" not in text
    assert "was not given the exact totals" in Dossier(replace(dossier.case, intruder=INTRUDER)).markdown
    assert "public totals" not in plain.markdown
    person, exchanged = dossier.case.people[0], dossier.case.meant(dossier.case.people[0])
    assert exchanged.of_100 != person.believed
    assert exchanged.verdict == "none"


def test_a_person_alone_in_a_cell_with_many_trips_is_shown_as_such() -> None:
    """What is said of one trip does not hold for several: they reach the threshold."""
    text, case = Dossier(case_of("3/paper")).markdown, case_of("3/paper")
    assert "A cell may have a single trip in it and nobody else." in text
    many = [max(each.publish_probability(k) for each in case.mechanisms.values()) for k in (2, 5, 10, 20)]
    assert many == sorted(many)
    said = re.search(
        r"Several trips of one person alone in one cell, at most: 2: (.+) %; 5: (.+) %; 10: (.+) %; 20: (.+) %\.", text
    )
    assert said
    for shown, exact in zip(said.groups(), many, strict=True):
        assert 100 * exact <= Decimal(shown) <= 103 * exact
    cards = Dossier(case_of("3/cards")).markdown
    assert "A cell may have a single card in it" in cards
    assert "alone in one cell" not in cards, "a card counts once in a cell"


def test_one_is_not_said_as_several(planned: Path) -> None:
    claim = TotalClaim(trips=12345, of={"mode": "bus"}, source="Annual report", calibrated=False)
    cards = Dossier(case_of("3/cards", totals=(claim,)))
    for made in (cards, Dossier(read_case(planned / "plan.toml", today=TODAY))):
        assert not re.search(
            r"(?<![\d.,])1 (releases|entries|cells|trips|days|exact totals|questions)\b", made.markdown
        )
    assert "1 exact total of these trips" in cards.markdown
    assert "at most 1 trip can count" in cards.markdown
    assert "at most 2 trips can count" in cards.markdown


def test_answers_survive_and_the_next_dossier_begins_with_what_changed(tmp_path: Path) -> None:
    path, case = tmp_path / "paper.dossier.toml", case_of("3/paper")
    first = Dossier(case, read_kept(path))
    assert first.figures["questions.open"].value == len(first.asked)
    write_kept(path, case, first.figures)
    text = path.read_text(encoding="utf-8").replace(
        'answer = ""\nby = ""\non = ""',
        'answer = "Because <b>of</b> | the *purpose*."\nby = "A. Officer"\non = "2026"',
        1,
    )
    path.write_text("# a remark of ours\n" + text, encoding="utf-8")
    second = Dossier(case_of("3/gaussian"), read_kept(path))
    assert second.figures["questions.open"].value == len(second.asked) - 1
    assert "promise.add-remove.epsilon" in second.changes
    html = second.html
    assert html.index("What changed since") < html.index("1. The promise")
    assert ("Noise", "laplace-rounded", "discrete-gaussian") in second.changed_facts
    assert "<bdi>laplace-rounded</bdi></td><td><bdi>discrete-gaussian</bdi>" in html
    assert 'data-figure="was.promise.add-remove.epsilon" value="4">4</data>' in html
    assert "Because &lt;b&gt;of&lt;/b&gt; | the *purpose*." in html
    write_kept(path, second.case, second.figures)
    kept = path.read_text(encoding="utf-8")
    assert kept.startswith("# a remark of ours")
    assert read_kept(path).answers["why_epsilon"].by == "A. Officer"
    assert tomllib.loads(kept)["last"]["on"] == TODAY.isoformat()
    third = Dossier(second.case, read_kept(path))
    assert third.changes == []
    assert third.changed_facts == []
    assert "Nothing of what is compared changed" in third.html


def test_what_is_given_or_answered_for_the_first_time_is_said_at_the_beginning(planned: Path, tmp_path: Path) -> None:
    """And what is no longer given, or open again: never that nothing changed."""
    path, bare = tmp_path / "paper.dossier.toml", case_of("3/paper")
    write_kept(path, bare, Dossier(bare).figures)
    first = read_kept(path)
    assert first.last_open == tuple(Dossier(bare).asked)
    full = replace(bare, audit=AUDIT, intruder=INTRUDER, entries=read_case(planned / "plan.toml", today=TODAY).entries)
    for case, word in ((full, "Now given"), (bare, "No longer given")):
        made = Dossier(case, read_kept(path))
        assert f"| {word} | | ledger, intruder test, audit |" in made.markdown
        assert "Nothing of what is compared changed" not in made.markdown
        assert not [key for key in made.changes if key.startswith(("intruder", "audit", "ledger"))]
        write_kept(path, case, made.figures)
    again = Dossier(full, first)
    assert again.changed_questions == (["intruder", "audit", "ledger"], [])
    assert "| Questions closed | | Intruder test, Audit of the program, Ledger |" in again.markdown
    write_kept(path, bare, Dossier(bare).figures)
    path.write_text(path.read_text(encoding="utf-8").replace('answer = ""', 'answer = "Yes."', 1), encoding="utf-8")
    closed = Dossier(bare, read_kept(path))
    assert closed.changed_questions == ([closed.asked[0]], [])
    assert closed.changes == []
    assert "| Questions closed | | Why this epsilon |" in closed.markdown
    grown = Dossier(bare, replace(read_kept(path), last_figures={"days": "7"}))
    assert {"promise.replace.epsilon", "alone.cell"} <= set(grown.changes), "figures that were not there are new"


def test_answers_are_next_to_a_plan_or_folder_and_never_in_a_folder(planned: Path, tmp_path: Path) -> None:
    """Those of the plan are the folder's, if it has none of its own."""
    case = case_of("3/paper")
    assert beside(planned / "plan.toml", case.manifest) == planned / "plan.dossier.toml"
    assert beside(planned, case.manifest) == planned.parent / f"{planned.name}.dossier.toml"
    (folder := tmp_path / "published").mkdir()
    write_kept(tmp_path / "plan.dossier.toml", case, {})
    write_kept(tmp_path / "other.dossier.toml", case_of("3/cards"), {})
    (tmp_path / "odd.dossier.toml").write_text("[", encoding="utf-8")
    assert beside(folder, case.manifest) == tmp_path / "plan.dossier.toml"
    write_kept(tmp_path / "published.dossier.toml", case, {})
    assert beside(folder, case.manifest) == tmp_path / "published.dossier.toml"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan.toml", "-o", "one.pdf"], "must end in one of .html, .md, .docx"),
        (["nowhere.toml"], "name a plan or a published folder"),
        (["plan.toml", "-o", "new.html", "--audit", "plan.toml"], "is not what `tapveil audit -o` writes"),
        (["plan.toml", "-o", "new.html", "--intruder", "no.json"], "cannot be read"),
        (["plan.toml", "-o", "new.html", "--answers", "zones.csv"], "is not a file of answers"),
        (["plan.toml", "-o", "regions.csv.md", "--intruder", "odd.json"], "is not what `tapveil intruder -o` writes"),
    ],
)
def test_what_cannot_be_written_is_refused_with_a_reason(arguments: list[str], words: str, planned: Path) -> None:
    (planned / "odd.json").write_text(json.dumps([{"attack": "two taps", "success": 2}]), encoding="utf-8")
    said = run("dossier", *arguments, cwd=planned)
    assert said.returncode == 2
    assert words in said.stderr
    assert not (planned / "new.html").exists()


def test_a_plan_whose_public_file_is_missing_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(preset_text("opal"), encoding="utf-8")
    said = run("dossier", "plan.toml", "-o", "one.html", cwd=tmp_path)
    assert said.returncode == 3
    assert "there is no lookup stops.csv" in said.stderr
    assert "Add or correct the file, or name another in the plan" in " ".join(said.stderr.split())
    assert not list(tmp_path.glob("*.html"))


def test_a_folder_that_does_not_verify_has_no_dossier(tmp_path: Path) -> None:
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "privacy.json").write_text((GOLDEN / "3/paper/privacy.json").read_text(encoding="utf-8"))
    said = run("dossier", "published", "-o", "one.html", cwd=tmp_path)
    assert said.returncode == 2
    assert "does not verify" in said.stderr


def test_results_of_other_commands_are_shown_with_their_limits(planned: Path) -> None:
    plan = Plan.read(planned / "plan.toml").digest
    tried = {**TEST, "version": 1, "plan": plan, "trips": 5000, "people": 40, "results": [HASHED, UNBOUNDED]}
    (planned / "tried.json").write_text(json.dumps(tried), encoding="utf-8")
    audit = {**TEST, "version": 1, "plan": plan, "trials": 2000, "results": [{**CHECKED, "broken": True}]}
    (planned / "audit.json").write_text(json.dumps(audit), encoding="utf-8")
    said = run("dossier", "plan.toml", "-o", "two.md", "--intruder", "tried.json", "--audit", "audit.json", cwd=planned)
    assert said.returncode == 0, said.stderr
    text = (planned / "two.md").read_text(encoding="utf-8")
    assert "| hashed card ids: which card? | 93.0 % | 90.0 % to 95.0 % | 0.0042 % | no promise | 400 |" in text
    assert "| as planned: which card? | 50.0 % | 45.6 % to 55.2 % | 0.0042 % | no bound | 400 |" in text
    assert "Somebody knows two taps of a person" in text
    assert text.count("Do not publish with this program") == 1


@pytest.mark.parametrize("command", ["audit", "intruder"])
def test_a_test_of_another_plan_or_of_nothing_is_refused(command: str, planned: Path) -> None:
    found = {"audit": AUDIT, "intruder": INTRUDER}[command].model_dump(mode="json")
    changes: dict[str, dict[str, object]] = {"of another plan": {}, "is not what `tapveil": {"results": []}}
    for words, change in changes.items():
        (planned / "other.json").write_text(json.dumps(found | change), encoding="utf-8")
        said = run("dossier", "plan.toml", "-o", "three.html", f"--{command}", "other.json", cwd=planned)
        assert said.returncode == 2
        assert words in said.stderr


def test_what_the_audit_and_the_intruder_write_is_read(tmp_path: Path) -> None:
    """By the commands, as small as they may be, of a plan whose files are not there."""
    (tmp_path / "plan.toml").write_text(preset_text("opal"), encoding="utf-8")
    small = {"audit": ["--trials", "1000"], "intruder": ["--trials", "1000", "--people", "60", "--trips", "5000"]}
    for command, options in small.items():
        said = run(command, "plan.toml", "-o", f"{command}.json", "-q", *options, cwd=tmp_path)
        assert said.returncode == 0, said.stderr
    plan = Plan.read(tmp_path / "plan.toml")
    write_csv(tmp_path / "stops.csv", [("1", "2000")], ("stop_id", "postcode"))
    tests = {command: tmp_path / f"{command}.json" for command in small}
    case = read_case(tmp_path / "plan.toml", **tests, today=TODAY)
    assert case.audit
    assert case.intruder
    assert case.audit.plan == case.intruder.plan == plan.digest
    assert case.audit.software == case.intruder.software == __version__
    assert {"audit", "intruder"}.isdisjoint(Dossier(case).asked)


@needs_openssh
def test_a_dossier_is_signed_as_folders_are(planned: Path) -> None:
    key = make_key(planned, "key")
    assert run("dossier", "plan.toml", "-o", "signed.html", "--sign", key, cwd=planned).returncode == 0
    signature = (planned / "signed.html.sig").read_text(encoding="ascii")
    fingerprint = read_signature(signature, (planned / "signed.html").read_bytes()).fingerprint
    said = run("verify", "signed.html", cwd=planned)
    assert said.returncode == 0, said.stderr
    assert f"signed with the key {fingerprint}" in said.stdout.replace("\n", " ")


def test_an_officers_approval_is_stated_and_one_that_does_not_hold_is_not(tmp_path: Path) -> None:
    office, today = Office(tmp_path), datetime.now(UTC).date()
    before = Dossier(read_case(office.path, today=today)).markdown
    assert "no valid one is known for this plan" in before
    assert "**required, and not given**" in before
    approval = office.approve()
    made = Dossier(read_case(office.path, today=today)).markdown
    assert (
        f"with the key `{office.officer.public.fingerprint}`, over the plan `{Plan.read(office.path).digest}`" in made
    )
    assert "by A. Officer" in made
    late = approval.statement.until + timedelta(days=1)
    assert "no valid one is known" in Dossier(read_case(office.path, today=late)).markdown, "it has expired"
    (tmp_path / "elsewhere").mkdir()
    another = Office(tmp_path / "elsewhere").ledger
    elsewhere = Dossier(read_case(office.path, ledger=another, today=today)).markdown
    assert "Approved by signature" not in elsewhere, "it is for the ledger that it names"
    folder = tapveil.release(Plan.read(office.path), tmp_path / "published", approval=approval).path
    after = Dossier(read_case(folder, ledger=office.ledger, today=today)).markdown
    assert "**Approved by signature**" in after
    assert "Approved by signature" not in Dossier(read_case(folder, today=today)).markdown, "a folder alone knows none"
    assert "no valid one is known" in Dossier(read_case(office.path, today=today)).markdown, "it is used up"
    office.edit("epsilon = 1", "epsilon = 2")
    assert "no valid one is known" in Dossier(read_case(office.path, today=today)).markdown
    office.edit("epsilon = 2", "epsilon = 1")
    office.approve(key=office.agency)
    assert "no valid one is known" in Dossier(read_case(office.path, today=today)).markdown
    office.path.with_suffix(".approval").write_text("{}", encoding="utf-8")
    assert "no valid one is known" in Dossier(read_case(office.path, today=today)).markdown


HOSTILE = "</title><script>window.hacked = 1</script> | `x` **y** [z](#q) \ue000promise\ue002 {{ 7 }}"


def test_a_title_is_never_markup() -> None:
    dossier = Dossier(case_of("3/paper", title=HOSTILE, publisher=HOSTILE))
    assert "<script" not in dossier.html
    assert dossier.html.count("&lt;script&gt;") >= 3
    assert not re.search(r"(?<!\\)<script", dossier.markdown)


def test_no_sentence_says_that_data_are_anonymous_or_safe() -> None:
    for name in ("3/paper", "3/cards", "3e/world-of-noise"):
        text = Dossier(case_of(name)).markdown
        for claim in re.finditer(r"[^.]*\b(anonymous|safe|cannot be identified|compliant|conform)\w*[^.]*\.", text):
            assert re.search(r"\bnot\b|as safe as", claim[0]), claim[0]


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["3/paper", "3e/world-of-noise"])
def test_it_is_accessible_fits_a_printed_page_and_asks_nobody(name: str, browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "dossier.html").write_text(Dossier(case_of(name)).html, encoding="utf-8")
    context = browser.new_context(viewport={"width": A4_WIDE, "height": 1000}, bypass_csp=True)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "dossier.html").as_uri())
    violations = Axe().run(page).response["violations"]
    assert violations == [], [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in violations]
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= A4_WIDE
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every((t) => t.scrollWidth <= t.parentNode.offsetWidth)"
    )
    printed = page.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert all(url.startswith("file:") for url in asked)
    context.close()


def test_what_changed_can_be_read_next_to_long_checksums(browser: Browser, tmp_path: Path) -> None:
    """Of another plan: its SHA-256 has no space to break at, and takes no room from the words."""
    before = case_of("3/paper")
    write_kept(tmp_path / "paper.dossier.toml", before, Dossier(before).figures)
    made = Dossier(case_of("3/gaussian"), read_kept(tmp_path / "paper.dossier.toml"))
    (tmp_path / "dossier.html").write_text(made.html, encoding="utf-8")
    page = browser.new_page(viewport={"width": A4_WIDE, "height": 1000})
    page.goto((tmp_path / "dossier.html").as_uri())
    table = page.locator("table", has=page.locator("th", has_text=re.compile("^was$")))
    wide, first = (each.evaluate("node => node.offsetWidth") for each in (table, table.locator("th").first))
    assert wide <= A4_WIDE
    assert first > 0.25 * wide
    page.close()
