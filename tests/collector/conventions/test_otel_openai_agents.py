"""openai-agents by OpenTelemetry's own instrumentations: without handoff spans, and the older one with made-up names on everything."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import KIND_CLIENT, KIND_SERVER, Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "opentelemetry.instrumentation.genai.openai_agents"
OLDER = "opentelemetry.instrumentation.openai_agents"
MADE_UP = {"gen_ai.agent.name": "OpenAI Agent", "gen_ai.agent.id": "agent"}


def workflow(t: Trace) -> Span:
    return t.span("invoke_workflow Post", 0, 200, gen_ai__operation__name="invoke_workflow")


def test_the_order_of_agents_tells_a_handoff_where_no_answer_is_recorded() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = t.agent("Schalter", 1, 20, root)
    t.tool("transfer_to_lager", 5, 6, a)
    t.agent("Zustellung Süd", 22, 60, root)

    assert relays(recovered(t)) == ["Schalter -> Zustellung Süd transfer inferred 2 unrecorded"]


def test_the_openai_package_s_chat_spans_hold_the_call() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = t.agent("Schalter", 1, 20, root)
    calls = [("transfer_to_zustellung_s_d", '{"paket": 0, "porto": null}')]
    t.chat(2, 8, a, "Bitte senden", None, calls, scope="opentelemetry.instrumentation.genai.openai")
    t.agent("Zustellung Süd", 22, 60, root)

    assert relays(recovered(t)) == ['Schalter -> Zustellung Süd transfer explicit 14 {"paket": 0, "porto": null}']


def test_an_agent_below_a_function_is_its_delegate() -> None:
    t = Trace(SCOPE)
    a = t.agent("Schalter", 1, 90, workflow(t))
    tool = t.tool("wiegen", 5, 50, a, {"input": "schwer?"}, "12 kg")
    t.agent("Agent", 7, 40, tool)

    assert relays(recovered(t)) == [
        'Schalter -> Agent delegate structural 2 {"message": "schwer?"}',
        'Agent -> Schalter return structural 10 {"message": "12 kg"}',
    ]


def older(t: Trace, operation: str, name: str, start: float, end: float, parent: Span | None, **more: Any) -> Span:
    named = MADE_UP | {"gen_ai.operation.name": operation} | more
    return t.span(name, start, end, parent, kind=KIND_CLIENT, attributes=named)


def test_the_older_one_s_root_and_made_up_names_are_no_agents_and_its_answers_are_python() -> None:
    t = Trace(OLDER)
    root = t.span("Post", 0, 200, kind=KIND_SERVER, gen_ai__operation__name="invoke_agent")
    task = older(t, "unknown", "unknown", 1, 190, root)
    a = older(t, "invoke_agent", "invoke_agent Schalter", 2, 20, task, **{"gen_ai.agent.name": "Schalter"})
    arguments = json.dumps({"paket": 0, "art": "Brief"})
    call = {"id": "c1", "function": {"name": "transfer_to_zusteller", "arguments": arguments}, "type": "function"}
    said = str({"content": None, "role": "assistant", "tool_calls": [call]})
    messages = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": said}]}])
    older(t, "chat", "chat m", 3, 8, a, **{"gen_ai.output.messages": messages})
    ends = {"gen_ai.handoff.from_agent": "Schalter", "gen_ai.handoff.to_agent": "Zusteller"}
    older(t, "agent_handoff", "agent_handoff OpenAI Agent", 10, 11, a, **ends)
    b = older(t, "invoke_agent", "invoke_agent Zusteller", 22, 60, task, **{"gen_ai.agent.name": "Zusteller"})
    older(t, "execute_tool", "execute_tool klingeln", 30, 31, b, **{"gen_ai.tool.name": "klingeln"})

    result = recovered(t)
    assert relays(result) == ['Schalter -> Zusteller transfer explicit 11 {"paket": 0, "art": "Brief"}']
    assert [a["agent_id"] for a in result.document["agents"]] == ["Schalter", "Zusteller"]


def test_both_older_instrumentors_share_a_scope_and_are_told_apart() -> None:
    t = Trace(OLDER)
    root = t.span("Agent Workflow", 0, 99, traceloop__span__kind="workflow")
    agent = {"traceloop.span.kind": "agent", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Schalter"}
    a = t.span("Schalter.agent", 1, 20, root, attributes=agent)
    t.span(
        "Schalter → unknown.handoff",
        5,
        6,
        a,
        attributes={"traceloop.span.kind": "handoff", "gen_ai.handoff.from_agent": "Schalter"},
    )
    t.span("Zusteller.agent", 22, 30, root, attributes=agent | {"gen_ai.agent.name": "Zusteller"})

    assert relays(recovered(t)) == ["Schalter -> Zusteller transfer inferred 16 unrecorded"]


def test_the_older_one_s_streamed_answers_are_a_response_written_as_python() -> None:
    t = Trace(OLDER)
    root = t.span("Post", 0, 200, kind=KIND_SERVER, gen_ai__operation__name="invoke_agent")
    a = older(t, "invoke_agent", "invoke_agent Schalter", 1, 20, root, **{"gen_ai.agent.name": "Schalter"})
    asked = {"type": "function_call", "name": "transfer_to_zoll", "call_id": "c1", "arguments": '{"paket": 0}'}
    text = str({"id": "r1", "object": "response", "output": [asked], "usage": None})
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])
    older(t, "chat", "chat m", 2, 8, a, **{"gen_ai.output.messages": said})
    ends = {"gen_ai.handoff.from_agent": "Schalter", "gen_ai.handoff.to_agent": "Zoll"}
    older(t, "agent_handoff", "agent_handoff OpenAI Agent", 10, 11, a, **ends)
    older(t, "invoke_agent", "invoke_agent Zoll", 22, 60, root, **{"gen_ai.agent.name": "Zoll"})

    assert relays(recovered(t)) == ['Schalter -> Zoll transfer explicit 11 {"paket": 0}']


def test_an_agent_in_another_with_no_tool_between_was_asked_by_the_program() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    t.agent("Wache", 3, 9, t.agent("Schalter", 1, 20, root))
    t.agent("Zoll", 22, 60, root)

    assert relays(recovered(t)) == ["Schalter -> Zoll transfer inferred 2 unrecorded"]
