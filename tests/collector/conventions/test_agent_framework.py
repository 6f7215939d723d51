"""Microsoft Agent Framework: handoff workflows, copies that start no run, fan-out, content off, content in log records, OpenInference's keys."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import LogRecord, Scope, Span
from tests.collector.spans import T0, Trace, recovered, relays

SCOPE = "agent_framework"


def executor(t: Trace, root: Span, name: str, start: float, end: float, *causes: Span) -> Span:
    return t.span(f"executor.process {name}", start, end, root, links=causes, executor__id=name)


def sent(t: Trace, inside: Span, at: float, to: str = "") -> Span:
    named = {"message.destination_executor_id": to} if to else {}
    return t.span("message.send", at, at + 1, inside, kind=4, attributes=named)


def edge(t: Trace, root: Span, at: float, source: str, target: str, cause: Span) -> None:
    named = {"message.source_id": source, "message.target_id": target}
    t.span("edge_group.process FanOutEdgeGroup", at, at + 1, root, links=(cause,), attributes=named)


def workflow(t: Trace) -> Span:
    return t.span("workflow.run", 0, 500)


def test_the_call_that_hands_over_has_no_tool_span_and_what_is_passed_stands_beside_it() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    x = executor(t, root, "Disposition", 1, 30)
    a = t.agent("Disposition", 2, 20, x, gen_ai__agent__id="n-0")
    t.chat(3, 8, a, "Tour 6", '{"ziel": "Łódź", "kisten": 0}', [("handoff_to_Zoll_S_d", "{}")])
    copied, aimed = sent(t, x, 21), sent(t, x, 22, "Zoll Süd")
    executor(t, root, "Archiv", 31, 32, copied)
    executor(t, root, "Zoll Süd", 33, 34, copied)
    edge(t, root, 35, "Disposition", "Zoll Süd", aimed)
    t.agent("Zoll Süd", 37, 60, executor(t, root, "Zoll Süd", 36, 70, aimed), gen_ai__agent__id="n-1")

    result = recovered(t)
    assert relays(result) == ['Disposition -> Zoll Süd transfer explicit 1 {"ziel": "Łódź", "kisten": 0}']
    assert [a["agent_id"] for a in result.document["agents"]] == ["Disposition", "Zoll Süd"]


def test_a_tool_span_is_a_plain_tool_whatever_its_name_and_an_agent_below_it_its_delegate() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = t.agent("Disposition", 2, 90, executor(t, root, "Disposition", 1, 95))
    t.tool("handoff_to_Lager", 3, 4, a, {"nr": 1})
    t.agent("Lager", 12, 40, t.tool("frage", 10, 50, a, {"task": "Platz?"}, "ja"))

    assert relays(recovered(t)) == [
        'Disposition -> Lager delegate structural 2 {"task": "Platz?"}',
        'Lager -> Disposition return structural 10 {"message": "ja"}',
    ]


def test_fan_out_carries_the_source_s_answer_to_each_and_a_function_that_collects_is_no_agent() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    x = executor(t, root, "leitung", 1, 30)
    t.chat(3, 8, t.agent("Leitung 0", 2, 20, x), "Sendung?", '{"teile": [1, 2]}')
    message = sent(t, x, 21)
    sends = []
    for place, name in enumerate(("Größe 1", "Größe 12")):
        y = executor(t, root, f"e-{place}", 31 + place, 60 + place, message)
        t.agent(name, 32 + place, 50 + place, y)
        sends.append(sent(t, y, 55 + place))
    z = executor(t, root, "sammler", 70, 80, *sends)
    t.agent("Leitung 0", 92, 99, executor(t, root, "leitung", 90, 100, sent(t, z, 75)))

    assert relays(recovered(t)) == [
        'Leitung 0 -> Größe 1 transfer structural 12 {"teile": [1, 2]}',
        'Leitung 0 -> Größe 12 transfer structural 13 {"teile": [1, 2]}',
        "Größe 1 -> Leitung 0 transfer structural 42 unrecorded",
        "Größe 12 -> Leitung 0 transfer structural 41 unrecorded",
    ]


def test_with_content_off_deliveries_tell_the_handoff_and_it_is_unrecorded() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    x = executor(t, root, "Disposition", 1, 30)
    t.agent("Disposition", 2, 20, x)
    aimed = sent(t, x, 22, "Zoll")
    edge(t, root, 35, "Disposition", "Zoll", aimed)
    t.agent("Zoll", 37, 60, executor(t, root, "Zoll", 36, 70, aimed))

    assert relays(recovered(t)) == ["Disposition -> Zoll transfer explicit 1 unrecorded"]


def test_a_delivery_that_starts_no_run_is_nothing() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    x = executor(t, root, "Disposition", 1, 30)
    t.agent("Disposition", 2, 20, x)
    aimed = sent(t, x, 22, "Zoll")
    edge(t, root, 35, "Disposition", "Zoll", aimed)
    executor(t, root, "Zoll", 36, 70, aimed)

    assert relays(recovered(t)) == []


def record(chat: Span, place: int, name: str, body: Any) -> LogRecord:
    return LogRecord(
        chat.trace_id, chat.span_id, name, body, T0 + place, attributes={"gen_ai.system": "x"}, scope=Scope(SCOPE)
    )


def test_content_that_travels_in_log_records_is_the_spans_own() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = t.agent("Disposition", 2, 20, executor(t, root, "Disposition", 1, 30))
    chat = t.chat(3, 8, a)
    call = {"id": "1", "type": "function", "function": {"name": "handoff_to_Zoll", "arguments": "{}"}}
    message = {"content": json.dumps({"kisten": 0}), "tool_calls": [call]}
    t.logs += [
        record(chat, 2, "gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": message}),
        record(chat, 1, "gen_ai.user.message", {"content": "Tour 6"}),
    ]
    t.agent("Zoll", 37, 60, executor(t, root, "Zoll", 36, 70))

    result = recovered(t)
    assert relays(result) == ['Disposition -> Zoll transfer explicit 29 {"kisten": 0}']
    assert result.document["turns"][0]["text"] == '{"kisten": 0}'


def test_openinference_s_keys_on_the_same_spans_change_nothing() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    a = t.agent("Disposition", 2, 20, root, openinference__span__kind="AGENT", graph__node__id="agent_n-0")
    t.chat(3, 8, a, "Tour", "Ziel: Łódź", [("handoff_to_Zoll", "{}")], openinference__span__kind="LLM")
    t.agent("Zoll", 37, 60, root, openinference__span__kind="AGENT", graph__node__id="agent_n-1")

    assert relays(recovered(t)) == ['Disposition -> Zoll transfer explicit 29 {"message": "Ziel: Łódź"}']


def led(t: Trace, root: Span, start: float, end: float, *causes: Span) -> Span:
    named = {"executor.id": "leitung", "executor.type": "MagenticOrchestrator"}
    return t.span("executor.process leitung", start, end, root, links=causes, attributes=named)


def given(*messages: tuple[str, str]) -> dict[str, Any]:
    said = [{"role": r, "parts": [{"type": "text", "content": c}]} for r, c in messages]
    return {"gen_ai.input.messages": json.dumps(said, ensure_ascii=False)}


def test_a_manager_s_turn_is_one_run_however_often_it_asks_its_model_and_whom_it_asks_answers_it() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    turn = led(t, root, 1, 40)
    t.agent("Leitung", 2, 10, turn)
    t.agent("Leitung", 12, 20, turn)
    aimed = sent(t, turn, 35, "Zoll")
    work = executor(t, root, "Zoll", 41, 60, aimed)
    t.agent("Zoll", 42, 55, work, attributes=given(("user", "Tour 6"), ("user", '{"kisten": 0}')))
    last = led(t, root, 62, 90, sent(t, work, 57))
    t.agent("Leitung", 63, 70, last)
    t.agent("Leitung", 72, 80, last)

    assert relays(recovered(t)) == [
        'Leitung -> Zoll delegate structural 2 {"kisten": 0}',
        "Zoll -> Leitung return structural None unrecorded",
    ]


def test_a_manager_that_is_no_agent_is_none() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    turn = led(t, root, 1, 10)
    work = executor(t, root, "Zoll", 11, 30, sent(t, turn, 5, "Zoll"))
    t.agent("Zoll", 12, 25, work)
    turn = led(t, root, 31, 40, sent(t, work, 28))
    t.agent("Archiv", 42, 50, executor(t, root, "Archiv", 41, 55, sent(t, turn, 35, "Archiv")))

    assert relays(recovered(t)) == ["Zoll -> Archiv transfer structural 17 unrecorded"]


def test_who_runs_after_a_workflow_in_a_workflow_comes_from_who_ran_last_in_it() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    first = executor(t, root, "Disposition", 1, 30)
    t.agent("Disposition", 2, 20, first)
    outer = executor(t, root, "Prüfung", 31, 100, sent(t, first, 25))
    inner = t.span("workflow.run", 32, 95, outer)
    x = executor(t, inner, "Zoll", 33, 50)
    t.agent("Zoll", 34, 45, x)
    t.agent("Waage", 61, 80, executor(t, inner, "Waage", 60, 90, sent(t, x, 46)))
    t.agent("Archiv", 111, 120, executor(t, root, "Archiv", 110, 130, sent(t, outer, 98)))

    assert relays(recovered(t)) == [
        "Disposition -> Zoll transfer structural 14 unrecorded",
        "Zoll -> Waage transfer structural 16 unrecorded",
        "Waage -> Archiv transfer structural 31 unrecorded",
    ]


def test_the_messages_that_openinference_writes_beside_the_framework_s_are_no_input_of_their_own() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    turn = led(t, root, 1, 40)
    t.agent("Leitung", 2, 10, turn)
    again = {"messages": [{"message.role": "user", "message.content": "Wiege."}], "model": "m"}
    named = given(("user", "Wiege.")) | {"input.value": json.dumps(again)}
    t.agent("Waage", 42, 55, executor(t, root, "Waage", 41, 60, sent(t, turn, 35, "Waage")), attributes=named)

    assert relays(recovered(t))[0] == 'Leitung -> Waage delegate structural 2 {"message": "Wiege."}'


def test_a_manager_that_asks_a_model_itself_is_called_by_its_executor_and_passes_what_its_answer_says() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    named = {"executor.id": "groupchat_orchestrator_151ff8b2", "executor.type": "GroupChatOrchestratorExecutor"}
    turn = t.span("executor.process", 1, 40, root, attributes=named)
    t.chat(2, 30, turn, "Tour 6", json.dumps({"next_agent": "Zoll", "message": '{"kisten": 0}'}))
    heard = given(("user", "Tour 6"), ("assistant", '{"kisten": 0}'))
    t.agent("Zoll", 42, 55, executor(t, root, "Zoll", 41, 60, sent(t, turn, 35, "Zoll")), attributes=heard)

    assert relays(recovered(t)) == [
        'groupchat_orchestrator -> Zoll delegate structural 12 {"kisten": 0}',
        "Zoll -> groupchat_orchestrator return structural None unrecorded",
    ]


def test_an_agent_that_runs_again_for_one_message_goes_on_by_itself() -> None:
    t = Trace(SCOPE)
    root = workflow(t)
    x = executor(t, root, "Disposition", 1, 30)
    t.agent("Disposition", 2, 20, x)
    y = executor(t, root, "Zoll", 32, 80, sent(t, x, 25, "Zoll"))
    t.agent("Zoll", 33, 45, y)
    t.agent("Zoll", 46, 60, y)
    t.agent("Archiv", 91, 99, executor(t, root, "Archiv", 90, 100, sent(t, y, 70, "Archiv")))

    assert relays(recovered(t)) == [
        "Disposition -> Zoll transfer structural 13 unrecorded",
        "Zoll -> Archiv transfer structural 31 unrecorded",
    ]
