"""Microsoft Agent Framework's own spans (agent-framework-core 1.x), and the same with OpenInference's keys (its processor rewrites them).

Agents are `invoke_agent` spans below `executor.process`; most executors are no agents, and an executor that only got a copy of a message
has no agent below it. An `edge_group.process` with a target, and a `message.send`, say where a message went; links mean who sent it. The
call that hands over has no tool span: it stands in the answer, empty, with what is passed beside it. Every tool span is a plain tool, or an
agent called like one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from collector.conventions import reading
from collector.conventions.base import Carriers, Convention, every_cause
from collector.conventions.genai import facts as genai_facts
from collector.conventions.genai import log_facts
from collector.facts import Fact, ToolCall, Transfer, Visit
from collector.otlp.model import Span

_RANDOM = re.compile(r"_[0-9a-f]{8}$")
"""What the framework appends to the id of a manager that the program gave none."""


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    if span.name.startswith("edge_group.process"):
        source, target = reading.text(a, "message.source_id"), reading.text(a, "message.target_id")
        if source and target and not source.startswith("internal:"):
            yield Transfer(source=source, target=target, weak=True)
        return
    if "gen_ai.operation.name" not in a:
        if "Orchestrator" in reading.text(a, "executor.type"):
            # A manager's turn, if a model is asked in it: by an agent, whose runs below are one, or by the manager itself.
            own = (_RANDOM.sub("", reading.text(a, "executor.id")),)
            yield Visit(aliases=own, by_span=True, soft=True, leads=True)
        return
    for fact in genai_facts(span):
        if isinstance(fact, ToolCall):
            yield msgspec.structs.replace(fact, plain=True)
        elif isinstance(fact, Visit):
            yield msgspec.structs.replace(fact, named=True)
        else:
            yield fact


CONVENTION = Convention(
    name="agent-framework",
    content_switch="ENABLE_SENSITIVE_DATA=true, and OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental for tool arguments",
    shapes=(
        ("executor.id", ""),
        ("edge_group.type", ""),
        ("gen_ai.provider.name", "microsoft.agent_framework"),
    ),
    facts=_facts,
    scopes=("agent_framework",),
    log_facts=log_facts,
    causes=every_cause,
    carriers=Carriers(arguments=False, without_call=("output", "input")),
)
