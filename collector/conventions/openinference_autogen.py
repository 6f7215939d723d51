"""autogen-agentchat as OpenInference's instrumentor shows it (openinference-instrumentation-autogen-agentchat 0.x).

AGENT `<agent>.on_messages_stream` lies inside the native `invoke_agent`, TOOL `<agent>.<tool>` around the native `execute_tool`.
`graph.node.parent_id` is who spoke last. The handing-over tool takes no arguments: what it passes is its result. What an agent was given
is a list of messages written as Python calls.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from collector.conventions import openinference_reading as openinference
from collector.conventions import reading
from collector.conventions.autogen_reading import MANAGER
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, Known, ToolCall, Visit, values
from collector.otlp.model import STATUS_ERROR, Span

_NOBODY = ("start", "user", "")


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    if kind == "AGENT":
        name = reading.text(a, "agent.name", "graph.node.id") or span.name.partition(".")[0]
        before = reading.text(a, "graph.node.parent_id")
        yield Visit(
            name=name,
            input=reading.content(a, "input.value"),
            output=reading.content(a, "output.value"),
            came_from="" if before in _NOBODY or before == name else before,
            named=True,
            one_way=True,
            broadcast=True,
        )
    elif kind == "TOOL":
        yield ToolCall(
            name=reading.text(a, "tool.name") or span.name.rpartition(".")[2],
            arguments=reading.content(a, "tool.parameters", "input.value"),
            result=reading.content(a, "output.value"),
            failed=span.status_code == STATUS_ERROR,
        )
    elif kind == "LLM":
        yield openinference.model_call(a)
    elif "participant_names" in a:
        if span.name.startswith("MagenticOne"):
            yield Visit(name=MANAGER, named=True, leads=True)
        yield Known(reading.strings(a["participant_names"]))


_CONTENT = re.compile(r"\bcontent=(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.S)


def last_message(value: Any) -> Any:
    """The text of the last of the messages that an agent was given (they are written as Python calls); the value itself where it is none."""
    given = reading.mapping(value).get("messages")
    last = given[-1] if isinstance(given, list) and given else None
    if not isinstance(last, str) or not last.startswith("id="):
        return value
    found = _CONTENT.search(last)
    if found is None:
        return value
    try:
        return values.plain(ast.literal_eval(found.group("text")))
    except (ValueError, SyntaxError, MemoryError):
        return value


CONVENTION = Convention(
    name="openinference.autogen-agentchat",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    shapes=(("participant_names", ""),),
    facts=_facts,
    scopes=("openinference.instrumentation.autogen_agentchat",),
    carriers=Carriers(
        arguments=False,
        beside=False,
        with_call=("result", "envelope"),
        without_call=("envelope", "input"),
        unwrap=last_message,
    ),
)
