"""Names of columns and values in many languages: what they say."""

from __future__ import annotations

import pytest

from tapveil.trips import words

ENDS = {
    "en": ("Entry Station", "Exit Station"),
    "zh": ("进站名称", "出站名称"),
    "zh-Hant": ("進站", "出站"),
    "ja": ("乗車駅", "降車駅"),
    "ko": ("승차역", "하차역"),
    "es": ("Parada de subida", "Parada de bajada"),
    "pt": ("Estação de embarque", "Estação de desembarque"),
    "fr": ("Arrêt de montée", "Arrêt de descente"),
    "de": ("Einstiegshaltestelle", "Ausstiegshaltestelle"),
    "ru": ("Станция входа", "Станция выхода"),
    "tr": ("Biniş durağı", "İniş durağı"),
    "it": ("Stazione di entrata", "Stazione di uscita"),
    "nl": ("Instaphalte", "Uitstaphalte"),
}


@pytest.mark.parametrize("language", ENDS)
def test_start_and_end_are_known_and_never_mistaken(language: str) -> None:
    start, end = ENDS[language]
    assert words.concepts(start) & {"start", "end", "place"} == {"start", "place"}
    assert words.concepts(end) & {"start", "end", "place"} == {"end", "place"}


@pytest.mark.parametrize(
    ("on", "off"), [("IN", "OUT"), ("Check-In", "Check-Out"), ("入站", "出站"), ("Montée", "Descente")]
)
def test_values_mean_on_or_off(on: str, off: str) -> None:
    assert words.said(on) in words.values("on")
    assert words.said(off) in words.values("off")


def test_no_value_means_both() -> None:
    assert not words.values("on") & words.values("off")
    assert not (words.values("on") | words.values("off")) & words.values("bound")


def test_a_word_of_one_language_is_not_that_of_another() -> None:
    """`Tag` is a day in German, and a tap in English."""
    assert words.concepts("TagOnLocationName") == {"start", "place", "name"}
    assert "day" in words.concepts("Verkehrstag")


def test_a_settlement_date_is_one_of_the_books() -> None:
    for name in ("Posting Date", "close_date", "结算日期", "fecha_liquidacion", "Buchungsdatum"):
        assert {"settled", "day"} <= words.concepts(name), name
