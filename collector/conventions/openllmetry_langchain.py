"""LangChain and LangGraph as OpenLLMetry shows them (opentelemetry-instrumentation-langchain 0.4x to 0.6x).

A run's metadata stands in `traceloop.association.properties.*`. Nodes are `execute_task` spans (older releases: `<node>.task`), `invoke_agent
<name>` is a leaf beside the node that does the work, `<graph>.workflow` and the `invoke_agent` above it are the graph. A `Command(goto)` is a
`goto` span, told twice, whose source node is the innermost one. Arguments are wrapped: `{"inputs": ..., "input_str": ..., "metadata": ...}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collector.conventions import genai, reading
from collector.conventions import langgraph_reading as langgraph
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Known, ModelCall, Transfer, Visit
from collector.otlp.model import STATUS_ERROR, Attributes, Span

_PROPERTY = "traceloop.association.properties."
_TASKS = frozenset({"execute_task", "task", "workflow", "agent", "invoke_workflow"})


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = reading.text(a, "gen_ai.operation.name", "traceloop.span.kind") or (
        "chat" if "llm.request.type" in a else ""
    )
    at = langgraph.place({k.removeprefix(_PROPERTY): v for k, v in a.items() if k.startswith(_PROPERTY)})
    if kind == "goto":
        wanted = [
            reading.text(a, "langgraph.command.goto_node"),
            *reading.strings(a.get("langgraph.command.goto_nodes")),
        ]
        for target in dict.fromkeys(wanted):
            if target and not target.startswith("__"):
                yield Transfer(target=target, mode="", weak=True)
    elif kind == "create_agent":
        name = genai.agent_name(span)
        yield Known((name,) if name else ())
    elif kind in ("chat", "completion", "text_completion"):
        if at.node != "__start__":
            heard, said = genai.spoken(span)
            yield ModelCall(reading.model(a), at.agent, reading.usage(a), heard, said)
    elif kind in ("execute_tool", "tool"):
        name = reading.text(a, "gen_ai.tool.name", "traceloop.entity.name") or span.name.removesuffix(".tool")
        failed = span.status_code == STATUS_ERROR and not langgraph.is_control_flow(span.events)
        arguments = _inner(a, "gen_ai.tool.call.arguments", "traceloop.entity.input", inside=("inputs", "input_str"))
        result = _inner(a, "gen_ai.tool.call.result", "traceloop.entity.output", inside=("output", "outputs"))
        yield langgraph.tool_fact(
            name, at, arguments, result, call_id=reading.text(a, "gen_ai.tool.call.id"), failed=failed, told=span.events
        )
    elif kind == "invoke_agent" and "traceloop.span.kind" not in a:
        yield Visit(name=genai.agent_name(span), layer="agent", soft=True, wraps=True)
    elif kind in _TASKS or kind == "invoke_agent":
        name = reading.text(a, "gen_ai.task.name", "traceloop.entity.name") or span.name.rpartition(".")[0]
        inputs = _inner(a, "gen_ai.task.input", "traceloop.entity.input", inside=("inputs",))
        outputs = _inner(a, "gen_ai.task.output", "traceloop.entity.output", inside=("outputs",))
        yield from langgraph.run_facts(name, at, inputs, langgraph.written(outputs, span.events), layer="task")


def _inner(attributes: Attributes, *keys: str, inside: tuple[str, ...]) -> Content | None:
    """The payload that the instrumentation wraps in an object of its own."""
    found = reading.content(attributes, *keys)
    if found is None:
        return None
    wrapper: Any = reading.loads(found.value)
    if isinstance(wrapper, dict) and wrapper.keys() & set(inside):
        value = next((wrapper[k] for k in inside if wrapper.get(k) is not None), None)
        return reading.part(found, value)
    return found


CONVENTION = Convention(
    name="openllmetry.langchain",
    content_switch="TRACELOOP_TRACE_CONTENT=true",
    shapes=(
        ("traceloop.association.properties.langgraph_node", ""),
        ("traceloop.association.properties.ls_integration", ""),
        ("traceloop.association.properties.ls_provider", ""),
        ("traceloop.association.properties.lc_agent_name", ""),
        ("langgraph.command.goto_node", ""),
        ("gen_ai.provider.name", "langgraph"),
        ("langgraph.command.goto_nodes", ""),
    ),
    facts=_facts,
    scopes=("opentelemetry.instrumentation.langchain",),
    carriers=Carriers(without_call=("envelope", "state"), with_call=("envelope", "state")),
)
