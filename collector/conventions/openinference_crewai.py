"""CrewAI as OpenInference's instrumentor shows it (openinference-instrumentation-crewai 1.x), by method wrappers or by CrewAI's events.

An agent at work on a task is an AGENT span with its role in `graph.node.id`; `graph.node.parent_id` is the order of declaration and means
nothing. A delegation is a TOOL span; by wrappers the coworker has no span of its own, by events it has one below. What a task was given of
earlier tasks is the `context` in its input, or the end of its prompt.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import crewai_reading as crewai
from collector.conventions import openinference_reading as openinference
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Message, ModelCall, Transcript, Visit, values
from collector.otlp.model import STATUS_ERROR, Attributes, Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    if kind == "AGENT":
        yield Visit(
            name=(reading.text(a, "graph.node.id") or span.name.split(".")[0]).strip(),
            input=_given(reading.content(a, "input.value")),
            output=_result(reading.content(a, "output.value")),
            heard=_told(a),
            quotes=True,
            named=True,
        )
    elif kind == "TOOL":
        yield crewai.tool(
            reading.text(a, "tool.name") or span.name.removesuffix(".run"),
            _arguments(reading.content(a, "input.value")),
            reading.content(a, "output.value"),
            agent=reading.text(a, "tool.agent_role").strip(),
            failed=span.status_code == STATUS_ERROR,
        )
    elif kind == "LLM":
        yield ModelCall(
            model=reading.model(a),
            usage=reading.usage(a),
            heard=openinference.flattened(a, "llm.input_messages"),
            said=openinference.flattened(a, "llm.output_messages") or _called(a.get("output.value")),
        )
    elif "crew_agents" in a:
        yield crewai.crew(a["crew_agents"])
        yield from _awaited(a.get("crew_tasks"))


def _awaited(tasks: object) -> Iterator[Transcript]:
    """Whose results each task was to be given, as far as the program says so: by wrappers with the descriptions of those tasks."""
    listed = reading.loads(tasks)
    rows = [t for t in listed if isinstance(t, dict)] if isinstance(listed, list) else []
    if not any(t.get("context") for t in rows):
        return
    agents: dict[str, list[str]] = {}
    for task in rows:
        agents.setdefault(str(task.get("description")), []).append(str(task.get("agent_role") or "").strip())
    for task in rows:  # all of them: the n-th of an agent is that agent's n-th run
        given = task.get("context")
        after = [a for text in given for a in agents.get(str(text), ())] if isinstance(given, list) else []
        yield Transcript(str(task.get("agent_role") or "").strip(), after=tuple(dict.fromkeys(after)))


def _arguments(inputs: Content | None) -> Content | None:
    """A call's arguments. Of old they stand in the call as it was read from the model's words, an object written as Python."""
    written = reading.mapping(inputs.value).get("calling") if inputs is not None else None
    if inputs is None or not isinstance(written, str):
        return inputs
    read = values.parse(written.partition(" arguments=")[2])
    return reading.part(inputs, read) if isinstance(read, dict) else inputs


def _given(inputs: Content | None) -> Content | None:
    """What the task was given of others: by wrappers an argument of the wrapped method, by events a part of the prompt."""
    if inputs is None:
        return None
    arguments = reading.mapping(inputs.value)
    if "context" in arguments or "agent" in arguments:
        given = reading.part(inputs, arguments.get("context") or "")
        return given if "context" in arguments or not given.truncated else None
    return inputs if values.is_redacted(inputs.value) else crewai.task_context(inputs.value, inputs.truncated)


def _told(attributes: Attributes) -> tuple[Message, ...] | None:
    """What the program said the task is: by wrappers it stands in the result; an agent without a crew is given it as its messages."""
    inputs = attributes.get("input.value")
    if isinstance(inputs, str) and inputs.startswith('{"messages":'):
        asked = reading.mapping(inputs).get("messages")
        return (Message("user", asked),) if isinstance(asked, str) else reading.messages(asked)
    outputs = attributes.get("output.value")
    task = (
        reading.mapping(outputs).get("description")
        if isinstance(outputs, str) and '"raw"' in outputs[:100_000]
        else None
    )
    return (Message("user", task),) if isinstance(task, str) else None


def _result(outputs: Content | None) -> Content | None:
    """The text of a task's result."""
    if outputs is None:
        return None
    raw = reading.mapping(outputs.value).get("raw") if '"raw"' in str(outputs.value)[:100_000] else None
    return reading.part(outputs, raw) if isinstance(raw, str) else outputs


def _called(output: object) -> tuple[Message, ...] | None:
    """By events a model's answer that calls tools stands as the bare list of calls."""
    calls = reading.loads(output)
    if isinstance(calls, list) and calls and all(isinstance(c, dict) and "function" in c for c in calls):
        return (Message("assistant", None, "", tuple(reading.call(c) for c in calls)),)
    return None


CONVENTION = Convention(
    name="openinference.crewai",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    shapes=(
        ("crew_key", ""),
        ("crew_agents", ""),
        ("tool.description_updated", ""),
        ("tool.agent_role", ""),
        ("agent.backstory", ""),
    ),
    facts=_facts,
    scopes=("openinference.instrumentation.crewai",),
    carriers=Carriers(beside=False, without_call=("output", "input")),
)
