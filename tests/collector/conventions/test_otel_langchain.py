"""LangGraph by OpenTelemetry's own instrumentation: only agents have spans, and tools show by their result that they hand over."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "opentelemetry.instrumentation.genai.langchain"


def command(goto: str) -> dict[str, Any]:
    return {"graph": "__parent__", "update": {"messages": []}, "resume": None, "goto": goto}


def agent(t: Trace, name: str, start: float, end: float, parent: Span, said: str = "Done as you asked.") -> Span:
    made = t.agent(name, start, end, parent)
    t.chat(start + 1, start + 2, made, "go on", said)
    return made


def supervised(t: Trace, target: str) -> Trace:
    """A supervisor that hands over, an agent inside the supervisor's own wrapper, the supervisor again."""
    root = t.span("invoke_workflow team", 0, 90, gen_ai__operation__name="invoke_workflow")
    lead = agent(t, "lead", 1, 20, root)
    t.tool(f"transfer_to_{target}", 10, 11, lead, arguments={"goal": "g"}, result=command(target))
    agent(t, "cook", 22, 39, t.agent("call_agent", 21, 40, root))
    agent(t, "lead", 41, 60, root)
    return t


def test_a_wrapper_around_an_agent_is_none_and_who_runs_again_was_waiting() -> None:
    told = [
        'lead -> cook delegate explicit 12 {"goal": "g"}',
        'cook -> lead return inferred None {"message": "Done as you asked."}',
    ]
    assert relays(recovered(supervised(Trace(SCOPE), "cook"))) == told


def test_a_node_of_another_name_than_its_agent_is_who_runs_next() -> None:
    told = [
        'lead -> cook delegate inferred 12 {"goal": "g"}',
        'cook -> lead return inferred None {"message": "Done as you asked."}',
    ]
    assert relays(recovered(supervised(Trace(SCOPE), "kitchen"))) == told


def test_a_tool_whose_result_is_no_command_is_plain_whatever_its_name() -> None:
    t = Trace(SCOPE)
    root = t.span("invoke_workflow team", 0, 90, gen_ai__operation__name="invoke_workflow")
    lead = agent(t, "lead", 1, 20, root)
    t.tool("transfer_to_cook", 10, 11, lead, arguments={"goal": "g"}, result="written down")

    assert relays(recovered(t)) == []


def test_of_a_command_that_was_cut_the_tools_name_tells_the_target() -> None:
    t = supervised(Trace(SCOPE), "cook")
    short = json.dumps(command("cook"))[:60]
    t.spans = [s if s.name != "execute_tool transfer_to_cook" else with_result(s, short) for s in t.spans]

    assert relays(recovered(t))[0] == 'lead -> cook delegate explicit 12 {"goal": "g"}'


def with_result(span: Span, result: str) -> Span:
    span.attributes["gen_ai.tool.call.result"] = result  # type: ignore[index]
    return span


def test_a_graph_that_asks_agents_by_its_own_tools_is_the_agent_that_asks() -> None:
    t = Trace(SCOPE)
    root = t.span(
        "invoke_workflow lead", 0, 90, gen_ai__operation__name="invoke_workflow", gen_ai__workflow__name="lead"
    )
    t.chat(1, 2, root, "go on", None, [("task", {"description": "Cook.", "subagent_type": "cook"})])
    call = t.tool(
        "task", 3, 40, root, arguments={"description": "Cook.", "subagent_type": "cook"}, result=told("Done.")
    )
    agent(t, "cook", 4, 39, call)

    assert relays(recovered(t)) == [
        'lead -> cook delegate explicit 1 {"description": "Cook."}',
        'cook -> lead return explicit 1 {"message": "Done."}',
    ]


def test_a_graph_around_agents_is_none_and_one_without_any_is_one() -> None:
    named = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "team"}
    t, alone = Trace(SCOPE), Trace(SCOPE)
    root = t.span("invoke_workflow team", 0, 90, attributes=named)
    t.chat(1, 2, root, "where to", "cook")
    agent(t, "lead", 3, 20, root)
    agent(t, "cook", 22, 39, root)
    alone.chat(1, 2, alone.span("invoke_workflow team", 0, 90, attributes=named), "go on", "Done.")

    assert [a["agent_id"] for a in recovered(t).document["agents"]] == ["lead", "cook"]
    assert [a["agent_id"] for a in recovered(alone).document["agents"]] == ["team"]


def told(text: str) -> dict[str, Any]:
    return {
        "graph": None,
        "update": {"messages": [{"type": "tool", "content": text, "tool_call_id": "c1"}]},
        "goto": [],
    }
