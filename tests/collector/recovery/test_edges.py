"""Edges: the ladder of evidence, shapes of sessions, returns and dropped requests."""

from __future__ import annotations

import json

import pytest

from tests.collector.spans import Trace, recovered, relays


def test_transfer_tool_with_empty_arguments_is_an_explicit_handoff_that_carried_nothing() -> None:
    t = Trace()
    root = t.span("invoke_workflow desk", 0, 90)
    desk = t.agent("front_desk", 1, 20, root, input__value='{"order_id": "A-1"}')
    t.tool("transfer_to_tracker", 18, 19, desk, arguments={}, result="Transferred.")
    t.agent("tracker", 25, 80, root, input__value="Transferred.")

    assert relays(recovered(t)) == ["front_desk -> tracker transfer explicit 6 {}"]


def test_visits_in_order_under_one_workflow_are_inferred_handoffs() -> None:
    t = Trace()
    root = t.span("invoke_workflow build", 0, 90)
    t.agent("planner", 0, 10, root, output__value='{"plan": "x"}')
    t.agent("coder", 11, 40, root, input__value='{"plan": "x"}')
    t.agent("tester", 42, 80, root, input__value='{"plan": "", "note": "n"}')

    assert relays(recovered(t)) == [
        'planner -> coder transfer inferred 1 {"plan": "x"}',
        'coder -> tester transfer inferred 2 {"plan": "", "note": "n"}',
    ]


def test_fan_out_and_fan_in_join_every_specialist_and_none_to_its_neighbour() -> None:
    t = Trace()
    root = t.span("invoke_workflow w", 0, 90)
    t.agent("lead", 0, 10, root)
    t.agent("Route", 12, 30, root)
    t.agent("Route 2", 13, 40, root)
    t.agent("weather", 14, 35, root)
    t.agent("sign-off", 50, 60, root)

    assert [r.split(" transfer")[0] for r in relays(recovered(t))] == [
        "lead -> Route",
        "lead -> Route 2",
        "lead -> weather",
        "Route -> sign-off",
        "Route 2 -> sign-off",
        "weather -> sign-off",
    ]


def test_fan_in_takes_only_the_branches_whose_words_the_target_saw() -> None:
    t = Trace()
    root = t.span("invoke_workflow w", 0, 90)
    t.agent("a", 0, 20, root, output__value="the first branch found the leak")
    t.agent("b", 1, 22, root, output__value="the second branch found nothing at all")
    t.agent("c", 30, 40, root, input__value="go on: the first branch found the leak")

    assert [r.split(" transfer")[0] for r in relays(recovered(t))] == ["a -> c"]


def test_delegation_by_nesting_has_one_return_with_the_tool_result() -> None:
    t = Trace()
    boss = t.agent("boss", 0, 50)
    tool = t.tool("ask", 10, 40, boss, arguments={"goal": "g"}, result="42 found")
    t.agent("aide", 12, 35, tool)

    assert relays(recovered(t)) == [
        'boss -> aide delegate structural 2 {"goal": "g"}',
        'aide -> boss return structural 5 {"message": "42 found"}',
    ]


def test_delegations_three_deep_return_innermost_first() -> None:
    t = Trace()
    a = t.agent("a", 0, 100)
    b = t.agent("b", 11, 80, t.tool("to_b", 10, 81, a, arguments={"x": 1}, result="rb"))
    c = t.agent("c", 21, 60, t.tool("to_c", 20, 61, b, arguments={"y": 2}, result="rc"))
    t.agent("d", 31, 40, t.tool("to_d", 30, 41, c, arguments={"z": 3}, result="rd"))

    assert [r.split(" structural")[0] for r in relays(recovered(t))] == [
        "a -> b delegate",
        "b -> c delegate",
        "c -> d delegate",
        "d -> c return",
        "c -> b return",
        "b -> a return",
    ]


def test_a_crash_in_the_middle_leaves_a_delegation_without_return() -> None:
    t = Trace()
    boss = t.agent("boss", 0, None)
    tool = t.tool("ask", 10, 40, boss, arguments={"goal": "g"})
    t.agent("aide", 12, None, tool)

    assert [r.split(" structural")[0] for r in relays(recovered(t))] == ["boss -> aide delegate"]


