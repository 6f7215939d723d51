"""openai-agents by OpenTelemetry's own instrumentations: `genai-openai-agents` 1.x, and its predecessor `openai-agents-v2` 0.x.

The current one writes workflow, agent and function spans and leaves handoffs out on purpose: they stand in the answers of the `chat` spans
that the instrumentation of the openai package writes, or only in the order of agents. Its predecessor writes `agent_handoff` spans with both
ends, a root that is an agent's run without a name, and one made-up agent name and id on everything else; its answers are the message
object's Python text.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.conventions.genai import facts as genai_facts
from collector.conventions.genai import log_facts
from collector.facts import Fact, Message, ModelCall, ToolCall, Transfer, Visit, values
from collector.otlp.model import Span


def _facts(span: Span) -> Iterator[Fact]:
    for fact in genai_facts(span):
        if isinstance(fact, Visit):
            if fact.name:
                yield msgspec.structs.replace(fact, named=True, one_way=True, by_tool=True)
        elif isinstance(fact, ToolCall):
            yield msgspec.structs.replace(fact, plain=True)
        else:
            yield fact


def _older_facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("gen_ai.operation.name")
    if kind == "agent_handoff":
        source, target = reading.text(a, "gen_ai.handoff.from_agent"), reading.text(a, "gen_ai.handoff.to_agent")
        yield Transfer(source=source, target=target)
        return
    for fact in _facts(span) if kind != "unknown" else ():
        if isinstance(fact, Visit):
            # Its messages are the last call's, with the history: they stand on that call's span, too.
            yield msgspec.structs.replace(fact, agent_id="", heard=None, said=None)
        elif isinstance(fact, ToolCall):
            yield msgspec.structs.replace(fact, agent="")
        elif isinstance(fact, ModelCall):
            said = tuple(o for m in fact.said for o in _opened(m)) if fact.said is not None else None
            yield msgspec.structs.replace(fact, agent="", said=said)
        else:
            yield fact


def _opened(message: Message) -> tuple[Message, ...]:
    """The messages in a text that is a message object, or a streamed response's, written as Python."""
    text = message.text or ""
    inner = values.parse(text, 1) if text.startswith("{'") else None
    if not isinstance(inner, dict):
        return (message,)
    return reading.answered(inner) or ((reading.message(inner),) if "role" in inner else (message,))


CARRIERS = Carriers(without_call=("output", "told"))

CONVENTION = Convention(
    name="otel.openai-agents",
    content_switch="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
    facts=_facts,
    scopes=("opentelemetry.instrumentation.genai.openai_agents",),
    log_facts=log_facts,
    carriers=CARRIERS,
)
OLDER = Convention(
    name="otel.openai-agents-v2",
    content_switch="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true",
    facts=_older_facts,
    scopes=("opentelemetry.instrumentation.openai_agents",),
    carriers=CARRIERS,
)
