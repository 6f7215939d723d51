"""AutoGen's own spans (autogen-core and autogen-agentchat 0.6 and later), with its runtime's spans or without them.

Agents are `invoke_agent` spans of scope `autogen-core`; tools have a span, models none. With the runtime's spans a run is many traces, and
every link means that its target sent the message. A message's text stands in `message` of `process` spans, JSON in JSON: a delivery to
everybody, so it is content for a change of agent that is seen elsewhere. The handing-over tool takes no arguments: what is passed is the
message. Without the runtime's spans each run is a root of its own; the team's id in `gen_ai.agent.id` is what joins them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from collector.conventions import reading
from collector.conventions.autogen_reading import MANAGER
from collector.conventions.base import Carriers, Convention, every_cause
from collector.conventions.genai import facts as genai_facts
from collector.facts import Content, Envelope, Fact, Visit
from collector.otlp.model import Span

_TEAM = re.compile(r"^.*_(?P<team>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/(?P=team)$", re.I)


def _facts(span: Span) -> Iterator[Fact]:
    for fact in genai_facts(span):
        if isinstance(fact, Visit):
            found = _TEAM.match(fact.agent_id)
            team = found.group("team") if found else ""
            yield msgspec.structs.replace(
                fact,
                named=True,
                one_way=True,
                broadcast=True,
                team="" if span.parent_span_id else team,
                circle=team,
            )
        else:
            yield fact


def _runtime_facts(span: Span) -> Iterator[Fact]:
    message = span.attributes.get("message")
    if span.attributes.get("messaging.operation") != "process" or not isinstance(message, str) or len(message) <= 2:
        return
    read = reading.mapping(message)
    response = read.get("response")
    task = read.get("messages")
    led = response is not None or task is not None  # an answer, or the start: a turn of whoever leads the group
    if led and str(span.attributes.get("messaging.destination", "")).startswith(f"{MANAGER}_"):
        yield Visit(name=MANAGER, named=True, leads=True)
    if isinstance(task, list) and task and isinstance(task[-1], dict) and "content" in task[-1]:
        yield Envelope(_text(task[-1].get("source")), "", Content(_said(task[-1]["content"])))
    body = response.get("chat_message") if isinstance(response, dict) else read.get("message")
    if isinstance(body, dict) and "content" in body and not str(body.get("type", "")).endswith("Event"):
        yield Envelope(_text(body.get("source")), _text(body.get("target")), Content(_said(body["content"])))


def _said(content: Any) -> Any:
    """The text of a message of text and images."""
    if isinstance(content, list):
        return "\n".join(part for part in content if isinstance(part, str))
    return content


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


CARRIERS = Carriers(
    arguments=False,
    beside=False,
    with_call=("result", "envelope"),
    without_call=("envelope", "output"),
    delegate_input=True,
)

CONVENTION = Convention(
    name="autogen",
    content_switch="content travels in the runtime's spans: unset AUTOGEN_DISABLE_RUNTIME_TRACING and give the runtime a tracer provider",
    shapes=(("gen_ai.system", "autogen"),),
    facts=_facts,
    scopes=("autogen-core", "autogen-agentchat"),
    causes=every_cause,
    carriers=CARRIERS,
)
RUNTIME = Convention(
    name="autogen.runtime",
    content_switch="content is always on",
    shapes=(("recipient_agent_class", ""),),
    facts=_runtime_facts,
    scopes=("autogen ",),
    causes=every_cause,
    carriers=CARRIERS,
)
