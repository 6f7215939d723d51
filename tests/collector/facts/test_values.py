"""Values: JSON in JSON, Python literals, labelled prose, markers, cut text; and that no content raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.facts import values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (json.dumps(json.dumps(json.dumps({"a": 1}))), {"a": 1}),
        ("{'a': [1, None, True], 'b': ('x', 2)}", {"a": [1, None, True], "b": ["x", 2]}),
        ('\ufeff {"a": 1}', {"a": 1}),
        ("plain words", "plain words"),
        ("42", "42"),
        ("{not json", "{not json"),
        ("[draft] see below", "[draft] see below"),
        ("", ""),
        (7, 7),
        (None, None),
    ],
)
def test_parse_reads_the_structure_in_a_text(text: Any, value: Any) -> None:
    assert values.parse(text) == value


def test_parse_goes_three_layers_deep_and_no_further() -> None:
    text: Any = {"a": 1}
    for _ in range(4):
        text = json.dumps(text)
    assert values.parse(text) == json.dumps({"a": 1})


@pytest.mark.parametrize("text", ["__REDACTED__", "<REDACTED>", "[REDACTED]", "[redacted by policy]", "***REDACTED***"])
def test_markers_are_redacted(text: str) -> None:
    assert values.is_redacted(text)


@pytest.mark.parametrize("text", ["", "redacted", "the [REDACTED] part of a sentence", 0, None, "{}"])
def test_other_values_are_not_redacted(text: Any) -> None:
    assert not values.is_redacted(text)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Goal: ship it\nLimit: 5 ms", {"Goal": "ship it", "Limit": "5 ms"}),
        (
            "PLAN\nObjective: limiter\nConstraints:\nAcceptance: 429 with Retry-After",
            {"Objective": "limiter", "Constraints": "", "Acceptance": "429 with Retry-After"},
        ),
        ("## Goal\nship it\n\n## Artifacts\n- a.py\n- b.py", {"Goal": "ship it", "Artifacts": "- a.py\n- b.py"}),
        ("Files:\n- a.py\n- b.py\nOwner: ann", {"Files": "- a.py\n- b.py", "Owner": "ann"}),
        ("**Goal:** ship\n**Why:** late", {"Goal": "ship", "Why": "late"}),
        ("1. Goal: ship\n2) Why: late", {"Goal": "ship", "Why": "late"}),
        ("# Goal\n\nship it\n\n## Why\n\n", {"Goal": "ship it", "Why": ""}),
        ("Goal:\n\nA paragraph.\nWhy: late", {"Goal": "", "Why": "late"}),
    ],
)
def test_labelled_lines_are_read(text: str, fields: dict[str, str]) -> None:
    assert values.labelled(text) == fields


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ('Take this: {"a": 1} and {"b": {"c": []}}.', [{"a": 1}, {"b": {"c": []}}]),
        ('{"a": {"b" {"c": 0}', [{"c": 0}]),
        ("{a: 1} {} []", []),
    ],
)
def test_objects_inside_of_prose_are_read(text: str, objects: list[dict[str, Any]]) -> None:
    assert values.inside(text) == objects


@pytest.mark.parametrize(
    "text",
    [
        "Findings: Redis is already used.",
        "Come at 7:00 or at 8:30.",
        "see http://a.example/x\nand https://b.example/y",
        "one sentence\nand another one",
        "Q: why?\nQ: how?",
        "",
    ],
)
def test_prose_has_no_labels(text: str) -> None:
    assert values.labelled(text) is None


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ('{"a": "b', True),
        ('{"a": [1, 2', True),
        ('{"a": 1}', False),
        ("{'a': 1}", False),
        ("{brackets} in prose", False),
        ("", False),
        (None, False),
    ],
)
def test_json_that_stops_in_the_middle_is_cut(text: Any, cut: bool) -> None:
    assert values.looks_cut(text) is cut


@given(
    st.text()
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    ).map(json.dumps)
)
def test_no_text_makes_a_reader_raise(text: str) -> None:
    values.parse(text)
    values.labelled(text)
    values.looks_cut(text)
    values.is_redacted(text)


@pytest.mark.parametrize("text", ["[" * 100_000, "(" * 100_000, '{"a":' * 50_000, "{'a':" * 5_000 + "1" + "}" * 5_000])
def test_hostile_nesting_stays_text(text: str) -> None:
    assert values.parse(text) == text
    assert values.looks_cut(text) in (True, False)


@pytest.mark.parametrize("text", ["***", "██████", "REDACTED"])
def test_masks_are_redacted(text: str) -> None:
    assert values.is_redacted(text)


def test_a_fence_around_the_whole_is_no_part_of_it() -> None:
    assert values.parse('```json\n{"a": [1]}\n```') == {"a": [1]}
    assert values.parse('see\n```json\n{"a": [1]}\n```') == 'see\n```json\n{"a": [1]}\n```'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1, "b": "x"}', ({"a": 1, "b": "x"}, ())),
        ('{"a": 1, "b": "x', ({"a": 1, "b": "x"}, ("b",))),
        ('{"a": 1, "b": "x\\', ({"a": 1, "b": "x"}, ("b",))),
        ('{"a": 1, "b": "x\\u00', ({"a": 1, "b": "x"}, ("b",))),
        ('{"a": 1, "b": 12', ({"a": 1, "b": "12"}, ("b",))),
        ('{"a": 1, "b": [1, 2', ({"a": 1, "b": "[1, 2"}, ("b",))),
        ('{"a": 1, "b": {"c": 2, "d": "y', ({"a": 1, "b": {"c": 2, "d": "y"}}, ("b", "d"))),
        ('{"a": 1, "b":', ({"a": 1}, ())),
        ('{"a": 1, "b', ({"a": 1}, ())),
        ('{"a": 1,', ({"a": 1}, ())),
        ('"{\\"a\\": 1, \\"b\\": \\"x', ({"a": 1, "b": "x"}, ("b",))),
        ("plain", None),
        ("[1, 2", None),
        ("{not json at all}", None),
    ],
)
def test_an_object_is_opened_as_far_as_it_goes(text: str, found: Any) -> None:
    assert values.opened(text) == found


@given(
    st.dictionaries(st.text(min_size=1), st.recursive(st.integers(-9, 9) | st.text() | st.none(), st.lists)),
    st.integers(1),
)
def test_wherever_an_object_is_cut_what_is_before_the_cut_is_as_it_was(whole: dict[str, Any], cut: int) -> None:
    text = json.dumps(whole)
    found = values.opened(text[: max(1, cut % (len(text) + 1))])

    assert found is not None
    entries, path = found
    assert {k: v for k, v in entries.items() if k not in path} == {k: whole[k] for k in entries if k not in path}


SPOKEN = [
    {"role": "user", "parts": [{"type": "text", "content": 'say "a: b"'}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "name": "ask", "arguments": {"goal": "g", "n": [1, None]}}]},
]


@pytest.mark.parametrize(
    ("upto", "found"),
    [
        ('[{"', [{}]),
        ("user", [{}]),
        ('user",', [{"role": "user"}]),
        ("a:", [{"role": "user", "parts": [{"type": "text", "content": 'say "a:'}]}]),
        (', "name": "as', [SPOKEN[0], {"role": "assistant", "parts": [{"type": "tool_call"}]}]),
        (
            '"g", "n":',
            [
                SPOKEN[0],
                {"role": "assistant", "parts": [{"type": "tool_call", "name": "ask", "arguments": {"goal": "g"}}]},
            ],
        ),
        (
            "[1, nu",
            [
                SPOKEN[0],
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "name": "ask", "arguments": {"goal": "g", "n": [1, "nu"]}}],
                },
            ],
        ),
        (json.dumps(SPOKEN), None),
    ],
)
def test_a_list_is_read_as_far_as_it_goes_and_a_name_that_was_cut_is_none(upto: str, found: Any) -> None:
    before, cut, _rest = json.dumps(SPOKEN).partition(upto)
    assert values.as_far(before + cut) == found


@given(
    st.recursive(st.integers(-9, 9) | st.text() | st.none(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)),
    st.integers(1),
)
def test_no_cut_makes_as_far_raise(whole: Any, cut: int) -> None:
    text = json.dumps([whole])
    assert isinstance(values.as_far(text[: cut % len(text)] or "["), list)
