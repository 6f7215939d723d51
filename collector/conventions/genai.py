"""OpenTelemetry's GenAI agent spans: `invoke_agent`, `execute_tool`, `chat` and kin, in every generation of names, and the drafts for handoffs.

What many mappers begin from, the fallback (`handmade.py`) among them.
Read: `gen_ai.operation.name`, agent, tool and usage attributes; content in attributes, span events, log records; the drafts'
`gen_ai.transfer.*`, `gen_ai.caller.*`, `gen_ai.agent.handoff.*` and `gen_ai.handoff.*`.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import openinference_reading as openinference
from collector.conventions import reading
from collector.facts import Fact, Known, Message, ModelCall, ToolCall, Transfer, Visit
from collector.otlp.model import KIND_CONSUMER, KIND_SERVER, STATUS_ERROR, Link, LogRecord, Span

_CHAT = frozenset({"chat", "generate_content", "text_completion", "completion"})
_KINDS = {"AGENT": "invoke_agent", "LLM": "chat", "TOOL": "execute_tool"}
_TRACELOOP = {
    "agent": "invoke_agent",
    "tool": "execute_tool",
    "handoff": "handoff",
    "workflow": "invoke_workflow",
    "task": "execute_task",
}
_NAMES = ("invoke_agent ", "create_agent ", "execute_tool ", "invoke_workflow ")


def operation(span: Span) -> str:
    """What the span is: the operation's own name, else what another vocabulary or the span's name says of it."""
    a = span.attributes
    stated = reading.text(a, "gen_ai.operation.name")
    if stated:
        return stated
    kind = _TRACELOOP.get(reading.text(a, "traceloop.span.kind")) or _KINDS.get(
        reading.text(a, "openinference.span.kind")
    )
    if kind:
        return kind
    return next((n.strip() for n in _NAMES if span.name.startswith(n)), "")


def facts(span: Span) -> Iterator[Fact]:
    """Facts of a span by the GenAI convention."""
    return of_operation(span, operation(span))


def of_operation(span: Span, kind: str) -> Iterator[Fact]:
    """The same for a span of which it is known what it is."""
    a = span.attributes
    if kind == "invoke_agent":
        yield visit(span)
        return
    source = reading.text(a, "gen_ai.agent.handoff.source.name", "gen_ai.handoff.from_agent")
    target = reading.text(a, "gen_ai.agent.handoff.target.name", "gen_ai.handoff.to_agent")
    if kind == "create_agent":
        name = agent_name(span)
        agent_id = reading.text(a, "gen_ai.agent.id")
        yield Known((name,) if name else (), {agent_id: name} if agent_id and name else {})
    elif kind in _CHAT:
        yield model_call(span)
    elif kind == "execute_tool":
        call = tool_call(span)
        drafted = reading.text(a, "gen_ai.transfer.target.name")
        if drafted:
            mode = "delegate" if a.get("gen_ai.transfer.mode") == "return_to_caller" else "transfer"
            call = ToolCall(
                name=call.name, call_id=call.call_id, agent=call.agent, arguments=call.arguments, result=call.result,
                target=drafted, mode=mode, certain=True, failed=call.failed,  # type: ignore[arg-type]
            )  # fmt: skip
        elif target:
            call = ToolCall(
                name=call.name, call_id=call.call_id, agent=source or call.agent, arguments=call.arguments, result=call.result,
                target=target, certain=True, failed=call.failed,
            )  # fmt: skip
        yield call
    elif source or target or kind in ("handoff", "agent_handoff"):
        yield Transfer(source=source, target=target, content=reading.content(a, "gen_ai.tool.call.arguments"))


def agent_name(span: Span) -> str:
    """The agent's name: an attribute's, else the one in the span's name."""
    a = span.attributes
    name = reading.text(a, "gen_ai.agent.name", "agent.name", "agent_name")
    if name:
        return name
    for prefix in ("invoke_agent ", "create_agent "):
        if span.name.startswith(prefix):
            return span.name.removeprefix(prefix).strip()
    return span.name.removesuffix(".agent") if span.name.endswith(".agent") else ""


def visit(span: Span) -> Visit:
    """An agent's run."""
    a = span.attributes
    heard, said = spoken(span)
    given = reading.content(a, "input.value", "traceloop.entity.input")
    if given is not None and reading.is_conversation(given.value):
        heard, given = heard if heard is not None else reading.messages(given.value), None
    return Visit(
        name=agent_name(span),
        agent_id=reading.text(a, "gen_ai.agent.id"),
        role=reading.text(a, "orbitrelay.agent.role", "gen_ai.agent.role"),
        input=given,
        output=reading.content(a, "output.value", "traceloop.entity.output"),
        heard=heard,
        said=said,
        model=reading.model(a),
        usage=reading.usage(a),
        called_by=reading.text(a, "gen_ai.caller.name") if a.get("gen_ai.caller.type", "agent") == "agent" else "",
        peers=reading.strings(a.get("gen_ai.agent.handoffs")),
    )


