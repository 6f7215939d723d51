"""Ids, times and lengths of time as exports spell them."""

from __future__ import annotations

from typing import Any

import pytest

from collector.dumps.values import attributes_of, duration, nanoseconds, span_id, trace_id

SECOND = 10**9


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-28T20:26:40Z", 1_780_000_000 * SECOND),
        ("2026-05-28T20:26:40.123456789Z", 1_780_000_000 * SECOND + 123_456_789),
        ("2026-05-28 20:26:40.5", 1_780_000_000 * SECOND + 500_000_000),
        ("2026-05-28T22:26:40+02:00", 1_780_000_000 * SECOND),
        ("2026-05-28T18:56:40-0130", 1_780_000_000 * SECOND),
        ("2026-05-28 20:26:40 UTC", 1_780_000_000 * SECOND),
        ("1780000000123456789", 1_780_000_000_123_456_789),
        (1_780_000_000, 1_780_000_000 * SECOND),
        (1_780_000_000.25, 1_780_000_000 * SECOND + 250_000_000),
        (1_780_000_000_123, 1_780_000_000_123 * 10**6),
        (1_780_000_000_123_456, 1_780_000_000_123_456 * 10**3),
        (1_780_000_000_123_456_789, 1_780_000_000_123_456_789),
        ([1_780_000_000, 5], 1_780_000_000 * SECOND + 5),
        ("2026-13-45T99:99:99Z", 0),
        ("yesterday", 0),
        ("", 0),
        (None, 0),
        (True, 0),
        (-5, 0),
        (float("inf"), 0),
        ("9" * 5000, 0),
        ("0001-01-01T00:00:00Z", 0),
    ],
)
def test_a_time_is_nanoseconds_or_not_recorded(value: Any, expected: int) -> None:
    assert nanoseconds(value) == expected


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        ("PT2.5S", 1, 2_500_000_000),
        ("PT1H2M3S", 1, 3723 * SECOND),
        ("P1D", 1, 86_400 * SECOND),
        (5, 10**6, 5_000_000),
        ("2.5", 10**6, 2_500_000),
        ([1, 500], 1, SECOND + 500),
        ("soon", 1, 0),
        (None, 1, 0),
        (-1, 1, 0),
        (float("nan"), 1, 0),
    ],
)
def test_a_length_of_time_is_nanoseconds(value: Any, unit: int, expected: int) -> None:
    assert duration(value, unit) == expected


def test_ids_are_hex_of_one_length_and_the_same_text_is_the_same_id() -> None:
    assert trace_id("0xABC") == "abc".zfill(32)
    assert trace_id("5b8efff7-9803-8103-d269-b633813fc60c") == "5b8efff798038103d269b633813fc60c"
    assert span_id("a1") == "00000000000000a1"
    assert span_id("obs-1") == span_id("obs-1") != span_id("obs-2")
    assert len(span_id("5b8efff7-9803-8103-d269-b633813fc60c")) == 16
    assert [trace_id(none) for none in (None, "", "0" * 32)] == ["", "", ""]


def test_deep_attributes_end_somewhere() -> None:
    value: Any = 1
    for _ in range(5000):
        value = {"a": value}

    assert len(attributes_of(value)) == 1
