"""BeeAI as OpenInference's instrumentor shows it (openinference-instrumentation-beeai 0.1.x).

Agents are AGENT spans with `agent.name`; an agent's steps and its last answer are AGENT spans without one. What an agent or a tool is given
stands in `{"input": ..., "options": ...}`, beside its settings. A handoff tool is called as its target or as the program likes, and holds the target's own
span; agents of a workflow stand side by side, and each is given the words of those before it and a prompt of the program's.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import openinference_reading as openinference
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, ToolCall, Visit
from collector.otlp.model import STATUS_ERROR, Attributes, Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    if kind == "AGENT":
        name = reading.text(a, "agent.name")
        if name:
            yield Visit(name=name, named=True, input=_given(a), output=reading.content(a, "output.value"))
    elif kind == "LLM":
        yield openinference.model_call(a)
    elif kind == "TOOL":
        yield ToolCall(
            name=reading.text(a, "tool.name") or span.name,
            arguments=_given(a),
            result=reading.content(a, "output.value"),
            plain=True,
            failed=span.status_code == STATUS_ERROR,
        )


def _given(attributes: Attributes) -> Content | None:
    found = reading.content(attributes, "input.value")
    inner = reading.mapping(found.value) if found is not None else {}
    return reading.part(found, inner["input"]) if found is not None and "input" in inner else found


CONVENTION = Convention(
    name="openinference.beeai",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    shapes=(
        ("metadata.class_name", ""),
        ("metadata.path", "agent."),
    ),
    facts=_facts,
    scopes=("openinference.instrumentation.beeai",),
    carriers=Carriers(beside=False, without_call=("output", "input")),
)
