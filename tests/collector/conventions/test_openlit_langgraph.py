"""LangGraph under OpenLIT: two instrumentors' runs side by side, parts of ready-made agents, Commands as Python, deep agents."""

from __future__ import annotations

from typing import Any

from tests.collector.spans import Trace, recovered, relays

GRAPH, CHAIN = "openlit.instrumentation.langgraph", "openlit.instrumentation.langchain"


def test_one_run_told_twice_and_the_parts_of_an_agent_are_one_run() -> None:
    t = Trace(GRAPH)
    root = t.span(
        "invoke_workflow laden", 0, 99, gen_ai__operation__name="invoke_workflow", gen_ai__workflow__name="laden"
    )
    a = t.agent("Verkauf", 1, 20, root, scope=CHAIN)
    t.chat(2, 8, a, "Lampe?", None, [("abgeben", {"grund": "defekt"})], scope=CHAIN)
    gone = "Command(graph='__parent__', update={'messages': []}, goto='Dienst 2')"
    t.tool("abgeben", 9, 10, a, "{'grund': 'defekt', 'stück': 0}", gone, scope=CHAIN)
    t.agent("model", 2, 8, t.agent("Verkauf", 1.2, 19.8, root))
    t.agent("Verkauf", 20.1, 20.2, root, scope=CHAIN)  # the function of the edge behind the node
    b = t.agent("Dienst 2", 21, 60, root, scope=CHAIN)
    t.chat(22, 28, b, "Lampe?", "Auf Garantie.", scope=CHAIN)
    t.agent("Limits.before_agent", 21.5, 22, t.agent("Dienst 2", 21.2, 59, root))

    assert relays(recovered(t)) == ['Verkauf -> Dienst 2 transfer explicit 11 {"grund": "defekt", "stück": 0}']


def test_a_subagent_without_a_span_is_the_tool_that_ran_it() -> None:
    t = Trace(GRAPH)
    for name in ("Leitung", "default"):
        t.span(f"create_agent {name}", 0, 1, attributes=created(name))
    root = t.span(
        "invoke_workflow Leitung", 2, 99, gen_ai__operation__name="invoke_workflow", gen_ai__workflow__name="Leitung"
    )
    given = "{'description': 'Gezeiten?', 'subagent_type': 'Gezeiten 1'}"
    told = "Command(update={'messages': [ToolMessage(content='Mittags.', tool_call_id='c1')]})"
    t.chat(12, 18, t.tool("task", 10, 20, root, given, told, scope=CHAIN), "Gezeiten?", "Mittags.", scope=CHAIN)
    t.agent("model", 12, 18, root)

    result = recovered(t)
    assert relays(result) == [
        'Leitung -> Gezeiten 1 delegate explicit None {"description": "Gezeiten?"}',
        'Gezeiten 1 -> Leitung return explicit None {"message": "Mittags."}',
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["Leitung", "Gezeiten 1"]


def created(name: str) -> dict[str, Any]:
    return {"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": name}
