from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tapveil import ApprovalError, LedgerError
from tapveil.ledger.approval import Approval, Statement, meaning_sha256, read_approval
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Officers, read
from tapveil.published.signature import APPROVAL, SigningKey, read_public_keys

GOLDEN = Path(__file__).parents[2] / "golden" / "ledger-5"

PLAN = {"release": {"title": "Fähren"}, "table": []}
KEY = SigningKey(Ed25519PrivateKey.generate())


def statement(**more: object) -> Statement:
    said = {
        "id": "1" * 32,
        "on": "2026-01-01",
        "until": "2026-01-31",
        "tapveil": "0.2.0",
        "ledger": "2" * 32,
        "head": "3" * 64,
        "data_set": "trips",
        "unit": "trip",
        "neighbours": "replace",
        "epsilon": "1",
        "delta": "1e-6",
        "plan": PLAN,
        "plan_sha256": meaning_sha256(PLAN),
        "files": {},
    }
    return Statement.model_validate(said | more)


def test_a_statement_is_written_in_one_way(tmp_path: Path) -> None:
    text = statement(comment="Geprüft.").text
    (tmp_path / "plan.approval").write_text(text, encoding="utf-8")
    found = read_approval(tmp_path / "plan.toml")
    assert found is not None
    assert found.statement == statement(comment="Geprüft.")
    data = json.loads(text)
    for other in (
        text.replace("\n", "\r\n"),
        text + " ",
        json.dumps(data),
        text.replace('"releases"', '"id": "4", "releases"'),
        text.replace("ü", "\\u00fc"),
        "[" * 100_000,
        "",
        json.dumps(data | {"approval": 2}),
        json.dumps(data | {"more": 1}),
    ):
        with pytest.raises(ApprovalError, match="cannot be read"):
            _ = Approval(other, "").statement


def test_what_is_no_text_is_no_approval(tmp_path: Path) -> None:
    assert read_approval(tmp_path / "plan.toml") is None
    (tmp_path / "plan.approval").write_bytes(b"\xff\xfe")
    found = read_approval(tmp_path / "plan.toml")
    assert found is not None
    assert found.signed_by([KEY.public.line]) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        {"plan": {"table": []}},
        {"every": "month"},
        {"template": "[release]"},
        {"releases": 0},
        {"comment": "two\nlines"},
        {"files": {"gtfs": "none"}},
    ],
    ids=str,
)
def test_a_statement_means_what_it_says(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"differ|routine|greater|one line|pattern"):
        statement(**wrong)


def test_what_was_seen_is_known_again() -> None:
    same = statement(id="9" * 32, by="A. Officer", comment="Seen.", until="2026-02-28", again=True)
    assert same.subject == statement().subject
    for other in ({"head": "4" * 64}, {"files": {"gtfs": "0" * 64}}, {"epsilon": "2"}, {"tapveil": "9.9"}):
        assert statement(**other).subject != statement().subject


def test_a_signature_is_for_one_purpose() -> None:
    text = statement().text
    assert Approval(text, KEY.sign(text.encode(), APPROVAL)).signed_by([KEY.public.line]) is None
    refused = Approval(text, KEY.sign(text.encode())).signed_by([KEY.public.line])
    assert refused is not None
    assert refused.reason == "approval-signature"


def test_entries_of_version_4_have_neither_officers_nor_approvals() -> None:
    entry = Officers(on=date(2026, 1, 1), keys=(KEY.public.line,))
    assert read(1, entry.text("0" * 32)) == entry
    with pytest.raises(LedgerError, match="invalid"):
        read(1, entry.model_copy(update={"version": 4}).text("0" * 32))
    with pytest.raises(ValueError, match="pattern"):
        Officers(on=date(2026, 1, 1), keys=("ssh-rsa AAAA",))


def test_approvals_of_the_first_version_are_read_for_ever(tmp_path: Path) -> None:
    """A release, another officer, and a routine for two months, as they were written first (entries of version 5)."""
    shutil.copytree(GOLDEN, tmp_path / "ledger")
    with Ledger.open(tmp_path / "ledger" / "ledger.sqlite") as ledger:
        history = ledger.history
        assert not list(ledger.findings())
    before, after = ([key.line for key in read_public_keys(GOLDEN / f"{name}.pub")] for name in ("officer", "agency"))
    assert list(history.keys) == after
    assert [each.statement.by for each in history.approvals.values()] == ["A. Officer", "B. Officer"]
    assert [len(history.uses(identity)) for identity in history.approvals] == [1, 2]
    assert [each.code for each in history.not_by(after)] == ["not-approved"], "the first one approved the first"
    assert not list(history.not_by(before + after))
