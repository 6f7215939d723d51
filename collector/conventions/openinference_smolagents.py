"""smolagents as OpenInference's instrumentor shows it (openinference-instrumentation-smolagents 0.1.x).

An agent's run is an AGENT span `<name>.run` (its class where the program gave no name). A managed agent's run stands in a step of its
manager's, with no tool span between: what it was given is its own input, the task inside a template and `additional_args`. Answers of
models are code or tool calls; the answer of a run is its output.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collector.conventions import openinference_reading as openinference
from collector.conventions import reading
from collector.conventions import smolagents_reading as smolagents
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, ModelCall, ToolCall, Visit
from collector.otlp.model import STATUS_ERROR, Attributes, Span

_CLASSES = ("CodeAgent", "ToolCallingAgent")


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    if kind == "AGENT":
        managed = reading.indexed(a, "smolagents.managed_agents")
        name = reading.text(a, "agent.name") or span.name.removesuffix(".run")
        if name in _CLASSES:  # older releases name the span by the class alone
            name = smolagents.name(str(reading.mapping(a.get("input.value")).get("task"))) or name
        yield Visit(
            name=name,
            named=name not in _CLASSES,
            input=_given(a),
            output=reading.content(a, "output.value"),
            usage=reading.usage(a),
            peers=tuple(str(row["name"]) for row in managed.values() if row.get("name")),
        )
    elif kind == "LLM":
        yield ModelCall(
            model=reading.model(a), usage=reading.usage(a), heard=openinference.flattened(a, "llm.input_messages")
        )
    elif kind == "TOOL":
        yield ToolCall(
            name=reading.text(a, "tool.name") or span.name,
            arguments=_arguments(reading.content(a, "input.value")),
            result=reading.content(a, "output.value"),
            plain=True,  # a managed agent has no tool span
            failed=span.status_code == STATUS_ERROR,
        )


def _given(attributes: Attributes) -> Content | None:
    """The task without the manager's template, and the additional arguments beside it."""
    found = reading.content(attributes, "input.value")
    given = reading.mapping(found.value) if found is not None else {}
    if found is None or not isinstance(given.get("task"), str):
        return found
    out: dict[str, Any] = {"task": smolagents.task(given["task"])}
    more = given.get("additional_args") or reading.loads(attributes.get("smolagents.additional_args"))
    for key, value in reading.mapping(more).items():
        out.setdefault(key, value)
    return reading.part(found, out)


def _arguments(found: Content | None) -> Content | None:
    """A tool's arguments: `kwargs` beside the positional `args` of the wrapped call."""
    call = reading.mapping(found.value) if found is not None else {}
    return reading.part(found, call["kwargs"]) if found is not None and call.get("kwargs") else found


CONVENTION = Convention(
    name="openinference.smolagents",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    shapes=(("smolagents.max_steps", ""),),
    facts=_facts,
    scopes=("openinference.instrumentation.smolagents",),
    carriers=Carriers(beside=False, without_call=("output", "input")),
)
