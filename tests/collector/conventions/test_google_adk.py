"""Google ADK: transfers, agent tools, workflow agents, old and new schema, content off, look-alikes."""

from __future__ import annotations

import json

from collector.otlp.model import Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "gcp.vertex.agent"


def transfer(t: Trace, parent: Span, at: float, target: str | None, source: str = "") -> Span:
    arguments = None if target is None else {"agent_name": target}
    return t.tool(
        "transfer_to_agent", at, at + 1, parent, arguments=arguments, result={"result": None},
        attributes={"gen_ai.tool.type": "TransferToAgentTool", "gen_ai.agent.name": source},
    )  # fmt: skip


def test_transfer_carries_what_the_source_says_beside_the_call() -> None:
    t = Trace(SCOPE)
    root = t.span("invoke_workflow Empfang", 0, 90, gen_ai__operation__name="invoke_workflow")
    a = t.agent("Empfang", 1, 20, root)
    t.chat(
        2,
        9,
        a,
        heard="Hilfe",
        said='{"goal": "Dach prüfen", "fotos": []}',
        calls=[("transfer_to_agent", {"agent_name": "Gutachter_2"})],
    )
    transfer(t, a, 10, "Gutachter_2", "Empfang")
    b = t.agent("Gutachter_2", 22, 60, root)
    t.chat(23, 30, b, heard="Hilfe", said="Fertig.")

    assert relays(recovered(t)) == ['Empfang -> Gutachter_2 transfer explicit 11 {"goal": "Dach prüfen", "fotos": []}']


def test_transfer_without_a_word_carried_nothing_and_was_recorded() -> None:
    t = Trace(SCOPE)
    root = t.span("invoke_workflow a", 0, 90, gen_ai__operation__name="invoke_workflow")
    a = t.agent("a", 1, 20, root)
    t.chat(2, 9, a, calls=[("transfer_to_agent", {"agent_name": "b"})])
    transfer(t, a, 10, "b")
    t.agent("b", 22, 60, root)

    assert relays(recovered(t)) == ["a -> b transfer explicit 11 {}"]


def test_transfer_with_content_off_goes_to_the_next_agent_and_is_unrecorded() -> None:
    t = Trace(SCOPE)
    root = t.span("invoke_workflow a", 0, 90, gen_ai__operation__name="invoke_workflow")
    a = t.agent("a", 1, 20, root)
    transfer(t, a, 10, None)
    t.agent("b", 22, 60, root)

    assert relays(recovered(t)) == ["a -> b transfer inferred 11 unrecorded"]


def test_older_schema_nests_the_target_in_the_source_and_has_content_of_its_own() -> None:
    t = Trace(SCOPE)
    root = t.span("invocation", 0, 90)
    a = t.span("agent_run [a]", 1, 80, root)
    llm = {
        "gcp.vertex.agent.llm_request": json.dumps({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
        "gcp.vertex.agent.llm_response": json.dumps(
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {"text": '{"goal": "g"}'},
                        {"function_call": {"name": "transfer_to_agent", "args": {"agent_name": "b"}}},
                    ],
                }
            }
        ),
    }
    t.span("call_llm", 2, 9, a, attributes=llm)
    t.span(
        "execute_tool transfer_to_agent",
        10,
        11,
        a,
        attributes={"gcp.vertex.agent.tool_call_args": '{"agent_name": "b"}'},
    )
    t.span("agent_run [b]", 15, 70, a)

    assert relays(recovered(t)) == ['a -> b transfer explicit 4 {"goal": "g"}']


def test_agent_tool_is_a_delegation_with_its_arguments_and_its_answer() -> None:
    t = Trace(SCOPE)
    a = t.agent("a", 0, 90)
    tool = t.tool(
        "b",
        10,
        50,
        a,
        arguments={"request": '{"goal": "g"}'},
        result={"result": "done"},
        gen_ai__tool__type="AgentTool",
    )
    t.agent("b", 12, 45, t.span("invoke_workflow b", 11, 46, tool, gen_ai__operation__name="invoke_workflow"))

    assert relays(recovered(t)) == [
        'a -> b delegate structural 2 {"goal": "g"}',
        'b -> a return structural 5 {"message": "done"}',
    ]


def test_workflow_agents_are_no_agents_and_pass_the_words_of_those_before() -> None:
    t = Trace(SCOPE)
    flow = t.agent("flow", 0, 90, t.span("invoke_workflow flow", 0, 91, gen_ai__operation__name="invoke_workflow"))
    t.chat(2, 9, t.agent("intake", 1, 10, flow), said='{"site": 17}')
    side = t.agent("side_by_side", 11, 60, flow)
    t.chat(13, 29, t.agent("roof", 12, 30, side), said='{"ok": true}')
    t.chat(14, 39, t.agent("roof_cellar", 13, 40, side), said='{"wet": 81}')
    t.chat(62, 69, t.agent("summary", 61, 70, flow), said="fine")

    result = recovered(t)
    assert relays(result) == [
        'intake -> roof transfer inferred 2 {"site": 17}',
        'intake -> roof_cellar transfer inferred 3 {"site": 17}',
        'roof -> summary transfer inferred 31 {"ok": true}',
        'roof_cellar -> summary transfer inferred 21 {"wet": 81}',
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["intake", "roof", "roof_cellar", "summary"]


def test_tool_of_the_application_named_like_a_transfer_is_none() -> None:
    t = Trace(SCOPE)
    a = t.agent("solo", 0, 90, t.span("invoke_workflow solo", 0, 91, gen_ai__operation__name="invoke_workflow"))
    t.tool("transfer_to_archive", 10, 11, a, arguments={"agent_name": "Frau Ito"}, gen_ai__tool__type="FunctionTool")
    t.tool("(merged tools)", 12, 13, a)
    t.chat(20, 30, a, said="done")

    assert relays(recovered(t)) == []


def test_openinference_doubles_the_agent_span_and_it_stays_one_visit() -> None:
    t = Trace("openinference.instrumentation.google_adk")
    flow = t.span("invoke_workflow a", 0, 91, attributes={"openinference.span.kind": "CHAIN"})
    run = t.span("agent_run [a]", 1, 20, flow, attributes={"openinference.span.kind": "AGENT", "agent.name": "a"})
    said = json.dumps([{"role": "model", "parts": [{"type": "text", "content": '{"goal": "g"}'}]}])
    inner = t.span(
        "invoke_agent a", 2, 19, run, scope=SCOPE,
        attributes={"openinference.span.kind": "LLM", "gen_ai.operation.name": "generate_content", "gen_ai.agent.name": "a", "gen_ai.output.messages": said,
                    "gen_ai.usage.input_tokens": 5},
    )  # fmt: skip
    transfer(t, inner, 10, "b")
    t.span("agent_run [b]", 22, 60, flow, attributes={"openinference.span.kind": "AGENT", "agent.name": "b"})

    result = recovered(t)
    assert relays(result) == ['a -> b transfer explicit 11 {"goal": "g"}']
    assert [(x["agent_id"], x["tokens"]) for x in result.document["turns"]] == [("a", 5), ("b", None)]


def test_what_schema_1_writes_where_content_is_off_is_no_empty_content() -> None:
    t = Trace(SCOPE)
    off = {"gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "{}"}
    call = t.tool("Gutachter", 3, 50, t.agent("Empfang", 1, 60), gen_ai__tool__type="AgentTool", attributes=off)
    t.agent("Gutachter", 5, 40, call)

    assert relays(recovered(t)) == [
        "Empfang -> Gutachter delegate structural 2 unrecorded",
        "Gutachter -> Empfang return structural 10 unrecorded",
    ]
