"""The classic AG2 package as OpenInference's instrumentor shows it (openinference-instrumentation-ag2 0.1.x).

A turn of an agent is an AGENT span `<agent>.generate_reply`; a manager's stands around those of a group chat's speakers. `<agent>.initiate_chat`
is the program's call, and no run. There are no spans of models: what an agent said, and the calls it asked for, is its turn's output.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import ag2_reading as ag2
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Message, ToolCall, Visit
from collector.otlp.model import STATUS_ERROR, Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    if kind == "AGENT" and span.name.endswith(".generate_reply"):
        name = reading.text(a, "agent.name") or span.name.removesuffix(".generate_reply")
        if name not in ag2.HELPERS:
            said = _said(reading.content(a, "output.value"))
            yield Visit(name=name, named=True, wraps=True, executes=name == ag2.EXECUTOR, said=said)
    elif kind == "TOOL":
        name = reading.text(a, "tool.name") or span.name
        answer = _answer(reading.content(a, "output.value"))
        target = ag2.handed_to(name, answer.value if answer is not None else None)
        yield ToolCall(
            name=name,
            call_id=reading.text(a, "tool_call.id"),
            arguments=reading.content(a, "tool_call.function.arguments"),
            result=answer if not target else None,
            target=target,
            mode="transfer" if target else "",
            certain=bool(target),
            plain=not target,
            failed=span.status_code == STATUS_ERROR,
        )


def _said(output: Content | None) -> tuple[Message, ...] | None:
    """A turn's output: a text, or a message with the calls that it asks for."""
    if output is None:
        return None
    message = reading.mapping(output.value)
    if "tool_calls" in message or "content" in message:
        return ag2.said((reading.message({"role": "assistant", **message}),))
    return (Message("assistant", str(output.value)),)


def _answer(output: Content | None) -> Content | None:
    """What a tool answered: `[whether it went well, {"content": ...}]`."""
    found = reading.loads(output.value) if output is not None else None
    inner = found[1] if isinstance(found, list) and len(found) == 2 else None
    if output is None or not isinstance(inner, dict) or "content" not in inner:
        return output
    content = inner["content"]
    text = content.get("message") if isinstance(content, dict) and isinstance(content.get("message"), str) else content
    return reading.part(output, text)


CONVENTION = Convention(
    name="openinference.ag2",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    shapes=(("ag2.sender.name", ""), ("ag2.recipient.name", "")),
    facts=_facts,
    scopes=("openinference.instrumentation.ag2",),
    carriers=Carriers(without_call=("asked", "output")),
)
