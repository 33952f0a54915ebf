"""What data portals read: each text from the two public files alone, whatever a publisher calls things."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tapveil._version import __version__
from tapveil.plan.model import Plan
from tapveil.privacy.concentrated import concentrated
from tapveil.privacy.loss import Loss, accounted_delta, whole_card_certified
from tapveil.published import manifest_1
from tapveil.published.describe import metadata
from tapveil.published.describe.croissant import croissant_text
from tapveil.published.describe.dcat import dcat_text
from tapveil.published.describe.registry import registry_text
from tapveil.published.describe.template import yaml_number, yaml_string
from tapveil.published.manifest import Manifest
from tapveil.veil import statement
from tapveil.verification import manifest as manifests
from tapveil.verification.known_versions import VERSIONS_OF
from tests.conftest import TODAY

Files = tuple[dict[str, Any], dict[str, Any]]
"""The manifest and the Data Package, as JSON reads them."""

WRITERS = {metadata.REGISTRY: registry_text, metadata.CROISSANT: croissant_text, metadata.DCAT: dcat_text}
GOLDEN = Path(__file__).parents[3] / "golden" / "1"

HOSTILE = "سفر </script><script>alert(\"1\")</script> & 'a': - #b\n\n  c\r\n\t{d}: [e] \\ \u202e\u2028\x85\x7f\ufeff🚆"

PLAN = """
[release]
name = "city_trips"
title = "City trips"
layout = "{layout}"
{release}
[source]
path = "trips.csv"
{covers}
[source.columns]
card = "card"
mode = "mode"
date = "date"
tap_on_time = "on"
tap_on_location = "at"
[coarsen]
time_minutes = 15
[privacy]
unit = "{unit}"
neighbours = "replace"
mechanism = "{mechanism}"
{privacy}
[[table]]
name = "on_time"
columns = ["tap_on_time"]
{share}
"""
CARD = {"unit": "card", "privacy": 'trips_per_card = 3\nwithout_card = "refuse"', "mechanism": "laplace"}
TOTAL = {"privacy": 'epsilon = 1\ndelta = "1/1000000"', "share": "weight = 1"}
CARD_DAY = {"unit": "card-day", "privacy": 'trips_per_day = 2\nwithout_card = "own-unit"'}
LISTED = {"mechanism": "dictionary", "share": 'epsilon = 1\ncells = "cells.csv"'}
COVERED = 'first_day = 2016-08-08\nlast_day = 2016-08-21\nmodes = ["bus", "train"]'


def manifest(**changes: str) -> dict[str, Any]:
    values = {"layout": "tables", "release": "", "covers": "", "unit": "trip", "mechanism": "sbh", "privacy": ""}
    share = 'epsilon = 1\ndelta = "1/8000000"'
    plan = Plan.parse(PLAN.format(**{**values, "share": share, **changes}), base=Path("nowhere"))
    made = statement.manifest(plan, TODAY, {"lookup of bus": "0" * 64})
    return {**made.as_json, "release_id": "ab" * 16}


def as_read(document: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(document))
    return read


def file(path: str, mediatype: str = "text/csv") -> dict[str, Any]:
    form = path.rpartition(".")[2]
    return {"path": path, "format": form, "mediatype": mediatype, "bytes": 708, "hash": f"sha256:{'0f' * 32}"}


def resource(path: str, *numbers: str) -> dict[str, Any]:
    texts = [{"name": name, "type": "string", "description": "As in the source."} for name in ("mode", "tap_on_time")]
    day = {"name": "date", "type": "date"}
    counted = [{"name": name, "type": "integer"} for name in numbers]
    keys = {"primaryKey": ["mode", "date", "tap_on_time"]} if numbers else {}
    schema = {"fields": [texts[0], day, texts[1], *counted], **keys}
    name = path.removesuffix(".csv").removeprefix("data/").replace("/", "-")
    return {"name": name, "title": "on time", **file(path), "schema": schema}


def with_parquet(described: dict[str, Any]) -> dict[str, Any]:
    twin = file(described["path"].replace(".csv", ".parquet"), "application/vnd.apache.parquet")
    return {**described, "alternates": [twin]}


def package(**more: Any) -> dict[str, Any]:
    tables = [with_parquet(resource("data/on_time.csv", "count"))]
    return {"name": "city_trips", "title": "City trips", "description": "Counts.", "resources": tables, **more}


def signed_off(publisher: str = "City Transport", licence: str = "CC-BY-4.0") -> dict[str, Any]:
    return {"contributors": [{"title": publisher, "roles": ["publisher"]}], "licenses": [{"name": licence}]}


DERIVED = [
    resource("consistent/on_time.csv", "count", "low", "high", "total"),
    resource("finest/trips.csv", "count", "listed", "other"),
    with_parquet(resource("synthetic/on_time.csv")),
]


@pytest.fixture(scope="module")
def folders() -> dict[str, Files]:
    """The releases that differ in what these texts say."""
    hostile = {**manifest(covers=COVERED), "title": HOSTILE, "areas": {"bus": HOSTILE, "*": "stop"}}
    hostile["covers"]["modes"] = [HOSTILE, "bus"]
    hostile["columns"]["tap_on_location"] = "location"
    coarse = manifest()
    coarse["tables"][0]["level"] = {"time_minutes": None, "times": ["06:00", "19:00"], "location": "zone"}
    ledger = {"ledger": "cd" * 16, "hash": "0f" * 32}
    return {
        "plain": (manifest(), package()),
        "covered": ({**manifest(covers=COVERED), "ledger": ledger}, package(**signed_off())),
        "card": (manifest(**CARD), package(**signed_off(licence="our own terms"))),
        "total": (manifest(mechanism="gaussian", **TOTAL), package()),
        "dictionary": ({**manifest(**LISTED), "places": "areas.geojson"}, package(**signed_off())),
        "opal": (manifest(layout="opal"), package(resources=[with_parquet(resource("data/time.csv", "count"))])),
        "derived": (manifest(), package(resources=[*package()["resources"], *DERIVED], **signed_off())),
        "coarse": (coarse, package()),
        "hostile": (hostile, package(description=HOSTILE, **signed_off(HOSTILE, HOSTILE))),
    }


NAMES = ("plain", "covered", "card", "total", "dictionary", "opal", "derived", "coarse", "hostile")
each_folder = pytest.mark.parametrize("name", NAMES)
each_text = pytest.mark.parametrize("text", WRITERS)


def written(text: str, files: Files) -> str:
    stated, described = files
    return WRITERS[text](metadata.worded(stated), described)


def record(files: Files) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(written(metadata.REGISTRY, files))
    return read


def croissant(files: Files) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(written(metadata.CROISSANT, files))
    return read


def dcat(files: Files) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(written(metadata.DCAT, files))
    return read


# --- all of them --------------------------------------------------------------------------------------------------


@each_folder
@each_text
def test_a_text_can_be_written_again_byte_for_byte(folders: dict[str, Files], name: str, text: str) -> None:
    stated, described = folders[name]
    before = copy.deepcopy((stated, described))
    made = written(text, (stated, described))
    assert made == written(text, (as_read(stated), as_read(described)))
    assert made == metadata.texts(stated, described)[text]
    assert (stated, described) == before
    assert made.encode().endswith(b"\n")
    assert not made.endswith("\n\n")


@each_text
def test_a_text_does_not_depend_on_the_program_that_writes_it_again(folders: dict[str, Files], text: str) -> None:
    """A later version checks what an earlier one wrote: the version is the one in the manifest."""
    stated, described = folders["plain"]
    older = written(text, ({**stated, "software": {"name": "tapveil", "version": "0.0.7"}}, described))
    assert f"tapveil {__version__}" not in older
    assert ("tapveil 0.0.7" in older) is (text != metadata.CROISSANT)  # which has no place for it


@each_text
def test_no_title_can_end_a_script_or_turn_a_line_around(folders: dict[str, Files], text: str) -> None:
    made = written(text, folders["hostile"])
    assert not re.search("[<>&\x7f-\x9f\u2028\u202e\ufeff]", made)
    assert "سفر" in made


def test_hostile_names_arrive_as_they_are(folders: dict[str, Files]) -> None:
    files = folders["hostile"]
    basic = record(files)["deployment"]["basic"]
    assert (basic["name"], basic["description"]) == (HOSTILE, HOSTILE)
    assert basic["data_curators"] == [HOSTILE]
    described = croissant(files)
    assert (described["name"], described["license"], described["creator"]["name"]) == (HOSTILE,) * 3
    catalogued = dcat(files)
    assert (catalogued["dct:title"], catalogued["dct:publisher"]["foaf:name"]) == (HOSTILE, HOSTILE)
    assert catalogued["dct:license"] == {"@type": "dct:LicenseDocument", "rdfs:label": HOSTILE}
    assert HOSTILE in catalogued["dcat:keyword"]


def test_a_label_cannot_begin_a_line_of_its_own(folders: dict[str, Files]) -> None:
    """Lists are Markdown: a mode with a line break in it must not look like a sentence of ours."""
    quantities = record(folders["hostile"])["deployment"]["dp_variant"]["unprotected_quantities"]
    assert all(line.startswith("- ") for line in quantities.split("\n"))


@pytest.mark.parametrize("broken", [{}, {"resources": [1]}, {"resources": "x"}, {"contributors": [1]}, {"licenses": 1}])
@each_text
def test_a_package_that_is_none_is_an_error_that_verify_catches(
    folders: dict[str, Files], broken: dict[str, Any], text: str
) -> None:
    described = {**package(), **broken} if broken else {}
    if text == metadata.REGISTRY and "licenses" in broken:
        return  # the registry has no place for a licence
    with pytest.raises((LookupError, TypeError, ValueError)):
        written(text, (folders["plain"][0], described))


# --- the deployments registry -------------------------------------------------------------------------------------

FIELDS: dict[str, str] = {
    "basic": "name! data_curators! intended_use! data_product_type! data_product_region! description! "
    "publication_date! data_product_sector",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters privacy_parameters_details",
    "deployment_model": "model_name model_name_details actors release_type release_type_details data_source_type "
    "data_source_type_details access_type access_type_details",
    "accounting": "post_processing composition",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "administrative": "sources notes registry_authors!",
}
"""The fields that the registry's schema knows, by section; it requires those with `!`, and refuses all others."""
ENUMS: dict[str, list[Any]] = {
    "status": ["Draft"],
    "tier": [3],
    "data_product_type": ["Summary statistics"],
    "variant_name": ["Pure DP", "Approximate DP"],
    "model_name": ["Central"],
    "release_type": ["One release"],
    "data_source_type": ["Static"],
    "access_type": ["Non-interactive"],
}
"""What we say in fields that have a list of values: each is on the list."""
PARAMETERS = ("epsilon", "delta", "rho")
LISTS = ("data_curators", "registry_authors")
LEFT_OUT = {"data_product_sector", "sources"}
"""What nobody but the publisher can say; the schema does not require it."""


