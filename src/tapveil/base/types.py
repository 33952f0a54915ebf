"""Types of values in a plan: exact numbers, names, clock times."""

from __future__ import annotations

import re
import zoneinfo
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from typing import Annotated

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from tapveil.base.errors import did_you_mean
from tapveil.base.numbers import clock_text


def read_exact(value: object) -> Fraction:
    """A number or a fraction, exactly as written.

    >>> read_exact("1/8000000"), read_exact(Decimal("0.1")), read_exact("1 %")
    (Fraction(1, 8000000), Fraction(1, 10), Fraction(1, 100))
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise ValueError('expected a number, or a fraction such as "1/8000000"')
    try:
        if isinstance(value, str) and value.rstrip().endswith("%"):
            return read_exact(value.rstrip().removesuffix("%").rstrip()) / 100
        written = repr(value) if isinstance(value, float) else value  # repr has the digits it was written with
        if isinstance(written, str) and "/" not in written:
            written = Decimal(written.strip())
        if isinstance(written, Decimal) and abs(written.adjusted()) > 1000:
            raise ValueError
        return Fraction(written)
    except (ValueError, OverflowError, ZeroDivisionError, InvalidOperation):
        raise ValueError(f'`{value}` is not a number or a fraction such as "1/8000000"') from None


Exact = Annotated[Fraction, BeforeValidator(read_exact), PlainSerializer(str), pydantic.InstanceOf[Fraction]]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=64)]
Text = Annotated[str, Field(min_length=1, max_length=500)]


class Frozen(BaseModel):
    """A part of a plan or a ledger: without unknown keys, and immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)


Texts = Annotated[tuple[Text, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]
"""One text, or a list of them."""


def _separates(value: str) -> str:
    if len(value) != 1 or not value.isascii() or value.isalnum() or value in "\"'\r\n\\":
        raise ValueError('must be one character, such as ",", ";" or "\\t"')
    return value


Delimiter = Annotated[str, AfterValidator(_separates)]
"""The field separator of a CSV file."""


def _read_clock(value: object) -> object:
    clock = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])", value) if isinstance(value, str) else None
    if clock is None:
        raise ValueError('must be a clock time in quotes, such as "04:00"')
    return 60 * int(clock[1]) + int(clock[2])


Clock = Annotated[int, BeforeValidator(_read_clock), PlainSerializer(clock_text)]
"""Minutes after midnight, written HH:MM."""


def _read_hours(value: object) -> object:
    clock = "([0-3][0-9]|4[0-7]):([0-5][0-9])"
    found = re.fullmatch(f"{clock}-{clock}", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError('must be hours in quotes, such as "05:00-24:00"')
    start, end = 60 * int(found[1]) + int(found[2]), 60 * int(found[3]) + int(found[4])
    end += 0 if end > start else 1440
    if start >= 1440 or end - start > 1440:
        raise ValueError('must be a part of one day, such as "05:00-24:00", or "05:00-01:30" after midnight')
    return start, end


Hours = Annotated[
    tuple[int, int],
    BeforeValidator(_read_hours),
    PlainSerializer(lambda hours: f"{clock_text(hours[0])}-{clock_text(hours[1])}", return_type=str),
]
"""A part of a day in minutes after midnight, up to but not including its end, written HH:MM-HH:MM."""


def _above_zero(value: Fraction) -> Fraction:
    if value <= 0:
        raise ValueError("must be above 0; at 0 nothing could be published")
    return value


def _delta_can_be_meant(value: Fraction) -> Fraction:
    if value < 0:
        raise ValueError("must not be negative")
    if value >= 1:
        raise ValueError("must be below 1; at 1 nothing is protected")
    return value


Epsilon = Annotated[Exact, AfterValidator(_above_zero)]
Delta = Annotated[Exact, AfterValidator(_delta_can_be_meant)]
Weight = Epsilon

_OF_THE_MACHINE = {"localtime", "posixrules", "Factory"}


@cache
def zone_names() -> frozenset[str]:
    """The time zones that this machine knows; cached, since listing them is slow."""
    return frozenset(zoneinfo.available_timezones())


def known_zone(value: str) -> str:
    """The name of a time zone that does not depend on the machine."""
    zones = zone_names()
    if value not in zones - _OF_THE_MACHINE:
        by_city = sorted(zone for zone in zones if zone.rpartition("/")[2].casefold() == value.strip().casefold())
        hint = f": did you mean `{by_city[0]}`?" if by_city else did_you_mean(value, zones)
        raise ValueError(f"`{value}` is not a time zone{hint}")
    return value
