"""Exact numbers: text to value and back, rounding, printing."""

from __future__ import annotations

import sys
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbitrelay.exact import (
    MINUS_ZERO,
    decimal_parts,
    fixed_text,
    float_text,
    integer_of,
    integer_text,
    round_ratio,
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0", (0, 0)),
        ("-0.0", (0, 1)),
        ("0e-999999999999", (0, 0)),
        ("12.50", (1250, 2)),
        ("1e2", (100, 0)),
        ("1E+2", (100, 0)),
        ("1.5e1", (15, 0)),
        ("1.25e1", (125, 1)),
        ("5e-324", (5, 324)),
        ("-2.5e-1", (-25, 2)),
    ],
)
def test_a_decimal_text_is_taken_exactly(text: str, parts: tuple[int, int]) -> None:
    assert decimal_parts(text) == parts


@given(st.integers(-(10**1500), 10**1500))
def test_integers_of_any_length_survive_the_lowest_limit_on_digits(value: int) -> None:
    text = integer_text(value)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert integer_of(text) == value
        assert integer_text(value) == text
    finally:
        sys.set_int_max_str_digits(limit)
    assert text == str(value)


def test_minus_zero_is_zero_that_is_echoed_with_its_sign() -> None:
    assert MINUS_ZERO == 0
    assert integer_text(MINUS_ZERO) == "-0"


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**7))
def test_a_ratio_is_rounded_once_half_to_even(numerator: int, denominator: int) -> None:
    assert Fraction(round_ratio(numerator, denominator)) == round(Fraction(numerator, denominator) * 10**6)


@pytest.mark.parametrize(("numerator", "millionths"), [(1, 0), (3, 2), (5, 2), (7, 4), (-1, 0), (-3, -2)])
def test_what_lies_between_two_goes_to_the_even_one(numerator: int, millionths: int) -> None:
    assert round_ratio(numerator, 2_000_000) == millionths


@given(st.integers(0, 10**22))
def test_millionths_print_in_fixed_point(millionths: int) -> None:
    text = fixed_text(millionths)
    assert Fraction(text) == Fraction(millionths, 10**6)
    whole, _, decimals = text.partition(".")
    assert whole == str(int(whole))
    assert decimals == "0" or not decimals.endswith("0")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_prints_in_fixed_point_and_reads_back_the_same(value: float) -> None:
    text = float_text(value)
    assert float(text) == value
    assert set(text) <= set("-.0123456789")
    assert "." in text
    assert text == float_text(float(text))


@given(st.integers(0, 10**9))
def test_a_rounded_value_survives_as_a_float(millionths: int) -> None:
    exact = Decimal(millionths) / 10**6
    assert float_text(float(exact)) == fixed_text(millionths)
    assert exact == exact.quantize(Decimal("0.000001"), rounding=ROUND_HALF_EVEN)
