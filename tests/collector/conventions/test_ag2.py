"""AG2: agents as tools, the hub's envelopes, `delegate`, handoff results, look-alikes, the classic package."""

from __future__ import annotations

import msgspec

from collector.otlp.model import Link, Span
from tests.collector.spans import Trace, recovered, relays

SCOPE = "opentelemetry.instrumentation.ag2"
AGENT = {"ag2.span.type": "agent"}
TOOL = {"ag2.span.type": "tool"}


def envelope(number: int, at: float, message: str, answers: str = "", sent_by: Span | None = None, **more: object) -> Trace:  # fmt: skip
    """A trace whose root is an envelope; `channel` is a link that is no cause."""
    t = Trace(SCOPE, number, start_ms=at)
    named = {"ag2.span.type": "envelope", "ag2.network.envelope_id": message, "ag2.network.channel_id": "kanal"}
    if answers:
        named["ag2.network.causation_id"] = answers
    root = t.span("network.envelope ag2.msg.text", 0, 1, kind=4, attributes=named)
    links = [Link("f" * 32, "f" * 16, {"ag2.link.kind": "in_channel"})]
    if sent_by is not None:
        links.append(Link(sent_by.trace_id, sent_by.span_id, {"ag2.link.kind": "triggered_by"}))
    t.spans[0] = msgspec.structs.replace(root, links=tuple(links))
    return t


def test_the_messages_of_a_hub_lead_from_run_to_run_by_the_ids_they_answer() -> None:
    first = envelope(1, 0, "m1")
    first.chat(
        11, 12, first.agent("kran 1", 10, 20, first.spans[0], attributes=AGENT), said='{"feld": "B-12", "kg": 0}'
    )
    second = envelope(2, 21, "m2", "m1")
    second.chat(11, 12, second.agent("kran 12", 10, 20, second.spans[0], attributes=AGENT), "x", "fertig")
    third = envelope(3, 42, "m3", "m2")
    third.agent("kran 1", 10, 20, third.spans[0], attributes=AGENT)

    result = recovered(third, first, second)
    assert relays(result) == [
        'kran 1 -> kran 12 transfer structural 11 {"feld": "B-12", "kg": 0}',
        'kran 12 -> kran 1 transfer structural 11 {"message": "fertig"}',
    ]
    assert len({h["run"] for h in result.document["handoffs"]}) == 1


def test_a_delegate_call_names_its_target_and_waits_for_the_envelope_s_run() -> None:
    t = Trace(SCOPE)
    a = t.agent("Lotse", 0, 100, attributes=AGENT)
    call = t.tool(
        "delegate",
        10,
        90,
        a,
        {"target": "Zollamt Süd", "prompt": '{"papiere": [], "plombe": null}'},
        "frei",
        attributes=TOOL,
    )
    asked = envelope(2, 12, "m1", sent_by=call)
    asked.agent("Zollamt Süd", 5, 40, asked.spans[0], attributes=AGENT)

    assert relays(recovered(t, asked)) == [
        'Lotse -> Zollamt Süd delegate explicit 7 {"papiere": [], "plombe": null}',
        'Zollamt Süd -> Lotse return explicit 38 {"message": "frei"}',
    ]


def test_a_tool_that_sends_and_waits_is_a_delegation_even_if_its_arguments_are_not_recorded() -> None:
    t = Trace(SCOPE)
    a = t.agent("Lotse", 0, 100, attributes=AGENT)
    call = t.tool("delegate", 10, 90, a, attributes=TOOL)
    asked = envelope(2, 12, "m1", sent_by=call)
    asked.agent("Zollamt", 5, 40, asked.spans[0], attributes=AGENT)

    assert relays(recovered(t, asked)) == [
        "Lotse -> Zollamt delegate structural 7 unrecorded",
        "Zollamt -> Lotse return structural 38 unrecorded",
    ]


def test_a_refused_delegation_is_dropped() -> None:
    t = Trace(SCOPE)
    a = t.agent("Lotse", 0, 100, attributes=AGENT)
    refusal = "Error: target 'Zoll' not found. Available targets: [kran 1]"
    t.tool("delegate", 10, 20, a, {"target": "Zoll", "prompt": "frei?"}, refusal, attributes=TOOL)

    assert relays(recovered(t)) == ['Lotse -> Zoll delegate explicit None {"message": "frei?"} dropped']


