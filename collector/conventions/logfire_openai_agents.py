"""openai-agents as Logfire shows it (logfire 4.x and 5.x, `instrument_openai_agents`).

Span names are message templates, so the template attribute tells what a span is; keys have no prefix: `name` is the agent on `Agent run`,
the tool on `Function`, the workflow on the root. A handoff is a span of its own with `from_agent` and `to_agent`. Model spans hold the
conversation in `events` (the answer is what follows the last message heard), and the Responses API's answer in `response`; of Chat Completions
in `input` and `output`.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Message, ModelCall, ToolCall, Transfer, Visit
from collector.otlp.model import STATUS_ERROR, Attributes, Span

_CHAT = "chat completion"


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = reading.text(a, "logfire.msg_template") or span.name
    if kind.startswith("Agent run:"):
        name = reading.text(a, "name")
        if name:
            yield Visit(name=name, peers=reading.strings(a.get("handoffs")), named=True, by_tool=True)
    elif kind.startswith("Handoff:"):
        yield Transfer(source=reading.text(a, "from_agent"), target=reading.text(a, "to_agent"))
    elif kind.startswith("Function:"):
        yield ToolCall(
            name=reading.text(a, "name"),
            arguments=_given(a, "input"),
            result=_given(a, "output"),
            failed=span.status_code == STATUS_ERROR,
            plain=True,
        )
    elif (
        kind.casefold().startswith(_CHAT)
        or a.get("gen_ai.operation.name") == "chat"
        or "events" in a
        or "response" in a
    ):
        heard, said = _conversation(a)
        yield ModelCall(model=reading.model(a), usage=reading.usage(a), heard=heard, said=said)


def _given(attributes: Attributes, key: str) -> Content | None:
    """Content is off where the key is there and is null, or its text."""
    found = reading.content(attributes, key)
    return None if found is None or found.value in (None, "null") else found


def _conversation(attributes: Attributes) -> tuple[tuple[Message, ...] | None, tuple[Message, ...] | None]:
    events, cut = reading.told(attributes.get("events"))
    response = reading.mapping(attributes.get("response"))
    answered = response.get("output", reading.loads(attributes.get("output")))
    said = reading.answered(answered) or (reading.messages(answered) if isinstance(answered, list) else None)
    if not isinstance(events, list):
        given = _given(attributes, "raw_input") or _given(attributes, "input")
        return (reading.messages(given.value) if given is not None else None), said
    heard_events, answer = list(events), []
    while (
        heard_events and not cut and _speaks(heard_events[-1])
    ):  # the answer comes last: of events that were cut it is gone
        answer.append(heard_events.pop())
    read = reading.messages(heard_events) or ()
    in_events = reading.messages(answer[::-1]) or ()
    return read, in_events or said


def _speaks(event: object) -> bool:
    return isinstance(event, dict) and (
        event.get("role") == "assistant" or event.get("event.name") in ("gen_ai.choice", "gen_ai.assistant.message")
    )


CONVENTION = Convention(
    name="logfire.openai-agents",
    content_switch="RunConfig(trace_include_sensitive_data=True)",
    shapes=(
        ("logfire.msg_template", "Agent run: {name!r}"),
        ("logfire.msg_template", "Handoff: {from_agent}"),
        ("logfire.msg_template", "Function: {name}"),
        ("logfire.msg_template", "Responses API with"),
        ("logfire.msg_template", "Chat completion with"),
    ),
    facts=_facts,
    scopes=("logfire.openai_agents",),
    carriers=Carriers(without_call=("output", "told")),
)
