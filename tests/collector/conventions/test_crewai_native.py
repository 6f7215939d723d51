"""CrewAI's own tracing: hashes for names, delegations with the coworker below, task context in prompts, cut content."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

PROMPT = "Do it.\n\nThis is the context you're working with:\n"
KEY = "0123456789abcdef0123456789abcdef"


def messages(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def agent(
    t: Trace,
    role: str,
    start: float,
    end: float,
    parent: Span,
    given: str | None = None,
    said: str | None = None,
    **more: Any,
) -> Span:
    a: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": KEY, "crewai.agent.role": role}
    if given is not None:
        a["gen_ai.input.messages"] = messages("user", PROMPT + given if given else "Do it.")
    if said is not None:
        a["gen_ai.output.messages"] = messages("assistant", said)
    return t.span("execute agent", start, end, parent, attributes=a | more)


def tool(
    t: Trace,
    start: float,
    end: float,
    parent: Span,
    arguments: Any,
    result: str,
    name: str = "delegate_work_to_coworker",
) -> Span:
    a = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.result": result}
    return t.span("call tool", start, end, parent, attributes=a | {"gen_ai.tool.call.arguments": json.dumps(arguments)})


def test_roles_are_names_and_a_delegation_is_the_agent_below_the_tool() -> None:
    t = Trace("crewai")
    crew = t.span("execute crew", 0, 99, gen_ai__operation__name="invoke_workflow")
    first = t.span("execute task", 1, 60, crew, gen_ai__operation__name="execute_task")
    a = agent(t, "Vedoucí", 2, 59, first, "", "Plan: the whole of it\nNext: go")
    d = tool(t, 10, 40, a, {"task": "t", "context": "c", "coworker": "agent č. 1"}, "answer")
    agent(t, "agent č. 1", 12, 39, d, "c", "answer")
    tool(t, 45, 46, a, {"task": "t", "coworker": "x"}, "noted", "note_for_coworker")
    second = t.span("execute task", 61, 98, crew, gen_ai__operation__name="execute_task")
    agent(t, "agent č. 11", 62, 97, second, "Plan: the whole of it\nNext: go", "Done.")

    result = recovered(t)
    assert relays(result) == [
        'Vedoucí -> agent č. 1 delegate explicit 2 {"task": "t", "context": "c"}',
        'agent č. 1 -> Vedoucí return explicit 1 {"message": "answer"}',
        'Vedoucí -> agent č. 11 transfer inferred 3 {"message": "Plan: the whole of it\\nNext: go", "plan": "the whole of it", "next": "go"}',
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["Vedoucí", "agent č. 1", "agent č. 11"]


def test_task_that_was_given_nothing_of_the_one_before_comes_from_nobody() -> None:
    t = Trace("crewai")
    crew = t.span("execute crew", 0, 99, gen_ai__operation__name="invoke_workflow")
    agent(t, "A", 2, 20, crew, "", "something long enough")
    agent(t, "B", 30, 60, crew, "", "another thing")

    assert relays(recovered(t)) == []


def test_answer_that_the_producer_cut_is_truncated() -> None:
    t = Trace("crewai")
    crew = t.span("execute crew", 0, 99, gen_ai__operation__name="invoke_workflow")
    agent(t, "A", 2, 20, crew, "", "something long enough", **{"gen_ai.output.messages.truncated": True})
    agent(t, "B", 30, 60, crew, "something long enough", "x")

    assert relays(recovered(t)) == ['A -> B transfer inferred 10 {"message": "something long enough"} truncated']