def test_target_not_said_is_whoever_runs_next() -> None:
    t = Trace()
    root = t.span("Agent workflow", 0, 90)
    triage = t.span(
        "triage.agent", 1, 10, root, attributes={"traceloop.span.kind": "agent", "gen_ai.agent.name": "triage"}
    )
    t.span(
        "triage -> unknown.handoff",
        8,
        9,
        triage,
        attributes={"traceloop.span.kind": "handoff", "gen_ai.handoff.from_agent": "triage"},
    )
    t.span("refunds.agent", 12, 40, root, attributes={"traceloop.span.kind": "agent", "gen_ai.agent.name": "refunds"})

    assert relays(recovered(t)) == ["triage -> refunds transfer inferred 3 unrecorded"]


def test_request_that_nobody_takes_up_is_dropped_and_declares_its_target() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.agent("triage", 0, 5, root)
    refunds = t.agent("refunds", 6, 40, root)
    t.tool("transfer_to_legal", 38, 39, refunds, arguments={"case": "R-3"}, result="ok")

    result = recovered(t)
    assert relays(result) == [
        "triage -> refunds transfer inferred 1 unrecorded",
        'refunds -> legal transfer explicit None {"case": "R-3"} dropped',
    ]
    assert [a["agent_id"] for a in result.document["agents"]] == ["triage", "refunds", "legal"]


def test_tool_named_like_a_transfer_is_plain_when_its_agent_goes_on() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.agent("triage", 0, 5, root)
    clerk = t.agent("clerk", 6, 40, root)
    t.tool("transfer_to_archive", 10, 11, clerk, arguments={"doc": "d"})
    t.chat(12, 13, clerk, said="archived")

    assert [r.split(" transfer")[0] for r in relays(recovered(t))] == ["triage -> clerk"]


def test_tool_named_like_a_transfer_is_plain_in_a_single_agent_run() -> None:
    t = Trace()
    clerk = t.agent("clerk", 0, 40)
    t.tool("handoff_to_courier", 10, 11, clerk, arguments={"message": "parcel"})

    assert relays(recovered(t)) == []


def test_of_two_requests_for_one_agent_the_taken_one_is_the_last() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    lager = t.agent("Lager 1", 0, 40, root)
    t.tool(
        "transfer_to_lager_12",
        10,
        11,
        lager,
        arguments={"menge": 5},
        result="refused",
        attributes={"gen_ai.tool.call.id": "a"},
    )
    t.tool("transfer_to_lager_12", 20, 21, lager, arguments={"menge": 3}, attributes={"gen_ai.tool.call.id": "b"})
    t.agent("Lager 12", 25, 60, root)

    assert relays(recovered(t)) == [
        'Lager 1 -> Lager 12 transfer explicit None {"menge": 5} dropped',
        'Lager 1 -> Lager 12 transfer explicit 4 {"menge": 3}',
    ]


def test_a_name_that_is_the_prefix_of_another_is_not_it() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    a = t.agent("Ana", 0, 10, root)
    t.tool("transfer_to_ana_maria", 8, 9, a, arguments={"x": 1})
    t.agent("Ana María", 12, 30, root)

    assert relays(recovered(t)) == ['Ana -> Ana María transfer explicit 3 {"x": 1}']


def test_supervisor_that_runs_again_unasked_was_waiting_for_an_answer() -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    boss = t.agent("boss", 0, 10, root)
    t.tool("transfer_to_coder", 8, 9, boss, arguments={"task": "t"})
    t.agent("coder", 12, 30, root, output__value="patch written")
    t.agent("boss", 32, 40, root)

    assert relays(recovered(t)) == [
        'boss -> coder delegate explicit 4 {"task": "t"}',
        'coder -> boss return inferred None {"message": "patch written"}',
    ]
    assert not recovered(t).notes  # its call did not wait: there is no time to be negative


