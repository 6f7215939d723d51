"""The GenAI convention: drafts for handoffs, older names, content in events and logs, tokens on two levels."""

from __future__ import annotations

import json

import pytest

from collector.otlp.model import Event, LogRecord
from tests.collector.spans import Trace, recovered, relays


@pytest.mark.parametrize(
    ("attributes", "line"),
    [
        (
            {"gen_ai.transfer.target.name": "b", "gen_ai.transfer.mode": "pass_control"},
            'a -> b transfer explicit 3 {"goal": "g"}',
        ),
        (
            {"gen_ai.agent.handoff.source.name": "a", "gen_ai.agent.handoff.target.name": "b"},
            'a -> b transfer explicit 3 {"goal": "g"}',
        ),
    ],
)
def test_draft_attributes_on_a_tool_name_the_target_whatever_the_tool_is_called(
    attributes: dict[str, str], line: str
) -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.tool("weiter", 8, 9, t.agent("a", 0, 10, root), arguments={"goal": "g"}, attributes=attributes)
    t.agent("b", 12, 30, root)

    assert relays(recovered(t)) == [line]


def test_draft_mode_return_to_caller_is_a_delegation_with_the_target_below_the_tool() -> None:
    t = Trace()
    tool = t.tool(
        "ask",
        8,
        29,
        t.agent("a", 0, 40),
        arguments={"goal": "g"},
        result="r",
        attributes={"gen_ai.transfer.target.name": "b", "gen_ai.transfer.mode": "return_to_caller"},
    )
    t.agent("b", 12, 25, tool)

    assert relays(recovered(t)) == [
        'a -> b delegate explicit 4 {"goal": "g"}',
        'b -> a return explicit 4 {"message": "r"}',
    ]


def test_older_handoff_span_names_both_ends() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    a = t.agent("a", 0, 10, root)
    t.span(
        "agent_handoff",
        8,
        9,
        a,
        attributes={
            "gen_ai.operation.name": "agent_handoff",
            "gen_ai.handoff.from_agent": "a",
            "gen_ai.handoff.to_agent": "b",
        },
    )
    t.chat(1, 7, a, said="take it", calls=[("transfer_to_b", {})])
    t.agent("b", 12, 30, root)

    assert relays(recovered(t)) == ['a -> b transfer explicit 3 {"message": "take it"}']


def test_caller_on_a_client_span_is_a_delegation() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.agent("a", 0, 10, root)
    t.agent("b", 12, 30, root, attributes={"gen_ai.caller.type": "agent", "gen_ai.caller.name": "a"})

    assert relays(recovered(t)) == ["a -> b delegate explicit 12 unrecorded", "b -> a return explicit None unrecorded"]


def test_client_span_and_the_remote_agents_own_span_are_one_visit() -> None:
    t = Trace()
    client = t.agent("b", 10, 50, t.agent("a", 0, 60), kind=3)
    t.agent("b", 12, 45, t.span("POST /", 11, 46, client, kind=2))

    result = recovered(t)
    assert [r.split(" structural")[0] for r in relays(result)] == ["a -> b delegate", "b -> a return"]
    assert result.visits == 2


def test_call_in_the_models_answer_alone_is_a_request() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.chat(1, 9, t.agent("Front Desk", 0, 10, root), calls=[("transfer_to_refund_agent", {"order": 7})])
    t.agent("Refund Agent", 12, 30, root)

    assert relays(recovered(t)) == ['Front Desk -> Refund Agent transfer explicit 3 {"order": 7}']


def test_content_in_older_span_events_is_read() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    a = t.agent("a", 0, 10, root)
    choice = {"message": json.dumps({"role": "assistant", "content": '{"goal": "g"}'}), "finish_reason": "stop"}
    t.span("chat m", 1, 9, a, gen_ai__operation__name="chat", events=(Event("gen_ai.choice", 0, choice),))
    t.agent("b", 12, 30, root)

    assert relays(recovered(t)) == ['a -> b transfer inferred 2 {"goal": "g"}']


def test_content_that_travels_only_in_log_records_is_read() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    chat = t.span("chat m", 1, 9, t.agent("a", 0, 10, root), gen_ai__operation__name="chat")
    said = [{"role": "assistant", "parts": [{"type": "text", "content": '{"goal": "g"}'}]}]
    t.logs.append(
        LogRecord(
            chat.trace_id,
            chat.span_id,
            "gen_ai.client.inference.operation.details",
            attributes={"gen_ai.output.messages": said},
            scope=t.scope,
            resource=t.resource,
        )
    )
    t.agent("b", 12, 30, root)

    assert relays(recovered(t)) == ['a -> b transfer inferred 2 {"goal": "g"}']


def test_tokens_count_once_whichever_level_gives_them() -> None:
    t = Trace()
    boss = t.agent("boss", 0, 90, attributes={"llm.token_count.prompt": 300, "llm.token_count.completion": 30})
    t.span(
        "chat",
        1,
        9,
        boss,
        attributes={"openinference.span.kind": "LLM", "llm.token_count.prompt": 100, "llm.token_count.completion": 10},
    )
    aide = t.agent("aide", 10, 40, boss, attributes={"gen_ai.usage.input_tokens": 120})
    outer = t.span(
        "chat",
        21,
        39,
        aide,
        attributes={"openinference.span.kind": "LLM", "llm.token_count.prompt": 120, "llm.token_count.completion": 15},
    )
    t.chat(22, 38, outer, attributes={"gen_ai.usage.input_tokens": 120, "gen_ai.usage.output_tokens": 15})
    t.agent("scribe", 50, 60, boss, attributes={"gen_ai.usage.input_tokens": 50, "gen_ai.usage.output_tokens": 7})

    turns = recovered(t).document["turns"]
    assert {x["agent_id"]: x.get("usage") for x in turns} == {
        "boss": {"input_tokens": 100, "output_tokens": 10},
        "aide": {"input_tokens": 120, "output_tokens": 15},
        "scribe": {"input_tokens": 50, "output_tokens": 7},
    }


def test_spans_of_no_agent_give_no_visit() -> None:
    t = Trace("http.client")
    root = t.span("GET /", 0, 50)
    t.span("SELECT", 1, 2, root)
    t.span("retrieve", 3, 4, root, attributes={"openinference.span.kind": "RETRIEVER"})
    t.chat(5, 9, root, said="an answer without any agent")

    assert (relays(recovered(t)), recovered(t).visits) == ([], 0)


def test_of_messages_that_were_cut_what_is_whole_counts_and_the_handoff_says_so() -> None:
    t = Trace()
    root = t.span("invoke_workflow w", 0, 90)
    a = t.agent("a", 1, 20, root)
    spoken = [
        {
            "role": "assistant",
            "parts": [
                {"type": "tool_call", "id": "c", "name": "transfer_to_b", "arguments": {"goal": "go", "limits": ["x"]}}
            ],
        }
    ]
    text = json.dumps(spoken)
    t.span(
        "chat m",
        2,
        9,
        a,
        attributes={"gen_ai.operation.name": "chat", "gen_ai.output.messages": text[: text.index('["x"') + 3]},
    )
    t.agent("b", 30, 60, root)

    handoff = recovered(t).document["handoffs"][0]
    assert (handoff["target_agent"], handoff["truncated"]) == ("b", True)
    assert [(f["name"], f["value"]) for f in handoff["fields"]] == [("goal", "go"), ("limits", ["x"])]
