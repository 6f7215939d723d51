"""The canonical form, held against the standard library's own writer where that one can say it."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbitrelay import Number, dumps, dumps_line
from orbitrelay.exact import MINUS_ZERO

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
data = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)


@given(data)
def test_the_indented_form_is_the_one_of_the_standard_library(value: Any) -> None:
    assert dumps(value).decode() == json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@given(data)
def test_the_compact_form_is_the_one_of_the_standard_library(value: Any) -> None:
    expected = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    assert dumps_line(value).decode() == expected


@pytest.mark.parametrize("length", [1_000, 1_001, 2_000, 3_500])
@pytest.mark.parametrize("write", [dumps, dumps_line])
def test_a_long_list_is_the_same_written_piece_by_piece(length: int, write: Any) -> None:
    rows = [{"id": i, "names": ("a", "b"), "none": []} for i in range(length)]
    value = {"z": rows, "a": rows, "é": {"inner": list(range(length))}, "empty": [], "text": "%s"}
    layout: dict[str, Any] = {"indent": 2} if write is dumps else {"separators": (",", ":")}
    assert write(value).decode() == json.dumps(value, sort_keys=True, ensure_ascii=False, **layout) + "\n"


def test_numbers_stand_as_their_text_and_floats_in_fixed_point() -> None:
    value = [Number("1.50"), Number("1e2"), 0.1, 1e-7, 1e22, 3.0, MINUS_ZERO, True]
    assert dumps_line(value) == b"[1.50,1e2,0.1,0.0000001,10000000000000000000000.0,3.0,-0,true]\n"


def test_a_string_escapes_only_what_json_requires() -> None:
    assert dumps_line('"\\/\b\f\n\r\t\x00\x1f\x7f\u2028\u00e9\U0001f600') == (
        '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\u2028\u00e9\U0001f600"\n'.encode()
    )


def test_equal_tuples_of_unequal_types_are_told_apart() -> None:
    value = [("a", 1), ("a", True), ("a", 1.0), ("a", "b"), ("a", "b"), ("a", {}), (), {"%s": ("a", "b"), "%": ()}]
    assert dumps_line(value) == (
        b'[["a",1],["a",true],["a",1.0],["a","b"],["a","b"],["a",{}],[],{"%":[],"%s":["a","b"]}]\n'
    )


def test_an_integer_is_written_whatever_the_interpreter_is_willing_to_write() -> None:
    before = sys.get_int_max_str_digits()
    digits = "7" * 900
    value = {"big": int(digits), "small": -1}
    try:
        sys.set_int_max_str_digits(640)
        assert dumps_line(value) == f'{{"big":{digits},"small":-1}}\n'.encode()
    finally:
        sys.set_int_max_str_digits(before)


def test_keys_stand_in_code_point_order() -> None:
    assert dumps_line(dict.fromkeys(("😀", "￮", "b", "a", "", "B", "10", "9"), 0)) == (
        '{"":0,"10":0,"9":0,"B":0,"a":0,"b":0,"\uffee":0,"\U0001f600":0}\n'.encode()
    )


@pytest.mark.parametrize("value", [{1, 2}, {"a": [b"x"]}, object()])
def test_what_is_no_json_data_is_refused(value: Any) -> None:
    for write in (dumps, dumps_line):
        with pytest.raises(TypeError, match="expected JSON data, found a Python"):
            write(value)
