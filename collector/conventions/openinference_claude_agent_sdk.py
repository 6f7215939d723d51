"""claude-agent-sdk as OpenInference's instrumentor shows it (openinference-instrumentation-claude-agent-sdk 0.1.x).

The main agent is the AGENT span `ClaudeAgentSDK.query` (or of a client's response), without a name. A sub-agent's AGENT span is named by the
tool that ran it (`agent.name` is `Task` or `Agent`); who it is stands in that tool's input, so the tool's span stands for the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import claude_reading as claude
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, ModelCall, Visit
from collector.otlp.model import STATUS_ERROR, Span

NAME = "ClaudeAgentSDK"
"""The main agent: spans do not name it."""


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    if kind == "AGENT" and "agent.name" not in a and span.name != NAME + ".Subagent":
        yield Visit(
            name=NAME,
            input=reading.content(a, "input.value"),
            output=reading.content(a, "output.value"),
            model=reading.model(a),
            usage=reading.usage(a),
        )
    elif kind == "AGENT":  # its tokens; its name is its tool's
        yield ModelCall(model=reading.model(a), usage=reading.usage(a))
    elif kind == "TOOL":
        yield claude.tool(
            reading.text(a, "tool.name") or span.name,
            reading.content(a, "input.value"),
            reading.content(a, "output.value"),
            call_id=reading.text(a, "tool.id"),
            failed=span.status_code == STATUS_ERROR,
        )


CONVENTION = Convention(
    name="openinference.claude-agent-sdk",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    facts=_facts,
    scopes=("openinference.instrumentation.claude_agent_sdk",),
    carriers=Carriers(beside=False, delegate_input=False),
)
