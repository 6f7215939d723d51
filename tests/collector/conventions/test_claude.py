"""Claude Code and claude-agent-sdk: sub-agents without spans of their own, natively, under OpenInference and under Logfire."""

from __future__ import annotations

import json
from typing import Any

from collector.otlp.model import STATUS_ERROR, Event, Span
from tests.collector.spans import Trace, recovered, relays

OPENINFERENCE = "openinference.instrumentation.claude_agent_sdk"


def native_tool(
    t: Trace,
    start: float,
    end: float,
    parent: Span,
    name: str,
    subagent: str = "",
    events: tuple[Event, ...] = (),
    **more: Any,
) -> Span:
    a = {"tool_name": name, "span.type": "tool"} | ({"subagent_type": subagent} if subagent else {})
    return t.span("claude_code.tool", start, end, parent, events=events, attributes=a, **more)


def request(t: Trace, start: float, end: float, parent: Span) -> None:
    t.span(
        "claude_code.llm_request",
        start,
        end,
        parent,
        attributes={"model": "claude-x", "input_tokens": 10, "output_tokens": 1},
    )


def body(**attributes: str) -> tuple[Event, ...]:
    return (Event("tool.output", 0, attributes),)


def test_native_sub_agents_are_the_tool_s_spans_three_deep_with_the_requests_below_them() -> None:
    t = Trace("com.anthropic.claude_code.tracing", attributes={})
    main = t.span("claude_code.interaction", 0, 99, session__id="s")
    request(t, 1, 5, main)
    review = native_tool(
        t,
        10,
        80,
        main,
        "Task",
        "code-reviewer",
        body(input='{"description": "d", "prompt": "Review: all"}', output="Fine."),
    )
    request(t, 12, 15, review)
    native_tool(t, 20, 30, review, "Bash")
    deep = native_tool(t, 40, 60, review, "Agent", "Explore 2")
    request(t, 41, 50, deep)
    native_tool(t, 90, 95, main, "transfer_to_reviewer")

    result = recovered(t)
    assert relays(result) == [
        'claude_code -> code-reviewer delegate explicit None {"description": "d", "prompt": "Review: all"}',
        "code-reviewer -> Explore 2 delegate explicit None unrecorded",
        "Explore 2 -> code-reviewer return explicit None unrecorded",
        'code-reviewer -> claude_code return explicit None {"message": "Fine."}',
    ]
    assert {turn["agent_id"]: turn["tokens"] for turn in result.document["turns"]} == {
        "claude_code": 11, "code-reviewer": 11, "Explore 2": 11,
    }  # fmt: skip


def test_native_tool_that_fails_runs_no_sub_agent() -> None:
    t = Trace()
    main = t.span("claude_code.interaction", 0, 99)
    request(t, 1, 5, main)
    native_tool(t, 10, 11, main, "Task", "planner", status=STATUS_ERROR)

    assert relays(recovered(t)) == ["claude_code -> planner delegate explicit None unrecorded dropped"]


def sdk_tool(t: Trace, name: str, start: float, end: float, parent: Span, given: Any, answer: Any = None) -> Span:
    a = {
        "openinference.span.kind": "TOOL",
        "tool.name": name,
        "tool.id": f"id-{start}",
        "input.value": json.dumps(given),
    }
    return t.span(
        name, start, end, parent, attributes=a | ({"output.value": json.dumps(answer)} if answer is not None else {})
    )


def test_openinference_names_the_sub_agent_by_its_type_and_not_by_the_tool() -> None:
    t = Trace(OPENINFERENCE)
    main = t.span("ClaudeAgentSDK.query", 0, 99, openinference__span__kind="AGENT", input__value="Go")
    task = sdk_tool(
        t,
        "Task",
        10,
        80,
        main,
        {"description": "d", "prompt": "p", "subagent_type": "Prüfer 1"},
        [{"type": "text", "text": "Gut."}],
    )
    sub = t.span("ClaudeAgentSDK.Task", 12, 70, task, openinference__span__kind="AGENT", agent__name="Task")
    sdk_tool(t, "Read", 20, 30, sub, {"file_path": "a"}, "b")
    sdk_tool(t, "Agent", 85, 90, main, {"prompt": '{"goal": "g"}'})

    result = recovered(t)
    assert relays(result) == [
        'ClaudeAgentSDK -> Prüfer 1 delegate explicit None {"description": "d", "prompt": "p"}',
        'Prüfer 1 -> ClaudeAgentSDK return explicit None {"message": "Gut."}',
        'ClaudeAgentSDK -> general-purpose delegate explicit None {"goal": "g"}',
        "general-purpose -> ClaudeAgentSDK return explicit None unrecorded",
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["ClaudeAgentSDK", "Prüfer 1", "general-purpose"]


def test_openinference_run_without_sub_agents_hands_nothing_over() -> None:
    t = Trace(OPENINFERENCE)
    main = t.span("ClaudeAgentSDK.query", 0, 99, openinference__span__kind="AGENT")
    sdk_tool(t, "delegate", 10, 12, main, {"prompt": "p", "subagent_type": "x"}, "y")

    assert relays(recovered(t)) == []


def test_logfire_writes_the_same_tool_in_genai_s_names() -> None:
    t = Trace("logfire.claude_agent_sdk")
    main = t.span("invoke_agent", 0, 99, gen_ai__operation__name="invoke_agent")
    t.span("chat", 1, 5, main, attributes={"gen_ai.operation.name": "chat", "gen_ai.usage.partial.input_tokens": 3})
    t.tool("Agent", 10, 80, main, {"prompt": "p", "subagent_type": "tester"}, "Tested.")
    t.tool("Bash", 82, 84, main, {"command": "ls"}, "a")

    assert relays(recovered(t)) == [
        'claude_code -> tester delegate explicit None {"message": "p"}',
        'tester -> claude_code return explicit None {"message": "Tested."}',
    ]
