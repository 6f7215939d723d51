"""Claude Code's own tracing, and Logfire's integration of its SDK.

`claude_code.interaction` is one turn of the main agent, which no span names. A sub-agent has no span of its own: its requests and tools stand
under the `claude_code.tool` span of the Task (Agent) tool, whose `subagent_type` is its name. All content is opt-in: the sub-agent's prompt and
answer come in a `tool.output` event. Logfire's spans are GenAI's, with the same tool and an unnamed agent.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import claude_reading as claude
from collector.conventions import genai, reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, ModelCall, Usage, Visit
from collector.otlp.model import STATUS_ERROR, Span

NAME = "claude_code"
"""The main agent: spans do not name it."""

_PREFIX = "claude_code."


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    if span.name == _PREFIX + "interaction":
        yield Visit(name=NAME, input=reading.content(a, "user_prompt"))
    elif span.name == _PREFIX + "llm_request":
        used = Usage(reading.integer(a, "input_tokens"), reading.integer(a, "output_tokens"))
        yield ModelCall(model=reading.model(a) or reading.text(a, "model"), usage=used)
    elif span.name == _PREFIX + "tool":
        arguments, result = _bodies(span)
        yield claude.tool(
            reading.text(a, "tool_name", "gen_ai.tool.name"),
            arguments,
            result,
            call_id=reading.text(a, "gen_ai.tool.call.id", "tool_use_id"),
            subagent=reading.text(a, "subagent_type"),
            failed=span.status_code == STATUS_ERROR,
        )
    elif a.get("gen_ai.operation.name") == "invoke_agent":
        yield Visit(name=genai.agent_name(span) or NAME, output=reading.content(a, "result"))
    elif a.get("gen_ai.operation.name") == "execute_tool":
        yield claude.tool(
            reading.text(a, "gen_ai.tool.name"),
            reading.content(a, "gen_ai.tool.call.arguments"),
            reading.content(a, "gen_ai.tool.call.result"),
            call_id=reading.text(a, "gen_ai.tool.call.id"),
            failed=span.status_code == STATUS_ERROR,
        )
    elif a.get("gen_ai.operation.name") == "chat":
        heard, said = genai.spoken(span)
        partial = Usage(
            reading.integer(a, "gen_ai.usage.partial.input_tokens"),
            reading.integer(a, "gen_ai.usage.partial.output_tokens"),
        )
        yield ModelCall(reading.model(a), "", reading.usage(a) or partial, heard, said)


def _bodies(span: Span) -> tuple[Content | None, Content | None]:
    """A tool's input and output, where `OTEL_LOG_TOOL_CONTENT` lets them be recorded."""
    arguments = reading.content(span.attributes, "gen_ai.tool.call.arguments", "tool_input")
    result = reading.content(span.attributes, "gen_ai.tool.call.result")
    for event in span.events:
        if event.name == "tool.output":
            prompt = reading.content(event.attributes, "prompt")
            wrapped = Content({"prompt": prompt.value}, prompt.truncated) if prompt is not None else None
            arguments = arguments or reading.content(event.attributes, "input") or wrapped
            result = result or reading.content(event.attributes, "output", "content")
    return arguments, result


def _marks(span: Span) -> bool:
    return span.name.startswith(_PREFIX)


CONVENTION = Convention(
    name="claude-code",
    content_switch="OTEL_LOG_TOOL_DETAILS=1, OTEL_LOG_TOOL_CONTENT=1, OTEL_LOG_USER_PROMPTS=1",
    facts=_facts,
    scopes=("logfire.claude_agent_sdk",),
    marks=_marks,
    carriers=Carriers(beside=False, delegate_input=False),
)
