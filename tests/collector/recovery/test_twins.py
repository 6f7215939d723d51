"""Two instrumentations on one application: each run, each call and each handoff once."""

from __future__ import annotations

import json

from tests.collector.spans import Trace, recovered, relays


def test_calls_that_two_instrumentations_record_side_by_side_are_one_with_the_better_arguments_and_tokens_once() -> (
    None
):
    t = Trace()
    a = t.agent("clerk", 0, 50)
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 1}
    t.chat(1, 5, a, said="Off you go.", attributes=usage)
    t.span(
        "ChatFake", 1.5, 4, a, scope="openinference.instrumentation.langchain",
        attributes={"openinference.span.kind": "LLM", "llm.token_count.prompt": 10, "llm.token_count.completion": 1},
    )  # fmt: skip
    t.span(
        "transfer_to_boss", 10, 12, a, scope="openinference.instrumentation.langchain",
        attributes={"openinference.span.kind": "TOOL", "tool.name": "transfer_to_boss", "input.value": "Paid?",
                    "metadata": json.dumps({"__handoff_destination": "boss"})},
    )  # fmt: skip
    t.tool("transfer_to_boss", 11, 20, a, {"question": "Paid?"})
    t.agent("boss", 60, 90)

    result = recovered(t)
    assert relays(result) == ['clerk -> boss transfer explicit 40 {"question": "Paid?"}']
    assert [turn["tokens"] for turn in result.document["turns"]] == [11, None]


def test_callee_that_only_the_other_instrumentation_shows_is_one_run() -> None:
    one = Trace("openinference.instrumentation.crewai")
    lead = one.span(
        "Lead.t._execute_core", 0, 90, openinference__span__kind="AGENT", graph__node__id="Lead", session__id="s"
    )
    one.span("Delegate work to coworker.run", 10, 50, lead, attributes={
        "openinference.span.kind": "TOOL", "tool.name": "Delegate work to coworker", "output.value": "ok",
        "input.value": json.dumps({"task": "t", "coworker": "Aide"}),
    })  # fmt: skip
    two = Trace("crewai", 2)
    names = {"gen_ai.operation.name": "invoke_agent", "session.id": "s"}
    same = two.span("execute agent", 5, 88, attributes=names | {"crewai.agent.role": "Lead"})
    call = two.span("call tool", 9, 51, same, attributes={
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "delegate_work_to_coworker",
        "gen_ai.tool.call.arguments": json.dumps({"task": "t", "coworker": "Aide"}),
    })  # fmt: skip
    two.span("execute agent", 12, 48, call, attributes=names | {"crewai.agent.role": "Aide"})

    assert relays(recovered(one, two)) == [
        'Lead -> Aide delegate explicit 2 {"task": "t"}',
        'Aide -> Lead return explicit 3 {"message": "ok"}',
    ]
