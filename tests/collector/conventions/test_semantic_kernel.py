"""Semantic Kernel: hops in traces of their own, notes that one agent writes and the next reads, text that nobody records, look-alikes."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import LogRecord, Scope, Span
from tests.collector.spans import T0, Trace, recovered, relays

AGENTS = "semantic_kernel.utils.telemetry.agent_diagnostics.decorators"
RUNTIME = "agent_runtime InProcessRuntime"


class Run:
    """A run: each hop a trace, joined by links."""

    def __init__(self) -> None:
        app = Trace("theater", 99)
        root = app.span("probe", 0, 900)
        self.traces: list[Trace] = [app]
        self.cause = app.span("agent_runtime create", 0, 1, root, scope=RUNTIME, kind=4)

    def hop(self, agent: str, at: float, *tools: tuple[str, Any, str], said: str | None = None) -> Span:
        t = Trace(AGENTS, len(self.traces) + 1, start_ms=at)
        self.traces.append(t)
        process = t.span(f"agent_runtime process {agent}", 0, 50, scope=RUNTIME, kind=5, links=(self.cause,))
        run = t.agent(
            agent, 1, 40, process, attributes={"gen_ai.output.messages": _messages(said), "gen_ai.agent.id": "7"}
        )
        loop = t.span("AutoFunctionInvocationLoop", 2, 39, run)
        t.chat(3, 4, loop)
        for place, (name, arguments, result) in enumerate(tools):
            t.tool(name, 5 + 2 * place, 6 + 2 * place, loop, arguments, result)
        self.cause = t.span("agent_runtime create", 41, 42, process, scope=RUNTIME, kind=4)
        return run


def _messages(said: str | None) -> str:
    return json.dumps([{"role": "assistant", "content": said}] if said is not None else [])


BRIEF = '{"szene": 2, "farbe": "blau", "lampen": []}'


def test_a_note_that_the_source_writes_and_the_target_reads_is_what_a_handoff_carries() -> None:
    run = Run()
    run.hop("Regie", 0, ("Notiz-schreibe", {"text": BRIEF}, "ok"), ("Handoff-transfer_to_Licht", {}, "None"))
    run.hop("Licht", 60, ("Notiz-lies", {}, BRIEF), ("Handoff-transfer_to_Regie", {}, "None"))
    run.hop("Regie", 120, ("Notiz-lies", {}, BRIEF), ("Handoff-complete_task", {"task_summary": "x"}, "None"))

    assert relays(recovered(*run.traces)) == [
        'Regie -> Licht transfer explicit 53 {"szene": 2, "farbe": "blau", "lampen": []}',
        "Licht -> Regie transfer explicit 53 unrecorded",
    ]


def test_without_the_handoff_tool_links_lead_from_agent_to_agent_and_the_answer_is_passed() -> None:
    run = Run()
    run.hop("Regie", 0, said="Farbe: blau\nSzene: 2")
    run.hop("Licht", 60, ("Haus-transfer_to_lager", {"stuhl": 1}, "ok"), said="fertig")

    assert relays(recovered(*run.traces)) == [
        'Regie -> Licht transfer structural 21 {"message": "Farbe: blau\\nSzene: 2", "farbe": "blau", "szene": "2"}'
    ]


def test_messages_in_log_records_are_the_calls_own_and_an_answer_with_calls_tells_no_text() -> None:
    run = Run()
    span = run.hop("Regie", 0, ("Handoff-transfer_to_Licht", {}, "None"))
    run.hop("Licht", 60, said="fertig")
    t = run.traces[1]
    chat = next(s for s in t.spans if s.name == "chat m")
    call = {"id": "1", "type": "function", "function": {"name": "Handoff-transfer_to_Licht", "arguments": "{}"}}
    bodies = [
        ("gen_ai.user.message", {"role": "user", "content": "Probe"}),
        ("gen_ai.choice", {"message": {"role": "assistant", "tool_calls": [call]}, "index": 0}),
    ]
    for place, (name, body) in enumerate(bodies):
        t.logs.append(
            LogRecord(
                span.trace_id,
                chat.span_id,
                body=json.dumps(body),
                time_unix_nano=T0 + place,
                attributes={"event.name": name},
                scope=Scope("semantic_kernel.utils.telemetry.model_diagnostics.decorators"),
            )
        )

    assert relays(recovered(*run.traces)) == ["Regie -> Licht transfer explicit 55 unrecorded"]


def test_a_manager_that_speaks_asks_with_its_last_words_and_is_answered() -> None:
    manager = "MagenticManagerActor"
    app = Trace("theater", 1)
    root = app.span("probe", 0, 900)

    def turn(at: float, *causes: Span) -> Span:
        named = {"messaging.operation": "process", "messaging.destination": f"{manager}_5f.(default)-A"}
        return app.span(
            "agent_runtime process", at, at + 20, root, scope=RUNTIME, kind=5, links=causes, attributes=named
        )

    first = turn(1)
    told = app.span("agent_runtime create", 15, 16, first, scope=RUNTIME, kind=4)
    came = app.span("agent_runtime process Licht", 30, 60, root, scope=RUNTIME, kind=5, links=(told,))
    messages = [{"role": "user", "content": "Faust"}, {"role": "assistant", "content": BRIEF, "name": manager}]
    named = {"gen_ai.input.messages": json.dumps(messages)}
    app.agent("Licht", 31, 50, came, scope=AGENTS, attributes=named)
    turn(70, app.span("agent_runtime create", 51, 52, came, scope=RUNTIME, kind=4))

    assert relays(recovered(app)) == [
        'MagenticManagerActor -> Licht delegate structural 10 {"szene": 2, "farbe": "blau", "lampen": []}',
        "Licht -> MagenticManagerActor return structural None unrecorded",
    ]


def test_an_agent_that_is_called_like_a_function_is_given_its_messages_and_no_instructions_that_nobody_wrote() -> None:
    t = Trace(AGENTS)
    regie = t.agent("Regie", 0, 90)
    given = {"messages": "Mach es dunkler.", "instructions_override": None}
    t.agent("Licht", 12, 40, t.tool("Licht-Licht", 10, 50, regie, given, "dunkel"))

    assert relays(recovered(t)) == [
        'Regie -> Licht delegate structural 2 {"message": "Mach es dunkler."}',
        'Licht -> Regie return structural 10 {"message": "dunkel"}',
    ]
