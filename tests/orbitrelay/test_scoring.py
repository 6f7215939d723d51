"""The formula, its weights and its floor."""

from __future__ import annotations

from fractions import Fraction

import pytest

from orbitrelay import Weights, analyse, from_document
from orbitrelay.scoring import (
    EMPTY_WEIGHT,
    EXTRA_CAP,
    EXTRA_WEIGHT,
    MISSING_WEIGHT,
    exact_score,
    grade_of,
)
from tests.orbitrelay.worlds import document, field, handoff


def test_the_weights_are_the_ones_of_the_formula() -> None:
    assert (MISSING_WEIGHT, EMPTY_WEIGHT, EXTRA_WEIGHT, EXTRA_CAP) == (0.60, 0.30, 0.10, 5)


@pytest.mark.parametrize("required", range(5))
def test_a_score_is_the_formula_exactly(required: int) -> None:
    for missing in range(required + 1):
        for empty in range(required + 1 - missing):
            for extra in range(8):
                expected = (
                    1
                    - Fraction(60, 100) * missing / max(required, 1)
                    - Fraction(30, 100) * empty / max(required, 1)
                    - Fraction(10, 100) * min(extra, 5) / 5
                )
                assert Fraction(*exact_score(required, missing, empty, extra)) == expected


def test_all_lost_scores_two_fifths_and_with_extras_three_tenths() -> None:
    assert Fraction(*exact_score(3, 3, 0, 0)) == Fraction(2, 5)
    assert Fraction(*exact_score(3, 3, 0, 9)) == Fraction(3, 10)


@pytest.mark.parametrize(
    ("score", "grade"),
    [
        ("0.9", "A"),
        ("0.8999999999", "B"),
        ("0.75", "B"),
        ("0.55", "C"),
        ("0.35", "D"),
        ("0.3499999999", "F"),
        ("0", "F"),
    ],
)
def test_a_grade_is_decided_on_the_exact_score(score: str, grade: str) -> None:
    exact = Fraction(score)
    assert grade_of(exact.numerator, exact.denominator) == grade


def test_other_weights_are_taken_as_the_decimals_they_are_written_as_and_clamped() -> None:
    weights = Weights(missing=1.7, empty=0.05, extra=0.1, extra_cap=3)
    assert exact_score(2, 2, 0, 0, weights)[0] == 0
    assert Fraction(*exact_score(2, 0, 1, 2, weights)) == 1 - Fraction(5, 200) - Fraction(2, 30)
    trace = from_document(document(handoff(1, fields=["goal", field("plan", "")])))
    assert analyse(trace, weights=weights).scores.mean_score == 0.975
