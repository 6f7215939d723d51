"""Strands Agents, native (content in span events by default), and as OpenInference's processor rewrites the same spans.

Agents are `invoke_agent X` spans; a swarm's transfer is the tool `handoff_to_agent {agent_name, message, context}`, whose target starts
beside the source after it. A graph has no handoff span: its nodes run in order, and each gets the words of those before it. An agent as a
tool stands in the tool's span. OpenInference's `graph.node.id` is one constant for all agents and is not read.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import genai, reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, ToolCall
from collector.otlp.model import Span

_HANDOFF = "handoff_to_agent"
_UNNAMED = "Strands Agents"
_QUOTED = "Inputs from previous nodes:"  # what a graph writes above the words that it gives a node


def _facts(span: Span) -> Iterator[Fact]:
    operation = genai.operation(span)
    if operation == "invoke_agent":
        visit = genai.visit(span)
        told = any(_QUOTED in (m.text or "") for m in visit.heard or () if m.role == "user")
        yield msgspec.structs.replace(visit, named=visit.name != _UNNAMED, quotes=told)
    elif operation == "chat":
        yield genai.model_call(span)
    elif operation == "execute_tool":
        yield _tool(span)


def _tool(span: Span) -> ToolCall:
    call = genai.tool_call(span)
    transfer = call.name == _HANDOFF
    target = reading.argument(call.arguments, "agent_name") if transfer else ""
    return ToolCall(
        name=call.name,
        call_id=call.call_id,
        arguments=call.arguments,
        result=call.result,
        target=target,
        mode="transfer" if transfer else "",
        certain=transfer,
        plain=not transfer,
        failed=call.failed or span.attributes.get("gen_ai.tool.status") == "error",
    )


def _answer(value: object) -> object:
    """A tool's result stands in `[{"text": ...}]`."""
    inner = reading.loads(value)
    if isinstance(inner, list) and inner and all(isinstance(p, dict) and set(p) == {"text"} for p in inner):
        return "\n".join(str(p["text"]) for p in inner)
    return value


CONVENTION = Convention(
    name="strands",
    content_switch="take gen_ai_unredacted_attributes= out of OTEL_SEMCONV_STABILITY_OPT_IN",
    shapes=(
        ("gen_ai.system", "strands-agents"),
        ("gen_ai.provider.name", "strands-agents"),
    ),
    facts=_facts,
    scopes=("strands.telemetry", "strands-agents"),
    carriers=Carriers(beside=False, without_call=("output",), unwrap=_answer),
)
