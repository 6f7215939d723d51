"""Agents under OpenLIT: a handoff that looks like a run, steps that look like runs, links that mean identity."""

from __future__ import annotations

from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "openlit.instrumentation.openai_agents"


def run(t: Trace, name: str, start: float, end: float, parent: Span | None, **more: Any) -> Span:
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more}
    return t.span(f"invoke_agent {name}", start, end, parent, attributes=named)


def agent(t: Trace, name: str, start: float, end: float, parent: Span | None, **more: Any) -> Span:
    return run(t, name, start, end, parent, **{"gen_ai.agent.id": f"id-{name}"}, **more)


def test_the_handoff_s_span_names_its_target_and_is_no_run_of_it() -> None:
    t = Trace(SCOPE)
    root = t.span("invoke_workflow Kurs", 0, 200, gen_ai__operation__name="invoke_workflow")
    task = run(t, "Kurs", 0.5, 190, root, **{"gen_ai.custom.data": "{}"})
    a = agent(t, "Anmeldung", 1, 20, task, **{"gen_ai.agent.handoffs": '["Lehrer Ø"]'})
    turn = run(t, "turn", 1.5, 19, a, **{"gen_ai.custom.data": "{}"})
    run(t, "sperre", 1.6, 1.7, a, **{"gen_ai.guardrail.triggered": False})
    t.chat(2, 8, turn, "Bitte anmelden", "Ich reiche weiter.", [("transfer_to_lehrer_", {"stufe": "B1", "platz": 0})])
    run(t, "Lehrer Ø", 10, 11, turn, **{"gen_ai.agent.source": "Anmeldung"})
    agent(t, "Lehrer Ø", 22, 60, task)

    result = recovered(t)
    assert relays(result) == ['Anmeldung -> Lehrer Ø transfer explicit 11 {"stufe": "B1", "platz": 0}']
    assert len(result.document["turns"]) == 2


def test_a_link_to_an_agent_s_creation_joins_nothing() -> None:
    made = Trace(SCOPE, 1)
    named = {"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "Lehrer"}
    creation = made.span("create_agent Lehrer", 0, 1, attributes=named)
    agent(made, "Amt", 2, 3, None)
    t = Trace(SCOPE, 2, start_ms=100)
    t.span(
        "invoke_agent Lehrer",
        0,
        10,
        links=(creation,),
        attributes={**named, "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": "7"},
    )

    assert relays(recovered(made, t)) == []


def test_other_frameworks_agents_need_no_id() -> None:
    t = Trace("openlit.instrumentation.crewai")
    crew = t.span("invoke_workflow crew", 0, 99, gen_ai__operation__name="invoke_workflow")
    run(t, "Rechercheurin", 1, 20, crew, **{"gen_ai.agent.role": "Rechercheurin"})
    run(t, "Autor", 21, 40, crew, **{"gen_ai.agent.role": "Autor"})

    assert relays(recovered(t)) == ["Rechercheurin -> Autor transfer inferred 1 unrecorded"]
