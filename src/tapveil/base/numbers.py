"""Numbers for people."""

from __future__ import annotations


def percent(share: float, digits: int = 1) -> str:
    """A share in percent, with this many decimals; 0 and 100 only where they are exact.

    >>> percent(0.1234), percent(0.0004), percent(0.9999), percent(0), percent(12.345), percent(0.004, digits=0)
    ('12.3 %', '< 0.1 %', '> 99.9 %', '0.0 %', '1,234 %', '< 1 %')
    """
    points, least = 100 * share, 10**-digits
    if 0 < points < least:
        return f"< {least:g} %"
    if 100 - least < points < 100:
        return f"> {100 - least:g} %"
    return f"{points:,.0f} %" if points >= 999.5 else f"{points:.{digits}f} %"


def three_digits(x: float) -> str:
    """A number with two or three significant digits.

    >>> three_digits(0.456), three_digits(12.34), three_digits(1234.5)
    ('0.46', '12.3', '1,234')
    """
    return f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:,.0f}"


def clock_text(minute: int) -> str:
    """HH:MM; after midnight the hours continue.

    >>> clock_text(451), clock_text(1515)
    ('07:31', '25:15')
    """
    return f"{minute // 60:02d}:{minute % 60:02d}"
