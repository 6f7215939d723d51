"""LangChain and LangGraph as OpenInference's instrumentor shows them (openinference-instrumentation-langchain 0.1.x).

One span a run, named as the run; the kind AGENT means only that the name holds "agent". Agents are known by the run's `metadata` (see
`langgraph_reading`), outside of graphs by that kind. A tool's `input.value` is absent where it takes injected arguments alone, and the
bare value where it takes one; the model's answer has the names.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import langgraph_reading as langgraph
from collector.conventions import openinference_reading as openinference
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, Visit
from collector.otlp.model import STATUS_ERROR, Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    at = langgraph.place(reading.entries(a.get("metadata")))
    inputs, outputs = reading.content(a, "input.value"), reading.content(a, "output.value")
    if kind == "LLM":
        if at.node != "__start__":  # a model that a graph asks where to start: a router
            yield openinference.model_call(a, at.agent)
    elif kind == "TOOL":
        name = reading.text(a, "tool.name") or span.name
        failed = span.status_code == STATUS_ERROR and not langgraph.is_control_flow(span.events)
        yield langgraph.tool_fact(name, at, inputs, outputs, failed=failed, told=span.events)
    elif kind == "AGENT" and not at.node and not at.graph:
        yield Visit(name=at.agent or span.name, input=inputs, output=outputs, soft=True, wraps=True)
    elif kind in ("CHAIN", "AGENT"):
        yield from langgraph.run_facts(span.name, at, inputs, langgraph.written(outputs, span.events))


CONVENTION = Convention(
    name="openinference.langchain",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    shapes=(
        ("metadata", '"langgraph_'),
        ("metadata", '"ls_'),
    ),
    facts=_facts,
    scopes=("openinference.instrumentation.langchain",),
    carriers=Carriers(without_call=("envelope", "state"), with_call=("envelope", "state")),
)
