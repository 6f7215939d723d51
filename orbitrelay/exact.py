"""Numbers kept exactly: the text they were read as, their value as integers, how they are rounded and printed.

Separate because every figure that two implementations must print alike goes through here, and through nothing else:

- a number that was read is echoed as the text it was read as (`Number.text`; a plain integer is an `int`);
- a value is computed with integers only, rounded once, half to even, to six decimals;
- a rounded value is printed in fixed point, without an exponent, in its shortest form, with at least one decimal.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_DIGITS = 1_000
"""Digits that one number may have, all of its parts together."""

DECIMALS = 6
MILLION: int = 10**DECIMALS

_CHUNK = 500  # digits converted at once: below every limit that an interpreter may set, and never quadratic
_CHUNK_BITS = 1_600
_CHUNK_POWER: int = 10**_CHUNK


@dataclass(frozen=True, slots=True)
class Number:
    """A JSON number with a fraction or an exponent, as its text: `12.50` stays `12.50`, and `1e2` stays `1e2`.

    Equal when the text is equal. The exact value is `decimal_parts(text)`; `float()` gives the nearest binary64.

    >>> Number("12.50").text, float(Number("12.50"))
    ('12.50', 12.5)
    """

    text: str

    def __float__(self) -> float:
        return float(self.text)


class MinusZero(int):
    """The integer that was read as `-0`: zero in every computation, `-0` when echoed."""

    __slots__ = ()


MINUS_ZERO = MinusZero(0)


def integer_of(digits: str) -> int:
    """Give the integer a decimal text stands for, of any length, whatever the interpreter's limit on digits is."""
    if len(digits) <= _CHUNK:
        return int(digits)
    negative = digits[0] == "-"
    value = 0
    start = 1 if negative else 0
    while start < len(digits):
        piece = digits[start : start + _CHUNK]
        value = value * int(10 ** len(piece)) + int(piece)
        start += _CHUNK
    return -value if negative else value


def integer_text(value: int) -> str:
    """Give the decimal text of an integer of any length; `MINUS_ZERO` is `-0`."""
    if value.__class__ is MinusZero:
        return "-0"
    if value.bit_length() <= _CHUNK_BITS:
        return int.__repr__(value)
    sign = "-" if value < 0 else ""
    rest = abs(value)
    pieces = []
    while rest >= _CHUNK_POWER:
        rest, piece = divmod(rest, _CHUNK_POWER)
        pieces.append(f"{piece:0{_CHUNK}d}")
    pieces.append(str(rest))
    return sign + "".join(reversed(pieces))


def decimal_parts(text: str) -> tuple[int, int]:
    """Give `(mantissa, scale)` of a JSON number: its exact value is `mantissa / 10**scale`, scale >= 0.

    >>> decimal_parts("12.50"), decimal_parts("1e2"), decimal_parts("0.1")
    ((1250, 2), (100, 0), (1, 1))
    """
    head, mark, exponent_text = text.partition("e")
    if not mark:
        head, mark, exponent_text = text.partition("E")
    whole, _, fraction = head.partition(".")
    mantissa = integer_of(whole + fraction)
    scale = len(fraction)
    if mark:
        if mantissa == 0:
            return 0, 0
        scale -= int(exponent_text)
        if scale < 0:
            return mantissa * int(10**-scale), 0
    return mantissa, scale


def parts_of(value: int | Number) -> tuple[int, int]:
    """Give `(mantissa, scale)` of a number of a trace; see `decimal_parts`."""
    if isinstance(value, Number):
        return decimal_parts(value.text)
    return int(value), 0


def round_ratio(numerator: int, denominator: int) -> int:
    """Round `numerator / denominator` half to even to six decimals, as a count of millionths.

    The denominator is positive.

    >>> round_ratio(1, 3), round_ratio(1, 2_000_000), round_ratio(3, 2_000_000)
    (333333, 0, 2)
    """
    whole, rest = divmod(numerator * MILLION, denominator)
    twice = 2 * rest
    if twice > denominator or (twice == denominator and whole & 1):
        whole += 1
    return whole


def millionths_to_float(millionths: int) -> float:
    """Give the binary64 nearest to a count of millionths; up to 1e9 its shortest form has those decimals."""
    return millionths / MILLION


def fixed_text(millionths: int) -> str:
    """Print a count of millionths: fixed point, shortest form, at least one decimal.

    >>> fixed_text(911_429), fixed_text(1_000_000), fixed_text(547_016_000)
    ('0.911429', '1.0', '547.016')
    """
    sign = "-" if millionths < 0 else ""
    whole, rest = divmod(abs(millionths), MILLION)
    decimals = f"{rest:0{DECIMALS}d}".rstrip("0") or "0"
    return f"{sign}{integer_text(whole)}.{decimals}"


def float_text(value: float) -> str:
    """Print a finite binary64 in fixed point: the shortest digits that read back as the same value, never an
    exponent.

    >>> float_text(1.0), float_text(1e-06), float_text(1.5e3), float_text(1e22)
    ('1.0', '0.000001', '1500.0', '10000000000000000000000.0')
    """
    text = float.__repr__(value)
    if "e" not in text:
        return text
    head, _, exponent_text = text.partition("e")
    sign, digits = ("-", head[1:]) if head[0] == "-" else ("", head)
    whole, _, fraction = digits.partition(".")
    digits = whole + fraction
    point = len(whole) + int(exponent_text)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}.0"
    return f"{sign}{digits[:point]}.{digits[point:]}"
