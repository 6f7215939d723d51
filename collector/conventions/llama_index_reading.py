"""What LlamaIndex's own names mean, whoever recorded them: its handoff tool, and the answers of tools.

Separate from the mappers because two instrumentations record the same workflow.
"""

from __future__ import annotations

import re

from collector.conventions import reading
from collector.facts import Content, ToolCall

_HANDOFF = "handoff"
_REFUSED = re.compile(r"^Agent .{0,200}? (?:not found\.|cannot handoff to )", re.S)


def tool(name: str, arguments: Content | None, answer: Content | None, *, call_id: str = "") -> ToolCall:
    """A tool's run: a transfer where it is the tool that an agent workflow gives its agents, plain with any other name."""
    target = reading.argument(arguments, "to_agent") if name == _HANDOFF else ""
    given = reading.mapping(answer.value) if answer is not None else {}
    result = reading.part(answer, text(given)) if answer is not None and given else answer
    refused = bool(target) and result is not None and _REFUSED.match(str(result.value)) is not None
    return ToolCall(
        name=name,
        call_id=call_id,
        arguments=arguments,
        result=result,
        target=target,
        mode="transfer" if name == _HANDOFF else "",
        certain=bool(target),
        plain=name != _HANDOFF,
        failed=refused or given.get("is_error") is True,
    )


def text(output: dict[str, object]) -> object:
    """The answer in a tool's output object."""
    blocks = output.get("blocks")
    texts = (
        [b["text"] for b in blocks if isinstance(b, dict) and isinstance(b.get("text"), str)]
        if isinstance(blocks, list)
        else []
    )
    return "\n".join(texts) if texts else output.get("raw_output", output)
