"""LangChain and LangGraph as LangSmith's OTel export shows them (langsmith 0.4 and later).

One span a run, named as the run, with its kind in `langsmith.span.kind` and its metadata one attribute a key (`langsmith.metadata.*`); inputs and
outputs are whole, in `gen_ai.prompt` and `gen_ai.completion`. There are no agent spans: agents are known by LangGraph's metadata.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import langgraph_reading as langgraph
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Message, ModelCall
from collector.otlp.model import STATUS_ERROR, Span

_METADATA = "langsmith.metadata."


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = reading.text(a, "langsmith.span.kind")
    at = langgraph.place({k.removeprefix(_METADATA): reading.loads(v) for k, v in a.items() if k.startswith(_METADATA)})
    name = reading.text(a, "langsmith.trace.name") or span.name
    inputs, outputs = reading.content(a, "gen_ai.prompt"), reading.content(a, "gen_ai.completion")
    if kind == "llm":
        if at.node != "__start__":
            yield ModelCall(
                model=reading.model(a),
                agent=at.agent,
                usage=reading.usage(a),
                heard=reading.messages(inputs.value) if inputs is not None else None,
                said=_said(outputs),
            )
    elif kind == "tool":
        name = reading.text(a, "gen_ai.tool.name") or name
        failed = span.status_code == STATUS_ERROR and not langgraph.is_control_flow(span.events)
        yield langgraph.tool_fact(
            name, at, _inner(inputs, "input"), _inner(outputs, "output"), failed=failed, told=span.events
        )
    elif kind:
        command = _inner(outputs, "output")
        outputs = command if langgraph.gotos(command) else outputs
        yield from langgraph.run_facts(name, at, inputs, langgraph.written(outputs, span.events))


def _said(outputs: Content | None) -> tuple[Message, ...] | None:
    if outputs is None:
        return None
    return langgraph.generated(outputs.value) or reading.messages(outputs.value)


def _inner(found: Content | None, key: str) -> Content | None:
    """A tool's arguments or answer, a node's Command: LangSmith wraps what is no object in one with a single key."""
    if found is None:
        return None
    wrapped = reading.mapping(found.value)
    return reading.part(found, wrapped[key]) if list(wrapped) == [key] else found


def _marks(span: Span) -> bool:
    return "langsmith.span.kind" in span.attributes


CONVENTION = Convention(
    name="langsmith",
    content_switch="unset LANGSMITH_HIDE_INPUTS, LANGSMITH_HIDE_OUTPUTS",
    facts=_facts,
    scopes=("langsmith",),
    marks=_marks,
    carriers=Carriers(without_call=("envelope", "state"), with_call=("envelope", "state")),
)
