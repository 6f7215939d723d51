"""Claude Code's sub-agents: the tool that runs one, and what its arguments say.

Separate from the mappers because the program's own telemetry and two instrumentations of its SDK record the same tool.
"""

from __future__ import annotations

from typing import Any

from collector.conventions import reading
from collector.facts import Content, ToolCall

TOOLS = frozenset({"Task", "Agent"})
"""The tool that runs a sub-agent (renamed from the first to the second)."""

DEFAULT = "general-purpose"
"""The sub-agent that runs where the call names none."""


def tool(
    name: str,
    arguments: Content | None,
    result: Content | None,
    *,
    call_id: str = "",
    subagent: str = "",
    failed: bool = False,
) -> ToolCall:
    """A tool's run. A sub-agent has no span of its own: the tool's span stands for its run."""
    target = ""
    if name in TOOLS:
        given = reading.mapping(arguments.value) if arguments is not None else {}
        target = subagent or str(given.get("subagent_type") or (DEFAULT if "prompt" in given else ""))
    return ToolCall(
        name=name,
        call_id=call_id,
        arguments=arguments,
        result=_text(result),
        target=target,
        mode="delegate" if target else "",
        certain=bool(target),
        plain=not target,
        runs_target=bool(target),
        failed=failed,
    )


def _text(result: Content | None) -> Content | None:
    """The text of an answer that stands as content blocks."""
    blocks: Any = reading.loads(result.value) if result is not None else None
    if isinstance(blocks, dict) and isinstance(blocks.get("content"), list):
        blocks = blocks["content"]
    if result is None or not isinstance(blocks, list):
        return result
    texts = [b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str)]
    return Content("\n".join(texts), result.truncated) if texts else result
