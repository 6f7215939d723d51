"""Langfuse's SDK: LangChain and LangGraph through its callback handler, and what programs observe by hand (langfuse 3 to 5).

What an observation is stands in `langfuse.observation.type`, its content in `.input` and `.output`, a run's metadata one attribute a key, each
as JSON. Of LangGraph nearly all is a `chain`; agents are known by its metadata (see `langgraph_reading`), by hand by their type. An exception
is a status message.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import langgraph_reading as langgraph
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Message, ModelCall, ToolCall, Visit
from collector.otlp.model import Span

_KEY = "langfuse.observation."
_METADATA = _KEY + "metadata."
_TOKENS = (("input", "prompt_tokens"), ("output", "completion_tokens"))


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = reading.text(a, _KEY + "type")
    metadata = {k.removeprefix(_METADATA): reading.loads(v) for k, v in a.items() if k.startswith(_METADATA)}
    at = langgraph.place(metadata)
    inputs, outputs = _given(reading.content(a, _KEY + "input")), reading.content(a, _KEY + "output")
    failed = a.get(_KEY + "level") == "ERROR"
    by_langchain = "ls_integration" in metadata or bool(at.node)
    if kind == "generation":
        if at.node != "__start__":
            yield ModelCall(
                model=reading.text(a, _KEY + "model.name"),
                agent=at.agent,
                usage=reading.usage(reading.mapping(a.get(_KEY + "usage_details")), *_TOKENS),
                heard=_messages(inputs, "user"),
                said=_messages(outputs, "assistant"),
            )
    elif kind == "tool" and by_langchain:
        yield langgraph.tool_fact(span.name, at, inputs, outputs, failed=failed, told=a.get(_KEY + "status_message"))
    elif kind == "tool":
        yield ToolCall(name=span.name, arguments=inputs, result=outputs, failed=failed)
    elif by_langchain:
        left = langgraph.left_by(a.get(_KEY + "status_message"))
        yield from langgraph.run_facts(span.name, at, inputs, left or outputs)
    elif kind == "agent":
        yield Visit(name=span.name, input=inputs, output=outputs)


def _given(found: Content | None) -> Content | None:
    """What a function that is observed was given, out of the object that its arguments stand in: those with names, or the only one without."""
    told = reading.mapping(found.value) if found is not None else {}
    if found is None or set(told) != {"args", "kwargs"} or not isinstance(told["args"], list):
        return found
    if not told["args"]:
        return reading.part(found, told["kwargs"])
    return reading.part(found, told["args"][0]) if len(told["args"]) == 1 and not told["kwargs"] else found


def _messages(found: Content | None, role: str) -> tuple[Message, ...] | None:
    """The messages of a model's call, or the text that stands for them."""
    if found is None:
        return None
    read = reading.messages(found.value)
    return read if read is not None or not isinstance(found.value, str) else (Message(role, found.value),)


CONVENTION = Convention(
    name="langfuse",
    content_switch="Langfuse() without a mask",
    shapes=((_KEY + "type", ""),),
    facts=_facts,
    scopes=("langfuse-sdk",),
    carriers=Carriers(without_call=("envelope", "state", "output", "input"), with_call=("envelope", "state")),
)
