"""openai-agents under OpenLLMetry: handoffs without target, runs that hang flat, answers only in histories, calls hung anywhere."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "opentelemetry.instrumentation.openai_agents"


def agent(t: Trace, name: str, start: float, end: float, root: Span) -> Span:
    return t.span(
        f"{name}.agent",
        start,
        end,
        root,
        attributes={"traceloop.span.kind": "agent", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
    )


def handoff(t: Trace, source: str, at: float, parent: Span) -> None:
    named = {"traceloop.span.kind": "handoff", "gen_ai.operation.name": "handoff", "gen_ai.agent.name": source}
    t.span(f"{source} → unknown.handoff", at, at + 1, parent, attributes=named | {"gen_ai.handoff.from_agent": source})


def tool(t: Trace, name: str, start: float, end: float, parent: Span, arguments: Any, result: str = "ok") -> None:
    named = {"traceloop.span.kind": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    given = {"gen_ai.tool.call.arguments": json.dumps(arguments), "gen_ai.tool.call.result": result}
    t.span(f"{name}.tool", start, end, parent, attributes=named | given)


def asked(t: Trace, start: float, parent: Span, messages: list[Any], said: list[Any] | None = None) -> None:
    a: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}
    if said is not None:
        a["gen_ai.output.messages"] = json.dumps(said)
    t.span("openai.response", start, start + 1, parent, attributes=a)


def text(role: str, said: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": said}]}


def call(name: str, arguments: Any, number: str = "c1") -> dict[str, Any]:
    part = {"type": "tool_call", "id": number, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def result(said: str, number: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": number, "response": said}]}


def root_of(t: Trace) -> Span:
    return t.span("Agent Workflow", 0, 500, traceloop__span__kind="workflow")


def test_the_target_is_who_runs_next_and_the_call_stands_in_the_next_history() -> None:
    t = Trace(SCOPE)
    root = root_of(t)
    first = [text("system", "Du planst."), text("user", "Gleis 4?")]
    a = agent(t, "Leitstelle", 1, 20, root)
    asked(t, 2, a, first)
    handoff(t, "Leitstelle", 10, a)
    b = agent(t, "Zugführer Ö", 21, 60, root)
    asked(t, 22, b, [text("system", "Du fährst."), first[1], call("uebergeben", {"zug": 7, "halt": []}), result("{}")])

    assert relays(recovered(t)) == ['Leitstelle -> Zugführer Ö transfer inferred 10 {"zug": 7, "halt": []}']


def test_of_two_calls_in_one_answer_the_first_is_the_handoff_and_the_other_dropped() -> None:
    t = Trace(SCOPE)
    root = root_of(t)
    handoff(t, "Zug", 0.6, agent(t, "Zug", 0.5, 0.9, root))
    a = agent(t, "Leitstelle", 1, 20, root)
    parts = call("transfer_to_werkstatt", {"zug": 7}, "z9")["parts"] + call("transfer_to_zug", {"x": 1}, "a1")["parts"]
    asked(t, 2, a, [text("user", "Defekt")], [{"role": "assistant", "parts": parts}])
    handoff(t, "Leitstelle", 10, a)
    agent(t, "Werkstatt", 21, 60, root)

    assert relays(recovered(t)) == [
        "Zug -> Leitstelle transfer inferred None unrecorded",
        'Leitstelle -> Zug transfer explicit None {"x": 1} dropped',
        'Leitstelle -> Werkstatt transfer explicit 10 {"zug": 7}',
    ]


def test_agents_called_like_tools_hang_beside_their_caller_and_belong_to_the_call_in_whose_time_they_lie() -> None:
    t = Trace(SCOPE)
    root = root_of(t)
    a = agent(t, "Leitstelle", 1, 200, root)
    tool(t, "wetter_fragen", 10, 90, a, {"input": "Sturm?"}, "nein")
    b = agent(t, "Agent", 12, 80, root)
    tool(t, "radar", 20, 60, b, {"input": '{"feld": 0}'}, "frei")
    agent(t, "Agent 1", 25, 50, root)
    tool(t, "transfer_to_depot", 100, 110, a, {"zug": 7})

    assert relays(recovered(t)) == [
        'Leitstelle -> Agent delegate structural 2 {"message": "Sturm?"}',
        'Agent -> Agent 1 delegate structural 5 {"feld": 0}',
        'Agent 1 -> Agent return structural 10 {"message": "frei"}',
        'Agent -> Leitstelle return structural 10 {"message": "nein"}',
    ]


def test_calls_that_hang_under_the_root_belong_to_the_run_in_whose_time_they_lie() -> None:
    t = Trace(SCOPE)
    root = root_of(t)
    a = agent(t, "Leitstelle", 1, 20, root)
    asked(t, 2, root, [text("user", "Gleis?")], [text("assistant", "Gleis 4, Kurs 2"), call("transfer_to_zug", {})])
    handoff(t, "Leitstelle", 10, a)
    agent(t, "Zug", 21, 60, root)
    asked(t, 22, root, [text("user", "Gleis?")], [text("assistant", "Abfahrt.")])

    got = recovered(t)
    assert relays(got) == ['Leitstelle -> Zug transfer explicit 10 {"message": "Gleis 4, Kurs 2"}']
    assert [turn["text"] for turn in got.document["turns"]] == ["Gleis 4, Kurs 2", "Abfahrt."]


def test_side_by_side_without_a_call_around_them_runs_are_no_delegates() -> None:
    t = Trace(SCOPE)
    root = root_of(t)
    agent(t, "Leitstelle", 1, 100, root)
    agent(t, "Zug", 10, 60, root)

    assert relays(recovered(t)) == []
