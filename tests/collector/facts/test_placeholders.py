from __future__ import annotations

import pytest

from collector.facts.placeholders import is_placeholder


@pytest.mark.parametrize(
    "name",
    [
        "",
        "agent",
        "Strands Agents",
        "OpenAI Agent",
        "LangGraph",
        "unknown",
        "0123456789abcdef0123456789abcdef",
        "0B5D1F0E-6f5b-4c3e-9a25-1d2b3c4d5e6f",
    ],
)
def test_defaults_of_producers_are_no_names(name: str) -> None:
    assert is_placeholder(name)


@pytest.mark.parametrize("name", ["agent 007", "planner", "Agent Smith"])
def test_names_given_by_people_are_names(name: str) -> None:
    assert not is_placeholder(name)
