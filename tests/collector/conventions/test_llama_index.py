"""LlamaIndex: agents that only a workflow's steps tell, the handoff tool, and its refusals."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "openinference.instrumentation.llama_index"


def step(t: Trace, name: str, at: float, parent: Span, agent: str = "") -> Span:
    """A step of the workflow; `agent`: whose turn its event says it is."""
    event = f"AgentSetup(input=[...], current_agent_name={agent!r})"
    given = json.dumps({"ctx": "<workflows.context.context.Context object at 0x1>", "ev": event if agent else "X()"})
    named = {"openinference.span.kind": "CHAIN", "input.value": given}
    return t.span(f"AgentWorkflow.{name}", at, at + 8, parent, attributes=named)


def call(t: Trace, name: str, at: float, parent: Span, arguments: dict[str, Any], answer: str) -> Span:
    given = {"kwargs": {**arguments, "ctx": "<workflows.context.context.Context object at 0x1>"}}
    named = {
        "openinference.span.kind": "TOOL",
        "tool.name": name,
        "input.value": json.dumps(given),
        "output.value": json.dumps({"blocks": [{"text": answer}], "is_error": False}),
    }
    return t.span("FunctionTool.acall", at, at + 4, parent, attributes=named)


def turn(t: Trace, at: float, root: Span, agent: str) -> Span:
    step(t, "setup_agent", at, root, agent)
    step(t, "run_agent_step", at + 10, root, agent)
    return step(t, "call_tool", at + 20, root)


def workflow() -> tuple[Trace, Span]:
    t = Trace(SCOPE)
    return t, t.span("AgentWorkflow.run", 0, 200, attributes={"openinference.span.kind": "CHAIN"})


def test_a_run_lasts_from_the_step_that_names_its_agent_to_the_next_that_names_another() -> None:
    t, root = workflow()
    tool = turn(t, 1, root, "Kasse '1'")
    call(t, "transfer_to_depot", 22, tool, {"objekt": "Vase"}, "done")
    tool = turn(t, 31, root, "Kasse '1'")
    call(
        t, "handoff", 52, tool, {"to_agent": "Archiv", "reason": "Akte: 7"}, "Agent Archiv is now handling the request"
    )
    turn(t, 61, root, "Archiv")

    result = recovered(t)
    assert [a["agent_id"] for a in result.document["agents"]] == ["Kasse '1'", "Archiv"]
    assert relays(result) == ["Kasse '1' -> Archiv transfer explicit 5 " + json.dumps({"reason": "Akte: 7"})]


def test_a_refused_handoff_is_dropped() -> None:
    t, root = workflow()
    tool = turn(t, 1, root, "Kasse")
    call(
        t,
        "handoff",
        22,
        tool,
        {"to_agent": "Archiv", "reason": ""},
        "Agent Archiv not found. Please select a valid agent",
    )
    turn(t, 31, root, "Kasse")

    assert relays(recovered(t)) == ['Kasse -> Archiv transfer explicit None {"reason": ""} dropped']
