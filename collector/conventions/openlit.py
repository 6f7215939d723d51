"""Agent frameworks as OpenLIT shows them (openlit 1.4x, about twenty frameworks in one vocabulary).

The GenAI convention's names, with its own agent keys. What is its own: openai-agents' handoff is an `invoke_agent` span that names the
target, with the source in `gen_ai.agent.source`, and the real run follows it; task, turn, guardrail and custom spans are `invoke_agent`
too. Links lead from a run to the agent's creation: identity, no cause.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import crewai_reading as crewai
from collector.conventions import reading
from collector.conventions.base import Convention
from collector.conventions.genai import agent_name, operation
from collector.conventions.genai import facts as genai_facts
from collector.facts import Fact, Known, ModelCall, Transfer, Visit
from collector.otlp.model import Span

_OPENAI_AGENTS = ".openai_agents"


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    source = reading.text(a, "gen_ai.agent.source")
    if source:
        target = reading.text(a, "gen_ai.agent.target") or agent_name(span)
        yield Transfer(source=source, target=target)
        return
    if operation(span) == "invoke_agent" and not _is_agent(span):
        return
    for fact in genai_facts(span):
        if isinstance(fact, Visit):
            sdk = span.scope.name.endswith(_OPENAI_AGENTS)
            yield msgspec.structs.replace(fact, wraps=True, named=sdk, by_tool=sdk)
            listed = reading.strings(a.get("gen_ai.agent.handoffs"))
            if listed:
                yield Known(listed)
        else:
            yield fact
            if isinstance(fact, ModelCall) and (given := crewai.given_in(fact.heard)) is not None:
                yield Visit(input=given, quotes=True)  # of CrewAI's agent around it, whose span has no context


def _is_agent(span: Span) -> bool:
    """Steps of openai-agents (task, turn, guardrail, custom) have an agent's operation too; only its agents have an id."""
    a = span.attributes
    return bool(reading.text(a, "gen_ai.agent.name")) and (
        "gen_ai.agent.id" in a or not span.scope.name.endswith(_OPENAI_AGENTS)
    )


CONVENTION = Convention(
    name="openlit",
    content_switch="openlit.init(capture_message_content=True)",
    shapes=(("gen_ai.agent.source", ""),),
    facts=_facts,
    scopes=("openlit", "opentelemetry.instrumentation.openlit"),
)
