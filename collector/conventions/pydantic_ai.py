"""Pydantic AI, native, in every version of its instrumentation (1 to 5), direct or through Logfire, and OpenInference's processor on it.

Agents are `invoke_agent X` (older: `agent run`) spans. There is no handoff primitive: a delegation is an agent's span in a tool's, so a
tool's name is never evidence; a program that runs one agent after another shows only in their words. Pending spans are placeholders.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import genai, reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, Message, ToolCall, Visit
from collector.otlp.model import STATUS_ERROR, Span

_AGENT = ("agent run", "invoke_agent")
_TOOL = ("running tool", "execute_tool")
_UNNAMED = "agent"


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    if a.get("logfire.span_type") == "pending_span":
        return
    operation = genai.operation(span)
    if operation == "invoke_agent" or ("agent_name" in a and span.name.endswith(_AGENT[0])):
        yield _visit(span)
    elif operation == "execute_tool" or span.name.startswith(_TOOL):
        if span.name != "running tools":
            yield _tool(span)
    elif operation == "chat" or span.name.startswith("chat "):
        yield genai.model_call(span)


def _visit(span: Span) -> Visit:
    a = span.attributes
    history = reading.messages(a.get("pydantic_ai.all_messages", a.get("all_messages_events")))
    name = genai.agent_name(span)
    heard: tuple[Message, ...] | None = None
    if history is not None:
        first = reading.integer(a, "pydantic_ai.new_message_index") or 0
        answer = next((i for i, m in enumerate(history) if i >= first and m.role == "assistant"), len(history))
        heard = history[:answer]
    return Visit(
        name=name,
        named=name != _UNNAMED,
        agent_id=reading.text(a, "gen_ai.agent.id"),
        input=reading.content(a, "input.value"),
        output=reading.content(a, "final_result", "output.value"),
        heard=heard,
        model=reading.text(a, "model_name"),
        usage=reading.usage(a),
    )


def _tool(span: Span) -> ToolCall:
    a = span.attributes
    return ToolCall(
        name=reading.text(a, "gen_ai.tool.name"),
        call_id=reading.text(a, "gen_ai.tool.call.id"),
        agent=reading.text(a, "gen_ai.agent.name"),
        arguments=reading.content(a, "gen_ai.tool.call.arguments", "tool_arguments"),
        result=reading.content(a, "gen_ai.tool.call.result", "tool_response"),
        plain=True,
        failed=span.status_code == STATUS_ERROR,
    )


CONVENTION = Convention(
    name="pydantic-ai",
    content_switch="InstrumentationSettings(include_content=True)",
    shapes=(
        ("gen_ai.agent.call.id", ""),
        ("pydantic_ai.all_messages", ""),
    ),
    facts=_facts,
    scopes=("pydantic-ai",),
    log_facts=genai.log_facts,
    carriers=Carriers(beside=False, without_call=("input", "output")),
)