def test_a_result_that_is_a_handoff_hands_over() -> None:
    t = Trace(SCOPE)
    root = t.span("network.channel workflow", 0, 200, ag2__span__type="channel")
    a = t.agent("Lotse", 1, 20, root, attributes=AGENT)
    t.chat(2, 3, a, "x", "Bitte laden.", [("waehle", "{}")], attributes={"ag2.span.type": "llm"})
    t.tool("waehle", 5, 6, a, {}, "Handoff(target='kran 12', reason='Wind')", attributes=TOOL)
    t.agent("kran 12", 30, 60, root, attributes=AGENT)

    assert relays(recovered(t)) == ['Lotse -> kran 12 transfer explicit 24 {"message": "Bitte laden."}']


def test_agents_as_tools_nest_and_a_tool_named_like_a_handoff_is_plain() -> None:
    t = Trace(SCOPE)
    a = t.agent("Lotse", 0, 100, attributes=AGENT)
    t.tool("handoff_to_terminal", 5, 6, a, {"terminal": "CTA"}, attributes=TOOL)
    b = t.agent(
        "Zoll_Eil",
        12,
        40,
        t.tool("eilig", 10, 50, a, {"objective": "Frei?", "context": ""}, "ja", attributes=TOOL),
        attributes=AGENT,
    )
    t.agent(
        "Zoll", 22, 30, t.tool("task_Zoll", 20, 35, b, {"objective": "Nr?"}, "7", attributes=TOOL), attributes=AGENT
    )

    assert relays(recovered(t)) == [
        'Lotse -> Zoll_Eil delegate structural 2 {"objective": "Frei?", "context": ""}',
        'Zoll_Eil -> Zoll delegate structural 2 {"objective": "Nr?"}',
        'Zoll -> Zoll_Eil return structural 5 {"message": "7"}',
        'Zoll_Eil -> Lotse return structural 10 {"message": "ja"}',
    ]


def test_a_result_that_was_cut_says_so() -> None:
    t = Trace(SCOPE)
    a = t.agent("Lotse", 0, 100, attributes=AGENT)
    cut = TOOL | {"ag2.tool.call.result.truncated": True}
    t.agent(
        "Zoll",
        12,
        40,
        t.tool("task_Zoll", 10, 50, a, {"objective": "Nr?"}, "sieben, ach", attributes=cut),
        attributes=AGENT,
    )

    assert relays(recovered(t))[-1] == 'Zoll -> Lotse return structural 10 {"message": "sieben, ach"} truncated'


def test_the_classic_package_s_runs_follow_each_other_and_its_conversation_is_no_agent() -> None:
    t = Trace(SCOPE)
    root = t.span("conversation chair", 0, 200, attributes={"ag2.span.type": "conversation", "gen_ai.operation.name": "conversation"})  # fmt: skip
    t.span("speaker_selection", 1, 2, root, attributes={"ag2.span.type": "speaker_selection"})
    t.agent("planner", 3, 20, root, attributes=AGENT)
    t.agent("critic", 22, 40, root, attributes=AGENT)

    assert relays(recovered(t)) == ["planner -> critic transfer inferred 2 unrecorded"]


def test_the_classic_package_s_manager_and_helpers_are_no_agents_and_who_asked_owns_the_call() -> None:
    t = Trace(SCOPE)
    kind = {"ag2.span.type": "agent"}
    manager = t.agent("chat_manager", 0, 90, attributes=kind)
    desk = t.agent("desk", 1, 20, manager, attributes=kind)
    t.chat(2, 19, desk, "hello", None, [("pass_on", {"ticket": 7})])
    executor = t.agent("_Group_Tool_Executor", 21, 29, manager, attributes=kind)
    called = {"gen_ai.tool.call.id": "call-0"}
    t.tool("pass_on", 22, 28, executor, arguments={"ticket": 7}, result="on its way", attributes=called)
    room = t.agent("room", 30, 40, manager, attributes=kind)
    t.chat(31, 39, room, "hello", None, [("transfer_to_store_1", {})])
    executor = t.agent("_Group_Tool_Executor", 41, 49, manager, attributes=kind)
    t.tool("transfer_to_store_1", 42, 48, executor, arguments={}, result="Transfer to store", attributes=called)
    t.chat(51, 59, t.agent("store", 50, 60, manager, attributes=kind), "hello", "Here it is.")

    result = recovered(t)
    assert [a["agent_id"] for a in result.document["agents"]] == ["desk", "room", "store"]
    assert [r.split(" {")[0] for r in relays(result)] == [
        "desk -> room transfer inferred 10",
        "room -> store transfer explicit 2",
    ]
