"""smolagents under OpenInference: managed agents without tool spans, templates, additional arguments, unnamed managers, look-alikes."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "openinference.instrumentation.smolagents"


def run(t: Trace, name: str, start: float, end: float, parent: Span | None, task: str, args: Any = None, output: str = "", **more: Any) -> Span:  # fmt: skip
    a: dict[str, Any] = {
        "openinference.span.kind": "AGENT",
        "input.value": json.dumps({"task": task, "additional_args": args}),
    }
    return t.span(f"{name}.run", start, end, parent, attributes=a | {"output.value": output} | more)


def managed(name: str, task: str) -> str:
    return f"You're a helpful agent named '{name}'.\n---\nTask:\n{task}\n---\nYou're helping your manager: ### 1. Outcome:\n"


def step(t: Trace, start: float, end: float, parent: Span) -> Span:
    span = t.span("Step 1", start, end, parent, openinference__span__kind="CHAIN")
    t.span(
        "M.generate",
        start,
        start + 1,
        span,
        openinference__span__kind="LLM",
        llm__output_messages__0__message__content="Thought: x",
    )
    return span


def test_managed_agents_three_deep_carry_their_task_without_the_template_and_the_arguments_beside_it() -> None:
    t = Trace(SCOPE)
    a = run(t, "chef", 0, 99, None, "Cook", output="Served.", **{"smolagents.managed_agents.0.name": "souschef"})
    b = run(
        t,
        "souschef",
        10,
        80,
        step(t, 5, 90, a),
        managed("souschef", "Chop\n---\nfinely"),
        {"food": ["leek"], "salt": None},
        "Chopped.",
    )
    run(t, "aide", 20, 60, step(t, 15, 70, b), managed("aide", "Wash. Goal: clean"), None, "Washed.")

    assert relays(recovered(t)) == [
        'chef -> souschef delegate structural 4 {"task": "Chop\\n---\\nfinely", "food": ["leek"], "salt": null}',
        'souschef -> aide delegate structural 4 {"task": "Wash. Goal: clean"}',
        'aide -> souschef return structural None {"message": "Washed."}',
        'souschef -> chef return structural None {"message": "Chopped."}',
    ]


def test_tool_named_like_a_handoff_is_plain() -> None:
    t = Trace(SCOPE)
    a = run(t, "solo", 0, 99, None, "Work")
    t.span("SimpleTool", 10, 12, step(t, 5, 20, a), attributes={
        "openinference.span.kind": "TOOL", "tool.name": "handoff_to_claims",
        "input.value": json.dumps({"args": [], "kwargs": {"task": "t", "agent_name": "claims"}}),
    })  # fmt: skip

    assert relays(recovered(t)) == []


def test_agents_of_a_manager_without_a_name_do_not_hand_to_each_other() -> None:
    t = Trace(SCOPE)
    a = run(t, "CodeAgent", 0, 99, None, "Work")
    run(t, "first", 10, 20, step(t, 5, 30, a), managed("first", "t"))
    run(t, "second", 50, 60, step(t, 40, 70, a), managed("second", "t"))

    assert relays(recovered(t)) == []


def test_hidden_input_is_unrecorded() -> None:
    t = Trace(SCOPE)
    a = run(t, "chef", 0, 99, None, "Cook")
    b = run(
        t, "aide", 10, 20, step(t, 5, 30, a), "x", **{"input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    )
    assert b.attributes["input.value"] == "__REDACTED__"

    assert relays(recovered(t)) == [
        "chef -> aide delegate structural 4 unrecorded redacted",
        "aide -> chef return structural None unrecorded redacted",
    ]


def test_opentelemetry_s_own_instrumentation_has_the_task_in_the_first_message() -> None:
    t = Trace("opentelemetry.instrumentation.genai.smolagents")
    boss = t.agent("boss", 0, 90)
    text = (
        "You're a helpful agent named 'aide'.\n---\nTask:\nCount\nthem.\n---\nYou're helping your manager.\n"
        "You have been provided with these additional arguments, that you can access directly:\n{'n': 0, 'of': []}."
    )
    heard = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])
    t.agent("aide", 10, 50, boss, attributes={"gen_ai.input.messages": heard})

    assert relays(recovered(t))[0] == 'boss -> aide delegate structural 10 {"task": "Count\\nthem.", "n": 0, "of": []}'


def test_of_old_a_managed_agent_s_name_stands_in_its_task_alone() -> None:
    t = Trace("openinference.instrumentation.smolagents")
    kind = {"openinference.span.kind": "AGENT"}
    boss = t.span("ToolCallingAgent.run", 0, 90, attributes={**kind, "input.value": json.dumps({"task": "Count."})})

    def managed(name: str, start: int, end: int, parent: Span) -> Span:
        text = f"You're a helpful agent named '{name}'.\n---\nTask:\nCount them.\n---\nYou're helping."
        return t.span(
            "CodeAgent.run", start, end, parent, attributes={**kind, "input.value": json.dumps({"task": text})}
        )

    managed("aide", 20, 40, managed("clerk", 10, 50, boss))

    result = recovered(t)
    assert [a["agent_id"] for a in result.document["agents"]] == ["clerk", "aide"]
    assert relays(result)[0] == 'clerk -> aide delegate structural 10 {"task": "Count them."}'
