"""MCP between processes: the SDK's own spans (mcp 2.x), the convention's `tools/call`, and OpenLLMetry's instrumentor.

A framework's tool span, the client's and the server's span are one call, by nesting and by the tool's name. Everything else that the
protocol does (initialize, lists, pings) is no call.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import reading
from collector.conventions.base import Convention
from collector.facts import Fact, ToolCall
from collector.otlp.model import STATUS_ERROR, Span

_CALL = "tools/call"


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    method = reading.text(a, "mcp.method.name")
    words = span.name.removeprefix("MCP send ").split(" ", 1)
    if _CALL not in (method, words[0]) and a.get("traceloop.span.kind") != "tool":
        return
    name = reading.text(a, "gen_ai.tool.name", "traceloop.entity.name") or (words[1] if len(words) > 1 else "")
    if name:
        yield ToolCall(
            name=name.removesuffix(".tool"),
            call_id=reading.text(a, "gen_ai.tool.call.id"),
            arguments=reading.content(a, "gen_ai.tool.call.arguments", "traceloop.entity.input"),
            result=reading.content(a, "gen_ai.tool.call.result", "traceloop.entity.output"),
            failed=span.status_code == STATUS_ERROR,
        )


def _marks(span: Span) -> bool:
    return "mcp.method.name" in span.attributes


CONVENTION = Convention(
    name="mcp",
    content_switch="MCP spans never carry content: instrument the agents at both ends",
    facts=_facts,
    scopes=("mcp-python-sdk", "opentelemetry.instrumentation.mcp"),
    marks=_marks,
)
