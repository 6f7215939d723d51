"""Strands: swarm, graph, agents as tools; content in events, in attributes, redacted; look-alikes."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Event, Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "strands.telemetry.tracer"


def handoff(t: Trace, parent: Span, at: float, arguments: Any, status: str = "success") -> Span:
    content = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return t.tool(
        "handoff_to_agent",
        at,
        at + 1,
        parent,
        events=(Event("gen_ai.tool.message", 0, {"role": "tool", "content": content}),),
        gen_ai__tool__status=status,
    )


def test_swarm_transfer_reads_its_arguments_from_the_event() -> None:
    t = Trace(SCOPE)
    swarm = t.span("invoke_swarm", 0, 90, gen_ai__operation__name="invoke_swarm")
    a = t.agent("Koordination", 1, 20, swarm)
    handoff(
        t, a, 10, {"agent_name": "Zoll Prüfung", "message": "bitte prüfen", "context": {"Sendung Nr": 7, "maße": []}}
    )
    t.chat(12, 18, a, said="Handed over.")
    t.agent("Zoll Prüfung", 22, 60, swarm)

    assert relays(recovered(t)) == [
        'Koordination -> Zoll Prüfung transfer explicit 11 {"message": "bitte prüfen", "sendung_nr": 7, "maße": []}'
    ]


def test_of_several_handoffs_in_one_turn_the_last_is_taken_and_the_others_are_dropped() -> None:
    t = Trace(SCOPE)
    swarm = t.span("invoke_swarm", 0, 90, gen_ai__operation__name="invoke_swarm")
    a = t.agent("a", 1, 20, swarm)
    handoff(t, a, 10, {"agent_name": "c", "message": "first"})
    handoff(t, a, 12, {"agent_name": "b", "message": "second"})
    t.agent("b", 22, 60, swarm)

    assert relays(recovered(t)) == [
        'a -> c transfer explicit None {"message": "first"} dropped',
        'a -> b transfer explicit 9 {"message": "second"}',
    ]


def test_redacted_arguments_are_neither_fields_nor_missing() -> None:
    t = Trace(SCOPE)
    swarm = t.span("invoke_swarm", 0, 90, gen_ai__operation__name="invoke_swarm")
    handoff(t, t.agent("a", 1, 20, swarm), 10, "[REDACTED]")
    t.agent("b", 22, 60, swarm)

    assert relays(recovered(t)) == ["a -> b transfer inferred 11 unrecorded redacted"]


def test_graph_node_gets_the_words_of_those_before_it() -> None:
    t = Trace(SCOPE)
    graph = t.span("invoke_graph", 0, 90, gen_ai__operation__name="invoke_graph")
    said = (
        Event("gen_ai.choice", 0, {"message": '{"Auftrag": "A-12", "termin": null}\n', "finish_reason": "end_turn"}),
    )
    t.agent("Disposition", 1, 10, graph, events=said)
    t.agent("Route", 12, 30, graph)
    t.agent("Route 2", 13, 31, graph)

    assert relays(recovered(t)) == [
        'Disposition -> Route transfer inferred 2 {"auftrag": "A-12", "termin": null}',
        'Disposition -> Route 2 transfer inferred 3 {"auftrag": "A-12", "termin": null}',
    ]


def test_agent_as_a_tool_is_a_delegation() -> None:
    t = Trace(SCOPE)
    tool = t.tool(
        "implement",
        10,
        50,
        t.agent("boss", 0, 90),
        arguments={"input": "Build it.\n\nGoal: speed\nFiles: a.py"},
        result=[{"text": "built\n"}],
    )
    t.agent("engineer", 12, 45, tool)

    assert relays(recovered(t)) == [
        'boss -> engineer delegate structural 2 {"message": "Build it.\\n\\nGoal: speed\\nFiles: a.py", "goal": "speed", "files": "a.py"}',
        'engineer -> boss return structural 5 {"message": "built\\n"}',
    ]


def test_tool_of_the_application_named_like_a_handoff_is_none() -> None:
    t = Trace(SCOPE)
    a = t.agent("Schalter agent", 0, 90, t.span("invoke_swarm", 0, 91))
    t.tool("handoff_to_courier", 10, 11, a, arguments={"message": "parcel", "agent_name": "Schalter agent"})

    assert relays(recovered(t)) == []


def test_unnamed_agent_under_its_default_name_is_no_agent() -> None:
    t = Trace(SCOPE)
    t.agent("Strands Agents", 0, 90)

    assert recovered(t).visits == 0


def test_a_node_of_a_graph_comes_from_all_whose_words_it_is_given_and_of_a_team_from_its_last() -> None:
    t = Trace(SCOPE)
    graph = t.span("invoke_graph", 0, 90, gen_ai__operation__name="invoke_graph")
    t.chat(2, 3, t.agent("Band", 1, 4, graph), said="Der Marsch ist geübt.")
    crew = t.span("invoke_swarm", 5, 40, graph, gen_ai__operation__name="invoke_swarm")
    a = t.agent("Gerüst", 6, 20, crew)
    handoff(t, a, 10, {"agent_name": "Zelt", "message": "steht"})
    t.chat(12, 18, a, said="Das Gerüst ist fertig.")
    t.chat(23, 30, t.agent("Zelt", 22, 39, crew), said="Das Zelt steht auf zwölf Stangen.")
    words = ["Der Marsch ist geübt.", "Das Gerüst ist fertig.", "Das Zelt steht auf zwölf Stangen."]
    parts = [{"text": text} for text in ("Original Task: x", "\nInputs from previous nodes:", *words)]
    given = Event("gen_ai.user.message", 0, {"content": json.dumps(parts)})
    t.agent("Ansage", 50, 60, graph, events=(given,))

    assert relays(recovered(t))[-2:] == [
        'Band -> Ansage transfer inferred 46 {"message": "Der Marsch ist geübt."}',
        'Zelt -> Ansage transfer inferred 11 {"message": "Das Zelt steht auf zwölf Stangen."}',
    ]
