"""MLflow's tracing: LangGraph and openai-agents by autologging, runner's calls and roots that look like agents, by hand, content that is null."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Event, Span
from tests.collector.conventions.langgraph_runs import Graph, said
from tests.collector.spans import Trace, recovered, relays

SCOPE = "mlflow.tracing.provider"


def attributes(kind: str, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    """As MLflow writes: every value is JSON."""
    told = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs, **more}
    return {k: json.dumps(v) for k, v in told.items()}


def written(kind: str, name: str, metadata: dict[str, Any], inputs: Any, outputs: Any) -> tuple[str, dict[str, Any]]:
    if kind == "llm":
        outputs = {"generations": [[{"message": {"type": "ai", "kwargs": outputs[0]["data"]}}]]}
    kind = {"llm": "CHAT_MODEL", "tool": "TOOL"}.get(kind, "CHAIN")
    return name, attributes(kind, inputs, outputs, metadata=metadata)


def test_nodes_of_a_graph_and_a_command_in_an_exception() -> None:
    g = Graph(Trace(SCOPE), written)
    a = g.node("Plan", 1, 10, 20, {"messages": [said("Erst messen.")], "ort": "Fels"})
    g.model(12, 18, a, "Erst messen.")
    command = "Command(graph='__parent__', update={'messages': [], 'tiefe_m': 0}, goto='Bau')"
    left = (Event("exception", 0, {"exception.type": "ParentCommand", "exception.message": command}),)
    g.model(32, 40, g.node("Messung", 2, 30, 50, events=left), "Trägt.")
    g.model(62, 70, g.node("Bau", 3, 60, 80), "Steht.")

    assert relays(recovered(g.t)) == [
        'Plan -> Messung transfer inferred 10 {"ort": "Fels", "message": "Erst messen."}',
        'Messung -> Bau transfer explicit 10 {"tiefe_m": 0}',
    ]


def span(
    t: Trace, kind: str, name: str, start: float, end: float, parent: Span | None, *told: Any, **more: Any
) -> Span:
    inputs, outputs = told or (None, None)
    return t.span(name, start, end, parent, attributes=attributes(kind, inputs, outputs, **more))


def agent(t: Trace, name: str, start: float, end: float, parent: Span | None, *peers: str) -> Span:
    return span(t, "AGENT", name, start, end, parent, None, {"output_type": "str"}, handoffs=list(peers), tools=[])


def test_agents_are_told_from_the_root_and_the_runners_calls_and_a_handoff_from_its_two_ends() -> None:
    t = Trace(SCOPE)
    root = span(t, "AGENT", "Ablauf", 0, 99, None, "", "")
    span(t, "AGENT", "AgentRunner.run", 0, 99, root, "Hilfe", "Fertig.", **{"mlflow.openai.agent_run_root": True})
    a = agent(t, "Empfang", 1, 20, root, "Labor")
    call = {"id": "c1", "function": {"name": "transfer_to_labor", "arguments": '{"probe": 0}'}}
    answer = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    used = {"mlflow.chat.tokenUsage": {"input_tokens": 7, "output_tokens": 2}, "mlflow.llm.model": "m"}
    span(t, "CHAT_MODEL", "Generation", 2, 8, a, [{"role": "user", "content": "Hilfe"}], answer, **used)
    span(t, "CHAIN", "Handoff", 10, 11, a, {"from_agent": "Empfang"}, {"to_agent": "Labor"})
    b = agent(t, "Labor", 22, 60, root)
    agent(t, "Waage", 25, 40, span(t, "TOOL", "wiegen", 24, 41, b, {"input": "Wie schwer?"}, "2 g"))

    result = recovered(t)
    assert relays(result) == [
        'Empfang -> Labor transfer explicit 11 {"probe": 0}',
        'Labor -> Waage delegate structural 1 {"message": "Wie schwer?"}',
        'Waage -> Labor return structural 1 {"message": "2 g"}',
    ]
    assert [turn["tokens"] for turn in result.document["turns"]] == [9, None, None]


def test_functions_by_hand_are_agents_by_their_type_and_null_is_no_content() -> None:
    t = Trace(SCOPE)
    root = span(t, "CHAIN", "nacht", 0, 99, None)
    span(t, "AGENT", "Wärter", 1, 20, root)
    span(t, "AGENT", "Schreiber", 25, 40, root)

    assert relays(recovered(t)) == ["Wärter -> Schreiber transfer inferred 5 unrecorded"]
