"""LlamaIndex as OpenInference's instrumentor shows it (openinference-instrumentation-llama-index 4.x).

An agent has no span: a workflow's steps stand side by side (`setup_agent`, `run_agent_step`, `call_tool`, ...), and the event that a step was
given says, at its end, whose turn it is: `current_agent_name='X'` in a Python repr. From there on the steps are that agent's, until another is
named. A tool's arguments are `kwargs` beside the workflow's own context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collector.conventions import llama_index_reading as llama_index
from collector.conventions import openinference_reading as openinference
from collector.conventions import reading
from collector.conventions.base import Carriers, Convention
from collector.facts import Content, Fact, ModelCall, Visit, values
from collector.otlp.model import Span

_STEPS = (".setup_agent", ".run_agent_step")
_TURN = re.compile(r"""current_agent_name=(?P<name>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\)\s*\Z""")


def _facts(span: Span) -> Iterator[Fact]:
    a = span.attributes
    kind = a.get("openinference.span.kind")
    if kind == "LLM":
        heard = openinference.flattened(a, "llm.input_messages")
        said = openinference.flattened(a, "llm.output_messages")
        if heard is not None or said is not None:
            yield ModelCall(model=reading.model(a), usage=reading.usage(a), heard=heard, said=said)
    elif kind == "TOOL":
        given = reading.content(a, "input.value")
        yield llama_index.tool(reading.text(a, "tool.name"), _arguments(given), reading.content(a, "output.value"))
    elif span.name.endswith(_STEPS):
        event = reading.entries(a.get("input.value")).get("ev")
        turn = _TURN.search(event) if isinstance(event, str) else None
        if turn is not None:
            name = values.parse(f"[{turn.group('name')}]")
            yield Visit(name=str(name[0]) if isinstance(name, list) else "", named=True, steps=True)


def _arguments(given: Content | None) -> Content | None:
    """What the tool was called with, without the workflow's context."""
    call = reading.mapping(given.value) if given is not None else {}
    passed = call.get("kwargs")
    if given is None or not isinstance(passed, dict):
        return given
    own = {k: v for k, v in passed.items() if not (isinstance(v, str) and v.startswith("<workflows.context"))}
    return reading.part(given, own)


CONVENTION = Convention(
    name="openinference.llama-index",
    content_switch="unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the other OPENINFERENCE_HIDE_* variables",
    shapes=(("input.value", "<workflows.context"),),
    facts=_facts,
    scopes=("openinference.instrumentation.llama_index",),
    carriers=Carriers(without_call=("output", "input")),
)
