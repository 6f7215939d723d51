"""openai-agents under Logfire: names from templates, handoff spans, answers in events and responses, content off, pending spans."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import STATUS_ERROR, Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "logfire.openai_agents"


def templated(t: Trace, template: str, start: float, end: float | None, parent: Span | None, status: int = 0, **more: Any) -> Span:  # fmt: skip
    named = {"logfire.msg_template": template, "logfire.span_type": "span", **more}
    return t.span(template, start, end, parent, status=status, attributes=named)


def agent(t: Trace, name: str, start: float, end: float, parent: Span, **more: Any) -> Span:
    return templated(t, "Agent run: {name!r}", start, end, parent, name=name, **more)


def handoff(t: Trace, source: str, target: str, at: float, parent: Span, status: int = 0) -> Span:
    return templated(
        t, "Handoff: {from_agent} → {to_agent}", at, at + 1, parent, status, from_agent=source, to_agent=target
    )


def model(t: Trace, at: float, parent: Span, *events: dict[str, Any], **more: Any) -> Span:
    named: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
    }
    given: dict[str, Any] = {"events": json.dumps(events)} if events else {}
    return templated(t, "Chat Completions with {gen_ai.request.model!r}", at, at + 2, parent, **named, **given, **more)


def call(name: str, arguments: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


USER = {"event.name": "gen_ai.user.message", "role": "user", "content": "Bitte buchen"}


def test_a_handoff_span_names_both_ends_and_the_last_event_holds_what_is_passed() -> None:
    t = Trace(SCOPE)
    root = templated(t, "OpenAI Agents trace: {name}", 0, 99, None, name="Reise", group_id="Gruppe 1")
    a = agent(t, "Büro", 1, 20, root)
    asked = {
        "event.name": "gen_ai.assistant.message",
        "role": "assistant",
        "tool_calls": [call("weiter", {"hotel": 0})],
    }
    model(t, 2, a, USER, asked)
    handoff(t, "Büro", "Hotel-Agent 2", 10, a, STATUS_ERROR)
    agent(t, "Hotel-Agent 2", 22, 60, root)

    assert relays(recovered(t)) == ['Büro -> Hotel-Agent 2 transfer explicit 11 {"hotel": 0}']


def test_a_choice_event_and_a_response_are_answers_too() -> None:
    t = Trace(SCOPE)
    root = templated(t, "OpenAI Agents trace: {name}", 0, 99, None, name="Reise")
    a = agent(t, "Büro", 1, 20, root)
    said = {"role": "assistant", "content": "Zwei Nächte.", "tool_calls": [call("transfer_to_hotel", {})]}
    model(t, 2, a, USER, {"event.name": "gen_ai.choice", "index": 0, "message": said})
    handoff(t, "Büro", "Hotel", 10, a)
    b = agent(t, "Hotel", 22, 60, root)
    response = {"output": [{"type": "function_call", "name": "zurueck", "call_id": "c", "arguments": '{"nr": null}'}]}
    model(t, 23, b, response=json.dumps(response))
    handoff(t, "Hotel", "Büro", 30, b)
    agent(t, "Büro", 62, 90, root)

    assert relays(recovered(t)) == [
        'Büro -> Hotel transfer explicit 11 {"message": "Zwei Nächte."}',
        'Hotel -> Büro transfer explicit 31 {"nr": null}',
    ]


def test_with_content_off_the_ends_are_there_and_the_rest_unrecorded_and_functions_are_no_handoffs() -> None:
    t = Trace(SCOPE)
    root = templated(t, "OpenAI Agents trace: {name}", 0, 99, None, name="Reise")
    a = agent(t, "Büro", 1, 20, root)
    model(t, 2, a, response_id="null")
    templated(t, "Function: {name}", 5, 6, a, name="transfer_to_kasse", input="null", output="null")
    handoff(t, "Büro", "Büro", 10, a)
    agent(t, "Büro", 22, 60, root)

    assert relays(recovered(t)) == ["Büro -> Büro transfer explicit 11 unrecorded"]


def test_agents_as_tools_nest() -> None:
    t = Trace(SCOPE)
    root = templated(t, "OpenAI Agents trace: {name}", 0, 99, None, name="Reise")
    a = agent(t, "Büro", 1, 90, root)
    f = templated(t, "Function: {name}", 5, 50, a, name="visum", input='{"input": "Land: Peru\\nTage: 0"}', output="ja")
    agent(t, "Amt", 7, 40, f)

    assert relays(recovered(t)) == [
        'Büro -> Amt delegate structural 2 {"message": "Land: Peru\\nTage: 0", "land": "Peru", "tage": "0"}',
        'Amt -> Büro return structural 10 {"message": "ja"}',
    ]


def test_a_span_that_only_marks_a_start_is_nothing() -> None:
    t = Trace(SCOPE)
    root = templated(t, "OpenAI Agents trace: {name}", 0, 99, None, name="Reise")
    a = agent(t, "Büro", 1, 90, root)
    named = {"logfire.msg_template": "Agent run: {name!r}", "logfire.span_type": "pending_span", "name": "Büro"}
    t.span("Agent run: {name!r}", 1, 1, a, attributes=named)

    assert len(recovered(t).document["turns"]) == 1


def test_chat_completions_stand_in_input_and_output() -> None:
    t = Trace(SCOPE)
    root = templated(t, "OpenAI Agents trace: {name}", 0, 99, None, name="Reise")
    a = agent(t, "Büro", 1, 20, root)
    asked = {"role": "assistant", "content": "bitte", "tool_calls": [call("weiter", {"hotel": 0})]}
    named: dict[str, Any] = {
        "input": json.dumps([{"role": "user", "content": "Bitte buchen"}]),
        "output": json.dumps([asked]),
    }
    templated(t, "Chat completion with {gen_ai.request.model!r}", 2, 4, a, **named)
    handoff(t, "Büro", "Hotel-Agent 2", 10, a)
    agent(t, "Hotel-Agent 2", 22, 60, root)

    result = recovered(t)
    assert relays(result) == ['Büro -> Hotel-Agent 2 transfer explicit 11 {"hotel": 0}']
    assert result.document["turns"][0]["text"] == "bitte"


def test_chat_completions_with_content_off_are_not_recorded() -> None:
    t = Trace(SCOPE)
    root = templated(t, "OpenAI Agents trace: {name}", 0, 99, None, name="Reise")
    a = agent(t, "Büro", 1, 20, root)
    templated(t, "Chat completion with {gen_ai.request.model!r}", 2, 4, a, input="null", output="null")
    handoff(t, "Büro", "Hotel-Agent 2", 10, a)
    agent(t, "Hotel-Agent 2", 22, 60, root)

    assert relays(recovered(t)) == ["Büro -> Hotel-Agent 2 transfer explicit 11 unrecorded"]


def test_a_streamed_answer_is_a_list_of_whole_responses() -> None:
    t = Trace(SCOPE)
    root = templated(t, "OpenAI Agents trace: {name}", 0, 99, None, name="Reise", group_id="Gruppe 1")
    a = agent(t, "Büro", 1, 20, root)
    asked = {"type": "function_call", "name": "transfer_to_hotel", "call_id": "c1", "arguments": '{"nächte": 0}'}
    told = json.dumps([{"object": "response", "output": [asked]}])
    model(t, 2, a, input=json.dumps([{"role": "user", "content": "Bitte buchen"}]), output=told)
    handoff(t, "Büro", "Hotel", 10, a)
    agent(t, "Hotel", 22, 60, root)

    assert relays(recovered(t)) == ['Büro -> Hotel transfer explicit 11 {"nächte": 0}']
