"""Names: which spellings are one agent, and what a tool's name says of its target."""

from __future__ import annotations

import pytest

from collector.recovery.names import (
    Directory,
    agent_key,
    asked_in_tool_name,
    clean,
    target_in_arguments,
    target_in_tool_name,
)
from tests.collector.spans import Trace, recovered, relays


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
        ("transfer_to_agent_7", "agent_7"),
        ("transferToRefundDesk", "Refund_Desk"),
        ("transfer_to_RefundDesk", "RefundDesk"),
        ("Delegate work to coworker", "coworker"),
        ("write_patch", ""),
        ("complete_task", ""),
        ("translate_to_french", ""),
    ],
)
def test_target_in_a_tool_name(tool: str, target: str) -> None:
    assert target_in_tool_name(tool) == target


@pytest.mark.parametrize(
    ("tool", "spelled"),
    [
        ("transfer_to_agent_1", ("Agent 1",)),
        ("transfer_to_agent_lager", ("Lager",)),
        ("transfer_to_stra_e_9", ("Straße 9",)),
        ("transfer_to_strasse_9", ("Straße 9",)),
        ("transfer_to_gr__e", ("Größe", "Grüße")),
        ("transfer_to___", ("客服", "審查")),
        ("transfer_to____", ("审核员",)),
        ("transfer_to_____", ()),
        ("transfer_to_archive", ("archive",)),
        ("transfer_to_agent", ()),
        ("handoff_to_agent", ()),
        ("write_patch", ()),
    ],
)
def test_agents_that_a_handing_over_tool_may_name(tool: str, spelled: tuple[str, ...]) -> None:
    agents = Directory(["Agent 1", "1", "Lager", "Straße 9", "Größe", "Grüße", "客服", "審查", "审核员"])

    assert agents.of_tool(tool) == spelled


def test_an_agent_with_a_default_name_of_others_is_named_by_a_tool() -> None:
    assert Directory(["Agent"]).of_tool("transfer_to_agent") == ("Agent",)


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
        ("ana_agent", "Ana"),
        ("lager", "Lager Agent"),
        ("rechnung", ""),
        ("archive", ""),
        ("", ""),
    ],
)
def test_directory_finds_the_agent_that_a_slug_spells(wanted: str, found: str) -> None:
    names = ["Zoll", "Zoll_Eil", "Kulanz-Team 3", "Disposition", "Disposition Süd", "Ana", "Ana María"]
    names += ["Lager Agent", "Rechnung Agent", "Agent Rechnung"]
    assert Directory(names).find(wanted) == found


def test_a_slug_of_two_names_is_neither() -> None:
    assert Directory(["Büro Süd", "Büro Söd"]).find("b_ro_s_d") == ""


@pytest.mark.parametrize(
    ("scope", "default"),
    [
        ("strands.telemetry.tracer", "Strands Agents"),
        ("pydantic-ai", "agent"),
        ("gcp.vertex.agent", ""),
    ],
)
def test_only_its_own_producers_default_is_no_name(scope: str, default: str) -> None:
    t = Trace(scope)
    root = t.span("w", 0, 90)
    caller = t.agent("unknown", 1, 60, root)
    t.chat(2, 3, caller)
    t.chat(21, 22, t.agent("Agent", 20, 50, t.tool("ask", 10, 55, caller)))
    if default:
        t.agent(default, 65, 70, root)

    assert [a["agent_id"] for a in recovered(t).document["agents"]] == ["unknown", "Agent"]


def test_of_agents_that_a_slug_spells_alike_the_one_that_runs_next_is_asked() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    desk = t.agent("Pult", 1, 20, root)
    t.tool("transfer_to_gr__e", 18, 19, desk, arguments={"x": 1})
    small = t.agent("Größe", 25, 40, root)
    t.tool("transfer_to_gr__e", 38, 39, small, arguments={"x": 2})
    t.agent("Grüße", 45, 80, root)

    assert relays(recovered(t)) == [
        'Pult -> Größe transfer explicit 6 {"x": 1}',
        'Größe -> Grüße transfer explicit 6 {"x": 2}',
    ]


def test_a_marked_transfer_without_a_target_names_no_agent_by_its_tools_name() -> None:
    t = Trace("strands.telemetry.tracer")
    swarm = t.span("invoke_swarm", 0, 90)
    t.tool("handoff_to_agent", 18, 19, t.agent("Agent", 1, 20, swarm))
    t.agent("Lager", 25, 80, swarm)

    assert relays(recovered(t)) == ["Agent -> Lager transfer inferred 6 unrecorded"]


@pytest.mark.parametrize(
    ("tool", "arguments", "target"),
    [
        ("handoff", {"to_agent": "Refunds"}, "Refunds"),
        ("delegate", {"target": "Refunds", "prompt": "p"}, "Refunds"),
        ("Delegate work to coworker", {"task": "t", "coworker": "Refunds"}, "Refunds"),
        ("delegate_work_to_coworker", {"task": "t", "co_worker": "[Refunds]"}, "Refunds"),
        ("Task", {"subagent_type": "refunds"}, "refunds"),
        ("lookup", {"agent_name": "Refunds"}, ""),
        ("delegate", {"target": 7}, ""),
        ("delegate", "no object", ""),
    ],
)
def test_target_in_an_argument(tool: str, arguments: object, target: str) -> None:
    assert target_in_arguments(tool, arguments) == target


def test_a_word_for_anybody_is_no_agent_but_where_one_is_called_so() -> None:
    assert Directory(["Refunds"]).of_tool("delegate_work_to_coworker") == ()
    assert Directory(["Coworker"]).of_tool("delegate_work_to_coworker") == ("Coworker",)
