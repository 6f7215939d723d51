"""CrewAI's own event-driven tracing (crewai 1.x): `execute crew`, `execute task`, `execute agent`, `call tool`, `call llm`.

Spans speak GenAI, but `gen_ai.agent.name` is a hash; the role is the name (`crewai.agent.role`). A delegation is a `call tool` span with the
coworker's `execute agent` below it. What a task was given of earlier tasks is the end of its agent's prompt. Content that was cut carries
`<key>.truncated`. Crews exchange it with the vendor's platform; a program can give the session an exporter of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import crewai_reading as crewai
from collector.conventions import genai, reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Known, ModelCall, Visit
from collector.otlp.model import STATUS_ERROR, Attributes, Span


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    operation = a.get("gen_ai.operation.name")
    role = reading.text(a, "crewai.agent.role").strip()
    if operation == "invoke_agent":
        yield Visit(
            name=role or genai.agent_name(span),
            agent_id=reading.text(a, "gen_ai.agent.id"),
            input=_given(a),
            output=_answer(a),
            model=reading.model(a),
            quotes=True,
            named=bool(role),
        )
        key = reading.text(a, "gen_ai.agent.name")
        if role and key and key != role:
            yield Known((role,), {key: role})
    elif operation == "execute_tool":
        yield crewai.tool(
            reading.text(a, "gen_ai.tool.name"),
            reading.content(a, "gen_ai.tool.call.arguments"),
            _unquoted(reading.content(a, "gen_ai.tool.call.result")),
            agent=role,
            call_id=reading.text(a, "gen_ai.tool.call.id"),
            failed=span.status_code == STATUS_ERROR or "crewai.tool.failure.reason" in a,
        )
    elif operation == "chat":
        heard, said = genai.spoken(span)
        yield ModelCall(reading.model(a), "", reading.usage(a), heard, said)


def _unquoted(found: Content | None) -> Content | None:
    """A text that was written as a JSON string."""
    inner = reading.loads(found.value) if found is not None else None
    return reading.part(found, inner) if found is not None and isinstance(inner, str) else found


def _given(attributes: Attributes) -> Content | None:
    """What the task was given of others, at the end of the prompt."""
    heard = reading.messages(attributes["gen_ai.input.messages"]) if "gen_ai.input.messages" in attributes else None
    if not heard:
        return None
    cut = bool(attributes.get("gen_ai.input.messages.truncated")) or heard[-1].cut
    return crewai.task_context("\n".join(m.text for m in heard if m.text), cut)


def _answer(attributes: Attributes) -> Content | None:
    said = reading.messages(attributes["gen_ai.output.messages"]) if "gen_ai.output.messages" in attributes else None
    text = next((m.text for m in reversed(said or ()) if m.text is not None), None)
    return Content(text, bool(attributes.get("gen_ai.output.messages.truncated"))) if text is not None else None


def _marks(span: Span) -> bool:
    return "crewai.execution_uuid" in span.attributes and span.name in ("execute agent", "call tool", "call llm")


CONVENTION = Convention(
    name="crewai",
    content_switch="CREWAI_TRACING_ENABLED=true",
    facts=_facts,
    scopes=("crewai",),
    marks=_marks,
    carriers=Carriers(beside=False, without_call=("output", "input")),
)
