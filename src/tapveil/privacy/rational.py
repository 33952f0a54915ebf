"""Rational bounds of exp and ln, so that no privacy statement rests on a float.

`decimal` rounds exp and ln correctly to the last digit (General Decimal Arithmetic, §"exp", "ln"), so one unit in the
last place on either side encloses the true value. The name of every function states its direction of rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import ceil, isqrt, nextafter

DIGITS = 90
_nearest = Context(prec=DIGITS)
_down = Context(prec=DIGITS, rounding=ROUND_FLOOR)
_up = Context(prec=DIGITS, rounding=ROUND_CEILING)


def exp_below(x: Fraction) -> Fraction:
    """A rational at most e^x, with a relative error of at most 1e-85."""
    return Fraction(_nearest.next_minus(_nearest.exp(_decimal(x, _down))))


def exp_above(x: Fraction) -> Fraction:
    """A rational at least e^x, with a relative error of at most 1e-85."""
    return _above(_nearest.exp, x)


def ln_above(x: Fraction) -> Fraction:
    """A rational at least ln x, and within 1e-85 of it."""
    return _above(_nearest.ln, x)


def sqrt_above(x: Fraction) -> Fraction:
    """A rational at least √x, and within 1e-90 of it; exact if √x has few digits.

    >>> sqrt_above(Fraction(9, 4))
    Fraction(3, 2)
    """
    square = ceil(x * 10 ** (2 * DIGITS))
    root = isqrt(square)
    return Fraction(root + (root * root < square), 10**DIGITS)


def power_below(x: Fraction, times: int) -> Fraction:
    """A rational at most xⁿ, for 0 ≤ x ≤ 1: each product is rounded down."""
    power, factor = Decimal(1), _decimal(x, _down)
    for bit in reversed(f"{times:b}"):
        power = _down.multiply(power, factor) if bit == "1" else power
        factor = _down.multiply(factor, factor)
    return Fraction(power)


def _above(increasing: Callable[[Decimal], Decimal], x: Fraction) -> Fraction:
    return Fraction(_nearest.next_plus(increasing(_decimal(x, _up))))


def _decimal(x: Fraction, rounding: Context) -> Decimal:
    return rounding.divide(Decimal(x.numerator), Decimal(x.denominator))


def float_below(x: Fraction) -> float:
    """The greatest float that is at most x."""
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else nextafter(nearest, 0)


def decimal_text(x: Fraction, digits: int = 15, rounding: str = ROUND_HALF_EVEN) -> str:
    """A fraction as decimal text, for people and JSON; losses are rounded up, other numbers to nearest.

    >>> decimal_text(Fraction(3, 4_000_000)), decimal_text(Fraction(8))
    ('7.5E-7', '8')
    >>> decimal_text(Fraction(1, 3), 3), decimal_text(Fraction(1, 3), 3, ROUND_CEILING)
    ('0.333', '0.334')
    """
    context = Context(prec=digits, rounding=rounding)
    rounded = context.divide(Decimal(x.numerator), Decimal(x.denominator)).normalize()
    return str(int(rounded)) if rounded == rounded.to_integral() and abs(rounded) < 10**digits else str(rounded)
