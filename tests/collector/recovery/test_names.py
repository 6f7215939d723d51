"""Names: which spellings are one agent, and what a tool's name says of its target."""

from __future__ import annotations

import pytest

from collector.recovery.names import (
    Directory,
    agent_key,
    asked_in_tool_name,
    clean,
    is_placeholder,
    target_in_tool_name,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Refund Agent", "refund_agent"),
        ("refundAgent", "refund-agent"),
        ("planner_0ed4bd09-b59d-406e-bd3d-0555b1edd8d9", "planner"),
        ("planner_0ed4bd09-b59d-406e-bd3d-0555b1edd8d9.(default)-A", "planner"),
        ("Ärztin  Ngô", "ärztin_ngô"),
    ],
)
def test_spellings_of_one_agent_share_a_key(one: str, other: str) -> None:
    assert agent_key(one) == agent_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Ana", "Ana María"), ("Größe 1", "Größe 12"), ("Zoll", "Zoll_Eil"), ("agent 1", "agent 11")]
)
def test_names_that_begin_alike_are_two_agents(one: str, other: str) -> None:
    assert agent_key(one) != agent_key(other)


def test_clean_takes_the_runtime_id_off() -> None:
    assert clean("planner_0ed4bd09-b59d-406e-bd3d-0555b1edd8d9/x") == "planner"


@pytest.mark.parametrize(
    ("tool", "target"),
    [
        ("transfer_to_researcher", "researcher"),
        ("Handoff-transfer_to_researcher", "researcher"),
        ("send_back_to_engineer", "engineer"),
        ("hand_back_to_reviewer", "reviewer"),
        ("handoff_to_Disposition_S_d", "Disposition_S_d"),
        ("transfer_task_to_member", "member"),
        ("transfer_to_agent", ""),
        ("handoff_to_agent", ""),
        ("write_patch", ""),
        ("complete_task", ""),
        ("translate_to_french", ""),
    ],
)
def test_target_in_a_tool_name(tool: str, target: str) -> None:
    assert target_in_tool_name(tool) == target


@pytest.mark.parametrize(
    ("tool", "target"), [("ask_reviewer", "reviewer"), ("task_Zoll", "Zoll"), ("run_task", "task"), ("lookup", "")]
)
def test_agent_that_a_tool_name_asks(tool: str, target: str) -> None:
    assert asked_in_tool_name(tool) == target


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("Zoll", "Zoll"),
        ("zoll_eil", "Zoll_Eil"),
        ("kulanz_team_3", "Kulanz-Team 3"),
        ("Disposition_S_d", "Disposition Süd"),
        ("disposition_sud", "Disposition Süd"),
        ("ana_maria", "Ana María"),
        ("archive", ""),
        ("", ""),
    ],
)
def test_directory_finds_the_agent_that_a_slug_spells(wanted: str, found: str) -> None:
    names = ["Zoll", "Zoll_Eil", "Kulanz-Team 3", "Disposition", "Disposition Süd", "Ana", "Ana María"]
    assert Directory(names).find(wanted) == found


def test_a_slug_of_two_names_is_neither() -> None:
    assert Directory(["Büro Süd", "Büro Söd"]).find("b_ro_s_d") == ""


@pytest.mark.parametrize(
    "name", ["", "agent", "Strands Agents", "OpenAI Agent", "LangGraph", "unknown", "0123456789abcdef0123456789abcdef"]
)
def test_defaults_of_producers_are_no_names(name: str) -> None:
    assert is_placeholder(name)


@pytest.mark.parametrize("name", ["agent 007", "planner", "Agent Smith"])
def test_names_given_by_people_are_names(name: str) -> None:
    assert not is_placeholder(name)
