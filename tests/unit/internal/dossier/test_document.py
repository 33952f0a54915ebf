"""The dossier as a file: answers survive, changes are said first, nothing in it runs, and it never claims a law."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tapveil.internal.dossier.case import Case, read_case
from tapveil.internal.dossier.document import Dossier
from tapveil.internal.dossier.questions import beside, read_kept, write_kept
from tapveil.published.folder import Folder
from tapveil.published.manifest import TotalClaim
from tapveil.published.signature import read_signature
from tests.conftest import TODAY, levelled_plan, start_ledger
from tests.support.commands import run
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
    assert 'data-figure="was.promise.add-remove.epsilon" value="4">4</data>' in html
    assert "Because &lt;b&gt;of&lt;/b&gt; | the *purpose*." in html
    write_kept(path, second.case, second.figures)
    kept = path.read_text(encoding="utf-8")
    assert kept.startswith("# a remark of ours")
    assert read_kept(path).answers["why_epsilon"].by == "A. Officer"
    assert tomllib.loads(kept)["last"]["on"] == TODAY.isoformat()
    third = Dossier(second.case, read_kept(path))
    assert third.changes == []
    assert "No figure changed." in third.html


def test_answers_are_next_to_a_plan_or_folder_and_never_in_a_folder(planned: Path) -> None:
    assert beside(planned / "plan.toml") == planned / "plan.dossier.toml"
    assert beside(planned) == planned.parent / f"{planned.name}.dossier.toml"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan.toml", "-o", "one.pdf"], "must end in .html or .md"),
        (["nowhere.toml"], "name a plan or a published folder"),
        (["plan.toml", "-o", "new.html", "--audit", "plan.toml"], "is not the output of `tapveil audit --json`"),
        (["plan.toml", "-o", "new.html", "--intruder", "no.json"], "cannot be read"),
        (["plan.toml", "-o", "new.html", "--answers", "zones.csv"], "is not a file of answers"),
        (["plan.toml", "-o", "regions.csv.md", "--intruder", "odd.json"], "is not the output of `tapveil intruder`"),
    ],
)
def test_what_cannot_be_written_is_refused_with_a_reason(arguments: list[str], words: str, planned: Path) -> None:
    (planned / "odd.json").write_text(json.dumps([{"attack": "two taps", "success": 2}]), encoding="utf-8")
    said = run("dossier", *arguments, cwd=planned)
    assert said.returncode == 2
    assert words in said.stderr
    assert not (planned / "new.html").exists()


def test_a_folder_that_does_not_verify_has_no_dossier(tmp_path: Path) -> None:
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "privacy.json").write_text((GOLDEN / "3/paper/privacy.json").read_text(encoding="utf-8"))
    said = run("dossier", "published", "-o", "one.html", cwd=tmp_path)
    assert said.returncode == 2
    assert "does not verify" in said.stderr


def test_results_of_other_commands_are_shown_with_their_limits(planned: Path) -> None:
    tried = {"attack": "two taps", "method": "hashed card ids", "success": 0.93, "low": 0.9, "high": 0.95}
    tried |= {"bound": None, "trials": 400, "seed": 1, "question": "which card?"}
    (planned / "tried.json").write_text(json.dumps({"results": [tried]}), encoding="utf-8")
    audit = [{"check": "a", "table": "wide", "observed": "1", "allowed": "2", "broken": True}]
    (planned / "audit.json").write_text(json.dumps(audit), encoding="utf-8")
    said = run("dossier", "plan.toml", "-o", "two.md", "--intruder", "tried.json", "--audit", "audit.json", cwd=planned)
    assert said.returncode == 0, said.stderr
    text = (planned / "two.md").read_text(encoding="utf-8")
    assert "| two taps | hashed card ids | 93.0 % | 90.0 % to 95.0 % | none | 400 |" in text
    assert "Do not publish with this program" in text


def test_an_intruder_test_of_another_plan_is_refused(planned: Path) -> None:
    (planned / "other.json").write_text(json.dumps({"plan": "0" * 64, "results": []}), encoding="utf-8")
    said = run("dossier", "plan.toml", "-o", "three.html", "--intruder", "other.json", cwd=planned)
    assert said.returncode == 2
    assert "of another plan" in said.stderr


@needs_openssh
def test_a_dossier_is_signed_as_folders_are(planned: Path) -> None:
    key = make_key(planned, "key")
    assert run("dossier", "plan.toml", "-o", "signed.html", "--sign", key, cwd=planned).returncode == 0
    signature = (planned / "signed.html.sig").read_text(encoding="ascii")
    assert read_signature(signature, (planned / "signed.html").read_bytes()).fingerprint.startswith("SHA256:")


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
