"""Google ADK, native (`gcp.vertex.agent`, schemas 1 and 2) and as OpenInference's instrumentor rewrites it.

Agents are `invoke_agent X` spans (schema 1 of old: `agent_run [X]`); workflow agents look alike and only stand around others. A transfer is
the tool `transfer_to_agent` (type TransferToAgentTool), whose argument names the target and nothing else: what goes along is what the
source says in the same answer. An AgentTool's call holds the callee's own spans. OpenInference turns `invoke_agent X` into a model's span.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import genai, reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, ModelCall, ToolCall, Visit
from collector.otlp.model import STATUS_ERROR, Attributes, Span

_TRANSFER = "transfer_to_agent"
_RUN = "agent_run ["


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    operation = genai.operation(span)
    name = _agent(span)
    if name and (
        operation == "invoke_agent"
        or a.get("openinference.span.kind") == "AGENT"
        or span.name.startswith(("invoke_agent ", _RUN))
    ):
        yield Visit(name=name, wraps=True, named=True)
    if operation == "execute_tool" or span.name.startswith("execute_tool "):
        tool = _tool(span)
        if tool is not None:
            yield tool
    elif operation in ("generate_content", "chat") or span.name == "call_llm":
        yield _model(span)


def _agent(span: Span) -> str:
    if span.name.startswith(_RUN):
        return span.name.removeprefix(_RUN).removesuffix("]")
    return genai.agent_name(span)


def _tool(span: Span) -> ToolCall | None:
    a = span.attributes
    name = reading.text(a, "gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    if name.strip("() ") in ("merged", "merged tools"):
        return None  # a summary of calls that have spans of their own
    arguments = _kept(a, "gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "input.value")
    result = _kept(a, "gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "output.value")
    kind = reading.text(a, "gen_ai.tool.type")
    transfer = kind == "TransferToAgentTool" or (name == _TRANSFER and kind in ("", "function"))
    target = reading.argument(arguments, "agent_name") if transfer else ""
    return ToolCall(
        name=name,
        call_id=reading.text(a, "gen_ai.tool.call.id"),
        agent=reading.text(a, "gen_ai.agent.name"),
        arguments=arguments,
        result=result,
        target=target,
        mode="transfer" if transfer else "",
        certain=transfer,
        plain=not transfer,
        failed=span.status_code == STATUS_ERROR or "error.type" in a,
    )


def _kept(a: Attributes, current: str, old: str, other: str) -> Content | None:
    """A content, but for what schema 1 writes in its place where content is off, also for a call that has none."""
    return reading.content(a, current, old, other) if a.get(old) != "{}" else reading.content(a, current, other)


def _model(span: Span) -> ModelCall:
    a = span.attributes
    call = genai.model_call(span)
    heard, said = call.heard, call.said
    if heard is None and "gcp.vertex.agent.llm_request" in a:
        heard = reading.messages(reading.mapping(a["gcp.vertex.agent.llm_request"]).get("contents"))
    if said is None and "gcp.vertex.agent.llm_response" in a:
        body = reading.mapping(a["gcp.vertex.agent.llm_response"]).get("content")
        said = reading.messages([body]) if isinstance(body, dict) else None
    return ModelCall(call.model, call.agent, call.usage, heard, said)


def _answer(value: object) -> object:
    """A tool's result stands in `{"result": ...}`."""
    inner = reading.mapping(value)
    return inner["result"] if set(inner) == {"result"} else value


CONVENTION = Convention(
    name="google-adk",
    content_switch="OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (schema 1: ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true)",
    shapes=(
        ("gen_ai.system", "gcp.vertex.agent"),
        ("gen_ai.provider.name", "gcp.vertex.agent"),
        ("gcp.vertex.agent.invocation_id", ""),
        ("gcp.vertex.agent.event_id", ""),
    ),
    facts=_facts,
    scopes=("gcp.vertex.agent", "openinference.instrumentation.google_adk"),
    log_facts=genai.log_facts,
    carriers=Carriers(arguments=False, without_call=("output",), unwrap=_answer),
)
