"""Langfuse's SDK: LangGraph by the callback handler, Commands in status messages, functions observed by hand, content off."""

from __future__ import annotations

import json
from typing import Any

from collector.conventions import extract
from collector.otlp.model import Batch, Span
from collector.sessions.keys import claims
from tests.collector.conventions.langgraph_runs import Graph, said
from tests.collector.spans import Trace, recovered, relays

KEY = "langfuse.observation."


def written(kind: str, name: str, metadata: dict[str, Any], inputs: Any, outputs: Any) -> tuple[str, dict[str, Any]]:
    """As the callback handler writes: a run is a chain, an agent's sometimes an agent; everything is JSON."""
    a: dict[str, Any] = {KEY + "type": {"llm": "generation", "tool": "tool"}.get(kind, "chain")}
    a |= {f"{KEY}metadata.{k}": json.dumps(v) for k, v in metadata.items()}
    if kind == "llm":
        outputs = {"role": "assistant", "content": outputs[0]["data"]["content"]}
        inputs = [{"role": "user", "content": "go"}]
        a[KEY + "usage_details"] = json.dumps({"input": 7, "output": 2, "total": 9})
    for key, value in (("input", inputs), ("output", outputs)):
        if value is not None:
            a[KEY + key] = json.dumps(value)
    return name, a


def test_nodes_pass_on_what_they_wrote_and_a_command_for_the_graph_above_is_a_status_message() -> None:
    g = Graph(Trace("langfuse-sdk"), written)
    a = g.node("Plan", 1, 10, 20, {"messages": [said("Erst messen.")], "ort": "Fels"})
    g.model(12, 18, a, "Erst messen.")
    b = g.node("Messung", 2, 30, 50)
    g.model(32, 40, b, "Trägt.")
    b.attributes[KEY + "status_message"] = (  # type: ignore[index]
        "Command(graph='__parent__', update={'messages': [], 'tiefe_m': 0}, goto='Bau')"
    )
    g.model(62, 70, g.node("Bau", 3, 60, 80), "Steht.")

    result = recovered(g.t)
    assert relays(result) == [
        'Plan -> Messung transfer inferred 10 {"ort": "Fels", "message": "Erst messen."}',
        'Messung -> Bau transfer explicit 10 {"tiefe_m": 0}',
    ]
    assert [(turn["agent_id"], turn["tokens"]) for turn in result.document["turns"]] == [
        ("Plan", 9),
        ("Messung", 9),
        ("Bau", 9),
    ]


def test_an_agent_in_a_tool_answers_by_the_message_that_the_tool_adds_and_a_thread_is_the_session() -> None:
    g = Graph(Trace("langfuse-sdk"), written)
    a = g.agent("Wärter", 1, 90, g.root)
    g.model(2, 8, a, "", ("fragen", {"boot": "Tern"}))
    answer = {"type": "tool", "content": "Mittags.", "name": "fragen", "tool_call_id": "c1", "status": "success"}
    tool = g.inside("tool", "fragen", 10, 40, a, {"boot": "Tern"}, answer)
    g.model(13, 30, g.agent("Lotse", 12, 39, tool), "Mittags.")

    assert relays(recovered(g.t)) == [
        'Wärter -> Lotse delegate structural 2 {"boot": "Tern"}',
        'Lotse -> Wärter return structural 1 {"message": "Mittags."}',
    ]
    keys = extract(Batch(tuple(g.t.spans))).spans[0].session_keys
    assert [c.key.value for c in claims(keys, root=True, start_ns=0, span_id="")] == ["s"]


def observed(
    t: Trace, kind: str, name: str, start: float, end: float, parent: Span | None, given: Any, answer: Any
) -> Span:
    a = {KEY + "type": kind}
    if given is not None:
        a |= {KEY + "input": json.dumps(given), KEY + "output": answer}
    return t.span(name, start, end, parent, attributes=a)


def test_functions_observed_by_hand_are_agents_and_tools_by_their_type() -> None:
    t = Trace("langfuse-sdk")
    root = observed(t, "span", "nacht", 0, 99, None, {"args": [], "kwargs": {}}, "")
    a = observed(t, "agent", "Wärter", 1, 40, root, {"args": ["Leuchte."], "kwargs": {}}, "Lampe brennt seit acht.")
    named = {"args": [], "kwargs": {"boot": "Tern", "tonnen": 0}}
    tool = observed(t, "tool", "fragen", 3, 20, a, named, "Mittags.")
    observed(t, "agent", "Lotse", 4, 19, tool, {"args": ["Wann?"], "kwargs": {}}, "Mittags.")
    observed(t, "generation", "modell", 25, 30, a, {"args": ["?"], "kwargs": {}}, "Lampe brennt seit acht.")
    observed(t, "agent", "Schreiber", 45, 60, root, {"args": ["Lampe brennt seit acht."], "kwargs": {}}, "Notiert.")

    assert relays(recovered(t)) == [
        'Wärter -> Lotse delegate structural 1 {"boot": "Tern", "tonnen": 0}',
        'Lotse -> Wärter return structural 1 {"message": "Mittags."}',
        'Wärter -> Schreiber transfer inferred 5 {"message": "Lampe brennt seit acht."}',
    ]


def test_content_that_a_mask_keeps_back_is_not_recorded() -> None:
    t = Trace("langfuse-sdk")
    root = observed(t, "span", "nacht", 0, 99, None, None, None)
    observed(t, "agent", "Wärter", 1, 40, root, None, None)
    observed(t, "agent", "Schreiber", 45, 60, root, None, None)

    assert relays(recovered(t)) == ["Wärter -> Schreiber transfer inferred 5 unrecorded"]
