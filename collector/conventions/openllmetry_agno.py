"""Agno as OpenLLMetry shows it (opentelemetry-instrumentation-agno 0.5x to 0.6x).

`<agent>.agent` spans carry `gen_ai.agent.name`, `<team>.team` spans are of kind workflow and carry `agno.team.name`: the team's leader. A tool
is `<function>.tool`. A member's span stands under the team's, beside the tool that called it. There are no model spans.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import agno_reading as agno
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Visit
from collector.otlp.model import STATUS_ERROR, Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("traceloop.span.kind")
    if kind == "tool":
        yield agno.tool(
            reading.text(a, "gen_ai.tool.name", "traceloop.entity.name") or span.name.removesuffix(".tool"),
            reading.content(a, "traceloop.entity.input"),
            reading.content(a, "traceloop.entity.output"),
            failed=span.status_code == STATUS_ERROR,
        )
    elif kind == "agent" or (kind == "workflow" and (span.name.endswith(".team") or "agno.team.name" in a)):
        given = reading.content(a, "traceloop.entity.input")
        yield Visit(
            name=reading.text(a, "gen_ai.agent.name", "agno.team.name") or span.name.rpartition(".")[0],
            input=Content(agno.task(given.value), given.truncated) if given is not None else None,
            output=reading.content(a, "traceloop.entity.output"),
            model=reading.model(a),
            usage=reading.usage(a),
            named="gen_ai.agent.name" in a or "agno.team.name" in a,
        )


CONVENTION = Convention(
    name="openllmetry.agno",
    content_switch="TRACELOOP_TRACE_CONTENT=true",
    shapes=(("gen_ai.system", "agno"),),
    facts=_facts,
    scopes=("opentelemetry.instrumentation.agno",),
    carriers=Carriers(beside=False, without_call=("output", "input")),
)
