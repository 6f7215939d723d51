"""Fields: keys of arguments, bags, JSON in text, labelled lines, one message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.recovery import fields


def read(value: Any) -> dict[str, Any]:
    return {f.name: f.value for f in fields.of_value(value)}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"orderId": 7, "Patient Nr": 0, "x-y.z": None}, {"order_id": 7, "patient_nr": 0, "x_y_z": None}),
        ({"message": "go", "context": {"goal": "g", "files": []}}, {"message": "go", "goal": "g", "files": []}),
        ({"task": "t", "context": "free text"}, {"task": "t", "context": "free text"}),
        ({"task": "t", "context": '{"goal": "g"}'}, {"task": "t", "goal": "g"}),
        ({"input": '{"goal": "g", "limits": []}'}, {"goal": "g", "limits": []}),
        ({"request": "look at it"}, {"message": "look at it"}),
        ({"task": "look at it"}, {"task": "look at it"}),
        ({"task": '{"goal": "g", "limits": []}'}, {"goal": "g", "limits": []}),
        ({"task": {"goal": "g", "limits": []}}, {"task": {"goal": "g", "limits": []}}),
        ({"task": "Goal: g\nLimit: l"}, {"task": "Goal: g\nLimit: l", "goal": "g", "limit": "l"}),
        ({"task": "Goal: g\nLimit: l", "n": 0}, {"task": "Goal: g\nLimit: l", "n": 0}),
        ("{'goal': 'g', 'files': ('a', 'b')}", {"goal": "g", "files": ["a", "b"]}),
        ("Goal: g\nLimit: l", {"message": "Goal: g\nLimit: l", "goal": "g", "limit": "l"}),
        ("just words", {"message": "just words"}),
        ({}, {}),
        ("", {}),
        (None, {}),
        ([1, 2], {"message": [1, 2]}),
    ],
)
def test_content_gives_its_fields(value: Any, expected: dict[str, Any]) -> None:
    assert read(value) == expected


def test_two_names_that_meet_merge_and_the_first_stays() -> None:
    assert read({"orderId": 1, "order_id": 2}) == {"order_id": 1}


def test_redacted_and_cut_values_keep_their_state() -> None:
    found = fields.of_value({"goal": "[REDACTED]", "plan": '{"a": "b', "note": ""})
    assert [(f.name, f.value, f.state) for f in found] == [
        ("goal", "[REDACTED]", "redacted"),
        ("plan", '{"a": "b', "truncated"),
        ("note", "", "full"),
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("goal", "goal"),
        ("task_description", "goal"),
        ("constraints", "constraint"),
        ("artifacts", "artifact"),
        ("decisions", "state"),
        ("weather", "note"),
    ],
)
def test_kind_is_told_by_the_name(name: str, kind: str) -> None:
    assert fields.kind(name) == kind


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda c: st.lists(c, max_size=4) | st.dictionaries(st.text(max_size=8), c, max_size=4),
    )
)
def test_no_content_raises_and_names_are_distinct(value: Any) -> None:
    for form in (value, json.dumps(value), json.dumps(json.dumps(value))):
        found = [f.name for f in fields.of_value(form)]
        assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            '{"goal": "g", "plan": ["x"], "notes": "very lo',
            [("goal", "g", "full"), ("plan", ["x"], "full"), ("notes", "very lo", "truncated")],
        ),
        (
            '{"message": "m", "context": {"a": 0, "b": "y',
            [("message", "m", "full"), ("a", 0, "full"), ("b", "y", "truncated")],
        ),
        ('{"context": "{\\"a\\": 0, \\"b\\": \\"y', [("a", 0, "full"), ("b", "y", "truncated")]),
        ('{"input": "{\\"a\\": 0, \\"b\\": \\"y', [("a", 0, "full"), ("b", "y", "truncated")]),
        ('{"goal": {"of": 1, "and": "y', [("goal", {"of": 1, "and": "y"}, "truncated")]),
    ],
)
def test_of_cut_arguments_what_is_whole_is_read_and_the_rest_is_marked(text: str, found: list[Any]) -> None:
    assert [(f.name, f.value, f.state) for f in fields.of_value(text)] == found


@pytest.mark.parametrize(
    ("value", "asked", "expected"),
    [
        ({"request": "r"}, "request", {"request": "r"}),
        ({"request": "r"}, "goal", {"message": "r"}),
        ({"context": {"a": 1, "goal": 2}}, "context goal", {"goal": 2, "context": {"a": 1, "goal": 2}}),
        ({"context": {"a": 1}, "b": 2}, "b", {"a": 1, "b": 2}),
        ({"task": '{"goal": "g", "x": 1}'}, "task goal", {"goal": "g", "task": {"goal": "g", "x": 1}}),
        ({"a": 1, "note": "Goal: g\nWhy: w"}, "goal", {"a": 1, "note": "Goal: g\nWhy: w", "goal": "g"}),
        ('See {"goal": "", "x": 1}', "goal", {"message": 'See {"goal": "", "x": 1}', "goal": ""}),
        ("Goal: g", "goal", {"message": "Goal: g", "goal": "g"}),
    ],
)
def test_what_a_contract_asks_for_is_a_field_before_it_is_anything_else(
    value: Any, asked: str, expected: dict[str, Any]
) -> None:
    assert {f.name: f.value for f in fields.of_value(value, frozenset(asked.split()))} == expected


def test_of_a_field_that_comes_twice_the_one_with_a_value_counts() -> None:
    assert read({"goal": "", "Goal": "g", "why": "w", "context": {"goal": "h", "why": None}}) == {
        "goal": "g",
        "why": "w",
    }
