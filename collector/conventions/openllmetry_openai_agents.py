"""openai-agents as OpenLLMetry's instrumentor shows it (opentelemetry-instrumentation-openai-agents 0.x).

Spans follow the GenAI convention with Traceloop's kinds. What is its own: a handoff span names its source and never its target; runs of
agents hang flat under the root, also those of agents called like tools; with Chat Completions a model's answer stands only in the next
call's history. Function tools have a span, handing-over tools have none.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.conventions.genai import facts as genai_facts
from collector.facts import Fact, ToolCall, Transfer, Visit
from collector.otlp.model import Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    if a.get("traceloop.span.kind") == "handoff":
        target = reading.text(a, "gen_ai.handoff.to_agent")
        yield Transfer(
            source=reading.text(a, "gen_ai.handoff.from_agent", "gen_ai.agent.name"),
            target="" if target == "unknown" else target,
        )
        return
    for fact in genai_facts(span):
        if isinstance(fact, Visit):
            peers = reading.strings(a.get("openai.agent.handoffs"))
            yield msgspec.structs.replace(fact, named=True, flat=True, peers=peers)
        elif isinstance(fact, ToolCall):
            yield msgspec.structs.replace(fact, plain=True)
        else:
            yield fact


def _marks(span: Span) -> bool:
    """Another instrumentor of the framework shares the scope's name: only this one writes Traceloop's kinds, or these names."""
    return span.scope.name == _SCOPE and (
        "traceloop.span.kind" in span.attributes or span.name in ("openai.response", "Agent Workflow")
    )


_SCOPE = "opentelemetry.instrumentation.openai_agents"

CONVENTION = Convention(
    name="openllmetry.openai-agents",
    content_switch="TRACELOOP_TRACE_CONTENT=true",
    facts=_facts,
    marks=_marks,
    carriers=Carriers(without_call=("output", "told")),
)
