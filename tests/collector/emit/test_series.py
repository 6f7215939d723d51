from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector import semconv
from collector.emit.series import OVERFLOW_ATTRIBUTES, Series, attributes_key, fold, nano
from collector.report import Exemplar, MetricDelta

SCORE = semconv.M_SESSION_COMPLETENESS
COUNT = semconv.M_REPORT_COUNT


class Rows:
    """The store's table, in memory."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Series] = {}

    def write(self, *deltas: MetricDelta, limit: int = 10, now_ns: int = 7) -> None:
        changed = fold(
            deltas,
            lambda name, key: self.rows.get((name, key)),
            lambda name: sum(1 for each, _ in self.rows if each == name),
            limit,
            now_ns,
        )
        for series in changed:
            self.rows[series.instrument, series.key] = Series.from_bytes(series.to_bytes())


def score(value: float, service: str = "a", exemplar: Exemplar | None = None) -> MetricDelta:
    return MetricDelta(SCORE, (("service.name", service),), value, exemplar)


def test_a_histogram_keeps_buckets_exact_sum_extremes_and_the_newest_exemplar_of_each_bucket() -> None:
    rows = Rows()
    first, second = Exemplar(0.7, 1, "a" * 32, "b" * 16), Exemplar(0.6, 2, "c" * 32, "d" * 16)
    rows.write(score(0.7, exemplar=first), score(1.0))
    rows.write(score(0.6, exemplar=second), now_ns=99)
    assert list(rows.rows.values()) == [
        Series(
            SCORE,
            (("service.name", "a"),),
            start_ns=7,
            count=3,
            sum_nano=2_300_000_000,
            min=0.6,
            max=1.0,
            buckets=(0, 0, 2, 0, 0, 1, 0),
            exemplars=(None, None, second, None, None, None, None),
        )
    ]


@pytest.mark.parametrize(
    ("value", "bucket"),
    [(0.0, 0), (0.349999, 0), (0.35, 1), (0.55, 2), (0.749999, 2), (0.75, 3), (0.9, 4), (0.999999, 4), (1.0, 5)],
)
def test_each_grade_has_its_bucket_because_bounds_are_inclusive_above(value: float, bucket: int) -> None:
    rows = Rows()
    rows.write(score(value))
    (series,) = rows.rows.values()
    assert series.buckets.index(1) == bucket


def test_a_counter_adds_up_across_writes() -> None:
    rows = Rows()
    drain, idle = (("orbitrelay.session.close_reason", reason) for reason in ("drain", "idle"))
    rows.write(MetricDelta(COUNT, (drain,), 2), MetricDelta(COUNT, (idle,), 1), MetricDelta(COUNT, (drain,), 3))
    rows.write(MetricDelta(COUNT, (drain,), 1))
    assert {series.attributes: series.count for series in rows.rows.values()} == {(drain,): 6, (idle,): 1}


def test_series_beyond_the_limit_share_one_overflow_series_and_known_ones_go_on() -> None:
    rows = Rows()
    rows.write(*(score(1.0, f"s{index}") for index in range(5)), limit=4)
    rows.write(score(1.0, "s0"), score(1.0, "s4"), score(1.0, "new"), limit=4)
    assert {series.attributes: series.count for series in rows.rows.values()} == {
        (("service.name", "s0"),): 2,
        (("service.name", "s1"),): 1,
        (("service.name", "s2"),): 1,
        OVERFLOW_ATTRIBUTES: 4,
    }


def test_an_unknown_instrument_is_an_error() -> None:
    with pytest.raises(KeyError):
        Rows().write(MetricDelta("orbitrelay.handoff.compleness", (), 1))


def test_equal_attribute_sets_have_equal_keys_and_types_tell_them_apart() -> None:
    assert (
        attributes_key((("a", "x"), ("b", True))) == attributes_key((("b", True), ("a", "x"))) == '{"a":"x","b":true}'
    )
    assert attributes_key((("b", "true"),)) != attributes_key((("b", True),))


@given(st.lists(st.integers(0, 1_000_000), max_size=40))
def test_bucketing_loses_and_invents_nothing_whatever_the_order(micros: list[int]) -> None:
    values = [micro / 1_000_000 for micro in micros]
    forward, backward, split = Rows(), Rows(), Rows()
    forward.write(*map(score, values))
    backward.write(*map(score, reversed(values)))
    for value in values:
        split.write(score(value))
    assert forward.rows == backward.rows == split.rows
    if values:
        (series,) = forward.rows.values()
        assert series.count == sum(series.buckets) == len(values)
        assert series.sum_nano == sum(Fraction(micro, 1_000_000) for micro in micros) * 10**9
        for at, bound in enumerate(semconv.GRADE_BOUNDS):
            assert sum(series.buckets[: at + 1]) == sum(value <= bound for value in values)
            assert bisect_left(semconv.GRADE_BOUNDS, bound) == at


@given(st.floats(0, 1e15))
def test_nano_is_the_decimal_value_rounded_once(value: float) -> None:
    assert abs(Fraction(nano(value), 10**9) - Fraction(repr(value) if "e" not in repr(value) else value)) <= Fraction(
        1, 2 * 10**9
    )


def test_a_sum_beyond_64_bits_survives_its_row() -> None:
    series = Series(SCORE, (), 0, count=1, sum_nano=10**24)
    assert Series.from_bytes(series.to_bytes()) == series
