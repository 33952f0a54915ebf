"""The meaning of texts in the trips: a time, a day, a stop. One value at a time, with another of its row where needed.

The meaning of a trip never depends on another trip. A clock time is read on its own day where that matters: daylight
saving skips an hour once a year, and a service day may start at 04:00.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from tapveil.base.vocabulary import MINUTES_PER_DAY, MISSING_TIME
from tapveil.plan.source import Source, has_a_day

LATEST_MINUTE = 2 * MINUTES_PER_DAY
UNIT_SEPARATOR = "\x1f"
"""Separates a value from another one of its row, where both are needed to parse it."""

READABLE: dict[str, str] = {
    "time": "17:05, 17:05:30, 2016-12-31 17:05:30, or minutes after midnight such as 1025; empty or -1 for none. "
    "An offset such as +10:00 needs `timezone` under [source]. Hours that daylight saving skips are refused. For other "
    "formats set `format` (strptime, hours, range or epoch); for other missing values, `missing`",
    "date": "2016-12-31, 20161231, 2016-W52-6, or a timestamp such as 2016-12-31 17:05:30. An offset such as +10:00 "
    'needs `timezone` under [source]. For other formats set `format`, such as "%d/%m/%Y"; for any other text, '
    'dates = "labels" under [source]',
}
"""Accepted values by kind, for messages."""

_MINUTES = re.compile(r"(0|[1-9][0-9]{0,3})(?:\.0+)?")  # 0731 is more likely a clock than 731 minutes: refused
_NUMBER = re.compile(r"([0-9]+)(?:\.(?!000$)0+)?")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?")
_DATE = re.compile(r"([0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-?W[0-9]{2}-?[1-7])(?:\.0+)?")
_APART = re.compile(r"\s+([+-][0-9]{2}:?[0-9]{2}|Z)$")
"""An offset that stands apart from its time: 12:30 +1000."""
_HOURS = re.compile(r"([0-9]{1,2})(?:\.0+)?")
_RANGE = re.compile(
    r"(?!.*[0-9]\s*[AaPp]\.?\s?[Mm])([0-9]{1,2})(?:[:.h]?([0-9]{2}))?h?\W*(?:-|–|~|to|à|a|bis|至|~)\W*[0-9].*"
)
"""Hours, or clock times of 24 hours, from and to; by the first of them it is known."""
_EPOCH = re.compile(r"([0-9]{10}|[0-9]{13}|[0-9]{16})(?:\.[0-9]+)?")
"""Seconds, milliseconds or microseconds since 1970: from 2001 to 2286 the number of digits distinguishes them."""
_TIMESTAMP = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}[ T][0-9]{1,2}:?[0-9]{2}.*")


def read_time(text: str, zone: ZoneInfo | None = None, written: str | None = None) -> int | None:
    """Minutes after midnight, `MISSING_TIME` where there is none, None where it cannot be read.

    >>> read_time("07:31"), read_time("7:05:59"), read_time("24:20"), read_time("451"), read_time("1465")
    (451, 425, 1460, 451, 1465)
    >>> read_time("2016-08-08 07:31:00"), read_time(""), read_time("-1"), read_time("0731")
    (451, -1, -1, None)
    >>> read_time("8/8/2016 5:31 PM", written="%d/%m/%Y %I:%M %p")
    1051
    >>> read_time("7", written="hours"), read_time("07-08", written="range"), read_time("731", written="%H%M")
    (420, 420, 451)
    >>> read_time("06h-07h", written="range"), read_time("7:00-8:00 PM", written="range")
    (360, None)
    """
    second = read_clock(text, zone, written)
    return second if second in (None, MISSING_TIME) else second // 60


def read_clock(text: str, zone: ZoneInfo | None = None, written: str | None = None) -> int | None:
    """The same in seconds.

    >>> read_clock("7:05:59"), read_clock("451"), read_clock("2016-08-08 07:31:30"), read_clock("")
    (25559, 27060, 27090, -1)
    """
    text = text.strip()
    if text in ("", "-1", "-1.0"):
        return MISSING_TIME
    if written in ("hours", "range"):
        match = (_HOURS if written == "hours" else _RANGE).fullmatch(text)
        minutes = match and 60 * int(match[1]) + int((written == "range" and match[2]) or 0)
        return _within_two_days(60 * minutes) if minutes is not None else None
    if written is None:
        if match := _MINUTES.fullmatch(text):
            return _within_two_days(60 * int(match[1]))
        if match := _CLOCK.fullmatch(text):
            hours, minutes, seconds = int(match[1]), int(match[2]), int(match[3] or 0)
            return _within_two_days(3600 * hours + 60 * minutes + seconds) if minutes < 60 and seconds < 60 else None
    moment = _read_moment(text, zone, written)
    known = moment and not is_skipped(moment, zone)
    return 3600 * moment.hour + 60 * moment.minute + moment.second if moment and known else None


def _within_two_days(seconds: int) -> int | None:
    return seconds if seconds < 60 * LATEST_MINUTE else None


def _read_moment(text: str, zone: ZoneInfo | None, written: str | None) -> datetime | None:
    """A timestamp in local time; one with an offset needs the plan's time zone."""
    try:
        if written == "epoch":
            match = _EPOCH.fullmatch(text)
            return _since_1970(match[1], zone) if match and zone else None
        moment = _stated_moment(text, written)
        if moment is None or moment.tzinfo is None:
            return moment
        return moment.astimezone(zone).replace(tzinfo=None) if zone else None
    except (ValueError, OverflowError):
        return None


