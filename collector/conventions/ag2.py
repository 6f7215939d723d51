"""AG2's own spans: the rewritten package (ag2 1.x) and the classic one (0.1x), both in scope `opentelemetry.instrumentation.ag2`.

`ag2.span.type` says what a span is. Agents call each other by tools: `delegate` names its target, a tool's result `Handoff(target=..)` does,
and agents as tools stand below their tool's span; every other tool is a plain one, whatever its name. Between agents of a hub each message
is an envelope, the root of a trace of its own, with the receiver's run below it: its id and the id of the envelope that it answers tell the
order, and a link `triggered_by` tells what sent it. A link `in_channel` is no cause.

In the classic package a manager's run stands around the runs of a group chat's speakers, and helpers of its own run tools and pick speakers:
who spoke comes from who spoke before. Its tools `transfer_to_<agent>_<n>` end in a number; one of the program's own that ends in another
agent's turn shows only by that: its arguments are what was passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from collector.conventions import ag2_reading as ag2
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.conventions.genai import facts as genai_facts
from collector.facts import Content, Envelope, Fact, Known, ModelCall, ToolCall, Visit
from collector.otlp.model import Link, Span

_AGENT_SPANS = ("agent", "llm", "tool")
_HANDOFF = re.compile(r"^Handoff\(target=(?P<quote>['\"])(?P<target>.+?)(?P=quote)")


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = reading.text(a, "ag2.span.type")
    if kind == "envelope":
        yield Envelope(id=reading.text(a, "ag2.network.envelope_id"), cause=reading.text(a, "ag2.network.causation_id"))
    elif kind == "agent_lifetime":
        name, agent_id = reading.text(a, "gen_ai.agent.name"), reading.text(a, "ag2.agent.id")
        if name:
            yield Known((name,), {agent_id: name} if agent_id else {})
    elif (not kind or kind in _AGENT_SPANS) and reading.text(a, "gen_ai.agent.name") not in ag2.HELPERS:
        for fact in genai_facts(span):
            if isinstance(fact, Visit):
                yield msgspec.structs.replace(
                    fact, named=True, wraps=True, executes=fact.name == ag2.EXECUTOR, said=ag2.said(fact.said)
                )
            elif isinstance(fact, ToolCall):
                yield _tool(fact, bool(a.get("ag2.tool.call.result.truncated")))
            elif isinstance(fact, ModelCall):
                yield msgspec.structs.replace(fact, said=ag2.said(fact.said))
            else:
                yield fact


def _tool(fact: ToolCall, cut: bool) -> ToolCall:
    result = fact.result
    if result is not None and cut:
        result = Content(result.value, True)
    if fact.name == "delegate" and fact.arguments is not None:
        given = reading.mapping(fact.arguments.value)
        target = str(given.get("target") or "").removeprefix("functions.")
        if target:
            passed = {k: v for k, v in given.items() if k not in ("target", "capability", "timeout")}
            arguments = Content(passed, fact.arguments.truncated)
            refused = result is not None and isinstance(result.value, str) and result.value.startswith("Error: ")
            return msgspec.structs.replace(
                fact, target=target, mode="delegate", certain=True, arguments=arguments, result=result,
                failed=fact.failed or refused,
            )  # fmt: skip
    handoff = _HANDOFF.match(result.value) if result is not None and isinstance(result.value, str) else None
    given = reading.mapping(result.value) if result is not None and handoff is None else {}
    target = (
        handoff.group("target") if handoff else ag2.handed_to(fact.name, result.value if result is not None else None)
    )
    if not target and set(given) == {"target", "reason"}:
        target = str(given["target"])
    if target:
        return msgspec.structs.replace(fact, target=target, mode="transfer", certain=True, result=None)
    return msgspec.structs.replace(fact, plain=True, result=result)


def _causes(_span: Span, link: Link) -> bool:
    return link.attributes.get("ag2.link.kind") == "triggered_by"


def _marks(span: Span) -> bool:
    return "ag2.span.type" in span.attributes


CONVENTION = Convention(
    name="ag2",
    content_switch="TelemetryMiddleware(capture_content=True)",
    facts=_facts,
    scopes=("opentelemetry.instrumentation.ag2",),
    marks=_marks,
    causes=_causes,
    carriers=Carriers(without_call=("asked", "output", "input")),
)
