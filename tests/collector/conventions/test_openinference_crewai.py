"""CrewAI under OpenInference: delegations with and without a span of the coworker's, task context, refusals, look-alikes, content off."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import STATUS_ERROR, Span
from tests.collector.spans import Trace, recovered, relays

WRAPPERS = "openinference.instrumentation.crewai"
EVENTS = "openinference.instrumentation.crewai._event_listener"
PROMPT = "Do it.\n\nThis is the expected criteria for your final answer: x."
DELEGATE = "Delegate work to coworker"
MARK = "\n\nThis is the context you're working with:\n"


def task(
    t: Trace, role: str, start: float, end: float, parent: Span | None, context: Any = "", raw: str | None = None
) -> Span:
    """An agent at work on a task, by method wrappers."""
    a: dict[str, Any] = {"openinference.span.kind": "AGENT", "graph.node.id": role, "graph.node.parent_id": "Nobody"}
    if context is not None:
        a["input.value"] = (
            context
            if context == "__REDACTED__"
            else json.dumps({"agent": {"role": role}, "context": context, "tools": []})
        )
    if raw is not None:
        a["output.value"] = json.dumps({"description": "d", "raw": raw, "agent": role, "messages": []})
    return t.span(f"{role}.task._execute_core", start, end, parent, attributes=a)


def work(
    t: Trace, role: str, start: float, end: float, parent: Span | None, prompt: str = PROMPT, output: str | None = None
) -> Span:
    """An agent at work on a task, by events."""
    a = {"openinference.span.kind": "AGENT", "graph.node.id": role, "input.value": prompt}
    if output is not None:
        a["output.value"] = output
    return t.span(f"{role}.task.execute", start, end, parent, attributes=a)


def ask(
    t: Trace,
    start: float,
    end: float,
    parent: Span,
    arguments: Any,
    result: str = "",
    tool: str = DELEGATE,
    **more: Any,
) -> Span:
    a = {"openinference.span.kind": "TOOL", "tool.name": tool, "output.value": result}
    a["input.value"] = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return t.span(f"{tool}.run", start, end, parent, attributes=a, **more)


def test_coworker_without_a_span_of_its_own_is_the_delegation_s_span_and_takes_what_stands_below_it() -> None:
    t = Trace(WRAPPERS)
    crew = t.span(
        "Crew.kickoff", 0, 99, crew_agents=json.dumps([{"role": "Šéf"}, {"role": "Lékař 1"}, {"role": "Lékař 12"}])
    )
    a = task(t, "Šéf", 1, 90, crew)
    d = ask(t, 10, 60, a, {"task": "Check", "context": '{"age": 0, "notes": ""}', "coworker": "lékař 12"}, "Healthy.")
    inner = ask(
        t,
        20,
        40,
        d,
        {"question": "Sure?", "context": "c", "coworker": '["Lékař 1"]'},
        "Yes.",
        "Ask question to coworker",
    )
    ask(t, 22, 25, inner, {"q": 1}, "found", "lookup")

    result = recovered(t)
    assert relays(result) == [
        'Šéf -> Lékař 12 delegate explicit None {"task": "Check", "age": 0, "notes": ""}',
        'Lékař 12 -> Lékař 1 delegate explicit None {"question": "Sure?", "context": "c"}',
        'Lékař 1 -> Lékař 12 return explicit None {"message": "Yes."}',
        'Lékař 12 -> Šéf return explicit None {"message": "Healthy."}',
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["Šéf", "Lékař 12", "Lékař 1"]


def test_refused_delegations_are_dropped_and_a_tool_that_begins_like_one_is_plain() -> None:
    t = Trace(WRAPPERS)
    crew = t.span("Crew.kickoff", 0, 99, crew_agents=json.dumps([{"role": "A"}, {"role": "B"}]))
    a = task(t, "A", 1, 90, crew)
    ask(
        t,
        10,
        12,
        a,
        {"task": "t", "context": "", "coworker": "Operator"},
        "\nError executing tool. coworker mentioned not found",
    )
    ask(t, 20, 21, a, {"task": "t", "coworker": "B"}, status=STATUS_ERROR)
    ask(t, 30, 31, a, {"task": "t", "coworker": "B"}, "done", "Delegate ticket to archive")
    task(t, "B", 92, 95, crew, "")

    assert relays(recovered(t)) == [
        'A -> Operator delegate explicit None {"task": "t", "context": ""} dropped',
        'A -> B delegate explicit None {"task": "t"} dropped',
    ]


def test_task_context_joins_tasks_by_whose_words_it_holds() -> None:
    t = Trace(WRAPPERS)
    crew = t.span("Crew.kickoff", 0, 999)
    task(t, "one", 1, 10, crew, "", "Name: Ada Lovelace\nAge: 36")
    task(t, "two", 20, 40, crew, "", "nothing of the first")
    task(t, "three", 21, 50, crew, "Name: Ada Lovelace\nAge: 36", '{"k": [1, 2, 3], "l": null}')
    task(t, "four", 60, 70, crew, 'nothing of the first\n\n----------\n\n{"k": [1, 2, 3], "l": null}', "the end of it")

    assert relays(recovered(t)) == [
        'one -> three transfer inferred 11 {"message": "Name: Ada Lovelace\\nAge: 36", "name": "Ada Lovelace", "age": "36"}',
        'two -> four transfer inferred 20 {"message": "nothing of the first"}',
        'three -> four transfer inferred 10 {"k": [1, 2, 3], "l": null}',
    ]


def test_context_of_all_earlier_tasks_is_a_chain() -> None:
    t = Trace(WRAPPERS)
    crew = t.span("Crew.kickoff", 0, 999)
    task(t, "one", 1, 10, crew, "", "the first output")
    task(t, "two", 20, 30, crew, "the first output", "the second output")
    task(t, "three", 40, 50, crew, "the first output\n\n----------\n\nthe second output", "end")

    assert [line.split(" transfer")[0] for line in relays(recovered(t))] == ["one -> two", "two -> three"]


def test_by_events_the_coworker_has_a_span_and_the_context_is_the_end_of_the_prompt() -> None:
    t = Trace(EVENTS)
    crew = t.span("Crew.kickoff", 0, 99)
    a = work(t, "A", 1, 50, crew, output="Goal: the plan\nLimits: none")
    d = ask(t, 10, 40, a, {"task": "t", "context": "c", "coworker": "B"}, "answer of b", "delegate_work_to_coworker")
    work(t, "B", 12, 39, d, PROMPT + MARK + "c", "answer of b")
    work(t, "C", 60, 90, crew, PROMPT + MARK + "Goal: the plan\nLimits: none")

    assert relays(recovered(t)) == [
        'A -> B delegate explicit 2 {"task": "t", "context": "c"}',
        'B -> A return explicit 1 {"message": "answer of b"}',
        'A -> C transfer inferred 10 {"message": "Goal: the plan\\nLimits: none", "goal": "the plan", "limits": "none"}',
    ]


def test_hidden_content_leaves_the_order_of_tasks_and_what_stands_below_a_tool() -> None:
    t = Trace(EVENTS)
    crew = t.span("Crew.kickoff", 0, 99)
    a = work(t, "A", 1, 50, crew, "__REDACTED__", "__REDACTED__")
    d = ask(t, 10, 40, a, "__REDACTED__", "__REDACTED__", "delegate_work_to_coworker")
    work(t, "B", 12, 39, d, "__REDACTED__", "__REDACTED__")
    work(t, "C", 60, 90, crew, "__REDACTED__", "__REDACTED__")

    assert relays(recovered(t)) == [
        "A -> B delegate structural 2 unrecorded redacted",
        "B -> A return structural 1 unrecorded redacted",
        "A -> C transfer inferred 10 unrecorded redacted",
    ]


def test_single_agent_with_a_tool_named_for_delegation_hands_nothing_over() -> None:
    t = Trace(WRAPPERS)
    crew = t.span("Crew.kickoff", 0, 99)
    a = task(t, "Solo", 1, 90, crew, "", "done, all of it")
    ask(t, 10, 12, a, {"task": "t", "coworker": "Bob"}, "sent", "assign_work_to_coworker")

    assert relays(recovered(t)) == []


def test_a_task_that_its_program_tells_of_another_s_result_comes_from_it_though_its_context_is_empty() -> None:
    t = Trace("openinference.instrumentation.crewai")
    flow = t.span("flow", 0, 90)

    def crew(name: str, at: float, description: str, raw: str) -> None:
        result = json.dumps({"description": description, "raw": raw, "agent": name})
        named = {
            "openinference.span.kind": "AGENT",
            "graph.node.id": name,
            "input.value": json.dumps({"agent": {}, "context": ""}),
            "output.value": result,
        }
        t.span(f"{name}.task._execute_core", at, at + 10, flow, attributes=named)

    crew("finder", 1, "find it", "there are 42 ships in the harbour")
    crew("writer", 20, "write of this: there are 42 ships in the harbour", "it is written")
    crew("keeper", 40, "clear the table", "it is clear")

    assert relays(recovered(t)) == [
        'finder -> writer transfer inferred 9 {"message": "there are 42 ships in the harbour"}'
    ]


def test_agents_without_a_crew_are_told_by_the_program_what_another_said() -> None:
    t = Trace(WRAPPERS)
    flow = t.span("Flow.kickoff", 0, 900)

    def alone(role: str, start: float, end: float, asked: str, raw: str) -> None:
        a = {"openinference.span.kind": "AGENT", "graph.node.id": role}
        a |= {"input.value": json.dumps({"messages": asked}), "output.value": json.dumps({"raw": raw})}
        t.span(f"{role}.kickoff", start, end, flow, attributes=a)

    alone("Finder", 1, 20, "Find.", "There are twelve of them.")
    alone("Teller", 30, 50, "Tell: There are twelve of them.", "Told.")
    alone("Keeper", 60, 80, "Tidy up, please.", "Tidy.")

    assert relays(recovered(t)) == ['Finder -> Teller transfer inferred 10 {"message": "There are twelve of them."}']


def test_with_content_off_a_crew_still_says_whose_results_its_tasks_were_to_be_given() -> None:
    t = Trace(WRAPPERS)
    rows = [
        {"description": "a", "agent_role": "One", "context": None},
        {"description": "b", "agent_role": "Two", "context": None},
        {"description": "c", "agent_role": "Three", "context": ["b"]},
        {"description": "d", "agent_role": "Four", "context": ["a", "c"]},
    ]
    named = {"crew_key": "k", "crew_agents": "[]", "crew_tasks": json.dumps(rows)}
    root = t.span("Crew.kickoff", 0, 99, attributes={"openinference.span.kind": "CHAIN", **named})
    task(t, "One", 1, 20, root, "__REDACTED__")
    task(t, "Two", 1, 22, root, "__REDACTED__")
    task(t, "Three", 30, 40, root, "__REDACTED__")
    task(t, "Four", 50, 60, root, "__REDACTED__")

    assert relays(recovered(t)) == [
        "Two -> Three transfer inferred 8 unrecorded redacted",
        "One -> Four transfer inferred 30 unrecorded redacted",
        "Three -> Four transfer inferred 10 unrecorded redacted",
    ]


def test_of_old_a_call_stands_as_it_was_read_from_the_model_s_words() -> None:
    t = Trace(WRAPPERS)
    boss = task(t, "Boss", 0, 90, None)
    said = {"task": "Count", "context": '{"page": 3, "note": null}', "coworker": "Clerk"}
    call = {"tool_string": "Action: ...", "tool": "CrewStructuredTool(...)"}
    ask(t, 10, 50, boss, {**call, "calling": f"tool_name='{DELEGATE}' arguments={said!r}"}, "Twelve.")

    assert relays(recovered(t)) == [
        'Boss -> Clerk delegate explicit None {"task": "Count", "page": 3, "note": null}',
        'Clerk -> Boss return explicit None {"message": "Twelve."}',
    ]
