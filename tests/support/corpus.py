"""A corpus of exports as agencies and vendors make them, each with its truth: what a row is, and which column is which.

All of it is generated, after shapes that are in circulation, in many languages; no row is anybody's.
"""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support import exports

Row = Sequence[object]
Make = Callable[[Path], Path]
ROWS = 2000
FIRST = date(2025, 3, 3)
DAYS = 14


@dataclass(frozen=True)
class Ride:
    """One generated trip."""

    card: str
    on: datetime
    off: datetime
    origin: int
    destination: int
    chance: random.Random


@dataclass(frozen=True)
class Truth:
    """What an export is."""

    make: Make
    shape: str
    columns: Mapping[str, str]
    """Ours and theirs: no other may be taken for these."""
    formats: Mapping[str, str] = field(default_factory=dict)
    asks: frozenset[str] = frozenset()
    """The questions that only who knows the export can answer."""
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    width: int = 60
    labels: bool = False
    service: bool = False
    refused: str = ""
    """What is said where it cannot be read at all."""
    unit: str = "trip"
    cannot_be_counted: bool = False
    """Whether no answer is enough: the files lack something."""


def rides(seed: int, rows: int = ROWS, *, places: int = 12) -> Iterator[Ride]:
    chance = random.Random(seed)
    for _ in range(rows):
        day = datetime.combine(FIRST + timedelta(days=chance.randrange(DAYS)), datetime.min.time())
        peak = chance.choice([465, 480, 500, 720, 1020, 1050, 1080])
        on = day + timedelta(minutes=max(300, peak + round(chance.gauss(0, 70))), seconds=chance.randrange(60))
        card = f"{chance.randrange(400):010d}"
        origin, destination = chance.sample(range(places), 2)
        yield Ride(card, on, on + timedelta(minutes=4 + chance.randrange(50)), origin, destination, chance)


def write(
    path: Path, header: str, rows: Sequence[Row], *, delimiter: str = ",", encoding: str = "utf-8", first: str = ""
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline="") as file:
        file.write(first)
        csv.writer(file, delimiter=delimiter).writerows([header.split(delimiter), *rows] if header else rows)
    return path


def hours(
    seed: int, places: Sequence[str], *, every: int = 60, days: int = 5
) -> Iterator[tuple[datetime, str, str, int]]:
    """Counts by hour, or by less, and pair of places; no pair twice."""
    chance = random.Random(seed)
    for day in range(days):
        for minute in range(300, 1440, every):
            for origin in places:
                for destination in places:
                    if chance.random() < 0.5:
                        at = datetime.combine(FIRST + timedelta(days=day), datetime.min.time())
                        yield at + timedelta(minutes=minute), origin, destination, chance.randrange(1, 90)


ENGLISH = [f"{name} Street" for name in "Elm Oak Ash Fig Bay Fir Ivy Yew Box Gum Tea Sal".split()]
GERMAN = [
    f"{name}straße"
    for name in "Ahorn Birken Eichen Linden Buchen Tannen Ulmen Erlen Eschen Weiden Pappel Kiefer".split()
]
CHINESE = [
    f"{name}站"
    for name in "人民广场 徐家汇 陆家嘴 虹桥 静安寺 南京东路 中山公园 世纪大道 龙阳路 莘庄 宜山路 新天地".split()
]
TAIPEI = "松山機場 中山國中 南京復興 忠孝復興 大安 科技大樓 六張犁 麟光 辛亥 萬芳醫院".split()
JAPANESE = "新宿 渋谷 池袋 上野 東京 品川 秋葉原 新橋 恵比寿 目黒 大崎 田町".split()
KOREAN = "강남 역삼 선릉 삼성 잠실 신촌 홍대입구 합정 당산 사당 교대 서초".split()
SPANISH = "Plaza Mayor|Sol|Atocha|Retiro|Callao|Ópera|Goya|Lima|Pirámides|Tirso|Banco|Sevilla".split("|")
PORTUGUESE = "Sé|Luz|Paulista|Consolação|Brás|Tatuapé|República|Anhangabaú|Liberdade|Vergueiro|Paraíso|Saúde".split("|")
FRENCH = "Châtelet|Nation|Bercy|Étoile|Opéra|Odéon|Cité|Dupleix|Passy|Alésia|Pigalle|Anvers".split("|")
RUSSIAN = (
    "Арбатская Киевская Таганская Курская Чистые Динамо Сокол Аэропорт Войковская Беляево Калужская Профсоюзная".split()
)
TURKISH = "Taksim Şişhane Levent Osmanbey Gayrettepe Kadıköy Üsküdar Maltepe Kartal Bostancı Göztepe Ayrılık".split()
ITALIAN = "Duomo|Cordusio|Cairoli|Cadorna|Loreto|Lima|Palestro|Porta Venezia|Crocetta|Missori|Lodi|Brenta".split("|")
DUTCH = "Utrecht Amersfoort Zwolle Leiden Delft Gouda Breda Tilburg Eindhoven Venlo Assen Hengelo".split()


# --- trips ------------------------------------------------------------------------------------------------------------


def german(folder: Path) -> Path:
    header = "Karten-Nr.;Verkehrsmittel;Einstiegszeit;Einstiegshaltestelle;Ausstiegszeit;Ausstiegshaltestelle;Tarifzone"
    rows = [
        (
            r.card,
            "U-Bahn",
            f"{r.on:%d.%m.%Y %H:%M}",
            GERMAN[r.origin],
            f"{r.off:%d.%m.%Y %H:%M}",
            GERMAN[r.destination],
            "A",
        )
        for r in rides(1)
    ]
    return write(folder / "fahrten.csv", header, rows, delimiter=";", encoding="windows-1252", first="sep=;\r\n")


def dutch(folder: Path) -> Path:
    """As the card's own site gives it: a date, and clocks that are called check-in and check-out."""
    header = "Datum;Check-in;Vertrek;Check-uit;Bestemming;Bedrag;Klasse;Kaartnummer"
    rows = [
        (
            f"{r.on:%d-%m-%Y}",
            f"{r.on:%H:%M}",
            DUTCH[r.origin],
            f"{r.off:%H:%M}",
            DUTCH[r.destination],
            "2,40",
            "2",
            r.card,
        )
        for r in rides(2)
    ]
    return write(folder / "transacties.csv", header, rows, delimiter=";")


def korean(folder: Path) -> Path:
    header = "카드번호,교통수단,승차일시,승차정류장,하차일시,하차정류장,이용금액"
    rows = [
        (
            r.card,
            "지하철",
            f"{r.on:%Y%m%d%H%M%S}",
            KOREAN[r.origin],
            f"{r.off:%Y%m%d%H%M%S}",
            KOREAN[r.destination],
            1250,
        )
        for r in rides(3)
    ]
    return write(folder / "seoul.csv", header, rows)


def japanese(folder: Path) -> Path:
    columns: dict[str, list[Any]] = {"カードID": [], "乗車日時": [], "乗車駅": [], "降車日時": [], "降車駅": []}
    for r in rides(4):
        for name, value in zip(
            columns, (r.card, r.on, JAPANESE[r.origin], r.off, JAPANESE[r.destination]), strict=True
        ):
            columns[name].append(value)
    pq.write_table(pa.table(columns), folder / "jikken.parquet")
    return folder / "jikken.parquet"


def russian(folder: Path) -> Path:
    header = "Номер карты;Дата;Время входа;Станция входа;Время выхода;Станция выхода"
    rows = [
        (r.card, f"{r.on:%d.%m.%Y}", f"{r.on:%H:%M:%S}", RUSSIAN[r.origin], f"{r.off:%H:%M:%S}", RUSSIAN[r.destination])
        for r in rides(5)
    ]
    return write(folder / "поездки.csv", header, rows, delimiter=";")


