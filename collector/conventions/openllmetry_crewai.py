"""CrewAI as OpenLLMetry shows it (opentelemetry-instrumentation-crewai 0.4x to 0.6x).

Workflow, task and agent spans all say `invoke_agent`; only `traceloop.span.kind` agent is an agent. There are no tool spans: a delegation is an
agent span inside another's. What was said stands in one place alone, the crew's `crewai.crew.tasks_output`: a Python repr of its task outputs, with
the messages of each task's agent (not of those it delegated to).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from collector.conventions import crewai_reading as crewai
from collector.conventions import genai, reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Message, ToolCall, Transcript, Visit, values
from collector.otlp.model import Span

_ENUM = re.compile(r"output_format=<[^>]{0,80}>")
_MAX_REPR = 2_000_000


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("traceloop.span.kind")
    if kind == "agent":
        yield Visit(
            name=reading.text(a, "crewai.agent.role", "gen_ai.agent.name").strip() or genai.agent_name(span),
            agent_id=reading.text(a, "gen_ai.agent.id"),
            named="crewai.agent.role" in a,
            model=reading.model(a),
            usage=reading.usage(a),
        )
    elif kind == "task":
        yield Visit(
            name=reading.text(a, "crewai.task.agent").strip(),
            output=reading.content(a, "traceloop.entity.output"),
            heard=(Message("user", task),) if (task := reading.text(a, "crewai.task.description")) else None,
            soft=True,
            wraps=True,
            named=True,
        )
    elif "crewai.crew.agents" in a or "crewai.crew.tasks_output" in a:
        yield crewai.crew(a.get("crewai.crew.agents"))
        yield from _transcripts(a.get("crewai.crew.tasks_output"))
    elif genai.operation(span) in ("chat", "completion"):
        yield genai.model_call(span)


def _transcripts(text: Any) -> Iterator[Transcript]:
    """What each task's agent was given of earlier tasks, and its calls with their answers."""
    for place, task in enumerate(_task_outputs(text)):
        answers = {m.get("tool_call_id"): m.get("content") for m in task.messages if m.get("role") == "tool"}
        calls: list[ToolCall] = []
        for message in task.messages:
            for raw in message.get("tool_calls") or ():
                if isinstance(raw, dict):
                    call = reading.call(raw)
                    result = Content(answers[call.id]) if call.id in answers else None
                    calls.append(crewai.tool(call.name, call.arguments, result, call_id=call.id, runs_target=False))
        prompt = next((m.get("content") for m in task.messages if m.get("role") == "user"), None)
        given = crewai.task_context(prompt)
        if given is None and not place:
            given = Content("")  # before a crew's first task there is none to be given anything of
        yield Transcript(task.agent, given, tuple(calls), task.result)


class _TaskOutput:
    """One task's output: its agent's role, messages and result."""

    __slots__ = ("agent", "messages", "result")

    def __init__(self, fields: dict[str, Any]) -> None:
        self.agent = str(fields.get("agent") or "").strip()
        self.messages = [m for m in fields.get("messages") or () if isinstance(m, dict)]
        self.result = Content(fields["raw"]) if isinstance(fields.get("raw"), str) else None


def _task_outputs(text: Any) -> list[_TaskOutput]:
    """Read `[TaskOutput(...), ...]`. What cannot be read (cut by a limit, an object's repr) is left out."""
    if not isinstance(text, str) or len(text) > _MAX_REPR:
        return []
    try:
        tree = ast.parse(_ENUM.sub("output_format=None", text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    out = []
    for node in tree.elts if isinstance(tree, ast.List) else []:
        if isinstance(node, ast.Call):
            fields = {}
            for keyword in node.keywords:
                if keyword.arg in ("agent", "messages", "raw"):
                    try:
                        fields[keyword.arg] = values.plain(ast.literal_eval(keyword.value))
                    except ValueError:
                        continue
            out.append(_TaskOutput(fields))
    return out


CONVENTION = Convention(
    name="openllmetry.crewai",
    content_switch="content is always on",
    shapes=(
        ("gen_ai.provider.name", "crewai"),
        ("gen_ai.system", "crewai"),
        ("crewai.agent.backstory", ""),
        ("crewai.task.description", ""),
    ),
    facts=_facts,
    scopes=("opentelemetry.instrumentation.crewai",),
    carriers=Carriers(beside=False, without_call=("output", "input"), delegate_input=False),
)
