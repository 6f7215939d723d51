"""Semantic Kernel's own spans (semantic-kernel 1.3x and later, Python), with its agent runtime's.

Agents are `invoke_agent` spans, each hop in a trace of its own; every link means that its target sent the message. A handoff is the tool
`Handoff-transfer_to_X`, without arguments, two levels below the agent. What is passed is what the agent says beside the call (no span and no
log record holds that), or what it writes with a tool and the target reads back. Messages stand in log
records. Function names carry their plugin's.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import reading
from collector.conventions.base import Carriers, Convention, every_cause
from collector.conventions.genai import facts as genai_facts
from collector.conventions.genai import log_facts
from collector.facts import Content, Envelope, Fact, ToolCall, Visit
from collector.otlp.model import Span

_HANDOFFS = "Handoff-transfer_to_"
_MANAGER = "MagenticManagerActor"
"""The one manager that speaks for itself; those of other groups only pass on whose turn it is."""


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    if a.get("messaging.operation") == "process":
        if reading.text(a, "messaging.destination").startswith(f"{_MANAGER}_"):
            yield Visit(name=_MANAGER, named=True, leads=True)
        return
    for fact in genai_facts(span):
        if isinstance(fact, ToolCall):
            hands_over = fact.name.startswith(_HANDOFFS)
            yield msgspec.structs.replace(
                fact, plain=not hands_over, arguments=_given(fact.arguments), result=_result(span, fact)
            )
        elif isinstance(fact, Visit):
            # An agent that hands over publishes nothing: an empty list is no answer, and says nothing of what it said.
            said = fact.said if fact.said else None
            yield msgspec.structs.replace(fact, said=said, named=True, one_way=True)
            last = fact.heard[-1] if fact.heard else None
            if last is not None and last.name and last.text is not None:
                yield Envelope(last.name, "", Content(last.text, last.cut))
        else:
            yield fact


def _given(arguments: Content | None) -> Content | None:
    """What an agent that is called like a function is given: the framework adds its second parameter, which nobody filled in."""
    read = reading.mapping(arguments.value) if arguments is not None else {}
    if arguments is None or read.keys() != {"messages", "instructions_override"} or read["instructions_override"]:
        return arguments
    return reading.part(arguments, {"messages": read["messages"]})


def _result(span: Span, fact: ToolCall) -> Content | None:
    return None if span.attributes.get("gen_ai.tool.call.result") == "None" else fact.result


CONVENTION = Convention(
    name="semantic-kernel",
    content_switch="SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true",
    shapes=(("gen_ai.tool.name", "Handoff-"),),
    facts=_facts,
    scopes=("semantic_kernel", "agent_runtime"),
    log_facts=log_facts,
    causes=every_cause,
    carriers=Carriers(arguments=False, beside=False, with_call=("note",), without_call=("output",)),
)