def of_section(fields: str) -> dict[str, Any]:
    """The schema of a section: every field a text, but for the few that are not."""
    named = fields.replace("!", "").split()
    types: dict[str, Any] = {field: {"type": "string", "minLength": 1} for field in named}
    types |= {field: {"enum": ENUMS[field]} for field in named if field in ENUMS}
    types |= {field: {"type": "array", "items": {"type": "string"}, "minItems": 1} for field in named if field in LISTS}
    if "privacy_parameters" in named:
        numbers = {name: {"type": "number"} for name in PARAMETERS}
        types["privacy_parameters"] = {"type": "object", "additionalProperties": False, "properties": numbers}
    required = [field.removesuffix("!") for field in fields.split() if field.endswith("!")]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": types}


OUR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["url_slug", "status", "tier", "deployment"],
    "properties": {
        "url_slug": {"type": "string"},
        "status": {"enum": ENUMS["status"]},
        "tier": {"enum": ENUMS["tier"]},
        "deployment": {
            "type": "object",
            "additionalProperties": False,
            "required": list(FIELDS),
            "properties": {section: of_section(fields) for section, fields in FIELDS.items()},
        },
    },
}
"""What we need of the registry's schema, so that a record that breaks it is found without the schema at hand."""


def errors(read: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    checker = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in checker.iter_errors(read)]


