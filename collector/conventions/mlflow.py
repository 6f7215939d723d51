"""MLflow's tracing: what its autologging records of openai-agents, LangChain and LangGraph, and functions traced by hand (mlflow 3.x).

What a span is stands in `mlflow.spanType`, its content in `mlflow.spanInputs` and `mlflow.spanOutputs`, all as JSON. Of LangGraph a run's metadata
tells the rest (see `langgraph_reading`). Of openai-agents an agent's span lists its `handoffs`; the root and the runner's call are AGENT, too, and a
handoff is a span that is given one end and answers the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from collector.conventions import langgraph_reading as langgraph
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, Message, ModelCall, ToolCall, Transfer, Visit
from collector.otlp.model import STATUS_ERROR, Attributes, Span

_MODELS = ("CHAT_MODEL", "LLM")
_RUNNER = "mlflow.openai.agent_run_root"


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = reading.loads(a.get("mlflow.spanType"))
    inputs, outputs = _content(a, "mlflow.spanInputs"), _content(a, "mlflow.spanOutputs")
    metadata = reading.entries(a.get("metadata"))
    at = langgraph.place(metadata)
    by_langchain = "ls_integration" in metadata or bool(at.node)
    failed = span.status_code == STATUS_ERROR and not langgraph.is_control_flow(span.events)
    if kind in _MODELS:
        if at.node != "__start__":
            yield ModelCall(
                model=str(reading.loads(a.get("mlflow.llm.model")) or ""),
                agent=at.agent,
                usage=reading.usage(
                    reading.mapping(a.get("mlflow.chat.tokenUsage")), ("input_tokens",), ("output_tokens",)
                ),
                heard=reading.messages(inputs.value) if inputs is not None else None,
                said=_said(outputs),
            )
    elif kind == "TOOL" and by_langchain:
        yield langgraph.tool_fact(span.name, at, inputs, outputs, failed=failed, told=span.events)
    elif kind == "TOOL":
        yield ToolCall(name=span.name, arguments=inputs, result=outputs, failed=failed)
    elif by_langchain:
        yield from langgraph.run_facts(span.name, at, inputs, langgraph.written(outputs, span.events))
    elif span.name == "Handoff" and "from_agent" in (ends := _ends(inputs, outputs)):
        yield Transfer(source=ends["from_agent"], target=ends.get("to_agent", ""))
    elif kind == "AGENT" and "handoffs" in a:
        yield Visit(name=span.name, named=True, by_tool=True, peers=reading.strings(reading.loads(a["handoffs"])))
    elif kind == "AGENT" and _RUNNER not in a:
        yield Visit(name=span.name, input=inputs, output=outputs, wraps=True)


def _content(attributes: Attributes, key: str) -> Content | None:
    """A content; null, or an empty text, stands where there is none."""
    found = reading.content(attributes, key)
    value = reading.loads(found.value) if found is not None else None
    return reading.part(found, value) if found is not None and value not in (None, "") else None


def _ends(inputs: Content | None, outputs: Content | None) -> dict[str, str]:
    told = [reading.mapping(c.value) for c in (inputs, outputs) if c is not None]
    return {k: v for part in told for k, v in part.items() if isinstance(v, str)}


def _said(outputs: Content | None) -> tuple[Message, ...] | None:
    if outputs is None:
        return None
    whole = langgraph.generated(outputs.value) or reading.answered(outputs.value)
    return whole or reading.messages(outputs.value)


CONVENTION = Convention(
    name="mlflow",
    content_switch="mlflow.tracing.configure() without span_processors",
    shapes=(("mlflow.spanType", ""),),
    facts=_facts,
    scopes=("mlflow",),
    carriers=Carriers(without_call=("envelope", "state", "output", "input"), with_call=("envelope", "state")),
)
