from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.contracts import role_of_name, snake_case


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rootCause", "root_cause"),
        ("Root-Cause", "root_cause"),
        ("root . cause", "root_cause"),
        ("HTTPServer", "httpserver"),
        ("v2Plan", "v2_plan"),
        ("goal", "goal"),
        ("Größe 12", "größe_12"),
        ("straßeNord", "straße_nord"),
        ("ÉtapeÉtude", "étape_étude"),
        ("a__b", "a__b"),
        ("質問 内容", "質問_内容"),
        ("", ""),
    ],
)
def test_snake_case_splits_before_a_capital_and_turns_separators_into_one_underscore(name: str, expected: str) -> None:
    assert snake_case(name) == expected


@given(st.text(max_size=30))
def test_snake_case_leaves_no_separator_and_is_stable(name: str) -> None:
    once = snake_case(name)
    assert not any(char.isspace() or char in ".-" for char in once)
    assert snake_case(once.lower()) == once or once != once.lower()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Gutachter-Agent 2", "gutachter"),
        ("researcher_agent", "researcher"),
        ("ResearchAgent", "research"),
        ("eng-1", "eng"),
        ("worker_1_agent", "worker"),
        ("engineer2", "engineer"),
        ("agent", "agent"),
        ("agent 007", "agent"),
        ("007", "007"),
        ("_agent", "_agent"),
        ("agent_smith", "agent_smith"),
    ],
)
def test_role_of_a_name_drops_trailing_agent_and_numbers_but_never_everything(name: str, expected: str) -> None:
    assert role_of_name(name) == expected