@pytest.fixture
def registry_schema(shared_data: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((shared_data / "registry" / "deployments-schema.yaml").read_text("utf-8"))
    return read


def golden(folder: Path) -> Files:
    """A folder of version 1, as the same release would be described now."""
    stated, described = (
        json.loads((folder / name).read_text("utf-8")) for name in ("privacy.json", "datapackage.json")
    )
    ledger = stated["ledger"] and {name: stated["ledger"][name] for name in ("ledger", "hash")}
    now = {"manifest_version": 2, "versions": VERSIONS_OF[2][0].model_dump(exclude_unset=True), "ledger": ledger}
    upgraded = manifest_1.upgraded(stated) | now
    claims = Manifest.read(upgraded)
    part = concentrated(list(manifests.mechanisms(claims)[0].values()), claims.exposure)
    said = statement.gaussian(part)
    return as_read({**upgraded, "gaussian": said and said.model_dump(mode="json")}), described


def every_kind() -> Iterator[Files]:
    """Every mechanism with every unit, by a publisher of each type or of none, with and without a region."""
    noises = ({"mechanism": "sbh"}, {"mechanism": "laplace"}, {"mechanism": "gaussian"}, LISTED)
    units: tuple[dict[str, str], ...] = ({}, CARD_DAY, {name: CARD[name] for name in ("unit", "privacy")})
    publishers = ((None, None), ("government", "Port Vesper"), ("industry", None), ("nonprofit", "Port Vesper"))
    for noise, unit in product(noises, units):
        for kind, region in publishers:
            said = {"publisher_type": kind, "region": region}
            release = "\n".join(f"{key} = {json.dumps(value)}" for key, value in said.items() if value)
            yield manifest(release=release, **noise, **unit), package(**(signed_off() if kind else {}))


@each_folder
def test_a_record_is_valid(folders: dict[str, Files], name: str) -> None:
    assert errors(record(folders[name]), OUR_SCHEMA) == []


@pytest.mark.parametrize("folder", sorted(GOLDEN.iterdir()), ids=lambda folder: folder.name)
def test_a_record_of_a_golden_folder_is_valid(folder: Path) -> None:
    assert errors(record(golden(folder)), OUR_SCHEMA) == []
    assert errors(yaml.safe_load((folder / metadata.REGISTRY).read_text("utf-8")), OUR_SCHEMA)  # of version 1 none was


@pytest.mark.parametrize("folder", sorted(GOLDEN.iterdir()), ids=lambda folder: folder.name)
def test_the_writers_of_version_1_are_frozen(folder: Path) -> None:
    stated, described = (
        json.loads((folder / name).read_text("utf-8")) for name in ("privacy.json", "datapackage.json")
    )
    for name, text in metadata.texts(stated, described).items():
        assert (folder / name).read_bytes() == text.encode()


def test_a_record_of_every_kind_is_valid() -> None:
    for files in every_kind():
        assert errors(record(files), OUR_SCHEMA) == []


OPAL = yaml.safe_load((Path(__file__).parents[4] / "docs" / "opal-registry.yaml").read_text("utf-8"))


def test_the_record_of_the_opal_release_is_valid_by_the_schema_of_the_registry(registry_schema: dict[str, Any]) -> None:
    assert errors(OPAL, registry_schema) == []


def test_the_record_of_the_opal_release_has_every_field_and_the_figures_of_its_preset() -> None:
    sections = OPAL["deployment"]
    for section, fields in FIELDS.items():
        assert set(sections[section]) >= {field.removesuffix("!") for field in fields.split()} - {"data_product_sector"}
    guarantee = Plan.preset("opal").guarantee
    loss = sections["privacy_loss"]
    assert Fraction(str(loss["privacy_parameters"]["epsilon"])) == guarantee.loss.epsilon
    assert Fraction(str(loss["privacy_parameters"]["delta"])) == guarantee.loss.delta
    tables = list(guarantee.mechanisms.values())
    for trips, epsilon, delta in ((10, "28.3", "7.5e-6"), (40, "79", "3e-5")):
        assert re.search(rf"\b{epsilon} at (delta )?{delta}\b", loss["privacy_unit_details"])
        assert whole_card_certified(tables, trips, Loss(Fraction(epsilon), Fraction(delta)))
    assert guarantee.loss_for("add-remove").epsilon == 4
    assert accounted_delta(tables, guarantee.loss.epsilon, guarantee.exposure) <= 1.88e-7
    starts = {int(each) for each in re.findall(r"\b(34|18)\b", sections["implementation"]["mechanisms"])}
    assert starts == {each.smallest_published for each in tables}


def test_records_are_valid_by_the_schema_of_the_registry(
    folders: dict[str, Files], registry_schema: dict[str, Any]
) -> None:
    jsonschema.Draft202012Validator.check_schema(registry_schema)
    for files in [*folders.values(), *map(golden, sorted(GOLDEN.iterdir())), *every_kind()]:
        assert errors(record(files), registry_schema) == []


def test_our_schema_is_within_that_of_the_registry(registry_schema: dict[str, Any]) -> None:
    """Whatever passes the one passes the other: the same fields, at least what it requires, no other values."""
    sections = registry_schema["properties"]["deployment"]["properties"]
    assert set(registry_schema["required"]) <= set(OUR_SCHEMA["required"]) == set(registry_schema["properties"])
    assert set(sections) == set(FIELDS)
    for section, fields in FIELDS.items():
        known = sections[section]["properties"]
        assert set(known) == set(fields.replace("!", "").split()), section
        assert set(sections[section].get("required", [])) == set(of_section(fields)["required"]), section
        assert {name for name in known if "enum" in known[name]} <= {*ENUMS, *LEFT_OUT}
        assert all(set(ENUMS[name]) <= set(known[name]["enum"]) for name in set(known) & set(ENUMS))
    assert set(sections["privacy_loss"]["properties"]["privacy_parameters"]["properties"]) == set(PARAMETERS)
    for name in ("status", "tier"):
        assert set(ENUMS[name]) <= set(registry_schema["properties"][name]["enum"])


@each_folder
def test_a_record_has_every_field_but_those_of_the_publisher(folders: dict[str, Files], name: str) -> None:
    read = record(folders[name])["deployment"]
    for section, fields in FIELDS.items():
        assert set(read[section]) == set(fields.replace("!", "").split()) - LEFT_OUT, section
        assert all(read[section].values()), section


@each_folder
def test_what_the_publisher_has_to_add_is_named_at_the_top(folders: dict[str, Files], name: str) -> None:
    head = written(metadata.REGISTRY, folders[name]).partition("url_slug")[0]
    assert all(line.startswith("# ") for line in head.splitlines())
    assert all(field in head for field in LEFT_OUT | {"data_product_region", "Government", "registry_authors"})
    assert ("data_curators" in head) is ("contributors" not in folders[name][1])


def test_what_is_required_and_not_stated_is_not_guessed() -> None:
    silent, *_, told = every_kind()
    fields = ("data_curators", "data_product_region")
    assert [record(silent)["deployment"]["basic"][name] for name in fields] == [["Not stated"], "Not stated"]
    assert [record(told)["deployment"]["basic"][name] for name in fields] == [["City Transport"], "Port Vesper"]
    assert "Nonprofit" in record(told)["deployment"]["administrative"]["notes"]
    assert "Nonprofit" not in json.dumps(record(silent))
    head = written(metadata.REGISTRY, told).partition("url_slug")[0]
    assert not any(field in head for field in ("Nonprofit", *fields))


def test_the_loss_is_that_of_the_manifest(folders: dict[str, Files]) -> None:
    for name in NAMES:
        stated, _ = folders[name]
        loss = record(folders[name])["deployment"]["privacy_loss"]
        assert loss["privacy_parameters"]["epsilon"] == stated["epsilon"]
        assert loss["privacy_parameters"].get("delta", 0) == stated["delta"]
        details = loss["privacy_parameters_details"]
        for each in metadata.worded(stated)["guarantees"]:
            sentence = f"With {each['meaning']} ({each['neighbours']}): epsilon = "
            assert (
                f"(exactly {each['exact']['epsilon']} and {each['exact']['delta']})" in details.partition(sentence)[2]
            )


def test_the_curve_is_stated_with_its_neighbours(folders: dict[str, Files]) -> None:
    for name in NAMES:
        curve = folders[name][0]["curve"]
        details = record(folders[name])["deployment"]["privacy_loss"]["privacy_parameters_details"]
        line = next(line for line in details.splitlines() if line.startswith("- The privacy curve"))
        assert f"({curve['neighbours']})" in line
        assert all(f"({point['epsilon']}, {point['delta']})" in line for point in curve["points"])


def test_rho_is_that_of_the_manifest_and_only_with_gaussian_noise(folders: dict[str, Files]) -> None:
    for name in NAMES:
        part = folders[name][0]["gaussian"]
        loss = record(folders[name])["deployment"]["privacy_loss"]
        assert (part is None) is (name != "total")
        assert loss["privacy_parameters"].get("rho") == (part and part["rho"])
        assert ("rho" in loss["privacy_parameters_details"]) is (part is not None)
        for figure in (part["mu"], part["delta_singletons"], part["exact"]["mu_squared"]) if part else ():
            assert str(figure) in loss["privacy_parameters_details"]


def test_only_a_delta_of_nothing_is_called_pure(folders: dict[str, Files]) -> None:
    variants = {name: record(folders[name])["deployment"]["dp_variant"]["variant_name"] for name in NAMES}
    assert variants.pop("dictionary") == "Pure DP"
    assert set(variants.values()) == {"Approximate DP"}


def test_every_table_has_its_noise(folders: dict[str, Files]) -> None:
    for name in NAMES:
        table = metadata.worded(folders[name][0])["tables"][0]
        line = record(folders[name])["deployment"]["implementation"]["mechanisms"].splitlines()[0]
        assert line.startswith("- on_time (mode × date × tap_on_time): ")
        assert f"{table['noise']}; scale {table['scale']}, threshold {table['threshold']}," in line


def test_the_unit_and_its_bounds_are_said(folders: dict[str, Files]) -> None:
    trip, card = (record(folders[name])["deployment"]["privacy_loss"] for name in ("plain", "card"))
    assert (trip["privacy_unit"], card["privacy_unit"]) == ("Trip", "Card")
    assert "At most 3 trips of a card in total" in card["privacy_unit_details"]
    assert "A unit is in at most 3 cells of a table." in card["privacy_unit_details"]
    assert "A trip without a card is dropped" in card["privacy_unit_details"]
    assert "At most" not in trip["privacy_unit_details"]
    assert "all trips of any one card" in trip["privacy_parameters_details"]  # what a trip's promise is worth for it
    assert "40 trips" not in card["privacy_parameters_details"]


def test_what_is_not_protected_is_listed(folders: dict[str, Files]) -> None:
    def unprotected(name: str) -> str:
        text: str = record(folders[name])["deployment"]["dp_variant"]["unprotected_quantities"]
        return text

    assert "Days covered: no limit was set" in unprotected("plain")
    assert "Days covered: 2016-08-08 to 2016-08-21" in unprotected("covered")
    assert 'Modes covered: "bus", "train".' in unprotected("covered")
    assert "list of cells" in unprotected("dictionary")
    assert "areas.geojson" in unprotected("dictionary")
    assert "areas.geojson" not in unprotected("plain")
    assert folders["plain"][0]["plan_sha256"] in unprotected("plain")
    assert 'Stops are published as "stop"' in unprotected("hostile")


def test_what_was_given_up_before_counting_is_said_for_each_table(folders: dict[str, Files]) -> None:
    def given_up(name: str) -> list[str]:
        text: str = record(folders[name])["deployment"]["implementation"]["preprocessing_and_hyperparameter_tuning"]
        return text.splitlines()

    assert given_up("plain")[0] == "- Times are the starts of 15-minute bins. A day starts at 00:00."
    coarse = 'parts of the day that start at 06:00, 19:00 and areas "zone"'
    assert f"- Table on_time is coarser: {coarse}." in given_up("coarse")
    assert not any("coarser" in line for line in given_up("plain"))
    stated, described = folders["plain"]
    timeless = record(({**stated, "columns": {"mode": "label"}}, described))
    assert "bins" not in timeless["deployment"]["dp_variant"]["unprotected_quantities"]


def test_post_processing_is_what_the_package_has_beside_its_data(folders: dict[str, Files]) -> None:
    plain, derived = (
        record(folders[name])["deployment"]["accounting"]["post_processing"] for name in ("plain", "derived")
    )
    assert plain.startswith("- None")
    assert "`consistent/`, `finest/`, `synthetic/`" in derived
    assert "`low`, `high`" in derived
    assert "None" not in derived


def test_the_ledger_is_named_or_said_to_be_missing(folders: dict[str, Files]) -> None:
    model = {name: record(folders[name])["deployment"]["deployment_model"] for name in ("plain", "covered")}
    assert "Not recorded in a ledger" in model["plain"]["release_type_details"]
    assert f"Recorded in a ledger, in the entry with the hash {'0f' * 32}." in model["covered"]["release_type_details"]


@each_text
def test_the_number_of_a_ledger_entry_is_not_told(folders: dict[str, Files], text: str) -> None:
    """It counts releases that were stopped: were it in a manifest, it would still be in none of these."""
    stated, described = folders["covered"]
    numbered = {**stated, "ledger": {**stated["ledger"], "number": 987654}}
    assert written(text, (numbered, described)) == written(text, (stated, described))


@pytest.mark.parametrize(
    ("looked", "said"),
    [
        (True, "were chosen after looking at the trips. The privacy loss does not account for that."),
        (False, "were chosen without looking at the trips, as the publisher states."),
        (None, "looking at the trips. If they were, the privacy loss does not account for that."),
    ],
)
def test_whether_the_plan_was_made_by_looking_is_said(
    folders: dict[str, Files], looked: bool | None, said: str
) -> None:
    stated, described = folders["plain"]
    read = record(({**stated, "looked_at_trips": looked}, described))["deployment"]["implementation"]
    *_, last = read["preprocessing_and_hyperparameter_tuning"].splitlines()
    assert last.endswith(said)
    assert "depends on the trips" not in json.dumps(read)


def test_a_plan_that_was_chosen_from_a_release_names_it(folders: dict[str, Files]) -> None:
    stated, described = folders["plain"]
    read = record(({**stated, "chosen_from": "ef" * 16}, described))["deployment"]["implementation"]
    assert "ef" * 16 in read["preprocessing_and_hyperparameter_tuning"]


# --- YAML ---------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LINES = st.text(" \n\t\\\"'-:#ab", max_size=12)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@given(TEXTS | LINES, NUMBERS)
def test_yaml_is_read_as_it_was_meant(text: str, number: float) -> None:
    read = yaml.safe_load(f"text:\n  - {yaml_string(text, 6)}\nnumber: {yaml_number(number)}\n")
    assert read == {"text": [text], "number": number}
    assert type(read["number"]) is type(number)  # 1 is not 1.0


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "y", "null", "~", "1e-7", "0x1f", "2016-08-08", "1:30", ""])
def test_yaml_takes_no_word_for_something_else(word: str) -> None:
    assert yaml.safe_load(yaml_string(word)) == word


