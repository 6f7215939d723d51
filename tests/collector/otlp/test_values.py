"""Ids and limits."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.otlp.values import Limits, cut_value, id_from_text
from tests.collector.otlp import worlds


@given(raw=st.binary(min_size=8, max_size=8) | st.binary(min_size=16, max_size=16))
def test_an_id_is_the_same_from_hex_and_from_base64(raw: bytes) -> None:
    for text in (raw.hex(), raw.hex().upper(), base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()):
        assert id_from_text(text, len(raw)) == raw.hex()


@pytest.mark.parametrize(
    "text", ["", "abc", "0x00112233445566", "00112233445566gg", "=" * 16, "é" * 11, "0011 22334455667"]
)
def test_what_is_no_id_is_none(text: str) -> None:
    assert id_from_text(text, 8) is None


@given(value=worlds.value)
def test_a_value_within_the_limits_is_itself(value: object) -> None:
    assert cut_value(value, Limits()) == (value, False)


def test_a_value_is_cut_at_its_depth_and_its_strings_at_their_length() -> None:
    assert cut_value({"a": ["long", [1]], "b": b"long"}, Limits(length=2, depth=2)) == (
        {"a": ["lo", None], "b": b"lo"},
        True,
    )
