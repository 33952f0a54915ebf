"""Which encodings of other scripts are proposed."""

from __future__ import annotations

import pytest

from tapveil.base.defaults import Encoding
from tapveil.trips.csv_reader import CODECS
from tapveil.trips.encodings import LANGUAGES, likely

TEXTS: dict[Encoding, list[str]] = {
    "gb18030": [
        "卡号,交易时间,站点,进出站",
        "1001,2025-03-03 08:01,人民广场,进站",
        "1002,2025-03-03 08:11,徐家汇,出站",
    ],
    "big5": ["卡號,交易時間,車站,進出站", "1,2025-03-03,臺北車站,進站", "2,2025-03-03,忠孝復興,出站"],
    "shift-jis": ["カード番号,乗車時刻,駅名,区分", "1,08:01,新宿,入場", "2,08:11,渋谷,出場"],
    "euc-kr": ["카드번호,승차시간,승차역,하차역", "1,08:01,서울역,강남", "2,08:11,시청,종로3가"],
    "windows-1251": ["карта;время;станция;вход", "1;08:01;Площадь Революции;вход", "2;08:11;Охотный Ряд;выход"],
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_an_export_is_recognised_also_by_its_rows_alone(encoding: Encoding) -> None:
    lines = [text.encode(CODECS[encoding]) for text in TEXTS[encoding]]
    assert likely(lines)[0] == encoding
    assert likely(lines[1:])[0] == encoding
    assert encoding in LANGUAGES


@pytest.mark.parametrize("codec", ["koi8-r", "iso8859-5"])
def test_another_encoding_of_the_same_letters_is_not_proposed(codec: str) -> None:
    assert likely([text.encode(codec) for text in TEXTS["windows-1251"]]) == []


@pytest.mark.parametrize(
    ("codec", "text"),
    [("cp874", "สถานี,หมอชิต,สยาม"), ("cp1253", "σταθμός,Σύνταγμα,Ομόνοια"), ("cp1256", "محطة,القاهرة")],
)
def test_scripts_that_are_not_known_are_not_taken_for_others(codec: str, text: str) -> None:
    assert likely([text.encode(codec)]) == []


def test_a_few_broken_lines_do_not_matter_and_many_do() -> None:
    lines = [text.encode("gb18030") for text in TEXTS["gb18030"]] * 100
    assert likely([*lines, b"\xff\xff"])[0] == "gb18030"
    assert "gb18030" not in likely([*lines, *[b"\xff\xff"] * 10])


def test_plain_text_says_nothing() -> None:
    assert likely([b"card,time,stop"]) == []
