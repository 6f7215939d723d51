"""Outcomes to figures: score and grade of each handoff, and the mean and the weakest of a trace.

Separate because two implementations must agree on it to the last digit. Everything is computed with integers: a
score is the exact fraction

    1 - MISSING_WEIGHT * missing / max(required, 1) - EMPTY_WEIGHT * empty / max(required, 1)
      - EXTRA_WEIGHT * min(extra, EXTRA_CAP) / EXTRA_CAP

clamped to [0, 1], where a weight is the decimal it is written as. Grades, means and the weakest are decided on exact
fractions; what is reported has been rounded once, half to even, to six decimals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import lcm

from .exact import decimal_parts, float_text, millionths_to_float, round_ratio
from .inspector import Inspection

MISSING_WEIGHT = 0.60
EMPTY_WEIGHT = 0.30
EXTRA_WEIGHT = 0.10
EXTRA_CAP = 5
"""Extra fields beyond this many cost nothing more."""

GRADES = (("A", 0.90), ("B", 0.75), ("C", 0.55), ("D", 0.35), ("F", 0.0))
"""Grade and the least score that earns it, best first."""

DROPPED = "dropped"
NOT_RECORDED = "not_recorded"
RETURN_WITHOUT_CONTRACT = "return_without_contract"
UNRECORDED_FIELD = "unrecorded_field"

UNSCORED_REASONS: Mapping[str, str] = {
    DROPPED: "asked for and never taken up",
    NOT_RECORDED: "its content was not recorded",
    RETURN_WITHOUT_CONTRACT: "a return that no contract speaks of",
    UNRECORDED_FIELD: "a required field may have been cut off",
}
"""Why a handoff has no score, and the words for it; where several apply, the first counts."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The four numbers of the formula, each weight as the decimal it is written as."""

    missing: float = MISSING_WEIGHT
    empty: float = EMPTY_WEIGHT
    extra: float = EXTRA_WEIGHT
    extra_cap: int = EXTRA_CAP


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class HandoffScore:
    """Score, grade and counts of one handoff; no score and no grade, but a reason, where it cannot be scored."""

    inspection: Inspection
    required: int
    present: int
    empty: int
    missing: int
    unrecorded: int
    extra: int
    score: float | None
    """The exact score rounded to six decimals."""
    grade: str | None
    unscored_reason: str | None
    """A key of `UNSCORED_REASONS`."""

    @property
    def handoff_id(self) -> str:
        return self.inspection.handoff.handoff_id

    @property
    def contracted(self) -> bool:
        return self.inspection.contracted


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """What a trace's handoffs add up to. A mean of nothing is None, and `no_score_reason` says why."""

    handoffs: tuple[HandoffScore, ...]
    mean_score: float | None
    """Over all that are scored."""
    mean_contracted: float | None
    """Over those that are scored against a contract."""
    weakest_handoff: str | None
    """The id of the lowest score, compared exactly; the first in relay order among equals."""
    scored: int
    unscored: int
    unscored_reasons: Mapping[str, int]
    """How many handoffs each reason keeps from a score, in the order of `UNSCORED_REASONS`."""
    no_score_reason: str | None


def exact_score(
    required: int, missing: int, empty: int, extra: int, weights: Weights = DEFAULT_WEIGHTS
) -> tuple[int, int]:
    """Give a score as the exact fraction (numerator, denominator), clamped to [0, 1].

    >>> exact_score(4, 2, 0, 0), exact_score(0, 0, 0, 0)
    ((140, 200), (50, 50))
    """
    return _fraction((required, missing, empty, extra), *_integer_weights(weights), weights.extra_cap)


def _fraction(counts: tuple[int, int, int, int], weights: tuple[int, int, int], unit: int, cap: int) -> tuple[int, int]:
    required, missing, empty, extra = counts
    divisor = max(required, 1)
    denominator = unit * cap * divisor
    lost = cap * (weights[0] * missing + weights[1] * empty) + weights[2] * min(extra, cap) * divisor
    return min(max(denominator - lost, 0), denominator), denominator