def turkish(folder: Path) -> Path:
    """Milliseconds since 1970: whose clock they stand for, nobody can guess."""
    header = "kart_no,biniş_zamanı,biniş_durağı,iniş_zamanı,iniş_durağı"

    def stamp(moment: datetime) -> int:
        return int(moment.replace(tzinfo=ZoneInfo("Europe/Istanbul")).timestamp() * 1000)

    rows = [(r.card, stamp(r.on), TURKISH[r.origin], stamp(r.off), TURKISH[r.destination]) for r in rides(6)]
    return write(folder / "binisler.csv", header, rows)


def italian(folder: Path) -> Path:
    header = "Tessera|Data Ora Entrata|Stazione Entrata|Data Ora Uscita|Stazione Uscita"
    rows = [
        (r.card, f"{r.on:%d/%m/%Y %H:%M}", ITALIAN[r.origin], f"{r.off:%d/%m/%Y %H:%M}", ITALIAN[r.destination])
        for r in rides(7)
    ]
    return write(folder / "viaggi.txt", header, rows, delimiter="|")


def portuguese(folder: Path) -> Path:
    """Buses: who boards is known, who alights is not; ISO weeks."""
    header = "Data;Hora;Linha;Cartão;Ponto de Embarque;Tarifa"
    rows = [
        (f"{r.on:%G-W%V-%u}", f"{r.on:%Hh%M}", f"{r.origin}10", r.card, PORTUGUESE[r.origin], "4,40") for r in rides(8)
    ]
    return write(folder / "bilhetagem.csv", header, rows, delimiter=";")


def spanish_workbook(folder: Path) -> Path:
    """A workbook whose second sheet has the trips."""
    from tests.support.workbook import write_workbook

    header = ["Tarjeta", "Fecha", "Hora subida", "Parada subida", "Hora bajada", "Parada bajada"]
    rows = [
        [r.card, r.on.date(), f"{r.on:%H:%M}", SPANISH[r.origin], f"{r.off:%H:%M}", SPANISH[r.destination]]
        for r in rides(9)
    ]
    return write_workbook(folder / "viajes.xlsx", {"Notas": [["Exportado por el sistema"]], "Viajes": [header, *rows]})


def unnamed_ends(folder: Path) -> Path:
    """Which time is the first, only the rows tell; the places are called like their times."""
    header = "member_id,time_b,time_a,stop_b,stop_a"
    rows = [
        (r.card, f"{r.off:%Y-%m-%d %H:%M}", f"{r.on:%Y-%m-%d %H:%M}", ENGLISH[r.destination], ENGLISH[r.origin])
        for r in rides(10)
    ]
    return write(folder / "journeys.csv", header, rows)


def settlement(folder: Path) -> Path:
    """A date of the books that is another than that of the trip."""
    header = "Posting Date,Business Date,Card Number,Entry Date Time,Entry Station,Exit Date Time,Exit Station"
    rows = []
    for r in rides(11):
        books = r.on.date() + timedelta(days=r.chance.randrange(1, 4))
        moments = [f"{each:%m/%d/%Y %I:%M:%S %p}" for each in (r.on, r.off)]
        rows.append((books, books, r.card, moments[0], ENGLISH[r.origin], moments[1], ENGLISH[r.destination]))
    return write(folder / "afc.csv", header, rows)


def partitioned(folder: Path) -> Path:
    """A folder for each day, as Hive and Spark name them, and a file of another kind among them."""
    days: dict[str, list[Ride]] = {}
    for r in rides(12, 3000):
        days.setdefault(f"{r.on:%Y-%m-%d}", []).append(r)
    for day, some in days.items():
        target = folder / "lake" / f"dt={day}" / "part-00000.parquet"
        target.parent.mkdir(parents=True)
        table = {
            "rider_token": [r.card for r in some],
            "board_time": pa.array([r.on for r in some], pa.timestamp("us")),
            "board_stop_name": [ENGLISH[r.origin] for r in some],
            "alight_time": pa.array([r.off for r in some], pa.timestamp("us")),
            "alight_stop_name": [ENGLISH[r.destination] for r in some],
        }
        pq.write_table(pa.table(table), target)
    (folder / "lake" / "_SUCCESS").write_text("")
    return folder / "lake"


def clocks_as_numbers(folder: Path) -> Path:
    """731 is 07:31."""
    header = "SmartcardID,TripDate,StartTime,StartStop,EndTime,EndStop"
    rows = [
        (r.card, f"{r.on:%Y%m%d}", int(f"{r.on:%H%M}"), ENGLISH[r.origin], int(f"{r.off:%H%M}"), ENGLISH[r.destination])
        for r in rides(13)
    ]
    return write(folder / "trips_20250303_20250316.csv", header, rows)


def american_bikes(folder: Path) -> Path:
    header = (
        "tripduration,starttime,stoptime,start station id,start station name,end station id,end station name,bikeid"
    )
    rows = [
        ((r.off - r.on).seconds, f"{r.on:%m/%d/%Y %H:%M}", f"{r.off:%m/%d/%Y %H:%M}", 300 + r.origin, ENGLISH[r.origin],
         300 + r.destination, ENGLISH[r.destination], 15000 + r.chance.randrange(300))
        for r in rides(14)
    ]  # fmt: skip
    return write(folder / "202503-tripdata.csv", header, rows)


def after_midnight(folder: Path) -> Path:
    """Service days: what begins after midnight has the date of the day before."""
    header = "service_date,card_hash,mode,tap_on_datetime,tap_on_stop,tap_off_datetime,tap_off_stop"
    rows = []
    for r in rides(15):
        late = timedelta(hours=13) if r.on.hour >= 11 and r.chance.random() < 0.2 else timedelta()
        on, off = r.on + late, r.off + late
        day = (on - timedelta(hours=4)).date()
        rows.append(
            (
                day,
                f"{int(r.card):032x}",
                r.chance.choice(["bus", "tram"]),
                on,
                ENGLISH[r.origin],
                off,
                ENGLISH[r.destination],
            )
        )
    return write(folder / "linked.csv", header, rows)


# --- taps -------------------------------------------------------------------------------------------------------------


def _taps(seed: int) -> Iterator[tuple[Ride, bool, datetime, int]]:
    taps = [
        (r, on, r.on if on else r.off, r.origin if on else r.destination) for r in rides(seed) for on in (True, False)
    ]
    return iter(sorted(taps, key=lambda tap: tap[2]))


def hangzhou(folder: Path) -> Path:
    """0 and 1: which is which, nobody can know."""
    rows = [
        (f"{at:%Y-%m-%d %H:%M:%S}", "B", place, 1000 + place, int(on), f"B{r.card}", 1)
        for r, on, at, place in _taps(20)
    ]
    return write(folder / "record_2025-03-03.csv", "time,lineID,stationID,deviceID,status,userID,payType", rows)


def shenzhen(folder: Path) -> Path:
    """The settlement day is another, and the type is in Chinese."""
    rows = [
        (
            r.card,
            f"{at:%Y-%m-%d %H:%M:%S}",
            "地铁入站" if on else "地铁出站",
            CHINESE[place],
            at.date() + timedelta(days=1),
            200,
        )
        for r, on, at, place in _taps(21)
    ]
    return write(folder / "szt.csv", "card_no,deal_date,deal_type,station,close_date,deal_value", rows)


def chinese_taps(folder: Path) -> Path:
    rows = [
        (r.card, f"{at:%Y/%m/%d %H:%M:%S}", CHINESE[place], "进站" if on else "出站") for r, on, at, place in _taps(22)
    ]
    path = write(folder / "刷卡.csv", "卡号,交易时间,站点名称,交易类型", rows)
    packed = path.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return packed


def chinese_taps_of_windows(folder: Path) -> Path:
    """The same, as Excel writes it on a computer set to Chinese."""
    packed = chinese_taps(folder)
    path = packed.with_suffix("")
    path.write_bytes(gzip.decompress(packed.read_bytes()).decode("utf-8-sig").encode("gb18030"))
    packed.unlink()
    return path