def _stated_moment(text: str, written: str | None) -> datetime | None:
    """A timestamp as it is stated, with its offset if it has one."""
    try:
        if written is None:
            return datetime.fromisoformat(_APART.sub(r"\1", text)) if _TIMESTAMP.fullmatch(text) else None
        if _A_FRACTION.search(written) and _ONE_DIGIT.search(text):
            return None
        return datetime.strptime(_with_zeros(text, written), written)
    except (ValueError, OverflowError):
        return None


def with_offset(text: str, written: str | None = None) -> datetime | None:
    """A timestamp that has an offset from UTC, with that offset; None for all else.

    >>> with_offset("2016-08-08 07:31:00 +1000").utcoffset(), with_offset("2016-08-08 07:31")
    (datetime.timedelta(seconds=36000), None)
    """
    moment = _stated_moment(text.strip(), written)
    return moment if moment and moment.tzinfo else None


_A_FRACTION, _ONE_DIGIT = re.compile(r"%[HI][.,]%M$"), re.compile(r"[.,][0-9]$")
"""7.3 may be 07:30 that was taken for a number and lost its zero, or 07:03: it is refused, like 7:3."""
_ADJOINING = re.compile(r"(?:%[YmdHIMSyj])+")
_OTHERS = re.compile(r"%[^YmdHIMSyjpbBaA]|(?<!%)[0-9]")


@cache
def _digits(written: str) -> tuple[int, ...]:
    """How many digits each number has, in a format with parts that nothing separates; none for other formats."""
    runs = _ADJOINING.findall(written)
    if all(len(run) == 2 for run in runs) or _OTHERS.search(written):
        return ()
    return tuple(sum({"Y": 4, "j": 3}.get(part, 2) for part in run[1::2]) for run in runs)


def _with_zeros(text: str, written: str) -> str:
    """With the zeros that a number has lost in front: strptime takes 101 for 10:01, and 1042025 for the 10th of April.

    >>> _with_zeros("101", "%H%M"), _with_zeros("1042025", "%d%m%Y"), _with_zeros("7:05", "%H:%M")
    ('0101', '01042025', '7:05')
    """
    digits = _digits(written)
    found = re.split(r"([0-9]+)", text) if digits else []
    if len(found) != 2 * len(digits) + 1:
        return text
    found[1::2] = (number.zfill(width) for number, width in zip(found[1::2], digits, strict=True))
    return "".join(found)


def _since_1970(digits: str, zone: ZoneInfo) -> datetime:
    """What the clock and the calendar at the place showed."""
    seconds = int(digits) // 10 ** (len(digits) - 10)
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).astimezone(zone).replace(tzinfo=None)


def is_skipped(moment: datetime, zone: ZoneInfo | None) -> bool:
    """Whether daylight saving skipped this local time, so that no clock ever showed it.

    >>> sydney = ZoneInfo("Australia/Sydney")
    >>> [is_skipped(datetime(2016, 10, 2, hour, 30), sydney) for hour in (1, 2, 3)]
    [False, True, False]
    """
    if zone is None or moment.year <= 1 or moment.year >= 9999:
        return False
    there_and_back = moment.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
    return there_and_back.replace(tzinfo=None) != moment


