"""openai-agents under OpenInference: handoff spans, agents called like tools side by side, look-alikes, placeholder names, a crash."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import STATUS_ERROR, Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "openinference.instrumentation.openai_agents"


def of_kind(t: Trace, kind: str, name: str, start: float, end: float | None, parent: Span | None, **more: Any) -> Span:
    return t.span(name, start, end, parent, attributes={"openinference.span.kind": kind, **more})


def agent(t: Trace, name: str, start: float, end: float | None, parent: Span) -> Span:
    return of_kind(t, "AGENT", name, start, end, parent, **{"agent.name": name, "graph.node.id": name})


def answer(t: Trace, start: float, parent: Span, *calls: tuple[str, Any], text: str | None = None) -> Span:
    a: dict[str, Any] = {} if text is None else {"llm.output_messages.0.message.content": text}
    for i, (name, arguments) in enumerate(calls):
        key = f"llm.output_messages.1.message.tool_calls.{i}.tool_call"
        a |= {
            f"{key}.id": f"c{start}-{i}",
            f"{key}.function.name": name,
            f"{key}.function.arguments": json.dumps(arguments),
        }
    return of_kind(t, "LLM", "response", start, start + 2, parent, **a)


def handoff(t: Trace, source: str, target: str, at: float, parent: Span, status: int = 1) -> Span:
    more = {"input.value": source, "output.value": target}
    return t.span(f"handoff to {target}", at, at + 1, parent, status=status, attributes={"openinference.span.kind": "TOOL", **more})  # fmt: skip


def workflow(t: Trace, end: float = 200) -> Span:
    return of_kind(t, "AGENT", "Arztbrief", 0, end, None)


def test_the_workflow_is_no_agent_and_a_handoff_carries_the_arguments_of_the_call_before_it() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = agent(t, "Aufnahme", 1, 20, root)
    answer(t, 2, a, ("transfer_to__rztin_ng_", {"patient": "P-1", "allergien": [], "fieber": 0}))
    handoff(t, "Aufnahme", "Ärztin Ngô", 10, a)
    agent(t, "Ärztin Ngô", 22, 60, root)

    result = recovered(t)
    assert relays(result) == [
        'Aufnahme -> Ärztin Ngô transfer explicit 11 {"patient": "P-1", "allergien": [], "fieber": 0}'
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["Aufnahme", "Ärztin Ngô"]


def test_an_agent_that_the_program_calls_agent_is_one() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = agent(t, "Agent", 1, 90, root)
    tool = of_kind(
        t,
        "TOOL",
        "labor",
        10,
        50,
        a,
        **{"tool.name": "labor", "input.value": '{"input": "Blutbild?"}', "output.value": "gut"},
    )
    agent(t, "Agent 2", 12, 40, of_kind(t, "CHAIN", "Arztbrief", 11, 45, tool))
    handoff(t, "Agent", "Agent", 60, a)

    assert relays(recovered(t)) == [
        'Agent -> Agent 2 delegate structural 2 {"message": "Blutbild?"}',
        'Agent 2 -> Agent return structural 10 {"message": "gut"}',
        "Agent -> Agent transfer explicit None unrecorded dropped",
    ]


def test_the_second_request_of_one_answer_is_dropped_and_the_words_in_another_message_of_the_answer_are_carried() -> (
    None
):
    t = Trace(SCOPE)
    root = workflow(t)
    first = agent(t, "Archiv", 1, 8, root)
    handoff(t, "Archiv", "Aufnahme", 6, first)
    a = agent(t, "Aufnahme", 9, 20, root)
    answer(t, 10, a, ("transfer_to_labor", {}), ("transfer_to_archiv", {}), text="Bitte Blutbild.")
    handoff(t, "Aufnahme", "Labor", 15, a, STATUS_ERROR)
    agent(t, "Labor", 22, 60, root)

    assert relays(recovered(t)) == [
        "Archiv -> Aufnahme transfer explicit 2 unrecorded",
        'Aufnahme -> Archiv transfer explicit None {"message": "Bitte Blutbild."} dropped',
        'Aufnahme -> Labor transfer explicit 6 {"message": "Bitte Blutbild."}',
    ]


def test_a_function_named_like_a_handoff_is_none_and_a_run_that_breaks_hands_nothing_over() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = agent(t, "Aufnahme", 1, 20, root)
    answer(t, 2, a, ("transfer_to_station", {"bett": 4}), ("ask_labor", {"q": 1}))
    of_kind(t, "TOOL", "transfer_to_station", 5, 6, a, **{"tool.name": "transfer_to_station", "input.value": "{}"})
    of_kind(t, "TOOL", "ask_labor", 5, 6, a, **{"tool.name": "ask_labor", "input.value": "{}"})

    assert relays(recovered(t)) == []


def test_content_hidden_by_the_instrumentation_is_unrecorded() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = agent(t, "Aufnahme", 1, 20, root)
    of_kind(t, "LLM", "response", 2, 4, a)
    handoff(t, "Aufnahme", "Labor", 10, a)
    agent(t, "Labor", 22, None, root)

    assert relays(recovered(t)) == ["Aufnahme -> Labor transfer explicit 11 unrecorded"]


def test_where_a_streamed_answer_is_not_recorded_the_next_run_s_input_tells_what_the_program_passed() -> None:
    t = Trace(SCOPE)
    root = of_kind(t, "AGENT", "WF", 0, 90, None)
    first, second = agent(t, "Plan", 1, 20, root), agent(t, "Check", 22, 40, root)
    heard = "llm.input_messages.0.message"
    of_kind(t, "LLM", "generation", 2, 19, first, **{f"{heard}.role": "user", f"{heard}.content": "a book"})
    of_kind(t, "LLM", "generation", 23, 39, second, **{f"{heard}.role": "user", f"{heard}.content": "Three chapters."})

    assert relays(recovered(t)) == ['Plan -> Check transfer inferred 2 {"message": "Three chapters."}']


def test_a_streamed_answer_is_a_whole_response_in_the_output() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = agent(t, "Aufnahme", 1, 20, root)
    call = {"type": "function_call", "name": "transfer_to_labor", "call_id": "c1", "arguments": '{"probe": 0}'}
    told = [{"object": "response", "output": [call], "usage": None}]
    of_kind(t, "LLM", "generation", 2, 4, a, **{"output.value": json.dumps(told)})
    handoff(t, "Aufnahme", "Labor", 10, a)
    agent(t, "Labor", 22, 60, root)

    assert relays(recovered(t)) == ['Aufnahme -> Labor transfer explicit 11 {"probe": 0}']


def test_an_agent_in_a_guardrail_checks_for_the_program_and_is_handed_nothing() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = agent(t, "Aufnahme", 1, 20, root)
    agent(t, "Wache", 3, 9, of_kind(t, "GUARDRAIL", "check", 2, 10, a))
    answer(t, 2, a, ("transfer_to_labor", {"probe": 0}))
    handoff(t, "Aufnahme", "Labor", 12, a)
    agent(t, "Labor", 22, 60, root)

    assert relays(recovered(t)) == ['Aufnahme -> Labor transfer explicit 9 {"probe": 0}']