def french_taps(folder: Path) -> Path:
    rows = [
        (r.card, f"{at:%d/%m/%Y %H:%M}", FRENCH[place], "Montée" if on else "Descente", "bus")
        for r, on, at, place in _taps(23)
    ]
    return write(folder / "validations.csv", "id_carte;horodatage;arrêt;sens;mode", rows, delimiter=";")


def german_taps(folder: Path) -> Path:
    words = {True: "Einstieg", False: "Ausstieg"}
    columns: dict[str, list[Any]] = {"Medium": [], "Zeitpunkt": [], "Haltestelle": [], "Vorgang": []}
    for r, on, at, place in _taps(24):
        for name, value in zip(columns, (r.card, at, GERMAN[place], words[on]), strict=True):
            columns[name].append(value)
    pq.write_table(pa.table(columns), folder / "buchungen.parquet")
    return folder / "buchungen.parquet"


def zoned_taps(folder: Path) -> Path:
    """Offsets, and IN and OUT."""
    zone = ZoneInfo("America/Toronto")
    rows = [
        (r.card, at.replace(tzinfo=zone).astimezone(UTC).isoformat(), ENGLISH[place], "IN" if on else "OUT")
        for r, on, at, place in _taps(25)
    ]
    return write(folder / "presto.csv", "media_serial,event_ts,location,direction", rows)


def one_time_one_place(folder: Path) -> Path:
    """A card, a time and a place: a trip, or a tap?"""
    rows = [(r.card, f"{r.on:%Y-%m-%d %H:%M:%S}", ENGLISH[r.origin]) for r in rides(26)]
    return write(folder / "afc_2025-03.csv", "card_id,transaction_time,station_name", rows)


def taps_without_a_word(folder: Path) -> Path:
    """The same of both ends: nothing but the cards themselves tells that every trip is in two rows."""
    rows = [(r.card, f"{at:%Y-%m-%d %H:%M:%S}", ENGLISH[place]) for r, _, at, place in _taps(26)]
    return write(folder / "afc_2025-03.csv", "card_id,transaction_time,station_name", rows)


def gates_in_turn(folder: Path) -> Path:
    """Both ends, and a column that nobody would take for a word of them: `A` and `Z`."""
    rows = [
        (r.card, f"{at:%d/%m/%Y %H:%M:%S}", ENGLISH[place], "A" if on else "Z", r.chance.randrange(4))
        for r, on, at, place in _taps(61)
    ]
    return write(folder / "gates_2025-03.csv", "card_no,when,station,side,device", rows)


def taxi(folder: Path) -> Path:
    """New York: zones of pick-up and drop-off, under short names; passengers are no trips."""
    header = "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,trip_distance,RatecodeID,"
    header += "store_and_fwd_flag,PULocationID,DOLocationID,payment_type,fare_amount"
    rows = [
        (2, r.on, r.off, r.chance.randrange(1, 5), 2.1, 1, "N", 100 + r.origin, 100 + r.destination, 1, 12.5)
        for r in rides(62)
    ]
    return write(folder / "yellow_tripdata_2025-03.csv", header, rows)


def with_totals(folder: Path) -> Path:
    """Entries by hour and station, and below each day the sum of all stations."""
    chance = random.Random(68)
    rows: list[Row] = []
    for day in range(1, 8):
        of_day = [
            (f"2025-03-{day:02}", hour, stop, chance.randrange(1, 99)) for hour in range(5, 24) for stop in ENGLISH
        ]
        rows += [*of_day, (f"2025-03-{day:02}", 23, "TOTAL", sum(row[3] for row in of_day))]
    return write(folder / "entries_2025-03.csv", "date,hour,station,entries", rows)


def gdansk(folder: Path) -> Path:
    """Taps in Polish words, the day and the clock in columns of their own."""
    rows = [
        (r.card, f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}", DUTCH[place], "wejście" if on else "wyjście")
        for r, on, at, place in _taps(69)
    ]
    return write(folder / "taps_2025-03.csv", "nr karty;data;godzina;przystanek;zdarzenie", rows, delimiter=";")


def boardings_by_direction(folder: Path) -> Path:
    """São Paulo: boardings, there (I) or back (V), which is no tap on or off."""
    rows = [
        (r.card, f"{r.on:%d/%m/%Y}", f"{r.on:%H%M%S}", f"{r.origin}00-10", r.chance.choice("IV"), "5,00")
        for r in rides(70)
    ]
    header = "CD_BILHETE;DT_UTILIZACAO;HR_UTILIZACAO;CD_LINHA;SENTIDO;VL_COBRADO"
    return write(folder / "bilhetagem_2025-03.csv", header, rows, delimiter=";")


POLISH = "Marszałkowska Świętokrzyska Żoliborz Łazienki Młynów Wola Bródno Ząbki Śródmieście Mokotów Ursynów Włochy"
CZECH = "Můstek|Anděl|Náměstí Míru|Dejvická|Hradčanská|Želivského|Kačerov|Háje|Zličín|Smíchov|Vyšehrad|Letňany"


def _in_code_page(folder: Path, header: str, places: Sequence[str], encoding: str, seed: int) -> Path:
    rows = [
        (r.card, f"{r.on:%d.%m.%Y %H:%M}", places[r.origin], f"{r.off:%d.%m.%Y %H:%M}", places[r.destination])
        for r in rides(seed)
    ]
    return write(folder / "trips_2025-03.csv", header, rows, delimiter=";", encoding=encoding)


def warsaw(folder: Path) -> Path:
    header = "nr_karty;czas_wejscia;przystanek_wejscia;czas_wyjscia;przystanek_wyjscia"
    return _in_code_page(folder, header, POLISH.split(), "cp1250", 63)


def prague(folder: Path) -> Path:
    header = "číslo_karty;čas_nástupu;zastávka_nástupu;čas_výstupu;zastávka_výstupu"
    return _in_code_page(folder, header, CZECH.split("|"), "cp1250", 64)


def istanbul(folder: Path) -> Path:
    header = "Kart No;Biniş Zamanı;Biniş Durağı;İniş Zamanı;İniş Durağı"
    return _in_code_page(folder, header, TURKISH, "cp1254", 65)


def one_counter(folder: Path) -> Path:
    """Readings of a single turnstile, in order of time."""
    chance, reading = random.Random(66), 1_000_000
    rows = []
    for n in range(600):
        reading += chance.randrange(900)
        at = datetime(2025, 3, 3) + timedelta(hours=4 * n)
        rows.append(("A002", "02-00-00", "59 ST", f"{at:%m/%d/%Y}", f"{at:%H:%M:%S}", reading))
    return write(folder / "turnstile_2025-03.csv", "C/A,SCP,STATION,DATE,TIME,ENTRIES", rows)


def masked(folder: Path) -> Path:
    """Validations by day and kind of ticket, most of them masked."""
    chance = random.Random(67)
    rows = [
        (f"2025-03-{day:02}", FRENCH[stop], kind, chance.choice([chance.randrange(5, 900), *["Moins de 5"] * 2]))
        for day in range(1, 15)
        for stop in range(12)
        for kind in ("NAVIGO", "IMAGINE R", "AMETHYSTE")
    ]
    return write(folder / "validations_2025-03.csv", "JOUR;LIBELLE_ARRET;CATEGORIE_TITRE;NB_VALD", rows, delimiter=";")


def sube(folder: Path) -> Path:
    """Boardings of buses by the hour, without a place: UrbanTrips' transacciones."""
    header = "id_trx,fecha_trx,id_tarjeta_trx,modo_trx,hora_trx,id_linea_trx,interno_trx,latitud_trx,longitud_trx,"
    header += "factor_expansion"
    rows = [
        (n, f"{r.on:%d/%m/%Y}", r.card, "autobus", r.on.hour, 100 + r.origin, 7, -34.6, -58.4, 1.3)
        for n, r in enumerate(rides(27))
    ]
    return write(folder / "transacciones.csv", header, rows)