def read_date(text: str, zone: ZoneInfo | None = None, written: str | None = None) -> str | None:
    """A calendar date as ISO text, "" where there is none, None where it cannot be read.

    >>> read_date("20160808"), read_date("2016-08-08"), read_date("2016-08-08 07:31:00"), read_date("08/08/2016")
    ('2016-08-08', '2016-08-08', '2016-08-08', None)
    >>> read_date("31/08/2016", written="%d/%m/%Y"), read_date("2016-W32-1")
    ('2016-08-31', '2016-08-08')
    >>> read_date("1470609060", ZoneInfo("Australia/Sydney"), "epoch")
    '2016-08-08'
    """
    text = text.strip()
    if not text:
        return ""
    if written is None and (match := _DATE.fullmatch(text)):
        try:
            return date.fromisoformat(match[1]).isoformat()
        except ValueError:
            return None
    moment = _read_moment(text, zone, written)
    return moment.date().isoformat() if moment else None


def read_number(text: str, most: int) -> str | None:
    """A number of trips, at most `most`; "" where there is none, None where it is no whole number or below zero.

    Cut, not refused: a row that was refused for one trip more would change its cell by all of them. So a number that
    cannot be read stops the release (`refusals`); and 1.000 cannot be read, since it follows 999 in some countries.

    >>> read_number(" 12 ", 100), read_number("12.0", 100), read_number("250", 100), read_number("", 100)
    ('12', '12', '100', '')
    >>> read_number("-3", 100), read_number("1.5", 100), read_number("1,250", 100), read_number("1.000", 100)
    (None, None, None, None)
    """
    text = text.strip()
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None if text else ""
    digits = match[1].lstrip("0") or "0"
    return str(min(int(digits), most) if len(digits) <= len(str(most)) else most)


def read_location(text: str) -> str:
    """A stop as named, stripped; "" where there is none.

    >>> read_location(" Žižkov, No. 3 "), read_location("-1")
    ('Žižkov, No. 3', '')
    """
    text = text.strip()
    return "" if text in ("-1", "-1.0") else text


@dataclass(frozen=True)
class Days:
    """How the trips define days: their time zone, when a day starts, and the meaning of their dates.

    >>> days = Days(None, 240, service=False)
    >>> days.day_of("2016-08-09", 75), days.day_of("2016-08-09", 240), days.day_of("2016-08-08", 1515)
    ('2016-08-08', '2016-08-09', '2016-08-08')
    """

    zone: ZoneInfo | None
    starts: int
    """Minutes after midnight."""
    service: bool
    """Whether dates are those of service days; otherwise they are calendar dates."""

    @classmethod
    def of(cls, source: Source) -> Days:
        zone = ZoneInfo(source.timezone) if source.timezone else None
        return cls(zone, source.day_starts, source.dates == "service")

    def day_of(self, day: str, minute: int) -> str | None:
        """The day that a tap belongs to: before a service day starts, it is still the day before."""
        by = 0 if self.service or minute == MISSING_TIME else (minute - self.starts) // MINUTES_PER_DAY
        try:
            return (date.fromisoformat(day) + timedelta(days=by)).isoformat() if by else day
        except OverflowError:
            return None

    def is_skipped(self, day: str, minute: int) -> bool:
        """Whether daylight saving skipped a clock time on a day."""
        if self.zone is None or minute == MISSING_TIME:
            return False
        moment = self.moment(day, minute)
        return moment is not None and is_skipped(moment, self.zone)

    def moment(self, day: str, minute: int) -> datetime | None:
        """The local date and time; None where there is no such day."""
        if self.service and minute < self.starts:  # the night after
            minute += MINUTES_PER_DAY
        try:
            return datetime.combine(date.fromisoformat(day), time()) + timedelta(minutes=minute)
        except (ValueError, OverflowError):
            return None


def read_second(text: str, day: str, days: Days, written: str | None, day_written: str | None) -> int | None:
    """The time of a tap in seconds, for the order of the taps of a card; None where it is not known.

    >>> days = Days(None, 240, service=True)
    >>> read_second("23:59:30", "20160808", days, None, None) - read_second("00:01", "2016-08-08", days, None, None)
    -90
    """
    minute = read_time(text, days.zone, written)
    if minute is None or minute == MISSING_TIME:
        return None
    if is_written_with_a_date(text, written):
        moment = _read_moment(text.strip(), days.zone, written)
    else:
        moment = days.moment(read_date(day, days.zone, day_written) or "", minute)
        clock = _CLOCK.fullmatch(text.strip())
        if moment and clock and written is None:
            moment += timedelta(seconds=int(clock[3] or 0))
    return int(moment.replace(tzinfo=UTC).timestamp()) if moment else None


def is_written_with_a_date(text: str, written: str | None) -> bool:
    """Whether a time includes its day: then no other is needed to know whether it was skipped."""
    return has_a_day(written) if written is not None else bool(_TIMESTAMP.fullmatch(text.strip()))