def test_loop_of_three_rounds_has_every_edge_once_a_round() -> None:
    t = Trace()
    root = t.span("w", 0, 200)
    for i in range(3):
        for j, name in enumerate(("plan", "write", "review")):
            t.agent(name, i * 30 + j * 10, i * 30 + j * 10 + 9, root)

    pairs = [r.split(" transfer")[0] for r in relays(recovered(t))]
    assert {p: pairs.count(p) for p in pairs} == {"plan -> write": 3, "write -> review": 3, "review -> plan": 2}


def test_runs_in_traces_of_their_own_are_joined_by_the_words_that_reappear() -> None:
    first, second = Trace(number=1), Trace(number=2, start_ms=100)
    first.chat(1, 9, first.agent("Intake", 0, 10), heard="pain", said='{"urgency": 2, "area": "heart"}')
    second.chat(1, 9, second.agent("Dr. Ø", 0, 10), heard='{"area": "heart", "urgency": 2}', said="ok")

    result = recovered(first, second)
    assert relays(result) == ['Intake -> Dr. Ø transfer inferred 90 {"area": "heart", "urgency": 2}']
    assert {t["run"] for t in result.document["turns"]} == {first.trace_id}


def test_turns_of_a_chat_in_traces_of_their_own_are_no_handoffs() -> None:
    traces = [Trace(number=n, start_ms=n * 100) for n in (1, 2)]
    for n, t in enumerate(traces):
        t.chat(
            1,
            9,
            t.agent(f"agent {n}", 0, 10),
            heard=f"a question of the user, number {n}",
            said="an answer of some length",
        )

    assert relays(recovered(*traces)) == []


def test_skewed_clock_of_another_process_changes_no_edge_and_costs_only_the_latency() -> None:
    for shift in (0, -300_000, 300_000):
        here, there = Trace(service="caller"), Trace(service="remote", start_ms=shift)
        caller = here.agent("caller", 0, 50)
        tool = here.tool("delegate_to_remote", 10, 40, caller, arguments={"q": "x"}, result="r")
        there.spans = []
        remote = there.agent("remote", 12, 30, tool)
        there.spans[0] = type(remote)(
            **{f: getattr(remote, f) for f in remote.__struct_fields__} | {"span_id": "00000000000000ff"}
        )

        assert relays(recovered(here, there)) == [
            'caller -> remote delegate explicit None {"q": "x"}',
            'remote -> caller return explicit None {"message": "r"}',
        ]


@pytest.mark.parametrize("stated", [False, True])
def test_self_handoff_needs_a_marker_for_a_tools_name_alone_is_an_agent_going_on(stated: bool) -> None:
    t = Trace()
    root = t.span("w", 0, 90)
    t.agent("Lager", 0, 10, root)
    again = t.agent("Lager", 12, 20, root)
    marker = {"gen_ai.transfer.target.name": "Lager"} if stated else {}
    t.tool("transfer_to_lager", 18, 19, again, arguments={"rest": 2}, attributes=marker)
    t.agent("Lager", 22, 30, root)

    assert relays(recovered(t)) == (['Lager -> Lager transfer explicit 3 {"rest": 2}'] if stated else [])


def test_a_crash_that_lost_the_callers_span_leaves_the_caller_in_its_calls() -> None:
    t = Trace()
    boss = t.agent("boss", 0, 50)
    tool = t.tool("ask", 10, 40, boss, arguments={"goal": "g"}, attributes={"gen_ai.agent.name": "boss"})
    t.agent("aide", 12, 35, tool)
    whole = recovered(t)
    t.spans.remove(boss)
    rest = recovered(t)

    assert relays(rest) == relays(whole)
    assert [h["handoff_id"] for h in rest.document["handoffs"]] == [h["handoff_id"] for h in whole.document["handoffs"]]


def test_an_inner_span_that_was_lost_does_not_make_its_agent_run_twice() -> None:
    t = Trace()
    boss = t.agent("boss", 0, 50)
    cycle = t.span("cycle", 5, 45, boss)
    tool = t.tool("ask", 10, 40, cycle, arguments={"goal": "g"}, attributes={"gen_ai.agent.name": "boss"})
    t.agent("aide", 12, 35, tool)
    t.spans.remove(cycle)

    result = recovered(t)
    assert [r.split(" structural")[0] for r in relays(result)] == ["boss -> aide delegate", "aide -> boss return"]
    assert result.visits == 2