# --- counts -----------------------------------------------------------------------------------------------------------


def namma(folder: Path) -> Path:
    rows = list(hours(40, ENGLISH[:9]))
    columns = {
        "Date": [at.date() for at, *_ in rows],
        "Hour": pa.array([at.hour for at, *_ in rows], pa.int64()),
        "Origin Station": [row[1] for row in rows],
        "Destination Station": [row[2] for row in rows],
        "Ridership": [row[3] for row in rows],
    }
    pq.write_table(pa.table(columns), folder / "stationpair-hourly.parquet")
    return folder / "stationpair-hourly.parquet"


def taipei(folder: Path) -> Path:
    rows = [
        (f"{at:%Y-%m-%d}", f"{at:%H}", origin, destination, n) for at, origin, destination, n in hours(41, TAIPEI[:8])
    ]
    return write(
        folder / "臺北捷運每日分時各站OD流量統計資料_202503.csv", "日期,時段,進站,出站,人次", rows, encoding="utf-8-sig"
    )


def lta(folder: Path) -> Path:
    header = "YEAR_MONTH,DAY_TYPE,TIME_PER_HOUR,PT_TYPE,ORIGIN_PT_CODE,DESTINATION_PT_CODE,TOTAL_TRIPS"
    codes = [f"{code:05d}" for code in (1012, 1013, 1019, 1029, 1039, 1059, 1109, 1119)]
    rows = [
        ("2025-03", "WEEKDAY" if at.day % 2 else "WEEKENDS/HOLIDAY", at.hour, "BUS", origin, destination, n)
        for at, origin, destination, n in hours(42, codes, days=2)
    ]
    return write(folder / "origin_destination_bus_202503.csv", header, rows)


def lta_nodes(folder: Path) -> Path:
    header = "YEAR_MONTH,DAY_TYPE,TIME_PER_HOUR,PT_TYPE,PT_CODE,TOTAL_TAP_IN_VOLUME,TOTAL_TAP_OUT_VOLUME"
    chance = random.Random(43)
    rows = [
        ("2025-03", kind, hour, "TRAIN", f"NS{stop}", chance.randrange(1, 900), chance.randrange(1, 900))
        for kind in ("WEEKDAY", "WEEKENDS/HOLIDAY")
        for hour in range(24)
        for stop in range(1, 28)
    ]
    return write(folder / "transport_node_train_202503.csv", header, rows)


def mta(folder: Path) -> Path:
    header = (
        "transit_timestamp,transit_mode,station_complex_id,station_complex,borough,payment_method,fare_class_category,"
        "ridership,transfers,latitude,longitude,georeference"
    )
    rows = [
        (f"{at:%m/%d/%Y %I:%M:%S %p}", "subway", 100 + ENGLISH.index(o), o, "Queens", "omny", f"OMNY - {d}", n, n // 9,
         40.7, -73.9, "POINT (-73.9 40.7)")
        for at, o, d, n in hours(44, ENGLISH[:7])
    ]  # fmt: skip
    return write(folder / "MTA_Subway_Hourly_Ridership.csv", header, rows)


def idfm(folder: Path) -> Path:
    """Numbers below 5 are words already."""
    header = "JOUR;CODE_STIF_TRNS;CODE_STIF_RES;CODE_STIF_ARRET;LIBELLE_ARRET;ID_ZDC;CATEGORIE_TITRE;NB_VALD"
    chance = random.Random(45)
    rows = [
        (f"{FIRST + timedelta(days=day):%d/%m/%Y}", 100, 110, 10 + stop, FRENCH[stop], 71000 + stop, title,
         "Moins de 5" if chance.random() < 0.1 else chance.randrange(5, 9000))
        for day in range(20) for stop in range(12) for title in ("NAVIGO", "AMETHYSTE", "IMAGINE R", "TST")
    ]  # fmt: skip
    return write(folder / "2025_S1_NB_FER.txt", header, rows, delimiter=";")


def queensland(folder: Path) -> Path:
    header = "operator,month,route,direction,time,ticket_type,origin_stop,destination_stop,quantity"
    bands = ["Weekday (12:00am-8:29:59am)", "Weekday (8:30am-2:59:59pm)", "Weekend"]
    chance = random.Random(46)
    rows = [
        ("Brisbane", "2025-03", route, direction, band, ticket, 300000 + o, 300000 + d, chance.randrange(1, 60))
        for route in (100, 111, 199) for direction in ("Inbound", "Outbound") for band in bands
        for ticket in ("go card", "Paper") for o in range(8) for d in range(8) if o != d
    ]  # fmt: skip
    return write(folder / "2503.csv", header, rows)


def argentina(folder: Path) -> Path:
    header = "DIA_TRANSPORTE,NOMBRE_EMPRESA,LINEA,AMBA,TIPO_TRANSPORTE,JURISDICCION,PROVINCIA,MUNICIPIO,CANTIDAD"
    chance = random.Random(47)
    rows = [
        (FIRST + timedelta(days=day), f"Empresa {line}", f"LINEA {line:03d}", "SI", "COLECTIVO", "NACIONAL", "JN", "SD",
         chance.randrange(100, 9000))
        for day in range(30) for line in range(20)
    ]  # fmt: skip
    return write(folder / "dat-ab-usos-2025.csv", header, rows)


def boston(folder: Path) -> Path:
    """Half hours."""
    rows = [
        (f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}", f"place-{ENGLISH.index(o)}", o, d, n)
        for at, o, d, n in hours(48, ENGLISH[:6], every=30)
    ]
    header = "service_date,time,stop_id,stop_name,route_or_line,gated_entries"
    return write(folder / "GSE_2025.csv", header, rows)


def seoul_wide(folder: Path) -> Path:
    columns = [f"HR_{hour}_{way}" for hour in range(24) for way in ("GET_ON_NOPE", "GET_OFF_NOPE")]
    chance = random.Random(49)
    rows = [
        ("202503", f"{line}호선", station, *(chance.randrange(9000) for _ in columns))
        for line in (1, 2)
        for station in KOREAN
    ]
    return write(folder / "CardSubwayTime.csv", ",".join(["USE_MM", "SBWY_ROUT_LN_NM", "STTN", *columns]), rows)


def bart(folder: Path) -> Path:
    rows = [(f"{at:%Y-%m-%d}", at.hour, o[:3].upper(), d[:3].upper(), n) for at, o, d, n in hours(50, ENGLISH[:8])]
    return write(folder / "date-hour-soo-dest-2025.csv", "", rows)


def published_counts(folder: Path) -> Path:
    """Counts of taps on and of taps off in one file."""
    rows = [
        ("train", f"{at:%Y%m%d}", way, f"{o} {d}", n)
        for at, o, d, n in hours(51, ENGLISH[:8], every=240)
        for way in ("on", "off")
    ]
    return write(folder / "loc.csv", "mode,date,tap,loc,count", rows)


def bands(folder: Path) -> Path:
    """Hours from and to."""
    rows = [(f"{at:%d.%m.%Y}", f"{at:%H}:00-{at.hour + 1:02d}:00", o, d, n) for at, o, d, n in hours(52, GERMAN[:8])]
    return write(
        folder / "nachfrage.csv", "Datum;Stunde;Starthaltestelle;Zielhaltestelle;Fahrgäste", rows, delimiter=";"
    )


def clipper(folder: Path) -> Path:
    """Clocks without a date; days are numbers of the week. A tag is a tap, and in German a day."""
    header = "ClipperCardID,TagOnTime,TagOnLocationName,TagOffTime,TagOffLocationName,FareAmount,DayOfWeekID"
    rows = [
        (
            r.card,
            f"{r.on:%H:%M:%S}",
            ENGLISH[r.origin],
            f"{r.off:%H:%M:%S}",
            ENGLISH[r.destination],
            2.5,
            r.on.isoweekday(),
        )
        for r in rides(60)
    ]
    return write(folder / "clipper.csv", header, rows)