def model_call(span: Span) -> ModelCall:
    """A model's call."""
    heard, said = spoken(span)
    return ModelCall(
        reading.model(span.attributes),
        reading.text(span.attributes, "gen_ai.agent.name"),
        reading.usage(span.attributes),
        heard,
        said,
    )


def tool_call(span: Span) -> ToolCall:
    """A tool's run. Its arguments and result stand in attributes, or in span events."""
    a = span.attributes
    arguments = reading.content(
        a, "gen_ai.tool.call.arguments", "tool.parameters", "input.value", "traceloop.entity.input"
    )
    result = reading.content(a, "gen_ai.tool.call.result", "output.value", "traceloop.entity.output")
    for event in span.events:
        if event.name == "gen_ai.tool.message" and arguments is None:
            arguments = reading.content(event.attributes, "content", "gen_ai.tool.call.arguments")
        elif event.name == "gen_ai.choice" and result is None:
            result = reading.content(event.attributes, "message", "content")
        elif event.name == "gen_ai.client.inference.operation.details":
            arguments = arguments or reading.content(event.attributes, "gen_ai.tool.call.arguments")
            result = result or reading.content(event.attributes, "gen_ai.tool.call.result")
    return ToolCall(
        name=reading.text(a, "gen_ai.tool.name", "tool.name")
        or span.name.removeprefix("execute_tool ").removesuffix(".tool"),
        call_id=reading.text(a, "gen_ai.tool.call.id", "tool.id"),
        agent=reading.text(a, "gen_ai.agent.name"),
        arguments=arguments,
        result=result,
        failed=span.status_code == STATUS_ERROR,
    )


def spoken(span: Span) -> tuple[tuple[Message, ...] | None, tuple[Message, ...] | None]:
    """Messages heard and said, wherever the span has them."""
    a = span.attributes
    heard = reading.messages(a["gen_ai.input.messages"]) if "gen_ai.input.messages" in a else None
    said = reading.messages(a["gen_ai.output.messages"]) if "gen_ai.output.messages" in a else None
    if heard is None:
        heard = openinference.flattened(a, "llm.input_messages") or reading.prompts(a, "gen_ai.prompt", "user")
    if said is None:
        said = openinference.flattened(a, "llm.output_messages") or reading.prompts(a, "gen_ai.completion", "assistant")
    if span.events and (heard is None or said is None):
        in_events = reading.event_messages(span)
        heard, said = heard if heard is not None else in_events[0], said if said is not None else in_events[1]
    return heard, said


def log_facts(record: LogRecord) -> Iterator[Fact]:
    """Content in log records: `gen_ai.client.inference.operation.details` and the older per-message events."""
    a, body = record.attributes, record.body
    name = record.event_name or reading.text(a, "event.name")
    inside = body if isinstance(body, dict) else reading.mapping(body)
    if name == "gen_ai.client.inference.operation.details":
        both = {**inside, **a}
        heard = reading.messages(both["gen_ai.input.messages"]) if "gen_ai.input.messages" in both else None
        said = reading.messages(both["gen_ai.output.messages"]) if "gen_ai.output.messages" in both else None
        if heard is not None or said is not None:
            yield ModelCall(heard=heard, said=said)
        given, answer = (reading.content(both, f"gen_ai.tool.call.{part}") for part in ("arguments", "result"))
        if given is not None or answer is not None:
            yield ToolCall(arguments=given, result=answer)
    elif name == "gen_ai.choice":
        yield ModelCall(said=(reading.message({"role": "assistant", **inside}),))
    elif name in ("gen_ai.user.message", "gen_ai.system.message", "gen_ai.assistant.message", "gen_ai.tool.message"):
        yield ModelCall(heard=(reading.message({"role": name.split(".")[1], **inside}),))


def causes(span: Span, link: Link) -> bool:
    """A link is a cause by OpenTelemetry's own definition, but one span with many to other traces surveys them: it was called by none."""
    if link.trace_id == span.trace_id:
        return True
    received = not span.parent_span_id or span.kind in (KIND_SERVER, KIND_CONSUMER)
    return received and operation(span) != "create_agent" and len({k.trace_id for k in span.links}) == 1
