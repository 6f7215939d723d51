"""Haystack, native (haystack-ai 3.x through opentelemetry-haystack).

The scope is the program's own, so spans are known by what they are called and by their attributes. An agent in a pipeline has the name of its
component, one behind a tool that tool's; one that the program runs by itself has none. A pipeline's agents run one after another, whatever
component stands between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Call, Content, Fact, Message, ModelCall, ToolCall, Visit
from collector.otlp.model import STATUS_ERROR, Span

_COMPONENT, _AGENT = "haystack.component.run", "haystack.agent.run"
_TOKENS = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
_MODEL, _TOOL = "haystack.agent.step.llm", "haystack.agent.step.tool"


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    if span.name == _AGENT:
        yield Visit(by_call="Agent", named=True, output=_last(reading.content(a, "haystack.agent.output")))
    elif span.name == _COMPONENT and a.get("haystack.component.type") == "Agent":
        yield Visit(name=reading.text(a, "haystack.component.name"), named=True)
    elif span.name == _MODEL:
        heard = reading.mapping(a.get("haystack.agent.step.llm.input")).get("messages")
        said = reading.mapping(a.get("haystack.agent.step.llm.output")).get("replies")
        metas = [m["meta"] for m in _objects(said) if isinstance(m.get("meta"), dict)]
        used = [m["usage"] for m in metas if isinstance(m.get("usage"), dict)]
        yield ModelCall(
            model=next((str(m["model"]) for m in metas if m.get("model")), ""),
            usage=reading.usage(used[0], *_TOKENS) if used else None,
            heard=_messages(heard),
            said=_messages(said),
        )
    elif span.name == _TOOL:
        given = reading.content(a, "haystack.agent.step.tool.input")
        yield ToolCall(
            name=reading.text(a, "haystack.tool.name"),
            arguments=reading.part(given, _asked(reading.loads(given.value))) if given is not None else None,
            result=_last(reading.content(a, "haystack.agent.step.tool.output")),
            plain=True,
            failed=span.status_code == STATUS_ERROR,
        )


def _objects(value: Any) -> list[dict[str, Any]]:
    return [m for m in value if isinstance(m, dict)] if isinstance(value, list) else []


def _messages(value: Any) -> tuple[Message, ...] | None:
    """Haystack's messages: parts are objects with one key, a call's name is `tool_name`."""
    if not isinstance(value, list):
        return None
    return tuple(_message(m) for m in _objects(value))


def _message(item: dict[str, Any]) -> Message:
    parts = _objects(item.get("content"))
    texts = [p["text"] for p in parts if isinstance(p.get("text"), str)]
    calls = [p["tool_call"] for p in parts if isinstance(p.get("tool_call"), dict)]
    return Message(
        role=str(item.get("role") or ""),
        text="\n".join(texts) if texts else None,
        calls=tuple(
            Call(str(c.get("tool_name") or ""), str(c.get("id") or ""), Content(_asked(c.get("arguments"))))
            for c in calls
        ),
    )


def _asked(arguments: Any) -> Any:
    """The arguments of an agent's tool: the message that it is given is its text."""
    messages = _messages(arguments.get("messages")) if isinstance(arguments, dict) else None
    return {**arguments, "messages": messages[-1].text} if messages else arguments


def _last(found: Content | None) -> Content | None:
    """What an agent or its tool answers: the last message's text."""
    last = reading.mapping(found.value).get("last_message") if found is not None else None
    return reading.part(found, _message(last).text) if found is not None and isinstance(last, dict) else found


CONVENTION = Convention(
    name="haystack",
    content_switch="HAYSTACK_CONTENT_TRACING_ENABLED=true",
    facts=_facts,
    shapes=(
        ("haystack.component.type", ""),
        ("haystack.agent.max_steps", ""),
        ("haystack.agent.step.llm.input", ""),
        ("haystack.agent.step.llm.output", ""),
        ("haystack.tool.name", ""),
    ),
    carriers=Carriers(beside=False, without_call=("output", "input")),
)
