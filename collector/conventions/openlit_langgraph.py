"""LangChain and LangGraph as OpenLIT shows them (openlit 1.4x).

Two instrumentors share the work: one gives every node an `invoke_agent` span, the other every run that it takes for an agent's, beside it and
with the calls of models and tools below; the parts of a ready-made agent (`model`, middleware) look like agents, too, and those of an agent that
a tool runs hang where they may. The program's graph is `invoke_workflow`. Objects stand as Python.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from collector.conventions import genai, reading
from collector.conventions import langgraph_reading as langgraph
from collector.conventions.base import Carriers, Convention
from collector.facts import Fact, Known, ToolCall, Transfer, Visit
from collector.otlp.model import Span

_UNNAMED = "default"  # what `create_agent` spans write where the program gave no name


def _facts(span: Span) -> Iterator[Fact]:
    kind = genai.operation(span)
    if kind == "invoke_workflow":
        name = reading.text(span.attributes, "gen_ai.workflow.name")
        if name:
            yield Visit(name=name, soft=True, wraps=True, asks=True)
    elif kind == "create_agent":
        name = genai.agent_name(span)
        yield Known((name,) if name and name != _UNNAMED else ())
    elif kind == "invoke_agent":
        yield from _run(span)
    else:
        for fact in genai.facts(span):
            yield _tool(fact) if isinstance(fact, ToolCall) else fact


def _run(span: Span) -> Iterator[Fact]:
    visit = genai.visit(span)
    if langgraph.Place(node=visit.name).internal:
        return
    written = langgraph.written(None, span.events)
    yield msgspec.structs.replace(
        visit,
        agent_id="",  # that of the run
        layer=span.scope.name.rpartition(".")[2],
        state=langgraph.state(written),
        soft=True,
        wraps=True,
    )
    for target, sent in langgraph.gotos(written):
        yield Transfer(target=target, mode="", content=None if sent else langgraph.state(written), weak=True)


def _tool(call: ToolCall) -> ToolCall:
    return langgraph.tool_fact(
        call.name, langgraph.Place(), call.arguments, call.result, call_id=call.call_id, failed=call.failed
    )


CONVENTION = Convention(
    name="openlit.langgraph",
    content_switch="openlit.init(capture_message_content=True)",
    facts=_facts,
    scopes=("openlit.instrumentation.langgraph", "openlit.instrumentation.langchain"),
    carriers=Carriers(without_call=("envelope", "state", "output"), with_call=("envelope", "state")),
)
