"""smolagents by OpenTelemetry's own instrumentation (opentelemetry-instrumentation-genai-smolagents 1.x).

A managed agent's run stands in its manager's, with no tool span between: what it was given is the first message that it heard, a template.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import genai
from collector.conventions import smolagents_reading as smolagents
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, ToolCall, Visit
from collector.otlp.model import Span


def _facts(span: Span) -> Iterator[Fact]:
    for fact in genai.facts(span):
        if isinstance(fact, Visit):
            yield msgspec.structs.replace(fact, named=True)
        elif isinstance(fact, ToolCall):
            yield msgspec.structs.replace(fact, plain=True)
        else:
            yield fact


CONVENTION = Convention(
    name="otel.smolagents",
    content_switch="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
    facts=_facts,
    scopes=("opentelemetry.instrumentation.genai.smolagents",),
    log_facts=genai.log_facts,
    carriers=Carriers(beside=False, without_call=("output", "input"), unwrap=smolagents.unwrapped),
)
