"""The leak guard: cards never leave, whatever columns were mixed up."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tapveil
from tapveil.base.errors import TripDataError
from tapveil.ledger.book import Ledger
from tapveil.ledger.entry import Spend
from tests.conftest import opal_plan, start_ledger, write_csv

CARDS = {"numbers": "30852200{n:08}", "hashes": "{n:064x}", "short": "{n}"}


@pytest.mark.parametrize("kind", CARDS)
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_a_column_mixed_up_with_the_cards_stops_the_release(kind: str, file_format: str, tmp_path: Path) -> None:
    cards = [CARDS[kind].format(n=n % 40) for n in range(8000)]
    columns = ["card_id", "trip_date", "mode", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"]
    rows = [(card, "2016-08-08", "train", "08:00", card, "08:30", "Central") for card in cards]
    if file_format == "csv":
        write_csv(tmp_path / "trips.csv", rows, columns)
    else:
        pq.write_table(pa.table(dict(zip(columns, zip(*rows, strict=True), strict=True))), tmp_path / "trips.parquet")
    plan = opal_plan(tmp_path, f"trips.{file_format}", **{"# card =": "card ="})
    start_ledger(plan)
    with pytest.raises(TripDataError, match=r"^column `tap_on_location`: contains values that are card IDs") as caught:
        tapveil.release(plan, tmp_path / "published")
    assert not list(tmp_path.glob("*published*"))
    with Ledger.open(plan.ledger_path) as ledger:
        assert not [entry for entry in ledger.entries if isinstance(entry, Spend)], "it is found before it is paid for"
    assert not any(card in str(caught.value) for card in set(cards) if len(card) > 3)


def test_stops_that_happen_to_be_cards_do_not_stop_it(tmp_path: Path) -> None:
    """Small numbers of cards and stops coincide by chance."""
    rows = [(str(n), "2016-08-08", "train", "08:00", ["17", "Central", "Quay"][n % 3], "", "") for n in range(3000)]
    write_csv(tmp_path / "trips.csv", rows)
    plan = opal_plan(tmp_path, **{"# card =": "card ="})
    assert tapveil.release(plan, tmp_path / "published", in_ledger=False).path.exists()


@pytest.mark.parametrize("card", ["3085220000001234", "3085-2200-1234", "a1b2c3d4"])
def test_a_card_within_a_name_is_found(card: str, tmp_path: Path) -> None:
    rows = [(card, "2016-08-08", "train", "08:00", f"Card {card} kiosk", "", "")] * 500
    write_csv(tmp_path / "trips.csv", rows)
    with pytest.raises(
        TripDataError, match=r"data/on_location.parquet, column `tap_on_location`: contains values that are card IDs"
    ):
        tapveil.release(opal_plan(tmp_path, **{"# card =": "card ="}), tmp_path / "published", in_ledger=False)


def test_cards_in_place_of_stops_are_found_by_their_looks(tmp_path: Path) -> None:
    """Both columns mixed up: the trips then know no such card."""
    rows = [("Central", "2016-08-08", "train", "08:00", f"30852200{n % 5:08}", "", "") for n in range(1000)]
    write_csv(tmp_path / "trips.csv", rows)
    with pytest.raises(TripDataError, match="card numbers"):
        tapveil.release(opal_plan(tmp_path, **{"# card =": "card ="}), tmp_path / "published", in_ledger=False)


def test_days_that_are_labels_are_looked_at_too(tmp_path: Path) -> None:
    rows = [("x", f"30852200{n % 3:08}", "train", "08:00", "Central", "", "") for n in range(1000)]
    write_csv(tmp_path / "trips.csv", rows)
    plan = opal_plan(tmp_path, **{"# dates =": "dates ="})
    with pytest.raises(TripDataError, match="column `date`: its values look like card numbers"):
        tapveil.release(plan, tmp_path / "published", in_ledger=False)


def test_what_follows_from_the_plan_is_not_taken_for_a_card(tmp_path: Path) -> None:
    """The preset's own delta, 1/8000000, and the days of the Opal layout, 20160808, may be card numbers, too."""
    cards = ["8000000", "20160808", "34176353"]
    rows = [(cards[n % 3], "2016-08-08", "train", "08:00", "Central", "", "") for n in range(1000)]
    write_csv(tmp_path / "trips.csv", rows)
    plan = opal_plan(tmp_path, **{"# card =": "card =", "# layout": "layout"})
    assert tapveil.release(plan, tmp_path / "published", in_ledger=False).path.exists()