def groups(folder: Path) -> Path:
    """Is a row of three passengers one trip, or three?"""
    header = "start_time,end_time,start_stop,end_stop,passengers"
    rows = [(r.on, r.off, ENGLISH[r.origin], ENGLISH[r.destination], 1 + r.chance.randrange(3)) for r in rides(61)]
    return write(folder / "rides.csv", header, rows)


def averages(folder: Path) -> Path:
    rows = [(at, o, d, n / 7) for at, o, d, n in hours(62, ENGLISH[:8])]
    header = "Timestamp,Origin Station Complex Name,Destination Station Complex Name,Estimated Average Ridership"
    return write(folder / "od_estimate.csv", header, rows)


def boarding_types(folder: Path) -> Path:
    """`boarding_type` is no place, and a row may be a trip or a tap."""
    header = "txn_dtm_pacific,card_id,stop_code,mode_id,boarding_type"
    rows = [(r.on, r.card, 500 + r.origin, 4, r.chance.choice(["Initial", "Transfer"])) for r in rides(63)]
    return write(folder / "orca_202503.csv", header, rows)


# --- as strangers send them -------------------------------------------------------------------------------------------


def seoul_bikes(folder: Path) -> Path:
    """A rental begins a trip, and is also in the word for a station; a duration is called a time."""
    header = "자전거번호,대여일시,대여 대여소번호,대여 대여소명,반납일시,반납대여소번호,반납대여소명,이용시간(분),생년"
    rows = [
        (f"SPB-{30000 + r.chance.randrange(900)}", f"{r.on:%Y-%m-%d %H:%M:%S}", 100 + r.origin, KOREAN[r.origin],
         f"{r.off:%Y-%m-%d %H:%M:%S}", 100 + r.destination, KOREAN[r.destination], (r.off - r.on).seconds // 60,
         1990)
        for r in rides(101)
    ]  # fmt: skip
    return write(folder / "공공자전거_2503.csv", header, rows, encoding="utf-8-sig")


def istanbul_by_hour(folder: Path) -> Path:
    """Days as midnights, and two numbers; a number of passengers is no card."""
    header = "transition_date,transition_hour,road_type,line,number_of_passage,number_of_passenger,product_kind,town,"
    chance, rows = random.Random(102), list[Row]()
    for day in range(3, 6):
        for hour in range(6, 24):
            for stop in TURKISH:
                day_text, trips = f"2025-03-{day:02} 00:00:00.0", chance.randrange(5, 99)
                rows.append((day_text, hour, "RAYLI", "M2", trips, trips - chance.randrange(3), "TAM", "SISLI", stop))
    return write(folder / "hourly_transportation_202503.csv", f"{header}station_poi_desc_cd", rows)


def twelve_hours(folder: Path) -> Path:
    """A clock of twelve hours with seconds, a day for each end, and nights."""
    header = "Media S/N,Txn Type,Entry Date,Entry Time,Entry Stn,Exit Date,Exit Time,Exit Stn,Amount"
    rows = []
    for r in rides(103):
        later = timedelta(hours=6 if r.on.hour >= 17 else 0)
        on, off = r.on + later, r.off + later
        ends = [(f"{at:%d-%b-%y}", f"{at:%I:%M:%S %p}".lstrip("0")) for at in (on, off)]
        rows.append((r.card, "Single", *ends[0], ENGLISH[r.origin], *ends[1], ENGLISH[r.destination], "28.00"))
    return write(folder / "AFCS.csv", header, rows)


def montreal_bikes(folder: Path) -> Path:
    """Words without anything between them, and milliseconds."""
    header = "STARTSTATIONNAME,STARTSTATIONARRONDISSEMENT,STARTSTATIONLATITUDE,ENDSTATIONNAME,ENDSTATIONLATITUDE,"

    def stamp(moment: datetime) -> int:
        return int(moment.replace(tzinfo=ZoneInfo("America/Toronto")).timestamp() * 1000)

    rows = [
        (FRENCH[r.origin], "Ville-Marie", 45.5, FRENCH[r.destination], 45.6, stamp(r.on), stamp(r.off))
        for r in rides(104)
    ]
    return write(folder / "DonneesOuvertes2025_03.csv", f"{header}STARTTIMEMS,ENDTIMEMS", rows)


def london_quarters(folder: Path) -> Path:
    """`Quarter Hour` is a time, and no part of a year."""
    chance = random.Random(105)
    rows = [
        (stop, day, f"{at // 60:02}{at % 60:02}-{(at + 15) // 60:02}{(at + 15) % 60:02}", chance.randrange(1, 400))
        for stop in ENGLISH
        for day in ("MTT", "FRI", "SAT", "SUN")
        for at in range(300, 1425, 15)
    ]
    return write(folder / "entries.csv", "Station,Day,Quarter Hour,Entries", rows)


def lisbon(folder: Path) -> Path:
    """1.234 is one thousand two hundred and thirty-four."""
    chance = random.Random(106)
    rows = [
        (f"{day:02}/03/2025", f"{hour:02}h-{hour + 1:02}h", stop, f"{chance.randrange(1, 1500):,}".replace(",", "."))
        for day in range(1, 8)
        for hour in range(6, 24)
        for stop in PORTUGUESE
    ]
    header = "Data;Faixa Horária;Estação;Validações de entrada"
    return write(folder / "validacoes_2025-03.csv", header, rows, delimiter=";", encoding="cp1252")


def republic(folder: Path) -> Path:
    """2025 is 114 in Taiwan."""
    rows = [
        (r.card, f"{r.on.year - 1911}/{r.on:%m/%d}", f"{r.on:%H:%M}", TAIPEI[r.origin % 10], f"{r.off:%H:%M}",
         TAIPEI[r.destination % 10])
        for r in rides(107)
    ]  # fmt: skip
    return write(folder / "悠遊卡.csv", "卡號,交易日期,進站時間,進站站名,出站時間,出站站名", rows)


def buddhist(folder: Path) -> Path:
    """2025 is 2568 in Thailand."""
    rows = [(r.card, f"{r.on:%d/%m/}{r.on.year + 543}", f"{r.on:%H:%M}", ENGLISH[r.origin]) for r in rides(108)]
    return write(folder / "trips.csv", "card_id,entry_date,entry_time,entry_station", rows)


def serials(folder: Path) -> Path:
    """Moments as Excel numbers them."""

    def serial(moment: datetime) -> str:
        return f"{(moment - datetime(1899, 12, 30)) / timedelta(days=1):.5f}".replace(".", ",")

    rows = [(r.card, serial(r.on), ENGLISH[r.origin], serial(r.off), ENGLISH[r.destination]) for r in rides(109)]
    return write(folder / "export.csv", "Card;Tap On;From Stop;Tap Off;To Stop", rows, delimiter=";")


def bogota(folder: Path) -> Path:
    """a. m. and p. m. are in no format that can be named."""
    half = {True: "a. m.", False: "p. m."}
    rows = [
        (f"{int(r.card):064x}", f"{r.on:%d/%m/%Y %I:%M:%S} {half[r.on.hour < 12]}", SPANISH[r.origin], "2950,00")
        for r in rides(110)
    ]
    header = "Numero Tarjeta;Fecha Transaccion;Estacion Parada;Valor"
    return write(folder / "validacionTroncal20250303_20250316.csv", header, rows, delimiter=";")


def dubai(folder: Path) -> Path:
    """Rows of taps off have both places of the trip: neither column is the place of every tap."""
    header = "TXN_TYPE,TXN_DATE,TXN_TIME,START_LOCATION,END_LOCATION,START_ZONE,END_ZONE,CARD_SERIAL"
    rows = [
        ("Check in" if on else "Check out", f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}", ENGLISH[r.origin],
         "" if on else ENGLISH[r.destination], "Zone 5", "" if on else "Zone 6", r.card)
        for r, on, at, _ in _taps(111)
    ]  # fmt: skip
    return write(folder / "metro_ridership_2025-03.csv", header, rows)


