"""Nothing can be hidden in a folder that verifies: one who knows the format put raw trips into each of these places."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tapveil.base.errors import PlanError
from tapveil.plan.model import Plan
from tapveil.published.identifiers import text_findings
from tapveil.published.manifest import json_text
from tapveil.published.signature import SigningKey
from tapveil.verification.folder import verify_folder
from tapveil.verification.parquet_footer import SCHEMA_ROOM
from tests.conftest import opal_text
from tests.support.tampering import refresh, resum

GOLDEN = Path(__file__).parents[1] / "golden"
CARD = 3085000000005044
TRIPS = "3085000000005044,2025-03-03,bus,15:36,204837\n" * 100


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[str], Path]:
    """A golden folder to be tampered with, by somebody who can also sign."""
    unsigned = shutil.ignore_patterns("SHA256SUMS.sig")
    return lambda name: Path(shutil.copytree(GOLDEN / name, tmp_path / "folder", ignore=unsigned))


def codes(folder: Path) -> set[str]:
    return {finding.code for finding in verify_folder(folder).findings}


# --- Parquet ----------------------------------------------------------------------------------------------------------

TABLE = "data/on_time.parquet"


def field_metadata(table: pa.Table, path: Path) -> None:
    schema = pa.schema([field.with_metadata({"raw": TRIPS}) for field in table.schema])
    pq.write_table(table.cast(schema), path)


def with_schema(table: pa.Table, path: Path, schema: bytes) -> None:
    with pq.ParquetWriter(path, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"ARROW:schema": schema.decode()})


def behind_the_schema(table: pa.Table, path: Path) -> None:
    with_schema(table, path, base64.b64encode(table.schema.serialize().to_pybytes() + TRIPS.encode()))


def behind_the_schema_of_another_version(table: pa.Table, path: Path) -> None:
    behind_the_schema(table, path)
    written_by(path, pa.__version__.replace(pa.__version__[0], "9", 1))


def written_by(path: Path, version: str) -> None:
    data, said = path.read_bytes(), f"arrow version {pa.__version__}".encode()
    assert data.count(said) == 1
    path.write_bytes(data.replace(said, f"arrow version {version}".encode()))


def author(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path)
    said = pq.read_metadata(path).created_by.encode()
    path.write_bytes(
        path.read_bytes().replace(said, f"card {CARD} 07:31 bus stop"[: len(said)].ljust(len(said)).encode())
    )


def row_groups(table: pa.Table, path: Path) -> None:
    with pq.ParquetWriter(path, table.schema) as writer:
        for start, size in ((0, 3), (3, 1), (4, len(table) - 4)):
            writer.write_table(table.slice(start, size))


def limits(table: pa.Table, path: Path) -> None:
    """The greatest count, where readers only look to skip rows."""
    pq.write_table(table, path, compression="none", use_dictionary=False)
    start = path.stat().st_size - 8 - pq.read_metadata(path).serialized_size
    data, most = path.read_bytes(), max(table.column("count").to_pylist())
    said = most.to_bytes(8, "little")
    assert said in data[start:]
    path.write_bytes(data[:start] + data[start:].replace(said, CARD.to_bytes(8, "little")))


def unused_values(table: pa.Table, path: Path) -> None:
    """A list of values with some that no row has."""
    modes = table.column("mode").combine_chunks().dictionary_encode()
    longer = pa.concat_arrays([modes.dictionary, pa.array(TRIPS.splitlines()[:2])])
    listed = pa.DictionaryArray.from_arrays(modes.indices, longer)
    schema = base64.b64encode(table.schema.serialize().to_pybytes())
    with_schema(table.set_column(0, "mode", listed), path, schema)


PARQUET: dict[str, Callable[[pa.Table, Path], None]] = {
    "metadata of fields": field_metadata,
    "bytes behind the schema": behind_the_schema,
    "bytes behind the schema, of another version": behind_the_schema_of_another_version,
    "the author": author,
    "odd row groups": row_groups,
    "limits of a column": limits,
    "values that no row has": unused_values,
}


@pytest.mark.parametrize("where", PARQUET)
def test_parquet_files_hold_nothing_beside_their_values(where: str, copy: Callable[[str], Path]) -> None:
    folder = copy("2/gaussian")
    table = pq.read_table(folder / TABLE)
    PARQUET[where](table, folder / TABLE)
    assert pq.read_table(folder / TABLE).cast(table.schema).equals(table)
    refresh(folder, rederive=False)
    first, *others = verify_folder(folder).findings
    assert (first.code, first.place) == ("hidden-data", TABLE)
    assert {each.code for each in others} <= {"package-resources"}  # what follows from a table that is not sound


def test_a_schema_of_another_arrow_passes(copy: Callable[[str], Path]) -> None:
    """Other versions may pad it otherwise: within a bound, and with nothing else in it."""
    folder = copy("2/gaussian")
    table = pq.read_table(folder / TABLE)
    padded = table.schema.serialize().to_pybytes() + bytes(SCHEMA_ROOM)
    with_schema(table, folder / TABLE, base64.b64encode(padded))
    refresh(folder, rederive=False)
    assert "hidden-data" in codes(folder)
    written_by(folder / TABLE, "9" + pa.__version__[1:])
    refresh(folder, rederive=False)
    assert codes(folder) == set()


# --- names, signatures ------------------------------------------------------------------------------------------------


def test_a_folder_without_a_file_is_found(copy: Callable[[str], Path]) -> None:
    folder = copy("2/gaussian")
    for trip in ("1 3085000000005044 07:31", "data/2 3085000000005044 08:12/x"):
        (folder / trip).mkdir(parents=True)
    found = {(each.code, each.place) for each in verify_folder(folder).findings}
    names = {"1 3085000000005044 07:31/", "data/2 3085000000005044 08:12/", "data/2 3085000000005044 08:12/x/"}
    assert found == {("file-unexpected", name) for name in names}


def string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def signed(message: bytes, reserved: bytes = b"") -> str:
    """As OpenSSH signs, with something in the field that is reserved and not signed."""
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    digest = hashlib.sha512(message).digest()
    signature = key.sign(b"SSHSIG" + b"".join(map(string, (b"tapveil", b"", b"sha512", digest))))
    wrapped = (string(b"ssh-ed25519") + string(part) for part in (public, signature))
    parts = (next(wrapped), b"tapveil", reserved, b"sha512", next(wrapped))
    text = base64.b64encode(b"SSHSIG" + struct.pack(">I", 1) + b"".join(map(string, parts))).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----"]) + "\n"


def test_a_signature_is_written_in_one_way(copy: Callable[[str], Path]) -> None:
    folder = copy("2/laplace")
    message, file = (folder / "SHA256SUMS").read_bytes(), folder / "SHA256SUMS.sig"
    sound = SigningKey(Ed25519PrivateKey.generate()).sign(message)
    lines = sound.split("\n")
    split = "\n".join([lines[0], lines[1][:31], lines[1][31:], *lines[2:]])
    for text in (sound, signed(message)):
        file.write_text(text)
        assert codes(folder) == set()
    for text in (signed(message, TRIPS.encode()), split, sound.replace("\n", "\n\n", 2)):
        file.write_text(text)
        assert codes(folder) == {"signature-invalid"}


# --- manifests --------------------------------------------------------------------------------------------------------


def spread(value: str) -> str:
    """The same fraction, unreduced."""
    fraction = Fraction(value)
    return f"{fraction.numerator * CARD}/{fraction.denominator * CARD}"


def turned(data: dict[str, Any]) -> None:
    data["software"] = dict(reversed(data["software"].items()))


def digests(data: dict[str, Any], role: str, number: int) -> None:
    more = {role.format(n): hashlib.sha256(str(n).encode()).hexdigest() for n in range(number)}
    data["public_files_sha256"] = {**data["public_files_sha256"], **more}


def weights(data: dict[str, Any], change: Callable[[Any], Any]) -> None:
    for table in data["tables"]:
        table["weight"] = change(table["weight"])


def two_sources(data: dict[str, Any]) -> None:
    data["public_files_sha256"] |= {"gtfs": "0" * 64, "polygons of bus": "1" * 64}
    data["public_files_sha256"] = dict(sorted(data["public_files_sha256"].items()))


def areas(data: dict[str, Any]) -> None:
    """Areas that nothing has, to explain digests that are none."""
    data["areas"] |= {f"m{n}": "x" for n in range(50)}
    data["areas"] = dict(sorted(data["areas"].items()))


Edit = Callable[[dict[str, Any]], object]
MANIFESTS: dict[str, tuple[str, Edit, str]] = {
    "blanks behind a fraction": ("1/paper", lambda m: m["exact"].update(epsilon="8 \t \t\t"), "hidden-data"),
    "an unreduced fraction": ("1/paper", lambda m: m["exact"].update(epsilon=spread("8")), "hidden-data"),
    "other digits": ("1/paper", lambda m: m["exact"].update(epsilon="\u0668"), "hidden-data"),
    "a number as a text": ("1/paper", lambda m: m.update(epsilon="8"), "hidden-data"),
    "a number as a truth": ("1/paper", lambda m: m.update(manifest_version=True), "hidden-data"),
    "a number as another": ("1/paper", lambda m: m.update(time_minutes=15.0), "hidden-data"),
    "a time of a day": ("1/paper", lambda m: m.update(created=m["created"] + "T00:00:00"), "hidden-data"),
    "the order of keys": ("1/paper", turned, "hidden-data"),
    "the order of files": (
        "1/paper",
        lambda m: m.update(public_files_sha256=dict(reversed(m["public_files_sha256"].items()))),
        "hidden-data",
    ),
    "no cards": ("1/cards", lambda m: m.update(whole_cards=None), "hidden-data"),
    "a huge entry": ("1/paper", lambda m: m["ledger"].update(number=CARD), "words-differ"),
    "made-up lookups": ("1/paper", lambda m: digests(m, "lookup of n{:03} of bus", 40), "public-file"),
    "more made-up lookups": ("1/paper", lambda m: digests(m, "lookup of n{:03}", 700), "public-file"),
    "a huge weight": (
        "2/gaussian",
        lambda m: weights(m, lambda w: int(Fraction(w) * 10**7) * 10**16 + CARD),
        "manifest-shape",
    ),
    "weights of many digits": ("2/gaussian", lambda m: weights(m, lambda w: w / 3), "figure-differs"),
    "a weight that is a little off": (
        "2/gaussian",
        lambda m: m["tables"][0].update(weight=1.0000003085),
        "figure-differs",
    ),
    "no weight": ("2/gaussian", lambda m: m["tables"][0].update(weight=0), "manifest-shape"),
    "huge bounds": ("2/cards", lambda m: m["bounds"].update(trips_per_day=CARD), "manifest-shape"),
    "no bounds": ("2/cards", lambda m: m["bounds"].update(trips_per_day=0), "manifest-shape"),
    "no modes": ("2/paper", lambda m: m["covers"].update(modes=[]), "manifest-shape"),
    "days without an end": ("2/paper", lambda m: m["covers"].update(last_day=None), "manifest-shape"),
    "days without a beginning": ("2/paper", lambda m: m["covers"].update(first_day=None), "manifest-shape"),
    "two sources": ("2/paper", two_sources, "public-file"),
    "areas without a source": ("2/paper", areas, "public-file"),
    "no source": ("2/paper", lambda m: m["public_files_sha256"].pop("lookup of bus"), "public-file"),
    "no wider source": (
        "2/levels",
        lambda m: m["public_files_sha256"].pop("lookup of region of bus"),
        "public-file",
    ),
    "digits of delta": (
        "2/paper",
        lambda m: m["guarantees"][0].update(delta_accounted=1.8803085000005044e-07),
        "figure-differs",
    ),
    "digits of the curve": (
        "2/paper",
        lambda m: m["curve"]["points"][0].update(delta=0.10333085000000504),
        "figure-differs",
    ),
    "digits of a card": ("2/paper", lambda m: m["whole_cards"][1].update(epsilon=28.3085000000005), "figure-differs"),
    "digits of the other promise": (
        "2/gaussian",
        lambda m: m["guarantees"][1].update(
            epsilon=5.29700000003085,
            exact={**m["guarantees"][1]["exact"], "epsilon": "529700000003085/100000000000000"},
        ),
        "figure-differs",
    ),
    "digits of the promise": (
        "2/gaussian",
        lambda m: m["exact"].update(epsilon=f"8{'3085' * 20}/1{'0' * 80}"),
        "manifest-shape",
    ),
}


@pytest.mark.parametrize("where", MANIFESTS)
def test_a_manifest_has_room_for_nothing_else(where: str, copy: Callable[[str], Path]) -> None:
    name, edit, code = MANIFESTS[where]
    folder = copy(name)
    data = json.loads((folder / "privacy.json").read_text())
    edit(data)
    (folder / "privacy.json").write_text(json_text(data))
    refresh(folder)
    assert code in codes(folder)


# --- texts ------------------------------------------------------------------------------------------------------------

SECRET = {
    "3085 0000 0000 5044": "identifier-card",
    "-3085000000005044": "identifier-card",
    "stop/3085000000005044/bus": "identifier-card",
    "card.3085000000005044x": "identifier-card",
    "3085\u20110000\u00a00000 - 5044": "identifier-card",
    "30850000000050443085000000005044": "identifier-card",
    "\u0663\u0660\u0668\u0665" * 4: "identifier-card",
    "rider.one@mail.example": "identifier-email",
    "9F86D081884C7D659A2FEAA0C55AD015": "identifier-hash",
}
ORDINARY = [
    "2025-03-03 07:31 to 2025-03-09 08:15",
    "2025-03-03 2025-03-04 2025-03-05, 20250306 20250307",
    "2026-11-17T00:00:00Z",
    "Trips 2016 2017 2018 2019",
    "151.209312 -33.868820, 151.2093124567891 -33.8688201234567",
    "0.10233401323476898 and 1.8749998535955665e-07",
    "1,000,405 trips (992,657 to 1,030,625)",
    "+61 2 8202 2200, zones 1-3, 07:30-09:30, 3/4000000",
    "sha256:" + "0123456789abcdef" * 4,
]


@pytest.mark.parametrize("text", SECRET)
def test_numbers_of_cards_hashes_and_addresses_are_found_in_texts(text: str, copy: Callable[[str], Path]) -> None:
    assert SECRET[text] in {each.code for each in text_findings("x", [f"Trips of {text}, by mode"])}
    folder = copy("2/paper")
    data = json.loads((folder / "privacy.json").read_text())
    data["title"] += f" {text}"
    (folder / "privacy.json").write_text(json_text(data))
    refresh(folder)
    assert SECRET[text] in codes(folder)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_numbers_are_not_taken_for_cards(text: str) -> None:
    assert list(text_findings("x", [text], {"0123456789abcdef" * 4})) == []


def test_a_long_readme_is_found(copy: Callable[[str], Path]) -> None:
    folder = copy("2/paper")
    with (folder / "README.md").open("a") as file:
        file.write("bus stop " * 10_000)
    resum(folder)
    assert "too-large" in codes(folder)


# --- words ------------------------------------------------------------------------------------------------------------


def test_a_missing_file_is_named_once(copy: Callable[[str], Path]) -> None:
    folder = copy("2/gaussian")
    gone = sorted(path.relative_to(folder).as_posix() for path in (folder / "consistent").iterdir())
    assert len(gone) > 2
    shutil.rmtree(folder / "consistent")
    assert [each.place for each in verify_folder(folder).findings if each.code != "derived-differs"] == gone


def test_one_table_is_not_tables() -> None:
    assert "in 1 table)" in verify_folder(GOLDEN / "2" / "dictionary").summary
    assert "in 2 tables)" in verify_folder(GOLDEN / "2" / "taps").summary


def test_a_format_with_a_directive_twice_is_refused(tmp_path: Path) -> None:
    written = opal_text().replace('date = "trip_date"', 'date = { column = "date", format = "%d %d" }')
    assert "%d %d" in written
    with pytest.raises(PlanError, match="is not a format"):
        Plan.parse(written, base=tmp_path)
