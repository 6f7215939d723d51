"""CrewAI under OpenLLMetry: agents in agents, and the crew's transcript as the only place of what was said."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "opentelemetry.instrumentation.crewai.instrumentation"


def agent(t: Trace, role: str, start: float, end: float | None, parent: Span | None) -> Span:
    return t.span(f"{role}.agent", start, end, parent, attributes={
        "traceloop.span.kind": "agent", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": role, "crewai.agent.role": role,
    })  # fmt: skip


def task(t: Trace, role: str, start: float, end: float | None, parent: Span | None, output: str | None = None) -> Span:
    a = {"traceloop.span.kind": "task", "gen_ai.operation.name": "invoke_agent", "crewai.task.agent": role}
    return t.span(
        "Do it..task", start, end, parent, attributes=a | ({"traceloop.entity.output": output} if output else {})
    )


def output(role: str, *calls: tuple[str, dict[str, Any], str], given: str = "") -> str:
    """One task's output as Python writes it."""
    prompt = "it's \"this\" <OutputFormat.RAW: 'x'>" + (
        f"\n\nThis is the context you're working with:\n{given}" if given else ""
    )
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for i, (name, arguments, result) in enumerate(calls):
        call = {"id": f"{role}-{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "content": result, "tool_call_id": f"{role}-{i}", "name": name})
    return f"TaskOutput(description='d', raw='r', pydantic=Answer(a=1), agent={role!r}, output_format=<OutputFormat.RAW: 'raw'>, messages={messages!r}, tool_failures=[])"  # noqa: E501


def crew(t: Trace, *outputs: str) -> Span:
    a = {"gen_ai.operation.name": "invoke_agent", "crewai.crew.agents": json.dumps([{"role": "A"}, {"role": "B"}])}
    return t.span(
        "crewai.workflow",
        0,
        999,
        attributes=a | ({"crewai.crew.tasks_output": f"[{', '.join(outputs)}]"} if outputs else {}),
    )


def test_transcript_gives_the_calls_behind_nested_agents_in_their_order_and_the_refused_one() -> None:
    t = Trace(SCOPE)
    root = crew(
        t,
        output(
            "A",
            ("delegate_work_to_coworker", {"task": "1", "context": "c", "coworker": "b"}, "first answer"),
            ("ask_question_to_coworker", {"question": "2", "context": "", "coworker": "B"}, "second answer"),
            ("delegate_work_to_coworker", {"task": "3", "context": "", "coworker": "X"}, "\nError executing tool. coworker mentioned not found"),
            ("delegate_ticket", {"coworker": "B"}, "filed"),
        ),
        output("C"),
        output("B", given="Plan: all of it\nNext: b"),
    )  # fmt: skip
    a = agent(t, "A", 2, 90, task(t, "A", 1, 91, root, "Plan: all of it\nNext: b"))
    agent(t, "B", 10, 20, a)
    agent(t, "B", 30, 40, a)
    agent(t, "C", 93, 94, task(t, "C", 92, 95, root, "given nothing of A"))
    agent(t, "B", 102, 190, task(t, "B", 101, 191, root))

    assert relays(recovered(t)) == [
        'A -> X delegate explicit None {"task": "3", "context": ""} dropped',
        'A -> B delegate explicit None {"task": "1", "context": "c"}',
        'B -> A return explicit None {"message": "first answer"}',
        'A -> B delegate explicit None {"question": "2", "context": ""}',
        'B -> A return explicit None {"message": "second answer"}',
        'A -> B transfer inferred 10 {"message": "Plan: all of it\\nNext: b", "plan": "all of it", "next": "b"}',
    ]


def test_without_the_crew_s_span_agents_in_agents_are_delegations_whose_content_is_unrecorded() -> None:
    t = Trace(SCOPE)
    gone = crew(Trace(SCOPE))
    a = agent(t, "A", 2, 90, task(t, "A", 1, 91, gone))
    agent(t, "B", 10, 20, a)

    assert relays(recovered(t)) == [
        "A -> B delegate structural 9 unrecorded",
        "B -> A return structural None unrecorded",
    ]


def test_transcript_that_was_cut_says_nothing_and_breaks_nothing() -> None:
    t = Trace(SCOPE)
    whole = output("A", ("delegate_work_to_coworker", {"task": "1", "coworker": "B"}, "x"))
    root = crew(t, whole[:-60])
    a = agent(t, "A", 2, 90, task(t, "A", 1, 91, root))
    agent(t, "B", 10, None, a)

    assert relays(recovered(t)) == ["A -> B delegate structural 9 unrecorded"]


def test_a_crew_whose_task_quotes_what_another_crew_said_comes_from_it() -> None:
    t = Trace(SCOPE)
    flow = t.span("flow", 0, 999, scope="app")
    for at, role, text, raw in (
        (1, "A", "Count.", "There are twelve."),
        (50, "B", "Print: There are twelve.", "Printed."),
        (99, "C", "Tidy up, please.", "Tidy."),
    ):
        a = {"gen_ai.operation.name": "invoke_agent", "crewai.crew.agents": json.dumps([{"role": role}])}
        a["crewai.crew.tasks_output"] = f"[{output(role).replace(repr('r'), repr(raw))}]"
        inside = task(t, role, at + 1, at + 20, t.span("crewai.workflow", at, at + 21, flow, attributes=a), raw)
        inside.attributes["crewai.task.description"] = text  # type: ignore[index]
        agent(t, role, at + 2, at + 19, inside)

    assert relays(recovered(t)) == ['A -> B transfer inferred 30 {"message": "There are twelve."}']
