"""LangChain and LangGraph under OpenLLMetry: `goto` told twice, wrapped arguments, leaf agents, older flattened keys, content off."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import STATUS_ERROR, Event, Span
from tests.collector.conventions.langgraph_runs import Graph, said
from tests.collector.spans import Trace, recovered, relays

SCOPE = "opentelemetry.instrumentation.langchain"
PROPERTY = "traceloop.association.properties."
PARENT_COMMAND = (Event("exception", 0, {"exception.type": "ParentCommand"}),)


def _properties(metadata: dict[str, Any]) -> dict[str, Any]:
    return {PROPERTY + k: v for k, v in metadata.items()}


def current(kind: str, name: str, metadata: dict[str, Any], inputs: Any, outputs: Any) -> tuple[str, dict[str, Any]]:
    """As releases of 2026 write."""
    a = _properties(metadata)
    if kind == "llm":
        parts: list[dict[str, Any]] = [{"type": "text", "content": m["data"]["content"]} for m in outputs]
        parts += [{"type": "tool_call", "id": c["id"], "name": c["name"], "arguments": c["args"]}
                  for m in outputs for c in m["data"]["tool_calls"]]  # fmt: skip
        a |= {
            "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}]),
        }
        return f"{name}.chat", a
    if kind == "tool":
        a |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "traceloop.span.kind": "tool"}
        if inputs is not None:
            wrapped = {"input_str": repr(inputs), "tags": [], "metadata": metadata, "inputs": inputs, "kwargs": {}}
            a["gen_ai.tool.call.arguments"] = a["traceloop.entity.input"] = json.dumps(wrapped)
        if outputs is not None:
            a["gen_ai.tool.call.result"] = json.dumps({"output": outputs, "kwargs": {}})
        return f"execute_tool {name}", a
    a |= {"gen_ai.operation.name": "execute_task", "gen_ai.task.name": name, "traceloop.span.kind": "task"}
    if inputs is not None:
        a["gen_ai.task.input"] = json.dumps({"inputs": inputs, "metadata": metadata})
    if outputs is not None:
        a["gen_ai.task.output"] = json.dumps({"outputs": outputs, "kwargs": {}})
    if "langgraph_node" not in metadata:
        a |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "traceloop.span.kind": "workflow"}
        return f"{name}.workflow", a
    return f"execute_task {name}", a


def older(kind: str, name: str, metadata: dict[str, Any], inputs: Any, outputs: Any) -> tuple[str, dict[str, Any]]:
    """As releases before the GenAI names write: kinds of Traceloop's, flattened messages."""
    a = _properties(metadata) | {"traceloop.entity.name": name}
    if kind == "llm":
        a |= {"llm.request.type": "chat", "gen_ai.completion.0.role": "assistant"}
        for message in outputs:
            a["gen_ai.completion.0.content"] = message["data"]["content"]
            for j, call in enumerate(message["data"]["tool_calls"]):
                a[f"gen_ai.completion.0.tool_calls.{j}.name"] = call["name"]
                a[f"gen_ai.completion.0.tool_calls.{j}.arguments"] = json.dumps(call["args"])
        return f"{name}.chat", a
    a["traceloop.span.kind"] = "tool" if kind == "tool" else "task" if "langgraph_node" in metadata else "workflow"
    if inputs is not None:
        a["traceloop.entity.input"] = json.dumps(
            {"input_str": repr(inputs), "inputs": None} if kind == "tool" else {"inputs": inputs}
        )
    if outputs is not None:
        a["traceloop.entity.output"] = json.dumps({"output" if kind == "tool" else "outputs": outputs})
    return f"{name}.{a['traceloop.span.kind']}", a


def goto(t: Trace, at: float, parent: Span, target: str) -> None:
    t.span(f"goto {target}", at, at, parent, attributes={
        "gen_ai.operation.name": "goto", "langgraph.command.source_node": "tools", "langgraph.command.goto_node": target,
    })  # fmt: skip


def leaf(t: Trace, name: str, start: float, end: float, parent: Span) -> None:
    t.span(f"invoke_agent {name}", start, end, parent, gen_ai__operation__name="invoke_agent", gen_ai__agent__name=name)


