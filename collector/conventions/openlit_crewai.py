"""CrewAI as OpenLIT shows it (openlit 1.4x).

An agent at work on a task is an `invoke_agent` span with a name; CrewAI's own steps (`generate_plan`, `route_by_answer_type`) have that operation
too, and none. A delegation is a tool span with the coworker's work below it, but no span of the coworker's. What a task was given of earlier tasks
stands in the prompt of its model's call alone, which is of the scope of the model's client.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import crewai_reading as crewai
from collector.conventions import genai, reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, ToolCall, Visit
from collector.otlp.model import Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    if genai.operation(span) == "invoke_agent" and not reading.text(a, "gen_ai.agent.name"):
        return
    for fact in genai.facts(span):
        if isinstance(fact, Visit):
            yield msgspec.structs.replace(fact, named=True)
        elif isinstance(fact, ToolCall):
            yield crewai.tool(fact.name, fact.arguments, fact.result, call_id=fact.call_id, failed=fact.failed)
        else:
            yield fact
    if "gen_ai.crewai.crew.agents" in a:
        yield crewai.crew(a["gen_ai.crewai.crew.agents"])


CONVENTION = Convention(
    name="openlit.crewai",
    content_switch="openlit.init(capture_message_content=True)",
    shapes=(("gen_ai.crewai.crew.agents", ""),),
    facts=_facts,
    scopes=("openlit.instrumentation.crewai",),
    carriers=Carriers(beside=False, without_call=("output", "input")),
)
