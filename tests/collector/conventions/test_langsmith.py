"""LangChain and LangGraph in LangSmith's OTel export: metadata one attribute a key, inputs and outputs whole."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from collector.otlp.model import Event
from tests.collector.conventions.langgraph_runs import Graph, said
from tests.collector.spans import Trace, recovered, relays


def written(kind: str, name: str, metadata: dict[str, Any], inputs: Any, outputs: Any) -> tuple[str, dict[str, Any]]:
    """As langsmith's exporter writes."""
    a: dict[str, Any] = {"langsmith.span.kind": kind, "langsmith.trace.name": name}
    a |= {f"langsmith.metadata.{k}": json.dumps(v) if isinstance(v, (list, dict)) else v for k, v in metadata.items()}
    if kind == "llm":
        made = {
            "lc": 1,
            "kwargs": outputs[0]["data"],
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
        }
        a["gen_ai.prompt"] = json.dumps({"messages": [inputs]})
        a["gen_ai.completion"] = json.dumps({"generations": [[{"text": "", "message": made}]]})
        return name, a | {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 7,
            "gen_ai.usage.output_tokens": 2,
        }
    if kind == "tool":
        a["gen_ai.tool.name"] = name
        inputs, outputs = ({"input": inputs} if inputs is not None else None), {"output": outputs}
    if inputs is not None:
        a["gen_ai.prompt"] = json.dumps(inputs)
    if outputs is not None:
        a["gen_ai.completion"] = json.dumps(outputs)
    return name, a


def test_marked_tool_and_plain_edge_and_tokens_of_each_turn() -> None:
    t = Trace("langsmith")
    g = Graph(t, written)
    a = g.agent("Büro 1", 11, 39, g.node("Büro 1", 1, 10, 40))
    g.model(12, 20, a, "", ("abgeben", {"akte": 7}))
    g.tool("abgeben", 22, 25, a, "{'akte': 7, 'eilig': None}", destination="Büro 12")
    b = g.node("Büro 12", 2, 50, 80, {"messages": [said("Geprüft.")], "vermerk": {"ok": True}})
    g.model(52, 60, b, "Geprüft.")
    c = g.node("Archiv", 3, 90, 99)
    g.model(91, 95, c, "Abgelegt.")

    result = recovered(t)
    assert relays(result) == [
        'Büro 1 -> Büro 12 transfer explicit 25 {"akte": 7, "eilig": null}',
        'Büro 12 -> Archiv transfer inferred 10 {"ok": true, "message": "Geprüft."}',
    ]
    assert [(turn["agent_id"], turn["text"], turn["tokens"]) for turn in result.document["turns"]] == [
        ("Büro 1", "", 9),
        ("Büro 12", "Geprüft.", 9),
        ("Archiv", "Abgelegt.", 9),
    ]


def test_tool_named_for_an_agent_but_not_marked_is_plain() -> None:
    t = Trace("langsmith")
    g = Graph(t, written)
    a = g.agent("solo", 11, 89, g.node("solo", 1, 10, 90))
    g.model(12, 20, a, "", ("transfer_to_solo", {"n": 1}))
    g.tool("transfer_to_solo", 22, 25, a, "{'n': 1}")
    g.model(30, 40, a, "Done.")

    assert relays(recovered(t)) == []


def test_a_command_stands_in_an_output() -> None:
    t = Trace("langsmith")
    g = Graph(t, written)
    command = {"graph": None, "update": {"messages": [said("Kommt.")], "vermerk": {"tiefe": 0}}, "resume": None}
    a = g.node("Lotse", 1, 10, 40, {"output": {**command, "goto": "Zoll"}})
    g.model(12, 20, a, "Kommt.")
    b = g.node("Zoll", 2, 50, 80, {"output": "ok"})
    g.model(52, 60, b, "Geprüft.")
    g.model(91, 95, g.node("Archiv", 3, 90, 99), "Danke.")

    assert relays(recovered(t)) == [
        'Lotse -> Zoll transfer explicit 10 {"tiefe": 0, "message": "Kommt."}',
        'Zoll -> Archiv transfer inferred 10 {"output": "ok"}',
    ]


def test_a_node_that_ends_with_a_command_for_the_graph_above_tells_it_in_its_exception() -> None:
    g = Graph(Trace("langsmith"), written)
    t = g.t
    out = g.node("Vermessung", 1, 10, 40)
    g.model(12, 20, g.node("Geometer", 1, 11, 39, parent=out, events=left("__parent__")), "Fels trägt.")
    t.spans[-3] = msgspec.structs.replace(t.spans[-3], events=left("Vermessung:12ab"))
    g.model(52, 60, g.node("Bau", 2, 50, 80), "Steht.")

    assert relays(recovered(t)) == ['Geometer -> Bau transfer explicit 11 {"fels": "Granit", "message": "Fels trägt."}']


def left(graph: str) -> tuple[Event, ...]:
    """The exception by which a Command leaves its graph; the graphs between name themselves in it."""
    update = "{'messages': [AIMessage(content='Fels trägt.', id='m1')], 'fels': 'Granit'}"
    text = f"Command(graph='{graph}', update={update}, goto='Bau')"
    told = f"ParentCommand({text})Traceback (most recent call last):\n\n  ..."
    return (Event("exception", 0, {"exception.type": "Exception", "exception.message": told}),)
