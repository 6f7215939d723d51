"""Agno under OpenInference and OpenLLMetry: members beside the tool that called them, ids for names, broadcast, look-alikes, content off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

OPENINFERENCE = "openinference.instrumentation.agno"
OPENLLMETRY = "opentelemetry.instrumentation.agno"


class Team:
    """Writes agents, teams and tools as one of the two instrumentations does."""

    def __init__(self, scope: str) -> None:
        self.t, self.inference = Trace(scope), scope == OPENINFERENCE

    def agent(
        self,
        name: str,
        start: float,
        end: float,
        parent: Span | None,
        given: str | None = None,
        said: str | None = None,
        team: bool = False,
    ) -> Span:
        if self.inference:
            a: dict[str, Any] = {"openinference.span.kind": "AGENT", "agent.name": name, "graph.node.id": f"{start}",
                                 "agno.agent.id": name.lower().replace(" ", "-")}  # fmt: skip
            keys = ("input.value", "output.value")
        else:
            a = (
                {"traceloop.span.kind": "workflow", "agno.team.name": name}
                if team
                else {"traceloop.span.kind": "agent", "gen_ai.agent.name": name}
            )
            keys = ("traceloop.entity.input", "traceloop.entity.output")
        a |= {k: v for k, v in zip(keys, (given, said), strict=True) if v is not None}
        return self.t.span(
            f"{name}.run" if self.inference else f"{name}.{'team' if team else 'agent'}",
            start,
            end,
            parent,
            attributes=a,
        )

    def tool(
        self, name: str, start: float, end: float, parent: Span, arguments: Any = None, result: str | None = None
    ) -> Span:
        if self.inference:
            a: dict[str, Any] = {"openinference.span.kind": "TOOL", "tool.name": name}
            keys = ("tool.parameters", "output.value")
        else:
            a = {"traceloop.span.kind": "tool", "gen_ai.tool.name": name}
            keys = ("traceloop.entity.input", "traceloop.entity.output")
        values = (json.dumps(arguments) if arguments is not None else None, result)
        a |= {k: v for k, v in zip(keys, values, strict=True) if v is not None}
        return self.t.span(f"{name}.tool", start, end, parent, attributes=a)


SCOPES = pytest.mark.parametrize("scope", [OPENINFERENCE, OPENLLMETRY])


@SCOPES
def test_member_beside_the_delegating_tool_is_called_by_it_and_a_member_team_delegates_further(scope: str) -> None:
    w = Team(scope)
    lead = w.agent("Chief Editor", 0, 99, None, team=True)
    w.tool("delegate_task_to_member", 10, 12, lead, {"member_id": "night-desk", "task": "Cover the vote"}, None)
    desk = w.agent(
        "Night Desk",
        11,
        80,
        lead,
        "<member_interaction_context>\nearlier\n</member_interaction_context>\nCover the vote",
        "Covered.",
        team=True,
    )
    w.tool(
        "delegate_task_to_member",
        20,
        22,
        desk,
        {"member_id": "fact-checker-2", "task": '{"claims": ["a"], "deadline": null}'},
    )
    w.agent("Fact Checker 2", 21, 60, desk, "x", "True.")

    assert relays(recovered(w.t)) == [
        'Chief Editor -> Night Desk delegate explicit 1 {"task": "Cover the vote"}',
        'Night Desk -> Fact Checker 2 delegate explicit 1 {"claims": ["a"], "deadline": null}',
        'Fact Checker 2 -> Night Desk return explicit None {"message": "True."}',
        'Night Desk -> Chief Editor return explicit None {"message": "Covered."}',
    ]


@SCOPES
def test_broadcast_delegates_to_every_member_what_each_was_given(scope: str) -> None:
    w = Team(scope)
    lead = w.agent("Lead", 0, 99, None, team=True)
    w.tool("delegate_task_to_members", 10, 12, lead, {"task": "Vote"})
    for i, name in enumerate(("One", "Two")):
        w.agent(name, 20 + i, 40 + i, lead, "Vote", f"{name} votes yes")

    assert [line for line in relays(recovered(w.t)) if "return" not in line] == [
        'Lead -> One delegate explicit 10 {"task": "Vote"}',
        'Lead -> Two delegate explicit 11 {"task": "Vote"}',
    ]


@SCOPES
def test_content_off_leaves_members_under_their_team(scope: str) -> None:
    w = Team(scope)
    lead = w.agent("Lead", 0, 99, None, team=True)
    w.tool("delegate_task_to_member", 10, 12, lead)
    w.agent("One", 20, 40, lead)

    assert relays(recovered(w.t)) == [
        "Lead -> One delegate structural 8 unrecorded",
        "One -> Lead return structural None unrecorded",
    ]


@SCOPES
def test_tool_of_a_single_agent_that_takes_a_member_id_is_plain(scope: str) -> None:
    w = Team(scope)
    solo = w.agent("Solo", 0, 99, None)
    w.tool("transfer_to_member", 10, 12, solo, {"member_id": "solo", "task": "t"}, "ok")

    assert relays(recovered(w.t)) == []


def test_what_a_leader_does_after_a_team_in_its_team_is_its_own_though_it_hangs_under_that_team() -> None:
    w = Team(OPENINFERENCE)
    lead = w.agent("Lead", 0, 99, None, team=True)
    w.tool("delegate_task_to_member", 10, 40, lead, {"member_id": "desk", "task": "first"})
    desk = w.agent("Desk", 11, 39, lead, "first", "done first", team=True)
    w.tool("delegate_task_to_member", 50, 80, desk, {"member_id": "one", "task": "second"})
    w.agent("One", 51, 79, desk, "second", "done second")

    assert [line for line in relays(recovered(w.t)) if "return" not in line] == [
        'Lead -> Desk delegate explicit 1 {"task": "first"}',
        'Lead -> One delegate explicit 1 {"task": "second"}',
    ]
