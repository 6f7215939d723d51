"""A2A: the SDK's spans without attributes between two processes, the draft's client and server spans, clocks that disagree, a lost trace."""

from __future__ import annotations

from typing import Any

import pytest

from collector.otlp.model import KIND_CLIENT, KIND_SERVER, Span
from tests.collector.spans import Trace, recovered, relays

SDK = "a2a-python-sdk"


def in_process(t: Trace, service: Trace) -> Trace:
    """Spans of another process in the same trace."""
    service.trace_id = t.trace_id
    service.spans = t.spans
    return service


@pytest.mark.parametrize("minutes", [-7, 0, 7])
def test_the_sdk_s_own_spans_only_hold_a_place_whatever_the_other_clock_says(minutes: int) -> None:
    t = Trace("app", service="reederei")
    a = t.agent("Disponentin", 0, 100)
    tool = t.tool("fragen", 10, 90, a, {"schiff": "Ægir", "tage": 0})
    sent = t.span(
        "a2a.client.transports.jsonrpc.JsonRpcTransport.send_message", 11, 89, tool, kind=KIND_CLIENT, scope=SDK
    )
    other = in_process(t, Trace("app", service="werft", start_ms=minutes * 60_000))
    handler = other.span("a2a.server.request_handlers.OnMessage", 20, 80, sent, kind=KIND_SERVER, scope=SDK)
    other.span("a2a.server.events.EventQueue.enqueue_event", 21, 22, handler, kind=KIND_SERVER, scope=SDK)
    other.chat(31, 32, other.agent("Werft", 30, 70, handler), "x", "zwei Tage")

    got = [r.split(" ", 5) for r in relays(recovered(t))]
    assert [(r[0], r[2], r[3], r[4], r[5].partition(" ")[2]) for r in got] == [
        ("Disponentin", "Werft", "delegate", "structural", '{"schiff": "Ægir", "tage": 0}'),
        ("Werft", "Disponentin", "return", "structural", '{"message": "zwei Tage"}'),
    ]


def drafted(
    t: Trace, kind: int, start: float, end: float, parent: Span | None, agent: str = "Werft", **more: Any
) -> Span:
    named = {"a2a.method.name": "SendMessage", "gen_ai.agent.name": agent, **more}
    return t.span("SendMessage", start, end, parent, kind=kind, attributes=named)


def test_a_drafted_client_span_is_a_call_of_the_agent_it_names_and_the_server_s_its_run() -> None:
    t = Trace("app")
    a = t.agent("Disponentin", 0, 100)
    server = drafted(t, KIND_SERVER, 20, 80, drafted(t, KIND_CLIENT, 10, 90, a))
    t.agent("Werft", 30, 70, server)

    result = recovered(t)
    assert relays(result) == [
        "Disponentin -> Werft delegate explicit 10 unrecorded",
        "Werft -> Disponentin return explicit 10 unrecorded",
    ]
    assert len(result.document["turns"]) == 2


def test_where_the_other_process_sends_no_spans_the_call_stands_for_its_run() -> None:
    t = Trace("app")
    a = t.agent("Disponentin", 0, 100)
    drafted(t, KIND_CLIENT, 10, 90, a)
    t.span("GetTask", 91, 92, a, kind=KIND_CLIENT, attributes={"a2a.method.name": "GetTask", "gen_ai.agent.name": "Werft"})  # fmt: skip

    assert relays(recovered(t)) == [
        "Disponentin -> Werft delegate explicit None unrecorded",
        "Werft -> Disponentin return explicit None unrecorded",
    ]


def test_a_trace_that_is_not_carried_on_is_joined_by_the_conversation_and_the_name() -> None:
    t = Trace("app", 1, service="reederei")
    a = t.agent("Disponentin", 0, 100)
    drafted(t, KIND_CLIENT, 10, 90, a, gen_ai__conversation__id="k1")
    other = Trace("app", 2, service="werft", start_ms=20)
    other.agent("Werft", 1, 50, drafted(other, KIND_SERVER, 0, 60, None, gen_ai__conversation__id="k1"))

    result = recovered(t, other)
    assert relays(result) == [
        "Disponentin -> Werft delegate explicit None unrecorded",
        "Werft -> Disponentin return explicit None unrecorded",
    ]
    assert len(result.document["turns"]) == 2