def test_yaml_has_no_number_that_is_none() -> None:
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not finite"):
            yaml_number(number)


# --- Croissant ----------------------------------------------------------------------------------------------------


@each_folder
def test_croissant_has_a_file_and_a_record_set_for_each_table(folders: dict[str, Files], name: str) -> None:
    _, described = folders[name]
    read = croissant(folders[name])
    assert read["conformsTo"][0] == "http://mlcommons.org/croissant/1.0"
    for table, listed, records in zip(described["resources"], read["distribution"], read["recordSet"], strict=True):
        assert listed["contentUrl"] == table["path"]
        assert listed["contentSize"] == "708 B"
        assert f"sha256:{listed['sha256']}" == table["hash"]
        assert [each["name"] for each in records["field"]] == [each["name"] for each in table["schema"]["fields"]]
        assert all(each["source"]["fileObject"]["@id"] == listed["@id"] for each in records["field"])
        keys = [f"{table['name']}/{key}" for key in table["schema"].get("primaryKey", [])]
        assert [each["@id"] for each in records.get("key", [])] == keys
    ids = [each["@id"] for each in with_ids(read) if "@type" in each]
    assert len(set(ids)) == len(ids)


def with_ids(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict) and "@id" in node:
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from with_ids(inner)


def test_croissant_types_follow_the_package(folders: dict[str, Files]) -> None:
    fields = croissant(folders["derived"])["recordSet"][1]["field"]
    types = {each["name"]: each["dataType"] for each in fields}
    assert (types["mode"], types["date"]) == ("sc:Text", "sc:Date")
    assert {types[name] for name in ("count", "low", "high", "total")} == {"sc:Integer"}