def mexico(folder: Path) -> Path:
    """The age of a user is no card."""
    header = "Genero_Usuario,Edad_Usuario,Bici,Ciclo_Estacion_Retiro,Fecha_Retiro,Hora_Retiro,Ciclo_EstacionArribo,"
    rows = [
        ("M", r.chance.randrange(16, 80), 3000 + r.chance.randrange(6000), 100 + r.origin, f"{r.on:%d/%m/%Y}",
         f"{r.on:%H:%M:%S}", 100 + r.destination, f"{r.off:%d/%m/%Y}", f"{r.off:%H:%M:%S}")
        for r in rides(112)
    ]  # fmt: skip
    return write(folder / "ecobici_2025_03.csv", f"{header}Fecha Arribo,Hora_Arribo", rows)


def titled(folder: Path) -> Path:
    """A title and an empty row above the column names, and the sum of the other numbers beside them."""
    from tests.support.workbook import write_workbook

    header = [
        "Data",
        "Area",
        "Linha",
        "Passageiros Pagtes Em Dinheiro",
        "Passageiros Com Gratuidade",
        "Tot Passageiros",
    ]
    chance, rows = random.Random(113), list[Row]()
    for day in range(1, 29):
        for line in range(30):
            paid, free = chance.randrange(400), chance.randrange(90)
            rows.append((f"{day:02}/03/2025", "AREA 1", f"1012-{line} - TERM. JD. BRITANIA", paid, free, paid + free))
    sheet = [["CONSOLIDADO DAS INFORMAÇÕES ENVIADAS PELAS EMPRESAS"], [], header, *rows]
    return write_workbook(folder / "Consolidado Mar-2025.xlsx", {"Consolidado": sheet})


def athens(folder: Path) -> Path:
    """Boardings alone: a column says so in every row."""
    header = "dv_agency,dv_platenum_station,dv_validations,dv_route,load_dt,date_hour,boarding_disembark_desc"
    chance = random.Random(114)
    rows = [
        ("002", f"ΣΤΑΘΜΟΣ {stop}", chance.randrange(1, 900), "", f"2025-03-{day + 2:02} 04:10:00",
         f"2025-03-{day:02} {hour:02}:00:00", "Boarding")
        for day in range(3, 9) for hour in range(5, 24) for stop in range(9)
    ]  # fmt: skip
    return write(folder / "oasa_2025-03.csv", header, rows)


def parts_of_hours(folder: Path) -> Path:
    """7.75 is a quarter to eight, and no format says so."""
    rows = [(r.card, f"{r.on:%Y-%m-%d}", f"{r.on.hour + r.on.minute / 60:.2f}", ENGLISH[r.origin]) for r in rides(115)]
    return write(folder / "trips_20250303_20250316.csv", "card_number,trip_date,start_time,start_stop", rows)


def busan(folder: Path) -> Path:
    """The year first, in two digits: 25/03/07 is neither of 2007 nor the 25th."""
    rows = [
        (r.card, f"{r.on:%y/%m/%d %H:%M}", ENGLISH[r.origin], f"{r.off:%y/%m/%d %H:%M}", ENGLISH[r.destination])
        for r in rides(116)
    ]
    return write(folder / "busan.csv", "card_id,start_time,start_station,end_time,end_station", rows)


