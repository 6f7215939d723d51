"""Pydantic AI: delegation by nesting, older versions' names, programs that run agents one after another, pending spans."""

from __future__ import annotations

import json

from tests.collector.spans import Trace, recovered, relays

SCOPE = "pydantic-ai"


def test_delegation_is_an_agent_in_a_tool_whatever_the_tool_is_called() -> None:
    t = Trace(SCOPE)
    a = t.agent("Leitung", 0, 90, gen_ai__aggregated_usage__input_tokens=9)
    tool = t.tool("prüfe_bitte", 10, 50, a, arguments={"Vorgang": 1, "frist": None}, result="geprüft")
    b = t.agent("Prüfer 2", 12, 45, tool)
    t.chat(13, 20, b, said="geprüft", gen_ai__usage__input_tokens=4)

    result = recovered(t)
    assert relays(result) == [
        'Leitung -> Prüfer 2 delegate structural 2 {"vorgang": 1, "frist": null}',
        'Prüfer 2 -> Leitung return structural 5 {"message": "geprüft"}',
    ]
    assert [(x["agent_id"], x["tokens"]) for x in result.document["turns"]] == [("Leitung", 9), ("Prüfer 2", 4)]


def test_version_two_has_other_names_for_the_same() -> None:
    t = Trace(SCOPE)
    a = t.span("agent run", 0, 90, agent_name="a")
    tool = t.span(
        "running tool",
        10,
        50,
        a,
        attributes={"gen_ai.tool.name": "ask", "tool_arguments": '{"goal": "g"}', "tool_response": "r"},
    )
    t.span("agent run", 12, 45, tool, agent_name="b")

    assert relays(recovered(t)) == [
        'a -> b delegate structural 2 {"goal": "g"}',
        'b -> a return structural 5 {"message": "r"}',
    ]


def test_tool_named_like_a_transfer_with_no_agent_in_it_is_none() -> None:
    t = Trace(SCOPE)
    root = t.span("request", 0, 95)
    a = t.agent("a", 0, 40, root)
    t.tool("transfer_to_b", 10, 11, a, arguments={"x": 1})
    t.agent("b", 50, 90, root)

    assert [r.split(" 10 ")[0] for r in relays(recovered(t))] == ["a -> b transfer inferred"]


def test_structured_output_that_is_the_next_agents_prompt_joins_their_traces() -> None:
    one, two = Trace(SCOPE, 1), Trace(SCOPE, 2, start_ms=100)
    order = {"Patient Nr": 0, "raucher": False, "medikamente": [], "vorerkrankung": None}
    one.chat(1, 9, one.agent("Aufnahme", 0, 10), heard="Brustschmerz", calls=[("final_result", order)])
    prompt = json.dumps(
        [
            {"role": "user", "parts": [{"type": "text", "content": json.dumps(order)}]},
            {"role": "assistant", "parts": [{"type": "text", "content": "ok"}]},
        ]
    )
    two.agent("Aufnahme Triage", 0, 10, attributes={"pydantic_ai.all_messages": prompt})

    assert relays(recovered(one, two)) == [
        'Aufnahme -> Aufnahme Triage transfer inferred 90 {"patient_nr": 0, "raucher": false, "medikamente": [], "vorerkrankung": null}'
    ]


def test_pending_spans_are_placeholders() -> None:
    t = Trace(SCOPE)
    t.agent("a", 0, 0, attributes={"logfire.span_type": "pending_span"})

    assert recovered(t).visits == 0
