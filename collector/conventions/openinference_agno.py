"""Agno as OpenInference's instrumentor, and Agno's own tracing, show it (openinference-instrumentation-agno 1.x).

Agents and teams are AGENT spans with `agent.name`; `graph.node.id` is new in every run. A team's leader gives work to a member by a tool
whose span holds the time of the member's span, its sibling: the two are paired by the member's name or id. After a team in a team, what its
caller does next hangs under it, though it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import agno_reading as agno
from collector.conventions import openinference_reading as openinference
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Visit
from collector.otlp.model import STATUS_ERROR, Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    if kind == "AGENT":
        given = reading.content(a, "input.value")
        own_id = reading.text(a, "agno.agent.id", "agno.team.id")
        name = reading.text(a, "agent.name", "graph.node.name")
        yield Visit(
            name=name or own_id,
            agent_id=own_id,
            aliases=(own_id,) if own_id and own_id != name else (),
            input=Content(agno.task(given.value), given.truncated) if given is not None else None,
            output=reading.content(a, "output.value"),
            leaks=True,
            named=bool(name) and name not in ("Agent", "Team"),
        )
    elif kind == "LLM":
        yield openinference.model_call(a)
    elif kind == "TOOL":
        yield agno.tool(
            reading.text(a, "tool.name") or span.name,
            reading.content(a, "tool.parameters", "input.value"),
            reading.content(a, "output.value"),
            call_id=reading.text(a, "tool.id", "tool_call.id"),
            failed=span.status_code == STATUS_ERROR,
        )


CONVENTION = Convention(
    name="openinference.agno",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    shapes=(
        ("agno.agent.id", ""),
        ("agno.team.id", ""),
    ),
    facts=_facts,
    scopes=("openinference.instrumentation.agno",),
    carriers=Carriers(beside=False, without_call=("output", "input")),
)
