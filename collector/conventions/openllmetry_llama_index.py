"""LlamaIndex as OpenLLMetry shows it (opentelemetry-instrumentation-llamaindex 0.6x).

An agent has no span, and every step is a `<workflow>.task`: what a step gave on says whose turn it is (`current_agent_name`), and from there on
the steps beside it are that agent's. A step that calls a tool has `tool.name`, and the tool's own task below it. Answers of models have no calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import genai, reading
from collector.conventions import llama_index_reading as llama_index
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, ModelCall, Visit
from collector.otlp.model import Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    if a.get("gen_ai.operation.name") == "chat":
        heard, said = genai.spoken(span)
        yield ModelCall(model=reading.model(a), usage=reading.usage(a), heard=heard, said=said)
        return
    given_on = reading.content(a, "traceloop.entity.output")
    name = reading.text(a, "tool.name")
    if name:
        yield llama_index.tool(name, reading.content(a, "tool.arguments"), _answer(given_on))
    elif given_on is not None and "current_agent_name" in str(given_on.value):
        event = reading.entries(given_on.value)
        turn = event.get("current_agent_name")
        if isinstance(turn, str) and turn and isinstance(event.get("input"), list):
            yield Visit(name=turn, named=True, steps=True)


def _answer(given_on: Content | None) -> Content | None:
    """The tool's output in the step's."""
    output = reading.mapping(given_on.value).get("tool_output") if given_on is not None else None
    return reading.part(given_on, output) if given_on is not None and isinstance(output, dict) else given_on


CONVENTION = Convention(
    name="openllmetry.llama-index",
    content_switch="TRACELOOP_TRACE_CONTENT=true",
    shapes=(
        ("tool.arguments", ""),
        ("traceloop.entity.output", "current_agent_name"),
    ),
    facts=_facts,
    scopes=("opentelemetry.instrumentation.llamaindex",),
    carriers=Carriers(without_call=("output", "input")),
)