def test_what_is_not_known_is_left_out(folders: dict[str, Files]) -> None:
    assert not {"license", "creator", "publisher", "temporalCoverage"} & set(croissant(folders["plain"]))
    assert not {"dct:license", "dct:publisher", "dct:temporal"} & set(dcat(folders["plain"]))


def test_a_licence_is_an_address_where_its_name_tells(folders: dict[str, Files]) -> None:
    assert croissant(folders["covered"])["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert croissant(folders["card"])["license"] == "our own terms"
    stated = folders["plain"][0]
    for licence, known in (("https://city.example/terms?v=2", True), ("https://a.example/<b>", False)):
        described = dcat((stated, package(**signed_off(licence=licence))))
        assert ("@id" in described["dct:license"]) is known


@each_folder
def test_mlcroissant_finds_nothing_wrong(
    folders: dict[str, Files], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    path = tmp_path / metadata.CROISSANT
    path.write_text(written(metadata.CROISSANT, folders[name]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    read = mlcroissant.Dataset(jsonld=path).metadata
    assert not read.ctx.issues.errors
    missing = set() if "licenses" in folders[name][1] else {"license"}
    assert {
        word for word in ("license", "version", "citeAs", "date") if word in str(read.ctx.issues.warnings)
    } == missing
    assert [each.id for each in read.record_sets] == [each["name"] for each in folders[name][1]["resources"]]


# --- DCAT ---------------------------------------------------------------------------------------------------------


@each_folder
def test_dcat_has_a_distribution_for_each_file(folders: dict[str, Files], name: str) -> None:
    _, described = folders[name]
    files = [each for table in described["resources"] for each in (table, *table.get("alternates", ()))]
    read = dcat(folders[name])
    assert read["@type"] == "dcat:Dataset"
    assert all(isinstance(address, str) for address in read["@context"].values())  # nothing to be fetched
    for listed, expected in zip(read["dcat:distribution"], files, strict=True):
        assert listed["dcat:accessURL"] == listed["dcat:downloadURL"] == {"@id": expected["path"]}
        assert listed["dcat:mediaType"]["@id"].endswith(f"/{expected['mediatype']}")
        assert listed["dcat:byteSize"]["@value"] == "708"
        assert f"sha256:{listed['spdx:checksum']['spdx:checksumValue']['@value']}" == expected["hash"]
        assert listed.get("dct:license") == read.get("dct:license")


def test_dcat_says_when_and_under_which_promise(folders: dict[str, Files]) -> None:
    read = dcat(folders["covered"])
    days = [read["dct:temporal"][f"dcat:{end}Date"]["@value"] for end in ("start", "end")]
    assert days == ["2016-08-08", "2016-08-21"]
    assert "epsilon = 1, delta = 1.25e-7, for any one trip replaced" in read["dct:provenance"]["rdfs:label"]
    assert read["dct:issued"]["@value"] == TODAY.isoformat()
    assert read["dct:identifier"] == "ab" * 16
    assert {"bus", "train", "differential privacy"} <= set(read["dcat:keyword"])


@each_folder
def test_dcat_is_a_graph(folders: dict[str, Files], name: str) -> None:
    rdflib = pytest.importorskip("rdflib")
    base = "https://data.example/trips/dcat.jsonld"
    graph = rdflib.Graph().parse(data=written(metadata.DCAT, folders[name]), format="json-ld", publicID=base)
    dataset = rdflib.URIRef("https://data.example/trips/")
    titles = list(graph.objects(dataset, rdflib.DCTERMS.title))
    assert [str(title) for title in titles] == [folders[name][0]["title"]]
    downloads = {str(each) for each in graph.objects(None, rdflib.DCAT.downloadURL)}
    assert "https://data.example/trips/" + folders[name][1]["resources"][0]["path"] in downloads
    graph.serialize(format="nt")  # refuses an address that is none