def test_goto_told_in_the_tool_and_as_it_is_raised_is_one_handoff_with_the_tool_s_arguments() -> None:
    t = Trace(SCOPE)
    g = Graph(t, current, "desk_graph")
    a = g.node("Zöllner 1", 1, 10, 60, status=STATUS_ERROR, events=PARENT_COMMAND)
    leaf(t, "Zöllner 1", 11, 58, a)
    inner = g.inside("chain", "Zöllner 1", 12, 57, a)
    g.model(13, 18, inner, "", ("weiter", {"mrn": "26", "frei": False}))
    tool = g.tool("weiter", 20, 30, inner, {"mrn": "26", "frei": False}, destination="Zöllner 10")
    goto(t, 25, tool, "Zöllner 10")
    goto(t, 40, inner, "Zöllner 10")
    b = g.node("Zöllner 10", 2, 70, 90, {"messages": [said("Gut.")]})
    g.model(72, 75, b, "Gut.")

    assert relays(recovered(t)) == ['Zöllner 1 -> Zöllner 10 transfer explicit 45 {"mrn": "26", "frei": false}']


def test_refused_request_keeps_its_own_arguments_though_the_next_one_goes_to_the_same_agent() -> None:
    t = Trace(SCOPE)
    g = Graph(t, current)
    a = g.node("one", 1, 10, 60)
    g.model(11, 12, a, "")
    g.tool("to_two", 20, 22, a, {"n": 1}, "Refused.", destination="two")
    tool = g.tool("to_two", 30, 35, a, {"n": 2}, destination="two")
    goto(t, 32, tool, "two")
    goto(t, 40, a, "two")
    b = g.node("two", 2, 70, 90)
    g.model(72, 75, b, "ok")

    assert relays(recovered(t)) == [
        'one -> two transfer explicit None {"n": 1} dropped',
        'one -> two transfer explicit 38 {"n": 2}',
    ]


def test_plain_routing_by_command_to_a_step_that_is_no_agent_hands_nothing_over() -> None:
    t = Trace(SCOPE)
    g = Graph(t, current)
    a = g.node("writer", 1, 10, 30, {"graph": None, "update": {"text": "t"}, "goto": "format"})
    g.model(12, 14, a, "t")
    goto(t, 29, a, "format")
    g.node("format", 2, 40, 45, {"text": "T"})
    goto(t, 29, a, "__end__")

    assert relays(recovered(t)) == []


def test_supervisor_s_workers_return_and_the_graph_is_no_agent() -> None:
    t = Trace(SCOPE)
    built = Trace(SCOPE, 2)
    for name in ("boss", "worker"):
        built.span(f"create_agent {name}", 0, 1, gen_ai__operation__name="create_agent", gen_ai__agent__name=name)
    outer = t.span("invoke_agent G", 0, 950, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="G")
    g = Graph(t, current, "G")
    t.spans[-1] = g.root = type(g.root)(
        **{f: getattr(g.root, f) for f in g.root.__struct_fields__} | {"parent_span_id": outer.span_id}
    )
    a = g.node("boss", 1, 10, 40)
    g.model(12, 14, a, "", ("transfer_to_worker", {}))
    goto(t, 21, g.tool("transfer_to_worker", 20, 22, a, {}, destination="worker"), "worker")
    b = g.node("worker", 2, 50, 80, {"messages": [said("Three.")]})
    leaf(t, "worker", 51, 79, b)
    g.model(55, 60, b, "Three.")
    c = g.node("boss", 3, 90, 99)
    g.model(91, 95, c, "Done.")

    result = recovered(built, t)
    assert relays(result) == [
        "boss -> worker delegate explicit 30 {}",
        'worker -> boss return inferred None {"message": "Three."}',
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["boss", "worker"]


def test_older_release_with_flattened_messages_and_arguments_as_a_python_text() -> None:
    t = Trace(SCOPE)
    g = Graph(t, older)
    a = g.node("left", 1, 10, 40)
    g.model(12, 18, a, "", ("over", {"k": None, "l": []}))
    g.tool("over", 20, 22, a, {"k": None, "l": []}, destination="right")
    b = g.node("right", 2, 50, 80, {"result": "r"})
    g.model(52, 60, b, "r")
    c = g.node("last", 3, 90, 99)
    g.model(92, 95, c, "ok")

    assert relays(recovered(t)) == [
        'left -> right transfer explicit 28 {"k": null, "l": []}',
        'right -> last transfer inferred 10 {"result": "r"}',
    ]


def test_content_off_leaves_edges_and_says_that_nothing_was_recorded() -> None:
    t = Trace(SCOPE)
    g = Graph(t, current)
    a = g.node("left", 1, 10, 40)
    chat = g.model(12, 18, a, "")
    t.spans[t.spans.index(chat)] = type(chat)(
        **{f: getattr(chat, f) for f in chat.__struct_fields__} | {"attributes": {"gen_ai.operation.name": "chat"}}
    )
    g.tool("over", 20, 22, a, destination="right")
    b = g.node("right", 2, 50, 80)
    g.model(52, 60, b, "r")

    assert relays(recovered(t)) == ["left -> right transfer explicit 28 unrecorded"]
