"""autogen-agentchat under OpenInference, with the native spans around and inside its own."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "openinference.instrumentation.autogen_agentchat"
NATIVE = "autogen-core"


def written(source: str, content: str) -> str:
    """A message as the framework's repr writes it."""
    at = "datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)"
    return f"id='1' source={source!r} models_usage=None metadata={{}} created_at={at} content={content!r} type='TextMessage'"


def run(t: Trace, team: Span, name: str, start: float, end: float, before: str, *messages: str) -> Span:
    native = t.agent(name, start, end, team, scope=NATIVE)
    named: dict[str, Any] = {"openinference.span.kind": "AGENT", "graph.node.id": name, "graph.node.parent_id": before}
    given = {"input.value": json.dumps({"messages": messages, "cancellation_token": "<x>"})}
    return t.span(f"{name}.on_messages_stream", start + 0.1, end, native, attributes=named | given)


def tool(t: Trace, parent: Span, agent: str, name: str, at: float, result: str) -> None:
    named = {"openinference.span.kind": "TOOL", "tool.name": name, "tool.parameters": "{}", "output.value": result}
    outer = t.span(f"{agent}.{name}", at, at + 2, parent, attributes=named)
    t.tool(name, at + 0.5, at + 1, outer, scope=NATIVE)


def team_of(t: Trace) -> Span:
    named = {"openinference.span.kind": "CHAIN", "participant_names": ["Hof", "Stall", "Weide"]}
    return t.span("Swarm.run_stream", 0, 500, attributes=named)


def test_each_run_and_call_counts_once_and_a_handoff_carries_the_tool_s_result() -> None:
    t = Trace(SCOPE)
    team = team_of(t)
    a = run(t, team, "Hof", 1, 20, "start", written("user", "Kühe?"))
    tool(t, a, "Hof", "transfer_to_stall", 5, '{"tiere": 12, "futter": []}')
    run(t, team, "Stall", 22, 60, "Hof", written("Hof", "x"))

    result = recovered(t)
    assert relays(result) == ['Hof -> Stall transfer explicit 15 {"tiere": 12, "futter": []}']
    assert len(result.document["turns"]) == 2


def test_without_a_tool_the_last_speaker_hands_over_what_the_target_was_given_last() -> None:
    t = Trace(SCOPE)
    team = team_of(t)
    run(t, team, "Hof", 1, 20, "user", written("user", "Kühe?"))
    run(t, team, "Stall", 22, 60, "Hof", written("user", "Kühe?"), written("Hof", 'Ziel: "Melken"\nUhr: 6'))
    run(t, team, "Stall", 62, 80, "Stall")

    assert relays(recovered(t)) == [
        'Hof -> Stall transfer structural 2 {"message": "Ziel: \\"Melken\\"\\nUhr: 6", "ziel": "\\"Melken\\"", "uhr": "6"}'
    ]


def test_a_participant_asked_for_that_never_runs_is_dropped() -> None:
    t = Trace(SCOPE)
    team = team_of(t)
    a = run(t, team, "Hof", 1, 20, "start", written("user", "Kühe?"))
    tool(t, a, "Hof", "transfer_to_stall", 5, "Bitte melken")
    b = run(t, team, "Stall", 22, 60, "Hof", written("Hof", "x"))
    tool(t, b, "Stall", "transfer_to_weide", 30, "Raus")

    assert relays(recovered(t)) == [
        'Hof -> Stall transfer explicit 15 {"message": "Bitte melken"}',
        'Stall -> Weide transfer explicit None {"message": "Raus"} dropped',
    ]


def test_who_leads_a_team_by_itself_runs_as_long_as_the_team_and_asks_each_of_it() -> None:
    t = Trace(SCOPE)
    named = {"openinference.span.kind": "CHAIN", "participant_names": ["Hof", "Stall"]}
    team = t.span("MagenticOneGroupChat.run_stream", 0, 500, attributes=named)
    leader = "MagenticOneOrchestrator"
    run(t, team, "Hof", 1, 20, leader, written("user", "Kühe?"), written(leader, "Zähle die Kühe."))
    run(t, team, "Stall", 30, 60, leader, written("Hof", "zwölf"), written(leader, '{"tiere": 12}'))

    assert relays(recovered(t)) == [
        'MagenticOneOrchestrator -> Hof delegate structural 1 {"message": "Zähle die Kühe."}',
        "Hof -> MagenticOneOrchestrator return structural None unrecorded",
        'MagenticOneOrchestrator -> Stall delegate structural 10 {"tiere": 12}',
        "Stall -> MagenticOneOrchestrator return structural None unrecorded",
    ]


def test_a_run_is_over_when_the_native_span_ends_however_late_the_one_inside_it_is_closed() -> None:
    t = Trace(SCOPE)
    root = t.span("sitzung", 0, 500, scope="app")
    native = t.agent("Hof", 1, 20, root, scope=NATIVE)
    named = {"openinference.span.kind": "AGENT", "graph.node.id": "Hof", "output.value": "Zwölf Kühe stehen da."}
    t.span("Hof.on_messages_stream", 1.1, 45, native, attributes=named)
    run(t, root, "Stall", 30, 60, "user", written("user", "Zwölf Kühe stehen da."))

    assert relays(recovered(t)) == ['Hof -> Stall transfer inferred 10 {"message": "Zwölf Kühe stehen da."}']
