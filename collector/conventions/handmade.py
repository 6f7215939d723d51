"""Spans of no known producer: the GenAI convention in every generation of names, and the marks of every other vocabulary.

The fallback: programs that write agent spans by hand mix vocabularies, and frameworks of tomorrow take up today's marks. A mark counts here
whoever set it, as none of them is written by chance; where a producer means something else by one, its own mapper says so.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import genai, reading
from collector.conventions.base import Convention
from collector.conventions.langgraph_reading import is_control_flow
from collector.facts import Content, Fact, ToolCall, Transfer, Visit
from collector.facts.placeholders import is_placeholder
from collector.otlp.model import KIND_CLIENT, Attributes, Span

_STEPS = {"workflow": "invoke_workflow", "task": "execute_task"}
_REQUESTS = {"chat": "chat", "completion": "text_completion"}
_CALLS = ("chat", "generate_content", "text_completion")
_HANDOFF = "handoff to "
_NAMES = (
    "crewai.agent.role", "gen_ai.agent.name", "agent.name", "lc_agent_name", "agent_name", "graph.node.name", "graph.node.id",
    "traceloop.entity.name",
)  # fmt: skip
"""Where the name of a run's agent stands, the most telling first."""


def facts(span: Span) -> Iterator[Fact]:
    """Facts of a span."""
    kind = operation(span)
    if kind == "execute_tool" or (not kind and "from_agent" in span.attributes):
        told = _handover(span, kind)
        if told is not None:
            yield told
            return
    for fact in genai.of_operation(span, kind):
        if isinstance(fact, Visit):
            yield _visit(span, fact)
        elif isinstance(fact, ToolCall):
            yield _tool_call(span, fact)
        else:
            yield fact


def operation(span: Span) -> str:
    """What the span is. A workflow's or a task's span is no agent's run, whatever its operation says; a model's call shows by what it asks for."""
    a = span.attributes
    kind = genai.operation(span)
    if kind == "invoke_agent":
        return _STEPS.get(reading.text(a, "traceloop.span.kind"), kind)
    if kind:
        return kind
    if "llm.request.type" in a:
        asked = reading.text(a, "llm.request.type")
        return _REQUESTS.get(asked, asked)
    if "gen_ai.request.model" not in a and "gen_ai.response.model" not in a:
        return ""
    answers = span.kind == KIND_CLIENT or span.name.split(" ")[0] in _CALLS
    return "chat" if answers or reading.usage(a) is not None or any(m is not None for m in genai.spoken(span)) else ""


def _handover(span: Span, kind: str) -> Transfer | None:
    """The handoff that a span of its own tells: OpenInference's `handoff to X`, Logfire's `from_agent` and `to_agent`."""
    a = span.attributes
    if (
        kind == "execute_tool"
        and span.name.startswith(_HANDOFF)
        and not reading.text(a, "tool.name", "gen_ai.tool.name")
    ):
        target = reading.text(a, "output.value") or span.name.removeprefix(_HANDOFF)
        return Transfer(source=reading.text(a, "input.value"), target=target)
    source, target = reading.text(a, "from_agent"), reading.text(a, "to_agent")
    return Transfer(source=source, target=target) if source and target and not kind else None


def _visit(span: Span, fact: Visit) -> Visit:
    a = span.attributes
    names = [name for key in _NAMES if (name := reading.text(a, key))]
    names += [n for n in (fact.name, fact.agent_id) if n]
    name = next((n for n in names if not is_placeholder(n)), next(iter(names), ""))
    role = fact.role or reading.text(a, "crewai.agent.role")
    marked = reading.text(a, "openinference.span.kind") == "AGENT" or reading.text(a, "traceloop.span.kind") == "agent"
    return msgspec.structs.replace(fact, name=name, role=role, by_span=marked and not name)


def _tool_call(span: Span, fact: ToolCall) -> ToolCall:
    a = span.attributes
    marked = fact.target or _destination(a)
    target = marked or _answered(fact.result)
    arguments = _arguments(a, fact.arguments)
    failed = fact.failed and not is_control_flow(span.events)
    if (target, arguments, failed) == (fact.target, fact.arguments, fact.failed):
        return fact
    return msgspec.structs.replace(
        fact, target=target, certain=fact.certain or bool(marked), arguments=arguments, failed=failed
    )


def _destination(attributes: Attributes) -> str:
    """The agent that the metadata of a handing-over tool of LangGraph names."""
    metadata = attributes.get("metadata")
    if metadata is None or (isinstance(metadata, str) and "__handoff_destination" not in metadata):
        return ""
    found = reading.entries(metadata).get("__handoff_destination")
    return found if isinstance(found, str) else ""


def _answered(result: Content | None) -> str:
    """What openai-agents answers to a handover, `{"assistant": X}`: a handover, whatever the tool is called, where X is an agent's name."""
    told = reading.mapping(result.value) if result is not None else {}
    return reading.argument(result, "assistant") if told.keys() == {"assistant"} else ""


def _arguments(attributes: Attributes, found: Content | None) -> Content | None:
    """The arguments themselves: not the schema that OpenInference may give in their place, nor the object that OpenLLMetry wraps them in; of
    a conversation that is handed over what its last message says."""
    if found is None:
        return None
    value = reading.mapping(found.value)
    if value.get("type") == "object" and isinstance(value.get("properties"), dict):
        return reading.content(attributes, "input.value", "traceloop.entity.input")
    if reading.is_conversation(found.value):
        last = (reading.messages(found.value) or ())[-1]
        return found if last.text is None else reading.part(found, last.text)
    if {"inputs", "input_str"} <= value.keys():
        return reading.part(found, value["inputs"] if value["inputs"] is not None else value["input_str"])
    return found


CONVENTION = Convention(
    name="genai",
    content_switch="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
    facts=facts,
    scopes=("",),
    log_facts=genai.log_facts,
    causes=genai.causes,
)

OPENINFERENCE = Convention(
    name="openinference",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    shapes=(("openinference.span.kind", ""),),
    facts=facts,
    log_facts=genai.log_facts,
    causes=genai.causes,
)
"""The same for spans in OpenInference's words, by a name of their own: beside spans in other words they are a second record of the same runs."""