def six_digits(folder: Path) -> Path:
    """Day, month and year, and a clock, without anything between them; how long a trip takes is no time of it."""
    header = "card_id,trip_date,board_time,board_stop,travel_time"
    rows = [
        (r.card, f"{r.on:%d%m%y}", f"{r.on:%H%M}", ENGLISH[r.origin], (r.off - r.on).seconds // 60) for r in rides(117)
    ]
    return write(folder / "boardings.csv", header, rows)


def _ends(*theirs: str) -> dict[str, str]:
    return dict(zip(("tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"), theirs, strict=True))


CORPUS: dict[str, Truth] = {
    # trips
    "Opal, English": Truth(
        exports.opal,
        "trips",
        {"card": "card_id", "mode": "mode", "date": "trip_date"}
        | _ends("tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"),
        unit="card-day",
    ),
    "Oyster, minutes": Truth(
        exports.oyster,
        "trips",
        {"mode": "SubSystem", "date": "daytype"} | _ends("EntTime", "StartStn", "ExTime", "EndStation"),
        labels=True,
    ),
    "bike share": Truth(
        exports.bikes,
        "trips",
        {"date": "started_at"} | _ends("started_at", "start_station_name", "ended_at", "end_station_name"),
        {"date": "%m/%d/%Y %H:%M:%S", "tap_on_time": "%m/%d/%Y %H:%M:%S"},
    ),
    "bike share, older": Truth(
        american_bikes,
        "trips",
        {"date": "starttime"} | _ends("starttime", "start station name", "stoptime", "end station name"),
        {"tap_on_time": "%m/%d/%Y %H:%M", "tap_off_time": "%m/%d/%Y %H:%M"},
    ),
    "German, Windows-1252 and sep=": Truth(
        german,
        "trips",
        {"card": "Karten-Nr.", "mode": "Verkehrsmittel", "date": "Einstiegszeit"}
        | _ends("Einstiegszeit", "Einstiegshaltestelle", "Ausstiegszeit", "Ausstiegshaltestelle"),
        {"date": "%d.%m.%Y %H:%M"},
        unit="card-day",
    ),
    "Dutch, OV-chipkaart": Truth(
        dutch,
        "trips",
        {"card": "Kaartnummer", "date": "Datum"} | _ends("Check-in", "Vertrek", "Check-uit", "Bestemming"),
        {"date": "%d-%m-%Y"},
        unit="card-day",
    ),
    "Korean, fourteen digits": Truth(
        korean,
        "trips",
        {"card": "카드번호", "mode": "교통수단", "date": "승차일시"}
        | _ends("승차일시", "승차정류장", "하차일시", "하차정류장"),
        {"tap_on_time": "%Y%m%d%H%M%S"},
        unit="card-day",
    ),
    "Japanese, Parquet": Truth(
        japanese,
        "trips",
        {"card": "カードID", "date": "乗車日時"} | _ends("乗車日時", "乗車駅", "降車日時", "降車駅"),
        unit="card-day",
    ),
    "Russian": Truth(
        russian,
        "trips",
        {"card": "Номер карты", "date": "Дата"}
        | _ends("Время входа", "Станция входа", "Время выхода", "Станция выхода"),
        {"date": "%d.%m.%Y"},
        unit="card-day",
    ),
    "Turkish, milliseconds since 1970": Truth(
        turkish,
        "trips",
        {"card": "kart_no", "date": "biniş_zamanı"}
        | _ends("biniş_zamanı", "biniş_durağı", "iniş_zamanı", "iniş_durağı"),
        {"tap_on_time": "epoch", "tap_off_time": "epoch", "date": "epoch"},
        asks=frozenset({"timezone"}),
        unit="card-day",
    ),
    "Italian": Truth(
        italian,
        "trips",
        {"card": "Tessera", "date": "Data Ora Entrata"}
        | _ends("Data Ora Entrata", "Stazione Entrata", "Data Ora Uscita", "Stazione Uscita"),
        {"date": "%d/%m/%Y %H:%M"},
        unit="card-day",
    ),
    "Portuguese, boardings, ISO weeks": Truth(
        portuguese,
        "trips",
        {"card": "Cartão", "date": "Data", "tap_on_time": "Hora", "tap_on_location": "Ponto de Embarque"},
        {"tap_on_time": "%Hh%M"},
        unit="card-day",
    ),
    "Spanish, a workbook": Truth(
        spanish_workbook,
        "trips",
        {"card": "Tarjeta", "date": "Fecha"} | _ends("Hora subida", "Parada subida", "Hora bajada", "Parada bajada"),
        unit="card-day",
    ),
    "times whose names say nothing": Truth(
        unnamed_ends,
        "trips",
        {"card": "member_id", "date": "time_a"} | _ends("time_a", "stop_a", "time_b", "stop_b"),
        unit="card-day",
    ),
    "a date of the books": Truth(
        settlement,
        "trips",
        {"card": "Card Number", "date": "Entry Date Time"}
        | _ends("Entry Date Time", "Entry Station", "Exit Date Time", "Exit Station"),
        {"date": "%m/%d/%Y %I:%M:%S %p"},
        unit="card-day",
    ),
    "a folder for each day": Truth(
        partitioned,
        "trips",
        {"card": "rider_token", "date": "board_time"}
        | _ends("board_time", "board_stop_name", "alight_time", "alight_stop_name"),
        unit="card-day",
    ),
    "clocks as numbers": Truth(
        clocks_as_numbers,
        "trips",
        {"card": "SmartcardID", "date": "TripDate"} | _ends("StartTime", "StartStop", "EndTime", "EndStop"),
        {"tap_on_time": "%H%M", "tap_off_time": "%H%M"},
        unit="card-day",
    ),
    "service days": Truth(
        after_midnight,
        "trips",
        {"card": "card_hash", "mode": "mode", "date": "service_date"}
        | _ends("tap_on_datetime", "tap_on_stop", "tap_off_datetime", "tap_off_stop"),
        service=True,
        unit="card-day",
    ),
    "Clipper": Truth(
        clipper,
        "trips",
        {"card": "ClipperCardID", "date": "DayOfWeekID"}
        | _ends("TagOnTime", "TagOnLocationName", "TagOffTime", "TagOffLocationName"),
        labels=True,
    ),
    "groups of passengers": Truth(
        groups,
        "counts",
        {"count": "passengers", "date": "start_time"} | _ends("start_time", "start_stop", "end_time", "end_stop"),
        asks=frozenset({"shape"}),
    ),
    "kinds of boardings": Truth(
        boarding_types,
        "trips",
        {"card": "card_id", "mode": "mode_id", "tap_on_time": "txn_dtm_pacific", "tap_on_location": "stop_code"},
        asks=frozenset({"shape"}),
        unit="card-day",
    ),
    # taps
    "taps, Parquet": Truth(
        exports.taps,
        "taps",
        {"card": "card_no", "mode": "line_mode", "tap": "tap_type", "tap_time": "tap_time", "tap_location": "station"},
        on=("entry",),
        off=("exit",),
        unit="card-day",
    ),
    "Hangzhou, 0 and 1": Truth(
        hangzhou,
        "taps",
        {"card": "userID", "tap": "status", "tap_time": "time", "tap_location": "stationID", "date": "time"},
        asks=frozenset({"on", "off"}),
        unit="card-day",
    ),
    "Shenzhen": Truth(
        shenzhen,
        "taps",
        {
            "card": "card_no",
            "tap": "deal_type",
            "tap_time": "deal_date",
            "tap_location": "station",
            "date": "deal_date",
        },
        on=("地铁入站",),
        off=("地铁出站",),
        unit="card-day",
    ),
    "Chinese, gzip": Truth(
        chinese_taps,
        "taps",
        {"card": "卡号", "tap": "交易类型", "tap_time": "交易时间", "tap_location": "站点名称", "date": "交易时间"},
        {"tap_time": "%Y/%m/%d %H:%M:%S"},
        on=("进站",),
        off=("出站",),
        unit="card-day",
    ),
    "Chinese, GB18030": Truth(
        chinese_taps_of_windows,
        "taps",
        {"card": "卡号", "tap": "交易类型", "tap_time": "交易时间", "tap_location": "站点名称", "date": "交易时间"},
        {"tap_time": "%Y/%m/%d %H:%M:%S"},
        on=("进站",),
        off=("出站",),
        unit="card-day",
        asks=frozenset({"encoding"}),
    ),
    "French taps": Truth(
        french_taps,
        "taps",
        {"card": "id_carte", "mode": "mode", "tap": "sens", "tap_time": "horodatage", "tap_location": "arrêt"},
        {"tap_time": "%d/%m/%Y %H:%M"},
        on=("Montée",),
        off=("Descente",),
        unit="card-day",
    ),
    "German taps, Parquet": Truth(
        german_taps,
        "taps",
        {"card": "Medium", "tap": "Vorgang", "tap_time": "Zeitpunkt", "tap_location": "Haltestelle"},
        on=("Einstieg",),
        off=("Ausstieg",),
        unit="card-day",
    ),
    "taps with offsets": Truth(
        zoned_taps,
        "taps",
        {"card": "media_serial", "tap": "direction", "tap_time": "event_ts", "tap_location": "location"},
        on=("IN",),
        off=("OUT",),
        asks=frozenset({"timezone"}),
        unit="card-day",
    ),
    "a card, a time, a place": Truth(
        one_time_one_place,
        "trips",
        {
            "card": "card_id",
            "tap_on_time": "transaction_time",
            "tap_on_location": "station_name",
            "date": "transaction_time",
        },
        asks=frozenset({"shape"}),
        unit="card-day",
    ),
    "taps without a word for them": Truth(
        taps_without_a_word,
        "taps",
        {"card": "card_id", "tap_time": "transaction_time", "tap_location": "station_name", "date": "transaction_time"},
        asks=frozenset({"shape", "tap"}),
        cannot_be_counted=True,
    ),
    "a column whose values take turns": Truth(
        gates_in_turn,
        "taps",
        {"card": "card_no", "tap_time": "when", "tap_location": "station", "date": "when"},
        asks=frozenset({"shape", "tap"}),
        unit="card-day",
    ),
    "New York, taxis": Truth(
        taxi,
        "trips",
        {"date": "tpep_pickup_datetime"}
        | _ends("tpep_pickup_datetime", "PULocationID", "tpep_dropoff_datetime", "DOLocationID"),
    ),
    "Warsaw, Windows-1250": Truth(
        warsaw,
        "trips",
        {"card": "nr_karty", "date": "czas_wejscia"}
        | _ends("czas_wejscia", "przystanek_wejscia", "czas_wyjscia", "przystanek_wyjscia"),
        asks=frozenset({"encoding"}),
        unit="card-day",
    ),
    "Prague, Windows-1250": Truth(
        prague,
        "trips",
        {"card": "číslo_karty", "date": "čas_nástupu"}
        | _ends("čas_nástupu", "zastávka_nástupu", "čas_výstupu", "zastávka_výstupu"),
        asks=frozenset({"encoding"}),
        unit="card-day",
    ),
    "Istanbul, Windows-1254": Truth(
        istanbul,
        "trips",
        {"card": "Kart No", "date": "Biniş Zamanı"}
        | _ends("Biniş Zamanı", "Biniş Durağı", "İniş Zamanı", "İniş Durağı"),
        asks=frozenset({"encoding"}),
        unit="card-day",
    ),
    "Gdańsk, taps": Truth(
        gdansk,
        "taps",
        {"card": "nr karty", "tap": "zdarzenie", "tap_time": "godzina", "tap_location": "przystanek", "date": "data"},
        on=("wejście",),
        off=("wyjście",),
        unit="card-day",
    ),
    "São Paulo, there and back": Truth(
        boardings_by_direction,
        "trips",
        {"card": "CD_BILHETE", "tap_on_time": "HR_UTILIZACAO", "date": "DT_UTILIZACAO"},
        {"tap_on_time": "%H%M%S", "date": "%d/%m/%Y"},
        asks=frozenset({"shape"}),
        unit="card-day",
    ),
    "sums among the rows": Truth(with_totals, "counts", {}, refused="rows that are called a total"),
    "one turnstile": Truth(one_counter, "counts", {}, refused="seems to be the reading of a counter"),
    "most numbers masked": Truth(masked, "counts", {}, refused=r"are masked \(Moins de 5\)"),
    "SUBE, boardings by the hour": Truth(
        sube,
        "trips",
        {"card": "id_tarjeta_trx", "mode": "modo_trx", "date": "fecha_trx", "tap_on_time": "hora_trx"},
        {"tap_on_time": "hours", "date": "%d/%m/%Y"},
        asks=frozenset({"shape"}),
        unit="card-day",
    ),
    # counts
    "Namma Metro": Truth(
        namma,
        "counts",
        {
            "count": "Ridership",
            "date": "Date",
            "tap_on_time": "Hour",
            "tap_on_location": "Origin Station",
            "tap_off_location": "Destination Station",
        },
        {"tap_on_time": "hours"},
    ),
    "Taipei": Truth(
        taipei,
        "counts",
        {"count": "人次", "date": "日期", "tap_on_time": "時段", "tap_on_location": "進站", "tap_off_location": "出站"},
        {"tap_on_time": "hours"},
    ),
    "Singapore, pairs": Truth(
        lta,
        "counts",
        {
            "count": "TOTAL_TRIPS",
            "mode": "PT_TYPE",
            "date": "DAY_TYPE",
            "tap_on_time": "TIME_PER_HOUR",
            "tap_on_location": "ORIGIN_PT_CODE",
            "tap_off_location": "DESTINATION_PT_CODE",
        },
        {"tap_on_time": "hours"},
        labels=True,
    ),
    "Singapore, nodes": Truth(
        lta_nodes,
        "counts",
        {"mode": "PT_TYPE", "date": "DAY_TYPE", "tap_on_time": "TIME_PER_HOUR", "tap_on_location": "PT_CODE"},
        {"tap_on_time": "hours"},
        asks=frozenset({"count"}),
        labels=True,
    ),
    "New York": Truth(
        mta,
        "counts",
        {
            "count": "ridership",
            "mode": "transit_mode",
            "date": "transit_timestamp",
            "tap_on_time": "transit_timestamp",
            "tap_on_location": "station_complex",
        },
        {"tap_on_time": "%m/%d/%Y %I:%M:%S %p"},
    ),
    "Paris": Truth(
        idfm, "counts", {"count": "NB_VALD", "date": "JOUR", "tap_on_location": "LIBELLE_ARRET"}, {"date": "%d/%m/%Y"}
    ),
    "Queensland": Truth(
        queensland,
        "counts",
        {
            "count": "quantity",
            "date": "month",
            "tap_on_location": "origin_stop",
            "tap_off_location": "destination_stop",
        },
        labels=True,
    ),
    "Argentina": Truth(argentina, "counts", {"count": "CANTIDAD", "date": "DIA_TRANSPORTE", "mode": "TIPO_TRANSPORTE"}),
    "Boston, half hours": Truth(
        boston,
        "counts",
        {"count": "gated_entries", "date": "service_date", "tap_on_time": "time", "tap_on_location": "stop_name"},
        width=30,
    ),
    "German bands": Truth(
        bands,
        "counts",
        {
            "count": "Fahrgäste",
            "date": "Datum",
            "tap_on_time": "Stunde",
            "tap_on_location": "Starthaltestelle",
            "tap_off_location": "Zielhaltestelle",
        },
        {"tap_on_time": "range", "date": "%d.%m.%Y"},
    ),
    # as strangers send them
    "Seoul, bikes": Truth(
        seoul_bikes,
        "trips",
        {"date": "대여일시"} | _ends("대여일시", "대여 대여소명", "반납일시", "반납대여소명"),
    ),
    "Istanbul, by the hour": Truth(
        istanbul_by_hour,
        "counts",
        {
            "count": "number_of_passage",
            "date": "transition_date",
            "tap_on_time": "transition_hour",
            "tap_on_location": "station_poi_desc_cd",
        },
        {"tap_on_time": "hours"},
        asks=frozenset({"count"}),
    ),
    "Manila, a clock of twelve hours": Truth(
        twelve_hours,
        "trips",
        {"card": "Media S/N", "date": "Entry Date"} | _ends("Entry Time", "Entry Stn", "Exit Time", "Exit Stn"),
        {"tap_on_time": "%I:%M:%S %p", "tap_off_time": "%I:%M:%S %p", "date": "%d-%b-%y"},
        unit="card-day",
    ),
    "Montréal, bikes": Truth(
        montreal_bikes,
        "trips",
        {"date": "STARTTIMEMS"} | _ends("STARTTIMEMS", "STARTSTATIONNAME", "ENDTIMEMS", "ENDSTATIONNAME"),
        {"tap_on_time": "epoch", "tap_off_time": "epoch"},
        asks=frozenset({"timezone"}),
    ),
    "London, quarter hours": Truth(
        london_quarters,
        "counts",
        {"count": "Entries", "date": "Day", "tap_on_time": "Quarter Hour", "tap_on_location": "Station"},
        {"tap_on_time": "range"},
        labels=True,
    ),
    "Bogotá, a. m. and p. m.": Truth(
        bogota,
        "trips",
        {"card": "Numero Tarjeta", "tap_on_time": "Fecha Transaccion", "tap_on_location": "Estacion Parada"},
        {"tap_on_time": "?"},
        asks=frozenset({"shape", "format.tap_on_time"}),
        cannot_be_counted=True,
    ),
    "Dubai, both places in a row of a tap": Truth(
        dubai,
        "taps",
        {"card": "CARD_SERIAL", "tap": "TXN_TYPE", "tap_time": "TXN_TIME", "date": "TXN_DATE"},
        asks=frozenset({"tap_location"}),
        cannot_be_counted=True,
    ),
    "Mexico City, bikes": Truth(
        mexico,
        "trips",
        {"date": "Fecha_Retiro"} | _ends("Hora_Retiro", "Ciclo_Estacion_Retiro", "Hora_Arribo", "Ciclo_EstacionArribo"),
        {"date": "%d/%m/%Y"},
    ),
    "São Paulo, a title above the counts": Truth(
        titled,
        "counts",
        {"count": "Passageiros Pagtes Em Dinheiro", "date": "Data"},
        {"date": "%d/%m/%Y"},
        asks=frozenset({"count"}),
    ),
    "Athens, boardings alone": Truth(
        athens,
        "counts",
        {
            "count": "dv_validations",
            "date": "date_hour",
            "tap_on_time": "date_hour",
            "tap_on_location": "dv_platenum_station",
        },
    ),
    "parts of hours": Truth(
        parts_of_hours,
        "trips",
        {"card": "card_number", "date": "trip_date", "tap_on_time": "start_time", "tap_on_location": "start_stop"},
        {"tap_on_time": "?"},
        asks=frozenset({"format.tap_on_time"}),
        cannot_be_counted=True,
    ),
    "Busan, the year first in two digits": Truth(
        busan,
        "trips",
        {"card": "card_id", "date": "start_time"} | _ends("start_time", "start_station", "end_time", "end_station"),
        {"tap_on_time": "%y/%m/%d %H:%M", "date": "%y/%m/%d %H:%M"},
        unit="card-day",
    ),
    "days in six digits": Truth(
        six_digits,
        "trips",
        {"card": "card_id", "date": "trip_date", "tap_on_time": "board_time", "tap_on_location": "board_stop"},
        {"tap_on_time": "%H%M", "date": "%d%m%y"},
        unit="card-day",
    ),
    "Lisbon, thousands": Truth(lisbon, "", {}, refused="are written with separators"),
    "Taiwan, years of the Republic": Truth(republic, "", {}, refused="are of another calendar"),
    "Thailand, years of the Buddha": Truth(buddhist, "", {}, refused="are of another calendar"),
    "numbers of Excel": Truth(serials, "", {}, refused="as numbers of Excel"),
    # what cannot be read, and says why
    "Seoul, an hour a column": Truth(seoul_wide, "", {}, refused="Turn the columns into rows"),
    "BART, without a header": Truth(bart, "", {}, refused="must name the columns"),
    "averages": Truth(averages, "", {}, refused="averages and shares cannot be counted"),
    "published counts of both ends": Truth(published_counts, "", {}, refused="Make a file of each kind"),
}