def test_two_instrumentations_in_traces_of_their_own_give_each_visit_and_handoff_once() -> None:
    one, two = Trace("openinference.instrumentation.openai_agents", 1), Trace("other", 2)
    root = one.span("w", 0, 90, attributes={"openinference.span.kind": "AGENT"})
    kind = {"openinference.span.kind": "AGENT"}
    a = one.span("A", 1, 20, root, attributes=kind | {"agent.name": "A"})
    one.span(
        "handoff to B",
        18,
        19,
        a,
        attributes={"openinference.span.kind": "TOOL", "input.value": "A", "output.value": "B"},
    )
    one.span("B", 22, 60, root, attributes=kind | {"agent.name": "B"})
    flow = two.span("w", 0, 90)
    again = two.agent("A", 1.2, 19.9, flow)
    two.tool("transfer_to_b", 18, 19, again, arguments={"goal": "g"})
    two.agent("B", 22.1, 59.9, flow)

    result = recovered(one, two)
    assert relays(result) == ['A -> B transfer explicit 3 {"goal": "g"}']
    assert result.visits == 2


def test_a_crowd_that_ran_at_once_is_no_fan_in() -> None:
    t = Trace()
    root = t.span("w", 0, 900)
    for n in range(400):
        t.agent(f"worker {n}x", n % 7, 100 + n % 5 + (n // 200) * 200, root)
    t.agent("last", 500, 600, root)

    assert relays(recovered(t)) == []


def test_who_was_called_by_a_tool_may_hand_over_within_the_call_and_the_last_one_answers() -> None:
    t = Trace()
    desk = t.agent("desk", 0, 90)
    call = t.tool("check", 10, 60, desk, arguments={"case": 7}, result="done")
    checker = t.agent("checker", 12, 30, call)
    t.tool("transfer_to_lab", 28, 29, checker, arguments={"sample": "P"})
    t.agent("lab", 32, 58, call)

    assert relays(recovered(t)) == [
        'desk -> checker delegate structural 2 {"case": 7}',
        'checker -> lab transfer explicit 3 {"sample": "P"}',
        'lab -> desk return structural 2 {"message": "done"}',
    ]


def test_a_transfer_that_names_nobody_within_a_call_goes_to_who_runs_next_in_that_call() -> None:
    t = Trace("strands.telemetry.tracer")
    desk = t.agent("desk", 0, 90)
    one, other = t.tool("one", 10, 60, desk), t.tool("other", 10, 61, desk)
    t.tool("handoff_to_agent", 28, 29, t.agent("a1", 12, 30, one))
    t.tool("handoff_to_agent", 29, 30, t.agent("a2", 13, 31, other))
    t.agent("b2", 32, 58, other)
    t.agent("b1", 33, 59, one)

    assert [r.split(" structural")[0].split(" inferred")[0] for r in relays(recovered(t))] == [
        "desk -> a1 delegate",
        "desk -> a2 delegate",
        "a2 -> b2 transfer",
        "a1 -> b1 transfer",
        "b2 -> desk return",
        "b1 -> desk return",
    ]


def adk_workflow_in_a_tool(second_starts: float) -> Trace:
    t = Trace("gcp.vertex.agent")
    desk = t.agent("desk", 0, 90)
    flow = t.agent("flow", 11, 59, t.tool("flow", 10, 60, desk, arguments={"request": "go on"}, result="end"))
    t.chat(14, 15, t.agent("draft", 12, 30, flow), said="first words of the draft")
    t.chat(40, 41, t.agent("check", second_starts, 58, flow), said="end")
    return t


def test_steps_of_a_workflow_that_is_called_by_a_tool_come_from_each_other() -> None:
    assert relays(recovered(adk_workflow_in_a_tool(32))) == [
        'desk -> draft delegate structural 2 {"message": "go on"}',
        'draft -> check transfer inferred 2 {"message": "first words of the draft"}',
        'check -> desk return structural 2 {"message": "end"}',
    ]


def test_steps_of_a_workflow_that_run_side_by_side_in_a_call_were_all_called() -> None:
    assert [r.split(" structural")[0] for r in relays(recovered(adk_workflow_in_a_tool(13)))] == [
        "desk -> draft delegate",
        "desk -> check delegate",
        "draft -> desk return",
        "check -> desk return",
    ]


def test_a_transfer_to_a_group_inside_the_sources_span_goes_to_the_first_of_a_sequence_and_to_all_that_run_at_once() -> (
    None
):
    t = Trace(scope="gcp.vertex.agent")
    chef = t.agent("chef", 0, 90)
    t.tool("transfer_to_agent", 1, 2, chef, arguments={"agent_name": "line"})
    line = t.agent("line", 3, 40, chef)
    for name, start, end in (("mix", 4, 10), ("bake", 11, 39)):
        t.chat(start, end, t.agent(name, start, end, line))
    t.tool("transfer_to_agent", 41, 42, chef, arguments={"agent_name": "fan"})
    fan = t.agent("fan", 43, 90, chef)
    for name, start, end in (("north", 44, 80), ("south", 45, 85)):
        t.chat(start, end, t.agent(name, start, end, fan))

    assert [r.split(" explicit")[0].split(" inferred")[0] for r in relays(recovered(t))] == [
        "chef -> mix transfer",
        "mix -> bake transfer",
        "chef -> north transfer",
        "chef -> south transfer",
    ]


def test_a_tool_called_like_a_handover_and_like_no_agent_names_its_target_in_an_argument() -> None:
    t = Trace()
    root = t.span("invoke_workflow w", 0, 90)
    desk = t.agent("desk", 1, 20, root)
    t.tool("handoff", 5, 6, desk, arguments={"to_agent": "the lab", "goal": "g"})
    lab = t.agent("The Lab", 22, 40, root)
    t.tool("transfer_funds", 25, 26, lab, arguments={"recipient": "Bob", "amount": 3})
    chat = t.agent("clerk", 42, 60, root)
    t.chat(43, 59, chat, "go on", None, [("delegate_to_agent", {"agent_name": "desk", "sum": 0})])
    t.agent("desk", 62, 70, root)

    assert relays(recovered(t)) == [
        'desk -> The Lab transfer explicit 16 {"goal": "g"}',
        'The Lab -> clerk transfer inferred 2 {"message": "go on"}',
        'clerk -> desk transfer explicit 3 {"sum": 0}',
    ]


def test_what_the_user_said_before_others_spoke_is_history_and_was_not_passed() -> None:
    t = Trace()
    root = t.span("invoke_workflow w", 0, 90)
    t.agent("desk", 1, 20, root)
    lab = t.agent("lab", 22, 40, root)
    spoken = [("user", "please find the leak"), ("assistant", "the lab will look into it")]
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in spoken]
    named = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages)}
    t.span("chat m", 23, 39, lab, attributes=named)

    assert relays(recovered(t)) == ["desk -> lab transfer inferred 2 unrecorded"]


def test_a_call_without_a_span_of_its_own_is_a_delegation_where_the_caller_goes_on_after_who_ran_inside() -> None:
    def lost_tool(goes_on: bool) -> list[str]:
        t = Trace()
        boss = t.agent("boss", 0, 90)
        t.chat(1, 5, boss, "go on", None, [("delegate_to_aide", {"goal": "g"})])
        t.chat(12, 40, t.agent("aide", 10, 50, boss), "g", "It is done.")
        if goes_on:
            t.chat(60, 80, boss, "It is done.", "Thank you.")
        return [r.split(" {")[0] for r in relays(recovered(t))]

    assert lost_tool(goes_on=True) == ["boss -> aide delegate explicit 9", "aide -> boss return explicit None"]
    assert lost_tool(goes_on=False) == ["boss -> aide transfer explicit 5"]