def _integer_weights(weights: Weights) -> tuple[tuple[int, int, int], int]:
    """Give the three weights as integers over one power of ten."""
    parts = [decimal_parts(float_text(float(weight))) for weight in (weights.missing, weights.empty, weights.extra)]
    scale = max(scale for _, scale in parts)
    missing, empty, extra = (mantissa * 10 ** (scale - own) for mantissa, own in parts)
    return (missing, empty, extra), 10**scale


_GRADE_FLOORS = tuple((grade, *decimal_parts(float_text(floor))) for grade, floor in GRADES)


def grade_of(numerator: int, denominator: int) -> str:
    """Give the grade of an exact score."""
    for grade, mantissa, scale in _GRADE_FLOORS:
        if numerator * 10**scale >= mantissa * denominator:
            return grade
    return GRADES[-1][0]


def unscored_reason(inspection: Inspection) -> str | None:
    """Say why a handoff cannot be scored, as a key of `UNSCORED_REASONS`, or None when it can."""
    handoff = inspection.handoff
    if handoff.is_dropped:
        return DROPPED
    if not handoff.recorded:
        return NOT_RECORDED
    if not inspection.contracted and handoff.is_return:
        return RETURN_WITHOUT_CONTRACT
    if inspection.unrecorded:
        return UNRECORDED_FIELD
    return None


def score(inspections: Iterable[Inspection], weights: Weights = DEFAULT_WEIGHTS) -> ScoreReport:
    """Score the inspected handoffs of one trace, which come in relay order."""
    integer_weights, unit = _integer_weights(weights)
    cap = weights.extra_cap
    known: dict[tuple[int, int, int, int], tuple[int, int, float, str]] = {}
    made: list[HandoffScore] = []
    every = _Sum()
    contracted = _Sum()
    weakest: tuple[int, int, str] | None = None
    reasons = dict.fromkeys(UNSCORED_REASONS, 0)
    for inspection in inspections:
        required = len(inspection.required)
        present = len(inspection.present)
        empty = len(inspection.empty)
        missing = len(inspection.missing)
        extra = len(inspection.extra)
        reason = unscored_reason(inspection)
        value: float | None = None
        grade: str | None = None
        if reason is None:
            counts = (required, missing, empty, min(extra, cap))
            cached = known.get(counts)
            if cached is None:
                numerator, denominator = _fraction(counts, integer_weights, unit, cap)
                rounded = millionths_to_float(round_ratio(numerator, denominator))
                cached = known[counts] = numerator, denominator, rounded, grade_of(numerator, denominator)
            numerator, denominator, value, grade = cached
            every.add(numerator, denominator)
            if inspection.contracted:
                contracted.add(numerator, denominator)
            if weakest is None or numerator * weakest[1] < weakest[0] * denominator:
                weakest = numerator, denominator, inspection.handoff.handoff_id
        else:
            reasons[reason] += 1
        made.append(
            HandoffScore(
                inspection,
                required,
                present,
                empty,
                missing,
                len(inspection.unrecorded),
                extra,
                value,
                grade,
                reason,
            )
        )
    reasons = {reason: count for reason, count in reasons.items() if count}
    return ScoreReport(
        tuple(made),
        every.mean(),
        contracted.mean(),
        weakest[2] if weakest is not None else None,
        every.count,
        len(made) - every.count,
        reasons,
        _why_no_score(len(made), reasons) if not every.count else None,
    )


def _why_no_score(handoffs: int, reasons: Mapping[str, int]) -> str:
    if not handoffs:
        return "the trace has no handoffs"
    return "no handoff could be scored: " + ", ".join(
        f"{reason.replace('_', ' ')} {count}" for reason, count in reasons.items()
    )


class _Sum:
    """An exact sum of fractions: numerators by denominator, brought together at the end."""

    __slots__ = ("_numerators", "count")

    def __init__(self) -> None:
        self._numerators: dict[int, int] = {}
        self.count = 0

    def add(self, numerator: int, denominator: int) -> None:
        self._numerators[denominator] = self._numerators.get(denominator, 0) + numerator
        self.count += 1

    def mean(self) -> float | None:
        if not self.count:
            return None
        common = lcm(*self._numerators)
        total = sum(numerator * (common // own) for own, numerator in self._numerators.items())
        return millionths_to_float(round_ratio(total, common * self.count))
