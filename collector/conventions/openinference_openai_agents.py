"""openai-agents as OpenInference's instrumentor shows it (openinference-instrumentation-openai-agents 2.x).

Agents are AGENT spans with `agent.name` (the root is AGENT without one, and is the workflow). A handoff is a TOOL span `handoff to X`
whose input is the source's and whose output is the target's name; its arguments stand only in the model's answer before it. Every other
TOOL span is a function of the program, or an agent called like one.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import openinference_reading as openinference
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, ToolCall, Transfer, Visit
from collector.otlp.model import STATUS_ERROR, Span

_HANDOFF = "handoff to "


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    if kind == "AGENT":
        name = reading.text(a, "agent.name", "graph.node.id")
        if name:
            yield Visit(
                name=name,
                input=reading.content(a, "input.value"),
                output=reading.content(a, "output.value"),
                named=True,
                by_tool=True,
            )
    elif kind == "LLM":
        yield openinference.model_call(a)
    elif kind == "TOOL":
        if span.name.startswith(_HANDOFF) and "tool.name" not in a:
            target = reading.text(a, "output.value") or span.name.removeprefix(_HANDOFF)
            yield Transfer(source=reading.text(a, "input.value"), target=target)
        else:
            yield ToolCall(
                name=reading.text(a, "tool.name") or span.name,
                arguments=reading.content(a, "input.value"),
                result=reading.content(a, "output.value"),
                failed=span.status_code == STATUS_ERROR,
                plain=True,
            )


CONVENTION = Convention(
    name="openinference.openai-agents",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    facts=_facts,
    scopes=("openinference.instrumentation.openai_agents",),
    carriers=Carriers(without_call=("output", "told")),
)
