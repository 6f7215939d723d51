"""LangChain and LangGraph by OpenTelemetry's own instrumentation (opentelemetry-instrumentation-genai-langchain 1.x).

Only agents have spans (one that is the program's whole graph, that graph's `invoke_workflow`), and whatever else has "agent" in its name (a
supervisor's `call_agent` around each of its agents); nodes that are plain functions have none, nor has a `Command(goto)` of theirs. A tool that
hands over shows it in its result, a Command for the graph above; its target is the name of a node, which need not be that of the agent in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import genai, reading
from collector.conventions import langgraph_reading as langgraph
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, ToolCall, Visit
from collector.otlp.model import STATUS_ERROR, Span


def _facts(span: Span) -> Iterator[Fact]:
    if genai.operation(span) == "invoke_workflow":
        heard, said = genai.spoken(span)
        name = reading.text(span.attributes, "gen_ai.workflow.name", "gen_ai.agent.name")
        if name:
            yield Visit(name=name, soft=True, wraps=True, asks=True, heard=heard, said=said)
        return
    for fact in genai.facts(span):
        if isinstance(fact, Visit):
            yield msgspec.structs.replace(fact, wraps=True)
        elif isinstance(fact, ToolCall) and fact.result is not None:
            failed = span.status_code == STATUS_ERROR and "ParentCommand" not in str(span.attributes.get("error.type"))
            told = langgraph.tool_fact(
                fact.name,
                langgraph.Place(agent=fact.agent),
                fact.arguments,
                fact.result,
                call_id=fact.call_id,
                failed=failed,
            )
            yield msgspec.structs.replace(told, loose=True)
        else:
            yield fact


CONVENTION = Convention(
    name="otel.langchain",
    content_switch="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
    facts=_facts,
    scopes=("opentelemetry.instrumentation.genai.langchain",),
    log_facts=genai.log_facts,
    carriers=Carriers(without_call=("output", "input")),
)
